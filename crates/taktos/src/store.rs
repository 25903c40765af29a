//! Stores that outlive the program.

pub mod embedded;

pub use embedded::EmbeddedStore;
