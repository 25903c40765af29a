//! When frames of any kind came and left at ports with a session.
//!
//! That a frame came says that the neighbour is there as well as a packet of the session
//! does. Where the neighbour hears nothing, what left tells whether it is the link or nobody
//! had anything to send. Walks of the [compiled form](crate::compiled) note the same in the
//! same words.
//!
//! There also stands how the neighbour is to hear of the switch while nobody drives the
//! session: others who see these words then speak for it.

use std::cell::Cell;

use units::{Duration, Instant};
use wire::openflow::taktos::StandIn;

use crate::compiled::layout::{Region, frame_times};
use crate::compiled::{Record, Words};
use crate::port::PortIndex;

/// A span of time in which a frame may leave, or none: a heart-beat has so many of them at
/// least, so that frames which leave half of one apart are told apart.
const SPANS_A_BEAT: u64 = 2;

/// The times of all ports.
#[derive(Debug)]
pub(crate) struct FrameTimes {
    words: Box<dyn Words>,
    is_shared: bool,
}

impl FrameTimes {
    pub(crate) fn new(ports: usize) -> Self {
        let words = vec![Cell::new(0); ports * Region::FrameTimes.record_words()];
        Self {
            words: Box::new(words),
            is_shared: false,
        }
    }

    /// Keeps the times in words that walks write as well.
    pub(crate) fn share(&mut self, words: Box<dyn Words>) {
        self.words = words;
        self.is_shared = true;
    }

    /// Returns whether the times are those of all frames that have come by now, also where
    /// they are yet to be handed in.
    pub(crate) const fn are_current(&self) -> bool {
        self.is_shared
    }

    /// Notes from now on when frames leave, of which one is to leave this often; nothing if
    /// nobody wants to know.
    pub(crate) fn watch(&self, port: PortIndex, heart_beat: Option<Duration>) {
        let shift = heart_beat.map_or(0, |beat| {
            let span = (beat.as_ns() / SPANS_A_BEAT).max(2);
            u64::from(span.ilog2())
        });
        let record = self.record(port);
        if record.get(frame_times::SHIFT) != shift {
            record.write(frame_times::LEFT, &[0; frame_times::SPANS]);
            record.set(frame_times::SHIFT, shift);
        }
    }

    pub(crate) fn note_came(&self, port: PortIndex, at: Instant) {
        self.record(port).set(frame_times::CAME, at.as_ns());
    }

    pub(crate) fn note_left(&self, port: PortIndex, at: Instant) {
        let record = self.record(port);
        let shift = record.get(frame_times::SHIFT);
        if shift > 0 {
            let span = usize::try_from((at.as_ns() >> shift) % SPANS).expect("few");
            record.set(frame_times::LEFT + span, at.as_ns());
        }
    }

    /// Lets others speak for the session of a port that is late, this often, until that much
    /// time without a frame of its neighbour; or no more.
    pub(crate) fn let_stand_in(&self, port: PortIndex, now: Instant, how: Option<[Duration; 2]>) {
        let how = how.filter(|_| self.is_shared);
        let [every, silence] = how.unwrap_or_default().map(Duration::as_ns);
        let record = self.record(port);
        record.set(frame_times::STAND_IN_SILENCE, silence);
        if record.get(frame_times::STAND_IN_EVERY) != every {
            record.set(frame_times::STAND_IN_EVERY, every);
            self.speak(port, now);
        }
    }

    /// Notes that the session of a port has spoken for itself: it is late half an interval after
    /// the next time. As no more than a quarter of an interval is ever left out, no more frames
    /// leave with others that stand in than without.
    pub(crate) fn speak(&self, port: PortIndex, now: Instant) {
        let record = self.record(port);
        let every = record.get(frame_times::STAND_IN_EVERY);
        record.set(frame_times::STAND_IN_DUE, now.as_ns() + every + every / 2);
    }

    /// Returns who speaks for the session of a port that is late, and how often that was so.
    pub(crate) fn stand_in(&self, port: PortIndex) -> (StandIn, u32) {
        let pacemaker = self.record(PortIndex(0)).get(frame_times::PACEMAKER);
        let stand_in = match pacemaker {
            0 => StandIn::Nobody,
            1 => StandIn::Kernel,
            error => {
                let error = error.saturating_sub(frame_times::LACKING);
                StandIn::Lacking(u8::try_from(error).unwrap_or(u8::MAX))
            }
        };
        let count = self.record(port).get(frame_times::STAND_INS);
        (stand_in, u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Returns when the last frame came.
    pub(crate) fn came(&self, port: PortIndex) -> Instant {
        Instant::from_ns(self.record(port).get(frame_times::CAME))
    }

    /// Returns in how many spans between two instants frames left.
    pub(crate) fn left_between(&self, port: PortIndex, from: Instant, to: Instant) -> usize {
        let left: [u64; frame_times::SPANS] = self.record(port).read(frame_times::LEFT);
        let within = from.as_ns().max(1)..=to.as_ns();
        left.iter().filter(|at| within.contains(at)).count()
    }

    fn record(&self, port: PortIndex) -> Record<'_> {
        Record::of(self.words.as_ref(), Region::FrameTimes, port.at())
    }
}

const SPANS: u64 = frame_times::SPANS as u64;

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: PortIndex = PortIndex(1);
    const BEAT: Duration = Duration::from_us(350);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_us(us)
    }

    #[test]
    fn what_left_is_known_for_some_heart_beats_however_much_it_was() {
        let times = FrameTimes::new(2);
        times.watch(PORT, Some(BEAT));

        for us in 10_000..20_000 {
            times.note_left(PORT, at(us));
        }

        let three = BEAT * 3u64;
        let asked = at(20_000);
        assert!(times.left_between(PORT, asked - three, asked - BEAT) >= 2);
        // Whoever asks a heart-beat later still knows.
        let before = asked - BEAT;
        assert!(times.left_between(PORT, before - three, before - BEAT) >= 2);
        assert_eq!(times.left_between(PORT, at(20_000), at(30_000)), 0);
        assert_eq!(times.left_between(PortIndex(0), at(0), at(30_000)), 0);
    }

    /// Found by drawn faults: two samples in one span were one.
    #[test]
    fn a_source_as_slow_as_it_may_be_has_sent_twice_in_two_heart_beats() {
        for first in 0..1_000 {
            for gap in (BEAT.as_ns() / 2_000 + 1..=BEAT.as_ns() / 1_000).step_by(5) {
                let times = FrameTimes::new(2);
                times.watch(PORT, Some(BEAT));
                let frames = (0..50).map(|frame| at(10_000 + first + frame * gap));

                let sent: Vec<_> = frames.inspect(|at| times.note_left(PORT, *at)).collect();

                // Three of a heart-beat before, at any moment between two frames.
                let came = sent[48] + Duration::from_ns(gap * 997);
                let [from, to] = [3, 1].map(|beats: u64| came - BEAT * beats);
                assert!(times.left_between(PORT, from, to) >= 2, "{first}, {gap}");
            }
        }
    }

    /// Half an interval is left to who is held up, so that no more frames leave.
    #[test]
    fn a_session_is_late_half_an_interval_after_it_should_have_spoken() {
        let mut times = FrameTimes::new(2);
        let how = [Duration::from_ms(1), Duration::from_ms(3)];
        times.let_stand_in(PORT, at(0), Some(how));
        let read = |times: &FrameTimes, word| times.record(PORT).get(word);
        assert_eq!(
            read(&times, frame_times::STAND_IN_EVERY),
            0,
            "nobody sees it"
        );

        let words = Region::FrameTimes.record_words();
        times.share(Box::new(vec![Cell::new(0); 2 * words]));
        times.let_stand_in(PORT, at(10), Some(how));
        assert_eq!(read(&times, frame_times::STAND_IN_EVERY), 1_000_000);
        assert_eq!(read(&times, frame_times::STAND_IN_SILENCE), 3_000_000);
        times.speak(PORT, at(900));
        times.let_stand_in(PORT, at(1_000), Some(how));
        assert_eq!(read(&times, frame_times::STAND_IN_DUE), at(2_400).as_ns());

        times.let_stand_in(PORT, at(1_100), None);
        assert_eq!(read(&times, frame_times::STAND_IN_EVERY), 0);
    }

    #[test]
    fn who_stands_in_is_known_by_what_the_first_record_says() {
        let times = FrameTimes::new(2);
        let first = times.record(PortIndex(0));
        for (word, who) in [
            (0, StandIn::Nobody),
            (1, StandIn::Kernel),
            (frame_times::LACKING + 2, StandIn::Lacking(2)),
        ] {
            first.set(frame_times::PACEMAKER, word);
            assert_eq!(times.stand_in(PORT), (who, 0));
        }
        times.record(PORT).set(frame_times::STAND_INS, u64::MAX);
        assert_eq!(times.stand_in(PORT).1, u32::MAX);
    }

    #[test]
    fn nothing_is_noted_of_frames_that_leave_where_nobody_wants_to_know() {
        let times = FrameTimes::new(2);
        times.note_left(PORT, at(1));
        times.watch(PORT, Some(BEAT));
        times.note_left(PORT, at(2));
        times.watch(PORT, None);
        times.note_left(PORT, at(3));

        assert_eq!(times.left_between(PORT, at(0), at(10)), 0);
    }
}
