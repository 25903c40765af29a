//! `taktos apps`: the applications of a controller (S1-9).

use api::ApplicationSummary;
use controller::northbound::ApplicationKind;
use serde_json::{Value, json};

use super::super::exit::Exit;
use super::sheet::{Head, count, draw, harmless, harmless_document};
use super::{Page, Target, at, failure, put, segment};
use crate::client::ClientError;
use crate::web::document::application::{ApplicationsDocument, ManifestDocument};

/// Where all applications are.
const ALL: &str = "/api/v1/applications";

/// What `taktos apps` is told.
#[derive(Debug, clap::Args)]
pub struct Apps {
    #[command(subcommand)]
    change: Option<AppsCommand>,
    #[command(flatten)]
    target: Target,
}

/// What can be done to applications.
#[derive(Debug, clap::Subcommand)]
enum AppsCommand {
    /// List them (what is done without a word, too).
    List,
    /// Load one: a built-in one by its name, or one that asks over the interface for
    /// programs.
    Load(LoadArgs),
    /// Unload some, with their rules and intents.
    Unload {
        /// Their names.
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
    },
    /// Let one begin anew; its rules stay.
    Reload {
        /// Its name.
        name: String,
    },
}

/// What an application declares.
#[derive(Debug, clap::Args)]
struct LoadArgs {
    /// Its name: `reactive-forwarding`, `deterministic`, `proactive-routes`, or any
    /// other.
    name: String,
    /// What it may see and do, as in `see-topology`; may be repeated [default: what
    /// it needs, if it is built in].
    #[arg(long, value_name = "PERMISSION", value_delimiter = ',')]
    permission: Vec<String>,
    /// Whose rules go first where they conflict: the higher one's.
    #[arg(long, value_name = "0-255", default_value_t = 0)]
    priority: u8,
}

/// Lists applications, loads, unloads or reloads some.
pub fn apps(arguments: &Apps) -> Exit {
    let target = &arguments.target;
    match &arguments.change {
        Some(AppsCommand::Load(wanted)) => load(target, wanted),
        Some(AppsCommand::Unload { names }) => super::remove(target, "application", ALL, names),
        Some(AppsCommand::Reload { name }) => reload(target, name),
        Some(AppsCommand::List) | None => target.show(&Page {
            title: "applications",
            ask: &at(ALL),
            text: &|document: &ApplicationsDocument| table(&document.applications),
        }),
    }
}

fn table(applications: &[ApplicationSummary]) -> String {
    if applications.is_empty() {
        return "no application is loaded: `taktos apps load` loads one\n".to_owned();
    }
    let rows = applications.iter().map(row).collect::<Vec<_>>();
    let heads = [
        Head::Text("application"),
        Head::Text("kind"),
        Head::Amount("priority"),
        Head::Amount("intents"),
        Head::Amount("rules"),
        Head::Amount("denied"),
        Head::Text("may"),
    ];
    format!(
        "{}{}\n",
        draw(heads, &rows),
        count(rows.len(), "application")
    )
}

fn row(application: &ApplicationSummary) -> [String; 7] {
    let manifest = &application.manifest;
    let kind = match manifest.kind.name() {
        kind if kind == manifest.name => "built in",
        kind => kind,
    };
    let permissions = manifest.permissions.iter().map(|it| it.name());
    [
        manifest.name.clone(),
        kind.to_owned(),
        manifest.priority.to_string(),
        application.intents.to_string(),
        application.rules.to_string(),
        application.denied.to_string(),
        permissions.collect::<Vec<_>>().join(" "),
    ]
}

fn load(target: &Target, wanted: &LoadArgs) -> Exit {
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let kind = ApplicationKind::named(&wanted.name);
    let manifest = ManifestDocument {
        name: wanted.name.clone(),
        kind: kind.map(|kind| kind.name().to_owned()),
        permissions: match (wanted.permission.is_empty(), kind) {
            (true, Some(_)) => None,
            (_, _) => Some(wanted.permission.clone()),
        },
        priority: wanted.priority,
    };
    let loaded = controller.post::<Value>(ALL, &manifest);
    let text = |loaded: &ApplicationSummary| table(std::slice::from_ref(loaded));
    finish(loaded.and_then(|document| target.shown(document, &text)))
}

fn reload(target: &Target, name: &str) -> Exit {
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let path = format!("{ALL}/{}/reload", segment(name));
    let done = controller.post::<Value>(&path, &json!({}));
    finish(done.map(|_| match target.json {
        true => harmless_document(&format!("{:#}\n", json!({ "reloaded": name }))),
        false => format!("{} begins anew\n", harmless(name)),
    }))
}

fn finish(shown: Result<String, ClientError>) -> Exit {
    match shown {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}
