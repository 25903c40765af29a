//! A Zodiac FX without the hardware: a switch whose one processor does all, as
//! the Loko paper describes it (S4-10).
//!
//! ```text
//!          integrated switch            inner link          processor
//! port --> pass, for the processor --> one frame at a time --> in hand, 24 buffers
//! port <-- pass, queue of the port <-- one frame at a time <-- main loop
//! ```
//!
//! Ports 1 to 3 belong to OpenFlow: the integrated switch sends whatever comes in
//! to the processor, with one byte behind it that names the port. Port 4 is
//! native: it leads to the OpenFlow agent. The processor runs one loop. Each turn
//! takes one frame, from whichever port, and finishes it: through the flow table
//! or through the agent (LOKO Fig. 2). What arrives meanwhile waits in buffers
//! that all ports share. What finds no room is lost, and the processor sends a pause
//! frame: then the integrated switch fills up, and some of what comes back from
//! the processor is lost as well. That is why the output falls when the input
//! exceeds what the processor can do (LOKO Fig. 12a).
//!
//! [`ZodiacFx`] is a core: frames go in when their last bit has arrived and come
//! out with the times of their first and last bit. [`Profile`] holds every
//! number; with other numbers the same build is a Banana Pi R1.
//!
//! | module | knows |
//! |---|---|
//! | [`profile`] | rates, times and sizes, and where they come from |
//! | [`flow_table`] | the list of entries and the rules of its search |
//! | [`frame`] | a frame, its size, its fields |
//!
//! # Differs from the device
//!
//! Every time is exact: what takes 92 us takes that always. TCP is there only as
//! the size of the frames that carry OpenFlow. Pause frames are there only as
//! their effect behind the processor: the paper explains it by a memory that fills
//! up, and measures in LOKO section 3.5 that the integrated switch holds nothing.
//!
//! # Left out
//!
//! The web server and the command line, which the paper does not use either.

mod agent;
pub mod flow_table;
pub mod frame;
mod frame_memory;
pub mod profile;
mod rewrite;
pub mod table;

use std::collections::VecDeque;
use std::sync::Arc;

use calculus::loko::processing_time::frame_time;
use units::{DataSize, Delay, Duration, Instant};
use wire::openflow::{DatapathId, PacketInReason};
use wire::openflow10::PortNumber;

use agent::{Agent, Handled, PACKET_IN};
use flow_table::FlowTable;
use frame::Fields;
use frame_memory::FrameMemory;

pub use frame::Frame;
pub use profile::Profile;

/// The ports that belong to OpenFlow.
pub const OPENFLOW_PORTS: [PortNumber; 3] = [PortNumber(1), PortNumber(2), PortNumber(3)];
/// The port of the controller.
pub const NATIVE_PORT: PortNumber = PortNumber(4);
/// The most bytes of a control connection that one frame carries.
pub const SEGMENT_MAX: usize = 1_460;

const PREAMBLE: DataSize = DataSize::from_bytes(8);
const GAP: DataSize = DataSize::from_bytes(12);
const TAIL_TAG: DataSize = DataSize::from_bytes(1);
/// Ethernet, IPv4 and TCP around a segment: an echo request of 8 bytes is a frame
/// of 66, LOKO section 6.1.
const SEGMENT_OVERHEAD: usize = 14 + 20 + 20;
/// What the integrated switch can hold of frames for the processor.
const SWITCH_MEMORY: DataSize = DataSize::from_bytes(64 * 1_024);
/// Frames that may wait behind the one that leaves the processor, before the
/// processor waits for them.
const LEAVING_MAX: usize = 2;
const PORT_CHECK_INTERVAL: Duration = Duration::from_ms(1_500);

/// What happens to the switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The last bit of a frame has arrived at an OpenFlow port.
    Frame { port: PortNumber, frame: Frame },
    /// The last bit of a frame that carries these bytes of the control connection
    /// has arrived at the native port. At most [`SEGMENT_MAX`] of them.
    Control(Vec<u8>),
    /// Nothing has happened, but [`ZodiacFx::deadline`] has come.
    Timeout,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZodiacOutput {
    /// When the first bit of the preamble leaves.
    pub begins: Instant,
    /// When the last bit of the frame leaves.
    pub ends: Instant,
    pub sent: Sent,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// A frame, from an OpenFlow port.
    Frame { port: PortNumber, frame: Frame },
    /// Bytes of the control connection, from the native port.
    Control(Vec<u8>),
}

/// What the switch lost, by where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// Before the inner link: the integrated switch was full.
    pub before_link: u64,
    /// Before the processor: no buffer was free.
    pub before_processor: u64,
    /// Behind the processor: pause frames had filled the integrated switch.
    pub behind_processor: u64,
}

/// Something on its way to the processor.
#[derive(Debug)]
enum Arrival {
    Frame(PortNumber, Frame),
    Control(Vec<u8>),
}

/// Something on its way from the processor.
#[derive(Debug)]
struct Departure {
    ready: Instant,
    sent: Sent,
}

/// The emulated switch. Drive it in a loop: [`handle`](Self::handle) one input,
/// [`poll`](Self::poll) until there is nothing, wait for the next input or for
/// [`deadline`](Self::deadline).
#[derive(Debug)]
pub struct ZodiacFx {
    profile: Profile,
    agent: Agent,
    now: Instant,
    /// In the integrated switch, for the processor, with the time from which
    /// each may leave.
    inbound: VecDeque<(Instant, Arrival)>,
    inbound_held: DataSize,
    /// When the last bit of the first of them reaches the processor.
    inbound_arrives: Instant,
    inbound_link_free: Instant,
    /// Pause frames since the processor last had nothing to do that have not yet
    /// cost a frame.
    pauses: u32,
    memory: FrameMemory,
    /// When the processor is done, and what then leaves.
    working: Option<(Instant, Vec<Sent>)>,
    processor_free: Instant,
    next_port_check: Instant,
    departing: VecDeque<Departure>,
    departing_link_free: Instant,
    /// When the last bit of the first of them reaches the integrated switch.
    departs: Instant,
    port_free: [Instant; 4],
    outputs: VecDeque<ZodiacOutput>,
    losses: Losses,
}

impl ZodiacFx {
    /// Returns a switch with an empty table.
    #[must_use]
    pub fn new(profile: Profile, datapath: DatapathId) -> Self {
        Self {
            profile,
            agent: Agent::new(datapath),
            now: Instant::ZERO,
            inbound: VecDeque::new(),
            inbound_held: DataSize::ZERO,
            inbound_arrives: Instant::FAR_FUTURE,
            inbound_link_free: Instant::ZERO,
            pauses: 0,
            memory: FrameMemory::new(profile.buffers, profile.buffer),
            working: None,
            processor_free: Instant::ZERO,
            next_port_check: Instant::ZERO + PORT_CHECK_INTERVAL,
            departing: VecDeque::new(),
            departing_link_free: Instant::ZERO,
            departs: Instant::FAR_FUTURE,
            port_free: [Instant::ZERO; 4],
            outputs: VecDeque::new(),
            losses: Losses::default(),
        }
    }

    /// Takes one input, at the time at which it happened.
    ///
    /// A frame at a port that is not one of [`OPENFLOW_PORTS`], or longer than a
    /// cable carries, is ignored, and so is a segment that is too long.
    ///
    /// # Panics
    ///
    /// If `now` is earlier than in an earlier call.
    pub fn handle(&mut self, now: Instant, input: Input) {
        assert!(now >= self.now, "time ran backwards");
        self.catch_up(now);
        self.now = now;
        match input {
            Input::Frame { port, frame } => {
                let fits = frame.bytes.len() <= wire::ethernet::LONGEST_FRAME;
                if fits && OPENFLOW_PORTS.contains(&port) {
                    self.forward_inwards(self.profile.pass, Arrival::Frame(port, frame));
                }
            }
            Input::Control(bytes) => {
                if bytes.len() <= SEGMENT_MAX {
                    self.forward_inwards(self.profile.native_pass, Arrival::Control(bytes));
                }
            }
            Input::Timeout => {}
        }
        self.catch_up(now);
    }

    /// Returns the next thing that is sent; what begins earlier may come later, if
    /// it leaves by another port.
    pub fn poll(&mut self) -> Option<ZodiacOutput> {
        self.outputs.pop_front()
    }

    /// Returns when to call [`handle`](Self::handle) if nothing arrives before.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let done = self.working.as_ref().map(|(done, _)| *done);
        let done = done.unwrap_or(Instant::FAR_FUTURE);
        self.inbound_arrives.min(done).min(self.departs)
    }

    /// Returns what was lost so far: for tests; nobody outside the device sees it.
    #[must_use]
    pub const fn losses(&self) -> Losses {
        self.losses
    }

    /// Returns the flow table, likewise for tests.
    #[must_use]
    pub const fn flow_table(&self) -> &FlowTable {
        &self.agent.table
    }

    /// Does what was due by `until`, one thing after the other.
    fn catch_up(&mut self, until: Instant) {
        loop {
            let due = self.deadline();
            if due > until {
                return;
            }
            self.now = due;
            if self.departs == due {
                self.leave_inner_link();
            } else if self.inbound_arrives == due {
                self.reach_processor();
            } else {
                self.finish_work();
            }
        }
    }

    fn forward_inwards(&mut self, pass: Delay, arrival: Arrival) {
        let held = self.inbound_held + arrival.size();
        if held > SWITCH_MEMORY {
            self.losses.before_link += 1;
            return;
        }
        self.inbound_held = held;
        let behind = self
            .inbound
            .back()
            .map_or(Instant::ZERO, |(ready, _)| *ready);
        let delayed = pass + self.profile.latency();
        let ready = (self.now + delayed.round_up()).max(behind);
        self.inbound.push_back((ready, arrival));
        if self.inbound.len() == 1 {
            self.send_first_inwards();
        }
    }

    /// Plans the way of the first frame over the inner link.
    fn send_first_inwards(&mut self) {
        let Some((ready, arrival)) = self.inbound.front() else {
            self.inbound_arrives = Instant::FAR_FUTURE;
            return;
        };
        let begins = (*ready).max(self.inbound_link_free);
        let on_link = self
            .profile
            .inner_time(PREAMBLE + arrival.size() + TAIL_TAG);
        self.inbound_arrives = begins + on_link.round_up();
    }

    fn reach_processor(&mut self) {
        let Some((_, arrival)) = self.inbound.pop_front() else {
            return;
        };
        self.inbound_held = self.inbound_held.saturating_sub(arrival.size());
        self.inbound_link_free = self.now + self.profile.inner_time(GAP).round_up();
        let in_hand = match self.working {
            None if self.departing.len() <= LEAVING_MAX => {
                self.work_on(arrival);
                Ok(())
            }
            None | Some(_) => self.memory.keep(arrival),
        };
        if in_hand.is_err() {
            self.losses.before_processor += 1;
            self.pauses += 1;
        }
        self.send_first_inwards();
    }

    /// Takes the next turn of the main loop with what has arrived.
    fn work_on(&mut self, arrival: Arrival) {
        let begins = self.begin_of_turn();
        let (time, leaving) = match arrival {
            Arrival::Frame(port, frame) => {
                let (whole, leaving) = self.through_table(port, &frame);
                let left_as = leaving.first().map_or(frame.size(), Sent::size);
                let outside = self.profile.outside_processor(frame.size(), left_as);
                (whole.saturating_sub(outside), leaving)
            }
            Arrival::Control(bytes) => self.through_agent(&bytes),
        };
        let done = begins + time.round_up();
        self.processor_free = done + self.profile.rest_of_loop.round_up();
        self.working = Some((done, leaving));
    }

    /// Returns when the loop comes to the next frame, behind what else is due.
    fn begin_of_turn(&mut self) -> Instant {
        let mut begins = self.now.max(self.processor_free);
        if let Some(length) = self.profile.port_checks {
            while self.next_port_check <= begins {
                begins = begins.max(self.next_port_check + length);
                self.next_port_check += PORT_CHECK_INTERVAL;
            }
        }
        begins
    }

    /// Returns the time of a frame from port to port, and what leaves.
    fn through_table(&mut self, port: PortNumber, frame: &Frame) -> (Delay, Vec<Sent>) {
        let fields = Fields::of(port, &frame.bytes);
        let (entry, search) = self.agent.table.search(&fields);
        let before = match self.profile.work {
            profile::ProcessorWork::EntryByEntry => frame_time(frame.size()) + search,
            profile::ProcessorWork::Flat {
                fixed, per_byte, ..
            } => fixed + per_byte * frame.size().bytes_up(),
        };
        let Some(entry) = entry else {
            let message = self
                .agent
                .packet_in(port, PacketInReason::NoMatch, &frame.bytes);
            return (before + PACKET_IN, segments(&message));
        };
        entry.packets += 1;
        entry.bytes += frame.bytes.len() as u64;
        let done = rewrite::carry_out(&entry.actions, &frame.bytes);
        let leaving = done.leaving.into_iter();
        let sent = leaving.flat_map(|(to, bytes)| self.sent_to(to, port, &bytes, frame.tag));
        (before + done.time, sent.collect())
    }

    /// Returns the time of the agent, and what leaves.
    fn through_agent(&mut self, bytes: &[u8]) -> (Delay, Vec<Sent>) {
        let Handled {
            replies,
            released,
            time,
        } = self.agent.handle(bytes);
        let mut leaving = segments(&replies);
        let mut whole = time;
        for frame in released {
            let done = rewrite::carry_out(&frame.actions, &frame.bytes);
            whole += done.time;
            for (to, bytes) in done.leaving {
                leaving.extend(self.sent_to(to, frame.in_port, &bytes, 0));
            }
        }
        (whole, leaving)
    }

    /// Returns what leaves if a frame from `in_port` is sent `to` a port.
    fn sent_to(
        &self,
        to: PortNumber,
        in_port: PortNumber,
        bytes: &Arc<[u8]>,
        tag: u64,
    ) -> Vec<Sent> {
        let copy = |port: PortNumber| Sent::Frame {
            port,
            frame: Frame {
                bytes: Arc::clone(bytes),
                tag,
            },
        };
        let others = OPENFLOW_PORTS.into_iter().filter(|port| *port != in_port);
        match to {
            PortNumber::FLOOD | PortNumber::ALL => others.map(copy).collect(),
            PortNumber::IN_PORT if OPENFLOW_PORTS.contains(&in_port) => vec![copy(in_port)],
            PortNumber::CONTROLLER => {
                let message = self.agent.packet_in(in_port, PacketInReason::Action, bytes);
                segments(&message)
            }
            port if OPENFLOW_PORTS.contains(&port) && port != in_port => vec![copy(port)],
            _ => Vec::new(),
        }
    }

    fn finish_work(&mut self) {
        let Some((done, leaving)) = self.working.take() else {
            return;
        };
        let was_idle = self.departing.is_empty();
        let departures = leaving
            .into_iter()
            .map(|sent| Departure { ready: done, sent });
        self.departing.extend(departures);
        if was_idle {
            self.send_first_outwards();
        }
        self.take_next();
    }

    /// Takes what has waited longest into hand, unless too much waits to leave.
    fn take_next(&mut self) {
        if self.working.is_none()
            && self.departing.len() <= LEAVING_MAX
            && let Some(arrival) = self.memory.next()
        {
            self.work_on(arrival);
        }
        if self.working.is_none() {
            self.pauses = 0;
        }
    }

    /// Plans the way of the first departure over the inner link.
    fn send_first_outwards(&mut self) {
        let Some(departure) = self.departing.front() else {
            self.departs = Instant::FAR_FUTURE;
            return;
        };
        let begins = departure.ready.max(self.departing_link_free);
        let on_link = PREAMBLE + departure.sent.size() + TAIL_TAG;
        self.departs = begins + self.profile.inner_time(on_link).round_up();
    }

    /// Takes a frame off the inner link and queues it at its port.
    fn leave_inner_link(&mut self) {
        let Some(Departure { sent, .. }) = self.departing.pop_front() else {
            return;
        };
        self.departing_link_free = self.now + self.profile.inner_time(GAP).round_up();
        self.send_first_outwards();
        self.take_next();
        let (port, pass) = match &sent {
            Sent::Frame { port, .. } => (*port, self.profile.pass),
            Sent::Control(_) => (NATIVE_PORT, self.profile.native_pass),
        };
        if port != NATIVE_PORT && self.pauses_cost_a_frame() {
            self.losses.behind_processor += 1;
            return;
        }
        let time = |data| self.profile.port_rate.time_to_send(data).round_up();
        let free = &mut self.port_free[usize::from(port.0) - 1];
        let begins = (self.now + pass.round_up()).max(*free);
        let ends = begins + time(PREAMBLE + sent.size());
        *free = ends + time(GAP);
        self.outputs.push_back(ZodiacOutput { begins, ends, sent });
    }

    /// Tells whether the frame that comes back from the processor is lost.
    fn pauses_cost_a_frame(&mut self) -> bool {
        let Some(enough) = self.profile.pauses_a_loss else {
            return false;
        };
        let lost = self.pauses >= enough;
        if lost {
            self.pauses -= enough;
        }
        lost
    }
}

impl Arrival {
    fn size(&self) -> DataSize {
        match self {
            Self::Frame(_, frame) => frame.size(),
            Self::Control(bytes) => segment_size(bytes),
        }
    }
}

impl Sent {
    /// Returns the size of the frame, its check sequence included.
    #[must_use]
    pub fn size(&self) -> DataSize {
        match self {
            Self::Frame { frame, .. } => frame.size(),
            Self::Control(bytes) => segment_size(bytes),
        }
    }
}

impl Profile {
    /// Returns the part of the time from port to port that is not spent in the
    /// processor, LOKO Eq. (7) with both ways through the integrated switch: for a
    /// frame that comes and leaves with these sizes.
    fn outside_processor(&self, came_as: DataSize, left_as: DataSize) -> Delay {
        let way = |size| self.pass + self.inner_time(PREAMBLE + size + TAIL_TAG);
        match self.work {
            profile::ProcessorWork::EntryByEntry => way(came_as) + way(left_as),
            profile::ProcessorWork::Flat { .. } => Delay::ZERO,
        }
    }

    fn latency(&self) -> Delay {
        match self.work {
            profile::ProcessorWork::EntryByEntry => Delay::ZERO,
            profile::ProcessorWork::Flat { latency, .. } => latency,
        }
    }
}

/// Returns the size of the frame around bytes of the control connection.
#[must_use]
pub fn segment_size(bytes: &[u8]) -> DataSize {
    frame::size_of(SEGMENT_OVERHEAD + bytes.len())
}

/// Cuts bytes of the control connection into segments.
fn segments(bytes: &[u8]) -> Vec<Sent> {
    let segments = bytes.chunks(SEGMENT_MAX);
    segments.map(|it| Sent::Control(it.to_vec())).collect()
}

#[cfg(test)]
mod tests;
