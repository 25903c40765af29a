//! What the tests of methods share.

pub(crate) mod known_device;
