//! The flows that are admitted, and which way each of them takes.

mod ends;
mod entering;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use units::Delay;
use wire::openflow::{Action, DatapathId, PortNumber};

use crate::admission::ReservationId;
use crate::desired::{Content, Form, RuleKey};
use crate::failover::Failover;
use crate::northbound::{ExceedAction, FlowId, Promise, Travels};
use crate::path::Tree;
use crate::place::{LinkEnds, PortId};
use crate::record::Admission;
use crate::rules::FlowRule;
use crate::seamless::{self, Redundancy};
use crate::ways::Ways;
use ends::Ends;
use entering::Entering;
use wire::siphash::siphash_2_4;

/// The most flows at a time.
pub const MAX_FLOWS: usize = 1 << 20;
/// The class in which nothing is promised.
pub const BEST_EFFORT: u8 = 0;

/// A flow that is admitted.
#[derive(Clone, Debug)]
pub struct Flow {
    pub id: FlowId,
    /// What was decided about it.
    pub admission: Admission,
    /// What its entries have in common.
    pub rule: FlowRule,
    /// What was reserved for it; `None` for best effort.
    pub reservation: Option<ReservationId>,
    pub way: Way,
    /// How its promise stands, as was told last; nothing before it was installed.
    pub promise: Option<Promise>,
    /// Whether it is in force.
    pub standing: Standing,
    /// Whether its entries are confirmed.
    pub installation: Installation,
}

/// Whether the entries of a flow are confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installation {
    /// Not by every switch of its tree.
    Pending,
    /// By every switch of its tree.
    Confirmed,
    /// A switch has refused one.
    Refused,
}

/// Which way a flow takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Way {
    Base,
    /// The alternative at this place.
    Alternative(usize),
    /// A tree that was found when nothing prepared was left.
    Detour(Tree),
    /// None, until a link comes back.
    Nowhere,
}

/// What is done with a flow's frames that come in by one port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The queue they are put into.
    pub class: u8,
    /// The ports by which they go out.
    pub outputs: Vec<PortNumber>,
    /// The one by which they go out instead if the switch sees no carrier at the only one
    /// of `outputs`.
    pub backup: Option<PortNumber>,
}

impl Entry {
    /// Returns the group that chooses between the ports, of frames that come in there.
    #[must_use]
    pub fn failover(&self, input: PortNumber) -> Option<Failover> {
        match (&self.outputs[..], self.backup) {
            ([primary], Some(backup)) => Failover::new(input, *primary, backup),
            _ => None,
        }
    }

    /// Returns what sends frames on that come in there.
    pub fn sends(&self, input: PortNumber) -> impl Iterator<Item = Action> + '_ {
        let failover = self.failover(input);
        let outputs = match failover {
            Some(_) => &[],
            None => &self.outputs[..],
        };
        let outputs = outputs.iter().copied().map(Action::output);
        let group = failover.map(|failover| Action::Group(failover.group()));
        group.into_iter().chain(outputs)
    }
}

/// The entries of a flow, by the port where its frames come in.
pub type Entries = BTreeMap<PortId, Entry>;

/// Whether a flow is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is reserved, and the store has not kept it yet.
    Proposed,
    Admitted,
}

impl Flow {
    /// Returns a flow that is to take its base tree.
    #[must_use]
    pub fn new(id: FlowId, admission: Admission, reservation: Option<ReservationId>) -> Self {
        let rule = FlowRule::new(id, admission.source_mac, &admission.requirement)
            .with_redundancy(Redundancy::of(id, &admission));
        Self {
            id,
            admission,
            rule,
            reservation,
            way: Way::Base,
            promise: None,
            standing: Standing::Proposed,
            installation: Installation::Pending,
        }
    }

    /// Returns whether the store has kept it.
    pub(crate) const fn is_admitted(&self) -> bool {
        match self.standing {
            Standing::Admitted => true,
            Standing::Proposed => false,
        }
    }

    /// Returns by how much its frames may be later than its deadline, if they may: a switch
    /// is slower than was known when it was promised.
    #[must_use]
    pub fn late_by(&self) -> Option<Delay> {
        let guarantee = self.admission.guarantee?;
        let late = guarantee.saturating_sub(self.admission.requirement.deadline?);
        (late > Delay::ZERO).then_some(late)
    }

    /// Returns the tree on which its frames travel, `None` if they get nowhere.
    #[must_use]
    pub fn tree(&self) -> Option<&Tree> {
        self.tree_of(&self.way)
    }

    #[must_use]
    pub fn tree_of<'a>(&'a self, way: &'a Way) -> Option<&'a Tree> {
        match way {
            Way::Base => Some(&self.admission.ways.base),
            Way::Alternative(index) => Some(&self.admission.ways.alternatives[*index].1),
            Way::Detour(tree) => Some(tree),
            Way::Nowhere => None,
        }
    }

    /// Returns its way as others are told.
    #[must_use]
    pub fn travels(&self) -> Travels {
        match &self.way {
            Way::Base => Travels::Base,
            Way::Alternative(index) => Travels::Alternative {
                without: self.admission.ways.alternatives[*index].0,
            },
            Way::Detour(_) => Travels::Detour,
            Way::Nowhere => Travels::Nowhere,
        }
    }

    /// Returns all entries that it should have on a way, as its switches are to have
    /// them.
    #[must_use]
    pub fn content(&self, way: &Way) -> Content {
        self.rule.content(&self.entries(way))
    }

    /// Returns all entries that it should have on a way: those of its base tree,
    /// which stay where they do no harm, and over them those of the way.
    #[must_use]
    pub fn entries(&self, way: &Way) -> Entries {
        let class = self.admission.requirement.class;
        let ways = &self.admission.ways;
        let mut entries = match ways.are_local {
            true => local_entries(ways, class),
            false => entries_of(&ways.base, class),
        };
        match way {
            Way::Base | Way::Nowhere => {}
            Way::Alternative(index) if ways.are_local => {
                // Who has changed by himself stays there until he is told: a link that is
                // back may flap, or lead to a switch that has no entries yet.
                let met = ways.place_of(ways.alternatives[*index].0);
                if let Some(branch) = met.and_then(|at| ways.base.branches.get(at))
                    && let Some(entry) = entries.get_mut(&branch.entrance())
                    && let Some(backup) = entry.backup.take()
                {
                    let is_back = backup == branch.input;
                    entry.outputs = vec![if is_back { PortNumber::IN_PORT } else { backup }];
                }
            }
            Way::Alternative(index) => {
                entries.extend(entries_of(
                    &self.admission.ways.alternatives[*index].1,
                    class,
                ));
            }
            // Nothing is reserved there: it must not disturb what is.
            Way::Detour(tree) => entries.extend(entries_of(tree, BEST_EFFORT)),
        }
        entries
    }

    /// Returns the entries that keep others from its way: at each switch that hands its
    /// frames on to another one, what looks like them and does not come in where they do goes
    /// nowhere. So what the next switch takes for one of them came in at the port of the
    /// source, whatever else is programmed. Best effort has none.
    #[must_use]
    pub fn guards(&self) -> Vec<(RuleKey, Form)> {
        if self.admission.guarantee.is_none() || self.standing != Standing::Admitted {
            return Vec::new();
        }
        let base = &self.admission.ways.base;
        let other = match self.way {
            Way::Base => None,
            Way::Alternative(_) | Way::Detour(_) | Way::Nowhere => self.tree(),
        };
        let others = other.into_iter().chain(self.local_trees());
        let handing_on = std::iter::once(base).chain(others).flat_map(|tree| {
            let parents = tree.branches.iter().filter_map(|branch| branch.parent);
            parents.map(|(parent, _)| tree.branches[parent].datapath)
        });
        let mut switches: Vec<DatapathId> = handing_on.collect();
        switches.sort_unstable();
        switches.dedup();
        let form = self.rule.guard();
        let place = form.place();
        let guard = |datapath| ((datapath, place), form.clone());
        let guards = switches.into_iter().map(guard);
        guards.chain(self.supervision()).collect()
    }

    /// Returns the entries by which its switches hear that its source is there, if it goes by
    /// PRP. Other flows may want the same.
    fn supervision(&self) -> impl Iterator<Item = (RuleKey, Form)> {
        let branches = self.admission.ways.base.branches.iter();
        let switches: BTreeSet<_> = branches.map(|branch| branch.datapath).collect();
        let switches = switches.into_iter().filter(|_| self.rule.is_by_prp());
        switches.map(|datapath| {
            let form = seamless::supervision_form();
            ((datapath, form.place()), form)
        })
    }

    /// Returns whether its switches change its way by themselves.
    #[must_use]
    pub fn is_healed_locally(&self) -> bool {
        self.admission.ways.are_local
    }

    /// Returns the trees to which switches change by themselves.
    fn local_trees(&self) -> impl Iterator<Item = &Tree> {
        let ways = &self.admission.ways;
        let all = ways.alternatives.iter().map(|(_, tree)| tree);
        all.filter(|_| ways.are_local)
    }

    /// Returns the groups by which switches make up for a broken link themselves.
    pub fn failovers(&self) -> impl Iterator<Item = (DatapathId, Failover)> {
        let ways = &self.admission.ways;
        let entries = match ways.are_local {
            true => local_entries(ways, self.admission.requirement.class),
            false => Entries::new(),
        };
        entries
            .into_iter()
            .filter_map(|(at, entry)| Some((at.datapath, entry.failover(at.port)?)))
    }

    /// Returns the switches on which it has entries.
    pub fn switches(&self) -> impl Iterator<Item = DatapathId> + '_ {
        let present = self.tree().into_iter().chain([&self.admission.ways.base]);
        let present = present.chain(self.local_trees());
        present.flat_map(|tree| tree.branches.iter().map(|branch| branch.datapath))
    }
}

/// Returns the entries of a tree that is travelled in `class`.
#[must_use]
pub fn entries_of(tree: &Tree, class: u8) -> Entries {
    let branches = tree.branches.iter();
    branches
        .map(|branch| {
            let outputs = branch.outputs.clone();
            let entry = Entry {
                class,
                outputs,
                backup: None,
            };
            (branch.entrance(), entry)
        })
        .collect()
}

/// Returns the entries of ways to which switches change by themselves, travelled in `class`.
fn local_entries(ways: &Ways, class: u8) -> Entries {
    let entries = ways.local_entries().map(|(at, output, backup)| {
        let outputs = vec![output];
        let entry = Entry {
            class,
            outputs,
            backup,
        };
        (at, entry)
    });
    // What is on the base tree comes first, and has the groups.
    let mut all = Entries::new();
    for (at, entry) in entries {
        all.entry(at).or_insert(entry);
    }
    all
}

/// All flows, and which of them a link concerns.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    flows: BTreeMap<FlowId, Box<Flow>>,
    /// By a digest of the name.
    by_name: BTreeSet<(u64, FlowId)>,
    by_source: BTreeMap<PortId, Entering>,
    ends: Ends,
    /// Those that share their ways.
    groups: BTreeMap<u64, BTreeSet<FlowId>>,
    /// The groups whose base tree crosses a link.
    by_base_link: BTreeMap<LinkEnds, BTreeSet<u64>>,
    next_group: u64,
    /// Those that do not take their base tree.
    displaced: BTreeSet<FlowId>,
    /// Those that say something of levels of criticality.
    modal: BTreeSet<FlowId>,
    /// Those of which what exceeds their contract may go on.
    gentle: BTreeSet<FlowId>,
    /// Those whose way is other than when it was last looked at, or that are gone.
    altered: BTreeSet<FlowId>,
    next: u32,
}

impl Flows {
    /// Returns the number for the next flow.
    pub fn next_id(&mut self) -> FlowId {
        self.next += 1;
        FlowId(self.next)
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.flows.len()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// Returns all of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.flows.values().map(|flow| &**flow)
    }

    /// Returns all of them, by number, to be changed. Their ways are changed by
    /// [`set_way`](Self::set_way).
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.flows.values_mut().map(|flow| &mut **flow)
    }

    /// Returns those with numbers above `after`, by number.
    pub fn after(&self, after: FlowId) -> impl Iterator<Item = &Flow> {
        let above = (Bound::Excluded(after), Bound::Unbounded);
        self.flows.range(above).map(|(_, flow)| &**flow)
    }

    #[must_use]
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(&id).map(|flow| &**flow)
    }

    /// Returns one, to be changed. Its way is changed by
    /// [`set_way`](Self::set_way).
    pub fn get_mut(&mut self, id: FlowId) -> Option<&mut Flow> {
        self.flows.get_mut(&id).map(|flow| &mut **flow)
    }

    #[must_use]
    pub fn by_name(&self, name: &str) -> Option<FlowId> {
        let digest = digest(name);
        let alike = self
            .by_name
            .range((digest, FlowId(0))..=(digest, FlowId(u32::MAX)));
        let mut ids = alike.map(|(_, id)| *id);
        ids.find(|id| self.flows[id].admission.requirement.name == name)
    }

    /// Returns those whose source is attached to this port and from which a rule
    /// may not be told apart: all with which it conflicts are among them.
    pub fn rivals<'a>(
        &'a self,
        port: PortId,
        rule: &'a FlowRule,
    ) -> impl Iterator<Item = &'a Flow> {
        let entering = self.by_source.get(&port).into_iter();
        let ids = entering.flat_map(move |entering| entering.rivals(rule));
        ids.map(|id| &*self.flows[&id])
    }

    /// Returns where a host is, as the flows that begin or end at it say; nothing if none
    /// does.
    #[must_use]
    pub fn home(&self, host: &str) -> Option<PortId> {
        self.ends.port(host)
    }

    /// Returns those whose base tree crosses this link; those that share their ways
    /// stand together.
    pub fn over(&self, link: LinkEnds) -> impl Iterator<Item = FlowId> + '_ {
        let groups = self.by_base_link.get(&link).into_iter().flatten();
        groups.flat_map(|group| &self.groups[group]).copied()
    }

    /// Returns those that do not take their base tree.
    pub fn displaced(&self) -> impl Iterator<Item = FlowId> + '_ {
        self.displaced.iter().copied()
    }

    /// Returns those that say something of levels of criticality themselves.
    pub fn modal(&self) -> impl ExactSizeIterator<Item = &Flow> {
        self.modal.iter().map(|id| &*self.flows[id])
    }

    /// Adds a flow. One with the same number is replaced.
    pub fn insert(&mut self, flow: Flow) {
        self.remove(flow.id);
        let id = flow.id;
        self.altered.insert(id);
        self.next = self.next.max(id.0);
        self.by_name
            .insert((digest(&flow.admission.requirement.name), id));
        self.by_source
            .entry(flow.admission.source)
            .or_default()
            .insert(id, &flow.rule);
        self.ends.insert(&flow.admission);
        self.group(id, &flow.admission.ways);
        if flow.admission.requirement.modes.is_some() {
            self.modal.insert(id);
        }
        if flow.admission.requirement.excess == ExceedAction::BestEffort {
            self.gentle.insert(id);
        }
        self.flows.insert(id, Box::new(flow));
    }

    fn group(&mut self, id: FlowId, ways: &Ways) {
        let group = *ways.group.get_or_init(|| {
            self.next_group += 1;
            self.next_group
        });
        let members = self.groups.entry(group).or_default();
        if members.is_empty() {
            for link in ways.links() {
                self.by_base_link.entry(*link).or_default().insert(group);
            }
        }
        members.insert(id);
    }

    fn ungroup(&mut self, id: FlowId, ways: &Ways) {
        let Some(group) = ways.group.get() else {
            return;
        };
        forget(&mut self.groups, *group, id);
        if !self.groups.contains_key(group) {
            for link in ways.links() {
                forget(&mut self.by_base_link, *link, *group);
            }
        }
    }

    pub fn remove(&mut self, id: FlowId) -> Option<Flow> {
        let flow = *self.flows.remove(&id)?;
        self.altered.insert(id);
        self.by_name
            .remove(&(digest(&flow.admission.requirement.name), id));
        if let Some(entering) = self.by_source.get_mut(&flow.admission.source) {
            entering.remove(id, &flow.rule);
            if entering.is_empty() {
                self.by_source.remove(&flow.admission.source);
            }
        }
        self.ends.remove(&flow.admission);
        self.ungroup(id, &flow.admission.ways);
        self.displaced.remove(&id);
        self.modal.remove(&id);
        self.gentle.remove(&id);
        Some(flow)
    }

    /// Notes that a flow is in force.
    pub fn set_admitted(&mut self, id: FlowId) {
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.standing = Standing::Admitted;
            self.altered.insert(id);
        }
    }

    /// Returns the flows that come in at a switch, and those that may pass it and whose excess
    /// every switch has to know.
    pub fn policed_at(&self, datapath: DatapathId) -> impl Iterator<Item = FlowId> {
        let ports = [PortNumber(0), PortNumber(u32::MAX)].map(|port| PortId::new(datapath, port));
        let [first, last] = ports;
        let entering = self.by_source.range(first..=last);
        let flows = entering.flat_map(|(_, entering)| entering.flows());
        flows.chain(self.gentle.iter().copied())
    }

    /// Returns a flow whose way is other than when this was last asked, or that is gone.
    pub fn take_altered(&mut self) -> Option<FlowId> {
        self.altered.pop_first()
    }

    /// Returns whether there is one.
    #[must_use]
    pub fn has_altered(&self) -> bool {
        !self.altered.is_empty()
    }

    /// Notes that a flow takes another way.
    pub fn set_way(&mut self, id: FlowId, way: Way) {
        self.altered.insert(id);
        match way {
            Way::Base => self.displaced.remove(&id),
            Way::Alternative(_) | Way::Detour(_) | Way::Nowhere => self.displaced.insert(id),
        };
        if let Some(flow) = self.flows.get_mut(&id) {
            flow.way = way;
        }
    }
}

fn digest(name: &str) -> u64 {
    siphash_2_4(*b"names of flows..", name.as_bytes())
}

fn forget<K: Ord, V: Ord>(index: &mut BTreeMap<K, BTreeSet<V>>, key: K, value: V) {
    if let Some(values) = index.get_mut(&key) {
        values.remove(&value);
        if values.is_empty() {
            index.remove(&key);
        }
    }
}
