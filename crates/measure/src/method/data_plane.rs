//! How long a device works on frames over every combination of LOKO Table 1 (S4-2),
//! how fast it is by that (S4-3) and how much it holds (S4-4).
//!
//! The plan has 1,728 tables; each is filled once and frames of all sizes cross it.
//! It is cut down by naming values of its dimensions.
//!
//! | module | knows |
//! |---|---|
//! | [`passages`] | frames that cross by one table, LOKO Eq. (4) |
//! | [`capacity`] | throughput, LOKO Eqs. (5) to (7), and buffer |

pub mod capacity;
pub mod passages;

use std::collections::BTreeMap;

use units::{BitRate, Duration};

use super::control_plane::version_of;
use super::table_setting::{
    ENTRIES, MOST_ENTRIES, MatchType, Priorities, Rewrite, SIZES, TableSetting, Used,
};
use super::{
    Effort, Findings, Method, MethodError, Progress, Setting, Settings, choice, point_name,
};
use crate::measurement::{Figure, Value};
use crate::statistics::Distribution;
use crate::trial::Tester;
use passages::{Pace, Passages, Passed};

/// `taktos measure data-plane`.
pub const METHOD: Method = Method {
    name: "data-plane",
    finds: "how long the device works on a frame, by table, action and size (S4-2, S4-3)",
    options: &[
        (
            "entries",
            "entries of the table [1,17,33,49,65,81,97,113,128]",
        ),
        (
            "match",
            "port, tp-dst, dl-dst, masked-nw-dst, five-tuple, all [all of them]",
        ),
        (
            "action",
            "output, set-vlan-id, set-vlan-pcp, strip-vlan, set-dl-src, set-nw-src, set-nw-tos, set-tp-src [all of them]",
        ),
        ("used", "which entry takes the frames: first, last [both]"),
        ("priorities", "increasing, decreasing [both]"),
        (
            "size",
            "bytes of a frame with its check sequence [64,306,548,790,1032,1274,1516]",
        ),
        ("packets", "frames of each size with each table [100]"),
        (
            "spacing",
            "time between two frames [500us without a cable's rate, 5ms with one]",
        ),
        (
            "inner-link",
            "rate of the link inside the device, for LOKO Eq. (6) [none]",
        ),
    ],
    run,
};

const QUICK_ENTRIES: [u16; 2] = [1, 17];
const QUICK_SIZES: [u16; 2] = [64, 1_516];
/// LOKO section 3.3.2.
const FRAMES: u16 = 100;
const QUICK_FRAMES: u16 = 20;
const MOST_FRAMES: u16 = 10_000;
const SHORTEST_SPACING: Duration = Duration::from_us(10);
const LONGEST_SPACING: Duration = Duration::from_secs(1);
/// The most settings of which each has a figure of its own.
const MOST_DETAILS: usize = 200;
/// The most remarks about single tables.
const MOST_REMARKS: usize = 8;
const SOURCE: &str = "S4-2, LOKO Eq. (4)";

struct ForwardingPlan {
    tables: Vec<TableSetting>,
    sizes: Vec<u16>,
    pace: Pace,
    link: Option<BitRate>,
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    version_of(tester)?;
    if tester.setup().ports.len() < 2 || !tester.setup().one_clock {
        return Err(MethodError::Unsuitable(
            "the data plane needs two ports whose stamps come from one clock".to_owned(),
        ));
    }
    let ForwardingPlan {
        tables,
        sizes,
        mut pace,
        link,
    } = plan_of(tester, settings)?;
    let mut together = Together::new(tables.len() * sizes.len());
    for (number, table) in (0..).zip(&tables) {
        let name = point_name(&table.named());
        let found = match progress.recall(&name) {
            Some(found) => found,
            None => {
                progress.step(number, tables.len() as u64, &name);
                let passages = passages::measure(tester, table, &sizes, &mut pace)?;
                let found = describe(table, passages, link);
                progress.keep(&name, &found)?;
                found
            }
        };
        together.add(found);
    }
    let mut findings = together.findings();
    findings.remarks.push(format!(
        "{} tables, {} sizes, {} frames of each, one every {}.",
        tables.len(),
        sizes.len(),
        pace.frames,
        pace.spacing
    ));
    Ok(findings)
}

fn plan_of(tester: &dyn Tester, settings: &Settings) -> Result<ForwardingPlan, MethodError> {
    let (entries, sizes, frames) = match settings.effort {
        Effort::Full => (ENTRIES.to_vec(), SIZES.to_vec(), FRAMES),
        Effort::Quick => (QUICK_ENTRIES.to_vec(), QUICK_SIZES.to_vec(), QUICK_FRAMES),
    };
    let entries = settings.list_within("entries", entries, 1..=MOST_ENTRIES)?;
    let fields = settings.list("match", MatchType::ALL.to_vec())?;
    let rewrites = settings.list("action", Rewrite::ALL.to_vec())?;
    let used = settings.list("used", Used::ALL.to_vec())?;
    let priorities = settings.list("priorities", Priorities::ALL.to_vec())?;
    let sizes = settings.list_within("size", sizes, 64..=1_518)?;
    let frames = settings.within("packets", frames, 1..=MOST_FRAMES)?;
    let mut pace = Pace::of(tester, frames);
    let spacings = SHORTEST_SPACING..=LONGEST_SPACING;
    pace.spacing = settings.within("spacing", pace.spacing, spacings)?;
    let link: Option<BitRate> = match settings.options.contains_key("inner-link") {
        true => Some(settings.option("inner-link", BitRate::from_mbps(100))?),
        false => None,
    };
    let mut tables = TableSetting::all(&entries);
    tables.retain(|it| {
        fields.contains(&it.fields)
            && rewrites.contains(&it.rewrite)
            && used.contains(&it.used)
            && priorities.contains(&it.priorities)
    });
    Ok(ForwardingPlan {
        tables,
        sizes,
        pace,
        link,
    })
}

/// Says what was seen with one table.
fn describe(table: &TableSetting, passages: Passages, link: Option<BitRate>) -> Findings {
    let mut found = Findings::default();
    if let Some((kind, code)) = passages.refused {
        found.remarks.push(format!(
            "{}: the device refuses entries with error type {kind}, code {code}.",
            point_name(&table.named())
        ));
    }
    for (size, passed) in passages.by_size {
        let mut setting = table.named();
        setting.push(choice("size", size));
        found.figures.extend(figures(&setting, size, passed, link));
    }
    found
}

fn figures(setting: &Setting, size: u16, passed: Passed, link: Option<BitRate>) -> Vec<Figure> {
    let figure = |quantity: &str, source: &str, value| Figure {
        quantity: quantity.to_owned(),
        source: source.to_owned(),
        setting: setting.clone(),
        value,
    };
    let longest = passed.longest();
    let Passed {
        sent,
        lost,
        disturbed,
        ..
    } = passed;
    let value = match longest {
        Some(_) => Value::Times(passed.times),
        None if disturbed > 0 => Value::Unknown(format!(
            "the machine stood still while each of the frames crossed that came out, {disturbed} of \
             {sent}: measure again when it has less to do"
        )),
        None => Value::Unknown(format!("of {sent} frames none came out")),
    };
    let bytes = u64::from(size);
    let simple = longest.and_then(|time| capacity::computed(bytes, time));
    let piped = longest.zip(link);
    let piped = piped.and_then(|(time, link)| capacity::computed_behind_link(bytes, time, link));
    let mut figures = vec![figure(PROCESSING_TIME, SOURCE, value)];
    figures.extend(simple.map(|rate| {
        let source = "S4-3, LOKO Eq. (5)";
        figure("computed throughput", source, Value::Rate(rate))
    }));
    figures.extend(piped.map(|rate| {
        let source = "S4-3, LOKO Eqs. (6) and (7)";
        figure("computed throughput", source, Value::Rate(rate))
    }));
    figures.push(figure(SENT, "S4-2", Value::Count(sent)));
    figures.push(figure(LOST, "S4-2", Value::Count(lost)));
    figures.push(figure(DISTURBED, "S4-2", Value::Count(disturbed)));
    figures
}

const PROCESSING_TIME: &str = "processing time";
const SENT: &str = "frames sent";
const LOST: &str = "frames lost";
const DISTURBED: &str = "frames left out, as the machine stood still";

/// What was found so far, by each value of each dimension with everything else
/// together.
struct Together {
    detailed: bool,
    details: Vec<Figure>,
    times: BTreeMap<(usize, DimensionValue), (String, Distribution)>,
    sent: u64,
    lost: u64,
    disturbed: u64,
    remarks: Vec<String>,
    more_remarks: u64,
}

/// A value of a dimension: numbers by size, words by the alphabet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DimensionValue {
    Number(u16),
    Word(String),
}

impl Together {
    fn new(settings: usize) -> Self {
        Self {
            detailed: settings <= MOST_DETAILS,
            details: Vec::new(),
            times: BTreeMap::new(),
            sent: 0,
            lost: 0,
            disturbed: 0,
            remarks: Vec::new(),
            more_remarks: 0,
        }
    }

    fn add(&mut self, found: Findings) {
        for figure in &found.figures {
            match (figure.quantity.as_str(), &figure.value) {
                (PROCESSING_TIME, Value::Times(times)) => self.add_times(&figure.setting, times),
                (SENT, Value::Count(sent)) => self.sent += sent,
                (LOST, Value::Count(lost)) => self.lost += lost,
                (DISTURBED, Value::Count(disturbed)) => self.disturbed += disturbed,
                _ => {}
            }
        }
        if self.detailed {
            self.details.extend(found.figures);
        }
        for remark in found.remarks {
            match self.remarks.len() < MOST_REMARKS {
                true => self.remarks.push(remark),
                false => self.more_remarks += 1,
            }
        }
    }

    fn add_times(&mut self, setting: &Setting, times: &Distribution) {
        for (place, (dimension, value)) in setting.iter().enumerate() {
            let key = value.parse().map_or_else(
                |_| DimensionValue::Word(value.clone()),
                DimensionValue::Number,
            );
            let entry = self.times.entry((place, key));
            let (_, together) =
                entry.or_insert_with(|| (dimension.clone(), Distribution::default()));
            together.merge(times);
        }
    }

    fn findings(self) -> Findings {
        let times = self.times.into_iter();
        let times = times.map(|((_, key), (dimension, times))| Figure {
            quantity: "processing time, everything else together".to_owned(),
            source: "S4-2, LOKO Fig. 9".to_owned(),
            setting: vec![match key {
                DimensionValue::Number(number) => choice(&dimension, number),
                DimensionValue::Word(word) => choice(&dimension, word),
            }],
            value: Value::Times(times),
        });
        let count = |quantity: &str, count| Figure {
            quantity: quantity.to_owned(),
            source: "S4-2".to_owned(),
            setting: Vec::new(),
            value: Value::Count(count),
        };
        let mut figures: Vec<_> = times.collect();
        figures.extend([
            count(SENT, self.sent),
            count(LOST, self.lost),
            count(DISTURBED, self.disturbed),
        ]);
        figures.extend(self.details);
        let mut remarks = self.remarks;
        if self.more_remarks > 0 {
            remarks.push(format!(
                "And {} remarks of the same kind.",
                self.more_remarks
            ));
        }
        if !self.detailed {
            remarks.push(format!(
                "More than {MOST_DETAILS} settings: each has a figure of its own only if the plan is \
                 cut down, as with match=five-tuple."
            ));
        }
        Findings { figures, remarks }
    }
}

impl Passed {
    /// Returns the longest time, if any frame came out.
    #[must_use]
    pub fn longest(&self) -> Option<Duration> {
        Distribution::max(&self.times)
    }
}
