//! What deadlines leave to spare: for how much slower switches promises would hold.

use std::collections::BTreeMap;

use calculus::admission::{Slowdown, StageId};
use controller::admission::LedgerPlace;
use controller::northbound::{FlowId, Promises};
use wire::openflow::DatapathId;

/// From so many thousandths of its time on that a processor may have to work, slower
/// switches are no matter of deadlines any more.
const NEARLY_ALL: u64 = 900;

/// How much there is to spare.
#[derive(Clone, Debug)]
pub struct Room {
    /// How many times as long as stated processors may take with a flow in time; none
    /// where budgets are fixed, as they are with promises at levels of criticality.
    slowdowns: BTreeMap<FlowId, Slowdown>,
    /// The flow that is late first.
    first: Option<String>,
    /// How busy each switch may be.
    pub processors: Vec<Processor>,
}

/// How busy a switch may be, in thousandths of its time.
#[derive(Clone, Debug)]
pub struct Processor {
    /// The name of the switch.
    pub switch: String,
    pub busy: u64,
    pub without_promise: u64,
}

impl Room {
    /// Returns what follows from promises, for switches that have a name. It takes many
    /// times as long as to admit a flow.
    #[must_use]
    pub fn of(promises: &Promises, name: impl Fn(DatapathId) -> Option<String>) -> Self {
        let ledger = &promises.ledger;
        // With levels the time that a change takes is part of a promise, and grows too.
        let slowdowns = match ledger.slowdown() {
            None => BTreeMap::new(),
            Some(_) => ledger.slowdowns(),
        };
        let flows = promises.flows.iter();
        let of_flow = flows.filter_map(|flow| Some((flow.id, *slowdowns.get(&flow.reservation)?)));
        let stages = (0..).map(StageId).zip(&promises.places);
        let processors = stages.filter_map(|(stage, place)| {
            let (busy, without_promise) = ledger.busy(stage)?;
            let LedgerPlace::Switch(datapath) = place else {
                return None;
            };
            Some(Processor {
                switch: name(*datapath)?,
                busy,
                without_promise,
            })
        });
        let slowdowns: BTreeMap<_, _> = of_flow.collect();
        let promised = promises.flows.iter();
        let first = promised.filter(|flow| slowdowns.contains_key(&flow.id));
        let first = first.min_by_key(|flow| slowdowns[&flow.id]);
        Self {
            first: first.map(|flow| flow.name.clone()),
            slowdowns,
            processors: processors.collect(),
        }
    }

    /// Returns how many times as long processors may take with a flow in time.
    #[must_use]
    pub fn of_flow(&self, flow: FlowId) -> Option<Slowdown> {
        self.slowdowns.get(&flow).copied()
    }

    /// Returns the flow that is late first, if one is.
    #[must_use]
    pub fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// Returns how many times as long processors may take with every flow in time.
    #[must_use]
    pub fn least(&self) -> Option<Slowdown> {
        self.slowdowns.values().min().copied()
    }

    /// Says of which processors no factor tells how much room there is, a sentence each.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        let busy = self.processors.iter().filter(|it| it.busy >= NEARLY_ALL);
        busy.map(|processor| {
            format!(
                "Switch {} may have to work {} of its time, {} for traffic without promise: where \
                 that nears all, no factor helps; limit that traffic at the edge.",
                processor.switch,
                percent(processor.busy),
                percent(processor.without_promise)
            )
        })
    }

    /// Says for how much slower switches all promises hold, and what the busiest has to do:
    /// a sentence each.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let holds = self.least().map(|least| match (least, &self.first) {
            (Slowdown::MOST, _) | (_, None) => format!(
                "Every deadline holds if switches take {least} times as long as stated, latency \
                 and frames alike, and longer."
            ),
            (_, Some(first)) => format!(
                "Every deadline holds if switches take up to {least} times as long as stated, \
                 latency and frames alike; with more {first} may be late first."
            ),
        });
        let busiest = self.processors.iter().max_by_key(|it| it.busy);
        let busiest = busiest.map(|processor| {
            format!(
                "The busiest switch, {}, may have to work {} of its time, {} for traffic without \
                 promise.",
                processor.switch,
                percent(processor.busy),
                percent(processor.without_promise)
            )
        });
        let told = holds.into_iter().chain(busiest);
        told.chain(self.warnings()).collect()
    }
}

fn percent(thousandths: u64) -> String {
    format!("{}.{} %", thousandths / 10, thousandths % 10)
}
