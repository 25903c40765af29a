//! What the running kernel says of its own types: where a structure keeps a member, and
//! which number a type has.
//!
//! Source: Documentation/bpf/btf.rst of Linux.

use std::io;

use super::elf::{text, word};
use super::features::KERNEL_TYPES;
use super::object::{Object, ObjectError};

const MAGIC: u32 = 0xeb9f | 1 << 16;
const HEAD_BYTES: usize = 12;
const MEMBER_BYTES: usize = 12;
const STRUCTURE: u32 = 4;
const UNION: u32 = 5;
const TYPE_NAME: u32 = 8;
/// How deep members without a name may lie.
const DEPTH_MAX: usize = 8;

/// The types of the running kernel.
#[derive(Debug)]
pub struct KernelTypes {
    bytes: Vec<u8>,
    names: usize,
    /// Where each type begins; the first one has the number 1.
    types: Vec<usize>,
}

impl KernelTypes {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// If the kernel does not tell, or what it tells is damaged.
    pub fn read() -> io::Result<Self> {
        let bytes = std::fs::read(KERNEL_TYPES)?;
        Self::parse(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    fn parse(bytes: Vec<u8>) -> Result<Self, ObjectError> {
        if word(&bytes, 0)? != MAGIC {
            return Err(ObjectError::UnknownTypes);
        }
        let part = |at: usize| Ok::<_, ObjectError>(word(&bytes, at)? as usize);
        let header = part(4)?;
        let (first, length) = (header + part(8)?, part(12)?);
        let names = header + part(16)?;
        let mut types = Vec::new();
        let mut at = first;
        while at < first + length {
            types.push(at);
            at += HEAD_BYTES + extent(word(&bytes, at + 4)?)?;
        }
        Ok(Self {
            bytes,
            names,
            types,
        })
    }

    /// Returns the number of the type that is another name for one.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<u32> {
        let place = (0..self.types.len())
            .find(|place| self.kind(*place) == Some(TYPE_NAME) && self.name(*place) == Some(name));
        u32::try_from(place? + 1).ok()
    }

    /// Returns at which byte of the structure `structure` its member `member` begins.
    #[must_use]
    pub fn offset(&self, structure: &str, member: &str) -> Option<u64> {
        let mut places = 0..self.types.len();
        let place = places.find(|place| {
            self.kind(*place) == Some(STRUCTURE) && self.name(*place) == Some(structure)
        });
        let bits = self.bits_to(place?, member, 0)?;
        Some(u64::from(bits / 8))
    }

    /// Tells a program where the kernel keeps what it reads: the name that the program has for
    /// it, the structure, and its member.
    ///
    /// # Errors
    ///
    /// The name of the first one that there is not.
    pub fn tell<'a>(
        &self,
        object: Object,
        members: &[(&'a str, &str, &str)],
    ) -> Result<Object, &'a str> {
        members
            .iter()
            .try_fold(object, |object, (name, structure, member)| {
                let offset = self.offset(structure, member).ok_or(*name)?;
                Ok(object.with_constant(name, offset))
            })
    }

    /// Returns how many bits come before a member, which may lie in one without a name.
    fn bits_to(&self, place: usize, member: &str, depth: usize) -> Option<u32> {
        if depth == DEPTH_MAX || !matches!(self.kind(place), Some(STRUCTURE | UNION)) {
            return None;
        }
        let begin = *self.types.get(place)?;
        let info = self.word(begin + 4)?;
        for at in (0..count(info)).map(|it| begin + HEAD_BYTES + it * MEMBER_BYTES) {
            let name = text(self.bytes.get(self.names..)?, self.word(at)?).ok()?;
            // Where there are fields of bits, the highest byte is their length.
            let bits = match info >> 31 {
                0 => self.word(at + 8)?,
                _ => self.word(at + 8)? & 0xff_ffff,
            };
            if name == member {
                return Some(bits);
            }
            let inner = self
                .word(at + 4)?
                .checked_sub(1)
                .filter(|_| name.is_empty());
            let inner = inner.and_then(|inner| self.bits_to(inner as usize, member, depth + 1));
            if let Some(inner) = inner {
                return Some(bits + inner);
            }
        }
        None
    }

    fn kind(&self, place: usize) -> Option<u32> {
        let info = self.word(self.types.get(place)? + 4)?;
        Some(info >> 24 & 0x1f)
    }

    fn name(&self, place: usize) -> Option<&str> {
        let name = self.word(*self.types.get(place)?)?;
        text(self.bytes.get(self.names..)?, name).ok()
    }

    fn word(&self, at: usize) -> Option<u32> {
        word(&self.bytes, at).ok()
    }
}

fn count(info: u32) -> usize {
    (info & 0xffff) as usize
}

/// Returns how many bytes follow the head of a type.
fn extent(info: u32) -> Result<usize, ObjectError> {
    let count = count(info);
    Ok(match info >> 24 & 0x1f {
        // Pointers, forward declarations, names, qualifiers, functions, floats and tags
        // of types.
        2 | 7..=12 | 16 | 18 => 0,
        // Integers, variables and tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        STRUCTURE | UNION | 15 | 19 => 12 * count,
        // Enumerations and prototypes.
        6 | 13 => 8 * count,
        _ => return Err(ObjectError::UnknownTypes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Types as the kernel writes them: a structure `s` with the member `a` at byte 0, a
    /// union without a name at byte 8 with `b` and `c`, and `d`, which is 3 bits from byte
    /// 16 on.
    fn some() -> Vec<u8> {
        let names = b"\0s\0a\0b\0c\0d\0alias\0";
        let name = |wanted: &[u8]| {
            let at = names.windows(wanted.len()).position(|it| it == wanted);
            u32::try_from(at.unwrap()).unwrap()
        };
        let integer = [0, 1 << 24, 8, 64];
        let union = [
            0,
            UNION << 24 | 2,
            8,
            name(b"b\0"),
            1,
            0,
            name(b"c\0"),
            1,
            0,
        ];
        let structure = [
            name(b"s\0"),
            1 << 31 | STRUCTURE << 24 | 3,
            24,
            name(b"a\0"),
            1,
            0,
            0,
            2,
            64,
            name(b"d\0"),
            1,
            3 << 24 | 128,
        ];
        let alias = [name(b"alias\0"), TYPE_NAME << 24, 3];
        let types: Vec<u32> = [&integer[..], &union, &structure, &alias].concat();
        let (length, text) = (4 * types.len(), names.len());
        let [length, text] = [length, text].map(|it| u32::try_from(it).unwrap());
        let header = [MAGIC, 24, 0, length, length, text];
        let words = header
            .iter()
            .chain(&types)
            .flat_map(|word| word.to_le_bytes());
        words.chain(names.iter().copied()).collect()
    }

    #[test]
    fn members_are_found_also_in_those_without_a_name() {
        let types = KernelTypes::parse(some()).unwrap();

        let offsets = ["a", "b", "c", "d", "e"].map(|member| types.offset("s", member));

        assert_eq!(offsets, [Some(0), Some(8), Some(8), Some(16), None]);
        assert_eq!(types.offset("t", "a"), None);
        assert_eq!((types.named("alias"), types.named("s")), (Some(4), None));
    }

    #[test]
    fn what_is_cut_short_is_an_error_or_lacks_something() {
        let whole = some();
        for length in 0..whole.len() {
            if let Ok(types) = KernelTypes::parse(whole[..length].to_vec()) {
                let _ = (types.offset("s", "d"), types.named("alias"));
            }
        }
    }
}
