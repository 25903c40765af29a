//! A device of a profile between namespaces: a relay whose keeper is the emulation that
//! virtual time has, fed with the stamps of real frames (S3-6).
//!
//! Latency, order, losses, what a frame occupies the shared stage and how many wait for
//! it are drawn by [`sim::emulation::Stage`]; the relay hands each frame on when that
//! says. By how much it is off, `taktos measure latency` tells of each setting of the
//! profile.
//!
//! # Left out
//!
//! What only a switch has: flow tables, the set-up of flows, times of messages, lost
//! carriers. The rate of the device's links: cables between namespaces have none, so the
//! latency is held whole.

use std::sync::Arc;

use lab::delay_line::Keeper;
use lab::subject::Keeping;
use scenario::Profile;
use sim::emulation::{Behaviour, Dice, Fate, Stage};
use units::Instant;
use wire::openflow::PortNumber;

/// The only device of the relay.
const DEVICE: u64 = 1;

/// Returns a relay that behaves as a profile with `[emulation]` says; without, it holds
/// nothing.
#[must_use]
pub fn of_profile(profile: &Profile, seed: u64) -> Keeping {
    let mut profile = profile.clone();
    if let Some(emulation) = &mut profile.emulation {
        emulation.link_rate = None;
    }
    Keeping {
        name: format!("relay that emulates {}", profile.name),
        keeper: Arc::new(move || -> Box<dyn Keeper> {
            let stage = Behaviour::of(&profile).map(|it| Stage::new(it, Dice::new(seed, DEVICE)));
            Box::new(Emulation {
                stage,
                latest: Instant::ZERO,
            })
        }),
    }
}

struct Emulation {
    stage: Option<Stage>,
    /// Stamps of two ports are read in turns, so that one may be older than the last.
    latest: Instant,
}

impl Keeper for Emulation {
    fn keep(&mut self, arrived: Instant, way: usize, bytes: usize) -> Option<Instant> {
        let Some(stage) = &mut self.stage else {
            return Some(arrived);
        };
        self.latest = self.latest.max(arrived);
        let port = PortNumber(u32::try_from(way + 1).expect("a relay has two ports"));
        match stage.arrive(self.latest, port, bytes) {
            Fate::Ready(at) => Some(at),
            Fate::NoRoom | Fate::Lost => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use units::Duration;

    use super::*;

    #[test]
    fn frames_are_held_as_the_profile_says_and_keep_their_order() {
        let profile = Profile::built_in("open-vswitch").unwrap();
        let mut keeper = (of_profile(&profile, 1).keeper)();
        let (mut held, mut before) = (Vec::new(), Instant::ZERO);

        for number in 0..4_000_u64 {
            let arrived = Instant::ZERO + Duration::from_ms(1) * number;
            let leaves = keeper.keep(arrived, 0, 64).unwrap();
            assert!(leaves >= before, "frame {number} overtakes");
            before = leaves;
            held.push(leaves - arrived);
        }

        held.sort_unstable();
        let stated = &profile.emulation.as_ref().unwrap().latency[1];
        let median = stated.spread.value.at(500_000).round_up();
        let ours = held[held.len() / 2];
        let gap = ours.as_ns().abs_diff(median.as_ns());
        assert!(gap * 20 <= median.as_ns(), "{ours} and {median}");
    }

    #[test]
    fn a_stamp_older_than_the_last_is_no_surprise() {
        let profile = Profile::built_in("pica8-p3297").unwrap();
        let mut keeper = (of_profile(&profile, 1).keeper)();

        let first = keeper.keep(Instant::from_ns(10_000), 0, 64).unwrap();
        let second = keeper.keep(Instant::from_ns(9_000), 1, 64).unwrap();

        assert!(first >= Instant::from_ns(10_000));
        assert!(second >= Instant::from_ns(10_000));
    }
}
