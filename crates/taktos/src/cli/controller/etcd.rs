//! Where the records of a controller are kept that several machines are to outlive.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use store::EtcdStore;
use store::etcd::{EtcdStoreError, EtcdTerms};
use thiserror::Error;
use units::Duration;

/// Why etcd cannot be used.
#[derive(Debug, Error)]
pub enum EtcdError {
    /// A file cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    File { path: PathBuf, reason: io::Error },
    #[error("--etcd: {0}")]
    Store(#[from] EtcdStoreError),
}

/// How long a member of etcd is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    Usual,
    /// There are other instances, and perhaps other members.
    Short,
}

/// Etcd on the command line.
#[derive(Debug, clap::Args)]
pub struct EtcdOptions {
    /// The members of the etcd that keeps what outlives the controller, such as
    /// http://127.0.0.1:2379 or https://10.0.0.1:2379, with commas between them.
    #[arg(id = "etcd", long = "etcd", value_name = "URL", value_delimiter = ',')]
    members: Vec<String>,
    /// What the names of all its records in etcd begin with.
    #[arg(
        long = "etcd-prefix",
        value_name = "TEXT",
        default_value = "taktos/",
        requires = "etcd"
    )]
    etcd_prefix: String,
    /// The certificate of the authority that certified the members of etcd (PEM).
    #[arg(long = "etcd-ca", value_name = "FILE", requires = "etcd")]
    etcd_authority: Option<PathBuf>,
    /// The certificate by which etcd knows this controller (PEM).
    #[arg(long, value_name = "FILE", requires = "etcd_key")]
    etcd_cert: Option<PathBuf>,
    /// The key of that certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "etcd_cert")]
    etcd_key: Option<PathBuf>,
    /// Its name as a user of etcd.
    #[arg(long, value_name = "NAME", requires = "etcd_password_file")]
    etcd_user: Option<String>,
    /// A file with the password of that user, in its first line.
    #[arg(long, value_name = "FILE", requires = "etcd_user")]
    etcd_password_file: Option<PathBuf>,
}

impl EtcdOptions {
    /// Returns the store, if it is to be etcd.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or is not what it should be.
    pub fn store(&self, patience: Patience) -> Result<Option<EtcdStore>, EtcdError> {
        if self.members.is_empty() {
            return Ok(None);
        }
        let identity = match (&self.etcd_cert, &self.etcd_key) {
            (Some(certificate), Some(key)) => Some((read(certificate)?, read(key)?)),
            _ => None,
        };
        let user = match (&self.etcd_user, &self.etcd_password_file) {
            (Some(name), Some(path)) => {
                let text = read(path)?;
                let text = String::from_utf8_lossy(&text);
                let password = text.lines().next().unwrap_or_default();
                Some((name.clone(), password.to_owned()))
            }
            _ => None,
        };
        let terms = EtcdTerms {
            members: self.members.clone(),
            prefix: self.etcd_prefix.clone().into_bytes(),
            authority: self.etcd_authority.as_deref().map(read).transpose()?,
            identity,
            user,
            begin_thread: renounce,
            patience: match patience {
                Patience::Usual => EtcdTerms::default().patience,
                Patience::Short => Duration::from_secs(1),
            },
        };
        Ok(Some(EtcdStore::open(&terms)?))
    }

    /// Says where it is, for people; nothing if it is not used.
    pub fn introduction(&self) -> Option<String> {
        let members = self.members.join(", ");
        (!members.is_empty()).then(|| format!("records in etcd at {members}"))
    }
}

fn renounce() {
    // Whoever has none to give up is as well off.
    let _ = linux::privilege::renounce();
}

fn read(path: &Path) -> Result<Vec<u8>, EtcdError> {
    fs::read(path).map_err(|reason| EtcdError::File {
        path: path.to_owned(),
        reason,
    })
}
