//! Crate `switch`.
