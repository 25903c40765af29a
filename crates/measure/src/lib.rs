//! Crate `measure`.
