//! One network interface of the namespace that the calling thread is in.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use libc::{c_char, c_ulong};
use wire::ethernet::MacAddress;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::socket::done;

const NAME_BYTES: usize = libc::IFNAMSIZ;

/// Names the `ethtool` requests that are used here; `linux/ethtool.h`.
mod ethtool {
    pub const GET_LINK: u32 = 0x0a;
    pub const SET_RX_CHECKSUM: u32 = 0x15;
    pub const SET_TX_CHECKSUM: u32 = 0x17;
    pub const SET_SCATTER_GATHER: u32 = 0x19;
    pub const SET_TSO: u32 = 0x1f;
    pub const SET_GSO: u32 = 0x24;
    pub const SET_GRO: u32 = 0x2c;
    pub const REQUEST: libc::c_ulong = 0x8946;
}

/// Whether an interface has a peer at the other end of its cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nobody is there, or the interface is down.
    Lost,
    /// The other end is up.
    Present,
}

/// An interface, by name, with a socket through which to ask about it.
///
/// The socket stays in the namespace in which it was made, so that an interface
/// can be asked from any thread afterwards.
#[derive(Debug)]
pub struct Interface {
    name: [u8; NAME_BYTES],
    index: u32,
    control: OwnedFd,
}

/// What `SIOCETHTOOL` takes: the name, then a pointer to the request.
#[repr(C)]
struct Request {
    name: [c_char; NAME_BYTES],
    data: *mut Value,
    /// The rest of the kernel's union, unused here.
    rest: [u8; 16],
}

/// What the other requests about an interface take and return, `struct ifreq`.
#[repr(C)]
struct Question {
    name: [c_char; NAME_BYTES],
    answer: [u8; 24],
}

/// An `ethtool` request with one word.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

impl Interface {
    /// Finds the interface `name` in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is none of that name.
    pub fn named(name: &str) -> io::Result<Self> {
        let mut bytes = [0; NAME_BYTES];
        let room = bytes
            .get_mut(..name.len())
            .filter(|room| room.len() < NAME_BYTES);
        room.ok_or(io::ErrorKind::InvalidInput)?
            .copy_from_slice(name.as_bytes());
        let control = socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let index =
            rustix::net::netdevice::name_to_index(&control, name).map_err(|error| match error {
                rustix::io::Errno::NODEV => {
                    io::Error::new(io::ErrorKind::NotFound, format!("no interface `{name}`"))
                }
                other => other.into(),
            })?;
        Ok(Self {
            name: bytes,
            index,
            control,
        })
    }

    /// Returns a second way to ask about the same interface.
    ///
    /// # Errors
    ///
    /// If the process has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            name: self.name,
            index: self.index,
            control: self.control.try_clone()?,
        })
    }

    /// Returns its number in its namespace.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        let end = self.name.iter().position(|byte| *byte == 0);
        let name = &self.name[..end.expect("a name is shorter than its room")];
        str::from_utf8(name).expect("made of a str")
    }

    /// Asks for its hardware address.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn mac(&self) -> io::Result<MacAddress> {
        let answer = self.ask(libc::SIOCGIFHWADDR as c_ulong, [0; 24])?;
        // The address stands behind its family.
        let (_, address) = answer.split_at(size_of::<u16>());
        Ok(MacAddress(
            *address.first_chunk().expect("22 bytes are left"),
        ))
    }

    /// Asks the driver for the carrier, so that the answer is never late. Events
    /// of the kernel can be late by most of a second.
    ///
    /// Waits while another thread changes the network's configuration: not for a
    /// thread that moves frames.
    ///
    /// # Errors
    ///
    /// If the interface has gone.
    pub fn carrier(&self) -> io::Result<Carrier> {
        match self.ethtool(ethtool::GET_LINK, 0)? {
            0 => Ok(Carrier::Lost),
            _ => Ok(Carrier::Present),
        }
    }

    /// Switches off everything that would merge, split or leave frames
    /// unfinished, so that each frame on the wire is one frame here.
    ///
    /// # Errors
    ///
    /// If the driver refuses; one that does not know an offload has none.
    pub fn disable_offloads(&self) -> io::Result<()> {
        for command in [
            ethtool::SET_TSO,
            ethtool::SET_GSO,
            ethtool::SET_GRO,
            ethtool::SET_TX_CHECKSUM,
            ethtool::SET_RX_CHECKSUM,
            ethtool::SET_SCATTER_GATHER,
        ] {
            match self.ethtool(command, 0) {
                Ok(_) => {}
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn ask(&self, request: c_ulong, value: [u8; 24]) -> io::Result<[u8; 24]> {
        let mut question = Question {
            name: self.name.map(u8::cast_signed),
            answer: value,
        };
        // SAFETY: `question` has the layout and size of the kernel's `ifreq`, and
        // lives until the call returns; the requests that are made here read and
        // write nothing else.
        #[expect(unsafe_code, reason = "ioctl")]
        let result =
            unsafe { libc::ioctl(self.control.as_raw_fd(), request as _, &raw mut question) };
        done(result)?;
        Ok(question.answer)
    }

    fn ethtool(&self, command: u32, data: u32) -> io::Result<u32> {
        let mut value = Value { command, data };
        let mut request = Request {
            name: self.name.map(u8::cast_signed),
            data: &raw mut value,
            rest: [0; 16],
        };
        // SAFETY: `request` has the layout and size of the kernel's `ifreq` and
        // its pointer leads to a request of the size that these commands read
        // and write; both live until the call returns.
        #[expect(unsafe_code, reason = "ioctl")]
        let result = unsafe {
            let number = ethtool::REQUEST as c_ulong;
            libc::ioctl(self.control.as_raw_fd(), number as _, &raw mut request)
        };
        done(result)?;
        Ok(value.data)
    }
}
