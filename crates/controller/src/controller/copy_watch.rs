//! Whether both ways of flows that two carry at the same time bring copies (IEEE 802.1CB
//! clause 7.4.4).

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::openflow::DatapathId;
use wire::openflow::taktos::StreamEvent;

use crate::northbound::{Event, FlowId};

use super::{Context, Network, Promises};

/// How often the same is told.
const PAUSE: Duration = Duration::from_secs(60);
/// The most of which it is known when they were told of.
const MAX_TOLD: usize = 16_384;

/// When it was told of which flow that copies are missing at which switch.
#[derive(Debug, Default)]
pub struct CopyWatch {
    told: BTreeMap<(DatapathId, FlowId), Instant>,
}

impl CopyWatch {
    /// Notes that it is told now; returns whether it is time to.
    fn note(&mut self, now: Instant, of: (DatapathId, FlowId)) -> bool {
        let last = self.told.get(&of);
        if last.is_some_and(|last| now.saturating_since(*last) < PAUSE) {
            return false;
        }
        if self.told.len() >= MAX_TOLD {
            self.told.clear();
        }
        self.told.insert(of, now);
        true
    }
}

impl Promises {
    /// Tells that a switch misses copies of a flow, unless it is known which link is broken,
    /// or the flow has no two ways there.
    pub(super) fn copies_missing(
        &mut self,
        ctx: &mut Context,
        network: &Network,
        datapath: DatapathId,
        said: &StreamEvent,
    ) {
        let id = FlowId(said.report.stream.0);
        let Some(flow) = network.owners.flows.get(id) else {
            return;
        };
        let ways = &flow.admission.ways;
        let mut receivers = flow.admission.destinations.iter();
        let is_there = receivers.any(|at| at.datapath == datapath) && ways.copies().is_some();
        let is_known = !network.topology.is_whole(&ways.base);
        if !is_there || is_known || !self.copies.note(ctx.now, (datapath, id)) {
            return;
        }
        ctx.outbox.notify(Event::CopiesMissing {
            flow: id,
            name: flow.admission.requirement.name.clone(),
            switch: ctx.name_of_switch(datapath),
            passed: said.passed,
            copies: said.discarded,
        });
    }
}
