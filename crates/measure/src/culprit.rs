//! Who broke the promise?
//!
//! A world that sees every hop (`sim`) takes down where somebody was not what the network
//! file says ([`Deviation`]): a switch that was done with a frame later than its profile
//! has it with the frames that came, a link that took bits more slowly than its rate, a
//! source that sent more than its contract, a host that sent frames of no admitted flow.
//! Each frame carries the worst that was done to it by itself ([`Excess`]). Afterwards
//! each promised frame that was late or lost is given one cause, the first of these that
//! is true:
//!
//! 1. a switch or a link held this frame for longer than it should have, by as much as the
//!    frame was late, or lost it while it was behind;
//! 2. its own source was beyond its contract;
//! 3. a failure or a change of mode concerned its flow then;
//! 4. somebody else deviated: a host with foreign frames, another source, a switch, a link;
//!    so a hop that is late only because of what came to it blames whoever sent that;
//! 5. a switch or a link held it for longer than it should have, though not by as much;
//! 6. nobody: then the calculation is wrong.
//!
//! # Left out
//!
//! Which way a deviation had to the frame: with several at the same time the fourth case
//! takes the one that began first, of the most likely kind.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use units::{Duration, Instant};

use crate::FlowIndex;

/// How long after its end a deviation may still be felt: what the largest queue of a link
/// of 100 Mbit/s holds takes some 120 ms.
const AFTERMATH: Duration = Duration::from_ms(200);

/// Who may be to blame; the places are those of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suspect {
    /// It sent frames of no admitted flow.
    Host(usize),
    /// It sent more than its contract.
    Source(FlowIndex),
    /// It took longer than its profile says.
    Switch(usize),
    /// It took bits more slowly than it says.
    Link(usize),
    /// Something broke: an event, by its place.
    Failure(usize),
    /// The level of criticality changed.
    Mode,
    /// All did what was counted with: the calculation is wrong.
    Nobody,
}

/// Somebody who was not what the network file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    pub who: Suspect,
    pub since: Instant,
    /// When it was seen last.
    pub last: Instant,
    /// By how much at most; zero where there is no such length.
    pub by: Duration,
    /// How many frames show it.
    pub frames: u64,
}

impl Deviation {
    /// Returns one that is seen for the first time.
    #[must_use]
    pub fn first(who: Suspect, at: Instant, by: Duration) -> Self {
        Self {
            who,
            since: at,
            last: at,
            by,
            frames: 1,
        }
    }

    /// Takes down that it is seen again.
    pub fn again(&mut self, at: Instant, by: Duration) {
        self.last = at;
        self.by = self.by.max(by);
        self.frames += 1;
    }

    fn is_felt(&self, frame: &Harmed) -> bool {
        self.since <= frame.until && frame.from <= self.last + AFTERMATH
    }
}

/// How much longer a switch or a link held a frame than it should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    pub who: Suspect,
    pub by: Duration,
}

/// Promised frames that were late or lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Harmed {
    pub flow: FlowIndex,
    /// When the first of them left its source.
    pub from: Instant,
    /// When the last of them arrived, or should have.
    pub until: Instant,
    pub frames: u64,
    /// By how much they were later than promised; zero if lost.
    pub late_by: Duration,
    /// The worst that a switch or a link did to it by itself.
    pub excess: Option<Excess>,
}

/// What excuses a network: a failure or a change of mode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excuse {
    pub who: Suspect,
    pub from: Instant,
    pub until: Instant,
    /// Whom it concerns.
    pub flow: FlowIndex,
}

/// Somebody who was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Culprit {
    pub who: Suspect,
    pub since: Instant,
    /// By how much at most; zero where there is no such length.
    pub by: Duration,
    /// How many frames show what it did.
    pub seen: u64,
    /// How many promised frames were late or lost by it.
    pub frames: u64,
    /// Whose frames these are.
    pub flows: BTreeSet<FlowIndex>,
}

/// Returns who broke promises, the one who broke most first, and then who deviated
/// without breaking any. A mistake of the calculation comes before all of them.
#[must_use]
pub fn culprits(deviations: &[Deviation], excuses: &[Excuse], harmed: &[Harmed]) -> Vec<Culprit> {
    let seen = deviations.iter().map(|deviation| {
        let culprit = Culprit {
            who: deviation.who,
            since: deviation.since,
            by: deviation.by,
            seen: deviation.frames,
            frames: 0,
            flows: BTreeSet::new(),
        };
        (deviation.who, culprit)
    });
    let mut named: BTreeMap<Suspect, Culprit> = seen.collect();
    for frame in harmed {
        let (who, since) = cause(frame, deviations, excuses);
        let culprit = named.entry(who).or_insert_with(|| Culprit {
            who,
            since,
            by: Duration::ZERO,
            seen: 0,
            frames: 0,
            flows: BTreeSet::new(),
        });
        culprit.frames += frame.frames;
        culprit.flows.insert(frame.flow);
        culprit.since = culprit.since.min(since);
    }
    let mut named: Vec<_> = named.into_values().collect();
    named.sort_by_key(|one| (one.who != Suspect::Nobody, Reverse(one.frames)));
    named
}

/// Returns who is to blame for frames, and since when.
fn cause(frame: &Harmed, deviations: &[Deviation], excuses: &[Excuse]) -> (Suspect, Instant) {
    let known = |who: Suspect| {
        let known = deviations.iter().find(|deviation| deviation.who == who);
        (who, known.map_or(frame.from, |deviation| deviation.since))
    };
    let felt = |deviation: &&Deviation| deviation.is_felt(frame);
    let own = Suspect::Source(frame.flow);
    let excuse = || {
        let concerns = |excuse: &&Excuse| {
            excuse.flow == frame.flow && excuse.from <= frame.until && frame.from <= excuse.until
        };
        excuses.iter().find(concerns)
    };
    if let Some(excess) = frame.excess.filter(|excess| excess.by >= frame.late_by) {
        known(excess.who)
    } else if deviations.iter().filter(felt).any(|it| it.who == own) {
        known(own)
    } else if let Some(excuse) = excuse() {
        (excuse.who, excuse.from)
    } else if let Some(other) = deviations.iter().filter(felt).min_by_key(|it| rank(it)) {
        (other.who, other.since)
    } else if let Some(excess) = frame.excess {
        known(excess.who)
    } else {
        (Suspect::Nobody, frame.from)
    }
}

/// Orders those who may have caused what they did not do themselves: the likeliest kind
/// first, and then the first.
fn rank(deviation: &Deviation) -> (u8, Instant) {
    let kind = match deviation.who {
        Suspect::Host(_) => 0,
        Suspect::Source(_) => 1,
        Suspect::Switch(_) => 2,
        Suspect::Link(_) => 3,
        Suspect::Failure(_) | Suspect::Mode | Suspect::Nobody => 4,
    };
    (kind, deviation.since)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VICTIM: FlowIndex = FlowIndex(0);
    const OTHER: FlowIndex = FlowIndex(1);

    #[test]
    fn a_switch_that_held_a_frame_for_as_long_as_it_was_late_is_to_blame() {
        let slow = seen(Suspect::Switch(2), 10, 100);
        let beyond = seen(Suspect::Source(OTHER), 5, 100);
        let frame = late(50, Some((Suspect::Switch(2), 80)));

        assert_eq!(blamed(&[beyond, slow], &[], frame), Suspect::Switch(2));
    }

    #[test]
    fn a_hop_that_is_late_by_what_came_to_it_blames_who_sent_that() {
        let beyond = seen(Suspect::Source(OTHER), 5, 100);
        let foreign = seen(Suspect::Host(3), 5, 100);

        assert_eq!(
            blamed(&[beyond], &[], late(50, None)),
            Suspect::Source(OTHER)
        );
        assert_eq!(
            blamed(&[beyond, foreign], &[], late(50, None)),
            Suspect::Host(3)
        );
    }

    #[test]
    fn a_flow_beyond_its_contract_has_itself_to_blame_before_others() {
        let others = [Suspect::Host(3), Suspect::Source(OTHER), Suspect::Link(1)];
        let mut deviations: Vec<_> = others.iter().map(|who| seen(*who, 5, 100)).collect();
        deviations.push(seen(Suspect::Source(VICTIM), 6, 100));

        assert_eq!(
            blamed(&deviations, &[], late(50, Some((Suspect::Link(1), 1)))),
            Suspect::Source(VICTIM)
        );
    }

    #[test]
    fn what_ended_long_before_or_began_afterwards_is_no_cause() {
        let before = seen(Suspect::Switch(1), 0, 10);
        let after = seen(Suspect::Switch(2), 900_000, 1_000_000);
        let frame = Harmed {
            from: at(500_000),
            until: at(500_050),
            ..late(50, None)
        };

        assert_eq!(blamed(&[before, after], &[], frame), Suspect::Nobody);
    }

    #[test]
    fn a_failure_excuses_the_flow_that_it_concerns_alone() {
        let excuse = |flow| Excuse {
            who: Suspect::Failure(0),
            from: at(40),
            until: at(90),
            flow,
        };

        assert_eq!(
            blamed(&[], &[excuse(VICTIM)], late(50, None)),
            Suspect::Failure(0)
        );
        assert_eq!(
            blamed(&[], &[excuse(OTHER)], late(50, None)),
            Suspect::Nobody
        );
    }

    #[test]
    fn causes_are_summed_up_and_who_harms_nobody_comes_last() {
        let slow = seen(Suspect::Switch(2), 10, 100);
        let harmless = seen(Suspect::Link(0), 1, 100);
        let frame = late(50, Some((Suspect::Switch(2), 80)));

        let named = culprits(&[harmless, slow], &[], &[frame, frame]);

        let frames: Vec<_> = named.iter().map(|one| (one.who, one.frames)).collect();
        assert_eq!(frames, [(Suspect::Switch(2), 2), (Suspect::Link(0), 0)]);
        assert_eq!(named[0].since, at(10));
    }

    fn blamed(deviations: &[Deviation], excuses: &[Excuse], frame: Harmed) -> Suspect {
        culprits(deviations, excuses, &[frame])[0].who
    }

    fn seen(who: Suspect, since_us: u64, last_us: u64) -> Deviation {
        Deviation {
            last: at(last_us),
            ..Deviation::first(who, at(since_us), Duration::from_us(1))
        }
    }

    fn late(by_us: u64, excess_us: Option<(Suspect, u64)>) -> Harmed {
        Harmed {
            flow: VICTIM,
            from: at(20),
            until: at(80),
            frames: 1,
            late_by: Duration::from_us(by_us),
            excess: excess_us.map(|(who, by)| Excess {
                who,
                by: Duration::from_us(by),
            }),
        }
    }

    fn at(us: u64) -> Instant {
        Instant::from_ns(us * 1_000)
    }
}
