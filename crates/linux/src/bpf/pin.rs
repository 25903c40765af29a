//! Objects of the kernel under a name in a file system of theirs (bpffs), which stay as long
//! as the name does, whoever has made them.
//!
//! Names have no dots; the kernel keeps those for itself.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::mount::{MountFlags, mount};

use super::attributes::{Attributes, Command};

/// Names are for whoever has mounted the file system alone.
const OPTIONS: &std::ffi::CStr = c"mode=0700";

/// Mounts the file system at a folder, unless one is there.
///
/// # Errors
///
/// Without CAP_SYS_ADMIN, or if the kernel has none.
pub fn mount_at(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let device = |path: &Path| fs::metadata(path).map(|it| it.dev());
    let is_there = device(folder)? != device(folder.parent().unwrap_or(folder))?;
    if !is_there {
        mount(c"bpf", folder, c"bpf", MountFlags::empty(), OPTIONS)?;
    }
    Ok(())
}

/// Gives an object a name.
///
/// # Errors
///
/// If something has the name already, or as the kernel says.
pub fn pin(object: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut pin = Attributes::default();
    pin.bytes(0, path.as_bytes_with_nul());
    pin.descriptor(8, object);
    pin.run(Command::ObjectPin).map(drop)
}

/// Opens the object of a name.
///
/// # Errors
///
/// If there is none, or as the kernel says.
pub fn open(path: &Path) -> io::Result<OwnedFd> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    let mut open = Attributes::default();
    open.bytes(0, path.as_bytes_with_nul());
    open.open(Command::ObjectOpen)
}
