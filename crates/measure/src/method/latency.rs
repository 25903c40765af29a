//! The way of a frame through a device, by several techniques from one run.
//!
//! Two kinds of points. At a *spacing*, short frames cross the device at exact times,
//! as in SDN4CI Fig. 3 (S0-2): a device that sleeps between frames shows itself at the
//! long ones. Their latency is the difference of the stamps at both ports, or, where
//! a mirror before the device delivers a copy, of the arrivals of frame and copy:
//! then one clock is needed at the receiving side alone, and the delay of the mirror
//! stands beside the result.
//!
//! At a *window*, requests of this size are answered by the other side (S3-1, S3-2,
//! S3-3): echoes, datagrams and handshakes of TCP take turns in one trial, so that
//! all techniques meet the same device:
//!
//! ```text
//! Δ1 = RRepT − SReqT     round trip, what ping reports          ASYNC Eq. (2)
//! Δ2 = SRepT − RReqT     time at the called side                ASYNC Eq. (1)
//! Δ3 = Δ1 − Δ2           there and back                         ASYNC Eq. (3)
//! Δ3 / 2                 one way, if both ways are alike        ASYNC Eq. (4)
//! ```
//!
//! The clocks of the two sides need not agree. Where they do, each direction is told
//! by itself too, for half of a round trip hides that the two differ.
//!
//! # Differs from the paper
//!
//! A request of many fragments counts from its first fragment at the sender to its
//! last at the receiver, and a reply likewise; processing begins with the last
//! fragment of the request and ends with the first of the reply. Otherwise the
//! travel of fragments would count as processing. The paper's SYN-ACK/ACK holds the
//! turnaround of the caller; ours is told with and without.

use units::Duration;

use super::exchanges::Backwards;
use super::passage::distribution;
use super::{
    Cadence, Effort, Exchange, Exchanges, FROM, Findings, Keep, LoadLevel, Method, MethodError,
    Passing, Path, Progress, RequestKind, Requests, Responder, SendingPace, Setting, Settings, TO,
    Technique, at_each, choice, doubt, jitter, need_two_ports, trial_of,
};
use crate::measurement::Value;
use crate::statistics::Distribution;
use crate::traffic::datagram::Addresses;
use crate::trial::{PortIndex, Setup, Stream, Tester};

/// `taktos measure latency`.
pub const METHOD: Method = Method {
    name: "latency",
    finds: "how long a frame takes, by several techniques from one run (S0-2, S3-1)",
    options: &[
        (
            "interval",
            "times between two frames, as in 125us,1ms; none leaves them out",
        ),
        ("size", "bytes of a frame, without check sequence [60]"),
        (
            "mirror",
            "the port at which a mirror's copy arrives, from 0",
        ),
        (
            "window",
            "bytes of the requests, as in 1500,10000; none leaves them out",
        ),
        (
            "load",
            "what others send to the receiver, as in none,500Mbit/s,75% [none]",
        ),
        ("rounds", "how many requests of each kind [200, quick 20]"),
        ("turnaround", "what the called side waits [20us]"),
        (
            "answers",
            "who answers: tester, or host for ping alone [tester]",
        ),
    ],
    run,
};

/// The spacings of SDN4CI Fig. 3.
const INTERVALS: [&str; 5] = ["125us", "250us", "500us", "1ms", "2ms"];
/// The windows of S3-3: one that a frame nearly holds, and two that take many.
const WINDOWS: [&str; 3] = ["1500", "10000", "65000"];
/// At least one minute in steady state each.
const FULL: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_secs(2);
/// The shortest spacing that is taken.
const SHORTEST_INTERVAL: Duration = Duration::from_us(1);
const FRAME_BYTES: usize = 60;
const LONGEST_FRAME_BYTES: usize = 1_514;
/// What goes first and does not count: caches are warm then, and bridges have
/// learned who is where.
const WARM_UP: Duration = Duration::from_ms(50);
/// How long the last frames have.
const DRAIN: Duration = Duration::from_ms(200);
/// Load is steady when requests begin.
const LOAD_FIRST: Duration = Duration::from_ms(200);
/// Each kind of request has its turn in a round of this length.
const ROUND: Duration = Duration::from_ms(20);
const ROUNDS: u64 = 200;
const QUICK_ROUNDS: u64 = 20;
const TURNAROUND: Duration = Duration::from_us(20);

named!(
    /// Who answers.
    Answers,
    Tester = "tester",
    Host = "host",
);

#[derive(Clone, Copy, Debug)]
enum LatencyPoint {
    Spacing(Duration),
    Window(usize, LoadLevel),
}

/// What is the same at all points.
#[derive(Clone, Copy, Debug)]
struct Common {
    path: Path,
    size: usize,
    length: Duration,
    rounds: u64,
    turnaround: Duration,
    answers: Answers,
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let common = Common::choose(tester.setup(), settings)?;
    let points = points(settings, common.size)?;
    warm_up(tester, &common)?;
    let mut findings = at_each(&points, progress, |setting, point, found| match *point {
        LatencyPoint::Spacing(interval) => spacing(tester, &common, interval, setting, found),
        LatencyPoint::Window(window, load) => {
            requests(tester, &common, (window, load), setting, found)
        }
    })?;
    doubt(&mut findings, tester.setup());
    if settings.effort == Effort::Quick {
        findings.remark(format!(
            "Each spacing had {} in place of {FULL}, each window {} requests of a kind in place \
             of {ROUNDS}.",
            common.length, common.rounds
        ));
    }
    Ok(findings)
}

impl Common {
    fn choose(setup: &Setup, settings: &Settings) -> Result<Self, MethodError> {
        let mirror = match settings.option("mirror", usize::MAX)? {
            usize::MAX => None,
            port if port < setup.ports.len() && port != FROM.0 && port != TO.0 => {
                Some(PortIndex(port))
            }
            port => return Err(MethodError::refusing("mirror", port)),
        };
        let path = Path {
            mirror,
            ..Path::between(FROM, TO)
        };
        let sizes = path.addresses.shortest_frame()..=LONGEST_FRAME_BYTES;
        let rounds = settings.usual(ROUNDS, QUICK_ROUNDS);
        Ok(Self {
            path,
            size: settings.within("size", FRAME_BYTES, sizes)?,
            length: settings.length(FULL, QUICK),
            // The first round only warms up.
            rounds: settings.within("rounds", rounds, 1..super::MOST_ROUNDS)?,
            turnaround: settings.option("turnaround", TURNAROUND)?,
            answers: settings.option("answers", Answers::Tester)?,
        })
    }
}

fn points(settings: &Settings, size: usize) -> Result<Vec<(Setting, LatencyPoint)>, MethodError> {
    let mut points = Vec::new();
    for interval in choices::<Duration>(settings, "interval", &INTERVALS)? {
        if interval < SHORTEST_INTERVAL {
            return Err(MethodError::refusing("interval", interval));
        }
        let setting = vec![
            choice("interval", interval),
            choice("size", format!("{size} bytes")),
        ];
        points.push((setting, LatencyPoint::Spacing(interval)));
    }
    let windows = choices::<usize>(settings, "window", &WINDOWS)?;
    for load in settings.list("load", vec![LoadLevel::None])? {
        for window in &windows {
            if *window > super::LARGEST_PAYLOAD {
                return Err(MethodError::refusing("window", window));
            }
            let setting = vec![
                choice("window", format!("{window} bytes")),
                choice("load", load),
            ];
            points.push((setting, LatencyPoint::Window(*window, load)));
        }
    }
    Ok(points)
}

/// Returns what is chosen of a list that may be left out by the word `none`.
fn choices<T: std::str::FromStr>(
    settings: &Settings,
    name: &str,
    usual: &[&str],
) -> Result<Vec<T>, MethodError> {
    if settings
        .options
        .get(name)
        .is_some_and(|text| text == "none")
    {
        return Ok(Vec::new());
    }
    let usual = usual.iter().filter_map(|text| text.parse().ok()).collect();
    settings.list(name, usual)
}

/// Sends a few frames each way.
fn warm_up(tester: &mut dyn Tester, common: &Common) -> Result<(), MethodError> {
    let pace = SendingPace::every(Duration::from_us(500));
    let frames = pace.frames_in(WARM_UP);
    let streams = [common.path, common.path.reversed()].map(|path| {
        Stream::new(
            path.from,
            Cadence::new(&path.addresses, common.size, pace).frames(frames),
        )
    });
    let trial = trial_of(streams.into_iter().collect(), WARM_UP, DRAIN);
    let mut passing = Passing::new(common.path, frames, Keep::Counts);
    tester.run(trial, &mut passing)?;
    Ok(())
}

fn spacing(
    tester: &mut dyn Tester,
    common: &Common,
    interval: Duration,
    setting: &Setting,
    found: &mut Findings,
) -> Result<(), MethodError> {
    let pace = SendingPace::every(interval);
    let frames = pace.frames_in(common.length);
    let sender = Cadence::new(&common.path.addresses, common.size, pace)
        .frames(frames)
        .patience(interval);
    let trial = trial_of(
        vec![Stream::new(common.path.from, sender)],
        common.length,
        DRAIN,
    );
    let mut passing = Passing::new(common.path, frames, Keep::Stamps);
    tester.run(trial, &mut passing)?;
    describe_spacing(tester.setup(), &passing, setting, found);
    Ok(())
}

const NONE_ARRIVED: &str =
    "no frame arrived: the device drops all of them, or does not know the way";
const TWO_CLOCKS: &str = "the ports have clocks of their own, so that the difference of their \
                          stamps says nothing: see the two-way latency";

fn describe_spacing(setup: &Setup, passing: &Passing, setting: &Setting, found: &mut Findings) {
    let bias = setup.bias.unwrap_or_default();
    let mut best = None;
    if passing.has_mirror() {
        let (times, backwards) = passing.times_since_mirror();
        let name = (
            "forwarding latency by a mirror",
            "S0-2, SDN4CI section IV-B",
        );
        // Both stamps are arrivals: what the tester adds is in both.
        let latency = distribution(&times, Duration::ZERO);
        found.add_times(name, setting, latency, NONE_ARRIVED);
        tell_backwards(found, backwards, "its mirrored copy");
        best = Some(times);
    }
    let name = ("one-way latency", "S0-2, RFC 7679 section 3");
    if setup.one_clock {
        let (times, backwards) = passing.times();
        found.add_times(name, setting, distribution(&times, bias), NONE_ARRIVED);
        tell_backwards(found, backwards, "its own sending");
        if passing.has_mirror() {
            let (of_mirror, _) = passing.times_of_mirror();
            let name = ("delay of the mirror", "S0-2, SDN4CI section IV-A");
            found.add_times(name, setting, distribution(&of_mirror, bias), NONE_ARRIVED);
        }
        best.get_or_insert(times);
    } else {
        found.add(name, setting, Value::Unknown(TWO_CLOCKS.to_owned()));
    }
    let times = best.unwrap_or_default();
    jitter::describe(&times, setting, found);
    found.add(
        ("latency over the run", "S0-2"),
        setting,
        Value::Series(jitter::series(&times, passing)),
    );
    super::loss::describe(&passing.passage(), setting, found);
}

fn tell_backwards(found: &mut Findings, backwards: u64, what: &str) {
    if backwards > 0 {
        found.remark(format!(
            "{backwards} frames arrived before {what} by their stamps and are left out: the \
             clock was stepped, or the ports have two clocks."
        ));
    }
}

fn requests(
    tester: &mut dyn Tester,
    common: &Common,
    (window, load): (usize, LoadLevel),
    setting: &Setting,
    found: &mut Findings,
) -> Result<(), MethodError> {
    let path = common.path;
    // One round more: the first one sets up flows, and does not count.
    let rounds = common.rounds + 1;
    let length = LOAD_FIRST + ROUND * rounds;
    let mut streams = load.streams(tester.setup(), length)?;
    let turns = match common.answers {
        Answers::Tester => vec![RequestKind::Echo, RequestKind::Datagram, RequestKind::Open],
        Answers::Host => vec![RequestKind::Echo],
    };
    for (turn, kind) in (0u64..).zip(&turns) {
        let start = LOAD_FIRST + Duration::from_ns(ROUND.as_ns() * turn / turns.len() as u64);
        let payload = match kind {
            RequestKind::Echo | RequestKind::Datagram => window,
            RequestKind::Open => 0,
        };
        let schedule = (start, SendingPace::every(ROUND));
        let sender = Requests::new((*kind, payload), &path.addresses, schedule, rounds);
        streams.push(Stream::new(path.from, sender));
    }
    if common.answers == Answers::Tester {
        streams.push(responder(&path.addresses, common.turnaround));
    }
    let trial = trial_of(streams, length, DRAIN + common.turnaround);
    let mut exchanges = Exchanges::new(path);
    tester.run(trial, &mut exchanges)?;
    describe_requests(tester.setup(), &exchanges, &turns, setting, found);
    count_unanswered(&exchanges, &turns, common.rounds, setting, found);
    Ok(())
}

fn responder(addresses: &Addresses, turnaround: Duration) -> Stream {
    Stream::new(TO, Responder::new(addresses, turnaround))
}

fn technique(kind: RequestKind) -> Technique {
    match kind {
        RequestKind::Echo => Technique::Ping,
        RequestKind::Datagram => Technique::Datagram,
        RequestKind::Open => Technique::Handshake,
    }
}

/// What a technique is called.
fn label(technique: Technique) -> &'static str {
    match technique {
        Technique::Ping => "ping",
        Technique::Datagram => "datagrams",
        Technique::Handshake => "SYN-ACK/ACK",
    }
}

fn describe_requests(
    setup: &Setup,
    exchanges: &Exchanges,
    turns: &[RequestKind],
    setting: &Setting,
    found: &mut Findings,
) {
    for technique in turns.iter().map(|kind| technique(*kind)) {
        let name = label(technique);
        let times = TechniqueTimes::of(exchanges, technique, setup);
        let mut add = |quantity: &str, source: &str, times: Distribution| {
            let otherwise = "no exchange was seen whole at the places that this needs";
            let quantity = format!("{quantity}, {name}");
            found.add_times((&quantity, source), setting, times, otherwise);
        };
        add("round trip", "S3-2, ASYNC Eq. (2)", times.round_trip);
        add(
            "time at the called side",
            "S3-1, ASYNC Eq. (1)",
            times.processing,
        );
        add("two-way latency", "S3-1, ASYNC Eq. (3)", times.two_way);
        add(
            "half of the two-way latency",
            "S3-1, ASYNC Eq. (4)",
            times.half,
        );
        if setup.one_clock {
            add("one-way latency there", "RFC 7679 section 3", times.there);
            add("one-way latency back", "RFC 7679 section 3", times.back);
        }
        tell_backwards(found, times.backwards, "its cause");
    }
    if turns.contains(&RequestKind::Open) {
        found.remark(
            "SYN-ACK/ACK is seen from the called side: its way there leads from the second port \
             to the first, and its round trip holds the turnaround of the caller.",
        );
    }
    if exchanges.incomplete() > 0 {
        found.remark(format!(
            "{} split packets were seen incomplete at one of the ports.",
            exchanges.incomplete()
        ));
    }
}

fn count_unanswered(
    exchanges: &Exchanges,
    turns: &[RequestKind],
    rounds: u64,
    setting: &Setting,
    found: &mut Findings,
) {
    for technique in turns.iter().map(|kind| technique(*kind)) {
        let complete = exchanges
            .of(technique)
            .filter(|(round, exchange)| *round > 0 && exchange.reply_received.is_some());
        let answered = u64::try_from(complete.count()).unwrap_or(u64::MAX);
        let quantity = format!("unanswered, {}", label(technique));
        let lost = Value::Count(rounds.saturating_sub(answered));
        found.add((&quantity, "S3-5"), setting, lost);
    }
}

/// What the exchanges of one technique took.
#[derive(Debug)]
struct TechniqueTimes {
    round_trip: Distribution,
    processing: Distribution,
    two_way: Distribution,
    half: Distribution,
    there: Distribution,
    back: Distribution,
    backwards: u64,
}

impl TechniqueTimes {
    fn of(exchanges: &Exchanges, technique: Technique, setup: &Setup) -> Self {
        let bias = setup.bias.unwrap_or_default();
        let mut times = Self {
            round_trip: Distribution::fine(),
            processing: Distribution::fine(),
            two_way: Distribution::fine(),
            half: Distribution::fine(),
            there: Distribution::fine(),
            back: Distribution::fine(),
            backwards: 0,
        };
        for (_, exchange) in exchanges.of(technique).filter(|(round, _)| *round > 0) {
            times.enter(exchange, bias, setup.one_clock);
        }
        times
    }

    /// Every arrival is stamped later by the bias: a round trip has one of them at its
    /// end, the called side one at its beginning, the way there and back two.
    fn enter(&mut self, exchange: &Exchange, bias: Duration, one_clock: bool) {
        let mut backwards = 0;
        let mut take = |time: Option<Result<Duration, Backwards>>| match time {
            Some(Ok(time)) => Some(time),
            Some(Err(Backwards)) => {
                backwards += 1;
                None
            }
            None => None,
        };
        if let Some(time) = take(exchange.round_trip()) {
            self.round_trip.record(time.saturating_sub(bias));
        }
        if let Some(time) = take(exchange.processing()) {
            self.processing.record(time + bias);
        }
        if let Some(time) = take(exchange.two_way()) {
            let time = time.saturating_sub(bias * 2u64);
            self.two_way.record(time);
            self.half.record(Duration::from_ns(time.as_ns() / 2));
        }
        if one_clock {
            if let Some(time) = take(exchange.there()) {
                self.there.record(time.saturating_sub(bias));
            }
            if let Some(time) = take(exchange.back()) {
                self.back.record(time.saturating_sub(bias));
            }
        }
        self.backwards += backwards;
    }
}

#[cfg(test)]
mod tests;
