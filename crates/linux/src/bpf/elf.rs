//! Reads as much of an ELF file as an object of clang for the kernel's machine has.
//!
//! Every offset and every number in the file is taken for a stranger's: what leads
//! out of the file is an error.
//!
//! Source: System V Application Binary Interface, chapters 4 and 5.

use super::object::ObjectError;

const HEADER_BYTES: usize = 64;
/// 64 bits, little-endian, version 1.
const IDENTITY: [u8; 7] = [0x7f, b'E', b'L', b'F', 2, 1, 1];
const RELOCATABLE: u16 = 1;
const MACHINE_BPF: u16 = 247;
const SECTION_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const RELOCATION_BYTES: usize = 16;
const SYMBOLS: u32 = 2;
const WITHOUT_BYTES: u32 = 8;
const RELOCATIONS: u32 = 9;

#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    kind: u32,
    link: u32,
    info: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Symbol<'a> {
    pub name: &'a str,
    pub kind: SymbolKind,
    /// Whether it may be defined nowhere, and is zero then.
    pub is_weak: bool,
    /// The section's number, 0 if the symbol is defined elsewhere.
    pub section: usize,
    pub value: u64,
    pub size: u64,
}

/// What a symbol stands for, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SymbolKind {
    Function,
    Section,
    Other,
}

/// A place in a section that a symbol's value has to be put into.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    pub offset: u64,
    pub kind: u32,
    pub symbol: usize,
}

/// A file, its tables read.
#[derive(Debug)]
pub(super) struct Elf<'a> {
    pub sections: Vec<Section<'a>>,
    pub symbols: Vec<Symbol<'a>>,
}

impl<'a> Elf<'a> {
    pub(super) fn parse(file: &'a [u8]) -> Result<Self, ObjectError> {
        check_header(file)?;
        let sections = sections(file)?;
        let symbols = match sections.iter().find(|it| it.kind == SYMBOLS) {
            Some(table) => symbols(table, &sections)?,
            None => Vec::new(),
        };
        Ok(Self { sections, symbols })
    }

    /// Returns the number of the section called `name`.
    pub(super) fn section(&self, name: &str) -> Option<usize> {
        self.sections.iter().position(|it| it.name == name)
    }

    /// Returns the relocations of the section of number `section`.
    pub(super) fn relocations(&self, section: usize) -> Result<Vec<Relocation>, ObjectError> {
        let about = |it: &&Section<'_>| it.kind == RELOCATIONS && it.info as usize == section;
        let mut relocations = Vec::new();
        for table in self.sections.iter().filter(about) {
            for entry in table.bytes.chunks_exact(RELOCATION_BYTES) {
                let info = long(entry, 8)?;
                relocations.push(Relocation {
                    offset: long(entry, 0)?,
                    kind: low(info),
                    symbol: low(info >> 32) as usize,
                });
            }
        }
        Ok(relocations)
    }
}

fn check_header(file: &[u8]) -> Result<(), ObjectError> {
    if file.get(..IDENTITY.len()) != Some(&IDENTITY) {
        return Err(ObjectError::NotAnObject);
    }
    if short(file, 16)? != RELOCATABLE || short(file, 18)? != MACHINE_BPF {
        return Err(ObjectError::NotAnObject);
    }
    bytes(file, 0, HEADER_BYTES as u64, "header").map(|_| ())
}

fn sections(file: &[u8]) -> Result<Vec<Section<'_>>, ObjectError> {
    let (offset, count) = (long(file, 40)?, usize::from(short(file, 60)?));
    let length = (count * SECTION_BYTES) as u64;
    let table = bytes(file, offset, length, "table of sections")?;
    let mut sections = Vec::new();
    for entry in table.chunks_exact(SECTION_BYTES) {
        let kind = word(entry, 4)?;
        let content = match kind {
            0 | WITHOUT_BYTES => &[],
            _ => bytes(file, long(entry, 24)?, long(entry, 32)?, "section")?,
        };
        sections.push(Section {
            name: "",
            bytes: content,
            kind,
            link: word(entry, 40)?,
            info: word(entry, 44)?,
        });
    }
    let names = usize::from(short(file, 62)?);
    let names = sections.get(names).map_or(&[][..], |it| it.bytes);
    for (section, entry) in sections.iter_mut().zip(table.chunks_exact(SECTION_BYTES)) {
        section.name = text(names, word(entry, 0)?)?;
    }
    Ok(sections)
}

fn symbols<'a>(
    table: &Section<'a>,
    sections: &[Section<'a>],
) -> Result<Vec<Symbol<'a>>, ObjectError> {
    const FUNCTION: u8 = 2;
    const SECTION: u8 = 3;
    const WEAK: u8 = 2;
    let names = sections.get(table.link as usize);
    let names = names.map_or(&[][..], |it| it.bytes);
    let mut symbols = Vec::new();
    for entry in table.bytes.chunks_exact(SYMBOL_BYTES) {
        let kind = match entry[4] & 0xf {
            FUNCTION => SymbolKind::Function,
            SECTION => SymbolKind::Section,
            _ => SymbolKind::Other,
        };
        symbols.push(Symbol {
            name: text(names, word(entry, 0)?)?,
            kind,
            is_weak: entry[4] >> 4 == WEAK,
            section: short(entry, 6)?.into(),
            value: long(entry, 8)?,
            size: long(entry, 16)?,
        });
    }
    Ok(symbols)
}

/// Returns the text at `offset` of a table of texts that end in zero.
pub(super) fn text(table: &[u8], offset: u32) -> Result<&str, ObjectError> {
    if table.is_empty() && offset == 0 {
        return Ok("");
    }
    let rest = table.get(offset as usize..);
    let text = rest.and_then(|rest| rest.split(|&byte| byte == 0).next());
    let text = text.and_then(|text| std::str::from_utf8(text).ok());
    text.ok_or(ObjectError::Truncated { what: "name" })
}

/// Returns the `length` bytes at `offset`.
pub(super) fn bytes<'a>(
    all: &'a [u8],
    offset: u64,
    length: u64,
    what: &'static str,
) -> Result<&'a [u8], ObjectError> {
    let begin = usize::try_from(offset).ok();
    let length = usize::try_from(length).ok();
    begin
        .and_then(|begin| all.get(begin..))
        .and_then(|rest| rest.get(..length?))
        .ok_or(ObjectError::Truncated { what })
}

/// Returns the 32-bit number at `offset`.
pub(super) fn word(all: &[u8], offset: usize) -> Result<u32, ObjectError> {
    let bytes = bytes(all, offset as u64, 4, "number")?;
    Ok(u32::from_le_bytes(bytes.try_into().expect("four bytes")))
}

fn short(all: &[u8], offset: usize) -> Result<u16, ObjectError> {
    let bytes = bytes(all, offset as u64, 2, "number")?;
    Ok(u16::from_le_bytes(bytes.try_into().expect("two bytes")))
}

fn long(all: &[u8], offset: usize) -> Result<u64, ObjectError> {
    let bytes = bytes(all, offset as u64, 8, "number")?;
    Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
}

fn low(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).expect("32 bits are left")
}
