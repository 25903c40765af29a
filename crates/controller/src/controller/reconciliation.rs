//! Finds out whether switches have what they should have.
//!
//! A switch that knows our extension is asked what the digests of its entries add up to,
//! when it connects and in each round: that is right if and only if all of its entries are,
//! and if it is not, it is asked for them.
//!
//! Another switch is asked for all of our entries when it connects. From then on it is
//! asked two small questions a round: how many of our entries it has, and what is
//! in one slice of them, so that in as many rounds as there are slices everything
//! was looked at. If the number is wrong, or a switch says that an entry is gone,
//! it is asked for more. A switch is asked one question at a time, and only so
//! many switches at once, so that a thousand that come back together are served
//! one after the other.
//!
//! What was changed between a question and its answer is left out of the
//! comparison ([`Audit::finish`]); `repairs` mends the rest.

mod rounds;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use units::{Duration, Instant};
use wire::openflow::multipart::{MultipartReply, MultipartRequest, ReplyBody, RequestBody};
use wire::openflow::taktos::{Answer, Question as OurQuestion, TableDigest};
use wire::openflow::{Cookie, DatapathId, TransactionId};

use crate::audit::{Audit, Dialect, Finding, MAX_KEPT, Reported, Scope};
use crate::desired::{DigestSums, Form, RulePlace};
use crate::forwarding;
use crate::northbound::{Event, ForeignRules, RequestId};
use crate::session::Slot;

use super::claims::Claims;
use super::repairs::{Bundles, Repair};
use super::{Context, Owners, Tables};

/// The most switches that are asked, or mended, at the same time.
pub const MAX_ASKED: usize = 32;
/// How often a switch is mended in a row before it is left until the next round.
pub const MAX_REPAIRS: u8 = 3;
/// The most slices that are looked at one by one when entries are gone; if there
/// are more, all entries are.
const MAX_SUSPECTS: usize = 8;
/// How long a switch that says that an entry is gone may say so of others before
/// it is asked.
const LOSS_WAIT: Duration = Duration::from_ms(10);
/// How many times as long as it may be silent a switch may take for one turn.
const STALLED: u32 = 4;
/// Rounds are not begun for all switches at once, but in this many parts.
pub const ROUND_PHASES: u64 = 8;

/// What a switch is to be asked, the most urgent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Task {
    /// All of our entries, as it has just connected.
    Connect,
    /// Those of reactive forwarding, which it may have had before it connected.
    Adopt,
    /// All entries, for somebody who wants to see them.
    Inspect(RequestId),
    /// Again what was mended, for the last time with this number.
    Verify(u8, Option<u8>),
    Whole,
    Slice(u8),
    Count,
}

/// A question that is not answered yet.
#[derive(Debug)]
struct Question {
    transaction: TransactionId,
    task: Task,
    about: About,
    /// When something of the answer arrived last.
    heard_at: Instant,
}

#[derive(Debug)]
enum About {
    Entries(Audit),
    Rows(Vec<Reported>),
    /// What reactive forwarding takes over.
    Learned,
    Count,
    /// What the digests of all entries should add up to, and what the switch said so far.
    Digests {
        wanted: DigestSums,
        told: Vec<TableDigest>,
    },
}

/// How much a switch says of what it has, the most first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Telling {
    /// What the digests of its entries add up to.
    #[default]
    Sums,
    /// How many they are.
    Count,
    /// Which are in a slice.
    Slices,
    Nothing,
}

/// What is known of the entries of a switch that is connected.
#[derive(Debug, Default)]
pub struct AuditedSwitch {
    pub tasks: BTreeSet<Task>,
    question: Option<Question>,
    pub repair: Option<Repair>,
    pub bundles: Bundles,
    pub dialect: Dialect,
    is_dialect_told: bool,
    next_slice: u8,
    /// What it answers, and rightly as far as is known.
    tells: Telling,
    /// Whether its count or its sums were wrong and all of its entries are looked at for it.
    is_count_off: bool,
    /// The slices of entries that it said are gone.
    suspects: BTreeSet<u8>,
    pub mended_at: Option<Instant>,
}

/// All switches that are asked what they have.
#[derive(Debug, Default)]
pub struct Reconciliation {
    pub switches: BTreeMap<DatapathId, AuditedSwitch>,
    /// Those that are being asked or mended, and since when.
    busy: BTreeMap<DatapathId, Instant>,
    /// Those whose turn has not come.
    waiting: VecDeque<DatapathId>,
    /// When those are asked that said that entries are gone.
    due: BTreeSet<(Instant, DatapathId)>,
    /// What is done with entries that are not ours.
    pub foreign: ForeignRules,
}

impl Reconciliation {
    pub fn new(foreign: ForeignRules) -> Self {
        Self {
            foreign,
            ..Self::default()
        }
    }

    /// Returns when a switch is asked next about what it said.
    pub fn deadline(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }
}

impl Tables {
    /// Asks a switch that has connected which of our entries it has.
    pub fn ask_for_entries(&mut self, ctx: &mut Context, owners: &Owners, datapath: DatapathId) {
        let fresh = AuditedSwitch::default();
        self.reconciliation.switches.insert(datapath, fresh);
        self.want_task(ctx, owners, datapath, Task::Connect);
    }

    /// Lets a switch be asked something when its turn comes.
    pub fn want_task(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        datapath: DatapathId,
        task: Task,
    ) {
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        let was_idle =
            watched.tasks.is_empty() && !self.reconciliation.busy.contains_key(&datapath);
        watched.tasks.insert(task);
        if was_idle {
            self.reconciliation.waiting.push_back(datapath);
        }
        self.ask_waiting(ctx, owners);
    }

    fn ask_waiting(&mut self, ctx: &mut Context, owners: &Owners) {
        while self.reconciliation.busy.len() < MAX_ASKED {
            let Some(datapath) = self.reconciliation.waiting.pop_front() else {
                return;
            };
            let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
                continue;
            };
            let by_sums = watched.tells == Telling::Sums;
            let task = watched.tasks.pop_first();
            if let (Some(task), Some(slot)) = (task, ctx.sessions.of_switch(datapath)) {
                self.reconciliation.busy.insert(datapath, ctx.now);
                self.ask(ctx, owners, slot, (datapath, task), by_sums);
            }
        }
    }

    /// Lets the next switch be asked, and this one again if there is more to ask.
    pub fn task_done(&mut self, ctx: &mut Context, owners: &Owners, datapath: DatapathId) {
        if self.reconciliation.busy.remove(&datapath).is_none() {
            return;
        }
        let watched = self.reconciliation.switches.get(&datapath);
        if watched.is_some_and(|watched| !watched.tasks.is_empty()) {
            self.reconciliation.waiting.push_back(datapath);
        }
        self.ask_waiting(ctx, owners);
    }

    /// Asks a switch, by sums of digests if these can say that all is right.
    fn ask(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        slot: Slot,
        (datapath, task): (DatapathId, Task),
        by_sums: bool,
    ) {
        self.record_all(owners);
        self.desired.watch(datapath);
        // What was sent before is done before it answers.
        self.ask_to_confirm(ctx, slot);
        let transaction = self.confirmations.transaction();
        let all = match self.reconciliation.foreign {
            ForeignRules::Keep => Scope::Ours,
            ForeignRules::Remove => Scope::All,
        };
        let scope = match task {
            Task::Connect | Task::Whole | Task::Verify(_, None) => all,
            Task::Inspect(_) => Scope::All,
            Task::Slice(slice) | Task::Verify(_, Some(slice)) => Scope::Slice(slice),
            Task::Count | Task::Adopt => Scope::Ours,
        };
        let (about, question) = match task {
            Task::Connect | Task::Count if by_sums => {
                let about = About::Digests {
                    wanted: self.desired.digest_sums(datapath),
                    told: Vec::new(),
                };
                let question = OurQuestion::Digests.body();
                (about, RequestBody::Experimenter(question))
            }
            Task::Adopt => (About::Learned, RequestBody::Flow(forwarding::question())),
            Task::Inspect(_) => (About::Rows(Vec::new()), RequestBody::Flow(scope.question())),
            Task::Count => (About::Count, RequestBody::Aggregate(scope.question())),
            Task::Connect | Task::Whole | Task::Slice(_) | Task::Verify(..) => {
                let audit = Audit::new(scope);
                (About::Entries(audit), RequestBody::Flow(scope.question()))
            }
        };
        MultipartRequest::new(question).emit(transaction, ctx.outbox.to(slot));
        if let Some(watched) = self.reconciliation.switches.get_mut(&datapath) {
            watched.question = Some(Question {
                transaction,
                task,
                about,
                heard_at: ctx.now,
            });
        }
    }

    /// Takes a part of a switch's answer.
    pub fn reported(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        transaction: TransactionId,
        reply: &MultipartReply<'_>,
    ) {
        let Some(slot) = ctx.sessions.of_switch(datapath) else {
            return;
        };
        let watched = self.reconciliation.switches.get_mut(&datapath);
        let Some(watched) = watched else {
            return;
        };
        let question = watched.question.as_mut();
        let Some(question) = question.filter(|question| question.transaction == transaction) else {
            return;
        };
        question.heard_at = ctx.now;
        let mut count = None;
        match (&mut question.about, &reply.body) {
            (About::Entries(audit), ReplyBody::Flow(entries)) => {
                for entry in entries.iter().map_while(Result::ok) {
                    audit.take(datapath, &entry, &self.desired);
                }
            }
            (About::Rows(rows), ReplyBody::Flow(entries)) => {
                let entries = entries.iter().map_while(Result::ok);
                rows.extend(entries.take(MAX_KEPT - rows.len()).map(|entry| Reported {
                    cookie: entry.cookie,
                    form: Form::read(&entry).ok(),
                }));
            }
            (About::Learned, ReplyBody::Flow(entries)) => {
                let session = ctx.sessions.get(slot);
                if let (Some(forwarding), Some(session)) = (&mut owners.forwarding, session) {
                    for entry in entries.iter().map_while(Result::ok) {
                        let out = ctx.outbox.to(slot);
                        forwarding.adopt(ctx.now, session.connection, &entry, out);
                    }
                }
            }
            (About::Count, ReplyBody::Aggregate(aggregate)) => count = Some(aggregate.flows),
            (About::Digests { told, .. }, ReplyBody::Experimenter(body)) => {
                if let Ok(Some(Answer::Digests(digests))) = Answer::parse(body) {
                    let digests = digests.iter().map_while(Result::ok);
                    told.extend(digests.take(MAX_KEPT - told.len()));
                }
            }
            (
                About::Entries(_)
                | About::Rows(_)
                | About::Learned
                | About::Count
                | About::Digests { .. },
                _,
            ) => return,
        }
        if reply.more {
            return;
        }
        if let Some(question) = watched.question.take() {
            self.answered(ctx, owners, datapath, question, count);
        }
    }

    fn answered(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        question: Question,
        count: Option<u32>,
    ) {
        self.record_all(owners);
        let changed = self.desired.unwatch(datapath);
        match question.about {
            About::Entries(audit) => {
                self.compare(ctx, owners, datapath, question.task, audit, &changed)
            }
            About::Rows(rows) => {
                if let Task::Inspect(id) = question.task {
                    self.show_rules(ctx, owners, id, datapath, Some(&rows));
                }
                self.task_done(ctx, owners, datapath);
            }
            About::Learned => {
                owners.entries_adopted(ctx, datapath);
                self.task_done(ctx, owners, datapath);
            }
            About::Count => {
                self.counted(datapath, count.unwrap_or(0), changed.is_empty());
                self.task_done(ctx, owners, datapath);
            }
            About::Digests { wanted, told } => {
                let claims = Claims::now(ctx, owners, self.reconciliation.foreign);
                match claims.are_met(&wanted, &told) {
                    true => self.mend(ctx, owners, datapath, question.task, Finding::default()),
                    false => {
                        self.read_all(ctx, owners, datapath, question.task, changed.is_empty())
                    }
                }
            }
        }
    }

    /// Asks a switch whose digests do not add up to what they should for all of its entries.
    fn read_all(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        datapath: DatapathId,
        task: Task,
        is_unchanged: bool,
    ) {
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        match (task, ctx.sessions.of_switch(datapath)) {
            (Task::Connect, Some(slot)) => {
                self.ask(ctx, owners, slot, (datapath, task), false);
            }
            _ => {
                watched.is_count_off = is_unchanged;
                watched.tasks.insert(Task::Whole);
                self.task_done(ctx, owners, datapath);
            }
        }
    }

    fn compare(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        task: Task,
        audit: Audit,
        changed: &BTreeSet<RulePlace>,
    ) {
        let claims = Claims::now(ctx, owners, self.reconciliation.foreign);
        let has_left_routes = Cell::new(false);
        let is_to_go = |cookie: Cookie| {
            let is_of_awaited_routes = claims.is_of_awaited_routes(cookie);
            has_left_routes.set(has_left_routes.get() || is_of_awaited_routes);
            claims.is_to_go(cookie)
        };
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        let dialect = &mut watched.dialect;
        let finding = audit.finish(datapath, &self.desired, dialect, changed, is_to_go);
        ctx.left_routes.are_there |= has_left_routes.get();
        if finding.words > 0 && !std::mem::replace(&mut watched.is_dialect_told, true) {
            let entries = finding.words;
            ctx.outbox.notify(Event::Dialect { datapath, entries });
        }
        let is_right = finding.is_empty() && !has_left_routes.get();
        if is_right && task == Task::Whole && watched.is_count_off {
            watched.tells = match watched.tells {
                Telling::Sums => Telling::Count,
                Telling::Count | Telling::Slices | Telling::Nothing => Telling::Slices,
            };
        }
        watched.is_count_off = false;
        self.mend(ctx, owners, datapath, task, finding);
    }

    /// Compares how many entries a switch has; goes on with a slice if that is
    /// right or nobody knows.
    fn counted(&mut self, datapath: DatapathId, count: u32, is_unchanged: bool) {
        let wanted = self.desired.count(datapath);
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        if is_unchanged && count as usize != wanted {
            watched.is_count_off = true;
            watched.tasks.insert(Task::Whole);
            return;
        }
        watched.take_next_slice();
    }

    /// Takes the refusal of a question. Returns whether it was one.
    pub fn question_refused(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        transaction: TransactionId,
    ) -> bool {
        let watched = self.reconciliation.switches.get_mut(&datapath);
        let Some(watched) = watched else {
            return false;
        };
        let is_it = |question: &mut Question| question.transaction == transaction;
        let Some(question) = watched.question.take_if(is_it) else {
            return false;
        };
        self.unanswered(ctx, owners, datapath, &question);
        true
    }

    /// Does without the answer to a question. A switch that cannot say what it
    /// has is given all that it should have.
    fn unanswered(
        &mut self,
        ctx: &mut Context,
        owners: &mut Owners,
        datapath: DatapathId,
        question: &Question,
    ) {
        self.record_all(owners);
        self.desired.unwatch(datapath);
        let Some(watched) = self.reconciliation.switches.get_mut(&datapath) else {
            return;
        };
        let slot = ctx.sessions.of_switch(datapath);
        if let (About::Digests { .. }, Some(slot)) = (&question.about, slot) {
            watched.tells = Telling::Count;
            self.ask(ctx, owners, slot, (datapath, question.task), false);
            return;
        }
        match question.task {
            Task::Count => {
                watched.tells = Telling::Slices;
                watched.take_next_slice();
                self.task_done(ctx, owners, datapath);
            }
            Task::Inspect(id) => {
                self.show_rules(ctx, owners, id, datapath, None);
                self.task_done(ctx, owners, datapath);
            }
            Task::Adopt => {
                // What it cannot say it has nobody accounts for.
                if let Some(slot) = ctx.sessions.of_switch(datapath) {
                    forwarding::emit_forget(ctx.outbox.to(slot));
                }
                owners.entries_adopted(ctx, datapath);
                self.task_done(ctx, owners, datapath);
            }
            Task::Slice(_) | Task::Verify(..) | Task::Whole => {
                watched.tells = Telling::Nothing;
                self.task_done(ctx, owners, datapath);
            }
            Task::Connect => {
                watched.tells = Telling::Nothing;
                let nothing = Audit::new(Scope::Ours);
                self.compare(
                    ctx,
                    owners,
                    datapath,
                    Task::Connect,
                    nothing,
                    &BTreeSet::new(),
                );
            }
        }
    }

    /// Forgets what was asked of a switch whose connection is gone.
    pub fn stop_watching(&mut self, ctx: &mut Context, owners: &Owners, datapath: DatapathId) {
        self.desired.unwatch(datapath);
        let watched = self.reconciliation.switches.remove(&datapath);
        self.reconciliation.busy.remove(&datapath);
        self.reconciliation.waiting.retain(|at| *at != datapath);
        let Some(watched) = watched else {
            return;
        };
        let asked = watched.question.map(|question| question.task);
        for task in watched.tasks.into_iter().chain(asked) {
            if let Task::Inspect(id) = task {
                self.show_rules(ctx, owners, id, datapath, None);
            }
        }
        self.ask_waiting(ctx, owners);
    }

    /// Has one switch, or all, compared with what they should have. Returns how many
    /// are.
    pub fn compare_whole(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        datapath: Option<DatapathId>,
    ) -> usize {
        let ready = ctx.sessions.ready().map(|(at, _)| at);
        let asked = ready.filter(|at| datapath.is_none_or(|only| only == *at));
        let asked: Vec<DatapathId> = asked.collect();
        for datapath in &asked {
            self.retry_all_refused(ctx, *datapath);
            self.want_task(ctx, owners, *datapath, Task::Whole);
        }
        asked.len()
    }
}

impl AuditedSwitch {
    fn turn_slice(&mut self) -> Task {
        let slice = self.next_slice;
        self.next_slice = (slice + 1) % RulePlace::SLICES;
        Task::Slice(slice)
    }

    fn take_next_slice(&mut self) {
        let task = self.turn_slice();
        self.tasks.insert(task);
    }
}
