//! `taktos settings`: how a controller goes about its work.

use std::collections::BTreeSet;
use std::str::FromStr;

use api::{ForeignRules, Metric, SettingsChange};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde::de::DeserializeOwned;
use serde_json::Value;
use wire::openflow::DatapathId;

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
    /// The switches, by their ids, that nothing passes if it can go another way, as before
    /// they are taken away; flows leave them. `none` for none.
    #[arg(long, value_name = "IDS")]
    drained: Option<Drained>,
    #[command(flatten)]
    target: Target,
}

/// Switches that are to be passed by.
#[derive(Clone, Debug)]
struct Drained(BTreeSet<DatapathId>);

impl FromStr for Drained {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(BTreeSet::new()));
        }
        let read = |id: &str| {
            id.trim()
                .parse()
                .map_err(|_| format!("`{id}` is no id of a switch"))
        };
        text.split(',')
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }
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
        drained: arguments.drained.clone().map(|Drained(switches)| switches),
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
    let drained: Vec<String> = settings.drained.iter().map(ToString::to_string).collect();
    let drained = match drained.is_empty() {
        true => "none: all switches are passed".to_owned(),
        false => drained.join(", "),
    };
    format!("foreign-rules  {foreign}\nmetric         {metric}\ndrained        {drained}\n")
}
