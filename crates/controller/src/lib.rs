//! Crate `controller`.
