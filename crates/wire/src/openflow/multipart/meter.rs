//! What meters did, are and can be (OF13 clauses 7.3.5.12 to 7.3.5.14).

use units::Duration;

use super::{emit_duration, parse_duration};
use crate::openflow::{Bands, DecodeError, Element, MeterFlags, MeterId, Sequence};
use crate::reader::Reader;
use crate::writer::Writer;

/// Number and length of a meter's statistics.
const NUMBER_AND_LENGTH: usize = 6;
const LENGTH_OFFSET: usize = 4;
const LENGTH_LENGTH: usize = 2;

/// What a meter did (`ofp_meter_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterStatistics<'a> {
    /// Which meter.
    pub meter: MeterId,
    /// How many entries use it.
    pub flows: u32,
    /// How many frames it saw.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
    /// How long it has been there.
    pub age: Duration,
    /// What each of its bands did, in their order.
    pub bands: Sequence<'a, BandCounters>,
}

/// What a band did (`ofp_meter_band_stats`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BandCounters {
    /// How many frames it was applied to.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
}

impl<'a> Element<'a> for MeterStatistics<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let meter = MeterId(reader.u32()?);
        let length = usize::from(reader.u16()?)
            .checked_sub(NUMBER_AND_LENGTH)
            .ok_or(DecodeError::Length)?;
        let mut body = Reader::new(reader.take(length)?);
        body.skip(6)?;
        let statistics = Self {
            meter,
            flows: body.u32()?,
            packets: body.u64()?,
            bytes: body.u64()?,
            age: parse_duration(&mut body)?,
            bands: Sequence::from_bytes(body.rest()),
        };
        Ok((statistics, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.meter.0).u16(0).zeros::<6>();
        writer.u32(self.flows).u64(self.packets).u64(self.bytes);
        emit_duration(&mut writer, self.age);
        writer
            .with(|out| self.bands.emit(out))
            .length_at(LENGTH_OFFSET);
    }
}

impl<'a> Element<'a> for BandCounters {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let counters = Self {
            packets: reader.u64()?,
            bytes: reader.u64()?,
        };
        Ok((counters, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        Writer::new(out).u64(self.packets).u64(self.bytes);
    }
}

/// What a meter is (`ofp_meter_config`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterConfig<'a> {
    /// How it measures.
    pub flags: MeterFlags,
    /// Which meter.
    pub meter: MeterId,
    /// What happens above which rates.
    pub bands: Bands<'a>,
}

impl<'a> Element<'a> for MeterConfig<'a> {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let length = usize::from(reader.u16()?)
            .checked_sub(LENGTH_LENGTH)
            .ok_or(DecodeError::Length)?;
        let mut body = Reader::new(reader.take(length)?);
        let config = Self {
            flags: MeterFlags(body.u16()?),
            meter: MeterId(body.u32()?),
            bands: Bands::from_bytes(body.rest()),
        };
        Ok((config, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u16(0).u16(self.flags.0).u32(self.meter.0);
        writer.with(|out| self.bands.emit(out)).length_at(0);
    }
}

flags! {
    /// Which bands there are (`ofp_meter_band_type`, a bit each).
    pub struct BandTypes: u32 {
        /// Bands that drop.
        DROP = 1 << 1;
        /// Bands that raise the drop precedence.
        DSCP_REMARK = 1 << 2;
    }
}

/// What meters can be (`ofp_meter_features`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterFeatures {
    /// How many meters there can be.
    pub max_meters: u32,
    /// Which bands they can have.
    pub band_types: BandTypes,
    /// Which flags they can have.
    pub capabilities: MeterFlags,
    /// How many bands a meter can have.
    pub max_bands: u8,
    /// How many colours there are.
    pub max_colours: u8,
}

impl MeterFeatures {
    /// Flags beyond the 16 that a meter can have are not kept: there are none.
    pub(super) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let max_meters = reader.u32()?;
        let band_types = BandTypes(reader.u32()?);
        reader.skip(2)?;
        let features = Self {
            max_meters,
            band_types,
            capabilities: MeterFlags(reader.u16()?),
            max_bands: reader.u8()?,
            max_colours: reader.u8()?,
        };
        reader.skip(2)?;
        Ok(features)
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u32(self.max_meters).u32(self.band_types.0);
        writer.u32(u32::from(self.capabilities.0));
        writer.u8(self.max_bands).u8(self.max_colours).zeros::<2>();
    }
}
