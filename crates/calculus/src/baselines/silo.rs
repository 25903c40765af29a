//! Admission as Silo does it, SILO as restated in LOKO appendix A (S4-7).
//!
//! Each output port has two delays. The *queue bound* is the longest wait that
//! the admitted bursts can cause, the *queue capacity* the wait at which the
//! buffer `B` overflows:
//!
//! ```text
//! p = b / R     if r <= R, else unbounded    LOKO Eq. (9)
//! c = B / R                                  LOKO Eq. (10)
//! admitted if   p <= c at every port         LOKO Eq. (11)
//! promised      L = sum of c                 LOKO Eq. (12)
//! ```
//!
//! `b` is the sum of the bursts, `r` the sum of the rates and `R` the rate of the
//! port. A burst grows by the rate of its flow times the queue capacity at each
//! port behind it.
//!
//! # Differs from the paper
//!
//! Delays are rounded up to whole picoseconds, and so is the growth of bursts to
//! whole bits. `p <= c` is decided on `b <= B`, which is the same and exact.
//!
//! LOKO Eq. (20) prints 45 Mbit/s, but its text and its result need 450.
//!
//! # Left out
//!
//! The processor of the switch, which is why this promise breaks on the switches
//! of LOKO section 2.3. [`loko`](crate::loko) has it.

use thiserror::Error;
use units::{BitRate, DataSize, Delay};

use crate::min_plus::TokenBucket;

/// An output port as Silo sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputPort {
    /// The rate of the link behind it, `R`.
    pub rate: BitRate,
    /// What it can hold, `B`.
    pub buffer: DataSize,
}

impl OutputPort {
    /// Returns the wait at which the buffer overflows, LOKO Eq. (10).
    #[must_use]
    pub fn queue_capacity(&self) -> Delay {
        self.rate.time_to_send(self.buffer)
    }

    /// Returns the longest wait that `arrivals` cause, or `None` if they have none,
    /// LOKO Eq. (9).
    #[must_use]
    pub fn queue_bound(&self, arrivals: TokenBucket) -> Option<Delay> {
        if arrivals.rate_bps() > self.rate.as_bps() {
            return None;
        }
        self.rate.checked_time_to_send(arrivals.burst())
    }

    fn holds(&self, arrivals: TokenBucket) -> bool {
        arrivals.rate_bps() <= self.rate.as_bps() && arrivals.burst() <= self.buffer
    }
}

/// Why Silo refuses a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SiloRefusal {
    /// A port would carry more than its link, or queue more than it can hold.
    #[error("port {port} would hold {needed_bits} bits at {needed_bps} bit/s")]
    Port {
        /// The first port on the path that refuses.
        port: usize,
        /// The sum of the bursts with the new flow.
        needed_bits: u64,
        /// The sum of the rates with the new flow.
        needed_bps: u64,
    },
    /// The path names a port that is not there.
    #[error("there is no port {port}")]
    UnknownPort {
        /// The port named.
        port: usize,
    },
}

/// The ports of a network with what has been admitted at each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Silo {
    ports: Vec<OutputPort>,
    loads: Vec<TokenBucket>,
}

impl Silo {
    /// Starts with nothing admitted.
    #[must_use]
    pub fn new(ports: Vec<OutputPort>) -> Self {
        Self {
            loads: vec![TokenBucket::NOTHING; ports.len()],
            ports,
        }
    }

    /// Admits a flow to the ports of `path`, in their order, and returns the delay
    /// that it is promised, LOKO Eq. (11) and LOKO Eq. (12).
    ///
    /// # Errors
    ///
    /// Which port refuses, and what would be there.
    pub fn admit(&mut self, flow: TokenBucket, path: &[usize]) -> Result<Delay, SiloRefusal> {
        let mut arriving = flow;
        let mut promised = Delay::ZERO;
        let mut added = Vec::with_capacity(path.len());
        for &port in path {
            let known = self
                .ports
                .get(port)
                .ok_or(SiloRefusal::UnknownPort { port })?;
            let total = self.loads[port] + arriving;
            if !known.holds(total) {
                return Err(SiloRefusal::Port {
                    port,
                    needed_bits: total.burst().as_bits(),
                    needed_bps: total.rate_bps(),
                });
            }
            added.push((port, arriving));
            arriving = arriving.spread_by(known.queue_capacity());
            promised += known.queue_capacity();
        }
        for (port, share) in added {
            self.loads[port] += share;
        }
        Ok(promised)
    }

    /// Returns the longest wait at `port` for what has been admitted there, or
    /// `None` if there is no such port.
    #[must_use]
    pub fn queue_bound(&self, port: usize) -> Option<Delay> {
        let load = self.loads.get(port)?;
        self.ports.get(port)?.queue_bound(*load)
    }
}

#[cfg(test)]
mod tests;
