//! `fig6`, `fig7`, `fig9`, `fig10`, `fig12` and `buffer`: an emulated Zodiac FX,
//! measured from outside by the methods that measure any device (S4-1 to S4-4, S4-10).
//!
//! The paper prints few of these figures; the others it shows in plots.

use calculus::loko::SwitchModel;
use calculus::loko::processing_time::{self, LokoAction, MatchFields, Setting, UsedEntry};
use measure::method::control_plane::messages::{MessageTest, simple, with_table};
use measure::method::control_plane::{barrier_time, measure_point};
use measure::method::data_plane::capacity::{
    computed_behind_link, fill, held_at_first_loss, line_rate, search,
};
use measure::method::data_plane::passages::{self, Pace};
use measure::method::orders::Version;
use measure::method::table_setting::{
    ENTRIES, MatchType, Priorities, Rewrite, SIZES, TableSetting, Used,
};
use measure::reproduction::{Picture, Row};
use sim::tester::{SmallSwitch, VirtualTester};
use units::{BitRate, DataSize, Duration};

use super::super::amounts::{mbps, real};
use super::super::curves::{self, Drawing};
use super::super::side_by_side::side_by_side;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness};

const CABLE: BitRate = BitRate::from_mbps(100);
/// Samples of a message and frames of a size: an emulated device takes the same time
/// each time.
const SAMPLES: u16 = 3;
const RATE_FRAMES: u64 = 4_000;
/// Finer than LOKO section 3.4.2: its 650 kbit/s are more than the slowest rate here.
const PRECISION: BitRate = BitRate::from_bps(10_000);
const QUICK_STEP: usize = 24;
const EMULATED: &str = "The device is an emulation of the firmware that the paper describes, with the numbers of \
     its text and, where it prints none, numbers of ours; it is not the device.";

/// LOKO Fig. 6b: every message but FlowMod.
pub fn fig6(_: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let mut points = simple(Version::V10);
    points.extend(with_table(Version::V10, 1, 1).pop());
    points.extend(with_table(Version::V10, 128, 4).pop());
    of_messages(&points, progress)
}

/// LOKO Fig. 7: FlowMod over entries and actions.
pub fn fig7(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let entries: &[u16] = match settings.effort {
        Thoroughness::Full => &[1, 16, 32, 64, 96, 128],
        Thoroughness::Quick => &[1, 128],
    };
    let mut points = Vec::new();
    for actions in [0, 1, 2, 3, 4] {
        points.extend(with_table(Version::V10, 64, actions).into_iter().take(1));
    }
    for entries in entries {
        let mut all = with_table(Version::V10, *entries, 1);
        all.pop();
        points.extend(all);
    }
    of_messages(&points, progress)
}

fn of_messages(points: &[MessageTest], progress: &mut Progress) -> ExperimentOutcome {
    let rows = side_by_side(points, progress, message_row);
    ExperimentOutcome {
        rows,
        remarks: vec![
            EMULATED.to_owned(),
            "A strict order names one entry; a table of the paper may have several that are the same."
                .to_owned(),
        ],
        ..ExperimentOutcome::default()
    }
}

fn message_row(point: &MessageTest) -> Row {
    let mut tester = zodiac_fx();
    let values: Vec<_> = point.setting.iter().collect();
    let values = values
        .iter()
        .map(|(name, value)| format!(", {name} {value}"));
    let row = Row::new(
        format!("{}{}", point.name, values.collect::<String>()),
        "us",
    );
    let Ok(barrier) = barrier_time(&mut tester, SAMPLES) else {
        return row.note("no barrier is answered");
    };
    let Ok(times) = measure_point(&mut tester, point, SAMPLES, barrier) else {
        return row.note("no trial could be made");
    };
    let row = match point.name.as_str() {
        "BarrierRequest" => row.printed("92"),
        _ => row,
    };
    match times.times.max() {
        Some(longest) => named(row, longest, point),
        None if times.refused.is_empty() => row.note("not measured: LOKO Eq. (3) does not hold"),
        None => row.note("the firmware that is emulated refuses it"),
    }
}

/// The longest deletion is printed in milliseconds.
fn named(row: Row, longest: Duration, point: &MessageTest) -> Row {
    let is_longest = point.name == "FlowMod Delete"
        && point
            .setting
            .iter()
            .any(|(name, value)| name == "entries" && value == "128")
        && point
            .setting
            .iter()
            .any(|(name, value)| name == "matching" && value == "all");
    match is_longest {
        true => Row::new(row.quantity, "ms")
            .printed("2.3")
            .ours(real(longest.as_ns()) / 1e6),
        false => row.ours(real(longest.as_ns()) / 1e3),
    }
}

/// LOKO Fig. 9: every combination of LOKO Table 1.
pub fn fig9(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let step = match settings.effort {
        Thoroughness::Full => 1,
        Thoroughness::Quick => QUICK_STEP,
    };
    let all = TableSetting::all(&ENTRIES);
    let tables: Vec<_> = all.into_iter().step_by(step).collect();
    let times = side_by_side(&tables, progress, |table| times_of(table, &SIZES));
    let measured: Vec<_> = tables.iter().zip(times).collect();
    let spread = |what: String, of: &dyn Fn(&TableSetting, u16) -> bool| {
        let these = measured.iter().flat_map(|(table, times)| {
            let times = times.iter().filter(|(size, _)| of(table, *size));
            times.map(|(_, time)| *time)
        });
        let (least, most) = (these.clone().min(), these.max());
        let row = |which: &str, time: Option<Duration>| Row {
            taktos: time.map(|time| real(time.as_ns()) / 1e6),
            ..Row::new(format!("{what}: {which}"), "ms")
        };
        [row("least", least), row("most", most)]
    };
    let [least, most] = spread("all of Table 1".to_owned(), &|_, _| true);
    let plot =
        "printed with one digit, read from the plot; the emulation has the formula of section 6";
    let mut rows = vec![least.printed("0.05"), most.printed("2.1").note(plot)];
    for entries in ENTRIES {
        let what = format!("{entries} entries");
        rows.extend(spread(what, &|table, _| table.count == entries));
    }
    for bytes in SIZES {
        let what = format!("{bytes} bytes");
        rows.extend(spread(what, &|_, size| size == bytes));
    }
    rows.retain(|row| row.taktos.is_some());
    let pictures = [
        drawn(&rows, "entries", &ENTRIES, "entries of the table"),
        drawn(&rows, "bytes", &SIZES, "frame with its check sequence, B"),
    ];
    ExperimentOutcome {
        rows,
        pictures: pictures.into_iter().flatten().collect(),
        remarks: vec![EMULATED.to_owned()],
        ..ExperimentOutcome::default()
    }
}

/// Draws the least and the most over a dimension.
fn drawn(rows: &[Row], dimension: &str, values: &[u16], x_label: &str) -> Option<Picture> {
    let drawing = Drawing {
        name: &format!("fig9-{dimension}"),
        title: "How long it works on a frame, over all of LOKO Table 1",
        x_label,
        y_label: "processing time, ms",
    };
    let x: Vec<_> = values.iter().map(|value| f64::from(*value)).collect();
    let row = |which: &str, place: usize| format!("{} {dimension}: {which}", values[place]);
    curves::of_rows(drawing, &x, &["least", "most"], rows, row)
}

/// LOKO Fig. 10: one dimension at a time.
pub fn fig10(_: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let cases = fig10_cases();
    let rows = side_by_side(&cases, progress, |(what, table, size, printed, unit)| {
        let times = times_of(table, &[*size]);
        let row = Row::new(what.clone(), *unit);
        let row = match printed {
            Some(printed) => row.printed(printed),
            None => row,
        };
        let scale = if *unit == "ms" { 1e6 } else { 1e3 };
        match times.first() {
            Some((_, time)) => row.ours(real(time.as_ns()) / scale),
            None => row.note("no frame came out"),
        }
    });
    ExperimentOutcome {
        rows,
        remarks: vec![EMULATED.to_owned()],
        ..ExperimentOutcome::default()
    }
}

/// What is measured, the table, the size, what is printed, and the unit.
type BenchmarkCase = (
    String,
    TableSetting,
    u16,
    Option<&'static str>,
    &'static str,
);

fn fig10_cases() -> Vec<BenchmarkCase> {
    let mut cases = Vec::new();
    for used in Used::ALL {
        for priorities in Priorities::ALL {
            let table = TableSetting {
                used: *used,
                priorities: *priorities,
                ..TableSetting::five_tuples(17)
            };
            let what = format!(
                "Fig. 10a: {} used, {} priorities",
                used.name(),
                priorities.name()
            );
            cases.push((what, table, 790, None, "us"));
        }
    }
    for fields in MatchType::ALL {
        let table = TableSetting {
            fields: *fields,
            ..TableSetting::five_tuples(128)
        };
        let printed = match fields {
            MatchType::Port => Some("0.88"),
            MatchType::All => Some("1.65"),
            MatchType::TpDst | MatchType::DlDst | MatchType::MaskedNwDst | MatchType::FiveTuple => {
                None
            }
        };
        cases.push((
            format!("Fig. 10b: {}", fields.name()),
            table,
            64,
            printed,
            "ms",
        ));
    }
    for rewrite in Rewrite::ALL {
        let table = TableSetting {
            fields: MatchType::Port,
            rewrite: *rewrite,
            priorities: Priorities::Decreasing,
            ..TableSetting::five_tuples(1)
        };
        let printed = match rewrite.name() {
            "output" => Some("322"),
            "set-nw-src" => Some("380"),
            _ => None,
        };
        cases.push((
            format!("Fig. 10c: {}", rewrite.name()),
            table,
            1_516,
            printed,
            "us",
        ));
    }
    cases
}

/// LOKO Fig. 12b: throughput by search and by LOKO Eq. (6).
pub fn fig12(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let cases = fig12_cases(settings.effort);
    let found = side_by_side(&cases, progress, |(table, size)| throughputs(table, *size));
    let mut rows = Vec::new();
    let mut greatest: f64 = 0.0;
    for ((table, size), found) in cases.iter().zip(found) {
        let what = format!(
            "{} entries, {}, {} used, {size} bytes",
            table.count,
            table.fields.name(),
            table.used.name()
        );
        let Some((searched, computed)) = found else {
            rows.push(Row::new(what, "Mbit/s").note("nothing could be searched"));
            continue;
        };
        let (searched, computed) = (mbps(searched), mbps(computed));
        greatest = greatest.max((searched - computed).abs() / computed * 100.0);
        let note = format!("searched; {computed:.4} by Eqs. (6) and (7)");
        rows.push(Row::new(what, "Mbit/s").ours(searched).note(note));
    }
    let gap = Row::new("greatest difference of the two", "%").ours(greatest);
    rows.insert(0, gap.note("the paper: below 6"));
    let broken = (greatest >= 6.0).then(|| format!("search and formula differ by {greatest:.1} %"));
    ExperimentOutcome {
        rows,
        remarks: vec![EMULATED.to_owned()],
        broken: broken.into_iter().collect(),
        ..ExperimentOutcome::default()
    }
}

fn fig12_cases(effort: Thoroughness) -> Vec<(TableSetting, u16)> {
    let step = match effort {
        Thoroughness::Full => 1,
        Thoroughness::Quick => QUICK_STEP,
    };
    let mut cases = Vec::new();
    for count in ENTRIES {
        for fields in [MatchType::FiveTuple, MatchType::Port] {
            for (used, priorities) in [
                (Used::Last, Priorities::Increasing),
                (Used::First, Priorities::Decreasing),
            ] {
                let table = TableSetting {
                    fields,
                    used,
                    priorities,
                    ..TableSetting::five_tuples(count)
                };
                cases.extend(SIZES.map(|size| (table, size)));
            }
        }
    }
    cases.into_iter().step_by(step).collect()
}

/// Returns the throughput that is searched, and the one that is computed.
pub(super) fn throughputs(table: &TableSetting, size: u16) -> Option<(BitRate, BitRate)> {
    let (_, time) = times_of(table, &[size]).pop()?;
    let computed = computed_behind_link(u64::from(size), time, CABLE)?;
    let mut tester = zodiac_fx();
    fill(&mut tester, table).ok()?;
    let highest = line_rate(size, CABLE);
    let searched = search(&mut tester, size, highest, PRECISION, RATE_FRAMES);
    Some((searched.ok()??, computed))
}

/// LOKO section 3.5.
pub fn buffer(_: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let rows = side_by_side(&SIZES, progress, |size| {
        let row = Row::new(format!("{size} bytes"), "frames");
        let row = match size {
            64 => row.printed("25"),
            306 => row.printed("9"),
            1_516 => row.printed("3"),
            _ => row,
        };
        match held(*size) {
            Some(held) => row.ours(real(held)).note(by_model(*size)),
            None => row.note("no burst lost a frame"),
        }
    });
    ExperimentOutcome {
        rows,
        remarks: vec![EMULATED.to_owned()],
        ..ExperimentOutcome::default()
    }
}

/// Returns how many frames of a size it holds when it first loses one.
pub(super) fn held(size: u16) -> Option<u64> {
    let mut tester = zodiac_fx();
    fill(&mut tester, &TableSetting::five_tuples(128)).ok()?;
    held_at_first_loss(&mut tester, size, CABLE).ok()?
}

fn by_model(size: u16) -> String {
    let frame = DataSize::from_bytes(u64::from(size));
    let setting = Setting::worst_five_tuple(128, frame);
    let model = SwitchModel::zodiac_fx(frame, setting.processing_time());
    format!("1 + floor(24 / ceil(l/128)) is {}", model.buffer_frames)
}

/// Returns the longest time of each size that came out.
pub(super) fn times_of(table: &TableSetting, sizes: &[u16]) -> Vec<(u16, Duration)> {
    let mut tester = zodiac_fx();
    let mut pace = Pace::of(&tester, 1);
    let Ok(passages) = passages::measure(&mut tester, table, sizes, &mut pace) else {
        return Vec::new();
    };
    let by_size = passages.by_size.into_iter();
    by_size
        .filter_map(|(size, passed)| Some((size, passed.longest()?)))
        .collect()
}

/// Returns how long it works on a message, or nothing if that cannot be told.
pub(super) fn message_time(point: &MessageTest) -> Option<Duration> {
    let mut tester = zodiac_fx();
    let barrier = barrier_time(&mut tester, SAMPLES).ok()?;
    let times = measure_point(&mut tester, point, SAMPLES, barrier).ok()?;
    times.times.max()
}

/// Returns the table of a setting whose times are computed.
///
/// # Panics
///
/// If it is not one of LOKO Table 1.
pub(super) fn table_of(setting: &Setting) -> TableSetting {
    let mut fields = MatchFields::OF_TABLE_1.iter();
    let fields = fields.find_map(|(name, fields)| (*fields == setting.fields).then_some(*name));
    let mut actions = LokoAction::OF_TABLE_1.iter();
    let action = actions.find_map(|(name, action)| (*action == setting.action).then_some(*name));
    let (fields, action) = fields.zip(action).expect("it is one of LOKO Table 1");
    TableSetting {
        count: u16::try_from(setting.entries).expect("at most 128"),
        fields: fields.parse().expect("both have the names of the table"),
        rewrite: action.parse().expect("both have the names of the table"),
        used: match setting.used {
            UsedEntry::First => Used::First,
            UsedEntry::Last => Used::Last,
        },
        priorities: match setting.priorities {
            processing_time::Priorities::Increasing => Priorities::Increasing,
            processing_time::Priorities::Decreasing => Priorities::Decreasing,
        },
    }
}

fn zodiac_fx() -> VirtualTester {
    VirtualTester::new(SmallSwitch::zodiac_fx(), wire::openflow10::VERSION)
}

#[cfg(test)]
mod tests;
