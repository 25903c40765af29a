//! A store that several instances share: etcd, spoken to by gRPC.
//!
//! Each record is a key of etcd below a common prefix, with a [seal](super::sealed) before
//! its value; revisions are etcd's own. A transaction of the contract is one of etcd's:
//! the fence is compared by value and conditions by revision, and where one does not hold
//! the same request reads what is there instead. Whatever is asked has a time limit, and
//! what was not answered until then is in doubt, not undone.
//!
//! A record with a lease has one of its own. What etcd keeps of the past is
//! bounded, since a member whose quota is used up takes no writes any more.

mod client;
mod messages;
mod upkeep;
mod watcher;

use std::collections::BTreeMap;
use std::sync::Arc;

use controller::store::{
    Changes, Epoch, Found, Key, Lease, Outcome, Record, Refusal, Revision, Snapshot, Store,
    StoreWrite, Transaction,
};
use thiserror::Error;
use tokio::runtime::{Builder, Runtime};
use units::Duration;

use super::sealed;
use client::{CallError, Client};
use messages::{
    Compare, CompareTarget, Compared, DeleteRangeRequest, Header, KeyValue, LeaseGrantRequest,
    LeaseRequest, LeaseResponse, Operation, PutRequest, RangeRequest, RangeResponse, RequestOp,
    TxnRequest, TxnResponse,
};
use upkeep::Upkeep;
use watcher::{Told, Watcher};

/// How many records are read at once.
const PAGE: i64 = 256;
/// How often a reading is begun anew, because etcd has forgotten its revision meanwhile.
const READINGS: usize = 3;
const RANGE: &str = "/etcdserverpb.KV/Range";
const NS_PER_SECOND: u64 = 1_000_000_000;

/// How long an answer is waited for, unless somebody says otherwise: as long as it takes
/// to elect a member that leads.
const PATIENCE: Duration = Duration::from_secs(3);

/// Where etcd is, and who we are to it.
#[derive(Clone, Debug)]
pub struct EtcdTerms {
    /// The addresses of its members, such as `https://10.0.0.1:2379`.
    pub members: Vec<String>,
    /// What all keys begin with.
    pub prefix: Vec<u8>,
    /// The certificate of who signs those of the members, as PEM.
    pub authority: Option<Vec<u8>>,
    /// Our certificate and its key, as PEM.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// Our name as a user of etcd, and the password.
    pub user: Option<(String, String)>,
    /// How long an answer is waited for.
    pub patience: Duration,
    /// What each thread of the store does first, such as giving up privileges.
    pub begin_thread: fn(),
}

impl Default for EtcdTerms {
    fn default() -> Self {
        Self {
            members: Vec::new(),
            prefix: b"taktos/".to_vec(),
            authority: None,
            identity: None,
            user: None,
            patience: PATIENCE,
            begin_thread: || (),
        }
    }
}

/// Why etcd does not keep or read records.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EtcdStoreError {
    /// No member is named.
    #[error("no member of etcd is named")]
    NoMember,
    /// An address, or what goes with it, is not usable.
    #[error("etcd at {url}: {reason}")]
    Unusable { url: String, reason: String },
    /// A member takes no connection.
    #[error("no member of etcd can be reached; member {}: {reason}", .member + 1)]
    Unreachable {
        /// Which, counted from zero.
        member: usize,
        reason: String,
    },
    /// A member does not answer.
    #[error("etcd does not answer in time (member {})", .member + 1)]
    Silent {
        /// Which, counted from zero.
        member: usize,
    },
    /// Its quota is used up, and there is nothing to be forgotten.
    #[error(
        "etcd has no space left: raise its quota (--quota-backend-bytes), or remove keys of others"
    )]
    Full,
    /// We are nobody to it.
    #[error("etcd does not know us: {reason}")]
    Stranger { reason: String },
    /// It does not do what it was asked for.
    #[error("etcd: {reason}")]
    Declined { reason: String },
    /// A record is not as we write them.
    #[error("record {key} in etcd is not as it was written")]
    Damaged { key: String },
    /// The machine has no thread for it.
    #[error("no thread for etcd: {reason}")]
    Thread { reason: String },
}

/// Records of ours among the keys of etcd.
#[derive(Clone, Debug)]
struct Keys {
    prefix: Arc<[u8]>,
}

impl Keys {
    fn bytes(&self, key: Key) -> Vec<u8> {
        [&self.prefix[..], &key.to_bytes()].concat()
    }

    /// Returns the record's key; none if it is none of ours, or one of a later version of
    /// the program.
    fn key(&self, bytes: &[u8]) -> Option<Key> {
        Key::from_bytes(bytes.strip_prefix(&self.prefix[..])?)
    }

    /// Returns the first key that may be ours, and the first behind all of them.
    fn range(&self) -> (Vec<u8>, Vec<u8>) {
        let mut end = self.prefix.to_vec();
        while let Some(last) = end.pop() {
            if let Some(next) = last.checked_add(1) {
                end.push(next);
                break;
            }
        }
        // An end of one zero byte is behind everything.
        let end = if end.is_empty() { vec![0] } else { end };
        let start = if self.prefix.is_empty() {
            &[0][..]
        } else {
            &self.prefix
        };
        (start.to_vec(), end)
    }

    fn sealed(&self, key: Key, value: &[u8]) -> Vec<u8> {
        sealed::close(&key.to_bytes(), value)
    }

    fn value(&self, kv: &KeyValue) -> Result<Vec<u8>, EtcdStoreError> {
        let key = kv.key.strip_prefix(&self.prefix[..]).unwrap_or(&kv.key);
        match sealed::open(key, &kv.value) {
            Some(value) => Ok(value.to_vec()),
            None => Err(EtcdStoreError::Damaged {
                key: match Key::from_bytes(key) {
                    Some(key) => format!("{key:?}"),
                    None => format!("{key:02x?}"),
                },
            }),
        }
    }

    fn record(&self, kv: &KeyValue) -> Result<Option<Record>, EtcdStoreError> {
        let Some(key) = self.key(&kv.key) else {
            return Ok(None);
        };
        Ok(Some(Record {
            key,
            revision: revision(kv.mod_revision),
            value: self.value(kv)?,
        }))
    }
}

fn revision(revision: i64) -> Revision {
    Revision(u64::try_from(revision).unwrap_or_default())
}

fn revision_of(header: Option<&Header>) -> Revision {
    header.map_or_else(Revision::default, |it| revision(it.revision))
}

/// Returns the revision at which all members that agree are now.
async fn current_revision(client: &mut Client, keys: &Keys) -> Result<Revision, EtcdStoreError> {
    let (key, range_end) = keys.range();
    let question = RangeRequest {
        key,
        range_end,
        count_only: true,
        ..RangeRequest::default()
    };
    let answer: RangeResponse = client.read(RANGE, question).await?;
    Ok(revision_of(answer.header.as_ref()))
}

/// Records in etcd.
pub struct EtcdStore {
    runtime: Runtime,
    client: Client,
    keys: Keys,
    watcher: Option<Watcher>,
    tell: Option<Told>,
    /// The leases of records that were written here.
    leases: BTreeMap<Key, i64>,
    upkeep: Upkeep,
    /// The last revision at which etcd is known to have been.
    seen: Revision,
}

impl std::fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("EtcdStore");
        shown.field("client", &self.client).finish_non_exhaustive()
    }
}

impl EtcdStore {
    /// Gets ready to speak to etcd, which need not be there yet.
    ///
    /// # Errors
    ///
    /// If what is said of it is not usable.
    pub fn open(terms: &EtcdTerms) -> Result<Self, EtcdStoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .on_thread_start(terms.begin_thread)
            .enable_all()
            .build()
            .map_err(|error| EtcdStoreError::Thread {
                reason: error.to_string(),
            })?;
        let entered = runtime.enter();
        let client = Client::new(terms)?;
        drop(entered);
        Ok(Self {
            runtime,
            client,
            keys: Keys {
                prefix: Arc::from(&terms.prefix[..]),
            },
            watcher: None,
            tell: None,
            leases: BTreeMap::new(),
            upkeep: Upkeep::default(),
            seen: Revision::default(),
        })
    }

    /// Has `tell` called, on a thread of the store's, when there may be changes to take. To
    /// be said before changes are asked for.
    pub fn on_change(&mut self, tell: impl Fn() + Send + Sync + 'static) {
        self.tell = Some(Arc::new(tell));
    }

    fn request(&self, transaction: &Transaction, lease: i64) -> TxnRequest {
        let compare = |key, target: CompareTarget, with| Compare {
            target: target.into(),
            key: self.keys.bytes(key),
            with: Some(with),
        };
        let mut request = TxnRequest::default();
        if let Some(fence) = transaction.fence {
            let key = Key::Epoch(fence.office);
            let epoch = self.keys.sealed(key, &fence.epoch.to_bytes());
            let compared = Compared::Value(epoch);
            request
                .compare
                .push(compare(key, CompareTarget::Value, compared));
        }
        for condition in &transaction.conditions {
            // The revision of a key that is not there is zero.
            let revision = condition.revision.unwrap_or_default().0;
            let compared = Compared::ModRevision(i64::try_from(revision).unwrap_or(i64::MAX));
            request
                .compare
                .push(compare(condition.key, CompareTarget::Mod, compared));
        }
        let fence = transaction.fence.map(|fence| Key::Epoch(fence.office));
        let conditions = transaction.conditions.iter().map(|it| it.key);
        for key in fence.into_iter().chain(conditions) {
            let read = Operation::Range(RangeRequest {
                key: self.keys.bytes(key),
                ..RangeRequest::default()
            });
            request.failure.push(RequestOp {
                request: Some(read),
            });
        }
        for StoreWrite { key, value } in &transaction.writes {
            let operation = match value {
                Some(value) => Operation::Put(PutRequest {
                    key: self.keys.bytes(*key),
                    value: self.keys.sealed(*key, value),
                    lease,
                }),
                None => Operation::DeleteRange(DeleteRangeRequest {
                    key: self.keys.bytes(*key),
                }),
            };
            request.success.push(RequestOp {
                request: Some(operation),
            });
        }
        request
    }

    async fn try_transact(&mut self, transaction: &Transaction) -> Outcome<EtcdStoreError> {
        if let Some(invalid) = transaction.fault() {
            return Outcome::Refused(Refusal::Invalid(invalid));
        }
        let lease = match transaction.lease {
            Some(length) => match self.grant(length).await {
                Ok(lease) => lease,
                Err(error) => return Outcome::Failed(error),
            },
            None => 0,
        };
        let request = self.request(transaction, lease);
        let path = "/etcdserverpb.KV/Txn";
        let mut answer = self.client.ask(path, request.clone()).await;
        if let Err(CallError::Without(EtcdStoreError::Full)) = answer
            && self.upkeep.make_room(&mut self.client, &self.keys).await
        {
            answer = self.client.ask(path, request).await;
        }
        let answer: TxnResponse = match answer {
            Ok(answer) => answer,
            Err(CallError::Without(error)) => return Outcome::Failed(error),
            Err(CallError::Perhaps(error)) => return Outcome::Unknown(error),
        };
        match answer.succeeded {
            true => self.committed(transaction, lease, &answer),
            false => match self.refusal(transaction, &answer) {
                Ok(refusal) => Outcome::Refused(refusal),
                Err(error) => Outcome::Failed(error),
            },
        }
    }

    fn committed(
        &mut self,
        transaction: &Transaction,
        lease: i64,
        answer: &TxnResponse,
    ) -> Outcome<EtcdStoreError> {
        for write in &transaction.writes {
            match (lease, &write.value) {
                (1.., Some(_)) => self.leases.insert(write.key, lease),
                _ => self.leases.remove(&write.key),
            };
        }
        let revision = revision_of(answer.header.as_ref());
        self.seen = revision;
        let client = &self.client;
        self.upkeep
            .committed(self.runtime.handle(), client, revision);
        Outcome::Committed(revision)
    }

    /// Finds out what stood against a transaction from what was read instead.
    fn refusal(
        &self,
        transaction: &Transaction,
        answer: &TxnResponse,
    ) -> Result<Refusal, EtcdStoreError> {
        let read = answer.responses.iter().map(|response| {
            let kv = response.range.as_ref().and_then(|range| range.kvs.first());
            kv.map(|kv| self.keys.record(kv)).transpose()
        });
        let mut read = read.map(|record| record.map(Option::flatten));
        if let Some(fence) = transaction.fence {
            let record = read.next().transpose()?.flatten();
            let found = record.and_then(|record| Epoch::from_bytes(&record.value));
            if found != Some(fence.epoch) {
                return Ok(Refusal::Fenced { found });
            }
        }
        let mut differs = Vec::new();
        for (condition, record) in transaction.conditions.iter().zip(read) {
            let record = record?;
            if record.as_ref().map(|record| record.revision) != condition.revision {
                let key = condition.key;
                differs.push(Found { key, record });
            }
        }
        Ok(Refusal::Differs(differs))
    }

    async fn read_all(&mut self) -> Result<Snapshot, EtcdStoreError> {
        let mut outcome = Err(EtcdStoreError::NoMember);
        for _ in 0..READINGS {
            outcome = self.read_pages().await;
            if !matches!(outcome, Err(EtcdStoreError::Declined { .. })) {
                break;
            }
        }
        outcome
    }

    /// Reads all records at the revision of the first page.
    async fn read_pages(&mut self) -> Result<Snapshot, EtcdStoreError> {
        let (key, range_end) = self.keys.range();
        let mut question = RangeRequest {
            key,
            range_end,
            limit: PAGE,
            ..RangeRequest::default()
        };
        let mut snapshot = Snapshot::default();
        loop {
            let page: RangeResponse = self.client.read(RANGE, question.clone()).await?;
            if question.revision == 0 {
                snapshot.revision = revision_of(page.header.as_ref());
                question.revision = page.header.map_or(0, |header| header.revision);
            }
            for kv in &page.kvs {
                snapshot.records.extend(self.keys.record(kv)?);
            }
            match page.kvs.last() {
                Some(last) if page.more => question.key = [&last.key[..], &[0]].concat(),
                _ => return Ok(snapshot),
            }
        }
    }

    async fn grant(&mut self, length: Duration) -> Result<i64, EtcdStoreError> {
        let seconds = length.as_ns().div_ceil(NS_PER_SECOND);
        let question = LeaseGrantRequest {
            ttl_s: i64::try_from(seconds).unwrap_or(i64::MAX),
        };
        let path = "/etcdserverpb.Lease/LeaseGrant";
        let granted: LeaseResponse = self.client.read(path, question).await?;
        Ok(granted.id)
    }

    async fn try_renew(&mut self, key: Key) -> Result<Lease, EtcdStoreError> {
        let Some(id) = self.leases.get(&key).copied() else {
            return Ok(Lease::Gone);
        };
        let question = LeaseRequest { id, keys: false };
        let questions = futures_util::stream::once(std::future::ready(question));
        let path = "/etcdserverpb.Lease/LeaseKeepAlive";
        let mut answers = self
            .client
            .stream::<_, LeaseResponse>(path, questions)
            .await?;
        let answer = answers.message().await;
        let answer = answer.map_err(|status| EtcdStoreError::Declined {
            reason: status.message().to_owned(),
        })?;
        let question = LeaseRequest { id, keys: true };
        let path = "/etcdserverpb.Lease/LeaseTimeToLive";
        let covers: LeaseResponse = self.client.read(path, question).await?;
        let is_there = covers.keys.contains(&self.keys.bytes(key));
        match answer {
            Some(answer) if answer.ttl_s > 0 && is_there => Ok(Lease::Renewed),
            _ => {
                self.leases.remove(&key);
                Ok(Lease::Gone)
            }
        }
    }
}

impl Store for EtcdStore {
    type Error = EtcdStoreError;

    const SHARED: bool = true;

    fn transact(&mut self, transaction: &Transaction) -> Outcome<EtcdStoreError> {
        let runtime = self.runtime.handle().clone();
        runtime.block_on(self.try_transact(transaction))
    }

    fn snapshot(&mut self) -> Result<Snapshot, EtcdStoreError> {
        let runtime = self.runtime.handle().clone();
        runtime.block_on(self.read_all())
    }

    fn changes(&mut self, after: Revision) -> Result<Changes, EtcdStoreError> {
        let runtime = self.runtime.handle().clone();
        if after > self.seen {
            self.seen = runtime.block_on(current_revision(&mut self.client, &self.keys))?;
        }
        if after > self.seen {
            // It was restored: whoever waits for that revision waits for another one.
            self.watcher = None;
            return Ok(Changes::Lost);
        }
        if let Some(changes) = self.watcher.as_mut().and_then(|it| it.take(after)) {
            match &changes {
                Changes::Known(known) => {
                    let last = known.last().map(|last| last.revision);
                    self.seen = last.map_or(self.seen, |last| last.max(self.seen));
                }
                Changes::Lost => self.watcher = None,
            }
            return Ok(changes);
        }
        let (client, keys) = (self.client.clone(), self.keys.clone());
        let watcher = Watcher::start(&runtime, client, keys, after, self.tell.clone());
        self.watcher = Some(watcher);
        Ok(Changes::Known(Vec::new()))
    }

    fn renew(&mut self, key: Key) -> Result<Lease, EtcdStoreError> {
        let runtime = self.runtime.handle().clone();
        runtime.block_on(self.try_renew(key))
    }
}

#[cfg(test)]
mod tests;
