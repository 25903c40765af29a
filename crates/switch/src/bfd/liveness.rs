//! Whether a port is live, as far as its session is concerned: at once not, when the session
//! goes down; again when it is up and has stayed so for a while, if it goes down often.
//!
//! The while begins with nothing, is [`HOLD_MIN`] after a port that was live for less than
//! [`HOLD_MAX`], and doubles up to that: whoever makes a session flap moves frames to and
//! fro some times, and then once in that time at most.

use units::{Duration, Instant};

const HOLD_MIN: Duration = Duration::from_ms(100);
const HOLD_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Since then, if it was not from the beginning.
    Live(Option<Instant>),
    Dead,
    /// The session is up; then it is believed.
    Held(Instant),
}

/// Whether a port is live.
#[derive(Clone, Copy, Debug)]
pub(super) struct Liveness {
    standing: Standing,
    /// For how long the session has to be up before it is believed.
    hold: Duration,
}

/// What became of a session that came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recovered {
    AtOnce,
    /// It went down not long ago.
    Later,
}

impl Liveness {
    pub(super) const fn new() -> Self {
        Self {
            standing: Standing::Live(None),
            hold: Duration::ZERO,
        }
    }

    pub(super) const fn is_live(&self) -> bool {
        matches!(self.standing, Standing::Live(_))
    }

    /// Returns when [`advance`](Self::advance) has something to do.
    pub(super) const fn due(&self) -> Option<Instant> {
        match self.standing {
            Standing::Held(until) => Some(until),
            Standing::Live(_) | Standing::Dead => None,
        }
    }

    /// Notes that the session went down from up.
    pub(super) fn fail(&mut self, now: Instant) {
        let was_calm = match self.standing {
            Standing::Live(since) => {
                since.is_none_or(|since| now.saturating_since(since) >= HOLD_MAX)
            }
            Standing::Dead | Standing::Held(_) => false,
        };
        self.hold = match was_calm {
            true => Duration::ZERO,
            false => (self.hold * 2u64).clamp(HOLD_MIN, HOLD_MAX),
        };
        self.standing = Standing::Dead;
    }

    /// Notes that the session is up, or that nothing is to be made of its being down.
    pub(super) fn recover(&mut self, now: Instant) -> Recovered {
        match self.standing {
            Standing::Live(_) => Recovered::AtOnce,
            Standing::Held(_) => Recovered::Later,
            Standing::Dead if self.hold == Duration::ZERO => {
                self.standing = Standing::Live(Some(now));
                Recovered::AtOnce
            }
            Standing::Dead => {
                self.standing = Standing::Held(now + self.hold);
                Recovered::Later
            }
        }
    }

    /// Believes a session that has stayed up for long enough.
    pub(super) fn advance(&mut self, now: Instant) {
        if let Standing::Held(until) = self.standing
            && now >= until
        {
            self.standing = Standing::Live(Some(now));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets a session come up and fail again a millisecond later, without end, and returns
    /// how often the port turned.
    fn turns_within(time: Duration) -> usize {
        let (mut now, end) = (Instant::ZERO, Instant::ZERO + time);
        let mut liveness = Liveness::new();
        let (mut turns, mut was_live) = (0, true);
        while now < end {
            now += Duration::from_ms(1);
            liveness.advance(now);
            match liveness.is_live() {
                true => liveness.fail(now),
                false => {
                    liveness.recover(now);
                }
            }
            turns += usize::from(liveness.is_live() != was_live);
            was_live = liveness.is_live();
        }
        turns
    }

    #[test]
    fn a_storm_of_changes_turns_the_port_seldom() {
        assert!(turns_within(Duration::from_secs(10)) <= 20);
        assert!(turns_within(Duration::from_secs(1_000)) <= 2 * 110);
    }

    #[test]
    fn the_first_failure_for_long_is_made_good_at_once() {
        let at = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut liveness = Liveness::new();

        for seconds in [1, 20, 40] {
            liveness.fail(at(seconds));
            assert!(!liveness.is_live());
            assert_eq!(liveness.recover(at(seconds)), Recovered::AtOnce);
        }
        liveness.fail(at(41));
        assert_eq!(liveness.recover(at(41)), Recovered::Later);
        assert_eq!(liveness.due(), Some(at(41) + HOLD_MIN));
    }
}
