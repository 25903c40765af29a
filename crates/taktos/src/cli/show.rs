//! `taktos switch show`: what a running switch has and does.

use std::path::PathBuf;

use clap::ValueEnum;
use linux::openflow_client::{AskError, Client};

use super::exit::Exit;
use super::screen::{self, say};
use crate::datapath::control_socket;
use crate::inspection::{Topic, document, text};

/// What `taktos switch show` is told.
#[derive(Debug, clap::Args)]
pub struct Show {
    /// What to show.
    topic: TopicName,
    /// The control socket of the switch [default: that of the only one that runs].
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// What can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TopicName {
    /// The entries of all flow tables.
    Flows,
    /// The groups and their buckets.
    Groups,
    /// The meters and their bands.
    Meters,
    /// The queues of all ports.
    Queues,
    /// The ports.
    Ports,
    /// The tables that are in use.
    Stats,
    /// What a frame costs at most, for the tables as they stand.
    Cost,
    /// The entries that lost frames at ports.
    Losses,
    /// What the switch as a whole did.
    Switch,
    /// Which engine forwards, and which entries run in the kernel.
    Engine,
    /// The criticality mode, and what neighbours say of it.
    Modes,
    /// The flows that are watched.
    Monitors,
    /// How long the frames of each entry stayed, of queues that a controller watches.
    Hops,
    /// What was counted of streams that go over several ways.
    Streams,
    /// Which stations said to be there, by PRP (IEC 62439-3).
    Nodes,
    /// Whether neighbours are there that are asked for it (BFD).
    Bfd,
}

impl From<TopicName> for Topic {
    fn from(name: TopicName) -> Self {
        match name {
            TopicName::Flows => Self::Flows,
            TopicName::Groups => Self::Groups,
            TopicName::Meters => Self::Meters,
            TopicName::Queues => Self::Queues,
            TopicName::Ports => Self::Ports,
            TopicName::Stats => Self::Stats,
            TopicName::Cost => Self::Cost,
            TopicName::Losses => Self::Losses,
            TopicName::Switch => Self::Switch,
            TopicName::Engine => Self::Engine,
            TopicName::Modes => Self::Modes,
            TopicName::Monitors => Self::Monitors,
            TopicName::Hops => Self::Hops,
            TopicName::Streams => Self::Streams,
            TopicName::Nodes => Self::Nodes,
            TopicName::Bfd => Self::Bfd,
        }
    }
}

/// Shows one topic of a running switch.
pub fn show(arguments: &Show) -> Exit {
    let path = match &arguments.control {
        Some(path) => path.clone(),
        None => match the_only_switch() {
            Ok(path) => path,
            Err(exit) => return exit,
        },
    };
    let topic = Topic::from(arguments.topic);
    let mut client = match Client::connect(&path) {
        Ok(client) => client,
        Err(error) => {
            say(format_args!(
                "taktos: no switch at {}: {error}",
                path.display()
            ));
            return Exit::Lacking;
        }
    };
    let shown = match topic.ask(&mut client) {
        Ok(shown) => shown,
        Err(error) => return explain(&error),
    };
    let text = match arguments.json {
        true => format!("{:#}\n", document(topic, shown)),
        false => text(topic, &shown),
    };
    match screen::print(&text) {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}

fn the_only_switch() -> Result<PathBuf, Exit> {
    let mut running = control_socket::running();
    match (running.pop(), running.as_slice()) {
        (Some(only), []) => Ok(only),
        (None, _) => {
            say(format_args!(
                "taktos: no switch runs here (none answers in {}); name its socket with --control",
                control_socket::FOLDER
            ));
            Err(Exit::Lacking)
        }
        (Some(last), others) => {
            let names = others.iter().chain([&last]);
            let names: Vec<_> = names.map(|path| path.display().to_string()).collect();
            say(format_args!(
                "taktos: several switches run here; name one with --control: {}",
                names.join(", ")
            ));
            Err(Exit::BadInput)
        }
    }
}

fn explain(error: &AskError) -> Exit {
    say(format_args!("taktos: {error}"));
    Exit::Fault
}
