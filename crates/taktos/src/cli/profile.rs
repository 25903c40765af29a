//! `--profile`: what the Taktos switches of a scenario are taken to be.
//!
//! In the lab, where the kernel forwards, that is what they do on this machine while it
//! carries as much as the scenario asks for: measured the first time and when a scenario
//! brings more, and kept ([`own_profile`](run::measuring::own_profile)). Where it
//! cannot be measured or is not believed, the scenario's own word stands, and the user
//! is told. Where a loop in user space forwards, each engine has a profile of its own that
//! is shipped: a loop that shares its processor cannot be measured in some seconds.
//!
//! What the machine adds is covered up to what all but one in 100,000 frames keep, or as
//! far as deadlines leave room for it.

use std::convert::Infallible;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

use lab::forwarding_times::TimesError;
use lab::switches::{Carried, Forwarding};
use linux::clock::WallTime;
use measure::report::{ProfileOrigin, ProfileReport};
use scenario::{Profile, Scenario};
use units::Duration;

use super::exit::Exit;
use super::screen::{Steps, say};
use run::experiment::demand::RunDemand;
use run::experiment::{Experiment, ExperimentError, WorldChoice, profiles};
use run::measuring::own_profile::{Circumstances, Cover, Found, Kept, OwnProfile, OwnProfileError};
use run::measuring::target::named_profile;

/// How often the room for what the machine adds is halved.
const SEARCHED: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Committed,
    /// What is measured on this machine.
    Measured,
    /// A profile that is built in, or one of a file.
    Named(String),
}

impl FromStr for Choice {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "committed" => Self::Committed,
            "measured" => Self::Measured,
            name => Self::Named(name.to_owned()),
        })
    }
}

/// Gives the Taktos switches of a scenario the profile that is chosen, or if nothing is
/// the one that is usual in this place, and returns what all switches are taken to be.
///
/// # Errors
///
/// If what is chosen cannot be had; why was said.
pub fn settle(
    scenario: &mut Scenario,
    place: WorldChoice,
    choice: Option<&Choice>,
    stop: &AtomicBool,
) -> Result<Vec<ProfileReport>, Exit> {
    let demand = RunDemand::of(scenario);
    let own = profiles::own(scenario);
    let written = profiles::as_written(scenario);
    if own.is_empty() {
        if matches!(choice, Some(Choice::Measured | Choice::Named(_))) {
            say("--profile changes nothing: every switch has a profile of its own");
        }
        return Ok(written);
    }
    let named = match choice {
        Some(Choice::Committed) => return Ok(written),
        Some(Choice::Named(name)) => Some(name),
        Some(Choice::Measured) | None => None,
    };
    if let Some(name) = named {
        let profile = named_profile(name).map_err(|error| {
            say(format_args!("taktos: {error}"));
            Exit::BadInput
        })?;
        profiles::replace(scenario, &profile);
        return Ok(reported(scenario, &own, |report| {
            report.origin = ProfileOrigin::Chosen;
        }));
    }
    if let (None, Some(name)) = (choice, of_engine(place)) {
        let profile = Profile::built_in(name).expect("engines have profiles that are built in");
        profiles::replace(scenario, &profile);
        return Ok(reported(scenario, &own, |report| {
            report.origin = ProfileOrigin::Engine;
        }));
    }
    match obtain(place, choice.is_some(), demand, stop)? {
        Obtained::Profile { profile, kept } => {
            let cover = bearable(scenario, &profile, stop);
            profiles::replace(scenario, &profile.profile(cover));
            Ok(reported(scenario, &own, |report| {
                report.origin = ProfileOrigin::Measured;
                report.measured = Some(profile.conditions(kept));
            }))
        }
        Obtained::Not(None) => Ok(written),
        Obtained::Not(Some(why)) => {
            say(format_args!("profile: as the scenario says, since {why}"));
            Ok(reported(scenario, &own, |report| {
                report.instead = Some(why.clone());
            }))
        }
    }
}

/// Returns how often this machine can send, hand on and deliver frames in a second, all
/// together, if that is known: from a profile that is kept, whatever it was measured for.
#[must_use]
pub fn carries(place: WorldChoice) -> Option<u64> {
    if !matches!(place, WorldChoice::Lab(Forwarding::Kernel)) {
        return None;
    }
    match Kept::of_user()?.find(&Circumstances::here()) {
        Found::Profile(profile) => profile.carries(),
        Found::Nothing | Found::Other(_) | Found::Damaged(_) => None,
    }
}

/// Measures this machine if it is not known what it carries.
///
/// # Errors
///
/// If the user wants to stop.
pub fn get_to_know(
    place: WorldChoice,
    demand: RunDemand,
    stop: &AtomicBool,
) -> Result<Option<u64>, Exit> {
    if let Some(known) = carries(place) {
        return Ok(Some(known));
    }
    if Kept::of_user().is_none() {
        // It would be measured again for every run.
        return Ok(None);
    }
    match obtain(place, false, demand, stop)? {
        Obtained::Profile { profile, .. } => Ok(profile.carries()),
        Obtained::Not(_) => Ok(None),
    }
}

/// Returns what is covered of what the machine adds: all that was measured, or as much as
/// refuses no flow that would be admitted without.
fn bearable(scenario: &Scenario, profile: &OwnProfile, stop: &AtomicBool) -> Option<Cover> {
    let admitted = |cover: Option<Cover>| {
        let mut scenario = scenario.clone();
        profiles::replace(&mut scenario, &profile.profile(cover));
        let decided = Experiment::deciding(&scenario, stop).check();
        decided.map_or(0, |all| all.iter().filter(|it| it.decision.is_ok()).count())
    };
    let all = profile.covers.first().copied()?;
    let without = admitted(None);
    if admitted(Some(all)) >= without {
        return Some(all);
    }
    let (mut fits, mut refuses) = (0u64, all.ns);
    for _ in 0..SEARCHED {
        let middle = fits.midpoint(refuses);
        let cover = Cover { ns: middle, ..all };
        match admitted(Some(cover)) >= without {
            true => fits = middle,
            false => refuses = middle,
        }
    }
    let cover = profile.cover_within(Duration::from_ns(fits));
    if cover.is_none() {
        say(format_args!(
            "profile: deadlines leave {} for what this machine adds, once on the way: less than \
             it adds to one frame in a thousand. Nothing is covered of it",
            Duration::from_ns(fits)
        ));
    }
    cover
}

/// Returns the profile of the loop that forwards in a place, by its name, if one does.
fn of_engine(place: WorldChoice) -> Option<&'static str> {
    match place {
        WorldChoice::Lab(Forwarding::Loop(Carried::Packet)) => Some("taktos-af-packet"),
        WorldChoice::Lab(Forwarding::Loop(Carried::Xdp)) => Some("taktos-af-xdp"),
        WorldChoice::Lab(Forwarding::Kernel) | WorldChoice::Sim(_) => None,
    }
}

/// Returns what all switches are taken to be, that of the Taktos switches with more.
fn reported(
    scenario: &Scenario,
    own: &[scenario::ProfileIndex],
    tell: impl Fn(&mut ProfileReport),
) -> Vec<ProfileReport> {
    let mut reports = profiles::as_written(scenario);
    for index in own {
        tell(&mut reports[index.0]);
    }
    reports
}

/// What came of the wish for a measured profile.
enum Obtained {
    Profile {
        profile: Box<OwnProfile>,
        /// Whether an earlier run measured it.
        kept: bool,
    },
    /// There is none, and why if the user should know.
    Not(Option<String>),
}

/// Returns the profile of this machine: what is kept, else what is measured now. If it
/// is `demanded`, to have none is an error.
fn obtain(
    place: WorldChoice,
    demanded: bool,
    demand: RunDemand,
    stop: &AtomicBool,
) -> Result<Obtained, Exit> {
    let can_measure = matches!(place, WorldChoice::Lab(Forwarding::Kernel));
    if !can_measure && !demanded {
        return Ok(Obtained::Not(None));
    }
    let kept = Kept::of_user();
    let found = kept
        .as_ref()
        .map(|kept| (kept, kept.find(&Circumstances::here())));
    match found {
        Some((_, Found::Profile(profile))) if can_measure && !profile.is_for(&demand) => {
            say(format_args!(
                "profile: to be measured anew: the scenario asks for {} frames and {} hops a \
                 second, and it was measured under {} and {}",
                demand.frames, demand.hops, profile.load.frames, profile.load.hops
            ));
        }
        Some((_, Found::Profile(profile))) => {
            say(format_args!(
                "profile: measured on this machine {} ago, {}",
                age(&profile),
                figures(&profile)
            ));
            let kept = true;
            return Ok(Obtained::Profile { profile, kept });
        }
        Some((_, Found::Other(what))) => say(format_args!("profile: to be measured anew: {what}")),
        Some((kept, Found::Damaged(what))) => say(format_args!(
            "profile: to be measured anew: {} is damaged: {what}",
            kept.file().display()
        )),
        Some((_, Found::Nothing)) | None => {}
    }
    if !can_measure {
        say(
            "taktos: no profile of this machine is kept, and it can only be measured in the lab \
             where the kernel forwards: run a scenario there first (--world lab, as root)",
        );
        return Err(Exit::Lacking);
    }
    measure(kept.as_ref(), demanded, demand, stop)
}

fn measure(
    kept: Option<&Kept>,
    demanded: bool,
    demand: RunDemand,
    stop: &AtomicBool,
) -> Result<Obtained, Exit> {
    say(
        "profile: measuring what a Taktos switch takes on this machine under as much load, once, \
         for some twenty seconds (--profile committed does without)",
    );
    let mut steps = Steps::new("profile".to_owned());
    let measured = OwnProfile::measure(demand, stop, &mut |done, of| steps.show(done, of));
    steps.close();
    let profile = match measured {
        Ok(profile) => profile,
        Err(
            OwnProfileError::Times(TimesError::Stopped)
            | OwnProfileError::Load(ExperimentError::Stopped),
        ) => {
            say("taktos: stopped");
            return Err(Exit::Interrupted);
        }
        Err(error) if demanded => {
            say(format_args!(
                "taktos: {error}; --profile committed does without"
            ));
            return Err(Exit::Lacking);
        }
        Err(error) => return Ok(Obtained::Not(Some(error.to_string()))),
    };
    say(format_args!("profile: {}", figures(&profile)));
    match kept.map(|kept| kept.keep(&profile)) {
        Some(Ok(())) => {}
        Some(Err(error)) => say(format_args!(
            "profile: measured for this run alone: {error}"
        )),
        None => say("profile: measured for this run alone: neither XDG_CACHE_HOME nor HOME is set"),
    }
    Ok(Obtained::Profile {
        profile: Box::new(profile),
        kept: false,
    })
}

/// Says what it comes to.
fn figures(profile: &OwnProfile) -> String {
    let Profile {
        latency, per_frame, ..
    } = profile.profile(None);
    let cover = profile.covers.first().map_or(0, |cover| cover.ns);
    format!(
        "{} at most, {} a frame, and {} once for the machine; under {} frames and {} hops a \
         second it took its processor away {} times, {} at most",
        latency.value,
        per_frame.value,
        Duration::from_ns(cover),
        profile.load.frames,
        profile.load.hops,
        profile.interruptions,
        Duration::from_ns(profile.longest_interruption_ns)
    )
}

/// Says how long ago it was measured, as a clock that may have been set since tells.
fn age(profile: &OwnProfile) -> String {
    let ns = WallTime::now()
        .as_ns()
        .saturating_sub(profile.measured_unix_ns);
    let seconds = Duration::from_ns(ns).as_secs_f64();
    match seconds {
        ..120.0 => format!("{seconds:.0} s"),
        ..7_200.0 => format!("{:.0} minutes", seconds / 60.0),
        ..172_800.0 => format!("{:.0} hours", seconds / 3_600.0),
        _ => format!("{:.0} days", seconds / 86_400.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_of_a_loop_has_a_profile_that_is_built_in() {
        for carried in [Carried::Packet, Carried::Xdp] {
            let name = of_engine(WorldChoice::Lab(Forwarding::Loop(carried))).unwrap();

            let profile = Profile::built_in(name).unwrap();

            assert!(
                profile.emulation.is_none(),
                "{name}: the lab would refuse it"
            );
        }
        use run::experiment::SimEngine;
        assert_eq!(of_engine(WorldChoice::Sim(SimEngine::Tables)), None);
    }

    #[test]
    fn a_word_chooses_and_anything_else_is_a_name() {
        let choice = |text: &str| text.parse::<Choice>().unwrap();

        assert_eq!(choice("committed"), Choice::Committed);
        assert_eq!(choice("measured"), Choice::Measured);
        assert_eq!(choice("mine.toml"), Choice::Named("mine.toml".to_owned()));
    }
}
