//! Reads device profiles and finds those that switches name.

use units::Delay;

use crate::format::{PROFILE, profile};
use crate::limits::MOST_PROFILES;
use crate::mistake::{Mistake, nearest, quote};
use crate::problem::{Problems, ScenarioError, TextSpan};
use crate::read::{Loader, emulation, start, stem, tree};
use crate::record::LayeredTable;
use crate::shape::{LONGEST_DELAY, TableShape, list};
use crate::{ControlTimes, Lookup, Origin, Profile, ProfileIndex, Stated};

/// Reads a profile from its text.
pub(super) fn parse(name: &str, text: &str) -> Result<Profile, ScenarioError> {
    let mut problems = Problems::default();
    let tree = tree(text, &PROFILE, &mut problems);
    let profile = tree.map(|tree| {
        read(
            name,
            &LayeredTable::new(&PROFILE, &tree, start()),
            &mut problems,
        )
    });
    let profile = problems.or(name, text, profile)?;
    Ok(profile.expect("where there is no tree there is a problem"))
}

/// The profiles that a scenario has named so far.
#[derive(Default)]
pub(super) struct Profiles {
    known: Vec<(String, Profile)>,
}

impl Profiles {
    /// Returns the profile that the file calls `name`: a built-in one, or one
    /// from another file.
    pub(super) fn find(
        &mut self,
        name: &str,
        place: &TextSpan,
        load: &mut Loader<'_>,
        problems: &mut Problems,
    ) -> ProfileIndex {
        let known = self.known.iter().position(|(known, _)| known == name);
        if let Some(index) = known {
            return ProfileIndex(index);
        }
        let profile = match self.known.len() < MOST_PROFILES {
            true => obtain(name, load),
            false => Err(Mistake::TooMany {
                what: "profiles",
                count: MOST_PROFILES + 1,
                limit: MOST_PROFILES,
            }),
        };
        match profile {
            Ok(profile) => {
                self.known.push((name.to_owned(), profile));
                ProfileIndex(self.known.len() - 1)
            }
            Err(mistake) => {
                problems.report(place.clone(), mistake);
                ProfileIndex(0)
            }
        }
    }

    pub(super) fn into_list(self) -> Vec<Profile> {
        self.known.into_iter().map(|(_, profile)| profile).collect()
    }
}

fn obtain(name: &str, load: &mut Loader<'_>) -> Result<Profile, Mistake> {
    if !name.ends_with(".toml") {
        let names = Profile::built_in_names();
        return Profile::built_in(name).ok_or_else(|| Mistake::UnknownChoice {
            what: "profile",
            text: quote(name),
            nearest: nearest(name, names.clone()),
            choices: format!("{}, or a file ending in `.toml`", list(names)),
        });
    }
    let text = load(name).map_err(|error| Mistake::Load {
        file: quote(name),
        reason: error.to_string(),
    })?;
    parse(name, &text).map_err(|error| {
        let first = error.problems().first();
        let line = |problem: &crate::Problem| text[..problem.place.start].lines().count().max(1);
        Mistake::Import {
            file: quote(name),
            what: "profile",
            reason: first.map_or_else(String::new, |first| {
                format!("line {}: {first}", line(first))
            }),
        }
    })
}

fn read(name: &str, file: &LayeredTable<'_>, problems: &mut Problems) -> Profile {
    let processing = file.record("processing", &profile::PROCESSING);
    let buffers = file.record("buffers", &profile::BUFFERS);
    let control = file.record("control", &profile::CONTROL);
    let read = Profile {
        name: stem(name).to_owned(),
        about: file.text("about").unwrap_or_default().to_owned(),
        latency: delay(&processing, "latency"),
        per_frame: delay(&processing, "per_frame"),
        lookup: file.has("lookup").then(|| lookup(file)),
        pool_frames: count(&buffers, "pool_frames"),
        queue_frames: count(&buffers, "queue_frames"),
        control: ControlTimes {
            flow_mod: delay(&control, "flow_mod"),
            packet_in: delay(&control, "packet_in"),
            packet_out: delay(&control, "packet_out"),
            barrier: delay(&control, "barrier"),
            echo: delay(&control, "echo"),
        },
        emulation: file
            .has("emulation")
            .then(|| emulation::read(&file.record("emulation", &profile::EMULATION), problems)),
        machine: None,
    };
    check_total(&read, file, problems);
    read
}

/// Reports a lookup with which a frame takes longer than may be stated at all.
fn check_total(profile: &Profile, file: &LayeredTable<'_>, problems: &mut Problems) {
    let Some(lookup) = &profile.lookup else {
        return;
    };
    let times = |each: &Stated<Delay>, count: &Stated<u64>| {
        u128::from(each.value.as_ps()) * u128::from(count.value)
    };
    let longest = profile.latency.value.max(profile.per_frame.value);
    let total = u128::from(longest.as_ps())
        + times(&lookup.per_mask, &lookup.masks)
        + times(&lookup.per_action, &lookup.actions);
    if total > u128::from(LONGEST_DELAY.as_ps()) {
        let mistake = Mistake::OutOfRange {
            value: format!("{total} ps for a frame with its lookup"),
            least: Delay::ZERO.to_string(),
            most: LONGEST_DELAY.to_string(),
        };
        problems.report(file.place_of("lookup"), mistake);
    }
}

fn lookup(file: &LayeredTable<'_>) -> Lookup {
    let lookup = file.record("lookup", &profile::LOOKUP);
    Lookup {
        per_mask: delay(&lookup, "per_mask"),
        masks: count(&lookup, "masks"),
        per_action: delay(&lookup, "per_action"),
        actions: count(&lookup, "actions"),
    }
}

pub(super) fn delay(record: &LayeredTable<'_>, key: &str) -> Stated<Delay> {
    stated(record, key, &profile::STATED_DELAY, |record| {
        record.delay("value")
    })
}

pub(super) fn count(record: &LayeredTable<'_>, key: &str) -> Stated<u64> {
    stated(record, key, &profile::STATED_COUNT, |record| {
        record.integer("value").map(u64::from)
    })
}

fn stated<T: Default>(
    record: &LayeredTable<'_>,
    key: &str,
    table: &'static TableShape,
    value: fn(&LayeredTable<'_>) -> Option<T>,
) -> Stated<T> {
    let record = record.record(key, table);
    let value = value(&record).unwrap_or_default();
    with_origin(&record, value)
}

/// Returns the value with what its table says of how it was obtained.
pub(super) fn with_origin<T>(record: &LayeredTable<'_>, value: T) -> Stated<T> {
    Stated {
        value,
        origin: match record.choice("origin") {
            Some("measured") => Origin::Measured,
            Some("paper") => Origin::Paper,
            Some(_) | None => Origin::Stated,
        },
        note: record.text("note").unwrap_or_default().to_owned(),
    }
}
