//! Meters and their bands.

use std::collections::BTreeMap;

use linux::openflow_client::{AskError, Client};
use serde_json::{Value, json};
use wire::openflow::multipart::{MeterConfig, ReplyBody, RequestBody};
use wire::openflow::{Band, DecodeError, MeterFlags, MeterId};

use super::count_parts;
use super::table::Column;
use super::words;

const BITS_PER_KILOBIT: u64 = 1_000;

pub const COLUMNS: &[Column] = &[
    Column::right("meter", "meter"),
    Column::right("packets", "packets"),
    Column::right("bytes", "bytes"),
    Column::right("flows", "flows"),
    Column::right("age", "age_ns"),
    Column::left("bands", "bands/band"),
];

/// Returns all meters, by number.
pub fn meters(client: &mut Client) -> Result<Vec<Value>, AskError> {
    let mut found: BTreeMap<u32, Value> = BTreeMap::new();
    client.ask(RequestBody::MeterConfig(MeterId::ALL), |part| {
        if let ReplyBody::MeterConfig(meters) = part {
            for meter in meters.iter() {
                let meter = meter?;
                found.insert(meter.meter.0, describe(&meter)?);
            }
        }
        Ok(())
    })?;
    client.ask(RequestBody::Meter(MeterId::ALL), |part| {
        if let ReplyBody::Meter(meters) = part {
            for counted in meters.iter() {
                let counted = counted?;
                // A meter that was added between the questions is left out.
                let Some(meter) = found.get_mut(&counted.meter.0) else {
                    continue;
                };
                meter["packets"] = counted.packets.into();
                meter["bytes"] = counted.bytes.into();
                meter["flows"] = counted.flows.into();
                meter["age_ns"] = counted.age.as_ns().into();
                let bands = counted.bands.iter();
                let carried = bands.map(|it| it.map(|it| (it.packets, it.bytes)));
                count_parts(&mut meter["bands"], carried)?;
            }
        }
        Ok(())
    })?;
    Ok(found.into_values().collect())
}

fn describe(meter: &MeterConfig<'_>) -> Result<Value, DecodeError> {
    let bands = meter.bands.iter();
    let bands = bands.map(|band| band.map(|band| describe_band(&band, meter.flags)));
    Ok(json!({
        "meter": words::meter(meter.meter),
        "packets": 0,
        "bytes": 0,
        "flows": 0,
        "age_ns": 0,
        "bands": bands.collect::<Result<Vec<_>, _>>()?,
    }))
}

/// Returns a band, its rate in packets or in bits as the meter counts.
fn describe_band(band: &Band, flags: MeterFlags) -> Value {
    let (kind, rate, burst, levels) = match *band {
        Band::Drop { rate, burst } => ("drop", rate, burst, None),
        Band::DscpRemark {
            rate,
            burst,
            levels,
        } => ("dscp_remark", rate, burst, Some(levels)),
    };
    let mut described = json!({
        "band": String::new(),
        "type": kind,
        "levels": levels,
        "packets": 0,
        "bytes": 0,
    });
    if flags.contains(MeterFlags::PACKETS_PER_SECOND) {
        described["band"] = words::band(band, "packets/s").into();
        described["rate_packets_per_s"] = rate.into();
        described["burst_packets"] = burst.into();
    } else {
        described["band"] = words::band(band, "kbit/s").into();
        described["rate_bps"] = (u64::from(rate) * BITS_PER_KILOBIT).into();
        described["burst_bits"] = (u64::from(burst) * BITS_PER_KILOBIT).into();
    }
    described
}
