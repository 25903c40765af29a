//! One switch of a packet loop, with its ports and its control connections.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::mpsc::SyncSender;

use switch::{CloseReason, Config, ConnectionId, Input, Output, Peer, Stay, Switch};
use units::{Duration, Instant};
use wire::openflow::PortNumber;

use super::kernel_part::{KernelPart, publish};
use super::port_binding::{Handing, Leaving, PortBinding};
use crate::channel::{Channel, Found, Unsent};
use crate::clock::{self, WallClock, WallTime};
use crate::connection::{Connection, ConnectionOrigin, Lease};
use crate::dialer::Wanted;
use crate::kernel_engine::KernelEngine;
use crate::poller::Poller;
use crate::port::{Arrived, Frame, Port};

/// The most control connections of one switch.
pub const MOST_CONNECTIONS: usize = switch::CONNECTIONS_MAX;
/// How much of a connection is read at once: what it costs to handle is how much
/// later a frame may be because of control.
pub const CHUNK_BYTES: usize = 2048;
/// How many frames of one port are taken together at most.
///
/// A frame that comes alone is handed on at once. Where more wait, the first batch
/// is of one, the next of two, and so on up to this: a batch is as long as all
/// before it, so that what its first frame waits for the others to be looked up has
/// been saved before, by fewer system calls.
const LONGEST_BATCH: usize = 32;
/// The same while a frame is held until its last bit would have left: what a batch
/// takes is how late that can be.
const LONGEST_BATCH_PACED: usize = 4;
/// How many frames are handed to the kernel together at most.
const MOST_LEAVING: usize = 64;
/// How often the kernel is asked what it counted: 20 us a port, whoever asks. Who asks
/// more often hears what was so a moment ago.
const TALLIES_INTERVAL: Duration = Duration::from_ms(10);
/// How long a connection that is over may take to take what was said last.
const PARTING: Duration = Duration::from_secs(2);

/// A switch in its place. It has no core while it is crashed.
#[derive(Debug)]
pub struct Station {
    config: Config,
    switch: Option<Switch>,
    /// The kernel's part of it, if it has one.
    kernel: Option<KernelPart>,
    pub(super) bindings: Vec<PortBinding>,
    lines: Vec<Line>,
    /// Whether a line has something to send, or is over.
    restless: bool,
    /// One for each controller that is dialled.
    wanted: Vec<Wanted>,
    tell: Option<SyncSender<Closed>>,
    /// When the core wants to be called again.
    deadline: Instant,
    /// When the first held frame departs.
    departs: Instant,
    /// Frames that ports have taken and the kernel perhaps not.
    leaving: Vec<Stay>,
    /// When the kernel last took frames.
    handed: Instant,
    /// When the kernel was last asked what it counted.
    tallied: Instant,
}

/// A connection that a switch closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    pub origin: ConnectionOrigin,
    pub reason: CloseReason,
}

#[derive(Debug)]
struct Line {
    id: ConnectionId,
    channel: Channel,
    phase: Phase,
    outlet: Outlet,
    origin: ConnectionOrigin,
    /// Tells the dialer, when it is dropped, to dial again.
    _lease: Lease,
}

/// Frames that went through the core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Forwarded {
    /// When the first was taken.
    pub(super) at: Instant,
    /// When the last was handed on.
    pub(super) done: Instant,
    /// When the driver had the first, where the kernel says so.
    pub(super) stamp: Option<WallTime>,
    /// When their ring was last found empty.
    pub(super) missed: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// The core wanted it closed then, once what it said has been sent.
    Closing(Instant),
    Broken,
}

/// What the core knows about how a connection takes what is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outlet {
    Free,
    Congested,
}

impl Station {
    /// Places a switch of this configuration, not yet running.
    #[must_use]
    pub fn new(config: Config, bindings: Vec<PortBinding>) -> Self {
        Self {
            config,
            switch: None,
            kernel: None,
            bindings,
            lines: Vec::with_capacity(MOST_CONNECTIONS),
            restless: false,
            wanted: Vec::new(),
            tell: None,
            deadline: Instant::FAR_FUTURE,
            departs: Instant::FAR_FUTURE,
            leaving: Vec::with_capacity(MOST_LEAVING),
            handed: Instant::ZERO,
            tallied: Instant::ZERO,
        }
    }

    /// Has the kernel forward frames as far as `engine` can. The plugs have ports
    /// that hang on its hook.
    #[must_use]
    pub fn carried_by(mut self, engine: KernelEngine) -> Self {
        self.kernel = Some(KernelPart::new(engine, &self.bindings));
        self
    }

    /// Returns what reports frames for the core, if the kernel forwards the others.
    pub(super) fn handing_over(&self) -> Option<BorrowedFd<'_>> {
        self.kernel.as_ref().map(AsFd::as_fd)
    }

    /// Says how to tell a dialer whether connections are wanted. There may be
    /// several.
    #[must_use]
    pub fn dialled_by(mut self, wanted: Wanted) -> Self {
        self.wanted.push(wanted);
        self
    }

    /// Says whom to tell of connections that the switch closes.
    #[must_use]
    pub fn telling(mut self, tell: SyncSender<Closed>) -> Self {
        self.tell = Some(tell);
        self
    }

    /// Starts the core, with empty tables.
    pub(super) fn start(&mut self, now: Instant) {
        for binding in &mut self.bindings {
            binding.link = switch::Link::Up;
        }
        self.switch = Some(match &mut self.kernel {
            Some(kernel) => kernel.begin(now, &self.config, &mut self.bindings),
            None => Switch::new(now, self.config.clone()),
        });
        self.want_connections(true);
        self.drain(now, Handing::AtOnce);
    }

    /// Ends the core; what it knew is gone.
    pub(super) fn crash(&mut self, poller: &Poller) {
        self.want_connections(false);
        while !self.lines.is_empty() {
            self.part_with(0, poller);
        }
        for binding in &mut self.bindings {
            binding.forget();
        }
        if let Some(kernel) = &mut self.kernel {
            kernel.end();
        }
        self.switch = None;
        self.leaving.clear();
        self.deadline = Instant::FAR_FUTURE;
        self.departs = Instant::FAR_FUTURE;
    }

    fn want_connections(&self, wanted: bool) {
        for dialer in &self.wanted {
            dialer.set(wanted);
        }
    }

    /// Moves what waits at the `n`th port through the core, up to [`LONGEST_BATCH`]
    /// frames, if there is anything. `wall` is the clock that the kernel stamps by.
    #[inline]
    pub(super) fn forward(&mut self, n: usize, wall: &WallClock) -> Option<Forwarded> {
        if !self.bindings[n].port.is_ready() {
            return None;
        }
        let at = clock::now();
        let mut forwarded = Forwarded {
            at,
            done: at,
            stamp: None,
            missed: self.bindings[n].empty,
        };
        let longest = match self.departs {
            Instant::FAR_FUTURE => LONGEST_BATCH,
            _ => LONGEST_BATCH_PACED,
        };
        let batch = self.bindings[n].batch.min(longest);
        let mut left = batch;
        loop {
            let stamp = self.take(n, at, wall);
            forwarded.stamp = forwarded.stamp.or(stamp);
            left -= 1;
            let ready = self.bindings[n].port.is_ready();
            if left > 0 && ready {
                self.drain(at, Handing::Together);
                continue;
            }
            self.drain(at, Handing::AtOnce);
            self.bindings[n].batch = if ready { 2 * batch } else { 1 };
            break;
        }
        forwarded.done = self.handed.max(at);
        Some(forwarded)
    }

    /// Hands the core the next frame of the `n`th port. Returns its stamp.
    #[inline]
    fn take(&mut self, n: usize, at: Instant, wall: &WallClock) -> Option<WallTime> {
        let (binding, switch) = (&mut self.bindings[n], &mut self.switch);
        let (port, counters) = (binding.number, &mut binding.counters);
        binding.port.receive(|Arrived { frame, stamp }| {
            counters.received += 1;
            match (frame, switch) {
                (Frame::Whole(bytes), Some(switch)) => {
                    let arrived = stamp.map_or(at, |stamp| wall.to_monotonic(stamp).min(at));
                    let frame = Input::Frame {
                        port,
                        bytes,
                        arrived,
                    };
                    switch.handle(at, frame);
                }
                (Frame::Whole(_), None) => {}
                (Frame::TooLong(frames), _) => counters.oversized += frames,
                (Frame::Overrun(frames), _) => counters.lost += frames,
            }
            stamp
        })?
    }

    /// Moves what the kernel has handed over through the core, up to
    /// [`LONGEST_BATCH`] frames and the rest of a piece that is cut into frames.
    pub(super) fn take_handed(&mut self) {
        for taken in 0.. {
            let at = clock::now();
            let Some(kernel) = &mut self.kernel else {
                return;
            };
            // Nothing wakes the loop for the rest of a piece.
            if taken >= LONGEST_BATCH && !kernel.has_piece() {
                break;
            }
            if !kernel.hand(at, &mut self.bindings, self.switch.as_mut()) {
                break;
            }
            self.drain(at, Handing::Together);
        }
        self.drain(clock::now(), Handing::AtOnce);
    }

    /// Returns when something is due here.
    #[inline]
    pub(super) fn due(&self) -> Instant {
        self.deadline.min(self.departs)
    }

    /// Does what is due: lets frames depart, then calls the core.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant) {
        if now >= self.departs {
            for binding in &mut self.bindings {
                self.leaving.extend(binding.depart(now));
            }
            self.hand_over();
        }
        if now >= self.deadline {
            self.input(now, Input::Timeout);
        } else {
            self.note_departure();
        }
    }

    /// Puts a port of the switch on another interface. Returns the way to the
    /// former one; nothing if there is no such port.
    pub(super) fn replace(&mut self, number: PortNumber, port: Port) -> Option<Port> {
        let n = self
            .bindings
            .iter()
            .position(|binding| binding.number == number)?;
        let former = self.bindings[n].replace(port);
        if let (Some(kernel), Some(switch)) = (&mut self.kernel, &mut self.switch) {
            kernel.exchange(switch, &former, &self.bindings[n]);
        }
        Some(former)
    }

    /// Tells the core of the `n`th port's link.
    pub(super) fn link_changed(&mut self, n: usize, link: switch::Link, now: Instant) {
        let port = self.bindings[n].number;
        self.input(now, Input::Port { port, link });
    }

    /// Takes a connection that stands, and has `poller` report it as `mark`. A
    /// crashed switch, and one that has too many, drops it.
    pub(super) fn connect(
        &mut self,
        id: ConnectionId,
        connection: Connection,
        at: Instant,
        watch: (&Poller, u64),
    ) {
        let (poller, mark) = watch;
        let Ok(channel) = Channel::new(connection.stream) else {
            return;
        };
        if self.switch.is_none() || self.lines.len() == MOST_CONNECTIONS {
            return;
        }
        if poller.add(&channel, mark).is_err() {
            return;
        }
        let (phase, lease) = (Phase::Open, connection.lease);
        self.lines.push(Line {
            id,
            channel,
            phase,
            outlet: Outlet::Free,
            origin: connection.origin,
            _lease: lease,
        });
        let peer = match connection.origin {
            ConnectionOrigin::Dialled => Peer::Controller,
            ConnectionOrigin::Accepted => Peer::Management,
        };
        let connection = id;
        self.input(at, Input::Connected { connection, peer });
    }

    /// Reads at most one chunk of every connection.
    pub(super) fn listen(&mut self, room: &mut [u8; CHUNK_BYTES]) {
        for n in 0..self.lines.len() {
            let line = &mut self.lines[n];
            let connection = line.id;
            let taken = self.switch.as_ref().map_or(0, |it| it.room(connection));
            let room = &mut room[..taken.min(CHUNK_BYTES)];
            if room.is_empty() {
                continue;
            }
            match line.channel.read(room) {
                Found::Bytes(count) => {
                    let bytes = &room[..count];
                    self.input(clock::now(), Input::Received { connection, bytes });
                }
                Found::Nothing => {}
                Found::Closed => {
                    line.phase = Phase::Broken;
                    self.restless = true;
                }
            }
        }
    }

    /// Sends what the core has said, and parts with connections that are over.
    #[inline]
    pub(super) fn speak(&mut self, now: Instant, poller: &Poller) {
        if self.restless {
            self.speak_on_lines(now, poller);
        }
    }

    fn speak_on_lines(&mut self, now: Instant, poller: &Poller) {
        self.restless = false;
        let mut n = 0;
        while let Some(line) = self.lines.get_mut(n) {
            let unsent = line.channel.flush();
            let connection = line.id;
            match (line.phase, unsent) {
                (Phase::Open, Unsent::Nothing) => {
                    if line.outlet == Outlet::Congested {
                        line.outlet = Outlet::Free;
                        self.input(now, Input::Relieved(connection));
                    }
                    n += 1;
                }
                (Phase::Open, Unsent::Something) => {
                    self.restless = true;
                    if line.outlet == Outlet::Free {
                        line.outlet = Outlet::Congested;
                        self.input(now, Input::Congested(connection));
                    }
                    n += 1;
                }
                (Phase::Closing(since), Unsent::Something) if now < since + PARTING => {
                    self.restless = true;
                    n += 1;
                }
                (Phase::Closing(_), _) => self.part_with(n, poller),
                (Phase::Broken, _) | (Phase::Open, Unsent::TooMuch | Unsent::Closed) => {
                    self.part_with(n, poller);
                    self.input(now, Input::Disconnected(connection));
                }
            }
        }
    }

    fn part_with(&mut self, n: usize, poller: &Poller) {
        let line = self.lines.swap_remove(n);
        poller.remove(&line.channel);
    }

    /// Hands the core one input and does all that it asks for.
    fn input(&mut self, now: Instant, input: Input<'_>) {
        if let Some(switch) = &mut self.switch {
            switch.handle(now, input);
            publish(switch);
            if let Some(kernel) = &mut self.kernel {
                kernel.heed_wishes(switch);
            }
            self.drain(now, Handing::AtOnce);
        }
    }

    /// Does what the core asks for; what is to be done together, at the latest by
    /// the next call that is not.
    fn drain(&mut self, now: Instant, handing: Handing) {
        let Some(switch) = &mut self.switch else {
            return;
        };
        while let Some(output) = switch.poll() {
            match output {
                Output::Transmit {
                    port,
                    queue,
                    bytes,
                    departs,
                    stay,
                } => {
                    if let Some(binding) = self
                        .bindings
                        .iter_mut()
                        .find(|binding| binding.number == port)
                    {
                        let frame = Leaving {
                            queue,
                            bytes,
                            departs,
                            stay,
                        };
                        self.leaving.extend(binding.depart(Instant::FAR_FUTURE));
                        self.leaving.extend(binding.transmit(now, frame, handing));
                    }
                    if self.leaving.len() + 2 > MOST_LEAVING {
                        self.handed = hand_over(&mut self.bindings, &mut self.leaving, switch);
                    }
                }
                Output::Send { connection, bytes } => {
                    if let Some(line) = self.lines.iter_mut().find(|line| line.id == connection) {
                        line.channel.queue(bytes);
                        self.restless = true;
                    }
                }
                Output::Close { connection, reason } => {
                    if let Some(line) = self.lines.iter_mut().find(|line| line.id == connection) {
                        line.phase = Phase::Closing(now);
                        self.restless = true;
                        let origin = line.origin;
                        if let Some(tell) = &self.tell {
                            // Who reads too slowly has read enough.
                            let _ = tell.try_send(Closed { origin, reason });
                        }
                    }
                }
                Output::Count if now.saturating_since(self.tallied) < TALLIES_INTERVAL => {}
                Output::Count => {
                    self.tallied = now;
                    tell_tallies(&mut self.bindings, switch, now);
                }
            }
        }
        if handing == Handing::Together {
            return;
        }
        if !self.leaving.is_empty() {
            self.handed = hand_over(&mut self.bindings, &mut self.leaving, switch);
        }
        self.deadline = switch.deadline().unwrap_or(Instant::FAR_FUTURE);
        self.note_departure();
    }

    fn hand_over(&mut self) {
        if let Some(switch) = &mut self.switch {
            self.handed = hand_over(&mut self.bindings, &mut self.leaving, switch);
            // A frame may have stayed longer than somebody wants to hear of.
            self.deadline = switch.deadline().unwrap_or(Instant::FAR_FUTURE);
        }
    }

    fn note_departure(&mut self) {
        let departures = self.bindings.iter().map(PortBinding::departs);
        self.departs = departures.min().unwrap_or(Instant::FAR_FUTURE);
    }
}

/// Tells the core what queues did that are not its own, and which frames ports could
/// not receive.
fn tell_tallies(bindings: &mut [PortBinding], switch: &mut Switch, now: Instant) {
    for binding in bindings {
        let port = binding.number;
        if let Some(frames) = binding.unreceived() {
            switch.handle(now, Input::Unreceived { port, frames });
        }
        if let Some(tallies) = &binding.read_queues() {
            switch.handle(now, Input::Queues { port, tallies });
        }
    }
}

/// Hands the kernel what ports have taken to be sent, and notes when it left, which
/// is returned.
fn hand_over(
    bindings: &mut [PortBinding],
    leaving: &mut Vec<Stay>,
    switch: &mut Switch,
) -> Instant {
    for binding in bindings {
        binding.flush();
    }
    let left = clock::now();
    for stay in leaving.drain(..) {
        switch.left(stay, left);
    }
    left
}
