//! When a frame may arrive at each hop of a tree: no earlier than the links take, no
//! later than the budgets allow.

use units::Delay;

use super::refusal::{Breach, Constraint};
use super::request::{Request, Tree};
use super::stage::{FailureId, Stage, StageId};

/// When a frame may arrive, counted from when its first bit left the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrivalWindow {
    pub(super) earliest: Delay,
    pub(super) latest: Delay,
}

impl ArrivalWindow {
    pub(super) fn length(self) -> Delay {
        self.latest - self.earliest
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self {
            earliest: self.earliest.min(other.earliest),
            latest: self.latest.max(other.latest),
        }
    }
}

/// Computes the window of each hop of a tree; `join` may widen the one of a
/// hop, given its place and its stage, and with it those behind.
pub(super) fn lay_windows(
    windows: &mut Vec<ArrivalWindow>,
    tree: &Tree,
    failure: Option<FailureId>,
    request: &Request,
    stages: &[Stage],
    join: impl Fn(usize, StageId, ArrivalWindow) -> ArrivalWindow,
) -> Result<(), Breach> {
    windows.clear();
    for (at, hop) in tree.hops.iter().enumerate() {
        let window = match hop.parent {
            None => ArrivalWindow {
                earliest: Delay::ZERO,
                latest: request.initial,
            },
            Some(parent) => {
                let stage = (tree.hops[parent].stage, failure);
                behind(windows[parent], stage, request.class, stages)?
            }
        };
        windows.push(join(at, hop.stage, window));
    }
    Ok(())
}

/// Returns the window in which a frame reaches what is behind a stage.
pub(super) fn behind(
    window: ArrivalWindow,
    (stage, failure): (StageId, Option<FailureId>),
    class: u8,
    stages: &[Stage],
) -> Result<ArrivalWindow, Breach> {
    let at = &stages[stage.index()];
    let budget = at.budget(class).ok_or(Breach {
        stage: Some(stage),
        failure,
        constraint: Constraint::NoBudget { class },
    })?;
    Ok(ArrivalWindow {
        earliest: window.earliest + at.least_delay() + at.propagation(),
        latest: window.latest + budget + at.propagation(),
    })
}
