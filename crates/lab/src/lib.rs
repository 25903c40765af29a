//! Crate `lab`.
