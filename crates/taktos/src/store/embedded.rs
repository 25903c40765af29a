//! A store in one file beside the program (redb): transactions are all or
//! nothing, and durable when they are acknowledged.

use std::io;
use std::path::Path;

use controller::store::{Key, MAX_VALUE_LENGTH, Store, StoreWrite};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use thiserror::Error;

const RECORDS: TableDefinition<'static, &[u8], &[u8]> = TableDefinition::new("records");

/// Why the store cannot keep or read records.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmbeddedStoreError {
    /// The file cannot be opened, is no store, or is used by another program.
    #[error("cannot open the store {path}: {source}")]
    Open {
        /// The file.
        path: String,
        /// What the store says.
        source: Box<redb::Error>,
    },
    /// The folder for the file cannot be made.
    #[error("cannot make the folder for the store {path}: {source}")]
    Folder {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A record cannot be read or written.
    #[error("the store failed: {0}")]
    Access(Box<redb::Error>),
    /// A record is longer than records may be.
    #[error("a record of {length} bytes: at most {MAX_VALUE_LENGTH} are kept")]
    TooLong {
        /// Its length.
        length: usize,
    },
}

/// Records in one file.
#[derive(Debug)]
pub struct EmbeddedStore {
    database: Database,
}

impl EmbeddedStore {
    /// Opens the store in the file at `path`, and makes it if it is not there.
    ///
    /// # Errors
    ///
    /// If the file cannot be made, is something else, or is in use.
    pub fn open(path: &Path) -> Result<Self, EmbeddedStoreError> {
        let name = || path.display().to_string();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|source| EmbeddedStoreError::Folder {
                path: name(),
                source,
            })?;
        }
        let database = Database::create(path).map_err(|error| EmbeddedStoreError::Open {
            path: name(),
            source: Box::new(error.into()),
        })?;
        let store = Self { database };
        // A table that is not there cannot be read.
        store.transact(&[])?;
        Ok(store)
    }

    fn transact(&self, writes: &[StoreWrite]) -> Result<(), EmbeddedStoreError> {
        let transaction = self.database.begin_write().map_err(access)?;
        {
            let mut records = transaction.open_table(RECORDS).map_err(access)?;
            for StoreWrite { key, value } in writes {
                let key = key.to_bytes();
                match value {
                    Some(value) => records.insert(&key[..], &value[..]).map_err(access)?,
                    None => records.remove(&key[..]).map_err(access)?,
                };
            }
        }
        transaction.commit().map_err(access)
    }
}

impl Store for EmbeddedStore {
    type Error = EmbeddedStoreError;

    fn write(&mut self, writes: &[StoreWrite]) -> Result<(), EmbeddedStoreError> {
        let lengths = writes
            .iter()
            .filter_map(|write| write.value.as_ref())
            .map(Vec::len);
        match lengths.max() {
            Some(length) if length > MAX_VALUE_LENGTH => {
                Err(EmbeddedStoreError::TooLong { length })
            }
            _ => self.transact(writes),
        }
    }

    fn records(&self) -> Result<Vec<StoreWrite>, EmbeddedStoreError> {
        let transaction = self.database.begin_read().map_err(access)?;
        let table = transaction.open_table(RECORDS).map_err(access)?;
        let mut records = Vec::new();
        for entry in table.iter().map_err(access)? {
            let (key, value) = entry.map_err(access)?;
            // Records of a later version of the program are left alone.
            if let Some(key) = Key::from_bytes(key.value()) {
                records.push(StoreWrite {
                    key,
                    value: Some(value.value().to_vec()),
                });
            }
        }
        Ok(records)
    }
}

fn access(error: impl Into<redb::Error>) -> EmbeddedStoreError {
    EmbeddedStoreError::Access(Box::new(error.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admission(flow: u32, value: Option<&[u8]>) -> StoreWrite {
        StoreWrite {
            key: Key::Admission(flow),
            value: value.map(<[u8]>::to_vec),
        }
    }

    #[test]
    fn records_survive_a_restart_in_order_of_their_keys() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data").join("store.redb");

        let mut store = EmbeddedStore::open(&path).unwrap();
        store
            .write(&[admission(9, Some(b"nine")), admission(2, Some(b"two"))])
            .unwrap();
        store
            .write(&[admission(9, None), admission(300, Some(b""))])
            .unwrap();
        drop(store);
        let records = EmbeddedStore::open(&path).unwrap().records().unwrap();

        assert_eq!(
            records,
            vec![admission(2, Some(b"two")), admission(300, Some(b""))]
        );
    }

    #[test]
    fn a_store_in_use_and_a_file_that_is_none_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.redb");
        let other = folder.path().join("letter.txt");
        std::fs::write(&other, "Dear Sirs").unwrap();

        let _first = EmbeddedStore::open(&path).unwrap();
        let second = EmbeddedStore::open(&path).unwrap_err();
        let letter = EmbeddedStore::open(&other).unwrap_err();

        assert!(
            matches!(second, EmbeddedStoreError::Open { .. }),
            "{second}"
        );
        assert!(
            matches!(letter, EmbeddedStoreError::Open { .. }),
            "{letter}"
        );
        assert_eq!(std::fs::read_to_string(&other).unwrap(), "Dear Sirs");
    }

    #[test]
    fn a_record_that_is_too_long_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut store = EmbeddedStore::open(&folder.path().join("store.redb")).unwrap();
        let long = vec![0; MAX_VALUE_LENGTH + 1];

        let error = store.write(&[admission(1, Some(b"1")), admission(2, Some(&long))]);

        assert!(matches!(error, Err(EmbeddedStoreError::TooLong { .. })));
        assert_eq!(store.records().unwrap(), vec![]);
    }
}
