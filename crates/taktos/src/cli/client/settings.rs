//! `taktos settings`: how a controller goes about its work.

use api::{ForeignRules, Metric, SettingsChange};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::exit::Exit;
use super::{Target, failure, put};

const PATH: &str = "/api/v1/settings";

/// What `taktos settings` is told.
#[derive(Debug, clap::Args)]
pub struct SettingsArgs {
    /// What is done with rules of switches that are not the controller's.
    #[arg(long, value_parser = word::<ForeignRules>(["keep", "remove"]))]
    foreign_rules: Option<ForeignRules>,
    /// Which paths are short; flows stay on the ways that they were promised.
    #[arg(long, value_parser = word::<Metric>(["links", "delay"]))]
    metric: Option<Metric>,
    #[command(flatten)]
    target: Target,
}

/// Returns what reads one of a setting's words.
fn word<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    words: [&'static str; 2],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value(word.into()))
}

/// Changes settings, and shows all.
pub fn settings(arguments: &SettingsArgs) -> Exit {
    let target = &arguments.target;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let change = SettingsChange {
        metric: arguments.metric,
        foreign_rules: arguments.foreign_rules,
    };
    let asked = match change == SettingsChange::default() {
        true => controller.get::<Value>(PATH),
        false => controller.put::<Value>(PATH, &change),
    };
    match asked.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}

fn text(settings: &api::Settings) -> String {
    let foreign = match settings.foreign_rules {
        ForeignRules::Keep => "keep: rules of others are left alone",
        ForeignRules::Remove => "remove: rules of others are removed",
    };
    let metric = match settings.metric {
        Metric::Links => "links: paths with few links are short",
        Metric::Delay => "delay: paths with small budgets and short cables are short",
    };
    format!("foreign-rules  {foreign}\nmetric         {metric}\n")
}
