//! A client and a server over a link that takes time and loses what it is told to.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use units::{BitRate, Duration, Instant};
use wire::ethernet::{MacAddress, wire_size};

use super::super::Addresses;
use super::{Client, LONGEST_FRAME, MmsClientConfig, Server};
use crate::Contract;
use crate::token_bucket::{Conformance, PacingBucket};

const LATENCY: Duration = Duration::from_us(100);
const PERIOD: Duration = Duration::from_ms(10);

#[test]
fn every_request_is_answered_in_its_period() {
    let (client, frames) = talk(Duration::from_ms(1_000), |_| false);

    // The first waits until the association is there, which takes less than a period.
    assert_eq!((client.answers(), client.skipped()), (100, 0));
    assert_eq!(client.given_up(), 0);
    // SYN, SYN-ACK; twice for the association, and for each request: a message, its
    // answer, and an acknowledgement where nothing else follows at once.
    assert!((2 + 4 + 300..=2 + 4 + 302).contains(&frames), "{frames}");
}

#[test]
fn what_is_lost_is_sent_again() {
    for lost in 0..12 {
        let (client, _) = talk(Duration::from_ms(1_000), |frame| frame == lost);

        assert_eq!(client.given_up(), 0, "frame {lost}");
        let rest = client.answers() + client.skipped();
        assert!((99..=100).contains(&rest), "frame {lost}: {rest}");
        // A lost acknowledgement alone costs nothing.
        assert!(client.skipped() <= 20, "frame {lost}: {}", client.skipped());
    }
}

#[test]
fn a_dead_connection_is_given_up_and_another_opened() {
    // Six times a message, and the first two times that the next connection is asked for.
    let (client, _) = talk(Duration::from_secs(30), |frame| (100..108).contains(&frame));

    assert_eq!(client.given_up(), 1);
    assert!(client.answers() > 1_500, "{}", client.answers());
}

/// The contract of a scenario, by which admission goes.
#[test]
fn a_contract_is_kept_whatever_is_lost_and_no_frame_is_larger_than_said() {
    let contract = Contract {
        rate: BitRate::from_bps(300_000),
        burst: wire_size(LONGEST_FRAME),
    };
    let mut client = Client::new(&MmsClientConfig {
        contract: Some(contract),
        ..config(Duration::from_secs(5))
    });
    let mut server = Server::new(addresses(), 200);
    let mut bucket = PacingBucket::new(contract);
    let (mut frame, mut answer) = (Vec::new(), Vec::new());
    let mut longest = 0;

    for number in 0.. {
        let Some(due) = client.next_due() else { break };
        let Some(emitted) = client.emit(due, &mut frame) else {
            continue;
        };
        longest = longest.max(emitted.length);
        let kept = bucket.take(due, wire_size(emitted.length));
        assert_eq!(kept, Conformance::Within, "frame {number}");
        let is_lost = number % 7 == 3;
        if !is_lost && server.received(&frame, &mut answer).is_some() {
            client.received(due, &answer);
        }
    }

    assert_eq!(longest, LONGEST_FRAME);
    assert!(client.answers() > 10, "{}", client.answers());
}

proptest! {
    #[test]
    fn whatever_is_lost_the_client_goes_on(
        lost in prop::collection::btree_set(0_u64..400, 0..20),
    ) {
        let (client, _) = talk(Duration::from_secs(60), |frame| lost.contains(&frame));

        prop_assert!(client.answers() > 100, "{}", client.answers());
    }

    #[test]
    fn no_frame_makes_either_panic(
        mut frame in prop::collection::vec(any::<u8>(), 60..120),
        is_segment: bool,
    ) {
        let mut server = Server::new(addresses(), 10);
        let mut client = Client::new(&config(Duration::from_secs(1)));
        let (mut ours, mut answer) = (Vec::new(), Vec::new());
        client.emit(Instant::ZERO, &mut ours);
        if is_segment {
            frame[..54].copy_from_slice(&ours[..54]);
        }
        server.received(&frame, &mut answer);
        client.received(Instant::ZERO, &frame);
    }
}

/// Lets them talk, and loses the frames that `is_lost` names by their number. Returns
/// the client and how many frames were sent.
fn talk(length: Duration, is_lost: impl Fn(u64) -> bool) -> (Client, u64) {
    let mut client = Client::new(&config(length));
    let mut server = Server::new(addresses(), 200);
    let (mut frame, mut answer) = (Vec::new(), Vec::new());
    let mut on_the_way: Option<(Instant, Vec<u8>)> = None;
    let mut frames = 0;
    loop {
        let due = client.next_due();
        match (&on_the_way, due) {
            (Some((at, _)), due) if due.is_none_or(|due| *at <= due) => {
                let (at, bytes) = on_the_way.take().unwrap();
                client.received(at, &bytes);
            }
            (_, Some(due)) => {
                if client.emit(due, &mut frame).is_none() {
                    continue;
                }
                frames += 1;
                if is_lost(frames - 1) || server.received(&frame, &mut answer).is_none() {
                    continue;
                }
                frames += 1;
                if !is_lost(frames - 1) {
                    on_the_way = Some((due + LATENCY * 2u64, answer.clone()));
                }
            }
            (_, None) => return (client, frames),
        }
    }
}

fn config(length: Duration) -> MmsClientConfig {
    MmsClientConfig {
        addresses: addresses(),
        period: PERIOD,
        start: Instant::ZERO,
        until: Some(Instant::ZERO + length),
        contract: None,
    }
}

fn addresses() -> Addresses {
    Addresses {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        vlan: None,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 40_000,
        destination_port: 102,
        dscp: 0,
    }
}
