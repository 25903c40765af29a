//! How long reception is interrupted when a way fails (S0-3).
//!
//! A stream of short frames at an exact spacing, as Sampled Values are sent, crosses
//! the device; at a random moment of the spacing the way fails. What counts is what
//! the receiver sees (SDN4CI section IV-C): the longest gap between two arrivals less
//! one spacing, and the frames lost. Three kinds, told apart: the carrier goes, frames
//! are lost silently, the device dies. The longest gap before the failure stands
//! beside it, for the machine interrupts reception too.
//!
//! After each failure the way is made whole and left alone, since Linux holds back
//! news of a carrier that follow each other within a second.

use units::{Duration, Instant, Seeded};
use wire::ethernet::SHORTEST_FRAME;

use super::{
    Cadence, Effort, FROM, Findings, Keep, Method, MethodError, Passing, Path, Progress,
    SendingPace, Setting, Settings, TO, at_each, choice, need_two_ports,
};
use crate::measurement::Value;
use crate::statistics::Distribution;
use crate::trial::{Fault, PortIndex, Setup, Stream, Tester, Trial};

/// `taktos measure failover`.
pub const METHOD: Method = Method {
    name: "failover",
    finds: "how long reception is interrupted when a way fails (S0-3)",
    options: &[
        ("kind", "how it fails: cut, mute or kill, or several [cut]"),
        ("times", "how often [100, quick 5]"),
        ("interval", "the time between two frames [1ms]"),
        ("size", "bytes of a frame, without check sequence [122]"),
        ("port", "the port whose way fails, from 0 [1]"),
        (
            "detour",
            "another port where frames may come out, from 0 [2, if there]",
        ),
        ("watch", "how long is watched after the failure [2s]"),
    ],
    run,
};

/// S0-3: at least a hundred.
const TIMES: u32 = 100;
const QUICK_TIMES: u32 = 5;
const MOST_TIMES: u32 = 10_000;
const INTERVAL: Duration = Duration::from_ms(1);
const SIZE: usize = 122;
const LONGEST_SIZE: usize = 1_514;
const WATCH: Duration = Duration::from_secs(2);
/// How long the stream runs before the failure.
const BEFORE: Duration = Duration::from_ms(500);
/// How long the way is left alone once it is whole again.
const QUIET: Duration = Duration::from_ms(1_250);
const DRAIN: Duration = Duration::from_ms(200);

named!(Failure, Cut = "cut", Mute = "mute", Kill = "kill",);

impl Failure {
    fn about(self) -> &'static str {
        match self {
            Self::Cut => "cut: the carrier goes",
            Self::Mute => "mute: frames are lost silently",
            Self::Kill => "kill: the device dies",
        }
    }

    fn begins(self, port: PortIndex) -> Fault {
        match self {
            Self::Cut => Fault::Cut(port),
            Self::Mute => Fault::Mute(port),
            Self::Kill => Fault::Kill,
        }
    }

    fn ends(self, port: PortIndex) -> Option<Fault> {
        match self {
            Self::Cut => Some(Fault::Join(port)),
            Self::Mute => Some(Fault::Unmute(port)),
            Self::Kill => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct FailoverPlan {
    times: u32,
    interval: Duration,
    size: usize,
    port: PortIndex,
    detour: Option<PortIndex>,
    watch: Duration,
    seed: u64,
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let plan = FailoverPlan::choose(tester.setup(), settings)?;
    let kinds = settings.list("kind", vec![Failure::Cut])?;
    let points: Vec<_> = kinds
        .into_iter()
        .map(|kind| {
            let setting = vec![
                choice("kind", kind.about()),
                choice("interval", plan.interval),
            ];
            (setting, kind)
        })
        .collect();
    let mut findings = at_each(&points, progress, |setting, kind, found| {
        let mut random = Seeded::new(plan.seed);
        let mut interruptions = Interruptions::default();
        for _ in 0..plan.times {
            let phase = Duration::from_ns(random.below(plan.interval.as_ns()));
            interruptions.enter(&fail_once(tester, &plan, *kind, BEFORE + phase)?);
        }
        interruptions.describe(setting, found);
        Ok(())
    })?;
    if settings.effort == Effort::Quick {
        findings.remark(format!("{} failures in place of {TIMES}.", plan.times));
    }
    Ok(findings)
}

impl FailoverPlan {
    fn choose(setup: &Setup, settings: &Settings) -> Result<Self, MethodError> {
        let usual = settings.usual(TIMES, QUICK_TIMES);
        let ports = setup.ports.len();
        let detour = match settings.option("detour", usize::MAX)? {
            usize::MAX => (ports > 2).then_some(PortIndex(2)),
            port => Some(PortIndex(port)),
        };
        if let Some(detour) = detour.filter(|detour| detour.0 >= ports) {
            return Err(MethodError::refusing("detour", detour.0));
        }
        let watch = settings.option("watch", WATCH)?;
        let intervals = Duration::from_ns(1)..=watch;
        Ok(Self {
            times: settings.within("times", usual, 1..=MOST_TIMES)?,
            interval: settings.within("interval", INTERVAL, intervals)?,
            size: settings.within("size", SIZE, SHORTEST_FRAME..=LONGEST_SIZE)?,
            port: PortIndex(settings.within("port", TO.0, ..ports)?),
            detour,
            watch,
            seed: settings.seed,
        })
    }
}

/// What the receiver saw of one failure.
#[derive(Clone, Copy, Debug)]
struct ReceptionGap {
    /// The longest gap beyond one spacing, or nothing if reception did not come back.
    length: Option<Duration>,
    /// The same before the failure.
    before: Duration,
    lost: u64,
    duplicates: u64,
}

fn fail_once(
    tester: &mut dyn Tester,
    plan: &FailoverPlan,
    kind: Failure,
    at: Duration,
) -> Result<ReceptionGap, MethodError> {
    let path = Path::between(FROM, TO);
    let pace = SendingPace::every(plan.interval);
    let watched = at + plan.watch;
    let frames = pace.frames_in(watched);
    let sender = Cadence::new(&path.addresses, plan.size, pace).frames(frames);
    let mut faults = vec![(at, kind.begins(plan.port))];
    if let Some(end) = kind.ends(plan.port) {
        faults.push((watched + DRAIN, end));
    }
    let trial = Trial {
        streams: vec![Stream::new(path.from, sender)],
        faults,
        length: watched + DRAIN + QUIET,
        drain: Duration::ZERO,
        ..Trial::default()
    };
    let mut passing = Passing::new(path, frames, Keep::Stamps).or_at(plan.detour);
    tester.run(trial, &mut passing)?;
    Ok(interruption(&passing, plan.interval, pace.frames_in(at)))
}

/// Finds the longest gap between arrivals. Frames below `failed_at` were sent before the
/// failure.
fn interruption(passing: &Passing, interval: Duration, failed_at: u64) -> ReceptionGap {
    let mut arrivals: Vec<(Instant, u64)> = passing
        .arrivals()
        .map(|(sequence, at)| (at, sequence))
        .collect();
    arrivals.sort_unstable();
    let (mut before, mut after) = (Duration::ZERO, Duration::ZERO);
    for pair in arrivals.windows(2) {
        let gap = pair[1]
            .0
            .saturating_since(pair[0].0)
            .saturating_sub(interval);
        match pair[1].1 < failed_at {
            true => before = before.max(gap),
            false => after = after.max(gap),
        }
    }
    let passage = passing.passage();
    let came_back = arrivals
        .last()
        .is_some_and(|(_, sequence)| *sequence + 1 >= passage.sent);
    ReceptionGap {
        length: came_back.then_some(after),
        before,
        lost: passage.lost,
        duplicates: passage.duplicates,
    }
}

#[derive(Debug)]
struct Interruptions {
    lengths: Distribution,
    before: Distribution,
    /// As nanoseconds, though they are frames: the greatest alone is told.
    most_lost: u64,
    lost: u64,
    duplicates: u64,
    failures: u64,
    never_back: u64,
}

impl Default for Interruptions {
    fn default() -> Self {
        Self {
            lengths: Distribution::fine(),
            before: Distribution::fine(),
            most_lost: 0,
            lost: 0,
            duplicates: 0,
            failures: 0,
            never_back: 0,
        }
    }
}

impl Interruptions {
    fn enter(&mut self, one: &ReceptionGap) {
        self.failures += 1;
        self.before.record(one.before);
        match one.length {
            Some(length) => self.lengths.record(length),
            None => self.never_back += 1,
        }
        self.lost += one.lost;
        self.most_lost = self.most_lost.max(one.lost);
        self.duplicates += one.duplicates;
    }

    fn describe(self, setting: &Setting, found: &mut Findings) {
        let source = "S0-3, SDN4CI section IV-C";
        let why = "reception never came back: there is no other way, or nobody takes it";
        found.add_times(
            ("interruption of reception", source),
            setting,
            self.lengths,
            why,
        );
        let name = ("longest gap before the failure", source);
        found.add_times(
            name,
            setting,
            self.before,
            "nothing arrived before the failure",
        );
        for (quantity, count) in [
            ("failures", self.failures),
            ("failures without recovery", self.never_back),
            ("lost in all", self.lost),
            ("lost at one failure, at most", self.most_lost),
            ("duplicates", self.duplicates),
        ] {
            found.add((quantity, source), setting, Value::Count(count));
        }
        if self.failures < u64::from(TIMES) {
            found.remark(format!(
                "{} failures are fewer than the {TIMES} that S0-3 asks for.",
                self.failures
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings, times};

    /// The device needs 7.3 ms to find another way. The phase is random, so the gap is
    /// that or up to one spacing more, less the one spacing that is no interruption.
    #[test]
    fn a_way_that_recovers_after_a_known_time_is_found_to() {
        let mut device = device(Duration::from_us(7_300));

        let options = [("kind", "cut,mute"), ("times", "30"), ("watch", "100ms")];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        for kind in ["cut: the carrier goes", "mute: frames are lost silently"] {
            let [least, _, most] = times(&found, "interruption of reception", kind);
            assert!(least >= Duration::from_us(7_000), "{least}");
            assert!(most <= Duration::from_us(8_000), "{most}");
            let lost = number(&found, "lost in all", kind);
            assert!((30 * 7..=30 * 8).contains(&lost), "{lost}");
            assert_eq!(
                times(&found, "longest gap before the failure", kind)[2],
                Duration::ZERO
            );
        }
    }

    #[test]
    fn a_way_that_never_recovers_is_no_short_interruption() {
        let mut device = device(Duration::from_secs(100));

        let options = [("kind", "kill"), ("times", "3"), ("watch", "100ms")];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        assert!(matches!(
            figure(&found, "interruption of reception", ""),
            Value::Unknown(_)
        ));
        assert_eq!(number(&found, "failures without recovery", ""), 3);
    }

    #[test]
    fn the_phase_of_failures_is_spread_over_the_spacing_by_the_seed() {
        let mut device = device(Duration::from_us(7_300));

        let options = [("times", "40"), ("watch", "100ms")];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        let lost = number(&found, "lost in all", "");
        // 7.3 ms of 1 ms spacing: seven frames mostly, eight in three of ten.
        assert!(lost > 40 * 7 && lost < 40 * 8, "{lost}");
    }

    fn device(recovers_after: Duration) -> KnownDevice {
        let lane = Lane::of(Duration::from_us(50));
        let mut device = KnownDevice::new(lane.clone(), lane);
        device.recovers_after = recovers_after;
        device
    }
}
