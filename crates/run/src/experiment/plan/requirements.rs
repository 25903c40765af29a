//! What each flow of a scenario asks of the controller, and what is answered to it.

use calculus::admission::FrameBucket;
use controller::neighbour_sessions;
use controller::northbound::{
    Cover, ExceedAction, FlowMatch, FrameOrder, Protection, Requirement, Traffic, Transport,
    TransportProtocol,
};
use measure::traffic::best_effort::{FRAMES_PER_ANSWER, LONGEST_ANSWER};
use scenario::{Contract, Destination, Flow, MessageFrames, Scenario};
use units::{BitRate, DataSize, Delay};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::taktos::SequenceEncoding;

use super::{SMALLEST_FRAME, cover, less_cover};

/// How late an answer to a flood may be.
const ANSWER_DEADLINE: Delay = Delay::from_us(100_000);
/// How much later than its time an answer may leave: hosts of a lab look at what
/// arrived once a millisecond.
const ANSWER_JITTER: Delay = Delay::from_us(1_000);

/// Returns what the flow asks of the controller; where receivers answer, what the
/// answers ask as well.
#[must_use]
pub fn requirements(scenario: &Scenario, flow: &Flow) -> Vec<Requirement> {
    let forward = Requirement {
        name: flow.name.clone(),
        source: scenario.hosts[flow.source.0].name.clone(),
        destinations: flow
            .receivers
            .iter()
            .map(|host| scenario.hosts[host.0].name.clone())
            .collect(),
        matching: matching(scenario, flow),
        class: scenario.class_of(flow).queue,
        is_class_free: false,
        must_be_enforced: false,
        excess: match flow.excess_goes_on {
            true => ExceedAction::BestEffort,
            false => ExceedAction::Drop,
        },
        traffic: traffic(scenario, flow),
        deadline: flow.deadline.map(|it| less_cover(scenario, it)),
        protection: protection(flow),
        modes: None,
    };
    let back = match &flow.traffic {
        scenario::Traffic::BestEffort(_) => Some(acknowledgements(scenario, flow, &forward)),
        scenario::Traffic::Mms(traffic) => Some(values(scenario, flow, traffic, &forward)),
        scenario::Traffic::SampledValues(_)
        | scenario::Traffic::Goose(_)
        | scenario::Traffic::Udp(_)
        | scenario::Traffic::Message(_)
        | scenario::Traffic::Trace(_) => None,
    };
    std::iter::once(forward).chain(back).collect()
}

pub(super) fn traffic(scenario: &Scenario, flow: &Flow) -> Traffic {
    let cover = cover(scenario);
    match (flow.contract(), &flow.traffic) {
        (Some(contract), _) => Traffic {
            rate: contract.rate,
            burst: contract.burst + contract.rate.most_in(cover),
            largest_frame: contract.largest_frame,
            smallest_frame: contract.smallest_frame,
            frames: frames(contract, cover),
        },
        (None, scenario::Traffic::BestEffort(flood)) => {
            let frame = scenario::wire_size(flood.frame);
            let link = scenario.links[scenario.hosts[flow.source.0].link.0].rate;
            let rate = flood.rate.unwrap_or(link);
            Traffic {
                rate,
                burst: frame,
                largest_frame: frame,
                smallest_frame: frame,
                frames: None,
            }
        }
        (None, _) => unreachable!("only best effort has no contract"),
    }
}

/// Returns how many frames a contract is, as the ledger counts them.
pub(in super::super) fn frames(contract: Contract, cover: Delay) -> Option<FrameBucket> {
    let of = |messages: MessageFrames| {
        let [period, jitter] = [messages.period, messages.jitter].map(Delay::from);
        FrameBucket::of_messages(messages.of_message, period, jitter + cover)
    };
    contract.frames.map(of)
}

/// Returns what the receiver of a flood sends back. Its answers are few and have
/// a promise of their own in the least urgent class that gives any: small frames
/// without a limit are what a switch's processor bears worst.
fn acknowledgements(scenario: &Scenario, flow: &Flow, flood: &Requirement) -> Requirement {
    let promised = scenario
        .classes
        .iter()
        .map(|class| class.queue)
        .filter(|queue| *queue > 0);
    Requirement {
        class: promised.min().unwrap_or_default(),
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: answer_traffic(scenario, flow, flood.traffic),
        deadline: Some(ANSWER_DEADLINE),
        ..back(scenario, flow, flood)
    }
}

/// Returns what the station sends back that is asked: as urgent as the requests, and
/// promised the same.
fn values(
    scenario: &Scenario,
    flow: &Flow,
    traffic: &scenario::Mms,
    requests: &Requirement,
) -> Requirement {
    let lateness = flow.deadline.unwrap_or_default() + ANSWER_JITTER.round_up();
    let contract = traffic.answers(lateness);
    Requirement {
        traffic: Traffic {
            rate: contract.rate,
            burst: contract.burst + contract.rate.most_in(cover(scenario)),
            largest_frame: contract.largest_frame,
            smallest_frame: contract.smallest_frame,
            frames: frames(contract, cover(scenario)),
        },
        ..back(scenario, flow, requests)
    }
}

/// Returns what asks the same for frames from the receiver of a flow to its sender.
fn back(scenario: &Scenario, flow: &Flow, forward: &Requirement) -> Requirement {
    let receiver = flow.receivers[0];
    let (from, to) = (&scenario.hosts[receiver.0], &scenario.hosts[flow.source.0]);
    let matching = FlowMatch {
        destination: Some(MacAddress(to.mac)),
        transport: forward.matching.transport.map(|transport| Transport {
            source: transport.destination,
            destination: None,
            ..transport
        }),
        ipv4_source: forward.matching.ipv4_source.map(|_| from.ip),
        ipv4_destination: Some(to.ip),
        ..FlowMatch::default()
    };
    Requirement {
        name: format!("{} (answers)", flow.name),
        source: from.name.clone(),
        destinations: vec![to.name.clone()],
        matching,
        ..forward.clone()
    }
}

/// Returns the contract of the answers to a flood, whose frames arrive no faster than the
/// links of their receiver bring them: what waits in a queue on the way comes at once.
fn answer_traffic(scenario: &Scenario, flow: &Flow, flood: Traffic) -> Traffic {
    let receivers = flow.receivers.iter();
    let links = receivers.map(|host| scenario.links[scenario.hosts[host.0].link.0].rate);
    let rate = links.fold(flood.rate, BitRate::max);
    let frames_per_second = rate.as_bps().div_ceil(flood.smallest_frame.as_bits());
    let bytes = u64::try_from(LONGEST_ANSWER).expect("a frame is short");
    let largest = scenario::wire_size(DataSize::from_bytes(bytes));
    let answers_per_second = frames_per_second.div_ceil(u64::from(FRAMES_PER_ANSWER));
    let rate = BitRate::from_bps(answers_per_second * largest.as_bits());
    Traffic {
        rate,
        burst: largest + rate.most_in(ANSWER_JITTER),
        largest_frame: largest,
        smallest_frame: SMALLEST_FRAME,
        frames: None,
    }
}

fn matching(scenario: &Scenario, flow: &Flow) -> FlowMatch {
    match flow.destination {
        Destination::Ethernet { mac, .. } => FlowMatch {
            ether_type: Some(match flow.traffic {
                scenario::Traffic::Goose(_) => EtherType::GOOSE,
                scenario::Traffic::SampledValues(_)
                | scenario::Traffic::Udp(_)
                | scenario::Traffic::Message(_)
                | scenario::Traffic::Trace(_)
                | scenario::Traffic::Mms(_)
                | scenario::Traffic::BestEffort(_) => EtherType::SAMPLED_VALUES,
            }),
            destination: Some(MacAddress(mac)),
            ..FlowMatch::default()
        },
        Destination::Udp { mac, ip, port } => FlowMatch {
            destination: Some(MacAddress(mac)),
            ipv4_destination: Some(ip),
            transport: Some(Transport {
                protocol: TransportProtocol::Udp,
                source: None,
                destination: Some(port),
            }),
            ..FlowMatch::default()
        },
        // All stations are asked at the same port: who asks tells them apart.
        Destination::Tcp { mac, ip, port } => FlowMatch {
            destination: Some(MacAddress(mac)),
            ipv4_source: Some(scenario.hosts[flow.source.0].ip),
            ipv4_destination: Some(ip),
            transport: Some(Transport {
                protocol: TransportProtocol::Tcp,
                source: None,
                destination: Some(port),
            }),
            ..FlowMatch::default()
        },
    }
}

pub(super) fn protection(flow: &Flow) -> Protection {
    let covers = |covers_any_fault| match covers_any_fault {
        true => Cover::Any,
        false => Cover::CarrierLoss,
    };
    match flow.protection {
        scenario::Protection::None => Protection::None,
        scenario::Protection::Seamless {
            by_prp,
            keeps_order,
        } => Protection::Seamless {
            encoding: match by_prp {
                false => SequenceEncoding::RTag,
                true => SequenceEncoding::Prp,
            },
            order: match keeps_order {
                false => FrameOrder::Any,
                true => FrameOrder::Kept,
            },
        },
        scenario::Protection::Restore {
            interruption,
            covers_any_fault,
        } => Protection::Restore {
            interruption,
            covers: covers(covers_any_fault),
        },
        scenario::Protection::HeartBeat { interruption } => Protection::FastFailover {
            interruption,
            covers: match interruption >= neighbour_sessions::LEAST_INTERRUPTION {
                true => Cover::Any,
                false => Cover::OneWay,
            },
            heart_beat: match &flow.traffic {
                scenario::Traffic::SampledValues(sent) => Some(sent.period + sent.jitter),
                _ => None,
            },
        },
        scenario::Protection::FastFailover {
            interruption,
            covers_any_fault,
        } => Protection::FastFailover {
            interruption,
            covers: covers(covers_any_fault),
            heart_beat: None,
        },
    }
}
