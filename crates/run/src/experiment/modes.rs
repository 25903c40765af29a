//! What a scenario says of criticality modes, as the controller is told it.
//!
//! Flows of messages that are served at the highest level are watched. How late a change
//! may make a frame is bounded from the topology and the switches' parameters
//! (`calculus::mode_change`), for a network of which no link is lost meanwhile.

use calculus::mode_change::{Ahead, Hop, ModeChange, SIGNALS_AHEAD, SignalHop, Trunks};
use controller::config::Config;
use controller::modes::{ModalFlow, Modes, Strategy, Treatment};
use controller::northbound::Traffic;
use scenario::{Flow, Message, MessageContract, Node, Scenario};
use units::{BitRate, DataSize, Delay};
use wire::mode_signal::Level;
use wire::openflow::DatapathId;
use wire::openflow::taktos::MonitorContract;

use super::plan::LARGEST_FRAME;
use super::plan::less_cover;

/// What nothing can overtake at a port, on the wire: the frame that is being sent, and the
/// one behind it that has left the queues of the kernel by the burst of one frame (decision
/// 0010). A promise does not depend on the engine, so this is counted for all of them.
const NOT_OVERTAKEN: DataSize = DataSize::from_bytes(2 * LARGEST_FRAME.bytes_up());

/// Returns the modes of a scenario, if it has any. How late a change may make a frame is
/// left open.
#[must_use]
pub fn of(scenario: &Scenario) -> Option<Modes> {
    let said = scenario.modes.as_ref()?;
    let levels = said.levels.iter();
    let flows = scenario.flows.iter();
    Some(Modes {
        levels: levels.clone().map(|level| level.name.clone()).collect(),
        strategy: match said.strategy {
            scenario::Strategy::Taktos => Strategy::Taktos,
            scenario::Strategy::StdSdn => Strategy::StdSdn,
            scenario::Strategy::McAgnostic => Strategy::McAgnostic,
        },
        hold: said.hold,
        heart_beat: Some(said.heartbeat),
        default: level(said.default.0),
        serve: levels.map(|level| level.serves.0).collect(),
        change_bound: Delay::ZERO,
        flows: flows
            .map(|flow| (flow.name.clone(), modal_flow(scenario, flow)))
            .collect(),
    })
}

/// Bounds how late a change of mode may make a frame in this network, and has that be
/// part of what is promised.
pub fn bound_change(scenario: &Scenario, config: &mut Config) {
    let bound = change_bound(scenario, config);
    if let Some(modes) = &mut config.modes
        && modes.strategy == Strategy::Taktos
    {
        modes.change_bound = bound;
    }
}

/// Has flows ask for no more at any level than they do at the lowest, nor for queues that
/// no others enter.
pub fn reserve_nothing(config: &mut Config) {
    if let Some(modes) = &mut config.modes {
        modes.change_bound = Delay::ZERO;
    }
    let flows = config
        .modes
        .iter_mut()
        .flat_map(|modes| modes.flows.values_mut());
    for treatment in flows.flat_map(|flow| flow.levels.values_mut()) {
        match treatment {
            Treatment::Serve {
                traffic, deadline, ..
            } => {
                *traffic = None;
                *deadline = None;
            }
            Treatment::Drop => {}
        }
    }
}

fn modal_flow(scenario: &Scenario, flow: &Flow) -> ModalFlow {
    let treatments = flow.by_level.iter().enumerate();
    let contracts: Vec<_> = flow.by_level.iter().map(contract_at).collect();
    let is_watched = contracts.iter().all(Option::is_some);
    let modes = scenario.modes.as_ref();
    let name = |at: usize| {
        let level = modes.and_then(|modes| modes.levels.get(at));
        level.map_or_else(String::new, |level| level.name.clone())
    };
    ModalFlow {
        criticality: flow.criticality.0,
        jitter: jitter(flow),
        contract: contracts
            .first()
            .copied()
            .flatten()
            .filter(|_| is_watched)
            .map(monitored),
        levels: treatments
            .map(|(at, treatment)| (name(at), treated(scenario, flow, treatment)))
            .collect(),
    }
}

fn treated(scenario: &Scenario, flow: &Flow, treatment: &scenario::Treatment) -> Treatment {
    match treatment {
        scenario::Treatment::Dropped => Treatment::Drop,
        scenario::Treatment::Served(service) => Treatment::Serve {
            class: Some(scenario.classes[service.class.0].queue),
            traffic: service.message.map(|message| sent(scenario, flow, message)),
            deadline: service.deadline.map(|it| less_cover(scenario, it)),
            contract: service.message.map(monitored),
        },
    }
}

/// Returns what a flow of messages never exceeds on the wire while it keeps a contract.
pub(super) fn sent(scenario: &Scenario, flow: &Flow, message: MessageContract) -> Traffic {
    let messages = scenario::Traffic::Message(Message {
        size: message.size,
        period: message.period,
        jitter: jitter(flow),
    });
    let contract = messages.contract().expect("messages have a contract");
    let cover = super::plan::cover(scenario);
    Traffic {
        rate: contract.rate,
        burst: contract.burst + contract.rate.most_in(cover),
        largest_frame: contract.largest_frame,
        smallest_frame: contract.smallest_frame,
        frames: super::plan::frames(contract, cover),
    }
}

fn contract_at(treatment: &scenario::Treatment) -> Option<MessageContract> {
    match treatment {
        scenario::Treatment::Served(service) => service.message,
        scenario::Treatment::Dropped => None,
    }
}

fn monitored(message: MessageContract) -> MonitorContract {
    let bytes = message.size.as_bits().div_ceil(8);
    MonitorContract {
        period: message.period,
        size_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
    }
}

fn jitter(flow: &Flow) -> units::Duration {
    match &flow.traffic {
        scenario::Traffic::Message(message) => message.jitter,
        scenario::Traffic::SampledValues(_)
        | scenario::Traffic::Goose(_)
        | scenario::Traffic::Udp(_)
        | scenario::Traffic::Trace(_)
        | scenario::Traffic::Mms(_)
        | scenario::Traffic::BestEffort(_) => units::Duration::ZERO,
    }
}

fn level(at: usize) -> Level {
    let number = u8::try_from(at).ok();
    number.and_then(Level::new).unwrap_or(Level::HIGHEST)
}

/// Returns the longest time from a violation until every switch treats frames by the new
/// level and what stood ahead of favoured ones is gone, also if the level is just falling:
/// queues of higher levels are taken to be reserved.
fn change_bound(scenario: &Scenario, config: &Config) -> Delay {
    let processing = |node: usize| {
        let datapath = DatapathId(scenario.switches[node].datapath_id);
        let stage = config.switches.get(&datapath).and_then(|it| it.processing);
        stage.map_or(Delay::ZERO, |stage| stage.budget)
    };
    let mut hops = Vec::new();
    let mut drain = Delay::ZERO;
    for (number, link) in scenario.links.iter().enumerate() {
        drain = drain.max(blocked(link.rate));
        let [one, other] = link.ends.map(|end| end.node);
        let (Node::Switch(one), Node::Switch(other)) = (one, other) else {
            continue;
        };
        for (from, to) in [(one.0, other.0), (other.0, one.0)] {
            let hop = SignalHop {
                rate: link.rate,
                propagation: link.propagation,
                blocking: NOT_OVERTAKEN,
                equal: DataSize::ZERO,
                signals_ahead: SIGNALS_AHEAD,
                processing: processing(to),
            };
            hops.push(Hop {
                from,
                to,
                link: number,
                delay: hop.bound().expect("a signal takes less than 213 days"),
            });
        }
    }
    let switches = scenario.switches.len();
    let change = ModeChange {
        detection: (0..switches).map(processing).max().unwrap_or_default(),
        spread: Trunks::new(switches, hops).spread(0),
        local: Delay::ZERO,
        drain,
    };
    change.total_where_it_falls()
}

fn blocked(rate: BitRate) -> Delay {
    let ahead = Ahead::Reserved {
        blocking: NOT_OVERTAKEN,
    };
    ahead.bound(rate).expect("a frame takes less than 213 days")
}

#[cfg(test)]
mod tests {
    use scenario::Scenario;

    use super::super::plan::{Open, controller_config, requirements};
    use super::*;

    fn braking() -> Scenario {
        let text = include_str!("../../../../scenarios/emergency-braking.toml");
        Scenario::parse("emergency-braking.toml", text, &mut |_| unreachable!()).unwrap()
    }

    #[test]
    fn the_car_s_film_is_dropped_and_its_sensors_are_watched() {
        let scenario = braking();
        let modes = of(&scenario).unwrap();
        let high = Level::new(1).unwrap();

        assert_eq!(modes.check(), Ok(()));
        let required = |name: &str| {
            let flow = scenario.flows.iter().find(|flow| flow.name == name);
            requirements(&scenario, flow.unwrap()).remove(0)
        };
        let stream = modes.service(&required("stream"), high);
        assert_eq!(stream, controller::modes::Service::Dropped);
        assert!(modes.is_watched(&required("cam")) && modes.is_watched(&required("lidar")));
        assert!(!modes.is_watched(&required("stream")));
        let contracts = modes.contracts(&modes.flows["cam"]);
        assert_eq!(contracts[0].period, units::Duration::from_ms(200));
        assert_eq!(contracts[1].period, units::Duration::from_ms(22));
        let usual = Delay::from_us(200_000);
        let deadline = modes.deadline(&required("cam"), usual, high);
        assert_eq!(deadline, Delay::from_us(22_000));
    }

    /// Decision 0015: two frames that nothing can overtake, at each port.
    #[test]
    fn a_change_takes_three_waves_over_the_trunk_and_the_frames_that_cannot_be_overtaken() {
        let scenario = braking();
        let mut config = controller_config(&scenario, Open::Usual);

        bound_change(&scenario, &mut config);

        let bound = config.modes.unwrap().change_bound;
        let two_frames = 2 * 1542;
        let signals = (SIGNALS_AHEAD + 1) * 84;
        let wave = DataSize::from_bytes(two_frames + signals);
        let ahead = DataSize::from_bytes(two_frames);
        let stages = config.switches.values().filter_map(|it| it.processing);
        let processing = stages.map(|stage| stage.budget).max().unwrap();
        let mut links = scenario.links.iter();
        let trunk = links.find(|link| link.name == "trunk").unwrap();
        let wave = trunk.rate.time_to_send(wave) + trunk.propagation + processing;
        let slowest = scenario.links.iter().map(|link| link.rate).min().unwrap();
        let ahead = slowest.time_to_send(ahead);
        assert_eq!(bound, processing + wave * 3_u64 + ahead * 2_u64);
    }
}
