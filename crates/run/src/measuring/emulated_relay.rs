//! A device of a profile between namespaces: a relay whose keeper is the emulation that
//! virtual time has, fed with the stamps of real frames (S3-6).
//!
//! Latency, order, losses, what a frame occupies the shared stage and how many wait for
//! it are drawn by [`sim::emulation::ProcessingQueue`]; what the first frame of a flow waits longer,
//! by [`sim::emulation::Flows`]. The relay hands each frame on when they say. By how much
//! it is off, `taktos measure latency` and `flow-setup` tell of each setting of the profile.
//!
//! The tester's own stations are known beforehand, as to a device that was told where they
//! are: what goes between them, or from them to a group, is no new flow.
//!
//! # Left out
//!
//! What only a switch has: flow tables, times of messages, lost carriers. The rate of the device's links: cables between namespaces have none, so the
//! latency is held whole.

use std::sync::Arc;

use lab::delay_line::Keeper;
use lab::device_under_test::Keeping;
use measure::trial::{MOST_PORTS, PlayedStation, PortIndex};
use scenario::Profile;
use sim::emulation::{Behaviour, Dice, EmulatedFlow, Fate, Flows, ProcessingQueue};
use units::Instant;
use wire::ethernet::{Header, MacAddress};
use wire::openflow::PortNumber;

/// The only device of the relay, and the controller that it would ask.
const DEVICE: u64 = 1;
const CONTROLLER: u64 = 2;
/// The most flows that it remembers, unless its profile has fewer entries.
const MOST_FLOWS: usize = 1 << 16;

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
            let behaviour = Behaviour::of(&profile);
            let dice = Dice::new(seed, CONTROLLER);
            Box::new(Emulation {
                flows: behaviour
                    .as_ref()
                    .and_then(|it| Flows::of(it, entries(&profile), dice)),
                stage: behaviour.map(|it| ProcessingQueue::new(it, Dice::new(seed, DEVICE))),
                latest: Instant::ZERO,
            })
        }),
    }
}

/// Returns how many flows a device has entries for.
fn entries(profile: &Profile) -> usize {
    let emulation = profile.emulation.as_ref();
    let stated = emulation.and_then(|it| it.table_entries.as_ref());
    let stated = stated.and_then(|it| usize::try_from(it.value).ok());
    stated.unwrap_or(MOST_FLOWS).min(MOST_FLOWS)
}

struct Emulation {
    stage: Option<ProcessingQueue>,
    flows: Option<Flows>,
    /// Stamps of two ports are read in turns, so that one may be older than the last.
    latest: Instant,
}

impl Keeper for Emulation {
    fn keep(&mut self, arrived: Instant, way: usize, frame: &[u8]) -> Option<Instant> {
        let Some(stage) = &mut self.stage else {
            return Some(arrived);
        };
        self.latest = self.latest.max(arrived);
        let port = PortNumber(u32::try_from(way + 1).expect("a relay has two ports"));
        let done = match stage.arrive(self.latest, port, frame.len()) {
            Fate::Ready(at) => at,
            Fate::NoRoom | Fate::Lost => return None,
        };
        match (&mut self.flows, new_to_it(port, frame)) {
            (Some(flows), Some(flow)) => Some(flows.pass(flow, done)),
            (Some(_) | None, _) => Some(done),
        }
    }
}

/// Returns the flow of a frame, unless it is between the tester's own stations or from
/// one of them to a group.
fn new_to_it(port: PortNumber, frame: &[u8]) -> Option<EmulatedFlow> {
    let (header, _) = Header::parse(frame).ok()?;
    let (source, destination) = (header.source, header.destination);
    let is_known = is_station(source) && (is_station(destination) || destination.is_multicast());
    (!is_known).then_some(EmulatedFlow {
        port,
        source,
        destination,
    })
}

fn is_station(mac: MacAddress) -> bool {
    (0..MOST_PORTS).any(|port| PlayedStation::at(PortIndex(port)).mac == mac)
}

#[cfg(test)]
mod tests {
    use scenario::Quantiles;
    use units::Duration;

    use super::*;

    /// From the first station to the second.
    const FRAME: [u8; 64] = {
        let mut frame = [0; 64];
        let [from, to] = [0x01, 0x02];
        (frame[0], frame[3], frame[4], frame[5]) = (0x02, 0x25, 0x44, to);
        (frame[6], frame[9], frame[10], frame[11]) = (0x02, 0x25, 0x44, from);
        frame
    };

    #[test]
    fn frames_are_held_as_the_profile_says_and_keep_their_order() {
        let profile = Profile::built_in("open-vswitch").unwrap();
        let mut keeper = (of_profile(&profile, 1).keeper)();
        let (mut held, mut before) = (Vec::new(), Instant::ZERO);

        for number in 0..4_000_u64 {
            let arrived = Instant::ZERO + Duration::from_ms(1) * number;
            let leaves = keeper.keep(arrived, 0, &FRAME).unwrap();
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

        let first = keeper.keep(Instant::from_ns(10_000), 0, &FRAME).unwrap();
        let second = keeper.keep(Instant::from_ns(9_000), 1, &FRAME).unwrap();

        assert!(first >= Instant::from_ns(10_000));
        assert!(second >= Instant::from_ns(10_000));
    }

    #[test]
    fn the_first_frame_of_a_strangers_flow_waits_for_its_set_up_and_no_other() {
        let mut profile = Profile::built_in("open-vswitch-mininet").unwrap();
        let emulation = profile.emulation.as_mut().unwrap();
        let set_up = Duration::from_ms(50);
        let stated = emulation.flow_setup.as_mut().unwrap();
        stated.value = Quantiles::always(set_up.into());
        let mut keeper = (of_profile(&profile, 1).keeper)();
        let stranger = |last: u8| {
            let mut frame = FRAME;
            (frame[9], frame[11]) = (0x26, last);
            frame
        };
        let mut held = |second: u64, frame: &[u8]| {
            let arrived = Instant::ZERO + Duration::from_secs(1) * second;
            keeper.keep(arrived, 0, frame).unwrap() - arrived
        };

        let known = held(1, &FRAME);
        let [first, later] = [2, 3].map(|second| held(second, &stranger(1)));
        let other = held(4, &stranger(2));

        assert!(first >= set_up && other >= set_up, "{first}, {other}");
        assert!(known < set_up && later < set_up, "{known}, {later}");
    }
}
