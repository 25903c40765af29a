//! Reads flows: who sends to whom, in which class, and with which promise.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use toml::de::DeTable;
use units::Duration;

use crate::format::FLOW;
use crate::limits::{MOST_FLOWS, MOST_GROUPS, MOST_RECEIVERS};
use crate::mistake::Mistake;
use crate::names::Names;
use crate::plan::PlannedNetwork;
use crate::problem::{Problems, TextSpan};
use crate::read::Loader;
use crate::read::modes::{LevelReader, Levels};
use crate::read::protection::{check_heart_beat, excess_goes_on, protection};
use crate::read::recordings::Recordings;
use crate::read::traffic::{TrafficKind, Values};
use crate::record::LayeredTable;
use crate::{
    ClassIndex, Criticality, Destination, Flow, FlowIndex, HostIndex, ImportedFile, Node,
    Protection, Traffic,
};

/// Associations of MMS are accepted there (RFC 1006 section 4).
const MMS_PORT: u16 = 102;
const FIRST_UDP_PORT: u16 = 10_000;
const FIRST_GOOSE_APPLICATION: u16 = 0x0000;
const FIRST_SAMPLED_VALUES_APPLICATION: u16 = 0x4000;
/// The application ids of each of the two protocols.
const APPLICATIONS: u16 = 0x4000;

/// The flows read so far, and what reading further ones needs.
pub(super) struct FlowReader<'a> {
    pub(super) network: &'a PlannedNetwork,
    classes: &'a Names<ClassIndex>,
    duration: Duration,
    levels: &'a Levels,
    flows: Vec<Flow>,
    names: Names<FlowIndex>,
    /// For each switch a number that those share which paths connect.
    parts: Vec<usize>,
    groups: usize,
    ports_used: BTreeMap<HostIndex, u16>,
    /// Who reads values from whom.
    associations: BTreeSet<(HostIndex, HostIndex)>,
    recordings: Recordings,
}

/// What flows have beside their ends and their traffic.
#[derive(Clone, Copy)]
pub(super) struct Terms {
    pub(super) class: ClassIndex,
    pub(super) is_class_free: bool,
    pub(super) deadline: Option<Duration>,
    pub(super) criticality: Criticality,
    pub(super) protection: Protection,
    pub(super) excess_goes_on: bool,
    pub(super) start: Duration,
    pub(super) stop: Option<Duration>,
}

impl<'a> FlowReader<'a> {
    pub(super) fn new(
        network: &'a PlannedNetwork,
        classes: &'a Names<ClassIndex>,
        levels: &'a Levels,
        duration: Duration,
    ) -> Self {
        Self {
            network,
            classes,
            duration,
            levels,
            flows: Vec::new(),
            names: Names::new("flow", "[flows]"),
            parts: connected_parts(network),
            groups: 0,
            ports_used: BTreeMap::new(),
            associations: BTreeSet::new(),
            recordings: Recordings::default(),
        }
    }

    /// Reads `[flows]`, with the help of `[templates]`. Returns what is to be known of
    /// the recordings that they send.
    pub(super) fn read(
        &mut self,
        file: &LayeredTable<'_>,
        load: &mut Loader<'_>,
        problems: &mut Problems,
    ) -> Vec<ImportedFile> {
        let mut template_names = Names::new("template", "[templates]");
        let mut templates: Vec<Option<&DeTable<'_>>> = Vec::new();
        for named in file.named("templates") {
            template_names.give(named.name, templates.len(), named.place.clone(), problems);
            templates.push(named.item.get_ref().as_table());
            if let Some(template) = named.record(&FLOW) {
                check_template(&template, problems);
            }
        }
        for named in file.named("flows") {
            let Some(record) = named.record(&FLOW) else {
                continue;
            };
            let template = record
                .text("like")
                .and_then(|name| template_names.find(name, record.place_of("like"), problems));
            let under = template.and_then(|template| templates[template]);
            if self
                .read_flow(named.name, &record.over(under), load, problems)
                .is_none()
            {
                self.names.spoil(named.name);
            }
        }
        self.recordings.remarks()
    }

    /// Returns the flows and their names; reports if there are too many.
    pub(super) fn finish(self, problems: &mut Problems) -> (Vec<Flow>, Names<FlowIndex>) {
        let limit = usize::try_from(MOST_FLOWS).expect("a usize has 32 bits at least");
        for (what, count, limit) in [
            ("flows", self.flows.len(), limit),
            ("flows to groups of receivers", self.groups, MOST_GROUPS),
        ] {
            if count > limit {
                problems.report(0..0, Mistake::TooMany { what, count, limit });
            }
        }
        (self.flows, self.names)
    }

    /// Returns how many flows there are so far.
    pub(super) fn count(&self) -> usize {
        self.flows.len()
    }

    /// Adds a flow, or returns nothing if it has a mistake, which was reported.
    fn read_flow(
        &mut self,
        name: &str,
        record: &LayeredTable<'_>,
        load: &mut Loader<'_>,
        problems: &mut Problems,
    ) -> Option<()> {
        let kind = TrafficKind::of(record);
        if !record.has("kind") {
            problems.report(record.place.clone(), record.missing("kind"));
        }
        let source = self.source(record, problems);
        let receivers = self.receivers(record, source, kind, problems);
        let kind = kind?;
        kind.check_keys(record, problems);
        let mut values = Values::of_flow(kind, record, problems);
        if kind == TrafficKind::Trace {
            values.recording = self.recordings.of_flow(record, load, problems);
        }
        let traffic = values.traffic(kind);
        let terms = self.terms(kind, record, problems);
        let (source, traffic, terms) = (source?, traffic?, terms?);
        let place = rate_place(record);
        let fits = self.check_rate(&traffic, source, &receivers, &place, problems);
        if !fits || receivers.is_empty() {
            return None;
        }
        let by_level = self.levels.of_flow(
            record,
            &traffic,
            &terms,
            &mut LevelReader {
                flows: self,
                ends: (source, &receivers),
                problems,
            },
        );
        let place = record.place.clone();
        self.add(name, place, (source, receivers), traffic, terms, problems);
        let added = self.flows.last_mut().expect("it was added");
        added.by_level = by_level;
        Some(())
    }

    /// Adds a flow whose parts are right.
    pub(super) fn add(
        &mut self,
        name: &str,
        place: TextSpan,
        (source, receivers): (HostIndex, Vec<HostIndex>),
        traffic: Traffic,
        terms: Terms,
        problems: &mut Problems,
    ) {
        let index = FlowIndex(self.flows.len());
        self.names.give(name, index, place.clone(), problems);
        let destination = self.destination(&traffic, source, &receivers, place, problems);
        let by_level = self.levels.by_criticality(&traffic, &terms);
        self.flows.push(Flow {
            name: name.to_owned(),
            traffic,
            source,
            receivers,
            destination,
            class: terms.class,
            is_class_free: terms.is_class_free,
            deadline: terms.deadline,
            criticality: terms.criticality,
            protection: terms.protection,
            excess_goes_on: terms.excess_goes_on,
            by_level,
            start: terms.start,
            stop: terms.stop,
        });
    }

    /// Returns the host that a text names; reports if it names none.
    pub(super) fn host(
        &self,
        name: &str,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Option<HostIndex> {
        match self.network.nodes.find(name, place.clone(), problems)? {
            Node::Host(host) => Some(host),
            Node::Switch(_) => {
                let mistake = Mistake::Contradiction {
                    sentence: format!("`{name}` is a switch; flows go from host to host"),
                    help: "name one of [hosts]".to_owned(),
                };
                problems.report(place, mistake);
                None
            }
        }
    }

    pub(super) fn has_class(&self, name: &str) -> bool {
        self.classes.has(name)
    }

    /// Returns the class that a text names; reports if it names none.
    pub(super) fn class(
        &self,
        name: &str,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Option<ClassIndex> {
        self.classes.find(name, place, problems)
    }

    fn source(&self, record: &LayeredTable<'_>, problems: &mut Problems) -> Option<HostIndex> {
        if !record.has("from") {
            problems.report(record.place.clone(), record.missing("from"));
        }
        self.host(record.text("from")?, record.place_of("from"), problems)
    }

    fn receivers(
        &self,
        record: &LayeredTable<'_>,
        source: Option<HostIndex>,
        kind: Option<TrafficKind>,
        problems: &mut Problems,
    ) -> Vec<HostIndex> {
        if !record.has("to") {
            problems.report(record.place.clone(), record.missing("to"));
            return Vec::new();
        }
        let names = record.texts("to");
        self.check_receiver_count(names.len(), kind, record, problems);
        let mut receivers = Vec::with_capacity(names.len());
        let mut first: BTreeMap<HostIndex, TextSpan> = BTreeMap::new();
        for (name, place) in names {
            let Some(host) = self.host(name, place.clone(), problems) else {
                continue;
            };
            if let Some(first) = first.insert(host, place.clone()) {
                let (what, name) = ("receiver", name.to_owned());
                problems.report(place, Mistake::Twice { what, name, first });
            } else if Some(host) == source {
                let host = name.to_owned();
                problems.report(place, Mistake::ToItself { host });
            } else if let Some(from) = source.filter(|from| !self.connects(*from, host)) {
                let from = self.network.hosts[from.0].name.clone();
                let to = name.to_owned();
                problems.report(place, Mistake::NoPath { from, to });
            } else {
                receivers.push(host);
            }
        }
        receivers
    }

    fn check_receiver_count(
        &self,
        count: usize,
        kind: Option<TrafficKind>,
        record: &LayeredTable<'_>,
        problems: &mut Problems,
    ) {
        let limit = match kind {
            Some(kind) if !kind.has_groups() => 1,
            Some(_) | None => usize::try_from(MOST_RECEIVERS).expect("the constant is small"),
        };
        let place = record.place_of("to");
        if count == 0 {
            let mistake = Mistake::Contradiction {
                sentence: "a flow without a receiver".to_owned(),
                help: "name at least one host".to_owned(),
            };
            problems.report(place, mistake);
        } else if count > limit {
            let what = "receivers of one flow of this kind";
            problems.report(place, Mistake::TooMany { what, count, limit });
        }
    }

    /// Reads the terms of a flow or of a flow set.
    pub(super) fn terms(
        &self,
        kind: TrafficKind,
        record: &LayeredTable<'_>,
        problems: &mut Problems,
    ) -> Option<Terms> {
        let named = record.text("class");
        let class = named.unwrap_or(kind.default_class());
        let class = self.class(class, record.place_of("class"), problems);
        let criticality = record.integer("criticality").unwrap_or(0);
        let (start, stop) = self.times(record, problems);
        let protection = protection(record, problems);
        let is_periodic = kind == TrafficKind::SampledValues;
        check_heart_beat(protection, is_periodic, record, problems);
        Some(Terms {
            class: class?,
            is_class_free: named.is_none(),
            deadline: record.time("deadline"),
            criticality: Criticality(u8::try_from(criticality).expect("the shape ends at 7")),
            protection,
            excess_goes_on: excess_goes_on(record),
            start,
            stop,
        })
    }

    fn times(
        &self,
        record: &LayeredTable<'_>,
        problems: &mut Problems,
    ) -> (Duration, Option<Duration>) {
        if !record.knows("start") {
            return (Duration::ZERO, None);
        }
        let start = record.time("start").unwrap_or_default();
        let stop = record.time("stop");
        if start >= self.duration {
            let (what, at, end) = ("the start of a flow", start, self.duration);
            let mistake = Mistake::AfterTheEnd { what, at, end };
            problems.report(record.place_of("start"), mistake);
        }
        if let Some(stop) = stop.filter(|stop| *stop <= start) {
            let mistake = Mistake::Contradiction {
                sentence: format!("the flow stops at {stop} and starts at {start}"),
                help: "let it stop after its start".to_owned(),
            };
            problems.report(record.place_of("stop"), mistake);
        }
        (start, stop)
    }

    /// Returns whether the links of all hosts carry what the flow promises not
    /// to exceed; reports otherwise.
    pub(super) fn check_rate(
        &self,
        traffic: &Traffic,
        source: HostIndex,
        receivers: &[HostIndex],
        place: &TextSpan,
        problems: &mut Problems,
    ) -> bool {
        let Some(contract) = traffic.contract() else {
            return true;
        };
        let hosts = std::iter::once(source).chain(receivers.iter().copied());
        for host in hosts.map(|host| &self.network.hosts[host.0]) {
            let link = self.network.links.get(host.link.0).map(|link| link.rate);
            if let Some(link) = link.filter(|link| contract.rate > *link) {
                let (rate, host) = (contract.rate, host.name.clone());
                problems.report(place.clone(), Mistake::AboveLinkRate { rate, host, link });
                return false;
            }
        }
        true
    }

    /// Returns whether a path leads from one host to the other, as far as the
    /// mistakes of the network let us know.
    pub(super) fn connects(&self, from: HostIndex, to: HostIndex) -> bool {
        if !self.network.is_whole {
            return true;
        }
        match (self.switch_of(from), self.switch_of(to)) {
            (Some(from), Some(to)) => self.parts[from] == self.parts[to],
            // The host has no link, which is reported elsewhere.
            (_, None) | (None, _) => true,
        }
    }

    fn switch_of(&self, host: HostIndex) -> Option<usize> {
        let link = self.network.links.get(self.network.hosts[host.0].link.0)?;
        match link.end_opposite(Node::Host(host)).node {
            Node::Switch(switch) => Some(switch.0),
            Node::Host(_) => None,
        }
    }

    /// Returns the addresses of a new flow.
    fn destination(
        &mut self,
        traffic: &Traffic,
        source: HostIndex,
        receivers: &[HostIndex],
        place: TextSpan,
        problems: &mut Problems,
    ) -> Destination {
        let ethernet = |kind: u8, first: u16, group: u16| {
            let [high, low] = group.to_be_bytes();
            Destination::Ethernet {
                mac: [0x01, 0x0C, 0xCD, kind, high, low],
                application: first + group % APPLICATIONS,
            }
        };
        match traffic {
            Traffic::Goose(_) => ethernet(0x01, FIRST_GOOSE_APPLICATION, self.group()),
            Traffic::SampledValues(_) => {
                ethernet(0x04, FIRST_SAMPLED_VALUES_APPLICATION, self.group())
            }
            Traffic::Mms(_) => self.association(source, receivers[0], place, problems),
            Traffic::Udp(_) | Traffic::Message(_) | Traffic::Trace(_) | Traffic::BestEffort(_) => {
                match receivers {
                    [host] => self.unicast(*host, place, problems),
                    _ => {
                        // RFC 1112 section 6.4: the low 23 bits of the group.
                        let [high, low] = self.group().to_be_bytes();
                        Destination::Udp {
                            mac: [0x01, 0x00, 0x5E, 0x40, high, low],
                            ip: Ipv4Addr::new(239, 192, high, low),
                            port: FIRST_UDP_PORT,
                        }
                    }
                }
            }
        }
    }

    /// Returns the addresses of a station that is asked; reports if the same two talk
    /// already, for nobody could tell their requests apart.
    fn association(
        &mut self,
        source: HostIndex,
        receiver: HostIndex,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Destination {
        let (from, to) = (
            &self.network.hosts[source.0],
            &self.network.hosts[receiver.0],
        );
        if !self.associations.insert((source, receiver)) {
            let mistake = Mistake::Contradiction {
                sentence: format!("`{}` reads values from `{}` twice", from.name, to.name),
                help: "one association is enough: shorten its `period`".to_owned(),
            };
            problems.report(place, mistake);
        }
        Destination::Tcp {
            mac: to.mac,
            ip: to.ip,
            port: MMS_PORT,
        }
    }

    fn unicast(
        &mut self,
        host: HostIndex,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Destination {
        let used = self.ports_used.entry(host).or_default();
        let port = FIRST_UDP_PORT.checked_add(*used);
        if port.is_none() {
            let limit = usize::from(u16::MAX - FIRST_UDP_PORT) + 1;
            let (what, count) = ("UDP flows to one host", limit + 1);
            problems.report(place, Mistake::TooMany { what, count, limit });
        }
        *used = used.saturating_add(1);
        let host = &self.network.hosts[host.0];
        Destination::Udp {
            mac: host.mac,
            ip: host.ip,
            port: port.unwrap_or(FIRST_UDP_PORT),
        }
    }

    /// Returns the number of a new group; above the limit, which is reported in
    /// the end, numbers repeat.
    fn group(&mut self) -> u16 {
        let group = self.groups % MOST_GROUPS;
        self.groups += 1;
        u16::try_from(group).expect("the limit is 2^16")
    }
}

fn check_template(template: &LayeredTable<'_>, problems: &mut Problems) {
    if template.has("like") {
        let mistake = Mistake::Contradiction {
            sentence: "a template takes over the keys of no other".to_owned(),
            help: "write the keys out".to_owned(),
        };
        problems.report(template.place_of("like"), mistake);
    }
    if let Some(kind) = TrafficKind::of(template) {
        kind.check_meaning(template, problems);
    }
}

/// Returns the value that makes the rate of a flow.
fn rate_place(record: &LayeredTable<'_>) -> TextSpan {
    let keys = ["rate", "period", "min_time", "size", "file"];
    let key = keys.into_iter().find(|key| record.has(key));
    record.place_of(key.unwrap_or("kind"))
}

/// Returns for each switch the least index of the switches that paths connect
/// it with.
fn connected_parts(network: &PlannedNetwork) -> Vec<usize> {
    let mut neighbours = vec![Vec::new(); network.switches.len()];
    for link in &network.links {
        if let [Node::Switch(one), Node::Switch(other)] = link.ends.map(|end| end.node) {
            neighbours[one.0].push(other.0);
            neighbours[other.0].push(one.0);
        }
    }
    let mut parts = vec![usize::MAX; network.switches.len()];
    for start in 0..parts.len() {
        if parts[start] != usize::MAX {
            continue;
        }
        let mut found = BTreeSet::from([start]);
        while let Some(switch) = found.pop_first() {
            if parts[switch] == usize::MAX {
                parts[switch] = start;
                found.extend(&neighbours[switch]);
            }
        }
    }
    parts
}
