//! Asks and tells a driver by the requests of `ethtool`.
//!
//! Every request is a few words of 32 bits, of which the first names it; the
//! answer takes their place. Source: `linux/ethtool.h`.

use libc::c_ulong;
use units::BitRate;

use super::ReceiveOffload;

/// The number of all these requests, `SIOCETHTOOL`.
pub const REQUEST: c_ulong = 0x8946;

pub const GET_LINK: u32 = 0x0a;
pub const SET_RX_CHECKSUM: u32 = 0x15;
pub const SET_TX_CHECKSUM: u32 = 0x17;
pub const SET_SCATTER_GATHER: u32 = 0x19;
pub const SET_TSO: u32 = 0x1f;
pub const SET_GSO: u32 = 0x24;
pub const GET_FLAGS: u32 = 0x25;
pub const SET_FLAGS: u32 = 0x26;
pub const GET_GRO: u32 = 0x2b;
pub const SET_GRO: u32 = 0x2c;
const GET_SETTINGS: u32 = 0x01;
const GET_DRIVER: u32 = 0x03;
const GET_CHANNELS: u32 = 0x3c;

const SETTINGS_WORDS: usize = 11;
const DRIVER_WORDS: usize = 49;
const CHANNELS_WORDS: usize = 9;
/// Where the name stands among the words about a driver, and how long it is.
const NAME_WORDS: std::ops::Range<usize> = 1..9;
/// Where the place on a bus stands among the words about a driver.
const BUS_WORD: usize = 25;
/// What is said where the speed is not known, in the 16 bits that hold it.
const UNKNOWN: u16 = u16::MAX;

/// Returns the bit of an offload in the words that have one for it.
pub const fn flag(offload: ReceiveOffload) -> u32 {
    match offload {
        ReceiveOffload::Merging => 1,
        ReceiveOffload::LargeReceive => 1 << 15,
        ReceiveOffload::TagRemoval => 1 << 8,
    }
}

/// Asks for the speed and the medium.
pub const fn settings_request() -> [u32; SETTINGS_WORDS] {
    let mut request = [0; SETTINGS_WORDS];
    request[0] = GET_SETTINGS;
    request
}

/// Returns the speed, if it is known. It stands in two halves, in Mbit/s.
pub fn rate(settings: &[u32; SETTINGS_WORDS]) -> Option<BitRate> {
    let half = |word: usize| {
        let [a, b, _, _] = settings[word].to_ne_bytes();
        u16::from_ne_bytes([a, b])
    };
    let (low, high) = (half(3), half(7));
    if (low, high) == (UNKNOWN, UNKNOWN) || (low, high) == (UNKNOWN, 0) {
        return None;
    }
    let mbps = u64::from(high) << 16 | u64::from(low);
    BitRate::new(mbps * 1_000_000)
}

/// Asks for the driver and where it works.
pub const fn driver_request() -> [u32; DRIVER_WORDS] {
    let mut request = [0; DRIVER_WORDS];
    request[0] = GET_DRIVER;
    request
}

pub fn driver_name(driver: &[u32; DRIVER_WORDS]) -> String {
    let bytes = driver[NAME_WORDS].iter().flat_map(|it| it.to_ne_bytes());
    let name: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// Tells whether the interface sits on a bus, as one with a cable does.
pub fn is_on_a_bus(driver: &[u32; DRIVER_WORDS]) -> bool {
    let [first, _, _, _] = driver[BUS_WORD].to_ne_bytes();
    first != 0
}

/// Asks for the numbers of queues.
pub const fn channels_request() -> [u32; CHANNELS_WORDS] {
    let mut request = [0; CHANNELS_WORDS];
    request[0] = GET_CHANNELS;
    request
}

/// Returns how many queues receive, alone or combined with sending.
pub fn receive_queues(channels: &[u32; CHANNELS_WORDS]) -> u32 {
    let [_, _, _, _, _, receiving, _, _, combined] = *channels;
    (receiving + combined).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(low: u16, high: u16) -> [u32; SETTINGS_WORDS] {
        let mut settings = settings_request();
        let word = |half: u16| {
            let [a, b] = half.to_ne_bytes();
            u32::from_ne_bytes([a, b, 0, 0])
        };
        (settings[3], settings[7]) = (word(low), word(high));
        settings
    }

    #[test]
    fn a_rate_is_put_together_of_its_halves() {
        assert_eq!(rate(&settings(1_000, 0)), BitRate::new(1_000_000_000));
        assert_eq!(rate(&settings(0x86a0, 1)), BitRate::new(100_000_000_000));
    }

    #[test]
    fn a_rate_that_is_not_known_is_none() {
        assert_eq!(rate(&settings(0, 0)), None);
        assert_eq!(rate(&settings(UNKNOWN, UNKNOWN)), None);
        assert_eq!(rate(&settings(UNKNOWN, 0)), None);
    }

    #[test]
    fn queues_that_only_receive_and_combined_ones_count() {
        assert_eq!(receive_queues(&[GET_CHANNELS, 8, 8, 0, 8, 0, 0, 0, 4]), 4);
        assert_eq!(receive_queues(&[GET_CHANNELS, 8, 8, 0, 8, 2, 2, 0, 0]), 2);
        assert_eq!(receive_queues(&[GET_CHANNELS, 0, 0, 0, 0, 0, 0, 0, 0]), 1);
    }
}
