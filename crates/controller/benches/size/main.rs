//! What a large network costs the core: 1,000 switches, 10,000 links, 1,000,000
//! entries.
//!
//! ```text
//! cargo bench --package controller --bench size
//! cargo bench --package controller --bench size -- 100 200000 deterministic
//!                                      # switches, entries, one application alone
//! cargo bench --package controller --bench size -- cut   # the last step alone
//! ```
//!
//! The switches are played (`network`): each has twenty ports with links and one
//! with a host, keeps the entries that it is given as bytes, and answers at once.
//! Times are those of the core alone, from the first input to the last output of a
//! step. A step is done when nobody has anything to say any more. Memory is what the
//! operating system gives the process, less what the played switches keep.
//!
//! What is measured: all switches connect and their links are found, with each
//! application; intents are added at every switch until there are so many entries;
//! all switches connect again with empty tables, and with the tables that they should
//! have; flows are admitted and intents over paths are added; and at that size one
//! switch more connects, one link more is found, one link is lost. In a network of its
//! own a link is cut that one in five of 10,000 intents takes.

mod network;

use std::collections::BTreeSet;
use std::time::Duration;

use controller::config::Timers;
use controller::northbound::{
    ApplicationKind, Asker, Decision, Endpoint, ExceedAction, FlowMatch, FrameMatch, Intent,
    IntentDecision, IntentKind, Manifest, Permission, Protection, Reply, Request, Requirement,
    Scope, Traffic, Transport, TransportProtocol,
};
use units::{BitRate, DataSize};
use wire::ethernet::EtherType;

use network::{LINKS_A_SWITCH, Memory, Network, host_name};

const SWITCHES: u32 = 1_000;
const ENTRIES: usize = 1_000_000;
/// How many flows are admitted.
const FLOWS: usize = 1_000;
/// How many intents over paths are added.
const PATHS: usize = 1_000;
/// How many intents there are when a link is cut, and how many of them take it.
const INTENTS: usize = 10_000;
const INTENTS_HIT: usize = 2_000;
/// How many of them are added at once.
const INTENTS_AT_ONCE: usize = 1_000;
/// How often a step is repeated of which the median is shown.
const REPETITIONS: u32 = 25;

fn main() {
    let mut numbers = std::env::args().filter_map(|word| word.parse::<usize>().ok());
    let switches = numbers.next().and_then(|number| u32::try_from(number).ok());
    let switches = switches.unwrap_or(SWITCHES);
    let entries = numbers.next().unwrap_or(ENTRIES);
    println!("{switches} switches, {LINKS_A_SWITCH} links with each, {entries} entries");

    let applications = [
        ("reactive-forwarding", ApplicationKind::ReactiveForwarding),
        ("deterministic", ApplicationKind::Deterministic),
    ];
    let words: Vec<String> = std::env::args().collect();
    if words.iter().any(|word| word == "cut") {
        return cut(switches);
    }
    for (name, application) in applications {
        let is_named = |(name, _): &(&str, _)| words.iter().any(|word| word == name);
        if applications.iter().any(is_named) && !words.iter().any(|word| word == name) {
            continue;
        }
        println!("\n{name}");
        let mut network = Network::new(switches, application, Timers::default());
        start_up(&mut network);
        if application == ApplicationKind::Deterministic {
            fill(&mut network, entries);
            for memory in [Memory::Empty, Memory::Kept] {
                reconnect(&mut network, memory);
            }
            add_paths(&mut network);
        }
        grow(&mut network);
    }
    cut(switches);
}

/// Cuts a link that many intents take: all of them find another way. An application has
/// an intent as well, so that conflicts with others are looked for.
fn cut(switches: u32) {
    println!();
    let application = ApplicationKind::Deterministic;
    let mut network = Network::new(switches, application, Timers::default());
    network.connect_all();
    network.discover();
    network.rest();
    network.took();
    let manifest = Manifest {
        name: "other".into(),
        kind: ApplicationKind::External,
        permissions: BTreeSet::from([Permission::WriteIntents]),
        priority: 1,
    };
    network.ask(Request::Load(manifest));
    network.replies();
    let others = path_intent(usize::from(u16::MAX), switches);
    let other = Asker::Application("other".into());
    network.ask_as(other, Request::AddIntents(vec![others]));
    // Nothing is shorter than the one link between two neighbours.
    let hit = [0, network.far_end_of_longest(0)].map(host_name);
    let intents = (0..INTENTS).map(|number| match number % (INTENTS / INTENTS_HIT) {
        0 => intent_between(number, hit.clone()),
        _ => path_intent(number, switches),
    });
    let intents: Vec<Intent> = intents.collect();
    for intents in intents.chunks(INTENTS_AT_ONCE) {
        network.ask(Request::AddIntents(intents.to_vec()));
    }
    tell_of(
        &mut network,
        &format!("{INTENTS} intents over paths are added"),
    );
    let sent_before = network.flow_mods();
    network.cut_longest(0);
    let sent = network.flow_mods() - sent_before;
    let what = format!("the link that {INTENTS_HIT} of them take is cut: {sent} flow-mods");
    show(&what, network.took());
}

fn start_up(network: &mut Network) {
    let before = network.memory_bytes();
    network.connect_all();
    show("all switches are connected", network.took());
    let busy = network.discover();
    let count = network.links();
    show(
        &format!("{count} links are found (probing all the time)"),
        busy,
    );
    let bytes = network.memory_bytes().saturating_sub(before);
    println!("{:>12.1} MB  for switches and links", megabytes(bytes));
}

/// Adds intents at every switch until so many entries are wanted.
fn fill(network: &mut Network, entries: usize) {
    let before = network.memory_bytes();
    let mut intents = 0;
    while network.entries() < entries {
        network.ask(Request::AddIntents(vec![intent_everywhere(intents)]));
        intents += 1;
    }
    tell_of(
        network,
        &format!("{intents} intents at every switch are added"),
    );
    let bytes = network.memory_bytes().saturating_sub(before);
    let count = u64::try_from(network.entries()).unwrap_or(1).max(1);
    println!(
        "{:>12.1} MB  for their entries, {} bytes an entry",
        megabytes(bytes),
        bytes / count
    );
}

/// Admits flows and adds intents over paths.
fn add_paths(network: &mut Network) {
    let switches = network.switches();
    let flows = (0..FLOWS).map(|number| requirement(number, switches));
    network.ask(Request::Admit(flows.collect()));
    tell_of(network, &format!("{FLOWS} flows more are admitted"));
    let intents = (0..PATHS).map(|number| path_intent(number, switches));
    network.ask(Request::AddIntents(intents.collect()));
    tell_of(
        network,
        &format!("{PATHS} intents over paths more are added"),
    );
}

/// Shows how long a step took, and how many entries there are after it.
fn tell_of(network: &mut Network, what: &str) {
    let entries = network.entries();
    show(&format!("{what}: {entries} entries"), network.took());
    network.rest();
    for reply in network.replies() {
        let is_refused = match &reply {
            Reply::Decisions(all) => all.iter().any(|it| matches!(it, Decision::Refused { .. })),
            Reply::IntentDecisions(all) => {
                let refused = |it: &IntentDecision| matches!(it, IntentDecision::Refused { .. });
                all.iter().any(refused)
            }
            _ => true,
        };
        assert!(!is_refused, "{reply:?}");
    }
}

/// Lets every switch connect again.
fn reconnect(network: &mut Network, memory: Memory) {
    let sent_before = network.flow_mods();
    network.reconnect_all(memory);
    let sent = network.flow_mods() - sent_before;
    show(
        &format!("all switches connect again, tables {memory:?}: {sent} flow-mods"),
        network.took(),
    );
    network.discover();
    network.rest();
    network.took();
}

/// Adds a switch and a link, loses a link, many times.
fn grow(network: &mut Network) {
    let mut steps = [const { Vec::new() }; 3];
    for _ in 0..REPETITIONS {
        let switch = network.add_switch();
        steps[0].push(network.took());
        network.add_link(switch);
        steps[1].push(network.took());
        network.lose_link(switch);
        steps[2].push(network.took());
        network.rest();
    }
    for (what, mut took) in [
        "one switch more, with its handshake",
        "one link more, both its probes",
        "one link lost, by port status",
    ]
    .into_iter()
    .zip(steps)
    {
        took.sort_unstable();
        let longest = took[took.len() - 1];
        show(
            &format!("{what} (longest {longest:?})"),
            took[took.len() / 2],
        );
    }
}

/// Returns the intent of a number, over some links.
fn path_intent(number: usize, switches: u32) -> Intent {
    intent_between(number, ends(number, switches))
}

/// Returns the intent of a number between two hosts.
fn intent_between(number: usize, hosts: [String; 2]) -> Intent {
    let [from, to] = hosts.map(Endpoint::Host);
    Intent {
        name: format!("p{number}"),
        kind: IntentKind::PointToPoint {
            from,
            to,
            matching: FrameMatch {
                flow: from_port(TransportProtocol::Udp, number),
                ..FrameMatch::default()
            },
        },
    }
}

/// Returns an intent that wants an entry of every switch.
fn intent_everywhere(number: usize) -> Intent {
    Intent {
        name: format!("e{number}"),
        kind: IntentKind::MatchAction {
            at: Scope::Everywhere,
            priority: 0,
            matching: FrameMatch {
                flow: from_port(TransportProtocol::Tcp, number),
                ..FrameMatch::default()
            },
            actions: Vec::new(),
        },
    }
}

/// Returns the names of two hosts, far enough from each other that most ways between
/// such cross three links or more.
fn ends(number: usize, switches: u32) -> [String; 2] {
    let number = u32::try_from(number).expect("few flows");
    let source = number % switches;
    let distance = (switches / 3 + number / switches * 7) % (switches - 1) + 1;
    [source, (source + distance) % switches].map(host_name)
}

/// Returns a match for each of 65,536 numbers.
fn from_port(protocol: TransportProtocol, number: usize) -> FlowMatch {
    FlowMatch {
        ether_type: Some(EtherType::IPV4),
        transport: Some(Transport {
            protocol,
            source: u16::try_from(number).ok(),
            destination: None,
        }),
        ..FlowMatch::default()
    }
}

/// Returns the best-effort flow of a number, over some links.
fn requirement(number: usize, switches: u32) -> Requirement {
    let [source, destination] = ends(number, switches);
    Requirement {
        name: format!("f{number}"),
        source,
        destinations: vec![destination],
        matching: from_port(TransportProtocol::Udp, usize::from(u16::MAX) - number),
        class: 0,
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: Traffic {
            rate: BitRate::from_bps(1_000),
            burst: DataSize::from_bytes(200),
            largest_frame: DataSize::from_bytes(200),
            smallest_frame: DataSize::from_bytes(64),
            frames: None,
        },
        deadline: None,
        protection: Protection::None,
        modes: None,
    }
}

fn show(what: &str, took: Duration) {
    println!("{:>12.3} ms  {what}", took.as_secs_f64() * 1e3);
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
