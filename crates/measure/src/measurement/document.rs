//! A measurement as a JSON document, and back.
//!
//! Lengths of time are whole nanoseconds and their keys end in `_ns`, rates are `_bps`,
//! sizes `_bytes`. A distribution keeps its buckets, so that a comparison has all that
//! the measurement had. What is read may come from anywhere: nothing in it is believed
//! before it was checked.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use thiserror::Error;
use units::{Duration, Instant};

use super::{Figure, Measurement, Value};
use crate::document::json;
use crate::statistics::{Contradiction, Distribution, Exact};
use crate::time_series::{Interval, MOST_INTERVALS, TimeSeries};

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
    #[error("{0} figures are more than {MOST_FIGURES}")]
    TooManyFigures(usize),
}

#[derive(Serialize)]
struct MeasurementDocument<'a> {
    kind: &'static str,
    format: u32,
    #[serde(flatten)]
    measurement: &'a Measurement,
}

/// What a reader looks at first.
#[derive(Deserialize)]
struct Label {
    kind: String,
    format: u32,
}

impl Measurement {
    /// Returns the measurement as a JSON document.
    #[must_use]
    pub fn to_json(&self) -> String {
        json(&MeasurementDocument {
            kind: KIND,
            format: FORMAT,
            measurement: self,
        })
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
        let Label { kind, format } = serde_json::from_str(text)?;
        if kind != KIND || format != FORMAT {
            return Err(ReadError::Kind { kind, format });
        }
        let read: Self = serde_json::from_str(text)?;
        match read.figures.len() {
            0..=MOST_FIGURES => Ok(read),
            more => Err(ReadError::TooManyFigures(more)),
        }
    }
}

/// A figure whose value is not read yet: what is wrong with it is told with its name.
#[derive(Deserialize)]
pub(super) struct FigureText {
    quantity: String,
    source: String,
    #[serde(with = "pairs")]
    setting: Vec<(String, String)>,
    value: Box<RawValue>,
}

impl TryFrom<FigureText> for Figure {
    type Error = String;

    fn try_from(text: FigureText) -> Result<Self, String> {
        let quantity = text.quantity;
        let value: Value = serde_json::from_str(text.value.get())
            .map_err(|reason| format!("the figure `{quantity}` contradicts itself: {reason}"))?;
        Ok(Self {
            quantity,
            source: text.source,
            setting: text.setting,
            value,
        })
    }
}

/// Names and texts in their order, as an object.
pub(super) mod pairs {
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::{Map, Value};

    pub fn serialize<S: Serializer>(
        pairs: &[(String, String)],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<(String, String)>, D::Error> {
        let map = Map::deserialize(deserializer)?;
        let pairs = map.into_iter().map(|(name, value)| match value {
            Value::String(text) => (name, text),
            other => (name, other.to_string()),
        });
        Ok(pairs.collect())
    }
}

pub(super) mod ns {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::Duration;

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        time.as_ns().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_ns)
    }
}

pub(super) mod some_ns {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::Duration;

    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(Duration::as_ns).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(from)?.map(Duration::from_ns))
    }
}

pub(super) mod bps {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::BitRate;

    pub fn serialize<S: Serializer>(rate: &BitRate, to: S) -> Result<S::Ok, S::Error> {
        rate.as_bps().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<BitRate, D::Error> {
        let rate = BitRate::new(u64::deserialize(from)?);
        rate.ok_or_else(|| D::Error::custom("a rate of zero"))
    }
}

pub(super) mod bytes {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use units::DataSize;

    pub fn serialize<S: Serializer>(size: &DataSize, to: S) -> Result<S::Ok, S::Error> {
        size.bytes_up().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<DataSize, D::Error> {
        match u64::deserialize(from)? {
            bytes if bytes <= u64::MAX / 8 => Ok(DataSize::from_bytes(bytes)),
            _ => Err(D::Error::custom("a size beyond 2 EB")),
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        TimesText::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = TimesText::deserialize(deserializer)?;
        text.read().map_err(D::Error::custom)
    }
}

impl Serialize for TimeSeries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        SeriesText::of(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TimeSeries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let series = SeriesText::deserialize(deserializer)?.read();
        series.ok_or_else(|| D::Error::custom("a series without length"))
    }
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
