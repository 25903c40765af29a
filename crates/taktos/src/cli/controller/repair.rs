//! `taktos controller repair`: keeps what can still be read of a damaged store.

use std::path::PathBuf;

use super::super::exit::Exit;
use super::super::screen::say;
use super::data::{DataFolder, Repaired};

/// What `taktos controller repair` is told.
#[derive(Debug, clap::Args)]
pub struct Repair {
    /// The folder of a controller that does not run.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// Makes a new store of what is whole in a damaged one, which is kept beside it.
pub fn repair(arguments: &Repair) -> Exit {
    match DataFolder::open(&arguments.data).and_then(|data| data.repair()) {
        Ok(Repaired::WasWhole { records }) => {
            say(format_args!(
                "the store is whole, with {records} records: nothing is changed"
            ));
            Exit::Done
        }
        Ok(Repaired::Anew {
            kept,
            lost,
            damaged,
        }) => {
            say(format_args!("{kept} records are kept"));
            match lost {
                Some(lost) => say(format_args!("{lost} are lost")),
                None => say("how many are lost cannot be told"),
            }
            say(format_args!(
                "what was there is {}: flows and intents that are not listed any more have to be \
                 asked for again",
                damaged.display()
            ));
            Exit::Done
        }
        Err(error) => {
            say(format_args!("taktos: {error}"));
            Exit::Lacking
        }
    }
}
