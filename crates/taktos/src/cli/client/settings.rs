//! `taktos settings`: how a controller goes about its work.

use clap::ValueEnum;
use serde_json::Value;

use super::super::exit::Exit;
use super::sheet::count;
use super::{Target, failure, put};
use crate::web::document::rule::{ForeignRulesChoice, ForeignRulesDocument, ReconcilingDocument};

/// What `taktos settings` is told.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// What is done with rules of switches that are not the controller's.
    #[arg(long, value_enum)]
    foreign_rules: Foreign,
    #[command(flatten)]
    target: Target,
}

/// What is done with rules that are not the controller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Foreign {
    /// They are left alone.
    Keep,
    /// They are removed.
    Remove,
}

/// Changes settings.
pub fn settings(arguments: &Settings) -> Exit {
    let target = &arguments.target;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let (foreign_rules, done) = match arguments.foreign_rules {
        Foreign::Keep => (ForeignRulesChoice::Keep, "left alone"),
        Foreign::Remove => (ForeignRulesChoice::Remove, "removed"),
    };
    let settings = ForeignRulesDocument { foreign_rules };
    let asked = controller.put::<Value>("/api/v1/settings", &settings);
    let text = |begun: &ReconcilingDocument| {
        let number = count(begun.switches, "switch");
        format!("rules of others are {done}; comparing {number}\n")
    };
    match asked.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}
