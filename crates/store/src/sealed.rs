//! Records with a seal each, and a tally of all: what was not written like this is
//! found when it is read.
//!
//! A seal is a hash of a record's key and value; the tally counts the records and
//! adds up their seals without carry, so that a change of one record changes it
//! in one step, and a record that is missing shows. Both are against damage, not
//! against somebody who means to deceive.

use wire::siphash::siphash_2_4;

/// The name of the tally among the records; no record is called so.
pub const TALLY: &[u8] = &[0];
const SEAL_KEY: [u8; 16] = *b"taktos: a record";
const SEAL_BYTES: usize = 8;

/// How many records there are, what all their seals add up to, and at which revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealTally {
    pub records: u64,
    seals: u64,
    pub revision: u64,
}

impl SealTally {
    pub fn add(&mut self, sealed: &[u8]) {
        self.records += 1;
        self.seals ^= seal(sealed);
    }

    pub fn remove(&mut self, sealed: &[u8]) {
        self.records = self.records.saturating_sub(1);
        self.seals ^= seal(sealed);
    }

    /// Tells whether it is about the same records, at whatever revision.
    #[must_use]
    pub fn counts_as(&self, other: Self) -> bool {
        (self.records, self.seals) == (other.records, other.seals)
    }

    /// Returns the tally as it is kept.
    #[must_use]
    pub fn to_sealed(self) -> Vec<u8> {
        let value = [self.records, self.seals, self.revision].map(u64::to_be_bytes);
        close(TALLY, &value.concat())
    }

    /// Reads a tally; none if it is damaged.
    #[must_use]
    pub fn from_sealed(sealed: &[u8]) -> Option<Self> {
        let (records, rest) = open(TALLY, sealed)?.split_first_chunk()?;
        let (seals, revision) = rest.split_first_chunk()?;
        // An earlier version of the program did not count revisions.
        let revision = match revision {
            [] => 0,
            revision => u64::from_be_bytes(revision.try_into().ok()?),
        };
        Some(Self {
            records: u64::from_be_bytes(*records),
            seals: u64::from_be_bytes(*seals),
            revision,
        })
    }
}

/// Returns a record's value with its seal before it.
#[must_use]
pub fn close(key: &[u8], value: &[u8]) -> Vec<u8> {
    [&hash(key, value)[..], value].concat()
}

/// Returns the value of a record whose seal is right.
#[must_use]
pub fn open<'a>(key: &[u8], sealed: &'a [u8]) -> Option<&'a [u8]> {
    let (seal, value) = sealed.split_at_checked(SEAL_BYTES)?;
    (hash(key, value)[..] == *seal).then_some(value)
}

fn hash(key: &[u8], value: &[u8]) -> [u8; SEAL_BYTES] {
    // The length keeps a key apart from the value behind it.
    let length = (key.len() as u64).to_be_bytes();
    siphash_2_4(SEAL_KEY, &[&length[..], key, value].concat()).to_be_bytes()
}

fn seal(sealed: &[u8]) -> u64 {
    sealed
        .first_chunk()
        .map_or(0, |seal| u64::from_be_bytes(*seal))
}
