//! Changing meters (OF13 clause 7.3.4.4).

use super::header::{begin, finish};
use super::{
    DecodeError, Element, ErrorKind, MessageType, MeterId, MeterModFailed, Sequence, TransactionId,
};
use crate::reader::Reader;
use crate::writer::Writer;

const BAND_LENGTH: u16 = 16;
const BAND_DROP: u16 = 1;
const BAND_DSCP_REMARK: u16 = 2;

numbered! {
    /// What to do with a meter (`ofp_meter_mod_command`).
    pub enum MeterModCommand: u16 {
        /// Adds it.
        Add = 0,
        /// Changes it.
        Modify = 1,
        /// Deletes it.
        Delete = 2,
    }
}

flags! {
    /// How a meter measures (`ofp_meter_flags`).
    pub struct MeterFlags: u16 {
        /// Rates are in kbit/s.
        KBPS = 1 << 0;
        /// Rates are in frames per second.
        PACKETS_PER_SECOND = 1 << 1;
        /// Bands have a burst size.
        BURST = 1 << 2;
        /// The switch counts.
        STATISTICS = 1 << 3;
    }
}

/// The bands of a meter.
pub type Bands<'a> = Sequence<'a, Band>;

/// What happens to frames above a rate (`ofp_meter_band_header`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Band {
    /// They are dropped.
    Drop {
        /// The rate, in the unit of the meter.
        rate: u32,
        /// The burst, in kbit or frames.
        burst: u32,
    },
    /// Their drop precedence rises.
    DscpRemark {
        /// The rate, in the unit of the meter.
        rate: u32,
        /// The burst, in kbit or frames.
        burst: u32,
        /// By how much.
        levels: u8,
    },
}

impl<'a> Element<'a> for Band {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let (kind, length) = (reader.u16()?, reader.u16()?);
        let (rate, burst) = (reader.u32()?, reader.u32()?);
        let [levels, _, _, _] = reader.array()?;
        let band = match kind {
            BAND_DROP => Self::Drop { rate, burst },
            BAND_DSCP_REMARK => Self::DscpRemark {
                rate,
                burst,
                levels,
            },
            _ => {
                return Err(DecodeError::Value {
                    field: "band type",
                    value: u32::from(kind),
                    kind: ErrorKind::MeterModFailed(MeterModFailed::BadBand),
                });
            }
        };
        if length != BAND_LENGTH {
            return Err(DecodeError::Length);
        }
        Ok((band, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let (kind, rate, burst, levels) = match *self {
            Self::Drop { rate, burst } => (BAND_DROP, rate, burst, 0),
            Self::DscpRemark {
                rate,
                burst,
                levels,
            } => (BAND_DSCP_REMARK, rate, burst, levels),
        };
        let mut writer = Writer::new(out);
        writer.u16(kind).u16(BAND_LENGTH).u32(rate).u32(burst);
        writer.u8(levels).zeros::<3>();
    }
}

/// Changes a meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterMod<'a> {
    /// What to do.
    pub command: MeterModCommand,
    /// How it measures.
    pub flags: MeterFlags,
    /// Which meter.
    pub meter: MeterId,
    /// What happens above which rates.
    pub bands: Bands<'a>,
}

impl<'a> MeterMod<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let command = reader.u16()?;
        let command = MeterModCommand::from_number(command).ok_or(DecodeError::Value {
            field: "command",
            value: u32::from(command),
            kind: ErrorKind::MeterModFailed(MeterModFailed::BadCommand),
        })?;
        Ok(Self {
            command,
            flags: MeterFlags(reader.u16()?),
            meter: MeterId(reader.u32()?),
            bands: Bands::from_bytes(reader.rest()),
        })
    }

    /// Appends the message to `out`.
    ///
    /// # Panics
    ///
    /// If the message would be longer than 65535 bytes.
    pub fn emit(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let mut message = begin(MessageType::MeterMod, transaction, out);
        message.u16(self.command.number()).u16(self.flags.0);
        message.u32(self.meter.0);
        message.with(|out| self.bands.emit(out));
        finish(&mut message);
    }
}
