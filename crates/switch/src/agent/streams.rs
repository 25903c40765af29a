//! Tells controllers which streams have too few copies, and what was counted of all
//! (`docs/openflow-extension.md`).

use units::{Duration, Instant};
use wire::openflow::taktos::{Answer, NodeReply, StreamEvent, StreamHandle};
use wire::openflow::{Message, PortStatusReason, Sequence, TransactionId};

use super::Agent;
use super::inspection::{Part, send};
use super::session::Session;
use super::statistics::PART_LOOKS;
use crate::pipeline::Pipeline;

/// How often it is looked whether all ways bring copies: the default of
/// `frerSeqRcvyLatentErrorPeriod`, IEEE 802.1CB clause 10.4.1.12.2. And how often it is said
/// that stations are there: `LifeCheckInterval`, IEC 62439-3 clause 4.
const LOOK: Duration = Duration::from_secs(2);
/// The most events of one look.
const EVENTS_MAX: usize = 64;

/// An answer that lists streams.
#[derive(Debug)]
pub(super) struct StreamDump {
    transaction: TransactionId,
    /// The last one that was told.
    told: Option<StreamHandle>,
}

impl Agent {
    /// Returns when [`look_at_streams`](Self::look_at_streams) has something to do.
    pub(crate) fn streams_due(&self, pipeline: &Pipeline) -> Option<Instant> {
        let any = !pipeline.egress.streams.is_empty();
        self.streams_due.filter(|_| any)
    }

    /// Looks whether all ways of streams bring copies, if it is time for that.
    pub(crate) fn look_at_streams(&mut self, now: Instant, pipeline: &mut Pipeline) {
        if pipeline.egress.streams.is_empty() {
            self.streams_due = None;
            return;
        }
        if now < *self.streams_due.get_or_insert(now + LOOK) {
            return;
        }
        self.streams_due = Some(now + LOOK);
        pipeline.supervise(now);
        let found = pipeline.egress.streams.find_latent_errors();
        for error in found.into_iter().take(EVENTS_MAX) {
            let Some(report) = pipeline.egress.stream_report(error.stream) else {
                continue;
            };
            let event = StreamEvent {
                report,
                passed: error.passed,
                discarded: error.discarded,
                noticed: now,
            };
            // Whoever hears of ports hears of this.
            let reason = PortStatusReason::Modify.number();
            self.announce(
                |session| session.wants(session.asynchronous.port_status, reason),
                &Message::Stream(event),
            );
        }
    }
}

impl StreamDump {
    pub(super) const fn new(transaction: TransactionId) -> Self {
        Self {
            transaction,
            told: None,
        }
    }

    /// Sends the next streams, and returns what is left.
    pub(super) fn send_part(mut self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let mut reports = Vec::new();
        let mut part = Part::MoreFollows;
        while reports.len() < PART_LOOKS {
            let Some(report) = pipeline.egress.stream_behind(self.told) else {
                part = Part::Last;
                break;
            };
            self.told = Some(report.stream);
            reports.push(report);
        }
        let answer = Answer::Streams(Sequence::of(&reports));
        send(session, self.transaction, part, &answer);
        (part == Part::MoreFollows).then_some(self)
    }
}

/// Tells which stations said to be there, by PRP.
pub(super) fn send_nodes(
    now: Instant,
    pipeline: &Pipeline,
    session: &mut Session,
    transaction: TransactionId,
) {
    let nodes = &pipeline.egress.nodes;
    let reports: Vec<_> = nodes.reports(now).collect();
    let answer = Answer::Nodes(NodeReply {
        counters: nodes.counters,
        nodes: Sequence::of(&reports),
    });
    send(session, transaction, Part::Last, &answer);
}
