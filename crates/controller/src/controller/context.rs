//! What all parts of the controller work with: time, settings, connections, and what goes
//! out.
//!
//! It is given to all of them and knows none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use units::{Duration, Instant};
use wire::openflow::DatapathId;

use crate::config::{Config, Metric, Parameters, Timers};
use crate::northbound::{Counters, Request, Route};
use crate::outbox::Outbox;
use crate::path::Tree;
use crate::place::{LinkEnds, PortId};
use crate::session::Sessions;

use super::policing::Policing;
use super::profile_watch::SlowSwitch;

/// Whether the store has told all that it kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    Incomplete,
    Complete,
}

#[derive(Debug)]
pub struct Schedule {
    pub probes: Instant,
    pub phase: u64,
    pub echoes: Instant,
    pub rounds: Instant,
    pub round: u64,
    /// When flows may return to links that are back.
    pub returns: Option<Instant>,
    /// When floods are to follow the links.
    pub floods: Option<Instant>,
    pub floods_followed: Option<Instant>,
}

impl Schedule {
    pub fn new(now: Instant, timers: &Timers) -> Self {
        Self {
            probes: now + timers.probe_interval,
            phase: 0,
            echoes: now + timers.echo_interval,
            rounds: now + timers.audit_interval,
            round: 0,
            returns: None,
            floods: None,
            floods_followed: None,
        }
    }

    /// Returns whose turn it is to send probes.
    pub const fn phase(&self) -> u64 {
        self.phase
    }

    pub fn deadline(&self) -> Instant {
        let next = self.probes.min(self.echoes).min(self.rounds);
        let others = [self.returns, self.floods].into_iter().flatten();
        others.fold(next, Instant::min)
    }
}

/// What it costs to leave a drained switch, in either unit: more than any way around it.
const DRAINED: u64 = 1 << 50;

/// What all parts of the controller work with.
#[derive(Debug)]
pub struct Context {
    pub now: Instant,
    pub seed: u64,
    pub metric: Metric,
    /// Switches that nothing passes if it can go another way.
    pub drained: BTreeSet<DatapathId>,
    pub timers: Timers,
    pub schedule: Schedule,
    pub sessions: Sessions,
    pub outbox: Outbox,
    pub counters: Counters,
    /// What is known of all switches before they are.
    pub parameters: Arc<Parameters>,
    /// Which switches can hold sources to their contracts.
    pub policing: Policing,
    /// What the keys of sessions between neighbours follow from; without it they have none.
    pub session_secret: Option<[u8; 16]>,
    /// Where frames stayed for longer than profiles explain.
    pub slow_switches: BTreeMap<DatapathId, SlowSwitch>,
    /// Whether something has changed on which promises may rest, since they were looked
    /// at last.
    pub are_promises_stale: bool,
    /// The same for what switches are given for modes.
    pub are_modes_stale: bool,
    /// Whether switches, ports or links have changed since the ways to next hops were looked
    /// at.
    pub are_routes_stale: bool,
    /// What becomes of the entries of routes that switches had before they connected.
    pub left_routes: LeftRoutes,
    /// Whether what was kept is known.
    pub memory: Memory,
    /// When the network has been found after the start.
    pub settled_at: Instant,
}

/// The entries to next hops, and between outside routers and the speaker, that switches have
/// from an instance before this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct LeftRoutes {
    /// Whether some were seen.
    pub are_there: bool,
    /// Whether it is known which of them are wanted: before that none is deleted.
    pub are_known: bool,
}

impl Context {
    pub fn new(now: Instant, config: &Config) -> Self {
        Self {
            now,
            seed: config.seed,
            metric: config.metric,
            drained: BTreeSet::new(),
            timers: config.timers,
            schedule: Schedule::new(now, &config.timers),
            sessions: Sessions::default(),
            outbox: Outbox::default(),
            counters: Counters::default(),
            parameters: Arc::new(Parameters::new(config)),
            policing: Policing::new(config.policing),
            session_secret: config.probe_key,
            slow_switches: BTreeMap::new(),
            are_promises_stale: false,
            are_modes_stale: true,
            are_routes_stale: false,
            left_routes: LeftRoutes::default(),
            memory: Memory::Incomplete,
            settled_at: now,
        }
    }

    /// Notes that something has changed that promises may rest on.
    pub const fn promises_changed(&mut self) {
        self.are_promises_stale = true;
    }

    /// Notes that something has changed that concerns what switches are given for modes.
    pub const fn modes_changed(&mut self) {
        self.are_modes_stale = true;
    }

    /// Returns whether a switch is not heard: its session is gone, or silent.
    pub fn is_suspect(&self, datapath: DatapathId) -> bool {
        let heard = self.heard_at(datapath);
        heard.is_none_or(|at| self.now.saturating_since(at) >= self.timers.silence_allowed())
    }

    /// Returns whether a switch speaks version 1.0 of OpenFlow.
    pub fn is_narrow(&self, datapath: DatapathId) -> bool {
        let slot = self.sessions.of_switch(datapath);
        slot.is_some_and(|slot| self.sessions.narrow().contains(&slot))
    }

    /// Returns when something last arrived from a switch, if its session stands.
    pub fn heard_at(&self, datapath: DatapathId) -> Option<Instant> {
        let session = self.sessions.get(self.sessions.of_switch(datapath)?)?;
        Some(session.heard_at)
    }

    /// Returns for how long since a moment both ends of a link have been heard, without a
    /// silence of either for which it would be suspected: for so long it says something that
    /// probes are missing. What a switch hands over arrives no later than its next sign of
    /// life.
    pub fn heard_for(&self, link: LinkEnds, since: Instant) -> Duration {
        let (mut begin, mut end) = (since, self.now);
        for datapath in link.both().map(|end| end.datapath) {
            let slot = self.sessions.of_switch(datapath);
            let Some(session) = slot.and_then(|slot| self.sessions.get(slot)) else {
                return Duration::ZERO;
            };
            begin = begin.max(session.heard_since);
            end = end.min(session.heard_at + self.timers.echo_interval);
        }
        end.saturating_since(begin)
    }

    pub fn route(&self, tree: &Tree) -> Route {
        let switches = tree.branches.iter();
        Route {
            switches: switches
                .map(|branch| self.name_of_switch(branch.datapath))
                .collect(),
            links: tree.links().collect(),
        }
    }

    /// Returns whether the network is still being found after a start: what is not
    /// wanted yet may be wanted soon.
    pub fn is_settling(&self) -> bool {
        self.now < self.settled_at
    }

    /// Returns whether a request can be answered before all that was kept is
    /// known.
    pub fn is_answerable(&self, request: &Request) -> bool {
        match request {
            Request::View
            | Request::Topology
            | Request::Statistics
            | Request::Rules(_)
            | Request::Mode
            | Request::RoutingStatus
            | Request::SpeakerState(_)
            | Request::Applications => true,
            Request::Admit(_)
            | Request::AdmitTogether(_)
            | Request::WhatIf(_)
            | Request::MakeRoom(_)
            | Request::Withdraw(_)
            | Request::Prepare(_)
            | Request::AssignClasses { .. }
            | Request::Flows
            | Request::FlowsAfter { .. }
            | Request::Flow(_)
            | Request::HopsAfter { .. }
            | Request::Promises
            | Request::Profiles
            | Request::SuggestContract(_)
            | Request::CorrectProfile { .. }
            | Request::Reconcile(_)
            | Request::Settings
            | Request::Configure(_)
            | Request::SetMode(_)
            | Request::Paths(_)
            | Request::AddIntents(_)
            | Request::RemoveIntent(_)
            | Request::Intents
            | Request::ConfigureSdnIp(_)
            | Request::ChangeRoutes { .. }
            | Request::RoutesAfter { .. }
            | Request::SetHost(_)
            | Request::Load(_)
            | Request::Unload(_)
            | Request::Reload(_)
            | Request::RemoveHost(_)
            | Request::ForgetSwitch(_) => self.memory == Memory::Complete,
        }
    }

    pub fn is_reachable(&self, tree: Option<&Tree>) -> bool {
        let mut switches = tree.into_iter().flat_map(|tree| &tree.branches);
        switches.all(|branch| self.sessions.of_switch(branch.datapath).is_some())
    }

    /// Returns what it costs a flow of `class` to leave by a port.
    pub fn cost(&self, class: u8) -> impl Fn(PortId) -> u64 + '_ {
        move |port| {
            let detour = match self.drained.contains(&port.datapath) {
                true => DRAINED,
                false => 0,
            };
            detour
                + match self.metric {
                    crate::config::Metric::Links => 1,
                    crate::config::Metric::Delay => self.parameters.hop_delay(port, class).as_ps(),
                }
        }
    }
}
