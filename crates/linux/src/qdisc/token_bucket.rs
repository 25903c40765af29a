//! A single token bucket (`tbf`). Sources: `net/sched/sch_tbf.c`, `linux/pkt_sched.h`.

use super::header;
use super::htb::OUTERMOST;
use super::traffic::{KIND, NEW_DISCIPLINE, OPTIONS, ROOT};
use crate::netlink::{Purpose, Request};

const PARAMETERS: u16 = 1;
const RATE: u16 = 4;
const BURST: u16 = 6;
const ETHERNET: u8 = 1;

/// One that is the outermost discipline of an interface.
pub(crate) struct Bucket {
    /// In bytes a second.
    pub(crate) rate: u64,
    /// In bytes; longer frames are cut, or dropped.
    pub(crate) burst: u32,
    /// How many bytes wait; if zero, another discipline holds what waits.
    pub(crate) queue: u32,
}

impl Bucket {
    /// Returns a request for it: `struct tc_tbf_qopt`.
    pub(crate) fn request(&self, purpose: Purpose, index: u32) -> Request {
        let mut parameters = rate_specification(self.rate).to_vec();
        let (peak, burst_below) = ([0; 12], 1_u32);
        parameters.extend_from_slice(&peak);
        for word in [self.queue, burst_below, 0] {
            parameters.extend_from_slice(&word.to_ne_bytes());
        }
        Request::new(NEW_DISCIPLINE, purpose, &header(index, OUTERMOST, ROOT))
            .with(KIND, b"tbf\0")
            .with_nested(OPTIONS, |options| {
                options.append(PARAMETERS, &parameters);
                options.append(RATE, &self.rate.to_ne_bytes());
                options.append(BURST, &self.burst.to_ne_bytes());
            })
    }
}

/// Returns what says a rate, in bytes a second: `struct tc_ratespec`.
pub(super) fn rate_specification(rate: u64) -> [u8; 12] {
    // Rates beyond 32 bits stand in an attribute as well.
    let rate = u32::try_from(rate).unwrap_or(u32::MAX);
    let mut bytes = [0; 12];
    bytes[1] = ETHERNET;
    bytes[8..12].copy_from_slice(&rate.to_ne_bytes());
    bytes
}
