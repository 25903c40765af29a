//! What the run is told.

use std::path::PathBuf;

pub const USAGE: &str = "\
usage: soundness [--networks NUMBER] [--first SEED] [--effort NUMBER] [--json] [--markdown FILE]
       soundness --seed SEED [--effort NUMBER]

  --networks NUMBER  how many networks are drawn (1,000)
  --first SEED       the seed of the first (0)
  --effort NUMBER    how many times as hard the adversary looks (1)
  --json             prints everything that was counted as JSON
  --markdown FILE    writes the tables into a file as well
  --seed SEED        shows one network, what was seen in it and what was promised";

#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// How many networks are drawn.
    pub networks: u64,
    /// The seed of the first.
    pub first: u64,
    /// How many times as hard the adversary looks.
    pub effort: u64,
    /// The one seed that is shown.
    pub seed: Option<u64>,
    /// Whether JSON is printed instead of tables.
    pub json: bool,
    /// Where the tables are written to.
    pub markdown: Option<PathBuf>,
}

impl Arguments {
    /// Reads the arguments.
    ///
    /// # Errors
    ///
    /// A sentence that names the argument that is wrong.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            networks: 1_000,
            first: 0,
            effort: 1,
            seed: None,
            json: false,
            markdown: None,
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("`{word}` lacks its value"));
            match word.as_str() {
                "--networks" => arguments.networks = number(&value()?)?,
                "--first" => arguments.first = number(&value()?)?,
                "--effort" => arguments.effort = number(&value()?)?,
                "--seed" => arguments.seed = Some(number(&value()?)?),
                "--markdown" => arguments.markdown = Some(value()?.into()),
                "--json" => arguments.json = true,
                _ => return Err(format!("`{word}` is unknown")),
            }
        }
        Ok(arguments)
    }
}

fn number(word: &str) -> Result<u64, String> {
    let digits = word.replace([',', '_'], "");
    digits.parse().map_err(|_| format!("`{word}` is no number"))
}
