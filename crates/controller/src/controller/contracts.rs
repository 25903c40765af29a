//! Contracts from what sources really send: what the policer at the first switch has counted,
//! and whether what that supports would be admitted.
//!
//! A flow is looked at from when somebody first asks on: its switch is asked once a second at
//! most, whenever somebody asks. What is offered is tried on a copy of what is promised, in
//! place of the contract that there is.

use std::collections::BTreeMap;

use units::{BitRate, DataSize, Delay};
use wire::openflow::DatapathId;

use crate::flows::Flow;
use crate::northbound::{
    ContractChange, ContractFigures, ContractOffer, ContractSuggestion, FlowId, Reply, Requirement,
    Traffic,
};
use crate::rules::PolicedContract;
use crate::sent_series::{SentReading, SentSeries};

use super::correction::longer_per_million;
use super::{Context, ModeDesk, Network, Promises};

/// The most flows that are looked at; of more, those that were admitted first are forgotten.
const MAX_WATCHED: usize = 256;
/// By how many hundredths a rate that is offered is above what came.
const RATE_MARGIN: u64 = 5;

/// What is known of what sources send.
#[derive(Debug, Default)]
pub struct ContractWatch {
    series: BTreeMap<FlowId, SentSeries>,
    /// How many answers of each switch have been looked at.
    answers: BTreeMap<DatapathId, u64>,
}

impl ContractWatch {
    /// Looks at a flow from now on.
    fn watch(&mut self, flow: FlowId) {
        if self.series.len() >= MAX_WATCHED && !self.series.contains_key(&flow) {
            self.series.pop_first();
        }
        self.series.entry(flow).or_default();
    }
}

impl Promises {
    /// Looks at what a switch has answered of what it polices, if that is new.
    pub fn sent_reported(&mut self, ctx: &Context, datapath: DatapathId) {
        let session = ctx.sessions.of_switch(datapath);
        let Some(session) = session.and_then(|slot| ctx.sessions.get(slot)) else {
            return;
        };
        let telemetry = &session.telemetry;
        let seen = self
            .contracts
            .answers
            .insert(datapath, telemetry.policed.answers());
        let Some(asked) = telemetry.policed_asked_at() else {
            return;
        };
        if seen == Some(telemetry.policed.answers()) {
            return;
        }
        for (flow, series) in &mut self.contracts.series {
            if let Some(count) = telemetry.policed.said.get(flow) {
                series.take(SentReading {
                    asked,
                    answered: ctx.now,
                    frames: count.frames,
                    bytes: count.bytes,
                    exceeded: count.exceeded,
                });
            }
        }
    }

    /// Says which contracts what a flow's source was seen to send would keep, and has its
    /// switch be asked anew.
    pub fn suggest_contract(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        modes: &ModeDesk,
        name: String,
    ) -> Reply {
        let flows = &network.owners.flows;
        let flow = flows.by_name(&name).and_then(|id| flows.get(id));
        let Some(flow) = flow.filter(|flow| flow.is_admitted()).cloned() else {
            return Reply::UnknownFlow(name);
        };
        let Some(PolicedContract {
            at: source,
            first: police,
            ..
        }) = flow.rule.contract().copied()
        else {
            return Reply::ContractUnseen;
        };
        self.contracts.watch(flow.id);
        network.tables.ask_for_policed(ctx, source.datapath);
        let series = self
            .contracts
            .series
            .get(&flow.id)
            .cloned()
            .unwrap_or_default();
        let traffic = flow.admission.requirement.traffic;
        let (frames, exceeded) = series.frames();
        let policed = (exceeded == 0).then_some((police.rate, police.burst));
        let wanted = candidates(&series, traffic, policed);
        let offers = wanted.into_iter().map(|(kind, other)| {
            let tried = self.try_contract(ctx, network, modes, &flow, other);
            ContractOffer {
                kind,
                contract: figures(other),
                least_burst_bytes: series.least_burst(other.rate).bytes_up(),
                guarantee: tried.as_ref().ok().copied(),
                refusal: tried.err(),
            }
        });
        let offers = offers.collect();
        Reply::ContractSuggested(Box::new(ContractSuggestion {
            flow: name,
            contract: figures(traffic),
            guarantee: flow.admission.guarantee,
            seen: series.seen(),
            frames,
            exceeded,
            mean_rate_bps: series.mean_rate().map_or(0, BitRate::as_bps),
            exceeding_per_million: longer_per_million(frames).filter(|_| exceeded == 0),
            offers,
        }))
    }

    /// Returns how late a flow would be at most with another contract in place of its own, or
    /// why it would not be admitted.
    fn try_contract(
        &self,
        ctx: &Context,
        network: &Network,
        modes: &ModeDesk,
        flow: &Flow,
        traffic: Traffic,
    ) -> Result<Delay, String> {
        let admission = &flow.admission;
        let requirement = Requirement {
            traffic,
            ..admission.requirement.clone()
        };
        let mut tried = self.reservations.clone();
        if let Some(reservation) = flow.reservation {
            tried.release(reservation);
        }
        match tried.reserve(&requirement, admission.source, &admission.ways) {
            Ok(reserved) => Ok(reserved.guarantee),
            Err(refused) => {
                let why = self.shortage(ctx, &network.topology, modes, &requirement, *refused);
                Err(why.to_string())
            }
        }
    }
}

/// Returns the contracts that all that was seen keeps and that are other than the one that
/// there is in a way that somebody gains by.
fn candidates(
    series: &SentSeries,
    traffic: Traffic,
    policed: Option<(BitRate, DataSize)>,
) -> Vec<(ContractChange, Traffic)> {
    let Some(mean) = series.mean_rate() else {
        return Vec::new();
    };
    let with = |rate: BitRate, least: DataSize| Traffic {
        rate,
        burst: series.sure_burst(rate, policed).max(least),
        ..traffic
    };
    let above = mean
        .as_bps()
        .saturating_mul(100 + RATE_MARGIN)
        .div_ceil(100);
    let above = BitRate::new(above).unwrap_or(mean);
    let mut offered = Vec::new();
    if policed.is_none() {
        let wider = Traffic {
            frames: None,
            ..with(above.max(traffic.rate), traffic.burst)
        };
        return vec![(ContractChange::Wider, wider)];
    }
    let same_rate = with(traffic.rate, traffic.largest_frame);
    if same_rate.burst < traffic.burst {
        offered.push((ContractChange::SmallerBurst, same_rate));
    }
    if above < traffic.rate {
        offered.push((
            ContractChange::LowerRate,
            with(above, traffic.largest_frame),
        ));
    }
    offered
}

fn figures(traffic: Traffic) -> ContractFigures {
    ContractFigures::new(
        traffic.rate,
        traffic.burst,
        traffic.largest_frame,
        traffic.smallest_frame,
    )
}
