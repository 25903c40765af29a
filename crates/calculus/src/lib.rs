//! Crate `calculus`.
