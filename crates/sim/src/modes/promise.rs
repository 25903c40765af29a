//! Does the flow that needs more get it in time, on whole switches (S2-8, S2-11)?
//!
//! A random network, a flow that matters and others that matter less, ahead of it in the
//! usual case and as much as links carry. One message of the former is larger than
//! agreed. How late it may be follows from the bound of the mode change: by then every
//! switch drops what matters less, and from then on the message has the links for
//! itself, but for a frame that is being sent and for signals.
//!
//! ```text
//! due -> first packet at the first switch: one frame on the wire, processing
//!     -> every switch has changed:         hops of a signal over the longest way
//!     -> the last packet has arrived:      the whole message once, and at each hop the
//!                                          frame itself, one that is being sent, signals
//! ```

use std::fmt;

use calculus::mode_change::{SIGNAL_ON_WIRE, SIGNALS_AHEAD, SignalHop};
use units::{BitRate, DataSize, Delay, Duration};

use super::deployment::{LevelTreatment, Strategy};
use super::stage::{
    Breach, ControllerTimes, Device, HEARTBEAT, ModeSetup, ObservedChange, PROPAGATION, StagedFlow,
};
use super::topology::ModeTopology;
use super::trial::way;
use crate::parts::Processing;
use crate::servers::random::Random;

/// The largest frame on the wire.
const FULL_FRAME: DataSize = DataSize::from_bytes(1_538);
/// What a full frame carries of a message, less than it could.
const PAYLOAD_BYTES: u64 = 1_400;
const RATES_MBPS: [u64; 2] = [100, 1_000];
const LOW_MAX: u64 = 4;
const NUMBERS_REMEMBERED: u32 = 70;

/// What was promised to a network, and what it saw.
#[derive(Clone, Debug)]
pub struct Promise {
    /// In how much time all switches change.
    pub change_within: Duration,
    /// In how much time the large message arrives.
    pub message_within: Duration,
    pub seen: ObservedChange,
}

impl Promise {
    /// Lets the network of a seed keep its promise.
    #[must_use]
    pub fn of(seed: u64) -> Self {
        let stage = draw(seed);
        let bounds = Bounds::of(&stage);
        Self {
            change_within: bounds.change.round_up(),
            message_within: bounds.message.round_up(),
            seen: stage.play(),
        }
    }

    /// Tells whether it was kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        let change = self.seen.mode_change();
        let message = self.seen.message;
        change.is_some_and(|took| took <= self.change_within)
            && message.is_some_and(|took| took <= self.message_within)
    }

    /// Returns of a thousand how much of both times was taken.
    #[must_use]
    pub fn taken_permille(&self) -> [u64; 2] {
        let share = |took: Option<Duration>, within: Duration| {
            took.map_or(0, |took| took.as_ns() * 1_000 / within.as_ns().max(1))
        };
        [
            share(self.seen.mode_change(), self.change_within),
            share(self.seen.message, self.message_within),
        ]
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "changed after {:?}, promised {:?}; message after {:?}, promised {:?}",
            self.seen.mode_change(),
            self.change_within,
            self.seen.message,
            self.message_within
        )
    }
}

struct Bounds {
    change: Delay,
    message: Delay,
}

impl Bounds {
    fn of(stage: &ModeSetup) -> Self {
        let ports = (0..stage.topology.switches).map(|at| stage.topology.trunks(at).count());
        let ports = ports.max().unwrap_or_default() + stage.hosts.len();
        let Processing {
            latency, per_frame, ..
        } = stage.device.processing;
        // At every port a frame and a signal may come at the same time.
        let processing = latency + per_frame * (2 * ports as u64);
        let hop = SignalHop {
            rate: stage.rate,
            propagation: PROPAGATION,
            blocking: FULL_FRAME,
            equal: DataSize::ZERO,
            signals_ahead: SIGNALS_AHEAD,
            processing,
        };
        let hop = hop.bound().expect("a hop takes milliseconds at most");
        let whole = vec![true; stage.topology.cables.len()];
        let change = hop * stage.topology.diameter(&whole);
        let frame = stage.rate.time_to_send(FULL_FRAME);
        let detection = frame + PROPAGATION + processing;
        let (size, hops) = stage.flows.iter().fold((0, 0), |most, flow| {
            let size = flow.breach.map_or(0, |breach| u64::from(breach.size_bytes));
            if size > 0 {
                (size, flow.route.len() as u64)
            } else {
                most
            }
        });
        let sending = frame * size.div_ceil(PAYLOAD_BYTES);
        let signals = stage
            .rate
            .time_to_send(SIGNAL_ON_WIRE * (SIGNALS_AHEAD + 1));
        let per_hop = frame * 2u64 + PROPAGATION + processing + signals;
        let message = detection + change + sending + per_hop * (hops + 1);
        let beats = message.round_up() / HEARTBEAT + 1;
        let beats = stage.rate.time_to_send(SIGNAL_ON_WIRE) * beats * (hops + 1);
        Self {
            change,
            message: message + beats,
        }
    }
}

/// Draws the network of a seed.
fn draw(seed: u64) -> ModeSetup {
    let mut random = Random::new(seed);
    let topology = ModeTopology::draw(&mut random);
    let rate = BitRate::from_mbps(random.pick(&RATES_MBPS));
    let route = way(&topology, &mut random);
    let period = Duration::from_ms(random.between(10, 60));
    let whole = rate.as_bps() / 8_000_000 * period.as_ns() / 1_000;
    let size = |percent: u64| u32::try_from(whole * percent / 100).expect("a few megabytes");
    let usual = size(random.between(3, 10));
    // A monitor remembers 64 packets: those of the large message are numbered anew.
    let before = 3 + NUMBERS_REMEMBERED * 1_460 / usual;
    let breach = Breach {
        number: before,
        size_bytes: usual * 2 + size(random.between(1, 10)),
    };
    let flow = |from, size_bytes, phase, treatments| StagedFlow {
        from,
        to: from + 1,
        route: route.clone(),
        period,
        size_bytes,
        phase,
        treatments,
        breach: None,
        quickens: None,
    };
    let mut phase = || Duration::from_ns(random.below(period.as_ns()));
    let high = [LevelTreatment::Queue(4), LevelTreatment::Queue(6)];
    let mut flows = vec![StagedFlow {
        breach: Some(breach),
        ..flow(0, usual, phase(), high)
    }];
    // Ahead of it in the usual case, and together as much as the links carry.
    let low = random.between(1, LOW_MAX);
    let each = size(80 / low);
    for other in 1..=usize::try_from(low).expect("a few") {
        let phase = Duration::from_ns(random.below(period.as_ns()));
        let treatments = [LevelTreatment::Queue(5), LevelTreatment::Drop];
        flows.push(flow(2 * other, each, phase, treatments));
    }
    let ends = [route[0], *route.last().expect("a way has switches")];
    ModeSetup {
        seed,
        hosts: flows.iter().flat_map(|_| ends).collect(),
        topology,
        rules: random.index(50),
        flows,
        strategy: Strategy::Taktos,
        device: Device {
            processing: Processing {
                latency: Delay::from_us(random.between(1, 300)),
                per_frame: Delay::from_ns(random.between(100, 600)),
                capacity: 8_192,
            },
            behaviour: None,
            queue_frames: 4_096,
        },
        controller: ControllerTimes {
            reaction: Duration::ZERO,
            per_message: Duration::ZERO,
            per_entry: Duration::ZERO,
        },
        rate,
        duration: period * u64::from(before + 6),
    }
}
