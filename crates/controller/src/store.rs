//! What outlives the controller: the contract with a store.
//!
//! The controller never reads or writes in line. It proposes a [`StoreWrite`] as
//! an output and goes on; when the store has made it durable, the same change
//! comes back as a [`StoreEvent`], and only then the controller acts on it. An
//! instance treats the writes of another instance exactly as its own, which is
//! what several instances need. At the start the store replays all records as if
//! they had just been written, and says when that is all; so admissions survive a restart with the promises
//! that were given.
//!
//! A [`Store`] makes [transactions](Transaction), each whole or not at all, and only if
//! what it rests on is still so. It tells of changes, but those who need to know for
//! sure compare a [`Replica`] with a [`Snapshot`] from time to time. Whoever writes in an
//! [`Office`] carries its epoch, which a later one makes void ([`ExactWriter`]).
//! [`contract`] says all this in a form that runs, and every implementation is held to it.

pub mod contract;
mod exact_writer;
mod journal;
mod memory;
mod replica;
mod transaction;

use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::northbound::ApplicationId;
use crate::place::{LinkEnds, PortId};

pub use exact_writer::{ExactWriter, TakeOver, Trouble};
pub use journal::Journal;
pub use memory::MemoryStore;
pub use replica::Replica;
pub use transaction::{
    Change, Changes, Condition, Epoch, Fence, Found, Invalid, Lease, MAX_OPERATIONS,
    MAX_TRANSACTION_LENGTH, Office, Outcome, Record, Refusal, Revision, Snapshot, Transaction,
};

/// The longest value of a record.
pub const MAX_VALUE_LENGTH: usize = 1 << 20;

/// The name of a record: what it is, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// The epoch in force in an office.
    Epoch(Office),
    /// The instance of a cluster with this number, as long as it renews its lease.
    Instance(u64),
    /// What a switch is taken to be, in place of what the configuration says. Sorts before
    /// the admissions, which rest on it.
    Profile(DatapathId),
    /// What the instances of a cluster know, and nobody else does.
    Secrets,
    /// The admission of the flow with this number.
    Admission(u32),
    /// The admission of a flow that is gone, whose last frames may still play a role:
    /// withdrawn, or moved elsewhere. Sorts behind those that are there.
    Leaving(u32),
    /// A switch that was seen. Sorts before hosts and links, which need it.
    Switch(DatapathId),
    /// The host with this address, as somebody has named it.
    Host(MacAddress),
    /// The intent with this number.
    Intent(u32),
    /// Where the host with this address was last seen. Sorts behind switches, and behind
    /// hosts as somebody has named them, which count for more.
    Seen(MacAddress),
    /// A link that was seen.
    Link(LinkEnds),
    /// What an operator has said of the level of criticality.
    Mode,
    /// The names of the applications of the configuration that were unloaded. Sorts
    /// before those that were loaded, which may have the same names.
    Unloaded,
    /// The manifest of an application that was loaded while the controller ran.
    Application(ApplicationId),
    /// The settings as somebody has changed them.
    Settings,
}

const EPOCH: u8 = b'E';
const INSTANCE: u8 = b'I';
const PROFILE: u8 = b'P';
const SECRETS: u8 = b'S';
const ADMISSION: u8 = b'a';
const LEAVING: u8 = b'b';
const INTENT: u8 = b'i';
const SWITCH: u8 = b'd';
const HOST: u8 = b'h';
const SEEN: u8 = b'k';
const LINK: u8 = b'l';
const MODE: u8 = b'm';
const UNLOADED: u8 = b'o';
const APPLICATION: u8 = b'p';
const SETTINGS: u8 = b's';

impl Key {
    /// Returns the key as a store keeps it. Keys sort by kind, then by number.
    #[must_use]
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Epoch(office) => [&[EPOCH][..], &office.0.to_be_bytes()].concat(),
            Self::Instance(number) => [&[INSTANCE][..], &number.to_be_bytes()].concat(),
            Self::Profile(datapath) => [&[PROFILE][..], &datapath.0.to_be_bytes()].concat(),
            Self::Admission(flow) => [&[ADMISSION][..], &flow.to_be_bytes()].concat(),
            Self::Leaving(number) => [&[LEAVING][..], &number.to_be_bytes()].concat(),
            Self::Intent(intent) => [&[INTENT][..], &intent.to_be_bytes()].concat(),
            Self::Application(id) => [&[APPLICATION][..], &id.0.to_be_bytes()].concat(),
            Self::Mode => vec![MODE],
            Self::Secrets => vec![SECRETS],
            Self::Settings => vec![SETTINGS],
            Self::Unloaded => vec![UNLOADED],
            Self::Switch(datapath) => [&[SWITCH][..], &datapath.0.to_be_bytes()].concat(),
            Self::Host(mac) => [&[HOST][..], &mac.0].concat(),
            Self::Seen(mac) => [&[SEEN][..], &mac.0].concat(),
            Self::Link(link) => {
                let mut bytes = vec![LINK];
                for end in link.both() {
                    bytes.extend(end.datapath.0.to_be_bytes());
                    bytes.extend(end.port.0.to_be_bytes());
                }
                bytes
            }
        }
    }

    /// Returns the key that a store kept as `bytes`, or `None` if it is none of
    /// ours.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [EPOCH, office @ ..] => {
                let office = u64::from_be_bytes(office.try_into().ok()?);
                Some(Self::Epoch(Office(office)))
            }
            [INSTANCE, number @ ..] => {
                Some(Self::Instance(u64::from_be_bytes(number.try_into().ok()?)))
            }
            [SECRETS] => Some(Self::Secrets),
            [PROFILE, datapath @ ..] => {
                let datapath = u64::from_be_bytes(datapath.try_into().ok()?);
                Some(Self::Profile(DatapathId(datapath)))
            }
            [ADMISSION, flow @ ..] => {
                Some(Self::Admission(u32::from_be_bytes(flow.try_into().ok()?)))
            }
            [LEAVING, number @ ..] => {
                Some(Self::Leaving(u32::from_be_bytes(number.try_into().ok()?)))
            }
            [INTENT, intent @ ..] => {
                Some(Self::Intent(u32::from_be_bytes(intent.try_into().ok()?)))
            }
            [APPLICATION, id @ ..] => {
                let id = u16::from_be_bytes(id.try_into().ok()?);
                Some(Self::Application(ApplicationId(id)))
            }
            [SWITCH, datapath @ ..] => {
                let datapath = u64::from_be_bytes(datapath.try_into().ok()?);
                Some(Self::Switch(DatapathId(datapath)))
            }
            [MODE] => Some(Self::Mode),
            [SETTINGS] => Some(Self::Settings),
            [UNLOADED] => Some(Self::Unloaded),
            [HOST, mac @ ..] => Some(Self::Host(MacAddress(mac.try_into().ok()?))),
            [SEEN, mac @ ..] => Some(Self::Seen(MacAddress(mac.try_into().ok()?))),
            [LINK, ends @ ..] => {
                let (lower, higher) = ends.split_at_checked(PORT_LENGTH)?;
                Some(Self::Link(LinkEnds::new(port(lower)?, port(higher)?)))
            }
            _ => None,
        }
    }
}

/// The length of a port in a key.
const PORT_LENGTH: usize = 12;

fn port(bytes: &[u8]) -> Option<PortId> {
    let (datapath, number) = bytes.split_at_checked(8)?;
    let datapath = DatapathId(u64::from_be_bytes(datapath.try_into().ok()?));
    let number = PortNumber(u32::from_be_bytes(number.try_into().ok()?));
    Some(PortId::new(datapath, number))
}

/// A change of the store: a record and its value, or `None` to remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreWrite {
    pub key: Key,
    pub value: Option<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreEvent {
    /// All records that were there at the start have been told.
    Replayed,
    /// A change is durable, whoever proposed it. Records that were there at the
    /// start come in this form, too.
    Written(StoreWrite),
    /// A change that this instance proposed was not made.
    Rejected(Key),
}

/// Keeps records. Implemented around the controller: in memory, in a file, and by
/// programs of their own that many instances share.
pub trait Store {
    type Error;

    /// Whether others write as well, or a transaction may be applied after it was given
    /// up: whoever writes then needs an [`Office`].
    const SHARED: bool;

    /// Applies a transaction whole or not at all, durably.
    fn transact(&mut self, transaction: &Transaction) -> Outcome<Self::Error>;

    /// Returns all records as they are now, with everything in them that was committed
    /// before.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    fn snapshot(&mut self) -> Result<Snapshot, Self::Error>;

    /// Returns what is known to have changed after `revision`, without waiting. It is a
    /// hint: a change may be missing, or told twice.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    fn changes(&mut self, after: Revision) -> Result<Changes, Self::Error>;

    /// Lets a record that was written with a lease stay for another such time.
    ///
    /// # Errors
    ///
    /// If it is not known to be renewed.
    fn renew(&mut self, key: Key) -> Result<Lease, Self::Error>;

    /// Makes changes that rest on nothing, in order, in as few transactions as they fit
    /// in. Returns what came of the first that was not committed, or else of the last.
    fn write(&mut self, writes: &[StoreWrite]) -> Outcome<Self::Error> {
        let mut outcome = Outcome::Committed(Revision::default());
        for transaction in Transaction::batches(writes.to_vec(), None) {
            outcome = self.transact(&transaction);
            if !matches!(outcome, Outcome::Committed(_)) {
                break;
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_from_their_bytes_and_sort_by_number() {
        let port = |datapath| PortId::new(DatapathId(datapath), PortNumber(7));
        let keys = [
            Key::Epoch(Office(1)),
            Key::Epoch(Office(0x0100)),
            Key::Instance(1),
            Key::Instance(0x0100),
            Key::Profile(DatapathId(1)),
            Key::Profile(DatapathId(0x0100)),
            Key::Secrets,
            Key::Admission(2),
            Key::Admission(0x0100),
            Key::Leaving(1),
            Key::Leaving(0x0100),
            Key::Switch(DatapathId(1)),
            Key::Switch(DatapathId(0x0100)),
            Key::Host(MacAddress([2, 0, 0, 0, 0, 1])),
            Key::Host(MacAddress([2, 0, 0, 0, 1, 0])),
            Key::Intent(1),
            Key::Intent(0x0100),
            Key::Seen(MacAddress([2, 0, 0, 0, 0, 1])),
            Key::Link(LinkEnds::new(port(3), port(4))),
            Key::Mode,
            Key::Unloaded,
            Key::Application(ApplicationId(1)),
            Key::Application(ApplicationId(0x0100)),
            Key::Settings,
        ];

        let bytes = keys.map(Key::to_bytes);

        assert!(bytes.is_sorted() && keys.is_sorted());
        assert_eq!(keys.map(Some), bytes.map(|bytes| Key::from_bytes(&bytes)));
    }

    #[test]
    fn a_key_of_another_kind_is_none_of_ours() {
        assert_eq!(Key::from_bytes(b"z0000"), None);
        assert_eq!(Key::from_bytes(b"a"), None);
        assert_eq!(Key::from_bytes(b"h12345"), None);
        assert_eq!(Key::from_bytes(b"l0123456789"), None);
    }
}
