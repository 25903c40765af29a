//! Generic Object Oriented Substation Events: a state, published again and
//! again, at once when it changes and ever more slowly while it does not.
//!
//! Field names are the standard's. Numbers are written with a fixed length, so
//! that a publisher can patch the frame it sent before ([`Template`]); numbers
//! of any length are read.
//!
//! Sources: IEC 61850-8-1 clause 18 and annex A; S0-5.

mod data;
mod template;

pub use crate::process_bus::{ApplicationHeader, Error, TimeQuality, UtcTime};
pub use data::{Data, DataList};
pub use template::Template;

use crate::process_bus::ber;
use crate::reader::Reader;
use crate::writer::Writer;

const TAG_PDU: u8 = 0x61;
const TAG_GOCB_REF: u8 = 0x80;
const TAG_TIME_ALLOWED_TO_LIVE: u8 = 0x81;
const TAG_DAT_SET: u8 = 0x82;
const TAG_GO_ID: u8 = 0x83;
const TAG_T: u8 = 0x84;
const TAG_ST_NUM: u8 = 0x85;
const TAG_SQ_NUM: u8 = 0x86;
const TAG_SIMULATION: u8 = 0x87;
const TAG_CONF_REV: u8 = 0x88;
const TAG_NDS_COM: u8 = 0x89;
const TAG_NUM_DAT_SET_ENTRIES: u8 = 0x8a;
const TAG_ALL_DATA: u8 = 0xab;

const TIME_LENGTH: usize = 8;
const BOOLEAN_LENGTH: usize = 1;

/// A published state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Goose<'a> {
    /// Names the control block that publishes.
    pub gocb_ref: &'a str,
    /// After how many milliseconds without another frame the state is in doubt.
    pub time_allowed_to_live_ms: u32,
    /// Names the data set.
    pub dat_set: &'a str,
    /// Names the publication.
    pub go_id: Option<&'a str>,
    /// When the state changed.
    pub t: UtcTime,
    /// Counts changes of the state.
    pub st_num: u32,
    /// Counts frames since the last change; 0 in the first.
    pub sq_num: u32,
    /// Whether the data come from a test device. Says the same as
    /// [`ApplicationHeader::simulated`], or receivers doubt the frame.
    pub simulation: bool,
    /// Counts changes of the configuration.
    pub conf_rev: u32,
    /// Whether the publisher needs commissioning.
    pub nds_com: bool,
    /// How many data there are.
    pub num_dat_set_entries: u32,
    /// The data.
    pub all_data: DataList<'a>,
}

/// Where the parts that change stand, from the start of the buffer.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    time_allowed_to_live: usize,
    t: usize,
    st_num: usize,
    sq_num: usize,
    all_data: usize,
}

impl<'a> Goose<'a> {
    /// Takes apart what stands behind the Ethernet header. The data are checked
    /// only while iterating.
    ///
    /// # Errors
    ///
    /// If a mandatory part is missing or malformed.
    pub fn parse(payload: &'a [u8]) -> Result<(ApplicationHeader, Self), Error> {
        let (header, data) = ApplicationHeader::parse(payload)?;
        let mut reader = Reader::new(ber::expect(&mut Reader::new(data), TAG_PDU)?);
        let reader = &mut reader;
        let goose = Self {
            gocb_ref: ber::text(reader, TAG_GOCB_REF)?,
            time_allowed_to_live_ms: ber::unsigned(reader, TAG_TIME_ALLOWED_TO_LIVE)?,
            dat_set: ber::text(reader, TAG_DAT_SET)?,
            go_id: match ber::optional(reader, TAG_GO_ID)? {
                Some(content) => Some(ber::text_content(TAG_GO_ID, content)?),
                None => None,
            },
            t: UtcTime::from_bytes(ber::octets(reader, TAG_T)?),
            st_num: ber::unsigned(reader, TAG_ST_NUM)?,
            sq_num: ber::unsigned(reader, TAG_SQ_NUM)?,
            simulation: ber::boolean(reader, TAG_SIMULATION)?,
            conf_rev: ber::unsigned(reader, TAG_CONF_REV)?,
            nds_com: ber::boolean(reader, TAG_NDS_COM)?,
            num_dat_set_entries: ber::unsigned(reader, TAG_NUM_DAT_SET_ENTRIES)?,
            all_data: DataList::from_bytes(ber::expect(reader, TAG_ALL_DATA)?),
        };
        Ok((header, goose))
    }

    /// Appends what stands behind the Ethernet header to `out`.
    ///
    /// # Panics
    ///
    /// If that is longer than a frame can be.
    pub fn emit(&self, header: ApplicationHeader, out: &mut Vec<u8>) {
        self.write(header, out);
    }

    fn write(&self, header: ApplicationHeader, out: &mut Vec<u8>) -> Offsets {
        let content = self.content_length();
        header.emit(ber::length(content), out);
        let start = out.len();
        let mut writer = Writer::new(out);
        let writer = &mut writer;
        ber::begin(writer, TAG_PDU, content);
        ber::put(writer, TAG_GOCB_REF, self.gocb_ref.as_bytes());
        ber::put_fixed_unsigned(
            writer,
            TAG_TIME_ALLOWED_TO_LIVE,
            self.time_allowed_to_live_ms,
        );
        let time_allowed_to_live = start + writer.length();
        ber::put(writer, TAG_DAT_SET, self.dat_set.as_bytes());
        if let Some(go_id) = self.go_id {
            ber::put(writer, TAG_GO_ID, go_id.as_bytes());
        }
        ber::put(writer, TAG_T, &self.t.to_bytes());
        let t = start + writer.length();
        ber::put_fixed_unsigned(writer, TAG_ST_NUM, self.st_num);
        let st_num = start + writer.length();
        ber::put_fixed_unsigned(writer, TAG_SQ_NUM, self.sq_num);
        let sq_num = start + writer.length();
        ber::put(writer, TAG_SIMULATION, &[u8::from(self.simulation)]);
        ber::put_fixed_unsigned(writer, TAG_CONF_REV, self.conf_rev);
        ber::put(writer, TAG_NDS_COM, &[u8::from(self.nds_com)]);
        ber::put_fixed_unsigned(writer, TAG_NUM_DAT_SET_ENTRIES, self.num_dat_set_entries);
        ber::put(writer, TAG_ALL_DATA, self.all_data.as_bytes());
        Offsets {
            time_allowed_to_live: time_allowed_to_live - size_of::<u32>(),
            t: t - TIME_LENGTH,
            st_num: st_num - size_of::<u32>(),
            sq_num: sq_num - size_of::<u32>(),
            all_data: start + writer.length() - self.all_data.as_bytes().len(),
        }
    }

    fn content_length(&self) -> usize {
        let texts = ber::length(self.gocb_ref.len())
            + ber::length(self.dat_set.len())
            + self.go_id.map_or(0, |go_id| ber::length(go_id.len()));
        let numbers = 5 * ber::length(ber::FIXED_UNSIGNED_LENGTH);
        let booleans = 2 * ber::length(BOOLEAN_LENGTH);
        let data = ber::length(self.all_data.as_bytes().len());
        texts + numbers + booleans + ber::length(TIME_LENGTH) + data
    }
}

#[cfg(test)]
mod tests;
