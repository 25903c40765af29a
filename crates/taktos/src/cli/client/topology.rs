//! `taktos topology`: the switches, links and hosts that a controller knows.

use std::fmt::Write;
use std::net::IpAddr;

use api::About;
use api::topology::{Host, HostOrigin, Link, Switch, Topology as Known};

use super::super::exit::Exit;
use super::sheet::{Head, count, draw};
use super::{Page, Target, at};

/// What `taktos topology` is told.
#[derive(Debug, clap::Args)]
pub struct TopologyArgs {
    #[command(flatten)]
    target: Target,
    /// Show it again whenever it changes, until Ctrl-C.
    #[arg(long, short)]
    watch: bool,
}

/// Shows the network.
pub fn topology(arguments: &TopologyArgs) -> Exit {
    let page = Page {
        title: "network",
        ask: &at("/api/v1/topology"),
        text: &text,
    };
    match arguments.watch {
        true => arguments.target.watch(&page, concerns),
        false => arguments.target.show(&page),
    }
}

const fn concerns(about: About) -> bool {
    match about {
        About::Switches | About::Links | About::Hosts | About::Modes | About::Anything => true,
        About::Flows | About::Rules | About::Routes => false,
    }
}

fn text(topology: &Known) -> String {
    if topology.switches.is_empty() {
        return "no switch has connected yet: point one at the controller's OpenFlow address\n"
            .to_owned();
    }
    let counts = topology.counts;
    let mut list = topology.switches.clone();
    list.sort_by_key(|switch| switch.datapath);
    let mut text = switches(&list);
    if !topology.links.is_empty() {
        text = format!("{text}\n{}", links(topology));
    }
    if !topology.hosts.is_empty() {
        text = format!("{text}\n{}", hosts(&topology.hosts));
    }
    let _ = writeln!(
        text,
        "\n{} connected, {} up, {} at known ports",
        count(counts.switches, "switch"),
        count(counts.links, "link"),
        count(counts.hosts, "host")
    );
    text
}

fn switches(switches: &[Switch]) -> String {
    let rows = switches.iter().map(|switch| {
        let up = switch.ports.iter().filter(|port| port.up).count();
        let linked = switch.ports.iter().filter(|port| port.link.is_some());
        let state = match switch.connected {
            true => "connected",
            false => "away",
        };
        [
            switch.name.clone(),
            switch.datapath.to_string(),
            state.to_owned(),
            switch.ports.len().to_string(),
            up.to_string(),
            linked.count().to_string(),
        ]
    });
    let heads = [
        Head::Text("switch"),
        Head::Text("datapath id"),
        Head::Text("state"),
        Head::Amount("ports"),
        Head::Amount("up"),
        Head::Amount("to switches"),
    ];
    draw(heads, &rows.collect::<Vec<_>>())
}

fn links(topology: &Known) -> String {
    let mut links: Vec<_> = topology.links.iter().collect();
    let place_of = |link: &Link| (link.ends[0].datapath, link.ends[0].port);
    links.sort_by_key(|link| place_of(link));
    let rows = links.into_iter().map(|link| {
        let [a, b] = &link.ends;
        let state = match (link.away, link.up) {
            (true, _) => "away",
            (false, true) => "up",
            (false, false) => "down",
        };
        [
            link.id.to_string(),
            a.to_string(),
            b.to_string(),
            state.to_owned(),
        ]
    });
    let heads = [
        Head::Text("link"),
        Head::Text("from"),
        Head::Text("to"),
        Head::Text("state"),
    ];
    draw(heads, &rows.collect::<Vec<_>>())
}

/// Draws the hosts.
pub fn hosts(hosts: &[Host]) -> String {
    let mut hosts: Vec<_> = hosts.iter().collect();
    hosts.sort_by(|a, b| a.name.cmp(&b.name));
    let rows = hosts.into_iter().map(|host| {
        let origin = match host.origin {
            HostOrigin::Configured => "configured",
            HostOrigin::Named => "named",
            HostOrigin::Learned => "learned",
        };
        let mac = host.mac.to_string();
        let mac = match host.name == mac {
            true => String::new(),
            false => mac,
        };
        let addresses = host.addresses.iter().map(IpAddr::to_string);
        let at = host.attachment.as_ref();
        [
            host.name.clone(),
            mac,
            addresses.collect::<Vec<_>>().join(" "),
            at.map(ToString::to_string).unwrap_or_default(),
            origin.to_owned(),
        ]
    });
    let heads = [
        Head::Text("host"),
        Head::Text("address"),
        Head::Text("IP"),
        Head::Text("port"),
        Head::Text("known as"),
    ];
    draw(heads, &rows.collect::<Vec<_>>())
}
