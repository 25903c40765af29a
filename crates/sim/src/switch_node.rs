//! A switch in the simulation: the core that ships, behind the processing stage
//! that all of its ports share.

use std::collections::VecDeque;

use switch::compiled::{Carried, Memory, Overflow, Sizes};
use switch::{Input, Switch};
use units::{BitRate, Duration, Instant};
use wire::openflow::PortNumber;

use crate::emulation::{Dice, Fate, Pace, ProcessingQueue};
use crate::frames::FrameId;
use crate::hop_watch;
use crate::parts::{Engine, Processing, SwitchPart};

/// The core of a switch and the frames that wait for its processor.
#[derive(Debug)]
pub struct SwitchNode {
    config: switch::Config,
    ports: Vec<PortNumber>,
    pub engine: Engine,
    processing: Processing,
    per_frame: Duration,
    latency: Duration,
    /// How much longer each frame occupies the processor than it should.
    pub extra: Duration,
    /// What decides about times and losses in place of the processing stage.
    emulated: Option<ProcessingQueue>,
    /// When messages take effect and leave.
    pub pace: Pace,
    /// The core, unless the switch has crashed.
    pub core: Option<Switch>,
    waiting: VecDeque<PendingFrame>,
    last_arrival: Instant,
    busy_until: Instant,
    /// The earliest wake-up of the core that stands in the calendar.
    pub wake_up: Option<Instant>,
    /// Counts the connections to the controller, so that what was sent over an
    /// earlier one is not taken for this one's.
    pub generation: u32,
    /// Whether its control connection carries nothing.
    pub is_isolated: bool,
    dropped: u64,
    lost: u64,
}

#[derive(Clone, Copy, Debug)]
struct PendingFrame {
    ready: Instant,
    taken: TakenFrame,
}

/// A frame that the processor of a switch is done with.
#[derive(Clone, Copy, Debug)]
pub struct TakenFrame {
    /// When its last bit arrived. Of frames that arrived at once the later ones are said to
    /// have come a nanosecond after each other, so that this tells them apart.
    pub arrived: Instant,
    pub port: PortNumber,
    pub frame: FrameId,
}

impl SwitchNode {
    /// Returns a switch that runs, its ports up. What is random follows from `dice`.
    #[must_use]
    pub fn new(now: Instant, part: SwitchPart, engine: Engine, dice: &Dice) -> Self {
        Self {
            pace: Pace::new(part.emulation.clone(), dice.clone()),
            emulated: part
                .emulation
                .map(|behaviour| ProcessingQueue::new(behaviour, dice.clone())),
            core: Some(engine.start(now, &part.config)),
            ports: part.config.ports.iter().map(|port| port.number).collect(),
            config: part.config,
            engine,
            processing: part.processing,
            per_frame: part.processing.per_frame.round_up(),
            latency: part.processing.latency.round_up(),
            extra: Duration::ZERO,
            waiting: VecDeque::new(),
            last_arrival: Instant::ZERO,
            busy_until: Instant::ZERO,
            wake_up: None,
            generation: 0,
            is_isolated: false,
            dropped: 0,
            lost: 0,
        }
    }

    #[must_use]
    pub fn ports(&self) -> &[PortNumber] {
        &self.ports
    }

    /// Takes a frame of so many bytes that arrived at `port`. Returns when the
    /// processor is done with it, or gives the frame back if there is no room or no
    /// switch.
    pub fn arrive(
        &mut self,
        now: Instant,
        port: PortNumber,
        (frame, bytes): (FrameId, usize),
    ) -> Result<Instant, FrameId> {
        if self.core.is_none() {
            return Err(frame);
        }
        if let Some(stage) = &mut self.emulated {
            return match stage.arrive(now, port, bytes) {
                Fate::Ready(ready) => {
                    let ready = ready + self.extra;
                    let taken = self.taken(now, ready, (port, frame));
                    // Frames of other ports may be done earlier.
                    let later = |waiting: &PendingFrame| waiting.ready > ready;
                    let behind = self.waiting.iter().rev().take_while(|it| later(it)).count();
                    let place = self.waiting.len() - behind;
                    self.waiting.insert(place, PendingFrame { ready, taken });
                    Ok(ready)
                }
                Fate::NoRoom => {
                    self.dropped += 1;
                    Err(frame)
                }
                Fate::Lost => {
                    self.lost += 1;
                    Err(frame)
                }
            };
        }
        if self.waiting.len() >= self.processing.capacity {
            self.dropped += 1;
            return Err(frame);
        }
        self.busy_until = self.busy_until.max(now) + self.per_frame + self.extra;
        let ready = self.busy_until + self.latency;
        let taken = self.taken(now, ready, (port, frame));
        self.waiting.push_back(PendingFrame { ready, taken });
        Ok(ready)
    }

    /// Notes that a frame arrived now with which the processor is done at `ready`.
    fn taken(
        &mut self,
        now: Instant,
        ready: Instant,
        (port, frame): (PortNumber, FrameId),
    ) -> TakenFrame {
        let behind = self.last_arrival + Duration::from_ns(1);
        let arrived = now.max(behind).min(ready);
        self.last_arrival = arrived;
        TakenFrame {
            arrived,
            port,
            frame,
        }
    }

    /// Returns the stage as its profile has it, for who watches it.
    pub fn stage(&self) -> hop_watch::WatchedStage {
        hop_watch::WatchedStage::new(self.per_frame, self.latency)
    }

    /// Returns until when the processor has work.
    pub fn busy_until(&self) -> Instant {
        self.busy_until
    }

    /// Sets the rate of a port below what it says, or back to that.
    pub fn slow_port(&mut self, number: PortNumber, by_thousandths: u32) {
        let rate = self.rate_of(number);
        if let (Some(core), Some(rate)) = (&mut self.core, rate) {
            core.slow_port(number, slower(rate, by_thousandths));
        }
    }

    /// Returns the rate that a port says it has.
    pub fn rate_of(&self, number: PortNumber) -> Option<BitRate> {
        let mut ports = self.config.ports.iter();
        ports.find(|port| port.number == number)?.rate
    }

    /// Removes the frame with which the processor is done at `now`.
    pub fn processed(&mut self, now: Instant) -> Option<TakenFrame> {
        let done = self.waiting.pop_front_if(|waiting| waiting.ready <= now);
        done.map(|waiting| waiting.taken)
    }

    /// Loses the core and every frame that waited; returns those.
    pub fn crash(&mut self) -> Vec<FrameId> {
        self.core = None;
        if let Some(stage) = &mut self.emulated {
            stage.clear();
        }
        self.wake_up = None;
        self.waiting
            .drain(..)
            .map(|waiting| waiting.taken.frame)
            .collect()
    }

    /// Starts anew with empty tables.
    pub fn restart(&mut self, now: Instant) {
        self.core = Some(self.engine.start(now, &self.config));
        self.busy_until = now;
    }

    /// Shows those who walk the compiled form the tables as they are, if there is one and
    /// they have changed. No walk is ever under way meanwhile.
    pub fn publish(&mut self) {
        let Some(core) = &mut self.core else { return };
        while !core.is_published() {
            assert!(core.settle(), "a walk ends before anything else happens");
            core.publish();
        }
    }

    /// Returns how many frames found no room before the processor.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns how many frames were lost for no reason that is seen from outside.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns how long it takes this time to notice that a port has lost its carrier,
    /// if that is its own affair.
    pub fn notices_loss(&mut self) -> Option<Duration> {
        self.emulated.as_mut()?.notice_loss()
    }
}

/// Returns what is left of a rate that is less by so many thousandths.
pub fn slower(rate: BitRate, by_thousandths: u32) -> BitRate {
    let left = u64::from(1_000u32.saturating_sub(by_thousandths));
    BitRate::from_bps((rate.as_bps() / 1_000 * left).max(1))
}

impl Engine {
    /// Starts a core with empty tables.
    fn start(self, now: Instant, config: &switch::Config) -> Switch {
        let mut core = Switch::new(now, config.clone());
        if let Self::Compiled { entries } = self {
            let memory = Memory::private(Sizes::new(config, entries, 1));
            core.compile_into(memory, Overflow::ToCore);
            for port in &config.ports {
                core.carry_port(port.number, Carried::default());
            }
        }
        core
    }

    /// Returns what a core is told of a frame.
    pub fn input(self, port: PortNumber, bytes: &[u8], arrived: Instant) -> Input<'_> {
        match self {
            Self::Tables => Input::Frame {
                port,
                bytes,
                arrived,
            },
            Self::Compiled { .. } => Input::Walked {
                port,
                bytes,
                arrived,
            },
        }
    }
}
