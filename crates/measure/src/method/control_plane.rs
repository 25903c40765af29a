//! How long a device works on each message of a controller (S4-1, LOKO section 3.2),
//! and how long until the message is felt in the data plane.
//!
//! | module | knows |
//! |---|---|
//! | [`messages`] | every message, and the state of the device for each |
//! | [`exchange`] | LOKO Eqs. (1) to (3) |
//! | [`effect`] | from an order to the first frame that meets it |
//!
//! # Differs from the paper
//!
//! Over a TCP connection without taps the stamps are those of the tester's own
//! program, so that waking it up is part of every time.

pub mod effect;
pub mod exchange;
pub mod messages;

use units::Duration;

use super::orders::Version;
use super::{Effort, Findings, Method, MethodError, Progress, Setting, Settings, at_each, choice};
use crate::measurement::{Figure, Value};
use crate::trial::{Tester, TrialError};
use exchange::MessageTimes;
use messages::MessageTest;

/// `taktos measure control-plane`.
pub const METHOD: Method = Method {
    name: "control-plane",
    finds: "how long the device works on each OpenFlow message, and until it takes effect (S4-1)",
    options: &[
        ("entries", "entries of the table [1,16,32,64,96,128]"),
        ("actions", "actions of an entry [0,1,2,3,4]"),
        ("samples", "samples of each point [100]"),
    ],
    run,
};

/// The sizes of tables of LOKO section 3.2.2 that are measured.
const ENTRIES: [u16; 6] = [1, 16, 32, 64, 96, 128];
const ACTIONS: [u8; 5] = [0, 1, 2, 3, 4];
const QUICK_ENTRIES: [u16; 2] = [1, 32];
const QUICK_ACTIONS: [u8; 1] = [1];
/// LOKO section 3.2.2.
const SAMPLES: u16 = 100;
const QUICK_SAMPLES: u16 = 20;
const MOST_SAMPLES: u16 = 10_000;
const MOST_ACTIONS: u8 = 64;
const SOURCE: &str = "S4-1, LOKO Eqs. (1) to (3)";

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let version = version_of(tester)?;
    let (entries, actions, samples) = dimensions(settings)?;
    let mut points = messages::simple(version);
    for entries in &entries {
        for actions in &actions {
            points.extend(messages::with_table(version, *entries, *actions));
        }
    }
    let barrier = barrier_time(tester, samples)?;
    let mut steps: Vec<_> = points.iter().map(MeasurementStep::of).collect();
    if tester.setup().ports.len() > 1 {
        let name = choice("message", "FlowMod under traffic");
        steps.push((vec![name], MeasurementStep::Effect));
    }
    let mut findings = at_each(&steps, progress, |_, step, found| {
        match step {
            MeasurementStep::Message(point) => {
                let times = exchange::measure(tester, &point.exchange, samples, barrier)?;
                describe(point, times, found);
            }
            MeasurementStep::Effect => describe_effects(effect::measure(tester, samples)?, found),
        }
        Ok(())
    })?;
    let remark = format!(
        "Messages were of {}, {samples} samples a point. A strict order names one entry.",
        version.name()
    );
    findings.remarks.push(remark);
    Ok(findings)
}

/// One of the things that are measured.
enum MeasurementStep<'a> {
    Message(&'a MessageTest),
    Effect,
}

impl<'a> MeasurementStep<'a> {
    fn of(point: &'a MessageTest) -> (Setting, Self) {
        let mut setting = vec![choice("message", &point.name)];
        setting.extend(point.setting.iter().cloned());
        (setting, Self::Message(point))
    }
}

/// Returns the version that was agreed on.
///
/// # Errors
///
/// If the device has no agent, or another version was agreed on.
pub fn version_of(tester: &dyn Tester) -> Result<Version, MethodError> {
    let number = tester.control_link().version;
    let setup = tester.setup();
    if !setup.agent {
        return Err(MethodError::Unsuitable(format!(
            "{} has no OpenFlow agent: choose a switch that connects to a controller, or name the \
             agent of your device with `--agent` or `--listen`",
            setup.device
        )));
    }
    Version::of(number).ok_or_else(|| {
        MethodError::Unsuitable(format!(
            "the agent speaks version {number} of OpenFlow, and what is measured is written in 1.0 \
             (1) and 1.3 (4)"
        ))
    })
}

/// Returns how long the device works on a barrier: the median, LOKO Eq. (1).
///
/// # Errors
///
/// If it does not answer one.
pub fn barrier_time(tester: &mut dyn Tester, samples: u16) -> Result<Duration, MethodError> {
    let version = version_of(tester)?;
    let exchange = messages::barrier(version);
    let times = exchange::measure(tester, &exchange, samples, Duration::ZERO)?;
    times.times.quantile(500).ok_or_else(|| {
        MethodError::Unsuitable(format!(
            "{} answers no barrier, so that nothing can be said of messages without an answer",
            tester.setup().device
        ))
    })
}

fn dimensions(settings: &Settings) -> Result<(Vec<u16>, Vec<u8>, u16), MethodError> {
    let (entries, actions, samples) = match settings.effort {
        Effort::Full => (ENTRIES.to_vec(), ACTIONS.to_vec(), SAMPLES),
        Effort::Quick => (
            QUICK_ENTRIES.to_vec(),
            QUICK_ACTIONS.to_vec(),
            QUICK_SAMPLES,
        ),
    };
    let most = super::table_setting::MOST_ENTRIES;
    Ok((
        settings.list_within("entries", entries, 1..=most)?,
        settings.list_within("actions", actions, ..=MOST_ACTIONS)?,
        settings.within("samples", samples, 1..=MOST_SAMPLES)?,
    ))
}

fn describe(point: &MessageTest, times: MessageTimes, findings: &mut Findings) {
    let asked = format!("{} {:?}", point.name, point.setting);
    let value = value_of(&times);
    if times.times.count() > 0 && times.barrier_too_late + times.unanswered > 0 {
        findings.remarks.push(format!(
            "{asked}: {} samples were left out, since the message was done before the barrier came \
             (LOKO Eq. (3)), and {} were not answered in time.",
            times.barrier_too_late, times.unanswered
        ));
    }
    let quantity = format!("processing time of {}", point.name);
    findings.add((&quantity, SOURCE), &point.setting, value);
}

fn value_of(times: &MessageTimes) -> Value {
    if times.times.count() > 0 {
        return Value::Times(times.times.clone());
    }
    if let Some(((kind, code), _)) = times.refused.iter().max_by_key(|(_, times)| **times) {
        let reason = format!("the device refuses it: error type {kind}, code {code}");
        return Value::Unknown(reason);
    }
    let reason = match times.barrier_too_late {
        0 => "it was not answered within a second",
        _ => "the message was done before the barrier came: LOKO Eq. (3) does not hold",
    };
    Value::Unknown(reason.to_owned())
}

fn describe_effects(effects: effect::Effects, findings: &mut Findings) {
    let figure = |quantity: &str, value| Figure {
        quantity: quantity.to_owned(),
        source: "S4-1".to_owned(),
        setting: vec![("frames every".to_owned(), effect::SPACING.to_string())],
        value,
    };
    findings.figures.extend([
        figure(
            "from FlowMod Add to its first frame",
            Value::Times(effects.added),
        ),
        figure(
            "from FlowMod Delete to its first frame",
            Value::Times(effects.deleted),
        ),
        figure(
            "barriers answered before the effect",
            Value::Count(effects.promised_too_early),
        ),
        figure(
            "orders without effect",
            Value::Count(effects.without_effect),
        ),
        figure("orders", Value::Count(effects.orders)),
    ]);
}

impl From<MessageTimes> for Value {
    fn from(times: MessageTimes) -> Self {
        value_of(&times)
    }
}

/// Measures one message at one point: for whoever composes measurements of their
/// own.
///
/// # Errors
///
/// If a trial cannot be made.
pub fn measure_point(
    tester: &mut dyn Tester,
    point: &MessageTest,
    samples: u16,
    barrier: Duration,
) -> Result<MessageTimes, TrialError> {
    exchange::measure(tester, &point.exchange, samples, barrier)
}
