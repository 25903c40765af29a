//! One-way latency from the first port to the second, by the stamps of both (S0-2).
//!
//! A stream of short frames at an exact spacing crosses the device; the latency of a
//! frame is the difference of its two stamps, which one clock gave. What the tester
//! itself adds, its bias, is taken off. The spacings are those of SDN4CI Fig. 3: a
//! device that sleeps between frames shows itself at the long ones.
//!
//! # Differs from the paper
//!
//! SDN4CI section IV-B stamps a copy from a mirror at the first port. Here the
//! tester's own port stamps what it sends, which is the same moment without the
//! mirror's delay.

use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;

use super::{Effort, Findings, Method, MethodError, Progress, Settings};
use crate::Contract;
use crate::identity::{FlowKey, identify};
use crate::measurement::{Figure, Value};
use crate::statistics::Distribution;
use crate::traffic::Source;
use crate::traffic::datagram::Addresses;
use crate::traffic::udp::{Config, Pattern, Udp};
use crate::trial::{
    PortIndex, Setup, Sighting, Sourced, Station, Stream, Tester, Trial, Watcher, Way,
};

/// `taktos measure latency`.
pub const METHOD: Method = Method {
    name: "latency",
    finds: "how long a frame takes from the first port to the second (S0-2)",
    options: &[
        ("interval", "times between two frames, as in 125us,1ms"),
        ("size", "bytes of a frame, without check sequence [60]"),
    ],
    run,
};

/// The spacings of SDN4CI Fig. 3.
const INTERVALS: [Duration; 5] = [
    Duration::from_us(125),
    Duration::from_us(250),
    Duration::from_us(500),
    Duration::from_ms(1),
    Duration::from_ms(2),
];
/// At least one minute in steady state each.
const FULL: Duration = Duration::from_secs(60);
const QUICK: Duration = Duration::from_secs(2);
/// The longest single trial.
const PART: Duration = Duration::from_secs(10);
/// The shortest spacing that is taken.
const SHORTEST_INTERVAL: Duration = Duration::from_us(1);
/// How long the last frames have.
const DRAIN: Duration = Duration::from_ms(100);
/// What goes first and does not count: caches are warm then, and bridges have
/// learned who is where.
const WARM_UP: Duration = Duration::from_ms(50);
const FRAME_BYTES: usize = 60;
const LONGEST_FRAME_BYTES: usize = 1514;
/// Where frames are sent from, and where they arrive.
const FROM: PortIndex = PortIndex(0);
const TO: PortIndex = PortIndex(1);
/// The UDP port that is set apart for measuring devices, RFC 2544 appendix C.2.6.4.
const ECHO: u16 = 7;
/// Faster than any spacing asks for: the spacing alone decides.
const UNLIMITED: BitRate = BitRate::from_mbps(1_000_000);

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    check(tester.setup())?;
    let bias = tester.setup().bias.unwrap_or_default();
    let intervals = settings.list("interval", INTERVALS.to_vec())?;
    let size = settings.option("size", FRAME_BYTES)?;
    let least = addresses(FROM, TO).shortest_frame();
    if !(least..=LONGEST_FRAME_BYTES).contains(&size) {
        return Err(MethodError::Option("size".to_owned(), size.to_string()));
    }
    if let Some(interval) = intervals.iter().find(|it| **it < SHORTEST_INTERVAL) {
        let text = interval.to_string();
        return Err(MethodError::Option("interval".to_owned(), text));
    }
    let mut findings = Findings::default();
    let length = settings.length(FULL, QUICK);
    let parts = length.as_ns().div_ceil(PART.as_ns()).max(1);
    let steps = parts * intervals.len() as u64;
    warm_up(tester, size)?;
    for (number, interval) in (0..).zip(intervals) {
        let mut seen = Latencies::default();
        for part in 0..parts {
            progress.step(number * parts + part, steps, &format!("every {interval}"));
            let part = PART.min(length);
            seen.add(one_trial(tester, interval, size, part)?, bias);
        }
        seen.describe(interval, size, &mut findings);
    }
    if bias > Duration::ZERO {
        findings.remarks.push(format!(
            "{bias} were taken off each latency: what the tester and its cables add, as calibrated."
        ));
    }
    if settings.effort == Effort::Quick {
        let remark = format!("Each spacing had {length} in place of {FULL}.");
        findings.remarks.push(remark);
    }
    Ok(findings)
}

/// Tells what is lacking.
fn check(setup: &Setup) -> Result<(), MethodError> {
    if setup.ports.len() < 2 {
        return Err(MethodError::Unsuitable(
            "latency needs two ports: one that sends and one that receives".to_owned(),
        ));
    }
    if !setup.one_clock {
        return Err(MethodError::Unsuitable(
            "the two ports have clocks of their own, so that the difference of their stamps says \
             nothing: measure a round trip, which needs no common clock"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Sends a few frames each way.
fn warm_up(tester: &mut dyn Tester, size: usize) -> Result<(), MethodError> {
    let interval = Duration::from_us(500);
    let streams =
        [(FROM, TO), (TO, FROM)].map(|(from, to)| stream(from, to, (interval, WARM_UP), size));
    let trial = Trial {
        streams: streams.into_iter().collect(),
        length: WARM_UP,
        drain: DRAIN,
        ..Trial::default()
    };
    tester.run(trial, &mut Pairs::default())?;
    Ok(())
}

fn one_trial(
    tester: &mut dyn Tester,
    interval: Duration,
    size: usize,
    length: Duration,
) -> Result<Pairs, MethodError> {
    let trial = Trial {
        streams: vec![stream(FROM, TO, (interval, length), size)],
        length,
        drain: DRAIN,
        ..Trial::default()
    };
    let mut pairs = Pairs::default();
    tester.run(trial, &mut pairs)?;
    Ok(pairs)
}

/// Returns a stream of frames with this spacing, for that long.
fn stream(from: PortIndex, to: PortIndex, pace: (Duration, Duration), size: usize) -> Stream {
    let (period, length) = pace;
    let source = Udp::new(&Config {
        addresses: addresses(from, to),
        frame_length: size,
        contract: Contract {
            rate: UNLIMITED,
            burst: wire_size(size),
        },
        pattern: Pattern::Bursts { period, frames: 1 },
        start: Instant::ZERO,
        until: Some(Instant::ZERO + length),
    });
    Stream {
        from,
        sender: Box::new(Sourced(Source::Udp(source))),
    }
}

/// Returns the addresses of a datagram from one port to another.
#[must_use]
pub fn addresses(from: PortIndex, to: PortIndex) -> Addresses {
    let (from, to) = (Station::at(from), Station::at(to));
    Addresses {
        source_mac: from.mac,
        destination_mac: to.mac,
        vlan: None,
        source: from.address,
        destination: to.address,
        source_port: ECHO,
        destination_port: ECHO,
        dscp: 0,
    }
}

/// Pairs what was sent with what arrived.
#[derive(Debug, Default)]
struct Pairs {
    frames: Vec<Pair>,
    duplicates: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Pair {
    sent: Option<Instant>,
    received: Option<Instant>,
}

impl Watcher for Pairs {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let Some(number) = number(sighting.bytes) else {
            return;
        };
        if self.frames.len() <= number {
            self.frames.resize(number + 1, Pair::default());
        }
        let pair = &mut self.frames[number];
        match (sighting.port, sighting.way) {
            (FROM, Way::Sent) => pair.sent = Some(sighting.at),
            (TO, Way::Received) if pair.received.is_none() => pair.received = Some(sighting.at),
            (TO, Way::Received) => self.duplicates += 1,
            (_, Way::Sent | Way::Received) => {}
        }
    }
}

/// Returns the number of a frame of the stream. No trial has more frames than one
/// every [`SHORTEST_INTERVAL`].
fn number(frame: &[u8]) -> Option<usize> {
    let most = PART.as_ns() / SHORTEST_INTERVAL.as_ns();
    let known = identify(frame)?;
    let expected = addresses(FROM, TO);
    let ours = FlowKey::Datagram {
        source: expected.source,
        destination: expected.destination,
        port: expected.destination_port,
    };
    let number = usize::try_from(known.number).ok()?;
    (known.key == ours && known.number <= most).then_some(number)
}

/// What trials of one spacing showed.
#[derive(Debug, Default)]
struct Latencies {
    latency: Distribution,
    jitter: Distribution,
    sent: u64,
    lost: u64,
    duplicates: u64,
}

impl Latencies {
    fn add(&mut self, pairs: Pairs, bias: Duration) {
        self.duplicates += pairs.duplicates;
        let mut before: Option<Duration> = None;
        for pair in pairs.frames {
            let Some(sent) = pair.sent else { continue };
            self.sent += 1;
            let Some(received) = pair.received else {
                self.lost += 1;
                continue;
            };
            let latency = received.saturating_since(sent).saturating_sub(bias);
            self.latency.record(latency);
            if let Some(before) = before.replace(latency) {
                let difference = before.max(latency).saturating_sub(before.min(latency));
                self.jitter.record(difference);
            }
        }
    }

    fn describe(self, interval: Duration, size: usize, findings: &mut Findings) {
        if self.latency.count() == 0 {
            findings.remarks.push(format!(
                "Every {interval}: of {} frames none arrived. The device drops all of them, or \
                 does not know the way.",
                self.sent
            ));
        }
        let figures = [
            ("one-way latency", Value::Times(self.latency)),
            (
                "difference of successive latencies",
                Value::Times(self.jitter),
            ),
            ("sent", Value::Count(self.sent)),
            ("lost", Value::Count(self.lost)),
            ("duplicates", Value::Count(self.duplicates)),
        ];
        let setting = [
            ("interval".to_owned(), interval.to_string()),
            ("size".to_owned(), format!("{size} bytes")),
        ];
        findings
            .figures
            .extend(figures.map(|(quantity, value)| Figure {
                quantity: quantity.to_owned(),
                source: "S0-2, SDN4CI Fig. 3".to_owned(),
                setting: setting.to_vec(),
                value,
            }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::stalls::Stalls;
    use crate::trial::{Conduct, Stamps, TrialError};

    #[test]
    fn a_device_of_known_delay_is_found_to_have_it_and_its_losses_are_counted() {
        let mut tester = Relay::new(Duration::from_us(50), 10);

        let findings = run(&mut tester, &settings(&[("interval", "1ms")]), &mut Silent).unwrap();

        let Value::Times(latency) = &findings.figures[0].value else {
            panic!("{findings:?}");
        };
        let summary = latency.summary().unwrap();
        assert_eq!(summary.min, Duration::from_us(50));
        assert_eq!(summary.max, Duration::from_us(50));
        assert!(matches!(findings.figures[2].value, Value::Count(1_000)));
        assert!(matches!(findings.figures[3].value, Value::Count(100)));
    }

    #[test]
    fn ports_with_two_clocks_are_refused() {
        let mut tester = Relay::new(Duration::from_us(50), 10);
        tester.setup.one_clock = false;

        let refused = run(&mut tester, &settings(&[]), &mut Silent).unwrap_err();

        assert!(matches!(refused, MethodError::Unsuitable(_)));
    }

    #[test]
    fn an_option_that_makes_no_sense_is_named() {
        let mut tester = Relay::new(Duration::from_us(50), 10);

        let refused = run(&mut tester, &settings(&[("interval", "soon")]), &mut Silent);

        let expected = MethodError::Option("interval".to_owned(), "soon".to_owned());
        assert_eq!(refused.unwrap_err(), expected);
    }

    fn settings(options: &[(&str, &str)]) -> Settings {
        let options = options.iter();
        Settings {
            effort: Effort::Quick,
            seed: 1,
            duration: Some(Duration::from_secs(1)),
            options: options
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    /// A device of fixed delay that loses one frame in so many, in virtual time.
    struct Relay {
        setup: Setup,
        delay: Duration,
        loses_each: u64,
    }

    impl Relay {
        fn new(delay: Duration, loses_each: u64) -> Self {
            let setup = Setup {
                device: "relay".to_owned(),
                ports: vec!["a".to_owned(), "b".to_owned()],
                rate: None,
                one_clock: true,
                stamps: Stamps::Virtual,
                bias: None,
                agent: false,
            };
            Self {
                setup,
                delay,
                loses_each,
            }
        }
    }

    impl Tester for Relay {
        fn setup(&self) -> &Setup {
            &self.setup
        }

        fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
            let mut frame = Vec::new();
            let mut sent = 0;
            for mut stream in trial.streams {
                while let Some(due) = stream.sender.next_due() {
                    stream.sender.emit(due, &mut frame).unwrap();
                    sent += 1;
                    let at = Instant::ZERO + due;
                    let mut sighting = Sighting {
                        port: stream.from,
                        way: Way::Sent,
                        at,
                        length: frame.len(),
                        bytes: &frame,
                    };
                    watcher.see(&sighting);
                    sighting.port = PortIndex(1 - stream.from.0);
                    sighting.way = Way::Received;
                    sighting.at = at + self.delay;
                    if sent % self.loses_each != 0 {
                        watcher.see(&sighting);
                    }
                }
            }
            Ok(Conduct {
                lateness: Distribution::default(),
                sent,
                skipped: 0,
                unseen: 0,
                stalls: Stalls::new(Duration::from_us(100)),
                clock_steps: Vec::new(),
            })
        }
    }
}
