//! The switch as its world sees it: what happens goes in, what is to be done
//! comes out.

use units::{BitRate, Duration, Instant};
use wire::openflow::PortNumber;
use wire::openflow::taktos::{NodeReport, PortSession, SessionOwner};

use crate::agent::{Agent, CloseReason, ConnectionId, Demand, Peer, earlier};
use crate::buffer_pool::{Arrival, SlotIndex};
use crate::compiled::Departures;
use crate::config::Config;
use crate::cost::Cost;
use crate::counters::{PortCounters, QueueCounters, QueueTally, SwitchCounters, Unreceived};
use crate::egress::{Egress, Transmission};
use crate::hops::HopPlace;
use crate::modes::Violation;
use crate::pipeline::{Engine, Pipeline};
use crate::port::{Link, PortIndex, QUEUES};
use crate::residence::Residence;

/// What a switch may be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input<'a> {
    /// The last bit of a frame arrived.
    Frame {
        /// The port at which it arrived.
        port: PortNumber,
        /// The frame without check sequence.
        bytes: &'a [u8],
        /// When its last bit arrived, as far as the world knows; not later than
        /// it is handed in. For [`Residence`] alone.
        arrived: Instant,
    },
    /// The last bit of a frame arrived, and the switch is to walk the
    /// [compiled form](crate::compiled) of its tables in place of the tables: as a
    /// program does that shares it, but in this process.
    Walked {
        /// The port at which it arrived.
        port: PortNumber,
        /// The frame without check sequence.
        bytes: &'a [u8],
        /// When its last bit arrived.
        arrived: Instant,
    },
    /// The last bit of a frame arrived, and whoever walks the
    /// [compiled form](crate::compiled) gave it up half-way: it walks the tables
    /// from the first one on, as if nobody had looked at it.
    Handed {
        /// The port at which it arrived.
        port: PortNumber,
        /// The frame without check sequence, as it arrived.
        bytes: &'a [u8],
        /// When its last bit arrived.
        arrived: Instant,
        /// What the first meters on its way have decided and counted already: by
        /// how many levels each raises the drop precedence.
        verdicts: &'a [u8],
    },
    /// Frames came to a port that cannot be handed in.
    Unreceived {
        port: PortNumber,
        frames: Unreceived,
    },
    /// A link went up or down.
    Port {
        /// The port at its end.
        port: PortNumber,
        link: Link,
    },
    /// What the world's queues of a port have carried and lost since they were
    /// made, the least urgent first. Says nothing about a port that the switch
    /// paces.
    Queues {
        /// The port, paced by the world.
        port: PortNumber,
        /// What each queue has counted so far.
        tallies: &'a [QueueTally; QUEUES],
    },
    Connected {
        connection: ConnectionId,
        /// Who is at its other end.
        peer: Peer,
    },
    /// Bytes arrived from a controller.
    Received {
        connection: ConnectionId,
        /// The next piece of the stream, cut anywhere.
        bytes: &'a [u8],
    },
    /// A connection takes no more bytes for now. The switch looks at no further
    /// message of it and has nothing to send to it until it is relieved.
    Congested(ConnectionId),
    /// A connection takes bytes again.
    Relieved(ConnectionId),
    Disconnected(ConnectionId),
    /// Walks of the compiled form have changed the mode, or could not tell somebody.
    Bell,
    Violation(Violation),
    /// Nothing happened, but [`Switch::deadline`] has come.
    Timeout,
}

/// What a switch asks of its world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output<'a> {
    /// The transmission of a frame begins now.
    Transmit {
        /// The port out of which it goes.
        port: PortNumber,
        /// The queue of the port through which it goes.
        queue: u8,
        /// The frame without check sequence.
        bytes: &'a [u8],
        /// When its last bit leaves the port: the time that the frame, its
        /// padding and its overhead take at the port's rate after it began, or
        /// now if the switch does not pace the port. Until then no other frame begins. If the
        /// switch was called too late, the frame began when it could have
        /// ([`Config::catch_up`]).
        departs: Instant,
        /// What to tell [`Switch::left`] when it has left.
        stay: Stay,
    },
    /// Send these bytes to a controller.
    Send {
        connection: ConnectionId,
        bytes: &'a [u8],
    },
    /// Close a connection, once everything before is sent. Nothing more is to
    /// be told about it.
    Close {
        connection: ConnectionId,
        reason: CloseReason,
    },
    /// Somebody asks for counters: say what only the world has counted
    /// ([`Input::Queues`], [`Input::Unreceived`]). The answer is given at the next
    /// [`Input::Timeout`], which is due now, by what is known then.
    Count,
}

/// A frame that is leaving: since when it is in the switch, and through which
/// queue it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// When its last bit arrived.
    pub arrived: Instant,
    pub(crate) port: PortIndex,
    pub(crate) queue: u8,
    pub(crate) hop: Option<HopPlace>,
}

/// A switch. Knows no clock, no socket and no interface.
///
/// Drive it in a loop: call [`handle`](Self::handle) with one input, then
/// [`poll`](Self::poll) until it returns `None`, then wait for the next input
/// or for [`deadline`](Self::deadline), whichever comes first.
#[derive(Debug)]
pub struct Switch {
    pub(crate) now: Instant,
    pub(crate) pipeline: Pipeline,
    /// Whether something may have changed that the compiled form shows.
    pub(crate) touched: bool,
    pub(crate) agent: Agent,
    /// The buffer that was lent out by the last [`poll`](Self::poll).
    lent: Option<SlotIndex>,
    /// The bytes for a controller that were lent out.
    sending: Vec<u8>,
}

impl Switch {
    /// Makes a switch with empty tables, all links up and no controller.
    ///
    /// # Panics
    ///
    /// If the configuration has two ports with the same number, a port with a
    /// reserved number other than that of the own host, more than
    /// [`PORTS_MAX`](crate::PORTS_MAX) ports, no table, or a session of no port or
    /// with numbers that make no sense.
    #[must_use]
    pub fn new(now: Instant, config: Config) -> Self {
        let mut switch = Self {
            now,
            pipeline: Pipeline::new(now, &config),
            agent: Agent::new(&config),
            touched: true,
            lent: None,
            sending: Vec::new(),
        };
        switch.agent.note_contact(&mut switch.pipeline);
        for PortSession { port, session } in config.sessions {
            let egress = &mut switch.pipeline.egress;
            let port = egress.find_port(port).expect("sessions are of ports");
            assert!(session.is_sound(), "a session whose numbers make sense");
            egress.set_session(now, port, SessionOwner::Switch, Some(session));
        }
        switch
    }

    /// Takes one input, at the time it happened.
    ///
    /// # Panics
    ///
    /// If `now` is earlier than in an earlier call.
    #[inline]
    pub fn handle(&mut self, now: Instant, input: Input<'_>) {
        assert!(now >= self.now, "time ran backwards");
        self.now = now;
        self.pipeline.egress.advance(now);
        self.pipeline.egress.heed_walks(now);
        match input {
            Input::Frame {
                port,
                bytes,
                arrived,
            } => return self.receive(port, Arrival { bytes, at: arrived }, Engine::Tables),
            Input::Walked {
                port,
                bytes,
                arrived,
            } => return self.receive(port, Arrival { bytes, at: arrived }, Engine::Compiled),
            Input::Handed {
                port,
                bytes,
                arrived,
                verdicts,
            } => {
                self.pipeline.egress.judged.begin(verdicts);
                self.receive(port, Arrival { bytes, at: arrived }, Engine::Tables);
                return self.pipeline.egress.judged.begin(&[]);
            }
            Input::Unreceived { port, frames } => {
                return self.pipeline.count_unreceived(port, frames);
            }
            Input::Port { port, link } => self.set_link(port, link),
            Input::Queues { port, tallies } => {
                if let Some(port) = self.pipeline.egress.find_port(port) {
                    self.pipeline.egress.port_mut(port).note_queues(tallies);
                }
                return;
            }
            Input::Connected { connection, peer } => self.agent.connected(now, connection, peer),
            Input::Received { connection, bytes } => {
                self.agent
                    .received(now, &mut self.pipeline, connection, bytes);
                self.agent.work(now, &mut self.pipeline);
            }
            Input::Congested(connection) => self.agent.congested(connection),
            Input::Relieved(connection) => {
                self.agent.relieved(now, connection);
                self.agent.work(now, &mut self.pipeline);
            }
            Input::Disconnected(connection) => self.agent.disconnected(connection),
            Input::Bell => {}
            Input::Violation(seen) => self.pipeline.egress.note_violation(now, &seen),
            Input::Timeout => self.agent.work(now, &mut self.pipeline),
        }
        self.agent.note_contact(&mut self.pipeline);
        self.agent.send_mode_events(&mut self.pipeline);
        self.agent.tell_of_turned(&mut self.pipeline);
        self.agent.tell_of_policers(now, &mut self.pipeline);
        self.agent.look_at_streams(now, &mut self.pipeline);
        self.agent.look_at_hops(now, &mut self.pipeline);
        self.touched = true;
    }

    /// Returns the next thing to do, or `None` once all is done. What it lends
    /// is taken back by the next call.
    #[inline]
    pub fn poll(&mut self) -> Option<Output<'_>> {
        if let Some(slot) = self.lent.take() {
            self.pipeline.egress.pool.release(slot);
        }
        if let Some(Transmission {
            port,
            slot,
            departs,
            queue,
            hop,
        }) = self.pipeline.egress.transmissions.pop_front()
        {
            self.lent = Some(slot);
            let Egress { ports, pool, .. } = &self.pipeline.egress;
            return Some(Output::Transmit {
                port: ports[port.at()].config.number,
                queue,
                bytes: pool.frame(slot),
                departs,
                stay: Stay {
                    arrived: pool.arrived(slot),
                    port,
                    queue,
                    hop,
                },
            });
        }
        match self.agent.poll(&mut self.sending)? {
            Demand::Send(connection) => Some(Output::Send {
                connection,
                bytes: &self.sending,
            }),
            Demand::Close(connection, reason) => Some(Output::Close { connection, reason }),
            Demand::Count => Some(Output::Count),
        }
    }

    /// Returns when to call [`handle`](Self::handle) if nothing arrives before.
    #[must_use]
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let egress = &self.pipeline.egress;
        let police = self.agent.police_due(&self.pipeline);
        let frames = earlier(egress.next_start(), egress.hops.due());
        let watched = earlier(police, self.agent.streams_due(&self.pipeline));
        earlier(earlier(frames, watched), self.agent.deadline(self.now))
    }

    /// Notes when the last bit of a frame left, which only the world knows: its
    /// interface may take a frame later than [`Output::Transmit::departs`] says.
    #[inline]
    pub fn left(&mut self, stay: Stay, at: Instant) {
        let lasted = at.saturating_since(stay.arrived);
        let Egress { ports, hops, .. } = &mut self.pipeline.egress;
        ports[stay.port.at()].note_residence(stay.queue, lasted);
        if let Some(hop) = stay.hop {
            hops.note(at, hop, (stay.port, stay.queue), lasted);
        }
    }

    /// Lets a port of its own pace send at another rate than it says, as a link does that
    /// is slower than its ends believe.
    pub fn slow_port(&mut self, port: PortNumber, rate: BitRate) {
        if let Some(port) = self.pipeline.egress.find_port(port) {
            self.pipeline.egress.port_mut(port).set_rate(rate);
        }
    }

    /// Returns how long the frames of each queue of a port stayed in the switch,
    /// from the last bit in to the last bit out, if there is a port of this
    /// number.
    #[must_use]
    pub fn residence(&self, port: PortNumber) -> Option<[&Residence; QUEUES]> {
        let egress = &self.pipeline.egress;
        let port = egress.port(egress.find_port(port)?);
        Some(std::array::from_fn(|queue| &port.queues()[queue].residence))
    }

    /// Returns whether anybody wants to know how long frames stay that leave through some
    /// queue.
    #[must_use]
    pub fn watches_hops(&self) -> bool {
        self.pipeline.egress.hops.is_on()
    }

    /// Returns how often somebody has to look whether neighbours are to hear of the switch in
    /// place of sessions that are late (`stand_in` words of the compiled form); nothing if
    /// there is no session of that kind.
    #[must_use]
    pub fn quickest_session(&self) -> Option<Duration> {
        self.pipeline.egress.bfd.quickest()
    }

    /// Says who sees frames leave from now on that walks of the compiled form send.
    pub fn see_departures(&mut self, departures: Departures) {
        self.pipeline.egress.hops.see_departures(departures);
    }

    /// Returns how many bytes of a connection the switch takes for now. Whoever
    /// hands in more has them handled at once, and frames wait for that.
    #[must_use]
    pub fn room(&self, connection: ConnectionId) -> usize {
        self.agent.room(connection)
    }

    /// Returns what the switch has done with frames.
    #[must_use]
    pub fn counters(&self) -> SwitchCounters {
        SwitchCounters {
            bad_messages: self.agent.bad_messages,
            bad_connections: self.agent.bad_connections,
            lost_contacts: self.agent.lost_contacts,
            ..self.pipeline.counters()
        }
    }

    /// Returns what a port has carried, if there is one of this number.
    #[must_use]
    pub fn port_counters(&self, port: PortNumber) -> Option<PortCounters> {
        let egress = &self.pipeline.egress;
        let port = egress.find_port(port)?;
        Some(self.pipeline.port_counters(port))
    }

    /// Returns what the queues of a port have carried, if there is one of this
    /// number.
    #[must_use]
    pub fn queue_counters(&self, port: PortNumber) -> Option<[QueueCounters; QUEUES]> {
        let egress = &self.pipeline.egress;
        let port = egress.find_port(port)?;
        Some(self.pipeline.queue_counters(port))
    }

    /// Returns the stations that said in the last minute that they are there, by PRP.
    pub fn nodes(&self) -> impl Iterator<Item = NodeReport> {
        self.pipeline.egress.nodes.reports(self.now)
    }

    /// Returns how many frames wait in queues.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.pipeline.egress.waiting()
    }

    /// Returns how many frames more the switch could hold.
    #[must_use]
    pub fn free_buffers(&self) -> usize {
        self.pipeline.egress.pool.free()
    }

    /// Returns what a frame costs at most, for the tables as they stand.
    #[must_use]
    pub fn cost(&self) -> Cost {
        self.pipeline.cost()
    }

    #[inline]
    fn receive(&mut self, port: PortNumber, frame: Arrival<'_>, engine: Engine) {
        self.pipeline.receive(self.now, port, frame, engine);
        if self.pipeline.egress.nodes.has_news() {
            self.pipeline.hear_stations(self.now);
        }
        if !self.pipeline.egress.pending_packet_ins.is_empty() {
            self.agent.send_punts(self.now, &mut self.pipeline);
        }
        if self.pipeline.egress.modes.has_news() || self.pipeline.egress.bfd.has_news() {
            self.tell_news();
        }
    }

    /// Tells controllers what became of the mode and of ports, and lets others see it.
    #[cold]
    fn tell_news(&mut self) {
        self.agent.send_mode_events(&mut self.pipeline);
        self.agent.tell_of_turned(&mut self.pipeline);
        self.touched = true;
    }

    fn set_link(&mut self, port: PortNumber, link: Link) {
        let Some(port) = self.pipeline.egress.find_port(port) else {
            return;
        };
        if self.pipeline.egress.port(port).link != link {
            self.pipeline.egress.set_link(port, link);
            self.pipeline.egress.greet(self.now, port);
            self.pipeline.egress.tell_session(self.now, port, link);
            self.pipeline.egress.bfd.told_of(port);
            self.agent.port_changed(&self.pipeline, port);
        }
    }
}
