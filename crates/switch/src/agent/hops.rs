//! What controllers want watched of how long frames stay, and what they hear of it
//! (`docs/openflow-extension.md`).

use units::Instant;
use wire::openflow::taktos::{
    Answer, HopConfig, HopCoverage, HopEvent, HopFailed, HopMessage, HopRecord, HopReply,
    ResidenceBucket,
};
use wire::openflow::{
    BadRequest, ErrorKind, Fields, Message, PortStatusReason, QueueId, Sequence, TransactionId,
};

use super::Agent;
use super::inspection::{Part, send};
use super::session::{ConnectionId, Session};
use crate::compiled::Departures;
use crate::hops::{Exceeded, HopKey, HopStays, UNWATCHED, word_of};
use crate::pipeline::Pipeline;
use crate::port::QUEUES;

/// How many places of records are looked at for one part of an answer.
const PART_PLACES: usize = 128;
/// How many records one part has at most: one is up to two kilobytes.
const PART_RECORDS: usize = 16;

impl Agent {
    /// Does what a message about how long frames stay asks for.
    pub(super) fn hop_message(
        &self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        message: &HopMessage<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        match message {
            HopMessage::Config(config) => configure(now, pipeline, config),
            // Only a switch says so.
            HopMessage::Event(_) => Err(ErrorKind::BadRequest(BadRequest::BadType)),
        }
    }

    /// Looks at how long frames stayed, if it is time to, and tells the controllers that
    /// listen of budgets that were missed.
    pub(crate) fn look_at_hops(&mut self, now: Instant, pipeline: &mut Pipeline) {
        let Pipeline { tables, egress, .. } = pipeline;
        if egress.hops.due().is_none_or(|due| due > now) {
            return;
        }
        let is_alive = |owner| crate::pipeline::entry_of(tables, owner).is_some();
        egress.hops.sweep(is_alive);
        if !egress.hops.look(now) {
            return;
        }
        let Some((exceeded, unsaid)) = egress.hops.exceeded(now, is_alive) else {
            return;
        };
        for it in exceeded {
            if let Some(event) = event(now, pipeline, &it, unsaid) {
                self.tell_hop(event);
            }
        }
    }

    fn tell_hop(&mut self, event: HopEvent) {
        // Whoever hears of ports hears of hops.
        let reason = PortStatusReason::Modify.number();
        self.announce(
            |session| session.wants(session.asynchronous.port_status, reason),
            &Message::Hop(HopMessage::Event(event)),
        );
    }
}

fn configure(
    now: Instant,
    pipeline: &mut Pipeline,
    config: &HopConfig<'_>,
) -> Result<(), ErrorKind> {
    let egress = &mut pipeline.egress;
    let mut watched = vec![[UNWATCHED; QUEUES]; egress.ports.len()];
    for (count, queue) in config.queues.iter().enumerate() {
        let queue = queue.map_err(|error| error.kind())?;
        if count == watched.len() * QUEUES {
            return Err(HopFailed::TooManyQueues.into());
        }
        let port = egress.find_port(queue.port).ok_or(HopFailed::BadPort)?;
        let queues = &mut watched[port.at()];
        let number = usize::try_from(queue.queue.0).ok();
        let word = number.and_then(|number| queues.get_mut(number));
        *word.ok_or(HopFailed::BadQueue)? = word_of(queue.budget);
    }
    egress.hops.configure(now, watched);
    Ok(())
}

fn event(now: Instant, pipeline: &Pipeline, exceeded: &Exceeded, unsaid: u32) -> Option<HopEvent> {
    let key = exceeded.key;
    let entry = crate::pipeline::entry_of(&pipeline.tables, key.owner)?;
    Some(HopEvent {
        table: key.owner.table,
        priority: entry.rule.priority,
        unsaid,
        cookie: entry.cookie,
        port: pipeline.egress.port(key.port).config.number,
        queue: QueueId(key.queue.into()),
        budget: exceeded.budget,
        longest: exceeded.longest,
        frames: exceeded.frames,
        at: now,
    })
}

/// An answer that lists how long the frames of entries stayed.
#[derive(Debug)]
pub(super) struct HopDump {
    transaction: TransactionId,
    next: usize,
}

impl HopDump {
    pub(super) const fn new(transaction: TransactionId) -> Self {
        let next = 1;
        Self { transaction, next }
    }

    /// Sends the next records, and returns what is left.
    pub(super) fn send_part(mut self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let hops = &pipeline.egress.hops;
        let found = self.find(pipeline);
        let buckets: Vec<_> = found.iter().map(|(_, stays)| buckets(stays)).collect();
        let records: Vec<_> = found
            .iter()
            .zip(&buckets)
            .filter_map(|((key, stays), buckets)| record(pipeline, *key, stays, buckets))
            .collect();
        let answer = Answer::Hops(HopReply {
            coverage: match (hops.is_on(), hops.departures()) {
                (false, _) => HopCoverage::Nothing,
                (true, Departures::Seen) => HopCoverage::All,
                (true, Departures::Unseen) => HopCoverage::CoreOnly,
            },
            no_room: hops.no_room(),
            records: Sequence::of(&records),
        });
        let part = match self.next < hops.end() {
            true => Part::MoreFollows,
            false => Part::Last,
        };
        send(session, self.transaction, part, &answer);
        (part == Part::MoreFollows).then_some(self)
    }

    fn find(&mut self, pipeline: &Pipeline) -> Vec<(HopKey, HopStays)> {
        let hops = &pipeline.egress.hops;
        let end = hops.end().min(self.next + PART_PLACES);
        let mut found = Vec::new();
        while self.next < end && found.len() < PART_RECORDS {
            let at = self.next;
            self.next += 1;
            if let (Some(key), Some(stays)) = (hops.key(at), hops.stays(at)) {
                found.push((key, stays));
            }
        }
        found
    }
}

fn buckets(stays: &HopStays) -> Vec<ResidenceBucket> {
    let buckets = stays.buckets.iter();
    let buckets = buckets.map(|bucket| ResidenceBucket {
        at_most: bucket.at_most,
        frames: bucket.frames,
    });
    buckets.collect()
}

/// Returns a record as it is told; nothing if its entry is gone, or no frame has left.
fn record<'a>(
    pipeline: &'a Pipeline,
    key: HopKey,
    stays: &HopStays,
    buckets: &'a [ResidenceBucket],
) -> Option<HopRecord<'a>> {
    let entry = crate::pipeline::entry_of(&pipeline.tables, key.owner)?;
    (stays.frames + stays.untimed > 0).then(|| HopRecord {
        table: key.owner.table,
        priority: entry.rule.priority,
        cookie: entry.cookie,
        port: pipeline.egress.port(key.port).config.number,
        queue: QueueId(key.queue.into()),
        frames: stays.frames,
        longest: stays.longest,
        above: stays.above,
        budget: pipeline.egress.hops.budget(key),
        untimed: stays.untimed,
        buckets: Sequence::of(buckets),
        matching: Fields::from_bytes(&entry.fields),
    })
}
