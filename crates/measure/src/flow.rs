//! Names for flows and receivers inside one run.

use units::{BitRate, DataSize, Duration};

/// The most receivers that one flow may have.
pub const MOST_RECEIVERS: usize = 64;

/// A flow of the run, in the order in which the recorder was told of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowIndex(pub u32);

impl FlowIndex {
    /// Returns the flow's place in a list of all flows.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::try_from(self.0).expect("a machine that holds this many flows has 32-bit sizes")
    }
}

/// A receiver of a flow, in the order of the flow's receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverIndex(pub u8);

impl ReceiverIndex {
    /// Returns the receiver's place in a list of the flow's receivers.
    #[must_use]
    pub fn as_usize(self) -> usize {
        usize::from(self.0)
    }
}

/// What a sender may send: a token bucket over frames as they occupy the wire
/// (frame, checksum, preamble and gap).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contract {
    pub rate: BitRate,
    /// What may leave at once.
    pub burst: DataSize,
}

/// What the network promised a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The latency that no frame exceeds, as calculated.
    pub guarantee: Duration,
    /// The latency that the user asked for; never below the guarantee.
    pub deadline: Duration,
    /// The longest interruption that a failure may cause; nothing if the flow
    /// asked for no protection, so that a failure may end it.
    pub interruption: Option<Duration>,
}

/// What the recorder has to know of a flow beforehand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowPlan {
    /// How many receivers get each frame, at most [`MOST_RECEIVERS`].
    pub receivers: usize,
    /// What was promised; nothing for best effort.
    pub promise: Option<Promise>,
    /// What the sender agreed to.
    pub contract: Option<Contract>,
    /// The time between two frames, where it is constant.
    pub period: Option<Duration>,
}
