//! How late the timer is by which the kernel paces a port: a queue that never empties,
//! and what passes between two frames beyond what one takes on the link.

use std::fs::OpenOptions;
use std::io::{self, Write};

use lab::veth::{self, Power, VethEnd};
use linux::clock;
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use linux::qdisc::{self, Length, PacedLink, Qdisc, Shape};
use linux::sender::{Queued, Sender};
use linux::tap::Tap;
use measure::statistics::Distribution;
use units::{BitRate, Duration};
use wire::ethernet::{MacAddress, wire_size};

/// The rate at which a timer matters most: a frame takes longer than it is late.
pub const RATE: BitRate = BitRate::from_mbps(100);
/// The length of the frames, without check sequence.
pub const LENGTH: usize = 1514;
/// How many frames wait: some milliseconds of the link.
const QUEUE: u32 = 64;
const RING_BYTES: usize = 1 << 22;
const INDICES: [u32; 2] = [11, 12];
const NAMES: [&str; 2] = ["left", "right"];
/// The last part of their addresses.
const LAST: [u8; 2] = [1, 2];

/// Whether processors may sleep while nobody wants them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// As the machine has it.
    Asleep,
    /// Never: they wait for work with their eyes open, which needs no time to wake up and
    /// takes all the power that they have.
    Awake,
}

/// Watches the pace for so long, and returns how late frames left.
///
/// # Errors
///
/// If the machine has no namespaces or no `htb`, or may not be kept awake.
pub fn lateness(idle: Idle, watch: Duration) -> io::Result<Distribution> {
    let _awake = match idle {
        Idle::Asleep => None,
        Idle::Awake => {
            // What is written holds as long as the file is open (`pm_qos_interface.txt`).
            let mut file = OpenOptions::new()
                .write(true)
                .open("/dev/cpu_dma_latency")?;
            file.write_all(&0_i32.to_ne_bytes())?;
            Some(file)
        }
    };
    let ends = [Namespace::new()?, Namespace::new()?];
    lay(&ends)?;
    let [left, right] = &ends;
    let shape = Shape {
        rate: RATE,
        length: Length::Frames(QUEUE),
    };
    let _paced = left.run(|| {
        PacedLink::take(&Interface::named(NAMES[0])?, Qdisc::Htb, shape).map_err(io::Error::other)
    })?;
    let mut sender = left.run(|| Sender::open(INDICES[0], qdisc::class(0)))?;
    let mut tap = right.run(|| Tap::open(INDICES[1], RING_BYTES))?;
    let frame = frame();
    let takes = RATE.time_to_send(wire_size(LENGTH)).round_up();
    let mut late = Distribution::default();
    let (mut before, end) = (None, clock::now() + watch);
    while clock::now() < end {
        while sender.send(&frame)? == Queued::Taken {}
        while let Some(stamp) = tap.take(|captured| captured.stamp) {
            if let Some(before) = before.replace(stamp) {
                let between = Duration::from_ns(stamp.as_ns().saturating_sub(before.as_ns()));
                late.record(between.saturating_sub(takes));
            }
        }
        clock::sleep_until(clock::now() + takes * 8_u64);
    }
    Ok(late)
}

fn lay(ends: &[Namespace; 2]) -> io::Result<()> {
    let mut netlink = ends[0].run(Netlink::open)?;
    let end = |side: usize| VethEnd {
        namespace: &ends[side],
        name: NAMES[side],
        index: INDICES[side],
        mac: MacAddress([2, 0, 0, 0, 0, LAST[side]]),
    };
    veth::lay(&mut netlink, [end(0), end(1)])?;
    for side in 0..2 {
        let mut netlink = ends[side].run(Netlink::open)?;
        veth::switch(&mut netlink, INDICES[side], Power::On)?;
    }
    for side in 0..2 {
        ends[side].run(|| Interface::named(NAMES[side])?.await_use())?;
    }
    Ok(())
}

fn frame() -> Vec<u8> {
    let mut frame = vec![0; LENGTH];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    // An experimental EtherType of IEEE Std 802.
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame
}
