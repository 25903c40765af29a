//! Why a flow has the guarantee that it has, or none: each hop with its share,
//! who competes there, and what would have to change.

use std::collections::BTreeMap;

use calculus::admission::{
    Background, Competitor, FlowId, Ledger, MAX_DELAY, Redundant, Refusal, Remedy, RemedyChange,
    Request, Stage, StageId,
};
use calculus::bounds::processing::FRAME;
use controller::northbound::Promises;
use scenario::Scenario;
use units::{BitRate, DataSize, Delay};

use super::{Admission, places};

/// What there is to say of one flow.
#[derive(Clone, Debug)]
pub enum Explanation {
    /// It is best effort: nothing is promised and nothing reserved.
    BestEffort,
    Promised(Box<Promised>),
    /// It has none, as the network has not enough of something.
    Lacking(Box<Lacking>),
    /// It has none for another reason, in words.
    Refused(String),
}

/// What a promise rests on.
#[derive(Clone, Debug)]
pub struct Promised {
    pub request: Request,
    /// The longest delay on any way that it may take.
    pub guarantee: Delay,
    /// The same on the base tree.
    pub unbroken: Delay,
    /// The failure after which the guarantee is reached, if it is after one.
    pub reached_after: Option<String>,
    /// No frame is later with the flows that there are, while nothing is broken.
    pub now: Option<Delay>,
    /// The hops of the base tree, in its order.
    pub hops: Vec<HopShare>,
    /// Classes beside its own in which it would be admitted, with the guarantees.
    pub other_classes: Vec<(u8, Delay)>,
}

/// Why there is no promise.
#[derive(Clone, Debug)]
pub struct Lacking {
    pub request: Request,
    /// What would not hold beside all that is promised.
    pub refusal: Refusal,
    /// The stage at which it would not, if it is a matter of one.
    pub place: Option<String>,
    /// The failure after which it would not, if it does otherwise.
    pub after: Option<String>,
    /// Who is at that stage.
    pub company: Option<Competition>,
    /// What it would rest on with a longer deadline, if that is all that lacks.
    pub way: Option<Box<Promised>>,
    /// Changes with each of which it would be admitted.
    pub remedies: Vec<Remedy>,
}

/// One hop and what it takes.
#[derive(Clone, Debug)]
pub struct HopShare {
    /// The name of the stage.
    pub place: String,
    /// What the promise counts for it.
    pub budget: Delay,
    /// What the link behind it takes.
    pub propagation: Delay,
    /// The part of the guarantee that both are, in thousandths; nothing for a
    /// branch that is not the longest.
    pub share: Option<u64>,
    /// What the stage takes at most with what is promised now.
    pub needed: Delay,
    /// The failure under which that is so, if it is not always.
    pub needed_under: Option<String>,
    /// What it takes at most with the delays before it that there are now, while
    /// nothing is broken.
    pub now: Option<Delay>,
    pub company: Competition,
}

/// Who is at a stage, and how much each takes of its time.
#[derive(Clone, Debug)]
pub struct Competition {
    /// What its own burst takes, if it has a promise there.
    pub own: Option<Delay>,
    /// The flows that it waits for, with the time that the burst of each takes,
    /// the longest first.
    pub rivals: Vec<Rival>,
    /// What has no promise and is worked on too.
    pub unpromised: Delay,
    /// What it takes the stage to begin.
    pub latency: Delay,
    /// The largest frame that may be in the way, and the time it takes.
    pub blocking: Option<(DataSize, Delay)>,
}

/// A flow that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rival {
    pub name: String,
    pub class: u8,
    pub rate: BitRate,
    /// What its burst takes of the stage's time.
    pub takes: Delay,
}

/// What explanations are drawn from.
#[derive(Debug)]
pub struct Explainer<'a> {
    scenario: &'a Scenario,
    promises: &'a Promises,
    unbroken: &'a Background,
    names: BTreeMap<FlowId, &'a str>,
}

impl<'a> Explainer<'a> {
    /// Returns one for what was promised and the background of the unbroken
    /// network.
    #[must_use]
    pub fn new(scenario: &'a Scenario, promises: &'a Promises, unbroken: &'a Background) -> Self {
        let flows = promises.flows.iter();
        Self {
            scenario,
            promises,
            unbroken,
            names: flows
                .map(|flow| (flow.reservation, flow.name.as_str()))
                .collect(),
        }
    }

    /// Explains the decision on a flow.
    #[must_use]
    pub fn explain(&self, admission: &Admission) -> Explanation {
        let ledger = &self.promises.ledger;
        match (&admission.decision, &admission.shortage) {
            (Ok(accepted), _) => {
                let mut flows = self.promises.flows.iter();
                let promised = flows.find(|flow| flow.id == accepted.id);
                promised.map_or(Explanation::BestEffort, |promised| {
                    let id = promised.reservation;
                    Explanation::Promised(Box::new(self.promised(ledger, id)))
                })
            }
            (Err(reason), None) => Explanation::Refused(reason.clone()),
            (Err(reason), Some(shortage)) => match ledger.clone().check(&shortage.asked) {
                Ok(_) => Explanation::Refused(reason.clone()),
                Err(refusal) => {
                    Explanation::Lacking(Box::new(self.lacking(&shortage.asked, refusal)))
                }
            },
        }
    }

    /// Returns the name of a flow of the ledger.
    #[must_use]
    pub fn name_of(&self, flow: FlowId) -> &str {
        self.names.get(&flow).copied().unwrap_or("probes")
    }

    /// Returns the name of a stage.
    #[must_use]
    pub fn place_of(&self, stage: StageId) -> String {
        let places = &self.promises.places;
        let place = usize::try_from(stage.0).ok().and_then(|at| places.get(at));
        place.map_or_else(
            || format!("stage {}", stage.0),
            |place| places::name_of(self.scenario, *place),
        )
    }

    fn failure(&self, failure: calculus::admission::FailureId) -> String {
        let failures = &self.promises.failures;
        let link = usize::try_from(failure.0)
            .ok()
            .and_then(|at| failures.get(at));
        link.map_or_else(
            || format!("failure {}", failure.0),
            |link| places::name_of_link(self.scenario, *link),
        )
    }

    /// Explains the flow `id` of `ledger`, which is that of the promises or one
    /// with a flow more.
    fn promised(&self, ledger: &Ledger, id: FlowId) -> Promised {
        let request = ledger.request(id).expect("the flow is in the ledger");
        let mut without = ledger.clone();
        without.withdraw(id);
        let again = without.clone().admit(request.clone());
        let again = again.expect("what was admitted fits beside the same others");
        let unbroken = again.guarantee;
        let later = again
            .alternatives
            .iter()
            .filter(|(_, latest)| *latest > unbroken);
        let latest = later.max_by_key(|(_, latest)| *latest);
        let guarantee = latest.map_or(unbroken, |(_, latest)| *latest);
        let is_there = self.promises.ledger.request(id).is_some();
        let met = self.unbroken.of_flow(&self.promises.ledger, id);
        let explained = ledger.explain(id).expect("the flow is in the ledger");
        let longest = longest_way(&explained.hops, &again.leaves);
        let hops = explained.hops.iter().zip(&longest).map(|(hop, on_way)| {
            let takes = hop.budget + hop.propagation;
            HopShare {
                place: self.place_of(hop.stage),
                budget: hop.budget,
                propagation: hop.propagation,
                share: on_way.then(|| thousandths(takes, guarantee)),
                needed: hop.bound,
                needed_under: hop.bound_under.map(|failure| self.failure(failure)),
                now: is_there.then(|| self.unbroken.at(hop.stage, request.class)),
                company: self.company(ledger, hop.stage, request.class, Some(id)),
            }
        });
        let other_classes = without.other_classes(request);
        Promised {
            request: request.clone(),
            guarantee,
            unbroken,
            reached_after: latest.map(|(failure, _)| self.failure(*failure)),
            now: met.map(|met| met.delay),
            hops: hops.collect(),
            other_classes: other_classes.collect(),
        }
    }

    fn lacking(&self, request: &Request, refusal: Refusal) -> Lacking {
        let ledger = &self.promises.ledger;
        let company = refusal
            .stage
            .map(|stage| self.company(ledger, stage, request.class, None));
        let mut patient = ledger.clone();
        let admitted = patient.admit(Request {
            deadline: MAX_DELAY,
            ..request.clone()
        });
        Lacking {
            request: request.clone(),
            place: refusal.stage.map(|stage| self.place_of(stage)),
            after: refusal.failure.map(|failure| self.failure(failure)),
            company,
            way: admitted
                .ok()
                .map(|it| Box::new(self.promised(&patient, it.id))),
            remedies: remedies(ledger, request),
            refusal,
        }
    }

    /// Returns who is at a stage beside a flow of `class`, which may be in the
    /// ledger under `own`.
    fn company(&self, ledger: &Ledger, id: StageId, class: u8, own: Option<FlowId>) -> Competition {
        let competitors = ledger.competitors(id, class);
        let is_own = |competitor: &&Competitor| Some(competitor.flow) == own;
        let stage = &ledger.stages()[id.0 as usize];
        let (latency, unpromised, blocking) = match stage {
            Stage::Processing {
                latency, per_frame, ..
            } => (
                *latency,
                work(ledger.unpromised(id).burst, *per_frame),
                None,
            ),
            Stage::Port {
                rate,
                largest_frame,
                ..
            } => {
                let below = competitors.iter().filter(|rival| rival.class < class);
                let frames = below.map(|rival| rival.largest_frame);
                let largest = frames.fold(*largest_frame, DataSize::max);
                (
                    Delay::ZERO,
                    Delay::ZERO,
                    Some((largest, rate.time_to_send(largest))),
                )
            }
        };
        let waits_for = |rival: &&Competitor| blocking.is_none() || rival.class >= class;
        let rivals = competitors
            .iter()
            .filter(waits_for)
            .filter(|it| !is_own(it));
        Competition {
            own: competitors.iter().find(is_own).map(|own| own.takes),
            rivals: rivals
                .filter_map(|rival| self.rival(ledger, rival))
                .collect(),
            unpromised,
            latency,
            blocking,
        }
    }

    fn rival(&self, ledger: &Ledger, rival: &Competitor) -> Option<Rival> {
        Some(Rival {
            name: self.name_of(rival.flow).to_owned(),
            class: rival.class,
            rate: ledger.request(rival.flow)?.rate,
            takes: rival.takes,
        })
    }
}

/// Returns for each hop whether it is on the way to the leaf that is reached last.
fn longest_way(hops: &[calculus::admission::HopShare], leaves: &[(usize, Delay)]) -> Vec<bool> {
    let mut on_way = vec![false; hops.len()];
    let latest = leaves.iter().max_by_key(|(_, latest)| *latest);
    let mut at = latest.map(|(hop, _)| *hop);
    while let Some(hop) = at {
        on_way[hop] = true;
        at = hops[hop].parent;
    }
    on_way
}

/// Returns what would let a flow in. For how long frames are held that stay in order follows
/// from the deadline, so with another one it would be another request.
fn remedies(ledger: &Ledger, request: &Request) -> Vec<Remedy> {
    let holds = |redundant: &Redundant| redundant.hold > Delay::ZERO;
    let keeps_order = request.redundant.as_deref().is_some_and(holds);
    let mut remedies = ledger.remedies(request);
    remedies.retain(|it| !keeps_order || !matches!(it.change, RemedyChange::Deadline(_)));
    remedies
}

fn work(frames: u64, per_frame: Delay) -> Delay {
    let ps = u128::from(frames) * u128::from(per_frame.as_ps());
    let ps = u64::try_from(ps.div_ceil(u128::from(FRAME)));
    Delay::from_ps(ps.unwrap_or(u64::MAX))
}

/// Returns which part of the whole this is, to the nearest thousandth.
pub fn thousandths(part: Delay, whole: Delay) -> u64 {
    let half = u128::from(whole.as_ps()) / 2;
    let parts = (u128::from(part.as_ps()) * 1_000 + half).checked_div(u128::from(whole.as_ps()));
    parts
        .and_then(|parts| u64::try_from(parts).ok())
        .unwrap_or(0)
}
