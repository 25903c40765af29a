//! `taktos rules`: the rules that switches should have, and whether they have them.

use std::cmp::Reverse;

use api::topology::Topology;
use api::{About, RuleOwner, RuleState, rule};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::exit::Exit;
use super::sheet::{Head, count, draw, harmless};
use super::{Page, Target, failure, put, segment};
use crate::client::{ClientError, Controller};
use crate::inspection::words;

/// What `taktos rules` is told.
#[derive(Debug, clap::Args)]
#[command(subcommand_precedence_over_arg = true)]
pub struct Rules {
    #[command(subcommand)]
    change: Option<RulesCommand>,
    /// A switch, by its name or its datapath id [default: all].
    switch: Option<String>,
    /// Show them again whenever they change, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    target: Target,
}

/// What can be done to rules.
#[derive(Debug, clap::Subcommand)]
enum RulesCommand {
    /// Compare what switches have with what they should have, whole, and mend it.
    Reconcile {
        /// A switch, by its name or its datapath id [default: all].
        switch: Option<String>,
    },
}

/// The rules of several switches.
#[derive(Debug, Deserialize, Serialize)]
struct AllRules {
    /// By datapath id.
    switches: Vec<rule::Rules>,
}

/// Shows rules, or has them made so.
pub fn rules(arguments: &Rules) -> Exit {
    let target = &arguments.target;
    if let Some(RulesCommand::Reconcile { switch }) = &arguments.change {
        return reconcile(target, switch.as_deref());
    }
    let fetch = |controller: &Controller| fetch(controller, arguments.switch.as_deref());
    let page = Page {
        title: "rules",
        ask: &fetch,
        text: &text,
    };
    match arguments.watch {
        true => target.watch(&page, concerns),
        false => target.show(&page),
    }
}

const fn concerns(about: About) -> bool {
    match about {
        About::Rules
        | About::Flows
        | About::Links
        | About::Switches
        | About::Modes
        | About::Anything => true,
        About::Hosts | About::Routes => false,
    }
}

/// Asks for the rules of one switch, or for those of all, one by one.
fn fetch(controller: &Controller, switch: Option<&str>) -> Result<Value, ClientError> {
    let switches = match switch {
        Some(switch) => vec![switch.to_owned()],
        None => {
            let topology: Topology = controller.get("/api/v1/topology")?;
            let switches = topology
                .switches
                .into_iter()
                .map(|it| it.datapath.to_string());
            let mut switches: Vec<_> = switches.collect();
            switches.sort_unstable();
            switches
        }
    };
    let rules = switches.iter().map(|switch| {
        let path = format!("/api/v1/switches/{}/rules", segment(switch));
        controller.get::<Value>(&path)
    });
    Ok(json!({ "switches": rules.collect::<Result<Vec<_>, _>>()? }))
}

fn text(document: &AllRules) -> String {
    if document.switches.is_empty() {
        return "no switch has connected yet\n".to_owned();
    }
    let parts: Vec<_> = document.switches.iter().map(of_switch).collect();
    parts.join("\n")
}

fn of_switch(switch: &rule::Rules) -> String {
    let mut rules: Vec<_> = switch.rules.iter().collect();
    // As a frame meets them.
    rules.sort_by_key(|rule| (rule.table, Reverse(rule.priority)));
    let rows = rules.into_iter().map(row).collect::<Vec<_>>();
    let heads = [
        Head::Amount("table"),
        Head::Amount("priority"),
        Head::Text("match"),
        Head::Text("actions"),
        Head::Text("owner"),
        Head::Text("state"),
    ];
    let number = count(rows.len(), "rule");
    let title = format!("switch {} ({}), {number}", switch.name, switch.datapath);
    let table = match rows.is_empty() {
        true => String::new(),
        false => draw(heads, &rows),
    };
    format!("{}\n{table}", harmless(&title))
}

fn row(rule: &rule::Rule) -> [String; 6] {
    let fields = rule.matching.iter();
    let fields: Vec<_> = fields
        .map(|(name, value)| format!("{name}={}", words::plain(value)))
        .collect();
    let state = match &rule.state {
        RuleState::Present => "present",
        RuleState::Pending => "pending",
        RuleState::Away => "away",
        RuleState::Refused { error } => &format!("refused: {error}"),
        RuleState::Missing => "missing",
        RuleState::Different => "different",
        RuleState::Excess => "in excess",
    };
    [
        rule.table.to_string(),
        rule.priority.to_string(),
        or(fields.join(","), "all"),
        or(rule.actions.join(","), "drop"),
        owner(&rule.owner),
        state.to_owned(),
    ]
}

fn or(words: String, instead: &str) -> String {
    match words.is_empty() {
        true => instead.to_owned(),
        false => words,
    }
}

fn owner(owner: &RuleOwner) -> String {
    match owner {
        RuleOwner::Controller => "controller".to_owned(),
        RuleOwner::Flow { name, .. } => format!("flow {name}"),
        RuleOwner::Intent { name, .. } => format!("intent {name}"),
        RuleOwner::Application { name, .. } => format!("application {name}"),
        RuleOwner::Foreign => "somebody else".to_owned(),
    }
}

fn reconcile(target: &Target, switch: Option<&str>) -> Exit {
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let path = match switch {
        Some(switch) => format!("/api/v1/reconcile?switch={}", segment(switch)),
        None => "/api/v1/reconcile".to_owned(),
    };
    let asked = controller.post::<Value>(&path, &json!({}));
    let text = |begun: &rule::Reconciling| {
        let number = count(begun.switches, "switch");
        format!("comparing {number}: `taktos events --follow` tells what is mended\n")
    };
    match asked.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}
