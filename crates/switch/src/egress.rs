//! Where frames leave: the ports, the buffers, and what is on its way out.
//!
//! Executing an action never fails and never waits. What cannot be done is
//! counted where it happened.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::ethernet::EtherType;
use wire::openflow::{Cookie, PacketInReason, PortConfig, PortNumber, TableId};

use crate::action::{Action, FieldValue, MetadataChange, Target};
use crate::buffer_pool::{BufferPool, FRAME_BYTES_MAX, SlotIndex};
use crate::config::Config;
use crate::counters::SwitchCounters;
use crate::egress_queue::QueueFull;
use crate::packet_key::{self, Headers, PacketKey, field};
use crate::port::{Link, Port, PortIndex, Sending};
use crate::punt_budget::Budget;
use crate::rewrite;

/// How many ports a switch has at most.
pub const PORTS_MAX: usize = 256;
/// How many transmissions may be announced and not yet polled.
const TRANSMISSIONS_MAX: usize = 1024;
/// How many frames may be on their way to the agent.
const PUNTS_MAX: usize = 64;
/// How many buffers the switch uses beyond what waits in queues: the frame at
/// hand and copies of it, those announced, and those for the agent.
pub(crate) const IN_HAND_MAX: usize = 2 * PUNTS_MAX + 128;

/// A frame on its way through the tables.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) slot: SlotIndex,
    /// The port it came from; none if a controller made it.
    pub(crate) port: Option<PortIndex>,
    pub(crate) in_port: PortNumber,
    pub(crate) metadata: u64,
    pub(crate) key: PacketKey,
    /// On whose behalf actions are executed.
    pub(crate) origin: Origin,
    headers: Headers,
    /// The queue for the next output.
    queue: u8,
    /// Whether the key is out of date.
    changed: bool,
}

impl Packet {
    /// Changes the metadata, which the next table sees.
    pub(crate) fn write_metadata(&mut self, change: MetadataChange) {
        self.metadata = change.applied_to(self.metadata);
        self.key.replace(field::METADATA, self.metadata);
    }
}

/// On whose behalf an action is executed: what a packet-in tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) table: TableId,
    pub(crate) cookie: Cookie,
    pub(crate) reason: PacketInReason,
}

impl Origin {
    /// A packet-out, which no table and no entry asked for.
    const PACKET_OUT: Self = Self {
        table: TableId(0),
        cookie: Cookie(u64::MAX),
        reason: PacketInReason::Action,
    };
}

/// A frame for the controllers.
#[derive(Debug)]
pub(crate) struct Punt {
    pub(crate) slot: SlotIndex,
    pub(crate) in_port: PortNumber,
    pub(crate) metadata: u64,
    pub(crate) origin: Origin,
}

/// A frame whose transmission begins.
#[derive(Debug)]
pub(crate) struct Transmission {
    pub(crate) port: PortNumber,
    pub(crate) slot: SlotIndex,
    pub(crate) departs: Instant,
}

/// Whether there is still something to do with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
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
    pub(crate) punts: VecDeque<Punt>,
    pub(crate) counters: SwitchCounters,
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
    /// If two ports have the same number, one has a reserved number, or there
    /// are too many.
    pub(crate) fn new(now: Instant, config: &Config) -> Self {
        let mut configs = config.ports.clone();
        configs.sort_by_key(|port| port.number);
        let distinct = configs.windows(2).all(|two| two[0].number != two[1].number);
        assert!(distinct, "every port has a number of its own");
        assert!(
            configs.iter().all(|port| port.number.is_ordinary()),
            "no port has a reserved number"
        );
        assert!(
            configs.len() <= PORTS_MAX,
            "a switch has at most {PORTS_MAX} ports"
        );
        let ports = configs.into_iter();
        let ports = ports.map(|port| Port::new(now, port, config.queue_capacity));
        Self {
            ports: ports.collect(),
            pool: BufferPool::new(config.buffers),
            transmissions: VecDeque::with_capacity(TRANSMISSIONS_MAX),
            punts: VecDeque::with_capacity(PUNTS_MAX),
            counters: SwitchCounters::default(),
            packet_ins: Budget::new(now, config.packet_ins),
            discovery: Budget::new(now, config.discovery),
            catch_up: config.catch_up,
            next_start: Instant::FAR_FUTURE,
        }
    }

    /// Returns the port with this number.
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
        frame: &[u8],
    ) -> Option<Packet> {
        assert!(
            frame.len() <= FRAME_BYTES_MAX,
            "the caller refuses such frames"
        );
        let slot = self.pool.store(frame)?;
        let (key, headers) = packet_key::extract(in_port, 0, frame);
        Some(Packet {
            slot,
            port,
            in_port,
            metadata: 0,
            key,
            origin: Origin::PACKET_OUT,
            headers,
            queue: 0,
            changed: false,
        })
    }

    /// Gives up the hold of the walk on its frame.
    pub(crate) fn finish(&mut self, packet: &Packet) {
        self.pool.release(packet.slot);
    }

    /// Brings the key of a frame up to date.
    #[inline]
    pub(crate) fn refresh(&self, packet: &mut Packet) {
        if packet.changed {
            packet.changed = false;
            let frame = self.pool.frame(packet.slot);
            (packet.key, packet.headers) =
                packet_key::extract(packet.in_port, packet.metadata, frame);
        }
    }

    /// Executes one action.
    #[inline]
    pub(crate) fn execute(&mut self, now: Instant, packet: &mut Packet, action: Action) -> Fate {
        match action {
            Action::Output(target) => return self.output(now, packet, target),
            Action::SetQueue(queue) => packet.queue = queue,
            Action::PushVlan(ether_type) => return self.push_vlan(packet, ether_type),
            Action::PopVlan => return self.pop_vlan(packet),
            Action::SetTtl(ttl) => {
                return self.change(packet, |frame, headers| {
                    rewrite::set_ttl(frame, headers, ttl)
                });
            }
            Action::DecrementTtl => return self.decrement_ttl(now, packet),
            Action::SetField(value) => return self.set_field(packet, value),
        }
        Fate::Lives
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
        self.drop_if_down(port);
    }

    /// Drops what waits at a port that sends nothing.
    pub(crate) fn drop_if_down(&mut self, port: PortIndex) {
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
        queues.map(crate::egress_queue::EgressQueue::len).sum()
    }

    #[cold]
    fn begin_waiting(&mut self, now: Instant) {
        self.next_start = Instant::FAR_FUTURE;
        for port in &mut self.ports {
            while self.transmissions.len() < TRANSMISSIONS_MAX
                && let Some(waiting) = port.next_frame(now)
            {
                let bytes = self.pool.frame(waiting.frame).len();
                let departs = port.begin_waiting(now, waiting.queue, bytes, self.catch_up);
                self.counters.sent += 1;
                self.transmissions.push_back(Transmission {
                    port: port.config.number,
                    slot: waiting.frame,
                    departs,
                });
            }
            if let Some(start) = port.next_start() {
                self.next_start = self.next_start.min(start);
            }
        }
    }

    #[inline]
    fn output(&mut self, now: Instant, packet: &Packet, target: Target) -> Fate {
        match target {
            Target::Port(port) if packet.port == Some(port) => {}
            Target::Port(port) => self.send(now, packet, port),
            Target::InPort => {
                if let Some(port) = packet.port {
                    self.send(now, packet, port);
                }
            }
            Target::Flood => self.flood(now, packet),
            Target::Controller => self.punt(now, packet, packet.origin.reason),
            Target::Tables => return Fate::Walks,
        }
        Fate::Lives
    }

    /// Sends to every port that takes frames, but the one of arrival.
    fn flood(&mut self, now: Instant, packet: &Packet) {
        for at in 0..self.ports.len() {
            let port = PortIndex(u16::try_from(at).expect("there are at most 256 ports"));
            if packet.port != Some(port) && self.ports[at].sends() {
                self.send(now, packet, port);
            }
        }
    }

    #[inline]
    fn send(&mut self, now: Instant, packet: &Packet, port: PortIndex) {
        self.counters.outputs += 1;
        let port = &mut self.ports[port.at()];
        if !port.sends() || self.transmissions.len() >= TRANSMISSIONS_MAX {
            port.count_drop(packet.queue);
            self.counters.dropped += 1;
            return;
        }
        let bytes = self.pool.frame(packet.slot).len();
        match port.send(now, packet.slot, packet.queue, bytes) {
            Ok(Sending::Begins(departs)) => {
                self.counters.sent += 1;
                self.pool.hold(packet.slot);
                self.transmissions.push_back(Transmission {
                    port: port.config.number,
                    slot: packet.slot,
                    departs,
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

    fn punt(&mut self, now: Instant, packet: &Packet, reason: PacketInReason) {
        if packet
            .port
            .is_some_and(|port| self.ports[port.at()].forbids(PortConfig::NO_PACKET_IN))
        {
            return;
        }
        let budget = match reason {
            PacketInReason::Action if is_lldp(packet) => &mut self.discovery,
            PacketInReason::Action | PacketInReason::NoMatch | PacketInReason::InvalidTtl => {
                &mut self.packet_ins
            }
        };
        if self.punts.len() >= PUNTS_MAX || !budget.take(now) {
            self.counters.punts_dropped += 1;
            return;
        }
        self.counters.punted += 1;
        self.pool.hold(packet.slot);
        self.punts.push_back(Punt {
            slot: packet.slot,
            in_port: packet.in_port,
            metadata: packet.metadata,
            origin: Origin {
                reason,
                ..packet.origin
            },
        });
    }

    /// Makes sure that a change of the frame is seen by nobody else.
    fn make_unique(&mut self, packet: &mut Packet) -> Fate {
        match self.pool.make_unique(packet.slot) {
            Some(slot) => {
                packet.slot = slot;
                packet.changed = true;
                Fate::Lives
            }
            None => {
                self.counters.abandoned += 1;
                Fate::Ends
            }
        }
    }

    fn change(&mut self, packet: &mut Packet, change: impl FnOnce(&mut [u8], &Headers)) -> Fate {
        self.refresh(packet);
        let fate = self.make_unique(packet);
        if fate == Fate::Lives {
            change(self.pool.frame_mut(packet.slot), &packet.headers);
        }
        fate
    }

    fn set_field(&mut self, packet: &mut Packet, value: FieldValue) -> Fate {
        self.change(packet, |frame, headers| {
            rewrite::set_field(frame, headers, value);
        })
    }

    fn push_vlan(&mut self, packet: &mut Packet, ether_type: u16) -> Fate {
        self.refresh(packet);
        if self.make_unique(packet) == Fate::Ends {
            return Fate::Ends;
        }
        if self
            .pool
            .grow_front(packet.slot, rewrite::VLAN_TAG)
            .is_err()
        {
            self.counters.abandoned += 1;
            return Fate::Ends;
        }
        let frame = self.pool.frame_mut(packet.slot);
        rewrite::push_vlan(frame, &packet.headers, ether_type);
        Fate::Lives
    }

    fn pop_vlan(&mut self, packet: &mut Packet) -> Fate {
        self.refresh(packet);
        if !packet.headers.tagged {
            return Fate::Lives;
        }
        let fate = self.change(packet, |frame, _| rewrite::pop_vlan(frame));
        if fate == Fate::Lives {
            self.pool.shrink_front(packet.slot, rewrite::VLAN_TAG);
        }
        fate
    }

    fn decrement_ttl(&mut self, now: Instant, packet: &mut Packet) -> Fate {
        let mut result = Ok(());
        let fate = self.change(packet, |frame, headers| {
            result = rewrite::decrement_ttl(frame, headers);
        });
        if fate == Fate::Lives && result.is_err() {
            self.counters.abandoned += 1;
            self.punt(now, packet, PacketInReason::InvalidTtl);
            return Fate::Ends;
        }
        fate
    }
}

fn is_lldp(packet: &Packet) -> bool {
    packet.key.get(field::ETH_TYPE) == u64::from(EtherType::LLDP.0)
}
