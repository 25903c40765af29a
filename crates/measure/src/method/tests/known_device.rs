//! A device whose answers are known, with its tester, for the tests of methods.
//!
//! Time is virtual. Each direction is a delay, a server of a rate before a queue of
//! a number of frames, and faults that strike by number. Frames of a flow that is
//! new wait until it is set up, as with a controller.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::net::Ipv4Addr;

use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;

use crate::measurement::Value;
use crate::method::{Effort, Findings, FrameSummary, Path, Settings};
use crate::stalls::Stalls;
use crate::statistics::Distribution;
use crate::traffic::Addresses;
use crate::trial::{
    Conduct, Fault, PortIndex, Setup, Sighting, Stamps, Stream, Tester, Trial, TrialError,
    TrialNumbers, Watcher, Way,
};

/// How much later its tester learns of an arrival if nobody listens.
const BETWEEN_LOOKS: Duration = Duration::from_ms(1);

/// What the device does to frames that go one way.
#[derive(Clone, Debug)]
pub(crate) struct Lane {
    pub(crate) delay: Duration,
    /// The rate of the server and how many frames may wait or be in service.
    pub(crate) server: Option<(BitRate, usize)>,
    pub(crate) lose_every: Option<u64>,
    pub(crate) double_every: Option<u64>,
    /// Holds every n-th frame back, so long.
    pub(crate) hold_every: Option<(u64, Duration)>,
    /// What the first frame of a flow waits longer.
    pub(crate) set_up: Duration,
}

impl Lane {
    pub(crate) fn of(delay: Duration) -> Self {
        Self {
            delay,
            server: None,
            lose_every: None,
            double_every: None,
            hold_every: None,
            set_up: Duration::ZERO,
        }
    }
}

/// The device: two ports and, if there is a mirror, a third that gets copies.
#[derive(Debug)]
pub(crate) struct KnownDevice {
    setup: Setup,
    /// From port 0 to port 1, and back.
    pub(crate) lanes: [Lane; 2],
    pub(crate) mirror_delay: Option<Duration>,
    /// How far the clock of each port is ahead.
    pub(crate) clocks: [Duration; 3],
    /// How long after a cut frames arrive again, by another way.
    pub(crate) recovers_after: Duration,
    /// How late the tester sends.
    pub(crate) late: Duration,
    /// Of so many frames, the tester has no room for the last.
    pub(crate) overflows_every: Option<u64>,
    /// How many trials were made.
    pub(crate) trials: u64,
    numbers: TrialNumbers,
    /// What is still on its way when a trial is over, by the time from then.
    under_way: BinaryHeap<Reverse<Arrival>>,
}

/// Between whom the test traffic goes.
pub(crate) fn addresses() -> Addresses {
    path().addresses
}

/// From port 0 to port 1.
pub(crate) fn path() -> Path {
    Path::between(PortIndex(0), PortIndex(1))
}

/// What the user wants: little.
pub(crate) fn settings(options: &[(&str, &str)]) -> Settings {
    let options = options.iter();
    Settings {
        effort: Effort::Quick,
        seed: 1,
        duration: None,
        options: options
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
    }
}

/// Returns the figure of a quantity at the point that has this value, or the only one.
#[track_caller]
pub(crate) fn figure<'a>(findings: &'a Findings, quantity: &str, value: &str) -> &'a Value {
    let found = findings.figures.iter().find(|figure| {
        let has = |(_, own): &(String, String)| own == value;
        figure.quantity == quantity && (value.is_empty() || figure.setting.iter().any(has))
    });
    match found {
        Some(figure) => &figure.value,
        None => panic!("no {quantity} at {value}: {findings:#?}"),
    }
}

/// Returns the smallest, the middle and the greatest of a figure's times.
#[track_caller]
pub(crate) fn times(findings: &Findings, quantity: &str, value: &str) -> [Duration; 3] {
    match figure(findings, quantity, value) {
        Value::Times(times) => {
            let summary = times.summary().unwrap();
            [summary.min, summary.p50, summary.max]
        }
        other => panic!("{quantity}: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn number(findings: &Findings, quantity: &str, value: &str) -> u64 {
    match figure(findings, quantity, value) {
        Value::Count(count) | Value::CountAtLeast(count) => *count,
        Value::Rate(rate) | Value::RateAtLeast(rate) => rate.as_bps(),
        other => panic!("{quantity}: {other:?}"),
    }
}

impl KnownDevice {
    pub(crate) fn new(there: Lane, back: Lane) -> Self {
        Self {
            setup: Setup {
                device: "a device that is known".to_owned(),
                ports: vec!["left".to_owned(), "right".to_owned(), "mirror".to_owned()],
                rate: None,
                one_clock: true,
                clocks_apart: Duration::ZERO,
                stamps: Stamps::Virtual,
                bias: None,
                agent: false,
            },
            lanes: [there, back],
            mirror_delay: None,
            clocks: [Duration::ZERO; 3],
            recovers_after: Duration::from_ms(5),
            late: Duration::ZERO,
            overflows_every: None,
            trials: 0,
            numbers: TrialNumbers::after(0),
            under_way: BinaryHeap::new(),
        }
    }

    pub(crate) fn setup_mut(&mut self) -> &mut Setup {
        &mut self.setup
    }
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Arrival {
    at: Duration,
    order: u64,
    port: usize,
    frame: Vec<u8>,
}

#[derive(Debug, Default)]
struct LaneState {
    frames: u64,
    /// When each frame in the server leaves it.
    departures: Vec<Duration>,
    busy_until: Duration,
    known: BTreeSet<(Ipv4Addr, Ipv4Addr, u8)>,
    ready_at: Duration,
}

/// A trial while it is under way.
struct Course<'a> {
    device: &'a KnownDevice,
    streams: Vec<Stream>,
    faults: Vec<(Duration, Fault)>,
    lanes: [LaneState; 2],
    arrivals: BinaryHeap<Reverse<Arrival>>,
    order: u64,
    numbers: TrialNumbers,
    /// When the last frame arrived.
    now: Duration,
    conduct: Conduct,
}

impl Tester for KnownDevice {
    fn setup(&self) -> &Setup {
        &self.setup
    }

    fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        self.trials += 1;
        self.numbers.begin();
        let end = trial.length + trial.drain;
        let arrivals = std::mem::take(&mut self.under_way);
        let numbers = self.numbers.clone();
        let mut course = Course {
            device: self,
            streams: trial.streams,
            faults: trial.faults,
            lanes: Default::default(),
            arrivals,
            numbers,
            now: Duration::ZERO,
            order: 0,
            conduct: Conduct {
                lateness: Distribution::default(),
                calm_lateness: Distribution::default(),
                sent: 0,
                skipped: 0,
                unseen: 0,
                unstamped: 0,
                strays: 0,
                stalls: Stalls::new(Duration::from_us(100)),
                clock_steps: Vec::new(),
            },
        };
        let over = loop {
            let over = match watcher.awaits() {
                true => end + trial.patience,
                false => end.max(course.now),
            };
            if !course.step(trial.length, over, watcher) {
                break over;
            }
        };
        let streams = &course.streams;
        let skipped: u64 = streams.iter().map(|stream| stream.sender.skipped()).sum();
        let conduct = Conduct {
            skipped: skipped + course.conduct.skipped,
            strays: course.numbers.strays(),
            ..course.conduct
        };
        let left = course.arrivals.into_iter().map(|Reverse(arrival)| {
            let at = arrival.at.saturating_sub(over);
            Reverse(Arrival { at, ..arrival })
        });
        self.under_way = left.collect();
        Ok(conduct)
    }
}

impl Course<'_> {
    /// Does what is next, and tells whether there was something.
    fn step(&mut self, length: Duration, end: Duration, watcher: &mut dyn Watcher) -> bool {
        let dues = self.streams.iter().enumerate();
        let due = dues
            .filter_map(|(place, stream)| {
                let due = stream.sender.next_due()? + self.device.late;
                let may_send = due <= length + self.device.late || stream.sender.listens();
                may_send.then_some((due, place))
            })
            .min();
        let arrival = self.arrivals.peek().map(|Reverse(arrival)| arrival.at);
        match (due, arrival) {
            (None, None) => false,
            (Some((due, place)), arrival) if arrival.is_none_or(|arrival| due < arrival) => {
                due <= end && self.send(due, place, watcher)
            }
            (_, _) => {
                let next = self.arrivals.peek();
                if next.is_none_or(|Reverse(arrival)| arrival.at > end) {
                    return false;
                }
                let Some(Reverse(arrival)) = self.arrivals.pop() else {
                    return false;
                };
                self.now = arrival.at;
                self.arrive(&arrival, watcher);
                true
            }
        }
    }

    fn send(&mut self, now: Duration, place: usize, watcher: &mut dyn Watcher) -> bool {
        let mut frame = Vec::new();
        let stream = &mut self.streams[place];
        let port = stream.from;
        let Some(outgoing) = stream.sender.emit(now, &mut frame) else {
            // It gave up something that was too late; what comes next is due later.
            return stream
                .sender
                .next_due()
                .is_some_and(|due| due + self.device.late > now);
        };
        self.numbers.mark(&mut frame);
        let handed = self.conduct.sent + self.conduct.skipped + 1;
        let overflows = self.device.overflows_every;
        if overflows.is_some_and(|every| handed.is_multiple_of(every)) {
            self.conduct.skipped += 1;
            return true;
        }
        self.conduct.sent += 1;
        self.conduct
            .lateness
            .record(now.saturating_sub(outgoing.due));
        self.tell((port.0, Way::Sent), now, &frame, watcher);
        if let (0, Some(delay)) = (port.0, self.device.mirror_delay) {
            self.enter(now + delay, 2, frame.clone());
        }
        self.forward(now, port.0, frame);
        true
    }

    fn forward(&mut self, now: Duration, from: usize, frame: Vec<u8>) {
        let lane = &self.device.lanes[from];
        let state = &mut self.lanes[from];
        state.frames += 1;
        let strikes = |every: Option<u64>| every.is_some_and(|n| state.frames.is_multiple_of(n));
        let (lost, doubled) = (strikes(lane.lose_every), strikes(lane.double_every));
        let held = lane
            .hold_every
            .filter(|(n, _)| state.frames.is_multiple_of(*n));
        let mut leaves = now + held.map_or(Duration::ZERO, |(_, hold)| hold);
        if let Some((rate, most)) = lane.server {
            state.departures.retain(|departure| *departure > now);
            if state.departures.len() >= most {
                return;
            }
            let service = rate.time_to_send(wire_size(frame.len())).round_up();
            state.busy_until = state.busy_until.max(leaves) + service;
            state.departures.push(state.busy_until);
            leaves = state.busy_until;
        }
        if lost || self.is_cut(now) {
            return;
        }
        let state = &mut self.lanes[from];
        if let Some(glimpse) = FrameSummary::of(&frame)
            && state
                .known
                .insert((glimpse.source, glimpse.destination, glimpse.protocol))
        {
            state.ready_at = leaves + lane.set_up;
        }
        let arrives = leaves.max(state.ready_at) + lane.delay;
        if doubled {
            self.enter(arrives, 1 - from, frame.clone());
        }
        self.enter(arrives, 1 - from, frame);
    }

    /// A cut takes effect until the other way is found.
    fn is_cut(&self, now: Duration) -> bool {
        self.faults.iter().any(|(at, fault)| match fault {
            Fault::Cut(_) | Fault::Mute(_) | Fault::Kill => {
                *at <= now && now < *at + self.device.recovers_after
            }
            Fault::Join(_) | Fault::Unmute(_) => false,
        })
    }

    fn enter(&mut self, at: Duration, port: usize, frame: Vec<u8>) {
        self.order += 1;
        self.arrivals.push(Reverse(Arrival {
            at,
            order: self.order,
            port,
            frame,
        }));
    }

    fn arrive(&mut self, arrival: &Arrival, watcher: &mut dyn Watcher) {
        if !self.numbers.admits(&arrival.frame) {
            return;
        }
        self.tell(
            (arrival.port, Way::Received),
            arrival.at,
            &arrival.frame,
            watcher,
        );
        // As a tester does that looks for arrivals now and then.
        let heard = match self.streams.iter().any(|it| it.sender.listens()) {
            true => arrival.at,
            false => arrival.at + BETWEEN_LOOKS,
        };
        for stream in &mut self.streams {
            if stream.from.0 == arrival.port {
                stream.sender.received(heard, &arrival.frame);
            }
        }
    }

    fn tell(
        &self,
        (port, way): (usize, Way),
        at: Duration,
        frame: &[u8],
        watcher: &mut dyn Watcher,
    ) {
        watcher.see(&Sighting {
            port: PortIndex(port),
            way,
            at: Instant::from_ns(1_000_000_000) + at + self.device.clocks[port],
            length: frame.len(),
            bytes: frame,
        });
    }
}
