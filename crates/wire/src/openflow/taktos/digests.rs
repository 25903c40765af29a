//! What the entries of a table are, in so few numbers that a controller compares them at once.

use crate::openflow::{Cookie, DecodeError, Element, FlowModFlags, TableId};
use crate::reader::Reader;
use crate::siphash::siphash_2_4;
use crate::writer::Writer;

const KEY: [u8; 16] = *b"taktos-entry-sum";
const CLASS_SHIFT: u32 = 52;

/// The first twelve bits of a cookie: entries that have them in common are added up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CookieClass(pub u16);

impl CookieClass {
    /// Returns that of a cookie.
    #[must_use]
    pub const fn of(cookie: Cookie) -> Self {
        let [high, low, ..] = cookie.0.to_be_bytes();
        Self(u16::from_be_bytes([high, low]) >> 4)
    }

    /// Returns the lowest cookie of the class.
    #[must_use]
    pub const fn lowest(self) -> Cookie {
        Cookie((self.0 as u64) << CLASS_SHIFT)
    }
}

/// How many entries there are, and what their digests add up to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DigestSum {
    /// How many.
    pub entries: u32,
    /// The sum of their digests, modulo 2^64.
    pub sum: u64,
}

impl DigestSum {
    /// Counts an entry with this digest.
    pub const fn add(&mut self, digest: u64) {
        self.entries += 1;
        self.sum = self.sum.wrapping_add(digest);
    }

    /// Counts one no more that was counted.
    pub const fn subtract(&mut self, digest: u64) {
        self.entries -= 1;
        self.sum = self.sum.wrapping_sub(digest);
    }
}

/// The entries of one class in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// Which table.
    pub table: TableId,
    /// How their cookies begin.
    pub class: CookieClass,
    /// How many there are, and what they are.
    pub sum: DigestSum,
}

/// What a controller says of an entry: of its match and instructions the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryContent<'a> {
    /// What the controller wrote on it.
    pub cookie: Cookie,
    /// Which of the entries that match a frame wins.
    pub priority: u16,
    /// How it behaves.
    pub flags: FlowModFlags,
    /// Seconds without a frame until it goes.
    pub idle_timeout_s: u16,
    /// Seconds until it goes.
    pub hard_timeout_s: u16,
    /// The fields of its match.
    pub fields: &'a [u8],
    /// What it does.
    pub instructions: &'a [u8],
}

impl EntryContent<'_> {
    /// Returns the digest of the entry: three times SipHash-2-4, each under the tag of the one
    /// before, of its numbers, its match and its instructions. The first key is known to all:
    /// a mistake is found by it, a switch that wants to lie is not.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut numbers = [0; 16];
        let (cookie, rest) = numbers.split_at_mut(8);
        cookie.copy_from_slice(&self.cookie.0.to_be_bytes());
        let shorts = [
            self.priority,
            self.flags.0,
            self.idle_timeout_s,
            self.hard_timeout_s,
        ];
        for (place, short) in rest.chunks_exact_mut(2).zip(shorts) {
            place.copy_from_slice(&short.to_be_bytes());
        }
        let parts = [self.fields, self.instructions];
        parts
            .iter()
            .fold(siphash_2_4(KEY, &numbers), |before, part| {
                let mut key = KEY;
                key[..8].copy_from_slice(&before.to_le_bytes());
                siphash_2_4(key, part)
            })
    }
}

impl<'a> Element<'a> for TableDigest {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let table = TableId(reader.u8()?);
        reader.skip(1)?;
        let digest = Self {
            table,
            class: CookieClass(reader.u16()?),
            sum: DigestSum {
                entries: reader.u32()?,
                sum: reader.u64()?,
            },
        };
        Ok((digest, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u8(self.table.0).zeros::<1>();
        writer.u16(self.class.0);
        writer.u32(self.sum.entries).u64(self.sum.sum);
    }
}
