//! Where the controller's records are kept: on disk, or for as long as the program
//! runs.

pub mod embedded;
pub mod memory;
pub mod sealed;

pub use embedded::EmbeddedStore;
pub use memory::MemoryStore;
