//! Keeps what etcd remembers of the past within bounds.
//!
//! Every so many revisions all but the last ones are forgotten, and members whose file is
//! mostly free space give that back. A member whose quota is used up nevertheless refuses
//! writes, and goes on refusing when there is room again until it is told to look: then
//! everything of the past is forgotten at once. All instances do this, none depends on the
//! others, and doing it twice does no harm.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use controller::store::Revision;
use tokio::runtime::Handle;

use super::client::Client;
use super::messages::{
    AlarmAction, AlarmMember, AlarmRequest, AlarmResponse, AlarmType, CompactionRequest, Plain,
    StatusResponse,
};
use super::{EtcdStoreError, Keys, current_revision};

/// How many revisions lie between two compactions.
const COMPACT_INTERVAL: u64 = 10_000;
/// How many are kept, for those who are late to ask for changes.
const KEPT: u64 = 5_000;
/// A smaller file is not looked at.
const SMALL_BYTES: i64 = 64 << 20;
/// A member does nothing else meanwhile, so that room is made rarely.
const ROOM_INTERVAL: Duration = Duration::from_secs(10);

const COMPACT: &str = "/etcdserverpb.KV/Compact";
const STATUS: &str = "/etcdserverpb.Maintenance/Status";
const DEFRAGMENT: &str = "/etcdserverpb.Maintenance/Defragment";
const ALARM: &str = "/etcdserverpb.Maintenance/Alarm";

/// What was done last, and when.
#[derive(Debug)]
pub(super) struct Upkeep {
    pub compact_interval: u64,
    pub kept: u64,
    pub room_interval: Duration,
    compacted: u64,
    running: Arc<AtomicBool>,
    room_made: Option<Instant>,
}

impl Default for Upkeep {
    fn default() -> Self {
        Self {
            compact_interval: COMPACT_INTERVAL,
            kept: KEPT,
            room_interval: ROOM_INTERVAL,
            compacted: 0,
            running: Arc::default(),
            room_made: None,
        }
    }
}

impl Upkeep {
    /// Hears of a revision; every so often it has the past forgotten, in the background.
    pub fn committed(&mut self, runtime: &Handle, client: &Client, revision: Revision) {
        let since = revision.0.checked_sub(self.compacted);
        match since {
            Some(since) if since >= self.compact_interval => {}
            Some(_) => return,
            // The store was restored.
            None => {
                self.compacted = revision.0;
                return;
            }
        }
        self.compacted = revision.0;
        if self.running.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut client = client.clone();
        let running = self.running.clone();
        let upto = Revision(revision.0.saturating_sub(self.kept));
        runtime.spawn(async move {
            // What fails is tried again after as many revisions, or when there is no room.
            let _ = compact(&mut client, upto).await;
            for member in 0..client.members() {
                let _ = shrink(&mut client, member).await;
            }
            running.store(false, Ordering::Release);
        });
    }

    /// Makes room in members whose quota is used up. Returns whether that was tried and
    /// there is some now.
    pub async fn make_room(&mut self, client: &mut Client, keys: &Keys) -> bool {
        let is_early = |made: Instant| made.elapsed() < self.room_interval;
        if self.room_made.is_some_and(is_early) {
            return false;
        }
        self.room_made = Some(Instant::now());
        make_room(client, keys).await.is_ok()
    }
}

async fn make_room(client: &mut Client, keys: &Keys) -> Result<(), EtcdStoreError> {
    let now = current_revision(client, keys).await?;
    compact(client, now).await?;
    for member in 0..client.members() {
        let _ = defragment(client, member).await;
    }
    let question = AlarmRequest {
        action: AlarmAction::Get.into(),
        alarm: AlarmType::NoSpace.into(),
        ..AlarmRequest::default()
    };
    let raised: AlarmResponse = client.read(ALARM, question).await?;
    for AlarmMember { member_id, alarm } in raised.alarms {
        if alarm == i32::from(AlarmType::NoSpace) {
            let question = AlarmRequest {
                action: AlarmAction::Deactivate.into(),
                member_id,
                alarm,
            };
            let _: AlarmResponse = client.read(ALARM, question).await?;
        }
    }
    Ok(())
}

async fn compact(client: &mut Client, upto: Revision) -> Result<(), EtcdStoreError> {
    let question = CompactionRequest {
        revision: i64::try_from(upto.0).unwrap_or(i64::MAX),
        physical: true,
    };
    match client.read::<_, Plain>(COMPACT, question).await {
        // Another instance was there before.
        Ok(_) | Err(EtcdStoreError::Declined { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Has a member give back free space if that is most of its file.
async fn shrink(client: &mut Client, member: usize) -> Result<(), EtcdStoreError> {
    let status: StatusResponse = client.ask_member(member, STATUS, Plain::default()).await?;
    let is_mostly_free = status.db_size_bytes / 2 > status.db_size_in_use_bytes;
    if status.db_size_bytes > SMALL_BYTES && is_mostly_free {
        defragment(client, member).await?;
    }
    Ok(())
}

async fn defragment(client: &mut Client, member: usize) -> Result<(), EtcdStoreError> {
    let _: Plain = client
        .ask_member(member, DEFRAGMENT, Plain::default())
        .await?;
    Ok(())
}
