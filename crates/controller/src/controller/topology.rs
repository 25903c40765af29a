//! What is known of the network: switches, links and hosts, and how far it is believed.

use std::collections::{BTreeMap, BTreeSet};

use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::DatapathId;

use crate::admission::LedgerPlace;
use crate::config::{HostParameters, Metric, PROBE_PHASES};
use crate::discovery::Prober;
use crate::echoes::Echoes;
use crate::flows::{BEST_EFFORT, Flow, Way};
use crate::hosts::Hosts;
use crate::hosts::contests::Contests;
use crate::inventory::Inventory;
use crate::link_trust::LinkTrust;
use crate::northbound::{
    Dispute, Endpoint, Event, MAX_DESTINATIONS, MAX_DISPUTES_SHOWN, NoPath, Protection, Requirement,
};
use crate::path::{Atlas, Tree, find_tree};
use crate::place::{LinkEnds, PortId};
use crate::refusal::Refusal;
use crate::session::Slot;
use crate::view::{Carrier, Control, Host, HostOrigin, View};

use super::Context;
use super::context::Memory;

/// The switches that are configured, and since when strangers are away.
#[derive(Debug, Default)]
pub struct Strangers {
    pub configured: BTreeSet<DatapathId>,
    pub away_since: BTreeMap<DatapathId, Instant>,
}

impl Strangers {
    /// Starts with the switches that a configuration names.
    pub fn new(configured: impl IntoIterator<Item = DatapathId>) -> Self {
        Self {
            configured: configured.into_iter().collect(),
            away_since: BTreeMap::new(),
        }
    }
}

/// Since when the ports of hosts have no carrier; none without hosts is among them.
#[derive(Debug, Default)]
pub struct Unplugged {
    pub since: BTreeMap<PortId, Instant>,
}

/// What is known of the network.
#[derive(Debug)]
pub struct Topology {
    pub view: View,
    pub hosts: Hosts,
    /// Who else claims to be hosts that frames do not move.
    pub contests: Contests,
    pub unplugged: Unplugged,
    pub strangers: Strangers,
    pub prober: Prober,
    pub link_trust: LinkTrust,
    pub echoes: Echoes,
    /// How many switches were not heard when that was last looked at.
    pub suspects: usize,
    /// The switches of which another controller is the master.
    pub others: BTreeSet<DatapathId>,
    /// The links that went down and did not come back.
    pub broken: BTreeSet<LinkEnds>,
    /// The links that flows from the store rely on and that are not confirmed
    /// yet, with the time since when they could have been.
    pub expected: BTreeMap<LinkEnds, Option<Instant>>,
    /// The network as the searches for intents see it, by this metric.
    pub atlas: Option<(Metric, Atlas)>,
    /// What the store knows of the network.
    pub inventory: Inventory,
}

impl Topology {
    /// Starts with the hosts and the switches that are configured.
    ///
    /// # Panics
    ///
    /// If two hosts share a name or an address.
    pub fn new(
        hosts: Vec<HostParameters>,
        switches: impl IntoIterator<Item = DatapathId>,
        (probe_key, seed): (Option<[u8; 16]>, u64),
    ) -> Self {
        let mut view = View::default();
        Self {
            hosts: Hosts::new(hosts, &mut view),
            view,
            contests: Contests::default(),
            unplugged: Unplugged::default(),
            strangers: Strangers::new(switches),
            prober: Prober::new(probe_key, seed),
            link_trust: LinkTrust::default(),
            echoes: Echoes::default(),
            suspects: 0,
            others: BTreeSet::new(),
            broken: BTreeSet::new(),
            expected: BTreeMap::new(),
            atlas: None,
            inventory: Inventory::default(),
        }
    }

    /// Notes whether the ports of a switch have a carrier.
    pub fn note_carriers(&mut self, ctx: &Context, datapath: DatapathId) {
        let Some(switch) = self.view.switch(datapath) else {
            return;
        };
        let ports = self.view.switches()[switch.index()].ports.iter();
        let ports: Vec<PortId> = ports.map(|it| PortId::new(datapath, it.number)).collect();
        for port in ports {
            self.note_carrier(ctx, port);
        }
    }

    /// Notes whether a port has a carrier.
    pub fn note_carrier(&mut self, ctx: &Context, at: PortId) {
        let carrier = self.view.port(at).map(|port| port.carrier);
        let has_hosts = self.view.hosts_at(at).next().is_some();
        match carrier {
            Some(Carrier::Down) if has_hosts => {
                self.unplugged.since.entry(at).or_insert(ctx.now);
            }
            Some(Carrier::Down | Carrier::Up) | None => {
                self.unplugged.since.remove(&at);
            }
        }
    }

    /// Notes that a switch is away.
    pub fn note_away(&mut self, ctx: &Context, datapath: DatapathId) {
        if !self.strangers.configured.contains(&datapath) {
            self.strangers.away_since.insert(datapath, ctx.now);
        }
    }

    /// Returns whether a link may be there, as probes say.
    pub fn is_believed(&mut self, ctx: &mut Context, link: LinkEnds) -> bool {
        if self.view.is_up(link) {
            return true;
        }
        if self.link_trust.is_held(ctx.now, link) {
            return false;
        }
        let is_new = self.view.link(link).is_none();
        let is_doubtful = is_new && self.link_trust.is_doubtful(ctx.now, link);
        if is_doubtful && self.link_trust.is_to_tell(ctx.now, link) {
            ctx.outbox.notify(Event::LinkDoubted { link });
        }
        !is_doubtful
    }

    /// Returns the alternative of a flow for the loss of a link, unless that is
    /// broken as well.
    pub fn alternative(&self, flow: &Flow, link: LinkEnds) -> Option<usize> {
        let mut alternatives = flow.admission.ways.alternatives.iter();
        let index = alternatives.position(|(broken, _)| *broken == link)?;
        let tree = &flow.admission.ways.alternatives[index].1;
        (self.broken.len() == 1 || self.is_whole(tree)).then_some(index)
    }

    pub fn is_whole(&self, tree: &Tree) -> bool {
        tree.links().all(|link| !self.broken.contains(&link))
    }

    /// Returns whether to each receiver one of two ways is whole that a flow takes at the
    /// same time.
    pub fn is_one_whole(&self, copies: &[Tree; 2]) -> bool {
        let mut ends = copies[0].leaves();
        ends.all(|end| self.is_reached(copies, end))
    }

    /// Returns whether one of these trees is whole as far as a receiver.
    fn is_reached(&self, trees: &[Tree], end: PortId) -> bool {
        let is_whole = |link: LinkEnds| !self.broken.contains(&link);
        trees.iter().any(|tree| tree.links_to(end).all(is_whole))
    }

    /// Returns the best way that is whole: the base tree, an alternative for
    /// what is broken, a detour.
    pub fn best_way(&self, ctx: &Context, flow: &Flow) -> Way {
        let admission = &flow.admission;
        let ways = &admission.ways;
        if ways
            .copies()
            .is_some_and(|copies| self.is_one_whole(copies))
        {
            return Way::Base;
        }
        if self.broken.is_empty() || ways.links().iter().all(|link| !self.broken.contains(link)) {
            return Way::Base;
        }
        let mut alternatives = ways.alternatives.iter();
        let fits = |(link, tree): &(LinkEnds, Tree)| !self.view.is_up(*link) && self.is_whole(tree);
        if let Some(index) = alternatives.position(fits) {
            return Way::Alternative(index);
        }
        let is_to_wait = flow.admission.guarantee.is_some()
            && matches!(admission.requirement.protection, Protection::None);
        match is_to_wait {
            true => Way::Nowhere,
            false => self.detour(ctx, flow),
        }
    }

    /// Returns a way to as many destinations as can be reached, if those are more than its own
    /// entries lead to.
    fn detour(&self, ctx: &Context, flow: &Flow) -> Way {
        let ways = &flow.admission.ways;
        let copies = ways.copies().map(<[Tree; 2]>::as_slice);
        let trees = copies.unwrap_or(std::slice::from_ref(&ways.base));
        let mut reachable = flow.admission.destinations.clone();
        while !reachable.iter().all(|port| self.is_reached(trees, *port)) {
            let found = find_tree(
                &self.view,
                flow.admission.source,
                &reachable,
                &[],
                &ctx.cost(flow.admission.requirement.class),
            );
            match found {
                Ok(tree) => return Way::Detour(tree),
                Err(lost) => reachable.retain(|port| *port != lost),
            }
        }
        Way::Nowhere
    }

    /// Returns whether a port may still lead to the switch that it led to, though their link
    /// is not seen: one of the two has not been heard for long enough to see it. That is not
    /// believed for ever of a switch that does not come back.
    pub fn may_be_joined(&self, ctx: &Context, port: PortId) -> bool {
        let link = self.view.port(port).and_then(|port| port.link);
        let link = link.map(|link| &self.view.links()[link.index()]);
        link.is_some_and(|link| {
            let is_unheard = ctx.heard_for(link.ends, Instant::ZERO) < ctx.timers.link_timeout;
            is_unheard && ctx.now.saturating_since(link.since) < ctx.timers.host_timeout
        })
    }

    /// Returns the port at the other end of the link at a port.
    pub fn far_end(&self, port: PortId) -> Option<PortId> {
        let link = self.view.port(port)?.link?;
        self.view.links()[link.index()].ends.opposite(port)
    }

    /// Has the store keep a switch as it is now, if that is new to it.
    pub fn keep_switch(&mut self, ctx: &mut Context, datapath: DatapathId) {
        if ctx.memory == Memory::Incomplete {
            return;
        }
        let Some(switch) = self.view.switch(datapath) else {
            return;
        };
        let switch = &self.view.switches()[switch.index()];
        if let Some(write) = self.inventory.note_switch(switch) {
            ctx.outbox.store(write);
        }
    }

    /// Has the store keep a link, if it is new to it.
    pub fn keep_link(&mut self, ctx: &mut Context, link: LinkEnds) {
        if let Some(write) = self.inventory.note_link(link) {
            ctx.outbox.store(write);
        }
    }

    /// Has the store forget a link of which an end is joined to another port now.
    pub fn strike_link(&mut self, ctx: &mut Context, link: LinkEnds) {
        if let Some(write) = self.inventory.strike_link(link) {
            ctx.outbox.store(write);
        }
    }

    pub fn switch_kept(&mut self, ctx: &mut Context, datapath: DatapathId, record: &[u8]) {
        match self.inventory.switch_kept(datapath, record) {
            Some(ports) => {
                self.view.remember_switch(ctx.now, datapath, &ports);
                self.note_away(ctx, datapath);
            }
            None => ctx.outbox.notify(Event::SwitchUnreadable { datapath }),
        }
    }

    /// Has the store keep where a host is, if it was seen there and that is new.
    pub fn keep_host(&mut self, ctx: &mut Context, name: &str, port: PortId) {
        if ctx.memory == Memory::Incomplete {
            return;
        }
        let Some(host) = self.view.host(name) else {
            return;
        };
        let is_seen = match host.origin {
            HostOrigin::Learned | HostOrigin::Named => true,
            HostOrigin::Configured => false,
        };
        let write = is_seen.then(|| self.inventory.note_host(host.mac, port));
        if let Some(write) = write.flatten() {
            ctx.outbox.store(write);
        }
    }

    pub fn link_kept(&mut self, ctx: &Context, link: LinkEnds) {
        self.inventory.link_kept(link);
        self.view.remember_link(ctx.now, link);
    }

    pub fn name_of_place(&self, ctx: &Context, place: LedgerPlace) -> String {
        let port = match place {
            LedgerPlace::Switch(datapath) => {
                return format!("switch {}", ctx.name_of_switch(datapath));
            }
            LedgerPlace::Port(port) => port,
        };
        let link = self.view.port(port).and_then(|port| port.link);
        if let Some(link) = link {
            return ctx.name_of_link(self.view.links()[link.index()].ends);
        }
        let switch = ctx.name_of_switch(port.datapath);
        let mut hosts = self.view.hosts().iter();
        match hosts.find(|host| host.attachment == Some(port)) {
            Some(host) => format!("link {switch}-{}", host.name),
            None => format!("port {} of {switch}", port.port),
        }
    }

    pub fn place_of(&self, endpoint: &Endpoint) -> Result<PortId, NoPath> {
        match endpoint {
            Endpoint::Host(name) => {
                let port = self.view.host(name).and_then(|host| host.attachment);
                port.ok_or_else(|| NoPath::UnknownHost { name: name.clone() })
            }
            Endpoint::Port(port) => match self.view.port(*port) {
                Some(_) => Ok(*port),
                None => Err(NoPath::UnknownPort {
                    port: port.to_string(),
                }),
            },
        }
    }

    pub fn count_connected(&self) -> usize {
        let switches = self.view.switches().iter();
        switches
            .filter(|switch| switch.control == Control::Connected)
            .count()
    }

    /// Checks what can be checked without looking for a way; returns the hosts.
    pub fn check(&self, requirement: &Requirement) -> Result<(&Host, Vec<&Host>), Refusal> {
        let Requirement {
            destinations,
            class,
            ..
        } = requirement;
        if destinations.is_empty() || destinations.len() > MAX_DESTINATIONS {
            return Err(Refusal::Destinations {
                count: destinations.len(),
                limit: MAX_DESTINATIONS,
            });
        }
        if destinations.contains(&requirement.source) {
            let name = requirement.source.clone();
            return Err(Refusal::ToItself { name });
        }
        let expected = match requirement.deadline {
            Some(_) if *class == BEST_EFFORT => Some("without a deadline"),
            None if *class != BEST_EFFORT => Some("with a deadline"),
            Some(_) | None => None,
        };
        if let Some(expected) = expected {
            let class = *class;
            return Err(Refusal::Class { class, expected });
        }
        let host = |name: &String| {
            let known = self.view.host(name);
            known.ok_or_else(|| Refusal::UnknownHost { name: name.clone() })
        };
        let source = host(&requirement.source)?;
        let destinations = destinations.iter().map(host);
        Ok((source, destinations.collect::<Result<_, Refusal>>()?))
    }

    /// Sends a probe for a link from a port.
    pub fn probe(&mut self, ctx: &mut Context, port: PortId) {
        self.send_probe(ctx, port, MacAddress::NEAREST_BRIDGE);
    }

    /// Sends a probe of either kind from a port.
    pub fn send_probe(&mut self, ctx: &mut Context, port: PortId, to: MacAddress) {
        let Some(slot) = ctx.sessions.of_switch(port.datapath) else {
            return;
        };
        let Some(known) = self.view.port(port) else {
            return;
        };
        let class = ctx.parameters.probe_class(port);
        let out = ctx.outbox.to(slot);
        self.prober.emit(ctx.now, (to, port), known.mac, class, out);
    }

    /// Sends probes from the ports of the switches whose turn it is.
    pub fn probe_part(&mut self, ctx: &mut Context) {
        let turn = ctx.schedule.phase;
        let is_due = |slot: &Slot| slot.index() as u64 % PROBE_PHASES == turn;
        let due: Vec<_> = ctx
            .sessions
            .ready()
            .filter(|(_, slot)| is_due(slot))
            .collect();
        for (datapath, _) in due {
            let Some(switch) = self.view.switch(datapath) else {
                continue;
            };
            let ports = self.view.switches()[switch.index()].ports.iter();
            let up = ports.filter(|port| port.carrier == Carrier::Up);
            let up: Vec<PortId> = up.map(|port| PortId::new(datapath, port.number)).collect();
            for port in up {
                self.probe(ctx, port);
            }
        }
    }

    /// Returns the network as searches see it, laid out anew if it has grown.
    pub fn take_atlas(&mut self, ctx: &Context) -> Atlas {
        match self.atlas.take() {
            Some((metric, atlas)) if metric == ctx.metric && atlas.is_of(&self.view) => atlas,
            Some(_) | None => Atlas::new(&self.view, &ctx.cost(BEST_EFFORT)),
        }
    }

    pub fn refresh_atlas_link(&mut self, link: LinkEnds) {
        if let Some((_, atlas)) = &mut self.atlas {
            atlas.refresh_link(&self.view, link);
        }
    }

    pub fn name_of_host(&self, mac: MacAddress) -> String {
        let known = self.view.host_by_mac(mac);
        known.map_or_else(|| mac.to_string(), |host| host.name.clone())
    }

    /// Returns who claims to be an end of a flow, and is not where it is.
    pub fn disputes(&self, ctx: &Context, requirement: &Requirement) -> Vec<Dispute> {
        let receivers = requirement.destinations.iter();
        let ends = std::iter::once(&requirement.source).chain(receivers);
        let disputes = ends.flat_map(|host| {
            let contests = self.contests.of(ctx.now, host);
            contests.map(|(at, contest)| Dispute {
                host: host.clone(),
                at,
                frames: contest.frames,
                since: contest.since,
            })
        });
        disputes.take(MAX_DISPUTES_SHOWN).collect()
    }
}
