//! What the first frame of a flow waits longer than those after it (S3-4).
//!
//! A device that asks its controller about every new flow holds the first frame until
//! the answer is there. Every flow here is between a sender that was never seen before
//! and the same receiver; its first request is followed, after a rest, by several
//! more:
//!
//! ```text
//! set-up = Δ3 of the first − median Δ3 of the later ones
//! ```
//!
//! with Δ3 of ASYNC Eq. (3), and the same with Δ1, as ping alone would tell it (ASYNC
//! section V-B has both). Δ3 holds the set-up of both directions, request and reply;
//! where both ports have one clock each direction is told by itself.

use std::net::Ipv4Addr;

use units::Duration;
use wire::ethernet::MacAddress;

use super::{
    Effort, Exchange, Exchanges, FROM, Findings, LARGEST_PAYLOAD, Method, MethodError, Path,
    Progress, RequestKind, Requests, Responder, SendingPace, Setting, Settings, TO, Technique,
    at_each, choice, doubt, need_two_ports, trial_of,
};
use crate::measurement::Value;
use crate::statistics::{Distribution, middle};
use crate::traffic::Addresses;
use crate::trial::{Stream, Tester};

/// `taktos measure flow-setup`.
pub const METHOD: Method = Method {
    name: "flow-setup",
    finds: "what the first frame of a flow waits longer than those after it (S3-4)",
    options: &[
        (
            "probe",
            "what asks: ping, datagrams or both [ping,datagrams]",
        ),
        ("flows", "how many new flows [50, quick 5]"),
        ("window", "bytes of a request [1400]"),
        ("rest", "how long the first request has alone [1s]"),
        ("turnaround", "what the called side waits [20us]"),
        ("first", "the number of the first new sender, from 0 [0]"),
    ],
    run,
};

const FLOWS: u32 = 50;
const QUICK_FLOWS: u32 = 5;
/// There are no more addresses for new senders.
const MOST_FLOWS: u32 = 60_000;
const WINDOW: usize = 1_400;
const REST: Duration = Duration::from_secs(1);
const TURNAROUND: Duration = Duration::from_us(20);
/// How many later requests a flow has, and how far apart.
const LATER: u64 = 9;
const APART: Duration = Duration::from_ms(5);
const DRAIN: Duration = Duration::from_ms(200);

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let plan = FlowSetupPlan::choose(settings)?;
    let probes = settings.list("probe", Probe::ALL.to_vec())?;
    let points: Vec<_> = (0..)
        .zip(probes)
        .map(|(place, probe)| {
            let setting = vec![
                choice("probe", probe.name()),
                choice("window", format!("{} bytes", plan.window)),
            ];
            // No two points share a sender.
            (setting, (probe, plan.first + place * plan.flows))
        })
        .collect();
    let mut findings = at_each(&points, progress, |setting, (probe, first), found| {
        let mut set_ups = SetUps::default();
        let (kind, technique) = probe.means();
        for flow in *first..*first + plan.flows {
            let exchanges = one_flow(tester, &plan, kind, flow)?;
            set_ups.enter(&exchanges, technique);
        }
        set_ups.describe(setting, tester.setup().one_clock, found);
        Ok(())
    })?;
    doubt(&mut findings, tester.setup());
    if settings.effort == Effort::Quick {
        findings.remark(format!("{} flows in place of {FLOWS}.", plan.flows));
    }
    Ok(findings)
}

named!(
    /// What is sent to set a flow up.
    Probe,
    Ping = "ping",
    Datagrams = "datagrams",
);

impl Probe {
    fn means(self) -> (RequestKind, Technique) {
        match self {
            Self::Ping => (RequestKind::Echo, Technique::Ping),
            Self::Datagrams => (RequestKind::Datagram, Technique::Datagram),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct FlowSetupPlan {
    flows: u32,
    first: u32,
    window: usize,
    rest: Duration,
    turnaround: Duration,
}

impl FlowSetupPlan {
    fn choose(settings: &Settings) -> Result<Self, MethodError> {
        let usual = settings.usual(FLOWS, QUICK_FLOWS);
        let flows = settings.within("flows", usual, 1..=MOST_FLOWS / 2)?;
        Ok(Self {
            flows,
            first: settings.within("first", 0, ..=MOST_FLOWS - 2 * flows)?,
            window: settings.within("window", WINDOW, ..=LARGEST_PAYLOAD)?,
            rest: settings.option("rest", REST)?,
            turnaround: settings.option("turnaround", TURNAROUND)?,
        })
    }
}

/// Returns the addresses of a sender that was never seen before, in the second half of
/// the network that RFC 2544 appendix C.2.2 sets apart.
fn addresses(flow: u32) -> Addresses {
    let [_, _, high, low] = (flow + 1).to_be_bytes();
    Addresses {
        source_mac: MacAddress([0x02, 0, 0, 0x26, high, low]),
        source: Ipv4Addr::new(198, 19, high, low),
        ..Path::between(FROM, TO).addresses
    }
}

fn one_flow(
    tester: &mut dyn Tester,
    plan: &FlowSetupPlan,
    kind: RequestKind,
    flow: u32,
) -> Result<Exchanges, MethodError> {
    let path = Path {
        addresses: addresses(flow),
        ..Path::between(FROM, TO)
    };
    let schedule = (Duration::ZERO, SendingPace::every(APART));
    let requests =
        Requests::new((kind, plan.window), &path.addresses, schedule, 1 + LATER).resting(plan.rest);
    let trial = trial_of(
        vec![
            Stream::new(path.from, requests),
            Stream::new(path.to, Responder::new(&path.addresses, plan.turnaround)),
        ],
        plan.rest + APART * (1 + LATER),
        DRAIN,
    );
    let mut exchanges = Exchanges::new(path);
    tester.run(trial, &mut exchanges)?;
    Ok(exchanges)
}

/// What flows waited for their entries.
#[derive(Debug)]
struct SetUps {
    two_way: Distribution,
    round_trip: Distribution,
    there: Distribution,
    back: Distribution,
    first: Distribution,
    later: Distribution,
    flows: u64,
    /// Flows whose first request or too many of the later ones had no reply.
    unanswered: u64,
    /// Flows whose first request was no slower than the later ones.
    no_slower: u64,
}

impl Default for SetUps {
    fn default() -> Self {
        let [two_way, round_trip, there, back, first, later] =
            std::array::from_fn(|_| Distribution::fine());
        Self {
            two_way,
            round_trip,
            there,
            back,
            first,
            later,
            flows: 0,
            unanswered: 0,
            no_slower: 0,
        }
    }
}

impl SetUps {
    fn enter(&mut self, exchanges: &Exchanges, technique: Technique) {
        self.flows += 1;
        let two_way = first_and_later(exchanges, technique, Exchange::two_way);
        let Some((first, mut later)) = two_way else {
            self.unanswered += 1;
            return;
        };
        self.first.record(first);
        for time in &later {
            self.later.record(*time);
        }
        let usual = middle(&mut later, Ord::cmp).unwrap_or_default();
        self.no_slower += u64::from(first <= usual);
        self.two_way.record(first.saturating_sub(usual));
        for (time, distribution) in [
            (Exchange::round_trip as ExchangeTime, &mut self.round_trip),
            (Exchange::there, &mut self.there),
            (Exchange::back, &mut self.back),
        ] {
            if let Some((first, mut later)) = first_and_later(exchanges, technique, time) {
                distribution
                    .record(first.saturating_sub(middle(&mut later, Ord::cmp).unwrap_or_default()));
            }
        }
    }

    fn describe(self, setting: &Setting, one_clock: bool, found: &mut Findings) {
        let why = "no flow had an answer to its first request and to most of the later ones";
        for (name, times) in [
            (
                ("flow set-up, both directions", "S3-4, ASYNC Eq. (3)"),
                self.two_way,
            ),
            (
                ("flow set-up by ping alone", "S3-4, ASYNC Eq. (2)"),
                self.round_trip,
            ),
            (
                ("two-way latency of the first", "S3-4, ASYNC Eq. (3)"),
                self.first,
            ),
            (
                ("two-way latency of the later ones", "S3-4, ASYNC Eq. (3)"),
                self.later,
            ),
        ] {
            found.add_times(name, setting, times, why);
        }
        if one_clock {
            let source = "S3-4, RFC 7679 section 3";
            found.add_times(("flow set-up there", source), setting, self.there, why);
            found.add_times(("flow set-up back", source), setting, self.back, why);
        }
        for (quantity, count) in [
            ("flows", self.flows),
            ("flows without an answer", self.unanswered),
        ] {
            found.add((quantity, "S3-4"), setting, Value::Count(count));
        }
        if self.no_slower > 0 {
            found.remark(format!(
                "In {} of {} flows the first request was no slower than the later ones, which \
                 counts as no set-up at all.",
                self.no_slower, self.flows
            ));
        }
    }
}

/// A time of an exchange.
type ExchangeTime = fn(&Exchange) -> Option<Result<Duration, super::Backwards>>;

/// Returns a time of the first exchange and of the later ones, if the first and more
/// than half of the later ones have it.
fn first_and_later(
    exchanges: &Exchanges,
    technique: Technique,
    time: ExchangeTime,
) -> Option<(Duration, Vec<Duration>)> {
    let mut first = None;
    let mut later = Vec::new();
    for (round, exchange) in exchanges.of(technique) {
        let Some(Ok(time)) = time(exchange) else {
            continue;
        };
        match round {
            0 => first = Some(time),
            _ => later.push(time),
        }
    }
    let most = usize::try_from(LATER).unwrap_or(usize::MAX);
    (later.len() > most / 2).then_some((first?, later))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, number, settings, times};

    /// The figures of ASYNC section V-B: 280 ms by the technique; the called side adds
    /// to ping what it takes for the first request. Here both directions are set up.
    #[test]
    fn a_device_that_sets_up_each_direction_is_found_out() {
        let mut there = Lane::of(Duration::from_us(50));
        let mut back = Lane::of(Duration::from_us(70));
        (there.set_up, back.set_up) = (Duration::from_ms(180), Duration::from_ms(100));
        let mut device = KnownDevice::new(there, back);

        let found = run(&mut device, &settings(&[]), &mut Silent).unwrap();

        for (quantity, ms) in [
            ("flow set-up, both directions", 280),
            ("flow set-up by ping alone", 280),
            ("flow set-up there", 180),
            ("flow set-up back", 100),
        ] {
            for probe in ["ping", "datagrams"] {
                let [least, _, most] = times(&found, quantity, probe);
                assert_eq!(
                    (least, most),
                    (Duration::from_ms(ms), Duration::from_ms(ms))
                );
            }
        }
        assert_eq!(number(&found, "flows", "ping"), 5);
        assert_eq!(device.trials, 10);
    }

    #[test]
    fn clocks_that_differ_hide_the_directions_and_nothing_else() {
        let mut there = Lane::of(Duration::from_us(50));
        there.set_up = Duration::from_ms(3);
        let mut device = KnownDevice::new(there, Lane::of(Duration::from_us(50)));
        device.clocks[1] = Duration::from_secs(77);
        device.setup_mut().one_clock = false;

        let found = run(&mut device, &settings(&[("probe", "ping")]), &mut Silent).unwrap();

        let [least, _, most] = times(&found, "flow set-up, both directions", "");
        assert_eq!((least, most), (Duration::from_ms(3), Duration::from_ms(3)));
        let told = |figure: &crate::measurement::Figure| figure.quantity.ends_with("there");
        assert!(!found.figures.iter().any(told));
    }

    #[test]
    fn every_flow_has_a_sender_of_its_own() {
        let all: std::collections::BTreeSet<_> = (0..MOST_FLOWS)
            .map(|flow| (addresses(flow).source_mac, addresses(flow).source))
            .collect();

        assert_eq!(all.len(), 60_000);
    }
}
