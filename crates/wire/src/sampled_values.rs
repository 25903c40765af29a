//! Sampled Values: currents and voltages, several thousand times a second.
//!
//! Field names are the standard's. Every part that changes has a fixed length,
//! so that a publisher can patch the frame it sent before ([`Template`]).
//!
//! Sources: IEC 61850-9-2 annex A; the profile of four currents and four
//! voltages: UCA "Implementation guideline for digital interface to instrument
//! transformers using IEC 61850-9-2" (9-2LE) clause 7;
//! S0-5.

mod asdu;
mod phase_measurement;
mod template;

pub use crate::process_bus::{ApplicationHeader, Error, TimeQuality, UtcTime};
pub use asdu::{Asdu, Asdus};
pub use phase_measurement::{Channel, PHASE_MEASUREMENT_LENGTH, PhaseMeasurement, Quality};
pub use template::Template;

use crate::process_bus::ber;
use crate::reader::Reader;
use crate::writer::Writer;

const TAG_PDU: u8 = 0x60;
const TAG_NO_ASDU: u8 = 0x80;
const TAG_SECURITY: u8 = 0x81;
const TAG_SEQ_ASDU: u8 = 0xa2;

/// The samples of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledValues<'a> {
    /// How many samples the publisher says that there are.
    pub no_asdu: u32,
    /// The samples.
    pub asdus: Asdus<'a>,
}

impl<'a> SampledValues<'a> {
    /// Takes apart what stands behind the Ethernet header. The samples are
    /// checked only while iterating.
    ///
    /// # Errors
    ///
    /// If a mandatory part is missing or malformed.
    #[inline]
    pub fn parse(payload: &'a [u8]) -> Result<(ApplicationHeader, Self), Error> {
        let (header, data) = ApplicationHeader::parse(payload)?;
        let mut reader = Reader::new(ber::expect(&mut Reader::new(data), TAG_PDU)?);
        let no_asdu = ber::unsigned(&mut reader, TAG_NO_ASDU)?;
        ber::optional(&mut reader, TAG_SECURITY)?;
        let asdus = Asdus::from_bytes(ber::expect(&mut reader, TAG_SEQ_ASDU)?);
        Ok((header, Self { no_asdu, asdus }))
    }
}

/// Appends what stands behind the Ethernet header to `out`.
///
/// # Panics
///
/// If there are more than 127 samples, or they are longer than a frame can be.
pub fn emit(header: ApplicationHeader, asdus: &[Asdu<'_>], out: &mut Vec<u8>) {
    write(header, asdus, out, |_| {});
}

/// Like [`emit`], and tells where the parts of each sample stand that change.
fn write(
    header: ApplicationHeader,
    asdus: &[Asdu<'_>],
    out: &mut Vec<u8>,
    mut written: impl FnMut(asdu::Offsets),
) {
    let no_asdu = i8::try_from(asdus.len()).expect("a frame has few samples");
    let sequence: usize = asdus.iter().map(Asdu::length).sum();
    let content = ber::length(1) + ber::length(sequence);
    header.emit(ber::length(content), out);
    let mut writer = Writer::new(out);
    ber::begin(&mut writer, TAG_PDU, content);
    ber::put(&mut writer, TAG_NO_ASDU, &no_asdu.to_be_bytes());
    ber::begin(&mut writer, TAG_SEQ_ASDU, sequence);
    for asdu in asdus {
        writer.with(|out| written(asdu.write(out)));
    }
}

#[cfg(test)]
mod tests;
