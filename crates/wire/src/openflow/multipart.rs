//! Questions with long answers (OF13 clause 7.3.5).
//!
//! A [`ReplyWriter`] spreads an answer over as many messages as it needs.

mod aggregate;
pub(crate) mod description;
mod flow;
mod group;
mod meter;
mod port;
mod queue;
mod reply;
mod reply_writer;
mod request;
mod table;
mod table_features;

pub use aggregate::AggregateStatistics;
pub use description::SwitchDescription;
pub use flow::{FlowStatistics, FlowStatisticsRequest};
pub use group::{
    BucketCounters, GroupCapabilities, GroupDescription, GroupFeatures, GroupStatistics,
};
pub use meter::{BandCounters, BandTypes, MeterConfig, MeterFeatures, MeterStatistics};
pub use port::PortStatistics;
pub use queue::QueueStatistics;
pub use reply::{MultipartReply, ReplyBody};
pub use reply_writer::ReplyWriter;
pub use request::{MultipartRequest, RequestBody};
pub use table::TableStatistics;
pub use table_features::{ActionId, FieldId, InstructionId, TableFeatures, TableProperty};

use units::Duration;

use super::{BadRequest, DecodeError, ErrorKind};
use crate::reader::Reader;
use crate::writer::Writer;

const FLAG_MORE: u16 = 1;
const NS_PER_SECOND: u64 = 1_000_000_000;

numbered! {
    /// What is asked for (`ofp_multipart_type`).
    pub enum MultipartType: u16 {
        /// Who made the switch.
        Description = 0,
        /// Entries, one by one.
        Flow = 1,
        /// Entries, all in one.
        Aggregate = 2,
        /// Tables.
        Table = 3,
        /// What ports carried.
        PortStatistics = 4,
        /// What queues carried.
        Queue = 5,
        /// What groups did.
        Group = 6,
        /// What groups are.
        GroupDescription = 7,
        /// What groups can be.
        GroupFeatures = 8,
        /// What meters did.
        Meter = 9,
        /// What meters are.
        MeterConfig = 10,
        /// What meters can be.
        MeterFeatures = 11,
        /// What tables can do.
        TableFeatures = 12,
        /// What ports are.
        PortDescription = 13,
        /// What the specification does not know.
        Experimenter = 0xffff,
    }
}

impl MultipartType {
    fn parse(number: u16) -> Result<Self, DecodeError> {
        Self::from_number(number).ok_or(DecodeError::Value {
            field: "multipart type",
            value: u32::from(number),
            kind: ErrorKind::BadRequest(BadRequest::BadMultipart),
        })
    }
}

/// Takes seconds and nanoseconds off the front. Nanoseconds that make another
/// second, as a switch sends that does not keep the time, are cut to less.
pub(crate) fn parse_duration(reader: &mut Reader<'_>) -> Result<Duration, DecodeError> {
    let (seconds, ns) = (u64::from(reader.u32()?), u64::from(reader.u32()?));
    let ns = ns.min(NS_PER_SECOND - 1);
    Ok(Duration::from_ns(seconds * NS_PER_SECOND + ns))
}

/// Appends seconds and nanoseconds. What is longer than 136 years is cut to
/// that.
pub(crate) fn emit_duration(writer: &mut Writer<'_>, duration: Duration) {
    let seconds = u32::try_from(duration.as_ns() / NS_PER_SECOND).unwrap_or(u32::MAX);
    let ns = u32::try_from(duration.as_ns() % NS_PER_SECOND)
        .expect("a remainder of a second is less than a second");
    writer.u32(seconds).u32(ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_that_is_not_kept_is_written_as_it_was_read() {
        let longest = parse_duration(&mut Reader::new(&[0xff; 8])).unwrap();
        let mut out = Vec::new();

        emit_duration(&mut Writer::new(&mut out), longest);

        assert_eq!(parse_duration(&mut Reader::new(&out)), Ok(longest));
    }
}
