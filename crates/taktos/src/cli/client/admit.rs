//! `taktos admit`: asks the controller to promise that flows arrive in time.
//!
//! One flow comes from the command line, many from a file: a substation
//! description, a table of virtual links or of streams (`scenario::flow_table`).

mod decisions;
mod file;

use std::net::Ipv4Addr;
use std::path::PathBuf;

use clap::ValueEnum;
use serde_json::Value;
use units::{BitRate, DataSize, Duration};

use self::decisions::Decided;
use super::super::exit::Exit;
use super::super::screen::{Steps, say};
use super::{Target, failure, put};
use crate::client::{ClientError, Controller};
use crate::web::document::requirement::ProtocolDocument;
use crate::web::document::{
    MatchDocument, ProtectionDocument, RequirementDocument, RequirementsDocument,
};

/// How many flows are decided upon in one question: an answer comes soon, and shows
/// how far we are.
const FLOWS_A_QUESTION: usize = 256;

/// What `taktos admit` is told.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("what").args(["name", "from"]).required(true))]
pub struct Admit {
    /// The name of the flow.
    #[arg(requires_all = ["source", "destination", "rate"], conflicts_with = "from")]
    name: Option<String>,
    /// A file with flows: a substation description (.scd), a table of virtual links
    /// or of streams (.csv).
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The host that sends; with --from, where the file does not say.
    #[arg(long, value_name = "HOST")]
    source: Option<String>,
    /// The hosts that receive; with --from, where the file does not say.
    #[arg(long, value_name = "HOST", value_delimiter = ',')]
    destination: Vec<String>,
    /// How late a frame may be, as in "2 ms"; best effort without it. With --from,
    /// for flows of which the file does not say it.
    #[arg(long)]
    deadline: Option<Duration>,
    /// How long a flow may be interrupted when a link breaks, as in "10 ms"; without
    /// it, it waits until the link is back.
    #[arg(long)]
    interruption: Option<Duration>,
    /// Say what would be decided, and admit nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    contract: Contract,
    #[command(flatten)]
    frames: Frames,
    #[command(flatten)]
    file: file::Reading,
    #[command(flatten)]
    target: Target,
}

/// What one flow sends.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "One flow")]
struct Contract {
    /// The rate that it never exceeds for long, as in "4 Mbit/s", headers and gaps
    /// between frames included.
    #[arg(long, conflicts_with = "from")]
    rate: Option<BitRate>,
    /// By how much it may exceed the rate at any time, as in "3 kB"
    /// [default: its largest frame].
    #[arg(long, conflicts_with = "from")]
    burst: Option<DataSize>,
    /// Its largest frame as it occupies the wire, header, check sequence and gap
    /// included, as in "150 B" [default: 1542 B].
    #[arg(long, value_name = "SIZE", conflicts_with = "from")]
    frame: Option<DataSize>,
    /// The queue in which it travels, 7 is the most urgent
    /// [default: 7 with a deadline, else 0].
    #[arg(long, value_name = "0-7", conflicts_with = "from")]
    class: Option<u8>,
}

/// How the frames of one flow are recognised.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Its frames [default: all from the source to the destination]")]
struct Frames {
    /// Where they go: the address of a host or a group.
    #[arg(long, value_name = "MAC", conflicts_with = "from")]
    to_address: Option<String>,
    /// What they carry, as in 0x88ba for Sampled Values.
    #[arg(long, value_name = "NUMBER", value_parser = ether_type, conflicts_with = "from")]
    ether_type: Option<u16>,
    /// The VLAN id of their tag.
    #[arg(long, value_name = "ID", conflicts_with = "from")]
    vlan: Option<u16>,
    /// The IPv4 address they go to.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "from")]
    ipv4: Option<Ipv4Addr>,
    /// The transport protocol; needs --port or --ipv4 to tell flows apart.
    #[arg(long, value_enum, conflicts_with = "from")]
    protocol: Option<ProtocolName>,
    /// The transport port they go to.
    #[arg(long, value_name = "PORT", requires = "protocol")]
    port: Option<u16>,
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolName {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

fn ether_type(text: &str) -> Result<u16, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u16::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "expected a number of two bytes, as in 0x88ba".to_owned())
}

/// Asks for one flow, or for those of a file.
pub fn admit(arguments: &Admit) -> Exit {
    let wanted = match (&arguments.from, &arguments.name) {
        (Some(path), _) => match file::read(path, arguments) {
            Ok(wanted) => wanted,
            Err(exit) => return exit,
        },
        (None, Some(name)) => vec![single(name, arguments)],
        (None, None) => Vec::new(),
    };
    if wanted.is_empty() {
        say("taktos: there is no flow to admit");
        return Exit::BadInput;
    }
    let controller = match arguments.target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let mut decided = Decided::new(arguments.dry_run);
    let outcome = ask(&controller, arguments, &wanted, &mut decided);
    conclude(arguments, &wanted, &decided, outcome)
}

fn single(name: &str, arguments: &Admit) -> RequirementDocument {
    let (contract, frames) = (&arguments.contract, &arguments.frames);
    RequirementDocument {
        name: name.to_owned(),
        source: arguments.source.clone().unwrap_or_default(),
        destinations: arguments.destination.clone(),
        matching: MatchDocument {
            ether_type: frames.ether_type,
            destination_mac: frames.to_address.clone(),
            vlan: frames.vlan,
            ipv4_source: None,
            ipv4_destination: frames.ipv4,
            protocol: frames.protocol.map(|it| match it {
                ProtocolName::Tcp => ProtocolDocument::Tcp,
                ProtocolName::Udp => ProtocolDocument::Udp,
            }),
            source_port: None,
            destination_port: frames.port,
        },
        class: contract.class,
        deadline_ns: arguments.deadline.map(Duration::as_ns),
        rate_bps: contract.rate.map_or(0, BitRate::as_bps),
        burst_bytes: contract.burst.or(contract.frame).map(DataSize::bytes_up),
        largest_frame_bytes: contract.frame.map(DataSize::bytes_up),
        smallest_frame_bytes: None,
        protection: protection(arguments.interruption),
    }
}

fn protection(interruption: Option<Duration>) -> ProtectionDocument {
    match interruption {
        None => ProtectionDocument::None,
        Some(interruption) => ProtectionDocument::Restore {
            interruption_ns: interruption.as_ns(),
        },
    }
}

/// Asks for all flows, some at a time, and notes what is decided.
fn ask(
    controller: &Controller,
    arguments: &Admit,
    wanted: &[RequirementDocument],
    decided: &mut Decided,
) -> Result<(), ClientError> {
    let path = match arguments.dry_run {
        true => "/api/v1/flows?dry_run=true",
        false => "/api/v1/flows",
    };
    let mut steps = Steps::new("deciding".to_owned());
    let many = wanted.len() > FLOWS_A_QUESTION;
    for (number, some) in wanted.chunks(FLOWS_A_QUESTION).enumerate() {
        let question = RequirementsDocument {
            requirements: some.to_vec(),
        };
        let answer = match controller.post::<Value>(path, &question) {
            // Where nothing was admitted, the decisions come with the refusal.
            Err(ClientError::Refused(it)) if it.document.get("decisions").is_some() => it.document,
            answer => answer?,
        };
        decided.take(arguments.target.read(answer)?);
        if many {
            let done = number * FLOWS_A_QUESTION + some.len();
            steps.show(done as u64, wanted.len() as u64);
        }
    }
    steps.close();
    Ok(())
}

/// Shows the decisions, also where the questions did not come to their end.
fn conclude(
    arguments: &Admit,
    wanted: &[RequirementDocument],
    decided: &Decided,
    outcome: Result<(), ClientError>,
) -> Exit {
    let failed = match outcome {
        Ok(()) => None,
        Err(error) => {
            let exit = failure::complain(&error);
            if decided.is_empty() {
                return exit;
            }
            say(format_args!(
                "taktos: {} of {} flows were decided upon before that; the others were not",
                decided.len(),
                wanted.len()
            ));
            Some(exit)
        }
    };
    let shown = put(&match arguments.target.json {
        true => decided.json(),
        false => decided.text(wanted),
    });
    match (failed, shown) {
        (Some(exit), _) => exit,
        (None, Exit::Done) if decided.any_refused() => Exit::Broken,
        (None, shown) => shown,
    }
}
