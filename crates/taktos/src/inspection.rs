//! What a running switch is asked for by its users, and how it is shown.
//!
//! Everything is asked for by OpenFlow's own questions over the control socket, so
//! that any controller could ask the same. An answer becomes a list of JSON
//! objects; the table that people read is made of the same list.
//!
//! A further topic is a variant of [`Topic`], a function that asks, and a list of
//! columns.

mod bfd;
mod engine;
mod entries;
mod extension;
mod groups;
mod hops;
mod meters;
mod modes;
mod nodes;
mod ports;
mod streams;
mod table;
pub mod words;

use serde_json::{Map, Value, json};
use wire::openflow::DecodeError;

use linux::openflow_client::{AskError, Client};
pub use table::{Column, draw};

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The entries of all flow tables.
    Flows,
    Groups,
    Meters,
    /// The queues of all ports.
    Queues,
    Ports,
    Stats,
    /// What a frame costs at most.
    Cost,
    Losses,
    /// The switch as a whole.
    Switch,
    Engine,
    Modes,
    Monitors,
    /// How long the frames of each entry stayed, of queues that are watched.
    Hops,
    /// What goes over several ways.
    Streams,
    /// Which stations said to be there, by PRP.
    Nodes,
    /// Whether neighbours are there that are asked for it.
    Bfd,
}

/// What there is to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// What holds for the topic as a whole, by name.
    pub head: Map<String, Value>,
    /// One object for each thing of the topic.
    pub rows: Vec<Value>,
}

impl From<Vec<Value>> for Shown {
    fn from(rows: Vec<Value>) -> Self {
        Self {
            head: Map::new(),
            rows,
        }
    }
}

impl Topic {
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flows => "flows",
            Self::Groups => "groups",
            Self::Meters => "meters",
            Self::Queues => "queues",
            Self::Ports => "ports",
            Self::Stats => "stats",
            Self::Cost => "cost",
            Self::Losses => "losses",
            Self::Switch => "switch",
            Self::Engine => "engine",
            Self::Modes => "modes",
            Self::Monitors => "monitors",
            Self::Hops => "hops",
            Self::Streams => "streams",
            Self::Nodes => "nodes",
            Self::Bfd => "bfd",
        }
    }

    /// Returns what the table of this topic shows.
    #[must_use]
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Flows => entries::FLOW_COLUMNS,
            Self::Groups => groups::COLUMNS,
            Self::Meters => meters::COLUMNS,
            Self::Queues => ports::QUEUE_COLUMNS,
            Self::Ports => ports::PORT_COLUMNS,
            Self::Stats => entries::TABLE_COLUMNS,
            Self::Cost => extension::COST_COLUMNS,
            Self::Losses => extension::LOSS_COLUMNS,
            Self::Switch => extension::TALLY_COLUMNS,
            Self::Engine => engine::COLUMNS,
            Self::Modes => modes::TRUNK_COLUMNS,
            Self::Monitors => modes::MONITOR_COLUMNS,
            Self::Hops => hops::COLUMNS,
            Self::Streams => streams::COLUMNS,
            Self::Nodes => nodes::COLUMNS,
            Self::Bfd => bfd::COLUMNS,
        }
    }

    /// Returns what is said where there is nothing to show.
    #[must_use]
    pub const fn nothing(self) -> &'static str {
        match self {
            Self::Flows => "no entries",
            Self::Groups => "no groups",
            Self::Meters => "no meters",
            Self::Queues => "no queues",
            Self::Ports => "no ports",
            Self::Stats => "no table was used",
            Self::Cost | Self::Switch => "the switch does not tell",
            Self::Losses => "no entry lost a frame",
            Self::Engine => "nothing is in the tables, or the core handles every frame",
            Self::Modes => "no trunks: the switch takes part in no mode",
            Self::Monitors => "no flow is watched",
            Self::Bfd => "no port asks its neighbour whether it is there",
            Self::Hops => "no frame has left through a watched queue",
            Self::Streams => "no stream is numbered or recovered",
            Self::Nodes => "no station said to be there in the last minute",
        }
    }

    /// Asks the switch.
    ///
    /// # Errors
    ///
    /// If the switch does not answer as it should.
    pub fn ask(self, client: &mut Client) -> Result<Shown, AskError> {
        let rows = match self {
            Self::Flows => entries::flows(client),
            Self::Groups => groups::groups(client),
            Self::Meters => meters::meters(client),
            Self::Queues => ports::queues(client),
            Self::Ports => ports::ports(client),
            Self::Stats => entries::tables(client),
            Self::Cost => extension::cost(client),
            Self::Losses => extension::losses(client),
            Self::Switch => extension::tally(client),
            Self::Engine => return engine::engine(client),
            Self::Modes => return modes::modes(client),
            Self::Hops => return hops::hops(client),
            Self::Monitors => modes::monitors(client),
            Self::Streams => streams::streams(client),
            Self::Nodes => return nodes::nodes(client),
            Self::Bfd => bfd::sessions(client),
        };
        rows.map(Shown::from)
    }
}

/// Returns the one document that `--json` prints.
#[must_use]
pub fn document(topic: Topic, shown: Shown) -> Value {
    if shown.head.is_empty() {
        return json!({ topic.name(): shown.rows });
    }
    let mut whole = shown.head;
    whole.insert("items".to_owned(), shown.rows.into());
    json!({ topic.name(): whole })
}

#[must_use]
pub fn text(topic: Topic, shown: &Shown) -> String {
    let mut text = String::new();
    for (name, value) in &shown.head {
        let name = name.replace('_', " ");
        text.push_str(&format!("{name}: {}\n", words::plain(value)));
    }
    match shown.rows.is_empty() {
        true => text.push_str(&format!("{}\n", topic.nothing())),
        false => text.push_str(&draw(topic.columns(), &shown.rows)),
    }
    text
}

/// Enters what the parts of a group or meter counted.
fn count_parts(
    parts: &mut Value,
    counters: impl Iterator<Item = Result<(u64, u64), DecodeError>>,
) -> Result<(), DecodeError> {
    for (part, counter) in parts.as_array_mut().into_iter().flatten().zip(counters) {
        let (packets, bytes) = counter?;
        part["packets"] = packets.into();
        part["bytes"] = bytes.into();
    }
    Ok(())
}
