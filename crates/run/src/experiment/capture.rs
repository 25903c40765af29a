//! The capture files that a scenario asks for: one for each link.
//!
//! Files are made before anything else happens, so that nobody waits for a run to
//! hear that they cannot be written. A file has the name of its link.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use measure::capture::{CaptureFile, CaptureRecord, Captures, Heading, Interface, MOST_FILE_BYTES};
use scenario::{Capture, End, Link, LinkIndex, Node, Scenario};

use super::{ExperimentError, WorldChoice};

/// What the names of capture files end in.
pub const EXTENSION: &str = "pcapng";
/// The most characters of a link's name that its file keeps.
const LONGEST_NAME: usize = 100;
/// What a file collects before it goes to the machine.
const BUFFER_BYTES: usize = 64 << 10;

/// Makes the capture files that a scenario asks for, in `folder`.
///
/// # Errors
///
/// If the system refuses one of them.
pub fn open(
    scenario: &Scenario,
    place: WorldChoice,
    unix_origin_ns: u64,
    folder: &Path,
) -> Result<Captures, ExperimentError> {
    let mut captures = Captures::new(unix_origin_ns);
    let mut taken = BTreeSet::new();
    let heading = heading(scenario, place);
    for LinkIndex(number) in wanted(scenario) {
        let link = &scenario.links[number];
        let name = file_name(&link.name, &mut taken);
        let path = folder.join(&name);
        let file = fs::create_dir_all(folder).and_then(|()| File::create(&path));
        let file = file.map_err(|reason| ExperimentError::Capture { path, reason })?;
        let out = Box::new(BufWriter::with_capacity(BUFFER_BYTES, file));
        let interfaces = interfaces(scenario, link);
        let file = CaptureFile::begin(name, out, &heading, &interfaces);
        captures.add(number, file);
    }
    Ok(captures)
}

/// Returns what capture files lack, a sentence each.
pub fn notes(records: &[CaptureRecord]) -> Vec<String> {
    let mut notes = Vec::new();
    for record in records {
        let name = &record.name;
        if let Some(reason) = &record.failure {
            notes.push(format!(
                "The capture {name} could not be written ({reason}) and is not complete."
            ));
        } else if record.left_out > 0 {
            notes.push(format!(
                "The capture {name} reached {} MiB and ends there; {} later frames are not in it.",
                MOST_FILE_BYTES >> 20,
                record.left_out
            ));
        }
        if record.missed > 0 {
            notes.push(format!(
                "{} frames went by the taps of the capture {name}.",
                record.missed
            ));
        }
    }
    notes
}

fn wanted(scenario: &Scenario) -> Vec<LinkIndex> {
    match &scenario.measurement.capture {
        Capture::Nothing => Vec::new(),
        Capture::Everything => (0..scenario.links.len()).map(LinkIndex).collect(),
        Capture::Links(links) => {
            let once: BTreeSet<_> = links.iter().copied().collect();
            once.into_iter().collect()
        }
    }
}

fn heading(scenario: &Scenario, place: WorldChoice) -> Heading {
    let world = match place {
        WorldChoice::Sim(_) => "sim",
        WorldChoice::Lab(_) => "lab",
    };
    Heading {
        comment: format!(
            "scenario {}, seed {}, world {world}",
            scenario.name, scenario.seed
        ),
        program: concat!("taktos ", env!("CARGO_PKG_VERSION")).to_owned(),
    }
}

/// Returns where the frames of a link are seen: at its host, or at both switches.
fn interfaces(scenario: &Scenario, link: &Link) -> Vec<Interface> {
    let interface = |end: End, about: String| Interface {
        name: match end.node {
            Node::Switch(_) => format!("{} port {}", scenario.name_of(end.node), end.port),
            Node::Host(_) => scenario.name_of(end.node).to_owned(),
        },
        about,
        rate: link.rate,
    };
    let is_host = |end: &End| matches!(end.node, Node::Host(_));
    match link.ends.into_iter().find(is_host) {
        Some(host) => {
            let about = format!("link {}, both directions", link.name);
            vec![interface(host, about)]
        }
        None => link
            .ends
            .map(|end| interface(end, format!("link {}, what arrives here", link.name)))
            .to_vec(),
    }
}

/// Returns a name for the file of a link that no other has and that every system
/// takes, even where capitals are small letters.
fn file_name(link: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => c,
        _ => '_',
    };
    let mut stem: String = link.chars().take(LONGEST_NAME).map(plain).collect();
    if stem.is_empty() {
        stem.push('_');
    }
    let mut name = format!("{stem}.{EXTENSION}");
    let mut number = 2;
    while !taken.insert(name.to_lowercase()) {
        name = format!("{stem}-{number}.{EXTENSION}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_names_of_their_own_in_their_folder() {
        let mut taken = BTreeSet::new();

        let names = ["s1-s2", "../s1", "..\u{0}s1", "S1-S2", "\u{e9}tage 1", ""]
            .map(|link| file_name(link, &mut taken));

        assert_eq!(
            names,
            [
                "s1-s2.pcapng",
                "___s1.pcapng",
                "___s1-2.pcapng",
                "S1-S2-2.pcapng",
                "_tage_1.pcapng",
                "_.pcapng"
            ]
        );
    }

    #[test]
    fn what_a_capture_lacks_is_said() {
        let whole = CaptureRecord {
            name: "a.pcapng".to_owned(),
            frames: 9,
            ..CaptureRecord::default()
        };
        let full = CaptureRecord {
            left_out: 7,
            ..whole.clone()
        };
        let failed = CaptureRecord {
            failure: Some("no storage space".to_owned()),
            missed: 3,
            ..full.clone()
        };

        assert_eq!(notes(&[whole]), [""; 0]);
        assert_eq!(
            notes(&[full, failed]),
            [
                "The capture a.pcapng reached 256 MiB and ends there; 7 later frames are not in \
                 it.",
                "The capture a.pcapng could not be written (no storage space) and is not complete.",
                "3 frames went by the taps of the capture a.pcapng.",
            ]
        );
    }
}
