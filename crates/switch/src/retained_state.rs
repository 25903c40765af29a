//! What a switch writes down for the process that goes on when it has died.
//!
//! Whoever walks the [compiled form](crate::compiled) goes on by it when the process of the
//! switch is gone. Another process can go on as well if it knows what controllers had asked
//! for. So before a change becomes visible it is added to a [`StateLog`], in a batch: what
//! each changed thing is from then on, as the OpenFlow message that makes it, with what a
//! message cannot say (when it was made, what it counted, which record counts for it).
//! What is written last about a thing holds.
//!
//! ```text
//! batch:  length of the records (4), digest (8), records
//! record: kind (1), number (8), length (4), what it is; of length 0: it is gone
//! ```
//!
//! The digest of a batch covers all batches up to it. The words that walks see say which
//! one is in force ([`settings::STATE`]), so what was cut short, altered or is of another
//! switch is not gone on with. What is written before the words say so counts for nothing.

use std::collections::BTreeMap;
use std::fmt::Debug;

use wire::openflow::Message;
use wire::openflow::taktos::{HopMessage, ModeMessage, MonitorCommand};
use wire::siphash::siphash_2_4;

use crate::compiled::Memory;
use crate::compiled::layout::{Region, VERSION, settings};
use crate::resumption::ResumeError;

/// Where a switch writes down what it needs to go on. It outlives the process.
pub trait StateLog: Debug + Send {
    /// Adds bytes at the end; returns whether it could.
    fn append(&mut self, bytes: &[u8]) -> bool;

    /// Puts bytes in the place of all that is there, at once; returns whether it could.
    fn replace(&mut self, bytes: &[u8]) -> bool;
}

/// A thing that is written down as a whole.
///
/// In the order in which they are made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Subject {
    /// Of which switch all of this is.
    Identity,
    Config,
    /// What controllers have forbidden at the port in this place.
    Port(u32),
    Meter(u32),
    Group(u32),
    Monitor(u32),
    Modes,
    Sessions,
    Hops,
    /// The entry of this number in a table.
    Entry(u8, u32),
}

impl Subject {
    /// Returns what a message is about that is written down as it came, and whether it
    /// holds from then on.
    pub(crate) fn of(message: &Message<'_>) -> Option<(Self, bool)> {
        match message {
            Message::SetConfig(_) => Some((Self::Config, true)),
            Message::Bfd(_) => Some((Self::Sessions, true)),
            Message::Hop(HopMessage::Config(_)) => Some((Self::Hops, true)),
            Message::Mode(ModeMessage::Config(_)) => Some((Self::Modes, true)),
            Message::Mode(ModeMessage::MonitorMod(it)) => {
                let holds = it.command == MonitorCommand::Add;
                Some((Self::Monitor(it.monitor.0), holds))
            }
            _ => None,
        }
    }

    fn numbers(self) -> (u8, u64) {
        match self {
            Self::Identity => (0, 0),
            Self::Config => (1, 0),
            Self::Port(port) => (2, port.into()),
            Self::Meter(meter) => (3, meter.into()),
            Self::Group(group) => (4, group.into()),
            Self::Monitor(monitor) => (5, monitor.into()),
            Self::Modes => (6, 0),
            Self::Sessions => (7, 0),
            Self::Hops => (8, 0),
            Self::Entry(table, entry) => (9, u64::from(table) << 32 | u64::from(entry)),
        }
    }

    fn of_numbers(kind: u8, number: u64) -> Option<Self> {
        let low = u32::try_from(number & u64::from(u32::MAX)).expect("32 bits are left");
        let subject = match kind {
            0 => Self::Identity,
            1 => Self::Config,
            2 => Self::Port(low),
            3 => Self::Meter(low),
            4 => Self::Group(low),
            5 => Self::Monitor(low),
            6 => Self::Modes,
            7 => Self::Sessions,
            8 => Self::Hops,
            9 => Self::Entry(u8::try_from(number >> 32).ok()?, low),
            _ => return None,
        };
        (subject.numbers() == (kind, number)).then_some(subject)
    }
}

const BATCH_HEADER: usize = 12;

/// A batch that is being written.
#[derive(Debug)]
pub(crate) struct Batch {
    bytes: Vec<u8>,
}

impl Batch {
    pub(crate) fn new() -> Self {
        let bytes = vec![0; BATCH_HEADER];
        Self { bytes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == BATCH_HEADER
    }

    /// Adds what a thing is from now on; nothing if it is gone.
    pub(crate) fn put(&mut self, subject: Subject, what: &[u8]) {
        let (kind, number) = subject.numbers();
        let length = u32::try_from(what.len()).expect("a message and a few words");
        self.bytes.push(kind);
        self.bytes.extend(number.to_be_bytes());
        self.bytes.extend(length.to_be_bytes());
        self.bytes.extend(what);
    }

    /// Returns the batch behind what has this digest, and the digest of both.
    pub(crate) fn finish(mut self, key: Key, before: u64) -> (Vec<u8>, u64) {
        let (header, records) = self.bytes.split_at_mut(BATCH_HEADER);
        let digest = key.digest(before, records);
        let length = u32::try_from(records.len()).expect("less than 4 GiB of entries");
        header[..4].copy_from_slice(&length.to_be_bytes());
        header[4..].copy_from_slice(&digest.to_be_bytes());
        (self.bytes, digest)
    }
}

/// What digests are made with: who does not see the words of walks cannot make them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key(u64);

impl Key {
    pub(crate) const fn of_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the digest of records behind what has a digest; never zero.
    fn digest(self, before: u64, records: &[u8]) -> u64 {
        let key = u128::from(self.0) << 64 | u128::from(before);
        siphash_2_4(key.to_be_bytes(), records).max(1)
    }
}

/// What a process that is gone has written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedState {
    pub(crate) things: BTreeMap<Subject, Vec<u8>>,
}

impl RetainedState {
    /// Reads what was written down, as far as it is in force in the words that walks see.
    ///
    /// # Errors
    ///
    /// If it is not what these words say, or they stand otherwise than ours.
    pub fn read(written: &[u8], walked: &Memory) -> Result<Self, ResumeError> {
        let word = |at| walked.record(Region::Settings, 0).get(at);
        if word(settings::VERSION) != VERSION {
            return Err(ResumeError::Layout(word(settings::VERSION)));
        }
        let in_force = [word(settings::STATE), word(settings::STATE_NEXT)];
        let key = Key::of_seed(word(settings::SEED));
        let known = |(digest, _): &(u64, &[u8])| in_force.contains(digest);
        let batches = batches(written, key).collect::<Vec<_>>();
        let last = batches.iter().rposition(known);
        let last = last.ok_or(ResumeError::Altered)?;
        let mut things = BTreeMap::new();
        for (_, records) in &batches[..=last] {
            apply(records, &mut things)?;
        }
        Ok(Self { things })
    }

    /// Returns of which switch it is.
    #[must_use]
    pub fn identity(&self) -> &[u8] {
        let identity = self.things.get(&Subject::Identity);
        identity.map_or(&[], Vec::as_slice)
    }
}

/// Returns the records of all whole batches with their digests, up to the first whose
/// digest is wrong.
fn batches(mut written: &[u8], key: Key) -> impl Iterator<Item = (u64, &[u8])> {
    let mut before = 0;
    std::iter::from_fn(move || {
        let (length, rest) = written.split_first_chunk::<4>()?;
        let (digest, rest) = rest.split_first_chunk::<8>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).expect("32 bits fit");
        let (records, rest) = rest.split_at_checked(length)?;
        let digest = u64::from_be_bytes(*digest);
        if key.digest(before, records) != digest {
            return None;
        }
        (written, before) = (rest, digest);
        Some((digest, records))
    })
}

fn apply(mut records: &[u8], things: &mut BTreeMap<Subject, Vec<u8>>) -> Result<(), ResumeError> {
    while !records.is_empty() {
        let (subject, what, rest) = first_record(records).ok_or(ResumeError::Unreadable)?;
        match what {
            [] => things.remove(&subject),
            what => things.insert(subject, what.to_vec()),
        };
        records = rest;
    }
    Ok(())
}

fn first_record(records: &[u8]) -> Option<(Subject, &[u8], &[u8])> {
    let (kind, rest) = records.split_first()?;
    let (number, rest) = rest.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (what, rest) = rest.split_at_checked(length)?;
    let subject = Subject::of_numbers(*kind, u64::from_be_bytes(*number))?;
    Some((subject, what, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled::Sizes;
    use crate::{Config, PortConfig};
    use proptest::prelude::*;
    use wire::openflow::DatapathId;

    const KEY: u64 = 0x1234_5678_9abc_def0;

    /// Returns words that say that this is in force.
    fn walked(state: u64, next: u64) -> Memory {
        let config = Config::new(DatapathId(1), Vec::<PortConfig>::new());
        let memory = Memory::private(Sizes::new(&config, 16, 1));
        let words = memory.record(Region::Settings, 0);
        for (at, word) in [
            (settings::VERSION, VERSION),
            (settings::SEED, KEY),
            (settings::STATE, state),
            (settings::STATE_NEXT, next),
        ] {
            words.set(at, word);
        }
        memory
    }

    /// Returns a log of these batches and the digest behind each.
    fn log(batches: &[Vec<(u32, Vec<u8>)>]) -> (Vec<u8>, Vec<u64>) {
        let (mut bytes, mut digests) = (Vec::new(), Vec::new());
        for things in batches {
            let mut batch = Batch::new();
            for (number, what) in things {
                batch.put(Subject::Group(*number), what);
            }
            let before = digests.last().copied().unwrap_or(0);
            let (batch, digest) = batch.finish(Key::of_seed(KEY), before);
            bytes.extend(batch);
            digests.push(digest);
        }
        (bytes, digests)
    }

    fn batches_of_things() -> impl Strategy<Value = Vec<Vec<(u32, Vec<u8>)>>> {
        let thing = (0..4_u32, prop::collection::vec(any::<u8>(), 0..9));
        prop::collection::vec(prop::collection::vec(thing, 0..6), 1..6)
    }

    proptest! {
        #[test]
        fn what_is_in_force_is_read_and_what_was_added_later_is_not(
            things in batches_of_things(), upto in any::<prop::sample::Index>(), is_next: bool,
        ) {
            let (bytes, digests) = log(&things);
            let upto = upto.index(digests.len());

            let (state, next) = match is_next {
                true => (7, digests[upto]),
                false => (digests[upto], 7),
            };
            let read = RetainedState::read(&bytes, &walked(state, next)).unwrap();

            let mut expected = BTreeMap::new();
            for (number, what) in things[..=upto].iter().flatten() {
                match what.is_empty() {
                    true => expected.remove(&Subject::Group(*number)),
                    false => expected.insert(Subject::Group(*number), what.clone()),
                };
            }
            prop_assert_eq!(read.things, expected);
        }

        #[test]
        fn what_was_altered_or_cut_short_is_refused(
            things in batches_of_things(), at in any::<prop::sample::Index>(), flip in 1..=255_u8,
            is_cut: bool,
        ) {
            let (mut bytes, digests) = log(&things);
            let at = at.index(bytes.len());
            match is_cut {
                true => bytes.truncate(at),
                false => bytes[at] ^= flip,
            }

            let last = *digests.last().unwrap();
            let read = RetainedState::read(&bytes, &walked(last, last));

            prop_assert!(matches!(read, Err(ResumeError::Altered)), "{read:?}");
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = RetainedState::read(&bytes, &walked(0, 0));
            let _ = apply(&bytes, &mut BTreeMap::new());
        }
    }

    #[test]
    fn words_of_another_layout_are_refused() {
        let (bytes, digests) = log(&[vec![(1, vec![1])]]);
        let memory = walked(digests[0], 0);
        memory
            .record(Region::Settings, 0)
            .set(settings::VERSION, VERSION - 1);

        let read = RetainedState::read(&bytes, &memory);

        assert!(matches!(read, Err(ResumeError::Layout(_))), "{read:?}");
    }
}
