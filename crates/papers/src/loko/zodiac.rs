//! `zodiac`: an emulated Zodiac FX on the bench, measured from outside as LOKO
//! section 3 measures the device (S4-10).
//!
//! Nothing looks inside: frames and messages go in, times come out, and what was
//! put into the emulation has to come back.

use std::collections::BTreeMap;

use super::benchmark::{table_of, times_of};
use crate::loko::emulated::recovery::recover;
use calculus::loko::processing_time::{LokoAction, MatchFields, Priorities, Setting, UsedEntry};
use calculus::loko::{Fraction, SwitchModel};
use measure::document::picture::{BoxChart, BoxColumn, BoxSummary, for_plot};
use measure::method::table_setting::SIZES;
use measure::reproduction::{Picture, Printed, Row};
use units::{DataSize, Duration};

use super::super::amounts::{kb_of_1024, mbps, ms, real};
use super::super::side_by_side::side_by_side;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness};
use super::FRAME;

/// One table in so many is measured where it has to be quick.
const QUICK_STEP: usize = 12;

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let step = match settings.effort {
        Thoroughness::Full => 1,
        Thoroughness::Quick => QUICK_STEP,
    };
    let tables: Vec<_> = tables().into_iter().step_by(step).collect();
    let measured = side_by_side(&tables, progress, measure_table);
    let measured: Vec<Measured> = measured.into_iter().flatten().collect();
    let mut rows: Vec<Row> = printed().collect();
    rows.extend(allocation());
    rows.push(recovered(&measured));
    ExperimentOutcome {
        rows,
        pictures: pictures(&measured),
        remarks: vec![
            "The device is an emulation of the firmware that the paper describes, with the numbers of its text \
             and, where it prints none, numbers of ours; it is not the device."
                .to_owned(),
        ],
        ..ExperimentOutcome::default()
    }
}

/// A processing time with the setting in which it was measured.
struct Measured {
    setting: Setting,
    time: Option<Duration>,
}

impl Measured {
    fn in_ms(&self) -> Option<f64> {
        self.time.map(|time| time.as_secs_f64() * 1e3)
    }
}

/// Returns every combination of LOKO Table 1 but the sizes, which need no table of
/// their own.
fn tables() -> Vec<Setting> {
    let mut tables = Vec::new();
    for entries in Setting::ENTRIES {
        for (_, fields) in MatchFields::OF_TABLE_1 {
            for (_, action) in LokoAction::OF_TABLE_1 {
                for used in [UsedEntry::First, UsedEntry::Last] {
                    for priorities in [Priorities::Increasing, Priorities::Decreasing] {
                        tables.push(Setting {
                            fields,
                            action,
                            used,
                            priorities,
                            ..Setting::worst_five_tuple(entries, FRAME)
                        });
                    }
                }
            }
        }
    }
    tables
}

/// Measures frames of every size of LOKO Table 1 with one table.
fn measure_table(table: &Setting) -> Vec<Measured> {
    let times: BTreeMap<_, _> = times_of(&table_of(table), &SIZES).into_iter().collect();
    let measured = SIZES.map(|bytes| Measured {
        setting: Setting {
            frame: DataSize::from_bytes(bytes.into()),
            ..*table
        },
        time: times.get(&bytes).copied(),
    });
    measured.into()
}

/// Returns how many of the processing times are those that were put in.
fn recovered(measured: &[Measured]) -> Row {
    let as_put_in = |one: &&Measured| one.time == Some(one.setting.processing_time().round_up());
    let count = measured.iter().filter(as_put_in).count();
    let count = real(u64::try_from(count).unwrap_or(0));
    Row::new(
        "processing times that are those put in, to the nanosecond",
        "settings",
    )
    .ours(count)
    .note(format!(
        "of {} settings of Table 1 that were measured",
        measured.len()
    ))
}

/// Returns what the bench finds out of what the paper prints.
fn printed() -> impl Iterator<Item = Row> {
    recover().into_iter().map(|one| {
        let note = match one.unit {
            "Mbit/s" => format!(
                "searched; {:.4} by formula, and the paper finds them within 6 %",
                one.put_in
            ),
            _ => String::new(),
        };
        let printed = Some(one.printed).filter(|printed| !printed.is_empty());
        Row {
            paper: printed.map(Printed::new),
            taktos: one.measured,
            ..Row::new(one.quantity, one.unit).note(note)
        }
    })
}

/// Returns what is set aside of the switch by what was measured of it, beside
/// LOKO Table 2.
fn allocation() -> Vec<Row> {
    let setting = Setting::worst_five_tuple(17, FRAME);
    let bytes = u16::try_from(FRAME.bytes_up()).expect("a frame is short");
    let time = times_of(&table_of(&setting), &[bytes]).pop();
    let time = time.map(|(_, time)| time);
    let model = time.map(|time| SwitchModel::zodiac_fx(FRAME, time.into()));
    let full_rate = model.and_then(|model| model.allocate(Fraction::FULL_RATE));
    let row = |what: &str, unit, printed| {
        Row::new(
            format!("from what was measured: full-rate max {what}"),
            unit,
        )
        .printed(printed)
    };
    let Some(full_rate) = full_rate else {
        return vec![row("delay", "ms", "1.86").note("nothing could be measured")];
    };
    vec![
        row("rate", "Mbit/s", "11.8").ours(mbps(full_rate.rate)),
        row("burst", "kB", "2.02").ours(kb_of_1024(full_rate.burst)),
        row("delay", "ms", "1.86").ours(ms(full_rate.delay)),
    ]
}

/// Returns the plots of LOKO Figs. 9 and 10b.
fn pictures(measured: &[Measured]) -> Vec<Picture> {
    let by_entries = measured.iter().map(|one| (one.setting.entries, one));
    let by_size = measured
        .iter()
        .map(|one| (one.setting.frame.bytes_up(), one));
    let number = |value: &u64| value.to_string();
    [
        boxes("fig9-entries", "entries", by_entries, number),
        boxes("fig9-size", "frame, B", by_size, number),
        boxes(
            "fig10b-match",
            "match, 128 entries, 64 B",
            by_match(measured),
            |at| MatchFields::OF_TABLE_1[*at].0.to_owned(),
        ),
    ]
    .map(Picture::Boxes)
    .into()
}

/// Returns the settings of LOKO Fig. 10b by the place of their match type.
fn by_match(measured: &[Measured]) -> impl Iterator<Item = (usize, &Measured)> {
    measured.iter().filter_map(|one| {
        let worst = Setting {
            fields: one.setting.fields,
            ..Setting::worst_five_tuple(128, DataSize::from_bytes(64))
        };
        let mut types = MatchFields::OF_TABLE_1.iter();
        let place = types.position(|(_, fields)| *fields == one.setting.fields)?;
        (one.setting == worst).then_some((place, one))
    })
}

/// Returns the distribution of processing times for each of what they are sorted
/// by.
fn boxes<'a, Key: Ord>(
    name: &str,
    x_label: &str,
    measured: impl Iterator<Item = (Key, &'a Measured)>,
    label: impl Fn(&Key) -> String,
) -> BoxChart {
    let mut sorted: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for (key, one) in measured {
        sorted
            .entry(key)
            .or_default()
            .extend(one.in_ms().map(for_plot));
    }
    let columns = sorted.iter_mut().map(|(key, samples)| BoxColumn {
        label: label(key),
        summary: BoxSummary::of(samples),
        lost_percent: None,
    });
    BoxChart {
        name: name.to_owned(),
        title: "Processing time of an emulated Zodiac FX".to_owned(),
        x_label: x_label.to_owned(),
        y_label: "processing time, ms".to_owned(),
        columns: columns.collect(),
        references: Vec::new(),
    }
}
