//! The meters of a switch, OF13 clauses 5.7 and 7.3.4.4.
//!
//! A meter judges every frame by all of its bands. Of the bands whose rate the
//! frame is above, the one with the highest rate is applied, and no other; a
//! frame that is dropped by one band still took the tokens of those that it was
//! not above. Frames that are below every rate pass as they are.
//!
//! Among the virtual meters there is that of the controller: it judges every
//! frame that is to become a packet-in, after the switch's own limit. It can
//! only drop. There is no slow path here, and so no meter for it.

use std::collections::BTreeMap;

use units::Instant;
use wire::openflow::taktos::Police;
use wire::openflow::{MeterFlags, MeterId, MeterModFailed};

use crate::counters::Tally;
use crate::meter_band::{Band, BandAction};

/// What stands for the number of the meter of an entry that polices; no meter has it.
const NO_NUMBER: MeterId = MeterId(0);

/// The place of a meter in the meter table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MeterIndex(pub(crate) u32);

impl MeterIndex {
    pub(crate) fn at(self) -> usize {
        usize::try_from(self.0).expect("32 bits fit")
    }
}

/// A meter as a controller wants it, checked and compiled.
#[derive(Clone, Debug)]
pub(crate) struct MeterConfig {
    pub(crate) id: MeterId,
    pub(crate) flags: MeterFlags,
    pub(crate) bands: Box<[Band]>,
    /// The bands as the controller wrote them.
    pub(crate) written: Box<[u8]>,
}

#[derive(Clone, Debug)]
pub(crate) struct Meter {
    pub(crate) config: MeterConfig,
    pub(crate) tally: Tally,
    pub(crate) created: Instant,
    /// Since which change of the table the meter is there.
    pub(crate) added: u64,
    /// Since which change of the table it has this configuration.
    pub(crate) changed: u64,
    /// How many entries use it.
    pub(crate) entries: u32,
    /// How many frames controllers were told that were above its rate, and when.
    pub(crate) told: (u64, Option<Instant>),
}

impl Meter {
    /// Returns whether it is the meter of an entry that polices.
    pub(crate) fn is_policer(&self) -> bool {
        self.config.id == NO_NUMBER
    }

    /// Counts a frame, and returns what is to be done with it if it is above a
    /// rate.
    pub(crate) fn judge(&mut self, now: Instant, bytes: usize) -> Option<BandAction> {
        self.tally.count(bytes);
        let mut applied: Option<&mut Band> = None;
        for band in &mut self.config.bands {
            if band.is_exceeded(now, bytes) && applied.as_ref().is_none_or(|it| it.rate < band.rate)
            {
                applied = Some(band);
            }
        }
        applied.map(|band| {
            band.tally.count(bytes);
            band.treatment
        })
    }
}

/// The meters of a switch.
#[derive(Clone, Debug)]
pub(crate) struct MeterTable {
    capacity: usize,
    bands_max: usize,
    slots: Vec<Option<Meter>>,
    free: Vec<MeterIndex>,
    numbers: BTreeMap<MeterId, MeterIndex>,
    controller: Option<MeterIndex>,
    /// How many meters have no number.
    policers: usize,
    /// How many changes there were.
    count: u64,
    /// The meters that were added, changed or removed since somebody asked last;
    /// some may be there twice. Kept only if somebody asks.
    changes: Option<Vec<MeterIndex>>,
}

impl MeterTable {
    /// Returns a table for `capacity` meters.
    ///
    /// # Panics
    ///
    /// If a meter is to have more bands than the protocol can tell.
    pub(crate) fn new(capacity: usize, bands_max: usize) -> Self {
        assert!(
            bands_max <= usize::from(u8::MAX),
            "a meter has at most 255 bands"
        );
        Self {
            capacity,
            bands_max,
            slots: Vec::new(),
            free: Vec::new(),
            numbers: BTreeMap::new(),
            controller: None,
            policers: 0,
            count: 0,
            changes: None,
        }
    }

    /// Notes what is changed from now on.
    pub(crate) fn note_changes(&mut self) {
        self.changes = Some(self.places().collect());
    }

    /// Returns the meters that were changed since somebody took note of it last.
    pub(crate) fn changes(&self) -> &[MeterIndex] {
        self.changes.as_deref().unwrap_or_default()
    }

    /// Takes note of what was changed.
    pub(crate) fn take_changes(&mut self) -> Vec<MeterIndex> {
        let noted = self.changes.as_mut();
        noted.map(std::mem::take).unwrap_or_default()
    }

    fn note_change(&mut self, index: MeterIndex) {
        if let Some(changes) = &mut self.changes {
            changes.push(index);
        }
    }

    /// Returns the meter in a place, if there is one.
    pub(crate) fn get(&self, index: MeterIndex) -> Option<&Meter> {
        self.slots.get(index.at())?.as_ref()
    }

    /// Returns how many meters there can be.
    pub(crate) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns how many bands a meter can have.
    pub(crate) const fn bands_max(&self) -> usize {
        self.bands_max
    }

    /// Returns the meter with this number.
    pub(crate) fn find(&self, id: MeterId) -> Option<MeterIndex> {
        self.numbers.get(&id).copied()
    }

    /// Returns how many entries use the meter with this number, or any if it
    /// stands for all.
    pub(crate) fn entries_of(&self, id: MeterId) -> u32 {
        match id {
            MeterId::ALL => self.iter().map(|(_, meter)| meter.entries).sum(),
            id => self.find(id).map_or(0, |index| self.meter(index).entries),
        }
    }

    /// Returns every meter with its place, by number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MeterIndex, &Meter)> {
        let places = self.numbers.values();
        places.map(|index| (*index, self.meter(*index)))
    }

    /// Returns the place of every meter, those without a number included.
    pub(crate) fn places(&self) -> impl Iterator<Item = MeterIndex> {
        let places = (0..).map(MeterIndex).zip(&self.slots);
        places.filter_map(|(index, slot)| slot.is_some().then_some(index))
    }

    pub(crate) fn meter(&self, index: MeterIndex) -> &Meter {
        let slot = self.slots[index.at()].as_ref();
        slot.expect("a place is given up after all who name it")
    }

    pub(crate) fn meter_mut(&mut self, index: MeterIndex) -> &mut Meter {
        let slot = self.slots[index.at()].as_mut();
        slot.expect("a place is given up after all who name it")
    }

    #[inline]
    pub(crate) fn of_packet_ins(&mut self) -> Option<&mut Meter> {
        self.controller.map(|index| self.meter_mut(index))
    }

    /// Adds a meter.
    ///
    /// # Errors
    ///
    /// If it is there already, or there is no room.
    pub(crate) fn add(&mut self, now: Instant, config: MeterConfig) -> Result<(), MeterModFailed> {
        if self.numbers.contains_key(&config.id) {
            return Err(MeterModFailed::MeterExists);
        }
        if self.numbers.len() >= self.capacity {
            return Err(MeterModFailed::OutOfMeters);
        }
        let id = config.id;
        let index = self.insert(now, config);
        self.numbers.insert(id, index);
        if id == MeterId::CONTROLLER {
            self.controller = Some(index);
        }
        Ok(())
    }

    /// Adds the meter of an entry that polices, which has no number.
    pub(crate) fn add_policer(&mut self, now: Instant, police: &Police) -> MeterIndex {
        self.policers += 1;
        let config = MeterConfig {
            id: NO_NUMBER,
            flags: MeterFlags::default(),
            bands: Band::police(now, police).into(),
            written: Box::default(),
        };
        self.insert(now, config)
    }

    /// Returns how many meters have no number.
    pub(crate) const fn policers(&self) -> usize {
        self.policers
    }

    fn insert(&mut self, now: Instant, config: MeterConfig) -> MeterIndex {
        let index = self.free.pop().unwrap_or_else(|| {
            let at = u32::try_from(self.slots.len()).expect("the capacity is below 2^32");
            self.slots.push(None);
            MeterIndex(at)
        });
        self.count += 1;
        self.note_change(index);
        self.slots[index.at()] = Some(Meter {
            config,
            tally: Tally::default(),
            created: now,
            added: self.count,
            changed: self.count,
            entries: 0,
            told: (0, None),
        });
        index
    }

    /// Gives a meter a new configuration. What it counted goes on, what its
    /// bands counted begins anew.
    ///
    /// # Errors
    ///
    /// If there is no such meter.
    pub(crate) fn modify(&mut self, config: MeterConfig) -> Result<(), MeterModFailed> {
        let index = self.find(config.id).ok_or(MeterModFailed::UnknownMeter)?;
        self.count += 1;
        self.note_change(index);
        let changed = self.count;
        let meter = self.meter_mut(index);
        (meter.config, meter.changed) = (config, changed);
        Ok(())
    }

    /// Removes a meter that no entry uses any more.
    pub(crate) fn remove(&mut self, index: MeterIndex) {
        let id = self.meter(index).config.id;
        self.numbers.remove(&id);
        self.policers -= usize::from(id == NO_NUMBER);
        self.slots[index.at()] = None;
        self.free.push(index);
        self.note_change(index);
        if self.controller == Some(index) {
            self.controller = None;
        }
    }
}
