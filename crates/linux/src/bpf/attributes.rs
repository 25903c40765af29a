//! The argument of `bpf(2)`, and the call itself.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Commands of `bpf(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Command {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    ProgramLoad = 5,
    ObjectPin = 6,
    ObjectOpen = 7,
    ProgramTestRun = 10,
    ProgramOfNumber = 13,
    Inform = 15,
    ProgramQuery = 16,
    TracepointOpen = 17,
    TypesLoad = 18,
    LinkCreate = 28,
    LinkUpdate = 29,
    LinkDetach = 34,
}

/// What the longest of our commands takes; the kernel accepts more than it knows
/// as long as the rest is zero.
const BYTES: usize = 128;

/// The argument of `bpf(2)`: a union, written at the offsets of the command. What
/// its addresses lead to is borrowed for as long as it lives.
#[derive(Debug)]
pub(crate) struct Attributes<'a> {
    bytes: [u8; BYTES],
    borrowed: PhantomData<&'a mut [u8]>,
}

impl Default for Attributes<'_> {
    fn default() -> Self {
        Self {
            bytes: [0; BYTES],
            borrowed: PhantomData,
        }
    }
}

impl<'a> Attributes<'a> {
    pub(crate) fn word(&mut self, offset: usize, value: u32) {
        self.bytes[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
    }

    pub(crate) fn byte(&mut self, offset: usize, value: u8) {
        self.bytes[offset] = value;
    }

    pub(crate) fn descriptor(&mut self, offset: usize, descriptor: BorrowedFd<'_>) {
        let number = u32::try_from(descriptor.as_raw_fd());
        self.word(offset, number.expect("open descriptors are not negative"));
    }

    /// Writes the address of bytes that the kernel reads. The caller answers for
    /// their number being what the command reads.
    pub(crate) fn bytes(&mut self, offset: usize, bytes: &'a [u8]) {
        self.address(offset, bytes.as_ptr() as u64);
    }

    /// Writes the address of bytes that the kernel writes. The caller answers for
    /// their number being what the command writes.
    pub(crate) fn bytes_mut(&mut self, offset: usize, bytes: &'a mut [u8]) {
        self.address(offset, bytes.as_mut_ptr() as u64);
    }

    fn address(&mut self, offset: usize, address: u64) {
        self.bytes[offset..offset + 8].copy_from_slice(&address.to_ne_bytes());
    }

    /// Returns a number that the command has written.
    pub(crate) fn answer(&self, offset: usize) -> u32 {
        let word = self.bytes[offset..offset + 4].try_into();
        u32::from_ne_bytes(word.expect("four bytes"))
    }

    /// Runs a command, which may write answers into the attributes.
    pub(crate) fn run(&mut self, command: Command) -> io::Result<i64> {
        // SAFETY: the attributes are as long as said and zero where the command
        // takes nothing; their addresses lead to memory that is borrowed for as
        // long as they live and has the size that the command reads or writes, for
        // which those answer who have put it there.
        #[expect(unsafe_code, reason = "bpf")]
        let result = unsafe {
            libc::syscall(
                libc::SYS_bpf,
                command as libc::c_int,
                self.bytes.as_mut_ptr(),
                BYTES,
            )
        };
        if result < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(result)
        }
    }

    /// Runs a command that returns a descriptor.
    pub(crate) fn open(&mut self, command: Command) -> io::Result<OwnedFd> {
        let fd = self.run(command)?;
        let fd = i32::try_from(fd).expect("descriptors are small");
        // SAFETY: the kernel has just given us this descriptor and nobody else has
        // it.
        #[expect(unsafe_code, reason = "own the new descriptor")]
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}
