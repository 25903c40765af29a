//! What a scenario states of its network and what its flows ask for, in the words of
//! certificates.
//!
//! Nothing of this comes from a controller: it is what somebody would say who read the
//! file and never admitted a flow.

use std::collections::BTreeMap;

use certificate::document::{
    BestEffort, Changes, Demand, End, Figures, Frames, Host, Link, Network, Profile, Protection,
    Service, Switch,
};
use controller::northbound::{Requirement, Traffic};
use controller::{neighbour_sessions, seamless};
use scenario::{Flow, Scenario, Strategy, SwitchIndex, Treatment};
use units::Delay;

use super::{modes, plan};

#[must_use]
pub fn network(scenario: &Scenario) -> Network {
    let (profiles, names) = profiles(scenario);
    let switches = scenario.switches.iter().map(|switch| Switch {
        name: switch.name.clone(),
        datapath: switch.datapath_id,
        profile: names[&switch.profile.0].clone(),
    });
    let hosts = scenario.hosts.iter().enumerate();
    let hosts = hosts.map(|(at, host)| Host {
        name: host.name.clone(),
        unpromised: plan::unpromised(scenario, at).map(|sends| BestEffort {
            rate_bps: sends.rate.as_bps(),
            largest_frame_bit: sends.largest_frame.as_bits(),
            smallest_frame_bit: sends.smallest_frame.as_bits(),
        }),
    });
    let links = scenario.links.iter().map(|link| Link {
        name: link.name.clone(),
        ends: link.ends.map(|end| End {
            node: scenario.name_of(end.node).to_owned(),
            port: end.port,
        }),
        rate_bps: link.rate.as_bps(),
        propagation_ps: link.propagation.as_ps(),
    });
    let classes = plan::promised_queues(scenario);
    Network {
        name: scenario.name.clone(),
        profiles,
        switches: switches.collect(),
        hosts: hosts.collect(),
        links: links.collect(),
        classes,
        probe_interval_ps: Delay::from(scenario.control.probe_interval).as_ps(),
        changes: match scenario.modes.as_ref().map(|modes| modes.strategy) {
            Some(Strategy::Taktos) => Changes::Switches,
            Some(Strategy::StdSdn) => Changes::Controller,
            Some(Strategy::McAgnostic) | None => Changes::Nobody,
        },
    }
}

/// Returns the profiles that switches have, and their names by their places: profiles
/// of the same name and other figures are told apart.
fn profiles(scenario: &Scenario) -> (Vec<Profile>, BTreeMap<usize, String>) {
    let (mut profiles, mut names) = (Vec::<Profile>::new(), BTreeMap::new());
    for switch in 0..scenario.switches.len() {
        let place = scenario.switches[switch].profile.0;
        if names.contains_key(&place) {
            continue;
        }
        let profile = scenario.profile_of(SwitchIndex(switch));
        let figures = Figures {
            latency_ps: profile.longest_latency().as_ps(),
            per_frame_ps: profile.longest_per_frame().as_ps(),
            pool_frames: profile.pool_frames.value,
            queue_frames: profile.queue_frames.value,
        };
        let candidates = (1..).map(|number| match number {
            1 => profile.name.clone(),
            number => format!("{} ({number})", profile.name),
        });
        for name in candidates {
            match profiles.iter().find(|known| known.name == name) {
                Some(known) if known.figures != figures => {}
                Some(_) => {
                    names.insert(place, name);
                    break;
                }
                None => {
                    names.insert(place, name.clone());
                    profiles.push(Profile {
                        name,
                        figures,
                        sha256: figures.digest(),
                    });
                    break;
                }
            }
        }
    }
    (profiles, names)
}

/// Returns the names of the levels, the lowest first; one without a name if the network
/// has none.
#[must_use]
pub fn levels(scenario: &Scenario) -> Vec<Option<String>> {
    match scenario.modes.as_ref() {
        Some(said) if said.strategy != Strategy::McAgnostic => {
            let levels = said.levels.iter();
            levels.map(|level| Some(level.name.clone())).collect()
        }
        Some(_) | None => vec![None],
    }
}

/// Returns what the flows of a scenario ask for that ask for a deadline.
#[must_use]
pub fn demands(scenario: &Scenario) -> Vec<Demand> {
    let levels = levels(scenario).len();
    let flows = scenario.flows.iter();
    let demands = flows.flat_map(|flow| {
        let asked = plan::requirements(scenario, flow).into_iter().enumerate();
        asked.filter_map(move |(at, asked)| match at {
            0 => demand(&asked, by_level(scenario, flow, &asked, levels)),
            // What comes back is the same at all levels.
            _ => demand(
                &asked,
                vec![Some((asked.class, asked.traffic, None)); levels],
            ),
        })
    });
    demands.collect()
}

/// The class at a level, what is sent there, and another deadline if there is one.
type AtLevel = Option<(u8, Traffic, Option<Delay>)>;

fn by_level(scenario: &Scenario, flow: &Flow, asked: &Requirement, levels: usize) -> Vec<AtLevel> {
    let treatments = flow.by_level.iter().map(|treatment| match treatment {
        Treatment::Dropped => None,
        Treatment::Served(service) => {
            let sent = service
                .message
                .map(|message| modes::sent(scenario, flow, message));
            let class = scenario.classes[service.class.0].queue;
            let traffic = sent.unwrap_or(asked.traffic);
            let deadline = service.deadline.map(|it| plan::less_cover(scenario, it));
            Some((class, traffic, deadline))
        }
    });
    let usual = std::iter::repeat_n(Some((asked.class, asked.traffic, None)), levels);
    match flow.by_level.len() == levels {
        true => treatments.collect(),
        false => usual.collect(),
    }
}

fn demand(asked: &Requirement, by_level: Vec<AtLevel>) -> Option<Demand> {
    let deadline = asked.deadline?;
    let levels = by_level.into_iter().map(|at| {
        let (class, traffic, other) = at?;
        Some(Service {
            class,
            rate_bps: traffic.rate.as_bps(),
            burst_bit: traffic.burst.as_bits(),
            largest_frame_bit: traffic.largest_frame.as_bits(),
            smallest_frame_bit: traffic.smallest_frame.as_bits(),
            frames: traffic.frames.map(|frames| Frames {
                millionths_per_second: frames.rate_per_second,
                burst_millionths: frames.burst,
            }),
            deadline_ps: other.unwrap_or(deadline).as_ps(),
        })
    });
    Some(Demand {
        name: asked.name.clone(),
        source: asked.source.clone(),
        receivers: asked.destinations.clone(),
        protection: match asked.protection {
            controller::northbound::Protection::None => Protection::None,
            controller::northbound::Protection::Restore { .. } => Protection::Restore,
            controller::northbound::Protection::FastFailover { .. } => Protection::FastFailover,
            controller::northbound::Protection::Seamless { .. } => Protection::Copies,
        },
        tag_bit: match asked.protection {
            controller::northbound::Protection::Seamless { .. } => seamless::added(asked).as_bits(),
            _ => 0,
        },
        hold_ps: Delay::from(seamless::hold(asked)).as_ps(),
        bfd_interval_ps: neighbour_sessions::interval_for(asked.protection)
            .map(|interval| Delay::from(interval).as_ps()),
        levels: levels.collect(),
    })
}
