//! Crate `linux`.
