//! An admission as the store keeps it.
//!
//! A record stands on its own: plain numbers, names of hosts and ports, no
//! reference to the order in which a network was discovered. The first byte is
//! the version of the form; a record of another version is not read.

mod modes;

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{Delay, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;
use wire::openflow::taktos::SequenceEncoding;

use crate::northbound::{
    Cover, ExceedAction, FlowMatch, FrameOrder, MAX_DESTINATIONS, Protection, Requirement,
};
use crate::path::{Branch, Tree};
use crate::place::{LinkEnds, PortId};
use crate::ways::Ways;
use modes::{
    FramesAtLevels, StoredFrames, StoredModes, frames_at_levels, load_frames, load_traffic,
    store_frames, store_traffic,
};

/// Of a record without levels of criticality.
const VERSION: u8 = 1;
/// Marks an interruption that is to cover silent faults, too; none is that long.
const COVERS_ANY: u64 = 1 << 63;
/// Marks one that is to cover links that bring nothing in one direction.
const COVERS_ONE_WAY: u64 = 1 << 60;
/// Marks the class of a flow whose excess goes on as best effort; none is that high.
const GOES_ON: u8 = 1 << 7;
/// Set in an interruption that switches keep to by themselves.
const HEALED_LOCALLY: u64 = 1 << 62;
/// Microseconds between frames that count as heart-beats, in 14 bits; an interruption has 37
/// at most.
const HEART_BEAT_AT: u32 = 40;
const HEART_BEAT: u64 = 0x3fff << HEART_BEAT_AT;
/// What stands in its place for a flow that two ways carry at the same time.
const IS_SEAMLESS: u64 = 1 << 61;
/// The same, with numbers in trailers of PRP.
const BY_PRP: u64 = 1;
/// Beside it, whether frames stay in order.
const KEEPS_ORDER: u64 = 1 << 1;
/// Of one that says what a flow gets at levels.
const MODAL_VERSION: u8 = 2;
/// Of one that says how many frames a flow is, and perhaps what it gets at levels.
const COUNTED_VERSION: u8 = 3;
/// Of one that says how many frames a flow is at levels.
const COUNTED_AT_LEVELS_VERSION: u8 = 4;
/// What all but the ways takes, about.
const HEAD_LENGTH: usize = 160;

/// What was decided about a flow, and on what ground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    pub requirement: Requirement,
    pub source_mac: MacAddress,
    pub source: PortId,
    pub destinations: Vec<PortId>,
    /// The longest delay that was promised; `None` for best effort.
    pub guarantee: Option<Delay>,
    /// Which ways it may take.
    pub ways: Arc<Ways>,
}

/// Why a record cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RecordError {
    #[error("record of version {found:?}, not {VERSION}")]
    Version {
        /// Its version, if it is not empty.
        found: Option<u8>,
    },
    #[error("record that is damaged: {0}")]
    Damaged(#[from] postcard::Error),
    /// It says what no flow can be.
    #[error("record whose {0} cannot be")]
    Nonsense(&'static str),
}

impl Admission {
    /// Returns whether another says the same but for the guarantee, which moves with
    /// budgets.
    #[must_use]
    pub fn is_but_for_guarantee(&self, other: &Self) -> bool {
        let Self {
            requirement,
            source_mac,
            source,
            destinations,
            guarantee: _,
            ways,
        } = self;
        let others = (&other.requirement, &other.source_mac, &other.source);
        (requirement, source_mac, source) == others
            && (destinations, ways) == (&other.destinations, &other.ways)
    }

    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let ways = self.ways.record.get_or_init(|| {
            let ways = to_bytes(&StoredWays::from(&*self.ways), Vec::new());
            ways.into_boxed_slice()
        });
        let mut bytes = Vec::with_capacity(HEAD_LENGTH + ways.len());
        let modes = self.requirement.modes.as_deref();
        let frames = self.requirement.traffic.frames;
        let at_levels = modes.map(frames_at_levels).unwrap_or_default();
        bytes.push(match (frames, modes) {
            (_, Some(_)) if !at_levels.is_empty() => COUNTED_AT_LEVELS_VERSION,
            (None, None) => VERSION,
            (None, Some(_)) => MODAL_VERSION,
            (Some(_), _) => COUNTED_VERSION,
        });
        let mut bytes = to_bytes(&StoredHead::from(self), bytes);
        match (frames.map(store_frames), modes.map(StoredModes::from)) {
            (frames, Some(modes)) if !at_levels.is_empty() => {
                bytes = to_bytes(&(frames, modes, at_levels), bytes);
            }
            (None, None) => {}
            (None, Some(modes)) => bytes = to_bytes(&modes, bytes),
            (Some(frames), modes) => bytes = to_bytes(&StoredCount { frames, modes }, bytes),
        }
        bytes.extend_from_slice(ways);
        bytes
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// If it is not one that [`to_bytes`](Self::to_bytes) could have written.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        let (version, content) = match bytes {
            [
                version @ (VERSION | MODAL_VERSION | COUNTED_VERSION | COUNTED_AT_LEVELS_VERSION),
                content @ ..,
            ] => (*version, content),
            _ => {
                let found = bytes.first().copied();
                return Err(RecordError::Version { found });
            }
        };
        let (head, content) = postcard::take_from_bytes::<StoredHead<'_>>(content)?;
        let (frames, modes, at_levels, ways) = match version {
            MODAL_VERSION => {
                let (modes, ways) = postcard::take_from_bytes::<StoredModes>(content)?;
                (None, Some(modes), FramesAtLevels::new(), ways)
            }
            COUNTED_VERSION => {
                let (counted, ways) = postcard::take_from_bytes::<StoredCount>(content)?;
                let StoredCount { frames, modes } = counted;
                (Some(frames), modes, FramesAtLevels::new(), ways)
            }
            COUNTED_AT_LEVELS_VERSION => {
                let ((frames, modes, at_levels), ways) = postcard::take_from_bytes(content)?;
                (frames, Some(modes), at_levels, ways)
            }
            _ => (None, None, FramesAtLevels::new(), content),
        };
        let ways = postcard::from_bytes::<StoredWays>(ways)?;
        let mut admission = head.with(ways.try_into()?)?;
        admission.requirement.traffic.frames = frames.map(load_frames);
        let modes = modes.map(|modes| modes.load(&at_levels)).transpose()?;
        admission.requirement.modes = modes.map(Arc::new);
        Ok(admission)
    }
}

fn to_bytes(content: &impl Serialize, onto: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(content, onto)
        .expect("numbers and texts always have a form, and a vector has room")
}

/// What a record begins with: all but the ways.
#[derive(Serialize, Deserialize)]
struct StoredHead<'a> {
    name: Cow<'a, str>,
    hosts: (Cow<'a, str>, Cow<'a, [String]>),
    matching: FlowMatch,
    class: u8,
    /// Rate in bit/s, then burst, largest and smallest frame in bits.
    traffic: [u64; 4],
    deadline: Option<Delay>,
    /// The longest interruption, if the flow is restored.
    restored_within_ns: Option<u64>,
    source_mac: MacAddress,
    source: PortId,
    destinations: Cow<'a, [PortId]>,
    guarantee: Option<Delay>,
}

/// How many frames a flow is, and what it gets at levels.
#[derive(Serialize, Deserialize)]
struct StoredCount {
    frames: StoredFrames,
    modes: Option<StoredModes>,
}

/// What a record ends with.
#[derive(Serialize, Deserialize)]
struct StoredWays {
    base: StoredTree,
    alternatives: Vec<(LinkEnds, StoredTree)>,
}

/// Input, outputs, and the place and the port of the branch before.
type StoredTree = Vec<(PortId, Vec<PortNumber>, Option<(u32, PortNumber)>)>;

impl From<&Ways> for StoredWays {
    fn from(ways: &Ways) -> Self {
        let tree = |(link, tree): &(LinkEnds, Tree)| (*link, store_tree(tree));
        Self {
            base: store_tree(&ways.base),
            alternatives: ways.alternatives.iter().map(tree).collect(),
        }
    }
}

impl TryFrom<StoredWays> for Ways {
    type Error = RecordError;

    fn try_from(stored: StoredWays) -> Result<Self, RecordError> {
        let base = load_tree(stored.base)?;
        let tree = |(link, tree)| Ok((link, load_tree(tree)?));
        let alternatives = stored.alternatives.into_iter().map(tree);
        Ok(Self::new(
            base,
            alternatives.collect::<Result<_, RecordError>>()?,
        ))
    }
}

impl<'a> From<&'a Admission> for StoredHead<'a> {
    fn from(admission: &'a Admission) -> Self {
        let requirement = &admission.requirement;
        Self {
            name: Cow::Borrowed(&requirement.name),
            hosts: (
                Cow::Borrowed(&requirement.source),
                Cow::Borrowed(&requirement.destinations),
            ),
            matching: requirement.matching,
            class: match requirement.excess {
                ExceedAction::Drop => requirement.class,
                ExceedAction::BestEffort => requirement.class | GOES_ON,
            },
            traffic: store_traffic(requirement.traffic),
            deadline: requirement.deadline,
            restored_within_ns: stored_protection(requirement.protection),
            source_mac: admission.source_mac,
            source: admission.source,
            destinations: Cow::Borrowed(&admission.destinations),
            guarantee: admission.guarantee,
        }
    }
}

/// Returns the interruption that is allowed, with marks for what it covers and who heals.
fn stored_protection(protection: Protection) -> Option<u64> {
    if let Protection::Seamless { encoding, order } = protection {
        let by_prp = match encoding {
            SequenceEncoding::RTag => 0,
            SequenceEncoding::Prp => BY_PRP,
        };
        let keeps_order = match order {
            FrameOrder::Any => 0,
            FrameOrder::Kept => KEEPS_ORDER,
        };
        return Some(IS_SEAMLESS | by_prp | keeps_order);
    }
    let (interruption, covers) = protection.interruption()?;
    let covers = match covers {
        Cover::CarrierLoss => 0,
        Cover::OneWay => COVERS_ONE_WAY,
        Cover::Any => COVERS_ANY,
    };
    let heals = match protection {
        Protection::None | Protection::Restore { .. } | Protection::Seamless { .. } => 0,
        Protection::FastFailover { heart_beat, .. } => {
            let beat_us = heart_beat.map_or(0, |beat| beat.as_ns() / 1_000);
            HEALED_LOCALLY | (beat_us << HEART_BEAT_AT) & HEART_BEAT
        }
    };
    Some(interruption.as_ns() | covers | heals)
}

fn loaded_protection(stored: Option<u64>) -> Protection {
    let Some(stored) = stored else {
        return Protection::None;
    };
    if stored & !(BY_PRP | KEEPS_ORDER) == IS_SEAMLESS {
        return Protection::Seamless {
            encoding: match stored & BY_PRP {
                0 => SequenceEncoding::RTag,
                _ => SequenceEncoding::Prp,
            },
            order: match stored & KEEPS_ORDER {
                0 => FrameOrder::Any,
                _ => FrameOrder::Kept,
            },
        };
    }
    let marks = COVERS_ANY | COVERS_ONE_WAY | HEALED_LOCALLY | HEART_BEAT;
    let interruption = Duration::from_ns(stored & !marks);
    let heart_beat = Duration::from_us((stored & HEART_BEAT) >> HEART_BEAT_AT);
    let covers = match (stored & COVERS_ANY, stored & COVERS_ONE_WAY) {
        (0, 0) => Cover::CarrierLoss,
        (0, _) => Cover::OneWay,
        _ => Cover::Any,
    };
    match stored & HEALED_LOCALLY {
        0 => Protection::Restore {
            interruption,
            covers,
        },
        _ => Protection::FastFailover {
            interruption,
            covers,
            heart_beat: Some(heart_beat).filter(|beat| *beat > Duration::ZERO),
        },
    }
}

impl StoredHead<'_> {
    fn with(self, mut ways: Ways) -> Result<Admission, RecordError> {
        let stored = self;
        if stored.destinations.len() > MAX_DESTINATIONS {
            return Err(RecordError::Nonsense("number of destinations"));
        }
        let requirement = Requirement {
            name: stored.name.into_owned(),
            source: stored.hosts.0.into_owned(),
            destinations: stored.hosts.1.into_owned(),
            matching: stored.matching,
            class: stored.class & !GOES_ON,
            is_class_free: false,
            must_be_enforced: false,
            excess: match stored.class & GOES_ON {
                0 => ExceedAction::Drop,
                _ => ExceedAction::BestEffort,
            },
            traffic: load_traffic(stored.traffic)?,
            deadline: stored.deadline,
            protection: loaded_protection(stored.restored_within_ns),
            modes: None,
        };
        ways.are_local = matches!(requirement.protection, Protection::FastFailover { .. });
        Ok(Admission {
            requirement,
            source_mac: stored.source_mac,
            source: stored.source,
            destinations: stored.destinations.into_owned(),
            guarantee: stored.guarantee,
            ways: Arc::new(ways),
        })
    }
}

fn store_tree(tree: &Tree) -> StoredTree {
    let branch = |branch: &Branch| {
        let parent = branch.parent.map(|(parent, port)| {
            let parent = u32::try_from(parent).expect("no tree has 2^32 branches");
            (parent, port)
        });
        (branch.entrance(), branch.outputs.clone(), parent)
    };
    tree.branches.iter().map(branch).collect()
}

/// Reads a tree; refuses one whose branches stand before their parents, as no
/// walk over it would end.
fn load_tree(stored: StoredTree) -> Result<Tree, RecordError> {
    let branch = |(index, (entrance, outputs, parent)): (usize, (PortId, _, Option<_>))| {
        let parent = parent.map(|(parent, port): (u32, _)| (parent as usize, port));
        let in_order = match parent {
            Some((parent, _)) => parent < index,
            None => index == 0,
        };
        if !in_order {
            return Err(RecordError::Nonsense("tree"));
        }
        Ok(Branch {
            datapath: entrance.datapath,
            input: entrance.port,
            outputs,
            parent,
        })
    };
    let branches = stored.into_iter().enumerate().map(branch);
    Ok(Tree {
        branches: branches.collect::<Result<_, RecordError>>()?,
    })
}

#[cfg(test)]
mod tests;
