//! What controllers may ask about meters, OF13 clauses 7.3.5.12 to 7.3.5.14.

use units::Instant;
use wire::openflow::multipart::{
    BandCounters, BandTypes, MeterConfig, MeterFeatures, MeterStatistics, ReplyBody,
};
use wire::openflow::{Bands, ErrorKind, MeterId, MeterModFailed, Sequence, TransactionId};

use super::Agent;
use super::session::ConnectionId;
use crate::meter_table::{Meter, MeterIndex, MeterTable};
use crate::pipeline::Pipeline;

impl Agent {
    /// Answers what a meter did, or all did.
    pub(super) fn meter_statistics(
        &mut self,
        now: Instant,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        meter: MeterId,
    ) -> Result<(), ErrorKind> {
        let meant = meters(&pipeline.egress.meters, meter)?;
        let counted: Vec<Vec<_>> = meant.iter().map(|it| bands(pipeline, *it)).collect();
        let both = meant.iter().zip(&counted);
        let all: Vec<_> = both
            .map(|(index, bands)| statistics(now, pipeline, *index, bands))
            .collect();
        self.list(id, transaction, &all, ReplyBody::Meter);
        Ok(())
    }

    /// Answers what a meter is, or all are.
    pub(super) fn meter_configs(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        meter: MeterId,
    ) -> Result<(), ErrorKind> {
        let meant = meters(&pipeline.egress.meters, meter)?;
        let meters = &pipeline.egress.meters;
        let all: Vec<_> = meant
            .into_iter()
            .map(|it| config(meters.meter(it)))
            .collect();
        self.list(id, transaction, &all, ReplyBody::MeterConfig);
        Ok(())
    }
}

/// Returns the meter with this number, or all.
fn meters(table: &MeterTable, meter: MeterId) -> Result<Vec<MeterIndex>, ErrorKind> {
    match meter {
        MeterId::ALL => Ok(table.iter().map(|(index, _)| index).collect()),
        meter => {
            let unknown = ErrorKind::MeterModFailed(MeterModFailed::UnknownMeter);
            let index = table.find(meter).ok_or(unknown)?;
            Ok(vec![index])
        }
    }
}

fn statistics<'a>(
    now: Instant,
    pipeline: &Pipeline,
    index: MeterIndex,
    bands: &'a [BandCounters],
) -> MeterStatistics<'a> {
    let (meter, tally) = (
        pipeline.egress.meters.meter(index),
        pipeline.meter_tally(index),
    );
    MeterStatistics {
        meter: meter.config.id,
        flows: meter.entries,
        packets: tally.frames,
        bytes: tally.bytes,
        age: now - meter.created,
        bands: Sequence::of(bands),
    }
}

fn bands(pipeline: &Pipeline, index: MeterIndex) -> Vec<BandCounters> {
    let tallies = pipeline.band_tallies(index);
    let counters = tallies.map(|tally| BandCounters {
        packets: tally.frames,
        bytes: tally.bytes,
    });
    counters.collect()
}

fn config(meter: &Meter) -> MeterConfig<'_> {
    MeterConfig {
        flags: meter.config.flags,
        meter: meter.config.id,
        bands: Bands::from_bytes(&meter.config.written),
    }
}

/// Returns what meters can be. Frames have no colour here.
pub(super) fn features(meters: &MeterTable) -> MeterFeatures {
    MeterFeatures {
        max_meters: u32::try_from(meters.capacity()).unwrap_or(u32::MAX),
        band_types: BandTypes::DROP.with(BandTypes::DSCP_REMARK),
        capabilities: super::meter_mods::FLAGS,
        max_bands: u8::try_from(meters.bands_max()).expect("checked when the switch was made"),
        max_colours: 0,
    }
}
