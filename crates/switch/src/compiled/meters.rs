//! The meters as records.
//!
//! A meter keeps its record for as long as it is there. A change begins with full
//! buckets of tokens, as in the core. Of the frames that come to a meter some are
//! judged by walks and some by the core, and all of them take tokens from the same
//! buckets: those of the records. Whoever judges holds the meter's lock.

use units::Instant;
use wire::openflow::MeterId;

use super::layout::{Region, band, limit, meter, need};
use super::memory::Record;
use super::room::Range;
use super::store::{Counted, Store};
use crate::meter_band::{Band, BandAction};
use crate::meter_table::{Meter, MeterIndex, MeterTable};
use wire::openflow::taktos::CoreReason as Reason;

#[derive(Debug, Default)]
pub(super) struct MeterForms {
    /// By place in the meter table.
    forms: Vec<Option<MeterForm>>,
    /// Those that wait for room.
    waiting: Vec<MeterIndex>,
}

#[derive(Debug)]
struct MeterForm {
    added: u64,
    record: u32,
    tally: u32,
    written: Option<Written>,
}

/// What walks see of a meter.
#[derive(Debug, Default)]
struct Written {
    changed: u64,
    version: usize,
    bands: Range,
    tallies: Vec<u32>,
    needs: u64,
    reason: Option<Reason>,
}

impl MeterForms {
    pub(super) fn record(&self, index: MeterIndex) -> Option<u32> {
        self.form(index).map(|form| form.record)
    }

    /// Returns the meter that has a record.
    pub(super) fn of_record(&self, record: u32) -> Option<MeterIndex> {
        let mut forms = (0..).map(MeterIndex).zip(&self.forms);
        let has = |form: &MeterForm| form.record == record;
        let found = forms.find(|(_, form)| form.as_ref().is_some_and(has));
        found.map(|(index, _)| index)
    }

    /// Returns why frames that come to a meter go to the core.
    pub(super) fn reason(&self, index: MeterIndex) -> Option<Reason> {
        match self.form(index) {
            Some(form) => form.written.as_ref().and_then(|written| written.reason),
            None => Some(Reason::Room),
        }
    }

    /// Returns what others counted for a meter.
    pub(super) fn counted(&self, store: &Store, index: MeterIndex, added: u64) -> Option<Counted> {
        let form = self.form(index).filter(|form| form.added == added)?;
        Some(store.counted(form.tally))
    }

    /// Returns what others counted for a band of a meter.
    pub(super) fn counted_band(
        &self,
        store: &Store,
        index: MeterIndex,
        changed: u64,
        band: usize,
    ) -> Option<Counted> {
        let written = self.form(index)?.written.as_ref();
        let written = written.filter(|written| written.changed == changed)?;
        written.tallies.get(band).map(|tally| store.counted(*tally))
    }

    /// Lets the core's meter judge a frame by the tokens that walks have left, and
    /// leaves the rest to them.
    pub(super) fn judge(
        &self,
        store: &Store,
        now: Instant,
        index: MeterIndex,
        meter: &mut Meter,
        bytes: usize,
    ) -> Option<BandAction> {
        let form = self.form(index).filter(|form| form.added == meter.added);
        let written = form.and_then(|form| Some((form.record, form.written.as_ref()?)));
        // A change that nobody sees yet has buckets that are full.
        let shared = written
            .filter(|(_, written)| written.changed == meter.changed && written.reason.is_none());
        let Some((record, written)) = shared else {
            return meter.judge(now, bytes);
        };
        let bands = || (written.bands.first..).map(|band| store.record(Region::Bands, band));
        store
            .record(Region::Meters, record)
            .locked(meter::LOCK, || {
                for (there, band) in bands().zip(&mut meter.config.bands) {
                    let [tokens, filled] = there.read(band::TOKENS);
                    band.go_on_with((tokens, Instant::from_ns(filled)));
                }
                let treatment = meter.judge(now, bytes);
                for (there, band) in bands().zip(&meter.config.bands) {
                    let (tokens, filled) = band.left();
                    there.write(band::TOKENS, &[tokens, filled.as_ns()]);
                }
                treatment
            })
    }

    pub(super) fn update(&mut self, meters: &mut MeterTable, store: &mut Store) {
        let mut changed = meters.take_changes();
        changed.append(&mut self.waiting);
        changed.sort_unstable();
        changed.dedup();
        for index in changed {
            if self.forms.len() <= index.at() {
                self.forms.resize_with(index.at() + 1, || None);
            }
            // No frame comes to the meter of packet-ins on its way through the tables.
            let current = meters.get(index);
            let current = current.filter(|meter| meter.config.id != MeterId::CONTROLLER);
            let form = &mut self.forms[index.at()];
            let added = current.map(|meter| meter.added);
            if form.as_ref().is_some_and(|form| Some(form.added) != added) {
                form.take().expect("it was looked at").retire(store);
            }
            let Some(current) = current else { continue };
            if form.is_none() {
                *form = MeterForm::new(current.added, store);
            }
            if let Some(form) = form
                && form.write(current, store) == Some(Reason::Room)
            {
                self.waiting.push(index);
            }
        }
    }

    fn form(&self, index: MeterIndex) -> Option<&MeterForm> {
        self.forms.get(index.at())?.as_ref()
    }
}

impl MeterForm {
    /// Returns a meter of which nothing is written yet, if there is room.
    fn new(added: u64, store: &mut Store) -> Option<Self> {
        let record = store.rooms.meters.take()?;
        let Some(tally) = store.take_tally() else {
            store.rooms.meters.give(record);
            return None;
        };
        let words = store.record(Region::Meters, record);
        words.set(meter::TALLY, u64::from(tally));
        words.set(meter::LOCK, 0);
        Some(Self {
            added,
            record,
            tally,
            written: None,
        })
    }

    fn retire(self, store: &mut Store) {
        store.retired.meters.push(self.record);
        store.retired.tallies.push(self.tally);
        if let Some(written) = self.written {
            written.retire(store);
        }
    }

    /// Writes a meter, unless it stands there already; returns why frames that come
    /// to it go to the core.
    fn write(&mut self, meter: &Meter, store: &mut Store) -> Option<Reason> {
        let old = self.written.take().unwrap_or_default();
        if old.changed == meter.changed && old.reason != Some(Reason::Room) {
            let reason = old.reason;
            self.written = Some(old);
            return reason;
        }
        let seen = (old.changed > 0).then_some(old.version);
        old.retire(store);
        let mut new = Written {
            changed: meter.changed,
            ..Written::default()
        };
        new.reason = new.put(meter, store).err();
        let word = new.word();
        let write = |version: usize, words: Record<'_>| words.set(meter::VERSIONS[version], word);
        new.version = store.write_version(Region::Meters, self.record, seen, meter::SINCE, write);
        let reason = new.reason;
        self.written = Some(new);
        reason
    }
}

impl Written {
    fn retire(self, store: &mut Store) {
        store.needs.remove(self.needs);
        store.retired.tallies.extend(&self.tallies);
        store.retired.bands.push(self.bands);
    }

    /// Writes the bands, unless the core handles the meter.
    fn put(&mut self, meter: &Meter, store: &mut Store) -> Result<(), Reason> {
        let bands = &meter.config.bands;
        if bands.len() > limit::BANDS {
            return Err(Reason::Bands);
        }
        let range = store.rooms.bands.take(bands.len()).ok_or(Reason::Room)?;
        let Some(tallies) = store.take_tallies(bands.len()) else {
            store.rooms.bands.give(range);
            return Err(Reason::Room);
        };
        for (record, (band, tally)) in (range.first..).zip(bands.iter().zip(&tallies)) {
            write_band(store, record, band, *tally);
            if matches!(band.treatment, BandAction::Remark(_)) {
                self.needs = need::NETWORK;
            }
        }
        store.needs.add(self.needs);
        (self.bands, self.tallies) = (range, tallies);
        Ok(())
    }

    fn word(&self) -> u64 {
        let to_core = match self.reason {
            Some(_) => meter::TO_CORE,
            None => 0,
        };
        to_core | u64::from(self.bands.count) << 16 | u64::from(self.bands.first) << 32
    }
}

fn write_band(store: &Store, record: u32, band: &Band, tally: u32) {
    let what = match band.treatment {
        BandAction::Drop => 0,
        BandAction::Remark(levels) => 1 | u64::from(levels) << 8,
        BandAction::BestEffort => 2,
    };
    let words = store.record(Region::Bands, record);
    let set = |at: usize, value: u64| words.set(at, value);
    set(band::WHAT, what);
    set(band::RATE, band.rate);
    set(band::PER_BYTE, band.cost.per_byte);
    set(band::PER_FRAME, band.cost.per_frame);
    set(band::FLOOR, band.cost.floor);
    set(band::FULL, band.fills_in().as_ns());
    set(band::LONGEST, band.longest);
    set(band::BURST, band.burst);
    let (tokens, filled) = band.left();
    set(band::TOKENS, tokens);
    set(band::FILLED, filled.as_ns());
    set(band::TALLY, u64::from(tally));
}
