//! Worst-case bounds of a whole network of servers, by several methods.
//!
//! A [`ServerGraph`] is a set of servers and of flows that cross them. Each method
//! takes it and returns a bound for each flow, or says why it does not apply.
//! Methods are incomparable: which bound is the smallest differs from flow to
//! flow, so [`Method::Best`] takes the minimum for each.
//!
//! Everything is computed in the units of [`units::fine`], arrivals and delays
//! rounded up, service rounded down.

pub mod best;
pub mod budget;
mod dnc;
pub mod lp;
pub mod ludb;
pub mod network;
pub mod pmoo;
pub mod sfa;
pub mod tfa;
pub mod tfa_dnc;
pub mod tma;

pub use budget::{AnalysisProgress, Budget};
pub use network::{
    Crossing, FlowId, Multiplexing, NetworkError, RateLatency, Server, ServerFlow, ServerGraph,
    ServerId, TokenBucket,
};

use thiserror::Error;
use units::fine::{Data, Time};

/// How bounds are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Total flow analysis: a bound a server, added up along the path.
    Tfa,
    /// Total flow analysis as the NetworkCalculus.org DNC defines it.
    TfaDnc,
    /// Separate flow analysis: what cross traffic leaves at each server.
    Sfa,
    /// Pay multiplexing only once.
    Pmoo,
    /// Tandem matching analysis: the best cut of the path.
    Tma,
    /// Least upper delay bound: the best parameters of the FIFO left-over service.
    Ludb,
    /// A linear program whose solution is proven in whole numbers.
    Lp,
    /// The least of all that apply.
    Best,
}

impl Method {
    /// All methods but the one that chooses among them.
    pub const SINGLE: [Self; 7] = [
        Self::Tfa,
        Self::TfaDnc,
        Self::Sfa,
        Self::Pmoo,
        Self::Tma,
        Self::Ludb,
        Self::Lp,
    ];

    /// Returns the word for the method in files and on the command line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Tfa => "tfa",
            Self::TfaDnc => "tfa-dnc",
            Self::Sfa => "sfa",
            Self::Pmoo => "pmoo",
            Self::Tma => "tma",
            Self::Ludb => "ludb",
            Self::Lp => "lp",
            Self::Best => "best",
        }
    }
}

/// Bounds all flows of a network by one method; [`Method::Best`] is the least of
/// [`best::QUICK`].
///
/// # Errors
///
/// Why the method says nothing of this network.
pub fn analyze(network: &ServerGraph, method: Method) -> Result<Analysis, NotApplicable> {
    analyze_within(network, method, &Budget::unlimited())
}

/// The same, with as much work as a budget allows; total flow analysis takes as
/// little as it takes.
///
/// # Errors
///
/// As [`analyze`].
pub fn analyze_within(
    network: &ServerGraph,
    method: Method,
    budget: &Budget,
) -> Result<Analysis, NotApplicable> {
    match method {
        Method::Tfa => tfa::analyze(network),
        Method::TfaDnc => tfa_dnc::analyze_within(network, budget),
        Method::Sfa => sfa::analyze_within(network, budget),
        Method::Pmoo => pmoo::analyze_within(network, budget),
        Method::Tma => tma::analyze_within(network, budget),
        Method::Ludb => ludb::analyze_within(network, ludb::Effort::Fast, budget),
        Method::Lp => lp::analyze_within(network, budget),
        Method::Best => best::analyze(network, &best::QUICK, budget),
    }
}

/// What a method says of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Analysis {
    /// One for each flow, in the order of the network.
    pub flows: Vec<FlowBound>,
    /// The flows that the method did not finish: their bounds are what it had by
    /// then, or none.
    pub cut_short: Vec<FlowId>,
    /// What a reader has to know about all of them, in whole sentences.
    pub notes: Vec<String>,
}

/// The bounds of one flow. A quantity that has none is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowBound {
    /// How the delay was found: for [`Method::Best`], which method had the least.
    pub method: Method,
    /// The longest time from the arrival of a bit at the first server of the
    /// path to its departure from the last.
    pub delay: Option<Time>,
    /// The most data of the flow that is in the network at one time.
    pub backlog: Option<Data>,
    /// The servers of its path, if the method bounds each.
    pub hops: Vec<HopBound>,
}

impl FlowBound {
    /// Returns no bound at all.
    pub(crate) fn none(method: Method) -> Self {
        Self {
            method,
            delay: None,
            backlog: None,
            hops: Vec::new(),
        }
    }
}

/// The bounds of one server, as a flow meets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HopBound {
    /// The server.
    pub server: ServerId,
    /// The longest time that the flow's data is there.
    pub delay: Option<Time>,
    /// The most data of all flows that is there at one time.
    pub backlog: Option<Data>,
}

/// Why a method says nothing of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotApplicable {
    /// The method has no result for this order of service.
    #[error("server {} serves in the order `{multiplexing}`, for which the method is not defined", server.0)]
    Multiplexing {
        /// The first such server.
        server: ServerId,
        /// Its order of service.
        multiplexing: Multiplexing,
    },
    /// Paths form a cycle, and the method takes servers one after the other.
    #[error("paths form a cycle through server {}, and the method follows paths from their beginnings", server.0)]
    Cycle {
        /// A server on the cycle.
        server: ServerId,
    },
    /// The method would count what a network has not switched off or on.
    #[error("the method knows nothing of {what}")]
    Feature {
        /// What the network has and the method does not know.
        what: &'static str,
    },
    /// The computation would be too large.
    #[error("{what}: {size} are more than {limit}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there is.
        size: usize,
        /// How much there may be.
        limit: usize,
    },
}
