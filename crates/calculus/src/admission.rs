//! What has been promised, and whether one more promise can be kept.
//!
//! Each stage of the network has a delay *budget* that is fixed beforehand: a
//! processor one for all its frames, a port one a class (`S4-6`; the first tier
//! of `calculus`). A flow may be late by the budgets before a stage when it
//! arrives there, so its burst there is `b + r * (budgets before)`. A flow is
//! admitted if with it every budget still holds, at every stage it uses, for
//! every class, in every failure that is provided for, and if the budgets on its
//! way add up to no more than its deadline.
//!
//! As budgets do not change, a promise holds whatever is admitted later, and
//! circular dependencies need no fixed point. The proof is in
//! `docs/promises.md`, as is what a caller has to see to.
//!
//! All sizes are sizes on the wire: whoever fills in a [`Request`] has added
//! preamble, frame delimiter, check sequence and the gap between frames.
//!
//! # Left out
//!
//! Two failures at a time. The time that a frame needs at a port in any case, which
//! would make bursts grow less. That classes which come over one link share it:
//! each counts as if it had the link to itself.

mod aggregate;
mod allocation;
mod alone;
mod arrival_window;
mod background;
mod batch;
mod budgets;
mod check;
mod competitors;
mod copies;
mod correction;
mod explanation;
mod fit;
mod groups;
mod growth;
mod largest;
mod ledger;
mod load;
pub mod modes;
mod plan;
mod queues;
mod quiet;
mod refusal;
mod remedies;
mod request;
mod reservation;
mod room;
pub mod routes;
mod shaped;
mod sides;
mod slowdowns;
mod stage;

pub use allocation::{Allocation, allocate_for_deadlines, allocate_part};
pub use background::{Background, FailureScope, Met};
pub use batch::{BatchRefusal, WhatIf};
pub use budgets::{Headroom, suggest_budgets};
pub use competitors::Competitor;
pub use correction::{Lateness, ProcessorTimes};
pub use explanation::{Competition, Explanation, HopShare};
pub use fit::{Chosen, Slowdown, Spare};
pub use largest::{Largest, MOST_WEIGHED};
pub use ledger::{Admitted, FlowId, Ledger};
pub use refusal::{Constraint, Fits, Margin, Refusal};
pub use remedies::{LargerBudget, Remedy, RemedyChange};
pub use request::{
    Hop, MAX_ALTERNATIVES, MAX_BURST, MAX_DELAY, MAX_HOPS, MAX_RATE, MIN_FRAME, Malformed,
    Redundant, Request, Tree,
};
pub use stage::{BestEffort, FailureId, Room, Stage, StageId};

pub use crate::bounds::processing::FrameBucket;
pub use crate::bounds::strict_priority::CLASSES;

#[cfg(test)]
mod tests;
