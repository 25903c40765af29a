//! Works off changes of routes.

use std::vec::IntoIter;

use units::{Duration, Instant};

use crate::northbound::{
    Event, IpPrefix, RefusedRoute, Reply, RequestId, RouteChange, RoutePart, RouteRefusal,
    RoutesChanged,
};
use crate::router::acceptance;
use crate::router::damping::Flap;
use crate::router::next_hops::IsNew;
use crate::router::table::{HopId, Usage, Wish};

use super::super::Context;
use super::Routing;

/// About how many routes are looked at between two inputs.
const SLICE_ROUTES: usize = 256;

/// Something that is asked of routes.
#[derive(Debug)]
pub enum Work {
    /// A snapshot begins.
    Begin,
    Changes {
        id: RequestId,
        changes: IntoIter<RouteChange>,
        /// What became of those that were looked at.
        tally: RoutesChanged,
        /// Whether a snapshot ends with them, so that the answer waits for that.
        is_last: bool,
    },
    /// What the last snapshot did not name is withdrawn, behind the last one that was looked at.
    Sweep {
        answer: Option<(RequestId, RoutesChanged)>,
        after: Option<IpPrefix>,
        withdrawn: u64,
    },
}

impl Work {
    /// Returns what a request asks for.
    pub fn of(id: RequestId, changes: Vec<RouteChange>, part: RoutePart) -> Vec<Self> {
        let (is_first, is_last) = match part {
            RoutePart::Increment => (false, false),
            RoutePart::Snapshot { is_first, is_last } => (is_first, is_last),
        };
        let asked = Self::Changes {
            id,
            changes: changes.into_iter(),
            tally: RoutesChanged::default(),
            is_last,
        };
        let begin = is_first.then_some(Self::Begin);
        begin.into_iter().chain([asked]).collect()
    }

    /// Answers that it will not be done.
    pub fn give_up(self, ctx: &mut Context) {
        match self {
            Self::Changes { id, .. }
            | Self::Sweep {
                answer: Some((id, _)),
                ..
            } => ctx.outbox.reply(id, Reply::NotRouting),
            Self::Begin | Self::Sweep { answer: None, .. } => {}
        }
    }
}

/// What is told of routes once in a while.
#[derive(Debug, Default)]
pub struct News {
    announced: u64,
    withdrawn: u64,
    refused: u64,
    is_damped: bool,
    /// The quota, if it was reached since.
    quota: Option<u32>,
    /// When the first of these happened.
    since: Option<Instant>,
    /// How many changes were taken, and refused, since the start.
    pub changes: u64,
    pub refusals: u64,
}

impl News {
    pub fn due(&self, wait: Duration) -> Option<Instant> {
        self.since.map(|since| since + wait)
    }

    pub fn tell(&mut self, ctx: &mut Context, wait: Duration) {
        if self.due(wait).is_none_or(|due| ctx.now < due) {
            return;
        }
        let (changes, refusals) = (self.changes, self.refusals);
        let fresh = Self {
            changes,
            refusals,
            ..Self::default()
        };
        let told = std::mem::replace(self, fresh);
        ctx.outbox.notify(Event::RoutesChanged {
            announced: told.announced,
            withdrawn: told.withdrawn,
            refused: told.refused,
        });
        if let Some(limit) = told.quota {
            ctx.outbox.notify(Event::RouteQuotaReached { limit });
        }
    }
}

impl Routing {
    /// Does a slice of what is asked of routes.
    pub fn work_some(&mut self, ctx: &mut Context) {
        let mut looked_at = 0;
        while looked_at < SLICE_ROUTES
            && let Some(work) = self.work.pop_front()
        {
            looked_at += 1;
            match work {
                Work::Begin => self.generation = self.generation.wrapping_add(1),
                Work::Changes {
                    id,
                    mut changes,
                    mut tally,
                    is_last,
                } => {
                    while looked_at < SLICE_ROUTES
                        && let Some(change) = changes.next()
                    {
                        looked_at += 1 + self.take(ctx.now, change, &mut tally);
                    }
                    let is_done = changes.len() == 0;
                    let left = Work::Changes {
                        id,
                        changes,
                        tally,
                        is_last,
                    };
                    match is_done {
                        true => self.changes_done(ctx, left),
                        false => self.work.push_front(left),
                    }
                }
                Work::Sweep {
                    answer,
                    after,
                    withdrawn,
                } => self.sweep(ctx, answer, after, (withdrawn, &mut looked_at)),
            }
        }
    }

    fn changes_done(&mut self, ctx: &mut Context, work: Work) {
        let Work::Changes {
            id, tally, is_last, ..
        } = work
        else {
            return;
        };
        match is_last {
            true => self.work.push_front(Work::Sweep {
                answer: Some((id, tally)),
                after: None,
                withdrawn: 0,
            }),
            false => ctx.outbox.reply(id, Reply::RoutesChanged(tally)),
        }
    }

    /// Withdraws some of what the last snapshot did not name.
    fn sweep(
        &mut self,
        ctx: &mut Context,
        answer: Option<(RequestId, RoutesChanged)>,
        after: Option<IpPrefix>,
        (mut withdrawn, looked_at): (u64, &mut usize),
    ) {
        let routes = self.table.after(after).take(SLICE_ROUTES);
        let some: Vec<(IpPrefix, u16)> = routes.map(|(at, it)| (at, it.generation)).collect();
        let last = some.last().map(|(prefix, _)| *prefix);
        *looked_at += some.len();
        for (prefix, generation) in some {
            if generation != self.generation {
                withdrawn += 1;
                *looked_at += self.withdraw(ctx.now, prefix);
            }
        }
        if last.is_some() {
            let after = last;
            return self.work.push_front(Work::Sweep {
                answer,
                after,
                withdrawn,
            });
        }
        self.stale_at = None;
        self.is_known = true;
        match answer {
            Some((id, tally)) => ctx.outbox.reply(id, Reply::RoutesChanged(tally)),
            None => ctx
                .outbox
                .notify(Event::StaleRoutesWithdrawn { routes: withdrawn }),
        }
    }

    /// Has all routes withdrawn, as the speaker was gone for too long.
    pub fn withdraw_stale(&mut self) {
        self.stale_at = None;
        self.generation = self.generation.wrapping_add(1);
        self.work.push_back(Work::Sweep {
            answer: None,
            after: None,
            withdrawn: 0,
        });
    }

    /// Takes one change, or refuses it. Returns how many other routes were looked at.
    fn take(&mut self, now: Instant, change: RouteChange, tally: &mut RoutesChanged) -> usize {
        self.news.since = self.news.since.or(Some(now));
        match self.change(now, change) {
            Ok(looked_at) => {
                tally.accepted += 1;
                self.news.changes += 1;
                match change.next_hop {
                    Some(_) => self.news.announced += 1,
                    None => self.news.withdrawn += 1,
                }
                looked_at
            }
            Err(reason) => {
                let prefix = change.prefix;
                tally.refused.push(RefusedRoute { prefix, reason });
                self.news.refused += 1;
                self.news.refusals += 1;
                if let RouteRefusal::TooMany { limit } = reason {
                    self.news.quota = Some(limit);
                }
                self.withdraw(now, prefix)
            }
        }
    }

    fn change(&mut self, now: Instant, change: RouteChange) -> Result<usize, RouteRefusal> {
        let Some(settings) = &self.settings else {
            return Ok(0);
        };
        let Some((next_hop, at)) = change.next_hop.zip(acceptance::check(settings, change)?) else {
            return Ok(self.withdraw(now, change.prefix));
        };
        let known = self.table.get(change.prefix).copied();
        let limit = self.limit();
        if known.is_none() && self.table.count() >= limit {
            return Err(RouteRefusal::TooMany { limit });
        }
        let found = self.hops.find(now, settings, next_hop, at);
        let (hop, is_new) = found.ok_or(RouteRefusal::TooManyNextHops {
            limit: u32::try_from(crate::router::next_hops::MAX_NEXT_HOPS).unwrap_or(u32::MAX),
        })?;
        if is_new == IsNew::Yes {
            self.stale_hops.insert(hop);
        }
        let flap = match known {
            Some(route) if route.next_hop == hop => None,
            Some(_) => Some(Flap::Changed),
            None => Some(Flap::Announced),
        };
        let is_damped = match (flap, settings.damping) {
            (Some(flap), Some(damping)) => {
                self.penalties.flapped(now, &damping, change.prefix, flap)
            }
            (None, _) | (_, None) => known.is_some_and(|route| route.usage == Usage::Damped),
        };
        self.news.is_damped |= is_damped;
        let wish = Wish {
            next_hop: hop,
            is_damped,
        };
        let looked_at = self.set(now, change.prefix, Some(wish));
        if known.is_none_or(|route| route.next_hop != hop) {
            self.hops.gain(hop);
            self.idle_hops.remove(&hop);
            if let Some(route) = known {
                self.lose(route.next_hop);
            }
        }
        Ok(looked_at)
    }

    /// Takes a route away, if there is one. Returns how many others were looked at.
    fn withdraw(&mut self, now: Instant, prefix: IpPrefix) -> usize {
        let Some(known) = self.table.get(prefix).copied() else {
            return 0;
        };
        if let Some(damping) = self.settings.as_ref().and_then(|it| it.damping) {
            self.penalties
                .flapped(now, &damping, prefix, Flap::Withdrawn);
        }
        let looked_at = self.set(now, prefix, None);
        self.lose(known.next_hop);
        looked_at
    }

    fn lose(&mut self, hop: HopId) {
        if self.hops.lose(hop) {
            self.idle_hops.insert(hop);
        }
    }

    fn set(&mut self, now: Instant, prefix: IpPrefix, wish: Option<Wish>) -> usize {
        let seconds = now.saturating_since(Instant::ZERO).as_ns() / 1_000_000_000;
        let since_s = u32::try_from(seconds).unwrap_or(u32::MAX);
        let changes = &mut self.changes;
        let mut touch = |prefix| changes.push(prefix);
        self.table
            .set(prefix, wish, (since_s, self.generation), &mut touch)
    }

    /// Uses routes again that have not come and gone for a while.
    pub fn use_again(&mut self, ctx: &Context) {
        for _ in 0..SLICE_ROUTES {
            let Some(prefix) = self.penalties.take_due(ctx.now) else {
                return;
            };
            let route = self.table.get(prefix).copied();
            let Some(route) = route.filter(|route| route.usage == Usage::Damped) else {
                continue;
            };
            let wish = Wish {
                next_hop: route.next_hop,
                is_damped: false,
            };
            let generation = std::mem::replace(&mut self.generation, route.generation);
            self.set(ctx.now, prefix, Some(wish));
            self.generation = generation;
        }
    }

    /// Returns for how many routes there is room.
    pub fn limit(&self) -> u32 {
        let most = self.settings.as_ref().map_or(0, |it| it.max_prefixes);
        let rooms = self.deliveries.values().filter_map(|it| it.room);
        rooms.fold(most, u32::min)
    }
}
