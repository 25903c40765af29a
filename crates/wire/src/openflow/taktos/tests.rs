use proptest::prelude::*;
use units::Duration;

use super::*;
use crate::ethernet::MacAddress;
use crate::openflow::{
    BadAction, Cookie, Element, ErrorKind, Fields, FlowModFlags, GroupId, MatchField, MeterId,
    PortNumber, QueueId, TableId,
};
use crate::prp::SupervisionKind;

fn there_and_back(answer: &Answer<'_>) {
    let mut data = Vec::new();
    let body = answer.body(&mut data);

    let parsed = Answer::parse(&body).unwrap();

    assert_eq!(parsed.as_ref(), Some(answer));
    let mut again = Vec::new();
    assert_eq!(
        answer.body(&mut again),
        parsed.unwrap().body(&mut Vec::new())
    );
}

#[test]
fn every_question_is_recognised_and_no_other() {
    for question in Question::ALL {
        assert_eq!(Question::of(&question.body()), Some(question));
    }
    let unknown = Experimenter {
        kind: 99,
        ..Question::Cost.body()
    };
    let others = Experimenter {
        experimenter: 0x2320,
        ..Question::Cost.body()
    };
    assert_eq!(
        (Question::of(&unknown), Question::of(&others)),
        (None, None)
    );
}

#[test]
fn every_answer_is_read_as_it_was_written() {
    let work = Work {
        tables: 1,
        lookups: 2,
        slots: 32,
        actions: 3,
        buckets: 512,
    };
    let tables = [TableCost {
        table: TableId(7),
        entries: 100,
        masks: 2,
        onward: work,
    }];
    let buckets = [3, 9].map(|us| ResidenceBucket {
        at_most: Duration::from_us(us),
        frames: us,
    });
    let queue = QueueResidence {
        port: PortNumber(1),
        queue: QueueId(7),
        frames: 12,
        longest: Duration::from_us(8),
        buckets: Sequence::of(&buckets),
    };
    let fields = [MatchField::InPort(PortNumber(3))];
    let losses = EntryLosses {
        table: TableId(1),
        priority: 5,
        cookie: Cookie(9),
        dropped: 4,
        matching: Fields::of(&fields),
    };

    there_and_back(&Answer::Cost(CostReply {
        frame: work,
        tables: Sequence::of(&tables),
    }));
    there_and_back(&Answer::Residence(Sequence::of(&[queue, queue])));
    there_and_back(&Answer::Losses(Sequence::of(&[losses, losses])));
    for orders_streams in [false, true] {
        there_and_back(&Answer::Features(SwitchFeatures { orders_streams }));
    }
    there_and_back(&Answer::Tally(SwitchTally {
        free_buffers: 1,
        frames: 13,
        ..SwitchTally::default()
    }));
}

/// Bytes 12 to 55 of the action, behind those of an output.
fn police(numbers: [u64; 6]) -> Result<crate::openflow::Action, ErrorKind> {
    let [smallest, largest, rate, burst, frame_rate, frame_burst] = numbers;
    let mut action = vec![0xff, 0xff, 0, 56, 0, 6, 0x74, 0x6b, 0, 4, 0, 0];
    for bits in [smallest, largest] {
        action.extend_from_slice(&bits.to_be_bytes()[4..]);
    }
    for number in [rate, burst, frame_rate, frame_burst] {
        action.extend_from_slice(&number.to_be_bytes());
    }
    action.extend_from_slice(&[0; 4]);
    let parsed = crate::openflow::Action::parse(&action);
    parsed
        .map(|(action, _)| action)
        .map_err(|error| error.kind())
}

#[test]
fn a_contract_that_cannot_be_counted_is_refused() {
    let good = [672, 12_304, 1_000_000, 12_304, 2_000_000, 1_000_000];
    assert!(police(good).is_ok());
    let no_rate = [672, 12_304, 0, 12_304, 0, 0];
    let small_burst = [672, 12_304, 1, 12_303, 0, 0];
    let sizes_swapped = [12_305, 12_304, 1, 20_000, 0, 0];
    let burst_beyond = [672, 12_304, 1, 9_000_000_001, 0, 0];
    let rate_beyond = [672, 12_304, (1 << 60) + 1, 12_304, 0, 0];
    let no_frame = [672, 12_304, 1, 12_304, 1, 999_999];
    for bad in [
        no_rate,
        small_burst,
        sizes_swapped,
        burst_beyond,
        rate_beyond,
        no_frame,
    ] {
        let refused = ErrorKind::BadAction(BadAction::BadArgument);
        assert_eq!(police(bad), Err(refused), "{bad:?}");
    }
}

/// Bytes 8 to 39 of the action: its number, and what stands behind the stream.
fn eliminate(
    [algorithm, flags, history, ways]: [u8; 4],
    [reset_ns, hold_ns]: [u64; 2],
) -> Result<crate::openflow::Action, ErrorKind> {
    let mut action = vec![0xff, 0xff, 0, 40, 0, 6, 0x74, 0x6b, 0, 6, 0, 0];
    action.extend_from_slice(&[0, 0, 0, 7, algorithm, flags, history, ways]);
    action.extend_from_slice(&reset_ns.to_be_bytes());
    action.extend_from_slice(&[0; 4]);
    action.extend_from_slice(&hold_ns.to_be_bytes());
    let parsed = crate::openflow::Action::parse(&action);
    parsed
        .map(|(action, _)| action)
        .map_err(|error| error.kind())
}

#[test]
fn an_elimination_that_nobody_can_do_is_refused() {
    let millisecond = 1_000_000;
    assert!(eliminate([1, 3, 64, 2], [millisecond, 0]).is_ok());
    assert!(eliminate([1, 3, 64, 2], [millisecond, millisecond - 1]).is_ok());
    let algorithm = ([3, 0, 64, 0], [millisecond, 0]);
    let flag = ([1, 8, 64, 0], [millisecond, 0]);
    let short = ([1, 0, 1, 0], [millisecond, 0]);
    let long = ([1, 0, 65, 0], [millisecond, 0]);
    let one_way = ([1, 0, 64, 1], [millisecond, 0]);
    let soon = ([1, 0, 64, 0], [millisecond - 1, 0]);
    let late = ([1, 0, 64, 0], [3_600_000 * millisecond + 1, 0]);
    let no_numbers = ([2, 4, 64, 0], [millisecond, 1]);
    let by_match = ([0, 0, 64, 0], [millisecond, 1]);
    let forgotten = ([1, 0, 64, 0], [millisecond, millisecond]);
    for (bytes, times) in [
        algorithm, flag, short, long, one_way, soon, late, no_numbers, by_match, forgotten,
    ] {
        let refused = ErrorKind::BadAction(BadAction::BadArgument);
        assert_eq!(eliminate(bytes, times), Err(refused), "{bytes:?} {times:?}");
    }
}

#[test]
fn where_frames_are_handled_is_read_as_it_was_written() {
    let fields = [MatchField::InPort(PortNumber(3))];
    let subjects = [
        EngineSubject::Table(TableId(2)),
        EngineSubject::Group(GroupId(7)),
        EngineSubject::Meter(MeterId(9)),
        EngineSubject::Entry {
            table: TableId(1),
            priority: 5,
            cookie: Cookie(9),
            matching: Fields::of(&fields),
        },
    ];
    let reasons = CoreReason::ALL.map(Some).into_iter().chain([None]);
    let items = reasons.flat_map(|reason| subjects.map(|subject| EngineItem { subject, reason }));
    let items: Vec<_> = items.collect();

    there_and_back(&Answer::Engine(EngineReply {
        generation: 1,
        frames: 2,
        handed: 3,
        lost: 4,
        too_long: 5,
        items: Sequence::of(&items),
    }));
}

#[test]
fn how_long_the_frames_of_entries_stayed_is_read_as_it_was_written() {
    let fields = [MatchField::InPort(PortNumber(3))];
    let buckets = [3, 9].map(|us| ResidenceBucket {
        at_most: Duration::from_us(us),
        frames: us,
    });
    let record = HopRecord {
        table: TableId(1),
        priority: 5,
        cookie: Cookie(9),
        port: PortNumber(2),
        queue: QueueId(7),
        frames: 12,
        longest: Duration::from_us(8),
        above: 1,
        budget: Some(Duration::from_us(7)),
        untimed: 4,
        buckets: Sequence::of(&buckets),
        matching: Fields::of(&fields),
    };
    let bare = HopRecord {
        budget: None,
        buckets: Sequence::EMPTY,
        matching: Fields::EMPTY,
        ..record
    };

    for coverage in HopCoverage::ALL {
        there_and_back(&Answer::Hops(HopReply {
            coverage: *coverage,
            no_room: 6,
            records: Sequence::of(&[record, bare, record]),
        }));
    }
}

#[test]
fn a_list_of_buckets_that_is_longer_than_its_record_is_refused() {
    let mut record = vec![0; 80];
    record[1] = 80;
    record[65] = 1;

    assert!(HopRecord::parse(&record).is_err());
    record[65] = 0;
    assert!(HopRecord::parse(&record).is_ok());
}

/// The number was computed from docs/openflow-extension.md, without this code.
#[test]
fn a_digest_is_what_anybody_can_compute() {
    let entry = EntryContent {
        cookie: Cookie(0xffec_0000_0000_002a),
        priority: 7,
        flags: FlowModFlags::SEND_FLOW_REMOVED,
        idle_timeout_s: 0,
        hard_timeout_s: 300,
        fields: &[0x80, 0, 0, 4, 0, 0, 0, 1],
        instructions: &[
            0, 4, 0, 24, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 2, 0xff, 0xff, 0, 0, 0, 0, 0, 0,
        ],
    };

    assert_eq!(entry.digest(), 0x56a9_1f9f_9fba_ae16);
}

proptest! {
    #[test]
    fn nodes_are_read_as_they_were_written(
        counted: [u64; 6],
        nodes in prop::collection::vec(any::<([u8; 6], bool, Option<[u8; 6]>, [u64; 4])>(), 0..5),
    ) {
        let [sent, heard, malformed, unexpected, repeated, excess] = counted;
        let sight = |frames, ago: u64| LanSight {
            frames,
            ago: (ago < u64::MAX).then(|| Duration::from_ns(ago)),
        };
        let nodes: Vec<_> = nodes
            .into_iter()
            .map(|(station, accepts, redbox, [a, ago_a, b, ago_b])| NodeReport {
                station: MacAddress(station),
                kind: match accepts {
                    true => SupervisionKind::DuplicateAccept,
                    false => SupervisionKind::DuplicateDiscard,
                },
                redbox: redbox.map(MacAddress),
                lans: [sight(a, ago_a), sight(b, ago_b)],
            })
            .collect();
        let counters = NodeCounters { sent, heard, malformed, unexpected, repeated, excess };
        there_and_back(&Answer::Nodes(NodeReply { counters, nodes: Sequence::of(&nodes) }));
    }

    #[test]
    fn digests_are_read_as_they_were_written(
        tables in prop::collection::vec(any::<(u8, u16, u32, u64)>(), 0..5),
    ) {
        let digest = |(table, class, entries, sum)| TableDigest {
            table: TableId(table),
            class: CookieClass(class),
            sum: DigestSum { entries, sum },
        };
        let tables: Vec<_> = tables.into_iter().map(digest).collect();
        there_and_back(&Answer::Digests(Sequence::of(&tables)));
    }

    #[test]
    fn an_entry_of_which_anything_differs_has_another_digest(
        numbers: (u64, u16, u16, u16, u16),
        changed in 0usize..7,
        fields: Vec<u8>,
        instructions: Vec<u8>,
    ) {
        let (cookie, priority, flags, idle, hard) = numbers;
        let (mut longer, mut more) = (fields.clone(), instructions.clone());
        longer.push(0);
        more.push(0);
        let one = EntryContent {
            cookie: Cookie(cookie),
            priority,
            flags: FlowModFlags(flags),
            idle_timeout_s: idle,
            hard_timeout_s: hard,
            fields: &fields,
            instructions: &instructions,
        };
        let other = match changed {
            0 => EntryContent { cookie: Cookie(cookie ^ 1), ..one },
            1 => EntryContent { priority: priority ^ 1, ..one },
            2 => EntryContent { flags: FlowModFlags(flags ^ 1), ..one },
            3 => EntryContent { idle_timeout_s: idle ^ 1, ..one },
            4 => EntryContent { hard_timeout_s: hard ^ 1, ..one },
            5 => EntryContent { fields: &longer, ..one },
            _ => EntryContent { instructions: &more, ..one },
        };

        prop_assert_ne!(one.digest(), other.digest());
    }

    #[test]
    fn any_bytes_are_read_or_refused(kind in 0u32..16, data: Vec<u8>) {
        let body = Experimenter { experimenter: EXPERIMENTER, kind, data: &data };

        match Answer::parse(&body) {
            Ok(Some(Answer::Residence(queues))) => {
                for queue in queues.iter().flatten() {
                    prop_assert!(queue.buckets.iter().all(|bucket| bucket.is_ok()));
                }
            }
            Ok(Some(Answer::Losses(entries))) => {
                entries.iter().flatten().for_each(|it| it.matching.iter().for_each(drop));
            }
            Ok(Some(Answer::Engine(engine))) => engine.items.iter().for_each(drop),
            Ok(Some(Answer::Modes(status))) => status.trunks.iter().for_each(drop),
            Ok(Some(Answer::Monitors(monitors))) => monitors.iter().for_each(drop),
            Ok(Some(Answer::Policed(entries))) => entries.iter().for_each(drop),
            Ok(Some(Answer::Streams(streams))) => streams.iter().for_each(drop),
            Ok(Some(Answer::Sessions(sessions))) => sessions.iter().for_each(drop),
            Ok(Some(Answer::Nodes(reply))) => reply.nodes.iter().for_each(drop),
            Ok(Some(Answer::Digests(tables))) => tables.iter().for_each(drop),
            Ok(Some(Answer::Hops(hops))) => {
                for record in hops.records.iter().flatten() {
                    prop_assert!(record.buckets.iter().all(|bucket| bucket.is_ok()));
                    record.matching.iter().for_each(drop);
                }
            }
            Ok(Some(Answer::Cost(cost))) => cost.tables.iter().for_each(drop),
            Ok(Some(Answer::Tally(_) | Answer::Features(_)) | None) | Err(_) => {}
        }
    }
}
