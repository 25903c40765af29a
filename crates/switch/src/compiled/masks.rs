//! The hash tables in which entries are found, one for each mask of a table.
//!
//! An entry stands in one of two lines. When both are full, or half of all places
//! are taken, a larger table is made elsewhere, with everything that older walks
//! may still want, and takes the place of the old one by one word.

use super::layout::{Region, entry, line, mask};
use super::room::Range;
use super::store::Store;
use crate::packet_key::{PacketKey, WORDS};

/// Works a word into the hash; odd and without pattern.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
/// Places of a line that are taken on the average, times two.
const TAKEN_TWICE: usize = line::PLACES_COUNT;
/// How many lines an entry may cost at most.
const SPARSEST: usize = 4;

/// There is no room for an entry or its mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

/// The hash table of one mask.
#[derive(Debug)]
struct MaskForm {
    key: PacketKey,
    lines: Range,
    /// How many places are taken.
    taken: usize,
}

/// The hash tables of all masks.
#[derive(Debug)]
pub(super) struct Masks {
    seed: u64,
    forms: Vec<Option<MaskForm>>,
}

/// Where an entry may stand.
#[derive(Clone, Copy, Debug)]
struct Home {
    tag: u32,
    lines: [u32; 2],
}

impl Masks {
    pub(super) const fn new(seed: u64) -> Self {
        Self {
            seed,
            forms: Vec::new(),
        }
    }

    /// Returns the mask of a record.
    pub(super) fn key(&self, record: u32) -> &PacketKey {
        &self.form(record).key
    }

    /// Makes a hash table for a mask.
    pub(super) fn make(&mut self, store: &mut Store, key: PacketKey) -> Result<u32, NoRoom> {
        let lines = store.rooms.lines.take(1).ok_or(NoRoom)?;
        let Some(record) = store.rooms.masks.take() else {
            store.rooms.lines.give(lines);
            return Err(NoRoom);
        };
        clear(store, lines);
        let words = store.record(Region::Masks, record);
        words.write(mask::WORDS, key.words());
        words.set(mask::USED, used(&key));
        words.set(mask::LINES, lines_word(lines));
        words.set(mask::BEST, 0);
        if self.forms.len() <= at(record) {
            self.forms.resize_with(at(record) + 1, || None);
        }
        self.forms[at(record)] = Some(MaskForm {
            key,
            lines,
            taken: 0,
        });
        Ok(record)
    }

    /// Forgets a mask, and returns the lines that it had.
    pub(super) fn forget(&mut self, record: u32) -> Range {
        let form = self.forms[at(record)].take();
        form.expect("a mask is forgotten once").lines
    }

    /// Puts an entry, whose value is written, into the hash table of a mask.
    pub(super) fn link(
        &mut self,
        store: &mut Store,
        record: u32,
        entry: u32,
    ) -> Result<(), NoRoom> {
        let form = self.form(record);
        let crowded = (form.taken + 1) * 2 > at(form.lines.count) * TAKEN_TWICE;
        let home = self.home(store, form, form.lines, entry);
        if !crowded && put(store, home, entry) {
            self.form_mut(record).taken += 1;
            return Ok(());
        }
        self.grow(store, record, entry)
    }

    /// Takes an entry out of the hash table of a mask, if the mask is still there.
    pub(super) fn unlink(&mut self, store: &Store, record: u32, entry: u32) {
        let form = self.forms.get(at(record)).and_then(Option::as_ref);
        let Some(form) = form else { return };
        let home = self.home(store, form, form.lines, entry);
        for (way, line_record) in home.lines.into_iter().enumerate() {
            let Some(place) = find_place(store, line_record, place_of(home, entry)) else {
                continue;
            };
            store.set(Region::Lines, line_record, place, 0);
            if way == 1 {
                let home = store.record(Region::Lines, home.lines[0]);
                home.set(line::SPILLED, home.get(line::SPILLED) - 1);
            }
            self.form_mut(record).taken -= 1;
            return;
        }
    }

    /// Makes a larger hash table with all entries of the old one and one more.
    fn grow(&mut self, store: &mut Store, record: u32, entry: u32) -> Result<(), NoRoom> {
        let form = self.form(record);
        let old = form.lines;
        let mut entries: Vec<_> = (old.first..old.first + old.count)
            .flat_map(|line| places(store, line))
            .filter_map(number)
            .collect();
        entries.push(entry);
        let least = (entries.len() * 2)
            .div_ceil(TAKEN_TWICE)
            .next_power_of_two();
        let mut count = match least > at(old.count) {
            true => least,
            false => 2 * at(old.count),
        };
        while count <= entries.len() * SPARSEST {
            let new = store.rooms.lines.take(count).ok_or(NoRoom)?;
            if self.fill(store, form, new, &entries) {
                store.set(Region::Masks, record, mask::LINES, lines_word(new));
                store.retired.lines.push(old);
                let form = self.form_mut(record);
                form.lines = new;
                form.taken = entries.len();
                return Ok(());
            }
            store.rooms.lines.give(new);
            count *= 2;
        }
        Err(NoRoom)
    }

    /// Fills new lines with entries; fails if some do not fit.
    fn fill(&self, store: &Store, form: &MaskForm, lines: Range, entries: &[u32]) -> bool {
        clear(store, lines);
        entries
            .iter()
            .all(|entry| put(store, self.home(store, form, lines, *entry), *entry))
    }

    /// Returns where an entry may stand among `lines`.
    #[expect(clippy::cast_possible_truncation, reason = "the halves are wanted")]
    fn home(&self, store: &Store, form: &MaskForm, lines: Range, entry: u32) -> Home {
        let value: [u64; WORDS] = store.record(Region::Entries, entry).read(entry::VALUE);
        let mut hash = self.seed;
        for (word, mask) in value.into_iter().zip(form.key.words()) {
            if *mask != 0 {
                hash = (hash ^ word).wrapping_mul(MULTIPLIER);
                hash ^= hash >> 32;
            }
        }
        hash = hash.wrapping_mul(MULTIPLIER);
        hash ^= hash >> 29;
        let (tag, mask) = ((hash >> 32) as u32, lines.count - 1);
        let first = hash as u32 & mask;
        let second = (first ^ (tag | 1)) & mask;
        Home {
            tag,
            lines: [first, second].map(|line| lines.first + line),
        }
    }

    fn form(&self, record: u32) -> &MaskForm {
        let form = self.forms[at(record)].as_ref();
        form.expect("a mask is there until nobody names it")
    }

    fn form_mut(&mut self, record: u32) -> &mut MaskForm {
        let form = self.forms[at(record)].as_mut();
        form.expect("a mask is there until nobody names it")
    }
}

fn at(record: u32) -> usize {
    usize::try_from(record).expect("32 bits fit")
}

fn used(key: &PacketKey) -> u64 {
    let used = (0..WORDS).filter(|word| key.words()[*word] != 0);
    used.map(|word| 1 << word).sum()
}

fn lines_word(lines: Range) -> u64 {
    u64::from(lines.first) | u64::from(lines.count - 1) << 32
}

fn places(store: &Store, line: u32) -> [u64; line::PLACES_COUNT] {
    store.record(Region::Lines, line).read(line::PLACES)
}

/// Returns where in a line such a word stands.
fn find_place(store: &Store, line: u32, word: u64) -> Option<usize> {
    let mut places = places(store, line).into_iter();
    Some(line::PLACES + places.position(|place| place == word)?)
}

/// Returns the word of an entry in a line.
fn place_of(home: Home, entry: u32) -> u64 {
    u64::from(entry + 1) | u64::from(home.tag) << 32
}

/// Returns the number of the entry in a place.
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
const fn number(place: u64) -> Option<u32> {
    (place as u32).checked_sub(1)
}

fn clear(store: &Store, lines: Range) {
    for line in lines.first..lines.first + lines.count {
        store
            .record(Region::Lines, line)
            .write(0, &[0; Region::Lines.record_words()]);
    }
}

/// Puts an entry into the first of its lines that has a place.
fn put(store: &Store, home: Home, entry: u32) -> bool {
    for (way, record) in home.lines.into_iter().enumerate() {
        let Some(place) = find_place(store, record, 0) else {
            continue;
        };
        if way == 1 {
            let home = store.record(Region::Lines, home.lines[0]);
            home.set(line::SPILLED, home.get(line::SPILLED) + 1);
        }
        store.set(Region::Lines, record, place, place_of(home, entry));
        return true;
    }
    false
}
