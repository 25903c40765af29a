//! Which stations said to be there, by PRP (IEC 62439-3 clause 4.2.7): what a switch heard of
//! each over each LAN.

use units::Duration;

use crate::ethernet::MacAddress;
use crate::openflow::taktos::mode::{or_never, unless_never};
use crate::openflow::{BadRequest, DecodeError, Element, ErrorKind, Sequence};
use crate::prp::SupervisionKind;
use crate::reader::Reader;
use crate::writer::Writer;

const HAS_REDBOX: u8 = 1;

/// What became of supervision frames, and which nodes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeReply<'a> {
    /// What was counted.
    pub counters: NodeCounters,
    /// The nodes that were heard in the last minute.
    pub nodes: Sequence<'a, NodeReport>,
}

/// What became of supervision frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounters {
    /// Those that were sent on behalf of stations.
    pub sent: u64,
    /// Those that were heard and counted.
    pub heard: u64,
    /// Those of no known form, or without a trailer.
    pub malformed: u64,
    /// Those of stations whose flows do not come by that port.
    pub unexpected: u64,
    /// Those whose number is not beyond the last one of that LAN.
    pub repeated: u64,
    /// Those that nobody looked at, as there were too many.
    pub excess: u64,
}

/// What was heard of a station over a LAN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LanSight {
    /// How many frames.
    pub frames: u64,
    /// How long ago the last one was.
    pub ago: Option<Duration>,
}

/// A station that said to be there, or that somebody spoke for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeReport {
    /// Its address.
    pub station: MacAddress,
    /// What it does with duplicates.
    pub kind: SupervisionKind,
    /// Who speaks for it, if it does not do so itself.
    pub redbox: Option<MacAddress>,
    /// What was heard over LAN A, and over B.
    pub lans: [LanSight; 2],
}

impl<'a> NodeReply<'a> {
    pub(in crate::openflow::taktos) fn parse(data: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(data);
        Ok(Self {
            counters: NodeCounters {
                sent: reader.u64()?,
                heard: reader.u64()?,
                malformed: reader.u64()?,
                unexpected: reader.u64()?,
                repeated: reader.u64()?,
                excess: reader.u64()?,
            },
            nodes: Sequence::from_bytes(reader.rest()),
        })
    }

    pub(in crate::openflow::taktos) fn emit(&self, out: &mut Vec<u8>) {
        let of = &self.counters;
        let mut writer = Writer::new(out);
        writer.u64(of.sent).u64(of.heard).u64(of.malformed);
        writer.u64(of.unexpected).u64(of.repeated).u64(of.excess);
        self.nodes.emit(out);
    }
}

impl LanSight {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            frames: reader.u64()?,
            ago: unless_never(reader.u64()?),
        })
    }
}

impl<'a> Element<'a> for NodeReport {
    fn parse(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DecodeError> {
        let mut reader = Reader::new(bytes);
        let station = MacAddress(reader.array()?);
        let (kind, flags) = (reader.u8()?, reader.u8()?);
        let redbox = MacAddress(reader.array()?);
        reader.skip(2)?;
        let report = Self {
            station,
            kind: SupervisionKind::from_number(kind).ok_or(DecodeError::Value {
                field: "kind of a node",
                value: u32::from(kind),
                kind: ErrorKind::BadRequest(BadRequest::BadExperimenterType),
            })?,
            redbox: (flags & HAS_REDBOX != 0).then_some(redbox),
            lans: [LanSight::read(&mut reader)?, LanSight::read(&mut reader)?],
        };
        Ok((report, reader.rest()))
    }

    fn emit(&self, out: &mut Vec<u8>) {
        let mut writer = Writer::new(out);
        let flags = if self.redbox.is_some() { HAS_REDBOX } else { 0 };
        writer
            .bytes(&self.station.0)
            .u8(self.kind.number())
            .u8(flags);
        writer
            .bytes(&self.redbox.unwrap_or(MacAddress::ZERO).0)
            .zeros::<2>();
        for lan in self.lans {
            writer.u64(lan.frames).u64(or_never(lan.ago));
        }
    }
}
