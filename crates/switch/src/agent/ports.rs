//! Ports towards controllers: what they are, what may be changed about them,
//! and that they changed. OF13 clauses 7.2.1, 7.3.4.3, 7.3.6 and 7.4.3.

use wire::openflow::{
    ErrorKind, Message, PortConfig, PortDescription, PortFeatures, PortMod, PortModFailed,
    PortName, PortNumber, PortState, PortStatus, PortStatusReason, QueueDescription,
    QueueGetConfigReply, QueueId, QueueOpFailed, Sequence, TransactionId,
};

use super::Agent;
use super::journal::Change;
use super::session::ConnectionId;
use crate::pipeline::Pipeline;
use crate::port::{Link, Port, PortIndex, QUEUES};

/// What a controller may change about a port.
const CHANGEABLE: PortConfig = PortConfig::PORT_DOWN
    .with(PortConfig::NO_RECEIVE)
    .with(PortConfig::NO_FORWARD)
    .with(PortConfig::NO_PACKET_IN);

const BPS_PER_KBPS: u64 = 1_000;

impl Agent {
    /// Tells the controllers that a port changed.
    pub(crate) fn port_changed(&mut self, pipeline: &Pipeline, port: PortIndex) {
        let reason = PortStatusReason::Modify;
        let port = describe(pipeline.egress.port(port));
        let status = PortStatus { reason, port };
        self.announce(
            |session| session.wants(session.asynchronous.port_status, reason.number()),
            &Message::PortStatus(status),
        );
    }

    pub(super) fn port_mod(
        &mut self,
        pipeline: &mut Pipeline,
        port_mod: &PortMod,
    ) -> Result<(), ErrorKind> {
        let index = check_port_mod(pipeline, port_mod)?;
        let port = pipeline.egress.port_mut(index);
        let kept = port.policy.without(port_mod.mask);
        let changed = port_mod.config.without(PortConfig(!port_mod.mask.0));
        let before = std::mem::replace(&mut port.policy, kept.with(changed));
        match &mut self.journal {
            Some(journal) => journal.note(Change::Policy(index, before)),
            None => self.heed_port_mod(pipeline, index),
        }
        Ok(())
    }

    /// Lets what hangs on a port follow a change of it, which cannot be undone.
    pub(super) fn heed_port_mod(&mut self, pipeline: &mut Pipeline, port: PortIndex) {
        pipeline.egress.heed_port(port);
        self.port_changed(pipeline, port);
    }

    /// Answers which queues a port has.
    pub(super) fn queue_config(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        port: PortNumber,
    ) -> Result<(), ErrorKind> {
        if port != PortNumber::ANY && pipeline.egress.find_port(port).is_none() {
            return Err(ErrorKind::QueueOpFailed(QueueOpFailed::BadPort));
        }
        let ports = pipeline.egress.ports.iter();
        let asked = ports.filter(|it| port == PortNumber::ANY || it.config.number == port);
        let queues: Vec<_> = asked.flat_map(queues_of).collect();
        let queues = Sequence::of(&queues);
        let reply = QueueGetConfigReply { port, queues };
        self.reply(id, transaction, &Message::QueueGetConfigReply(reply));
        Ok(())
    }
}

/// Checks what a controller wants of a port, and returns which port that is.
///
/// # Errors
///
/// With the specification's error for the first thing that is wrong.
pub(super) fn check_port_mod(
    pipeline: &Pipeline,
    port_mod: &PortMod,
) -> Result<PortIndex, ErrorKind> {
    let refused = |code| Err(ErrorKind::PortModFailed(code));
    let Some(index) = pipeline.egress.find_port(port_mod.port) else {
        return refused(PortModFailed::BadPort);
    };
    if pipeline.egress.port(index).config.mac != port_mod.address {
        return refused(PortModFailed::BadHardwareAddress);
    }
    if !CHANGEABLE.contains(port_mod.mask) {
        return refused(PortModFailed::BadConfig);
    }
    if port_mod.advertise != PortFeatures::NONE {
        return refused(PortModFailed::BadAdvertise);
    }
    Ok(index)
}

fn queues_of(port: &Port) -> impl Iterator<Item = QueueDescription> {
    let queues = 0..u32::try_from(QUEUES).expect("eight");
    let number = port.config.number;
    queues.map(move |queue| QueueDescription {
        queue: QueueId(queue),
        port: number,
        min_rate_permille: None,
        max_rate_permille: None,
    })
}

/// Returns what a controller gets to know about a port.
pub(super) fn describe(port: &Port) -> PortDescription {
    let config = &port.config;
    let speed = config.rate.map_or(0, |rate| rate.as_bps() / BPS_PER_KBPS);
    let speed = u32::try_from(speed).unwrap_or(u32::MAX);
    let medium = match speed {
        10_000 => PortFeatures::MBPS_10_FULL,
        100_000 => PortFeatures::MBPS_100_FULL,
        1_000_000 => PortFeatures::GBPS_1_FULL,
        10_000_000 => PortFeatures::GBPS_10_FULL,
        _ => PortFeatures::OTHER,
    };
    let state = match port.link {
        Link::Down => PortState::LINK_DOWN,
        Link::Up if port.is_live() => PortState::LIVE,
        Link::Up => PortState::NONE,
    };
    PortDescription {
        config: port.policy,
        state,
        current: medium,
        supported: medium,
        current_speed_kbps: speed,
        max_speed_kbps: speed,
        ..PortDescription::new(config.number, config.mac, PortName::new(&config.name))
    }
}
