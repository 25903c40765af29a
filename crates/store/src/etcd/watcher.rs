//! Follows the changes of an etcd cluster: what it says is a hint, since events of keys that
//! expire together can be lost on the way from one member to another.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use controller::store::{Change, Changes, Revision, StoreWrite};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tonic::Streaming;

use super::client::Client;
use super::messages::{EventType, WatchCreateRequest, WatchEvent, WatchRequest, WatchResponse};
use super::{EtcdStoreError, Keys, current_revision, revision_of};

/// How many changes wait to be asked for.
const MAX_WAITING: usize = 1 << 14;
/// How long a cluster is left alone that could not be followed.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Called when there is something new.
pub(super) type Told = Arc<dyn Fn() + Send + Sync>;

#[derive(Debug, Default)]
struct Waiting {
    changes: VecDeque<Change>,
    /// Something is missing in them, or what is there is another store.
    is_lost: bool,
}

/// A task that follows changes after a revision.
#[derive(Debug)]
pub(super) struct Watcher {
    waiting: Arc<Mutex<Waiting>>,
    task: JoinHandle<()>,
    /// Up to where changes were taken.
    position: Revision,
}

impl Watcher {
    /// Starts to follow what comes after a revision that the store has reached.
    pub fn start(
        runtime: &Handle,
        client: Client,
        keys: Keys,
        after: Revision,
        tell: Option<Told>,
    ) -> Self {
        let waiting = Arc::<Mutex<Waiting>>::default();
        let queue = waiting.clone();
        let task = runtime.spawn(async move {
            let mut follower = Follower {
                client,
                keys,
                after,
                queue,
                tell,
            };
            follower.follow().await;
        });
        Self {
            waiting,
            task,
            position: after,
        }
    }

    /// Returns what was heard after a revision; nothing if another watcher has to be started
    /// for that.
    pub fn take(&mut self, after: Revision) -> Option<Changes> {
        if after < self.position {
            return None;
        }
        let mut waiting = lock(&self.waiting);
        if waiting.is_lost {
            return Some(Changes::Lost);
        }
        let changes = waiting.changes.drain(..);
        let changes: Vec<_> = changes.filter(|it| it.revision > after).collect();
        self.position = changes.last().map_or(after, |last| last.revision);
        Some(Changes::Known(changes))
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Follower {
    client: Client,
    keys: Keys,
    after: Revision,
    queue: Arc<Mutex<Waiting>>,
    tell: Option<Told>,
}

impl Follower {
    /// Follows until something is missing.
    async fn follow(&mut self) {
        loop {
            let outcome = match self.open().await {
                Ok(Some(mut stream)) => self.listen(&mut stream).await,
                Ok(None) => Heard::Gap,
                Err(_) => Heard::Nothing,
            };
            match outcome {
                Heard::Gap => {
                    lock(&self.queue).is_lost = true;
                    self.say();
                    return;
                }
                Heard::Nothing => {
                    self.client.turn();
                    tokio::time::sleep(RETRY_INTERVAL).await;
                }
            }
        }
    }

    /// Opens a stream, unless the store has gone back behind what was heard of it: then it
    /// would be silent until it has caught up.
    async fn open(&mut self) -> Result<Option<Streaming<WatchResponse>>, EtcdStoreError> {
        if current_revision(&mut self.client, &self.keys).await? < self.after {
            return Ok(None);
        }
        let (key, range_end) = self.keys.range();
        let create = WatchCreateRequest {
            key,
            range_end,
            start_revision: i64::try_from(self.after.0 + 1).unwrap_or(i64::MAX),
        };
        let create = WatchRequest {
            create: Some(create),
        };
        let questions = futures_util::stream::once(std::future::ready(create));
        // Who has nothing more to ask still listens.
        let questions = futures_util::StreamExt::chain(questions, futures_util::stream::pending());
        let path = "/etcdserverpb.Watch/Watch";
        Ok(Some(self.client.stream(path, questions).await?))
    }

    async fn listen(&mut self, stream: &mut Streaming<WatchResponse>) -> Heard {
        loop {
            let response = match stream.message().await {
                Ok(Some(response)) => response,
                Ok(None) | Err(_) => return Heard::Nothing,
            };
            if response.compact_revision > 0 {
                return Heard::Gap;
            }
            if response.canceled {
                return Heard::Nothing;
            }
            let revision = revision_of(response.header.as_ref());
            if revision < self.after {
                return Heard::Gap;
            }
            if response.events.is_empty() {
                continue;
            }
            if self.enter(response.events) == Heard::Gap {
                return Heard::Gap;
            }
        }
    }

    fn enter(&mut self, events: Vec<WatchEvent>) -> Heard {
        let changes = events.into_iter().filter_map(|event| {
            let is_put = event.r#type == i32::from(EventType::Put);
            let kv = event.kv?;
            let key = self.keys.key(&kv.key)?;
            let value = match is_put {
                true => Some(self.keys.value(&kv).ok()?),
                false => None,
            };
            Some(Change {
                revision: Revision(u64::try_from(kv.mod_revision).ok()?),
                write: StoreWrite { key, value },
            })
        });
        let changes: Vec<_> = changes.collect();
        self.after = changes.last().map_or(self.after, |last| last.revision);
        let mut waiting = lock(&self.queue);
        if waiting.changes.len() + changes.len() > MAX_WAITING {
            waiting.changes.clear();
            return Heard::Gap;
        }
        waiting.changes.extend(changes);
        drop(waiting);
        self.say();
        Heard::Nothing
    }

    fn say(&self) {
        if let Some(tell) = &self.tell {
            tell();
        }
    }
}

/// What came of following.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Heard {
    /// Nothing is amiss.
    Nothing,
    /// Something is missing for good.
    Gap,
}
