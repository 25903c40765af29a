//! The object file that clang makes of a program, and the program in it.
//!
//! All code stands in one section. A program is its main function and what that
//! calls, directly or not: the kernel begins at the first instruction and refuses
//! code that nothing leads to, so `Object::link` puts the main function first,
//! the functions it needs behind, and calls and lines where they then are. A map is
//! a symbol that the object does not define; only its name matters. A symbol that is weak
//! as well stands for a number that the loader knows, and for zero if it does not.
//!
//! Sources: RFC 9669; Documentation/bpf/llvm_reloc.rst and btf.rst of Linux.
//!
//! # Left out
//!
//! Global variables and constants in memory (`.data`, `.rodata`), several sections
//! of code, addresses of functions, and everything that depends on the types of the
//! running kernel (CO-RE).

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd};

use thiserror::Error;

use super::btf::{Annotations, CodeRecord, FUNCTION_BYTES, LINE_BYTES};
use super::elf::{Elf, SymbolKind};

/// The section that has all code.
const CODE: &str = "tc";
const INSTRUCTION_BYTES: usize = 8;
/// As many instructions as the kernel takes from the privileged.
const INSTRUCTIONS_MAX: usize = 1_000_000;
const LOAD_ADDRESS: u8 = 0x18;
const CALL: u8 = 0x85;
/// As source register of a call: to a function of the program.
const OF_PROGRAM: u8 = 1;
/// As source register of a load: the constant is a map's descriptor.
const OF_MAP: u8 = 1;

/// Why an object cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ObjectError {
    #[error("not a relocatable object for the kernel's machine (ELF, 64 bits, little-endian)")]
    NotAnObject,
    /// The machine reads numbers the other way round.
    #[error("the object is for little-endian machines and this one is big-endian")]
    BigEndian,
    /// Something in it leads out of it.
    #[error("the object is damaged: a {what} lies outside of the file")]
    Truncated { what: &'static str },
    /// Its types are in a format of another version.
    #[error("the object's types (.BTF) are in a format that is not known")]
    UnknownTypes,
    #[error("the object has no section `{CODE}` with code")]
    NoCode,
    /// It is larger than any kernel takes.
    #[error("the object has {instructions} instructions: at most {INSTRUCTIONS_MAX}")]
    TooLong { instructions: usize },
    /// There is no such function.
    #[error("the object has no function `{name}`")]
    NoFunction { name: String },
    #[error("the functions `{first}` and `{second}` of the object overlap")]
    Overlap {
        /// The one that begins first.
        first: String,
        second: String,
    },
    /// A call leads to no function's beginning.
    #[error("instruction {at} calls what is no function of the object")]
    NoCallee {
        /// The instruction, counted in the section.
        at: usize,
    },
    /// The program uses a map that there is not.
    #[error("the program uses the map `{name}`, which has not been made")]
    NoMap { name: String },
    /// The program uses what is not loaded.
    #[error("instruction {at} uses `{name}`, which is no map: only code and maps are loaded")]
    NotLoaded {
        /// The instruction, counted in the section.
        at: usize,
        name: String,
    },
    /// A place to fill in is not an instruction, or not one of a known form.
    #[error("instruction {at} cannot be completed: form {kind}")]
    UnknownRelocation {
        /// The instruction, counted in the section.
        at: usize,
        /// The kind, as the object has it.
        kind: u32,
    },
}

/// An object that was read.
#[derive(Clone, Debug)]
pub struct Object {
    instructions: Vec<[u8; INSTRUCTION_BYTES]>,
    functions: Vec<Function>,
    /// Per instruction that loads a map's address, the map.
    maps: BTreeMap<usize, String>,
    /// Per instruction that loads a number that the object does not know, its name.
    unknown: BTreeMap<usize, String>,
    /// Those that are known, by name.
    constants: BTreeMap<String, u64>,
    /// Per instruction that calls, the number of the function.
    calls: BTreeMap<usize, usize>,
    types: Vec<u8>,
    annotations: Annotations,
}

#[derive(Clone, Debug)]
struct Function {
    name: String,
    begin: usize,
    end: usize,
}

/// A program as the kernel takes it.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub instructions: Vec<u8>,
    /// The object's types, empty if it has none.
    pub types: Vec<u8>,
    pub functions: Vec<u8>,
    pub lines: Vec<u8>,
}

impl Object {
    /// Reads an object.
    ///
    /// # Errors
    ///
    /// If it is damaged or has what is not loaded.
    pub fn parse(file: &[u8]) -> Result<Self, ObjectError> {
        if cfg!(target_endian = "big") {
            return Err(ObjectError::BigEndian);
        }
        let elf = Elf::parse(file)?;
        let code = elf.section(CODE).ok_or(ObjectError::NoCode)?;
        let (instructions, rest) = elf.sections[code].bytes.as_chunks();
        if instructions.is_empty() || !rest.is_empty() {
            return Err(ObjectError::NoCode);
        }
        if instructions.len() > INSTRUCTIONS_MAX {
            let instructions = instructions.len();
            return Err(ObjectError::TooLong { instructions });
        }
        let functions = functions(&elf, code, instructions.len())?;
        let (types, annotations) = annotations(&elf)?;
        let mut object = Self {
            instructions: instructions.to_vec(),
            functions,
            maps: BTreeMap::new(),
            unknown: BTreeMap::new(),
            constants: BTreeMap::new(),
            calls: BTreeMap::new(),
            types,
            annotations,
        };
        object.find_calls()?;
        object.take_relocations(&elf, code)?;
        Ok(object)
    }

    /// Returns the names of the maps that its code uses.
    pub fn map_names(&self) -> impl Iterator<Item = &str> {
        let names: std::collections::BTreeSet<_> = self.maps.values().map(String::as_str).collect();
        names.into_iter()
    }

    /// Says what a number is that the object does not know.
    #[must_use]
    pub fn with_constant(mut self, name: &str, value: u64) -> Self {
        self.constants.insert(name.to_owned(), value);
        self
    }

    /// Notes where calls lead that need no relocation.
    fn find_calls(&mut self) -> Result<(), ObjectError> {
        for at in 0..self.instructions.len() {
            let instruction = self.instructions[at];
            let constant = constant(instruction);
            // A call that waits for its relocation leads to itself.
            if is_call(instruction) && constant != -1 {
                let callee = self.callee(at, i64::from(constant) + at as i64 + 1)?;
                self.calls.insert(at, callee);
            }
        }
        Ok(())
    }

    fn take_relocations(&mut self, elf: &Elf<'_>, code: usize) -> Result<(), ObjectError> {
        const OF_ADDRESS: u32 = 1;
        const OF_CALL: u32 = 10;
        for relocation in elf.relocations(code)? {
            let at = usize::try_from(relocation.offset).unwrap_or(usize::MAX) / INSTRUCTION_BYTES;
            let kind = relocation.kind;
            let unknown = ObjectError::UnknownRelocation { at, kind };
            let (Some(&instruction), Some(symbol)) = (
                self.instructions.get(at),
                elf.symbols.get(relocation.symbol),
            ) else {
                return Err(unknown);
            };
            match kind {
                OF_ADDRESS if instruction[0] == LOAD_ADDRESS => {
                    let name = symbol.name.to_owned();
                    if symbol.section != 0 || name.is_empty() {
                        return Err(ObjectError::NotLoaded { at, name });
                    }
                    match symbol.is_weak {
                        true => self.unknown.insert(at, name),
                        false => self.maps.insert(at, name),
                    };
                }
                OF_CALL if is_call(instruction) && symbol.section == code => {
                    let begin = i64::try_from(symbol.value).map_err(|_| unknown)?;
                    let begin = begin / INSTRUCTION_BYTES as i64;
                    let callee = self.callee(at, begin + i64::from(constant(instruction)) + 1)?;
                    self.calls.insert(at, callee);
                }
                _ => return Err(unknown),
            }
        }
        Ok(())
    }

    /// Returns the number of the function that begins at the instruction `begin`.
    fn callee(&self, at: usize, begin: i64) -> Result<usize, ObjectError> {
        let begins = |it: &Function| i64::try_from(it.begin) == Ok(begin);
        let callee = self.functions.iter().position(begins);
        callee.ok_or(ObjectError::NoCallee { at })
    }

    /// Puts the program together whose main function is `main`.
    pub(super) fn link(
        &self,
        main: &str,
        maps: &BTreeMap<&str, BorrowedFd<'_>>,
    ) -> Result<Image, ObjectError> {
        let main = self.functions.iter().position(|it| it.name == main).ok_or(
            ObjectError::NoFunction {
                name: main.to_owned(),
            },
        )?;
        let order = self.reached_from(main)?;
        let mut places = BTreeMap::new();
        let mut length = 0;
        for &number in &order {
            places.insert(number, length);
            length += self.functions[number].end - self.functions[number].begin;
        }
        let mut image = Image {
            instructions: Vec::with_capacity(length * INSTRUCTION_BYTES),
            types: self.types.clone(),
            functions: Vec::new(),
            lines: Vec::new(),
        };
        for &number in &order {
            self.append(number, &places, maps, &mut image)?;
        }
        Ok(image)
    }

    /// Returns the numbers of `main` and all that it leads to, `main` first.
    fn reached_from(&self, main: usize) -> Result<Vec<usize>, ObjectError> {
        let mut order = vec![main];
        let mut next = 0;
        while let Some(&number) = order.get(next) {
            let function = &self.functions[number];
            for at in function.begin..function.end {
                match self.calls.get(&at) {
                    Some(callee) if !order.contains(callee) => order.push(*callee),
                    Some(_) => {}
                    None if is_call(self.instructions[at]) => {
                        return Err(ObjectError::NoCallee { at });
                    }
                    None => {}
                }
            }
            next += 1;
        }
        Ok(order)
    }

    /// Returns the half that stands in an instruction of a number that the object does not
    /// know: the low one, or the high one in the second.
    fn half(&self, at: usize) -> Option<i32> {
        let value = |name: &String| self.constants.get(name).copied().unwrap_or(0);
        let low = self.unknown.get(&at).map(value);
        let high = || {
            let first = at.checked_sub(1)?;
            self.unknown.get(&first).map(|name| value(name) >> 32)
        };
        let [a, b, c, d, ..] = low.or_else(high)?.to_le_bytes();
        Some(i32::from_le_bytes([a, b, c, d]))
    }

    fn append(
        &self,
        number: usize,
        places: &BTreeMap<usize, usize>,
        maps: &BTreeMap<&str, BorrowedFd<'_>>,
        image: &mut Image,
    ) -> Result<(), ObjectError> {
        let function = &self.functions[number];
        let place = places[&number];
        for at in function.begin..function.end {
            let mut instruction = self.instructions[at];
            if let Some(name) = self.maps.get(&at) {
                let map = maps
                    .get(name.as_str())
                    .ok_or_else(|| ObjectError::NoMap { name: name.clone() })?;
                set_source(&mut instruction, OF_MAP);
                set_constant(&mut instruction, map.as_raw_fd());
            }
            if let Some(half) = self.half(at) {
                set_constant(&mut instruction, half);
            }
            if let Some(callee) = self.calls.get(&at) {
                let here = place + (at - function.begin);
                let distance = places[callee] as i64 - here as i64 - 1;
                let distance = i32::try_from(distance).expect("objects have fewer instructions");
                set_constant(&mut instruction, distance);
            }
            image.instructions.extend_from_slice(&instruction);
        }
        let annotations = &self.annotations;
        move_records(
            &annotations.functions,
            function,
            place,
            &mut image.functions,
        );
        move_records(&annotations.lines, function, place, &mut image.lines);
        Ok(())
    }
}

impl Image {
    /// Returns how many functions its annotations name.
    pub(super) fn function_count(&self) -> usize {
        self.functions.len() / FUNCTION_BYTES
    }

    /// Returns how many lines its annotations name.
    pub(super) fn line_count(&self) -> usize {
        self.lines.len() / LINE_BYTES
    }
}

/// Appends the records about `function`, which now begins at `place`.
fn move_records<const WORDS: usize>(
    records: &[CodeRecord<WORDS>],
    function: &Function,
    place: usize,
    to: &mut Vec<u8>,
) {
    for record in records {
        let offset = record.offset as usize;
        if (function.begin..function.end).contains(&offset) {
            let offset = u32::try_from(place + offset - function.begin);
            let offset = offset.expect("objects have fewer instructions");
            to.extend_from_slice(&offset.to_ne_bytes());
            for word in record.words {
                to.extend_from_slice(&word.to_ne_bytes());
            }
        }
    }
}

fn functions(
    elf: &Elf<'_>,
    code: usize,
    instructions: usize,
) -> Result<Vec<Function>, ObjectError> {
    let mut functions = Vec::new();
    for symbol in &elf.symbols {
        if symbol.kind != SymbolKind::Function || symbol.section != code {
            continue;
        }
        let outside = ObjectError::Truncated { what: "function" };
        let in_instructions = |bytes: u64| usize::try_from(bytes / INSTRUCTION_BYTES as u64);
        let begin = in_instructions(symbol.value);
        let end = symbol.value.checked_add(symbol.size).map(in_instructions);
        match (begin, end) {
            (Ok(begin), Some(Ok(end))) if begin < end && end <= instructions => {
                let name = symbol.name.to_owned();
                functions.push(Function { name, begin, end });
            }
            _ => return Err(outside),
        }
    }
    functions.sort_by_key(|it| it.begin);
    for pair in functions.windows(2) {
        if pair[1].begin < pair[0].end {
            return Err(ObjectError::Overlap {
                first: pair[0].name.clone(),
                second: pair[1].name.clone(),
            });
        }
    }
    Ok(functions)
}

fn annotations(elf: &Elf<'_>) -> Result<(Vec<u8>, Annotations), ObjectError> {
    let section = |name| Some(elf.sections[elf.section(name)?].bytes);
    match (section(".BTF"), section(".BTF.ext")) {
        (Some(types), Some(extension)) => {
            let annotations = Annotations::parse(types, extension, CODE)?;
            Ok((types.to_vec(), annotations))
        }
        _ => Ok((Vec::new(), Annotations::default())),
    }
}

fn is_call(instruction: [u8; INSTRUCTION_BYTES]) -> bool {
    instruction[0] == CALL && instruction[1] >> 4 == OF_PROGRAM
}

fn constant(instruction: [u8; INSTRUCTION_BYTES]) -> i32 {
    let [_, _, _, _, a, b, c, d] = instruction;
    i32::from_le_bytes([a, b, c, d])
}

fn set_constant(instruction: &mut [u8; INSTRUCTION_BYTES], constant: i32) {
    instruction[4..].copy_from_slice(&constant.to_le_bytes());
}

fn set_source(instruction: &mut [u8; INSTRUCTION_BYTES], source: u8) {
    instruction[1] = instruction[1] & 0xf | source << 4;
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use proptest::prelude::*;

    use super::*;

    const PROBE: &[u8] = include_bytes!("../../bpf/probe.o");
    /// The probe's functions in the order in which they lie in the object.
    const NAMES: [&str; 4] = ["tally", "probe", "record", "linger"];

    #[test]
    fn an_object_knows_its_functions_and_the_maps_that_they_use() {
        let object = Object::parse(PROBE).unwrap();

        let names: Vec<&str> = object.functions.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, NAMES);
        assert_eq!(
            object.map_names().collect::<Vec<_>>(),
            ["records", "tallies"]
        );
    }

    #[test]
    fn a_program_begins_with_its_main_function_and_calls_lead_to_functions() {
        let object = Object::parse(PROBE).unwrap();

        let image = link(&object, "probe").unwrap();

        let main = &object.functions[1];
        let (instructions, _) = image.instructions.as_chunks::<INSTRUCTION_BYTES>();
        assert_eq!(instructions[0], object.instructions[main.begin]);
        assert_eq!(instructions.len(), object.instructions.len());
        let begins = offsets(&image.functions, FUNCTION_BYTES);
        let length = main.end - main.begin;
        assert_eq!(begins[..2], [0, length]);
        let calls = instructions.iter().enumerate().filter(|it| is_call(*it.1));
        let callees = calls.map(|(at, it)| at as i64 + 1 + i64::from(constant(*it)));
        assert!(callees.clone().count() > 2);
        assert!(
            callees
                .into_iter()
                .all(|callee| begins.iter().any(|&begin| begin as i64 == callee))
        );
        // The kernel wants lines in order, and one at the beginning of each function.
        let lines = offsets(&image.lines, LINE_BYTES);
        assert!(lines.is_sorted());
        assert!(begins.iter().all(|begin| lines.contains(begin)));
    }

    #[test]
    fn a_program_has_only_the_functions_that_it_needs() {
        let object = Object::parse(PROBE).unwrap();
        let tally = &object.functions[0];

        let image = link(&object, "tally").unwrap();

        let length = (tally.end - tally.begin) * INSTRUCTION_BYTES;
        assert_eq!(image.instructions.len(), length);
        assert_eq!(image.function_count(), 1);
    }

    #[test]
    fn a_function_that_there_is_not_is_named() {
        let error = link(&Object::parse(PROBE).unwrap(), "switch").unwrap_err();

        assert_eq!(error.to_string(), "the object has no function `switch`");
    }

    #[test]
    fn other_files_are_no_objects() {
        for file in [&b""[..], b"\x7fELF", b"#!/bin/sh\n"] {
            assert_eq!(Object::parse(file).unwrap_err(), ObjectError::NotAnObject);
        }
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(
            Object::parse(&program).unwrap_err(),
            ObjectError::NotAnObject
        );
    }

    #[test]
    fn a_variable_is_no_map() {
        let mut file = PROBE.to_vec();
        let place = {
            let elf = Elf::parse(PROBE).unwrap();
            let table = elf.sections[elf.section(".symtab").unwrap()].bytes;
            let number = elf.symbols.iter().position(|it| it.name == "tallies");
            table.as_ptr() as usize - PROBE.as_ptr() as usize + 24 * number.unwrap()
        };
        // As if it were defined in the first section.
        file[place + 6] = 1;

        let error = Object::parse(&file).unwrap_err();

        assert!(
            matches!(&error, ObjectError::NotLoaded { name, .. } if name == "tallies"),
            "{error}"
        );
    }

    #[test]
    fn an_object_that_was_cut_off_is_an_error() {
        for length in 0..PROBE.len() {
            assert!(Object::parse(&PROBE[..length]).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_object_or_an_error(
            rest in prop::collection::vec(any::<u8>(), 0..4096),
        ) {
            let file = [&PROBE[..20], &rest].concat();

            let _ = Object::parse(&file);
        }

        #[test]
        fn a_damaged_object_is_an_object_or_an_error(
            damages in prop::collection::vec((0..PROBE.len(), any::<u8>()), 1..8),
        ) {
            let mut file = PROBE.to_vec();
            for (at, byte) in damages {
                file[at] = byte;
            }

            if let Ok(object) = Object::parse(&file) {
                for name in NAMES {
                    let _ = link(&object, name);
                }
            }
        }

        /// Most bytes of a header lead somewhere.
        #[test]
        fn a_damaged_header_is_an_object_or_an_error(
            section in 0_usize..10,
            damages in prop::collection::vec((0_usize..64, any::<u8>()), 1..4),
        ) {
            let mut file = PROBE.to_vec();
            let table = u64::from_le_bytes(PROBE[40..48].try_into().unwrap());
            let header = usize::try_from(table).unwrap() + 64 * section;
            for (at, byte) in damages {
                file[header + at] = byte;
            }

            if let Ok(object) = Object::parse(&file) {
                let _ = link(&object, "probe");
            }
        }
    }

    fn link(object: &Object, main: &str) -> Result<Image, ObjectError> {
        // Any descriptor does: nothing is loaded.
        let file = File::open("/dev/null").unwrap();
        let maps = ["tallies", "records"].map(|name| (name, file.as_fd()));
        object.link(main, &BTreeMap::from(maps))
    }

    fn offsets(records: &[u8], size: usize) -> Vec<usize> {
        let offset = |record: &[u8]| u32::from_ne_bytes(record[..4].try_into().unwrap()) as usize;
        records.chunks_exact(size).map(offset).collect()
    }
}
