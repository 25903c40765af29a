//! Who broke promises, and who was not what the network file says without breaking any.

use serde::Serialize;
use units::Duration;

/// Somebody who was named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CulpritReport {
    pub kind: CulpritKind,
    pub name: String,
    /// Since when, after the start of traffic.
    pub since_ns: u64,
    /// By how much at most, where there is such a length.
    pub by_ns: Option<u64>,
    /// Whether that is by how much on average instead, as in a lab.
    pub by_is_mean: bool,
    /// How many frames show what it did.
    pub seen: u64,
    /// How many promised frames were late or lost by it.
    pub frames: u64,
    /// Whose frames these are.
    pub flows: Vec<String>,
}

/// What somebody is who was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CulpritKind {
    /// A host that sent frames of no admitted flow.
    Foreign,
    /// A flow whose source sent more than its contract.
    Source,
    /// A switch that took longer than its profile says.
    Switch,
    /// A link that took bits more slowly than it says.
    Link,
    /// A link or a switch that was broken, a host that moved.
    Failure,
    /// A change of the level of criticality.
    Mode,
    /// All did what was counted with.
    Nobody,
}

impl CulpritReport {
    /// Returns what is said of it, for people.
    #[must_use]
    pub fn sentence(&self) -> String {
        let did = self.did();
        let flows = match self.flows.as_slice() {
            [] => return format!("Warning: {did}; no promised frame was late or lost by it."),
            [flow] => format!("flow {flow}"),
            flows => format!("{} flows", flows.len()),
        };
        format!(
            "Late or lost frames of {flows}: {did} ({} frames).",
            self.frames
        )
    }

    fn did(&self) -> String {
        let Self { name, seen, .. } = self;
        let by = Duration::from_ns(self.by_ns.unwrap_or_default());
        let how = if self.by_is_mean {
            "on average"
        } else {
            "at most"
        };
        let since = seconds(self.since_ns);
        match self.kind {
            CulpritKind::Switch => {
                format!("switch {name} took {by} {how} beyond its profile from {since} on")
            }
            CulpritKind::Link => format!(
                "link {name} took {by} {how} longer for a frame than its rate allows from \
                 {since} on"
            ),
            CulpritKind::Source => format!(
                "flow {name} sent more than its contract from {since} on, {seen} frames beyond it"
            ),
            CulpritKind::Foreign => {
                format!("host {name} sent {seen} frames of no admitted flow from {since} on")
            }
            CulpritKind::Failure => format!("{name} at {since}"),
            CulpritKind::Mode => format!("the mode of the network changed at {since}"),
            CulpritKind::Nobody => format!(
                "NOBODY is to blame, all did what was counted with, from {since} on: the \
                 calculation is wrong, please report this"
            ),
        }
    }
}

fn seconds(ns: u64) -> String {
    let ms = ns / 1_000_000;
    format!("{}.{:03} s", ms / 1_000, ms % 1_000)
}
