//! Writes down what the promises of a scenario rest on.

use calculus::admission::{
    Competition, Explanation, FlowId, Request, Room, Stage as LedgerStage, StageId, Tree,
};
use certificate::document::{
    Alternative, Bucket, Certificate, Class, FORMAT, Flow, Frames, Hop, Port, Processor, Profile,
    Redundant, Stage, Step, digest_of,
};
use controller::northbound::Promises;
use scenario::Scenario;
use units::Delay;

use super::places;

/// Returns the certificate of all promises.
#[must_use]
pub fn certificate(scenario: &Scenario, promises: &Promises) -> Certificate {
    let ids = (0..).map(StageId);
    let stages = promises
        .ledger
        .stages()
        .iter()
        .zip(&promises.places)
        .zip(ids);
    let flows = promises.ledger.ids();
    let failures = promises.failures.iter();
    let certificate = Certificate {
        format: FORMAT.to_owned(),
        network: scenario.name.clone(),
        profiles: profiles(scenario),
        stages: stages
            .map(|((stage, place), id)| {
                let name = places::name_of(scenario, *place);
                stage_of(promises, stage, id, name)
            })
            .collect(),
        failures: failures
            .map(|link| places::name_of_link(scenario, *link))
            .collect(),
        flows: flows.filter_map(|id| flow_of(promises, id)).collect(),
        sha256: String::new(),
    };
    certificate.seal()
}

/// Returns the profiles that are in use, with the digests of their figures.
fn profiles(scenario: &Scenario) -> Vec<Profile> {
    let profiles = scenario.profiles.iter().enumerate().map(|(at, profile)| {
        let switches = scenario
            .switches
            .iter()
            .filter(|switch| switch.profile.0 == at);
        Profile {
            name: profile.name.clone(),
            sha256: digest_of(&format!("{profile:?}")),
            switches: switches.map(|switch| switch.name.clone()).collect(),
        }
    });
    profiles
        .filter(|profile| !profile.switches.is_empty())
        .collect()
}

fn stage_of(promises: &Promises, stage: &LedgerStage, id: StageId, name: String) -> Stage {
    let bound = |class| {
        promises
            .ledger
            .bound(id, class)
            .map_or(u64::MAX, Delay::as_ps)
    };
    match stage {
        LedgerStage::Processing {
            latency,
            per_frame,
            fastest_per_frame,
            budget,
            buffer_frames,
        } => {
            let unpromised = promises.ledger.unpromised(id);
            Stage::Processor(Processor {
                name,
                latency_ps: latency.as_ps(),
                per_frame_ps: per_frame.as_ps(),
                fastest_per_frame_ps: fastest_per_frame.as_ps(),
                budget_ps: budget.as_ps(),
                buffer_frames: *buffer_frames,
                unpromised_millionths_per_second: unpromised.rate_per_second,
                unpromised_burst_millionths: unpromised.burst,
                bound_ps: bound(0),
            })
        }
        LedgerStage::Port {
            rate,
            propagation,
            budgets,
            buffers,
            largest_frame,
        } => {
            let classes = (0u8..).zip(budgets.iter().zip(buffers));
            let classes = classes.filter_map(|(class, (budget, buffer))| {
                Some(Class {
                    class,
                    budget_ps: (*budget)?.as_ps(),
                    buffer_bit: buffer.and_then(|room| match room {
                        Room::Size(size) => Some(size.as_bits()),
                        Room::Frames(_) => None,
                    }),
                    buffer_frames: buffer.and_then(|room| match room {
                        Room::Size(_) => None,
                        Room::Frames(frames) => Some(frames),
                    }),
                    bound_ps: bound(class),
                })
            });
            Stage::Port(Port {
                name,
                rate_bps: rate.as_bps(),
                propagation_ps: propagation.as_ps(),
                largest_unpromised_frame_bit: largest_frame.as_bits(),
                classes: classes.collect(),
            })
        }
    }
}

fn flow_of(promises: &Promises, id: FlowId) -> Option<Flow> {
    let request = promises.ledger.request(id)?;
    let explanation = promises.ledger.explain(id)?;
    let promised = promises.flows.iter().find(|flow| flow.reservation == id);
    let name = promised.map_or_else(|| probe_name(promises, request), |flow| flow.name.clone());
    let alternatives = request
        .alternatives
        .iter()
        .map(|(failure, tree)| Alternative {
            failure: failure.0 as usize,
            path: steps(tree),
        });
    let redundant = request.redundant.as_ref().map(|redundant| Redundant {
        path: steps(&redundant.tree),
        eliminator: redundant.eliminator.map(|stage| stage.0 as usize),
    });
    Some(Flow {
        name,
        class: request.class,
        contract: Bucket {
            rate_bps: request.rate.as_bps(),
            burst_bit: request.burst.as_bits(),
        },
        peak: request.peak.map(|peak| Bucket {
            rate_bps: peak.rate_bps(),
            burst_bit: peak.burst().as_bits(),
        }),
        frames: request.frames.map(|frames| Frames {
            millionths_per_second: frames.rate_per_second,
            burst_millionths: frames.burst,
        }),
        largest_frame_bit: request.largest_frame.as_bits(),
        smallest_frame_bit: request.smallest_frame.as_bits(),
        deadline_ps: request.deadline.as_ps(),
        guarantee_ps: guarantee(promised.map(|flow| flow.guarantee), &explanation).as_ps(),
        initial_ps: request.initial.as_ps(),
        path: explanation.hops.iter().map(hop).collect(),
        alternatives: alternatives.collect(),
        redundant,
    })
}

/// Returns what was promised; of the controller's own probes, which nobody asks
/// for, what the only stage that they pass is given.
fn guarantee(promised: Option<Delay>, explanation: &Explanation) -> Delay {
    promised.unwrap_or_else(|| {
        let hops = explanation.hops.iter();
        hops.fold(explanation.initial, |sum, hop| {
            sum + hop.budget + hop.propagation
        })
    })
}

fn probe_name(promises: &Promises, request: &Request) -> String {
    let stage = request.base.hops.first().map(|hop| hop.stage.0);
    let place = stage.and_then(|stage| promises.places.get(stage as usize));
    match place {
        Some(controller::admission::Place::Port(port)) => format!("probes of {port}"),
        Some(controller::admission::Place::Switch(_)) | None => "probes".to_owned(),
    }
}

fn hop(share: &calculus::admission::HopShare) -> Hop {
    Hop {
        stage: share.stage.0 as usize,
        after: share.parent,
        burst: match &share.competition {
            Competition::Processing { own, .. } => own.burst,
            Competition::Port { own, .. } => own.burst().as_bits(),
        },
    }
}

fn steps(tree: &Tree) -> Vec<Step> {
    let hops = tree.hops.iter();
    let steps = hops.map(|hop| Step {
        stage: hop.stage.0 as usize,
        after: hop.parent,
    });
    steps.collect()
}
