//! The Parallel Redundancy Protocol: each frame goes through two networks, and what comes
//! second is discarded (IEC 62439-3 clause 4).
//!
//! A frame carries a [`Trailer`] behind its payload; a station says with [`Supervision`]
//! frames that it is there. Stations that know neither take the trailer for padding.

mod supervision;
mod trailer;

pub use supervision::{Supervision, SupervisionError, SupervisionKind};
pub use trailer::{Lan, TRAILER_LENGTH, Trailer, TrailerError, append, length_with_trailer};
