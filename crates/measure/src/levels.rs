//! What was observed of a flow at each level of criticality that the network served
//! (S2-1, S2-11).
//!
//! A frame belongs to the level that was in force where the mode began when the frame
//! was sent: other switches follow within the time of a change, by which the bounds of
//! flows that are served at higher levels are longer. A flow that a level gives up
//! loses its frames there, and those that were still under way when it began; so does
//! what was sent before the last switch had gone back.

use units::{Duration, Instant};

use crate::interruptions::Interruptions;
use crate::recorder::{FlowRecord, FramePassage};
use crate::statistics::Distribution;

/// A time in which a network served a level; it lasts until the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// The level, 0 the lowest.
    pub level: usize,
    /// When the change to it was demanded.
    pub from: Instant,
    /// When the last switch served it.
    pub settled: Instant,
}

/// What a flow gets at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    GivenUp,
    Served {
        /// How late a frame may be, as calculated; nothing without a promise.
        guarantee: Option<Duration>,
        /// How late it may be, as asked for.
        deadline: Option<Duration>,
    },
}

/// A time in which frames of a flow may be dropped, since a level gives it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GivenUp {
    /// When the change to that level was demanded.
    pub from: Instant,
    /// When the last switch served another one.
    pub until: Instant,
}

impl GivenUp {
    /// Tells whether frames sent from `first` to `last`, which may have been under way
    /// for `reach`, were given up.
    #[must_use]
    pub fn covers(&self, first: Instant, last: Instant, reach: Duration) -> bool {
        first + reach >= self.from && last <= self.until
    }
}

/// What was observed of a flow at a level.
#[derive(Clone, Debug, Default)]
pub struct AtLevel {
    /// Deliveries that were due: frames sent, for each receiver.
    pub sent: u64,
    pub received: u64,
    /// Those that did not although the flow was served.
    pub lost: u64,
    /// Those that did not since the flow was given up.
    pub given_up: u64,
    /// Deliveries later than the guarantee.
    pub late: u64,
    /// Of them, those that would have been in time, had no processor been taken away
    /// while they were under way.
    pub stalled: u64,
    /// Deliveries later than the deadline.
    pub missed_deadline: u64,
    /// How long the frames travelled.
    pub latency: Distribution,
    /// The longest, but for frames that were late because the machine held them up.
    pub highest: Option<Duration>,
}

/// Returns the times in which a flow was given up.
#[must_use]
pub fn given_up(spells: &[Spell], treatments: &[Treatment]) -> Vec<GivenUp> {
    let ends = spells.iter().skip(1).map(|next| next.settled);
    let ends = ends.chain([Instant::FAR_FUTURE]);
    let of_flow = spells.iter().zip(ends).filter(|(spell, _)| {
        let treatment = treatments.get(spell.level);
        treatment == Some(&Treatment::GivenUp)
    });
    let times = of_flow.map(|(spell, until)| GivenUp {
        from: spell.from,
        until,
    });
    times.collect()
}

/// Returns what was observed of a flow at each of its levels, the lowest first.
///
/// The spells are in order of time, and the first begins before anything is sent.
/// Frames that were under way for `reach` may be dropped by a level that begins
/// meanwhile.
#[must_use]
pub fn at_levels(
    record: &FlowRecord,
    (spells, treatments): (&[Spell], &[Treatment]),
    reach: Duration,
    interruptions: &Interruptions,
) -> Vec<AtLevel> {
    let mut all = vec![AtLevel::default(); treatments.len()];
    let windows = given_up(spells, treatments);
    for passage in record.passages.iter() {
        let began = spells.partition_point(|spell| spell.from <= passage.sent_at);
        let spell = spells.get(began.saturating_sub(1));
        let level = spell.map_or(0, |spell| spell.level);
        let (Some(at), Some(treatment)) = (all.get_mut(level), treatments.get(level)) else {
            continue;
        };
        at.sent += 1;
        match passage.latency {
            Some(latency) => at.deliver(passage, latency, *treatment, interruptions),
            None => {
                let sent_at = passage.sent_at;
                let mut windows = windows.iter();
                match windows.any(|window| window.covers(sent_at, sent_at, reach)) {
                    true => at.given_up += 1,
                    false => at.lost += 1,
                }
            }
        }
    }
    all
}

impl AtLevel {
    fn deliver(
        &mut self,
        passage: &FramePassage,
        latency: Duration,
        treatment: Treatment,
        interruptions: &Interruptions,
    ) {
        self.received += 1;
        self.latency.record(latency);
        let (guarantee, deadline) = match treatment {
            Treatment::Served {
                guarantee,
                deadline,
            } => (guarantee, deadline),
            // What comes through all the same breaks no promise.
            Treatment::GivenUp => (None, None),
        };
        if deadline.is_some_and(|deadline| latency > deadline) {
            self.missed_deadline += 1;
        }
        let is_late = guarantee.is_some_and(|guarantee| latency > guarantee);
        let taken = interruptions.within(passage.sent_at, passage.sent_at + latency);
        let is_held_up = guarantee.is_some_and(|it| latency.saturating_sub(taken) <= it);
        self.late += u64::from(is_late);
        self.stalled += u64::from(is_late && is_held_up);
        if !(is_late && is_held_up) {
            self.highest = self.highest.max(Some(latency));
        }
    }
}

#[cfg(test)]
mod tests {
    use units::DataSize;

    use super::*;
    use crate::recorder::{Recorder, Settings};
    use crate::{FlowPlan, ReceiverIndex};

    const LATENCY: Duration = Duration::from_us(300);
    const SERVED: Treatment = Treatment::Served {
        guarantee: Some(Duration::from_us(500)),
        deadline: Some(Duration::from_us(600)),
    };

    #[test]
    fn each_frame_counts_at_the_level_in_force_when_it_was_sent() {
        let record = run(|_| Some(LATENCY));

        let levels = at_levels(&record, (&spells(), &[SERVED; 2]), LATENCY, &none());

        assert_eq!((levels[0].sent, levels[1].sent), (70, 30));
        assert_eq!((levels[0].received, levels[1].received), (70, 30));
        assert_eq!(levels[1].highest, Some(LATENCY));
    }

    #[test]
    fn what_a_level_gives_up_is_not_lost_and_what_it_serves_is() {
        // Frame 29 was under way when the level rose; 60 and 61 were sent before the
        // last switch had gone back; 80 is lost while all are served.
        let dropped = |slot| (29..62).contains(&slot) || slot == 80;
        let record = run(|slot| (!dropped(slot)).then_some(LATENCY));
        let treatments = [SERVED, Treatment::GivenUp];

        let levels = at_levels(&record, (&spells(), &treatments), LATENCY, &none());

        assert_eq!((levels[0].given_up, levels[0].lost), (3, 1));
        assert_eq!((levels[1].given_up, levels[1].lost), (30, 0));
    }

    #[test]
    fn a_frame_is_late_by_the_guarantee_of_its_own_level() {
        let record = run(|_| Some(Duration::from_us(550)));
        let patient = Treatment::Served {
            guarantee: Some(Duration::from_ms(1)),
            deadline: None,
        };

        let levels = at_levels(&record, (&spells(), &[patient, SERVED]), LATENCY, &none());

        assert_eq!((levels[0].late, levels[1].late), (0, 30));
        assert_eq!(levels[1].missed_deadline, 0);
    }

    fn none() -> Interruptions {
        Interruptions::default()
    }

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_ms(ms)
    }

    /// The level rises just before the frame of slot 30 and falls just before that of
    /// slot 60; the last switch goes back after that of slot 61.
    fn spells() -> [Spell; 3] {
        let spell = |level, from: Instant, takes| Spell {
            level,
            from,
            settled: from + takes,
        };
        [
            spell(0, Instant::ZERO, Duration::ZERO),
            spell(1, ms(30) - Duration::from_us(750), LATENCY),
            spell(0, ms(60) - Duration::from_us(750), Duration::from_ms(2)),
        ]
    }

    /// Sends a frame every millisecond.
    fn run(fate: impl Fn(u64) -> Option<Duration>) -> FlowRecord {
        let settings = Settings {
            passages: 1_000,
            ..Settings::default()
        };
        let mut recorder = Recorder::new(Instant::ZERO, settings);
        let flow = recorder.add(FlowPlan {
            receivers: 1,
            promise: None,
            contract: None,
            period: None,
        });
        for slot in 0..100 {
            let size = DataSize::from_bytes(100);
            recorder.sent(flow, slot, size, ms(slot));
            if let Some(latency) = fate(slot) {
                recorder.received(flow, ReceiverIndex(0), slot, ms(slot) + latency);
            }
        }
        recorder.finish().remove(0)
    }
}
