//! What frames, signals and heart-beats change of the mode, and what the switch sends
//! for it (S2-4).
//!
//! A change of mode here is three steps, whatever the number of entries and of frames
//! that wait: the pair, the level that later frames get, and one signal for every
//! trunk, which leaves ahead of all that waits there. A port has at most one signal
//! that waits: a newer one takes its place, since what a signal says is absolute.
//!
//! A signal counts only if it came by a trunk, under the key, from the port at the
//! other end of the cable. What does not count changes nothing, is counted by its
//! fault and told to the controllers.

use units::Instant;
use wire::ethernet::EtherType;
use wire::message_shim::MessageShim;
use wire::mode_signal::{self, Kind, Level, Mode, ModeSignal};
use wire::openflow::PortNumber;
use wire::openflow::taktos::{
    ModeCommand, ModeConfig, ModeEventKind, ModeFailed, ModeFlags, ModeSet, ModeStatus, MonitorId,
    SignalFault, Trunk, TrunkStatus,
};
use wire::openflow::{Element, Sequence};

use super::flow_monitor::{Demand, Packet as MessagePacket};
use super::keeper::{FarEnd, ModeKeeper};
use super::mode_consensus::{ConsensusStep, Heard, StayReason};
use super::monitor_table::{Shown, demanded};
use crate::egress::{Egress, FrameOutcome};
use crate::headers::{ETHER_TYPE, Headers, PROTO_UDP, u16_at};
use crate::packet::Packet;
use crate::port::PortIndex;

/// A violation that a walk of the compiled form saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The port by which the frame came.
    pub port: PortNumber,
    pub at: Instant,
    /// The place of the monitor.
    pub monitor: usize,
    pub demand: Demand,
}

/// What a monitor demands of the frame that it was shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct MonitorDemand {
    at: Instant,
    port: Option<PortIndex>,
    monitor: MonitorId,
    shown: Shown,
}

/// Bytes of the header of a UDP datagram.
const UDP_HEADER: usize = 8;

impl Egress {
    /// Shows a frame to a monitor. The frame goes on by the entry that it met; what it
    /// demands is for those that follow.
    #[inline]
    pub(crate) fn show(&mut self, now: Instant, packet: &mut Packet, monitor: MonitorId) {
        packet.refresh_headers(&self.pool);
        let ModeKeeper {
            monitors, shared, ..
        } = &mut self.modes;
        let Some((place, watch)) = monitors.place_mut(monitor) else {
            return;
        };
        let frame = self.pool.frame(packet.slot);
        let message = message_of(&packet.headers, frame);
        let shared = shared.as_ref();
        let words = shared.and_then(|shared| shared.monitor(place, watch.turn()));
        let Some(shown) = watch.take(now, message.as_ref(), words) else {
            return;
        };
        if shown.demand != Demand::Level(Level::LOWEST) {
            self.modes.demands.push(MonitorDemand {
                at: now,
                port: packet.port,
                monitor,
                shown,
            });
        }
    }

    /// Does what the monitors of a frame that has gone its way demand: together, at once.
    #[inline]
    pub(crate) fn heed(&mut self) {
        if !self.modes.demands.is_empty() {
            self.heed_demands();
        }
    }

    #[cold]
    fn heed_demands(&mut self) {
        let mut demands = std::mem::take(&mut self.modes.demands);
        let level = |it: &MonitorDemand| it.shown.demand.level();
        if let Some(most) = demands.iter().max_by_key(|it| level(it)) {
            self.demand(most.at, level(most));
        }
        for MonitorDemand {
            at,
            port,
            monitor,
            shown,
        } in demands.drain(..)
        {
            if shown.is_news {
                self.count_demand();
                let port = self.number_of(port);
                let kind = ModeEventKind::Violation(demanded(shown.demand));
                self.modes.tell(at, kind, monitor, port);
            }
        }
        self.modes.demands = demands;
    }

    fn demand(&mut self, now: Instant, level: Level) {
        let modes = &mut self.modes;
        modes.demanded = Some(now);
        if modes.flags().contains(ModeFlags::ASK) {
            return modes.agree(|agreement| agreement.note(now, level));
        }
        match modes.agree(|agreement| agreement.demand(now, level)) {
            ConsensusStep::Enter(_) => self.enter(now, None),
            ConsensusStep::Stay | ConsensusStep::Answer => {}
        }
    }

    fn count_demand(&mut self) {
        self.modes.counters.demanded += 1;
        if self.modes.flags().contains(ModeFlags::LOCKED) {
            self.modes.counters.disregarded += 1;
        }
    }

    /// Takes a frame for a signal of a neighbour.
    #[cold]
    pub(crate) fn arrange(&mut self, now: Instant, packet: &mut Packet) -> FrameOutcome {
        packet.refresh_headers(&self.pool);
        match self.read_signal(packet) {
            Ok((port, signal)) => self.hear(now, port, &signal),
            Err(fault) => {
                let counters = &mut self.modes.counters;
                *match fault {
                    SignalFault::Forged => &mut counters.forged,
                    SignalFault::Misplaced => &mut counters.misplaced,
                    SignalFault::Replayed => &mut counters.replayed,
                    SignalFault::Malformed => &mut counters.malformed,
                } += 1;
                let port = self.number_of(packet.port);
                let kind = ModeEventKind::SignalsRefused(fault);
                self.modes.tell(now, kind, MonitorId::NONE, port);
            }
        }
        FrameOutcome::Ends
    }

    /// Returns what a frame says and by which trunk it came.
    fn read_signal(&self, packet: &Packet) -> Result<(PortIndex, ModeSignal), SignalFault> {
        let port = packet.port.ok_or(SignalFault::Misplaced)?;
        let far_end = self.port(port).far_end.ok_or(SignalFault::Misplaced)?;
        let frame = self.pool.frame(packet.slot);
        let (headers, at) = (&packet.headers, packet.headers.type_at);
        let tagged = headers.tagged || headers.redundancy_at.is_some();
        if tagged || u16_at(frame, at) != Some(EtherType::MODE_SIGNAL.0) {
            return Err(SignalFault::Malformed);
        }
        let payload = frame.get(at + ETHER_TYPE..).unwrap_or_default();
        let signal =
            ModeSignal::parse(payload, self.modes.key().0).map_err(|error| match error {
                mode_signal::Error::Tag => SignalFault::Forged,
                mode_signal::Error::Truncated
                | mode_signal::Error::Version { .. }
                | mode_signal::Error::Kind { .. }
                | mode_signal::Error::Level { .. } => SignalFault::Malformed,
            })?;
        match (signal.sender, signal.port) == (far_end.switch, far_end.port) {
            true => Ok((port, signal)),
            false => Err(SignalFault::Replayed),
        }
    }

    fn hear(&mut self, now: Instant, port: PortIndex, signal: &ModeSignal) {
        if let Some(far_end) = &mut self.port_mut(port).far_end {
            far_end.heard = Some((now, signal.mode));
        }
        if let Some(shared) = &self.modes.shared {
            shared.note_heard(port, now, signal.mode);
        }
        let counters = &mut self.modes.counters;
        match signal.kind {
            Kind::Signal => counters.received += 1,
            Kind::HeartBeat => counters.beats_received += 1,
        }
        let heard = Heard {
            mode: signal.mode,
            origin: signal.origin,
        };
        match self.modes.agree(|agreement| agreement.hear(now, heard)) {
            ConsensusStep::Stay if signal.kind == Kind::Signal => {
                self.modes.counters.duplicate += 1
            }
            ConsensusStep::Stay => {}
            ConsensusStep::Answer => {
                self.modes.counters.stale += 1;
                self.say(now, port, Kind::Signal);
            }
            // A neighbour that said so itself knows it.
            ConsensusStep::Enter(mode) => self.enter(now, (mode == signal.mode).then_some(port)),
        }
    }

    /// Lets the mode that is agreed on now take effect, and passes it on by all trunks
    /// but the one by which it came.
    fn enter(&mut self, now: Instant, came_by: Option<PortIndex>) {
        self.serve();
        for port in (0..).map(PortIndex).take(self.ports.len()) {
            if came_by != Some(port) {
                self.say(now, port, Kind::Signal);
            }
        }
        self.modes.counters.entered += 1;
        self.modes.note_told();
        let kind = ModeEventKind::Entered;
        let (monitor, port) = (MonitorId::NONE, self.number_of(came_by));
        self.modes.tell(now, kind, monitor, port);
        self.tell_incomplete(now);
    }

    /// Takes note of what walks of the compiled form did: of a mode that they entered,
    /// and that they could not tell all neighbours.
    #[inline]
    pub(crate) fn heed_walks(&mut self, now: Instant) {
        if self.modes.shared.is_none() {
            return;
        }
        if let Some(entered) = self.modes.catch_up() {
            self.serve();
            let port = self.number_of(entered.came_by);
            let times = [entered.detected, entered.changed];
            let about = (MonitorId::NONE, port);
            self.modes
                .tell_of(now, times, ModeEventKind::Entered, about);
            self.tell_incomplete(now);
        }
        if self.modes.take_unsent() {
            for port in (0..).map(PortIndex).take(self.ports.len()) {
                self.say(now, port, Kind::Signal);
            }
        }
    }

    /// Takes note of a violation that a walk saw: its mode is in force already.
    pub(crate) fn note_violation(&mut self, now: Instant, seen: &Violation) {
        let Some(monitor) = self.modes.monitors.id_at(seen.monitor) else {
            return;
        };
        self.count_demand();
        let port = self.find_port(seen.port);
        let about = (monitor, self.number_of(port));
        let kind = ModeEventKind::Violation(demanded(seen.demand));
        self.modes.tell_of(now, [seen.at; 2], kind, about);
    }

    /// Gives later frames the level that is served.
    fn serve(&mut self) {
        self.level = self.modes.agreement.serves();
        self.modes.changes += 1;
    }

    fn tell_incomplete(&mut self, now: Instant) {
        let agreed = self.modes.agreement.mode().level;
        if !self.modes.complete().contains(agreed) {
            let kind = ModeEventKind::Incomplete;
            self.modes.tell(now, kind, MonitorId::NONE, PortNumber::ANY);
        }
    }

    /// Tells the neighbour behind a port, if there is one, the mode.
    fn say(&mut self, now: Instant, at: PortIndex, kind: Kind) {
        let port = self.port(at);
        if port.far_end.is_none() || !port.sends() {
            return;
        }
        let (number, source) = (port.config.number, port.config.mac);
        let frame = self.modes.signal(kind, number, source);
        self.send_ahead(now, at, &frame);
        self.modes.take_back(frame);
        match kind {
            Kind::Signal => self.modes.counters.sent += 1,
            Kind::HeartBeat => self.modes.counters.beats_sent += 1,
        }
    }

    /// Repeats the mode to all neighbours.
    pub(crate) fn beat(&mut self, now: Instant) {
        self.modes.note_beat(now);
        for port in (0..).map(PortIndex).take(self.ports.len()) {
            // What waits there says the same.
            if !self.port(port).has_ahead() {
                self.say(now, port, Kind::HeartBeat);
            }
        }
    }

    /// Takes note of a link that went up or down: whoever comes back may have missed
    /// much.
    pub(crate) fn greet(&mut self, now: Instant, port: PortIndex) {
        if let Some(shared) = &self.modes.shared {
            shared.forget(port);
        }
        if let Some(far_end) = &mut self.port_mut(port).far_end {
            far_end.heard = None;
            self.say(now, port, Kind::Signal);
        }
    }

    /// Takes part as a controller says. New neighbours hear the mode at once.
    pub(crate) fn configure_modes(
        &mut self,
        now: Instant,
        config: &ModeConfig<'_>,
        trunks: &[(PortIndex, Trunk)],
    ) {
        let has_new_key = config.key != self.modes.key();
        self.modes.configure(now, config);
        self.serve();
        self.wake_at(self.modes.beat_due());
        for port in (0..).map(PortIndex).take(self.ports.len()) {
            let trunk = trunks.iter().find(|(at, _)| *at == port);
            let far_end = trunk.map(|(_, trunk)| FarEnd {
                switch: trunk.far_switch,
                port: trunk.far_port,
                heard: None,
            });
            let is_new = self.port_mut(port).replace_far_end(far_end);
            if let Some(shared) = self.modes.shared.as_ref().filter(|_| is_new) {
                shared.forget(port);
            }
            if is_new || has_new_key {
                self.say(now, port, Kind::Signal);
            }
        }
        self.tell_incomplete(now);
    }

    /// Does what a controller wants of the mode.
    ///
    /// # Errors
    ///
    /// If the level cannot be lowered.
    pub(crate) fn set_mode(&mut self, now: Instant, set: ModeSet) -> Result<(), ModeFailed> {
        let step = match set.command {
            ModeCommand::Lower => self.modes.agree(|it| it.lower(now, set.level)),
            ModeCommand::Force => self.modes.agree(|it| it.force(set.level)),
            ModeCommand::Demand => {
                self.count_demand();
                self.modes.demanded = Some(now);
                Ok(self.modes.agree(|it| it.demand(now, set.level)))
            }
        };
        match step {
            Ok(ConsensusStep::Enter(_)) => self.enter(now, None),
            Ok(ConsensusStep::Stay | ConsensusStep::Answer) => {}
            Err(StayReason::NotQuiet(_)) => return Err(ModeFailed::NotQuiet),
            Err(StayReason::NotLower) => return Err(ModeFailed::NotLower),
        }
        Ok(())
    }

    /// Writes what the controllers may know of the mode into `trunks`, and returns it.
    pub(crate) fn mode_status<'a>(&self, now: Instant, trunks: &'a mut Vec<u8>) -> ModeStatus<'a> {
        for (at, port) in (0..).map(PortIndex).zip(&self.ports) {
            if let Some(far_end) = port.far_end {
                let by_walks = self.modes.shared.as_ref().and_then(|it| it.heard(at));
                let heard = by_walks.or(far_end.heard);
                let status = TrunkStatus {
                    port: port.config.number,
                    heard: heard.map(|(at, _)| now.saturating_since(at)),
                    mode: heard.map_or_else(Mode::default, |(_, mode)| mode),
                };
                status.emit(trunks);
            }
        }
        let modes = &self.modes;
        ModeStatus {
            mode: modes.agreement.mode(),
            origin: modes.agreement.origin(),
            served: self.level,
            complete: modes.complete(),
            default: modes.default(),
            flags: modes.flags(),
            quiet: modes.quiet(now),
            waiting: u64::try_from(self.waiting()).expect("64 bits suffice"),
            counters: modes.all_counters(),
            trunks: Sequence::from_bytes(trunks),
        }
    }

    fn number_of(&self, port: Option<PortIndex>) -> PortNumber {
        port.map_or(PortNumber::ANY, |port| self.port(port).config.number)
    }
}

/// Returns which message a frame belongs to, if it is a datagram that says so.
#[inline]
fn message_of(headers: &Headers, frame: &[u8]) -> Option<MessagePacket> {
    let (protocol, at) = headers.transport?;
    if protocol != PROTO_UDP {
        return None;
    }
    let datagram = frame.get(at + UDP_HEADER..headers.packet_end)?;
    let (shim, carried) = MessageShim::parse(datagram).ok()?;
    Some(MessagePacket {
        shim,
        carried_bytes: u32::try_from(carried.len()).ok()?,
    })
}
