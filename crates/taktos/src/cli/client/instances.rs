//! `taktos instances`: which instances a cluster has, and which of them decides.

use super::super::exit::Exit;
use super::{Page, Target, at, sheet};
use crate::web::document::InstancesDocument;

/// What `taktos instances` is told.
#[derive(Debug, clap::Args)]
pub struct InstancesArgs {
    #[command(flatten)]
    target: Target,
}

/// Shows them.
pub fn instances(arguments: &InstancesArgs) -> Exit {
    arguments.target.show(&Page {
        title: "instances",
        ask: &at("/api/v1/instances"),
        text: &text,
    })
}

fn text(document: &InstancesDocument) -> String {
    if document.instances.is_empty() {
        return "this controller is no instance of a cluster\n".to_owned();
    }
    let lines = document.instances.iter().map(|one| {
        let state = match (one.decides, one.lives) {
            (true, true) => "decides",
            (false, true) => "stands by",
            (_, false) => "silent",
        };
        let (id, url) = (sheet::harmless(&one.id), sheet::harmless(&one.url));
        let asked = if one.answers { "  (asked)" } else { "" };
        let differs = if one.differs { "  (other options)" } else { "" };
        format!("{id:<16} {state:<10} {url}{asked}{differs}\n")
    });
    let differ = document.instances.iter().any(|one| one.differs);
    let note = differ.then_some(
        "Start them all with the same --tokens, --network, --profile, --app and --no-hops.\n",
    );
    lines.chain(note.map(str::to_owned)).collect()
}
