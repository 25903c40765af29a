//! Verdicts of drawn runs, against what is known of every frame: never broken for what
//! was not seen, never held for a deadline that was missed without a cause, never excused
//! by an interruption that does not lie within the flight.

use proptest::prelude::*;

use super::*;

const GUARANTEE_US: u64 = 800;
const DEADLINE_US: u64 = 2_000;
/// Microseconds that the runs and their last flights last.
const LENGTH_US: usize = 300_000;

/// What becomes of a frame.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Arrives {
        us: u64,
    },
    Lost,
    /// It arrives, and the observer misses it.
    Missed,
}

/// A run of frames, one in each period, and what the machine did.
#[derive(Clone, Debug)]
struct Course {
    frames: Vec<Drawn>,
    /// From when on and for how long processors were taken, in microseconds.
    taken: Vec<(u64, u64)>,
}

fn course(lost: u32, missed: u32) -> impl Strategy<Value = Course> {
    let frame = prop_oneof![
        60 => (1u64..GUARANTEE_US).prop_map(|us| Drawn::Arrives { us }),
        4 => (GUARANTEE_US..DEADLINE_US + 2).prop_map(|us| Drawn::Arrives { us }),
        2 => (DEADLINE_US..DEADLINE_US + 1_500).prop_map(|us| Drawn::Arrives { us }),
        lost => Just(Drawn::Lost),
        missed => Just(Drawn::Missed),
    ];
    let taken = prop::collection::vec((0u64..50_000, 50u64..3_000), 0..12);
    (prop::collection::vec(frame, 1..200), taken)
        .prop_map(|(frames, taken)| Course { frames, taken })
}

impl Course {
    fn sent_us(slot: usize) -> u64 {
        250 * slot as u64
    }

    fn record(&self) -> FlowRecord {
        let mut recorder = recorder();
        for (slot, frame) in self.frames.iter().enumerate() {
            let (number, at) = (slot as u64, at(Self::sent_us(slot)));
            recorder.sent(FlowIndex(0), number, DataSize::from_bytes(144), at);
            if let Drawn::Arrives { us } = frame {
                let at = at + Duration::from_us(*us);
                recorder.received(FlowIndex(0), ReceiverIndex(0), number, at);
            }
        }
        recorder.finish().remove(0)
    }

    fn interruptions(&self) -> Interruptions {
        Interruptions::of(self.taken.iter().map(|(from, length)| Interruption {
            from: at(*from),
            to: at(from + length),
            taken: Duration::from_us(*length),
        }))
    }

    /// Returns for each microsecond whether a processor was taken.
    fn timeline(&self) -> Vec<bool> {
        let mut taken = vec![false; LENGTH_US];
        for (from, length) in &self.taken {
            let span = usize::try_from(*from).unwrap()..usize::try_from(from + length).unwrap();
            taken[span].fill(true);
        }
        taken
    }

    /// Returns each frame that arrives: its latency, and the same without what was taken
    /// while it was under way, in microseconds.
    fn flights(&self) -> Vec<(u64, u64)> {
        let taken = self.timeline();
        let frames = self.frames.iter().enumerate();
        let flights = frames.filter_map(|(slot, frame)| match frame {
            Drawn::Arrives { us } => {
                let from = usize::try_from(Self::sent_us(slot)).unwrap();
                let span = &taken[from..from + usize::try_from(*us).unwrap()];
                let lost = span.iter().filter(|taken| **taken).count() as u64;
                Some((*us, us - lost))
            }
            Drawn::Lost | Drawn::Missed => None,
        });
        flights.collect()
    }

    fn count(&self, of: fn(&Drawn) -> bool) -> u64 {
        self.frames.iter().filter(|frame| of(frame)).count() as u64
    }

    /// Returns the gaps of an observer that missed some frames, and knows only how many
    /// in each fifty slots.
    fn unseen(&self) -> Unseen {
        let mut unseen = Unseen::default();
        for (part, frames) in self.frames.chunks(50).enumerate() {
            let missed = frames.iter().filter(|it| matches!(it, Drawn::Missed));
            unseen.add(Gap {
                from: at(Self::sent_us(50 * part)),
                to: at(Self::sent_us(50 * part + 50) + DEADLINE_US),
                frames: missed.count() as u64,
            });
        }
        unseen
    }
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn judged(course: &Course, interruptions: &Interruptions, unseen: &[Unseen]) -> Assessment {
    let amid = Circumstances {
        unseen,
        ..amid(&[], interruptions)
    };
    assess(&plan(), &course.record(), amid)
}

proptest! {
    /// Spans that meet are told as one longer span, which may excuse less, never more.
    #[test]
    fn a_frame_is_excused_by_what_lay_within_its_flight_and_by_nothing_else(
        course in course(0, 0),
    ) {
        let assessment = judged(&course, &course.interruptions(), &[]);

        let flights = course.flights();
        let inexcusable = flights.iter().filter(|(_, own)| *own > DEADLINE_US).count();
        let late = flights.iter().filter(|(us, _)| *us > DEADLINE_US).count();
        let apart = flights.iter().filter(|(us, own)| {
            *us > GUARANTEE_US && *own <= GUARANTEE_US
        });
        let above = flights.iter().filter(|(us, _)| *us > GUARANTEE_US).count();
        if inexcusable > 0 {
            prop_assert_eq!(assessment.verdict, Verdict::Broken);
        }
        if late == 0 {
            prop_assert_ne!(assessment.verdict, Verdict::Broken);
        }
        prop_assert!(assessment.held_up <= apart.count() as u64);
        let exceeded = assessment.exceeded.map_or(0, |it| it.count);
        prop_assert_eq!(exceeded + assessment.held_up, above as u64);
    }

    /// The same to the frame, where no interruptions meet.
    #[test]
    fn interruptions_that_do_not_meet_excuse_to_the_microsecond(mut course in course(0, 0)) {
        let mut free = 0;
        course.taken.sort_unstable();
        course.taken.retain(|(from, length)| {
            let meets = *from < free;
            free = if meets { free } else { from + length };
            !meets
        });

        let assessment = judged(&course, &course.interruptions(), &[]);

        let flights = course.flights();
        let broken = flights.iter().filter(|(_, own)| *own > DEADLINE_US).count() as u64;
        let apart = flights.iter().filter(|(us, own)| {
            *us > GUARANTEE_US && *own <= GUARANTEE_US
        });
        let breaches: Vec<_> = [Breach::Late { count: broken }]
            .into_iter()
            .filter(|_| broken > 0)
            .collect();
        prop_assert_eq!(&assessment.breaches, &breaches);
        prop_assert_eq!(assessment.held_up, apart.count() as u64);
    }

    #[test]
    fn nothing_is_excused_by_an_interruption_outside_of_every_flight(course in course(0, 0)) {
        let after = Course {
            taken: course.taken.iter().map(|(from, it)| (from + 100_000, *it)).collect(),
            ..course.clone()
        };

        let assessment = judged(&course, &after.interruptions(), &[]);

        let late = course.flights().iter().filter(|(us, _)| *us > DEADLINE_US).count();
        prop_assert_eq!(assessment.held_up, 0);
        prop_assert_eq!(assessment.verdict == Verdict::Broken, late > 0);
    }

    /// However many frames the observer misses, they do not break a promise; and all that
    /// is lost beyond them does.
    #[test]
    fn what_was_not_seen_breaks_nothing_and_what_was_lost_besides_does(
        course in course(2, 6),
    ) {
        let nothing = Interruptions::default();
        let missed_only = Course {
            frames: course.frames.iter().map(|frame| match frame {
                Drawn::Lost | Drawn::Arrives { us: DEADLINE_US.. } => Drawn::Missed,
                Drawn::Arrives { .. } | Drawn::Missed => *frame,
            }).collect(),
            taken: Vec::new(),
        };

        let assessment = judged(&missed_only, &nothing, &[missed_only.unseen()]);
        let with_losses = judged(&course, &nothing, &[course.unseen()]);

        let missed = missed_only.count(|it| matches!(it, Drawn::Missed));
        prop_assert_eq!(assessment.unseen, missed);
        prop_assert_ne!(assessment.verdict, Verdict::Broken);
        let mostly = 2 * missed > missed_only.frames.len() as u64;
        prop_assert_eq!(assessment.verdict == Verdict::NotJudged, mostly);
        let lost = course.count(|it| matches!(it, Drawn::Lost));
        let said = with_losses.breaches.iter().find_map(|breach| match breach {
            Breach::Lost { count } => Some(*count),
            Breach::Late { .. } | Breach::AboveBound { .. } | Breach::Interrupted { .. } => None,
        });
        prop_assert_eq!(said.unwrap_or(0), lost);
    }
}
