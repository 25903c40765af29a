//! How long a signal takes from one switch into the next.
//!
//! A signal goes ahead of all frames that wait, but not of those that the port has
//! begun with or handed to hardware, nor of signals before it:
//!
//! ```text
//! (blocking + equal + (ahead + 1) * signal) / C + propagation + processing
//! ```
//!
//! with `C` the rate of the link. It is MC-SDN Eq. (2), with its queueing analysed.

use units::{BitRate, DataSize, Delay};

/// A signal on a cable: 58 bytes (S2-4), padded to 60, check sequence, preamble and
/// gap (IEEE 802.3 clause 3.2.7).
pub const SIGNAL_ON_WIRE: DataSize = DataSize::from_bytes(84);

/// How many signals may be ahead of one at a port. In an era a switch tells a neighbour
/// each level once, when it enters it, and answers each lesser one that it hears of once:
/// seven levels twice; and a heart-beat of each of the two modes before and after. A port of
/// our core has one that waits, the newest; `sim` holds the switch to it.
pub const SIGNALS_AHEAD: u64 = 16;

/// What a signal meets from one switch into the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignalHop {
    /// The rate of the link.
    pub rate: BitRate,
    /// How long a bit is under way.
    pub propagation: Delay,
    /// What the signal can no longer overtake, on the wire: the largest frame of the
    /// port, and what driver and hardware hold behind its queues.
    pub blocking: DataSize,
    /// What of the most urgent queue may be ahead of it, on the wire: zero where
    /// signals go ahead of frames.
    pub equal: DataSize,
    /// How many signals may be ahead of it, see [`SIGNALS_AHEAD`].
    pub signals_ahead: u64,
    /// The longest time from its last bit at the next switch until it waits at all
    /// further ports there.
    pub processing: Delay,
}

impl SignalHop {
    /// Returns the longest time from the signal's being handed to the port until the
    /// next switch has handed it on, or `None` if that is longer than 213 days.
    #[must_use]
    pub fn bound(&self) -> Option<Delay> {
        let signals = u128::from(SIGNAL_ON_WIRE.as_bits()) * (u128::from(self.signals_ahead) + 1);
        let frames = u128::from(self.blocking.as_bits()) + u128::from(self.equal.as_bits());
        let bits = u64::try_from(signals + frames).ok()?;
        let sending = self.rate.checked_time_to_send(DataSize::from_bits(bits))?;
        sending
            .checked_add(self.propagation)?
            .checked_add(self.processing)
    }
}
