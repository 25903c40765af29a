//! Real frames through real namespaces. Each test makes its own and touches
//! nothing outside of them; without the privilege it says so and is skipped, or
//! fails where `TAKTOS_REQUIRE_NAMESPACES` is set.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agent;
mod arrivals;
mod cable;
mod departures;
mod hops;
mod impaired;
mod keeper;
mod killed;
mod known_switch;
mod methods;
mod modes;
mod network;
mod pacing;
mod queues;
mod reserved_queues;
mod switch;
mod tester;
mod world;

use std::io::{self, Write};
use std::thread;

use lab::switches::{Carried, Forwarding, kernel_refuses};
use lab::veth::{self, Power, VethEnd};
use linux::clock;
use linux::interface::Interface;
use linux::namespace::Namespace;
use linux::netlink::Netlink;
use linux::tap::{Direction, Tap};
use units::{Duration, Instant};
use wire::ethernet::MacAddress;

/// An experimental EtherType of IEEE Std 802.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// How long a test waits for what must come, before it fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// Returns a namespace, or says loudly why not.
///
/// With `TAKTOS_REQUIRE_NAMESPACES` set, as in continuous integration, a skip
/// is a failure.
fn namespace_or_skip(test: &str) -> Option<Namespace> {
    match Namespace::new() {
        Ok(namespace) => Some(namespace),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            let notice = format!(
                "SKIPPED {test}: needs CAP_NET_ADMIN and CAP_SYS_ADMIN. Run it as root, or with:\n    \
                 unshare --user --map-root-user --net cargo test"
            );
            assert!(
                std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_none(),
                "{notice}"
            );
            // Not `eprintln!`: the test harness would swallow it.
            let _ = writeln!(io::stderr(), "\n{notice}\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Tells whether the kernel forwards for switches of this process, or says loudly
/// that it does not, as in a user namespace.
fn kernel_forwards(test: &str) -> bool {
    let refusal = kernel_refuses();
    if let Some(refusal) = &refusal {
        let _ = writeln!(
            io::stderr(),
            "\nSKIPPED {test}, as forwarded by the kernel: {refusal}\n"
        );
    }
    refusal.is_none()
}

/// Does `work` with switches that are carried by packet sockets, and with those that
/// the kernel forwards for.
fn over_each_engine(test: &str, work: impl Fn(Forwarding)) {
    if namespace_or_skip(test).is_none() {
        return;
    }
    work(Forwarding::Loop(Carried::Packet));
    if kernel_forwards(test) {
        work(Forwarding::Kernel);
    }
}

/// One end of a test cable that is switched on.
struct Plugged {
    namespace: Namespace,
    netlink: Netlink,
    index: u32,
}

/// Joins two namespaces by a cable whose ends are called `left` and `right`, and
/// switches it on.
fn joined(left: Namespace, right: Namespace) -> [Plugged; 2] {
    for namespace in [&left, &right] {
        veth::forbid_ipv6(namespace).unwrap();
    }
    let mut netlink = left.run(Netlink::open).unwrap();
    let end = |namespace, name, index, last| VethEnd {
        namespace,
        name,
        index,
        mac: MacAddress([2, 0, 0, 0, 0, last]),
    };
    veth::lay(
        &mut netlink,
        [end(&left, "left", 11, 1), end(&right, "right", 12, 2)],
    )
    .unwrap();
    let plugged = [(left, 11), (right, 12)].map(|(namespace, index)| {
        let mut netlink = namespace.run(Netlink::open).unwrap();
        veth::switch(&mut netlink, index, Power::On).unwrap();
        Plugged {
            namespace,
            netlink,
            index,
        }
    });
    for (end, name) in plugged.iter().zip(["left", "right"]) {
        let interface = end.namespace.run(|| Interface::named(name).unwrap());
        interface.await_use().unwrap();
    }
    plugged
}

/// Returns a frame of `length` bytes that ends in `mark`.
fn frame(length: usize, mark: u32) -> Vec<u8> {
    let mut frame = vec![0; length];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHER_TYPE);
    frame[length - 4..].copy_from_slice(&mark.to_be_bytes());
    frame
}

/// Waits for `ready` to return something.
#[track_caller]
fn await_some<R>(what: &str, mut ready: impl FnMut() -> Option<R>) -> R {
    let give_up = clock::now() + PATIENCE;
    loop {
        if let Some(result) = ready() {
            return result;
        }
        assert!(
            clock::now() < give_up,
            "{what} did not come within {PATIENCE}"
        );
        thread::yield_now();
    }
}

/// Waits for the next frame that goes by `tap` in `direction`.
#[track_caller]
fn next_frame(tap: &mut Tap, direction: Direction) -> (Vec<u8>, Instant) {
    await_some("a frame", || {
        tap.take(|captured| {
            (captured.direction == direction).then(|| {
                (
                    captured.bytes.to_vec(),
                    Instant::from_ns(captured.stamp.as_ns()),
                )
            })
        })
        .flatten()
    })
}
