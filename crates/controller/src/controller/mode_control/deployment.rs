//! What switches are given for modes.

use std::collections::{BTreeMap, BTreeSet};

use wire::mode_signal::Level;
use wire::openflow::multipart::{MultipartRequest, RequestBody};
use wire::openflow::taktos::{
    LevelSet, ModeConfig, ModeFlags, ModeMessage, MonitorCommand, MonitorId, MonitorMod, Question,
    Trunk,
};
use wire::openflow::{DatapathId, Sequence, TransactionId};

use crate::desired::{Content, EntryOwner, Standing};
use crate::flows::Flow;
use crate::modes::{Modes, Strategy, Variants, monitor_of, signal_entry, variants};
use crate::northbound::{Event, FlowId};
use crate::session::Slot;

use super::super::{Context, ModeDesk, Network, Owners, Topology};
use super::desk::{Ability, Lock, Member, MonitorSetup};

/// Of what nobody waits for an answer: an error of it is told.
const UNASKED: TransactionId = TransactionId(0);

impl ModeDesk {
    /// Asks a switch that has connected in which mode it is, and gives it the monitors
    /// that entries of it refer to.
    pub fn begin_modes(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        slot: Slot,
        datapath: DatapathId,
    ) {
        let Some(modes) = self.active() else {
            return;
        };
        let transaction = network.tables.confirmations.transaction();
        let question = RequestBody::Experimenter(Question::Modes.body());
        MultipartRequest::new(question).emit(transaction, ctx.outbox.to(slot));
        let monitors = Self::wanted_monitors(&network.owners, &modes, datapath);
        for (monitor, watched) in &monitors {
            add_monitor(*monitor, watched, transaction, ctx.outbox.to(slot));
        }
        let member = Member {
            ability: Ability::Unknown,
            asked: Some(transaction),
            told: Vec::new(),
            is_complete: false,
            inherited: LevelSet::NONE,
            monitors,
            held: None,
        };
        self.members.insert(datapath, member);
        ctx.modes_changed();
    }

    /// Sends what differs from what should be, and asks for what is not known.
    pub fn keep_modes(&mut self, ctx: &mut Context, network: &mut Network) {
        let Some(modes) = self.active() else {
            return;
        };
        if !self.is_due(ctx) {
            return;
        }
        self.give_monitors(ctx, &network.owners, &modes);
        self.give_levels(ctx, network, &modes);
        self.take_monitors(ctx, network, &modes);
        self.take_part_all(ctx, network, &modes);
        self.poll_modes(ctx, &mut network.tables);
        self.keep_forced(ctx, network, &modes);
        self.find_way_back(ctx, network, &modes);
    }

    fn wanted_monitors(
        owners: &Owners,
        modes: &Modes,
        datapath: DatapathId,
    ) -> BTreeMap<MonitorId, MonitorSetup> {
        let here = owners
            .modal_flows(modes)
            .filter(|flow| flow.admission.source.datapath == datapath);
        let watched = here.filter_map(|flow| {
            let requirement = &flow.admission.requirement;
            let said = modes.said(requirement)?;
            let watched = MonitorSetup {
                jitter: said.jitter,
                contracts: modes.contracts(said),
            };
            if !modes.is_watched(requirement) {
                return None;
            }
            Some((monitor_of(flow.id), watched))
        });
        watched.collect()
    }

    /// Adds monitors and changes those that are others now.
    fn give_monitors(&mut self, ctx: &mut Context, owners: &Owners, modes: &Modes) {
        let able: Vec<DatapathId> = self.able().collect();
        for datapath in able {
            let wanted = Self::wanted_monitors(owners, modes, datapath);
            let slot = ctx.sessions.of_switch(datapath);
            let (Some(slot), Some(member)) = (slot, self.members.get_mut(&datapath)) else {
                continue;
            };
            for (monitor, watched) in wanted {
                if member.monitors.get(&monitor) != Some(&watched) {
                    add_monitor(monitor, &watched, UNASKED, ctx.outbox.to(slot));
                    member.monitors.insert(monitor, watched);
                }
            }
        }
    }

    /// Deletes monitors to which no entry refers any more.
    fn take_monitors(&mut self, ctx: &mut Context, network: &Network, modes: &Modes) {
        let able: Vec<DatapathId> = self.able().collect();
        for datapath in able {
            let wanted = Self::wanted_monitors(&network.owners, modes, datapath);
            let slot = ctx.sessions.of_switch(datapath);
            let (Some(slot), Some(member)) = (slot, self.members.get_mut(&datapath)) else {
                continue;
            };
            let desired = &network.tables.desired;
            let out = ctx.outbox.to(slot);
            member.monitors.retain(|monitor, _| {
                let is_used = desired.is_owner(EntryOwner::Levels(FlowId(monitor.0)));
                let stays = wanted.contains_key(monitor) || is_used;
                if !stays {
                    let deletion = MonitorMod {
                        command: MonitorCommand::Delete,
                        monitor: *monitor,
                        jitter: units::Duration::default(),
                        contracts: Sequence::EMPTY,
                    };
                    ModeMessage::MonitorMod(deletion).emit(UNASKED, out);
                }
                stays
            });
        }
    }

    /// Makes the entries of levels what they should be.
    pub(super) fn give_levels(&mut self, ctx: &mut Context, network: &mut Network, modes: &Modes) {
        let able: BTreeSet<DatapathId> = self.able().collect();
        if modes.strategy == Strategy::Taktos {
            let rules = able.iter().map(|datapath| signal_entry(*datapath));
            let rules: Vec<_> = rules.collect();
            if network.tables.desired.of_subject(EntryOwner::Modes).count() != rules.len() {
                network.set_rules(ctx, EntryOwner::Modes, rules);
            }
        }
        let which = match modes.strategy {
            Strategy::Taktos => Variants::OfAllLevels,
            Strategy::StdSdn | Strategy::McAgnostic => Variants::Of(self.written),
        };
        let needs_modes = modes.strategy == Strategy::Taktos;
        let has_modes = |datapath: DatapathId| !needs_modes || able.contains(&datapath);
        let flows = network.owners.modal_flows(modes);
        let wanted: BTreeMap<FlowId, _> = flows
            .map(|flow| (flow.id, variants(modes, flow, which, &has_modes)))
            .collect();
        let gone = self.levels.keys().copied();
        let gone: Vec<FlowId> = gone.filter(|id| !wanted.contains_key(id)).collect();
        for flow in gone {
            self.levels.remove(&flow);
            network.clear_rules(ctx, EntryOwner::Levels(flow));
        }
        let changed = wanted.into_iter().map(|(flow, rules)| {
            let forms = rules.iter().map(|rule| (rule.datapath, rule.form()));
            let content = forms.map(|(at, form)| ((at, form.place()), form)).collect();
            (flow, rules, content)
        });
        let levels = &self.levels;
        let is_other =
            |(flow, _, content): &(FlowId, Vec<_>, Content)| levels.get(flow) != Some(content);
        let changed: Vec<_> = changed.filter(is_other).collect();
        let contents = changed.iter().flat_map(|(_, _, content)| content.keys());
        let concerned: BTreeSet<DatapathId> = contents.map(|(at, _)| *at).collect();
        self.call_incomplete(ctx, &network.topology, modes, &concerned);
        for (flow, rules, content) in changed {
            match which {
                Variants::OfAllLevels => network.set_rules(ctx, EntryOwner::Levels(flow), rules),
                // Nothing waits for anything: the level is to change.
                Variants::Of(_) => {
                    network.set_content_at_once(ctx, EntryOwner::Levels(flow), &content)
                }
            }
            self.levels.insert(flow, content);
        }
    }

    /// Returns whether a switch has confirmed every entry of every level.
    fn is_complete(&self, network: &Network, modes: &Modes, datapath: DatapathId) -> bool {
        let flows = network.owners.modal_flows(modes);
        let subjects = flows.map(|flow| EntryOwner::Levels(flow.id));
        let mut spots = subjects
            .chain([EntryOwner::Modes])
            .flat_map(|subject| network.tables.desired.of_subject(subject));
        let is_confirmed = |(at, place): (DatapathId, _)| {
            let rule = network.tables.desired.get(at, place);
            at != datapath || rule.is_some_and(|rule| rule.standing == Standing::Confirmed)
        };
        let is_given = |flow: &Flow| self.levels.contains_key(&flow.id);
        network.tables.is_synchronised(datapath)
            && network.tables.desired.is_owner(EntryOwner::Modes)
            && network.owners.modal_flows(modes).all(is_given)
            && spots.all(is_confirmed)
    }

    /// Tells switches how they take part, if that is other than what they were told.
    pub(super) fn take_part_all(&mut self, ctx: &mut Context, network: &Network, modes: &Modes) {
        let able: Vec<DatapathId> = self.able().collect();
        for datapath in able {
            self.take_part(ctx, network, modes, datapath);
        }
    }

    fn take_part(
        &mut self,
        ctx: &mut Context,
        network: &Network,
        modes: &Modes,
        datapath: DatapathId,
    ) {
        let is_complete = self.is_complete(network, modes, datapath);
        let is_calm = self.agreed().0.level == Level::LOWEST;
        let Some(member) = self.members.get_mut(&datapath) else {
            return;
        };
        // What is in force stays so while something is added to it.
        let stays = member.is_complete && !is_calm;
        let is_news = is_complete && !member.is_complete;
        member.is_complete = is_complete || stays;
        if is_complete {
            member.inherited = LevelSet::NONE;
        }
        self.tell_part(ctx, &network.topology, modes, datapath);
        if is_news {
            let switch = ctx.name_of_switch(datapath);
            ctx.outbox.notify(Event::ModeComplete { switch });
        }
    }

    /// Tells switches that their levels are not complete any more, before entries of
    /// these flows are changed.
    fn call_incomplete(
        &mut self,
        ctx: &mut Context,
        topology: &Topology,
        modes: &Modes,
        changed: &BTreeSet<DatapathId>,
    ) {
        if self.agreed().0.level > Level::LOWEST {
            return;
        }
        for datapath in changed {
            if let Some(member) = self.members.get_mut(datapath)
                && member.is_complete
            {
                member.is_complete = false;
                self.tell_part(ctx, topology, modes, *datapath);
            }
        }
    }

    /// Tells a switch how it takes part, if that is other than what it was told.
    fn tell_part(
        &mut self,
        ctx: &mut Context,
        topology: &Topology,
        modes: &Modes,
        datapath: DatapathId,
    ) {
        let trunks = match modes.strategy {
            Strategy::Taktos => Self::trunks(topology, datapath),
            Strategy::StdSdn | Strategy::McAgnostic => Vec::new(),
        };
        let slot = ctx.sessions.of_switch(datapath);
        let is_locked = self.lock == Lock::Locked;
        let key = self.key;
        let (Some(slot), Some(member)) = (slot, self.members.get_mut(&datapath)) else {
            return;
        };
        let config = ModeConfig {
            hold: modes.hold,
            heart_beat: modes.heart_beat.filter(|_| !trunks.is_empty()),
            key,
            complete: match member.is_complete {
                true => modes.all().collect(),
                false => member.inherited.with(Level::LOWEST),
            },
            default: modes.default,
            flags: flags(modes.strategy, is_locked),
            trunks: Sequence::of(&trunks),
        };
        let mut message = Vec::new();
        ModeMessage::Config(config).emit(UNASKED, &mut message);
        if message != member.told {
            ctx.outbox.to(slot).extend_from_slice(&message);
            member.told = message;
        }
    }

    /// Returns the ports of a switch that lead to others, whether the links are up or
    /// not: a link that comes back carries signals at once.
    fn trunks(topology: &Topology, datapath: DatapathId) -> Vec<Trunk> {
        let ends = topology.view.links().iter().map(|link| link.ends);
        let pairs = ends.flat_map(|ends| {
            let [one, other] = ends.both();
            [(one, other), (other, one)]
        });
        let own = pairs.filter(|(here, _)| here.datapath == datapath);
        let is_joined = |(here, there): &(_, _)| topology.far_end(*here) == Some(*there);
        let present = own.filter(is_joined);
        let trunks = present.map(|(here, there)| Trunk {
            port: here.port,
            far_port: there.port,
            far_switch: there.datapath,
        });
        trunks.collect()
    }
}

fn flags(strategy: Strategy, is_locked: bool) -> ModeFlags {
    let lock = match is_locked {
        true => ModeFlags::LOCKED,
        false => ModeFlags::NONE,
    };
    match strategy {
        Strategy::StdSdn => lock.with(ModeFlags::ASK),
        Strategy::Taktos | Strategy::McAgnostic => lock,
    }
}

fn add_monitor(monitor: MonitorId, watched: &MonitorSetup, of: TransactionId, out: &mut Vec<u8>) {
    let order = MonitorMod {
        command: MonitorCommand::Add,
        monitor,
        jitter: watched.jitter,
        contracts: Sequence::of(&watched.contracts),
    };
    ModeMessage::MonitorMod(order).emit(of, out);
}
