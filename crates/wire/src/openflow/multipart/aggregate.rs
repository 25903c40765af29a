//! Entries, all in one (OF13 clause 7.3.5.3).

use crate::openflow::DecodeError;
use crate::reader::Reader;
use crate::writer::Writer;

/// What the entries that were asked for did together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AggregateStatistics {
    /// How many frames they matched.
    pub packets: u64,
    /// How many bytes these frames had.
    pub bytes: u64,
    /// How many entries there are.
    pub flows: u32,
}

impl AggregateStatistics {
    pub(crate) fn parse(body: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(body);
        let statistics = Self {
            packets: reader.u64()?,
            bytes: reader.u64()?,
            flows: reader.u32()?,
        };
        reader.skip(4)?;
        Ok(statistics)
    }

    pub(crate) fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        writer.u64(self.packets).u64(self.bytes).u32(self.flows);
        writer.zeros::<4>();
    }
}
