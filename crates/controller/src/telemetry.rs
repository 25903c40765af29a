//! What a switch last said of its ports, its tables, and the flows that cross it.
//!
//! It is asked when somebody wants to know, and no more often than every
//! [`ASKED_EVERY`]: who asks gets what was said last, and the switch is asked anew. A
//! network that nobody watches is asked nothing.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::openflow::multipart::{
    FlowStatistics, MultipartReply, PortStatistics, ReplyBody, TableStatistics,
};
use wire::openflow::{Cookie, Experimenter, PortNumber, TransactionId, taktos};

use crate::northbound::{FlowId, HopCount};

/// The least time between two questions.
pub const ASKED_EVERY: Duration = Duration::from_secs(1);
/// The most ports of a switch of which something is kept.
pub const MAX_PORTS: usize = 1_024;
/// The most tables: all that there can be.
pub const MAX_TABLES: usize = 255;
/// Switches with more entries are not asked for those of flows.
pub const MAX_ENTRIES: usize = 1 << 14;

/// What a switch has carried for a flow, by all of its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCount {
    pub packets: u64,
    /// Their bytes, as the switch counts them.
    pub bytes: u64,
}

/// What a switch has counted of a contract that it polices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentCount {
    pub frames: u64,
    /// Their bytes, as they stand in the switch.
    pub bytes: u64,
    /// Those of the frames that exceeded the contract.
    pub exceeded: u64,
}

/// What a switch said last.
#[derive(Debug, Default)]
pub struct Telemetry {
    asked_at: Option<Instant>,
    pub ports: Answer<Vec<PortStatistics>>,
    pub tables: Answer<Vec<TableStatistics>>,
    /// What it has carried for flows.
    pub flows: Answer<BTreeMap<FlowId, FlowCount>>,
    policed_asked_at: Option<Instant>,
    /// What sources of flows sent that it polices.
    pub policed: Answer<BTreeMap<FlowId, SentCount>>,
    /// How long their frames stayed that left by a port.
    pub hops: Answer<BTreeMap<(FlowId, PortNumber), HopCount>>,
}

/// The answer to one question, which may come in parts.
#[derive(Debug, Default)]
pub struct Answer<T> {
    /// By what its parts are known.
    transaction: Option<TransactionId>,
    /// What has arrived of it.
    begun: T,
    /// The last that was whole.
    pub said: T,
    /// How many were whole.
    answers: u64,
}

impl<T: Default> Answer<T> {
    /// Waits for the answer to a question, and for no earlier one.
    pub fn expect(&mut self, transaction: TransactionId) {
        self.transaction = Some(transaction);
        self.begun = T::default();
    }

    /// Returns whether an answer is waited for.
    pub const fn is_awaited(&self) -> bool {
        self.transaction.is_some()
    }

    /// Returns what to add a part to, if the part belongs to this answer.
    fn part(&mut self, transaction: TransactionId) -> Option<&mut T> {
        (self.transaction == Some(transaction)).then_some(&mut self.begun)
    }

    /// Returns how many answers were whole.
    pub const fn answers(&self) -> u64 {
        self.answers
    }

    fn finish(&mut self) {
        self.transaction = None;
        self.answers += 1;
        self.said = std::mem::take(&mut self.begun);
    }
}

impl Telemetry {
    /// Tells whether the switch is to be asked anew, and notes that it is.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .asked_at
            .is_none_or(|at| now.saturating_since(at) >= ASKED_EVERY);
        if is_due {
            self.asked_at = Some(now);
        }
        is_due
    }

    /// Does the same for what it polices, which is long and of no concern to most.
    pub fn is_policed_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .policed_asked_at
            .is_none_or(|at| now.saturating_since(at) >= ASKED_EVERY);
        if is_due {
            self.policed_asked_at = Some(now);
        }
        is_due
    }

    /// Returns when the switch was last asked what it polices.
    pub const fn policed_asked_at(&self) -> Option<Instant> {
        self.policed_asked_at
    }

    /// Takes a part of an answer. `flow_of` tells whose an entry is, `owner_of` whose the
    /// one with a cookie is. Returns whether it was an answer to one of these questions.
    pub fn take(
        &mut self,
        transaction: TransactionId,
        reply: &MultipartReply<'_>,
        flow_of: impl Fn(&FlowStatistics<'_>) -> Option<FlowId>,
        owner_of: impl Fn(Cookie) -> Option<FlowId>,
    ) -> bool {
        match &reply.body {
            ReplyBody::PortStatistics(ports) => {
                let Some(begun) = self.ports.part(transaction) else {
                    return false;
                };
                let room = MAX_PORTS - begun.len();
                let real = |port: &PortStatistics| port.port <= PortNumber::MAX;
                let ports = ports.iter().map_while(Result::ok).filter(real);
                begun.extend(ports.take(room));
                if !reply.more {
                    self.ports.finish();
                }
            }
            ReplyBody::Table(tables) => {
                let Some(begun) = self.tables.part(transaction) else {
                    return false;
                };
                let room = MAX_TABLES - begun.len();
                begun.extend(tables.iter().map_while(Result::ok).take(room));
                if !reply.more {
                    self.tables.finish();
                }
            }
            ReplyBody::Flow(entries) => {
                let Some(begun) = self.flows.part(transaction) else {
                    return false;
                };
                for entry in entries.iter().map_while(Result::ok) {
                    if let Some(flow) = flow_of(&entry) {
                        let count = begun.entry(flow).or_default();
                        count.packets = count.packets.saturating_add(entry.packets);
                        count.bytes = count.bytes.saturating_add(entry.bytes);
                    }
                }
                if !reply.more {
                    self.flows.finish();
                }
            }
            ReplyBody::Experimenter(body) => {
                return self.take_ours(transaction, (body, reply.more), owner_of);
            }
            _ => return false,
        }
        true
    }

    /// Takes a part of an answer to a question of our extension.
    fn take_ours(
        &mut self,
        transaction: TransactionId,
        (body, is_more): (&Experimenter<'_>, bool),
        owner_of: impl Fn(Cookie) -> Option<FlowId>,
    ) -> bool {
        let answer = taktos::Answer::parse(body).ok().flatten();
        if let Some(begun) = self.policed.part(transaction) {
            if let Some(taktos::Answer::Policed(entries)) = answer {
                for entry in entries.iter().map_while(Result::ok) {
                    if let Some(flow) = owner_of(entry.cookie) {
                        begun.entry(flow).or_default().add(&entry);
                    }
                }
            }
            if !is_more {
                self.policed.finish();
            }
            return true;
        }
        let Some(begun) = self.hops.part(transaction) else {
            return false;
        };
        if let Some(taktos::Answer::Hops(hops)) = answer {
            for record in hops.records.iter().map_while(Result::ok) {
                if let Some(flow) = owner_of(record.cookie) {
                    let count = begun.entry((flow, record.port)).or_default();
                    add(count, &record);
                }
            }
        }
        if !is_more {
            self.hops.finish();
        }
        true
    }
}

impl SentCount {
    /// Adds what a switch says of one of a flow's entries.
    fn add(&mut self, entry: &taktos::PolicedEntry) {
        self.frames = self.frames.saturating_add(entry.frames);
        self.bytes = self.bytes.saturating_add(entry.bytes);
        self.exceeded = self.exceeded.saturating_add(entry.exceeded);
    }
}

/// Adds what a switch says of frames that left by the same port.
fn add(count: &mut HopCount, record: &taktos::HopRecord<'_>) {
    count.frames = count.frames.saturating_add(record.frames);
    count.longest = count.longest.max(record.longest);
    count.budget = count.budget.or(record.budget);
    count.above = count.above.saturating_add(record.above);
    count.untimed = count.untimed.saturating_add(record.untimed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(number: u32, sent_packets: u64) -> PortStatistics {
        PortStatistics {
            port: PortNumber(number),
            sent_packets,
            ..PortStatistics::default()
        }
    }

    /// Hands an answer over as a switch writes it, in parts.
    fn answer(telemetry: &mut Telemetry, transaction: u32, parts: &[&[PortStatistics]]) -> bool {
        let mut is_taken = true;
        for (at, part) in parts.iter().enumerate() {
            let reply = MultipartReply {
                more: at + 1 < parts.len(),
                body: ReplyBody::PortStatistics(wire::openflow::Sequence::of(part)),
            };
            is_taken &= telemetry.take(TransactionId(transaction), &reply, |_| None, |_| None);
        }
        is_taken
    }

    #[test]
    fn an_answer_counts_once_it_is_whole() {
        let mut telemetry = Telemetry::default();
        telemetry.ports.expect(TransactionId(7));

        assert!(answer(&mut telemetry, 7, &[&[port(1, 10)], &[port(2, 20)]]));
        assert_eq!(telemetry.ports.said, [port(1, 10), port(2, 20)]);

        telemetry.ports.expect(TransactionId(8));
        let ports = [port(1, 11)];
        let reply = MultipartReply {
            more: true,
            body: ReplyBody::PortStatistics(wire::openflow::Sequence::of(&ports)),
        };
        assert!(telemetry.take(TransactionId(8), &reply, |_| None, |_| None));
        assert_eq!(telemetry.ports.said, [port(1, 10), port(2, 20)]);
    }

    #[test]
    fn what_was_not_asked_for_counts_nothing() {
        let mut telemetry = Telemetry::default();
        assert!(!answer(&mut telemetry, 0, &[&[port(1, 10)]]));

        telemetry.ports.expect(TransactionId(7));
        assert!(answer(&mut telemetry, 7, &[&[port(1, 10)]]));
        assert!(!answer(&mut telemetry, 7, &[&[port(1, 99)]]));
        assert_eq!(telemetry.ports.said, [port(1, 10)]);
    }

    #[test]
    fn a_switch_keeps_no_more_ports_than_it_may() {
        let mut telemetry = Telemetry::default();
        let ports: Vec<_> = (1..=900).map(|number| port(number, 1)).collect();
        telemetry.ports.expect(TransactionId(7));

        assert!(answer(&mut telemetry, 7, &[&ports, &ports]));
        assert_eq!(telemetry.ports.said.len(), MAX_PORTS);
    }

    #[test]
    fn a_switch_is_asked_no_more_often_than_it_may_be() {
        let mut telemetry = Telemetry::default();
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);

        let asked = [5, 6, 1_004, 1_005, 1_006].map(|ms| telemetry.is_due(at(ms)));
        assert_eq!(asked, [true, false, false, true, false]);
    }
}
