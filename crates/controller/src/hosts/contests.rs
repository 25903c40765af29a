//! Who else claims to be a host that frames do not move: where, since when, how often.
//!
//! The first frame of a contest is told as an event; here is what lasts, so that it can be
//! shown at the flows of the host. Places are bounded ([`MAX_CONTESTS`]); the oldest makes
//! room, and one of which nothing was seen for [`CONTEST_LASTS`] is over.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::openflow::{DatapathId, PortNumber};

use crate::place::PortId;

/// The most contests that are remembered.
pub const MAX_CONTESTS: usize = 1_024;
/// How long after its last frame a contest is shown.
pub const CONTEST_LASTS: Duration = Duration::from_secs(60);

/// Frames with the address of a host, at a port where it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contest {
    pub since: Instant,
    pub last: Instant,
    /// How many came to the controller.
    pub frames: u64,
}

/// All contests, by the host's name and the port.
#[derive(Clone, Debug, Default)]
pub struct Contests {
    known: BTreeMap<(String, PortId), Contest>,
}

impl Contests {
    /// Notes a frame that says that `host` is at a port where it is not. Returns whether
    /// that is new.
    pub fn note(&mut self, now: Instant, host: &str, at: PortId) -> bool {
        let key = (host.to_owned(), at);
        if let Some(contest) = self.known.get_mut(&key)
            && !is_over(now, contest)
        {
            contest.last = now;
            contest.frames += 1;
            return false;
        }
        if self.known.len() >= MAX_CONTESTS {
            self.known.retain(|_, contest| !is_over(now, contest));
        }
        if self.known.len() >= MAX_CONTESTS {
            let stale = self.known.iter().min_by_key(|(_, contest)| contest.last);
            if let Some(stale) = stale.map(|(key, _)| key.clone()) {
                self.known.remove(&stale);
            }
        }
        let contest = Contest {
            since: now,
            last: now,
            frames: 1,
        };
        self.known.insert(key, contest);
        true
    }

    /// Forgets who seemed to be at a port that turns out to lead to a switch: frames of others
    /// pass there.
    pub fn forget_at(&mut self, port: PortId) {
        self.known.retain(|(_, at), _| *at != port);
    }

    /// Returns the contests for a host that are not over, by port.
    pub fn of<'a>(
        &'a self,
        now: Instant,
        host: &'a str,
    ) -> impl Iterator<Item = (PortId, Contest)> + 'a {
        let least = PortId::new(DatapathId(0), PortNumber(0));
        // Most of the time nobody contests anything, and nothing is copied then.
        let from = (!self.known.is_empty()).then(|| (host.to_owned(), least));
        let here = from.into_iter().flat_map(|from| self.known.range(from..));
        let here = here.take_while(move |((name, _), _)| name == host);
        let here = here.filter(move |(_, contest)| !is_over(now, contest));
        here.map(|((_, at), contest)| (*at, *contest))
    }
}

fn is_over(now: Instant, contest: &Contest) -> bool {
    now.saturating_since(contest.last) >= CONTEST_LASTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contest_is_counted_until_it_is_over() {
        let mut contests = Contests::default();
        for seconds in [1, 2, 61] {
            contests.note(at(seconds), "h1", port(3));
        }
        contests.note(at(5), "h10", port(3));

        let contest = Contest {
            since: at(1),
            last: at(61),
            frames: 3,
        };
        let shown = |now| contests.of(at(now), "h1").collect::<Vec<_>>();
        assert_eq!(shown(120), [(port(3), contest)]);
        assert_eq!(shown(121), []);
    }

    #[test]
    fn where_a_switch_is_nobody_contests_anything() {
        let mut contests = Contests::default();
        contests.note(at(1), "h1", port(3));
        contests.note(at(1), "h1", port(4));

        contests.forget_at(port(3));

        let left: Vec<_> = contests.of(at(2), "h1").map(|(at, _)| at).collect();
        assert_eq!(left, [port(4)]);
    }

    #[test]
    fn no_more_contests_are_remembered_than_there_is_room_for() {
        let mut contests = Contests::default();
        let many = u32::try_from(MAX_CONTESTS).unwrap() + 1;

        for number in 0..many {
            contests.note(at(u64::from(number) / 64), "h1", port(number));
        }

        assert_eq!(contests.known.len(), MAX_CONTESTS);
        let newest = contests
            .known
            .contains_key(&("h1".to_owned(), port(many - 1)));
        assert!(newest);
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn port(number: u32) -> PortId {
        PortId::new(DatapathId(1), PortNumber(number))
    }
}
