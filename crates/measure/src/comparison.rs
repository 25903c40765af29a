//! Two devices beside each other, from measurements and not from opinion (S0-7, S3-6).
//!
//! Measurements of the same method are rounds. A figure that both devices have at the
//! same setting makes a row, with its effect: how many times larger the second
//! device's value is, and between which bounds that lies with 95 % confidence. Of
//! lengths of time the median and the 99th percentile are compared, never means.
//!
//! Frames of one round are not independent of each other: a machine has slow seconds.
//! So with several rounds the rounds are the sample. With one round each there is
//! nothing but its values to go by, and the bounds say so.
//!
//! | module | knows |
//! |---|---|
//! | [`effect`] | how large a difference is, and how sure that is |
//! | [`headline`] | what it comes to, in a few sentences |
//! | [`side`] | under which conditions each was measured |
//! | `document`, `picture`, [`json`] | how it is shown |
//!
//! # Differs from the paper
//!
//! SDN4CI Table I has plus and minus signs. Here a device is called better only if the
//! bounds exclude that both are alike, and only by more than the stamps can tell.

mod document;
pub mod effect;
pub mod headline;
pub mod json;
mod picture;
pub mod side;
#[cfg(test)]
mod tests;

use serde::Serialize;
use units::Duration;

use crate::document::quantity::{self, spelled};
use crate::measurement::{Figure, Measurement, Value};
use crate::method::{Setting, point_name};
use crate::statistics::{Distribution, significant};
use crate::trial::Stamps;
use effect::{Basis, Effect, Superiority};
use side::Side;

/// Software stamps do not support smaller differences.
const RESOLUTION: Duration = Duration::from_us(1);
/// Bounds that are further apart are not worth their digits.
const TELLING: f64 = 1e4;
/// So many values tell what 99.9 % do not exceed.
const ENOUGH_FOR_TAILS: u64 = 10_000;
/// Of what is counted, what is better the more there is of it.
const MORE: [&str; 3] = ["entries", "buffer", "frames each second"];
const MORE_OF_SHARES: &str = "availability";
const LESS: [&str; 6] = [
    "lost",
    "duplicate",
    "reordered",
    "unanswered",
    "without",
    "failures",
];

/// Two devices beside each other.
#[derive(Clone, Debug)]
pub struct Comparison {
    pub devices: [String; 2],
    /// Whether any of the measurements was shortened.
    pub quick: bool,
    /// What both have, in the order of the first one's figures.
    pub rows: Vec<Row>,
    /// What only one of them has.
    pub only: [Vec<String>; 2],
    /// Under which conditions each was measured.
    pub sides: [Side; 2],
    /// What is to be known, a sentence or more each.
    pub remarks: Vec<String>,
}

/// One quantity at one setting of both devices.
#[derive(Clone, Debug)]
pub struct Row {
    pub method: String,
    /// What it is, as in "one-way latency, p99".
    pub quantity: String,
    /// By which formula or clause.
    pub source: String,
    /// The setting, by name and value.
    pub setting: Vec<(String, String)>,
    /// The value of each device, from all rounds together.
    pub values: [Value; 2],
    /// How they differ, unless one is unknown.
    pub effect: Option<Effect>,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    First,
    Second,
    Alike,
    /// There is nothing to tell it by.
    Open,
}

/// Which of two values is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    Less,
    More,
    Neither,
}

/// What one device has of a figure, round by round.
struct Kept<'a> {
    method: &'a str,
    figure: &'a Figure,
    rounds: Vec<&'a Value>,
}

/// Compares what was measured of two devices.
///
/// # Panics
///
/// If nothing was measured of one of them.
#[must_use]
pub fn compare(first: &[Measurement], second: &[Measurement]) -> Comparison {
    let (kept, others) = (keep(first), keep(second));
    let resolution = [first, second]
        .into_iter()
        .flatten()
        .map(|it| match it.conditions.stamps {
            Stamps::Virtual | Stamps::Hardware => it.conditions.clocks_apart,
            Stamps::Kernel | Stamps::Program | Stamps::File => RESOLUTION,
        })
        .max()
        .unwrap_or_default();
    let mut rows = Vec::new();
    for mine in &kept {
        if let Some(theirs) = others.iter().find(|it| it.is_like(mine)) {
            rows.extend(rows_of(mine, theirs, resolution));
        }
    }
    let lonely = |of: &[Kept<'_>], against: &[Kept<'_>]| {
        let lonely = of
            .iter()
            .filter(|it| !against.iter().any(|other| other.is_like(it)));
        lonely.map(Kept::name).collect::<Vec<_>>()
    };
    Comparison {
        devices: [first, second].map(|all| {
            let any = all.first().expect("something was measured of each device");
            any.device.clone()
        }),
        quick: first.iter().chain(second).any(|it| it.quick),
        rows,
        only: [lonely(&kept, &others), lonely(&others, &kept)],
        sides: [first, second].map(Side::of),
        remarks: remarks(first, second),
    }
}

impl Comparison {
    /// Returns what the devices are called in sentences: without their details where that
    /// tells them apart.
    fn short_names(&self) -> [String; 2] {
        let short = self.devices.each_ref().map(|device| {
            let (name, _) = device.split_once(',').unwrap_or((device, ""));
            name.to_owned()
        });
        match short[0] == short[1] {
            false => short,
            true if self.devices[0] != self.devices[1] => self.devices.clone(),
            true => ["A".to_owned(), "B".to_owned()],
        }
    }
}

fn remarks(first: &[Measurement], second: &[Measurement]) -> Vec<String> {
    let mut remarks = Vec::new();
    for measurement in first.iter().chain(second) {
        for remark in &measurement.remarks {
            let said = format!("{}, {}: {remark}", measurement.device, measurement.method);
            if !remarks.contains(&said) {
                remarks.push(said);
            }
        }
    }
    let machine = |all: &[Measurement]| {
        let machine = all.first().and_then(|it| it.conditions.machine.clone());
        machine.map(|it| (it.kernel, it.processor, it.processors))
    };
    if machine(first) != machine(second) {
        remarks.push(
            "The two were not measured on the same machine and kernel: a difference may be the \
             machine's."
                .to_owned(),
        );
    }
    remarks
}

/// Gathers the rounds of each figure, in the order in which it was first met.
fn keep(measurements: &[Measurement]) -> Vec<Kept<'_>> {
    let mut kept: Vec<Kept<'_>> = Vec::new();
    for measurement in measurements {
        let single = |it: &&Figure| !matches!(it.value, Value::Series(_));
        for figure in measurement.figures.iter().filter(single) {
            let new = Kept {
                method: &measurement.method,
                figure,
                rounds: Vec::new(),
            };
            let place = kept.iter().position(|it| it.is_like(&new));
            let place = place.unwrap_or_else(|| {
                kept.push(new);
                kept.len() - 1
            });
            kept[place].rounds.push(&figure.value);
        }
    }
    kept
}

impl Kept<'_> {
    fn is_like(&self, other: &Kept<'_>) -> bool {
        self.method == other.method
            && self.figure.quantity == other.figure.quantity
            && self.figure.setting == other.figure.setting
    }

    fn name(&self) -> String {
        let setting = setting_text(&self.figure.setting);
        match setting.is_empty() {
            true => format!("{}: {}", self.method, self.figure.quantity),
            false => format!("{}: {} ({setting})", self.method, self.figure.quantity),
        }
    }

    /// Tells whether the device may have more than a round of it says.
    fn is_at_least(&self) -> bool {
        let mut rounds = self.rounds.iter();
        rounds.any(|it| matches!(it, Value::RateAtLeast(_) | Value::CountAtLeast(_)))
    }

    /// Returns the numbers of the rounds that have one.
    fn numbers(&self, per_mille: u32) -> Vec<f64> {
        let numbers = self.rounds.iter().filter_map(|it| number(it, per_mille));
        numbers.collect()
    }

    /// Returns all lengths of time together.
    fn pooled(&self) -> Option<Distribution> {
        let mut pooled: Option<Distribution> = None;
        for round in &self.rounds {
            let Value::Times(times) = round else {
                return None;
            };
            match &mut pooled {
                Some(pooled) => pooled.merge(times),
                None => pooled = Some(times.clone()),
            }
        }
        pooled.filter(|it| it.count() > 0)
    }
}

fn rows_of(first: &Kept<'_>, second: &Kept<'_>, resolution: Duration) -> Vec<Row> {
    let Some((mine, theirs)) = first.pooled().zip(second.pooled()) else {
        return vec![single_row(first, second)];
    };
    let superiority = Superiority::of(&mine, &theirs);
    let has_tails = mine.count().min(theirs.count()) >= ENOUGH_FOR_TAILS;
    let quantiles = [(500, "median"), (990, "p99")].into_iter();
    let quantiles = quantiles.chain(has_tails.then_some((999, "p99.9")));
    quantiles
        .map(|(per_mille, name)| {
            let values = [&mine, &theirs].map(|it| it.quantile(per_mille).unwrap_or_default());
            let rounds = [first, second].map(|it| it.numbers(per_mille));
            let mut effect = Effect::of_rounds(&rounds)
                .filter(|effect| effect.bounds.is_some())
                .or_else(|| Effect::of_values(&mine, &theirs, per_mille));
            if let Some(effect) = effect.as_mut().filter(|_| per_mille == 500) {
                effect.superiority = superiority;
            }
            let apart = values[0].max(values[1]) - values[0].min(values[1]);
            let verdict = match apart < resolution {
                true => Verdict::Alike,
                false => verdict(effect.as_ref(), Better::Less),
            };
            let quantity = format!("{}, {name}", first.figure.quantity);
            row(first, quantity, values.map(Value::Time), (effect, verdict))
        })
        .collect()
}

fn single_row(first: &Kept<'_>, second: &Kept<'_>) -> Row {
    let rounds = [first, second].map(|it| it.numbers(500));
    let effect = Effect::of_rounds(&rounds);
    let better = better(&first.figure.quantity, &first.figure.value);
    let verdict = verdict(effect.as_ref(), better);
    let verdict = of_what_is_known(verdict, [first, second].map(Kept::is_at_least));
    let effect = effect.filter(|_| verdict != Verdict::Open || better == Better::Neither);
    let values = [first, second].map(middle);
    row(
        first,
        first.figure.quantity.clone(),
        values,
        (effect, verdict),
    )
}

fn row(
    like: &Kept<'_>,
    quantity: String,
    values: [Value; 2],
    (effect, verdict): (Option<Effect>, Verdict),
) -> Row {
    Row {
        method: like.method.to_owned(),
        quantity,
        source: like.figure.source.clone(),
        setting: like.figure.setting.clone(),
        values,
        effect,
        verdict,
    }
}

/// Returns the value of the round in the middle, the lower one of two.
fn middle(kept: &Kept<'_>) -> Value {
    let mut known: Vec<_> = kept
        .rounds
        .iter()
        .filter_map(|it| Some((number(it, 500)?, *it)))
        .collect();
    known.sort_by(|one, other| one.0.total_cmp(&other.0));
    let place = known.len().saturating_sub(1) / 2;
    match known.get(place) {
        Some((_, value)) => (*value).clone(),
        None => kept.figure.value.clone(),
    }
}

/// Returns what still follows if a device may be better than its value says.
fn of_what_is_known(verdict: Verdict, is_at_least: [bool; 2]) -> Verdict {
    match (verdict, is_at_least) {
        (_, [false, false])
        | (Verdict::First, [true, false])
        | (Verdict::Second, [false, true])
        | (Verdict::Alike, [true, true]) => verdict,
        (Verdict::First | Verdict::Second | Verdict::Alike | Verdict::Open, _) => Verdict::Open,
    }
}

fn verdict(effect: Option<&Effect>, better: Better) -> Verdict {
    let Some((low, high)) = effect.and_then(|effect| effect.bounds) else {
        return Verdict::Open;
    };
    match better {
        Better::Neither => Verdict::Open,
        Better::Less | Better::More if low <= 1.0 && high >= 1.0 => Verdict::Alike,
        Better::Less if high < 1.0 => Verdict::Second,
        Better::More if low > 1.0 => Verdict::Second,
        Better::Less | Better::More => Verdict::First,
    }
}

/// Returns which value is better: of times, losses and shares the smaller one, of
/// rates, sizes and entries the larger one.
fn better(quantity: &str, value: &Value) -> Better {
    match value {
        Value::Share(_) if quantity.contains(MORE_OF_SHARES) => Better::More,
        Value::Times(_) | Value::Time(_) | Value::Share(_) => Better::Less,
        Value::Rate(_) | Value::RateAtLeast(_) | Value::Size(_) | Value::CountAtLeast(_) => {
            Better::More
        }
        Value::Count(_) if MORE.iter().any(|it| quantity.contains(it)) => Better::More,
        Value::Count(_) if LESS.iter().any(|it| quantity.contains(it)) => Better::Less,
        Value::Count(_) | Value::Series(_) | Value::Unknown(_) => Better::Neither,
    }
}

/// Returns a value as a number in its smallest unit; of times, a quantile.
#[expect(clippy::cast_precision_loss, reason = "for statistics only")]
fn number(value: &Value, per_mille: u32) -> Option<f64> {
    match value {
        Value::Times(times) => Some(times.quantile(per_mille)?.as_ns() as f64),
        Value::Time(time) => Some(time.as_ns() as f64),
        Value::Rate(rate) | Value::RateAtLeast(rate) => Some(rate.as_bps() as f64),
        Value::Size(size) => Some(size.as_bits() as f64),
        Value::Count(count) | Value::CountAtLeast(count) => Some(*count as f64),
        Value::Share(share) => Some(*share),
        Value::Series(_) | Value::Unknown(_) => None,
    }
}

/// Returns a setting in one line.
fn setting_text(setting: &Setting) -> String {
    spelled(&point_name(setting))
}

/// Returns a value in words.
fn value_text(value: &Value) -> String {
    match value {
        Value::Times(times) if times.count() > 0 => format!("{} (median)", value.shown()),
        Value::Rate(rate) => quantity::rate(rate.as_bps()),
        Value::RateAtLeast(rate) => format!("≥ {}", quantity::rate(rate.as_bps())),
        Value::Series(_) => "a course over time".to_owned(),
        _ => value.shown(),
    }
}

/// Returns an effect in words, as in "x 1.5 (1.4 to 1.7)", with as many digits as its
/// bounds support.
fn effect_text(effect: &Effect) -> String {
    let Some((low, high)) = effect.bounds else {
        return format!("x {}", significant(effect.ratio, FEWEST_DIGITS));
    };
    let star = match effect.basis {
        Basis::Rounds => "",
        Basis::Values => "*",
    };
    if high / low > TELLING {
        let ratio = significant(effect.ratio, 1);
        return format!("x {ratio} (rounds differ too much){star}");
    }
    let digits = digits(effect.ratio, (low, high));
    let [ratio, low, high] = [effect.ratio, low, high].map(|it| significant(it, digits));
    format!("x {ratio} ({low} to {high}){star}")
}

const FEWEST_DIGITS: u32 = 2;
const MOST_DIGITS: u32 = 4;

/// Returns how many digits of a ratio its bounds support: the last one is of the size of
/// the doubt. Where they exclude that both are alike, so do their digits.
fn digits(ratio: f64, (low, high): (f64, f64)) -> u32 {
    let doubt = ((high - low) / 2.0 / ratio).max(1e-9);
    let supported = (FEWEST_DIGITS..MOST_DIGITS)
        .find(|digits| doubt >= 0.3 * 10f64.powi(1 - i32::try_from(*digits).unwrap_or(i32::MAX)))
        .unwrap_or(MOST_DIGITS);
    let excluded = low > 1.0 || high < 1.0;
    let near = if low > 1.0 { low } else { high };
    (supported..MOST_DIGITS)
        .find(|digits| !excluded || significant(near, *digits).parse() != Ok(1.0_f64))
        .unwrap_or(MOST_DIGITS)
}
