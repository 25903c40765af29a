//! What outlives the program? The controller's records, on disk.

pub mod embedded;
pub mod etcd;
pub mod sealed;

pub use embedded::EmbeddedStore;
pub use etcd::EtcdStore;
