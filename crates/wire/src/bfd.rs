//! Bidirectional Forwarding Detection: the packets by which two neighbours notice within
//! milliseconds that nothing passes between them any more.
//!
//! Source: RFC 5880 sections 4.1 to 4.4 (packets), 6.7 (authentication), 6.8.6 (what is
//! refused by its form alone); RFC 5881 sections 4 and 5 (over IPv4).
//!
//! Between our switches a packet stands right behind the Ethernet header, with the type
//! [`EtherType::BFD`](crate::ethernet::EtherType::BFD), towards [`DESTINATION`].
//!
//! So does a frame that [stands in](is_stand_in) for packets which are late; it says nothing but
//! that whoever sent it forwards.
//!
//! # Left out
//!
//! Echo packets; MD5, which the RFC advises against.

mod authentication;
mod datagram;
mod session_config;

pub use authentication::{Authentication, AuthenticationKind, Proof, Secret, SequenceNumber};
pub use datagram::{BadDatagram, Neighbours, UDP_PORT};
pub use session_config::{
    Encapsulation, HEART_BEAT_MAX_US, INTERVAL_MAX_US, INTERVAL_MIN_US, SessionConfig,
};

use thiserror::Error;

use crate::ethernet::{MacAddress, UNTAGGED_HEADER_LENGTH};
use crate::reader::{Reader, Truncated};
use crate::writer::Writer;

/// Where packets go that stand right behind the Ethernet header: a group of our own.
pub const DESTINATION: MacAddress = MacAddress([0x03, 0x74, 0x6b, 0, 0, 2]);
/// The length of a packet without authentication.
pub const LENGTH: usize = 24;
/// The length of the longest packet: one with a hash.
pub const LENGTH_MAX: usize = LENGTH + authentication::HASHED_LENGTH;

/// The length of a frame that [stands in](is_stand_in) for a packet.
pub const STAND_IN_BYTES: usize = 60;
/// Where in it stands by which turn of its sender's it was made; the rest is zero.
pub const STAND_IN_TURN_AT: usize = 20;

const VERSION: u8 = 1;
const AUTHENTICATED: u8 = 0x04;

/// Returns whether what stands behind an Ethernet header of BFD's type is no packet, but says
/// that its sender forwards and has heard frames lately. It is of a version that never was, and
/// of no other form than this: what else has that version is malformed.
#[must_use]
pub fn is_stand_in(payload: &[u8]) -> bool {
    let is_as_sent =
        |(at, byte): (usize, &u8)| *byte == 0 || at == STAND_IN_TURN_AT - UNTAGGED_HEADER_LENGTH;
    payload.len() == STAND_IN_BYTES - UNTAGGED_HEADER_LENGTH
        && payload.iter().enumerate().all(is_as_sent)
}

/// The state of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Somebody wants it to be down; that says nothing of the path.
    AdminDown,
    /// Nothing is heard, or it has just begun.
    #[default]
    Down,
    /// The neighbour is heard.
    Init,
    /// Both hear each other.
    Up,
}

impl State {
    /// Returns its number on the wire.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::AdminDown => 0,
            Self::Down => 1,
            Self::Init => 2,
            Self::Up => 3,
        }
    }

    /// Returns the state of this number, of which the two lowest bits count.
    #[must_use]
    pub const fn of_number(number: u8) -> Self {
        match number & 3 {
            0 => Self::AdminDown,
            1 => Self::Down,
            2 => Self::Init,
            _ => Self::Up,
        }
    }
}

/// Why a session was last down; five bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic(pub u8);

impl Diagnostic {
    /// Nothing is known.
    pub const NONE: Self = Self(0);
    /// Nothing was heard within the detection time.
    pub const DETECTION_TIME_EXPIRED: Self = Self(1);
    /// The neighbour said that it is down.
    pub const NEIGHBOUR_DOWN: Self = Self(3);
    /// The path is down, such as a link without a carrier.
    pub const PATH_DOWN: Self = Self(5);
    /// Somebody wants it to be down.
    pub const ADMINISTRATIVELY_DOWN: Self = Self(7);
    const MAX: u8 = 0x1f;

    /// Returns what it means; "reserved" if RFC 5880 section 4.1 does not say.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "none",
            1 => "detection time expired",
            2 => "echo failed",
            3 => "neighbour signalled down",
            4 => "forwarding plane reset",
            5 => "path down",
            6 => "concatenated path down",
            7 => "administratively down",
            8 => "reverse concatenated path down",
            _ => "reserved",
        }
    }
}

/// What a packet says in single bits, but for whether it is authenticated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// An answer is wanted, at once.
    pub const POLL: Self = Self(0x20);
    /// This is the answer.
    pub const FINAL: Self = Self(0x10);
    /// The sender's forwarding goes on without whoever speaks BFD.
    pub const CONTROL_PLANE_INDEPENDENT: Self = Self(0x08);
    /// The sender wants no periodic packets.
    pub const DEMAND: Self = Self(0x02);
    const MULTIPOINT: Self = Self(0x01);
    const ALL: u8 = 0x3a;

    /// Returns whether all of these are set.
    #[must_use]
    pub const fn contains(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// Returns these and others.
    #[must_use]
    pub const fn with(self, flags: Self) -> Self {
        Self(self.0 | flags.0)
    }
}

/// A control packet. Times are microseconds, as they stand there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlPacket {
    /// Why the sender's session was last down.
    pub diagnostic: Diagnostic,
    /// The state of the sender's session.
    pub state: State,
    /// What is said in single bits.
    pub flags: Flags,
    /// After how many missing packets the receiver takes the session for down.
    pub detect_multiplier: u8,
    /// By what the sender knows the session; not zero.
    pub my_discriminator: u32,
    /// By what the receiver does; zero if the sender has not heard that yet.
    pub your_discriminator: u32,
    /// How often the sender would like to send.
    pub desired_min_tx_us: u32,
    /// How often the sender can take packets; zero: it wants none.
    pub required_min_rx_us: u32,
    /// How often it can take echoes; zero: it wants none.
    pub required_min_echo_rx_us: u32,
}

/// Bytes are no packet that may count (RFC 5880 section 6.8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// They end too soon.
    #[error("packet ends early")]
    Truncated,
    /// Another version.
    #[error("BFD of version {version}, known is {VERSION}")]
    Version {
        /// What stands there.
        version: u8,
    },
    /// It says that it is shorter than it can be, or longer than it is.
    #[error("packet claims a length of {length} bytes")]
    Length {
        /// What it claims.
        length: u8,
    },
    /// It would be missed before it is sent.
    #[error("detection multiplier of zero")]
    Multiplier,
    /// It is for many receivers, for which there is no version yet.
    #[error("packet for several receivers")]
    Multipoint,
    /// Its sender does not say who it is, or to whom it speaks though it has heard it.
    #[error("packet without a discriminator that it needs")]
    Discriminator,
    /// Its authentication is of no known form.
    #[error("authentication of type {kind} and {length} bytes")]
    Authentication {
        /// Its type.
        kind: u8,
        /// Its length.
        length: u8,
    },
}

impl From<Truncated> for Error {
    fn from(Truncated: Truncated) -> Self {
        Self::Truncated
    }
}

impl ControlPacket {
    /// Returns the packet at the begin of `bytes`, and what proves who sent it, if it has
    /// that. What stands behind the packet is padding.
    ///
    /// # Errors
    ///
    /// If its form alone forbids it to count.
    pub fn parse(bytes: &[u8]) -> Result<(Self, Option<Proof<'_>>), Error> {
        let mut reader = Reader::new(bytes);
        let (first, second) = (reader.u8()?, reader.u8()?);
        let version = first >> 5;
        if version != VERSION {
            return Err(Error::Version { version });
        }
        let flags = Flags(second & 0x3f & !AUTHENTICATED);
        let detect_multiplier = reader.u8()?;
        let length = reader.u8()?;
        let packet = bytes.get(..usize::from(length));
        let packet = packet.filter(|it| it.len() >= LENGTH);
        let packet = packet.ok_or(Error::Length { length })?;
        if detect_multiplier == 0 {
            return Err(Error::Multiplier);
        }
        if flags.contains(Flags::MULTIPOINT) {
            return Err(Error::Multipoint);
        }
        let said = Self {
            diagnostic: Diagnostic(first & Diagnostic::MAX),
            state: State::of_number(second >> 6),
            flags,
            detect_multiplier,
            my_discriminator: reader.u32()?,
            your_discriminator: reader.u32()?,
            desired_min_tx_us: reader.u32()?,
            required_min_rx_us: reader.u32()?,
            required_min_echo_rx_us: reader.u32()?,
        };
        let is_early = matches!(said.state, State::Down | State::AdminDown);
        if said.my_discriminator == 0 || (said.your_discriminator == 0 && !is_early) {
            return Err(Error::Discriminator);
        }
        let proof = match second & AUTHENTICATED {
            0 => None,
            _ => Some(Proof::parse(packet)?),
        };
        Ok((said, proof))
    }

    /// Appends the packet to `out`, authenticated if that is wanted, with that number.
    pub fn emit(&self, proof: Option<(&Authentication, SequenceNumber)>, out: &mut Vec<u8>) {
        let start = out.len();
        let authenticated = proof.map_or(0, |_| AUTHENTICATED);
        let flags = self.flags.0 & Flags::ALL;
        let mut writer = Writer::new(out);
        writer.u8(VERSION << 5 | self.diagnostic.0 & Diagnostic::MAX);
        writer.u8(self.state.number() << 6 | flags | authenticated);
        writer.u8(self.detect_multiplier).zeros::<1>();
        writer
            .u32(self.my_discriminator)
            .u32(self.your_discriminator);
        writer
            .u32(self.desired_min_tx_us)
            .u32(self.required_min_rx_us)
            .u32(self.required_min_echo_rx_us);
        let length = LENGTH + proof.map_or(0, |(authentication, _)| authentication.length());
        writer.patch_u8(3, u8::try_from(length).expect("at most 52 bytes"));
        if let Some((authentication, sequence)) = proof {
            authentication.emit(sequence, start, out);
        }
    }
}

#[cfg(test)]
mod tests;
