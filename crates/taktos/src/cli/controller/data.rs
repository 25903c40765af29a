//! The folder in which a controller keeps what outlives it.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use controller::store::{Outcome, Refusal, Store};
use thiserror::Error;

use store::embedded::{EmbeddedStore, EmbeddedStoreError, NO_LINKS};

const STORE: &str = "store.redb";
/// A store that is being made of what is whole in another.
const NEW_STORE: &str = "store.redb.new";
/// What a repair has left of that other.
const DAMAGED_STORE: &str = "store.redb.damaged";
const AUDIT: &str = "audit.log";
const SECRETS: &str = "secrets";
/// Readable by nobody but the owner.
const PRIVATE: u32 = 0o600;
const KEY_BYTES: usize = 16;
const SEED_BYTES: usize = 8;

/// Why the folder cannot be used.
#[derive(Debug, Error)]
pub enum DataError {
    /// A file or the folder cannot be read or written.
    #[error("cannot use {}: {reason}", path.display())]
    File { path: PathBuf, reason: io::Error },
    /// What is in the store is not what was written.
    #[error(
        "{} is damaged: {what}; `taktos controller repair --data {}` keeps what can still be read",
        folder.join(STORE).display(), folder.display()
    )]
    Damaged { folder: PathBuf, what: String },
    /// A repair would overwrite what another has left.
    #[error("{} is there already: move it elsewhere first", path.display())]
    Occupied { path: PathBuf },
    /// The store does not open.
    #[error(transparent)]
    Store(#[from] EmbeddedStoreError),
    /// A record is none that a store takes.
    #[error(transparent)]
    Record(#[from] Refusal),
    /// The machine gives no random numbers.
    #[error("the machine gives no random numbers")]
    Random,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secrets {
    /// The key of the controller's own probes.
    pub probe_key: [u8; KEY_BYTES],
    pub seed: u64,
}

impl Secrets {
    /// Chooses secrets.
    ///
    /// # Errors
    ///
    /// If the machine gives no random numbers.
    pub fn random() -> Result<Self, DataError> {
        let mut bytes = [0; KEY_BYTES + SEED_BYTES];
        let source = rustls::crypto::ring::default_provider().secure_random;
        source.fill(&mut bytes).map_err(|_| DataError::Random)?;
        Ok(Self::from_bytes(&bytes))
    }

    fn from_bytes(bytes: &[u8; KEY_BYTES + SEED_BYTES]) -> Self {
        let (key, seed) = bytes.split_at(KEY_BYTES);
        Self {
            probe_key: key.try_into().expect("it was cut so"),
            seed: u64::from_be_bytes(seed.try_into().expect("it was cut so")),
        }
    }

    /// Reads secrets; none if they have another length.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self::from_bytes)
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        [&self.probe_key[..], &self.seed.to_be_bytes()].concat()
    }
}

/// What a repair came to.
#[derive(Debug)]
pub enum Repaired {
    /// There was nothing to repair.
    WasWhole {
        /// How many records there are.
        records: usize,
    },
    /// There is a new store.
    Anew {
        /// How many records it has.
        kept: usize,
        /// How many it lacks, if that can be told.
        lost: Option<u64>,
        /// Where the other one is.
        damaged: PathBuf,
    },
}

#[derive(Debug)]
pub struct DataFolder {
    folder: PathBuf,
}

impl DataFolder {
    /// Makes the folder if it is not there.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub fn open(folder: &Path) -> Result<Self, DataError> {
        fs::create_dir_all(folder).map_err(|reason| failed(folder, reason))?;
        let folder = folder.to_owned();
        Ok(Self { folder })
    }

    /// Opens the store.
    ///
    /// # Errors
    ///
    /// If it is something else or damaged, or another program uses it.
    pub fn store(&self) -> Result<EmbeddedStore, DataError> {
        EmbeddedStore::open(&self.store_file()).map_err(|error| match error {
            EmbeddedStoreError::Damaged(what) => {
                let folder = self.folder.clone();
                DataError::Damaged { folder, what }
            }
            error => DataError::Store(error),
        })
    }

    /// Makes a new store of what is whole in this one, if it is damaged, and keeps this
    /// one beside it.
    ///
    /// # Errors
    ///
    /// If nothing can be read of it, or another program uses it.
    pub fn repair(&self) -> Result<Repaired, DataError> {
        match self.store() {
            Ok(mut store) => {
                let records = store.snapshot()?.records.len();
                return Ok(Repaired::WasWhole { records });
            }
            Err(DataError::Damaged { .. }) => {}
            Err(error) => return Err(error),
        }
        let [store, new, damaged] =
            [STORE, NEW_STORE, DAMAGED_STORE].map(|name| self.folder.join(name));
        if damaged.exists() {
            return Err(DataError::Occupied { path: damaged });
        }
        let salvage = EmbeddedStore::salvage(&store)?;
        match fs::remove_file(&new) {
            Err(reason) if reason.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&new, reason));
            }
            _ => match EmbeddedStore::open(&new)?.write(&salvage.records) {
                Outcome::Committed(_) => {}
                Outcome::Refused(refusal) => return Err(refusal.into()),
                Outcome::Failed(error) | Outcome::Unknown(error) => return Err(error.into()),
            },
        }
        fs::rename(&store, &damaged).map_err(|reason| failed(&store, reason))?;
        fs::rename(&new, &store).map_err(|reason| failed(&new, reason))?;
        Ok(Repaired::Anew {
            kept: salvage.records.len(),
            lost: salvage.lost,
            damaged,
        })
    }

    #[must_use]
    pub fn store_file(&self) -> PathBuf {
        self.folder.join(STORE)
    }

    /// Returns where the audit log is.
    #[must_use]
    pub fn audit(&self) -> PathBuf {
        self.folder.join(AUDIT)
    }

    /// Returns the secrets that were chosen when the controller first ran.
    ///
    /// # Errors
    ///
    /// If they cannot be read, or not be kept.
    pub fn secrets(&self) -> Result<Secrets, DataError> {
        let path = self.folder.join(SECRETS);
        match read(&path) {
            Ok(bytes) => {
                let bytes = bytes.as_slice().try_into().map_err(|_| {
                    let reason = "it has another length than secrets: remove it for new ones";
                    failed(&path, io::Error::other(reason))
                })?;
                Ok(Secrets::from_bytes(bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let secrets = Secrets::random()?;
                write(&path, &secrets.to_bytes()).map_err(|reason| failed(&path, reason))?;
                Ok(secrets)
            }
            Err(reason) => Err(failed(&path, reason)),
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut options = OpenOptions::new();
    let mut bytes = Vec::new();
    let file = options.read(true).custom_flags(NO_LINKS).open(path)?;
    // One byte more than there may be, so that a longer one shows.
    let longest = (KEY_BYTES + SEED_BYTES + 1) as u64;
    file.take(longest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(PRIVATE)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn failed(path: &Path, reason: io::Error) -> DataError {
    let path = path.to_owned();
    DataError::File { path, reason }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn secrets_are_chosen_once_and_are_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(&folder.path().join("data")).unwrap();

        let first = data.secrets().unwrap();
        let second = data.secrets().unwrap();

        assert_eq!(first, second);
        assert_ne!(first, Secrets::random().unwrap());
        let path = folder.path().join("data").join(SECRETS);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, PRIVATE);
    }

    #[test]
    fn secrets_are_not_read_from_where_a_link_leads() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(folder.path()).unwrap();
        let theirs = folder.path().join("theirs");
        fs::write(&theirs, [7; KEY_BYTES + SEED_BYTES]).unwrap();
        std::os::unix::fs::symlink(&theirs, folder.path().join(SECRETS)).unwrap();

        assert!(data.secrets().is_err());
    }

    #[test]
    fn secrets_that_are_cut_short_are_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataFolder::open(folder.path()).unwrap();
        fs::write(folder.path().join(SECRETS), b"short").unwrap();

        let error = data.secrets().unwrap_err();

        assert!(error.to_string().contains("remove it"), "{error}");
    }
}
