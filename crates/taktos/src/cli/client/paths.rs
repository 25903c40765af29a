//! `taktos paths`: ways through the network from one place to another. Nothing is
//! reserved.

use api::{FoundPath, LinkEnds, PathWish};
use clap::ValueEnum;
use serde_json::Value;
use units::{BitRate, DataSize, Duration};

use super::super::exit::Exit;
use super::endpoint::WrittenEndpoint;
use super::flows::delay;
use super::sheet::{Head, draw};
use super::{Target, failure, put};
use crate::web::document::path::LoadDocument;
use crate::web::document::{PathQueryDocument, PathsDocument};

/// What `taktos paths` is told.
#[derive(Debug, clap::Args)]
pub struct Paths {
    /// Where they begin: a host, or a port as SWITCH:PORT.
    from: WrittenEndpoint,
    /// Where they end.
    to: WrittenEndpoint,
    /// How many at most, or, if they are disjoint, how many [default: 3; 2 disjoint
    /// ones].
    #[arg(long, short, value_name = "N")]
    k: Option<usize>,
    /// What they do not share, so that all of them are there or none
    /// [default: they may share anything].
    #[arg(long, value_enum)]
    disjoint: Option<Disjoint>,
    /// Links that they avoid, as in `1:2-3:1`; may be repeated.
    #[arg(long, value_name = "LINK")]
    avoid: Vec<String>,
    #[command(flatten)]
    load: FlowDemandArgs,
    #[command(flatten)]
    target: Target,
}

/// What there has to be room for.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "With room for")]
struct FlowDemandArgs {
    /// The rate of a flow, as in "4 Mbit/s".
    #[arg(long, requires = "deadline")]
    rate: Option<BitRate>,
    /// How late its frames may be, as in "2 ms".
    #[arg(long, requires = "rate")]
    deadline: Option<Duration>,
    /// By how much it may exceed its rate [default: its largest frame].
    #[arg(long, requires = "rate")]
    burst: Option<DataSize>,
    /// Its largest frame as it occupies the wire [default: 1542 B].
    #[arg(long, value_name = "SIZE", requires = "rate")]
    frame: Option<DataSize>,
    /// The queue in which it would travel, 1 to 7 [default: 6].
    #[arg(long, value_name = "1-7", requires = "rate")]
    class: Option<u8>,
}

/// What paths do not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Disjoint {
    /// Links.
    Links,
    /// Switches, but the first and the last.
    Switches,
}

/// Asks for paths and shows them.
pub fn paths(arguments: &Paths) -> Exit {
    let target = &arguments.target;
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let query = PathQueryDocument {
        from: arguments.from.0.clone(),
        to: arguments.to.0.clone(),
        wish: match arguments.disjoint {
            None => PathWish::Shortest,
            Some(Disjoint::Links) => PathWish::LinkDisjoint,
            Some(Disjoint::Switches) => PathWish::SwitchDisjoint,
        },
        count: Some(arguments.k.unwrap_or(match arguments.disjoint {
            None => 3,
            Some(Disjoint::Links | Disjoint::Switches) => 2,
        })),
        avoid: arguments.avoid.clone(),
        load: load(&arguments.load),
    };
    let found = controller.post::<Value>("/api/v1/paths", &query);
    match found.and_then(|document| target.shown(document, &text)) {
        Ok(shown) => put(&shown),
        Err(error) => failure::complain(&error),
    }
}

fn load(load: &FlowDemandArgs) -> Option<LoadDocument> {
    let (rate, deadline) = load.rate.zip(load.deadline)?;
    Some(LoadDocument {
        class: load.class,
        deadline_ns: deadline.as_ns(),
        rate_bps: rate.as_bps(),
        burst_bytes: load.burst.or(load.frame).map(DataSize::bytes_up),
        largest_frame_bytes: load.frame.map(DataSize::bytes_up),
        smallest_frame_bytes: None,
    })
}

fn text(document: &PathsDocument) -> String {
    let rows = document.paths.iter().zip(1..).map(row);
    let heads = [
        Head::Amount("path"),
        Head::Amount("links"),
        Head::Amount("guarantee"),
        Head::Text("switches"),
        Head::Text("by"),
    ];
    draw(heads, &rows.collect::<Vec<_>>())
}

fn row((path, number): (&FoundPath, usize)) -> [String; 5] {
    let links = path.route.links.iter().map(LinkEnds::to_string);
    [
        number.to_string(),
        path.route.links.len().to_string(),
        path.guarantee.map(delay).unwrap_or_default(),
        path.route.switches.join(" "),
        links.collect::<Vec<_>>().join(" "),
    ]
}
