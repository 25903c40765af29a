//! When cables carried signals.

use units::Duration;

use super::Trial;
use crate::modes::fault_schedule::Incident;

/// After a cable heals, or a switch starts, its ports are up and it knows its neighbours.
pub(super) const JOINING: Duration = Duration::from_ms(5);

/// A time, after hosts began to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) from: Duration,
    pub(super) to: Duration,
}

impl Span {
    fn meets(self, other: Self) -> bool {
        self.from <= other.to && other.from <= self.to
    }

    pub(super) fn has(self, at: Duration) -> bool {
        self.from <= at && at <= self.to
    }
}

/// Returns for each cable whether it was whole, with a switch at each end, all the time.
pub(super) fn whole(trial: &Trial, span: Span) -> Vec<bool> {
    let cables = 0..trial.topology.cables.len();
    cables.map(|cable| is_whole(trial, cable, span)).collect()
}

fn is_whole(trial: &Trial, cable: usize, span: Span) -> bool {
    let ends = trial.topology.switches_of(cable);
    let breaks = |incident: &Incident| match incident {
        Incident::Cut { cable: cut } => *cut == cable,
        Incident::Crash { switch } => ends.contains(switch),
        Incident::Heal { .. }
        | Incident::Restart { .. }
        | Incident::Violation { .. }
        | Incident::Lower { .. }
        | Incident::Force { .. }
        | Incident::Forge { .. } => false,
    };
    let mut breaking = trial.incidents.iter().filter(|(_, it)| breaks(it));
    !breaking.any(|broken| away(trial, broken).meets(span))
}

/// Returns for how long what an incident broke was away.
fn away(trial: &Trial, (from, broken): &(Duration, Incident)) -> Span {
    let mends = |incident: &Incident| match (broken, incident) {
        (Incident::Cut { cable }, Incident::Heal { cable: other }) => cable == other,
        (Incident::Crash { switch }, Incident::Restart { switch: other }) => switch == other,
        _ => false,
    };
    let mended = trial.incidents.iter();
    let mended = mended.filter(|(at, incident)| at >= from && mends(incident));
    let to = mended.map(|(at, _)| *at + JOINING).min();
    Span {
        from: *from,
        to: to.unwrap_or(trial.duration * 2u64),
    }
}

/// Returns how often the level may fall in that time on the way of the flows: by order, or
/// since whoever comes back knows of a later era.
pub(super) fn falls(trial: &Trial, span: Span) -> u64 {
    let incidents = trial.incidents.iter().filter(|(at, _)| span.has(*at));
    let falls = incidents.filter(|(_, incident)| match incident {
        Incident::Lower { .. } | Incident::Heal { .. } | Incident::Restart { .. } => true,
        Incident::Violation { .. }
        | Incident::Force { .. }
        | Incident::Crash { .. }
        | Incident::Cut { .. }
        | Incident::Forge { .. } => false,
    });
    falls.count() as u64
}

/// Tells whether the switch that watches the flows was away at some moment of that time:
/// it did not see what was demanded then, and does not know any more what was before.
pub(super) fn forgets(trial: &Trial, span: Span) -> bool {
    let watches = |incident: &Incident| match incident {
        Incident::Crash { switch } => *switch == trial.route[0],
        Incident::Cut { .. }
        | Incident::Heal { .. }
        | Incident::Restart { .. }
        | Incident::Violation { .. }
        | Incident::Lower { .. }
        | Incident::Force { .. }
        | Incident::Forge { .. } => false,
    };
    let mut crashes = trial.incidents.iter().filter(|(_, it)| watches(it));
    crashes.any(|crash| away(trial, crash).meets(span))
}
