//! What a script wants of criticality modes and of how long frames stay: messages of a controller, and signals of
//! neighbours, right and wrong ones.

use units::Duration;
use wire::ethernet::{EtherType, MacAddress};
use wire::mode_signal::{Kind, Level, Mode, ModeSignal};
use wire::openflow::oxm::Masked;
use wire::openflow::taktos::{
    HopConfig, HopMessage, LevelSet, ModeCommand, ModeConfig, ModeFlags, ModeKey, ModeMessage,
    ModeSet, MonitorCommand, MonitorContract, MonitorId, MonitorMod, QueuedFrameActions, ShadowMod,
    Trunk, WatchedQueue,
};
use wire::openflow::{
    Action, Actions, DatapathId, Fields, FlowMod, FlowModCommand, Instruction, Instructions,
    MatchField, Message, PortNumber, QueueId, Sequence, TableId, TransactionId,
};

use crate::script::Script;

const KEY: ModeKey = ModeKey([3; 16]);

/// Returns the message about modes that the script asks for.
pub fn message(script: &mut Script<'_>) -> Option<Vec<u8>> {
    match script.byte()? % 6 {
        0 => config(script),
        1 => monitor(script),
        2 => {
            let command = choice(script, ModeCommand::ALL)?;
            let level = level(script)?;
            Some(written(&Message::Mode(ModeMessage::Set(ModeSet {
                command,
                level,
            }))))
        }
        3 => entry(script, None),
        4 => hops(script),
        _ => {
            let levels = LevelSet(script.byte()?);
            entry(script, Some(levels))
        }
    }
}

/// Returns the message that says which queues are watched.
fn hops(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let mut queues = Vec::new();
    for _ in 0..script.byte()? % 4 {
        queues.push(WatchedQueue {
            port: PortNumber(u32::from(script.byte()? % 5)),
            queue: QueueId(u32::from(script.byte()? % 9)),
            budget: match script.byte()? {
                u8::MAX => None,
                us => Some(Duration::from_us(us.into())),
            },
        });
    }
    let queues = Sequence::of(&queues);
    Some(written(&Message::Hop(HopMessage::Config(HopConfig {
        queues,
    }))))
}

/// Returns the signal that the script asks for, or what is nearly one.
pub fn signal(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let what = script.byte()?;
    let signal = ModeSignal {
        kind: if what & 1 == 0 {
            Kind::Signal
        } else {
            Kind::HeartBeat
        },
        mode: Mode {
            era: u32::from(script.byte()?) << (what >> 3),
            level: level(script)?,
        },
        origin: DatapathId(7),
        sender: DatapathId(u64::from(what >> 1 & 1)),
        port: PortNumber(1),
    };
    let mut frame = Vec::new();
    signal.emit_frame(MacAddress([2; 6]), KEY.0, &mut frame);
    if what & 4 == 4 {
        let at = usize::from(script.byte()?) % frame.len();
        frame[at] ^= script.byte()?;
        frame.truncate(usize::from(script.byte()?).max(14));
    }
    Some(frame)
}

fn config(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let trunks: Option<Vec<_>> = (0..script.byte()? % 5)
        .map(|_| {
            Some(Trunk {
                port: PortNumber(u32::from(script.byte()? % 3)),
                far_port: PortNumber(1),
                far_switch: DatapathId(0),
            })
        })
        .collect();
    let trunks = trunks?;
    let times = script.byte()?;
    let config = ModeConfig {
        hold: (times & 1 == 1).then(|| Duration::from_us(u64::from(times) * 100)),
        heart_beat: (times & 2 == 2).then(|| Duration::from_us(100 + u64::from(times))),
        key: KEY,
        complete: LevelSet(script.byte()?),
        default: level(script)?,
        flags: ModeFlags(script.byte()? % 8),
        trunks: Sequence::of(&trunks),
    };
    Some(written(&Message::Mode(ModeMessage::Config(config))))
}

fn monitor(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let contracts: Option<Vec<_>> = (0..script.byte()? % 10)
        .map(|_| {
            Some(MonitorContract {
                period: Duration::from_us(u64::from(script.byte()?)),
                size_bytes: u32::from(script.byte()?),
            })
        })
        .collect();
    let contracts = contracts?;
    let monitor = MonitorMod {
        command: choice(script, MonitorCommand::ALL)?,
        monitor: number(script)?,
        jitter: Duration::from_us(u64::from(script.byte()?)),
        contracts: Sequence::of(&contracts),
    };
    Some(written(&Message::Mode(ModeMessage::MonitorMod(monitor))))
}

/// An entry for signals, for a watched flow, or for frames with a fate.
fn entry(script: &mut Script<'_>, shadow: Option<LevelSet>) -> Option<Vec<u8>> {
    let mut fates = [0; 4];
    for byte in &mut fates {
        *byte = script.byte()? & 0x88 | script.byte()? & 0x77;
    }
    let fates = QueuedFrameActions::from_number(u32::from_be_bytes(fates)).unwrap_or(QueuedFrameActions::STAY);
    let actions = [
        Action::FlowMonitor(number(script)?),
        Action::QueuedFrame(fates),
        Action::output(PortNumber(2)),
    ];
    let arrange = [Action::ModeArrange];
    let is_for_signals = script.byte()? % 2 == 0;
    let actions = if is_for_signals {
        &arrange[..]
    } else {
        &actions[..]
    };
    let kind = MatchField::EthType(match is_for_signals {
        true => EtherType::MODE_SIGNAL,
        false => EtherType::IPV4,
    });
    let level = MatchField::Level(Masked::exact(level(script)?.number()));
    let fields = [kind, level];
    let has_level = shadow.is_none() && script.byte()? % 2 == 0;
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let flow_mod = FlowMod {
        command: choice(script, FlowModCommand::ALL)?,
        priority: 3,
        matching: Fields::of(&fields[..1 + usize::from(has_level)]),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    };
    Some(written(&match shadow {
        None => Message::FlowMod(flow_mod),
        Some(levels) => Message::Mode(ModeMessage::ShadowMod(ShadowMod {
            levels,
            entry: flow_mod,
        })),
    }))
}

fn number(script: &mut Script<'_>) -> Option<MonitorId> {
    choice(script, &[0, 1, 2, u32::MAX]).map(MonitorId)
}

fn level(script: &mut Script<'_>) -> Option<Level> {
    Level::new(script.byte()? % 8)
}

fn choice<T: Copy>(script: &mut Script<'_>, all: &[T]) -> Option<T> {
    Some(all[usize::from(script.byte()?) % all.len()])
}

fn written(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.emit(TransactionId(1), &mut out);
    out
}
