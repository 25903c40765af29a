//! Which moves of hosts are believed.
//!
//! A host whose old port has lost its carrier may be anywhere: that is believed.
//! Where the old port is still up, a frame from elsewhere is a host that was
//! replugged behind another switch of its own, a loop, or a forged address; a few
//! moves are believed. A host that is seen here and there alternately goes back to
//! where it was before that began, and stays there for a while.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::ethernet::MacAddress;

use crate::place::PortId;

/// How often a host may move within [`MOVE_WINDOW`] while its old port is up.
pub const MAX_MOVES: u32 = 3;
/// The time within which [`MAX_MOVES`] are believed.
pub const MOVE_WINDOW: Duration = Duration::from_secs(10);
/// How long a host that moved too often is believed to be where it was before.
pub const MOVE_HOLD: Duration = Duration::from_secs(30);
/// The most hosts that are watched for it; beyond them, a host whose old port is
/// up does not move.
pub const MAX_WATCHED: usize = 4_096;

/// What is thought of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MoveVerdict {
    Believed,
    /// It was seen at two ports alternately: it is taken to be at the port where
    /// it was before.
    Flapping {
        home: PortId,
    },
    /// It was told before that this host is not believed.
    Refused,
}

/// The moves of the last while.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    watched: BTreeMap<MacAddress, WatchedHost>,
}

#[derive(Clone, Copy, Debug)]
struct WatchedHost {
    /// Where the host was before its first move.
    home: PortId,
    since: Instant,
    moves: u32,
    /// Until when it is held at home.
    held: Option<Instant>,
}

impl WatchedHost {
    fn is_over(&self, now: Instant) -> bool {
        match self.held {
            Some(until) => now >= until,
            None => now.saturating_since(self.since) >= MOVE_WINDOW,
        }
    }
}

impl Moves {
    /// Judges a move of a host from a port that is still up.
    pub fn judge(&mut self, now: Instant, mac: MacAddress, from: PortId) -> MoveVerdict {
        if self.watched.get(&mac).is_some_and(|it| it.is_over(now)) {
            self.watched.remove(&mac);
        }
        if self.watched.len() >= MAX_WATCHED && !self.watched.contains_key(&mac) {
            self.watched.retain(|_, it| !it.is_over(now));
            if self.watched.len() >= MAX_WATCHED {
                return MoveVerdict::Refused;
            }
        }
        let watched = self.watched.entry(mac).or_insert(WatchedHost {
            home: from,
            since: now,
            moves: 0,
            held: None,
        });
        if watched.held.is_some() {
            return MoveVerdict::Refused;
        }
        watched.moves += 1;
        if watched.moves <= MAX_MOVES {
            return MoveVerdict::Believed;
        }
        watched.held = Some(now + MOVE_HOLD);
        MoveVerdict::Flapping { home: watched.home }
    }

    /// Judges a move of a host that no frame can move: it stays at `home`.
    pub fn hold(&mut self, now: Instant, mac: MacAddress, home: PortId) -> MoveVerdict {
        let before = self.judge(now, mac, home);
        match (before, self.watched.get_mut(&mac)) {
            (MoveVerdict::Believed | MoveVerdict::Flapping { .. }, Some(watched)) => {
                watched.held = Some(now + MOVE_HOLD);
                MoveVerdict::Flapping { home }
            }
            (MoveVerdict::Refused, _) | (_, None) => MoveVerdict::Refused,
        }
    }
}

#[cfg(test)]
mod tests {
    use wire::openflow::{DatapathId, PortNumber};

    use super::*;

    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 7]);

    #[test]
    fn a_host_that_moves_now_and_then_is_believed() {
        let mut moves = Moves::default();

        for second in (0..100).step_by(5) {
            assert_eq!(moves.judge(at(second), MAC, port(1)), MoveVerdict::Believed);
        }
    }

    #[test]
    fn a_host_seen_alternately_is_held_where_it_was_before() {
        let mut moves = Moves::default();
        for from in [1, 2, 1] {
            assert_eq!(moves.judge(at(1), MAC, port(from)), MoveVerdict::Believed);
        }

        let fourth = moves.judge(at(1), MAC, port(2));
        let fifth = moves.judge(at(2), MAC, port(1));
        let later = moves.judge(at(1 + 30), MAC, port(1));

        assert_eq!(fourth, MoveVerdict::Flapping { home: port(1) });
        assert_eq!(fifth, MoveVerdict::Refused);
        assert_eq!(later, MoveVerdict::Believed);
    }

    #[test]
    fn no_more_hosts_are_watched_than_there_is_room_for() {
        let mut moves = Moves::default();
        for number in 0..u32::try_from(MAX_WATCHED).unwrap() {
            moves.judge(at(1), mac(number), port(1));
        }

        let one_more = moves.judge(at(1), MAC, port(1));
        let later = moves.judge(at(20), MAC, port(1));

        assert_eq!(one_more, MoveVerdict::Refused);
        assert_eq!(later, MoveVerdict::Believed);
        assert_eq!(moves.watched.len(), 1);
    }

    fn mac(number: u32) -> MacAddress {
        let [a, b, c, d] = number.to_be_bytes();
        MacAddress([2, 1, a, b, c, d])
    }

    fn port(number: u32) -> PortId {
        PortId::new(DatapathId(1), PortNumber(number))
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }
}
