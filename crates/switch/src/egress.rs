//! Where frames leave: the ports, the buffers, and what is on its way out.
//!
//! Executing an action never fails and never waits. What cannot be done is
//! counted where it happened.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::mode_signal::Level;
use wire::openflow::{ControllerLength, PacketInReason, PortConfig, PortNumber};

use crate::action::{Action, Program, Target};
use crate::action_set::ActionSet;
use crate::bfd::{BfdKeeper, FrameTimes};
use crate::bucket_choice::FlowHash;
use crate::buffer_pool::{Arrival, BufferPool, SlotIndex};
use crate::compiled::Form;
use crate::config::Config;
use crate::counters::SwitchCounters;
use crate::egress_queue::QueueFull;
use crate::group_table::GroupTable;
use crate::group_walk::GROUP_COPIES_A_FRAME;
use crate::headers::PipelineFields;
use crate::hops::{HopMonitor, HopPlace};
use crate::mac_table::MacTable;
use crate::meter_table::MeterTable;
use crate::metering::Judged;
use crate::modes::ModeKeeper;
use crate::packet::{Origin, Packet};
use crate::packet_in_budget::Budget;
use crate::port::{Leaving, Link, Port, PortIndex, Sending, Turn, URGENT, Waiting};
use crate::streams::{HELD_FRAMES_MAX, HeldFrames, NodeTable, RestOfList, StreamTable};

/// How many ports a switch has at most.
pub const PORTS_MAX: usize = 256;
/// How many transmissions may be announced and not yet polled.
const TRANSMISSIONS_MAX: usize = 1024;
/// How many waiting frames are dropped or moved in one call, as a change of mode
/// wants it: others have to wait for that.
const JUDGED_MAX: usize = 64;
/// Frames of its own that a switch holds at a port: one that waits ahead of all others, one
/// or two on their way out, and those of BFD that wait behind a frame.
const OWN_FRAMES_A_PORT: usize = 6;
/// How many frames may be on their way to the agent.
const PACKET_INS_MAX: usize = 64;
/// How many buffers the switch uses beyond what waits in queues: the frame at
/// hand and copies of it, those announced, and those for the agent.
pub(crate) const IN_HAND_MAX: usize = 2 * PACKET_INS_MAX + 128 + GROUP_COPIES_A_FRAME as usize;

/// How much of a frame the controllers get if nobody said otherwise, OF13 clause
/// 7.3.2.
pub(crate) const MISS_SEND_LENGTH: ControllerLength = ControllerLength(128);

/// A frame for the controllers.
#[derive(Debug)]
pub(crate) struct PendingPacketIn {
    pub(crate) slot: SlotIndex,
    pub(crate) known: PipelineFields,
    pub(crate) origin: Origin,
    /// How much of it they want.
    pub(crate) length: ControllerLength,
}

/// A frame whose transmission begins.
#[derive(Debug)]
pub(crate) struct Transmission {
    pub(crate) port: PortIndex,
    pub(crate) slot: SlotIndex,
    pub(crate) departs: Instant,
    pub(crate) queue: u8,
    /// Where it is noted how long the frame stayed.
    pub(crate) hop: Option<HopPlace>,
}

/// Whether there is still something to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameOutcome {
    Lives,
    /// It must go no further.
    Ends,
    /// It is to walk the tables, on behalf of a packet-out.
    Walks,
}

/// The ports of a switch with everything that is on its way out.
#[derive(Debug)]
pub(crate) struct Egress {
    pub(crate) ports: Vec<Port>,
    pub(crate) pool: BufferPool,
    pub(crate) transmissions: VecDeque<Transmission>,
    pub(crate) pending_packet_ins: VecDeque<PendingPacketIn>,
    pub(crate) counters: SwitchCounters,
    pub(crate) groups: GroupTable,
    pub(crate) meters: MeterTable,
    /// What is remembered of streams that go over several ways.
    pub(crate) streams: StreamTable,
    /// Frames of streams that wait for earlier ones.
    pub(crate) held_frames: HeldFrames,
    /// Which stations said to be there, by PRP.
    pub(crate) nodes: NodeTable,
    /// What meters decided about the frame at hand before it came here.
    pub(crate) judged: Judged,
    pub(crate) flow_hash: FlowHash,
    /// How many copies of the frame at hand groups may still make.
    pub(crate) copies_left: u32,
    /// Who is behind which port.
    pub(crate) stations: MacTable,
    /// How much of a frame the controllers get if no action says it, OF13 clause
    /// 7.3.2.
    pub(crate) miss_send_length: ControllerLength,
    /// The level whose entries are in force.
    pub(crate) level: Level,
    pub(crate) modes: ModeKeeper,
    /// How long the frames of each entry stay.
    pub(crate) hops: HopMonitor,
    /// Which neighbours are asked whether they are there.
    pub(crate) bfd: BfdKeeper,
    /// When frames came and left at their ports.
    pub(crate) frame_times: FrameTimes,
    packet_ins: Budget,
    discovery: Budget,
    catch_up: Duration,
    /// When the first of the waiting frames can begin; never too late.
    next_start: Instant,
}

impl Egress {
    /// Returns the ports of a switch, ordered by number.
    ///
    /// # Panics
    ///
    /// If two ports have the same number, one has a reserved number other than
    /// that of the switch's own host, or there are too many.
    pub(crate) fn new(now: Instant, config: &Config) -> Self {
        let mut configs = config.ports.clone();
        configs.sort_by_key(|port| port.number);
        let distinct = configs.windows(2).all(|two| two[0].number != two[1].number);
        assert!(distinct, "every port has a number of its own");
        assert!(
            configs
                .iter()
                .all(|port| port.number.is_ordinary() || port.number == PortNumber::LOCAL),
            "no port but that of the own host has a reserved number"
        );
        assert!(
            configs.len() <= PORTS_MAX,
            "a switch has at most {PORTS_MAX} ports"
        );
        let stations = MacTable::new(config.mac_table, configs.len(), config.seed);
        let ports = configs.into_iter();
        let ports = ports.map(|port| Port::new(now, port, config.queue_capacity));
        Self {
            ports: ports.collect(),
            pool: BufferPool::keeping(
                OWN_FRAMES_A_PORT * config.ports.len() + HELD_FRAMES_MAX,
                config.buffers,
            ),
            transmissions: VecDeque::with_capacity(TRANSMISSIONS_MAX),
            pending_packet_ins: VecDeque::with_capacity(PACKET_INS_MAX),
            counters: SwitchCounters::default(),
            groups: GroupTable::new(config.groups, config.group_buckets),
            meters: MeterTable::new(config.meters, config.meter_bands),
            streams: StreamTable::new(),
            held_frames: HeldFrames::new(),
            nodes: NodeTable::new(),
            judged: Judged::default(),
            flow_hash: FlowHash::new(config.seed),
            copies_left: GROUP_COPIES_A_FRAME,
            stations,
            miss_send_length: MISS_SEND_LENGTH,
            level: Level::LOWEST,
            modes: ModeKeeper::new(now, config.datapath_id),
            hops: HopMonitor::new(now, config.ports.len()),
            bfd: BfdKeeper::new(config.seed, config.datapath_id),
            frame_times: FrameTimes::new(config.ports.len()),
            packet_ins: Budget::new(now, config.packet_ins),
            discovery: Budget::new(now, config.discovery),
            catch_up: config.catch_up,
            next_start: Instant::FAR_FUTURE,
        }
    }

    pub(crate) fn find_port(&self, number: PortNumber) -> Option<PortIndex> {
        let at = self
            .ports
            .binary_search_by_key(&number, |port| port.config.number)
            .ok()?;
        Some(PortIndex(
            u16::try_from(at).expect("there are at most 256 ports"),
        ))
    }

    pub(crate) fn port(&self, port: PortIndex) -> &Port {
        &self.ports[port.at()]
    }

    pub(crate) fn port_mut(&mut self, port: PortIndex) -> &mut Port {
        &mut self.ports[port.at()]
    }

    /// Takes in a frame that came through `port`, or that a controller made, if
    /// there is a buffer for it.
    pub(crate) fn admit(
        &mut self,
        port: Option<PortIndex>,
        in_port: PortNumber,
        frame: Arrival<'_>,
    ) -> Option<Packet> {
        let slot = self.pool.store(frame)?;
        self.copies_left = GROUP_COPIES_A_FRAME;
        Some(Packet::new(port, in_port, slot, self.level, frame.bytes))
    }

    /// Gives up the hold of the walk on its frame, and does what its monitors demand.
    pub(crate) fn finish(&mut self, packet: &Packet) {
        self.pool.release(packet.slot);
        self.heed();
    }

    /// Does what an entry says is to be done at once: its meter comes first, OF13
    /// clause 5.9.
    #[inline]
    pub(crate) fn apply(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        program: &Program,
        set: &ActionSet,
        form: Option<&Form>,
    ) -> FrameOutcome {
        if let Some(meter) = program.meter
            && self.meter(now, packet, meter, form) == FrameOutcome::Ends
        {
            return FrameOutcome::Ends;
        }
        for (place, &action) in program.apply.iter().enumerate() {
            // Nobody needs the frame behind such a group, so it needs no copy.
            if let Action::Group(group) = action
                && program.ends_with(place)
                && (program.clear || set.is_empty())
            {
                self.enter_group(now, packet, group);
                return FrameOutcome::Ends;
            }
            // The frame may have to wait before the others of them are done.
            if let Action::Eliminate(how) = action
                && how.holds()
            {
                let (actions, from) = (program.apply.clone(), place + 1);
                self.eliminate_in_order(now, packet, &how, RestOfList { actions, from });
                return FrameOutcome::Ends;
            }
            if self.execute(now, packet, action) == FrameOutcome::Ends {
                return FrameOutcome::Ends;
            }
        }
        FrameOutcome::Lives
    }

    #[inline]
    pub(crate) fn execute(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        action: Action,
    ) -> FrameOutcome {
        match action {
            Action::Output(target) => return self.output(now, packet, target),
            Action::SetQueue(_) if packet.exceeds => {}
            Action::SetQueue(queue) => packet.queue = queue,
            Action::SetField(value) => return self.set_field(packet, value),
            Action::Group(group) => self.visit_group(now, packet, group),
            Action::Push(tag) => return self.push(packet, tag),
            Action::EnsureTag => return self.ensure_tag(packet),
            Action::Pop(tag) => return self.pop(packet, tag),
            Action::SetTtl(layer, ttl) => return self.set_ttl(packet, layer, ttl),
            Action::DecrementTtl(layer) => return self.decrement_ttl(now, packet, layer),
            Action::CopyTtl(direction) => return self.copy_ttl(packet, direction),
            Action::FlowMonitor(monitor) => self.show(now, packet, monitor),
            Action::ModeArrange => return self.arrange(now, packet),
            Action::QueuedFrame(fates) => packet.fates = fates,
            Action::Sequence(stream) => return self.number(packet, stream),
            Action::Eliminate(how) => return self.eliminate(packet, &how),
            Action::Trailer(what) => return self.change_trailer(packet, what),
        }
        FrameOutcome::Lives
    }

    /// Notes that an entry uses groups and a meter. What polices it is that of the entry
    /// in whose place it is, if the contract is the same.
    pub(crate) fn hold_for(
        &mut self,
        now: Instant,
        program: &mut Program,
        before: Option<&Program>,
    ) {
        for group in program.groups() {
            self.groups.hold(group);
        }
        if let Some(police) = &program.police {
            let kept = before.filter(|before| before.police == program.police);
            let kept = kept.and_then(|before| before.meter);
            let meter = kept.unwrap_or_else(|| self.meters.add_policer(now, police));
            program.meter = Some(meter);
        }
        if let Some(meter) = program.meter {
            self.meters.meter_mut(meter).entries += 1;
        }
        for monitor in program.monitors() {
            // Without a place a monitor is none; there was one when the entry came.
            let _ = self.modes.monitors.reserve(monitor);
        }
        self.hold_streams(&program.apply);
    }

    /// Notes that an entry uses its groups and its meter no more.
    pub(crate) fn release_for(&mut self, program: &Program) {
        self.release_streams(&program.apply);
        for group in program.groups() {
            self.groups.release(group);
        }
        if let Some(meter) = program.meter {
            let entries = &mut self.meters.meter_mut(meter).entries;
            *entries -= 1;
            if program.police.is_some() && *entries == 0 {
                self.meters.remove(meter);
            }
        }
    }

    /// Begins what waits and can begin.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        if now >= self.next_start {
            self.begin_waiting(now);
        }
    }

    /// Returns when the next of the waiting frames can begin.
    pub(crate) const fn next_start(&self) -> Option<Instant> {
        match self.next_start {
            Instant::FAR_FUTURE => None,
            start => Some(start),
        }
    }

    /// Changes the state of a link. What waits for a link that is down would
    /// arrive too late to be of use, so it is dropped.
    pub(crate) fn set_link(&mut self, port: PortIndex, link: Link) {
        self.ports[port.at()].link = link;
        self.heed_port(port);
        self.stations.forget(port);
    }

    /// Does what follows from a change of a port: groups look for another way,
    /// and what waits at a port that sends nothing is dropped.
    pub(crate) fn heed_port(&mut self, port: PortIndex) {
        self.groups.find_live(&self.ports);
        let port = &mut self.ports[port.at()];
        if port.is_up() {
            return;
        }
        while let Some(slot) = port.drop_waiting() {
            self.pool.release(slot);
            self.counters.dropped += 1;
        }
    }

    /// Returns how many frames wait in queues.
    pub(crate) fn waiting(&self) -> usize {
        let queues = self.ports.iter().flat_map(Port::queues);
        let queued: usize = queues.map(crate::egress_queue::EgressQueue::len).sum();
        queued + self.ports.iter().filter(|port| port.has_ahead()).count()
    }

    #[cold]
    fn begin_waiting(&mut self, now: Instant) {
        if now >= self.modes.beat_due() {
            self.beat(now);
        }
        if now >= self.bfd.due() {
            self.serve_sessions(now);
        }
        if now >= self.held_frames.due() {
            self.let_overdue_go(now);
        }
        let own_due = self.modes.beat_due().min(self.bfd.due());
        self.next_start = own_due.min(self.held_frames.due());
        let mut judged = 0;
        for at in (0..).map(PortIndex).take(self.ports.len()) {
            while self.transmissions.len() < TRANSMISSIONS_MAX
                && judged < JUDGED_MAX
                && let Some(turn) = self.ports[at.at()].next_turn(now, self.level)
            {
                judged += usize::from(self.take_turn(now, at, turn) == FrameOutcome::Ends);
            }
            if let Some(start) = self.ports[at.at()].next_start() {
                self.next_start = self.next_start.min(start);
            }
        }
    }

    /// Does what is decided about a frame that waited; says whether it leaves.
    fn take_turn(&mut self, now: Instant, at: PortIndex, turn: Turn) -> FrameOutcome {
        match turn {
            Turn::Leaves(Waiting {
                queue,
                frame,
                owner,
            }) => {
                let bytes = self.pool.frame(frame).len();
                let port = &mut self.ports[at.at()];
                let departs = port.begin_waiting(now, queue, bytes, self.catch_up);
                self.counters.sent += 1;
                self.transmissions.push_back(Transmission {
                    port: at,
                    slot: frame,
                    departs,
                    queue,
                    hop: self.hops.place_of(owner, at, queue),
                });
                return FrameOutcome::Lives;
            }
            Turn::Moved => self.modes.counters.queued_moved += 1,
            Turn::Dropped(frame) => {
                self.pool.release(frame);
                self.counters.dropped += 1;
                self.modes.counters.queued_dropped += 1;
            }
        }
        FrameOutcome::Ends
    }

    /// Sends a frame of the switch itself out of a port ahead of all others, in the
    /// place of an older one that still waits there.
    pub(crate) fn send_ahead(&mut self, now: Instant, at: PortIndex, bytes: &[u8]) {
        let Some(slot) = self.pool.store_own(Arrival { bytes, at: now }) else {
            return;
        };
        let (sending, replaced) = self.ports[at.at()].send_ahead(now, slot, bytes.len());
        match sending {
            Sending::Begins(departs) => self.begin_own(at, slot, departs),
            Sending::Waits => {
                let start = self.ports[at.at()].next_start();
                self.next_start = self.next_start.min(start.unwrap_or(now));
            }
        }
        match replaced {
            Some(replaced) => self.pool.release(replaced),
            None => self.counters.outputs += 1,
        }
    }

    /// Notes that the transmission of a frame of the switch itself begins.
    pub(crate) fn begin_own(&mut self, port: PortIndex, slot: SlotIndex, departs: Instant) {
        self.counters.sent += 1;
        self.transmissions.push_back(Transmission {
            port,
            slot,
            departs,
            queue: URGENT,
            hop: None,
        });
    }

    /// Makes sure that nothing due at an instant is missed.
    pub(crate) fn wake_at(&mut self, at: Instant) {
        self.next_start = self.next_start.min(at);
    }

    #[inline]
    fn output(&mut self, now: Instant, packet: &mut Packet, target: Target) -> FrameOutcome {
        match target {
            Target::Port(port) if packet.port == Some(port) => {}
            Target::Port(port) => self.send(now, packet, port),
            Target::InPort => {
                if let Some(port) = packet.port {
                    self.send(now, packet, port);
                }
            }
            Target::All => self.send_where(now, packet, Port::sends),
            Target::Flood => self.flood(now, packet),
            Target::Normal => self.bridge(now, packet),
            Target::Controller(length) => self.pending(now, packet, packet.origin.reason, length),
            Target::Tables => return FrameOutcome::Walks,
        }
        FrameOutcome::Lives
    }

    /// Sends to every port that takes floods, but the one of arrival.
    pub(crate) fn flood(&mut self, now: Instant, packet: &Packet) {
        self.send_where(now, packet, Port::sends_floods);
    }

    /// Sends to every such port but the one of arrival.
    #[inline]
    fn send_where(&mut self, now: Instant, packet: &Packet, wanted: impl Fn(&Port) -> bool) {
        for at in 0..self.ports.len() {
            let port = PortIndex(u16::try_from(at).expect("there are at most 256 ports"));
            if packet.port != Some(port) && wanted(&self.ports[at]) {
                self.send(now, packet, port);
            }
        }
    }

    #[inline]
    pub(crate) fn send(&mut self, now: Instant, packet: &Packet, port: PortIndex) {
        self.counters.outputs += 1;
        let at = port;
        let port = &mut self.ports[at.at()];
        if !port.sends() || self.transmissions.len() >= TRANSMISSIONS_MAX {
            port.count_drop(packet.queue);
            self.counters.dropped += 1;
            return;
        }
        if packet.queue > 0 && port.bfd.is_some() {
            self.frame_times.note_left(at, now);
        }
        let bytes = self.pool.frame(packet.slot).len();
        let leaving = Leaving {
            frame: packet.slot,
            queue: packet.queue,
            fates: packet.fates,
            owner: packet.owner,
        };
        match port.send(now, leaving, bytes) {
            Ok(Sending::Begins(departs)) => {
                self.counters.sent += 1;
                self.pool.hold(packet.slot);
                self.transmissions.push_back(Transmission {
                    port: at,
                    slot: packet.slot,
                    departs,
                    queue: packet.queue,
                    hop: self.hops.place_of(packet.owner, at, packet.queue),
                });
            }
            Ok(Sending::Waits) => {
                self.pool.hold(packet.slot);
                self.next_start = self.next_start.min(port.next_start().unwrap_or(now));
            }
            Err(QueueFull) => {
                port.count_drop(packet.queue);
                self.counters.dropped += 1;
            }
        }
    }

    pub(crate) fn pending(
        &mut self,
        now: Instant,
        packet: &Packet,
        reason: PacketInReason,
        length: ControllerLength,
    ) {
        if packet
            .port
            .is_some_and(|port| self.ports[port.at()].forbids(PortConfig::NO_PACKET_IN))
        {
            return;
        }
        let budget = match reason {
            PacketInReason::Action if packet.is_lldp() => &mut self.discovery,
            PacketInReason::Action | PacketInReason::NoMatch | PacketInReason::InvalidTtl => {
                &mut self.packet_ins
            }
        };
        let bytes = self.pool.frame(packet.slot).len();
        let meter = self.meters.of_packet_ins();
        if self.pending_packet_ins.len() >= PACKET_INS_MAX
            || !budget.take(now)
            || meter.is_some_and(|meter| meter.judge(now, bytes).is_some())
        {
            self.counters.punts_dropped += 1;
            return;
        }
        self.counters.punted += 1;
        self.pool.hold(packet.slot);
        self.pending_packet_ins.push_back(PendingPacketIn {
            length,
            slot: packet.slot,
            known: packet.known,
            origin: Origin {
                reason,
                ..packet.origin
            },
        });
    }
}
