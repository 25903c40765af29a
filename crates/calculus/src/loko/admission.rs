//! Admission as the Loko paper has it: a sum of rates and a sum of bursts a switch
//! (LOKO section 5).
//!
//! Each switch has an [`Allocation`], fixed beforehand. A flow's burst grows by
//! its rate times the delay of each switch that it has passed. It is refused if
//! the sum of rates or the sum of bursts would exceed the allocation anywhere on
//! its path. Its guarantee is the sum of the delays.
//!
//! This is the paper's own admission, kept to compare ours with.
//! [`admission`](crate::admission) is the one that promises anything.
//!
//! # Differs from the paper
//!
//! Bursts are rounded up to whole bits at every hop.

use thiserror::Error;
use units::{BitRate, DataSize, Delay};

use super::Allocation;
use crate::min_plus::TokenBucket;

/// Why a flow was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LokoRefusal {
    /// The sum of rates would be too high.
    #[error("switch {switch} would carry {needed_bps} bit/s, and {allowed} are set aside")]
    Rate {
        /// The first switch on the path that refuses.
        switch: usize,
        /// The sum with the new flow.
        needed_bps: u64,
        /// What is set aside.
        allowed: BitRate,
    },
    /// The sum of bursts would be too large.
    #[error("switch {switch} would hold bursts of {needed}, and {allowed} are set aside")]
    Burst {
        /// The first switch on the path that refuses.
        switch: usize,
        /// The sum with the new flow.
        needed: DataSize,
        /// What is set aside.
        allowed: DataSize,
    },
    /// The path names a switch that is not there.
    #[error("there is no switch {switch}")]
    UnknownSwitch {
        /// The switch named.
        switch: usize,
    },
}

/// The switches of a network with what has been admitted at each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LokoAdmission {
    allocations: Vec<Allocation>,
    loads: Vec<TokenBucket>,
    /// What a flow adds to each switch of its path; kept for its memory.
    shares: Vec<(usize, TokenBucket)>,
}

impl LokoAdmission {
    /// Starts with nothing admitted.
    #[must_use]
    pub fn new(allocations: Vec<Allocation>) -> Self {
        Self {
            loads: vec![TokenBucket::NOTHING; allocations.len()],
            allocations,
            shares: Vec::new(),
        }
    }

    /// Admits `flow` to the switches of `path`, in their order, and returns its
    /// guarantee.
    ///
    /// # Errors
    ///
    /// Which switch refuses, and whether for rate or burst. Nothing has changed
    /// then.
    pub fn admit(&mut self, flow: TokenBucket, path: &[usize]) -> Result<Delay, LokoRefusal> {
        self.shares.clear();
        let mut arriving = flow;
        let mut guarantee = Delay::ZERO;
        for &switch in path {
            let allocation = self.allocations.get(switch);
            let allocation = allocation.ok_or(LokoRefusal::UnknownSwitch { switch })?;
            fits(switch, self.loads[switch] + arriving, allocation)?;
            self.shares.push((switch, arriving));
            arriving = arriving.spread_by(allocation.delay);
            guarantee += allocation.delay;
        }
        for (switch, share) in &self.shares {
            self.loads[*switch] += *share;
        }
        Ok(guarantee)
    }

    /// Returns the sums of rates and bursts at each switch.
    #[must_use]
    pub fn loads(&self) -> &[TokenBucket] {
        &self.loads
    }
}

fn fits(switch: usize, total: TokenBucket, allocation: &Allocation) -> Result<(), LokoRefusal> {
    if total.rate_bps() > allocation.rate.as_bps() {
        return Err(LokoRefusal::Rate {
            switch,
            needed_bps: total.rate_bps(),
            allowed: allocation.rate,
        });
    }
    if total.burst() > allocation.burst {
        return Err(LokoRefusal::Burst {
            switch,
            needed: total.burst(),
            allowed: allocation.burst,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
