//! The traffic of a scenario: a source for each admitted flow, and what the
//! instrument has to know of it.

use std::collections::BTreeSet;

use measure::capture::Captures;
use measure::identity::{Catalogue, FlowKey, Numbering};
use measure::load::{Headers, HostLoad, Load, QueuedSource};
use measure::recorder::{Recorder, Settings};
use measure::traffic::trace::Trace;
use measure::traffic::{
    Acknowledger, Addresses, Answerer, Answering, FrameTooShort, Source, best_effort, goose,
    message, mms, trace, udp,
};
use measure::traffic::{
    Flood, Goose, Haste, Hasty, MessageSource, Replay, SampledValues, Udp, sampled_values,
};
use measure::{Contract, FlowPlan, Promise, ReceiverIndex};
use scenario::{Destination, Flow, FlowIndex, Phase, Scenario, Traffic};
use units::{DataSize, Delay, Duration, Instant};
use wire::ethernet::{EtherType, MacAddress, VlanTag};

use super::{Admission, ExperimentError, errors};
use crate::measuring::recordings::recorded;

/// The priority that IEC 61850-8-1 and 9-2 give to GOOSE and Sampled Values.
const PROCESS_BUS_PRIORITY: u8 = 4;
/// The frames of a flow that are kept one by one in a network with levels: some 20 s of
/// what a link of 100 Mbit/s carries, or 10 MB.
const PASSAGES_KEPT: usize = 1 << 18;
const BEST_EFFORT: u8 = 0;
/// The port that datagrams are sent from.
pub(super) const SOURCE_PORT: u16 = 49_152;
pub(super) const PROCESS_BUS_TAG: VlanTag = VlanTag {
    priority: PROCESS_BUS_PRIORITY,
    drop_eligible: false,
    id: 0,
};

/// Returns the traffic of the flows that were admitted, from `start` on for
/// `duration`, and what the instrument knows of each.
#[must_use]
pub fn load(
    scenario: &Scenario,
    admissions: &[Admission],
    start: Instant,
    duration: Duration,
    unix_origin_ns: u64,
) -> (Load, Vec<FlowPlan>) {
    let mut load = Load {
        hosts: scenario.hosts.iter().map(|_| silent()).collect(),
        recorder: Recorder::new(start, recording(scenario)),
        catalogue: Catalogue::default(),
        captures: Captures::default(),
    };
    let mut plans = Vec::new();
    for Admission {
        flow: index,
        decision,
        shortage: _,
    } in admissions
    {
        let Ok(accepted) = decision else { continue };
        let (number, flow) = (*index, &scenario.flows[*index]);
        let plan = plan(flow, accepted.guarantee);
        let index = load.recorder.add(plan.clone());
        plans.push(plan);
        let times = Times {
            run_start: start,
            flow_start: start + flow.start,
            until: until(flow, start, duration),
            haste: errors::haste(scenario, number, start),
        };
        let seed = scenario.seed ^ (u64::from(index.0) << 32);
        let source = sent(scenario, number, times, seed, unix_origin_ns);
        let before = load
            .catalogue
            .add(key(scenario, flow), index, numbering(flow, times));
        assert!(
            before.is_none(),
            "every flow of a scenario has a destination of its own"
        );
        let queue = scenario.class_of(flow).queue;
        let sender = &mut load.hosts[flow.source.0];
        let headers = sender.headers.get_or_insert_default();
        headers.insert(self::headers(scenario, flow));
        sender.sources.push(QueuedSource {
            source,
            flow: index,
            queue,
        });
        for (receiver, host) in (0..).map(ReceiverIndex).zip(&flow.receivers) {
            let receiving = &mut load.hosts[host.0];
            receiving.receives.insert(index, receiver);
            if let Some(answering) = answering(scenario, flow) {
                let back = MacAddress(scenario.hosts[flow.source.0].mac);
                let headers = receiving.headers.get_or_insert_default();
                headers.insert((back, EtherType::IPV4, Some(scenario.hosts[host.0].ip)));
                receiving.answering.push(answering);
            }
        }
    }
    for (host, foreign) in errors::foreign(scenario, start, duration) {
        load.hosts[host.0].foreign.push(foreign);
    }
    (load, plans)
}

/// Returns what a flow sends, in haste if an error has it so.
fn sent(
    scenario: &Scenario,
    number: usize,
    times: Times,
    seed: u64,
    unix_origin_ns: u64,
) -> Source {
    let (flow, phases) = (
        &scenario.flows[number],
        scenario.phases_of(FlowIndex(number)),
    );
    // In haste a source ends when its clock says so.
    let shown = Times {
        until: times.haste.map_or(times.until, |it| it.shown(times.until)),
        ..times
    };
    let source = source(scenario, flow, &phases, shown, seed, unix_origin_ns);
    let source = source.expect("the sizes of all frames were verified");
    match times.haste {
        Some(haste) => Source::Hasty(Box::new(Hasty { source, haste })),
        None => source,
    }
}

/// Returns what a host does that has no flow: whatever it sends is foreign.
fn silent() -> HostLoad {
    HostLoad {
        headers: Some(BTreeSet::new()),
        ..HostLoad::default()
    }
}

/// Returns the headers of the frames of a flow.
pub(super) fn headers(scenario: &Scenario, flow: &Flow) -> Headers {
    match flow.destination {
        Destination::Udp { mac, .. } | Destination::Tcp { mac, .. } => {
            let from = scenario.hosts[flow.source.0].ip;
            (MacAddress(mac), EtherType::IPV4, Some(from))
        }
        Destination::Ethernet { mac, .. } => {
            let ether_type = match flow.traffic {
                Traffic::Goose(_) => EtherType::GOOSE,
                Traffic::SampledValues(_)
                | Traffic::Udp(_)
                | Traffic::Message(_)
                | Traffic::Trace(_)
                | Traffic::Mms(_)
                | Traffic::BestEffort(_) => EtherType::SAMPLED_VALUES,
            };
            (MacAddress(mac), ether_type, None)
        }
    }
}

/// What happens at each level is known only afterwards: there, frames are kept one by
/// one.
fn recording(scenario: &Scenario) -> Settings {
    let passages = match &scenario.modes {
        Some(_) => PASSAGES_KEPT,
        None => 0,
    };
    Settings {
        passages,
        ..Settings::default()
    }
}

/// Returns what answers to the frames of a flow where they arrive.
fn answering(scenario: &Scenario, flow: &Flow) -> Option<Answering> {
    match &flow.traffic {
        Traffic::BestEffort(_) => {
            let acknowledger = Acknowledger::new(addresses(scenario, flow));
            Some(Answering {
                who: Answerer::Acknowledger(acknowledger),
                queue: BEST_EFFORT,
            })
        }
        Traffic::Mms(traffic) => {
            let server = mms::Server::new(addresses(scenario, flow), bytes(traffic.value));
            Some(Answering {
                who: Answerer::Mms(server),
                queue: scenario.class_of(flow).queue,
            })
        }
        Traffic::SampledValues(_)
        | Traffic::Goose(_)
        | Traffic::Udp(_)
        | Traffic::Message(_)
        | Traffic::Trace(_) => None,
    }
}

/// Makes sure that every flow can send frames as small as it says.
///
/// # Errors
///
/// If one cannot.
pub fn verify(scenario: &Scenario) -> Result<(), ExperimentError> {
    let never = Times {
        run_start: Instant::ZERO,
        flow_start: Instant::ZERO,
        until: Instant::ZERO,
        haste: None,
    };
    for (number, flow) in scenario.flows.iter().enumerate() {
        let phases = scenario.phases_of(FlowIndex(number));
        source(scenario, flow, &phases, never, 0, 0).map_err(|error| {
            ExperimentError::FrameTooShort {
                flow: flow.name.clone(),
                length: error.length,
                least: error.least,
            }
        })?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug)]
struct Times {
    run_start: Instant,
    flow_start: Instant,
    until: Instant,
    /// When the clock of the source runs fast, if an error has it so.
    haste: Option<Haste>,
}

fn until(flow: &Flow, start: Instant, duration: Duration) -> Instant {
    start + flow.stop.map_or(duration, |stop| stop.min(duration))
}

fn plan(flow: &Flow, guarantee: Option<Delay>) -> FlowPlan {
    let promise = guarantee
        .zip(flow.deadline)
        .map(|(guarantee, deadline)| Promise {
            guarantee: guarantee.round_up(),
            deadline,
            interruption: flow.protection.interruption(),
        });
    FlowPlan {
        receivers: flow.receivers.len(),
        promise,
        contract: contract(flow),
        period: match &flow.traffic {
            Traffic::SampledValues(traffic) => Some(traffic.period),
            Traffic::Goose(_)
            | Traffic::Udp(_)
            | Traffic::Message(_)
            | Traffic::Trace(_)
            | Traffic::Mms(_)
            | Traffic::BestEffort(_) => None,
        },
    }
}

fn contract(flow: &Flow) -> Option<Contract> {
    flow.contract().map(|contract| Contract {
        rate: contract.rate,
        burst: contract.burst,
    })
}

fn source(
    scenario: &Scenario,
    flow: &Flow,
    phases: &[Phase],
    times: Times,
    seed: u64,
    unix_origin_ns: u64,
) -> Result<Source, FrameTooShort> {
    let Times {
        flow_start: start,
        until,
        ..
    } = times;
    let contract = contract(flow);
    let until = Some(until);
    Ok(match &flow.traffic {
        Traffic::SampledValues(traffic) => {
            Source::SampledValues(sampled_values(scenario, flow, traffic, times)?)
        }
        Traffic::Goose(traffic) => {
            let changes = traffic.change_times(
                seed,
                start.saturating_since(times.run_start),
                times.until.saturating_since(times.run_start),
            );
            let changes = changes.into_iter().map(|at| times.run_start + at).collect();
            let config = goose_config(scenario, flow, traffic, times, changes, unix_origin_ns);
            Source::Goose(Goose::sized(&config, bytes(traffic.frame))?)
        }
        Traffic::Udp(traffic) => Source::Udp(Udp::new(&udp::DatagramConfig {
            addresses: addresses(scenario, flow),
            frame_length: bytes(traffic.frame),
            contract: contract.expect("a token bucket is a contract"),
            pattern: udp_pattern(traffic),
            start,
            until,
        })),
        Traffic::Message(_) => Source::Message(messages(scenario, flow, phases, times)),
        Traffic::Trace(traffic) => Source::Trace(Replay::new(&trace::TraceConfig {
            addresses: addresses(scenario, flow),
            trace: Trace::of(recorded(&traffic.recording))
                .expect("a recording has frames, and no more than are sent"),
            contract,
            start,
            until,
            again: None,
        })),
        Traffic::Mms(traffic) => Source::Mms(Box::new(mms::Client::new(&mms::MmsClientConfig {
            addresses: addresses(scenario, flow),
            period: traffic.period,
            start,
            until,
            contract,
        }))),
        Traffic::BestEffort(traffic) => {
            Source::BestEffort(Flood::new(&best_effort::BestEffortConfig {
                addresses: addresses(scenario, flow),
                frame_length: bytes(traffic.frame),
                limit: Some(flood_limit(scenario, flow, traffic)),
                start,
                until,
            }))
        }
    })
}

/// Sends what each phase says, until the next begins.
fn messages(scenario: &Scenario, flow: &Flow, phases: &[Phase], times: Times) -> MessageSource {
    let ends = phases
        .iter()
        .skip(1)
        .map(|next| times.run_start + next.from);
    let ends = ends.chain([times.until]).map(|end| end.min(times.until));
    let mut configs = phases.iter().zip(ends).map(|(phase, end)| {
        let contract = Traffic::Message(phase.message).contract();
        let contract = contract.expect("messages have a contract");
        message::MessageConfig {
            addresses: addresses(scenario, flow),
            message_length: u32::try_from(phase.message.size.bytes_up())
                .expect("checked by scenario"),
            period: phase.message.period,
            contract: Contract {
                rate: contract.rate,
                burst: contract.burst,
            },
            start: times.run_start + phase.from,
            until: Some(end),
        }
    });
    let first = configs.next().expect("a flow of messages has a phase");
    configs.fold(MessageSource::new(&first), |source, config| {
        source.then(&config)
    })
}

fn sampled_values(
    scenario: &Scenario,
    flow: &Flow,
    traffic: &scenario::SampledValues,
    times: Times,
) -> Result<SampledValues, FrameTooShort> {
    let (destination, application) = group(flow);
    let config = sampled_values::SampledValuesConfig {
        source: MacAddress(scenario.hosts[flow.source.0].mac),
        destination,
        vlan: Some(PROCESS_BUS_TAG),
        application,
        sv_id: flow.name.clone(),
        rate: traffic.samples_per_second(),
        contract: contract(flow),
        start: times.flow_start,
        until: Some(times.until),
    };
    SampledValues::sized(&config, bytes(traffic.frame))
}

fn goose_config(
    scenario: &Scenario,
    flow: &Flow,
    traffic: &scenario::Goose,
    times: Times,
    changes: Vec<Instant>,
    unix_origin_ns: u64,
) -> goose::GooseConfig {
    let (destination, application) = group(flow);
    goose::GooseConfig {
        source: MacAddress(scenario.hosts[flow.source.0].mac),
        destination,
        vlan: Some(PROCESS_BUS_TAG),
        application,
        control_block: flow.name.clone(),
        min_time: traffic.min_time,
        max_time: traffic.max_time,
        changes,
        contract: contract(flow),
        start: times.flow_start,
        until: Some(times.until),
        unix_origin_ns,
    }
}

/// Sends in bursts as large as the bucket allows, at the rate that it allows:
/// the worst that a flow may do.
fn udp_pattern(traffic: &scenario::TokenBucket) -> udp::Pattern {
    let frame = scenario::wire_size(traffic.frame);
    let frames = (traffic.burst.as_bits() / frame.as_bits()).max(1);
    let period = traffic.rate.time_to_send(frame * frames).round_up();
    udp::Pattern::Bursts {
        period,
        frames: u32::try_from(frames).unwrap_or(u32::MAX),
    }
}

/// A flood is limited by its own rate, or else by that of its host's link.
fn flood_limit(scenario: &Scenario, flow: &Flow, traffic: &scenario::BestEffort) -> Contract {
    let link = scenario.links[scenario.hosts[flow.source.0].link.0].rate;
    let frame = scenario::wire_size(traffic.frame);
    Contract {
        rate: traffic.rate.unwrap_or(link).min(link),
        burst: frame * 2,
    }
}

fn key(scenario: &Scenario, flow: &Flow) -> FlowKey {
    match flow.destination {
        Destination::Ethernet { mac, application } => {
            let destination = MacAddress(mac);
            match flow.traffic {
                Traffic::Goose(_) => FlowKey::Goose {
                    destination,
                    application,
                },
                Traffic::SampledValues(_)
                | Traffic::Udp(_)
                | Traffic::Message(_)
                | Traffic::Trace(_)
                | Traffic::Mms(_)
                | Traffic::BestEffort(_) => FlowKey::SampledValues {
                    destination,
                    application,
                },
            }
        }
        Destination::Udp { ip, port, .. } => FlowKey::Datagram {
            source: scenario.hosts[flow.source.0].ip,
            destination: ip,
            port,
        },
        Destination::Tcp { ip, .. } => FlowKey::Mms {
            source: scenario.hosts[flow.source.0].ip,
            destination: ip,
        },
    }
}

fn numbering(flow: &Flow, times: Times) -> Numbering {
    match &flow.traffic {
        Traffic::SampledValues(traffic) => Numbering::EverySecond {
            rate: traffic.samples_per_second(),
            start: times.flow_start,
            haste: times.haste,
        },
        Traffic::Goose(_)
        | Traffic::Udp(_)
        | Traffic::Message(_)
        | Traffic::Trace(_)
        | Traffic::Mms(_)
        | Traffic::BestEffort(_) => Numbering::Unbounded,
    }
}

fn addresses(scenario: &Scenario, flow: &Flow) -> Addresses {
    let (Destination::Udp { mac, ip, port } | Destination::Tcp { mac, ip, port }) =
        flow.destination
    else {
        unreachable!("packets have an address")
    };
    let host = &scenario.hosts[flow.source.0];
    Addresses {
        source_mac: MacAddress(host.mac),
        destination_mac: MacAddress(mac),
        vlan: None,
        source: host.ip,
        destination: ip,
        source_port: SOURCE_PORT,
        destination_port: port,
        dscp: 0,
    }
}

fn group(flow: &Flow) -> (MacAddress, u16) {
    let Destination::Ethernet { mac, application } = flow.destination else {
        unreachable!("process bus traffic goes to a group")
    };
    (MacAddress(mac), application)
}

fn bytes(size: DataSize) -> usize {
    usize::try_from(size.bytes_up()).expect("a frame fits in memory")
}

#[cfg(test)]
mod tests {
    use measure::token_bucket::{Conformance, PacingBucket};
    use wire::ethernet::wire_size;

    use super::*;

    const STATIONS: &str = r#"
[scenario]
title = "Stations"
duration = "2 s"

[switches]
s1 = {}

[hosts]
panel = { at = "s1" }
unit = { at = "s1" }

[flows.values]
kind = "mms"
from = "panel"
to = "unit"
period = "10 ms"
value = "900 B"
deadline = "5 ms"
"#;

    /// What is promised for requests and answers is what they are: no frame is larger,
    /// and both keep their token buckets, also while the association is made.
    #[test]
    fn requests_and_answers_of_mms_keep_the_contracts_that_are_admitted() {
        let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let scenario = Scenario::parse("stations.toml", STATIONS, &mut nothing).unwrap();
        let flow = &scenario.flows[0];
        let Traffic::Mms(traffic) = &flow.traffic else {
            panic!("{flow:?}");
        };
        let times = Times {
            run_start: Instant::ZERO,
            flow_start: Instant::ZERO,
            until: Instant::ZERO + scenario.duration,
            haste: None,
        };
        let mut client = source(&scenario, flow, &[], times, 0, 0).unwrap();
        let mut answering = answering(&scenario, flow).unwrap();
        let contracts = [flow.contract().unwrap(), traffic.answers(Duration::ZERO)];
        let mut buckets = contracts.map(|it| {
            PacingBucket::new(Contract {
                rate: it.rate,
                burst: it.burst,
            })
        });
        let mut keeps = |way: usize, at: Instant, length: usize| {
            let size = wire_size(length);
            assert!(size <= contracts[way].largest_frame, "{length} bytes");
            assert!(size >= contracts[way].smallest_frame, "{length} bytes");
            assert_eq!(buckets[way].take(at, size), Conformance::Within, "{at:?}");
        };
        let (mut frame, mut answer, mut answers) = (Vec::new(), Vec::new(), 0);

        while let Some(due) = client.next_due() {
            let Some(emitted) = client.emit(due, &mut frame) else {
                continue;
            };
            keeps(0, due, emitted.length);
            if let Some(length) = answering.who.received(&frame, &mut answer) {
                keeps(1, due, length);
                answers += 1;
                client.received(due, &answer);
            }
        }

        assert_eq!(
            answers,
            200 + 3,
            "SYN, connection and association come first"
        );
    }
}
