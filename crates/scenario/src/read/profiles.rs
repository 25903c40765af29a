//! Reads device profiles and finds those that switches name.

use units::Delay;

use crate::format::{PROFILE, profile};
use crate::limits::MOST_PROFILES;
use crate::mistake::{Mistake, nearest, quote};
use crate::problem::{Place, Problems, ScenarioError};
use crate::profile::BUILT_IN;
use crate::read::{Loader, start, stem, tree};
use crate::record::Record;
use crate::shape::{Table, list};
use crate::{ControlTimes, Lookup, Origin, Profile, ProfileIndex, Stated};

/// Reads a profile from its text.
pub(super) fn parse(name: &str, text: &str) -> Result<Profile, ScenarioError> {
    let mut problems = Problems::default();
    let profile = tree(text, &PROFILE, &mut problems)
        .map(|tree| read(name, &Record::new(&PROFILE, &tree, start())));
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
        place: &Place,
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
        let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
        let Some((_, text)) = built_in else {
            let names = BUILT_IN.iter().map(|(name, _)| *name);
            return Err(Mistake::UnknownChoice {
                what: "profile",
                text: quote(name),
                nearest: nearest(name, names.clone()),
                choices: format!("{}, or a file ending in `.toml`", list(names)),
            });
        };
        return Ok(parse(name, text).expect("built-in profiles are tested"));
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

fn read(name: &str, file: &Record<'_>) -> Profile {
    let processing = file.record("processing", &profile::PROCESSING);
    let buffers = file.record("buffers", &profile::BUFFERS);
    let control = file.record("control", &profile::CONTROL);
    Profile {
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
    }
}

fn lookup(file: &Record<'_>) -> Lookup {
    let lookup = file.record("lookup", &profile::LOOKUP);
    Lookup {
        per_mask: delay(&lookup, "per_mask"),
        masks: count(&lookup, "masks"),
        per_action: delay(&lookup, "per_action"),
        actions: count(&lookup, "actions"),
    }
}

fn delay(record: &Record<'_>, key: &str) -> Stated<Delay> {
    stated(record, key, &profile::STATED_DELAY, |record| {
        record.delay("value")
    })
}

fn count(record: &Record<'_>, key: &str) -> Stated<u64> {
    stated(record, key, &profile::STATED_COUNT, |record| {
        record.integer("value").map(u64::from)
    })
}

fn stated<T: Default>(
    record: &Record<'_>,
    key: &str,
    table: &'static Table,
    value: fn(&Record<'_>) -> Option<T>,
) -> Stated<T> {
    let record = record.record(key, table);
    Stated {
        value: value(&record).unwrap_or_default(),
        origin: match record.choice("origin") {
            Some("measured") => Origin::Measured,
            Some("paper") => Origin::Paper,
            Some(_) | None => Origin::Stated,
        },
        note: record.text("note").unwrap_or_default().to_owned(),
    }
}
