use units::{Duration, Instant};

use super::*;
use crate::openflow::{Cookie, ErrorKind, Message, PortNumber, QueueId, Sequence, TableId};

/// Checks that a message stands in these bytes, in both directions.
fn stands_in(message: HopMessage<'_>, kind: u8, bytes: &[u8]) {
    let length = u8::try_from(16 + bytes.len()).unwrap();
    let mut expected = vec![4, 4, 0, length, 0, 0, 0, 9];
    expected.extend([0, 6, 0x74, 0x6b, 0, 0, 0, kind]);
    expected.extend_from_slice(bytes);
    let mut out = Vec::new();

    message.emit(TransactionId(9), &mut out);

    assert_eq!(out, expected);
    assert_eq!(Message::parse(&out).unwrap().1, Message::Hop(message));
}

#[test]
fn what_is_watched_stands_in_sixteen_bytes_a_queue() {
    let queue = |budget| WatchedQueue {
        port: PortNumber(1),
        queue: QueueId(7),
        budget,
    };
    let queues = [queue(None), queue(Some(Duration::from_ns(0x100)))];
    let config = |queues| HopMessage::Config(HopConfig { queues });
    let mut bytes = vec![0, 0, 0, 1, 0, 0, 0, 7];
    bytes.extend([0xff; 8]);
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 0]);

    stands_in(config(Sequence::of(&queues)), 6, &bytes);
    stands_in(config(Sequence::EMPTY), 6, &[]);
}

#[test]
fn what_a_switch_says_unasked_stands_in_fifty_six_bytes() {
    let event = HopEvent {
        table: TableId(1),
        priority: 2,
        unsaid: 3,
        cookie: Cookie(4),
        port: PortNumber(5),
        queue: QueueId(6),
        budget: Duration::from_ns(7),
        longest: Duration::from_ns(8),
        frames: 9,
        at: Instant::from_ns(10),
    };
    let mut bytes = vec![1, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4];
    bytes.extend([0, 0, 0, 5, 0, 0, 0, 6]);
    for number in 7..=10 {
        bytes.extend([0, 0, 0, 0, 0, 0, 0, number]);
    }

    stands_in(HopMessage::Event(event), 7, &bytes);
    bytes.push(0);
    assert!(HopMessage::parse(7, &bytes).is_err(), "longer");
    assert!(HopMessage::parse(7, &bytes[..55]).is_err(), "cut short");
}

#[test]
fn errors_are_told_apart_from_those_of_others() {
    for failed in HopFailed::ALL {
        assert_eq!(HopFailed::of(failed.into_kind()), Some(*failed));
    }
    let of_another = ErrorKind::Experimenter {
        code: 13,
        experimenter: 1,
    };
    assert_eq!(HopFailed::of(of_another), None);
}
