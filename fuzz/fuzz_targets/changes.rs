//! Changes of groups, meters and entries that a script asks for: good enough to
//! be carried out, wild enough to be refused.

use wire::openflow::{
    Action, Actions, Band, Bands, Bucket, Buckets, Element, FlowMod, FlowModCommand, GroupId,
    GroupMod, GroupModCommand, GroupType, Instruction, Instructions, Message, MeterFlags, MeterId,
    MeterMod, MeterModCommand, PortNumber, TableId, TransactionId,
};

use crate::script::Script;

/// Returns the message that the script asks for.
pub fn change(script: &mut Script<'_>) -> Option<Vec<u8>> {
    match script.byte()? % 4 {
        0 | 1 => group_mod(script),
        2 => meter_mod(script),
        _ => flow_mod(script),
    }
}

fn choice<T: Copy>(script: &mut Script<'_>, all: &[T]) -> Option<T> {
    Some(all[usize::from(script.byte()?) % all.len()])
}

fn written(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.emit(TransactionId(1), &mut out);
    out
}

fn group(script: &mut Script<'_>) -> Option<GroupId> {
    let ids = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, GroupId::ALL.0, GroupId::ANY.0];
    choice(script, &ids).map(GroupId)
}

fn port(script: &mut Script<'_>) -> Option<PortNumber> {
    let others = [PortNumber::FLOOD, PortNumber::CONTROLLER, PortNumber::IN_PORT];
    let ports = [1, 2, 3, 9].map(PortNumber);
    choice(script, &[&ports[..], &others, &[PortNumber::ANY]].concat())
}

fn meter(script: &mut Script<'_>) -> Option<MeterId> {
    let virtual_meters = [MeterId::CONTROLLER, MeterId::SLOW_PATH, MeterId::ALL];
    choice(script, &[&[1, 2, 3].map(MeterId)[..], &virtual_meters].concat())
}

fn actions(script: &mut Script<'_>) -> Option<Vec<Action>> {
    let count = script.byte()? % 4;
    let actions = (0..count).map(|_| {
        Some(match script.byte()? % 4 {
            0 => Action::output(port(script)?),
            1 => Action::DecrementNetworkTtl,
            _ => Action::Group(group(script)?),
        })
    });
    actions.collect()
}

fn group_mod(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let command = choice(script, GroupModCommand::ALL)?;
    let kind = choice(script, GroupType::ALL)?;
    let group_id = group(script)?;
    let mut buckets = Vec::new();
    for _ in 0..script.byte()? % 5 {
        let watches = script.byte()?;
        let actions = actions(script)?;
        let mut bucket = Bucket::new(Actions::of(&actions));
        if kind == GroupType::Select {
            bucket.weight = u16::from(script.byte()?);
        }
        if watches & 1 == 1 {
            bucket.watch_port = port(script)?;
        }
        if watches & 2 == 2 {
            bucket.watch_group = group(script)?;
        }
        bucket.emit(&mut buckets);
    }
    Some(written(&Message::GroupMod(GroupMod {
        command,
        kind,
        group: group_id,
        buckets: Buckets::from_bytes(&buckets),
    })))
}

fn meter_mod(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let command = choice(script, MeterModCommand::ALL)?;
    let meter = meter(script)?;
    let flags = MeterFlags(u16::from(script.byte()? % 20));
    let mut bands = Vec::new();
    for _ in 0..script.byte()? % 4 {
        let rate = u32::from(script.byte()?) << (script.byte()? % 25);
        let burst = u32::from(script.byte()?) << (script.byte()? % 25);
        bands.push(match script.byte()? {
            levels if levels < 128 => Band::DscpRemark {
                rate,
                burst,
                levels,
            },
            _ => Band::Drop { rate, burst },
        });
    }
    Some(written(&Message::MeterMod(MeterMod {
        command,
        flags,
        meter,
        bands: Bands::of(&bands),
    })))
}

fn flow_mod(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let command = choice(script, FlowModCommand::ALL)?;
    let priority = u16::from(script.byte()? % 4);
    let table = TableId(script.byte()? % 2);
    let (now, later) = (actions(script)?, actions(script)?);
    let mut instructions = vec![
        Instruction::ApplyActions(Actions::of(&now)),
        Instruction::WriteActions(Actions::of(&later)),
    ];
    match script.byte()? % 4 {
        0 => instructions.push(Instruction::Meter(meter(script)?)),
        1 => instructions.push(Instruction::GotoTable(TableId(1))),
        _ => {}
    }
    Some(written(&Message::FlowMod(FlowMod {
        command,
        priority,
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(table)
    })))
}
