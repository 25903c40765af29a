//! Crate `wire`.
