//! What switches are taken to be, and whether what is seen of them agrees with that.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Duration;
use wire::openflow::DatapathId;

use crate::place::Place;

/// What a switch is taken to be, and what speaks for it or against it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SwitchProfileDocument")]
pub struct SwitchProfile {
    /// Its datapath id, 16 digits of hexadecimal.
    #[schemars(with = "String")]
    pub datapath: DatapathId,
    /// Its name.
    pub name: String,
    /// What its processor takes; nothing if it is taken to forward as fast as its links.
    pub processor: Option<ProcessorProfile>,
    /// Whether that was adopted here, in place of what the configuration says.
    pub adopted: bool,
    /// Whether what was seen agrees with it.
    pub standing: ProfileStanding,
    /// How many frames of promised flows were seen.
    pub frames: u64,
    /// The stays that were longer than the profile explains, the longest of each port and
    /// queue.
    pub evidence: Vec<HopEvidence>,
    /// What it said that cannot be, and how often. Nothing of that is believed.
    pub doubts: Vec<DoubtCount>,
}

/// What the processor of a switch takes, rounded up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProcessorProfileDocument")]
pub struct ProcessorProfile {
    /// The longest time before it works at its pace.
    #[serde(rename = "latency_ns")]
    #[schemars(with = "u64")]
    pub latency: Duration,
    /// The longest time for which one frame occupies it.
    #[serde(rename = "per_frame_ns")]
    #[schemars(with = "u64")]
    pub per_frame: Duration,
}

/// Whether what was seen of a switch agrees with its profile.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileStanding {
    /// It does not say how long frames stay.
    Unwatched,
    /// It has said nothing yet that is believed.
    Unseen,
    /// No stay was longer than its profile explains.
    Explained,
    /// Stays were longer, and it may be that more came than is known, or that it came later.
    Unclear,
    /// Stays were longer than what came explains: it is not what its profile says.
    Contradicted,
}

impl ProfileStanding {
    /// Returns its name, as documents spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unwatched => "unwatched",
            Self::Unseen => "unseen",
            Self::Explained => "explained",
            Self::Unclear => "unclear",
            Self::Contradicted => "contradicted",
        }
    }
}

/// A stay that was longer than a profile explains.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "HopEvidenceDocument")]
pub struct HopEvidence {
    /// The name of the flow; its number if it is gone.
    pub flow: String,
    /// The switch, and the port by which the frame left.
    pub at: Place,
    /// The queue of the port.
    pub queue: u8,
    /// How long it stayed.
    #[serde(rename = "longest_ns")]
    #[schemars(with = "u64")]
    pub longest: Duration,
    /// How long it may stay by the profile, with all that may come there.
    #[serde(rename = "explained_ns")]
    #[schemars(with = "u64")]
    pub explained: Duration,
    /// How many stayed longer than that, as far as it was counted.
    pub frames: u64,
}

/// What a switch said of frames that cannot be.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum HopDoubt {
    /// Frames that stayed for no time at all.
    NoTime,
    /// Counters that are less than before, though the connection stood. An entry that was
    /// written anew begins to count anew, too.
    WentBack,
    /// More frames than its links carry.
    TooMany,
    /// Numbers that contradict each other.
    Contradiction,
    /// A budget that it was not told.
    OtherBudget,
    /// Frames of an entry that no flow has.
    UnknownEntry,
}

impl fmt::Display for HopDoubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoTime => "frames that stayed for no time at all",
            Self::WentBack => "counters that are less than before",
            Self::TooMany => "more frames than its links carry",
            Self::Contradiction => "numbers that contradict each other",
            Self::OtherBudget => "a budget that it was not told",
            Self::UnknownEntry => "frames of an entry that no flow has",
        })
    }
}

/// How often a switch said something that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "DoubtCountDocument")]
pub struct DoubtCount {
    /// What.
    pub what: HopDoubt,
    /// How often.
    pub times: u64,
}

/// How a profile is to be corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "ProfileWishDocument")]
pub struct ProfileWish {
    /// By how many hundredths stays may be longer than the longest that was seen; 0 to 1,000.
    pub margin_percent: u32,
    /// What is raised.
    pub raise: Raised,
}

impl ProfileWish {
    /// The largest margin, in hundredths.
    pub const MOST_MARGIN: u32 = 1_000;
}

impl Default for ProfileWish {
    fn default() -> Self {
        Self {
            margin_percent: 20,
            raise: Raised::default(),
        }
    }
}

/// What of a processor is raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Raised {
    /// Its latency: it takes that once, however many frames wait.
    #[default]
    Latency,
    /// The time of a frame: it takes that for each that waits, so more if more come.
    PerFrame,
}

/// A profile that explains all that was seen, and what would follow from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ProfileOfferDocument")]
pub struct ProfileOffer {
    /// The datapath id of the switch.
    #[schemars(with = "String")]
    pub datapath: DatapathId,
    /// Its name.
    pub name: String,
    /// What its processor is taken to be.
    pub before: ProcessorProfile,
    /// What would explain all that was seen.
    pub after: ProcessorProfile,
    /// By how many hundredths stays may be longer than the longest that was seen.
    pub margin_percent: u32,
    /// How many frames were seen where the longest stays were.
    pub frames: u64,
    /// Of so many millionths of further frames at most the stay is longer than any that was
    /// seen, with a confidence of 95 %, if they are like those that were seen and independent
    /// of each other; nothing if too few were seen to say so.
    pub longer_per_million: Option<u64>,
    /// The stays that it explains.
    pub explains: Vec<HopEvidence>,
    /// How many flows would still be in time, or are without a deadline that this concerns.
    pub in_time: usize,
    /// Those that would be late, and those that go another way instead.
    pub late: Vec<FlowOutlook>,
    /// Others that would have another guarantee, at most [`MAX_OUTLOOKS`].
    pub moved: Vec<FlowOutlook>,
    /// Whether it was adopted: the store has kept it.
    pub adopted: bool,
}

/// The most flows that an offer lists which stay in time.
pub const MAX_OUTLOOKS: usize = 256;

/// What would become of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FlowOutlookDocument")]
pub struct FlowOutlook {
    /// Its name.
    pub name: String,
    /// What it asked for.
    #[serde(rename = "deadline_ns")]
    #[schemars(with = "u64")]
    pub deadline: Duration,
    /// What it is promised.
    #[serde(rename = "before_ns")]
    #[schemars(with = "u64")]
    pub before: Duration,
    /// How late it would be at most.
    #[serde(rename = "after_ns")]
    #[schemars(with = "u64")]
    pub after: Duration,
    /// By how much it would miss its deadline, on the way that it takes.
    #[serde(
        rename = "late_by_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<u64>")]
    pub late_by: Option<Duration>,
}
