//! What a device has to be so that a tester can be connected to it.

use std::sync::Arc;

use measure::trial::PortIndex;
use units::{BitRate, Duration, Instant};

/// What happens to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The last bit of a frame arrived at a port.
    Frame(PortIndex, Arc<[u8]>),
    /// The last bit of a frame that carries these bytes of the control connection
    /// arrived: at most [`SEGMENT_MAX`](super::SEGMENT_MAX) of them.
    Control(Arc<[u8]>),
    /// A cable was cut, or is whole again.
    Carrier(PortIndex, Carrier),
    /// Nothing, but [`Device::deadline`] has come.
    Timeout,
}

/// Whether a cable carries anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Present,
    Lost,
}

/// What a device sends, and when the first bit of the preamble leaves: not before
/// the device said it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// When the first bit of the preamble leaves.
    pub begins: Instant,
    pub sent: SentFrame,
}

/// A frame that a device sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SentFrame {
    Frame(PortIndex, Arc<[u8]>),
    /// With these bytes of the control connection.
    Control(Arc<[u8]>),
}

/// A device in virtual time. Drive it in a loop: tell it what happens, poll it until
/// there is nothing, come back at its deadline.
pub trait Device: std::fmt::Debug + Send {
    /// Returns what it is, in words.
    fn name(&self) -> String;

    /// Returns the rates of its ports; their place is the port.
    fn ports(&self) -> Vec<BitRate>;

    /// Returns the rate of the cable to its agent.
    fn control_rate(&self) -> BitRate;

    /// Returns how far apart messages have to be so that none is lost.
    fn control_spacing(&self) -> Duration {
        Duration::ZERO
    }

    /// Takes what happens, when it happens; never earlier than a call before.
    fn handle(&mut self, now: Instant, happening: &Happening);

    /// Returns the next thing that it sends.
    fn poll(&mut self) -> Option<Departure>;

    /// Returns when it wants to be called if nothing happens before.
    fn deadline(&self) -> Instant;
}
