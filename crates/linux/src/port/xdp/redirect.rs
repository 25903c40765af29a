//! The program in the kernel that hands an interface's frames to a socket.
//!
//! Six instructions: look the frame's receive queue up in a map of sockets, and
//! pass the frame on to the network stack if there is none. The program stays
//! attached for as long as this process holds the link to it.
//!
//! Sources: `linux/bpf.h`; RFC 9669 (the instructions); Documentation/networking/af_xdp.rst of Linux.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::Attachment;
use crate::bpf::attributes::{Attributes, Command};
use crate::bpf::instruction::instruction;
use crate::bpf::map::{Map, MapKind, MapShape};

const PROGRAM_XDP: u32 = 6;
const ATTACH_XDP: u32 = 37;
/// `XDP_FLAGS_DRV_MODE`
const BY_DRIVER: u32 = 1 << 2;
/// The only queue that is used.
const QUEUES: u32 = 1;
/// What becomes of a frame without a socket: it goes on to the network stack.
const PASS: i32 = 2;
const REDIRECT_MAP: i32 = 51;
/// Where the receive queue stands in the context, `struct xdp_md`.
const QUEUE_OFFSET: i16 = 16;
const LICENCE: &[u8] = b"Apache-2.0\0";

/// The program, attached to one interface. It is detached when this value is
/// dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Redirect {
    _link: OwnedFd,
    _map: Map,
}

impl Redirect {
    /// Attaches the program to the interface of number `index`, to hand the frames
    /// of its first receive queue to `socket`.
    pub(super) fn attach(
        index: u32,
        socket: BorrowedFd<'_>,
        attachment: Attachment,
    ) -> io::Result<Self> {
        let map = create_map()?;
        let number = socket.as_raw_fd().to_ne_bytes();
        map.update(&0_u32.to_ne_bytes(), &number)?;
        let program = load(&map)?;
        let mut attach = Attributes::default();
        attach.descriptor(0, program.as_fd());
        attach.word(4, index);
        attach.word(8, ATTACH_XDP);
        attach.word(
            12,
            match attachment {
                Attachment::Native => BY_DRIVER,
                Attachment::Any => 0,
            },
        );
        Ok(Self {
            _link: attach.open(Command::LinkCreate)?,
            _map: map,
        })
    }
}

fn create_map() -> io::Result<Map> {
    let shape = MapShape {
        kind: MapKind::Sockets,
        key_bytes: 4,
        value_bytes: 4,
        entries: QUEUES,
    };
    Map::create("sockets", shape).map_err(|refusal| refusal.source)
}

fn load(map: &Map) -> io::Result<OwnedFd> {
    let program = program(map.as_fd().as_raw_fd());
    let instructions = program.map(u64::to_ne_bytes);
    let mut load = Attributes::default();
    load.word(0, PROGRAM_XDP);
    load.word(4, program.len().try_into().expect("six"));
    load.bytes(8, instructions.as_flattened());
    load.bytes(16, LICENCE);
    load.open(Command::ProgramLoad)
}

/// `return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_PASS);`
fn program(map: i32) -> [u64; 6] {
    const LOAD_WORD: u8 = 0x61;
    const LOAD_ADDRESS: u8 = 0x18;
    const MOVE: u8 = 0xb7;
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    /// Has the kernel put the map's address where its descriptor stands.
    const OF_MAP: u8 = 1;
    [
        instruction(LOAD_WORD, (2, 1), QUEUE_OFFSET, 0),
        instruction(LOAD_ADDRESS, (1, OF_MAP), 0, map),
        instruction(0, (0, 0), 0, 0),
        instruction(MOVE, (3, 0), 0, PASS),
        instruction(CALL, (0, 0), 0, REDIRECT_MAP),
        instruction(EXIT, (0, 0), 0, 0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn every_instruction_has_its_code_registers_offset_and_constant_in_place() {
        // Encoded by hand after RFC 9669 section 3.1, with map number 5.
        let expected = [
            [0x61, 0x12, 0x10, 0x00, 0, 0, 0, 0],
            [0x18, 0x11, 0x00, 0x00, 5, 0, 0, 0],
            [0x00, 0x00, 0x00, 0x00, 0, 0, 0, 0],
            [0xb7, 0x03, 0x00, 0x00, 2, 0, 0, 0],
            [0x85, 0x00, 0x00, 0x00, 51, 0, 0, 0],
            [0x95, 0x00, 0x00, 0x00, 0, 0, 0, 0],
        ];

        assert_eq!(program(5).map(u64::to_ne_bytes), expected);
    }
}
