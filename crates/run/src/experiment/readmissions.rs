//! What flows are promised anew while a run goes on: as a host of theirs has moved, as they
//! go another way, or as budgets were chosen anew.

use std::collections::BTreeMap;

use controller::northbound::{
    Accepted, Event, FlowId, FlowSummary, Reply, Request, RequestId, Said, Saying,
};
use units::{Duration, Instant};

use super::Admission;
use super::world::World;

/// What flows were promised, and from when on.
#[derive(Clone, Debug)]
pub struct Readmissions {
    /// The earliest first.
    of_flows: BTreeMap<FlowId, Vec<(Instant, Accepted)>>,
    /// A question that is not answered, and when that happened for which it was asked.
    asked: Option<(RequestId, Instant)>,
    /// When something happened first that the answer may not know of.
    happened: Option<Instant>,
}

impl Readmissions {
    /// Begins with what was promised before.
    pub(super) fn after(admissions: &[Admission]) -> Self {
        let accepted = admissions.iter().filter_map(|it| it.decision.as_ref().ok());
        let first = |accepted: &Accepted| (accepted.id, vec![(Instant::ZERO, accepted.clone())]);
        Self {
            of_flows: accepted.map(first).collect(),
            asked: None,
            happened: None,
        }
    }

    /// Takes what the controller says, and asks it what it promises now when that may be
    /// something else.
    pub(super) fn hear(&mut self, world: &mut dyn World, said: &Said) {
        match &said.what {
            Saying::Notice(Event::Readmitted { .. } | Event::GuaranteesMoved { .. }) => {
                self.happened.get_or_insert(said.at);
            }
            Saying::Reply(id, Reply::Flows(flows)) => {
                if let Some((_, at)) = self.asked.take_if(|(asked, _)| asked == id) {
                    flows.iter().for_each(|flow| self.take(at, flow));
                }
            }
            Saying::Notice(_) | Saying::Reply(..) => {}
        }
        if self.asked.is_none()
            && let Some(at) = self.happened.take()
        {
            self.asked = Some((world.request(Request::Flows), at));
        }
    }

    fn take(&mut self, at: Instant, flow: &FlowSummary) {
        if let Some(promises) = self.of_flows.get_mut(&flow.accepted.id)
            && promises
                .last()
                .is_none_or(|(_, last)| *last != flow.accepted)
        {
            promises.push((at, flow.accepted.clone()));
        }
    }

    /// Returns what was promised to a flow when something happened, or `first`.
    pub(super) fn at<'a>(&'a self, at: Instant, first: &'a Accepted) -> &'a Accepted {
        let promises = self.of_flows.get(&first.id).map_or(&[][..], Vec::as_slice);
        let until = promises.iter().rfind(|(from, _)| *from <= at);
        until.map_or(first, |(_, accepted)| accepted)
    }

    /// Returns the guarantees that took the place of the first one, and from when on, the
    /// earliest first.
    pub(super) fn guarantees(&self, flow: FlowId) -> Vec<(Instant, Duration)> {
        let promises = self.of_flows.get(&flow).into_iter().flatten().skip(1);
        let guarantees = promises.filter_map(|(at, accepted)| {
            let guarantee = accepted.guarantee?;
            Some((*at, guarantee.round_up()))
        });
        guarantees.collect()
    }
}
