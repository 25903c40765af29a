//! What one end of a session is told to do.

use super::{Authentication, Neighbours};

/// Between which bytes packets stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encapsulation {
    /// Right behind the Ethernet header: for a neighbour that is a switch of ours.
    Ethernet,
    /// In datagrams over IPv4 (RFC 5881).
    Ipv4(Neighbours),
}

/// One end of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionConfig {
    /// How packets come and go.
    pub encapsulation: Encapsulation,
    /// How often this end would like to send.
    pub desired_min_tx_us: u32,
    /// How often it can take packets.
    pub required_min_rx_us: u32,
    /// After how many missing packets the neighbour takes the session for down.
    pub detect_multiplier: u8,
    /// How both prove who they are, if they do.
    pub authentication: Option<Authentication>,
    /// The longest time between two frames of any kind while flows go over the link that are
    /// to heal within a few of them; zero where nobody has to know. Between switches of ours.
    pub heart_beat_us: u32,
}

/// The shortest time between two packets that an end may be told: a switch that is asked for
/// more spends its time on that alone.
pub const INTERVAL_MIN_US: u32 = 100;
/// The longest one: a minute.
pub const INTERVAL_MAX_US: u32 = 60_000_000;
/// The longest time between two frames that count as heart-beats.
pub const HEART_BEAT_MAX_US: u32 = 10_000;

impl SessionConfig {
    /// Returns whether its numbers make sense.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let interval = INTERVAL_MIN_US..=INTERVAL_MAX_US;
        self.detect_multiplier > 0
            && interval.contains(&self.desired_min_tx_us)
            && interval.contains(&self.required_min_rx_us)
            && (self.heart_beat_us == 0
                || self.encapsulation == Encapsulation::Ethernet
                    && (INTERVAL_MIN_US..=HEART_BEAT_MAX_US).contains(&self.heart_beat_us))
    }
}
