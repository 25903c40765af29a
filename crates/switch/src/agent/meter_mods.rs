//! Changes of the meter table, OF13 clauses 6.6 and 7.3.4.4.
//!
//! Flags: without a unit the rate is in kbit/s. Frames are counted whether the
//! flag for statistics is set or not.
//!
//! Of the reasons to refuse a meter only the unknown one never arises.

use std::collections::BTreeSet;

use units::Instant;
use wire::openflow::{
    Band as WireBand, ErrorKind, FlowRemovedReason, MeterFlags, MeterId, MeterMod, MeterModCommand,
    MeterModFailed,
};

use super::Agent;
use super::flow_mods::bytes_of;
use crate::action::Program;
use crate::meter_band::{Band, Unit};
use crate::meter_table::{MeterConfig, MeterIndex};
use crate::pipeline::Pipeline;

/// What a meter can be told.
pub(super) const FLAGS: MeterFlags = MeterFlags::KBPS
    .with(MeterFlags::PACKETS_PER_SECOND)
    .with(MeterFlags::BURST)
    .with(MeterFlags::STATISTICS);

impl Agent {
    pub(crate) fn meter_mod(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        meter_mod: &MeterMod<'_>,
    ) -> Result<(), ErrorKind> {
        let id = meter_mod.meter;
        let all = id == MeterId::ALL && meter_mod.command == MeterModCommand::Delete;
        let ordinary = (1..=MeterId::MAX.0).contains(&id.0);
        if !ordinary && !all && id != MeterId::CONTROLLER {
            return refuse(MeterModFailed::InvalidMeter);
        }
        let meters = &mut pipeline.egress.meters;
        match meter_mod.command {
            MeterModCommand::Add => {
                let config = compile(now, meters.bands_max(), meter_mod)?;
                meters.add(now, config).or_else(refuse)
            }
            MeterModCommand::Modify => {
                let config = compile(now, meters.bands_max(), meter_mod)?;
                meters.modify(config).or_else(refuse)
            }
            MeterModCommand::Delete => {
                let meant = match all {
                    true => meters.iter().map(|(index, _)| index).collect(),
                    false => meters.find(id).into_iter().collect(),
                };
                self.delete_meters(now, pipeline, meant);
                Ok(())
            }
        }
    }

    /// Removes meters and the entries that use them. This version has no reason
    /// of its own for their removal.
    fn delete_meters(
        &mut self,
        now: Instant,
        pipeline: &mut Pipeline,
        meant: BTreeSet<MeterIndex>,
    ) {
        let meters = &pipeline.egress.meters;
        let users = meant.iter().map(|index| meters.meter(*index).entries);
        let users = usize::try_from(users.sum::<u32>()).expect("32 bits fit");
        let uses = |program: &Program| program.meter.is_some_and(|it| meant.contains(&it));
        for id in pipeline.entries_with(users, uses) {
            self.remove(now, pipeline, id, FlowRemovedReason::Delete);
        }
        for index in meant {
            pipeline.egress.meters.remove(index);
        }
    }
}

/// Checks a meter-mod as if it were carried out now, but for what hangs on which
/// meters there are.
pub(super) fn check_mod(
    now: Instant,
    pipeline: &Pipeline,
    meter_mod: &MeterMod<'_>,
) -> Result<(), ErrorKind> {
    let bands_max = pipeline.egress.meters.bands_max();
    match meter_mod.command {
        MeterModCommand::Add | MeterModCommand::Modify => {
            compile(now, bands_max, meter_mod).map(drop)
        }
        MeterModCommand::Delete => Ok(()),
    }
}

fn refuse(code: MeterModFailed) -> Result<(), ErrorKind> {
    Err(ErrorKind::MeterModFailed(code))
}

/// Checks what a controller wants of a meter and makes it ready for frames.
fn compile(
    now: Instant,
    bands_max: usize,
    meter_mod: &MeterMod<'_>,
) -> Result<MeterConfig, ErrorKind> {
    let flags = meter_mod.flags;
    let both = MeterFlags::KBPS.with(MeterFlags::PACKETS_PER_SECOND);
    if !FLAGS.contains(flags) || flags.contains(both) {
        return Err(ErrorKind::MeterModFailed(MeterModFailed::BadFlags));
    }
    let unit = match flags.contains(MeterFlags::PACKETS_PER_SECOND) {
        true => Unit::Frames,
        false => Unit::Bits,
    };
    let mut bands = Vec::new();
    for band in meter_mod.bands.iter() {
        let band = band.map_err(|error| error.kind())?;
        if bands.len() == bands_max {
            return Err(ErrorKind::MeterModFailed(MeterModFailed::OutOfBands));
        }
        let burst = check(meter_mod, band).map_err(ErrorKind::MeterModFailed)?;
        bands.push(Band::new(now, unit, band, burst));
    }
    Ok(MeterConfig {
        id: meter_mod.meter,
        flags,
        bands: bands.into(),
        written: bytes_of(|out| meter_mod.bands.emit(out)),
    })
}

/// Checks a band; returns its burst, if it has one of its own. The meter of the
/// controller can only drop.
fn check(meter_mod: &MeterMod<'_>, band: WireBand) -> Result<Option<u32>, MeterModFailed> {
    let (rate, burst) = match band {
        WireBand::Drop { rate, burst } => (rate, burst),
        WireBand::DscpRemark { .. } if meter_mod.meter == MeterId::CONTROLLER => {
            return Err(MeterModFailed::BadBand);
        }
        WireBand::DscpRemark { levels: 0, .. } => return Err(MeterModFailed::BadBandValue),
        WireBand::DscpRemark { rate, burst, .. } => (rate, burst),
    };
    if rate == 0 {
        return Err(MeterModFailed::BadRate);
    }
    match meter_mod.flags.contains(MeterFlags::BURST) {
        true if burst == 0 => Err(MeterModFailed::BadBurst),
        true => Ok(Some(burst)),
        false => Ok(None),
    }
}
