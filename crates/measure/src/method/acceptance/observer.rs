//! What was seen of the services of a trial.

use std::collections::BTreeMap;

use units::{Duration, Instant};

use super::service::ServiceFlow;
use crate::FlowIndex;
use crate::ReceiverIndex;
use crate::identity::nearest;
use crate::identity::{FlowKey, Identity, identify};
use crate::method::{FROM, RESIDUAL, TO};
use crate::recorder::{FlowRecord, Recorder, Settings};
use crate::trial::{Sighting, Watcher, Way};

const NS_PER_SECOND: u128 = 1_000_000_000;

/// Pairs what was sent with what arrived.
#[derive(Debug)]
pub(super) struct Observer {
    flows: Vec<ServiceFlow>,
    places: BTreeMap<FlowKey, usize>,
    /// When each flow was seen first: its numbers count from then on.
    begun: Vec<Option<Instant>>,
    /// How much later an arrival is stamped than it should be.
    bias: Duration,
    recorder: Option<Recorder>,
    /// How many frames were seen to leave, and how many arrived.
    counts: (u64, u64),
}

impl Observer {
    /// Losses are told by the second.
    pub(super) const SETTINGS: Settings = Settings {
        patience: RESIDUAL,
        interval: Duration::from_secs(1),
        passages: 0,
    };

    pub(super) fn new(flows: impl Iterator<Item = ServiceFlow>, bias: Duration) -> Self {
        let flows: Vec<_> = flows.collect();
        let places = flows.iter().enumerate();
        Self {
            places: places.map(|(place, flow)| (flow.key, place)).collect(),
            begun: vec![None; flows.len()],
            flows,
            bias,
            recorder: None,
            counts: (0, 0),
        }
    }

    /// Returns what became of each flow, in their order.
    pub(super) fn finish(self) -> Vec<FlowRecord> {
        let recorder = self.recorder;
        let recorder = recorder.unwrap_or_else(|| begin(&self.flows, Instant::ZERO));
        recorder.finish()
    }
}

/// Begins to record, by the clock of the trial's first frame.
fn begin(flows: &[ServiceFlow], at: Instant) -> Recorder {
    let mut recorder = Recorder::new(at, Observer::SETTINGS);
    for flow in flows {
        recorder.add(flow.plan());
    }
    recorder
}

impl Watcher for Observer {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let Some(Identity { key, number }) = identify(sighting.bytes) else {
            return;
        };
        let Some(place) = self.places.get(&key).copied() else {
            return;
        };
        let begun = *self.begun[place].get_or_insert(sighting.at);
        let sequence = match self.flows[place].numbers_a_second {
            None => number,
            Some(rate) => {
                let elapsed = u128::from(sighting.at.saturating_since(begun).as_ns());
                let expected = elapsed * u128::from(rate) / NS_PER_SECOND;
                let expected = u64::try_from(expected).unwrap_or(u64::MAX / 2);
                nearest(number, u64::from(rate), expected)
            }
        };
        let flows = &self.flows;
        let recorder = self
            .recorder
            .get_or_insert_with(|| begin(flows, sighting.at));
        let flow = FlowIndex(u32::try_from(place).expect("few services"));
        match (sighting.way, sighting.port) {
            (Way::Sent, FROM) => {
                let size = wire::ethernet::wire_size(sighting.length);
                recorder.sent(flow, sequence, size, sighting.at);
                self.counts.0 += 1;
            }
            (Way::Received, TO) => {
                let at = Instant::from_ns(sighting.at.as_ns().saturating_sub(self.bias.as_ns()));
                recorder.received(flow, ReceiverIndex(0), sequence, at);
                self.counts.1 += 1;
            }
            (Way::Sent | Way::Received, _) => {}
        }
    }

    fn awaits(&self) -> bool {
        self.counts.1 < self.counts.0
    }
}
