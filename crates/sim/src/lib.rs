//! Crate `sim`.
