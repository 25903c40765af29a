use proptest::prelude::*;
use units::Duration;

use super::*;
use crate::openflow::{
    Cookie, Element, Fields, GroupId, MatchField, MeterId, PortNumber, QueueId, TableId,
};

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
    there_and_back(&Answer::Tally(SwitchTally {
        free_buffers: 1,
        frames: 13,
        ..SwitchTally::default()
    }));
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

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(kind in 0u32..10, data: Vec<u8>) {
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
            Ok(Some(Answer::Hops(hops))) => {
                for record in hops.records.iter().flatten() {
                    prop_assert!(record.buckets.iter().all(|bucket| bucket.is_ok()));
                    record.matching.iter().for_each(drop);
                }
            }
            Ok(Some(Answer::Cost(cost))) => cost.tables.iter().for_each(drop),
            Ok(Some(Answer::Tally(_)) | None) | Err(_) => {}
        }
    }
}
