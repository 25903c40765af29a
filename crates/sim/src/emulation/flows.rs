//! Which flows a device knows: the first frame of a new one waits until it is set up
//! (S3-4).
//!
//! A device that asks its controller about each new pair of stations holds the first
//! frame until it has an entry. What the question, the answer and the entry take together
//! is in the profile; where there is neither a table nor a controller, as at a relay, that
//! is all there is of them.
//!
//! A frame that comes while its flow is set up waits for it. When the table is full it is
//! emptied: every flow is new again.

use std::collections::BTreeMap;

use scenario::Quantiles;
use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use super::{Behaviour, Dice};

/// What a device tells flows apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EmulatedFlow {
    /// Where its frames come in.
    pub port: PortNumber,
    pub source: MacAddress,
    pub destination: MacAddress,
}

/// The flows of a device.
#[derive(Clone, Debug)]
pub struct Flows {
    takes: Quantiles,
    dice: Dice,
    capacity: usize,
    /// When each is set up, or was.
    ready: BTreeMap<EmulatedFlow, Instant>,
}

impl Flows {
    /// Returns the flows of a device that begins: none. If it sets flows up at all by its
    /// profile, and has room for `capacity` of them.
    #[must_use]
    pub fn of(behaviour: &Behaviour, capacity: usize, dice: Dice) -> Option<Self> {
        Some(Self {
            takes: behaviour.flow_setup.clone()?,
            dice,
            capacity: capacity.max(1),
            ready: BTreeMap::new(),
        })
    }

    /// Returns when a frame of a flow is done with that would be at `done` if its flow were
    /// known.
    pub fn pass(&mut self, flow: EmulatedFlow, done: Instant) -> Instant {
        if let Some(ready) = self.ready.get(&flow) {
            return done.max(*ready);
        }
        if self.ready.len() >= self.capacity {
            self.ready.clear();
        }
        let ready = done + self.dice.draw(&self.takes).round_up();
        self.ready.insert(flow, ready);
        ready
    }
}

#[cfg(test)]
mod tests {
    use scenario::Profile;
    use units::Duration;

    use super::*;

    const SET_UP: Duration = Duration::from_ms(7);

    #[test]
    fn the_first_frame_of_a_flow_waits_and_so_does_what_comes_meanwhile() {
        let mut flows = flows(2);
        let at = |ms| Instant::ZERO + Duration::from_ms(ms);

        assert_eq!(flows.pass(flow(1), at(100)), at(100) + SET_UP);
        assert_eq!(flows.pass(flow(1), at(103)), at(100) + SET_UP);
        assert_eq!(flows.pass(flow(1), at(200)), at(200));
        assert_eq!(flows.pass(flow(2), at(200)), at(200) + SET_UP);
        assert_eq!(flows.pass(flow(1), at(210)), at(210));
    }

    #[test]
    fn a_full_table_is_emptied() {
        let mut flows = flows(2);
        let late = Instant::ZERO + Duration::from_secs(1);
        flows.pass(flow(1), Instant::ZERO);
        flows.pass(flow(2), Instant::ZERO);

        assert_eq!(flows.pass(flow(3), late), late + SET_UP);
        assert_eq!(flows.pass(flow(1), late), late + SET_UP);
    }

    #[test]
    fn a_profile_without_a_set_up_has_none() {
        let profile = Profile::built_in("pica8-p3297").unwrap();
        let mut behaviour = Behaviour::of(&profile).unwrap();
        behaviour.flow_setup = None;

        assert!(Flows::of(&behaviour, 1, Dice::new(1, 0)).is_none());
    }

    fn flows(capacity: usize) -> Flows {
        let profile = Profile::built_in("pica8-p3297").unwrap();
        let mut behaviour = Behaviour::of(&profile).unwrap();
        behaviour.flow_setup = Some(Quantiles::always(SET_UP.into()));
        Flows::of(&behaviour, capacity, Dice::new(1, 0)).unwrap()
    }

    fn flow(last: u8) -> EmulatedFlow {
        EmulatedFlow {
            port: PortNumber(1),
            source: MacAddress([2, 0, 0, 0, 0, last]),
            destination: MacAddress([2, 0, 0, 0, 0, 9]),
        }
    }
}
