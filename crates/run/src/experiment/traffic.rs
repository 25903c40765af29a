//! Lets the hosts send and the scenario's events happen.

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use controller::northbound::{Event, FlowId, Said, Saying};
use measure::capture::Captures;
use measure::report::text::milliseconds;
use scenario::{
    Change, Direction, HostIndex, Impairment, LinkIndex, Scenario, SwitchIndex, Violation,
};
use units::{Duration, Instant};

use super::load::load;
use super::mode_changes::describe_mode_event;
use super::readmissions::Readmissions;
use super::route::Atlas;
use super::world::{Plug, Wish, World};
use super::{Admission, Audience, Experiment, ExperimentError, Run, errors};

/// Time between the last decision and the first frame.
const LEAD_TIME: Duration = Duration::from_ms(200);
/// How often a host that was plugged in elsewhere says so until it is found.
const ANNOUNCEMENT_INTERVAL: Duration = Duration::from_ms(10);
/// How often the audience hears of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_ms(100);

impl Experiment<'_> {
    /// Sends what was admitted, for as long as the scenario says or until the
    /// user has enough.
    pub(super) fn send(
        &self,
        world: &mut dyn World,
        admissions: &[Admission],
        captures: Captures,
        to: &mut dyn Audience,
    ) -> Result<Run, ExperimentError> {
        let scenario = self.scenario;
        let start = world.now() + LEAD_TIME;
        let wanted = scenario.duration;
        let (mut load, plans) = load(scenario, admissions, start, wanted, world.unix_origin_ns());
        load.captures = captures;
        let changes = self.planned(start);
        world.plant(scenario, start);
        world.begin(load, &changes)?;

        let mut run = Run {
            start,
            duration: wanted,
            complete: true,
            said: Vec::new(),
            plans,
            readmissions: Readmissions::after(admissions),
            switch_modes: Vec::new(),
        };
        let mut changes = changes.into_iter().peekable();
        let mut wrongs = wrongs(scenario).into_iter().peekable();
        let (mut moved, mut exceeding) = (BTreeSet::new(), BTreeSet::new());
        let end = start + wanted;
        while world.now() < end {
            let now = world.now();
            if self.go_on().is_err() {
                run.complete = false;
                run.duration = now.saturating_since(start);
                break;
            }
            while let Some((at, change)) = changes.next_if(|(at, _)| *at <= now) {
                to.happened(at.saturating_since(start), &describe(scenario, change));
                moved.extend(moves(change));
            }
            self.change_by_hand(world, start, to);
            while let Some((from, text)) = wrongs.next_if(|(from, _)| start + *from <= now) {
                to.happened(from, &text);
            }
            for host in &moved {
                self.announce(world, *host);
            }
            let interval = match moved.is_empty() {
                true => PROGRESS_INTERVAL,
                false => ANNOUNCEMENT_INTERVAL,
            };
            let next = changes.peek().map_or(end, |(at, _)| *at);
            let said = run.listen(world, next.min(end).min(now + interval))?;
            for said in &said {
                report_notice(said, start, &mut exceeding, to);
                if world.is_undisturbed() {
                    report_slowness(said, start, to);
                }
                moved.retain(|host| !is_found(said, &scenario.hosts[host.0].name));
            }
            run.said.extend(said);
            to.running(world.now().saturating_since(start), wanted);
        }
        let drained = world.now() + scenario.measurement.drain;
        while world.now() < drained {
            let said = run.listen(world, drained)?;
            run.said.extend(said);
        }
        Ok(run)
    }
}

impl Run {
    /// Listens to the controller, and notes what it promises anew.
    fn listen(
        &mut self,
        world: &mut dyn World,
        until: Instant,
    ) -> Result<Vec<Said>, ExperimentError> {
        let said = world.listen(until)?;
        said.iter()
            .for_each(|said| self.readmissions.hear(world, said));
        Ok(said)
    }
}

impl Experiment<'_> {
    /// Returns what happens to the network by the scenario, in order of time.
    fn planned(&self, start: Instant) -> Vec<(Instant, Change)> {
        let events = self.scenario.events.iter();
        let during = events.filter(|event| event.at < self.scenario.duration);
        during
            .map(|event| (start + event.at, event.change))
            .collect()
    }

    /// Cuts and heals links of the scenario as somebody who watches wants it.
    fn change_by_hand(&self, world: &mut dyn World, start: Instant, to: &mut dyn Audience) {
        while let Some(Wish { link, plug }) = to.wish() {
            let Some(link) = Atlas::new(self.scenario).between(link) else {
                continue;
            };
            let change = match plug {
                Plug::Out => Change::Cut(link),
                Plug::In => Change::Heal(link),
            };
            let text = format!("{} by hand", describe(self.scenario, change));
            to.happened(world.now().saturating_since(start), &text);
            world.change(change);
        }
    }
}

/// Returns the host that is plugged in elsewhere, if one is.
fn moves(change: Change) -> Option<HostIndex> {
    match change {
        Change::HostMoves { host, .. } => Some(host),
        Change::Cut(_)
        | Change::Heal(_)
        | Change::SwitchCrash(_)
        | Change::SwitchKill(_)
        | Change::SwitchRestart(_)
        | Change::Impair { .. }
        | Change::Isolate(_)
        | Change::Rejoin(_) => None,
    }
}

/// Tells whether the controller has found out where a host is now.
fn is_found(said: &Said, host: &str) -> bool {
    match &said.what {
        Saying::Notice(Event::HostMoved { name, .. } | Event::HostFound { name, .. }) => {
            name == host
        }
        Saying::Notice(_) | Saying::Reply(..) => false,
    }
}

fn report_notice(
    said: &Said,
    start: Instant,
    exceeding: &mut BTreeSet<FlowId>,
    to: &mut dyn Audience,
) {
    report_restoration(said, start, to);
    report_excess(said, start, exceeding, to);
    if let Some(text) = describe_mode_event(said) {
        to.happened(said.at.saturating_since(start), &text);
    }
}

fn report_restoration(said: &Said, start: Instant, to: &mut dyn Audience) {
    if let Saying::Notice(Event::Restored {
        flows,
        detected_at,
        took,
        ..
    }) = &said.what
    {
        let confirmed_at = *detected_at + *took;
        let took = milliseconds(took.as_ns());
        let text = format!("{flows} flows on their alternatives {took} after the controller knew");
        to.happened(confirmed_at.saturating_since(start), &text);
    }
}

/// Says whose frames a switch drops as they exceed a contract: once of each flow.
fn report_excess(
    said: &Said,
    start: Instant,
    exceeding: &mut BTreeSet<FlowId>,
    to: &mut dyn Audience,
) {
    if let Saying::Notice(event @ Event::ContractExceeded { flow, .. }) = &said.what
        && exceeding.insert(*flow)
    {
        to.happened(said.at.saturating_since(start), &event.to_string());
    }
}

/// Says which switch is slower than its profile says, where nothing else can be why.
fn report_slowness(said: &Said, start: Instant, to: &mut dyn Audience) {
    if let Saying::Notice(event @ Event::ProfileContradicted { certain: true, .. }) = &said.what {
        to.happened(said.at.saturating_since(start), &event.to_string());
    }
}

/// Returns who is not what he agreed to be, from when on, in order of time.
fn wrongs(scenario: &Scenario) -> Vec<(Duration, String)> {
    let violations = scenario.violations.iter();
    let violations = violations.map(|one| (one.from, describe_violation(scenario, *one)));
    let errors = scenario.errors.iter();
    let errors = errors.map(|one| (one.from, errors::describe(scenario, one.kind)));
    let mut wrongs: Vec<_> = violations.chain(errors).collect();
    wrongs.sort_by_key(|(from, _)| *from);
    wrongs
}

/// Returns what a flow begins to send, for people.
fn describe_violation(scenario: &Scenario, violation: Violation) -> String {
    let flow = &scenario.flows[violation.flow.0].name;
    let sent = violation.sent;
    format!("flow {flow} sends {} every {}", sent.size, sent.period)
}

/// Returns what happens to the network, for people.
#[must_use]
pub fn describe(scenario: &Scenario, change: Change) -> String {
    let link_name = |link: LinkIndex| &scenario.links[link.0].name;
    let switch_name = |switch: SwitchIndex| &scenario.switches[switch.0].name;
    match change {
        Change::Cut(link) => format!("link {} cut", link_name(link)),
        Change::Heal(link) => format!("link {} healed", link_name(link)),
        Change::Impair {
            link,
            direction,
            impairment,
            one_in,
        } => {
            let does = match (impairment, one_in) {
                (Impairment::Loss, Some(_)) => "loses",
                (Impairment::Loss, None) => "loses no more",
                (Impairment::Corruption, Some(_)) => "corrupts",
                (Impairment::Corruption, None) => "corrupts no more",
            };
            let share = match one_in {
                Some(NonZeroU32::MIN) => "all ".to_owned(),
                Some(one_in) => format!("one in {one_in} "),
                None => String::new(),
            };
            let from = match direction {
                Direction::Both => String::new(),
                Direction::From(end) => {
                    let end = scenario.links[link.0].ends[end];
                    format!(" from {}", scenario.name_of(end.node))
                }
            };
            format!("link {} {does} {share}frames{from}", link_name(link))
        }
        Change::Isolate(switch) => {
            format!(
                "the control channel of switch {} carries nothing",
                switch_name(switch)
            )
        }
        Change::Rejoin(switch) => {
            format!(
                "the control channel of switch {} carries again",
                switch_name(switch)
            )
        }
        Change::HostMoves { host, to } => {
            format!(
                "host {} moves to {}",
                scenario.hosts[host.0].name,
                scenario.name_of(to.node)
            )
        }
        Change::SwitchCrash(switch) => format!("switch {} crashes", switch_name(switch)),
        Change::SwitchKill(switch) => {
            format!("the process of switch {} dies", switch_name(switch))
        }
        Change::SwitchRestart(switch) => format!("switch {} restarts", switch_name(switch)),
    }
}
