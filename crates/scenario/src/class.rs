//! Classes of traffic: which queue, and how much delay a hop may add.

use units::{BitRate, Delay};

/// The classes of a file that declares none. Two queues stay free above them
/// and between them: 7 for the network's own signals, 4, 2 and 1 for classes
/// that a user adds by declaring all of them.
pub(crate) const DEFAULT_CLASSES: [(&str, u8); 4] = [
    ("protection", 6),
    ("sampled-values", 5),
    ("control", 3),
    ("best-effort", 0),
];

/// Traffic that shares a queue at every port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    pub name: String,
    /// Its queue: 7 is served first, 0 last. No two classes share one.
    pub queue: u8,
    /// How much delay a port may add at most; empty leaves it to the admission.
    pub budgets: Vec<Budget>,
}

impl Class {
    /// Returns how much delay a port of a link of `rate` may add, if the
    /// scenario says so: the budget for exactly this rate, else the one for
    /// every rate.
    #[must_use]
    pub fn budget_at(&self, rate: BitRate) -> Option<Delay> {
        let exact = self.budgets.iter().find(|budget| budget.rate == Some(rate));
        let general = || self.budgets.iter().find(|budget| budget.rate.is_none());
        exact.or_else(general).map(|budget| budget.delay)
    }
}

/// The most delay that one port may add to the frames of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The rate of the links it applies to; all others if absent.
    pub rate: Option<BitRate>,
    /// The delay, from the moment the frame stands in the queue to the moment
    /// its last bit has left.
    pub delay: Delay,
}
