//! What a flow gets at levels of criticality, as the store keeps it.

use std::collections::BTreeMap;

use calculus::admission::FrameBucket;
use serde::{Deserialize, Serialize};
use units::{BitRate, DataSize, Delay, Duration};
use wire::mode_signal::LEVELS;
use wire::openflow::taktos::MonitorContract;

use crate::modes::{ModalFlow, Treatment};
use crate::northbound::Traffic;

use super::RecordError;

/// What a flow says of levels.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredModes {
    criticality: u8,
    jitter_ns: u64,
    contract: Option<StoredContract>,
    levels: BTreeMap<String, StoredTreatment>,
}

/// The period in ns, then the size in bytes.
type StoredContract = (u64, u32);
/// Rate in bit/s, then burst, largest and smallest frame in bits.
type StoredTraffic = [u64; 4];
/// How many frames a flow is: millionths a second, then at once.
pub(super) type StoredFrames = (u64, u64);
/// The same at the levels that say so, by their names.
pub(super) type FramesAtLevels = BTreeMap<String, StoredFrames>;

#[derive(Serialize, Deserialize)]
enum StoredTreatment {
    Drop,
    Serve {
        class: Option<u8>,
        traffic: Option<StoredTraffic>,
        deadline_ps: Option<u64>,
        contract: Option<StoredContract>,
    },
}

impl From<&ModalFlow> for StoredModes {
    fn from(flow: &ModalFlow) -> Self {
        let levels = flow.levels.iter();
        Self {
            criticality: flow.criticality,
            jitter_ns: flow.jitter.as_ns(),
            contract: flow.contract.map(store_contract),
            levels: levels
                .map(|(level, treatment)| (level.clone(), treatment.into()))
                .collect(),
        }
    }
}

impl StoredModes {
    /// Returns what was stored, with the number of frames at levels.
    pub(super) fn load(self, at_levels: &FramesAtLevels) -> Result<ModalFlow, RecordError> {
        if self.levels.len() > usize::from(LEVELS) {
            return Err(RecordError::Nonsense("number of levels"));
        }
        let load = |(level, stored): (String, StoredTreatment)| {
            let mut treatment = Treatment::try_from(stored)?;
            if let Treatment::Serve {
                traffic: Some(traffic),
                ..
            } = &mut treatment
            {
                traffic.frames = at_levels.get(&level).copied().map(load_frames);
            }
            Ok((level, treatment))
        };
        let levels = self.levels.into_iter().map(load);
        Ok(ModalFlow {
            criticality: self.criticality,
            jitter: Duration::from_ns(self.jitter_ns),
            contract: self.contract.map(load_contract),
            levels: levels.collect::<Result<_, RecordError>>()?,
        })
    }
}

/// Returns how many frames a flow is at the levels that say so.
pub(super) fn frames_at_levels(flow: &ModalFlow) -> FramesAtLevels {
    let levels = flow.levels.iter();
    let counted = levels.filter_map(|(level, treatment)| {
        let frames = match treatment {
            Treatment::Serve { traffic, .. } => (*traffic)?.frames?,
            Treatment::Drop => return None,
        };
        Some((level.clone(), store_frames(frames)))
    });
    counted.collect()
}

impl From<&Treatment> for StoredTreatment {
    fn from(treatment: &Treatment) -> Self {
        match treatment {
            Treatment::Drop => Self::Drop,
            Treatment::Serve {
                class,
                traffic,
                deadline,
                contract,
            } => Self::Serve {
                class: *class,
                traffic: traffic.map(store_traffic),
                deadline_ps: deadline.map(Delay::as_ps),
                contract: contract.map(store_contract),
            },
        }
    }
}

impl TryFrom<StoredTreatment> for Treatment {
    type Error = RecordError;

    fn try_from(stored: StoredTreatment) -> Result<Self, RecordError> {
        Ok(match stored {
            StoredTreatment::Drop => Self::Drop,
            StoredTreatment::Serve {
                class,
                traffic,
                deadline_ps,
                contract,
            } => Self::Serve {
                class,
                traffic: traffic.map(load_traffic).transpose()?,
                deadline: deadline_ps.map(Delay::from_ps),
                contract: contract.map(load_contract),
            },
        })
    }
}

const fn store_contract(contract: MonitorContract) -> StoredContract {
    (contract.period.as_ns(), contract.size_bytes)
}

const fn load_contract((period_ns, size_bytes): StoredContract) -> MonitorContract {
    MonitorContract {
        period: Duration::from_ns(period_ns),
        size_bytes,
    }
}

pub(super) const fn store_frames(frames: FrameBucket) -> StoredFrames {
    (frames.rate_per_second, frames.burst)
}

pub(super) const fn load_frames((rate_per_second, burst): StoredFrames) -> FrameBucket {
    FrameBucket {
        rate_per_second,
        burst,
    }
}

pub(super) const fn store_traffic(traffic: Traffic) -> StoredTraffic {
    [
        traffic.rate.as_bps(),
        traffic.burst.as_bits(),
        traffic.largest_frame.as_bits(),
        traffic.smallest_frame.as_bits(),
    ]
}

pub(super) fn load_traffic(stored: StoredTraffic) -> Result<Traffic, RecordError> {
    let [rate, burst, largest, smallest] = stored;
    Ok(Traffic {
        rate: BitRate::new(rate).ok_or(RecordError::Nonsense("rate"))?,
        burst: DataSize::from_bits(burst),
        largest_frame: DataSize::from_bits(largest),
        smallest_frame: DataSize::from_bits(smallest),
        frames: None,
    })
}
