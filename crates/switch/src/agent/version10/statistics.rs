//! What a controller of version 1.0 may ask about what was, OF10 section 5.3.5.

use units::Instant;
use wire::openflow::multipart::{self, AggregateStatistics};
use wire::openflow::{self, Cookie, Fields, PortNumber, Sequence, TableId, TransactionId};
use wire::openflow10::statistics::{
    FlowStatisticsRequest, ReplyBody, RequestBody, StatisticsReply, TableStatistics,
};
use wire::openflow10::{self, BadRequest, ErrorKind, Message, Wildcards};

use super::flow_mods::TABLE;
use crate::agent::Agent;
use crate::agent::dump::Dump;
use crate::agent::session::ConnectionId;
use crate::agent::statistics::EntryDump;
use crate::agent::sweep::Sweep;
use crate::matching;
use crate::pipeline::Pipeline;
use crate::selection::{OutGroup, OutPort, Selection};

impl Agent {
    pub(super) fn narrow_statistics(
        &mut self,
        now: Instant,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        request: RequestBody<'_>,
    ) -> Result<(), ErrorKind> {
        use multipart::RequestBody as Wide;
        let wide = match request {
            RequestBody::Description => Wide::Description,
            RequestBody::Port(port) => Wide::PortStatistics(port.to_of13()),
            RequestBody::Queue { port, queue } => Wide::Queue {
                port: match port {
                    openflow10::PortNumber::ALL => PortNumber::ANY,
                    port => port.to_of13(),
                },
                queue,
            },
            RequestBody::Flow(request) => {
                return self.narrow_flows(pipeline, id, transaction, &request);
            }
            RequestBody::Aggregate(request) => {
                return self.narrow_aggregate(pipeline, id, transaction, &request);
            }
            RequestBody::Table => {
                let table = [table(pipeline)];
                self.narrow_answer(id, transaction, ReplyBody::Table(Sequence::of(&table)));
                return Ok(());
            }
            RequestBody::Vendor { .. } => {
                return Err(ErrorKind::BadRequest(BadRequest::BadVendor));
            }
        };
        let answered = self.multipart(now, pipeline, id, transaction, wide);
        match answered {
            // Version 1.0 has no error for a port that is not there.
            Err(openflow::ErrorKind::BadRequest(openflow::BadRequest::BadPort)) => {
                self.narrow_answer(id, transaction, ReplyBody::Port(Sequence::EMPTY));
                Ok(())
            }
            answered => answered.map_err(ErrorKind::from_of13),
        }
    }

    fn narrow_aggregate(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        request: &FlowStatisticsRequest,
    ) -> Result<(), ErrorKind> {
        match select(pipeline, request)? {
            Some(selection) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    session.sweep = Some(Box::new(Sweep::sum(transaction, selection)));
                }
            }
            None => {
                let nothing = ReplyBody::Aggregate(AggregateStatistics::default());
                self.narrow_answer(id, transaction, nothing);
            }
        }
        Ok(())
    }

    fn narrow_flows(
        &mut self,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        request: &FlowStatisticsRequest,
    ) -> Result<(), ErrorKind> {
        match select(pipeline, request)? {
            Some(selection) => {
                if let Some(session) = self.sessions.get_mut(&id) {
                    let dump = EntryDump::new(transaction, selection);
                    session.dump = Some(Dump::Entries(Box::new(dump)));
                }
            }
            None => self.narrow_answer(id, transaction, ReplyBody::Flow(Sequence::EMPTY)),
        }
        Ok(())
    }

    fn narrow_answer(&mut self, id: ConnectionId, transaction: TransactionId, body: ReplyBody<'_>) {
        let more = false;
        let reply = StatisticsReply { more, body };
        self.narrow_reply(id, transaction, &Message::StatisticsReply(reply));
    }
}

/// Returns which entries are asked for; nothing if those of a table that is not
/// there.
fn select(
    pipeline: &Pipeline,
    request: &FlowStatisticsRequest,
) -> Result<Option<Selection>, ErrorKind> {
    if request.table != TABLE && request.table != TableId::ALL {
        return Ok(None);
    }
    let fields = request.matching.to_of13();
    Ok(Some(Selection {
        table: TABLE,
        rule: matching::compile(&Fields::of(&fields), 0).map_err(ErrorKind::from_of13)?,
        cookie: Cookie::NONE,
        cookie_mask: Cookie::NONE,
        out: OutPort::new(&pipeline.egress, request.out_port.to_of13()),
        group: OutGroup::Any,
    }))
}

fn table(pipeline: &Pipeline) -> TableStatistics<'_> {
    let table = &pipeline.tables[usize::from(TABLE.0)];
    let counters = pipeline.table_counters(usize::from(TABLE.0));
    let count = |entries| u32::try_from(entries).unwrap_or(u32::MAX);
    TableStatistics {
        table: TABLE,
        name: &table.name,
        wildcards: Wildcards::ALL,
        max_entries: count(table.flows.capacity()),
        entries: count(table.flows.len()),
        lookups: counters.lookups,
        matched: counters.matches,
    }
}
