//! Questions with long answers (OF10 section 5.3.5).

mod flow;
mod port;
mod queue;
mod reply;
mod request;
mod table;

pub use crate::openflow::multipart::{AggregateStatistics, SwitchDescription};
pub use flow::{FlowStatistics, FlowStatisticsRequest};
pub use port::PortStatistics;
pub use queue::QueueStatistics;
pub use reply::{ReplyBody, StatisticsReply};
pub use request::{RequestBody, StatisticsRequest};
pub use table::TableStatistics;

use crate::openflow::{BadRequest, DecodeError, ErrorKind};

const FLAG_MORE: u16 = 1;

numbered! {
    /// What is asked for (`ofp_stats_types`).
    pub enum StatisticsType: u16 {
        /// Who made the switch.
        Description = 0,
        /// Entries, one by one.
        Flow = 1,
        /// Entries, all in one.
        Aggregate = 2,
        /// Tables.
        Table = 3,
        /// What ports carried.
        Port = 4,
        /// What queues carried.
        Queue = 5,
        /// What the specification does not know.
        Vendor = 0xffff,
    }
}

impl StatisticsType {
    fn parse(number: u16) -> Result<Self, DecodeError> {
        Self::from_number(number).ok_or(DecodeError::Value {
            field: "statistics type",
            value: u32::from(number),
            kind: ErrorKind::BadRequest(BadRequest::BadMultipart),
        })
    }
}
