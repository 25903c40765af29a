//! Sees every hop, and takes down where somebody is not what the network file says.
//!
//! Beside each switch runs a clock of what its profile says: a stage that takes the frames
//! which came, when they came, and is done with each after `per_frame` for those before it
//! and `latency`. A switch that is done later is behind by the difference, whatever came
//! to it. A link whose port takes longer for a frame than its rate allows is behind by
//! that, added up for as long as the port does not pause. Each promised frame carries the
//! worst of these on its way ([`Trail`]).

use std::collections::{BTreeMap, BTreeSet};

use measure::culprit::{Deviation, Excess, Harmed, Suspect};
use measure::load::{Headers, is_foreign};
use measure::{FlowIndex, Promise};
use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;

use crate::network::PortBinding;

/// How many late frames, and how many drops, are kept one by one.
const MOST_KEPT: usize = 1 << 17;
/// For how long a frame is followed in a switch: longer than the largest queue of a link of
/// 100 Mbit/s lasts.
const LONGEST_IN_HAND: Duration = Duration::from_ms(200);
/// How many promised frames of one switch are followed at once.
const MOST_IN_HAND: usize = 1 << 14;
/// What may be lost by rounding a time up twice.
const ROUNDING: Duration = Duration::from_ns(2);

/// What a promised frame carries with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trail {
    flow: FlowIndex,
    sent_at: Instant,
    /// The worst that a switch or a link has done to it.
    worst: Option<Excess>,
}

/// What was seen of all hops.
#[derive(Clone, Debug, Default)]
pub struct SeenHops {
    pub deviations: Vec<Deviation>,
    /// Frames that were later than promised.
    pub late: Vec<Harmed>,
    /// Frames that were lost at switches which were behind.
    pub dropped: Vec<Harmed>,
}

#[derive(Debug)]
pub(crate) struct HopWatch {
    switches: Vec<WatchedStage>,
    /// By cable and sending end.
    lines: Vec<[WatchedLine; 2]>,
    /// By host.
    headers: Vec<Option<BTreeSet<Headers>>>,
    deviations: BTreeMap<Suspect, Deviation>,
    seen: SeenHops,
}

/// The processing stage of a switch as its profile has it.
#[derive(Debug)]
pub(crate) struct WatchedStage {
    pub per_frame: Duration,
    pub latency: Duration,
    busy_until: Instant,
    /// The frames that it handed to its core, by when they had arrived.
    in_hand: BTreeMap<Instant, Trail>,
}

/// One direction of a link as its rate has it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchedLine {
    rate: Option<BitRate>,
    free_at: Instant,
    behind: Duration,
}

impl Trail {
    /// Returns the trail of a frame that leaves its source now.
    pub(crate) fn new(flow: FlowIndex, sent_at: Instant) -> Self {
        Self {
            flow,
            sent_at,
            worst: None,
        }
    }

    pub(crate) fn flow(&self) -> FlowIndex {
        self.flow
    }

    fn add(&mut self, who: Suspect, by: Duration) {
        let is_worse = self.worst.is_none_or(|worst| by > worst.by);
        if by > Duration::ZERO && is_worse {
            self.worst = Some(Excess { who, by });
        }
    }

    fn harmed(&self, until: Instant, late_by: Duration) -> Harmed {
        Harmed {
            flow: self.flow,
            from: self.sent_at,
            until,
            frames: 1,
            late_by,
            excess: self.worst,
        }
    }
}

impl WatchedStage {
    pub(crate) fn new(per_frame: Duration, latency: Duration) -> Self {
        Self {
            per_frame,
            latency,
            busy_until: Instant::ZERO,
            in_hand: BTreeMap::new(),
        }
    }
}

impl WatchedLine {
    pub(crate) fn new(rate: Option<BitRate>) -> Self {
        Self {
            rate,
            free_at: Instant::ZERO,
            behind: Duration::ZERO,
        }
    }
}

impl HopWatch {
    pub(crate) fn new(switches: Vec<WatchedStage>, lines: Vec<[WatchedLine; 2]>) -> Self {
        Self {
            switches,
            lines,
            headers: Vec::new(),
            deviations: BTreeMap::new(),
            seen: SeenHops::default(),
        }
    }

    /// Takes what headers the frames of each host may have.
    pub(crate) fn expect(&mut self, headers: Vec<Option<BTreeSet<Headers>>>) {
        self.headers = headers;
    }

    /// Takes down that a frame came to a switch, which is done with it at `ready`.
    pub(crate) fn came(
        &mut self,
        now: Instant,
        switch: usize,
        ready: Instant,
        trail: Option<&mut Trail>,
    ) {
        let stage = &mut self.switches[switch];
        stage.busy_until = stage.busy_until.max(now) + stage.per_frame;
        let by = ready.saturating_since(stage.busy_until + stage.latency);
        if by > Duration::ZERO {
            self.note(Suspect::Switch(switch), now, by);
        }
        if let Some(trail) = trail {
            trail.add(Suspect::Switch(switch), by);
        }
    }

    /// Takes down that a switch had no room for a frame, whose processor has work until
    /// `busy_until`.
    pub(crate) fn had_no_room(
        &mut self,
        now: Instant,
        switch: usize,
        busy_until: Instant,
        trail: Trail,
    ) {
        let by = busy_until.saturating_since(self.switches[switch].busy_until.max(now));
        if by > Duration::ZERO && self.seen.dropped.len() < MOST_KEPT {
            let who = Suspect::Switch(switch);
            let mut lost = trail.harmed(now, Duration::ZERO);
            lost.excess = Some(Excess { who, by });
            self.seen.dropped.push(lost);
        }
    }

    /// Takes down that the processor of a switch is done with a promised frame that had
    /// arrived at this time.
    pub(crate) fn processed(&mut self, arrived: Instant, switch: usize, trail: Trail) {
        let in_hand = &mut self.switches[switch].in_hand;
        let is_old = |at: &Instant| arrived.saturating_since(*at) > LONGEST_IN_HAND;
        let oldest = in_hand.first_key_value().map(|(at, _)| *at);
        if in_hand.len() == MOST_IN_HAND || oldest.as_ref().is_some_and(is_old) {
            in_hand.pop_first();
        }
        in_hand.insert(arrived, trail);
    }

    /// Takes down that a frame of so many bytes begins to leave a port now. Returns its
    /// trail, if a promised one had arrived at this time.
    pub(crate) fn leaves_switch(
        &mut self,
        (now, departs): (Instant, Instant),
        (switch, binding): (usize, PortBinding),
        bytes: usize,
        arrived: Instant,
    ) -> Option<Trail> {
        let behind = self.leaves(now, departs, binding, bytes);
        let mut trail = *self.switches[switch].in_hand.get(&arrived)?;
        trail.add(Suspect::Link(binding.cable as usize), behind);
        Some(trail)
    }

    /// Takes down that a frame begins to leave a host now, and adds to its trail.
    pub(crate) fn leaves_host(
        &mut self,
        (now, departs): (Instant, Instant),
        (host, binding): (usize, PortBinding),
        frame: &[u8],
        trail: Option<&mut Trail>,
    ) {
        let behind = self.leaves(now, departs, binding, frame.len());
        if let Some(trail) = trail {
            trail.add(Suspect::Link(binding.cable as usize), behind);
        } else if is_foreign(self.headers.get(host).and_then(Option::as_ref), frame) {
            self.note(Suspect::Host(host), now, Duration::ZERO);
        }
    }

    /// Takes down that a frame reached a receiver of its flow.
    pub(crate) fn reached(&mut self, now: Instant, trail: &Trail, promise: Promise) {
        let latency = now.saturating_since(trail.sent_at);
        let late_by = latency.saturating_sub(promise.guarantee);
        if late_by > Duration::ZERO && self.seen.late.len() < MOST_KEPT {
            self.seen.late.push(trail.harmed(now, late_by));
        }
    }

    /// Takes down that a switch begins anew.
    pub(crate) fn restarted(&mut self, now: Instant, switch: usize) {
        self.switches[switch].busy_until = now;
        self.switches[switch].in_hand.clear();
    }

    pub(crate) fn finish(self) -> SeenHops {
        SeenHops {
            deviations: self.deviations.into_values().collect(),
            ..self.seen
        }
    }

    /// Returns for how long the port has been slower than its link since it last paused.
    fn leaves(
        &mut self,
        now: Instant,
        departs: Instant,
        binding: PortBinding,
        bytes: usize,
    ) -> Duration {
        let line = &mut self.lines[binding.cable as usize][usize::from(binding.end)];
        let Some(rate) = line.rate else {
            return Duration::ZERO;
        };
        if now > line.free_at {
            line.behind = Duration::ZERO;
        }
        line.free_at = departs;
        let allowed = rate.time_to_send(wire_size(bytes)).round_up() + ROUNDING;
        let by = departs.saturating_since(now).saturating_sub(allowed);
        line.behind += by;
        let behind = line.behind;
        if by > Duration::ZERO {
            self.note(Suspect::Link(binding.cable as usize), now, by);
        }
        behind
    }

    fn note(&mut self, who: Suspect, at: Instant, by: Duration) {
        self.deviations
            .entry(who)
            .and_modify(|known| known.again(at, by))
            .or_insert_with(|| Deviation::first(who, at, by));
    }
}

#[cfg(test)]
mod tests {
    use wire::ethernet::{EtherType, Header};

    use super::*;

    const LATENCY: Duration = Duration::from_us(10);
    const PER_FRAME: Duration = Duration::from_us(2);
    const WIRE: PortBinding = PortBinding { cable: 0, end: 0 };
    const FLOW: FlowIndex = FlowIndex(0);

    #[test]
    fn a_switch_that_is_late_because_much_came_is_as_its_profile_says() {
        let mut watch = watch();
        for frame in 1..=1_000 {
            watch.came(at(0), 0, at(2 * frame + 10), None);
        }

        assert_eq!(watch.finish().deviations, []);
    }

    #[test]
    fn a_switch_that_takes_longer_is_behind_by_the_difference_and_its_frame_says_so() {
        let mut watch = watch();
        let mut trail = Trail::new(FLOW, at(0));

        watch.came(at(5), 0, at(5 + 2 + 10 + 7), Some(&mut trail));
        watch.reached(at(60), &trail, promise(50));

        let seen = watch.finish();
        let slow = Deviation::first(Suspect::Switch(0), at(5), Duration::from_us(7));
        assert_eq!(seen.deviations, [slow]);
        let late = seen.late[0];
        assert_eq!(late.late_by, Duration::from_us(10));
        assert_eq!(
            late.excess.map(|it| (it.who, it.by)),
            Some((Suspect::Switch(0), slow.by))
        );
    }

    #[test]
    fn a_link_falls_behind_until_its_port_pauses() {
        let mut watch = watch();
        let mut worst = |from, to| {
            let mut trail = Trail::new(FLOW, at(from));
            watch.leaves_host((at(from), at(to)), (0, WIRE), &[0; 101], Some(&mut trail));
            trail.worst.map(|worst| worst.by.as_ns() / 1_000)
        };

        // 125 bytes take 10 us at 100 Mbit/s.
        assert_eq!(worst(0, 10), None);
        assert_eq!(worst(10, 25), Some(4));
        assert_eq!(worst(25, 40), Some(9));
        assert_eq!(worst(50, 60), None);
    }

    #[test]
    fn a_frame_with_headers_of_none_of_the_flows_of_its_host_is_foreign() {
        let mut watch = watch();
        let header = Header {
            destination: wire::ethernet::MacAddress::BROADCAST,
            source: wire::ethernet::MacAddress([2, 0, 0, 0, 0, 1]),
            vlan: None,
            ether_type: EtherType::GOOSE,
        };
        let known = (header.destination, header.ether_type, None);
        let mut frame = Vec::new();
        header.emit(&mut frame);

        watch.expect(vec![
            Some(BTreeSet::from([known])),
            Some(BTreeSet::new()),
            None,
        ]);
        for host in 0..3 {
            watch.leaves_host((at(0), at(0)), (host, WIRE), &frame, None);
        }

        let seen = watch.finish().deviations;
        assert_eq!(
            seen,
            [Deviation::first(Suspect::Host(1), at(0), Duration::ZERO)]
        );
    }

    fn watch() -> HopWatch {
        let line = WatchedLine::new(Some(BitRate::from_mbps(100)));
        HopWatch::new(vec![WatchedStage::new(PER_FRAME, LATENCY)], vec![[line; 2]])
    }

    fn promise(guarantee_us: u64) -> Promise {
        let guarantee = Duration::from_us(guarantee_us);
        Promise {
            guarantee,
            deadline: guarantee,
            interruption: None,
        }
    }

    fn at(us: u64) -> Instant {
        Instant::from_ns(us * 1_000)
    }
}
