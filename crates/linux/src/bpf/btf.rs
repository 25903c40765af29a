//! What an object says about its functions and lines, for the kernel's verifier.
//!
//! `.BTF` describes types and goes to the kernel as it is. `.BTF.ext` says for each
//! function which type it has, and for each instruction which line of the source
//! it comes from; its positions are those in the object's section and have to be
//! moved with the functions.
//!
//! Source: Documentation/bpf/btf.rst of Linux.

use super::elf::{bytes, text, word};
use super::object::ObjectError;

const MAGIC: u32 = 0xeb9f | 1 << 16;
/// A function's first instruction and its type.
pub(super) const FUNCTION_BYTES: usize = 8;
/// An instruction, its file's name, its line's text, line and column.
pub(super) const LINE_BYTES: usize = 16;
const INSTRUCTION_BYTES: u32 = 8;

/// A record about the instruction at `offset`, counted in instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CodeRecord<const WORDS: usize> {
    pub offset: u32,
    pub words: [u32; WORDS],
}

/// The records about one section of code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    pub functions: Vec<CodeRecord<1>>,
    /// Per line its file, text and position.
    pub lines: Vec<CodeRecord<3>>,
}

impl Annotations {
    /// Reads what `extension`, the content of `.BTF.ext`, says about the section
    /// called `section`; the names stand in `types`, the content of `.BTF`.
    pub(super) fn parse(
        types: &[u8],
        extension: &[u8],
        section: &str,
    ) -> Result<Self, ObjectError> {
        let what = ".BTF.ext";
        let header = header_bytes(extension)?;
        let part = |at: usize| {
            let (offset, length) = (word(extension, at)?, word(extension, at + 4)?);
            let offset = u64::from(header) + u64::from(offset);
            bytes(extension, offset, length.into(), what)
        };
        let names = names(types)?;
        Ok(Self {
            functions: records(part(8)?, names, section)?,
            lines: records(part(16)?, names, section)?,
        })
    }
}

/// Checks the first words of `.BTF` or `.BTF.ext`, and returns how long the header
/// is.
fn header_bytes(section: &[u8]) -> Result<u32, ObjectError> {
    if word(section, 0)? != MAGIC {
        return Err(ObjectError::UnknownTypes);
    }
    word(section, 4)
}

fn names(types: &[u8]) -> Result<&[u8], ObjectError> {
    let header = header_bytes(types)?;
    let offset = u64::from(header) + u64::from(word(types, 16)?);
    bytes(types, offset, word(types, 20)?.into(), ".BTF")
}

/// Reads the records about `section`: the size of one, then for each section its
/// name, their number, and they.
fn records<const WORDS: usize>(
    part: &[u8],
    names: &[u8],
    section: &str,
) -> Result<Vec<CodeRecord<WORDS>>, ObjectError> {
    const HEAD_BYTES: usize = 8;
    let what = ".BTF.ext";
    let mut records = Vec::new();
    if part.is_empty() {
        return Ok(records);
    }
    let size = word(part, 0)? as usize;
    if size < 4 * (WORDS + 1) {
        return Err(ObjectError::Truncated { what });
    }
    let mut rest = &part[4..];
    while !rest.is_empty() {
        let name = text(names, word(rest, 0)?)?;
        let length = u64::from(word(rest, 4)?) * size as u64;
        let body = bytes(rest, HEAD_BYTES as u64, length, what)?;
        if name == section {
            for record in body.chunks_exact(size) {
                records.push(record_of(record)?);
            }
        }
        rest = &rest[HEAD_BYTES + body.len()..];
    }
    records.sort_by_key(|record| record.offset);
    Ok(records)
}

fn record_of<const WORDS: usize>(bytes: &[u8]) -> Result<CodeRecord<WORDS>, ObjectError> {
    let mut words = [0; WORDS];
    for (index, it) in words.iter_mut().enumerate() {
        *it = word(bytes, 4 * (index + 1))?;
    }
    Ok(CodeRecord {
        offset: word(bytes, 0)? / INSTRUCTION_BYTES,
        words,
    })
}
