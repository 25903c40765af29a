//! What controllers may ask about what was, OF13 clause 7.3.5.
//!
//! The entries of a large table do not fit one message, and to write them all at
//! once would keep frames waiting. They are sent in parts ([`EntryDump`]); an entry
//! that is added or removed meanwhile may or may not be among them.

use units::Instant;
use wire::openflow::multipart::{
    FlowStatistics, FlowStatisticsRequest, MultipartReply, PortStatistics, QueueStatistics,
    ReplyBody, RequestBody, SwitchDescription, TableStatistics,
};
use wire::openflow::{
    BadRequest, Element, ErrorKind, Fields, GroupId, Instructions, Message, PortNumber, QueueId,
    QueueOpFailed, Sequence, TableId, TransactionId,
};

use super::dump::Dump;
use super::group_statistics::GroupQuestion;
use super::ports::describe;
use super::session::{ConnectionId, Session};
use super::sweep::{Cursor, Sweep, SweptPlace};
use super::{Agent, group_statistics, meter_statistics};
use crate::matching;
use crate::pipeline::Pipeline;
use crate::port::PortIndex;
use crate::selection::{OutGroup, OutPort, Selection};
use crate::timeouts::EntryId;

/// How many bytes of entries go into one part of an answer, give or take one.
const PART_BYTES: usize = 8 * 1024;
/// How many places of tables are looked at for one part.
pub(super) const PART_LOOKS: usize = 256;

/// An answer that lists entries, part by part.
#[derive(Debug)]
pub(super) struct EntryDump {
    transaction: TransactionId,
    selection: Selection,
    cursor: Cursor,
}

/// An answer about ports, which all fit.
#[derive(Debug)]
pub(super) struct PortDump(TransactionId, PortNumber);

/// An answer about queues, which all fit.
#[derive(Debug)]
pub(super) struct QueueDump(TransactionId, PortNumber, QueueId);

impl Agent {
    pub(super) fn multipart(
        &mut self,
        now: Instant,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        request: RequestBody<'_>,
    ) -> Result<(), ErrorKind> {
        match request {
            RequestBody::Description => self.describe(id, transaction),
            RequestBody::Flow(request) => {
                let selection = select(pipeline, &request)?;
                if let Some(session) = self.sessions.get_mut(&id) {
                    let dump = EntryDump::new(transaction, selection);
                    session.dump = Some(Dump::Entries(Box::new(dump)));
                }
            }
            RequestBody::Aggregate(request) => {
                let selection = select(pipeline, &request)?;
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.sweep = Some(Box::new(Sweep::sum(transaction, selection)));
                }
            }
            RequestBody::Table => self.list(id, transaction, &tables(pipeline), ReplyBody::Table),
            RequestBody::PortStatistics(port) => {
                if ports(pipeline, port).is_none() {
                    return Err(ErrorKind::BadRequest(BadRequest::BadPort));
                }
                self.ask_world(id, Dump::Ports(PortDump(transaction, port)));
            }
            RequestBody::Queue { port, queue } => {
                queues(now, pipeline, port, queue)?;
                self.ask_world(id, Dump::Queues(QueueDump(transaction, port, queue)));
            }
            RequestBody::PortDescription => {
                let ports: Vec<_> = pipeline.egress.ports.iter().map(describe).collect();
                self.list(id, transaction, &ports, ReplyBody::PortDescription);
            }
            RequestBody::Group(group) => {
                self.tell_groups(id, transaction, GroupQuestion::Statistics, group);
            }
            RequestBody::GroupDescription => {
                let question = GroupQuestion::Description;
                self.tell_groups(id, transaction, question, GroupId::ALL);
            }
            RequestBody::GroupFeatures => {
                let features = group_statistics::features(&pipeline.egress.groups);
                self.reply(id, transaction, &answer(ReplyBody::GroupFeatures(features)));
            }
            RequestBody::Meter(meter) => {
                self.meter_statistics(now, pipeline, id, transaction, meter)?;
            }
            RequestBody::MeterConfig(meter) => {
                self.meter_configs(pipeline, id, transaction, meter)?;
            }
            RequestBody::MeterFeatures => {
                let features = meter_statistics::features(&pipeline.egress.meters);
                self.reply(id, transaction, &answer(ReplyBody::MeterFeatures(features)));
            }
            RequestBody::Experimenter(asked) => {
                self.inspect(now, pipeline, id, transaction, &asked)?;
            }
            RequestBody::TableFeatures(_) => {
                return Err(ErrorKind::BadRequest(BadRequest::BadMultipart));
            }
        }
        Ok(())
    }

    /// Answers by what the world has counted until then.
    fn ask_world(&mut self, id: ConnectionId, dump: Dump) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.dump = Some(dump);
            self.asks_world = true;
        }
    }

    fn describe(&mut self, id: ConnectionId, transaction: TransactionId) {
        let (hardware, name) = (self.hardware.clone(), self.datapath_id.to_string());
        let body = ReplyBody::Description(description(&hardware, &name));
        self.reply(id, transaction, &answer(body));
    }

    /// Appends an answer that lists items.
    pub(super) fn list<'a, T: Element<'a>>(
        &mut self,
        id: ConnectionId,
        transaction: TransactionId,
        items: &'a [T],
        body: impl Fn(Sequence<'a, T>) -> ReplyBody<'a>,
    ) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.send_list(transaction, items, body);
        }
    }
}

impl PortDump {
    /// Sends the answer, of which nothing is left then.
    pub(super) fn send(
        self,
        now: Instant,
        pipeline: &Pipeline,
        session: &mut Session,
    ) -> Option<Dump> {
        let Self(transaction, port) = self;
        let ports = ports(pipeline, port).into_iter().flatten();
        let ports: Vec<_> = ports
            .map(|port| port_statistics(now, pipeline, port))
            .collect();
        session.send_list(transaction, &ports, ReplyBody::PortStatistics);
        None
    }
}

impl QueueDump {
    /// Sends the answer, of which nothing is left then.
    pub(super) fn send(
        self,
        now: Instant,
        pipeline: &Pipeline,
        session: &mut Session,
    ) -> Option<Dump> {
        let Self(transaction, port, queue) = self;
        let queues = queues(now, pipeline, port, queue).unwrap_or_default();
        session.send_list(transaction, &queues, ReplyBody::Queue);
        None
    }
}

impl EntryDump {
    /// Lists the chosen entries from the first on.
    pub(super) const fn new(transaction: TransactionId, selection: Selection) -> Self {
        Self {
            transaction,
            cursor: Cursor::new(selection.table),
            selection,
        }
    }

    /// Sends one part of the answer, and returns what is left of it.
    pub(super) fn send_part(
        mut self: Box<Self>,
        now: Instant,
        pipeline: &Pipeline,
        session: &mut Session,
    ) -> Option<Box<Self>> {
        let mut part = Vec::new();
        let mut bytes = 0;
        let mut looks = 0;
        let mut more = true;
        while more && bytes < PART_BYTES && looks < PART_LOOKS {
            looks += 1;
            let id = match self.cursor.step(pipeline) {
                SweptPlace::Entry(id) => id,
                SweptPlace::Empty => continue,
                SweptPlace::End => {
                    more = false;
                    continue;
                }
            };
            let entry = pipeline.entry(id);
            if self.selection.includes(entry) {
                bytes += entry.fields.len() + entry.instructions.len();
                part.push(flow_statistics(now, pipeline, id));
            }
        }
        let body = ReplyBody::Flow(Sequence::of(&part));
        let reply = Message::MultipartReply(MultipartReply { more, body });
        session.send(self.transaction, &reply);
        more.then_some(self)
    }
}

fn answer(body: ReplyBody<'_>) -> Message<'_> {
    Message::MultipartReply(MultipartReply::new(body))
}

fn description<'a>(hardware: &'a str, name: &'a str) -> SwitchDescription<'a> {
    SwitchDescription {
        manufacturer: "Taktos",
        hardware,
        software: concat!("taktos ", env!("CARGO_PKG_VERSION")),
        serial: "none",
        datapath: name,
    }
}

fn select(
    pipeline: &Pipeline,
    request: &FlowStatisticsRequest<'_>,
) -> Result<Selection, ErrorKind> {
    let table = request.table;
    if table != TableId::ALL && usize::from(table.0) >= pipeline.tables.len() {
        return Err(ErrorKind::BadRequest(BadRequest::BadTableId));
    }
    Ok(Selection {
        table,
        rule: matching::compile(&request.matching, 0)?,
        cookie: request.cookie,
        cookie_mask: request.cookie_mask,
        out: OutPort::new(&pipeline.egress, request.out_port),
        group: OutGroup::new(&pipeline.egress, request.out_group),
    })
}

fn flow_statistics(now: Instant, pipeline: &Pipeline, id: EntryId) -> FlowStatistics<'_> {
    let (entry, counters) = (pipeline.entry(id), pipeline.entry_counters(id));
    FlowStatistics {
        table: id.table,
        age: now - entry.created,
        priority: entry.rule.priority,
        idle_timeout_s: entry.idle_timeout,
        hard_timeout_s: entry.hard_timeout,
        flags: entry.flags,
        cookie: entry.cookie,
        packets: counters.frames,
        bytes: counters.bytes,
        matching: Fields::from_bytes(&entry.fields),
        instructions: Instructions::from_bytes(&entry.instructions),
    }
}

fn tables(pipeline: &Pipeline) -> Vec<TableStatistics> {
    let tables = (0..).map(TableId).zip(&pipeline.tables);
    let tables = tables.map(|(number, table)| {
        let counters = pipeline.table_counters(usize::from(number.0));
        TableStatistics {
            table: number,
            entries: u32::try_from(table.flows.len()).expect("the capacity is below 2^32"),
            lookups: counters.lookups,
            matched: counters.matches,
        }
    });
    tables.collect()
}

/// Returns the port with this number, or all; nothing if there is none.
fn ports(pipeline: &Pipeline, port: PortNumber) -> Option<impl Iterator<Item = PortIndex>> {
    let asked = match port {
        PortNumber::ANY => 0..pipeline.egress.ports.len(),
        port => {
            let at = pipeline.egress.find_port(port)?.at();
            at..at + 1
        }
    };
    let indices = (0..).map(PortIndex).skip(asked.start);
    Some(indices.take(asked.len()))
}

fn port_statistics(now: Instant, pipeline: &Pipeline, index: PortIndex) -> PortStatistics {
    /// What the switch does not count, OF13 clause 7.3.5.6.
    const UNKNOWN: u64 = u64::MAX;
    let (port, counters) = (pipeline.egress.port(index), pipeline.port_counters(index));
    PortStatistics {
        port: port.config.number,
        received_packets: counters.received_frames,
        sent_packets: counters.sent_frames,
        received_bytes: counters.received_bytes,
        sent_bytes: counters.sent_bytes,
        received_dropped: counters.received_dropped,
        sent_dropped: counters.sent_dropped,
        received_errors: UNKNOWN,
        sent_errors: UNKNOWN,
        frame_errors: UNKNOWN,
        overrun_errors: UNKNOWN,
        crc_errors: UNKNOWN,
        collisions: UNKNOWN,
        age: now - port.since,
    }
}

fn queues(
    now: Instant,
    pipeline: &Pipeline,
    port: PortNumber,
    queue: QueueId,
) -> Result<Vec<QueueStatistics>, ErrorKind> {
    let ports = ports(pipeline, port).ok_or(ErrorKind::QueueOpFailed(QueueOpFailed::BadPort))?;
    let mut found = Vec::new();
    for index in ports {
        let port = pipeline.egress.port(index);
        for (number, counters) in (0..).map(QueueId).zip(pipeline.queue_counters(index)) {
            if queue == QueueId::ALL || queue == number {
                found.push(QueueStatistics {
                    port: port.config.number,
                    queue: number,
                    sent_bytes: counters.sent_bytes,
                    sent_packets: counters.sent_frames,
                    sent_errors: counters.dropped_frames,
                    age: now - port.since,
                });
            }
        }
    }
    match found.is_empty() && queue != QueueId::ALL {
        true => Err(ErrorKind::QueueOpFailed(QueueOpFailed::BadQueue)),
        false => Ok(found),
    }
}
