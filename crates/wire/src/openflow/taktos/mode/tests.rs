use proptest::prelude::*;

use super::*;
use crate::mode_signal::Mode;
use crate::openflow::taktos::{Answer, Question};
use crate::openflow::{
    Action, BadAction, DatapathId, Element, ErrorKind, Experimenter, FlowMod, Message, PortNumber,
    Sequence, TableId,
};

/// Checks that a message stands in these bytes, in both directions.
fn stands_in(message: ModeMessage<'_>, kind: u8, bytes: &[u8]) {
    let length = u8::try_from(16 + bytes.len()).unwrap();
    let mut expected = vec![4, 4, 0, length, 0, 0, 0, 9];
    expected.extend([0, 6, 0x74, 0x6b, 0, 0, 0, kind]);
    expected.extend_from_slice(bytes);
    let mut out = Vec::new();

    message.emit(TransactionId(9), &mut out);

    assert_eq!(out, expected);
    assert_eq!(Message::parse(&out).unwrap().1, Message::Mode(message));
}

fn refused(kind: u32, bytes: &[u8]) -> ErrorKind {
    ModeMessage::parse(kind, bytes).unwrap_err().kind()
}

fn high() -> Level {
    Level::new(2).unwrap()
}

#[test]
fn a_level_is_asked_for_in_eight_bytes() {
    let lower = ModeSet {
        command: ModeCommand::Lower,
        level: Level::LOWEST,
    };
    let force = ModeSet {
        command: ModeCommand::Force,
        level: high(),
    };

    stands_in(ModeMessage::Set(lower), 4, &[0; 8]);
    stands_in(ModeMessage::Set(force), 4, &[1, 2, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_monitor_has_a_contract_a_level() {
    let contracts = [(0x100, 0x20), (0x80, 0x30)].map(|(period, size_bytes)| MonitorContract {
        period: Duration::from_ns(period),
        size_bytes,
    });
    let monitor = MonitorMod {
        command: MonitorCommand::Add,
        monitor: MonitorId(7),
        jitter: Duration::from_ns(3),
        contracts: Sequence::of(&contracts),
    };
    let mut bytes = vec![0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 3];
    bytes.extend([0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x20, 0, 0, 0, 0]);
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x30, 0, 0, 0, 0]);

    stands_in(ModeMessage::MonitorMod(monitor), 2, &bytes);
}

#[test]
fn how_a_switch_takes_part_stands_in_forty_bytes_and_sixteen_a_trunk() {
    let trunks = [Trunk {
        port: PortNumber(1),
        far_port: PortNumber(2),
        far_switch: DatapathId(3),
    }];
    let config = ModeConfig {
        hold: None,
        heart_beat: Some(Duration::from_us(100)),
        key: ModeKey([0xaa; 16]),
        complete: LevelSet::NONE.with(Level::LOWEST).with(high()),
        default: high(),
        flags: ModeFlags::ASK,
        trunks: Sequence::of(&trunks),
    };
    let mut bytes = vec![0xff; 8];
    bytes.extend([0, 0, 0, 0, 0, 1, 0x86, 0xa0]);
    bytes.extend([0xaa; 16]);
    bytes.extend([0b101, 2, 2, 0, 0, 0, 0, 0]);
    bytes.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3]);

    stands_in(ModeMessage::Config(config), 3, &bytes);
    assert!(!format!("{config:?}").contains("170"), "no key in a log");
}

#[test]
fn an_entry_of_some_levels_is_a_change_of_entries_behind_their_set() {
    let entry = FlowMod::add(TableId(1));
    let levels = LevelSet::NONE.with(high());
    let mut plain = Vec::new();
    entry.emit(TransactionId(9), &mut plain);
    let mut bytes = vec![4, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend_from_slice(&plain[8..]);

    stands_in(
        ModeMessage::ShadowMod(ShadowMod { levels, entry }),
        1,
        &bytes,
    );
}

#[test]
fn what_makes_no_sense_is_refused_with_its_own_error() {
    let failed = |failed: ModeFailed| ErrorKind::from(failed);
    let mut config = vec![0; 40];
    config[33] = 8;

    assert_eq!(refused(1, &[0; 60]), failed(ModeFailed::BadLevel));
    assert_eq!(refused(2, &[2; 16]), failed(ModeFailed::BadCommand));
    assert_eq!(refused(3, &config), failed(ModeFailed::BadLevel));
    assert_eq!(refused(3, &[1; 40]), failed(ModeFailed::BadTime));
    assert_eq!(refused(4, &[3; 8]), failed(ModeFailed::BadCommand));
    assert_eq!(
        refused(4, &[0, 8, 0, 0, 0, 0, 0, 0]),
        failed(ModeFailed::BadLevel)
    );
    assert_eq!(ModeMessage::parse(8, &[]), Ok(None));
    for kind in ModeFailed::ALL {
        assert_eq!(ModeFailed::of(kind.into_kind()), Some(*kind));
    }
}

#[test]
fn actions_about_modes_have_sixteen_bytes() {
    let fates = QueuedFrameActions::STAY
        .with(Level::LOWEST, QueuedFrameAction::Move(3))
        .with(high(), QueuedFrameAction::Drop);
    let bytes = |kind: u8, argument: [u8; 4]| {
        let mut bytes = vec![0xff, 0xff, 0, 16, 0, 6, 0x74, 0x6b, 0, kind, 0, 0];
        bytes.extend(argument);
        bytes
    };
    for (action, expected) in [
        (
            Action::FlowMonitor(MonitorId(5)),
            bytes(1, 5_u32.to_be_bytes()),
        ),
        (Action::ModeArrange, bytes(2, [0; 4])),
        (
            Action::QueuedFrame(fates),
            bytes(3, [0xff, 0xff, 0xf8, 0xf3]),
        ),
    ] {
        let mut out = Vec::new();
        action.emit(&mut out);

        assert_eq!(out, expected);
        assert_eq!(<Action as Element>::parse(&out).unwrap(), (action, &[][..]));
    }
    let code = |bytes: &[u8]| <Action as Element>::parse(bytes).unwrap_err().kind();
    assert_eq!(
        code(&bytes(3, [9, 0, 0, 0])),
        ErrorKind::BadAction(BadAction::BadArgument)
    );
    assert_eq!(
        code(&bytes(10, [0; 4])),
        ErrorKind::BadAction(BadAction::BadExperimenterType)
    );
}

#[test]
fn a_fate_is_read_at_the_level_for_which_it_was_written() {
    let fates = QueuedFrameActions::STAY.with(high(), QueuedFrameAction::Drop);

    assert_eq!(fates.at(high()), QueuedFrameAction::Drop);
    assert_eq!(
        fates.with(high(), QueuedFrameAction::Move(7)).at(high()),
        QueuedFrameAction::Move(7)
    );
    assert_eq!(fates.at(Level::LOWEST), QueuedFrameAction::Stay);
    assert_eq!(QueuedFrameActions::from_number(fates.number()), Some(fates));
}

prop_compose! {
    fn statuses()(
        numbers in prop::collection::vec(any::<u64>(), 20),
        bytes in prop::collection::vec(any::<u8>(), 8),
        era: u32,
        levels in prop::collection::vec(0u8..8, 4),
        was_quiet: bool,
    ) -> ModeStatus<'static> {
        let level = |at: usize| Level::new(levels[at]).unwrap();
        let mode = Mode { era, level: level(0) };
        let quiet = was_quiet.then(|| Duration::from_ns(numbers[0] >> 1));
        ModeStatus {
            mode,
            origin: DatapathId(numbers[1]),
            served: level(1),
            complete: LevelSet(bytes[0]),
            default: level(2),
            flags: ModeFlags(bytes[1]),
            quiet,
            waiting: numbers[2],
            counters: ModeCounters {
                entered: numbers[3],
                demanded: numbers[4],
                disregarded: numbers[5],
                sent: numbers[6],
                beats_sent: numbers[7],
                received: numbers[8],
                beats_received: numbers[9],
                duplicate: numbers[10],
                stale: numbers[11],
                forged: numbers[12],
                misplaced: numbers[13],
                replayed: numbers[14],
                malformed: numbers[15],
                queued_dropped: numbers[16],
                queued_moved: numbers[17],
            },
            trunks: Sequence::EMPTY,
        }
    }
}

proptest! {
    #[test]
    fn a_status_is_read_as_it_was_written(status in statuses(), ports: [u32; 3]) {
        let trunks = ports.map(|port| TrunkStatus {
            port: PortNumber(port),
            heard: status.quiet,
            mode: status.mode,
        });
        let status = ModeStatus { trunks: Sequence::of(&trunks), ..status };
        let mut data = Vec::new();

        let body = Answer::Modes(status).body(&mut data);

        prop_assert_eq!(body.data.len(), 160 + 3 * 24);
        prop_assert_eq!(Answer::parse(&body), Ok(Some(Answer::Modes(status))));
    }

    #[test]
    fn a_report_is_read_as_it_was_written(
        numbers: [u64; 8], monitor: u32, level in 0u8..8, demanded in 0u8..3, was_quiet: bool,
    ) {
        let level = Level::new(level).unwrap();
        let report = MonitorReport {
            monitor: MonitorId(monitor),
            demanded: [None, Some(Demanded::Level(level)), Some(Demanded::Beyond(level))]
                [usize::from(demanded)],
            quiet: was_quiet.then(|| Duration::from_ns(numbers[0] >> 1)),
            packets: numbers[0],
            messages: numbers[1],
            violations: numbers[2],
            beyond: numbers[3],
            missing: numbers[4],
            duplicates: numbers[5],
            reordered: numbers[6],
            unreadable: numbers[7],
        };
        let reports = [report, report];
        let mut data = Vec::new();

        let body = Answer::Monitors(Sequence::of(&reports)).body(&mut data);

        prop_assert_eq!(body.data.len(), 2 * 80);
        prop_assert_eq!(
            Answer::parse(&body),
            Ok(Some(Answer::Monitors(Sequence::of(&reports))))
        );
    }

    #[test]
    fn no_bytes_about_modes_make_it_panic(kind in 0u32..8, data: Vec<u8>) {
        if let Ok(Some(message)) = ModeMessage::parse(kind, &data) {
            let _ = format!("{message:?}");
        }
        let asked = Experimenter { kind, data: &data, ..Question::Modes.body() };
        let _ = format!("{:?}", Answer::parse(&asked));
    }
}
