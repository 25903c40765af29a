//! What outlives the controller: the contract with a store.
//!
//! The controller never reads or writes in line. It proposes a [`StoreWrite`] as
//! an output and goes on; when the store has made it durable, the same change
//! comes back as a [`StoreEvent`], and only then the controller acts on it. An
//! instance treats the writes of another instance exactly as its own, which is
//! what several instances need. At the start the store replays all records as if
//! they had just been written; so admissions survive a restart with the promises
//! that were given.

/// The longest value of a record.
pub const MAX_VALUE_LENGTH: usize = 1 << 20;

/// The name of a record: what it is, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The admission of the flow with this number.
    Admission(u32),
}

const ADMISSION: u8 = b'a';

impl Key {
    /// Returns the key as a store keeps it. Keys of one kind sort by number.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 5] {
        match self {
            Self::Admission(flow) => {
                let [a, b, c, d] = flow.to_be_bytes();
                [ADMISSION, a, b, c, d]
            }
        }
    }

    /// Returns the key that a store kept as `bytes`, or `None` if it is none of
    /// ours.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [ADMISSION, a, b, c, d] => Some(Self::Admission(u32::from_be_bytes([*a, *b, *c, *d]))),
            _ => None,
        }
    }
}

/// A change of the store: a record and its value, or `None` to remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreWrite {
    /// Which record.
    pub key: Key,
    /// Its value.
    pub value: Option<Vec<u8>>,
}

/// What the store tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEvent {
    /// A change is durable, whoever proposed it. Records that were there at the
    /// start come in this form, too.
    Written(StoreWrite),
    /// A change that this instance proposed was not made.
    Rejected(Key),
}

/// Keeps records. Implemented around the controller: in memory by the
/// simulation, durably by the program.
pub trait Store {
    /// What can go wrong.
    type Error;

    /// Makes changes durable, all of them or none.
    ///
    /// # Errors
    ///
    /// If none of them is durable.
    fn write(&mut self, writes: &[StoreWrite]) -> Result<(), Self::Error>;

    /// Returns all records, sorted by key.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn records(&self) -> Result<Vec<StoreWrite>, Self::Error>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_from_their_bytes_and_sort_by_number() {
        let keys = [Key::Admission(2), Key::Admission(0x0100)];

        let bytes = keys.map(Key::to_bytes);

        assert!(bytes[0] < bytes[1]);
        assert_eq!(keys.map(Some), bytes.map(|bytes| Key::from_bytes(&bytes)));
    }

    #[test]
    fn a_key_of_another_kind_is_none_of_ours() {
        assert_eq!(Key::from_bytes(b"z0000"), None);
        assert_eq!(Key::from_bytes(b"a"), None);
    }
}
