//! What sources really send, against their contracts, and contracts that would do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{BitRate, DataSize, Delay, Duration};

/// A contract: in any time `t` no more than `rate_bps` times `t` and one burst, in frames of
/// no more than the largest. Sizes as they occupy the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContractDocument")]
pub struct ContractFigures {
    /// The rate.
    pub rate_bps: u64,
    /// The burst, rounded up.
    pub burst_bytes: u64,
    /// The largest frame, rounded up.
    pub largest_frame_bytes: u64,
    /// The smallest frame, rounded down.
    pub smallest_frame_bytes: u64,
}

impl ContractFigures {
    /// Returns the contract of these.
    #[must_use]
    pub const fn new(
        rate: BitRate,
        burst: DataSize,
        largest: DataSize,
        smallest: DataSize,
    ) -> Self {
        Self {
            rate_bps: rate.as_bps(),
            burst_bytes: burst.bytes_up(),
            largest_frame_bytes: largest.bytes_up(),
            smallest_frame_bytes: smallest.as_bits() / 8,
        }
    }
}

/// What the source of a flow was seen to send, and contracts that would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContractSuggestionDocument")]
pub struct ContractSuggestion {
    /// The name of the flow.
    pub flow: String,
    /// What it agreed to.
    pub contract: ContractFigures,
    /// How late a frame may be with it.
    #[serde(rename = "guarantee_ns", default, with = "units::whole_ns")]
    #[schemars(with = "Option<u64>")]
    pub guarantee: Option<Delay>,
    /// For how long it was looked at.
    #[serde(rename = "seen_ns")]
    #[schemars(with = "u64")]
    pub seen: Duration,
    /// How many frames came in that time, dropped ones among them.
    pub frames: u64,
    /// How many of them exceeded the contract.
    pub exceeded: u64,
    /// How much came in a second, on average.
    pub mean_rate_bps: u64,
    /// Where no frame exceeded: of so many millionths of further frames at most it will, with
    /// a confidence of 95 %, if they are like those that were seen and independent of each
    /// other. Nothing if too few were seen to say so, or some exceeded.
    pub exceeding_per_million: Option<u64>,
    /// Contracts that would do.
    pub offers: Vec<ContractOffer>,
}

/// A contract that would do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ContractOfferDocument")]
pub struct ContractOffer {
    /// What is other than in the contract that there is.
    pub kind: ContractChange,
    /// The contract, which all that was seen surely keeps.
    pub contract: ContractFigures,
    /// With a smaller burst at this rate some of what was seen surely exceeds it: counters are
    /// read from time to time, so the burst that is needed lies between this and the other.
    pub least_burst_bytes: u64,
    /// How late a frame would be at most; nothing if it would not be admitted.
    #[serde(rename = "guarantee_ns", default, with = "units::whole_ns")]
    #[schemars(with = "Option<u64>")]
    pub guarantee: Option<Delay>,
    /// Why it would not be admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// In what a contract is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ContractChange {
    /// Its burst is smaller.
    SmallerBurst,
    /// Its rate is lower.
    LowerRate,
    /// It grants more.
    Wider,
}

impl ContractChange {
    /// Returns its name, for people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SmallerBurst => "smaller burst",
            Self::LowerRate => "lower rate",
            Self::Wider => "wider",
        }
    }
}
