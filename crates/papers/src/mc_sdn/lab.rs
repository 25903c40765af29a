//! The same experiments with real frames: a [`ModeSetup`] becomes a scenario, which runs in
//! namespaces as `taktos run` would run it, with our switches, our controller, and hosts
//! that send its flows.
//!
//! # Differs from virtual time
//!
//! - Std-SDN is our own controller over real connections, not one of given times.
//! - The controller chooses the ways. Drawn flows for which links have no room there are
//!   left out, never the one that breaks its contract.
//! - Where the kernel forwards, frames that stand in its queues are not judged again:
//!   what the higher level drops leaves behind what it favours (docs/modes.md).
//! - As in the paper nothing is promised: our controller reserves next to nothing for
//!   each flow, and refuses none. It has six queues for flows, and virtual time seven.
//! - An experiment that changes the mode again and again does so in one network, whose
//!   level falls in between.

mod script;

use std::sync::atomic::AtomicBool;

use lab::switches::{Carried, Forwarding, kernel_refuses};
use measure::recorder::FlowRecord;
use scenario::{FlowIndex, Scenario};
use sim::modes::stage::{ModeSetup, ObservedChange, READY};
use units::{Duration, Instant};

use self::script::{HIGH, LOW, script};
use run::experiment::lab_world::packets;
use run::experiment::mode_changes::{LevelChange, level_changes};
use run::experiment::world::Observed;
use run::experiment::{Admission, Audience, Discovered, Experiment, Run, WorldChoice};

/// What was seen of one message that broke its contract.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The same as in virtual time, and by its clock.
    pub seen: ObservedChange,
    /// Whether the machine stood still while the mode changed.
    pub is_stalled: bool,
}

/// Lets a stage happen with real frames, in one network. The contract is broken as many
/// times as is said, and the level falls in between.
///
/// # Errors
///
/// A sentence that says why it could not be.
pub fn play(stage: &ModeSetup, times: u32) -> Result<Vec<Played>, String> {
    play_scenario(stage, times, &script(stage, times)?)
}

/// The same, once, without the flows for which links have no room on the ways that the
/// controller chooses.
///
/// # Errors
///
/// As [`play`].
pub fn play_what_fits(stage: &ModeSetup) -> Result<Played, String> {
    let played = play_scenario(stage, 1, &with_room(script(stage, 1)?)?)?;
    Ok(played.into_iter().next().unwrap_or_default())
}

fn play_scenario(
    stage: &ModeSetup,
    times: u32,
    scenario: &Scenario,
) -> Result<Vec<Played>, String> {
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(scenario, &stop);
    let place = WorldChoice::Lab(forwarding());
    let ran = experiment.observe(place, &mut Nobody);
    let (run, observed) = ran.map_err(|error| error.to_string())?;
    if observed.overflowed > 0 {
        return Err(format!(
            "{} frames found no room in the queue of their own host, so that the network never \
             had them",
            observed.overflowed
        ));
    }
    let taking = Takings {
        stage,
        scenario,
        run: &run,
        observed: &observed,
        changes: level_changes(&run.said),
    };
    Ok((0..times).map(|time| taking.of(time)).collect())
}

/// Returns from when a switch noticed to when the last one had changed: what leaves
/// queues after that is left to other figures.
#[must_use]
pub fn until_changed(seen: &ObservedChange) -> Option<Duration> {
    seen.changed?.checked_since(seen.detected?)
}

/// Returns who forwards on this machine.
fn forwarding() -> Forwarding {
    match kernel_refuses() {
        None => Forwarding::Kernel,
        Some(_) => Forwarding::Loop(Carried::Packet),
    }
}

/// Says who forwards on this machine.
#[must_use]
pub fn about() -> String {
    let who = match kernel_refuses() {
        None => "forwarded by the kernel".to_owned(),
        Some(why) => format!("forwarded by a loop over packet sockets, since {why}"),
    };
    format!(
        "Real frames between namespaces on one machine, {who}; links of 100 Mbit/s are paced by \
         token buckets. Std-SDN is our own controller over TCP: the paper's, a POX on a machine \
         of its own, took longer."
    )
}

/// Leaves out flows for which links have no room on the ways that the controller chooses.
fn with_room(mut scenario: Scenario) -> Result<Scenario, String> {
    let stop = AtomicBool::new(false);
    let decided = Experiment::deciding(&scenario, &stop).ways();
    let decided = decided.map_err(|error| error.to_string())?;
    let crowded = script::crowded(&scenario, &decided);
    for flow in crowded {
        // A flow that stops as it starts sends nothing.
        let flow = &mut scenario.flows[flow];
        flow.stop = Some(flow.start);
    }
    Ok(scenario)
}

/// What a run left, in the words of virtual time.
struct Takings<'a> {
    stage: &'a ModeSetup,
    scenario: &'a Scenario,
    run: &'a Run,
    observed: &'a Observed,
    changes: Vec<LevelChange>,
}

impl Takings<'_> {
    fn of(&self, time: u32) -> Played {
        let flows = 0..self.stage.flows.len();
        let breaks = |flow: &usize| {
            let flow = &self.stage.flows[*flow];
            flow.breach.is_some() || flow.quickens.is_some()
        };
        let breaking = flows.clone().find(breaks);
        let due = breaking.map(|flow| self.breach_due(flow, time));
        let change = breaking.and_then(|flow| {
            let next = match self.stage.flows[flow].quickens {
                Some(_) => Instant::FAR_FUTURE,
                None => self.breach_due(flow, time + 1),
            };
            self.change(due?, next)
        });
        let arrivals: Vec<_> = flows.clone().map(|flow| self.arrivals(flow)).collect();
        let message = breaking.zip(due).and_then(|(flow, due)| {
            let number = self.messages(flow).position(|(at, _)| at >= due)?;
            let arrived = arrivals[flow].get(number)?.1?;
            (self.run.start + arrived).checked_since(due)
        });
        let whole = arrivals.iter().map(|messages| {
            let whole = messages.iter().filter(|(_, arrived)| arrived.is_some());
            whole.count() as u64
        });
        let shadows = self.observed.stalls.as_ref().map(|stalls| stalls.shadows());
        let is_stalled = change
            .zip(shadows)
            .is_some_and(|(change, shadows)| shadows.touch(change.detected, change.settled));
        Played {
            seen: ObservedChange {
                detected: change.map(|change| self.as_virtual(change.detected)),
                changed: change.map(|change| self.as_virtual(change.settled)),
                out_of_mode: change.and_then(|change| self.out_of_mode(change)),
                message,
                longest: vec![None; self.stage.flows.len()],
                whole: whole.collect(),
                arrivals,
            },
            is_stalled,
        }
    }

    /// Returns a moment by the clock of virtual time, in which hosts begin when all is
    /// ready.
    fn as_virtual(&self, at: Instant) -> Instant {
        Instant::ZERO + READY + at.saturating_since(self.run.start)
    }

    /// Returns when a flow is due to break its contract.
    fn breach_due(&self, flow: usize, time: u32) -> Instant {
        let staged = &self.stage.flows[flow];
        let after = match staged.quickens {
            Some(quick) => quick.from,
            None => script::breach_at(staged, time).unwrap_or_default(),
        };
        self.run.start + after
    }

    /// Returns the change to the higher level between two moments.
    fn change(&self, from: Instant, to: Instant) -> Option<&LevelChange> {
        let to_high = self.changes.iter().filter(|change| change.level == HIGH);
        let mut between = to_high.filter(|change| change.detected >= from && change.detected < to);
        let switches = self.stage.topology.switches;
        between.find(|change| change.origin.is_none() || change.entered.len() == switches)
    }

    /// Returns when the last frame arrived that the higher level drops, before the level
    /// fell again, if that was after the change had been demanded.
    fn out_of_mode(&self, change: &LevelChange) -> Option<Instant> {
        let fell = self
            .changes
            .iter()
            .find(|other| other.level == LOW && other.detected > change.detected);
        let until = fell.map_or(Instant::FAR_FUTURE, |fell| fell.detected);
        let flows = self.stage.flows.iter().enumerate();
        let given_up = flows.filter(|(_, flow)| script::is_given_up(flow));
        let arrivals = given_up.flat_map(|(flow, _)| {
            let record = self.record(flow);
            let passages = record.into_iter().flat_map(|record| record.passages.iter());
            passages.filter_map(|passage| Some(passage.sent_at + passage.latency?))
        });
        let late = arrivals.filter(|at| *at > change.detected && *at < until);
        late.max().map(|at| self.as_virtual(at))
    }

    fn record(&self, flow: usize) -> Option<&FlowRecord> {
        // All flows are accepted, since nothing is reserved: records are in their order.
        self.observed.records.get(flow)
    }

    /// Returns when each message of a flow is due, and its packets.
    fn messages(&self, flow: usize) -> impl Iterator<Item = (Instant, u64)> {
        let phases = self.scenario.phases_of(FlowIndex(flow));
        let stop = self.scenario.flows[flow].stop;
        let end = stop.unwrap_or(self.scenario.duration);
        let ends: Vec<Duration> = phases
            .iter()
            .skip(1)
            .map(|next| next.from)
            .chain([end])
            .collect();
        let start = self.run.start;
        phases
            .into_iter()
            .zip(ends)
            .flat_map(move |(phase, until)| {
                let period = phase.message.period;
                let packets = packets(phase.message.size);
                let due = move |number: u64| phase.from + period * number;
                (0..)
                    .map(due)
                    .take_while(move |due| *due < until)
                    .map(move |due| (start + due, packets))
            })
    }

    /// Returns when all of each message of a flow had arrived, after the start, if it did.
    fn arrivals(&self, flow: usize) -> Vec<(u32, Option<Duration>)> {
        let Some(record) = self.record(flow).filter(|record| record.skipped == 0) else {
            return Vec::new();
        };
        let sent = usize::try_from(record.sent).unwrap_or(usize::MAX);
        let mut arrived: Vec<Option<Instant>> = vec![None; sent];
        for passage in record.passages.iter() {
            let place = usize::try_from(passage.sequence).ok();
            if let Some(slot) = place.and_then(|place| arrived.get_mut(place)) {
                *slot = passage.latency.map(|latency| passage.sent_at + latency);
            }
        }
        let mut rest = arrived.as_slice();
        let messages = self.messages(flow).map_while(|(_, packets)| {
            let packets = usize::try_from(packets).ok()?;
            let (message, others) = rest.split_at_checked(packets)?;
            rest = others;
            let last = message.iter().copied().collect::<Option<Vec<_>>>();
            Some(last.and_then(|all| all.into_iter().max()))
        });
        let after = messages.map(|at| at.map(|at| at.saturating_since(self.run.start)));
        (0..).zip(after).collect()
    }
}

/// Hears of nothing: many networks are built one after the other.
struct Nobody;

impl Audience for Nobody {
    fn built(&mut self, _: Duration) {}
    fn discovered(&mut self, _: Discovered, _: Duration) {}
    fn decided(&mut self, _: &[Admission]) {}
    fn running(&mut self, _: Duration, _: Duration) {}
    fn happened(&mut self, _: Duration, _: &str) {}
}
