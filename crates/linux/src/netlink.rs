//! Asks the kernel about the network configuration of one namespace, and to change
//! it.
//!
//! Speaks rtnetlink directly: no other program needs to be installed, and a
//! request takes microseconds. Every request is answered to its end before the
//! next.
//!
//! Sources: RFC 3549; `linux/netlink.h` and `linux/rtnetlink.h`.

mod message;

use std::io;
use std::os::fd::OwnedFd;

pub use message::{Attribute, NetlinkMessage, attributes, messages};
pub(crate) use message::{double_word, word};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

const HEADER_BYTES: usize = 16;
const ALIGNMENT: usize = 4;
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const ECHO: u16 = 0x8;
const LIST: u16 = 0x300;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
/// The type of the kernel's last word: an error number, zero for success.
const ANSWER: u16 = 2;
/// The type of the end of a list; its number is an error of the list.
const DONE: u16 = 3;
/// Marks an attribute that contains attributes.
const NESTED: u16 = 0x8000;
/// The kernel puts at most this much of a list into one piece, and an answer that
/// repeats the request is shorter.
const ANSWER_BYTES: usize = 1 << 15;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Make something that must not exist yet.
    Create,
    /// Change something that exists, or remove it.
    Change,
    Show,
    /// Show all that there is of a kind.
    List,
}

#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// Begins a request of type `kind` with its fixed part `header`.
    #[must_use]
    pub fn new(kind: u16, purpose: Purpose, header: &[u8]) -> Self {
        let flags = REQUEST
            | match purpose {
                Purpose::Create => ACKNOWLEDGE | CREATE | EXCLUSIVE,
                Purpose::Change => ACKNOWLEDGE,
                // Disciplines are shown to who wants an echo, and to nobody else.
                Purpose::Show => ACKNOWLEDGE | ECHO,
                Purpose::List => LIST,
            };
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        let mut request = Self { bytes };
        request.raw(header);
        request
    }

    /// Appends the attribute `kind`.
    #[must_use]
    pub fn with(mut self, kind: u16, value: &[u8]) -> Self {
        self.append(kind, value);
        self
    }

    /// Appends the attribute `kind` whose value is the attributes that `fill`
    /// appends.
    #[must_use]
    pub fn with_nested(mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> Self {
        self.nest(kind, fill);
        self
    }

    /// Appends the attribute `kind`.
    pub fn append(&mut self, kind: u16, value: &[u8]) {
        let length = u16::try_from(value.len() + ALIGNMENT).expect("attributes are small");
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.raw(value);
    }

    /// Appends the attribute `kind` whose value is what `fill` appends.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) {
        let begin = self.bytes.len();
        self.append(kind | NESTED, &[]);
        fill(self);
        let length = u16::try_from(self.bytes.len() - begin).expect("attributes are small");
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
    }

    /// Appends bytes that are no attribute, filled up to the next word.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.bytes
            .resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// A connection to the network configuration of the namespace in which it was
/// opened. Usable from any thread afterwards.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    room: Vec<u8>,
}

impl Netlink {
    /// Opens a connection in the calling thread's namespace.
    ///
    /// # Errors
    ///
    /// If the kernel has no rtnetlink.
    pub fn open() -> io::Result<Self> {
        // Protocol zero, the default, is rtnetlink.
        let protocol = None;
        let (family, flags) = (AddressFamily::NETLINK, SocketFlags::CLOEXEC);
        Ok(Self {
            socket: socket_with(family, SocketType::RAW, flags, protocol)?,
            sequence: 0,
            room: vec![0; ANSWER_BYTES],
        })
    }

    /// Sends `request` and waits until the kernel has done it.
    ///
    /// # Errors
    ///
    /// The kernel's reason to refuse.
    pub fn ask(&mut self, request: Request) -> io::Result<()> {
        self.ask_for(request, |_| ())
    }

    /// Sends `request` and hands `each` every message that the kernel shows, up to
    /// the last.
    ///
    /// # Errors
    ///
    /// The kernel's reason to refuse.
    pub fn ask_for(
        &mut self,
        request: Request,
        mut each: impl FnMut(NetlinkMessage<'_>),
    ) -> io::Result<()> {
        let mut bytes = request.bytes;
        let length = u32::try_from(bytes.len()).expect("requests are small");
        self.sequence = self.sequence.wrapping_add(1);
        bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        send(&self.socket, &bytes, SendFlags::empty())?;
        loop {
            let (length, _) = recv(&self.socket, &mut self.room[..], RecvFlags::empty())?;
            for message in messages(&self.room[..length]) {
                // What is left of a request that was given up is nobody's.
                if message.sequence != self.sequence {
                    continue;
                }
                match message.kind {
                    ANSWER | DONE => return outcome(message.body),
                    _ => each(message),
                }
            }
        }
    }

    /// Asks for all things that a request of type `kind` with the fixed part
    /// `header` lists, and returns what each answer holds behind its own header.
    ///
    /// # Errors
    ///
    /// The kernel's reason to refuse.
    pub fn list(&mut self, kind: u16, header: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut listed = Vec::new();
        let request = Request::new(kind, Purpose::List, header);
        self.ask_for(request, |message| listed.push(message.body.to_vec()))?;
        Ok(listed)
    }
}

/// Returns the value of the attribute `kind` in `bytes`, if it is there.
#[must_use]
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    let found = attributes(bytes).find(|attribute| attribute.kind == kind)?;
    Some(found.value)
}

/// Returns what the kernel's last word about a request says.
fn outcome(body: &[u8]) -> io::Result<()> {
    match body.first_chunk().copied().map(i32::from_ne_bytes) {
        None | Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.wrapping_neg())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_listed_among_the_interfaces() {
        const GET_LINK: u16 = 18;
        const LINK_HEADER_BYTES: usize = 16;
        const NAME: u16 = 3;
        let mut netlink = Netlink::open().unwrap();

        let listed = netlink.list(GET_LINK, &[0; LINK_HEADER_BYTES]).unwrap();

        let mut names = listed
            .iter()
            .map(|it| attribute(&it[LINK_HEADER_BYTES..], NAME));
        assert!(names.any(|name| name == Some(b"lo\0")));
    }

    #[test]
    fn attributes_are_filled_up_to_whole_words_and_nested_ones_counted_whole() {
        let request = Request::new(16, Purpose::Change, &[])
            .with(3, b"ab")
            .with_nested(18, |inner| inner.append(1, b"veth"));

        let attributes = &request.bytes[HEADER_BYTES..];
        assert_eq!(attributes[..8], [6, 0, 3, 0, b'a', b'b', 0, 0]);
        assert_eq!(
            attributes[8..],
            [12, 0, 18, 0x80, 8, 0, 1, 0, b'v', b'e', b't', b'h']
        );
    }
}
