//! Events for any number of clients that watch.
//!
//! The last ones are kept in a ring, so that a client which lost its connection
//! misses nothing if it comes back soon and says which one it had last. Each client
//! has a place in one bounded queue: one that does not keep up is told that it
//! missed some, and slows down nobody.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use api::{Event, Occurrence};
use tokio::sync::broadcast;
use units::Instant;

/// How many events are kept for clients that come back.
pub const KEPT: usize = 4_096;
/// How far a client may lag behind before it misses events.
pub const QUEUED: usize = 1_024;
/// How many reports of what switches have seen a client may lag behind.
const REPORTS_QUEUED: usize = 16;

/// An event as it goes to every client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub id: u64,
    /// The name of its kind.
    pub kind: &'static str,
    /// Its text, as one server-sent event.
    pub text: Arc<str>,
    pub occurrence: Arc<Occurrence>,
}

impl Published {
    #[must_use]
    pub fn new(occurrence: Occurrence) -> Self {
        let kind = occurrence.what.kind();
        let data = serde_json::to_string(&occurrence).expect("events have text keys alone");
        let id = occurrence.id;
        Self {
            id,
            kind,
            text: format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into(),
            occurrence: Arc::new(occurrence),
        }
    }
}

/// Events for those who watch.
#[derive(Debug)]
pub struct Feed {
    ring: Mutex<Ring>,
    queue: broadcast::Sender<Published>,
    /// What switches have seen, for those who want to know.
    observed: broadcast::Sender<Arc<str>>,
}

#[derive(Debug)]
struct Ring {
    next: u64,
    kept: VecDeque<Published>,
}

/// What a client gets that begins to watch.
#[derive(Debug)]
pub struct Subscription {
    /// What it missed and what is kept of that.
    pub missed: VecDeque<Published>,
    /// What happens from now on.
    pub coming: broadcast::Receiver<Published>,
}

impl Default for Feed {
    fn default() -> Self {
        let (queue, _) = broadcast::channel(QUEUED);
        let ring = Ring {
            next: 1,
            kept: VecDeque::with_capacity(KEPT),
        };
        Self {
            ring: Mutex::new(ring),
            queue,
            observed: broadcast::channel(REPORTS_QUEUED).0,
        }
    }
}

impl Feed {
    /// Tells everybody. Returns the number of the event.
    pub fn publish(&self, at: Instant, what: Event) -> u64 {
        let mut ring = self.ring();
        let id = ring.next;
        ring.next += 1;
        let published = Published::new(Occurrence { id, at, what });
        if ring.kept.len() >= KEPT {
            ring.kept.pop_front();
        }
        ring.kept.push_back(published.clone());
        // In the ring's order for everybody; nobody may be watching.
        let _ = self.queue.send(published);
        id
    }

    /// Lets a client watch: from now on, or from behind the event that it had last.
    pub fn subscribe(&self, now: Instant, last: Option<u64>) -> Subscription {
        let ring = self.ring();
        let missed = match last {
            Some(last) => ring.since(now, last),
            None => VecDeque::new(),
        };
        Subscription {
            missed,
            coming: self.queue.subscribe(),
        }
    }

    /// Returns the last events, at most so many, the latest last.
    #[must_use]
    pub fn latest(&self, most: usize) -> Vec<Published> {
        let ring = self.ring();
        let left_out = ring.kept.len().saturating_sub(most);
        ring.kept.iter().skip(left_out).cloned().collect()
    }

    /// Returns the number of the newest event.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.ring().next - 1
    }

    /// Tells those who want to know what switches have seen: text that is no event, has no
    /// number and is not kept.
    pub fn report(&self, text: Arc<str>) {
        // Nobody may be watching.
        let _ = self.observed.send(text);
    }

    /// Lets a client have what switches see from now on.
    pub fn observe(&self) -> broadcast::Receiver<Arc<str>> {
        self.observed.subscribe()
    }

    /// Returns how many want to know what switches see.
    #[must_use]
    pub fn observers(&self) -> usize {
        self.observed.receiver_count()
    }

    #[must_use]
    pub fn watchers(&self) -> usize {
        self.queue.receiver_count()
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// Returns what came after the event `last`, with a notice of what is missing.
    /// An event that did not happen yet is one of an earlier controller: everything
    /// since the start is news.
    fn since(&self, now: Instant, last: u64) -> VecDeque<Published> {
        let unknown = last >= self.next;
        let last = if unknown { 0 } else { last };
        let first = self.kept.front().map_or(self.next, |event| event.id);
        let newer = self.kept.iter().filter(|event| event.id > last);
        let mut missed: VecDeque<_> = newer.cloned().collect();
        if unknown || last + 1 < first {
            let count = (!unknown).then(|| first - last - 1);
            missed.push_front(gap(first.saturating_sub(1), now, count));
        }
        missed
    }
}

/// Returns a notice that events are missing before the one after `id`.
#[must_use]
pub fn gap(id: u64, at: Instant, missed: Option<u64>) -> Published {
    let what = Event::Gap { missed };
    Published::new(Occurrence { id, at, what })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happen(feed: &Feed, times: u64) {
        for flows in 0..times {
            let flows = usize::try_from(flows).unwrap();
            feed.publish(Instant::ZERO, Event::Returned { flows });
        }
    }

    fn ids(missed: &VecDeque<Published>) -> Vec<(u64, &'static str)> {
        missed.iter().map(|event| (event.id, event.kind)).collect()
    }

    #[test]
    fn a_client_that_comes_back_gets_what_it_missed_and_nothing_twice() {
        let feed = Feed::default();
        happen(&feed, 5);

        let mut subscription = feed.subscribe(Instant::ZERO, Some(3));
        happen(&feed, 1);

        assert_eq!(
            ids(&subscription.missed),
            [(4, "returned"), (5, "returned")]
        );
        assert_eq!(subscription.coming.try_recv().unwrap().id, 6);
        assert!(subscription.coming.try_recv().is_err());
    }

    #[test]
    fn what_is_no_longer_kept_is_said_to_be_missing() {
        let feed = Feed::default();
        happen(&feed, KEPT as u64 + 10);

        let missed = feed.subscribe(Instant::ZERO, Some(2)).missed;

        assert_eq!(missed.len(), KEPT + 1);
        assert_eq!(missed[0].kind, "gap");
        assert!(
            missed[0].text.contains(r#""missed":8"#),
            "{}",
            missed[0].text
        );
        assert_eq!(missed[1].id, 11);
    }

    #[test]
    fn a_number_of_an_earlier_controller_brings_everything_since_the_start() {
        let feed = Feed::default();
        happen(&feed, 2);

        let missed = feed.subscribe(Instant::ZERO, Some(900)).missed;

        let told = [(0, "gap"), (1, "returned"), (2, "returned")];
        assert_eq!(ids(&missed), told);
        assert!(missed[0].text.contains(r#""missed":null"#));
    }

    #[test]
    fn a_client_that_does_not_read_costs_no_memory_and_is_told_what_it_missed() {
        let feed = Feed::default();
        let mut idle = feed.subscribe(Instant::ZERO, None).coming;

        happen(&feed, QUEUED as u64 * 3);

        let lagged = broadcast::error::TryRecvError::Lagged(QUEUED as u64 * 2);
        assert_eq!(idle.try_recv().unwrap_err(), lagged);
        assert_eq!(idle.try_recv().unwrap().id, QUEUED as u64 * 2 + 1);
    }
}
