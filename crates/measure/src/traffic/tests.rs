//! Every source keeps its contract, however late it is called.

use std::net::Ipv4Addr;

use proptest::prelude::*;
use units::{BitRate, DataSize, Duration};
use wire::ethernet::{MacAddress, VlanTag, wire_size};
use wire::message_shim::MessageShim;

use super::*;
use crate::Contract;
use crate::FlowIndex;
use crate::identity::{Catalogue, FlowKey, Numbering, identify};
use crate::token_bucket::{Conformance, PacingBucket};

/// A tag of 4 bytes more than the 122 of an untagged frame with a name of ten
/// letters.
const SV_LENGTH: usize = 126;

#[test]
fn several_samples_share_a_frame_and_count_on_through_the_second() {
    let config = sampled_values::SampledValuesConfig {
        rate: sampled_values::METERING_RATE,
        contract: None,
        until: None,
        ..sampled_values_config()
    };
    let form = sampled_values::SampleLayout::METERING;
    let mut source = Source::SampledValues(SampledValues::in_form(&config, form));
    let begin = source.next_due().unwrap();
    let mut frame = Vec::new();

    let mut counts = Vec::new();
    for number in 0..2_401 {
        let emitted = source.emit(source.next_due().unwrap(), &mut frame).unwrap();
        assert_eq!(emitted.sequence, number * 6);
        let (_, payload) = wire::ethernet::Header::parse(&frame).unwrap();
        let (_, samples) = wire::sampled_values::SampledValues::parse(payload).unwrap();
        counts.extend(samples.asdus.map(|asdu| asdu.unwrap().smp_cnt));
    }

    let expected: Vec<u16> = (0..14_400).chain(0..6).collect();
    assert_eq!(counts, expected);
    assert_eq!(
        source.next_due().unwrap() - begin,
        Duration::from_ns(1_000_416_666)
    );
}

#[test]
fn a_periodic_source_called_in_time_sends_at_every_slot() {
    let mut source = udp(udp::Pattern::Bursts {
        period: Duration::from_ms(1),
        frames: 1,
    });

    let sent = run(&mut source, 100, |due| due);

    let times: Vec<u64> = sent.iter().map(|frame| frame.at.as_ns()).collect();
    let expected: Vec<u64> = (0..100).map(|slot| slot * 1_000_000).collect();
    assert_eq!(times, expected);
    assert_eq!(source.skipped(), 0);
}

#[test]
fn a_greedy_source_sends_its_burst_and_then_at_its_rate() {
    let mut source = udp(udp::Pattern::Greedy);

    let sent = run(&mut source, 50, |due| due);

    let Contract { rate, burst } = udp_contract();
    let total: DataSize = sent.iter().map(|frame| wire_size(frame.length)).sum();
    let elapsed = sent.last().unwrap().at.saturating_since(Instant::ZERO);
    let allowed = burst + rate.most_in(elapsed.into());
    assert!(total <= allowed && allowed.saturating_sub(total) < wire_size(306));
}

/// S2-1, S2-2.
#[test]
fn a_message_is_split_into_packets_that_carry_all_of_it() {
    let addresses = addresses();
    let split = message::split(&addresses, 8_000);
    let mut source = message(8_000, Duration::from_ms(25));

    let sent = run(&mut source, 12, |due| due);

    assert_eq!(split.packets, 6);
    let payload: usize = sent[..6]
        .iter()
        .map(|frame| frame.length - addresses.shortest_frame())
        .sum();
    assert_eq!(payload, 8_000);
    assert_eq!(sent[6].due, Instant::ZERO + Duration::from_ms(25));
    let numbers: Vec<u64> = sent.iter().map(|frame| frame.sequence).collect();
    assert_eq!(numbers, (0..12).collect::<Vec<_>>());
}

/// S2-1.
#[test]
fn a_source_that_sends_otherwise_goes_on_with_its_numbers() {
    let at = |ms| Instant::ZERO + Duration::from_ms(ms);
    let config = |start, until, period_ms, message_length| message::MessageConfig {
        addresses: addresses(),
        message_length,
        period: Duration::from_ms(period_ms),
        contract: message_contract(),
        start,
        until,
    };
    let usual = MessageSource::new(&config(at(0), Some(at(150)), 100, 1_000));
    let quick = usual.then(&config(at(150), None, 20, 3_000));
    let mut source = Source::Message(quick);

    let sent = run(&mut source, 8, |due| due);

    let due: Vec<u64> = sent
        .iter()
        .map(|frame| frame.due.as_ns() / 1_000_000)
        .collect();
    assert_eq!(due, [0, 100, 150, 150, 150, 170, 170, 170]);
    let numbers: Vec<u64> = sent.iter().map(|frame| frame.sequence).collect();
    assert_eq!(numbers, (0..8).collect::<Vec<_>>());
    let shim = |frame: &Sent| {
        let shim = MessageShim::parse(&frame.bytes[14 + 4 + 28..]).unwrap().0;
        (shim.message, shim.size_bytes)
    };
    assert_eq!(shim(&sent[1]), (1, 1_000));
    assert_eq!([shim(&sent[2]), shim(&sent[5])], [(2, 3_000), (3, 3_000)]);
}

#[test]
fn frames_are_identified_as_what_they_were_sent_as() {
    for mut source in [
        udp(udp::Pattern::Greedy),
        message(3_000, Duration::from_ms(5)),
    ] {
        for frame in run(&mut source, 20, |due| due) {
            let identity = identify(&frame.bytes).unwrap();

            let key = FlowKey::Datagram {
                source: addresses().source,
                destination: addresses().destination,
                port: addresses().destination_port,
            };
            assert_eq!((identity.key, identity.number), (key, frame.sequence));
        }
    }
}

#[test]
fn the_header_of_a_datagram_is_what_rfc_791_asks_for() {
    let mut source = udp(udp::Pattern::Greedy);

    let frame = run(&mut source, 1, |due| due).remove(0).bytes;

    let header = &frame[18..38];
    assert_eq!(header[..4], [0x45, 46 << 2, 0x01, 0x20]);
    let sum: u32 = header
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])))
        .sum();
    assert_eq!((sum >> 16) + (sum & 0xffff), 0xffff);
}

#[test]
fn the_samples_of_a_stream_wrap_every_second_and_run_on() {
    let Source::SampledValues(source) = sampled_values() else {
        unreachable!("what the function makes")
    };
    assert_eq!(source.frame_length(), SV_LENGTH);
    let mut catalogue = Catalogue::default();
    let key = FlowKey::SampledValues {
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, 1]),
        application: 0x4000,
    };
    let numbering = Numbering::EverySecond {
        rate: 4_000,
        start: Instant::ZERO,
        haste: None,
    };
    assert_eq!(catalogue.add(key, FlowIndex(7), numbering), None);

    for frame in run(&mut sampled_values(), 9_000, |due| due) {
        let arrived = frame.at + Duration::from_ms(300);
        assert_eq!(
            catalogue.identify(&frame.bytes, arrived),
            Some((FlowIndex(7), frame.sequence))
        );
    }
}

#[test]
fn a_flood_fills_a_bottleneck_and_backs_off_from_its_losses() {
    let rate = BitRate::from_mbps(100);

    let outcome = flood_through(rate, 40, Duration::from_secs(1));

    let share = outcome.delivered.as_bits() * 100 / rate.as_bps();
    assert!(
        (85..=100).contains(&share),
        "{share} % of the bottleneck used"
    );
    assert!(outcome.dropped > 0);
    assert!(outcome.dropped * 20 < outcome.sent);
}

#[test]
fn a_flood_comes_back_after_an_interruption() {
    let mut source = flood();
    let sent = run(&mut source, 32, |due| due);
    assert_eq!(sent.len(), 32);

    let again = source.next_due().unwrap();
    let mut frame = Vec::new();

    assert_eq!(again, Instant::ZERO + Duration::from_ms(100));
    assert!(source.emit(again, &mut frame).is_some());
}

proptest! {
    /// S4-8.
    #[test]
    fn every_source_keeps_its_contract_however_late_it_is_called(
        which in 0usize..6,
        lateness in prop::collection::vec((0u64..100, 0u64..4_000_000), 200),
    ) {
        let (mut source, contract) = contracted(which);
        let mut bucket = PacingBucket::new(contract);
        let mut late = lateness.into_iter().map(|(often, ns)| match often {
            0..80 => 0,
            80..95 => ns / 20,
            _ => ns,
        });

        let sent = run(&mut source, 200, |due| due + Duration::from_ns(late.next().unwrap_or(0)));

        let mut last = None;
        for frame in &sent {
            prop_assert_eq!(bucket.take(frame.at, wire_size(frame.length)), Conformance::Within);
            prop_assert!(frame.due <= frame.at);
            prop_assert!(Some(frame.sequence) > last);
            prop_assert_eq!(identify(&frame.bytes).unwrap().number, frame.sequence % which_turn(which));
            last = Some(frame.sequence);
        }
    }

    #[test]
    fn samples_are_as_long_as_wanted_or_a_little_shorter(length in 60usize..1518) {
        let source = SampledValues::sized(&sampled_values_config(), length).unwrap();

        let mut source = Source::SampledValues(source);
        let frame = run(&mut source, 1, |due| due).remove(0);
        prop_assert!(frame.length <= length && frame.length + 4 >= length);
        prop_assert_eq!(identify(&frame.bytes).unwrap().number, 0);
    }

    #[test]
    fn no_bytes_are_taken_amiss(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let mut source = flood();
        let mut answer = Vec::new();

        source.received(Instant::ZERO, &bytes);
        prop_assert_eq!(Acknowledger::new(addresses()).received(&bytes, &mut answer), None);
        let _ = identify(&bytes);
    }
}

struct Sent {
    at: Instant,
    due: Instant,
    sequence: u64,
    length: usize,
    bytes: Vec<u8>,
}

/// Calls a source whenever `called_at` says for the time it asked for, until it
/// has sent `most` frames or waits for an answer.
fn run(
    source: &mut Source,
    most: usize,
    mut called_at: impl FnMut(Instant) -> Instant,
) -> Vec<Sent> {
    let (mut sent, mut now, mut frame) = (Vec::new(), Instant::ZERO, Vec::new());
    while let Some(due) = source.next_due()
        && sent.len() < most
    {
        now = now.max(called_at(due));
        if let Some(emitted) = source.emit(now, &mut frame) {
            assert_eq!(emitted.length, frame.len());
            sent.push(Sent {
                at: now,
                due: emitted.due,
                sequence: emitted.sequence,
                length: emitted.length,
                bytes: frame.clone(),
            });
        }
    }
    sent
}

struct Outcome {
    sent: u64,
    dropped: u64,
    delivered: DataSize,
}

/// Sends a flood through a link of `rate` with a queue of `capacity` frames.
fn flood_through(rate: BitRate, capacity: usize, length: Duration) -> Outcome {
    use std::collections::VecDeque;

    let end = Instant::ZERO + length;
    let (mut source, mut sink) = (flood(), Acknowledger::new(addresses()));
    let mut queue: VecDeque<(Instant, Vec<u8>)> = VecDeque::new();
    let mut outcome = Outcome {
        sent: 0,
        dropped: 0,
        delivered: DataSize::ZERO,
    };
    let (mut now, mut frame, mut answer) = (Instant::ZERO, Vec::new(), Vec::new());
    while now < end {
        let arrival = queue.front().map(|(at, _)| *at);
        let due = source.next_due().map(|due| due.max(now));
        if let Some(at) = arrival.filter(|at| due.is_none_or(|due| *at <= due)) {
            now = at;
            let (_, bytes) = queue.pop_front().unwrap();
            outcome.delivered += wire_size(bytes.len());
            if sink.received(&bytes, &mut answer).is_some() {
                source.received(now, &answer);
            }
            continue;
        }
        now = due.unwrap();
        if source.emit(now, &mut frame).is_none() {
            continue;
        }
        outcome.sent += 1;
        if queue.len() >= capacity {
            outcome.dropped += 1;
            continue;
        }
        let free = queue.back().map_or(now, |(at, _)| *at);
        let arrives = free + rate.time_to_send(wire_size(frame.len())).round_up();
        queue.push_back((arrives, frame.clone()));
    }
    outcome
}

fn contracted(which: usize) -> (Source, Contract) {
    match which {
        0 => (udp(udp::Pattern::Greedy), udp_contract()),
        1 => (
            udp(udp::Pattern::Bursts {
                period: Duration::from_us(300),
                frames: 1,
            }),
            udp_contract(),
        ),
        2 => (
            udp(udp::Pattern::Bursts {
                period: Duration::from_ms(2),
                frames: 7,
            }),
            udp_contract(),
        ),
        3 => (message(8_000, Duration::from_ms(25)), message_contract()),
        4 => (sampled_values(), sampled_values_contract()),
        _ => (goose(), goose_contract()),
    }
}

/// Returns how far the numbers in the frames of a source count.
fn which_turn(which: usize) -> u64 {
    match which {
        4 => 4_000,
        _ => u64::MAX,
    }
}

fn udp(pattern: udp::Pattern) -> Source {
    Source::Udp(Udp::new(&udp::DatagramConfig {
        addresses: addresses(),
        frame_length: 306,
        contract: udp_contract(),
        pattern,
        start: Instant::ZERO,
        until: None,
    }))
}

fn udp_contract() -> Contract {
    Contract {
        rate: BitRate::from_mbps(10),
        burst: wire_size(306) * 3,
    }
}

fn message(message_length: u32, period: Duration) -> Source {
    Source::Message(MessageSource::new(&message::MessageConfig {
        addresses: addresses(),
        message_length,
        period,
        contract: message_contract(),
        start: Instant::ZERO,
        until: None,
    }))
}

fn message_contract() -> Contract {
    Contract {
        rate: BitRate::from_mbps(20),
        burst: wire_size(1518) * 2,
    }
}

fn sampled_values() -> Source {
    Source::SampledValues(SampledValues::new(&sampled_values::SampledValuesConfig {
        contract: Some(sampled_values_contract()),
        ..sampled_values_config()
    }))
}

fn sampled_values_config() -> sampled_values::SampledValuesConfig {
    sampled_values::SampledValuesConfig {
        source: addresses().source_mac,
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, 1]),
        vlan: addresses().vlan,
        application: 0x4000,
        sv_id: "TAKTOSMU01".to_owned(),
        rate: 4_000,
        contract: None,
        start: Instant::ZERO,
        until: None,
    }
}

fn sampled_values_contract() -> Contract {
    let burst = wire_size(SV_LENGTH);
    Contract {
        rate: BitRate::of(burst, Duration::from_us(250).into()).unwrap(),
        burst,
    }
}

fn goose() -> Source {
    Source::Goose(Goose::new(&goose::GooseConfig {
        source: addresses().source_mac,
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 1]),
        vlan: addresses().vlan,
        application: 1,
        control_block: "BAY1PROT/LLN0$GO$trip".to_owned(),
        min_time: Duration::from_ms(4),
        max_time: Duration::from_secs(1),
        changes: (1..20u64)
            .map(|change| Instant::ZERO + Duration::from_ms(333) * change)
            .collect(),
        contract: Some(goose_contract()),
        start: Instant::ZERO,
        until: None,
        unix_origin_ns: 0,
    }))
}

fn goose_contract() -> Contract {
    Contract {
        rate: BitRate::from_bps(300_000),
        burst: wire_size(150) * 2,
    }
}

fn flood() -> Source {
    Source::BestEffort(Flood::new(&best_effort::BestEffortConfig {
        addresses: addresses(),
        frame_length: 1514,
        limit: None,
        start: Instant::ZERO,
        until: None,
    }))
}

fn addresses() -> Addresses {
    Addresses {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        vlan: Some(VlanTag {
            priority: 5,
            drop_eligible: false,
            id: 0,
        }),
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 40_000,
        destination_port: 5_000,
        dscp: 46,
    }
}
