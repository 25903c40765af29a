//! `taktos settings`: how a controller goes about its work.

use serde_json::Value;

use super::super::exit::Exit;
use super::{Target, failure, put};
use crate::web::document::settings::{
    ForeignRulesChoice, MetricChoice, SettingsChangeDocument, SettingsDocument,
};

const PATH: &str = "/api/v1/settings";

/// What `taktos settings` is told.
#[derive(Debug, clap::Args)]
pub struct Settings {
    /// What is done with rules of switches that are not the controller's.
    #[arg(long, value_enum)]
    foreign_rules: Option<ForeignRulesChoice>,
    /// Which paths are short; flows stay on the ways that they were promised.
    #[arg(long, value_enum)]
    metric: Option<MetricChoice>,
    #[command(flatten)]
    target: Target,
}

/// Changes settings, and shows all.
pub fn settings(arguments: &Settings) -> Exit {
    let target = &arguments.target;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let change = SettingsChangeDocument {
        metric: arguments.metric,
        foreign_rules: arguments.foreign_rules,
    };
    let asked = match change == SettingsChangeDocument::default() {
        true => controller.get::<Value>(PATH),
        false => controller.put::<Value>(PATH, &change),
    };
    match asked.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}

fn text(settings: &SettingsDocument) -> String {
    let foreign = match settings.foreign_rules {
        ForeignRulesChoice::Keep => "keep: rules of others are left alone",
        ForeignRulesChoice::Remove => "remove: rules of others are removed",
    };
    let metric = match settings.metric {
        MetricChoice::Links => "links: paths with few links are short",
        MetricChoice::Delay => "delay: paths with small budgets and short cables are short",
    };
    format!("foreign-rules  {foreign}\nmetric         {metric}\n")
}
