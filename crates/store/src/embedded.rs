//! A store in one file beside the program (redb): transactions are all or
//! nothing, and durable when they are acknowledged.
//!
//! What is read is what was written, or an error: every record is [sealed],
//! and the store's own check of all pages runs whenever it is opened. A change that
//! fails closes the file, and the next one opens it again: a disk that was full for
//! a moment is no end. As nobody knows then what of the change is in the file, the
//! next one first puts back what was there before.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use controller::store::{
    Changes, Journal, Key, Lease, Outcome, Record, Revision, Snapshot, Store, StoreWrite,
    Transaction,
};
use redb::backends::FileBackend;
use redb::{Database, ReadableDatabase, ReadableTable, Table, TableDefinition, TableHandle};
use rustix::fs::OFlags;
use thiserror::Error;

use super::sealed::{self, SealTally, TALLY};

type Records = TableDefinition<'static, &'static [u8], &'static [u8]>;

const RECORDS: Records = TableDefinition::new("sealed records");
/// As earlier versions of the program kept them.
const UNSEALED: Records = TableDefinition::new("records");
/// Readable by nobody but the owner.
const PRIVATE: u32 = 0o600;
/// A file of the folder for data is no link to somewhere else.
#[expect(clippy::cast_possible_wrap, reason = "a few bits, as open(2) has them")]
pub const NO_LINKS: i32 = OFlags::NOFOLLOW.bits() as i32;

/// Why the store cannot keep or read records.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmbeddedStoreError {
    /// The file cannot be opened, is no store, or is used by another program.
    #[error("cannot open the store {path}: {source}")]
    Open {
        path: String,
        source: Box<redb::Error>,
    },
    /// The file, or the folder for it, cannot be made or opened.
    #[error("cannot open the store {path}: {source}")]
    File { path: String, source: io::Error },
    /// A record cannot be read or written.
    #[error("the store failed: {0}")]
    Access(Box<redb::Error>),
    /// What is in the file is not what was written.
    #[error("the store is damaged: {0}")]
    Damaged(String),
}

#[derive(Debug)]
pub struct EmbeddedStore {
    path: PathBuf,
    /// None after a failure, until the next change opens it again.
    database: Option<Database>,
    tally: SealTally,
    /// What was written when, since the file was opened: until then no other user was there.
    journal: Journal,
    /// The records with a lease, which lasts as long as the program that uses them.
    leased: BTreeSet<Key>,
    /// What was there before changes that failed, of which something may be there.
    undo: BTreeMap<Vec<u8>, Option<Vec<u8>>>,
}

/// What could be read of a damaged store.
#[derive(Debug)]
pub struct Salvage {
    /// The records that are whole, sorted by key.
    pub records: Vec<StoreWrite>,
    /// How many are not, if that can be told.
    pub lost: Option<u64>,
}

impl EmbeddedStore {
    /// Opens the store in the file at `path`, and makes it if it is not there.
    ///
    /// # Errors
    ///
    /// If the file cannot be made, is something else, is in use, or is damaged.
    pub fn open(path: &Path) -> Result<Self, EmbeddedStoreError> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|reason| file_error(path, reason))?;
        }
        let database = open_database(path, Presence::MayBeMissing, Trust::Check)?;
        let (tally, records) = guarded(|| {
            adopt(&database)?;
            read(&database)
        })?;
        let keys = records.iter().map(|write| write.key);
        let journal = Journal::at(Revision(tally.revision), keys);
        Ok(Self {
            path: path.to_owned(),
            database: Some(database),
            tally,
            journal,
            leased: BTreeSet::new(),
            undo: BTreeMap::new(),
        })
    }

    /// Reads what is whole in the damaged store at `path`, which is left as it is if it
    /// is not in use.
    ///
    /// # Errors
    ///
    /// If nothing can be read, or the store is in use.
    pub fn salvage(path: &Path) -> Result<Salvage, EmbeddedStoreError> {
        let database = open_database(path, Presence::Needed, Trust::Blind)?;
        let mut found = BTreeMap::new();
        let mut tally = None;
        for direction in [ScanDirection::Up, ScanDirection::Down] {
            // What was found until then is kept.
            let _ = guarded(|| {
                let transaction = database.begin_read().map_err(access)?;
                let table = transaction.open_table(RECORDS).map_err(access)?;
                let mut entries = table.iter().map_err(access)?;
                let mut next = || match direction {
                    ScanDirection::Up => entries.next(),
                    ScanDirection::Down => entries.next_back(),
                };
                while let Some(entry) = next() {
                    let (key, sealed) = entry.map_err(access)?;
                    match sealed::open(key.value(), sealed.value()) {
                        Some(_) if key.value() == TALLY => {
                            tally = SealTally::from_sealed(sealed.value());
                        }
                        Some(value) => {
                            found.insert(key.value().to_vec(), value.to_vec());
                        }
                        None => {}
                    }
                }
                Ok(())
            });
        }
        close(database);
        let lost = tally.map(|tally| tally.records.saturating_sub(found.len() as u64));
        let records = found
            .into_iter()
            .filter_map(|(key, value)| record(&key, &value));
        Ok(Salvage {
            records: records.collect(),
            lost,
        })
    }

    /// Reads the value of one record, as it was before changes that failed.
    fn value(&self, key: Key) -> Result<Option<Vec<u8>>, EmbeddedStoreError> {
        let key = key.to_bytes();
        let sealed = match (self.undo.get(&key), &self.database) {
            (Some(sealed), _) => sealed.clone(),
            (None, Some(database)) => guarded(|| sealed_value(database, &key))?,
            (None, None) => return Err(closed()),
        };
        let Some(sealed) = sealed else {
            return Ok(None);
        };
        match sealed::open(&key, &sealed) {
            Some(value) => Ok(Some(value.to_vec())),
            None => Err(damaged_record(&key)),
        }
    }

    fn make_durable(&mut self, writes: &[StoreWrite]) -> Result<Revision, EmbeddedStoreError> {
        let database = self.database.take().ok_or_else(closed)?;
        let mut tally = self.tally;
        tally.revision = self.journal.revision().0 + 1;
        let mut before = Vec::new();
        let undo = &self.undo;
        match guarded(|| apply(&database, undo, writes, &mut tally, &mut before)) {
            Ok(()) => {
                self.database = Some(database);
                self.tally = tally;
                self.journal.enter(writes);
                self.undo.clear();
                Ok(self.journal.revision())
            }
            Err(error) => {
                for (key, value) in before {
                    self.undo.entry(key).or_insert(value);
                }
                close(database);
                Err(error)
            }
        }
    }
}

impl Store for EmbeddedStore {
    type Error = EmbeddedStoreError;

    const SHARED: bool = false;

    fn transact(&mut self, transaction: &Transaction) -> Outcome<EmbeddedStoreError> {
        if self.database.is_none() {
            match open_database(&self.path, Presence::Needed, Trust::Check) {
                Ok(database) => self.database = Some(database),
                Err(error) => return Outcome::Failed(error),
            }
        }
        match self.journal.refusal(transaction, |key| self.value(key)) {
            Ok(None) => {}
            Ok(Some(refusal)) => return Outcome::Refused(refusal),
            Err(error) => return Outcome::Failed(error),
        }
        match self.make_durable(&transaction.writes) {
            Ok(revision) => {
                for write in &transaction.writes {
                    match transaction.lease {
                        Some(_) if write.value.is_some() => self.leased.insert(write.key),
                        _ => self.leased.remove(&write.key),
                    };
                }
                Outcome::Committed(revision)
            }
            Err(error) => Outcome::Failed(error),
        }
    }

    fn snapshot(&mut self) -> Result<Snapshot, EmbeddedStoreError> {
        let database = self.database.as_ref().ok_or_else(closed)?;
        let (_, records) = guarded(|| read(database))?;
        let records = records.into_iter().map(|StoreWrite { key, value }| Record {
            key,
            revision: self.journal.revision_of(key).unwrap_or_default(),
            value: value.unwrap_or_default(),
        });
        Ok(Snapshot {
            revision: self.journal.revision(),
            records: records.collect(),
        })
    }

    fn changes(&mut self, after: Revision) -> Result<Changes, EmbeddedStoreError> {
        Ok(self.journal.after(after))
    }

    fn renew(&mut self, key: Key) -> Result<Lease, EmbeddedStoreError> {
        Ok(match self.leased.contains(&key) {
            true => Lease::Renewed,
            false => Lease::Gone,
        })
    }
}

/// Whether a file has to be there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Needed,
    MayBeMissing,
}

/// Whether all pages are looked at before they are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    Check,
    Blind,
}

/// From which end records are read.
#[derive(Clone, Copy)]
enum ScanDirection {
    Up,
    Down,
}

fn open_database(
    path: &Path,
    presence: Presence,
    trust: Trust,
) -> Result<Database, EmbeddedStoreError> {
    let file = open_file(path, presence).map_err(|reason| file_error(path, reason))?;
    guarded(|| {
        let mut builder = Database::builder();
        builder.set_check_integrity_on_open(trust == Trust::Check);
        let backend = FileBackend::new(file);
        let opened = backend.and_then(|backend| builder.create_with_backend(backend));
        opened.map_err(|error| match redb::Error::from(error) {
            redb::Error::Corrupted(what) => EmbeddedStoreError::Damaged(what),
            error => EmbeddedStoreError::Open {
                path: path.display().to_string(),
                source: Box::new(error),
            },
        })
    })
}

/// Opens the file, which is the owner's alone, and no link to somewhere else.
fn open_file(path: &Path, presence: Presence) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .mode(PRIVATE)
        .custom_flags(NO_LINKS);
    if presence == Presence::MayBeMissing {
        match options.clone().create_new(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made,
        }
    }
    let file = options.open(path)?;
    if file.metadata()?.len() == 0 {
        let what = "it is empty, as no store is: remove it to begin without records";
        return Err(io::Error::other(what));
    }
    file.set_permissions(Permissions::from_mode(PRIVATE))?;
    Ok(file)
}

/// Makes the table of records, from those of an earlier version if there are any.
fn adopt(database: &Database) -> Result<(), EmbeddedStoreError> {
    let transaction = database.begin_write().map_err(access)?;
    let tables = transaction.list_tables().map_err(access)?;
    if tables
        .into_iter()
        .any(|table| table.name() == RECORDS.name())
    {
        return Ok(());
    }
    {
        let old = transaction.open_table(UNSEALED).map_err(access)?;
        let mut records = transaction.open_table(RECORDS).map_err(access)?;
        let mut tally = SealTally::default();
        for entry in old.iter().map_err(access)? {
            let (key, value) = entry.map_err(access)?;
            let sealed = sealed::close(key.value(), value.value());
            tally.add(&sealed);
            records.insert(key.value(), &sealed[..]).map_err(access)?;
        }
        records
            .insert(TALLY, &tally.to_sealed()[..])
            .map_err(access)?;
    }
    transaction.delete_table(UNSEALED).map_err(access)?;
    transaction.commit().map_err(access)
}

/// Reads all records, and the tally that is right for them.
fn read(database: &Database) -> Result<(SealTally, Vec<StoreWrite>), EmbeddedStoreError> {
    let transaction = database.begin_read().map_err(access)?;
    let table = transaction.open_table(RECORDS).map_err(access)?;
    let (mut tally, mut said) = (SealTally::default(), None);
    let mut records = Vec::new();
    for entry in table.iter().map_err(access)? {
        let (key, sealed) = entry.map_err(access)?;
        let (key, sealed) = (key.value(), sealed.value());
        let Some(value) = sealed::open(key, sealed) else {
            return Err(damaged_record(key));
        };
        if key == TALLY {
            said = SealTally::from_sealed(sealed);
            continue;
        }
        tally.add(sealed);
        // Records of a later version of the program are left alone.
        records.extend(record(key, value));
    }
    match said {
        Some(said) if said.counts_as(tally) => Ok((said, records)),
        Some(said) => Err(EmbeddedStoreError::Damaged(format!(
            "it has {} records in place of {}, or others",
            tally.records, said.records
        ))),
        None => Err(EmbeddedStoreError::Damaged(
            "nothing says how many records it has".to_owned(),
        )),
    }
}

fn sealed_value(database: &Database, key: &[u8]) -> Result<Option<Vec<u8>>, EmbeddedStoreError> {
    let transaction = database.begin_read().map_err(access)?;
    let table = transaction.open_table(RECORDS).map_err(access)?;
    let sealed = table.get(key).map_err(access)?;
    Ok(sealed.map(|sealed| sealed.value().to_vec()))
}

fn record(key: &[u8], value: &[u8]) -> Option<StoreWrite> {
    let key = Key::from_bytes(key)?;
    let value = Some(value.to_vec());
    Some(StoreWrite { key, value })
}

/// Puts back what `undo` says, then makes the changes, and notes what was there
/// `before`.
fn apply(
    database: &Database,
    undo: &BTreeMap<Vec<u8>, Option<Vec<u8>>>,
    writes: &[StoreWrite],
    tally: &mut SealTally,
    before: &mut Vec<(Vec<u8>, Option<Vec<u8>>)>,
) -> Result<(), EmbeddedStoreError> {
    let transaction = database.begin_write().map_err(access)?;
    {
        let mut records = transaction.open_table(RECORDS).map_err(access)?;
        for (key, value) in undo {
            exchange(&mut records, key, value.as_deref())?;
        }
        for StoreWrite { key, value } in writes {
            let key = key.to_bytes();
            let sealed = value.as_ref().map(|value| sealed::close(&key, value));
            let old = exchange(&mut records, &key, sealed.as_deref())?;
            if let Some(old) = &old {
                tally.remove(old);
            }
            if let Some(new) = &sealed {
                tally.add(new);
            }
            before.push((key, old));
        }
        exchange(&mut records, TALLY, Some(&tally.to_sealed()))?;
    }
    transaction.commit().map_err(access)
}

/// Puts a value in place of another, which it returns; `None` is no record.
fn exchange(
    records: &mut Table<'_, &'static [u8], &'static [u8]>,
    key: &[u8],
    value: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, EmbeddedStoreError> {
    let old = match value {
        Some(value) => records.insert(key, value),
        None => records.remove(key),
    };
    Ok(old.map_err(access)?.map(|old| old.value().to_vec()))
}

/// Does something with the store, whose code panics at some of what damaged files say.
fn guarded<T>(
    action: impl FnOnce() -> Result<T, EmbeddedStoreError>,
) -> Result<T, EmbeddedStoreError> {
    catch_unwind(AssertUnwindSafe(action)).unwrap_or_else(|_| {
        let what = "its pages contradict each other";
        Err(EmbeddedStoreError::Damaged(what.to_owned()))
    })
}

fn close(database: Database) {
    // What could not be written is opened, checked and undone by the next change.
    let _ = guarded(|| {
        drop(database);
        Ok(())
    });
}

fn damaged_record(key: &[u8]) -> EmbeddedStoreError {
    let name = match Key::from_bytes(key) {
        Some(key) => format!("{key:?}"),
        None => format!("{key:02x?}"),
    };
    EmbeddedStoreError::Damaged(format!("record {name} is not as it was written"))
}

/// The error of a store that failed and was not opened again since.
fn closed() -> EmbeddedStoreError {
    EmbeddedStoreError::Access(Box::new(redb::Error::PreviousIo))
}

fn access(error: impl Into<redb::Error>) -> EmbeddedStoreError {
    EmbeddedStoreError::Access(Box::new(error.into()))
}

fn file_error(path: &Path, source: io::Error) -> EmbeddedStoreError {
    let path = path.display().to_string();
    EmbeddedStoreError::File { path, source }
}

#[cfg(test)]
mod tests;
