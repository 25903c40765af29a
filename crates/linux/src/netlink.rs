//! Asks the kernel to change the network configuration of one namespace.
//!
//! Speaks rtnetlink directly: no other program needs to be installed, and a
//! request takes microseconds. Every request is acknowledged before the next.
//!
//! Sources: RFC 3549; `linux/netlink.h` and `linux/rtnetlink.h`.

use std::io;
use std::os::fd::OwnedFd;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

const HEADER_BYTES: usize = 16;
const ALIGNMENT: usize = 4;
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;
/// Asks for all things of a kind.
const ALL: u16 = 0x300;
/// The type of the kernel's answer: an error number, zero for success.
const ANSWER: u16 = 2;
/// The type of the message behind the last of a list.
const END: u16 = 3;
/// Marks an attribute that contains attributes.
const NESTED: u16 = 0x8000;
/// The answer repeats the request; ours are shorter.
const ANSWER_BYTES: usize = 8192;
/// The kernel puts at most this much of a list into one message.
const LIST_BYTES: usize = 1 << 15;

/// Whether a request makes something new or changes what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Make something that must not exist yet.
    Create,
    /// Change something that exists.
    Change,
}

/// A request under construction.
#[derive(Clone, Debug)]
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// Begins a request of type `kind` with its fixed part `header`.
    #[must_use]
    pub fn new(kind: u16, purpose: Purpose, header: &[u8]) -> Self {
        let flags = REQUEST
            | ACKNOWLEDGE
            | match purpose {
                Purpose::Create => CREATE | EXCLUSIVE,
                Purpose::Change => 0,
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
        })
    }

    /// Sends `request` and waits until the kernel has done it.
    ///
    /// # Errors
    ///
    /// The kernel's reason to refuse.
    pub fn ask(&mut self, request: Request) -> io::Result<()> {
        self.send(request)?;
        loop {
            let mut answer = [0; ANSWER_BYTES];
            let (length, _) = recv(&self.socket, &mut answer[..], RecvFlags::empty())?;
            if let Some(outcome) = self.outcome(&answer[..length]) {
                return outcome;
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
        let mut request = Request::new(kind, Purpose::Change, header);
        request.bytes[6..8].copy_from_slice(&(REQUEST | ALL).to_ne_bytes());
        self.send(request)?;
        let mut listed = Vec::new();
        let mut room = vec![0; LIST_BYTES];
        loop {
            let (length, _) = recv(&self.socket, &mut room[..], RecvFlags::empty())?;
            let mut rest = &room[..length];
            while let Some((message, behind)) = first_message(rest) {
                rest = behind;
                if message.get(8..12) != Some(&self.sequence.to_ne_bytes()[..]) {
                    continue;
                }
                match u16::from_ne_bytes([message[4], message[5]]) {
                    END => return Ok(listed),
                    ANSWER => self.outcome(message).unwrap_or(Ok(()))?,
                    _ => listed.push(message[HEADER_BYTES..].to_vec()),
                }
            }
        }
    }

    fn send(&mut self, request: Request) -> io::Result<()> {
        let mut bytes = request.bytes;
        let length = u32::try_from(bytes.len()).expect("requests are small");
        self.sequence = self.sequence.wrapping_add(1);
        bytes[0..4].copy_from_slice(&length.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        send(&self.socket, &bytes, SendFlags::empty())?;
        Ok(())
    }

    /// Returns what the kernel says about the latest request, if `message` is
    /// about that.
    fn outcome(&self, message: &[u8]) -> Option<io::Result<()>> {
        let word = |at: usize| message.get(at..at + 4)?.try_into().ok();
        let kind = u16::from_ne_bytes(message.get(4..6)?.try_into().ok()?);
        if kind != ANSWER || u32::from_ne_bytes(word(8)?) != self.sequence {
            return None;
        }
        Some(match i32::from_ne_bytes(word(HEADER_BYTES)?) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        })
    }
}

/// Returns the attribute `kind` among `attributes`, if it is there.
#[must_use]
pub fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let mut rest = attributes;
    loop {
        let length = u16::from_ne_bytes(rest.get(0..2)?.try_into().ok()?);
        let found = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?);
        let length = usize::from(length);
        if found & !NESTED == kind {
            return rest.get(ALIGNMENT..length);
        }
        rest = rest.get(length.max(ALIGNMENT).next_multiple_of(ALIGNMENT)..)?;
    }
}

/// Splits off the first of several messages.
fn first_message(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(0..4)?.try_into().ok()?);
    let length = usize::try_from(length).ok()?;
    let message = bytes.get(..length).filter(|it| it.len() >= HEADER_BYTES)?;
    let next = length.next_multiple_of(ALIGNMENT).min(bytes.len());
    Some((message, &bytes[next..]))
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
