//! Which frames were late, and by what.

use units::Duration;

use super::{AFTERMATH, Assessment, Bound, Breach, Exceeded, ObservedFlow};
use crate::Promise;
use crate::fault_losses::Harm;
use crate::recorder::LateFrame;

impl ObservedFlow<'_> {
    pub(super) fn judge_latency(&self, promise: Promise, assessment: &mut Assessment) {
        let deadline = promise.deadline;
        let (mut missed, mut highest, mut most) =
            (self.record.missed_deadline, None, Duration::ZERO);
        let corrupted = self.amid.fault_spells.iter();
        let mut corrupted: Vec<_> = corrupted
            .filter(|spell| spell.harm == Harm::Corrupted)
            .copied()
            .collect();
        let (mut by_faults, mut in_time) = (0, 0);
        for late in &self.record.late_frames {
            let came = late.received_at;
            let is_by_fault = corrupted.iter_mut().find(|spell| {
                let until = spell.to + promise.guarantee;
                spell.frames > 0 && (spell.from..=until).contains(&came)
            });
            if let Some(spell) = is_by_fault {
                // A flipped bit made another frame of it.
                spell.frames -= 1;
                by_faults += 1;
                missed -= u64::from(late.latency() > deadline);
                continue;
            }
            let latency = late.latency();
            let guarantee = self.guarantee_of(promise, late);
            if latency <= guarantee {
                in_time += 1;
                highest = highest.max(Some(latency));
                continue;
            }
            let own = latency.saturating_sub(self.taken_from(late));
            let is_excused = latency > deadline && own <= deadline;
            missed -= u64::from(is_excused);
            let counts = match is_excused {
                true => own,
                false => latency,
            };
            if own <= guarantee {
                assessment.held_up += 1;
            } else {
                highest = highest.max(Some(counts));
                most = most.max(own.saturating_sub(guarantee));
            }
        }
        let all_kept = self.record.late == self.record.late_frames.len() as u64;
        match all_kept {
            true => assessment.highest = highest.max(self.record.highest_in_time),
            false => {
                let longest = self.longest_guarantee(promise);
                most = most.max(self.highest_seen().saturating_sub(longest));
            }
        }
        assessment.lost_to_faults += by_faults;
        assessment.guarantee = Some(self.longest_guarantee(promise));
        assessment.late = self.record.late - in_time;
        let count = assessment.late - assessment.held_up - by_faults;
        assessment.exceeded = (count > 0).then_some(Exceeded { count, most });
        if missed > 0 {
            assessment.breaches.push(Breach::Late { count: missed });
        } else if count > 0 && self.amid.bound == Bound::Certain {
            assessment.breaches.push(Breach::AboveBound { count });
        }
    }

    /// Returns the greatest guarantee that was in force while a frame was under way, and one
    /// that another took the place of for a while more, as either way may have carried it.
    /// That of the plan is the least: no frame that was in time by it is among the late ones.
    fn guarantee_of(&self, promise: Promise, frame: &LateFrame) -> Duration {
        let later = self.amid.later_guarantees;
        let ends = later.iter().map(|(from, _)| *from + AFTERMATH).skip(1);
        let ends = ends.map(Some).chain([None]);
        let in_force = later.iter().zip(ends).filter(|((from, _), end)| {
            *from <= frame.received_at && end.is_none_or(|end| frame.sent_at < end)
        });
        let guarantees = in_force.map(|((_, guarantee), _)| *guarantee);
        guarantees.fold(promise.guarantee, Duration::max)
    }

    pub(super) fn longest_guarantee(&self, promise: Promise) -> Duration {
        let later = self.amid.later_guarantees.iter();
        later.fold(promise.guarantee, |longest, (_, it)| longest.max(*it))
    }

    /// Returns for how long a processor was taken while a frame was under way.
    pub(super) fn taken_from(&self, frame: &LateFrame) -> Duration {
        self.amid
            .interruptions
            .within(frame.sent_at, frame.received_at)
    }

    pub(super) fn highest_seen(&self) -> Duration {
        self.record.latency.max().unwrap_or_default()
    }

    /// Returns for how long a frame may have been under way: as long as was calculated,
    /// or as long as any was.
    pub(super) fn reach(&self, promise: Promise) -> Duration {
        self.longest_guarantee(promise).max(self.highest_seen())
    }
}
