//! The tables of a switch as plain data, for others to walk.
//!
//! Where everything stands is in [`layout`].

pub mod layout;
