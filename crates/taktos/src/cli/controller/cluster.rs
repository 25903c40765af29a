//! A controller as one of several instances on the command line.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use controller::cluster::{Member, MemberId, Terms};
use controller::store::{Condition, Key, Outcome, Refusal, Store, StoreWrite, Transaction};
use linux::controller_loop::{ClusterReport, Membership};
use rustls::ClientConfig;
use store::EtcdStore;
use thiserror::Error;
use wire::siphash::siphash_2_4;

use super::data::Secrets;
use crate::cli::screen::say;
use crate::client::access::{AccessError, certificates};
use crate::client::trust::config_trusting;
use crate::web::forwarding::Forwarding;

/// How long etcd is left alone that could not be asked.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Why the controller cannot be an instance of a cluster.
#[derive(Debug, Error)]
pub enum ClusterError {
    /// Nobody could be told where it is.
    #[error("--cluster {0}: name the address by which the other instances reach this one")]
    Nowhere(SocketAddr),
    /// The others could not forward what they are asked.
    #[error(
        "--cluster {cluster} can be reached from elsewhere, and {http} cannot, where programs \
         ask: give another --http address"
    )]
    Unreachable {
        cluster: SocketAddr,
        http: SocketAddr,
    },
    /// It cannot hear the others.
    #[error("--cluster {address}: {reason}")]
    Deaf {
        address: SocketAddr,
        reason: io::Error,
    },
    #[error("--cluster-ca: {0}")]
    Authority(#[from] AccessError),
    /// Instances that ask each other by HTTPS have to trust each other.
    #[error("--http-tls-cert with --cluster needs --cluster-ca, to trust the other instances")]
    NoAuthority,
    /// The secrets in the store are none.
    #[error("the secrets of the cluster in etcd are not as they were written")]
    Secrets,
    /// It was told to stop before it could begin.
    #[error("etcd could not be asked until now")]
    Stopped,
}

/// One of several instances on the command line.
#[derive(Debug, clap::Args)]
pub struct ClusterOptions {
    /// Be one of several instances that share the etcd of --etcd: one decides, the others
    /// take over when it goes. The address at which this one hears the others, by UDP.
    #[arg(long, value_name = "ADDR:PORT", requires = "etcd")]
    cluster: Option<SocketAddr>,
    /// The certificate of the authority that certified the other instances for HTTPS (PEM).
    #[arg(long, value_name = "FILE", requires = "cluster")]
    cluster_ca: Option<PathBuf>,
}

impl ClusterOptions {
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        self.cluster.is_some()
    }

    /// Says that it is one of several, for people; nothing if it is alone.
    pub fn introduction(&self) -> Option<String> {
        let cluster = self.cluster?;
        Some(format!(
            "one of several instances, which hears the others at {cluster}"
        ))
    }

    /// Looks whether the others could reach an instance that programs ask at `http`.
    ///
    /// # Errors
    ///
    /// If they could not.
    pub fn check(&self, http: SocketAddr, scheme: &str) -> Result<(), ClusterError> {
        let Some(cluster) = self.cluster else {
            return Ok(());
        };
        if cluster.ip().is_unspecified() {
            return Err(ClusterError::Nowhere(cluster));
        }
        let is_unreachable = http.ip().is_loopback() && !cluster.ip().is_loopback();
        if is_unreachable || http.ip().is_unspecified() {
            return Err(ClusterError::Unreachable { cluster, http });
        }
        match (scheme, &self.cluster_ca) {
            ("https", None) => Err(ClusterError::NoAuthority),
            _ => Ok(()),
        }
    }

    /// Joins the cluster under a name, as the instance that programs ask at `url`; `options`
    /// is a digest of what all instances have to be told alike.
    ///
    /// # Errors
    ///
    /// If it cannot hear the others.
    pub fn join(
        &self,
        (name, url): (&str, String),
        options: u64,
        secrets: &Secrets,
    ) -> Result<Option<Membership>, ClusterError> {
        let Some(cluster) = self.cluster else {
            return Ok(None);
        };
        let deaf = |reason| ClusterError::Deaf {
            address: cluster,
            reason,
        };
        let socket = UdpSocket::bind(cluster).map_err(deaf)?;
        let member = Member {
            name: name.to_owned(),
            address: socket.local_addr().map_err(deaf)?,
            url,
            options,
        };
        let life = Secrets::random().map_err(|_| deaf(io::Error::other("no random numbers")))?;
        let half = |word: &[u8]| siphash_2_4(secrets.probe_key, word).to_be_bytes();
        let key = [half(b"cluster, first"), half(b"cluster, second")].concat();
        let terms = Terms {
            id: MemberId::new(life.seed),
            member,
            key: key.try_into().expect("two halves"),
        };
        Ok(Some(Membership { socket, terms }))
    }

    /// Returns how other instances are asked.
    ///
    /// # Errors
    ///
    /// If the authority cannot be used.
    pub fn forwarding(&self, report: ClusterReport) -> Result<Forwarding, ClusterError> {
        let trusted = self.cluster_ca.as_deref().map(certificates).transpose()?;
        let tls: Option<Arc<ClientConfig>> = trusted.and_then(|it| config_trusting(&it));
        Ok(Forwarding { report, tls })
    }
}

/// Returns what all instances know and nobody else does: the first of them has chosen it.
/// Waits for etcd until `stop`.
///
/// # Errors
///
/// If that is nothing that an instance has written, or it was not found until `stop`.
pub fn secrets(store: &mut EtcdStore, stop: &AtomicBool) -> Result<Secrets, ClusterError> {
    let mut said = false;
    while !stop.load(Ordering::Relaxed) {
        match try_secrets(store) {
            Ok(secrets) => return secrets.ok_or(ClusterError::Secrets),
            Err(reason) if said => drop(reason),
            Err(reason) => {
                say(format_args!("taktos: waiting for etcd: {reason}"));
                said = true;
            }
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
    Err(ClusterError::Stopped)
}

/// Chooses secrets, unless some are there; returns those that are there then, if they can
/// be read.
fn try_secrets(store: &mut EtcdStore) -> Result<Option<Secrets>, String> {
    let key = Key::Secrets;
    let chosen = Secrets::random().map_err(|error| error.to_string())?;
    let choice = Transaction {
        conditions: vec![Condition {
            key,
            revision: None,
        }],
        writes: vec![StoreWrite {
            key,
            value: Some(chosen.to_bytes()),
        }],
        ..Transaction::default()
    };
    match store.transact(&choice) {
        Outcome::Committed(_) => Ok(Some(chosen)),
        Outcome::Refused(Refusal::Differs(found)) => {
            let mut records = found.into_iter().filter_map(|it| it.record);
            let record = records.next().map(|record| record.value);
            Ok(record.and_then(|bytes| Secrets::read(&bytes)))
        }
        Outcome::Refused(refusal) => Err(refusal.to_string()),
        // Whether it was made, the next question finds out.
        Outcome::Failed(error) | Outcome::Unknown(error) => Err(error.to_string()),
    }
}
