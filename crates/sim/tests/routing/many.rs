//! As many routes as there are in practice.

use controller::northbound::{IpPrefix, RoutePart};
use sim::Engine;
use sim::parts::Fault;
use units::{Duration, Instant};

use crate::blueprint::Blueprint;
use crate::peers::Routed;

const ENTRIES: usize = 1 << 17;
/// Below so many bytes of memory a prefix, by the size of what is kept (S1-10).
const BYTES_A_PREFIX: u64 = 200;

/// Returns so many prefixes of which none covers another one, by turns of three routers.
fn prefixes(count: u32) -> Vec<(IpPrefix, Option<usize>)> {
    let prefix = |number: u32| {
        let [_, a, b, c] = number.to_be_bytes();
        let text = format!("{}.{b}.{c}.0/24", 20 + a);
        (text.parse().unwrap(), Some(1 + number as usize % 3))
    };
    (0..count).map(prefix).collect()
}

/// Loads routes by a snapshot. Returns how long that took, in virtual time, until all switches
/// have confirmed them.
fn loaded(count: u32) -> (Routed, Duration) {
    let mut routed = Routed::new(Blueprint::one_flow(), Engine::Tables, ENTRIES);
    routed.begin(|_| {});
    routed.pass(Duration::from_ms(100));
    let begun = routed.world.now();
    let all = prefixes(count);
    let mut parts = all.chunks(4_096).peekable();
    let mut is_first = true;
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        routed.change(part, RoutePart::Snapshot { is_first, is_last });
        is_first = false;
    }
    let took = settled(&mut routed, begun);
    (routed, took)
}

/// Waits until all switches have confirmed all.
fn settled(routed: &mut Routed, begun: Instant) -> Duration {
    loop {
        let status = routed.status();
        let is_behind = status
            .ingresses
            .iter()
            .any(|it| it.waiting + it.unconfirmed > 0);
        if !is_behind && status.is_complete {
            return routed.world.now().saturating_since(begun);
        }
        let next = routed.world.now() + Duration::from_us(200);
        routed.world.run_until(next);
    }
}

#[test]
fn a_cut_inside_touches_no_entry_of_ten_thousand_prefixes_and_takes_as_long_as_with_one() {
    let mut took = Vec::new();
    for count in [1, 10_000] {
        let (mut routed, _) = loaded(count);
        routed.pass(Duration::from_ms(100));
        let before = routed.status();
        // The link by which packets go to the router of the first prefix.
        let destination = "20.0.0.1".parse().unwrap();
        let from = 2;
        let mut lost = Vec::new();
        for link in 0..4 {
            routed.fault(Fault::Cut { link });
            let begun = routed.world.now();
            let mut probes = 0;
            while routed.probe(from, destination).is_empty() {
                probes += 1;
                assert!(probes < 100, "no packet arrives");
            }
            lost.push(routed.world.now().saturating_since(begun));
            routed.fault(Fault::Heal { link });
            routed.pass(Duration::from_ms(100));
        }
        let after = routed.status();

        assert_eq!(after.ingresses, before.ingresses, "{count}");
        assert_eq!(after.entries, count);
        took.push(lost);
    }
    assert_eq!(took[0], took[1], "as quick with many as with one");
}

#[test]
fn a_hundred_thousand_prefixes_are_loaded_and_one_is_changed() {
    let (mut routed, took) = loaded(100_000);
    let status = routed.status();
    assert_eq!(
        (status.prefixes, status.entries, status.refused),
        (100_000, 100_000, 0)
    );
    let bytes = status.memory_bytes / u64::from(status.prefixes);
    assert!(bytes < BYTES_A_PREFIX, "{bytes} bytes a prefix");
    assert!(status.ingresses.iter().all(|it| it.sent == 100_000));
    // Routers answer who asks where they are.
    routed.pass(Duration::from_ms(100));

    let begun = routed.world.now();
    let changed = "20.0.0.0/24".parse().unwrap();
    routed.change(&[(changed, Some(3))], RoutePart::Increment);
    let one = settled(&mut routed, begun);

    println!("100,000 prefixes loaded in {took} of virtual time, one changed in {one}");
    println!("{bytes} bytes a prefix");
    assert!(took < Duration::from_secs(10));
    for destination in ["20.0.0.9", "21.0.9.1", "20.255.255.255", "21.134.159.1"] {
        routed.assert_routed(2, destination.parse().unwrap());
    }
    let sent = routed.status().ingresses;
    assert!(sent.iter().all(|it| it.sent == 100_001), "{sent:?}");
}
