//! Devices that experiments measure, by the project's own methods, and figures of
//! theirs as rows.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use measure::measurement::{Figure, Measurement, Value};
use measure::method::{self, named};
use measure::reproduction::Row;
use measure::statistics::Distribution;
use scenario::Profile;
use units::Duration;

use super::{ExperimentSettings, Thoroughness};
use run::measuring::target::{Emulated, Target};
use run::measuring::turns::turn;

/// A device and what it is called in rows.
#[derive(Clone, Debug)]
pub struct NamedDevice {
    pub name: &'static str,
    pub target: Target,
}

impl NamedDevice {
    /// Returns an emulated device of a profile that is built in.
    ///
    /// # Panics
    ///
    /// If there is no such profile.
    #[must_use]
    pub fn emulated(name: &'static str, profile: &str) -> Self {
        let profile = Profile::built_in(profile).expect("experiments name built-in profiles");
        Self {
            name,
            target: Target::Emulated(Emulated::Profile(Box::new(profile))),
        }
    }

    /// Measures it by a method, with what is chosen of the method's own. How long a
    /// trial takes, the method chooses unless it is said.
    ///
    /// # Errors
    ///
    /// A sentence that says why it could not be measured.
    pub fn measure(
        &self,
        method: &'static str,
        options: &[(&str, &str)],
        duration: Option<Duration>,
        settings: ExperimentSettings,
    ) -> Result<Measurement, String> {
        let method = named(method).expect("experiments name methods that there are");
        let options = options.iter();
        let settings = method::Settings {
            effort: match settings.effort {
                Thoroughness::Full => method::Effort::Full,
                Thoroughness::Quick => method::Effort::Quick,
            },
            seed: settings.seed,
            duration,
            options: options
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        };
        let stop = Arc::new(AtomicBool::new(false));
        turn(&self.target, method, &settings, &stop)
            .map_err(|error| format!("{} was left out: {error}", self.name))
    }
}

/// Returns the figures of a quantity.
pub fn figures<'a>(
    measurement: &'a Measurement,
    quantity: &'a str,
) -> impl Iterator<Item = &'a Figure> {
    let figures = measurement.figures.iter();
    figures.filter(move |figure| figure.quantity == quantity)
}

/// Returns the value of a part of a figure's setting.
#[must_use]
pub fn setting<'a>(figure: &'a Figure, name: &str) -> &'a str {
    let part = figure.setting.iter().find(|(known, _)| known == name);
    part.map_or("", |(_, value)| value)
}

/// Returns a row for each figure of a quantity: of times the median in milliseconds, of
/// rates Mbit/s, of shares percent.
pub fn rows(device: &str, measurement: &Measurement, quantity: &str) -> Vec<Row> {
    let rows = figures(measurement, quantity).map(|figure| {
        let parts = figure.setting.iter();
        let parts = parts.map(|(name, value)| format!("{name} {value}"));
        let name = format!(
            "{device}: {quantity} ({})",
            parts.collect::<Vec<_>>().join(", ")
        );
        match (&figure.value, number(&figure.value)) {
            (Value::Unknown(reason), _) => Row::new(name, "").note(reason.clone()),
            (value, Some(number)) => Row::new(name, unit(value)).ours(number),
            (_, None) => Row::new(name, ""),
        }
    });
    rows.collect()
}

/// Returns the unit in which rows have a value.
#[must_use]
pub fn unit(value: &Value) -> &'static str {
    match value {
        Value::Times(_) | Value::Time(_) => "ms",
        Value::Rate(_) | Value::RateAtLeast(_) => "Mbit/s",
        Value::Size(_) => "bytes",
        Value::Share(_) => "%",
        Value::Count(_) | Value::CountAtLeast(_) | Value::Series(_) | Value::Unknown(_) => "",
    }
}

/// Returns a value as a number in the unit in which rows have it.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "for a figure")]
pub fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Times(times) => times.quantile(500).map(milliseconds),
        Value::Time(time) => Some(milliseconds(*time)),
        Value::Rate(rate) | Value::RateAtLeast(rate) => Some(rate.as_bps() as f64 / 1e6),
        Value::Size(size) => Some(size.bytes_up() as f64),
        Value::Count(count) | Value::CountAtLeast(count) => Some(*count as f64),
        Value::Share(share) => Some(share * 100.0),
        Value::Series(_) | Value::Unknown(_) => None,
    }
}

/// Returns the lengths of time of a figure, if it has any.
#[must_use]
pub fn times(figure: &Figure) -> Option<&Distribution> {
    match &figure.value {
        Value::Times(times) => Some(times),
        Value::Time(_)
        | Value::Rate(_)
        | Value::RateAtLeast(_)
        | Value::Size(_)
        | Value::Count(_)
        | Value::CountAtLeast(_)
        | Value::Share(_)
        | Value::Series(_)
        | Value::Unknown(_) => None,
    }
}

/// Returns a length of time in milliseconds.
#[must_use]
pub fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns a length of time in microseconds.
#[must_use]
pub fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
