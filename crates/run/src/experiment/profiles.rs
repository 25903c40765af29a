//! What the switches of a scenario are taken to be, and how a profile of the Taktos
//! switch takes the place of another one.
//!
//! A scenario that names `taktos-kernel` or `taktos-packet`, or nothing, says which
//! device it has: the Taktos switch. What that does on this machine is another
//! question, to which the figures of another machine are a poor answer.

use measure::report::{ProfileOrigin, ProfileReport, Statistical};
use scenario::{Profile, ProfileIndex, Scenario};

/// The profiles that are shipped of the Taktos switch.
pub const OWN: [&str; 2] = ["taktos-kernel", "taktos-packet"];

/// Returns the profiles of a scenario, as it names them.
#[must_use]
pub fn as_written(scenario: &Scenario) -> Vec<ProfileReport> {
    let profiles = scenario.profiles.iter().enumerate();
    let reports = profiles.map(|(index, profile)| ProfileReport {
        name: profile.name.clone(),
        switches: users(scenario, ProfileIndex(index)),
        origin: ProfileOrigin::Scenario,
        about: profile.about.clone(),
        latency_ns: profile.longest_latency().round_up().as_ns(),
        per_frame_ns: profile.longest_per_frame().round_up().as_ns(),
        statistical: profile.machine.as_ref().map(|share| Statistical {
            one_in: share.one_in,
            confidence_percent: share.confidence_percent,
            cover_ns: share.cover.round_up().as_ns(),
            about: share.about.clone(),
        }),
        measured: None,
        instead: None,
    });
    reports.collect()
}

/// Returns the places of the profiles that are shipped of the Taktos switch, among
/// those of the scenario that a switch has.
#[must_use]
pub fn own(scenario: &Scenario) -> Vec<ProfileIndex> {
    let indices = (0..scenario.profiles.len()).map(ProfileIndex);
    let own = indices.filter(|index| {
        let profile = &scenario.profiles[index.0];
        // A file may have the same name.
        let shipped = OWN.contains(&profile.name.as_str())
            && Profile::built_in(&profile.name).as_ref() == Some(profile);
        shipped && users(scenario, *index) > 0
    });
    own.collect()
}

/// Puts `profile` in the place of those of the Taktos switch, whose switches have it
/// from then on.
pub fn replace(scenario: &mut Scenario, profile: &Profile) {
    for index in own(scenario) {
        scenario.profiles[index.0] = profile.clone();
    }
}

fn users(scenario: &Scenario, profile: ProfileIndex) -> usize {
    let switches = scenario.switches.iter();
    switches.filter(|switch| switch.profile == profile).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = r#"
[scenario]
title = "Mixed"
duration = "1 s"

[network]
link_rate = "100 Mbit/s"

[switches]
s1 = {}
s2 = { profile = "zodiac-fx" }
s3 = { profile = "taktos-kernel" }

[links]
a = ["s1", "s2"]
b = ["s2", "s3"]

[hosts]
h1 = { at = "s1" }
h2 = { at = "s3" }

[flows.control]
kind = "udp"
from = "h1"
to = "h2"
frame = "306 B"
rate = "1 Mbit/s"
deadline = "10 ms"
"#;

    fn mixed() -> Scenario {
        let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Scenario::parse("mixed.toml", MIXED, &mut nothing).unwrap()
    }

    /// By these numbers flows are promised, also to switches that run by themselves.
    #[test]
    fn queues_of_a_switch_are_as_long_as_its_profile_says() {
        for name in OWN {
            let profile = Profile::built_in(name).unwrap();

            let frames = u64::from(switch::QUEUE_FRAMES);
            assert_eq!(profile.queue_frames.value, frames, "{name}");
        }
    }

    #[test]
    fn only_taktos_switches_are_given_another_profile() {
        let mut scenario = mixed();
        let other = Profile::built_in("line-rate").unwrap();

        replace(&mut scenario, &other);

        let reports = as_written(&scenario);
        let names: Vec<_> = reports.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["line-rate", "zodiac-fx", "line-rate"]);
        assert!(own(&scenario).is_empty(), "none is left");
    }

    #[test]
    fn a_file_of_the_same_name_is_the_users_own() {
        let mut scenario = mixed();
        scenario.profiles[0].queue_frames.value += 1;

        let left = own(&scenario);

        assert_eq!(left.len(), 1, "taktos-packet is another one now");
        assert_eq!(scenario.profiles[left[0].0].name, "taktos-kernel");
    }

    #[test]
    fn what_no_switch_has_is_left_alone() {
        let mut scenario = mixed();
        let kernel = scenario.switches[2].profile;
        for switch in &mut scenario.switches {
            switch.profile = kernel;
        }

        assert_eq!(own(&scenario), [kernel]);
    }
}
