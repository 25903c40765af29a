//! The files that hold os-ken's tests, by how much of the machine they need.

use std::fs;
use std::path::PathBuf;

use super::family::Family;
use crate::failure::Failure;

/// From this rate on the tester needs a processor for itself.
const FLOOD_FRAMES_PER_SECOND: u32 = 5_000;
/// What stands before a rate.
const RATE: &str = "\"pktps\":";

/// How many frames the cases of a file send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseLoad {
    /// A few.
    Single,
    /// Some hundreds or thousands a second, for half a minute.
    Stream,
    /// As many a second as the tester can send.
    Flood,
}

impl CaseLoad {
    /// Every load, in the order in which they run.
    pub const ALL: [Self; 3] = [Self::Single, Self::Stream, Self::Flood];

    /// Returns how many testers can run side by side under this load, of `lanes`
    /// at most.
    pub fn lanes(self, lanes: usize) -> usize {
        match self {
            Self::Single | Self::Stream => lanes,
            Self::Flood => 1,
        }
    }

    /// Returns its name.
    pub fn word(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Stream => "stream",
            Self::Flood => "flood",
        }
    }

    /// Returns the load of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|load| load.word() == word)
    }

    fn of(text: &str) -> Self {
        let rates = text.split(RATE).skip(1).filter_map(leading_number);
        match rates.max() {
            None => Self::Single,
            Some(rate) if rate < FLOOD_FRAMES_PER_SECOND => Self::Stream,
            Some(_) => Self::Flood,
        }
    }
}

/// One file of tests.
#[derive(Clone, Debug)]
pub struct CaseFile {
    /// Its name, with that of its family: there are files of one name in two.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// How many frames its cases send.
    pub load: CaseLoad,
}

impl CaseFile {
    /// Looks into a file of `family`.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn read(family: Family, path: PathBuf) -> Result<Self, Failure> {
        let text = fs::read_to_string(&path).map_err(Failure::at(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self {
            name: format!("{}-{name}", family.name()),
            load: CaseLoad::of(&text),
            path,
        })
    }
}

fn leading_number(text: &str) -> Option<u32> {
    let text = text.trim_start();
    let digits = text.find(|it: char| !it.is_ascii_digit())?;
    text[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::CaseLoad;

    #[test]
    fn the_highest_rate_of_a_file_says_how_much_it_needs() {
        for (text, load) in [
            ("\"ingress\": []", CaseLoad::Single),
            ("\"pktps\":175,", CaseLoad::Stream),
            ("\"pktps\": 200, \"pktps\":20000\n", CaseLoad::Flood),
        ] {
            assert_eq!(CaseLoad::of(text), load, "{text}");
        }
    }
}
