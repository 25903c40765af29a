//! Measures the one-way latency through one switch on this machine, by kernel
//! stamps: first of a bare forwarder, which is the floor.
//!
//! `cargo run --release -p lab --example one_hop [FRAMES]`

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lab::netlink::Netlink;
use lab::veth::{self, End, Power};
use linux::clock;
use linux::namespace::Namespace;
use linux::port::PacketPort;
use linux::port::packet::RING_BYTES;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Wish};
use linux::sender::{ClassId, Sender};
use linux::tap::{Captured, Direction, Tap};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;

const SPACINGS: [Duration; 2] = [Duration::from_us(125), Duration::from_ms(1)];
const FRAME_BYTES: usize = 60;

fn main() {
    let frames = std::env::args()
        .nth(1)
        .map_or(8_000, |n| n.parse().expect("a number of frames"));
    let _session = scheduling::Session::raise(HIGHEST_NICE);
    println!(
        "{:<24} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}",
        "us", "every", "p50", "p99", "p99.9", "max", "lost"
    );
    for spacing in SPACINGS {
        // A thread of its own, since threads inherit where they may run.
        let latency = thread::spawn(move || run(spacing, frames)).join();
        report(
            "bare forwarder",
            spacing,
            &latency.expect("the run does not panic"),
        );
    }
}

fn run(spacing: Duration, frames: u32) -> Vec<Option<Duration>> {
    let [left, middle, right] = [(); 3].map(|()| Namespace::new().expect("run as root"));
    for namespace in [&left, &middle, &right] {
        veth::forbid_ipv6(namespace).expect("a fresh namespace");
    }
    join([(&left, "a", 11), (&middle, "p1", 12)]);
    join([(&right, "b", 13), (&middle, "p2", 14)]);
    let mut sender = left.run(|| Sender::open(11, ClassId { major: 0, minor: 0 }).expect("a link"));
    let mut taps = [
        left.run(|| Tap::open(11, RING_BYTES).expect("a link")),
        right.run(|| Tap::open(13, RING_BYTES).expect("a link")),
    ];
    let mut ports =
        [12, 14].map(|n| middle.run(|| PacketPort::open(n, RING_BYTES).expect("a link")));
    let stop = AtomicBool::new(false);
    let mut sent = vec![None; frames as usize];
    let mut latency = vec![None; frames as usize];
    thread::scope(|scope| {
        scope.spawn(|| {
            scheduling::apply(Wish {
                nice: HIGHEST_NICE,
                placement: Placement::Only(1),
            });
            while !stop.load(Ordering::Relaxed) {
                let [first, second] = &mut ports;
                first.receive(|captured| second.send(captured.bytes));
                second.receive(|captured| first.send(captured.bytes));
            }
        });
        scheduling::apply(Wish {
            nice: 0,
            placement: Placement::Only(0),
        });
        let start = clock::now() + Duration::from_ms(50);
        for number in 0..frames {
            clock::sleep_until(start + spacing * number);
            sender.send(&frame(number)).expect("an open link");
            let [left, right] = &mut taps;
            while left
                .take(|seen| note(seen, Direction::Out, &mut sent))
                .is_some()
            {}
            while right.take(|seen| pair(seen, &sent, &mut latency)).is_some() {}
        }
        clock::sleep_until(clock::now() + Duration::from_ms(50));
        let [left, right] = &mut taps;
        while left
            .take(|seen| note(seen, Direction::Out, &mut sent))
            .is_some()
        {}
        while right.take(|seen| pair(seen, &sent, &mut latency)).is_some() {}
        stop.store(true, Ordering::Relaxed);
    });
    latency
}

fn join(ends: [(&Namespace, &str, u32); 2]) {
    let mut netlink = Netlink::open().expect("rtnetlink");
    let last = |index: u32| u8::try_from(index).expect("a small index");
    let ends = ends.map(|(namespace, name, index)| End {
        namespace,
        name,
        index,
        mac: MacAddress([2, 0, 0, 0, 0, last(index)]),
    });
    veth::lay(&mut netlink, ends).expect("fresh names");
    for end in ends {
        let mut netlink = end.namespace.run(Netlink::open).expect("rtnetlink");
        veth::switch(&mut netlink, end.index, Power::On).expect("it was just made");
    }
}

fn frame(number: u32) -> [u8; FRAME_BYTES] {
    let mut frame = [0; FRAME_BYTES];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 13, 2, 0, 0, 0, 0, 11]);
    frame[12..14].copy_from_slice(&[0x88, 0xb5]);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(seen: Captured<'_>) -> Option<usize> {
    let bytes = seen.bytes.get(14..18)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(bytes)).ok()
}

fn note(seen: Captured<'_>, direction: Direction, times: &mut [Option<Instant>]) {
    if seen.direction == direction
        && let Some(time) = number(seen).and_then(|n| times.get_mut(n))
    {
        *time = Some(Instant::from_ns(seen.stamp.as_ns()));
    }
}

fn pair(seen: Captured<'_>, sent: &[Option<Instant>], latency: &mut [Option<Duration>]) {
    let Some(n) = number(seen) else { return };
    if let (Some(Some(sent)), Some(slot)) = (sent.get(n), latency.get_mut(n)) {
        *slot = Some(Instant::from_ns(seen.stamp.as_ns()).saturating_since(*sent));
    }
}

fn report(name: &str, spacing: Duration, latency: &[Option<Duration>]) {
    let mut seen: Vec<_> = latency.iter().flatten().map(|d| d.as_ns()).collect();
    seen.sort_unstable();
    let at = |per_mille: usize| {
        let place = (seen.len() * per_mille / 1000).min(seen.len().saturating_sub(1));
        let ns = seen.get(place).copied().unwrap_or(0);
        format!("{}.{:02}", ns / 1000, ns % 1000 / 10)
    };
    let lost = latency.len() - seen.len();
    println!(
        "{name:<24} {:>8} {:>8} {:>8} {:>8} {:>8} {lost:>7}",
        spacing.to_string(),
        at(500),
        at(990),
        at(999),
        at(1000)
    );
}
