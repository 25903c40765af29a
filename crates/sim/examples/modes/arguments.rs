//! What the run is told.

use std::ops::Range;

pub const USAGE: &str = "\
usage: modes [--seeds NUMBER] [--first SEED] [--threads NUMBER]
       modes --seed SEED

  --seeds NUMBER    how many networks are drawn (10,000)
  --first SEED      the seed of the first (0)
  --threads NUMBER  how many processors are used (2)
  --seed SEED       shows one network, what it goes through and what came of it";

#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    count: u64,
    first: u64,
    /// The one seed that is shown.
    pub seed: Option<u64>,
    /// How many processors are used, if that is said.
    pub threads: Option<usize>,
}

impl Arguments {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// A sentence that names the argument that is wrong.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            count: 10_000,
            first: 0,
            seed: None,
            threads: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` lacks its value"));
            match word.as_str() {
                "--seeds" => arguments.count = number(&value()?)?,
                "--first" => arguments.first = number(&value()?)?,
                "--threads" => arguments.threads = usize::try_from(number(&value()?)?).ok(),
                "--seed" => arguments.seed = Some(number(&value()?)?),
                _ => return Err(format!("`{word}` is unknown")),
            }
        }
        Ok(arguments)
    }

    /// Returns the seeds of the networks that are drawn.
    pub fn seeds(&self) -> Range<u64> {
        match self.seed {
            Some(seed) => seed..seed + 1,
            None => self.first..self.first + self.count,
        }
    }
}

fn number(word: &str) -> Result<u64, String> {
    let digits = word.replace([',', '_'], "");
    digits.parse().map_err(|_| format!("`{word}` is no number"))
}
