//! `taktos flows`: the flows that are admitted, and how their promises stand.

use std::collections::BTreeMap;
use wire::openflow::taktos::SequenceEncoding;

use api::{About, FrameOrder, Promise, PromiseState, Protection, TransportProtocol, Travels};
use calculus::admission::Slowdown;
use serde::de::DeserializeOwned;
use units::{BitRate, Delay, Duration};

use super::super::exit::Exit;
use super::levels::described;
use super::sheet::{Head, count, draw, facts, harmless};
use super::{Page, Target, at, moment, segment};
use crate::web::document::room::RoomDocument;
use crate::web::document::{
    FlowDocument, FlowsDocument, HopsDocument, MatchDocument, RequirementDocument,
};

/// What `taktos flows` is told.
#[derive(Debug, clap::Args)]
pub struct Flows {
    /// The name of one flow, to see all that is known of it.
    name: Option<String>,
    #[command(flatten)]
    target: Target,
    /// Show for how much slower switches each would be in time, who is late first, and how
    /// busy switches may be.
    #[arg(long, conflicts_with = "name")]
    room: bool,
    /// Show how long frames stayed at each hop, against its budget, as switches have seen it.
    #[arg(long, conflicts_with = "room")]
    hops: bool,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
}

/// Shows all flows, or one.
pub fn flows(arguments: &Flows) -> Exit {
    if arguments.hops {
        let of = arguments.name.as_deref().map(segment);
        let of = of.map_or_else(String::new, |name| format!("?flow={name}"));
        let address = format!("/api/v1/hops{of}");
        return page(arguments, "hops", address, &hops);
    }
    match (&arguments.name, arguments.room) {
        (None, false) => page(arguments, "flows", "/api/v1/flows".to_owned(), &all),
        (None, true) => page(arguments, "room", "/api/v1/room".to_owned(), &room),
        (Some(name), _) => {
            let address = format!("/api/v1/flows/{}", segment(name));
            page(arguments, "flow", address, &one)
        }
    }
}

fn page<T: DeserializeOwned>(
    arguments: &Flows,
    title: &'static str,
    address: String,
    text: &dyn Fn(&T) -> String,
) -> Exit {
    let page = Page {
        title,
        ask: &at(address),
        text,
    };
    match arguments.watch {
        true => arguments.target.watch(&page, concerns),
        false => arguments.target.show(&page),
    }
}

/// Shows the hops of flows, and how long a frame was on its way at most.
fn hops(document: &HopsDocument) -> String {
    let mut rows = Vec::new();
    for flow in &document.flows {
        for hop in &flow.hops {
            let Some(seen) = hop.seen else {
                let [name, at] = [harmless(&flow.name), harmless(&hop.at.to_string())];
                let unseen = "not watched".to_owned();
                rows.push([
                    name,
                    at,
                    unseen,
                    String::new(),
                    String::new(),
                    String::new(),
                ]);
                continue;
            };
            rows.push([
                harmless(&flow.name),
                harmless(&hop.at.to_string()),
                time(seen.longest.as_ns()),
                seen.budget.map(|it| time(it.as_ns())).unwrap_or_default(),
                seen.frames.to_string(),
                seen.above.to_string(),
            ]);
        }
    }
    if rows.is_empty() {
        return "no flow is admitted: `taktos admit` asks for one\n".to_owned();
    }
    let heads = [
        Head::Text("flow"),
        Head::Text("hop"),
        Head::Amount("longest"),
        Head::Amount("budget"),
        Head::Amount("frames"),
        Head::Amount("above"),
    ];
    let mut text = draw(heads, &rows);
    for flow in &document.flows {
        if let (Some(observed), Some(guarantee)) = (flow.observed, flow.guarantee) {
            let (observed, promised) = (time(observed.as_ns()), delay(guarantee));
            let name = harmless(&flow.name);
            text +=
                &format!("{name}: on its way for {observed} at most, promised are {promised}\n");
        }
    }
    text
}

fn room(room: &RoomDocument) -> String {
    if room.flows.is_empty() {
        return "no flow has a deadline of which it is known what it leaves\n".to_owned();
    }
    let times = |thousandths: u32| match thousandths >= Slowdown::MOST.thousandths() {
        true => format!("\u{2265}{}x", thousandths / 1_000),
        false => format!("{}.{}x", thousandths / 1_000, thousandths / 100 % 10),
    };
    let rows = room.flows.iter();
    let rows = rows.map(|flow| [flow.name.clone(), times(flow.slowdown_thousandths)]);
    let heads = [Head::Text("flow"), Head::Amount("slower")];
    let rows: Vec<_> = rows.collect();
    let sentences = room.sentences.iter().map(|sentence| harmless(sentence));
    let sentences: Vec<_> = sentences.collect();
    format!("{}{}\n", draw(heads, &rows), sentences.join("\n"))
}

const fn concerns(about: About) -> bool {
    match about {
        About::Flows | About::Links | About::Hosts | About::Modes | About::Anything => true,
        About::Switches | About::Rules | About::Routes => false,
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
    let promises = promises(flows.flows.iter().map(|flow| flow.promise.state));
    let number = count(flows.flows.len(), "flow");
    let disputed = flows.flows.iter().filter(|flow| !flow.disputes.is_empty());
    let disputes = match disputed.count() {
        0 => String::new(),
        disputed => format!(", {} with disputed ends", count(disputed, "flow")),
    };
    let promised = flows
        .flows
        .iter()
        .filter(|flow| flow.accepted.guarantee.is_some());
    let trusted = match promised.filter(|flow| !flow.accepted.enforced).count() {
        0 => String::new(),
        trusted => format!(
            ", {} trusted to keep its contract",
            count(trusted, "source")
        ),
    };
    format!(
        "{}{number} admitted, {promises}{disputes}{trusted}\n",
        draw(heads, &rows)
    )
}

fn row(flow: &FlowDocument) -> [String; 8] {
    let admitted = &flow.accepted;
    let deadline = flow.requirement.deadline_ns;
    [
        admitted.name.clone(),
        deadline.map(time).unwrap_or_default(),
        admitted.guarantee.map(delay).unwrap_or_default(),
        slack(flow).map(time).unwrap_or_default(),
        admitted.route.switches.join(" "),
        match flow.travels {
            Travels::Base => String::from("usual way"),
            Travels::Alternative { .. } | Travels::Detour | Travels::Nowhere => {
                flow.travels.to_string()
            }
        },
        promise(&flow.promise),
        if flow.installed { "yes" } else { "not yet" }.to_owned(),
    ]
}

fn one(flow: &FlowDocument) -> String {
    let (admitted, requirement) = (&flow.accepted, &flow.requirement);
    let guarantee = admitted.guarantee.map(|guarantee| {
        let slack = slack(flow).map(|slack| format!(", slack {}", time(slack)));
        format!("{}{}", delay(guarantee), slack.unwrap_or_default())
    });
    let mut list = vec![
        ("from", requirement.source.clone()),
        ("to", requirement.destinations.join(", ")),
        ("frames", frames(&requirement.matching)),
        (
            "contract",
            format!("{}{}", contract(requirement), enforcement(flow)),
        ),
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
        ("when a link breaks", protection(flow)),
        (
            "promise",
            format!("{}{}", promise(&flow.promise), cause(&flow.promise)),
        ),
        ("travels", flow.travels.to_string()),
        (
            "installed",
            if flow.installed { "yes" } else { "not yet" }.to_owned(),
        ),
        ("path", admitted.route.switches.join(" ")),
    ];
    list.extend(requirement.modes.iter().flat_map(described));
    for alternative in admitted.alternatives.iter() {
        let path = alternative.route.switches.join(" ");
        list.push((
            "alternative",
            format!("{path}, without {}", alternative.without),
        ));
    }
    list.extend(flow.disputes.iter().map(|dispute| {
        let (host, at) = (&dispute.host, &dispute.at);
        let frames = dispute.frames;
        (
            "disputed",
            format!("frames with the address of {host} came in at {at}: {frames}, and go nowhere"),
        )
    }));
    facts(&format!("{}, flow {}", admitted.name, admitted.id.0), &list)
}

/// Says whether the source of a promised flow is held to its contract.
fn enforcement(flow: &FlowDocument) -> &'static str {
    match (flow.accepted.guarantee, flow.accepted.enforced) {
        (None, _) => "",
        (Some(_), true) => ", enforced where it comes in",
        (Some(_), false) => ", not enforced: its source is trusted",
    }
}

fn slack(flow: &FlowDocument) -> Option<u64> {
    let deadline = flow.requirement.deadline_ns?;
    let guarantee = flow.accepted.guarantee?.round_up();
    Some(deadline.saturating_sub(guarantee.as_ns()))
}

/// Says of how many promises what is known, the worst last; that all hold only if each
/// does.
fn promises(states: impl Iterator<Item = PromiseState>) -> String {
    let mut counts = BTreeMap::new();
    for state in states.filter(|state| *state != PromiseState::None) {
        *counts.entry(state).or_insert(0) += 1;
    }
    let counts: Vec<(PromiseState, usize)> = counts.into_iter().collect();
    match counts[..] {
        [] => "nothing is promised".to_owned(),
        [(PromiseState::Holds, _)] => "every promise holds".to_owned(),
        _ => {
            let each = counts.iter();
            let each = each.map(|(known, number)| match known {
                PromiseState::Holds => format!("{number} hold"),
                known => format!("{number} {known}"),
            });
            format!("promises: {}", each.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Returns how a promise stands, and since when if it does not hold.
fn promise(promise: &Promise) -> String {
    let state = promise.state;
    match state {
        PromiseState::None | PromiseState::Holds => state.to_string(),
        PromiseState::Unknown
        | PromiseState::Disturbed
        | PromiseState::NotCovered
        | PromiseState::Broken => {
            format!("{state} since {}", moment::of_day(promise.since.as_ns()))
        }
    }
}

fn cause(promise: &Promise) -> String {
    let cause = promise.cause.iter();
    cause.map(|cause| format!(": {cause}")).collect()
}

/// Returns a length of time as people read it.
pub fn time(ns: u64) -> String {
    Duration::from_ns(ns).to_string()
}

/// Returns a bound as people read it, in whole nanoseconds.
pub fn delay(delay: Delay) -> String {
    delay.round_up().to_string()
}

/// Returns a rate as people read it.
pub fn rate(bps: u64) -> String {
    BitRate::new(bps).map_or_else(|| "nothing".to_owned(), |rate| rate.to_string())
}

fn protection(flow: &FlowDocument) -> String {
    let cover: String = flow
        .accepted
        .cover
        .iter()
        .map(|cover| format!(", {cover}"))
        .collect();
    let by = match flow.requirement.protection {
        Protection::Seamless { encoding, order } => {
            let by_prp = match encoding {
                SequenceEncoding::RTag => "",
                SequenceEncoding::Prp => ", by PRP",
            };
            let in_order = match order {
                FrameOrder::Any => "",
                FrameOrder::Kept => ", in order",
            };
            return format!("another way carries it, too{by_prp}{in_order}{cover}");
        }
        Protection::None | Protection::Restore { .. } => "",
        Protection::FastFailover { .. } => ", by its switches alone",
    };
    match flow.requirement.protection.interruption() {
        None => "it waits".to_owned(),
        Some((interruption, _)) => format!("interrupted for at most {interruption}{cover}{by}"),
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
        TransportProtocol::Tcp => "TCP".to_owned(),
        TransportProtocol::Udp => "UDP".to_owned(),
    }));
    words.extend(matching.source_port.map(|it| format!("from port {it}")));
    words.extend(matching.destination_port.map(|it| format!("to port {it}")));
    match words.is_empty() {
        true => "all to the destination".to_owned(),
        false => words.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use units::Instant;

    use super::*;

    #[test]
    fn the_summary_says_that_all_hold_only_if_each_does() {
        use PromiseState::{Holds, NotCovered, Unknown};
        let all = |states: &[PromiseState]| promises(states.iter().copied());

        assert_eq!(all(&[]), "nothing is promised");
        assert_eq!(all(&[PromiseState::None, Holds]), "every promise holds");
        assert_eq!(
            all(&[NotCovered, Holds, Unknown, Holds]),
            "promises: 2 hold, 1 unknown, 1 not covered"
        );
    }

    #[test]
    fn what_does_not_hold_says_since_when_and_why() {
        let unknown = Promise {
            state: PromiseState::Unknown,
            since: Instant::from_ns(43_384_000_000_000),
            cause: Some("switch s3 is not heard".to_owned().into()),
        };

        assert_eq!(promise(&unknown), "unknown since 12:03:04Z");
        assert_eq!(cause(&unknown), ": switch s3 is not heard");
    }
}
