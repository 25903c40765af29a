//! The program in the kernel that hands an interface's frames to a socket.
//!
//! Six instructions: look the frame's receive queue up in a map of sockets, and
//! pass the frame on to the network stack if there is none. The program stays
//! attached for as long as this process holds the link to it.
//!
//! Sources: `linux/bpf.h`; RFC 9669 (the instructions); Documentation/networking/af_xdp.rst of Linux.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use super::Attachment;

/// Commands of `bpf(2)`.
mod command {
    pub const MAP_CREATE: libc::c_int = 0;
    pub const MAP_UPDATE: libc::c_int = 2;
    pub const PROGRAM_LOAD: libc::c_int = 5;
    pub const LINK_CREATE: libc::c_int = 28;
}
const MAP_OF_SOCKETS: u32 = 17;
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
const ATTRIBUTES_BYTES: usize = 128;

/// The program, attached to one interface. It is detached when this value is
/// dropped, or the process ends.
#[derive(Debug)]
pub(super) struct Redirect {
    _link: OwnedFd,
    _map: OwnedFd,
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
        let key = 0_u32;
        let value = descriptor(socket.as_raw_fd());
        let mut update = Attributes::default();
        update.word(0, descriptor(map.as_raw_fd()));
        update.address(8, &raw const key);
        update.address(16, &raw const value);
        update.run(command::MAP_UPDATE)?;
        let program = load(&map)?;
        let mut attach = Attributes::default();
        attach.word(0, descriptor(program.as_raw_fd()));
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
            _link: attach.open(command::LINK_CREATE)?,
            _map: map,
        })
    }
}

fn create_map() -> io::Result<OwnedFd> {
    let mut create = Attributes::default();
    create.word(0, MAP_OF_SOCKETS);
    create.word(4, size_of::<u32>().try_into().expect("4"));
    create.word(8, size_of::<u32>().try_into().expect("4"));
    create.word(12, QUEUES);
    create.open(command::MAP_CREATE)
}

fn load(map: &OwnedFd) -> io::Result<OwnedFd> {
    let program = program(map.as_raw_fd());
    let licence = c"Apache-2.0";
    let mut load = Attributes::default();
    load.word(0, PROGRAM_XDP);
    load.word(4, program.len().try_into().expect("six"));
    load.address(8, program.as_ptr());
    load.address(16, licence.as_ptr());
    load.open(command::PROGRAM_LOAD)
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

/// One instruction, `struct bpf_insn`: its code, the numbers of the destination
/// and source registers, an offset and a constant.
fn instruction(code: u8, (to, from): (u8, u8), offset: i16, constant: i32) -> u64 {
    let registers = if cfg!(target_endian = "little") {
        from << 4 | to
    } else {
        to << 4 | from
    };
    let [a, b] = offset.to_ne_bytes();
    let [c, d, e, f] = constant.to_ne_bytes();
    u64::from_ne_bytes([code, registers, a, b, c, d, e, f])
}

/// The argument of `bpf(2)`: a union, written at the offsets of the command.
struct Attributes {
    bytes: [u8; ATTRIBUTES_BYTES],
}

impl Default for Attributes {
    fn default() -> Self {
        Self {
            bytes: [0; ATTRIBUTES_BYTES],
        }
    }
}

impl Attributes {
    fn word(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn address<T>(&mut self, offset: usize, pointer: *const T) {
        let address = pointer as u64;
        self.bytes[offset..offset + 8].copy_from_slice(&address.to_ne_bytes());
    }

    /// Runs a command; what its addresses lead to must live until it returns, as
    /// the callers' locals do.
    fn run(&self, command: libc::c_int) -> io::Result<i64> {
        // SAFETY: the attributes are as long as said, zero where the command
        // takes nothing, and their addresses lead to locals of the callers, which
        // live longer than this call and have the sizes that the command reads.
        #[expect(unsafe_code, reason = "bpf")]
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command,
                self.bytes.as_ptr(),
                ATTRIBUTES_BYTES,
            )
        };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(result)
        }
    }

    /// Runs a command that returns a descriptor.
    fn open(&self, command: libc::c_int) -> io::Result<OwnedFd> {
        let fd = self.run(command)?;
        let fd = i32::try_from(fd).expect("descriptors are small");
        // SAFETY: the kernel has just given us this descriptor and nobody else has
        // it.
        #[expect(unsafe_code, reason = "own the new descriptor")]
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

fn descriptor(fd: i32) -> u32 {
    u32::try_from(fd).expect("open descriptors are not negative")
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
