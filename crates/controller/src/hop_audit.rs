//! What a switch says of how long frames stayed, and what of it can be.
//!
//! A switch counts for each flow and port the frames and keeps their longest stay. Between
//! two of its answers no number falls, no more frames pass than a link carries, and none
//! takes no time. What says otherwise is noted and not believed; after it the counters are
//! taken as a new beginning, so a switch that begins anew takes back nothing that was seen
//! before.

use std::collections::BTreeMap;

use units::{DataSize, Duration, Instant};
use wire::openflow::PortNumber;

use crate::northbound::{DoubtCount, FlowId, HopCount, HopDoubt};

/// The smallest frame as it occupies the wire: 64 bytes, preamble, delimiter and gap.
pub const SMALLEST_ON_WIRE: DataSize = DataSize::from_bytes(84);
/// No frame stays for longer: what says so is not believed.
pub const LONGEST_BELIEVED: Duration = Duration::from_secs(60);
/// By how much an answer may be older than the time at which it came.
const ANSWER_LATENESS: Duration = Duration::from_secs(1);

/// What switches say of a flow's frames that left by a port.
pub type Records = BTreeMap<(FlowId, PortNumber), HopCount>;

/// A longest stay that has risen since the last answer, or that of a flow most of whose frames
/// stayed too long since then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RisenStay {
    pub flow: FlowId,
    pub port: PortNumber,
    pub longest: Duration,
    /// Whether it has risen.
    pub is_longer: bool,
    /// How many frames passed since the last answer, and how many of them stayed for longer
    /// than the budget.
    pub frames: u64,
    pub above: u64,
}

/// No machine that is any use holds frames up for longer at a time.
const LONGEST_HELD_UP: Duration = Duration::from_ms(250);
/// So few frames show nothing of all.
const FRAMES_ENOUGH: u64 = 32;

impl RisenStay {
    /// Tells whether most frames stayed too long: no machine holds so many up by accident.
    pub const fn is_usual(&self) -> bool {
        self.frames >= FRAMES_ENOUGH && self.above > self.frames / 2
    }
}

/// What one switch has said.
#[derive(Clone, Debug, Default)]
pub struct HopAudit {
    /// The last answer of this connection, with when it came.
    last: Option<(Instant, Records)>,
    doubts: BTreeMap<HopDoubt, u64>,
    /// How many frames were seen that are believed.
    frames: u64,
    /// How many of them by port and flow, since the switch is known.
    by_port: BTreeMap<(FlowId, PortNumber), u64>,
}

impl HopAudit {
    /// Has the next answer be a new beginning: the connection is another one.
    pub fn begin_anew(&mut self) {
        self.last = None;
    }

    /// Tells whether so little time has passed since the last answer that a machine may have
    /// held up what came since then.
    pub fn is_fresh(&self, now: Instant) -> bool {
        let last = self.last.as_ref();
        last.is_some_and(|(then, _)| now.saturating_since(*then) < LONGEST_HELD_UP * 2_u64)
    }

    /// Returns how many frames were seen.
    pub const fn frames(&self) -> u64 {
        self.frames
    }

    /// Returns how many frames of a flow were seen that left by a port.
    pub fn frames_at(&self, flow: FlowId, port: PortNumber) -> u64 {
        self.by_port.get(&(flow, port)).copied().unwrap_or(0)
    }

    /// Returns what it said that cannot be.
    pub fn doubts(&self) -> Vec<DoubtCount> {
        let doubts = self.doubts.iter();
        doubts
            .map(|(what, times)| DoubtCount {
                what: *what,
                times: *times,
            })
            .collect()
    }

    /// Notes something that cannot be; returns whether it is the first of its kind.
    pub fn doubt(&mut self, what: HopDoubt) -> bool {
        let times = self.doubts.entry(what).or_insert(0);
        *times += 1;
        *times == 1
    }

    /// Takes a whole answer. `most` says how many frames a port carries in a time. Returns
    /// the longest stays that have risen since the answer before, and what cannot be. The
    /// first answer of a connection shows no more than from where counters count.
    pub fn take(
        &mut self,
        now: Instant,
        answer: &Records,
        most: impl Fn(PortNumber, Duration) -> u64,
    ) -> (Vec<RisenStay>, Vec<HopDoubt>) {
        let (mut risen, mut doubts) = (Vec::new(), Vec::new());
        if let Some((then, before)) = &self.last {
            let elapsed = now.saturating_since(*then) + ANSWER_LATENESS;
            for ((flow, port), count) in answer {
                let known = before.get(&(*flow, *port)).copied().unwrap_or_default();
                if let Some(doubt) = doubt_of(&known, count, most(*port, elapsed)) {
                    doubts.push(doubt);
                    continue;
                }
                let frames = count.frames - known.frames;
                self.frames = self.frames.saturating_add(frames);
                let seen = self.by_port.entry((*flow, *port)).or_insert(0);
                *seen = seen.saturating_add(frames);
                let stay = RisenStay {
                    flow: *flow,
                    port: *port,
                    longest: count.longest,
                    is_longer: count.longest > known.longest,
                    frames,
                    above: count.above - known.above,
                };
                if stay.is_longer || stay.is_usual() {
                    risen.push(stay);
                }
            }
        }
        self.by_port
            .retain(|place, _| answer.contains_key(place) || self.last.is_none());
        self.last = Some((now, answer.clone()));
        doubts.retain(|doubt| self.doubt(*doubt));
        (risen, doubts)
    }
}

/// Returns why a count cannot follow the one before it.
fn doubt_of(before: &HopCount, count: &HopCount, most: u64) -> Option<HopDoubt> {
    let falls = count.frames < before.frames
        || count.longest < before.longest
        || count.above < before.above
        || count.untimed < before.untimed;
    let is_without_frames = count.frames == 0 && count.longest > Duration::ZERO;
    if count.above > count.frames || is_without_frames || count.longest > LONGEST_BELIEVED {
        return Some(HopDoubt::Contradiction);
    }
    if falls {
        return Some(HopDoubt::WentBack);
    }
    if count.frames > 0 && count.longest == Duration::ZERO {
        return Some(HopDoubt::NoTime);
    }
    let more = (count.frames - before.frames).checked_add(count.untimed - before.untimed);
    if more.is_none_or(|more| more > most) {
        return Some(HopDoubt::TooMany);
    }
    let is_risen = count.longest > before.longest || count.above > before.above;
    (is_risen && count.frames == before.frames).then_some(HopDoubt::Contradiction)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLACE: (FlowId, PortNumber) = (FlowId(1), PortNumber(2));
    const MOST: u64 = 1_000;

    fn count(frames: u64, longest_us: u64, above: u64) -> HopCount {
        HopCount {
            frames,
            longest: Duration::from_us(longest_us),
            budget: None,
            above,
            untimed: 0,
        }
    }

    /// Hands answers over a second apart, and returns what the last of them shows.
    fn after(answers: &[HopCount]) -> (HopAudit, Vec<u64>, Vec<HopDoubt>) {
        let mut audit = HopAudit::default();
        let mut seen = (Vec::new(), Vec::new());
        for (second, answer) in (1..).zip(answers) {
            let now = Instant::ZERO + Duration::from_secs(second);
            let records = Records::from([(PLACE, *answer)]);
            seen = audit.take(now, &records, |_, _| MOST);
        }
        let longest = seen.0.iter().map(|it| it.longest.as_ns() / 1_000);
        (audit, longest.collect(), seen.1)
    }

    #[test]
    fn the_first_answer_is_where_counting_begins() {
        let (audit, risen, doubts) = after(&[count(900, 80, 5)]);

        assert_eq!((audit.frames(), risen, doubts), (0, vec![], vec![]));
    }

    #[test]
    fn what_rises_after_it_is_seen_with_its_frames() {
        let (audit, risen, doubts) = after(&[count(900, 80, 5), count(910, 90, 6)]);

        assert_eq!((audit.frames(), risen, doubts), (10, vec![90], vec![]));
        assert_eq!(audit.frames_at(PLACE.0, PLACE.1), 10);
    }

    #[test]
    fn what_cannot_be_is_doubted_and_counts_nothing() {
        let cases = [
            (count(20, 0, 0), HopDoubt::NoTime),
            (count(9, 80, 5), HopDoubt::WentBack),
            (count(20, 70, 5), HopDoubt::WentBack),
            (count(20, 80, 4), HopDoubt::WentBack),
            (count(1_011, 80, 5), HopDoubt::TooMany),
            (count(u64::MAX, 80, 5), HopDoubt::TooMany),
            (count(20, 80, 21), HopDoubt::Contradiction),
            (count(10, 90, 5), HopDoubt::Contradiction),
            (count(0, 90, 0), HopDoubt::Contradiction),
            (count(20, u64::MAX / 1_000, 6), HopDoubt::Contradiction),
        ];
        for (said, expected) in cases {
            let before = match expected {
                HopDoubt::NoTime => count(10, 0, 0),
                _ => count(10, 80, 5),
            };
            let (audit, risen, doubts) = after(&[before, said]);

            assert_eq!((risen, doubts), (vec![], vec![expected]), "{said:?}");
            assert_eq!(audit.frames(), 0, "{said:?}");
        }
    }

    /// A switch that begins to count anew takes nothing back, and adds nothing that it did
    /// not see.
    #[test]
    fn counters_that_began_anew_count_from_there_on() {
        let begun = [count(900, 80, 5), count(910, 90, 6), count(2, 30, 0)];
        let (audit, risen, doubts) = after(&begun);
        assert_eq!((risen, doubts), (vec![], vec![HopDoubt::WentBack]));
        assert_eq!(audit.frames(), 10);

        let (audit, risen, doubts) = after(&[&begun[..], &[count(5, 95, 1)]].concat());
        assert_eq!((audit.frames(), risen, doubts), (13, vec![95], vec![]));
    }

    proptest! {
        /// Whatever a switch says: what is believed is within what its links carry.
        #[test]
        fn no_words_make_more_frames_than_there_can_be(
            said in prop::collection::vec(
                (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>()), 0..20,
            ),
        ) {
            let mut audit = HopAudit::default();
            for (second, (frames, longest, above, untimed)) in (1..).zip(&said) {
                let now = Instant::ZERO + Duration::from_secs(second);
                let told = HopCount {
                    frames: *frames,
                    longest: Duration::from_ns(*longest),
                    budget: None,
                    above: *above,
                    untimed: *untimed,
                };
                let (risen, _) = audit.take(now, &Records::from([(PLACE, told)]), |_, _| MOST);
                prop_assert!(risen.iter().all(|it| it.longest > Duration::ZERO));
            }
            prop_assert!(audit.frames() <= MOST * said.len() as u64);
        }
    }
}
