//! Plays through what happens to the network, so that what cannot happen is a mistake.

use std::collections::{BTreeMap, BTreeSet};

use super::NetworkSubject;
use crate::mistake::Mistake;
use crate::plan::PlannedNetwork;
use crate::problem::{Problems, TextSpan};
use crate::{Change, Direction, End, HostIndex, Impairment, LinkIndex, Node, SwitchIndex};

/// The state of the network between events.
pub(super) struct NetworkState<'a> {
    network: &'a PlannedNetwork,
    cut: BTreeSet<LinkIndex>,
    crashed: BTreeSet<SwitchIndex>,
    isolated: BTreeSet<SwitchIndex>,
    /// The links that treat frames badly, by the end that these come from.
    impaired: BTreeSet<(LinkIndex, usize, Impairment)>,
    /// The switch of each host that has moved.
    moved: BTreeMap<HostIndex, SwitchIndex>,
    /// The ports that moved hosts have taken, by switch.
    added_ports: BTreeMap<SwitchIndex, u32>,
}

impl<'a> NetworkState<'a> {
    pub(super) fn new(network: &'a PlannedNetwork) -> Self {
        Self {
            network,
            cut: BTreeSet::new(),
            crashed: BTreeSet::new(),
            isolated: BTreeSet::new(),
            impaired: BTreeSet::new(),
            moved: BTreeMap::new(),
            added_ports: BTreeMap::new(),
        }
    }

    pub(super) fn apply(
        &mut self,
        subject: NetworkSubject,
        place: TextSpan,
        problems: &mut Problems,
    ) -> Option<Change> {
        let result = match subject {
            NetworkSubject::Change(change) => self.change(change).map(|()| change),
            NetworkSubject::HostMoves(host, to) if self.switch_of(host) == Some(to) => {
                Err(format!(
                    "host `{}` is at `{}` already",
                    self.network.hosts[host.0].name,
                    self.switch_name(to)
                ))
            }
            NetworkSubject::HostMoves(host, to) => Ok(self.move_host(host, to)),
        };
        result
            .map_err(|sentence| problems.report(place, Mistake::EventOutOfOrder { sentence }))
            .ok()
    }

    /// Lets it happen, or says why it cannot.
    fn change(&mut self, change: Change) -> Result<(), String> {
        let (happens, name, why_not) = match change {
            Change::Cut(link) => {
                let happens = self.cut.insert(link);
                (happens, self.link_name(link), "is cut already")
            }
            Change::Heal(link) => {
                let happens = self.cut.remove(&link);
                (happens, self.link_name(link), "is not cut")
            }
            Change::SwitchCrash(switch) | Change::SwitchKill(switch) => {
                let happens = self.crashed.insert(switch);
                (happens, self.switch_name(switch), "has crashed already")
            }
            Change::SwitchRestart(switch) => {
                let happens = self.crashed.remove(&switch);
                (happens, self.switch_name(switch), "has not crashed")
            }
            Change::Isolate(switch) => {
                let happens = self.isolated.insert(switch);
                (happens, self.switch_name(switch), "is isolated already")
            }
            Change::Rejoin(switch) => {
                let happens = self.isolated.remove(&switch);
                (happens, self.switch_name(switch), "is not isolated")
            }
            Change::Impair {
                link,
                direction,
                impairment,
                one_in,
            } => {
                let happens = self.impair(link, direction, impairment, one_in.is_some());
                let why_not = match impairment {
                    Impairment::Loss => "loses frames already",
                    Impairment::Corruption => "corrupts frames already",
                };
                (happens, self.link_name(link), why_not)
            }
            // Where the host moves to is found here.
            Change::HostMoves { .. } => (true, "", ""),
        };
        match happens {
            true => Ok(()),
            false => {
                let what = match change {
                    Change::Cut(_) | Change::Heal(_) | Change::Impair { .. } => "link",
                    Change::SwitchCrash(_)
                    | Change::SwitchKill(_)
                    | Change::SwitchRestart(_)
                    | Change::Isolate(_)
                    | Change::Rejoin(_) => "switch",
                    Change::HostMoves { .. } => "host",
                };
                Err(format!("{what} `{name}` {why_not}"))
            }
        }
    }

    /// Begins or ends an impairment. Returns whether it was not there, or was there, before.
    fn impair(
        &mut self,
        link: LinkIndex,
        direction: Direction,
        impairment: Impairment,
        begins: bool,
    ) -> bool {
        let mut ends = direction.ends().map(|end| (link, end, impairment));
        match begins {
            true => ends.all(|end| self.impaired.insert(end)),
            false => ends.all(|end| self.impaired.remove(&end)),
        }
    }

    fn link_name(&self, link: LinkIndex) -> &'a str {
        &self.network.links[link.0].name
    }

    fn switch_name(&self, switch: SwitchIndex) -> &'a str {
        &self.network.switches[switch.0].name
    }

    fn switch_of(&self, host: HostIndex) -> Option<SwitchIndex> {
        let moved = self.moved.get(&host).copied();
        moved.or_else(|| {
            let link = self.network.hosts[host.0].link;
            let link = self.network.links.get(link.0)?;
            match link.end_opposite(Node::Host(host)).node {
                Node::Switch(switch) => Some(switch),
                Node::Host(_) => None,
            }
        })
    }

    fn move_host(&mut self, host: HostIndex, to: SwitchIndex) -> Change {
        self.moved.insert(host, to);
        let added = self.added_ports.entry(to).or_default();
        *added += 1;
        let links = self.network.switches[to.0].ports.len();
        let links = u32::try_from(links).expect("the number of links has a limit");
        Change::HostMoves {
            host,
            to: End {
                node: Node::Switch(to),
                port: links + *added,
            },
        }
    }
}
