//! Messages about modes, of arbitrary numbers.

use units::{Duration, Instant};

use super::{Message, Seeds, instructions};
use crate::mode_signal::{LEVELS, Level, Mode};
use crate::openflow::taktos::{
    Demanded, HEART_BEAT_MIN, LevelSet, ModeCommand, ModeConfig, ModeEvent, ModeEventKind,
    ModeFlags, ModeKey, ModeMessage, ModeSet, MonitorCommand, MonitorContract, MonitorId,
    MonitorMod, QueuedFrameAction, QueuedFrameActions, ShadowMod, SignalFault, Trunk,
};
use crate::openflow::{
    Actions, Cookie, DatapathId, Fields, FlowMod, FlowModCommand, Instructions, PortNumber,
    Sequence, TableId,
};

pub(super) fn fates(seeds: &Seeds) -> QueuedFrameActions {
    let fate = |at: usize| match seeds.u8(at) % 10 {
        8 => QueuedFrameAction::Drop,
        9 => QueuedFrameAction::Stay,
        queue => QueuedFrameAction::Move(queue),
    };
    let levels = Level::all().enumerate();
    levels.fold(QueuedFrameActions::STAY, |fates, (at, level)| {
        fates.with(level, fate(at))
    })
}

fn level(seeds: &Seeds, at: usize) -> Level {
    Level::new(seeds.u8(at) % LEVELS).unwrap()
}

/// Calls `visit` with every message about modes.
pub(super) fn visit(seeds: &Seeds, visit: &mut dyn FnMut(&Message<'_>)) {
    let mut say = |message: ModeMessage<'_>| visit(&Message::Mode(message));
    say(ModeMessage::Set(ModeSet {
        command: seeds.one_of(0, ModeCommand::ALL),
        level: level(seeds, 1),
    }));
    let contract = MonitorContract {
        period: Duration::from_ns(seeds.u64(0)),
        size_bytes: seeds.u32(1),
    };
    let contracts = [contract, contract];
    for contracts in [Sequence::EMPTY, Sequence::of(&contracts)] {
        say(ModeMessage::MonitorMod(MonitorMod {
            command: seeds.one_of(2, MonitorCommand::ALL),
            monitor: MonitorId(seeds.u32(3)),
            jitter: Duration::from_ns(seeds.u64(4)),
            contracts,
        }));
    }
    visit_configs(seeds, &mut say);
    visit_events(seeds, &mut say);
    let (fields, actions) = (seeds.fields(), seeds.actions());
    let instructions = instructions(seeds, Actions::of(&actions));
    say(ModeMessage::ShadowMod(ShadowMod {
        levels: LevelSet(seeds.u8(0).max(1)),
        entry: FlowMod {
            cookie: Cookie(seeds.u64(0)),
            command: seeds.one_of(3, FlowModCommand::ALL),
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(seeds.u8(2)))
        },
    }));
}

fn visit_configs(seeds: &Seeds, say: &mut dyn FnMut(ModeMessage<'_>)) {
    let trunk = Trunk {
        port: PortNumber(seeds.u32(0)),
        far_port: PortNumber(seeds.u32(1)),
        far_switch: DatapathId(seeds.u64(2)),
    };
    let trunks = [trunk, trunk];
    let config = ModeConfig {
        hold: None,
        heart_beat: None,
        key: ModeKey([seeds.u8(3); 16]),
        complete: LevelSet(seeds.u8(4)),
        default: level(seeds, 5),
        flags: ModeFlags(seeds.u8(6)),
        trunks: Sequence::of(&trunks),
    };
    say(ModeMessage::Config(config));
    say(ModeMessage::Config(ModeConfig {
        hold: Some(Duration::from_ns(u64::from(seeds.u32(7)))),
        heart_beat: Some(HEART_BEAT_MIN + Duration::from_ns(u64::from(seeds.u32(8)))),
        trunks: Sequence::EMPTY,
        ..config
    }));
}

fn visit_events(seeds: &Seeds, say: &mut dyn FnMut(ModeMessage<'_>)) {
    for kind in [
        ModeEventKind::Entered,
        ModeEventKind::Violation(Demanded::Level(level(seeds, 0))),
        ModeEventKind::Violation(Demanded::Beyond(level(seeds, 1))),
        ModeEventKind::SignalsRefused(seeds.one_of(2, SignalFault::ALL)),
        ModeEventKind::Incomplete,
    ] {
        say(ModeMessage::Event(ModeEvent {
            kind,
            mode: Mode {
                era: seeds.u32(3),
                level: level(seeds, 4),
            },
            served: level(seeds, 5),
            origin: DatapathId(seeds.u64(6)),
            monitor: MonitorId(seeds.u32(7)),
            port: PortNumber(seeds.u32(8)),
            detected: Instant::from_ns(seeds.u64(9)),
            changed: Instant::from_ns(seeds.u64(10)),
            count: seeds.u64(11),
        }));
    }
}
