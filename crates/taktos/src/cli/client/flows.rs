//! `taktos flows`: the flows that are admitted, and how their promises stand.

use units::{BitRate, Duration};

use super::super::exit::Exit;
use super::happening::{About, way};
use super::levels::described;
use super::sheet::{Head, count, draw, facts};
use super::{Page, Target, at, segment};
use crate::web::document::flow::{PromiseDocument, TravelsDocument};
use crate::web::document::requirement::ProtocolDocument;
use crate::web::document::{
    FlowDocument, FlowsDocument, MatchDocument, ProtectionDocument, RequirementDocument,
};

/// What `taktos flows` is told.
#[derive(Debug, clap::Args)]
pub struct Flows {
    /// The name of one flow, to see all that is known of it.
    name: Option<String>,
    #[command(flatten)]
    target: Target,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
}

/// Shows all flows, or one.
pub fn flows(arguments: &Flows) -> Exit {
    match &arguments.name {
        None => {
            let page = Page {
                title: "flows",
                ask: &at("/api/v1/flows"),
                text: &all,
            };
            match arguments.watch {
                true => arguments.target.watch(&page, concerns),
                false => arguments.target.show(&page),
            }
        }
        Some(name) => {
            let page = Page {
                title: "flow",
                ask: &at(format!("/api/v1/flows/{}", segment(name))),
                text: &one,
            };
            match arguments.watch {
                true => arguments.target.watch(&page, concerns),
                false => arguments.target.show(&page),
            }
        }
    }
}

const fn concerns(about: About) -> bool {
    match about {
        About::Flows | About::Links | About::Hosts | About::Unknown => true,
        About::Switches | About::Rules => false,
    }
}

fn all(flows: &FlowsDocument) -> String {
    if flows.flows.is_empty() {
        return "no flow is admitted: `taktos admit` asks for one\n".to_owned();
    }
    let rows = flows.flows.iter().map(row).collect::<Vec<_>>();
    let heads = [
        Head::Text("flow"),
        Head::Amount("deadline"),
        Head::Amount("guarantee"),
        Head::Amount("slack"),
        Head::Text("path"),
        Head::Text("travels"),
        Head::Text("promise"),
        Head::Text("installed"),
    ];
    let broken = flows.flows.iter();
    let broken = broken.filter(|flow| flow.promise == PromiseDocument::Suspended);
    let promises = match broken.count() {
        0 => "every promise holds".to_owned(),
        broken => format!("{} suspended", count(broken, "promise")),
    };
    let number = count(flows.flows.len(), "flow");
    format!("{}{number} admitted, {promises}\n", draw(heads, &rows))
}

fn row(flow: &FlowDocument) -> [String; 8] {
    let admitted = &flow.admitted;
    let deadline = flow.requirement.deadline_ns;
    [
        admitted.name.clone(),
        deadline.map(time).unwrap_or_default(),
        admitted.guarantee_ns.map(time).unwrap_or_default(),
        slack(flow).map(time).unwrap_or_default(),
        admitted.route.switches.join(" "),
        match flow.travels {
            TravelsDocument::Base => String::from("usual way"),
            TravelsDocument::Alternative { .. }
            | TravelsDocument::Detour
            | TravelsDocument::Nowhere => way(&flow.travels),
        },
        promise(flow.promise).to_owned(),
        if flow.installed { "yes" } else { "not yet" }.to_owned(),
    ]
}

fn one(flow: &FlowDocument) -> String {
    let (admitted, requirement) = (&flow.admitted, &flow.requirement);
    let guarantee = admitted.guarantee_ns.map(|guarantee| {
        let slack = slack(flow).map(|slack| format!(", slack {}", time(slack)));
        format!("{}{}", time(guarantee), slack.unwrap_or_default())
    });
    let mut list = vec![
        ("from", requirement.source.clone()),
        ("to", requirement.destinations.join(", ")),
        ("frames", frames(&requirement.matching)),
        ("contract", contract(requirement)),
        (
            "class",
            requirement
                .class
                .map(|it| it.to_string())
                .unwrap_or_default(),
        ),
        (
            "deadline",
            requirement.deadline_ns.map(time).unwrap_or_default(),
        ),
        ("guarantee", guarantee.unwrap_or_default()),
        ("when a link breaks", protection(&requirement.protection)),
        ("promise", promise(flow.promise).to_owned()),
        ("travels", way(&flow.travels)),
        (
            "installed",
            if flow.installed { "yes" } else { "not yet" }.to_owned(),
        ),
        ("path", admitted.route.switches.join(" ")),
    ];
    list.extend(requirement.modes.iter().flat_map(described));
    for alternative in &admitted.alternatives {
        let path = alternative.route.switches.join(" ");
        list.push((
            "alternative",
            format!("{path}, without {}", alternative.without),
        ));
    }
    facts(&format!("{}, flow {}", admitted.name, admitted.id), &list)
}

fn slack(flow: &FlowDocument) -> Option<u64> {
    let deadline = flow.requirement.deadline_ns?;
    Some(deadline.saturating_sub(flow.admitted.guarantee_ns?))
}

const fn promise(promise: PromiseDocument) -> &'static str {
    match promise {
        PromiseDocument::Holds => "holds",
        PromiseDocument::Suspended => "suspended",
        PromiseDocument::None => "best effort",
    }
}

/// Returns a length of time as people read it.
pub fn time(ns: u64) -> String {
    Duration::from_ns(ns).to_string()
}

/// Returns a rate as people read it.
pub fn rate(bps: u64) -> String {
    BitRate::new(bps).map_or_else(|| "nothing".to_owned(), |rate| rate.to_string())
}

fn protection(protection: &ProtectionDocument) -> String {
    match protection {
        ProtectionDocument::None => "it waits".to_owned(),
        ProtectionDocument::Restore { interruption_ns } => {
            format!("interrupted for at most {}", time(*interruption_ns))
        }
    }
}

fn contract(requirement: &RequirementDocument) -> String {
    let bytes = |name: &str, value: Option<u64>| {
        value
            .map(|bytes| format!(", {name} {bytes} B"))
            .unwrap_or_default()
    };
    let burst = bytes("burst", requirement.burst_bytes);
    let largest = bytes("frames up to", requirement.largest_frame_bytes);
    format!("{}{burst}{largest}", rate(requirement.rate_bps))
}

/// Returns how frames are recognised.
pub fn frames(matching: &MatchDocument) -> String {
    let mut words = Vec::new();
    if let Some(kind) = matching.ether_type {
        words.push(match kind {
            0x88ba => "Sampled Values".to_owned(),
            0x88b8 => "GOOSE".to_owned(),
            kind => format!("EtherType {kind:#06x}"),
        });
    }
    words.extend(
        matching
            .destination_mac
            .as_ref()
            .map(|it| format!("to {it}")),
    );
    words.extend(matching.vlan.map(|it| format!("VLAN {it}")));
    words.extend(matching.ipv4_source.map(|it| format!("from {it}")));
    words.extend(matching.ipv4_destination.map(|it| format!("to {it}")));
    words.extend(matching.protocol.map(|it| match it {
        ProtocolDocument::Tcp => "TCP".to_owned(),
        ProtocolDocument::Udp => "UDP".to_owned(),
    }));
    words.extend(matching.source_port.map(|it| format!("from port {it}")));
    words.extend(matching.destination_port.map(|it| format!("to port {it}")));
    match words.is_empty() {
        true => "all to the destination".to_owned(),
        false => words.join(", "),
    }
}
