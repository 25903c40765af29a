//! A stage as a scenario.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

use scenario::{Node, Scenario};
use sim::modes::deployment::{LevelTreatment, Strategy};
use sim::modes::stage::{ModeSetup, StagedFlow};
use units::{BitRate, Duration};

use run::experiment::Admission;

/// The names of the levels.
pub const LOW: &str = "lo";
pub const HIGH: &str = "hi";
/// From one break of the contract to the next, in periods of the flow.
const BETWEEN: u64 = 3;
/// How long all have to be quiet before the level falls in between.
const HOLD: &str = "50 ms";
/// How much earlier than agreed a message of a flow may come that sends oftener at some
/// time: its host is woken up late now and then.
const JITTER: Duration = Duration::from_ms(2);
/// When flows that are only there to have entries send something.
const BEFORE_THE_END: Duration = Duration::from_ms(5);
/// The queues of flows: the lowest is for what nobody asked for.
const QUEUES: RangeInclusive<u8> = 1..=6;
/// As much as any class and any processor may delay a frame.
const BUDGET: &str = "20 ms";
/// What holds a processor for longer while switches tell each other is a stall of the
/// machine. Such a change through nine of them holds one for a quarter of a millisecond
/// itself, for it happens within the sending of the frame that breaks its contract.
const STALL: Duration = Duration::from_us(300);
/// The same where milliseconds are compared: changes by a controller, and messages.
const LONG_STALL: Duration = Duration::from_ms(1);
/// The most of a link that is used in the usual case, in percent.
const LOAD_MAX: u64 = 95;

/// Returns a stage as a scenario, with as many breaks of the contract.
///
/// # Errors
///
/// What is wrong with it, which no stage of ours has.
pub fn script(stage: &ModeSetup, times: u32) -> Result<Scenario, String> {
    let text = text(stage, times);
    let parsed = Scenario::parse("stage.toml", &text, &mut |_| unreachable!("one file"));
    let mut scenario = parsed.map_err(|mistakes| format!("{mistakes:?}"))?;
    scenario.seed = stage.seed;
    for (flow, staged) in scenario.flows.iter_mut().zip(&stage.flows) {
        if staged.treatments[0] == LevelTreatment::Drop {
            // What is dropped at every level is as good as not sent.
            flow.stop = Some(flow.start);
        }
    }
    for profile in &mut scenario.profiles {
        profile.queue_frames.value = stage.device.queue_frames as u64;
    }
    Ok(scenario)
}

/// Returns when a flow breaks its contract, after the start, for the n-th time.
pub fn breach_at(flow: &StagedFlow, time: u32) -> Option<Duration> {
    let breach = flow.breach?;
    let number = u64::from(breach.number) + u64::from(time) * BETWEEN;
    Some(flow.phase + flow.period * number)
}

/// Tells whether the higher level drops a flow.
pub fn is_given_up(flow: &StagedFlow) -> bool {
    flow.treatments[1] == LevelTreatment::Drop
}

/// Returns the flows for which links have no room on their ways, the last ones first.
pub fn crowded(scenario: &Scenario, decided: &[Admission]) -> Vec<usize> {
    let breaks = |flow: &usize| scenario.violations.iter().any(|one| one.flow.0 == *flow);
    let (breaking, others): (Vec<usize>, Vec<usize>) = (0..scenario.flows.len()).partition(breaks);
    let mut loads: BTreeMap<(String, String), BitRate> = BTreeMap::new();
    let mut crowded = Vec::new();
    for at in breaking.into_iter().chain(others) {
        let flow = &scenario.flows[at];
        let Some(rate) = flow.contract().map(|contract| contract.rate) else {
            continue;
        };
        let links = links_of(scenario, at, decided);
        let has_room = |link: &(String, String)| {
            let load = loads.get(link).map_or(rate, |load| *load + rate);
            load.as_bps() <= scenario.links[0].rate.as_bps() / 100 * LOAD_MAX
        };
        match links.iter().all(has_room) {
            true => links.into_iter().for_each(|link| {
                let load = loads.get(&link).map_or(rate, |load| *load + rate);
                loads.insert(link, load);
            }),
            false => crowded.push(at),
        }
    }
    crowded
}

/// Returns what a flow crosses, from host to host.
fn links_of(scenario: &Scenario, at: usize, decided: &[Admission]) -> Vec<(String, String)> {
    let flow = &scenario.flows[at];
    let host = |host: scenario::HostIndex| scenario.name_of(Node::Host(host)).to_owned();
    let decision = decided.iter().find(|one| one.flow == at);
    let route = decision.and_then(|one| one.decision.as_ref().ok());
    let switches = route
        .into_iter()
        .flat_map(|accepted| accepted.route.switches.clone());
    let places = std::iter::once(host(flow.source)).chain(switches);
    let places: Vec<String> = places.chain([host(flow.receivers[0])]).collect();
    let pairs = places.windows(2);
    pairs
        .map(|pair| (pair[0].clone(), pair[1].clone()))
        .collect()
}

fn text(stage: &ModeSetup, times: u32) -> String {
    let duration = duration(stage, times);
    let mut text = format!(
        "[scenario]\ntitle = \"A change of mode\"\nduration = \"{} ns\"\n[controller]\nhosts = \
         \"scenario\"\n[network]\nlink_rate = \"{rate} bit/s\"\nhost_rate = \"{rate} bit/s\"\n",
        duration.as_ns(),
        rate = stage.rate.as_bps()
    );
    text.push_str("[switches]\n");
    for switch in 0..stage.topology.switches {
        let _ = writeln!(text, "s{switch} = {{}}");
    }
    text.push_str("[hosts]\n");
    for (host, at) in stage.hosts.iter().enumerate() {
        let _ = writeln!(text, "h{host} = {{ at = \"s{at}\" }}");
    }
    if !stage.topology.cables.is_empty() {
        text.push_str("[links]\n");
    }
    for cable in 0..stage.topology.cables.len() {
        let [one, other] = stage.topology.switches_of(cable);
        let _ = writeln!(text, "c{cable} = [\"s{one}\", \"s{other}\"]");
    }
    let is_quick = stage.flows.iter().all(|flow| flow.quickens.is_none());
    let stall = match stage.strategy {
        Strategy::Taktos if is_quick => STALL,
        Strategy::Taktos | Strategy::StdSdn | Strategy::McAgnostic => LONG_STALL,
    };
    let _ = writeln!(
        text,
        "[measurement]\nstall_threshold = \"{} ns\"",
        stall.as_ns()
    );
    // Nothing is reserved: budgets only have to be there.
    let _ = writeln!(
        text,
        "[admission]\nprocessing_budget = \"{BUDGET}\"\n[classes]"
    );
    for queue in QUEUES {
        let _ = writeln!(
            text,
            "q{queue} = {{ queue = {queue}, budget = \"{BUDGET}\" }}"
        );
    }
    text.push_str(&modes(stage, times));
    for (number, flow) in stage.flows.iter().enumerate() {
        text.push_str(&flow_text(number, flow));
    }
    for number in stage.flows.len()..stage.rules {
        text.push_str(&entry_text(number, stage, duration));
    }
    for (number, flow) in stage.flows.iter().enumerate() {
        text.push_str(&events_text(number, flow, times));
    }
    text
}

/// Returns how long frames are sent.
fn duration(stage: &ModeSetup, times: u32) -> Duration {
    let breaking = stage.flows.iter().find(|flow| flow.breach.is_some());
    let more = breaking.map(|flow| flow.period * (BETWEEN * u64::from(times - 1)));
    stage.duration + more.unwrap_or_default()
}

fn modes(stage: &ModeSetup, times: u32) -> String {
    let strategy = match stage.strategy {
        Strategy::Taktos => "taktos",
        Strategy::StdSdn => "std-sdn",
        Strategy::McAgnostic => "mc-agnostic",
    };
    let hold = if times > 1 { HOLD } else { "never" };
    format!(
        "[modes]\nlevels = [\"{LOW}\", \"{HIGH}\"]\nstrategy = \"{strategy}\"\nhold = \
         \"{hold}\"\nserve = {{ {HIGH} = 4 }}\n"
    )
}

fn flow_text(number: usize, flow: &StagedFlow) -> String {
    let queue = |treatment| match treatment {
        LevelTreatment::Queue(queue) => queue.max(*QUEUES.start()),
        LevelTreatment::Drop => *QUEUES.start(),
    };
    // What only sends more at times is never early.
    let jitter = match flow.quickens {
        Some(_) => JITTER,
        None => flow.period,
    };
    let [usual, higher] = flow.treatments;
    let mut text = format!(
        "[flows.f{number}]\nkind = \"message\"\nfrom = \"h{}\"\nto = \"h{}\"\nsize = \"{} \
         B\"\nperiod = \"{} ns\"\nstart = \"{} ns\"\njitter = \"{} ns\"\nclass = \"q{}\"\ndeadline = \"{} ns\"\n",
        flow.from,
        flow.to,
        flow.size_bytes,
        flow.period.as_ns(),
        flow.phase.as_ns(),
        jitter.as_ns(),
        queue(usual),
        flow.period.as_ns(),
    );
    if is_given_up(flow) {
        let _ = writeln!(text, "modes.{HIGH} = \"drop\"");
        return text;
    }
    let mut says = vec![format!("class = \"q{}\"", queue(higher))];
    says.extend(
        flow.breach
            .map(|breach| format!("size = \"{} B\"", breach.size_bytes)),
    );
    let quick = flow.quickens.map(|quick| quick.period.as_ns());
    says.extend(quick.map(|ns| format!("period = \"{ns} ns\", deadline = \"{ns} ns\"")));
    let says = says.join(", ");
    let _ = writeln!(text, "criticality = 5\nmodes.{HIGH} = {{ {says} }}");
    text
}

/// Returns a flow that is there for its entries: it sends one frame, at the very end.
fn entry_text(number: usize, stage: &ModeSetup, duration: Duration) -> String {
    let pattern = &stage.flows[0];
    let start = duration.saturating_sub(BEFORE_THE_END);
    format!(
        "[flows.f{number}]\nkind = \"message\"\nfrom = \"h{}\"\nto = \"h{}\"\nsize = \"60 \
         B\"\nperiod = \"1 s\"\nstart = \"{} ns\"\nclass = \"q1\"\ndeadline = \"1 s\"\nmodes.{HIGH} = \"drop\"\n",
        pattern.from,
        pattern.to,
        start.as_ns()
    )
}

fn events_text(number: usize, flow: &StagedFlow, times: u32) -> String {
    let mut text = String::new();
    let mut event = |at: Duration, until: &str| {
        let _ = writeln!(
            text,
            "[[events]]\nat = \"{} ns\"\nkind = \"violate\"\nflow = \"f{number}\"\nlevel = \
             \"{HIGH}\"\n{until}",
            at.as_ns()
        );
    };
    if let Some(quick) = flow.quickens {
        event(quick.from, "");
    }
    for time in 0..times {
        if let Some(at) = breach_at(flow, time) {
            // One message alone.
            let until = at + Duration::from_us(1);
            event(at, &format!("until = \"{} ns\"", until.as_ns()));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::fig7::draw;
    use super::super::super::networks::{MeasurementCase, Others, TopologyShape};
    use super::super::super::switches::SwitchKind;
    use super::*;
    use run::experiment::lab_world::queue_frames;

    #[test]
    fn a_stage_becomes_a_scenario_with_its_flows_entries_and_breaks() {
        let case = MeasurementCase {
            shape: TopologyShape::Linear,
            kind: SwitchKind::Real,
            strategy: Strategy::StdSdn,
            rules: 30,
            others: Others::TwoLow,
            trial: 3,
        };
        let stage = case.stage(1);

        let scenario = script(&stage, 4).unwrap();

        assert_eq!((scenario.switches.len(), scenario.hosts.len()), (9, 4));
        assert_eq!(scenario.flows.len(), 30);
        let breaks: Vec<_> = scenario.violations.iter().map(|one| one.from).collect();
        let expected = (0..4).map(|time| breach_at(&stage.flows[0], time).unwrap());
        assert_eq!(breaks, expected.collect::<Vec<_>>());
        let phases = scenario.phases_of(scenario::FlowIndex(0));
        assert_eq!(phases.len(), 9);
    }

    /// A message of 574 packets found room for 512 in the queue of its own host.
    #[test]
    fn the_queue_of_a_host_holds_its_largest_messages() {
        let mut most = 0;
        for seed in 0..20 {
            let stage = draw::stage(seed, SwitchKind::Real, Strategy::McAgnostic);
            let scenario = script(&stage, 1).unwrap();
            for host in 0..scenario.hosts.len() {
                let room = u64::from(queue_frames(&scenario, scenario::HostIndex(host)));

                let own = stage.flows.iter().filter(|flow| flow.from == host);
                let largest = own.map(|flow| {
                    let breach = flow.breach.map_or(0, |breach| breach.size_bytes);
                    flow.size_bytes.max(breach).div_ceil(1_460)
                });
                let together: u64 = largest.map(u64::from).sum();
                assert!(room >= together, "seed {seed}: {room} of {together}");
                most = most.max(together);
            }
        }
        assert!(
            most > 512,
            "{most}: no case is as large as those that were lost"
        );
    }

    #[test]
    fn every_drawn_case_is_a_scenario() {
        for seed in 0..20 {
            for strategy in Strategy::ALL {
                let stage = draw::stage(seed, SwitchKind::Real, strategy);

                let scenario = script(&stage, 1).unwrap();

                assert_eq!(scenario.flows.len(), stage.flows.len(), "seed {seed}");
                assert_eq!(scenario.violations.len(), 1, "seed {seed}");
            }
        }
    }
}
