//! `taktos intents`: connectivity, flow paths, and match and action, that hold until
//! they are removed.

mod words;
mod written;

use std::path::PathBuf;

use api::{About, IntentSummary};
use serde_json::Value;

use self::words::{kind, state};
use self::written::WrittenIntent;
use super::super::exit::Exit;
use super::super::screen::say;
use super::super::text_file;
use super::sheet::{Head, count, draw};
use super::{Page, Target, at, failure, put};
use crate::client::ClientError;
use crate::web::document::intent::{
    IntentDecisionsDocument, IntentDocument, IntentsDocument, IntentsRequestDocument,
};

/// Where all intents are.
const ALL: &str = "/api/v1/intents";
/// The longest file of intents.
const LONGEST_FILE: usize = 16 << 20;

/// What `taktos intents` is told.
#[derive(Debug, clap::Args)]
pub struct Intents {
    #[command(subcommand)]
    change: Option<IntentsCommand>,
    /// Show them again whenever they change, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
    #[command(flatten)]
    target: Target,
}

/// What can be done to intents.
#[derive(Debug, clap::Subcommand)]
enum IntentsCommand {
    /// List them (what is done without a word, too).
    List,
    /// Add one, or those of a file.
    Add(Box<Add>),
    /// Remove some.
    Remove {
        /// Their names.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
}

/// What is to hold.
#[derive(Debug, clap::Args)]
#[command(subcommand_value_name = "KIND", subcommand_help_heading = "Kinds")]
struct Add {
    /// A file with one intent, or with `intents`, a list of them, as JSON.
    #[arg(long, value_name = "FILE", required_unless_present = "name")]
    from: Option<PathBuf>,
    /// Its name, unique among all intents.
    #[arg(conflicts_with = "from")]
    name: Option<String>,
    #[command(subcommand)]
    kind: Option<WrittenIntent>,
}

/// Lists intents, adds or removes some.
pub fn intents(arguments: &Intents) -> Exit {
    let target = &arguments.target;
    match &arguments.change {
        Some(IntentsCommand::Add(add)) => match wanted(add) {
            Ok(wanted) => ask(target, wanted),
            Err(exit) => exit,
        },
        Some(IntentsCommand::Remove { names }) => super::remove(target, "intent", ALL, names),
        Some(IntentsCommand::List) | None => {
            let page = Page {
                title: "intents",
                ask: &at(ALL),
                text: &text,
            };
            match arguments.watch {
                true => target.watch(&page, concerns),
                false => target.show(&page),
            }
        }
    }
}

const fn concerns(about: About) -> bool {
    match about {
        About::Links | About::Hosts | About::Rules | About::Modes | About::Anything => true,
        About::Switches | About::Flows | About::Routes => false,
    }
}

fn text(document: &IntentsDocument) -> String {
    if document.intents.is_empty() {
        return "there are no intents: `taktos intents add` adds one\n".to_owned();
    }
    let rows = document.intents.iter().map(row).collect::<Vec<_>>();
    let heads = [
        Head::Text("intent"),
        Head::Text("what"),
        Head::Text("owner"),
        Head::Text("path"),
        Head::Amount("rules"),
        Head::Text("state"),
    ];
    format!("{}{}\n", draw(heads, &rows), count(rows.len(), "intent"))
}

fn row(summary: &IntentSummary<IntentDocument>) -> [String; 6] {
    let routes = summary.routes.iter();
    let routes: Vec<_> = routes.map(|route| route.switches.join(" ")).collect();
    [
        summary.intent.name.clone(),
        kind(&summary.intent),
        String::from(summary.owner.clone()),
        routes.join(", "),
        summary.rules.to_string(),
        state(&summary.state),
    ]
}

/// Returns what is asked for, or says why it cannot be.
fn wanted(add: &Add) -> Result<Vec<IntentDocument>, Exit> {
    let Some(path) = &add.from else {
        return match (&add.name, &add.kind) {
            (Some(name), Some(kind)) => Ok(vec![kind.named(name)]),
            (_, None) | (None, _) => {
                say("taktos: what is to hold? `taktos intents add --help` lists the kinds");
                Err(Exit::BadInput)
            }
        };
    };
    let text = text_file::read(path, LONGEST_FILE)?;
    let several = serde_json::from_str(&text);
    let several = several.map(|IntentsRequestDocument { intents }| intents);
    // Which of the two was meant is said by the error.
    let one = || match text.contains("\"intents\"") {
        true => None,
        false => Some(serde_json::from_str(&text).map(|one| vec![one])),
    };
    let read = several.or_else(|error| one().unwrap_or(Err(error)));
    read.map_err(|error| {
        say(format_args!("taktos: {}: {error}", path.display()));
        Exit::BadInput
    })
}

fn ask(target: &Target, intents: Vec<IntentDocument>) -> Exit {
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let question = IntentsRequestDocument { intents };
    let answer = match controller.post::<Value>(ALL, &question) {
        // Where nothing was accepted, the decisions come with the refusal.
        Err(ClientError::Refused(it)) if it.document.get("decisions").is_some() => Ok(it.document),
        answer => answer,
    };
    let read = answer.and_then(|answer| {
        let decisions = target.read::<IntentDecisionsDocument>(answer.clone())?;
        let text = target.shown(answer, &decided)?;
        Ok((decisions, text))
    });
    match read {
        Ok((document, text)) => match (put(&text), document.decisions) {
            (Exit::Done, list) if list.iter().any(|it| it.refused.is_some()) => Exit::Broken,
            (shown, _) => shown,
        },
        Err(error) => failure::complain(&error),
    }
}

fn decided(document: &IntentDecisionsDocument) -> String {
    let rows = document.decisions.iter().map(|decision| {
        let verdict = match &decision.refused {
            None => "accepted".to_owned(),
            Some(problem) => failure::refused(problem),
        };
        [decision.name.clone(), verdict]
    });
    let rows: Vec<_> = rows.collect();
    draw([Head::Text("intent"), Head::Text("verdict")], &rows)
}
