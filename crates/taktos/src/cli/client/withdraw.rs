//! `taktos withdraw`: ends flows.

use super::super::exit::Exit;
use super::{Target, remove};

/// What `taktos withdraw` is told.
#[derive(Debug, clap::Args)]
pub struct Withdraw {
    /// The names of the flows.
    #[arg(required = true, value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// Ends flows, one by one.
pub fn withdraw(arguments: &Withdraw) -> Exit {
    remove(&arguments.target, "flow", "/api/v1/flows", &arguments.names)
}
