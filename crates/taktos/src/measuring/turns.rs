//! Devices that are measured in turns: the machine is the same for both, and what it
//! does in one minute does not speak for or against one of them.
//!
//! Each turn starts its device anew and ends it, so that none disturbs the other. The
//! one that begins changes from round to round.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use lab::tester::TesterError;
use measure::measurement::Measurement;
use measure::method::{Effort, Method, MethodError, Progress, Settings};
use thiserror::Error;
use units::Duration;

use super::conditions::Record;
use super::measure as make;
use super::target::{Target, Wanted};

/// What is measured of each device.
#[derive(Clone, Debug)]
pub struct Plan {
    /// By which methods, and what is chosen of each.
    pub methods: Vec<(&'static Method, BTreeMap<String, String>)>,
    /// How often.
    pub rounds: u64,
    /// How much of it.
    pub effort: Effort,
    /// Everything random follows from it.
    pub seed: u64,
    /// How long one trial sends; the methods' own choice if nothing is said.
    pub duration: Option<Duration>,
}

/// Why a turn came to nothing.
#[derive(Debug, Error)]
pub enum TurnError {
    /// There is no tester.
    #[error(transparent)]
    Tester(#[from] TesterError),
    /// The method found nothing.
    #[error(transparent)]
    Method(#[from] MethodError),
}

/// Measures both in turns, and returns what was found of each.
///
/// # Errors
///
/// If a device does not run or a method fails.
pub fn in_turns(
    targets: [&Target; 2],
    plan: &Plan,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn Progress,
) -> Result<[Vec<Measurement>; 2], TurnError> {
    let mut found = [Vec::new(), Vec::new()];
    let turns = plan.rounds * plan.methods.len() as u64 * 2;
    let mut done = 0;
    for round in 0..plan.rounds {
        for (method, options) in &plan.methods {
            let order = if round % 2 == 0 { [0, 1] } else { [1, 0] };
            for side in order {
                progress.step(done, turns, method.name);
                let settings = Settings {
                    effort: plan.effort,
                    seed: plan.seed + round,
                    duration: plan.duration,
                    options: options.clone(),
                };
                found[side].push(turn(targets[side], method, &settings, stop)?);
                done += 1;
            }
        }
    }
    Ok(found)
}

/// Measures one device once, on a thread of its own: a tester leaves a processor to its
/// device for as long as its thread lasts, and the next device shall have one too.
///
/// # Errors
///
/// If it does not run or the method fails.
pub fn turn(
    target: &Target,
    method: &Method,
    settings: &Settings,
    stop: &Arc<AtomicBool>,
) -> Result<Measurement, TurnError> {
    thread::scope(|scope| {
        let turn = scope.spawn(|| take_turn(target, method, settings, stop));
        match turn.join() {
            Ok(made) => made,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn take_turn(
    target: &Target,
    method: &Method,
    settings: &Settings,
    stop: &Arc<AtomicBool>,
) -> Result<Measurement, TurnError> {
    let record = Record::begin();
    let wanted = Wanted::for_method(method.name, settings.seed, Arc::clone(stop));
    // Others who load the receiver are behind ports of their own.
    let ports = match settings.options.contains_key("load") {
        true => 4,
        false => wanted.ports,
    };
    let mut tester = target.open(&Wanted { ports, ..wanted })?;
    let mut silent = measure::method::Silent;
    Ok(make(method, &mut *tester, settings, &mut silent, record)?)
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Write};

    use linux::namespace::Namespace;
    use measure::comparison::{self, Verdict};
    use measure::method;

    use super::*;

    const SLOW: Duration = Duration::from_ms(20);
    const QUICK: Duration = Duration::from_ms(2);

    /// The delays are so long that the rest of the way hardly shows, and a tenth of one
    /// another.
    #[test]
    fn of_two_relays_the_slower_one_is_named_and_how_much_slower_it_is() {
        if !has_namespaces("of_two_relays_the_slower_one_is_named") {
            return;
        }
        let options = [("interval", "2ms"), ("window", "none")];
        let options = options.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let plan = Plan {
            methods: vec![(method::named("latency").unwrap(), options.into())],
            rounds: 3,
            effort: Effort::Quick,
            seed: 1,
            duration: Some(Duration::from_ms(300)),
        };
        let targets = [SLOW, QUICK].map(|delay| {
            let text = format!("relay:delay={}ms", delay.as_ns() / 1_000_000);
            text.parse::<Target>().unwrap()
        });
        let stop = Arc::new(AtomicBool::new(false));
        let mut silent = method::Silent;

        let [slow, quick] = &targets;
        let [slow, quick] = in_turns([slow, quick], &plan, &stop, &mut silent).unwrap();
        let found = comparison::compare(&slow, &quick);

        let mut rows = found.rows.iter();
        let row = rows.find(|row| row.quantity == "one-way latency, median");
        let row = row.unwrap();
        assert_eq!(row.verdict, Verdict::Second, "{row:?}");
        let (low, high) = row.effect.unwrap().bounds.unwrap();
        // What relays and machine add is more of 2 ms than of 20.
        assert!(low <= 0.12 && high >= 0.09, "from {low} to {high}");
        assert!(high < 0.9, "from {low} to {high}");
    }

    /// Tells whether there may be namespaces, or says loudly that there may not.
    fn has_namespaces(test: &str) -> bool {
        match Namespace::new() {
            Ok(_) => true,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let is_required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
                assert!(!is_required, "{test}: {error}");
                // Not `eprintln!`: the test harness would swallow it.
                let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: {error}\n");
                false
            }
            Err(error) => panic!("{error}"),
        }
    }
}
