//! Over which ports a switch asks its neighbours whether they are there, and what it heard
//! (RFC 5880; the sessions are [`SessionConfig`]s).

use std::net::Ipv4Addr;

use units::Duration;

use super::EXPERIMENTER;
use crate::bfd::{
    Authentication, AuthenticationKind, Diagnostic, Encapsulation, Neighbours, Secret,
    SessionConfig, State,
};
use crate::openflow::header::{begin, finish};
use crate::openflow::{
    DecodeError, Element, ErrorKind, MessageType, PortNumber, Sequence, TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

pub(in crate::openflow) const BFD_CONFIG: u32 = 10;
const SECRET_ROOM: usize = 20;

numbered! {
    /// Why sessions were refused, as codes of errors of [`EXPERIMENTER`].
    pub enum BfdFailed: u16 {
        /// There is no such port.
        BadPort = 5,
        /// A session's numbers make no sense.
        BadSession = 15,
        /// The port has a session that whoever runs the switch has given it.
        PortTaken = 16,
    }
}

impl BfdFailed {
    /// Returns what to answer.
    #[must_use]
    pub const fn into_kind(self) -> ErrorKind {
        ErrorKind::Experimenter {
            code: self.number(),
            experimenter: EXPERIMENTER,
        }
    }
}

impl From<BfdFailed> for ErrorKind {
    fn from(failed: BfdFailed) -> Self {
        failed.into_kind()
    }
}

/// Says over which ports a controller wants sessions. It replaces what controllers said
/// before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfdConfig<'a> {
    /// The sessions. Of a port that stands there twice the last counts.
    pub sessions: Sequence<'a, PortSession>,
}

/// A session that a port is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortSession {
    /// The port.
    pub port: PortNumber,
    /// What it is to do.
    pub session: SessionConfig,
}

impl<'a> BfdConfig<'a> {
    pub(in crate::openflow) const fn parse(data: &'a [u8]) -> Self {
        let sessions = Sequence::from_bytes(data);
        Self { sessions }
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::Experimenter, transaction, out);
        message.u32(EXPERIMENTER).u32(BFD_CONFIG);
        finish(message.with(|out| self.sessions.emit(out)));
    }
}

impl<'a> Element<'a> for PortSession {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = PortNumber(reader.u32()?);
        let (encapsulation, detect_multiplier) = (reader.u8()?, reader.u8()?);
        let (kind, key) = (reader.u8()?, reader.u8()?);
        let (desired_min_tx_us, required_min_rx_us) = (reader.u32()?, reader.u32()?);
        let neighbours = Neighbours {
            local: Ipv4Addr::from(reader.array()?),
            remote: Ipv4Addr::from(reader.array()?),
        };
        let length = usize::from(reader.u8()?);
        reader.skip(1)?;
        let heart_beat_us = reader.u16()?.into();
        let secret = reader.take(SECRET_ROOM)?;
        let encapsulation = match encapsulation {
            0 => Encapsulation::Ethernet,
            1 => Encapsulation::Ipv4(neighbours),
            other => return Err(bad("encapsulation", other)),
        };
        let authentication = match kind {
            0 => None,
            kind => {
                let known = AuthenticationKind::of_number(kind);
                let known = known.ok_or(bad("authentication", kind))?;
                let secret = secret.get(..length).and_then(|it| Secret::new(known, it));
                Some(Authentication {
                    kind: known,
                    key,
                    secret: secret.ok_or(bad("secret", kind))?,
                })
            }
        };
        let session = SessionConfig {
            encapsulation,
            desired_min_tx_us,
            required_min_rx_us,
            detect_multiplier,
            authentication,
            heart_beat_us,
        };
        Ok((Self { port, session }, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let session = &self.session;
        let (encapsulation, ends) = match session.encapsulation {
            Encapsulation::Ethernet => (0, [Ipv4Addr::UNSPECIFIED; 2]),
            Encapsulation::Ipv4(Neighbours { local, remote }) => (1, [local, remote]),
        };
        let (kind, key) = match &session.authentication {
            None => (0, 0),
            Some(it) => (it.kind.number(), it.key),
        };
        let secret = session.authentication.as_ref();
        let secret = secret.map_or(&[][..], |it| it.secret.bytes());
        let mut room = [0; SECRET_ROOM];
        room[..secret.len()].copy_from_slice(secret);
        let length = u8::try_from(secret.len()).expect("at most twenty bytes");
        let mut writer = Writer::new(out);
        writer.u32(self.port.0).u8(encapsulation);
        writer.u8(session.detect_multiplier).u8(kind).u8(key);
        writer
            .u32(session.desired_min_tx_us)
            .u32(session.required_min_rx_us);
        writer.bytes(&ends[0].octets()).bytes(&ends[1].octets());
        // One that is too long for its field is too long for a session as well.
        let heart_beat = u16::try_from(session.heart_beat_us).unwrap_or(u16::MAX);
        writer.u8(length).zeros::<1>().u16(heart_beat).bytes(&room);
    }
}

fn bad(field: &'static str, value: u8) -> DecodeError {
    DecodeError::Value {
        field,
        value: value.into(),
        kind: BfdFailed::BadSession.into_kind(),
    }
}

/// Who wants a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOwner {
    /// Controllers.
    Controllers,
    /// Whoever runs the switch; controllers cannot change it.
    Switch,
}

/// Whether the kernel speaks for the switch's process when that is late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandIn {
    /// It does not: the process is all that there is.
    Nobody,
    /// It does.
    Kernel,
    /// It was to, and this error of the kernel's kept it from that.
    Lacking(u8),
}

impl StandIn {
    const fn bytes(self) -> [u8; 2] {
        match self {
            Self::Nobody => [0, 0],
            Self::Kernel => [1, 0],
            Self::Lacking(error) => [2, error],
        }
    }

    const fn of_bytes([kind, error]: [u8; 2]) -> Self {
        match kind {
            0 => Self::Nobody,
            1 => Self::Kernel,
            _ => Self::Lacking(error),
        }
    }
}

/// What was counted of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BfdCounters {
    /// Packets that were sent.
    pub sent: u64,
    /// Packets that counted.
    pub received: u64,
    /// Packets of no form that may count, damaged ones included.
    pub malformed: u64,
    /// Packets that may have come from farther away than the neighbour.
    pub hopped: u64,
    /// Packets that name a session which is none.
    pub misdirected: u64,
    /// Packets without the authentication that is wanted, or with one that is not.
    pub forged: u64,
    /// Packets whose number was used before, or is far from the one that comes next.
    pub replayed: u64,
    /// Packets of neighbours that want to be asked (demand mode), which we do not.
    pub demanding: u64,
    /// How often the session came up.
    pub ups: u64,
    /// How often it went down from there.
    pub downs: u64,
    /// How often it came up and the port had to wait, since it had gone down not long ago.
    pub damped: u64,
    /// How often the neighbour heard no frame of any kind though frames were sent.
    pub silences: u64,
}

impl BfdCounters {
    fn numbers(&self) -> [u64; 12] {
        [
            self.sent,
            self.received,
            self.malformed,
            self.hopped,
            self.misdirected,
            self.forged,
            self.replayed,
            self.demanding,
            self.ups,
            self.downs,
            self.damped,
            self.silences,
        ]
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            sent: reader.u64()?,
            received: reader.u64()?,
            malformed: reader.u64()?,
            hopped: reader.u64()?,
            misdirected: reader.u64()?,
            forged: reader.u64()?,
            replayed: reader.u64()?,
            demanding: reader.u64()?,
            ups: reader.u64()?,
            downs: reader.u64()?,
            damped: reader.u64()?,
            silences: reader.u64()?,
        })
    }
}

/// A session as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BfdReport {
    /// Its port.
    pub port: PortNumber,
    /// Its state.
    pub state: State,
    /// That of the other end, as it said last.
    pub remote_state: State,
    /// Why it was last down.
    pub diagnostic: Diagnostic,
    /// Why the other end was.
    pub remote_diagnostic: Diagnostic,
    /// Whether frames go out by the port as far as this session is concerned.
    pub is_live: bool,
    /// Who wants it.
    pub owner: SessionOwner,
    /// Who speaks when the process is late.
    pub stand_in: StandIn,
    /// How often that was so.
    pub stand_ins: u32,
    /// By what this end knows the session.
    pub my_discriminator: u32,
    /// By what the other one does; zero if it has not said so.
    pub your_discriminator: u32,
    /// How often packets are sent now, before a part is left out at random.
    pub interval: Duration,
    /// After how much silence the session goes down; zero while it is down.
    pub detection_time: Duration,
    /// What was counted.
    pub counters: BfdCounters,
}

impl<'a> Element<'a> for BfdReport {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let port = PortNumber(reader.u32()?);
        let (state, remote_state) = (reader.u8()?, reader.u8()?);
        let (diagnostic, remote_diagnostic) = (reader.u8()?, reader.u8()?);
        let (is_live, owner) = (reader.u8()?, reader.u8()?);
        let stand_in = StandIn::of_bytes([reader.u8()?, reader.u8()?]);
        let stand_ins = reader.u32()?;
        let report = Self {
            port,
            stand_in,
            stand_ins,
            state: State::of_number(state),
            remote_state: State::of_number(remote_state),
            diagnostic: Diagnostic(diagnostic),
            remote_diagnostic: Diagnostic(remote_diagnostic),
            is_live: is_live != 0,
            owner: match owner {
                0 => SessionOwner::Controllers,
                _ => SessionOwner::Switch,
            },
            my_discriminator: reader.u32()?,
            your_discriminator: reader.u32()?,
            interval: Duration::from_ns(reader.u64()?),
            detection_time: Duration::from_ns(reader.u64()?),
            counters: BfdCounters::read(&mut reader)?,
        };
        Ok((report, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.port.0);
        writer
            .u8(self.state.number())
            .u8(self.remote_state.number());
        writer.u8(self.diagnostic.0).u8(self.remote_diagnostic.0);
        let owner = match self.owner {
            SessionOwner::Controllers => 0,
            SessionOwner::Switch => 1,
        };
        let [stand_in, error] = self.stand_in.bytes();
        writer.u8(self.is_live.into()).u8(owner);
        writer.u8(stand_in).u8(error).u32(self.stand_ins);
        writer
            .u32(self.my_discriminator)
            .u32(self.your_discriminator);
        writer.u64(self.interval.as_ns());
        writer.u64(self.detection_time.as_ns());
        for number in self.counters.numbers() {
            writer.u64(number);
        }
    }
}

#[cfg(test)]
mod tests;
