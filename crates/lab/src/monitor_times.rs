//! What it costs to watch where the kernel forwards: the processor time of a frame that
//! passes a monitor of its flow (MC-SDN Fig. 8), or of which somebody wants to know how long
//! it stays, and of one that is not watched, in turns.
//!
//! Frames are packets of messages (S2-3). What a monitor does for one that begins a
//! message is more than for one that goes on with it, so there is a time for each. The
//! frames are the same whether they are watched or not, and so is what the entry matches,
//! the headers up to UDP, so that both ways read them.

use std::io;

use linux::clock;
use units::Delay;
use wire::message_shim::{self, MessageShim};
use wire::redundancy_tag::{self, RedundancyTag};

use crate::bench_switch::{self, BenchError, BenchSwitch, MESSAGE_PORT, Watching};

/// Frames whose time is taken together.
const FRAMES: u32 = 20_000;
/// Bytes of the headers in front of the header of a message: Ethernet, IPv4, UDP.
const HEADERS: usize = 14 + 20 + 8;
/// Where a redundancy tag stands.
const TAG_AT: usize = 12;
/// The least length of a frame of a message.
pub const SHORTEST: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packets {
    /// One packet: each frame begins a message.
    One,
    /// More packets than are sent.
    Many,
}

/// The processor time of a frame, host and switch, the least of all runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MonitorTimes {
    pub alone: Delay,
    pub watched: Delay,
}

impl MonitorTimes {
    /// Returns what watching adds.
    #[must_use]
    pub fn added(&self) -> Delay {
        self.watched.saturating_sub(self.alone)
    }

    /// Returns the frames a second that are watched by those that are not.
    #[must_use]
    pub fn throughput(&self) -> f64 {
        self.alone.as_secs_f64() / self.watched.as_secs_f64()
    }
}

/// Builds a switch and measures what it takes to watch frames of so many bytes so.
///
/// # Errors
///
/// Without the privilege, or if the kernel does not forward here.
pub fn measure(
    watching: Watching,
    length: usize,
    packets: Packets,
    runs: usize,
) -> Result<MonitorTimes, BenchError> {
    let mut bench = BenchSwitch::start()?;
    let mut frame = message(length);
    if watching == Watching::Recovered {
        frame = numbered(&message(length - redundancy_tag::LENGTH));
    }
    let (mut alone, mut watched) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        bench.join_messages(Watching::Nobody)?;
        alone.push(time(&mut bench, &mut frame, packets));
        bench.join_messages(watching)?;
        watched.push(time(&mut bench, &mut frame, packets));
    }
    let least = |times: Vec<Delay>| times.into_iter().min();
    let none = || BenchError::Machine(io::Error::other("nothing was measured"));
    Ok(MonitorTimes {
        alone: least(alone).ok_or_else(none)?,
        watched: least(watched).ok_or_else(none)?,
    })
}

fn time(bench: &mut BenchSwitch, frame: &mut [u8], packets: Packets) -> Delay {
    let before = clock::spent();
    for number in 0..FRAMES {
        say(frame, number, packets);
        bench.flood(frame);
    }
    let spent = Delay::from(clock::spent().saturating_sub(before));
    Delay::from_ps(spent.as_ps() / u64::from(FRAMES))
}

/// Returns a datagram over IPv4 with room for the header of a message.
fn message(length: usize) -> Vec<u8> {
    let mut frame = bench_switch::frame(length.max(SHORTEST));
    let bytes = |count: usize| u16::try_from(count).unwrap_or(u16::MAX).to_be_bytes();
    let packet = bytes(frame.len() - 14);
    let datagram = bytes(frame.len() - 34);
    frame[12..18].copy_from_slice(&[0x08, 0, 0x45, 0, packet[0], packet[1]]);
    frame[22..24].copy_from_slice(&[64, 17]);
    frame[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    let to = MESSAGE_PORT.to_be_bytes();
    frame[36..40].copy_from_slice(&[to[0], to[1], datagram[0], datagram[1]]);
    frame
}

/// Returns the same frame with a redundancy tag.
fn numbered(frame: &[u8]) -> Vec<u8> {
    let tag = RedundancyTag::default().bytes();
    [&frame[..TAG_AT], &tag, &frame[TAG_AT..]].concat()
}

/// Makes a frame the packet of this number.
fn say(frame: &mut [u8], number: u32, packets: Packets) {
    let mut headers = HEADERS;
    if RedundancyTag::of_frame(frame).is_ok() {
        let [low, high, ..] = number.to_le_bytes();
        let sequence = u16::from_le_bytes([low, high]);
        let tag = RedundancyTag { sequence }.bytes();
        frame[TAG_AT..][..tag.len()].copy_from_slice(&tag);
        headers += tag.len();
    }
    let shim = MessageShim {
        message: match packets {
            Packets::One => number,
            Packets::Many => 0,
        },
        size_bytes: u32::MAX,
        sequence: number,
    };
    let mut header = Vec::with_capacity(message_shim::LENGTH);
    shim.emit(&mut header);
    frame[headers..][..header.len()].copy_from_slice(&header);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_packet_of_a_message() {
        let mut frame = message(SHORTEST);
        say(&mut frame, 7, Packets::One);

        let (shim, carried) = MessageShim::parse(&frame[HEADERS..]).unwrap();

        assert_eq!((shim.message, shim.sequence), (7, 7));
        assert_eq!(carried.len(), SHORTEST - HEADERS - message_shim::LENGTH);
    }

    #[test]
    fn a_monitor_that_takes_a_fiftieth_costs_a_fiftieth_of_the_throughput() {
        let times = MonitorTimes {
            alone: Delay::from_ns(4_900),
            watched: Delay::from_ns(5_000),
        };

        assert_eq!(times.added(), Delay::from_ns(100));
        assert!((times.throughput() - 0.98).abs() < 1e-9);
    }
}
