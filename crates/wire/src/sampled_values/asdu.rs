//! One sample of a publication (IEC 61850-9-2 table A.1).

use super::{Error, UtcTime};
use crate::process_bus::ber;
use crate::reader::Reader;
use crate::writer::Writer;

const TAG_ASDU: u8 = 0x30;
const TAG_SV_ID: u8 = 0x80;
const TAG_DAT_SET: u8 = 0x81;
const TAG_SMP_CNT: u8 = 0x82;
const TAG_CONF_REV: u8 = 0x83;
const TAG_REFR_TM: u8 = 0x84;
const TAG_SMP_SYNCH: u8 = 0x85;
const TAG_SMP_RATE: u8 = 0x86;
const TAG_SAMPLE: u8 = 0x87;
const TAG_SMP_MOD: u8 = 0x88;

const SMP_CNT_LENGTH: usize = 2;
const CONF_REV_LENGTH: usize = 4;
const TIME_LENGTH: usize = 8;
const SMP_SYNCH_LENGTH: usize = 1;
const SMP_RATE_LENGTH: usize = 2;
const SMP_MOD_LENGTH: usize = 2;

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asdu<'a> {
    /// Names the publication.
    pub sv_id: &'a str,
    /// Names the data set.
    pub dat_set: Option<&'a str>,
    /// Counts the samples since the second began.
    pub smp_cnt: u16,
    /// Counts changes of the configuration.
    pub conf_rev: u32,
    /// When the samples were sent last.
    pub refr_tm: Option<UtcTime>,
    /// What the publisher's clock follows: 0 nothing, 1 a local clock, 2 a
    /// global one.
    pub smp_synch: u8,
    /// How many samples a period or a second has.
    pub smp_rate: Option<u16>,
    /// The values.
    pub sample: &'a [u8],
    /// What the rate counts.
    pub smp_mod: Option<u16>,
}

/// Where the parts that change stand, from the start of the buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offsets {
    pub(super) smp_cnt: usize,
    pub(super) sample: usize,
    pub(super) sample_length: usize,
}

impl<'a> Asdu<'a> {
    #[inline]
    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let mut reader = Reader::new(ber::expect(reader, TAG_ASDU)?);
        let reader = &mut reader;
        Ok(Self {
            sv_id: ber::text(reader, TAG_SV_ID)?,
            dat_set: match ber::optional(reader, TAG_DAT_SET)? {
                Some(content) => Some(ber::text_content(TAG_DAT_SET, content)?),
                None => None,
            },
            smp_cnt: u16::from_be_bytes(ber::octets(reader, TAG_SMP_CNT)?),
            conf_rev: u32::from_be_bytes(ber::octets(reader, TAG_CONF_REV)?),
            refr_tm: ber::optional_octets(reader, TAG_REFR_TM)?.map(UtcTime::from_bytes),
            smp_synch: u8::from_be_bytes(ber::octets(reader, TAG_SMP_SYNCH)?),
            smp_rate: ber::optional_octets(reader, TAG_SMP_RATE)?.map(u16::from_be_bytes),
            sample: ber::expect(reader, TAG_SAMPLE)?,
            smp_mod: ber::optional_octets(reader, TAG_SMP_MOD)?.map(u16::from_be_bytes),
        })
    }

    /// Returns how many bytes the sample takes in a frame.
    pub(super) fn length(&self) -> usize {
        ber::length(self.content_length())
    }

    fn content_length(&self) -> usize {
        ber::length(self.sv_id.len())
            + self.dat_set.map_or(0, |name| ber::length(name.len()))
            + ber::length(SMP_CNT_LENGTH)
            + ber::length(CONF_REV_LENGTH)
            + self.refr_tm.map_or(0, |_| ber::length(TIME_LENGTH))
            + ber::length(SMP_SYNCH_LENGTH)
            + self.smp_rate.map_or(0, |_| ber::length(SMP_RATE_LENGTH))
            + ber::length(self.sample.len())
            + self.smp_mod.map_or(0, |_| ber::length(SMP_MOD_LENGTH))
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) -> Offsets {
        let start = out.len();
        let mut writer = Writer::new(out);
        let writer = &mut writer;
        ber::begin(writer, TAG_ASDU, self.content_length());
        ber::put(writer, TAG_SV_ID, self.sv_id.as_bytes());
        if let Some(dat_set) = self.dat_set {
            ber::put(writer, TAG_DAT_SET, dat_set.as_bytes());
        }
        ber::put(writer, TAG_SMP_CNT, &self.smp_cnt.to_be_bytes());
        let smp_cnt = start + writer.length() - SMP_CNT_LENGTH;
        ber::put(writer, TAG_CONF_REV, &self.conf_rev.to_be_bytes());
        if let Some(refr_tm) = self.refr_tm {
            ber::put(writer, TAG_REFR_TM, &refr_tm.to_bytes());
        }
        ber::put(writer, TAG_SMP_SYNCH, &[self.smp_synch]);
        if let Some(smp_rate) = self.smp_rate {
            ber::put(writer, TAG_SMP_RATE, &smp_rate.to_be_bytes());
        }
        ber::put(writer, TAG_SAMPLE, self.sample);
        let sample = start + writer.length() - self.sample.len();
        if let Some(smp_mod) = self.smp_mod {
            ber::put(writer, TAG_SMP_MOD, &smp_mod.to_be_bytes());
        }
        Offsets {
            smp_cnt,
            sample,
            sample_length: self.sample.len(),
        }
    }
}

/// The samples of a frame, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asdus<'a> {
    bytes: &'a [u8],
}

impl<'a> Asdus<'a> {
    pub(super) const fn from_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }
}

impl<'a> Iterator for Asdus<'a> {
    type Item = Result<Asdu<'a>, Error>;

    /// Returns the next sample. The first that cannot be read is the last.
    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = Reader::new(self.bytes);
        if reader.is_empty() {
            return None;
        }
        let asdu = Asdu::read(&mut reader);
        self.bytes = if asdu.is_ok() { reader.rest() } else { &[] };
        Some(asdu)
    }
}
