//! How like a device its emulation is: what its profile says, measured again from
//! outside, and the error that remains (S3-6).
//!
//! | of the profile | by the method |
//! |---|---|
//! | latency, at each frame and interval | `latency`, and the delay variation of the same run |
//! | the time that a frame occupies the stage | `throughput`, the search |
//! | the set-up of a flow | `flow-setup`, in one direction |
//! | how long a lost carrier goes unnoticed | `failover` |
//! | losses | `loss` |
//!
//! The error has several causes. A sample is finite, so that its extremes lie within
//! those of the profile. A frame waits for the slow one ahead of it, as frames do in a
//! real device, where the profile has that in its tail already. An interruption ends
//! with the next frame, up to an interval after the device has noticed.
//!
//! # Left out
//!
//! The pool and the queues, whose size a cable of no rate does not show.

use std::collections::BTreeMap;

use calculus::loko::SwitchModel;
use calculus::loko::processing_time::Setting as LokoSetting;
use measure::measurement::{Figure, Value};
use measure::method::{self, Effort, Findings, MethodError, Settings, Silent};
use measure::trial::Tester;
use scenario::{Emulation, MILLION, Profile, Quantiles};
use units::{BitRate, DataSize, Delay, Duration};

use crate::tester::{CoreSwitch, SmallSwitch, Taught, VirtualTester};

/// A cable that adds nothing, where the profile's latency has no sending in it.
const NO_LIMIT: BitRate = BitRate::from_mbps(100_000);
/// Where the profile's latency is of any interval or any frame.
const ANY_INTERVAL: Duration = Duration::from_ms(10);
const ANY_FRAME: u64 = 60;
/// What a frame has at its end that profiles do not count and RFC 2544 does.
const CHECK_SEQUENCE: u64 = 4;
/// Preamble, check sequence and gap.
const AROUND_FRAME: u64 = 24;
const SMALLEST: u64 = 60;
const LARGEST: u64 = 1_514;
/// A rate so much higher than the stage's is offered at most.
const HEADROOM: u64 = 4;
/// The first of the senders whose flows are set up: none of those that a user's own
/// measurement of the same device begins with.
const FIRST_SENDER: u32 = 30_000;
/// How long a rate is tried: virtual time is steady.
const TRIAL: Duration = Duration::from_ms(200);
/// The part of the stage's rate to which it is searched.
const PRECISION: u64 = 1_000;

/// One quantity of a device and of its emulation.
#[derive(Clone, Debug)]
pub struct Fidelity {
    /// What it is, with its setting.
    pub what: String,
    pub stated: Value,
    pub emulated: Value,
}

impl Fidelity {
    /// Returns by which share of what is stated the emulation has more, less if it is
    /// negative, or nothing if one of the two is no number.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let (stated, emulated) = (number(&self.stated)?, number(&self.emulated)?);
        match stated > 0.0 {
            true => Some((emulated - stated) / stated),
            false => (emulated <= 0.0).then_some(0.0),
        }
    }

    /// Returns it as figures of a measurement.
    #[must_use]
    pub fn figures(&self) -> [Figure; 3] {
        let error = self.error().map(Value::Share);
        let none = || Value::Unknown("one of the two is no number".to_owned());
        let figures = [
            ("stated", self.stated.clone()),
            ("emulated", self.emulated.clone()),
            ("emulation error", error.unwrap_or_else(none)),
        ];
        figures.map(|(quantity, value)| Figure {
            quantity: quantity.to_owned(),
            source: "S3-6".to_owned(),
            setting: vec![("emulation of".to_owned(), self.what.clone())],
            value,
        })
    }
}

fn number(value: &Value) -> Option<f64> {
    let whole = |number: u64| Some(number as f64);
    match value {
        Value::Time(time) => whole(time.as_ns()),
        Value::Rate(rate) | Value::RateAtLeast(rate) => whole(rate.as_bps()),
        Value::Size(size) => whole(size.as_bits()),
        Value::Count(count) | Value::CountAtLeast(count) => whole(*count),
        Value::Share(share) => Some(*share),
        Value::Times(_) | Value::Series(_) | Value::Unknown(_) => None,
    }
}

/// Measures the emulation of a profile from outside. What is random follows from
/// `seed`. Empty if the profile has no more than bounds.
///
/// # Errors
///
/// If a method cannot be applied.
pub fn of_profile(
    profile: &Profile,
    effort: Effort,
    seed: u64,
) -> Result<Vec<Fidelity>, MethodError> {
    let Some(emulation) = &profile.emulation else {
        return Ok(Vec::new());
    };
    let again = Again {
        profile,
        emulation,
        effort,
        seed,
        found: Vec::new(),
        relay: None,
    };
    again.all()
}

/// Measures a relay that emulates a profile from outside: its latency and its losses, by
/// the tester that it is connected to.
///
/// # Errors
///
/// If a method cannot be applied.
pub fn of_relay(
    profile: &Profile,
    effort: Effort,
    seed: u64,
    tester: &mut dyn Tester,
) -> Result<Vec<Fidelity>, MethodError> {
    let Some(emulation) = &profile.emulation else {
        return Ok(Vec::new());
    };
    let mut again = Again::of_relay((profile, emulation), effort, seed, tester);
    again.latency()?;
    again.loss()?;
    Ok(again.found)
}

/// Measures such a relay from outside: how long it sets flows up.
///
/// # Errors
///
/// If the method cannot be applied.
pub fn of_relay_flows(
    profile: &Profile,
    effort: Effort,
    seed: u64,
    tester: &mut dyn Tester,
) -> Result<Vec<Fidelity>, MethodError> {
    let Some(emulation) = &profile.emulation else {
        return Ok(Vec::new());
    };
    let mut again = Again::of_relay((profile, emulation), effort, seed, tester);
    again.flow_setup()?;
    Ok(again.found)
}

/// Measures the emulated Zodiac FX from outside, against R, T and the buffer of LOKO
/// section 6: 17 entries of five-tuples, frames of 306 bytes.
///
/// # Errors
///
/// If the method cannot be applied.
pub fn of_zodiac_fx(effort: Effort, seed: u64) -> Result<Vec<Fidelity>, MethodError> {
    let frame = DataSize::from_bytes(306);
    let put_in = LokoSetting::worst_five_tuple(17, frame).processing_time();
    let model = SwitchModel::zodiac_fx(frame, put_in);
    let mut tester = VirtualTester::new(SmallSwitch::zodiac_fx(), wire::openflow10::VERSION);
    let options = [("size", "306".to_owned()), ("entries", "17".to_owned())];
    let found = run("profile", &mut tester, &settings(effort, seed, &options))?;
    let time = |name: &str| match figure(&found, name) {
        Some(Value::Time(time)) => Some(*time),
        _ => None,
    };
    let per_frame = time("profile processing.per_frame");
    let rate = per_frame.and_then(|time| BitRate::of(frame, time.into()));
    let latency = time("profile processing.latency");
    let wait = rate.zip(latency).map(|(rate, latency)| {
        // LOKO section 4: T grows by l/R for packets.
        latency + rate.time_to_send(frame).round_up()
    });
    let held = figure(&found, "profile buffers.pool_frames").cloned();
    let unknown = || Value::Unknown("it could not be measured".to_owned());
    let of = "17 five-tuples, 306 bytes";
    Ok(vec![
        Fidelity {
            what: format!("rate R, {of}"),
            stated: Value::Rate(model.service.rate),
            emulated: rate.map_or_else(unknown, Value::Rate),
        },
        Fidelity {
            what: format!("latency T, {of}"),
            stated: Value::Time(model.service.latency.round_up()),
            emulated: wait.map_or_else(unknown, Value::Time),
        },
        Fidelity {
            what: format!("buffer in frames, {of}"),
            stated: Value::Count(model.buffer_frames),
            emulated: held.unwrap_or_else(unknown),
        },
    ])
}

/// A profile that is measured again.
struct Again<'a> {
    profile: &'a Profile,
    emulation: &'a Emulation,
    effort: Effort,
    seed: u64,
    found: Vec<Fidelity>,
    /// The tester of a real relay; without one the device is in virtual time.
    relay: Option<&'a mut dyn Tester>,
}

impl<'a> Again<'a> {
    fn of_relay(
        (profile, emulation): (&'a Profile, &'a Emulation),
        effort: Effort,
        seed: u64,
        tester: &'a mut dyn Tester,
    ) -> Self {
        Self {
            profile,
            emulation,
            effort,
            seed,
            found: Vec::new(),
            relay: Some(tester),
        }
    }

    fn all(mut self) -> Result<Vec<Fidelity>, MethodError> {
        self.latency()?;
        self.occupancy()?;
        self.flow_setup()?;
        if let Some(notices) = &self.emulation.link_down {
            let found = self.by("failover", (3, Taught::WithDetour), &[])?;
            let quantity = "interruption of reception";
            self.spread("lost carrier", &notices.value, &found, quantity);
        }
        self.loss()?;
        Ok(self.found)
    }

    fn latency(&mut self) -> Result<(), MethodError> {
        for row in &self.emulation.latency {
            let bytes = row.frame.map_or(ANY_FRAME, DataSize::bytes_up);
            let bytes = bytes.clamp(SMALLEST, LARGEST);
            let interval = row.interval.unwrap_or(ANY_INTERVAL);
            let options = [
                ("interval", interval.to_string()),
                ("size", bytes.to_string()),
                ("window", "none".to_owned()),
            ];
            let found = self.by("latency", (2, Taught::Beforehand), &options)?;
            let of = format!("latency, {bytes} bytes every {interval}");
            self.spread(&of, &row.spread.value, &found, "one-way latency");
            let quantity = "delay variation, 99.9 % less minimum";
            self.variation(&of, &row.spread.value, figure(&found, quantity));
        }
        Ok(())
    }

    /// Compares how latency varies, where the profile has more than one value.
    fn variation(&mut self, of: &str, spread: &Quantiles, emulated: Option<&Value>) {
        if spread.known().len() < 2 {
            return;
        }
        let stated = spread.at(999_000).saturating_sub(spread.at(0)).round_up();
        self.found.push(Fidelity {
            what: format!("{of}: 99.9 % less minimum"),
            stated: Value::Time(stated),
            emulated: emulated.cloned().unwrap_or_else(nothing),
        });
    }

    fn occupancy(&mut self) -> Result<(), MethodError> {
        for row in &self.emulation.occupancy {
            let bytes = row.frame.map_or(ANY_FRAME, DataSize::bytes_up);
            let bytes = bytes.clamp(SMALLEST, LARGEST);
            let on_wire = DataSize::from_bytes(bytes + AROUND_FRAME);
            let cable = self.rate().time_to_send(on_wire);
            let stated = row.per_frame.value.max(cable);
            let Some(rate) = BitRate::of(on_wire, stated) else {
                continue;
            };
            let offered = BitRate::from_bps(rate.as_bps().saturating_mul(HEADROOM));
            let precision = BitRate::from_bps((rate.as_bps() / PRECISION).max(1));
            let loss = self.emulation.loss_ppm.as_ref().map_or(0, |it| it.value);
            let tolerance = (loss.saturating_mul(3)).min(u64::from(MILLION) - 1) as f64;
            let options = [
                ("size", (bytes + CHECK_SEQUENCE).to_string()),
                ("rate", offered.to_string().replace(' ', "")),
                ("precision", precision.to_string().replace(' ', "")),
                ("tolerance", (tolerance / f64::from(MILLION)).to_string()),
            ];
            let found = self.by("throughput", (2, Taught::Beforehand), &options)?;
            let emulated = match figure(&found, "throughput") {
                Some(Value::Rate(rate) | Value::RateAtLeast(rate)) => {
                    Value::Time(rate.time_to_send(on_wire).round_up())
                }
                Some(other) => other.clone(),
                None => nothing(),
            };
            self.found.push(Fidelity {
                what: format!("throughput, time a frame of {bytes} bytes"),
                stated: Value::Time(stated.round_up()),
                emulated,
            });
        }
        Ok(())
    }

    fn flow_setup(&mut self) -> Result<(), MethodError> {
        let Some(setup) = &self.emulation.flow_setup else {
            return Ok(());
        };
        let flows = [
            ("probe", "ping".to_owned()),
            ("first", FIRST_SENDER.to_string()),
        ];
        let found = self.by("flow-setup", (2, Taught::ByAttendant), &flows)?;
        self.spread("flow set-up", &setup.value, &found, "flow set-up there");
        Ok(())
    }

    fn loss(&mut self) -> Result<(), MethodError> {
        let Some(loss) = &self.emulation.loss_ppm else {
            return Ok(());
        };
        let stated = loss.value as f64 / f64::from(MILLION);
        let options = [("interval", "1ms".to_owned())];
        let found = self.by("loss", (2, Taught::Beforehand), &options)?;
        self.found.push(Fidelity {
            what: "loss".to_owned(),
            stated: Value::Share(stated),
            emulated: figure(&found, "loss ratio")
                .cloned()
                .unwrap_or_else(nothing),
        });
        Ok(())
    }

    /// Compares the quantiles that the profile has.
    fn spread(&mut self, of: &str, stated: &Quantiles, found: &Findings, quantity: &str) {
        for (per_million, value) in stated.known() {
            let keys = Quantiles::KEYS.iter();
            let key = keys.clone().find(|(_, it)| it == per_million);
            let name = key.map_or_else(|| format!("{per_million} ppm"), |it| it.0.to_owned());
            self.found.push(Fidelity {
                what: format!("{of}: {name}"),
                stated: Value::Time(Delay::round_up(*value)),
                emulated: quantile(figure(found, quantity), *per_million),
            });
        }
    }

    /// Measures by a method, with a device that is as at its beginning.
    fn by(
        &mut self,
        method: &str,
        (ports, taught): (u32, Taught),
        options: &[(&str, String)],
    ) -> Result<Findings, MethodError> {
        let mut settings = settings(self.effort, self.seed, options);
        if let Some(tester) = &mut self.relay {
            return run(method, &mut **tester, &settings);
        }
        let device = CoreSwitch::emulated(self.profile, ports, self.rate(), self.seed, taught);
        let mut tester = VirtualTester::new(device, wire::openflow::VERSION);
        if method == "throughput" {
            settings.duration = Some(TRIAL);
        }
        run(method, &mut tester, &settings)
    }

    fn rate(&self) -> BitRate {
        self.emulation.link_rate.unwrap_or(NO_LIMIT)
    }
}

fn settings(effort: Effort, seed: u64, options: &[(&str, String)]) -> Settings {
    let options = options.iter();
    let options = options.map(|(name, value)| ((*name).to_owned(), value.clone()));
    Settings {
        effort,
        seed,
        duration: None,
        options: options.collect::<BTreeMap<_, _>>(),
    }
}

fn run(
    method: &str,
    tester: &mut dyn Tester,
    settings: &Settings,
) -> Result<Findings, MethodError> {
    let method = method::named(method).expect("a method of the list");
    (method.run)(tester, settings, &mut Silent)
}

fn figure<'a>(found: &'a Findings, quantity: &str) -> Option<&'a Value> {
    let mut figures = found.figures.iter();
    let figure = figures.find(|figure| figure.quantity == quantity)?;
    Some(&figure.value)
}

fn quantile(value: Option<&Value>, per_million: u32) -> Value {
    let Some(Value::Times(times)) = value else {
        return value.cloned().unwrap_or_else(nothing);
    };
    let found = match (times.summary(), per_million) {
        (None, _) => None,
        (Some(summary), 0) => Some(summary.min),
        (Some(summary), MILLION) => Some(summary.max),
        (Some(_), other) => times.quantile(other / (MILLION / 1_000)),
    };
    found.map_or_else(nothing, Value::Time)
}

fn nothing() -> Value {
    Value::Unknown("the emulation shows none".to_owned())
}

#[cfg(test)]
mod tests;
