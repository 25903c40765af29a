//! How long the first exchange of a flow took, and the later ones (S3-4).

use units::Duration;

use crate::statistics::Distribution;

/// The exchanges of one flow, as one way of measuring has them.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    /// When the first one began, and how long it took.
    first: (u64, u64),
    later: Distribution,
}

impl Setup {
    pub(super) fn new(at: u64, ns: u64) -> Self {
        Self {
            first: (at, ns),
            later: Distribution::default(),
        }
    }

    /// Adds another, whichever is the earlier.
    pub(super) fn add(&mut self, at: u64, ns: u64) {
        let later = match at < self.first.0 {
            true => std::mem::replace(&mut self.first, (at, ns)).1,
            false => ns,
        };
        self.later.record(Duration::from_ns(later));
    }

    /// Returns how much longer the first took than the median of the later ones: not
    /// at all if it was faster, and nothing if there are no later ones.
    pub(super) fn excess(&self) -> Option<Duration> {
        let usual = self.later.quantile(500)?;
        Some(Duration::from_ns(self.first.1).saturating_sub(usual))
    }
}
