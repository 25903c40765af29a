//! A measurement as a JSON document, and back.
//!
//! Lengths of time are whole nanoseconds and their keys end in `_ns`, rates are `_bps`,
//! sizes `_bytes`. A distribution keeps its buckets, so that a comparison has all that
//! the measurement had. What is read may come from anywhere: nothing in it is believed
//! before it was checked.

use serde::{Deserialize, Serialize};
use serde_json::Map;
use thiserror::Error;
use units::{BitRate, DataSize, Duration, Instant};

use super::{Conditions, Earlier, Figure, Machine, Measurement, Value};
use crate::method::Findings;
use crate::statistics::{Contradiction, Distribution, Exact};
use crate::time_series::{Interval, MOST_INTERVALS, TimeSeries};
use crate::trial::Stamps;

/// What the document is, for those who find it.
const KIND: &str = "taktos measurement";
/// Changes with what a reader must know.
const FORMAT: u32 = 1;
/// The longest document that is read, in bytes.
pub const LONGEST_DOCUMENT: usize = 256 << 20;
/// The most figures that are read.
pub const MOST_FIGURES: usize = 100_000;

/// Why a text is no measurement.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("{length} bytes are more than a measurement has, at most {LONGEST_DOCUMENT}")]
    TooLong { length: usize },
    /// It is no JSON, or has other keys or values.
    #[error("this is no measurement of Taktos: {0}")]
    Form(#[from] serde_json::Error),
    /// It is of another kind or a later format.
    #[error("this is `{kind}`, format {format}, where `{KIND}`, format {FORMAT} was expected")]
    Kind { kind: String, format: u32 },
    #[error("the figure `{quantity}` contradicts itself: {reason}")]
    Figure { quantity: String, reason: String },
    #[error("{0} figures are more than {MOST_FIGURES}")]
    TooManyFigures(usize),
}

impl Measurement {
    /// Returns the measurement as a JSON document.
    ///
    /// # Panics
    ///
    /// Never: there is nothing in it that JSON cannot say.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(&self.to_value())
            .expect("it has string keys and is written to memory");
        text.push('\n');
        text
    }

    /// Returns the measurement as a JSON value, for documents of several.
    ///
    /// # Panics
    ///
    /// Never: there is nothing in it that JSON cannot say.
    #[must_use]
    pub fn to_value(&self) -> serde_json::Value {
        let document = MeasurementText {
            kind: KIND.to_owned(),
            format: FORMAT,
            method: self.method.clone(),
            device: self.device.clone(),
            quick: self.quick,
            figures: self.figures.iter().map(FigureText::of).collect(),
            remarks: self.remarks.clone(),
            conditions: ConditionsText::of(&self.conditions),
            earlier: self.earlier.iter().map(EarlierText::of).collect(),
        };
        serde_json::to_value(document).expect("it has string keys and is written to memory")
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    ///
    /// If it is something else, or contradicts itself.
    pub fn from_json(text: &str) -> Result<Self, ReadError> {
        let length = text.len();
        if length > LONGEST_DOCUMENT {
            return Err(ReadError::TooLong { length });
        }
        let document: MeasurementText = serde_json::from_str(text)?;
        if document.kind != KIND || document.format != FORMAT {
            return Err(ReadError::Kind {
                kind: document.kind,
                format: document.format,
            });
        }
        Ok(Self {
            method: document.method,
            device: document.device,
            quick: document.quick,
            figures: figures(document.figures)?,
            remarks: document.remarks,
            conditions: document.conditions.read()?,
            earlier: document
                .earlier
                .into_iter()
                .map(EarlierText::read)
                .collect::<Result<_, _>>()?,
        })
    }
}

fn figures(texts: Vec<FigureText>) -> Result<Vec<Figure>, ReadError> {
    if texts.len() > MOST_FIGURES {
        return Err(ReadError::TooManyFigures(texts.len()));
    }
    texts.into_iter().map(FigureText::read).collect()
}

/// What was found at a point, as a line of a journal has it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct FindingsText {
    figures: Vec<FigureText>,
    remarks: Vec<String>,
}

impl FindingsText {
    pub(crate) fn of(findings: &Findings) -> Self {
        Self {
            figures: findings.figures.iter().map(FigureText::of).collect(),
            remarks: findings.remarks.clone(),
        }
    }

    pub(crate) fn read(self) -> Result<Findings, ReadError> {
        Ok(Findings {
            figures: figures(self.figures)?,
            remarks: self.remarks,
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct MeasurementText {
    kind: String,
    format: u32,
    method: String,
    device: String,
    quick: bool,
    figures: Vec<FigureText>,
    remarks: Vec<String>,
    conditions: ConditionsText,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<EarlierText>,
}

/// An earlier run of the plan.
#[derive(Debug, Serialize, Deserialize)]
struct EarlierText {
    points: u64,
    conditions: ConditionsText,
}

impl EarlierText {
    fn of(earlier: &Earlier) -> Self {
        Self {
            points: earlier.points,
            conditions: ConditionsText::of(&earlier.conditions),
        }
    }

    fn read(self) -> Result<Earlier, ReadError> {
        Ok(Earlier {
            points: self.points,
            conditions: self.conditions.read()?,
        })
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct FigureText {
    quantity: String,
    source: String,
    setting: Map<String, serde_json::Value>,
    value: ValueText,
}

#[derive(Debug, Serialize, Deserialize)]
enum ValueText {
    #[serde(rename = "distribution_ns")]
    Times(TimesText),
    #[serde(rename = "time_ns")]
    Time(u64),
    #[serde(rename = "rate_bps")]
    Rate(u64),
    #[serde(rename = "rate_at_least_bps")]
    RateAtLeast(u64),
    #[serde(rename = "size_bytes")]
    Size(u64),
    #[serde(rename = "count")]
    Count(u64),
    #[serde(rename = "count_at_least")]
    CountAtLeast(u64),
    #[serde(rename = "share")]
    Share(f64),
    #[serde(rename = "series")]
    Series(SeriesText),
    #[serde(rename = "unknown")]
    Unknown(String),
}

impl FigureText {
    fn of(figure: &Figure) -> Self {
        Self {
            quantity: figure.quantity.clone(),
            source: figure.source.clone(),
            setting: as_map(&figure.setting),
            value: match &figure.value {
                Value::Times(times) => ValueText::Times(TimesText::of(times)),
                Value::Time(time) => ValueText::Time(time.as_ns()),
                Value::Rate(rate) => ValueText::Rate(rate.as_bps()),
                Value::RateAtLeast(rate) => ValueText::RateAtLeast(rate.as_bps()),
                Value::Size(size) => ValueText::Size(size.bytes_up()),
                Value::Count(count) => ValueText::Count(*count),
                Value::CountAtLeast(count) => ValueText::CountAtLeast(*count),
                Value::Share(share) => ValueText::Share(*share),
                Value::Series(series) => ValueText::Series(SeriesText::of(series)),
                Value::Unknown(reason) => ValueText::Unknown(reason.clone()),
            },
        }
    }

    fn read(self) -> Result<Figure, ReadError> {
        let wrong = |reason: &str| ReadError::Figure {
            quantity: self.quantity.clone(),
            reason: reason.to_owned(),
        };
        let rate = |bps| BitRate::new(bps).ok_or_else(|| wrong("a rate of zero"));
        let value = match self.value {
            ValueText::Times(times) => {
                let times = times.read();
                Value::Times(times.map_err(|error| wrong(&error.to_string()))?)
            }
            ValueText::Time(ns) => Value::Time(Duration::from_ns(ns)),
            ValueText::Rate(bps) => Value::Rate(rate(bps)?),
            ValueText::RateAtLeast(bps) => Value::RateAtLeast(rate(bps)?),
            ValueText::Size(bytes) if bytes <= u64::MAX / 8 => {
                Value::Size(DataSize::from_bytes(bytes))
            }
            ValueText::Size(_) => return Err(wrong("a size beyond 2 EB")),
            ValueText::Count(count) => Value::Count(count),
            ValueText::CountAtLeast(count) => Value::CountAtLeast(count),
            ValueText::Share(share) if share.is_finite() => Value::Share(share),
            ValueText::Share(_) => return Err(wrong("a share that is no number")),
            ValueText::Series(series) => Value::Series(
                series
                    .read()
                    .ok_or_else(|| wrong("a series without length"))?,
            ),
            ValueText::Unknown(reason) => Value::Unknown(reason),
        };
        Ok(Figure {
            setting: as_pairs(self.setting),
            quantity: self.quantity,
            source: self.source,
            value,
        })
    }
}

/// Returns names and texts in their order.
fn as_map(pairs: &[(String, String)]) -> Map<String, serde_json::Value> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| (name.clone(), value.clone().into()))
        .collect()
}

fn as_pairs(map: Map<String, serde_json::Value>) -> Vec<(String, String)> {
    let pairs = map.into_iter().map(|(name, value)| match value {
        serde_json::Value::String(text) => (name, text),
        other => (name, other.to_string()),
    });
    pairs.collect()
}

/// A distribution: the figures that people ask for, and the buckets that programs do.
#[derive(Debug, Default, Serialize, Deserialize)]
struct TimesText {
    count: u64,
    #[serde(flatten)]
    figures: Option<TimesFigures>,
    /// The upper edge of each bucket and how many values are in it.
    #[serde(default)]
    buckets: Vec<(u64, u64)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct TimesFigures {
    min: u64,
    mean: u64,
    deviation: Option<u64>,
    p1: u64,
    p25: u64,
    p50: u64,
    p75: u64,
    p99: u64,
    p999: u64,
    max: u64,
    p50_confidence: Option<(u64, u64)>,
    p99_confidence: Option<(u64, u64)>,
    p999_confidence: Option<(u64, u64)>,
}

impl TimesText {
    fn of(times: &Distribution) -> Self {
        let quantile = |per_mille| times.quantile(per_mille).unwrap_or_default().as_ns();
        let confidence = |per_mille| {
            let bounds = times.confidence(per_mille);
            bounds.map(|(low, high)| (low.as_ns(), high.as_ns()))
        };
        Self {
            count: times.count(),
            figures: times.summary().map(|summary| TimesFigures {
                min: summary.min.as_ns(),
                mean: summary.mean.as_ns(),
                deviation: times.deviation().map(Duration::as_ns),
                p1: quantile(10),
                p25: quantile(250),
                p50: summary.p50.as_ns(),
                p75: quantile(750),
                p99: summary.p99.as_ns(),
                p999: summary.p999.as_ns(),
                max: summary.max.as_ns(),
                p50_confidence: confidence(500),
                p99_confidence: confidence(990),
                p999_confidence: confidence(999),
            }),
            buckets: times
                .buckets()
                .map(|(edge, count)| (edge.as_ns(), count))
                .collect(),
        }
    }

    fn read(&self) -> Result<Distribution, Contradiction> {
        let Some(figures) = &self.figures else {
            return match (self.count, self.buckets.is_empty()) {
                (0, true) => Ok(Distribution::fine()),
                _ => Err(Contradiction),
            };
        };
        let exact = Exact {
            count: self.count,
            min: Duration::from_ns(figures.min),
            mean: Duration::from_ns(figures.mean),
            deviation: figures.deviation.map(Duration::from_ns),
            max: Duration::from_ns(figures.max),
        };
        let buckets: Vec<_> = self
            .buckets
            .iter()
            .map(|(edge, count)| (Duration::from_ns(*edge), *count))
            .collect();
        Distribution::restore(&exact, &buckets)
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct SeriesText {
    interval_ns: u64,
    max_ns: Vec<u64>,
    received: Vec<u32>,
    lost: Vec<u32>,
}

impl SeriesText {
    fn of(series: &TimeSeries) -> Self {
        let intervals = series.intervals();
        Self {
            interval_ns: series.length().as_ns(),
            max_ns: intervals.iter().map(|one| one.max.as_ns()).collect(),
            received: intervals.iter().map(|one| one.received).collect(),
            lost: intervals.iter().map(|one| one.lost).collect(),
        }
    }

    fn read(self) -> Option<TimeSeries> {
        let length = self.max_ns.len();
        let is_whole = self.received.len() == length && self.lost.len() == length;
        if self.interval_ns == 0 || !is_whole || length > MOST_INTERVALS {
            return None;
        }
        let counts = self.received.into_iter().zip(self.lost);
        let intervals = self.max_ns.into_iter().zip(counts);
        let intervals = intervals.map(|(max, (received, lost))| Interval {
            max: Duration::from_ns(max),
            received,
            lost,
        });
        let interval = Duration::from_ns(self.interval_ns);
        Some(TimeSeries::restore(
            Instant::ZERO,
            interval,
            intervals.collect(),
        ))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ConditionsText {
    command: String,
    began_unix_ns: u64,
    took_ns: u64,
    seed: u64,
    version: String,
    versions: Map<String, serde_json::Value>,
    machine: Option<MachineText>,
    stamps: StampsText,
    bias_ns: Option<u64>,
    #[serde(default)]
    clocks_apart_ns: u64,
    lateness_ns: TimesText,
    stalls_ns: TimesText,
    unseen: u64,
    #[serde(default)]
    unstamped: u64,
    #[serde(default)]
    strays: u64,
    skipped: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct MachineText {
    kernel: String,
    processor: String,
    processors: usize,
    clock_source: String,
    load_before_percent: u32,
    load_after_percent: u32,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StampsText {
    Virtual,
    Hardware,
    Kernel,
    Program,
    File,
}

impl ConditionsText {
    pub(crate) fn of(conditions: &Conditions) -> Self {
        Self {
            command: conditions.command.clone(),
            began_unix_ns: conditions.began_unix_ns,
            took_ns: conditions.took.as_ns(),
            seed: conditions.seed,
            version: conditions.version.clone(),
            versions: as_map(&conditions.versions),
            machine: conditions.machine.as_ref().map(|machine| MachineText {
                kernel: machine.kernel.clone(),
                processor: machine.processor.clone(),
                processors: machine.processors,
                clock_source: machine.clock_source.clone(),
                load_before_percent: machine.load_before,
                load_after_percent: machine.load_after,
            }),
            stamps: match conditions.stamps {
                Stamps::Virtual => StampsText::Virtual,
                Stamps::Hardware => StampsText::Hardware,
                Stamps::Kernel => StampsText::Kernel,
                Stamps::Program => StampsText::Program,
                Stamps::File => StampsText::File,
            },
            bias_ns: conditions.bias.map(Duration::as_ns),
            clocks_apart_ns: conditions.clocks_apart.as_ns(),
            lateness_ns: TimesText::of(&conditions.lateness),
            stalls_ns: TimesText::of(&conditions.stalls),
            unseen: conditions.unseen,
            unstamped: conditions.unstamped,
            strays: conditions.strays,
            skipped: conditions.skipped,
        }
    }

    pub(crate) fn read(self) -> Result<Conditions, ReadError> {
        let times = |quantity: &str, times: &TimesText| {
            times.read().map_err(|error| ReadError::Figure {
                quantity: quantity.to_owned(),
                reason: error.to_string(),
            })
        };
        Ok(Conditions {
            lateness: times("lateness_ns", &self.lateness_ns)?,
            stalls: times("stalls_ns", &self.stalls_ns)?,
            command: self.command,
            began_unix_ns: self.began_unix_ns,
            took: Duration::from_ns(self.took_ns),
            seed: self.seed,
            version: self.version,
            versions: as_pairs(self.versions),
            machine: self.machine.map(|machine| Machine {
                kernel: machine.kernel,
                processor: machine.processor,
                processors: machine.processors,
                clock_source: machine.clock_source,
                load_before: machine.load_before_percent,
                load_after: machine.load_after_percent,
            }),
            stamps: match self.stamps {
                StampsText::Virtual => Stamps::Virtual,
                StampsText::Hardware => Stamps::Hardware,
                StampsText::Kernel => Stamps::Kernel,
                StampsText::Program => Stamps::Program,
                StampsText::File => Stamps::File,
            },
            bias: self.bias_ns.map(Duration::from_ns),
            clocks_apart: Duration::from_ns(self.clocks_apart_ns),
            unseen: self.unseen,
            unstamped: self.unstamped,
            strays: self.strays,
            skipped: self.skipped,
        })
    }
}
