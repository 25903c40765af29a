//! How punctual the tester itself is: streams of Sampled Values, as many as merging
//! units of a substation send, and by how much each frame leaves too late.
//!
//! No latency is better than the tester that measured it. Its lateness stands in the
//! conditions of every measurement; this method asks for nothing else.

use units::{Duration, Instant};
use wire::ethernet::MacAddress;

use super::{
    FROM, Findings, Method, MethodError, Progress, Setting, Settings, TO, at_each, choice,
};
use crate::measurement::Value;
use crate::statistics::Distribution;
use crate::traffic::Source;
use crate::traffic::sampled_values::{SampledValues, SampledValuesConfig};
use crate::trial::{
    Conduct, PlayedStation, PortIndex, Sighting, Sourced, Stream, Tester, Trial, TrialError,
    Watcher, Way,
};

/// `taktos measure generator`.
pub const METHOD: Method = Method {
    name: "generator",
    finds: "how late the tester itself is with many streams of samples (S0-5)",
    options: &[
        ("streams", "how many streams [20]"),
        ("rate", "samples a second of each stream [4000]"),
    ],
    run,
};

const STREAMS: u16 = 20;
/// Each has an APPID of its own, from 0x4000 on.
const MOST_STREAMS: u16 = 200;
const RATE: u32 = 4_000;
const MOST_RATE: u32 = 50_000;
const FULL: Duration = Duration::from_secs(30);
const QUICK: Duration = Duration::from_secs(3);
const DRAIN: Duration = Duration::from_ms(100);
const FIRST_APPLICATION: u16 = 0x4000;
const SOURCE: &str = "S0-5, coordinated omission";

#[derive(Debug, Default)]
struct Count {
    received: u64,
}

impl Count {
    fn count(&mut self, port: PortIndex, way: Way) {
        self.received += u64::from((port, way) == (TO, Way::Received));
    }
}

impl Watcher for Count {
    fn see(&mut self, sighting: &Sighting<'_>) {
        self.count(sighting.port, sighting.way);
    }

    fn see_unstamped(&mut self, port: PortIndex, way: Way, _bytes: &[u8]) {
        self.count(port, way);
    }
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let streams = settings.within("streams", STREAMS, 1..=MOST_STREAMS)?;
    let rate = settings.within("rate", RATE, 1..=MOST_RATE)?;
    let length = settings.length(FULL, QUICK);
    let setting: Setting = vec![choice("streams", streams), choice("rate", rate)];
    at_each(&[(setting, ())], progress, |setting, (), found| {
        let (conduct, received) = send(tester, (streams, rate), length)?;
        describe(&conduct, received, setting, found);
        Ok(())
    })
}

fn send(
    tester: &mut dyn Tester,
    (streams, rate): (u16, u32),
    length: Duration,
) -> Result<(Conduct, u64), TrialError> {
    let trial = Trial {
        streams: (0..streams).map(|it| stream(it, rate, length)).collect(),
        length,
        drain: DRAIN,
        ..Trial::default()
    };
    let mut count = Count::default();
    let conduct = tester.run(trial, &mut count)?;
    Ok((conduct, count.received))
}

fn stream(number: u16, rate: u32, length: Duration) -> Stream {
    let [_, low] = number.to_be_bytes();
    let source = SampledValues::new(&SampledValuesConfig {
        source: PlayedStation::at(FROM).mac,
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, low]),
        vlan: None,
        application: FIRST_APPLICATION + number,
        sv_id: format!("MU{number:04}"),
        rate,
        contract: None,
        start: Instant::ZERO,
        until: Some(Instant::ZERO + length),
    });
    Stream::new(FROM, Sourced(Source::SampledValues(source)))
}

fn describe(conduct: &Conduct, received: u64, setting: &Setting, found: &mut Findings) {
    let mut stalls = Distribution::default();
    for stall in conduct.stalls.kept() {
        stalls.record(stall.length);
    }
    let all = conduct.lateness.count();
    let apart = all.saturating_sub(conduct.calm_lateness.count());
    for (quantity, late) in [
        ("lateness", &conduct.lateness),
        ("lateness apart from stalls", &conduct.calm_lateness),
    ] {
        let otherwise = "no frame was seen to leave";
        found.add_times((quantity, SOURCE), setting, late.clone(), otherwise);
    }
    found.add_times(
        ("length of a stall", SOURCE),
        setting,
        stalls,
        "the machine never stood still",
    );
    for (quantity, count) in [
        ("sent", conduct.sent),
        ("left out", conduct.skipped),
        ("late by a stall of the machine, or its shadow", apart),
        ("received", received),
        ("unseen", conduct.unseen),
    ] {
        found.add((quantity, SOURCE), setting, Value::Count(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, number, settings, times};

    #[test]
    fn a_tester_of_known_lateness_is_found_to_have_it() {
        let late = Duration::from_us(30);
        let mut tester = KnownDevice::new(Lane::of(Duration::ZERO), Lane::of(Duration::ZERO));
        tester.late = late;
        let mut wish = settings(&[("streams", "3"), ("rate", "1000")]);
        wish.duration = Some(Duration::from_ms(500));

        let found = run(&mut tester, &wish, &mut Silent).unwrap();

        let [least, _, most] = times(&found, "lateness", "");
        assert_eq!([least, most], [late; 2]);
        assert_eq!(number(&found, "sent", ""), 3 * 500);
        assert_eq!(number(&found, "received", ""), 3 * 500);
    }
}
