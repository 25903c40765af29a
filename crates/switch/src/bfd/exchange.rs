//! What the switch does with its sessions: hands them what comes in by their port, sends
//! what they say ahead of what waits for others in the most urgent queue, and lets groups
//! look for another way when a port turns.

use std::collections::VecDeque;

use units::{Duration, Instant, Seeded};
use wire::bfd::{Encapsulation, LENGTH_MAX, SessionConfig};
use wire::openflow::taktos::{BfdReport, QueuedFrameActions, SessionOwner, StandIn};
use wire::openflow::{DatapathId, PortNumber};

use super::framing::{Framing, Incoming};
use super::session::{Fault, Session};
use crate::buffer_pool::Arrival;
use crate::egress::Egress;
use crate::egress_queue::QueueFull;
use crate::port::{Leaving, Link, PortIndex, Sending, URGENT};

/// Ethernet, IPv4 and UDP around a packet.
const FRAME_MAX: usize = 14 + 20 + 8 + LENGTH_MAX;

/// The session of a port.
#[derive(Debug)]
pub(crate) struct PortSession {
    owner: SessionOwner,
    framing: Framing,
    session: Session,
}

/// What the switch holds for all sessions.
#[derive(Debug)]
pub(crate) struct BfdKeeper {
    /// When the first of them has something to do; never too late.
    due: Instant,
    /// The ports that turned, and controllers were not told of.
    turned: VecDeque<PortIndex>,
    /// How often the quickest of them would like to send for which others can stand in.
    quickest: Option<Duration>,
    seed: u64,
    /// How many sessions there were.
    begun: u64,
    packet: Vec<u8>,
    frame: Vec<u8>,
}

impl BfdKeeper {
    pub(crate) fn new(seed: u64, datapath: DatapathId) -> Self {
        Self {
            due: Instant::FAR_FUTURE,
            turned: VecDeque::new(),
            quickest: None,
            seed: seed ^ datapath.0,
            begun: 0,
            packet: Vec::with_capacity(LENGTH_MAX),
            frame: Vec::with_capacity(FRAME_MAX),
        }
    }

    pub(crate) const fn due(&self) -> Instant {
        self.due
    }

    pub(crate) const fn quickest(&self) -> Option<Duration> {
        self.quickest
    }

    pub(crate) fn has_news(&self) -> bool {
        !self.turned.is_empty()
    }

    /// Notes that controllers were told how a port is.
    pub(crate) fn told_of(&mut self, port: PortIndex) {
        self.turned.retain(|turned| *turned != port);
    }

    /// Returns the next port that turned.
    pub(crate) fn take_turned(&mut self) -> Option<PortIndex> {
        self.turned.pop_front()
    }
}

impl PortSession {
    /// Returns whether frames go out by the port, as far as the session is concerned.
    pub(crate) const fn is_live(&self) -> bool {
        self.session.is_live()
    }

    pub(crate) const fn owner(&self) -> SessionOwner {
        self.owner
    }

    /// Returns how often it would like to send, if others can stand in.
    fn pace(&self) -> Option<Duration> {
        let config = self.session.config();
        let is_ours = config.encapsulation == Encapsulation::Ethernet && !self.session.is_ending();
        is_ours.then(|| Duration::from_us(config.desired_min_tx_us.into()))
    }

    fn report(&self, port: PortNumber, (stand_in, stand_ins): (StandIn, u32)) -> BfdReport {
        let session = &self.session;
        let [diagnostic, remote_diagnostic] = session.diagnostics();
        let [my_discriminator, your_discriminator] = session.discriminators();
        BfdReport {
            port,
            state: session.state(),
            remote_state: session.remote_state(),
            diagnostic,
            remote_diagnostic,
            is_live: session.is_live(),
            owner: self.owner,
            stand_in: match self.framing.encapsulation() {
                Encapsulation::Ethernet => stand_in,
                Encapsulation::Ipv4(_) => StandIn::Nobody,
            },
            stand_ins,
            my_discriminator,
            your_discriminator,
            interval: session.interval(),
            detection_time: session.detection_time().unwrap_or_default(),
            counters: session.counters,
        }
    }
}

impl Egress {
    /// Gives a port a session, or the one that it has another configuration; without one it
    /// ends, which the neighbour is told.
    pub(crate) fn set_session(
        &mut self,
        now: Instant,
        at: PortIndex,
        owner: SessionOwner,
        wanted: Option<SessionConfig>,
    ) {
        let keeper = &mut self.bfd;
        let port = &mut self.ports[at.at()];
        let mac = port.config.mac;
        match (port.bfd.as_deref_mut(), wanted) {
            (None, None) => return,
            (Some(it), None) => it.session.end(),
            (Some(it), Some(config))
                if it.framing.encapsulation() == config.encapsulation
                    && !it.session.is_ending() =>
            {
                if *it.session.config() != config {
                    it.session.configure(config);
                }
            }
            (_, Some(config)) => {
                keeper.begun += 1;
                let seed = Seeded::seed_of(keeper.seed, keeper.begun) ^ now.as_ns();
                port.bfd = Some(Box::new(PortSession {
                    owner,
                    framing: Framing::new(config.encapsulation, mac),
                    session: Session::new(now, config, seed),
                }));
            }
        }
        let sessions = self.ports.iter().filter_map(|port| port.bfd.as_deref());
        self.bfd.quickest = sessions.filter_map(PortSession::pace).min();
        self.serve_session(now, at);
    }

    /// Takes a frame that came in by a port with a session, if it is one of the session's.
    #[cold]
    pub(crate) fn hear_neighbour(
        &mut self,
        now: Instant,
        at: PortIndex,
        Arrival {
            bytes: frame,
            at: came,
        }: Arrival<'_>,
    ) -> bool {
        self.frame_times.note_came(at, came);
        let port = &mut self.ports[at.at()];
        let Some(it) = port.bfd.as_deref_mut() else {
            return false;
        };
        let Some(incoming) = it.framing.read(frame) else {
            return false;
        };
        let heard = match incoming {
            Incoming::Packet(payload) => {
                let times = &self.frame_times;
                let left = |[from, to]: [Instant; 2]| times.left_between(at, from, to);
                let heard = it.session.receive(now, payload);
                heard.inspect(|()| it.session.heed_silence([now, came], left))
            }
            Incoming::Bad(fault) => Err(fault),
            Incoming::Told | Incoming::StandIn => Ok(()),
            Incoming::Asked(asked) => {
                let mut answer = std::mem::take(&mut self.bfd.frame);
                answer.clear();
                it.framing.answer(&asked, &mut answer);
                self.send_own(now, at, &answer);
                self.bfd.frame = answer;
                Ok(())
            }
        };
        let port = &mut self.ports[at.at()];
        port.counters.received_frames += 1;
        port.counters.received_bytes += u64::try_from(frame.len()).expect("a frame is short");
        match (heard, port.bfd.as_deref_mut()) {
            (Err(fault), Some(it)) => it.count(fault),
            (Ok(()), _) | (Err(_), None) => self.serve_session(now, at),
        }
        true
    }

    /// Does what sessions have to do by now.
    #[cold]
    pub(crate) fn serve_sessions(&mut self, now: Instant) {
        self.bfd.due = Instant::FAR_FUTURE;
        for at in (0..).map(PortIndex).take(self.ports.len()) {
            self.serve_session(now, at);
        }
    }

    /// Notes that the link of a port went up or down.
    pub(crate) fn tell_session(&mut self, now: Instant, at: PortIndex, link: Link) {
        if let Some(it) = self.ports[at.at()].bfd.as_deref_mut() {
            it.framing.forget();
            match link {
                Link::Down => it.session.lose_path(now),
                Link::Up => {}
            }
            self.serve_session(now, at);
        }
    }

    /// Sends what a session has to say, and notes whether its port turned.
    fn serve_session(&mut self, now: Instant, at: PortIndex) {
        let Some(mut it) = self.ports[at.at()].bfd.take() else {
            return;
        };
        let times = &self.frame_times;
        it.session.hear_frame(times.came(at), times.are_current());
        it.session.advance(now);
        self.frame_times
            .let_stand_in(at, now, it.session.stands_in());
        while let Some((packet, proof)) = it.session.take(now) {
            let BfdKeeper {
                packet: bytes,
                frame,
                ..
            } = &mut self.bfd;
            bytes.clear();
            frame.clear();
            self.frame_times.speak(at, now);
            packet.emit(proof.as_ref().map(|(how, number)| (how, *number)), bytes);
            it.framing.emit(bytes, frame);
            let frame = std::mem::take(frame);
            self.send_own(now, at, &frame);
            self.bfd.frame = frame;
        }
        if let Some(due) = it.session.deadline() {
            self.bfd.due = self.bfd.due.min(due);
            self.wake_at(due);
        }
        let heart_beat = it.session.heart_beat();
        self.frame_times
            .watch(at, heart_beat.filter(|_| !it.session.has_ended()));
        let port = &mut self.ports[at.at()];
        let is_live = it.is_live();
        port.bfd = (!it.session.has_ended()).then_some(it);
        if std::mem::replace(&mut port.was_live, is_live) != is_live {
            self.groups.find_live(&self.ports);
            self.bfd.turned.push_back(at);
        }
    }

    /// Sends a frame of the switch itself through the most urgent queue of a port.
    fn send_own(&mut self, now: Instant, at: PortIndex, bytes: &[u8]) {
        if !self.ports[at.at()].sends() {
            return;
        }
        let Some(frame) = self.pool.store_own(Arrival { bytes, at: now }) else {
            return;
        };
        let leaving = Leaving {
            frame,
            queue: URGENT,
            fates: QueuedFrameActions::STAY,
            owner: None,
        };
        self.counters.outputs += 1;
        let port = &mut self.ports[at.at()];
        match port.send(now, leaving, bytes.len()) {
            Ok(Sending::Begins(departs)) => self.begin_own(at, frame, departs),
            Ok(Sending::Waits) => {
                let start = port.next_start();
                self.wake_at(start.unwrap_or(now));
            }
            Err(QueueFull) => {
                port.count_drop(URGENT);
                self.counters.dropped += 1;
                self.pool.release(frame);
            }
        }
    }

    /// Returns what is to be said of the session of a port, if it has one.
    pub(crate) fn session_report(&self, at: PortIndex) -> Option<BfdReport> {
        let port = &self.ports[at.at()];
        let session = port.bfd.as_deref()?;
        let stand_in = self.frame_times.stand_in(at);
        Some(session.report(port.config.number, stand_in))
    }
}

impl PortSession {
    const fn count(&mut self, fault: Fault) {
        let counters = &mut self.session.counters;
        *match fault {
            Fault::Malformed => &mut counters.malformed,
            Fault::Hopped => &mut counters.hopped,
            Fault::Misdirected => &mut counters.misdirected,
            Fault::Forged => &mut counters.forged,
            Fault::Replayed => &mut counters.replayed,
            Fault::Demanding => &mut counters.demanding,
        } += 1;
    }
}
