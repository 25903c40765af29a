//! A program's place at a tracepoint of the kernel.
//!
//! Sources: `bpf_raw_tp_link_attach` of Linux; `linux/bpf.h`.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use super::attributes::{Attributes, Command};
use super::program::Program;

/// A program that runs whenever the kernel passes there. It is gone from there when this
/// value is dropped or the process ends.
#[derive(Debug)]
pub struct Tracepoint {
    _link: OwnedFd,
}

impl Tracepoint {
    /// Attaches a program that was loaded for one tracepoint to that.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn attach_typed(program: &Program) -> io::Result<Self> {
        let mut open = Attributes::default();
        open.descriptor(8, program.as_fd());
        let link = open.open(Command::TracepointOpen)?;
        Ok(Self { _link: link })
    }

    /// Attaches `program` to the tracepoint of this name.
    ///
    /// # Errors
    ///
    /// `NotFound` if the kernel has no such tracepoint, otherwise what it says.
    pub fn attach(program: &Program, name: &CStr) -> io::Result<Self> {
        let mut open = Attributes::default();
        open.bytes(0, name.to_bytes_with_nul());
        open.descriptor(8, program.as_fd());
        let link = open.open(Command::TracepointOpen)?;
        Ok(Self { _link: link })
    }
}
