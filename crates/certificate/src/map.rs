//! The stated network, laid out: who is joined to whom, and what each stage is.
//!
//! Every stage follows from the network: a switch is a processor with the figures of
//! its profile, and each end of a link at a switch is a port with the rate of that link
//! and the queues of that profile.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{BestEffort, Figures, Link, Network};
use crate::reason::Reason;

/// The most switches, hosts and links of a network, each.
pub const MOST_PARTS: usize = 131_072;
/// The fastest link, in bits per second, and the largest amount, in bits.
pub const MOST_BITS: u64 = 1_000_000_000_000;
/// The longest time that is computed with, in picoseconds: 100 s.
pub const LONGEST_PS: u64 = 100_000_000_000_000;
/// The most frames of a buffer.
const MOST_FRAMES: u64 = 1_000_000_000;
/// The smallest frame on Ethernet, in bits.
pub const SMALLEST_FRAME: u64 = 512;

/// A switch or a host, by its place in its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIndex {
    /// A switch.
    Switch(usize),
    /// A host.
    Host(usize),
}

/// Something that frames pass and wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageId {
    /// The processor of a switch.
    Processor {
        /// The switch.
        switch: usize,
    },
    /// A port.
    Port {
        /// The switch.
        switch: usize,
        /// The link that is plugged in.
        link: usize,
        /// Which of its ends is here.
        end: usize,
    },
}

/// The network, laid out.
#[derive(Clone, Debug)]
pub struct Map<'a> {
    network: &'a Network,
    nodes: BTreeMap<&'a str, NodeIndex>,
    /// What each link joins.
    ends: Vec<[NodeIndex; 2]>,
    /// The link of each host.
    of_host: Vec<usize>,
    /// The links of each switch, with the end that is there.
    of_switch: Vec<Vec<(usize, usize)>>,
    figures: Vec<Figures>,
}

impl<'a> Map<'a> {
    /// Lays a network out.
    ///
    /// # Errors
    ///
    /// What there cannot be, and where.
    pub fn new(network: &'a Network) -> Result<Self, (String, Reason)> {
        check_sizes(network)?;
        let profiles = profiles(network)?;
        let mut map = Self {
            network,
            nodes: BTreeMap::new(),
            ends: Vec::with_capacity(network.links.len()),
            of_host: vec![usize::MAX; network.hosts.len()],
            of_switch: vec![Vec::new(); network.switches.len()],
            figures: Vec::with_capacity(network.switches.len()),
        };
        let mut datapaths = BTreeSet::new();
        for (at, switch) in network.switches.iter().enumerate() {
            let here = || format!("switch `{}`", switch.name);
            map.name(&switch.name, NodeIndex::Switch(at))
                .map_err(|reason| (here(), reason))?;
            if !datapaths.insert(switch.datapath) {
                return Err((here(), Reason::Twice("datapath id")));
            }
            let figures = profiles.get(switch.profile.as_str());
            let unknown = || (here(), Reason::Unknown("profile", switch.profile.clone()));
            map.figures.push(*figures.ok_or_else(unknown)?);
        }
        for (at, host) in network.hosts.iter().enumerate() {
            let here = || format!("host `{}`", host.name);
            map.name(&host.name, NodeIndex::Host(at))
                .and_then(|()| host.unpromised.map_or(Ok(()), check_unpromised))
                .map_err(|reason| (here(), reason))?;
        }
        map.plug_in()?;
        match map.of_host.iter().position(|link| *link == usize::MAX) {
            Some(host) => {
                let name = &network.hosts[host].name;
                Err((format!("host `{name}`"), Reason::Loose))
            }
            None => Ok(map),
        }
    }

    fn name(&mut self, name: &'a str, node: NodeIndex) -> Result<(), Reason> {
        match self.nodes.insert(name, node) {
            Some(_) => Err(Reason::Twice("name")),
            None => Ok(()),
        }
    }

    /// Plugs all links in.
    fn plug_in(&mut self) -> Result<(), (String, Reason)> {
        let (mut names, mut ports) = (BTreeSet::new(), BTreeSet::new());
        for (at, link) in self.network.links.iter().enumerate() {
            let here = |reason| (format!("link `{}`", link.name), reason);
            if !names.insert(link.name.as_str()) {
                return Err(here(Reason::Twice("name")));
            }
            check_link(link).map_err(here)?;
            let mut ends = [NodeIndex::Switch(0); 2];
            for (end, stated) in link.ends.iter().enumerate() {
                let node = self.nodes.get(stated.node.as_str()).copied();
                let unknown = || here(Reason::Unknown("node", stated.node.clone()));
                ends[end] = node.ok_or_else(unknown)?;
                if !ports.insert(stated) {
                    return Err(here(Reason::Twice("port")));
                }
                match ends[end] {
                    NodeIndex::Switch(switch) => self.of_switch[switch].push((at, end)),
                    NodeIndex::Host(host) if self.of_host[host] == usize::MAX => {
                        self.of_host[host] = at;
                    }
                    NodeIndex::Host(_) => return Err(here(Reason::Twice("link of a host"))),
                }
            }
            match ends {
                [NodeIndex::Host(_), NodeIndex::Host(_)] => return Err(here(Reason::NoSwitch)),
                [NodeIndex::Switch(one), NodeIndex::Switch(other)] if one == other => {
                    return Err(here(Reason::NoSwitch));
                }
                _ => self.ends.push(ends),
            }
        }
        Ok(())
    }

    /// Returns the stated network.
    #[must_use]
    pub const fn network(&self) -> &'a Network {
        self.network
    }

    /// Returns the node of a name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<NodeIndex> {
        self.nodes.get(name).copied()
    }

    /// Returns what a link joins, or nothing if there is no such link.
    #[must_use]
    pub fn ends(&self, link: usize) -> Option<[NodeIndex; 2]> {
        self.ends.get(link).copied()
    }

    /// Returns whether a link joins two switches.
    #[must_use]
    pub fn is_trunk(&self, link: usize) -> bool {
        matches!(
            self.ends(link),
            Some([NodeIndex::Switch(_), NodeIndex::Switch(_)])
        )
    }

    /// Returns the link of a host.
    #[must_use]
    pub fn link_of(&self, host: usize) -> usize {
        self.of_host[host]
    }

    /// Returns the links of a switch, with the end that is there.
    #[must_use]
    pub fn links_at(&self, switch: usize) -> &[(usize, usize)] {
        &self.of_switch[switch]
    }

    /// Returns the figures of a switch.
    #[must_use]
    pub fn figures(&self, switch: usize) -> &Figures {
        &self.figures[switch]
    }

    /// Returns how many stages there are.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.of_switch.len() + 2 * self.ends.len()
    }

    /// Returns the number of the processor of a switch.
    #[must_use]
    pub const fn processor(&self, switch: usize) -> usize {
        switch
    }

    /// Returns the number of a port, by its link and the end that is there.
    #[must_use]
    pub fn port(&self, link: usize, end: usize) -> usize {
        self.of_switch.len() + 2 * link + end
    }

    /// Returns the number of the port of a switch with a number.
    #[must_use]
    pub fn port_numbered(&self, switch: usize, number: u32) -> Option<usize> {
        let at =
            |(link, end): &&(usize, usize)| self.network.links[*link].ends[*end].port == number;
        let found = self.of_switch[switch].iter().find(at);
        found.map(|(link, end)| self.port(*link, *end))
    }

    /// Returns where a stage is; nothing for the interface of a host.
    #[must_use]
    pub fn place(&self, stage: usize) -> Option<StageId> {
        let Some(port) = stage.checked_sub(self.of_switch.len()) else {
            return Some(StageId::Processor { switch: stage });
        };
        let (link, end) = (port / 2, port % 2);
        match self.ends(link)?[end] {
            NodeIndex::Switch(switch) => Some(StageId::Port { switch, link, end }),
            NodeIndex::Host(_) => None,
        }
    }

    /// Returns what people call a stage.
    #[must_use]
    pub fn name_of(&self, stage: usize) -> String {
        let switch = |at: usize| &self.network.switches[at].name;
        match self.place(stage) {
            Some(StageId::Processor { switch: at }) => format!("processor of `{}`", switch(at)),
            Some(StageId::Port {
                switch: at,
                link,
                end,
            }) => {
                let there = &self.network.links[link].ends[1 - end].node;
                format!("port of `{}` to `{there}`", switch(at))
            }
            None => format!("stage {stage}"),
        }
    }
}

fn check_sizes(network: &Network) -> Result<(), (String, Reason)> {
    let parts = [
        network.profiles.len(),
        network.switches.len(),
        network.hosts.len(),
        network.links.len(),
    ];
    let here = |reason| Err(("network".to_owned(), reason));
    if parts.iter().any(|parts| *parts > MOST_PARTS) {
        return here(Reason::TooMuch);
    }
    if network.probe_interval_ps == 0 || network.probe_interval_ps > LONGEST_PS {
        return here(Reason::Senseless("no such interval between probes"));
    }
    let in_order = network.classes.windows(2).all(|pair| pair[0] > pair[1]);
    let known = network.classes.iter().all(|class| (1..=7).contains(class));
    if !in_order || !known {
        return here(Reason::Senseless(
            "classes are queues from 7 to 1, the most urgent first",
        ));
    }
    Ok(())
}

fn profiles(network: &Network) -> Result<BTreeMap<&str, Figures>, (String, Reason)> {
    let mut profiles = BTreeMap::new();
    for profile in &network.profiles {
        let here = |reason| (format!("profile `{}`", profile.name), reason);
        let Figures {
            latency_ps,
            per_frame_ps,
            pool_frames,
            queue_frames,
        } = profile.figures;
        if latency_ps.max(per_frame_ps) > LONGEST_PS || pool_frames.max(queue_frames) > MOST_FRAMES
        {
            return Err(here(Reason::TooMuch));
        }
        if profile.sha256 != profile.figures.digest() {
            return Err(here(Reason::ProfileDigest));
        }
        if profiles
            .insert(profile.name.as_str(), profile.figures)
            .is_some()
        {
            return Err(here(Reason::Twice("name")));
        }
    }
    Ok(profiles)
}

fn check_unpromised(unpromised: BestEffort) -> Result<(), Reason> {
    let BestEffort {
        rate_bps,
        largest_frame_bit,
        smallest_frame_bit,
    } = unpromised;
    if rate_bps == 0
        || rate_bps > MOST_BITS
        || smallest_frame_bit < SMALLEST_FRAME
        || smallest_frame_bit > largest_frame_bit
        || largest_frame_bit > LARGEST_UNPROMISED_FRAME
    {
        return Err(Reason::Senseless(
            "no host sends such frames without a promise",
        ));
    }
    Ok(())
}

/// The largest frame without a promise, as on the wire: 1500 bytes, header, tag, check
/// sequence, preamble, delimiter and gap.
pub const LARGEST_UNPROMISED_FRAME: u64 = 1_542 * 8;

fn check_link(link: &Link) -> Result<(), Reason> {
    match link.rate_bps {
        0 => Err(Reason::Senseless("its rate is nothing")),
        rate if rate > MOST_BITS => Err(Reason::TooMuch),
        _ if link.propagation_ps > LONGEST_PS => Err(Reason::TooMuch),
        _ => Ok(()),
    }
}
