//! Flows that a file describes, as requirements of the network.
//!
//! A file knows hosts by names of its own, a substation description by those of
//! IEDs. Where the network knows them by others, `--host NAME=HOST` says so.

use std::collections::BTreeMap;
use std::path::Path;

use api::TransportProtocol;
use controller::northbound::ExceedAction;
use scenario::flow_table::{
    self, FlowSet, ImportedFlow, LONGEST_DESCRIPTION, Options, Remark, Said,
};
use units::{DataSize, Duration};

use super::super::super::exit::Exit;
use super::super::super::screen::say;
use super::super::super::text_file;
use super::super::sheet::{count, harmless};
use super::{Admit, WantedFlows, protection};
use crate::web::document::{MatchDocument, RequirementDocument};
use api::Protection;
use run::experiment::plan::{LARGEST_FRAME, SMALLEST_FRAME};

/// The most remarks about a file that are shown.
const MOST_SHOWN: usize = 20;
/// The rate of a best-effort flow: nothing is promised, so nothing is counted.
const BEST_EFFORT_BPS: u64 = 1_000_000;

/// How to read a file.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Flows of a file")]
pub struct FileOptions {
    /// How the network calls a host of the file, as in `MU01=h1`; may be repeated.
    #[arg(long, value_name = "NAME=HOST", value_parser = renamed, requires = "from")]
    host: Vec<(String, String)>,
    /// How much later than its time a frame may leave its host, where the file does
    /// not say.
    #[arg(long, requires = "from")]
    jitter: Option<Duration>,
    /// The frequency of the power system in Hz, where the file does not say
    /// [default: 50].
    #[arg(long, value_name = "HZ", requires = "from")]
    frequency: Option<u32>,
    /// The mode of operation, in a table with columns for several.
    #[arg(long, requires = "from")]
    mode: Option<String>,
    /// The sub-network, in a substation description with several.
    #[arg(long, value_name = "NAME", requires = "from")]
    sub_network: Option<String>,
}

fn renamed(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, host)) if !name.is_empty() && !host.is_empty() => {
            Ok((name.to_owned(), host.to_owned()))
        }
        Some(_) | None => {
            Err("expected the file's name and the network's, as in MU01=h1".to_owned())
        }
    }
}

/// Reads the flows of a file, and says what of it cannot be used.
pub fn read(path: &Path, arguments: &Admit) -> Result<WantedFlows, Exit> {
    let text = text_file::read(path, LONGEST_DESCRIPTION)?;
    let options = Options {
        deadline: arguments.deadline,
        jitter: arguments.file.jitter,
        frequency_hz: arguments.file.frequency,
        mode: arguments.file.mode.clone(),
        source: arguments.source.clone(),
        receivers: arguments.destination.clone(),
        sub_network: arguments.file.sub_network.clone(),
        said: Said::OnCommandLine,
    };
    let name = path.display().to_string();
    let set = flow_table::read(&name, &text, &options).map_err(|error| text_file::show(&error))?;
    remark(&name, &set);
    let hosts: BTreeMap<_, _> = arguments.file.host.iter().cloned().collect();
    let protection = protection(arguments);
    let requirements = set.flows.iter().map(|flow| RequirementDocument {
        protection,
        require_enforced: arguments.require.is_some(),
        excess: arguments.excess(),
        ..requirement(flow, &hosts)
    });
    Ok(WantedFlows {
        requirements: requirements.collect(),
        left_out: set.left_out,
        assumed: set.assumed,
    })
}

/// Says what of a file is not asked for, and what is assumed.
fn remark(file: &str, set: &FlowSet) {
    let file = harmless(file);
    let list = |what: &str, remarks: &[Remark]| {
        if remarks.is_empty() {
            return;
        }
        say(format_args!(
            "{file}: {} {what}:",
            count(remarks.len(), "place")
        ));
        for remark in &remarks[..remarks.len().min(MOST_SHOWN)] {
            say(format_args!("  {}", harmless(&remark.to_string())));
        }
        if remarks.len() > MOST_SHOWN {
            say(format_args!("  … and {} more", remarks.len() - MOST_SHOWN));
        }
    };
    list("left out", &set.left_out);
    list("assumed", &set.assumed);
    if set.not_listed > 0 {
        say(format_args!(
            "{file}: {} more are not listed",
            set.not_listed
        ));
    }
}

fn requirement(flow: &ImportedFlow, hosts: &BTreeMap<String, String>) -> RequirementDocument {
    let host = |name: &String| hosts.get(name).unwrap_or(name).clone();
    let contract = flow.contract();
    let bytes = |size: DataSize| Some(size.bytes_up());
    let largest = contract
        .as_ref()
        .map_or(LARGEST_FRAME, |it| it.largest_frame);
    RequirementDocument {
        name: flow.name.clone(),
        source: host(&flow.source),
        destinations: flow.receivers.iter().map(host).collect(),
        matching: matching(flow),
        class: Some(flow.queue),
        deadline_ns: flow.deadline.map(Duration::as_ns),
        rate_bps: contract
            .as_ref()
            .map_or(BEST_EFFORT_BPS, |it| it.rate.as_bps()),
        burst_bytes: bytes(contract.as_ref().map_or(largest, |it| it.burst)),
        largest_frame_bytes: bytes(largest),
        smallest_frame_bytes: bytes(
            contract
                .as_ref()
                .map_or(SMALLEST_FRAME, |it| it.smallest_frame),
        ),
        protection: Protection::None,
        require_enforced: false,
        excess: ExceedAction::Drop,
        modes: None,
    }
}

fn matching(flow: &ImportedFlow) -> MatchDocument {
    let matching = &flow.matching;
    MatchDocument {
        ether_type: matching.ether_type,
        destination_mac: matching
            .destination
            .map(|bytes| wire::ethernet::MacAddress(bytes).to_string()),
        vlan: matching.vlan,
        ipv4_source: None,
        ipv4_destination: matching.ipv4_destination,
        protocol: matching.udp_port.map(|_| TransportProtocol::Udp),
        source_port: None,
        destination_port: matching.udp_port,
    }
}
