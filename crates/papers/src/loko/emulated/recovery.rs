//! What the bench finds out about the emulated switch, beside what was put in
//! and what the paper prints (S4-10).
//!
//! Nothing of this is looked up inside the switch: a processing time, a buffer or
//! a throughput stands here as two captures and a clock would give it.

use calculus::loko::SwitchModel;
use calculus::loko::processing_time::{LokoAction, MatchFields, Setting};
use measure::method::control_plane::messages::{deletion_of_all, simple};
use measure::method::orders::Version;
use units::{BitRate, DataSize, Duration};

use crate::loko::benchmark::{held, message_time, table_of, throughputs, times_of};

/// One figure, found out from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    pub quantity: String,
    /// In which unit, the figures of this row.
    pub unit: &'static str,
    /// What the paper prints, or nothing.
    pub printed: &'static str,
    /// What was put into the emulation, or follows from that by LOKO Eq. (6).
    pub put_in: f64,
    pub measured: Option<f64>,
}

/// A case of LOKO section 3 of which the text prints a figure.
struct RecoveryCase {
    quantity: &'static str,
    printed: &'static str,
    /// The unit of a time, as it is printed.
    unit: TimeUnit,
    entries: u64,
    bytes: u16,
    fields: MatchFields,
    action: LokoAction,
}

/// The unit in which the paper prints a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    Microsecond,
    Millisecond,
}

impl TimeUnit {
    const fn word(self) -> &'static str {
        match self {
            Self::Microsecond => "us",
            Self::Millisecond => "ms",
        }
    }

    fn figure(self, seconds: f64) -> f64 {
        match self {
            Self::Microsecond => seconds * 1e6,
            Self::Millisecond => seconds * 1e3,
        }
    }
}

impl RecoveryCase {
    const fn five_tuple(
        quantity: &'static str,
        printed: &'static str,
        (entries, bytes): (u64, u16),
    ) -> Self {
        Self {
            quantity,
            printed,
            unit: TimeUnit::Microsecond,
            entries,
            bytes,
            fields: MatchFields::FIVE_TUPLE,
            action: LokoAction::Output,
        }
    }

    const fn in_ms(self) -> Self {
        Self {
            unit: TimeUnit::Millisecond,
            ..self
        }
    }

    fn setting(&self) -> Setting {
        Setting {
            fields: self.fields,
            action: self.action,
            ..Setting::worst_five_tuple(self.entries, DataSize::from_bytes(self.bytes.into()))
        }
    }
}

const PROCESSING_TIMES: [RecoveryCase; 6] = [
    RecoveryCase::five_tuple("17 entries, five-tuple, 306 bytes", "257", (17, 306)),
    RecoveryCase::five_tuple("128 entries, five-tuple, 306 bytes", "1.35", (128, 306)).in_ms(),
    RecoveryCase {
        fields: MatchFields::PORT,
        ..RecoveryCase::five_tuple("1 entry, port, 1516 bytes, output", "322", (1, 1_516))
    },
    RecoveryCase {
        fields: MatchFields::PORT,
        action: LokoAction::SetNwSrc,
        ..RecoveryCase::five_tuple("1 entry, port, 1516 bytes, set-nw-src", "380", (1, 1_516))
    },
    RecoveryCase {
        fields: MatchFields::PORT,
        ..RecoveryCase::five_tuple("128 entries, port, 64 bytes", "0.88", (128, 64)).in_ms()
    },
    RecoveryCase {
        fields: MatchFields::ALL,
        ..RecoveryCase::five_tuple("128 entries, all, 64 bytes", "1.65", (128, 64)).in_ms()
    },
];

const THROUGHPUTS: [RecoveryCase; 3] = [
    RecoveryCase::five_tuple("17 entries, five-tuple, 306 bytes", "11.8", (17, 306)),
    RecoveryCase::five_tuple("128 entries, five-tuple, 306 bytes", "1.88", (128, 306)),
    RecoveryCase {
        fields: MatchFields::ALL,
        ..RecoveryCase::five_tuple("128 entries, all, 64 bytes", "0.3", (128, 64))
    },
];

const BUFFERS: [(u16, &str); 3] = [(1_516, "3"), (306, "9"), (64, "25")];

/// Puts a Zodiac FX on the bench and finds out what the paper prints about it.
#[must_use]
pub fn recover() -> Vec<Recovered> {
    let mut rows: Vec<_> = PROCESSING_TIMES.iter().map(processing_time).collect();
    rows.extend(THROUGHPUTS.iter().map(searched_throughput));
    rows.extend(BUFFERS.map(|(bytes, printed)| buffer(bytes, printed)));
    rows.extend(messages());
    rows
}

fn processing_time(case: &RecoveryCase) -> Recovered {
    let setting = case.setting();
    let measured = times_of(&table_of(&setting), &[case.bytes]).pop();
    Recovered {
        quantity: format!("processing time, {}", case.quantity),
        unit: case.unit.word(),
        printed: case.printed,
        put_in: case.unit.figure(setting.processing_time().as_secs_f64()),
        measured: measured.map(|(_, time)| case.unit.figure(time.as_secs_f64())),
    }
}

fn searched_throughput(case: &RecoveryCase) -> Recovered {
    let setting = case.setting();
    let computed = SwitchModel::zodiac_fx(setting.frame, setting.processing_time());
    Recovered {
        quantity: format!("throughput, {}", case.quantity),
        unit: "Mbit/s",
        printed: case.printed,
        put_in: mbps(computed.service.rate),
        measured: throughputs(&table_of(&setting), case.bytes).map(|(searched, _)| mbps(searched)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few frames")]
fn buffer(bytes: u16, printed: &'static str) -> Recovered {
    let setting = Setting::worst_five_tuple(128, DataSize::from_bytes(bytes.into()));
    let model = SwitchModel::zodiac_fx(setting.frame, setting.processing_time());
    Recovered {
        quantity: format!("buffer, {bytes} bytes"),
        unit: "frames",
        printed,
        put_in: model.buffer_frames as f64,
        measured: held(bytes).map(|frames| frames as f64),
    }
}

fn messages() -> [Recovered; 3] {
    let row = |quantity: &str, printed, unit: TimeUnit, put_in, measured: Option<Duration>| {
        let figure = |time: Duration| unit.figure(time.as_secs_f64());
        Recovered {
            quantity: quantity.to_owned(),
            unit: unit.word(),
            printed,
            put_in,
            measured: measured.map(figure),
        }
    };
    let points = simple(Version::V10);
    let time_of = |name: &str| {
        let mut points = points.iter();
        message_time(points.find(|point| point.name == name)?)
    };
    let (barrier, echo) = (time_of("BarrierRequest"), time_of("EchoRequest"));
    let deletion = message_time(&deletion_of_all(Version::V10, 128, 1));
    let (us, ms) = (TimeUnit::Microsecond, TimeUnit::Millisecond);
    [
        row("barrier request", "92", us, 92.0, barrier),
        row("echo request", "", us, 107.0, echo),
        row("deletion of 128 entries", "2.3", ms, 2.3, deletion),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "for print only")]
fn mbps(rate: BitRate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_recovered_within_six_in_a_hundred() {
        for row in recover() {
            let measured = row.measured.unwrap();

            assert!((measured / row.put_in - 1.0).abs() < 0.06, "{row:?}");
        }
    }

    #[test]
    fn what_the_paper_prints_is_recovered() {
        for row in recover() {
            let Ok(printed) = row.printed.parse::<f64>() else {
                continue;
            };
            let measured = row.measured.unwrap();

            let is_rough = row.printed == "0.3";
            let tolerance = if is_rough { 0.15 } else { 0.02 };
            assert!((measured / printed - 1.0).abs() < tolerance, "{row:?}");
        }
    }
}
