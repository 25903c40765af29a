//! A request about an interface whose words stand elsewhere: `ifreq` has room for a
//! pointer to them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_char, c_ulong};

use super::NAME_BYTES;
use crate::socket::done;

/// What the kernel takes: the name, then a pointer to the words.
#[repr(C)]
struct InterfaceCall {
    name: [c_char; NAME_BYTES],
    data: *mut u32,
    /// The rest of the kernel's union, unused here.
    rest: [u8; 16],
}

/// Makes the request of number `request` about the interface of this name. It has as many
/// words as that request, or the first of them, asks for; the answer takes their place.
pub fn ask<const N: usize>(
    control: &OwnedFd,
    name: [u8; NAME_BYTES],
    request: c_ulong,
    mut words: [u32; N],
) -> io::Result<[u32; N]> {
    let mut asked = InterfaceCall {
        name: name.map(u8::cast_signed),
        data: words.as_mut_ptr(),
        rest: [0; 16],
    };
    // SAFETY: `asked` has the layout and size of the kernel's `ifreq` and its
    // pointer leads to as many words as the callers' requests read and write;
    // both live until the call returns.
    #[expect(unsafe_code, reason = "ioctl")]
    let result = unsafe { libc::ioctl(control.as_raw_fd(), request as _, &raw mut asked) };
    done(result)?;
    Ok(words)
}
