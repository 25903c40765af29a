//! Programs of a few instructions that move every frame of one interface to
//! another one: as much as forwarding in the kernel takes at least.
//!
//! What a switch in the kernel adds to that is its own. A relay stays attached for
//! as long as this process holds it.
//!
//! Sources: `linux/bpf.h`; RFC 9669 (the instructions); bpf-helpers(7).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::attributes::{Attributes, Command};
use super::instruction::instruction;
use crate::sender::ClassId;

const LICENCE: &[u8] = b"Apache-2.0\0";
const INSTRUCTION_BYTES: usize = 8;
/// `XDP_PASS`
const PASS: i32 = 2;
/// `bpf_redirect`
const REDIRECT: i32 = 23;
/// Where the class of a frame stands in the context, `struct __sk_buff`.
const PRIORITY_OFFSET: i16 = 32;

/// Where a relay takes frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Where traffic control takes them in. They leave through the queueing
    /// discipline of the other interface.
    TrafficControl,
    /// Where the driver takes them in. They leave past the queueing discipline; of
    /// two ends of a virtual cable the receiving one has to [`accept`](Relay::accept)
    /// them.
    Driver,
}

/// How a frame says to which class of the other interface's queueing discipline it
/// goes: one byte of it is the number of classes behind the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassByte {
    pub offset: u16,
    pub first: ClassId,
}

/// A program that is attached to an interface.
#[derive(Debug)]
pub struct Relay {
    _link: OwnedFd,
}

impl Relay {
    /// Moves what the interface of number `from` receives to that of number `to`,
    /// both in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// Without CAP_BPF and CAP_NET_ADMIN, without the interface, if another program
    /// has the driver's hook, or if the kernel (before 6.6) has no links at traffic
    /// control.
    pub fn attach(from: u32, to: u32, hook: Hook) -> io::Result<Self> {
        let index = i32::try_from(to).map_err(|_| io::ErrorKind::InvalidInput)?;
        Self::run(from, hook, &redirect(index))
    }

    /// The same at traffic control, with a class for each frame.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub fn attach_with_classes(from: u32, to: u32, class: ClassByte) -> io::Result<Self> {
        let index = i32::try_from(to).map_err(|_| io::ErrorKind::InvalidInput)?;
        let first = i32::try_from(class.first.as_u32());
        let first = first.map_err(|_| io::ErrorKind::InvalidInput)?;
        let program = [classify(class.offset, first), redirect(index)].concat();
        Self::run(from, Hook::TrafficControl, &program)
    }

    /// Has the interface of number `index` take frames that a driver's program at
    /// the other end of its cable sends, and hand them to the network stack.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub fn accept(index: u32) -> io::Result<Self> {
        Self::run(index, Hook::Driver, &accept())
    }

    fn run(index: u32, hook: Hook, program: &[u64]) -> io::Result<Self> {
        let program = load(hook, program)?;
        let mut create = Attributes::default();
        create.descriptor(0, program.as_fd());
        create.word(4, index);
        create.word(8, attachment(hook));
        create.word(12, flags(hook));
        Ok(Self {
            _link: create.open(Command::LinkCreate)?,
        })
    }
}

fn load(hook: Hook, program: &[u64]) -> io::Result<OwnedFd> {
    let bytes: Vec<u8> = program.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let length = u32::try_from(bytes.len() / INSTRUCTION_BYTES).expect("a few");
    let mut load = Attributes::default();
    load.word(0, kind(hook));
    load.word(4, length);
    load.bytes(8, &bytes);
    load.bytes(16, LICENCE);
    load.open(Command::ProgramLoad)
}

/// `BPF_PROG_TYPE_SCHED_CLS`, `BPF_PROG_TYPE_XDP`
fn kind(hook: Hook) -> u32 {
    match hook {
        Hook::TrafficControl => 3,
        Hook::Driver => 6,
    }
}

/// `BPF_TCX_INGRESS`, `BPF_XDP`
fn attachment(hook: Hook) -> u32 {
    match hook {
        Hook::TrafficControl => 46,
        Hook::Driver => 37,
    }
}

/// `XDP_FLAGS_DRV_MODE`
fn flags(hook: Hook) -> u32 {
    match hook {
        Hook::TrafficControl => 0,
        Hook::Driver => 1 << 2,
    }
}

/// `return bpf_redirect(index, 0);`
fn redirect(index: i32) -> [u64; 4] {
    [
        instruction(code::MOVE_CONSTANT, (1, 0), 0, index),
        instruction(code::MOVE_CONSTANT, (2, 0), 0, 0),
        instruction(code::CALL, (0, 0), 0, REDIRECT),
        instruction(code::EXIT, (0, 0), 0, 0),
    ]
}

/// `context->priority = first + frame[offset];`
fn classify(offset: u16, first: i32) -> [u64; 4] {
    [
        // Where loads from the frame look for the context.
        instruction(code::MOVE, (6, 1), 0, 0),
        instruction(code::LOAD_FRAME_BYTE, (0, 0), 0, i32::from(offset)),
        instruction(code::ADD_CONSTANT, (0, 0), 0, first),
        instruction(code::STORE_WORD, (6, 0), PRIORITY_OFFSET, 0),
    ]
}

/// `return XDP_PASS;`
fn accept() -> [u64; 2] {
    [
        instruction(code::MOVE_CONSTANT, (0, 0), 0, PASS),
        instruction(code::EXIT, (0, 0), 0, 0),
    ]
}

/// Codes of instructions, RFC 9669 section 4 to 5.
mod code {
    pub const ADD_CONSTANT: u8 = 0x07;
    pub const LOAD_FRAME_BYTE: u8 = 0x30;
    pub const STORE_WORD: u8 = 0x63;
    pub const CALL: u8 = 0x85;
    pub const EXIT: u8 = 0x95;
    pub const MOVE_CONSTANT: u8 = 0xb7;
    pub const MOVE: u8 = 0xbf;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn every_instruction_has_its_code_registers_offset_and_constant_in_place() {
        // Encoded by hand after RFC 9669 section 3.1.
        let expected = [
            [0xbf, 0x16, 0x00, 0x00, 0, 0, 0, 0],
            [0x30, 0x00, 0x00, 0x00, 19, 0, 0, 0],
            [0x07, 0x00, 0x00, 0x00, 0x10, 0, 1, 0],
            [0x63, 0x06, 0x20, 0x00, 0, 0, 0, 0],
            [0xb7, 0x01, 0x00, 0x00, 23, 0, 0, 0],
            [0xb7, 0x02, 0x00, 0x00, 0, 0, 0, 0],
            [0x85, 0x00, 0x00, 0x00, 23, 0, 0, 0],
            [0x95, 0x00, 0x00, 0x00, 0, 0, 0, 0],
        ];

        let program: Vec<u64> = [classify(19, 0x1_0010), redirect(23)].concat();

        assert_eq!(
            program
                .into_iter()
                .map(u64::to_ne_bytes)
                .collect::<Vec<_>>(),
            expected
        );
    }
}
