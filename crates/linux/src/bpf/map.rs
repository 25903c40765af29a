//! Memory that programs in the kernel and this process share.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::AtomicU64;

use thiserror::Error;

use super::attributes::{Attributes, Command};
use super::pin;
use crate::mapping::Mapping;

/// The kernel keeps names up to this length.
const NAME_BYTES_MAX: usize = 15;
/// `BPF_F_MMAPABLE`
const MAPPABLE: u32 = 1 << 10;
/// `BPF_F_INNER_MAP`: an array that may stand in the place of one of another length.
const NESTED: u32 = 1 << 12;
const WORD_BYTES: usize = 8;
/// The beginning of `struct bpf_map_info`, up to the flags.
const INFORMATION_BYTES: usize = 24;

/// How a map is organised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Values under keys of any bytes.
    Hash,
    /// Values under the numbers from zero on.
    Array,
    /// Values under numbers, one set for each processor.
    ArrayPerProcessor,
    /// Other arrays, mapped and nested, under numbers.
    Arrays,
    /// Sockets of AF_XDP under numbers.
    Sockets,
    /// A ring of records; `entries` is its length in bytes, a power of two and
    /// whole pages. It has neither keys nor values.
    Ring,
}

impl MapKind {
    fn number(self) -> u32 {
        match self {
            Self::Hash => 1,
            Self::Array => 2,
            Self::ArrayPerProcessor => 6,
            Self::Arrays => 12,
            Self::Sockets => 17,
            Self::Ring => 27,
        }
    }
}

/// What a map is made for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapShape {
    pub kind: MapKind,
    /// The length of a key; 4 where keys are numbers, 0 in a ring.
    pub key_bytes: u32,
    /// The length of a value; 0 in a ring.
    pub value_bytes: u32,
    /// How many values it has, or may have.
    pub entries: u32,
}

/// Why a map cannot be made.
#[derive(Debug, Error)]
#[error("cannot make the map `{name}` of {entries} times {value_bytes} bytes: {source}{advice}")]
pub struct MapError {
    pub name: String,
    /// How many values it should have.
    pub entries: u32,
    pub value_bytes: u32,
    /// What can be done, or empty.
    advice: &'static str,
    pub source: io::Error,
}

/// A map. It lives until this value and all programs that use it are gone.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    shape: MapShape,
}

impl Map {
    /// Makes a map.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory or no such map, or this process no right to it.
    pub fn create(name: &str, shape: MapShape) -> Result<Self, MapError> {
        Self::with_flags(name, shape, 0, None)
    }

    /// Makes a map of arrays like `like`, none of which is there yet.
    ///
    /// # Errors
    ///
    /// As for [`Map::create`].
    pub fn of_arrays(name: &str, entries: u32, like: &MappedArray) -> Result<Self, MapError> {
        let shape = MapShape {
            kind: MapKind::Arrays,
            key_bytes: 4,
            value_bytes: 4,
            entries,
        };
        Self::with_flags(name, shape, 0, Some(like.as_fd()))
    }

    /// Puts an array into the place `at` of a map of such.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn put(&self, at: u32, array: &MappedArray) -> io::Result<()> {
        let descriptor = array.as_fd().as_raw_fd();
        self.update(&at.to_ne_bytes(), &descriptor.to_ne_bytes())
    }

    fn with_flags(
        name: &str,
        shape: MapShape,
        flags: u32,
        like: Option<BorrowedFd<'_>>,
    ) -> Result<Self, MapError> {
        let mut create = Attributes::default();
        create.word(0, shape.kind.number());
        create.word(4, shape.key_bytes);
        create.word(8, shape.value_bytes);
        create.word(12, shape.entries);
        create.word(16, flags);
        if let Some(like) = like {
            create.descriptor(20, like);
        }
        create.name(28, name);
        match create.open(Command::MapCreate) {
            Ok(descriptor) => Ok(Self { descriptor, shape }),
            Err(source) => Err(refusal(name, &shape, source)),
        }
    }

    /// Opens the map that has a name, if it was made for this.
    fn pinned(name: &str, shape: MapShape, path: &Path) -> Result<Self, MapError> {
        let descriptor = pin::open(path).map_err(|source| refusal(name, &shape, source))?;
        let map = Self { descriptor, shape };
        let mut information = [0; INFORMATION_BYTES];
        let mut inform = Attributes::default();
        inform.descriptor(0, map.as_fd());
        inform.word(4, u32::try_from(INFORMATION_BYTES).expect("24"));
        inform.bytes_mut(8, &mut information);
        let asked = inform.run(Command::Inform);
        asked.map_err(|source| refusal(name, &map.shape, source))?;
        let word = |at: usize| {
            information[at..]
                .first_chunk()
                .map(|it| u32::from_ne_bytes(*it))
        };
        let MapShape {
            kind,
            key_bytes,
            value_bytes,
            entries,
        } = map.shape;
        let expected = [kind.number(), key_bytes, value_bytes, entries];
        if [0, 8, 12, 16].map(word) != expected.map(Some) {
            return Err(refusal(name, &map.shape, io::ErrorKind::InvalidData.into()));
        }
        Ok(map)
    }

    /// Returns what it was made for.
    #[must_use]
    pub fn shape(&self) -> &MapShape {
        &self.shape
    }

    /// Reads the value under `key` into `value`; `false` if there is none.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    ///
    /// # Panics
    ///
    /// If key or value have another length than the map's, or the map has a value
    /// for each processor.
    pub fn lookup(&self, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
        self.check_lengths(key, value);
        let mut lookup = Attributes::default();
        lookup.descriptor(0, self.as_fd());
        lookup.bytes(8, key);
        lookup.bytes_mut(16, value);
        found(lookup.run(Command::MapLookup))
    }

    /// Writes the value under `key`.
    ///
    /// # Errors
    ///
    /// `E2BIG` if the map is full or the number too large, otherwise what the
    /// kernel says.
    ///
    /// # Panics
    ///
    /// If key or value have another length than the map's, or the map has a value
    /// for each processor.
    pub fn update(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.check_lengths(key, value);
        let mut update = Attributes::default();
        update.descriptor(0, self.as_fd());
        update.bytes(8, key);
        update.bytes(16, value);
        update.run(Command::MapUpdate).map(|_| ())
    }

    /// Deletes what is under `key`; `false` if there is nothing.
    ///
    /// # Errors
    ///
    /// What the kernel says, as about arrays, of which nothing can be deleted.
    ///
    /// # Panics
    ///
    /// If the key has another length than the map's.
    pub fn delete(&self, key: &[u8]) -> io::Result<bool> {
        assert_eq!(key.len(), self.shape.key_bytes as usize, "a key's length");
        let mut delete = Attributes::default();
        delete.descriptor(0, self.as_fd());
        delete.bytes(8, key);
        found(delete.run(Command::MapDelete))
    }

    /// Says what could not be done with the map.
    pub(super) fn refusal(&self, name: &str, source: io::Error) -> MapError {
        refusal(name, &self.shape, source)
    }

    /// The kernel reads and writes as many bytes as the map was made for.
    fn check_lengths(&self, key: &[u8], value: &[u8]) {
        let single = match self.shape.kind {
            MapKind::Hash | MapKind::Array | MapKind::Arrays | MapKind::Sockets => true,
            MapKind::ArrayPerProcessor | MapKind::Ring => false,
        };
        assert!(single, "one value under each key");
        assert_eq!(key.len(), self.shape.key_bytes as usize, "a key's length");
        let length = self.shape.value_bytes as usize;
        assert_eq!(value.len(), length, "a value's length");
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// An array that is part of this process's memory.
#[derive(Debug)]
pub struct MappedArray {
    map: Map,
    mapping: Mapping,
    words: usize,
}

// SAFETY: what a shared reference gives out are words that are only ever accessed
// atomically.
#[expect(unsafe_code, reason = "shared words")]
unsafe impl Sync for MappedArray {}

impl MappedArray {
    /// Makes an array of `entries` values of `value_words` words of 64 bits, all
    /// zero.
    ///
    /// # Errors
    ///
    /// If the kernel has no memory, or this process no right to it.
    pub fn create(name: &str, entries: u32, value_words: u32) -> Result<Self, MapError> {
        Self::with_flags(name, entries, value_words, MAPPABLE)
    }

    /// Makes an array that may stand in a [map of arrays](Map::of_arrays), whatever its
    /// length.
    ///
    /// # Errors
    ///
    /// As for [`MappedArray::create`].
    pub fn nested(name: &str, entries: u32, value_words: u32) -> Result<Self, MapError> {
        Self::with_flags(name, entries, value_words, MAPPABLE | NESTED)
    }

    fn with_flags(
        name: &str,
        entries: u32,
        value_words: u32,
        flags: u32,
    ) -> Result<Self, MapError> {
        let shape = shape(entries, value_words);
        Self::of_map(name, Map::with_flags(name, shape, flags, None)?)
    }

    /// Opens the array that has a name, if it has as many values of so many words.
    ///
    /// # Errors
    ///
    /// If there is none, or it is another one.
    pub fn pinned(
        name: &str,
        entries: u32,
        value_words: u32,
        path: &Path,
    ) -> Result<Self, MapError> {
        Self::of_map(name, Map::pinned(name, shape(entries, value_words), path)?)
    }

    fn of_map(name: &str, map: Map) -> Result<Self, MapError> {
        let shape = &map.shape;
        let bytes = shape.entries as usize * shape.value_bytes as usize;
        let words = bytes / WORD_BYTES;
        let mapping = Mapping::shared(&map, bytes, 0);
        let mapping = mapping.map_err(|source| map.refusal(name, source))?;
        Ok(Self {
            map,
            mapping,
            words,
        })
    }

    /// Returns all words of all values, the values one after the other.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is that long and begins at a page; this process and
        // the programs access it atomically, word by word.
        #[expect(unsafe_code, reason = "shared words")]
        unsafe {
            std::slice::from_raw_parts(self.mapping.at::<AtomicU64>(0).as_ptr(), self.words)
        }
    }

    /// Returns the map, as programs use it.
    #[must_use]
    pub fn map(&self) -> &Map {
        &self.map
    }
}

impl AsFd for MappedArray {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

impl Attributes<'_> {
    /// Writes as much of a name as the kernel takes.
    pub(super) fn name(&mut self, offset: usize, name: &str) {
        for (index, byte) in name.bytes().take(NAME_BYTES_MAX).enumerate() {
            let known = byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
            self.byte(offset + index, if known { byte } else { b'_' });
        }
    }
}

/// Returns what an array of values of so many words is made for.
fn shape(entries: u32, value_words: u32) -> MapShape {
    MapShape {
        kind: MapKind::Array,
        key_bytes: 4,
        value_bytes: value_words.saturating_mul(8),
        entries,
    }
}

fn found(outcome: io::Result<i64>) -> io::Result<bool> {
    match outcome {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

fn refusal(name: &str, shape: &MapShape, source: io::Error) -> MapError {
    const RIGHTS: &str = ". It needs CAP_BPF and CAP_NET_ADMIN; before Linux 5.11 it also \
         counts as locked memory: `ulimit -l unlimited`";
    const MEMORY: &str = ". The machine, or the control group of this process, has not that much \
         memory left";
    const SIZE: &str = ". The kernel takes no map of that size";
    let code: Option<c_int> = source.raw_os_error();
    let advice = match code {
        Some(libc::EPERM) => RIGHTS,
        Some(libc::ENOMEM) => MEMORY,
        Some(libc::E2BIG | libc::EINVAL) => SIZE,
        _ => "",
    };
    MapError {
        name: name.to_owned(),
        entries: shape.entries,
        value_bytes: shape.value_bytes,
        advice,
        source,
    }
}
