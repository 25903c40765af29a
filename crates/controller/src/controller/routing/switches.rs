//! Gives switches the entries of prefixes, and finds out whether they have them.

use std::collections::BTreeSet;

use units::{Duration, Instant};
use wire::openflow::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::{DatapathId, ErrorMessage, Message, Sequence, TransactionId};

use crate::northbound::{ApplicationKind, IpPrefix};
use crate::router::delivery::{Delivery, MAX_REFUSED, Wanted};
use crate::router::entries;
use crate::router::next_hops::{HopTag, NextHops};
use crate::router::table::{Route, RouteTable, Usage};

use super::super::refusals::quoted_cookie;
use super::super::{Context, Network};
use super::Routing;

/// How often a switch is asked how many entries of prefixes it has.
const COUNTED_EVERY: Duration = Duration::from_secs(10);

/// What entries should be.
struct Entries<'a> {
    table: &'a RouteTable,
    hops: &'a NextHops,
}

impl Entries<'_> {
    fn tag(&self, route: &Route) -> Option<HopTag> {
        let hop = self.hops.get(route.next_hop)?;
        (route.usage == Usage::Entry).then_some(hop.tag)
    }
}

impl Wanted for Entries<'_> {
    fn entry(&self, prefix: IpPrefix) -> Option<HopTag> {
        self.tag(self.table.get(prefix)?)
    }

    fn changed(&self, prefix: IpPrefix) -> Option<u64> {
        self.table.get(prefix).map(|route| route.changed)
    }

    fn after(&self, after: Option<IpPrefix>) -> impl Iterator<Item = (IpPrefix, Option<HopTag>)> {
        let routes = self.table.after(after);
        routes.map(|(prefix, route)| (prefix, self.tag(route)))
    }
}

impl Routing {
    /// Takes in which switches are connected.
    pub fn follow_switches(&mut self, ctx: &mut Context, network: &Network) {
        let kind = ApplicationKind::SdnIp;
        let is_loaded = network.owners.applications.of_kind(kind).is_some();
        let ready: Vec<_> = ctx.sessions.ready().collect();
        let connected: BTreeSet<DatapathId> = ready.iter().map(|(at, _)| *at).collect();
        self.deliveries.retain(|at, _| connected.contains(at));
        for (datapath, slot) in ready {
            let Some(connection) = ctx.sessions.get(slot).map(|it| it.connection) else {
                continue;
            };
            if self.is_active && self.ingresses.contains(&datapath) {
                let known = self.deliveries.get(&datapath);
                if known.is_none_or(|it| it.connection != connection) {
                    let delivery = Delivery::new(ctx.now, connection, &self.changes);
                    self.deliveries.insert(datapath, delivery);
                    self.cleared.remove(&connection);
                }
            } else if (self.is_active || !is_loaded)
                && !ctx.is_narrow(datapath)
                && self.cleared.insert(connection)
            {
                // Who was started before may have had routes.
                entries::emit_delete_prefixes(ctx.outbox.to(slot));
            }
        }
    }

    /// Sends switches what they lack, and asks those what they have of which that is not
    /// known.
    pub fn serve_switches(&mut self, ctx: &mut Context, network: &mut Network) {
        let wanted = Entries {
            table: &self.table,
            hops: &self.hops,
        };
        let confirmations = &mut network.tables.confirmations;
        for (datapath, delivery) in &mut self.deliveries {
            let Some(slot) = ctx.sessions.of_switch(*datapath) else {
                continue;
            };
            let mut ask = |question, ctx: &mut Context| {
                let transaction = confirmations.transaction();
                MultipartRequest::new(question).emit(transaction, ctx.outbox.to(slot));
                transaction
            };
            if self.is_known {
                delivery.release(&self.changes);
            }
            if delivery.room.is_none() && delivery.aside.is_none() {
                let nothing = Sequence::from_bytes(&[]);
                delivery.aside = Some(ask(RequestBody::TableFeatures(nothing), ctx));
            }
            let is_settled = delivery.is_settled(&self.changes) && self.is_known;
            if is_settled && ctx.now >= delivery.counted_at + COUNTED_EVERY {
                delivery.counted_at = ctx.now;
                delivery.aside = Some(ask(RequestBody::Aggregate(entries::question()), ctx));
            }
            if delivery.is_askable() {
                let transaction = ask(RequestBody::Flow(entries::question()), ctx);
                delivery.ask(transaction);
            }
            if delivery.is_sendable(&self.changes) {
                let out = ctx.outbox.to(slot);
                delivery.send(&self.changes, &wanted, |prefix, tag| {
                    entries::emit_prefix(prefix, tag, out);
                });
                let transaction = confirmations.transaction();
                Message::BarrierRequest.emit(transaction, out);
                delivery.await_confirmation(transaction);
            }
        }
        let told = self.deliveries.values().filter(|it| !it.is_held());
        let behind = told.map(Delivery::next).min();
        let behind = behind.unwrap_or_else(|| self.changes.end());
        self.changes.forget_below(behind);
        self.forget_idle_hops(ctx, network);
    }

    /// Returns when the next switch is asked how many entries it has.
    pub fn recount_at(&self) -> Option<Instant> {
        let all = self.deliveries.values();
        let settled = all.filter(|it| self.is_known && it.is_settled(&self.changes));
        settled.map(|it| it.counted_at + COUNTED_EVERY).min()
    }

    /// Takes in that a switch has answered a barrier. Returns whether it was one of ours.
    pub fn barrier_answered(&mut self, datapath: DatapathId, transaction: TransactionId) -> bool {
        let delivery = self.deliveries.get_mut(&datapath);
        delivery.is_some_and(|it| it.barrier_answered(transaction))
    }

    /// Takes a part of what a switch says that it has. Returns whether it was asked here.
    pub fn reported(
        &mut self,
        datapath: DatapathId,
        transaction: TransactionId,
        reply: &MultipartReply<'_>,
    ) -> bool {
        let Some(delivery) = self.deliveries.get_mut(&datapath) else {
            return false;
        };
        match &reply.body {
            ReplyBody::Flow(reported) => {
                let reported = reported.iter().map_while(Result::ok);
                let ours = reported.filter_map(|entry| entries::read(&entry));
                let part = (ours, !reply.more);
                delivery.reported(transaction, part, self.is_known, &self.changes)
            }
            ReplyBody::Aggregate(count) if delivery.aside == Some(transaction) => {
                delivery.aside = None;
                let is_settled = delivery.is_settled(&self.changes);
                delivery.is_unsure |= is_settled && count.flows != self.table.entries();
                true
            }
            ReplyBody::TableFeatures(tables) if delivery.aside == Some(transaction) => {
                let mut tables = tables.iter().map_while(Result::ok);
                let ours = tables.find(|table| table.table == entries::PREFIXES);
                if let Some(ours) = ours {
                    delivery.room = Some(ours.max_entries);
                }
                if !reply.more {
                    delivery.aside = None;
                    delivery.room = delivery.room.or(Some(u32::MAX));
                }
                true
            }
            _ => false,
        }
    }

    /// Takes the error of a switch. Returns whether it is about something of ours.
    pub fn refused(
        &mut self,
        datapath: DatapathId,
        transaction: TransactionId,
        error: &ErrorMessage<'_>,
    ) -> bool {
        let Some(delivery) = self.deliveries.get_mut(&datapath) else {
            return false;
        };
        if delivery.aside == Some(transaction) {
            delivery.aside = None;
            delivery.room = delivery.room.or(Some(u32::MAX));
            return true;
        }
        if delivery.question_refused(transaction, &self.changes) {
            return true;
        }
        let cookie = quoted_cookie(error.data);
        let is_ours = cookie.is_some_and(|it| it.matches(entries::COOKIE, entries::COOKIE_MASK));
        let prefix = cookie.and_then(entries::prefix_of);
        if let Some(prefix) = prefix.filter(|_| delivery.refused.len() < MAX_REFUSED) {
            delivery.refused.insert(prefix);
        }
        is_ours
    }
}
