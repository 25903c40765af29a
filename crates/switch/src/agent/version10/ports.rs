//! Ports in version 1.0: what they are and what may be changed about them,
//! OF10 sections 5.2.1, 5.3.1 and 5.3.3.

use wire::openflow::{self, PortState, Sequence, TransactionId};
use wire::openflow10::{
    ActionKinds, Capabilities, ErrorKind, FeaturesReply, Message, PortConfig, PortDescription,
    PortFeatures, PortMod, PortNumber,
};

use super::errors::narrowed;
use crate::agent::Agent;
use crate::agent::ports::describe;
use crate::agent::session::ConnectionId;
use crate::pipeline::Pipeline;
use crate::port::NO_FLOOD;

/// What both versions know of a port's configuration, by the same bits.
const COMMON: PortConfig = PortConfig::PORT_DOWN
    .with(PortConfig::NO_RECEIVE)
    .with(PortConfig::NO_FORWARD)
    .with(PortConfig::NO_PACKET_IN);

/// What both versions know of a port's rate, by the same bits.
const COMMON_RATES: u32 = 0x7f;

impl Agent {
    /// Says who the switch is, which in version 1.0 includes its ports.
    pub(super) fn narrow_features(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
    ) {
        let ports = pipeline.egress.ports.iter();
        let ports: Vec<_> = ports
            .filter_map(|it| narrowed_port(&describe(it)))
            .collect();
        let features = FeaturesReply {
            datapath: self.datapath_id,
            buffers: self.features(pipeline).buffers,
            tables: 1,
            capabilities: Capabilities::FLOW_STATISTICS
                .with(Capabilities::TABLE_STATISTICS)
                .with(Capabilities::PORT_STATISTICS)
                .with(Capabilities::QUEUE_STATISTICS)
                .with(Capabilities::ARP_MATCH_IP),
            actions: ActionKinds::ALL,
            ports: Sequence::of(&ports),
        };
        self.narrow_reply(id, transaction, &Message::FeaturesReply(features));
    }

    /// Changes a port. There is no spanning tree to take part in.
    pub(super) fn narrow_port_mod(
        &mut self,
        pipeline: &mut Pipeline,
        port_mod: &PortMod,
    ) -> Result<(), ErrorKind> {
        let common = |config: PortConfig| openflow::PortConfig(config.0 & COMMON.0);
        let wide = openflow::PortMod {
            port: port_mod.port.widened(),
            address: port_mod.address,
            config: common(port_mod.config),
            mask: common(port_mod.mask),
            advertise: openflow::PortFeatures(port_mod.advertise.0),
        };
        let found = pipeline.egress.find_port(wide.port);
        if let Some(port) = found.map(|at| pipeline.egress.port_mut(at))
            && port.config.mac == port_mod.address
            && port_mod.mask.contains(PortConfig::NO_FLOOD)
        {
            port.policy = match port_mod.config.contains(PortConfig::NO_FLOOD) {
                true => port.policy.with(NO_FLOOD),
                false => port.policy.without(NO_FLOOD),
            };
        }
        self.port_mod(pipeline, &wide).map_err(narrowed)
    }
}

/// Returns what version 1.0 can say of a port; nothing if its number is too
/// large.
pub(super) fn narrowed_port(wide: &openflow::PortDescription) -> Option<PortDescription> {
    let down = wide.state.contains(PortState::LINK_DOWN);
    Some(PortDescription {
        number: PortNumber::narrowed(wide.number)?,
        address: wide.address,
        name: wide.name,
        config: PortConfig(wide.config.0 & COMMON.with(PortConfig::NO_FLOOD).0),
        state: match down {
            true => wire::openflow10::PortState::LINK_DOWN,
            false => wire::openflow10::PortState::NONE,
        },
        current: narrowed_features(wide.current),
        advertised: narrowed_features(wide.advertised),
        supported: narrowed_features(wide.supported),
        peer: narrowed_features(wide.peer),
    })
}

fn narrowed_features(wide: openflow::PortFeatures) -> PortFeatures {
    let renamed = [
        (openflow::PortFeatures::COPPER, PortFeatures::COPPER),
        (openflow::PortFeatures::FIBER, PortFeatures::FIBER),
        (
            openflow::PortFeatures::AUTONEGOTIATION,
            PortFeatures::AUTONEGOTIATION,
        ),
        (openflow::PortFeatures::PAUSE, PortFeatures::PAUSE),
        (
            openflow::PortFeatures::PAUSE_ASYMMETRIC,
            PortFeatures::PAUSE_ASYMMETRIC,
        ),
    ];
    let rates = PortFeatures(wide.0 & COMMON_RATES);
    let present = renamed.iter().filter(|(name, _)| wide.contains(*name));
    present.fold(rates, |all, (_, narrow)| all.with(*narrow))
}
