//! The compiled form as the engine of a switch in virtual time.
//!
//! As the program in the kernel does, it plans a frame's whole way through the tables
//! by nothing but words, on a copy of what it changes, before anything leaves; a frame
//! that the form leaves to the core goes there as it arrived, with what meters have
//! said of it. Which bucket of a group a frame takes, how headers are read and
//! changed, and what queues do is the core's code here and the program's there.

use units::Instant;
use wire::openflow::taktos::{Eliminate, MonitorId, StreamHandle, TrailerAction};
use wire::openflow::{Cookie, GroupId, PacketInReason, TableId};

use super::form::Form;
use super::layout::{Region, flag, limit, lookup, settings, tally, total};
use super::meters::MeterForms;
use super::operations::Meanings;
use super::walk::{Found, Step, ToCore, Walk};
use crate::action::{Action, Program};
use crate::egress::{Egress, FrameOutcome};
use crate::group_table::GroupIndex;
use crate::hops::Owner;
use crate::meter_band::BandAction;
use crate::meter_table::MeterIndex;
use crate::metering::BEST_EFFORT;
use crate::packet::{Origin, Packet};
use crate::pipeline::Pipeline;
use crate::streams::Passing;

/// Everything that words of an entry may mean.
pub(super) struct Meant<'a> {
    pub(super) egress: &'a Egress,
    pub(super) meters: &'a MeterForms,
}

impl Meanings for Meant<'_> {
    fn group(&self, id: GroupId) -> Option<GroupIndex> {
        self.egress.groups.find(id)
    }

    fn monitor(&self, place: u32) -> Option<MonitorId> {
        let place = usize::try_from(place).expect("32 bits fit");
        self.egress.modes.monitors.id_at(place)
    }

    fn stream(&self, place: u32) -> Option<StreamHandle> {
        self.egress.streams.at(place)
    }

    fn meter(&self, record: u32) -> Option<MeterIndex> {
        self.meters.of_record(record)
    }
}

/// The way of a frame, as far as it is planned.
#[derive(Debug, Default)]
pub(crate) struct PlannedWay {
    steps: Vec<(TableId, Step)>,
    /// By how many levels each meter raises the drop precedence, which number the frame
    /// gets, and whether it is a copy.
    verdicts: Vec<u8>,
}

/// Where a way ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WalkEnd {
    /// The action set is executed, or an action has ended the frame.
    Known,
    /// The last meter drops the frame.
    Metered,
    /// This table has no entry for it.
    Missed(TableId),
    /// The core is to handle it.
    Core,
}

impl From<ToCore> for WalkEnd {
    fn from(_: ToCore) -> Self {
        Self::Core
    }
}

impl Pipeline {
    /// Takes a frame through the compiled form.
    ///
    /// # Panics
    ///
    /// If none is kept.
    pub(crate) fn walk_compiled(&mut self, now: Instant, packet: Packet) {
        let mut way = PlannedWay::default();
        let end = self.plan(now, &packet, &mut way);
        self.egress.judged.begin(&way.verdicts);
        match end {
            WalkEnd::Core => {
                self.form().add(Region::Totals, 0, total::TO_CORE, 1);
                self.walk(now, packet);
            }
            WalkEnd::Known | WalkEnd::Metered | WalkEnd::Missed(_) => {
                self.follow(now, packet, &way, end)
            }
        }
        self.egress.judged.begin(&[]);
    }

    fn form(&self) -> &Form {
        self.form.as_deref().expect("the compiled form is kept")
    }

    /// Finds out what becomes of a frame, and does nothing of it; but what meters have
    /// said is said.
    fn plan(&mut self, now: Instant, packet: &Packet, way: &mut PlannedWay) -> WalkEnd {
        let counters = self.egress.counters;
        let mut seen = packet.clone();
        self.egress.pool.hold(seen.slot);
        let mut table = TableId(0);
        let end = loop {
            match self.plan_table(now, table, &mut seen, way) {
                Ok(next) => table = next,
                Err(end) => break end,
            }
        };
        self.egress.pool.release(seen.slot);
        // Nothing has happened to the frame itself.
        self.egress.counters = counters;
        end
    }

    /// Goes through one table; returns the next one, or how the way ends.
    fn plan_table(
        &mut self,
        now: Instant,
        table: TableId,
        seen: &mut Packet,
        way: &mut PlannedWay,
    ) -> Result<TableId, WalkEnd> {
        let Self { egress, form, .. } = self;
        let form = form.as_deref().expect("the compiled form is kept");
        let flags = form.store.word(Region::Settings, 0, settings::FLAGS);
        if flags & flag::ALL_TO_CORE != 0 || way.steps.len() == limit::TABLES {
            return Err(WalkEnd::Core);
        }
        seen.refresh(&egress.pool);
        let walk = Walk::begin(form.store.memory());
        let step = match walk.find(table.0.into(), &seen.key) {
            Found::Entry(_, record) => {
                let meters = &form.meters;
                walk.step(record, &Meant { egress, meters })?
            }
            Found::Nothing if flags & flag::MISSES_TO_CORE == 0 => {
                return Err(WalkEnd::Missed(table));
            }
            Found::Nothing | Found::ToCore => return Err(WalkEnd::Core),
        };
        way.steps.push((table, step));
        let (_, Step { program, .. }) = way.steps.last().expect("it was added");
        if let Some(meter) = program.meter {
            match egress.judge(now, seen, meter, Some(form)) {
                Some(BandAction::Drop) => return Err(WalkEnd::Metered),
                Some(BandAction::Remark(levels)) => {
                    way.verdicts.push(levels);
                    if egress.obey(seen, Some(BandAction::Remark(levels))) == FrameOutcome::Ends {
                        return Err(WalkEnd::Core);
                    }
                }
                Some(BandAction::BestEffort) => way.verdicts.push(BEST_EFFORT),
                None => way.verdicts.push(0),
            }
        }
        egress.change_as(now, seen, program, &mut way.verdicts)?;
        program.goto.ok_or(WalkEnd::Known)
    }

    /// Does what is planned.
    fn follow(&mut self, now: Instant, mut packet: Packet, way: &PlannedWay, end: WalkEnd) {
        self.action_set.clear();
        let mut fate = FrameOutcome::Lives;
        for (at, (table, step)) in way.steps.iter().enumerate() {
            packet.refresh(&self.egress.pool);
            self.count_step(now, *table, step, &packet);
            if end == WalkEnd::Metered && at + 1 == way.steps.len() {
                self.egress.counters.metered += 1;
                fate = FrameOutcome::Ends;
                break;
            }
            packet.origin = Origin {
                table: *table,
                entry: None,
                cookie: Cookie::NONE,
                reason: PacketInReason::Action,
            };
            packet.owner = Some(owner(*table, step));
            let before = self.egress.counters.dropped;
            let set = &self.action_set;
            fate = self
                .egress
                .apply(now, &mut packet, &step.program, set, None);
            self.note(&mut packet, &step.program);
            self.charge_step(step, before);
            if fate == FrameOutcome::Ends {
                break;
            }
        }
        match (fate, end, way.steps.last()) {
            (FrameOutcome::Lives, WalkEnd::Known, Some((_, step))) => {
                let before = self.egress.counters.dropped;
                self.execute_set(now, &mut packet);
                self.charge_step(step, before);
            }
            (FrameOutcome::Lives, WalkEnd::Missed(table), _) => {
                let record = u32::from(table.0);
                self.form().add(Region::Lookups, record, lookup::LOOKUPS, 1);
                self.egress.counters.missed += 1;
            }
            (..) => {}
        }
        self.egress.finish(&packet);
    }

    fn note(&mut self, packet: &mut Packet, program: &Program) {
        if program.clear {
            self.action_set.clear();
        }
        self.action_set.write(&program.write);
        if let Some(change) = program.metadata {
            packet.write_metadata(change);
        }
    }

    fn count_step(&self, now: Instant, table: TableId, step: &Step, packet: &Packet) {
        let bytes = self.egress.pool.frame(packet.slot).len();
        let bytes = u64::try_from(bytes).expect("a frame is short");
        let form = self.form();
        for word in [lookup::LOOKUPS, lookup::MATCHES] {
            form.add(Region::Lookups, table.0.into(), word, 1);
        }
        form.add(Region::Tallies, step.tally, tally::FRAMES, 1);
        form.add(Region::Tallies, step.tally, tally::BYTES, bytes);
        let tally = form.store.record(Region::Tallies, step.tally);
        tally.raise(tally::LAST, now.as_ns());
    }

    /// Counts copies that were dropped at a port for the entry on whose behalf they were
    /// to leave.
    fn charge_step(&self, step: &Step, before: u64) {
        let lost = self.egress.counters.dropped - before;
        self.form()
            .add(Region::Tallies, step.tally, tally::DROPPED, lost);
    }
}

/// Returns the entry that a step is of.
const fn owner(table: TableId, step: &Step) -> Owner {
    let (index, age) = step.entry;
    Owner { table, index, age }
}

impl Form {
    fn add(&self, region: Region, record: u32, at: usize, more: u64) {
        let words = self.store.record(region, record);
        words.set(at, words.get(at).wrapping_add(more));
    }
}

impl Egress {
    /// Finds out whether a frame is a copy, and takes its tag off if it is not.
    fn plan_elimination(
        &mut self,
        packet: &mut Packet,
        how: &Eliminate,
        verdicts: &mut Vec<u8>,
    ) -> Result<(), WalkEnd> {
        let passing = self.recover(packet, how);
        verdicts.push(u8::from(passing == Passing::Dropped));
        if passing == Passing::Dropped {
            return Err(WalkEnd::Known);
        }
        if how.strips_tag && self.strip(packet, how.encoding) == FrameOutcome::Ends {
            return Err(WalkEnd::Core);
        }
        Ok(())
    }

    /// Changes a frame as an entry does at once, and does nothing else of it. A copy for
    /// which there is no room is none that says what becomes of the frame.
    fn change_as(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        program: &Program,
        verdicts: &mut Vec<u8>,
    ) -> Result<(), WalkEnd> {
        for &action in program.apply.iter() {
            let changes = match action {
                Action::Push(_)
                | Action::EnsureTag
                | Action::Pop(_)
                | Action::SetField(_)
                | Action::Trailer(TrailerAction::Lan(_)) => true,
                Action::ModeArrange => return Err(WalkEnd::Known),
                Action::Sequence(stream) => {
                    let number = self.streams.next(stream).ok_or(WalkEnd::Core)?;
                    verdicts.extend(number.to_be_bytes());
                    if self.put_number(packet, number) == FrameOutcome::Ends {
                        return Err(WalkEnd::Core);
                    }
                    false
                }
                Action::Trailer(TrailerAction::Number(stream)) => {
                    let number = self.streams.next(stream).ok_or(WalkEnd::Core)?;
                    verdicts.extend(number.to_be_bytes());
                    if self.put_trailer(packet, number) == FrameOutcome::Ends {
                        return Err(WalkEnd::Core);
                    }
                    false
                }
                Action::Eliminate(how) => {
                    self.plan_elimination(packet, &how, verdicts)?;
                    false
                }
                Action::Output(_)
                | Action::SetQueue(_)
                | Action::SetTtl(..)
                | Action::DecrementTtl(_)
                | Action::CopyTtl(_)
                | Action::Group(_)
                | Action::FlowMonitor(_)
                | Action::QueuedFrame(_)
                | Action::Trailer(TrailerAction::Supervise) => false,
            };
            if changes && self.execute(now, packet, action) == FrameOutcome::Ends {
                return Err(WalkEnd::Core);
            }
        }
        if let Some(change) = program.metadata {
            packet.write_metadata(change);
        }
        Ok(())
    }
}
