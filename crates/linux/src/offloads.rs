//! Does what the sender of a frame has left to a card that is not there.
//!
//! A host behind virtual Ethernet leaves the checksum of TCP and UDP to a card: what
//! stands in its place is the sum of the pseudo header alone. And it leaves the
//! cutting: one piece of up to 64 KiB is many frames on a wire. Whoever takes such a
//! piece out of the kernel has to do both.
//!
//! A frame whose checksum is right and happens to be the sum of the pseudo header
//! comes out as it was: its other words add up to zero. So where nobody says what a
//! sender has left, the sum itself may be asked ([`Sum::Perhaps`]).
//!
//! # Left out
//!
//! What is carried inside of a tunnel, where the place of the checksum is not told:
//! it stays as it is.
//!
//! Sources: RFC 9293 section 3.1, RFC 768, RFC 8200 section 8.1, RFC 9260 section 6.8;
//! `linux/virtio_net.h` for the words by which the kernel tells.

use std::ops::Range;

use switch::crc32c;
use wire::ethernet::EtherType;
use wire::internet_checksum::Checksum;

/// The longest piece that is cut, in bytes: what IPv4 can be long, with its tags.
pub const LONGEST_PIECE: usize = (1 << 16) + 64;

/// The least payload of the frames that a piece is cut into: an ordinary host sends
/// more, and a piece of single bytes would hold the loop up.
pub const SMALLEST_SEGMENT: u16 = 32;

/// Where the type of a frame stands, behind both addresses.
const TYPE_AT: usize = 12;
/// Headers of IPv6 before that of layer 4; others are taken for payload.
const EXTENSIONS_MAX: usize = 8;
const PROTOCOL_TCP: u8 = 6;
const PROTOCOL_UDP: u8 = 17;
/// Where the checksum of SCTP stands, and that of no other protocol.
const SCTP_CHECK: usize = 8;
const UDP_HEADER: usize = 8;
/// Flags of TCP: only the last frame has the first two, only the first the other.
const FIN: u8 = 1;
const PUSH: u8 = 1 << 3;
const WINDOW_REDUCED: u8 = 1 << 7;

/// What a sender has left to do about the checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sum {
    #[default]
    Done,
    /// It is to be made of everything from the byte `from` on.
    From {
        /// Where what it covers begins.
        from: u16,
        at: u16,
    },
    /// It is to be made if what stands there is the sum of the pseudo header.
    Perhaps,
}

/// What a sender has left to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    pub sum: Sum,
    /// The payload of the frames that the piece is to be cut into; zero if it is one.
    pub segment: u16,
}

impl Left {
    /// Tells whether there is nothing to do.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// Returns the same of a frame with so many bytes more in front of its headers.
    #[must_use]
    pub(crate) fn behind(self, bytes: usize) -> Self {
        let more = word(bytes);
        let sum = match self.sum {
            Sum::From { from, at } => Sum::From {
                from: from.saturating_add(more),
                at: at.saturating_add(more),
            },
            Sum::Done | Sum::Perhaps => self.sum,
        };
        Self { sum, ..self }
    }

    /// Returns how many frames a piece of so many bytes is about.
    #[must_use]
    pub fn frames(self, bytes: usize) -> u64 {
        match usize::from(self.segment) {
            0 => 1,
            segment => u64::try_from(bytes.div_ceil(segment)).expect("a piece is short"),
        }
    }
}

/// The piece cannot be cut: it is longer than [`LONGEST_PIECE`], holds neither TCP
/// nor UDP, or the frames would have less than [`SMALLEST_SEGMENT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncut;

/// Which transport protocol is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

/// Where the headers of a packet of TCP or UDP stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layers {
    /// Where that of IP does.
    network: usize,
    addresses: (usize, usize),
    transport: usize,
    protocol: Transport,
}

/// A piece that is taken frame by frame. Allocates nothing once it is made.
#[derive(Debug)]
pub struct Cutter {
    piece: Vec<u8>,
    frame: Vec<u8>,
    /// What of the piece no frame had yet.
    rest: Range<usize>,
    /// How it is cut; nothing if it is one frame.
    cut: Option<Cut>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    layers: Layers,
    /// How long the headers are.
    header: usize,
    segment: usize,
}

impl Default for Cutter {
    fn default() -> Self {
        Self {
            piece: Vec::with_capacity(LONGEST_PIECE),
            frame: Vec::with_capacity(LONGEST_PIECE),
            rest: 0..0,
            cut: None,
        }
    }
}

impl Cutter {
    /// Takes a piece, of which `left` is to be done, in the place of the one before.
    ///
    /// # Errors
    ///
    /// If it cannot be cut; there is no frame then.
    pub fn take(&mut self, piece: &[u8], left: Left) -> Result<(), Uncut> {
        self.rest = 0..0;
        let segment = 1..SMALLEST_SEGMENT;
        if piece.len() > LONGEST_PIECE || segment.contains(&left.segment) {
            return Err(Uncut);
        }
        self.piece.clear();
        self.piece.extend_from_slice(piece);
        self.cut = match usize::from(left.segment) {
            0 => {
                complete(&mut self.piece, left.sum);
                None
            }
            segment => Some(Cut::of(piece, segment).ok_or(Uncut)?),
        };
        self.rest = self.cut.map_or(0, |cut| cut.header)..piece.len();
        Ok(())
    }

    /// Tells whether a frame is left.
    #[must_use]
    #[inline]
    pub fn is_ready(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Returns the next frame of the piece, if there is one.
    pub fn next_frame(&mut self) -> Option<&[u8]> {
        if !self.is_ready() {
            return None;
        }
        let Some(cut) = self.cut else {
            self.rest = 0..0;
            return Some(&self.piece);
        };
        let begin = self.rest.start;
        let end = self.rest.end.min(begin + cut.segment);
        self.rest.start = end;
        self.frame.clear();
        self.frame.extend_from_slice(&self.piece[..cut.header]);
        self.frame.extend_from_slice(&self.piece[begin..end]);
        let before = begin - cut.header;
        cut.mend(&mut self.frame, before, self.rest.is_empty());
        Some(&self.frame)
    }
}

impl Cut {
    fn of(piece: &[u8], segment: usize) -> Option<Self> {
        let layers = Layers::of(piece)?;
        let header = match layers.protocol {
            Transport::Tcp => usize::from(piece.get(layers.transport + 12)? >> 4) * 4,
            Transport::Udp => UDP_HEADER,
        };
        let header = layers.transport + header;
        let is_whole = header > layers.sum_at() + 1 && header < piece.len();
        is_whole.then_some(Self {
            layers,
            header,
            segment,
        })
    }

    /// Gives a frame its own headers: `before` bytes of payload came in others.
    fn mend(&self, frame: &mut [u8], before: usize, is_last: bool) {
        let Layers {
            network, transport, ..
        } = self.layers;
        let end = frame.len();
        let length = |from: usize| word(end - from).to_be_bytes();
        if frame[network] >> 4 == 4 {
            let number = u16::from_be_bytes([frame[network + 4], frame[network + 5]]);
            let number = number.wrapping_add(word(before / self.segment));
            let whole = length(network);
            frame[network + 2..network + 4].copy_from_slice(&whole);
            frame[network + 4..network + 6].copy_from_slice(&number.to_be_bytes());
            frame[network + 10..network + 12].fill(0);
            let header = network..network + usize::from(frame[network] & 0xf) * 4;
            let sum = Checksum::default().with(&frame[header]).finish();
            frame[network + 10..network + 12].copy_from_slice(&sum.to_be_bytes());
        } else {
            let payload = length(network + 40);
            frame[network + 4..network + 6].copy_from_slice(&payload);
        }
        let datagram = length(transport);
        match self.layers.protocol {
            Transport::Udp => frame[transport + 4..transport + 6].copy_from_slice(&datagram),
            Transport::Tcp => {
                let number = &mut frame[transport + 4..transport + 8];
                let first = u32::from_be_bytes(number.try_into().expect("four bytes"));
                let before = u32::try_from(before).expect("a piece is short");
                number.copy_from_slice(&first.wrapping_add(before).to_be_bytes());
                let later = if before == 0 { 0 } else { WINDOW_REDUCED };
                let earlier = if is_last { 0 } else { FIN | PUSH };
                frame[transport + 13] &= !(later | earlier);
            }
        }
        let sum = self.layers.pseudo_sum(frame);
        let at = self.layers.sum_at();
        frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
        sum_up(frame, transport, at);
    }
}

impl Layers {
    /// Finds TCP or UDP right above IP, whole and not in fragments.
    fn of(frame: &[u8]) -> Option<Self> {
        let (ether_type, network) = behind_tags(frame)?;
        let header = frame.get(network..)?;
        let (protocol, length, addresses) = match ether_type {
            EtherType::IPV4 if header.len() >= 20 && header[0] >> 4 == 4 => {
                if u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0 {
                    return None;
                }
                (header[9], usize::from(header[0] & 0xf) * 4, (12, 20))
            }
            EtherType::IPV6 if header.len() >= 40 && header[0] >> 4 == 6 => {
                let (protocol, length) = behind_extensions(header)?;
                (protocol, length, (8, 40))
            }
            _ => return None,
        };
        let (protocol, shortest) = match protocol {
            PROTOCOL_TCP => (Transport::Tcp, 20),
            PROTOCOL_UDP => (Transport::Udp, UDP_HEADER),
            _ => return None,
        };
        let fits = length >= 20 && header.len() >= length + shortest;
        fits.then_some(Self {
            network,
            addresses: (network + addresses.0, network + addresses.1),
            transport: network + length,
            protocol,
        })
    }

    fn sum_at(&self) -> usize {
        match self.protocol {
            Transport::Tcp => self.transport + 16,
            Transport::Udp => self.transport + 6,
        }
    }

    /// Returns the sum of the pseudo header, as a sender leaves it.
    fn pseudo_sum(&self, frame: &[u8]) -> u16 {
        let number = match self.protocol {
            Transport::Tcp => PROTOCOL_TCP,
            Transport::Udp => PROTOCOL_UDP,
        };
        let length = u32::try_from(frame.len() - self.transport).expect("a piece is short");
        !Checksum::default()
            .with(&frame[self.addresses.0..self.addresses.1])
            .with(&[0, number])
            .with(&length.to_be_bytes())
            .finish()
    }
}

/// Returns the type behind all VLAN tags, and where what follows it begins.
fn behind_tags(frame: &[u8]) -> Option<(EtherType, usize)> {
    let mut at = TYPE_AT;
    loop {
        let bytes = frame.get(at..at + 2)?;
        let ether_type = EtherType(u16::from_be_bytes([bytes[0], bytes[1]]));
        match ether_type {
            EtherType::VLAN | EtherType::SERVICE_VLAN => at += 4,
            _ => return Some((ether_type, at + 2)),
        }
    }
}

/// Returns the protocol behind the headers of an IPv6 packet that stand in front of
/// it, and how long all are.
fn behind_extensions(header: &[u8]) -> Option<(u8, usize)> {
    /// Hop by hop, routing, destination: RFC 8200 section 4.
    const PASSED: [u8; 3] = [0, 43, 60];
    let (mut protocol, mut length) = (header[6], 40);
    for _ in 0..EXTENSIONS_MAX {
        if !PASSED.contains(&protocol) {
            return Some((protocol, length));
        }
        protocol = *header.get(length)?;
        length += (usize::from(*header.get(length + 1)?) + 1) * 8;
    }
    None
}

/// Makes the checksum of a frame, if one is left to be made.
pub(crate) fn complete(frame: &mut [u8], sum: Sum) {
    match sum {
        Sum::Done => {}
        Sum::From { from, at } => sum_up(frame, from.into(), at.into()),
        Sum::Perhaps => {
            let Some(layers) = Layers::of(frame) else {
                return;
            };
            let at = layers.sum_at();
            if frame[at..at + 2] == layers.pseudo_sum(frame).to_be_bytes() {
                sum_up(frame, layers.transport, at);
            }
        }
    }
}

/// Makes the checksum at `at` of everything from `from` on, what stands there
/// included, which is the sum of the pseudo header. What the frame does not have is
/// left alone.
fn sum_up(frame: &mut [u8], from: usize, at: usize) {
    if at == from + SCTP_CHECK {
        if let Some(place) = frame.get_mut(at..at + 4) {
            place.fill(0);
            let check = crc32c::of(&frame[from..]);
            frame[at..at + 4].copy_from_slice(&check);
        }
        return;
    }
    if from > at || at + 2 > frame.len() {
        return;
    }
    let sum = match Checksum::default().with(&frame[from..]).finish() {
        // Zero would say in UDP that there is none: RFC 768.
        0 => u16::MAX,
        sum => sum,
    };
    frame[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

fn word(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
