//! What a Taktos switch tells beyond OpenFlow 1.3: what a frame costs at most, how
//! long frames stayed, which entries lost frames, what the switch as a whole did,
//! and what is handled by the core (`docs/openflow-extension.md`).

use units::Instant;
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::taktos::{
    Answer, CostReply, EXPERIMENTER, EntryLosses, Question, QueueResidence, ResidenceBucket,
    SwitchFeatures, SwitchTally, TableCost, TableDigest, Work,
};
use wire::openflow::{
    BadRequest, ErrorKind, Experimenter, Fields, Message, QueueId, Sequence, TableId, TransactionId,
};

use super::Agent;
use super::bfd::send_sessions;
use super::dump::Dump;
use super::engine_dump::EngineDump;
use super::hops::HopDump;
use super::modes::send_monitors;
use super::police::PolicedDump;
use super::session::{ConnectionId, Session};
use super::statistics::PART_LOOKS;
use super::streams::{StreamDump, send_nodes};
use super::sweep::{Cursor, SweptPlace};
use crate::cost;
use crate::pipeline::Pipeline;
use crate::port::{Port, QUEUES};

/// An answer that lists queues, one at a time.
#[derive(Debug)]
pub(super) struct ResidenceDump {
    transaction: TransactionId,
    port: usize,
    queue: usize,
}

/// An answer that lists entries that lost frames.
#[derive(Debug)]
pub(super) struct LossesDump {
    transaction: TransactionId,
    cursor: Cursor,
}

/// An answer about the switch as a whole.
#[derive(Debug)]
pub(super) struct TallyDump {
    transaction: TransactionId,
    bad_messages: u64,
    bad_connections: u64,
}

impl Agent {
    pub(super) fn inspect(
        &mut self,
        now: Instant,
        pipeline: &Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        asked: &Experimenter<'_>,
    ) -> Result<(), ErrorKind> {
        let question = Question::of(asked).ok_or_else(|| unknown(asked))?;
        let tally = TallyDump {
            transaction,
            bad_messages: self.bad_messages,
            bad_connections: self.bad_connections,
        };
        let Some(session) = self.sessions.get_mut(&id) else {
            return Ok(());
        };
        match question {
            Question::Cost => send_cost(&pipeline.cost(), session, transaction),
            Question::Residence => {
                session.dump = Some(Dump::Residence(ResidenceDump {
                    transaction,
                    port: 0,
                    queue: 0,
                }));
            }
            Question::Losses => {
                session.dump = Some(Dump::Losses(LossesDump {
                    transaction,
                    cursor: Cursor::new(TableId::ALL),
                }));
            }
            Question::Tally => {
                session.dump = Some(Dump::Tally(tally));
                self.asks_world = true;
            }
            Question::Engine => {
                session.dump = Some(Dump::Engine(EngineDump::new(transaction)));
            }
            Question::Modes => {
                let mut trunks = Vec::new();
                let status = pipeline.egress.mode_status(now, &mut trunks);
                send(session, transaction, Part::Last, &Answer::Modes(status));
            }
            Question::Monitors => send_monitors(now, pipeline, session, transaction),
            Question::Policed => session.dump = Some(Dump::Policed(PolicedDump::new(transaction))),
            Question::Streams => {
                session.dump = Some(Dump::Streams(StreamDump::new(transaction)));
            }
            Question::Features => {
                let features = SwitchFeatures {
                    orders_streams: pipeline.form.is_none(),
                };
                send(
                    session,
                    transaction,
                    Part::Last,
                    &Answer::Features(features),
                );
            }
            Question::Sessions => send_sessions(pipeline, session, transaction),
            Question::Nodes => send_nodes(now, pipeline, session, transaction),
            Question::Digests => send_digests(pipeline, session, transaction),
            Question::Hops => session.dump = Some(Dump::Hops(HopDump::new(transaction))),
        }
        Ok(())
    }
}

impl TallyDump {
    /// Sends the answer, of which nothing is left then.
    pub(super) fn send(self, pipeline: &Pipeline, session: &mut Session) -> Option<Dump> {
        let egress = &pipeline.egress;
        let count = |count: usize| u64::try_from(count).expect("64 bits suffice");
        let counters = pipeline.counters();
        let tally = SwitchTally {
            frames: counters.frames,
            refused: counters.refused,
            oversized: counters.oversized,
            overrun: counters.overrun,
            missed: counters.missed,
            abandoned: counters.abandoned,
            metered: counters.metered,
            buckets_skipped: counters.buckets_skipped,
            outputs: counters.outputs,
            sent: counters.sent,
            dropped: counters.dropped,
            punted: counters.punted,
            punts_dropped: counters.punts_dropped,
            bad_messages: self.bad_messages,
            bad_connections: self.bad_connections,
            waiting: count(egress.waiting()),
            free_buffers: count(egress.pool.free()),
        };
        send(session, self.transaction, Part::Last, &Answer::Tally(tally));
        None
    }
}

fn unknown(asked: &Experimenter<'_>) -> ErrorKind {
    ErrorKind::BadRequest(match asked.experimenter {
        EXPERIMENTER => BadRequest::BadExperimenterType,
        _ => BadRequest::BadExperimenter,
    })
}

/// Whether more of an answer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Last,
    MoreFollows,
}

pub(super) fn send(
    session: &mut Session,
    transaction: TransactionId,
    part: Part,
    answer: &Answer<'_>,
) {
    let mut data = Vec::new();
    let reply = MultipartReply {
        more: part == Part::MoreFollows,
        body: ReplyBody::Experimenter(answer.body(&mut data)),
    };
    session.send(transaction, &Message::MultipartReply(reply));
}

/// How many sums of digests one message has.
const DIGESTS_A_PART: usize = 1024;

/// Tells what entries there are, class by class, table by table.
fn send_digests(pipeline: &Pipeline, session: &mut Session, transaction: TransactionId) {
    let tables = (0..).zip(&pipeline.tables);
    let of_tables = tables.flat_map(|(number, table)| {
        let classes = table.flows.digests().iter();
        classes.map(move |(class, sum)| TableDigest {
            table: TableId(number),
            class: *class,
            sum: *sum,
        })
    });
    let digests: Vec<_> = of_tables.collect();
    let mut rest = &digests[..];
    loop {
        let (digests, behind) = rest.split_at(rest.len().min(DIGESTS_A_PART));
        let part = match behind {
            [] => Part::Last,
            _ => Part::MoreFollows,
        };
        let answer = Answer::Digests(Sequence::of(digests));
        send(session, transaction, part, &answer);
        if part == Part::Last {
            return;
        }
        rest = behind;
    }
}

fn send_cost(cost: &cost::Cost, session: &mut Session, transaction: TransactionId) {
    let tables: Vec<_> = cost.tables.iter().map(table_cost).collect();
    let answer = Answer::Cost(CostReply {
        frame: work(cost.frame),
        tables: Sequence::of(&tables),
    });
    send(session, transaction, Part::Last, &answer);
}

fn table_cost(of: &cost::TableCost) -> TableCost {
    TableCost {
        table: of.table,
        entries: of.entries,
        masks: of.masks,
        onward: work(of.onward),
    }
}

const fn work(of: cost::Work) -> Work {
    Work {
        tables: of.tables,
        lookups: of.lookups,
        slots: of.slots,
        actions: of.actions,
        buckets: of.buckets,
    }
}

impl ResidenceDump {
    /// Sends the next queue through which a frame left, and returns what is left.
    pub(super) fn send_part(mut self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let ports = &pipeline.egress.ports;
        while let Some(port) = ports.get(self.port) {
            let queue = self.queue;
            self.queue += 1;
            if self.queue == QUEUES {
                self.port += 1;
                self.queue = 0;
            }
            if port.queues()[queue].residence.frames() > 0 {
                let part = match self.port < ports.len() {
                    true => Part::MoreFollows,
                    false => Part::Last,
                };
                send_residence(port, queue, session, self.transaction, part);
                return (part == Part::MoreFollows).then_some(self);
            }
        }
        let nothing = Answer::Residence(Sequence::EMPTY);
        send(session, self.transaction, Part::Last, &nothing);
        None
    }
}

fn send_residence(
    port: &Port,
    queue: usize,
    session: &mut Session,
    transaction: TransactionId,
    part: Part,
) {
    let residence = &port.queues()[queue].residence;
    let buckets: Vec<_> = residence
        .buckets()
        .map(|bucket| ResidenceBucket {
            at_most: bucket.at_most,
            frames: bucket.frames,
        })
        .collect();
    let queue = [QueueResidence {
        port: port.config.number,
        queue: QueueId(u32::try_from(queue).expect("one of eight")),
        frames: residence.frames(),
        longest: residence.longest(),
        buckets: Sequence::of(&buckets),
    }];
    let answer = Answer::Residence(Sequence::of(&queue));
    send(session, transaction, part, &answer);
}

impl LossesDump {
    /// Looks at the next entries, sends those that lost frames, and returns what
    /// is left.
    pub(super) fn send_part(mut self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let mut lost = Vec::new();
        let mut part = Part::MoreFollows;
        for _ in 0..PART_LOOKS {
            let id = match self.cursor.step(pipeline) {
                SweptPlace::Entry(id) => id,
                SweptPlace::Empty => continue,
                SweptPlace::End => {
                    part = Part::Last;
                    break;
                }
            };
            let (entry, dropped) = (pipeline.entry(id), pipeline.entry_counters(id).dropped);
            if dropped > 0 {
                lost.push(EntryLosses {
                    table: id.table,
                    priority: entry.rule.priority,
                    cookie: entry.cookie,
                    dropped,
                    matching: Fields::from_bytes(&entry.fields),
                });
            }
        }
        let answer = Answer::Losses(Sequence::of(&lost));
        send(session, self.transaction, part, &answer);
        (part == Part::MoreFollows).then_some(self)
    }
}
