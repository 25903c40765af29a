//! Reads how an emulated device behaves.

use std::collections::BTreeMap;

use units::{DataSize, Delay};

use super::profiles::{count, with_origin};
use crate::format::profile::{LATENCY, OCCUPANCY, SPREAD, STATED_PPM};
use crate::limits::MOST_SETTINGS;
use crate::mistake::Mistake;
use crate::problem::{Problems, TextSpan};
use crate::record::{LayeredTable, records};
use crate::shape::TableShape;
use crate::{Emulation, Latency, Occupancy, Quantiles, Stated};

pub(super) fn read(record: &LayeredTable<'_>, problems: &mut Problems) -> Emulation {
    let loss = record.record("loss_ppm", &STATED_PPM);
    Emulation {
        link_rate: record.rate("link_rate"),
        latency: latencies(record, problems),
        occupancy: occupancies(record, problems),
        loss_ppm: record
            .has("loss_ppm")
            .then(|| with_origin(&loss, loss.integer("value").map_or(0, u64::from))),
        flow_setup: spread_at(record, "flow_setup", problems),
        link_down: spread_at(record, "link_down", problems),
        table_entries: record
            .has("table_entries")
            .then(|| count(record, "table_entries")),
    }
}

fn latencies(record: &LayeredTable<'_>, problems: &mut Problems) -> Vec<Latency> {
    let mut settings = SeenSettings::default();
    let rows = rows(record, "latency", &LATENCY, problems);
    let read = rows.iter().filter_map(|row| {
        let (frame, interval) = (row.size("frame"), row.time("interval"));
        let name = match (frame, interval) {
            (Some(frame), Some(interval)) => format!("{frame} every {interval}"),
            (Some(frame), None) => frame.to_string(),
            (None, Some(interval)) => format!("every {interval}"),
            (None, None) => "any frame".to_owned(),
        };
        settings.enter(name, &row.place, problems);
        Some(Latency {
            frame,
            interval,
            spread: spread(row, problems)?,
        })
    });
    read.collect()
}

fn occupancies(record: &LayeredTable<'_>, problems: &mut Problems) -> Vec<Occupancy> {
    let mut settings = SeenSettings::default();
    let rows = rows(record, "occupancy", &OCCUPANCY, problems);
    let read = rows.iter().map(|row| {
        let frame = row.size("frame");
        let name = frame.map_or_else(|| "any frame".to_owned(), |frame| frame.to_string());
        settings.enter(name, &row.place, problems);
        Occupancy {
            frame,
            per_frame: with_origin(row, row.delay("value").unwrap_or_default()),
        }
    });
    let mut read: Vec<_> = read.collect();
    read.sort_by_key(|row| row.frame.unwrap_or(DataSize::ZERO));
    read
}

/// Returns the tables of the list at a key.
fn rows<'a>(
    record: &LayeredTable<'a>,
    key: &str,
    table: &'static TableShape,
    problems: &mut Problems,
) -> Vec<LayeredTable<'a>> {
    let list = record.item(key).and_then(|item| item.get_ref().as_array());
    let Some(list) = list else { return Vec::new() };
    if list.len() > MOST_SETTINGS {
        problems.report(
            record.place_of(key),
            Mistake::TooMany {
                what: "settings",
                count: list.len(),
                limit: MOST_SETTINGS,
            },
        );
        return Vec::new();
    }
    records(list, table).collect()
}

fn spread_at(
    record: &LayeredTable<'_>,
    key: &str,
    problems: &mut Problems,
) -> Option<Stated<Quantiles>> {
    let at = record.has(key).then(|| record.record(key, &SPREAD))?;
    spread(&at, problems)
}

/// Returns the quantiles of a table; reports that there are none, or that they
/// descend.
fn spread(record: &LayeredTable<'_>, problems: &mut Problems) -> Option<Stated<Quantiles>> {
    let mut known: Vec<(u32, Delay)> = Vec::new();
    let mut before: Option<(&str, Delay)> = None;
    for (key, per_million) in Quantiles::KEYS {
        let Some(value) = record.delay(key) else {
            continue;
        };
        if let Some((lower, least)) = before.filter(|(_, least)| *least > value) {
            let sentence = format!("`{key}` of {value} is below `{lower}` of {least}");
            let help = "quantiles ascend: min, p1, p25, p50, p75, p99, p999, max".to_owned();
            problems.report(
                record.place_of(key),
                Mistake::Contradiction { sentence, help },
            );
            return None;
        }
        before = Some((key, value));
        known.push((per_million, value));
    }
    let some_given = Quantiles::KEYS.iter().any(|(key, _)| record.has(key));
    if !some_given {
        let sentence = "no quantile is given".to_owned();
        let help = "at least one of min, p1, p25, p50, p75, p99, p999, max; where only a mean is \
                    known, give it as `p50` and say so in `note`"
            .to_owned();
        problems.report(
            record.place.clone(),
            Mistake::Contradiction { sentence, help },
        );
    }
    Quantiles::new(known).map(|quantiles| with_origin(record, quantiles))
}

/// The settings that a list has so far.
#[derive(Default)]
struct SeenSettings(BTreeMap<String, TextSpan>);

impl SeenSettings {
    /// Enters a setting; reports that it is there already.
    fn enter(&mut self, name: String, place: &TextSpan, problems: &mut Problems) {
        if let Some(first) = self.0.get(&name) {
            let (what, first) = ("the setting", first.clone());
            problems.report(place.clone(), Mistake::Twice { what, name, first });
            return;
        }
        self.0.insert(name, place.clone());
    }
}

#[cfg(test)]
mod tests {
    use units::{BitRate, Duration};

    use super::*;
    use crate::{MILLION, Origin, Profile};

    const BOUNDS: &str = include_str!("../../../../profiles/line-rate.toml");
    const EMULATION: &str = r#"
        [emulation]
        link_rate = "1 Gbit/s"
        loss_ppm = { value = 20, origin = "measured" }
        flow_setup = { p50 = "3 ms", max = "5 ms", origin = "paper", note = "a table" }
        link_down = { p50 = "346 ms", origin = "paper" }
        table_entries = { value = 128, origin = "paper" }

        [[emulation.latency]]
        frame = "60 B"
        interval = "125 us"
        p50 = "5 us"
        p99 = "9 us"
        origin = "measured"

        [[emulation.occupancy]]
        frame = "1514 B"
        value = "4 us"
        origin = "measured"

        [[emulation.occupancy]]
        frame = "60 B"
        value = "2 us"
        origin = "measured"
    "#;

    #[test]
    fn an_emulation_is_read_with_its_origins() {
        let emulation = parse(EMULATION).unwrap();

        assert_eq!(emulation.link_rate, Some(BitRate::from_mbps(1_000)));
        assert_eq!(emulation.loss_ppm.unwrap().value, 20);
        let setup = emulation.flow_setup.unwrap();
        assert_eq!(
            (setup.origin, setup.note.as_str()),
            (Origin::Paper, "a table")
        );
        assert_eq!(setup.value.at(MILLION), Delay::from_us(5_000));
        assert_eq!(emulation.table_entries.unwrap().value, 128);
        let latency = &emulation.latency[0];
        assert_eq!(latency.interval, Some(Duration::from_us(125)));
        assert_eq!(latency.spread.value.at(500_000), Delay::from_us(5));
        let sizes: Vec<_> = emulation.occupancy.iter().map(|row| row.frame).collect();
        assert_eq!(
            sizes,
            [60, 1514].map(|bytes| Some(DataSize::from_bytes(bytes)))
        );
    }

    #[test]
    fn mistakes_of_an_emulation_are_pointed_at() {
        for (right, wrong, code, says) in [
            (
                "p99 = \"9 us\"",
                "p99 = \"4 us\"",
                "contradiction",
                "below `p50` of 5 us",
            ),
            (
                "p99 = \"9 us\"",
                "p98 = \"9 us\"",
                "unknown_key",
                "unknown key `p98`",
            ),
            ("p50 = \"346 ms\", ", "", "contradiction", "no quantile"),
            ("value = 20", "value = 1000001", "out_of_range", "1000000"),
            ("\"125 us\"", "\"0 us\"", "zero", "time"),
            ("\"1514 B\"", "\"60 B\"", "twice", "the setting `60 B`"),
            (
                "value = \"4 us\"",
                "value = \"4\"",
                "not_a_quantity",
                "unit",
            ),
            (
                "origin = \"paper\", note",
                "note",
                "missing_key",
                "`origin`",
            ),
        ] {
            assert!(EMULATION.contains(right), "{right}");
            let error = parse(&EMULATION.replacen(right, wrong, 1)).unwrap_err();

            let problem = &error.problems()[0];
            assert_eq!(problem.mistake.code(), code, "{problem}");
            assert!(problem.to_string().contains(says), "{problem}");
        }
    }

    #[test]
    fn more_settings_than_are_allowed_are_refused() {
        let row = "[[emulation.occupancy]]\nvalue = \"1 us\"\norigin = \"stated\"\n";

        let error = parse(&row.repeat(MOST_SETTINGS + 1)).unwrap_err();

        assert_eq!(error.problems()[0].mistake.code(), "too_many");
    }

    fn parse(emulation: &str) -> Result<Emulation, crate::ScenarioError> {
        let profile = Profile::parse("device.toml", &format!("{BOUNDS}\n{emulation}"))?;
        Ok(profile.emulation.unwrap())
    }
}
