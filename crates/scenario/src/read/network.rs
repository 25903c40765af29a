//! Reads switches, hosts and links: those that the file declares here, those
//! that it has generated or imported in `grown`.

mod grown;

use toml::de::DeValue;
use units::BitRate;

use crate::format::{HOST, LINK, NETWORK, SWITCH};
use crate::length::Length;
use crate::mistake::{Mistake, quote};
use crate::plan::{HostPlan, LinkPlan, NetworkPlan, PlannedNetwork, SwitchPlan};
use crate::problem::{Problems, TextSpan};
use crate::read::Loader;
use crate::read::profiles::Profiles;
use crate::record::{LayeredTable, Named, records};
use crate::shape::is_name;
use crate::{Device, Node, Profile};

const DEFAULT_LINK_RATE: BitRate = BitRate::from_mbps(1_000);
const DEFAULT_HOST_RATE: BitRate = BitRate::from_mbps(100);
const DEFAULT_LENGTH: Length = Length::from_m(10);
const DEFAULT_MINIMUM_LENGTH: Length = Length::from_m(100);
const DEFAULT_PROFILE: &str = "taktos-packet";

/// Reads the network of a file.
pub(super) fn read(
    file: &LayeredTable<'_>,
    load: &mut Loader<'_>,
    problems: &mut Problems,
) -> (PlannedNetwork, Vec<Profile>) {
    let settings = file.record("network", &NETWORK);
    let mut profiles = Profiles::default();
    let profile = settings.text("profile").unwrap_or(DEFAULT_PROFILE);
    let place = settings.place_of("profile");
    let profile = profiles.find(profile, &place, load, problems);
    let mut reader = NetworkReader {
        plan: NetworkPlan::new(),
        defaults: Defaults {
            link_rate: settings.rate("link_rate").unwrap_or(DEFAULT_LINK_RATE),
            host_rate: settings.rate("host_rate").unwrap_or(DEFAULT_HOST_RATE),
            length: settings.length("length").unwrap_or(DEFAULT_LENGTH),
            minimum_length: settings
                .length("minimum_length")
                .unwrap_or(DEFAULT_MINIMUM_LENGTH),
            hosts_per_switch: settings.integer("hosts_per_switch").unwrap_or(0),
            switch: SwitchPlan {
                device: Device::Taktos,
                profile,
                datapath_id: None,
                position: None,
            },
        },
        problems,
    };
    reader.grow(&settings, load);
    reader.read_switches(file, &mut profiles, load);
    reader.read_hosts(file);
    reader.read_links(file);
    let network = reader.plan.finish(&settings.place, reader.problems);
    (network, profiles.into_list())
}

struct NetworkReader<'p> {
    plan: NetworkPlan,
    defaults: Defaults,
    problems: &'p mut Problems,
}

/// What parts of the network have that state nothing else.
struct Defaults {
    link_rate: BitRate,
    host_rate: BitRate,
    length: Length,
    minimum_length: Length,
    hosts_per_switch: u32,
    switch: SwitchPlan,
}

impl NetworkReader<'_> {
    fn read_switches(
        &mut self,
        file: &LayeredTable<'_>,
        profiles: &mut Profiles,
        load: &mut Loader<'_>,
    ) {
        for named in file.named("switches") {
            let mut plan = self.defaults.switch;
            if let Some(switch) = named.record(&SWITCH) {
                plan.datapath_id = switch.number("datapath_id");
                if let Some(profile) = switch.text("profile") {
                    let place = switch.place_of("profile");
                    plan.profile = profiles.find(profile, &place, load, self.problems);
                }
            }
            self.plan
                .add_switch(named.name, plan, named.place, self.problems);
        }
    }

    fn read_hosts(&mut self, file: &LayeredTable<'_>) {
        for named in file.named("hosts") {
            let host = named.record(&HOST);
            let plan = HostPlan {
                mac: host.as_ref().and_then(|host| host.mac("mac")),
                ip: host.as_ref().and_then(|host| host.address("ip")),
            };
            let place = named.place.clone();
            let node = self.plan.add_host(named.name, plan, place, self.problems);
            if let Some(host) = host {
                self.plug_in(node, &host);
            }
        }
    }

    /// Makes the link that the key `at` of a host asks for.
    fn plug_in(&mut self, node: Node, host: &LayeredTable<'_>) {
        let Some(at) = host.text("at") else {
            for key in ["rate", "length"].into_iter().filter(|key| host.has(key)) {
                let mistake = Mistake::Contradiction {
                    sentence: format!("`{key}` belongs to the link that `at` makes"),
                    help: format!("add `at`, or give `{key}` to the link under [links]"),
                };
                self.problems.report(host.place_of(key), mistake);
            }
            return;
        };
        let place = host.place_of("at");
        let found = self.plan.nodes.find(at, place.clone(), self.problems);
        match found {
            Some(switch) => {
                let (rate, length) = (host.rate("rate"), host.length("length"));
                self.link([node, switch], rate, length, &place);
            }
            None => self.plan.lose_link(None),
        }
    }

    fn read_links(&mut self, file: &LayeredTable<'_>) {
        for named in file.named("links") {
            match named.item.get_ref() {
                DeValue::Table(entries) => {
                    let link = LayeredTable::new(&LINK, entries, named.place.clone());
                    if link.has("name") {
                        let mistake = Mistake::KeyOfAnotherKind {
                            key: "name".to_owned(),
                            kind: "a link that has its name as its key",
                            known: "`ends`, `rate`, `length`, `propagation`".to_owned(),
                        };
                        self.problems.report(link.place_of("name"), mistake);
                    }
                    self.read_link(&link, Some(named.name));
                }
                DeValue::Array(_) => self.read_short_link(&named),
                _ => self.plan.lose_link(Some(named.name)),
            }
        }
        let links = file
            .item("links")
            .and_then(|links| links.get_ref().as_array());
        for link in links.into_iter().flat_map(|links| records(links, &LINK)) {
            let name = link.text("name");
            if let Some(text) = name.filter(|name| !is_name(name)) {
                let text = quote(text);
                self.problems
                    .report(link.place_of("name"), Mistake::NotAName { text });
            }
            self.read_link(&link, name);
        }
    }

    /// Reads `uplink = ["s1", "s2"]`.
    fn read_short_link(&mut self, named: &Named<'_>) {
        let items = named
            .item
            .get_ref()
            .as_array()
            .into_iter()
            .flat_map(|items| items.iter());
        let texts = items.filter_map(|item| Some((item.get_ref().as_str()?, item.span())));
        let place = named.item.span();
        let Some(ends) = self.ends(&texts.collect::<Vec<_>>(), &place) else {
            self.plan.lose_link(Some(named.name));
            return;
        };
        let plan = LinkPlan {
            name: Some(named.name.to_owned()),
            ends,
            rate: self.default_rate(ends),
            propagation: self.defaults.length.propagation(),
        };
        self.plan.add_link(plan, place, self.problems);
    }

    fn read_link(&mut self, link: &LayeredTable<'_>, name: Option<&str>) {
        let place = link.place_of("ends");
        // Where there are none, the check of the shape has said so.
        let ends = link.has("ends").then(|| link.texts("ends"));
        let Some(ends) = ends.and_then(|ends| self.ends(&ends, &place)) else {
            self.plan.lose_link(name);
            return;
        };
        if link.has("length") && link.has("propagation") {
            let mistake = Mistake::Contradiction {
                sentence: "a link has a `length` or a `propagation`, not both".to_owned(),
                help: "remove one of them".to_owned(),
            };
            self.problems.report(link.place_of("propagation"), mistake);
        }
        let by_length = || link.length("length").unwrap_or(self.defaults.length);
        let propagation = link.delay("propagation");
        let plan = LinkPlan {
            name: name.map(str::to_owned),
            ends,
            rate: link.rate("rate").unwrap_or_else(|| self.default_rate(ends)),
            propagation: propagation.unwrap_or_else(|| by_length().propagation()),
        };
        self.plan.add_link(plan, place, self.problems);
    }

    /// Adds a link without a name of its own.
    fn link(
        &mut self,
        ends: [Node; 2],
        rate: Option<BitRate>,
        length: Option<Length>,
        place: &TextSpan,
    ) {
        let plan = LinkPlan {
            name: None,
            ends,
            rate: rate.unwrap_or_else(|| self.default_rate(ends)),
            propagation: length.unwrap_or(self.defaults.length).propagation(),
        };
        self.plan.add_link(plan, place.clone(), self.problems);
    }

    fn default_rate(&self, ends: [Node; 2]) -> BitRate {
        match ends {
            [Node::Switch(_), Node::Switch(_)] => self.defaults.link_rate,
            [Node::Host(_), _] | [_, Node::Host(_)] => self.defaults.host_rate,
        }
    }

    /// Returns the nodes that a link joins; reports those that are not there.
    fn ends(&mut self, names: &[(&str, TextSpan)], place: &TextSpan) -> Option<[Node; 2]> {
        let mut nodes = Vec::with_capacity(2);
        for (name, place) in names {
            nodes.push(self.plan.nodes.find(name, place.clone(), self.problems));
        }
        match nodes[..] {
            [one, other] => Some([one?, other?]),
            _ => {
                let found = format!("{} nodes", nodes.len());
                self.problems
                    .report(place.clone(), Mistake::LinkEnds { found });
                None
            }
        }
    }
}
