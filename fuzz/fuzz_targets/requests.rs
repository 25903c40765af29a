//! What a controller asks for besides bundles and changes of groups and meters: good enough
//! to be carried out, wild enough to be refused.

use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, RequestBody};
use wire::openflow::{
    Action, Actions, AsyncConfig, BufferId, ControllerLength, Cookie, Fields, FlowMod,
    FlowModCommand, FlowModFlags, FragmentHandling, GroupId, Instruction, Instructions, MatchField,
    Message, MeterId, PacketOut, PortNumber, QueueId, Role, RoleMessage, Sequence, SwitchConfig,
    TableId, TransactionId,
};

use crate::script::Script;

/// Returns the message that the script asks for.
pub fn request(script: &mut Script<'_>) -> Option<Vec<u8>> {
    Some(match script.byte()? % 8 {
        0 => written(&Message::BarrierRequest),
        1 => multipart(script)?,
        2 => packet_out(script)?,
        3 => written(&Message::RoleRequest(RoleMessage {
            role: choice(script, Role::ALL)?,
            generation: u64::from(script.byte()?),
        })),
        4 => {
            let mut mask = || Some([u32::from(script.byte()?), u32::from(script.byte()?)]);
            written(&Message::SetAsync(AsyncConfig {
                packet_in: mask()?,
                port_status: mask()?,
                flow_removed: mask()?,
            }))
        }
        5 => written(&Message::SetConfig(SwitchConfig {
            fragments: choice(script, FragmentHandling::ALL)?,
            miss_send_length: length(script)?,
        })),
        _ => flow_mod(script)?,
    })
}

fn choice<T: Copy>(script: &mut Script<'_>, all: &[T]) -> Option<T> {
    Some(all[usize::from(script.byte()?) % all.len()])
}

fn written(message: &Message<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    message.emit(TransactionId(1), &mut out);
    out
}

fn length(script: &mut Script<'_>) -> Option<ControllerLength> {
    Some(match script.byte()? {
        255 => ControllerLength::NO_BUFFER,
        some => ControllerLength(u16::from(some)),
    })
}

fn port(script: &mut Script<'_>) -> Option<PortNumber> {
    let byte = script.byte()?;
    Some(match byte {
        0..8 => PortNumber(u32::from(byte)),
        _ => PortNumber(u32::MAX - u32::from(byte % 9)),
    })
}

/// A frame that may be kept, one that is not, or none.
fn buffer(script: &mut Script<'_>) -> Option<BufferId> {
    let [turn, place] = [script.byte()?, script.byte()?];
    Some(match turn {
        64.. => BufferId::NONE,
        _ => BufferId(u32::from(turn % 4) << 16 | u32::from(place % 4)),
    })
}

fn actions(script: &mut Script<'_>) -> Option<Vec<Action>> {
    let count = script.byte()? % 3;
    let actions = (0..count).map(|_| {
        let port = port(script)?;
        let max_length = length(script)?;
        Some(Action::Output { port, max_length })
    });
    actions.collect()
}

fn fields(script: &mut Script<'_>) -> Option<Vec<MatchField>> {
    Some(match script.byte()? % 4 {
        0 => vec![],
        1 => vec![MatchField::InPort(port(script)?)],
        _ => vec![MatchField::EthSrc(
            wire::ethernet::MacAddress([2, 0, 0, 0, 0, script.byte()? % 128]).into(),
        )],
    })
}

fn multipart(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let entries = |script: &mut Script<'_>| {
        let table = choice(script, &[TableId(0), TableId(1), TableId(9), TableId::ALL])?;
        let mut request = FlowStatisticsRequest::all(table);
        request.out_port = port(script)?;
        Some(request)
    };
    let body = match script.byte()? % 14 {
        0 => RequestBody::Description,
        1 => RequestBody::Flow(entries(script)?),
        2 => RequestBody::Aggregate(entries(script)?),
        3 => RequestBody::Table,
        4 => RequestBody::PortStatistics(port(script)?),
        5 => RequestBody::Queue {
            port: port(script)?,
            queue: choice(script, &[QueueId(0), QueueId(9), QueueId::ALL])?,
        },
        6 => RequestBody::Group(choice(script, &[GroupId(1), GroupId::ALL])?),
        7 => RequestBody::GroupDescription,
        8 => RequestBody::GroupFeatures,
        9 => RequestBody::Meter(choice(script, &[MeterId(1), MeterId::ALL])?),
        10 => RequestBody::MeterConfig(choice(script, &[MeterId(1), MeterId::ALL])?),
        11 => RequestBody::MeterFeatures,
        12 => RequestBody::TableFeatures(Sequence::EMPTY),
        _ => RequestBody::PortDescription,
    };
    Some(written(&Message::MultipartRequest(MultipartRequest::new(
        body,
    ))))
}

fn packet_out(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let buffer = buffer(script)?;
    let in_port = port(script)?;
    let actions = actions(script)?;
    Some(written(&Message::PacketOut(PacketOut {
        buffer,
        in_port,
        actions: Actions::of(&actions),
        data: script.bytes()?,
    })))
}

fn flow_mod(script: &mut Script<'_>) -> Option<Vec<u8>> {
    let actions = actions(script)?;
    let fields = fields(script)?;
    let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
    Some(written(&Message::FlowMod(FlowMod {
        command: choice(script, FlowModCommand::ALL)?,
        priority: u16::from(script.byte()? % 4),
        cookie: Cookie(u64::from(script.byte()? % 4)),
        cookie_mask: Cookie(u64::from(script.byte()? % 4)),
        idle_timeout_s: u16::from(script.byte()? % 4),
        hard_timeout_s: u16::from(script.byte()? % 4),
        buffer: buffer(script)?,
        out_port: port(script)?,
        flags: FlowModFlags(u16::from(script.byte()? % 32)),
        matching: Fields::of(&fields),
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(choice(script, &[TableId(0), TableId(1), TableId::ALL])?)
    })))
}
