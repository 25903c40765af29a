//! Crate `scenario`.
