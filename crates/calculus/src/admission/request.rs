//! What a flow asks for.

use thiserror::Error;
use units::{BitRate, DataSize, Delay};

use super::copies;
use super::plan::MarkedStages;
use super::stage::{FailureId, Stage, StageId};
use crate::bounds::processing::{FRAME, FrameBucket};
use crate::bounds::strict_priority::CLASSES;
use crate::min_plus::TokenBucket;

/// The highest rate of a flow or a link.
pub const MAX_RATE: BitRate = BitRate::from_bps(1_000_000_000_000);
/// The largest burst of a flow.
pub const MAX_BURST: DataSize = DataSize::from_bits(1_000_000_000_000);
/// The longest delay that a flow asks for or a stage has: 100 s.
pub const MAX_DELAY: Delay = Delay::from_us(100_000_000);
/// The smallest frame.
pub const MIN_FRAME: DataSize = DataSize::from_bytes(64);
/// The most hops of a tree.
pub const MAX_HOPS: usize = 4_096;
/// The most failures that a flow is provided for.
pub const MAX_ALTERNATIVES: usize = 4_096;

/// A flow and what it asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The class of the flow at every port, 1 to 7; 7 is the most urgent.
    pub class: u8,
    /// The rate at which it leaves its sender, sizes as on the wire.
    pub rate: BitRate,
    /// The burst in which it leaves its sender, sizes as on the wire.
    pub burst: DataSize,
    /// What holds beside rate and burst, if anything: a higher rate with a
    /// smaller burst, such as the rate of the link of its sender.
    pub peak: Option<TokenBucket>,
    /// How many frames it leaves its sender in, if that is known better than by the
    /// size of the smallest: a large message ends with a frame of any size, and has
    /// few others that are not full.
    pub frames: Option<FrameBucket>,
    /// Its largest frame, as on the wire.
    pub largest_frame: DataSize,
    /// Its smallest frame, as on the wire.
    pub smallest_frame: DataSize,
    /// The longest that a frame may take, from its first bit at the sender's
    /// interface to its last bit at a receiver's.
    pub deadline: Delay,
    /// The longest that a frame takes from its first bit at the sender's
    /// interface to its last bit at the first stage.
    pub initial: Delay,
    /// Whether something may hold its frames back for longer than budgets say, such as a
    /// change of the level of criticality: then they may come out of a processor in any
    /// density, whichever link they came over.
    pub is_held_back: bool,
    /// The stages it passes while nothing is broken.
    pub base: Tree,
    /// The stages it passes instead after a failure.
    pub alternatives: Vec<(FailureId, Tree)>,
    /// The stages that a second copy of each frame passes at the same time. A
    /// flow that has them has no alternatives.
    pub redundant: Option<Box<Redundant>>,
}

/// Where the second copies of frames go.
///
/// As far as both trees begin with the same hops, a frame is not doubled yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Redundant {
    /// The stages that they pass, from the sender to the receivers.
    pub tree: Tree,
    /// The last stage at which both copies arrive: it hands on the first one and
    /// drops the other. What is behind it is the same in both trees. Nothing if
    /// the receivers do that.
    pub eliminator: Option<StageId>,
    /// For how long at most the eliminator holds frames back that are ahead of missing ones,
    /// so that all go on in order; nothing if it hands on each as it comes.
    pub hold: Delay,
}

impl Request {
    /// Returns what the flow brings at most in the long run as it leaves its
    /// sender.
    #[must_use]
    pub const fn traffic(&self) -> TokenBucket {
        TokenBucket::new(self.rate, self.burst)
    }

    /// Returns the stages that it passes on any of its ways, some of them repeatedly.
    pub fn stages(&self) -> impl Iterator<Item = StageId> {
        let alternatives = self.alternatives.iter().map(|(_, tree)| tree);
        let redundant = self.redundant.iter().map(|redundant| &redundant.tree);
        let trees = std::iter::once(&self.base)
            .chain(alternatives)
            .chain(redundant);
        trees.flat_map(|tree| tree.hops.iter().map(|hop| hop.stage))
    }

    /// Returns how many frames it leaves its sender in if it brings `traffic`: what it
    /// asks for, or less, which is in no more frames.
    pub(super) fn frames_of(&self, traffic: TokenBucket) -> FrameBucket {
        match self.frames {
            Some(frames) if traffic == self.traffic() => frames,
            Some(frames) => frames.least(FrameBucket::of(traffic, self.smallest_frame)),
            None => FrameBucket::of(traffic, self.smallest_frame),
        }
    }

    /// Returns the same request for no more than `traffic`.
    pub(super) fn cut_to(&self, traffic: TokenBucket) -> Self {
        Self {
            rate: traffic.rate().unwrap_or(self.rate),
            burst: traffic.burst(),
            frames: self.frames.map(|_| self.frames_of(traffic)),
            ..self.clone()
        }
    }
}

/// The stages that a flow passes, from its sender to its receivers.
///
/// A path is a tree without branches. A hop without a hop behind it is a *leaf*:
/// the port to which a receiver is attached.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tree {
    /// The hops, each behind its parent in the list.
    pub hops: Vec<Hop>,
}

/// One stage of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop {
    /// The stage.
    pub stage: StageId,
    /// The place in the list of the hop before this one, nothing at the first.
    pub parent: Option<usize>,
}

impl Tree {
    /// Returns the tree without branches that passes `stages` in order.
    #[must_use]
    pub fn path(stages: impl IntoIterator<Item = StageId>) -> Self {
        let hops = stages.into_iter().enumerate();
        Self {
            hops: hops
                .map(|(at, stage)| Hop {
                    stage,
                    parent: at.checked_sub(1),
                })
                .collect(),
        }
    }
}

/// What is wrong with a request, whatever the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Malformed {
    /// The class is none that can have promises.
    #[error("class {class} cannot have promises: 1 to 7 can")]
    Class {
        /// The class asked for.
        class: u8,
    },
    /// The rate is beyond every link.
    #[error("a rate of {rate} is more than {MAX_RATE}")]
    Rate {
        /// The rate asked for.
        rate: BitRate,
    },
    /// The burst is beyond every buffer.
    #[error("a burst of {burst} is more than {MAX_BURST}")]
    Burst {
        /// The burst asked for.
        burst: DataSize,
    },
    /// The burst has no room for the largest frame.
    #[error("a burst of {burst} has no room for a frame of {largest_frame}")]
    BurstBelowFrame {
        /// The burst asked for.
        burst: DataSize,
        /// The largest frame.
        largest_frame: DataSize,
    },
    /// The peak is below the rate, so that the rate is no bound of its own.
    #[error("a peak of {peak_bps} bit/s is less than the rate of {rate}")]
    Peak {
        /// The rate of the peak.
        peak_bps: u64,
        /// The rate asked for.
        rate: BitRate,
    },
    /// The smallest frame is too small, or larger than the largest.
    #[error(
        "frames from {smallest_frame} to {largest_frame} are none: the smallest is {MIN_FRAME}"
    )]
    Frames {
        /// The smallest frame.
        smallest_frame: DataSize,
        /// The largest frame.
        largest_frame: DataSize,
    },
    /// More frames are counted than there are of the smallest, or less than one.
    #[error("its frames are counted as more than there are of the smallest, or less than one")]
    FrameCount,
    /// The deadline is too far away.
    #[error("a deadline of {deadline} is more than {MAX_DELAY}")]
    Deadline {
        /// The deadline asked for.
        deadline: Delay,
    },
    /// A tree has no hop at all, or too many.
    #[error("a tree has {hops} hops: 1 to {MAX_HOPS} are possible")]
    Hops {
        /// The number of hops.
        hops: usize,
    },
    /// A hop stands before its parent.
    #[error("hop {hop} of a tree stands before its parent")]
    ParentBehind {
        /// The place of the hop.
        hop: usize,
    },
    /// A hop names a stage that does not exist.
    #[error("there is no stage {}", stage.0)]
    UnknownStage {
        /// The stage named.
        stage: StageId,
    },
    /// A tree passes a stage more than once, and is no alternative that turns frames back
    /// to a processor of the base tree.
    #[error("a tree passes stage {} twice", stage.0)]
    StageTwice {
        /// The stage.
        stage: StageId,
    },
    /// There are two alternatives for one failure, or they are out of order.
    #[error("alternatives are not in the order of their failures, at failure {}", failure.0)]
    FailureOrder {
        /// The failure.
        failure: FailureId,
    },
    /// There are too many alternatives.
    #[error("{alternatives} alternatives are more than {MAX_ALTERNATIVES}")]
    Alternatives {
        /// Their number.
        alternatives: usize,
    },
    /// A flow has a redundant tree and alternatives.
    #[error("a flow with a redundant tree has no alternatives beside it")]
    RedundantAlternatives,
    /// The eliminator is not passed by both copies, or what is behind it differs.
    #[error("both trees must pass stage {}, which drops second copies, and go on as one", stage.0)]
    Eliminator {
        /// The eliminator, or a stage behind it.
        stage: StageId,
    },
    /// Frames are to be in order, and nobody holds those back that are ahead.
    #[error("only a stage that drops second copies holds frames back, and there is none")]
    HeldNowhere,
    /// Work without promise was declared for a port.
    #[error("stage {} is a port: its class 0 needs no declaration", stage.0)]
    NotAProcessor {
        /// The stage.
        stage: StageId,
    },
}

/// Checks what can be checked without knowing what has been promised.
pub(super) fn validate(
    request: &Request,
    stages: &[Stage],
    seen: &mut MarkedStages,
) -> Result<(), Malformed> {
    validate_contract(request)?;
    let alternatives = request.alternatives.len();
    if alternatives > MAX_ALTERNATIVES {
        return Err(Malformed::Alternatives { alternatives });
    }
    validate_tree(&request.base, stages, seen, Turns::Never)?;
    let mut before = None;
    for (failure, tree) in &request.alternatives {
        if before.is_some_and(|before| before >= *failure) {
            return Err(Malformed::FailureOrder { failure: *failure });
        }
        before = Some(*failure);
        validate_tree(tree, stages, seen, Turns::To(&request.base))?;
    }
    match &request.redundant {
        None => Ok(()),
        Some(_) if alternatives > 0 => Err(Malformed::RedundantAlternatives),
        Some(redundant) => {
            validate_tree(&redundant.tree, stages, seen, Turns::Never)?;
            copies::validate(&request.base, redundant)
        }
    }
}

pub(super) fn validate_contract(request: &Request) -> Result<(), Malformed> {
    let Request {
        class,
        rate,
        burst,
        largest_frame,
        smallest_frame,
        deadline,
        ..
    } = *request;
    if class == 0 || usize::from(class) >= CLASSES {
        return Err(Malformed::Class { class });
    }
    if rate > MAX_RATE {
        return Err(Malformed::Rate { rate });
    }
    if burst > MAX_BURST {
        return Err(Malformed::Burst { burst });
    }
    if smallest_frame < MIN_FRAME || smallest_frame > largest_frame {
        return Err(Malformed::Frames {
            smallest_frame,
            largest_frame,
        });
    }
    if burst < largest_frame {
        return Err(Malformed::BurstBelowFrame {
            burst,
            largest_frame,
        });
    }
    request
        .frames
        .map_or(Ok(()), |frames| validate_frames(request, frames))?;
    if deadline > MAX_DELAY {
        return Err(Malformed::Deadline { deadline });
    }
    request
        .peak
        .map_or(Ok(()), |peak| validate_peak(request, peak))
}

/// Frames are counted by a bound that says more than their sizes do, but for rounding:
/// there are no more of them than of the smallest.
fn validate_frames(request: &Request, frames: FrameBucket) -> Result<(), Malformed> {
    let by_size = FrameBucket::of(request.traffic(), request.smallest_frame);
    let says_more = frames.rate_per_second <= by_size.rate_per_second + FRAME
        && frames.burst <= by_size.burst + FRAME;
    match says_more && frames.burst >= FRAME {
        true => Ok(()),
        false => Err(Malformed::FrameCount),
    }
}

/// A peak is a bound of its own: it has to let the largest frame pass.
fn validate_peak(request: &Request, peak: TokenBucket) -> Result<(), Malformed> {
    let (burst, largest_frame) = (peak.burst(), request.largest_frame);
    if burst > MAX_BURST {
        return Err(Malformed::Burst { burst });
    }
    if burst < largest_frame {
        return Err(Malformed::BurstBelowFrame {
            burst,
            largest_frame,
        });
    }
    match peak.rate() {
        Some(rate) if rate > MAX_RATE => Err(Malformed::Rate { rate }),
        Some(rate) if rate >= request.rate => Ok(()),
        Some(_) | None => Err(Malformed::Peak {
            peak_bps: peak.rate_bps(),
            rate: request.rate,
        }),
    }
}

/// Whether a tree may lead frames back to where they have been.
enum Turns<'a> {
    Never,
    /// To processors of this tree, once to each.
    To(&'a Tree),
}

impl Turns<'_> {
    /// Returns whether a tree may pass `stage` again at the hop `at`, after `first`.
    fn allows(&self, tree: &Tree, (first, at): (usize, usize), stages: &[Stage]) -> bool {
        let Self::To(base) = self else {
            return false;
        };
        let stage = tree.hops[at].stage;
        let is_stage = |hop: &Hop| hop.stage == stage;
        matches!(stages[stage.index()], Stage::Processing { .. })
            && base.hops.iter().any(is_stage)
            && !tree.hops[first + 1..at].iter().any(is_stage)
    }
}

fn validate_tree(
    tree: &Tree,
    stages: &[Stage],
    seen: &mut MarkedStages,
    turns: Turns<'_>,
) -> Result<(), Malformed> {
    let hops = tree.hops.len();
    if hops == 0 || hops > MAX_HOPS {
        return Err(Malformed::Hops { hops });
    }
    seen.clear();
    for (at, hop) in tree.hops.iter().enumerate() {
        let stage = hop.stage;
        if stage.index() >= stages.len() {
            return Err(Malformed::UnknownStage { stage });
        }
        if hop.parent.is_some_and(|parent| parent >= at) {
            return Err(Malformed::ParentBehind { hop: at });
        }
        let first = seen.mark(stage, at);
        if first.is_some_and(|first| !turns.allows(tree, (first, at), stages)) {
            return Err(Malformed::StageTwice { stage });
        }
    }
    Ok(())
}
