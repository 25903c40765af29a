//! Every message that a controller may send to a switch, in both versions, with the
//! state of the device in which each is measured (LOKO section 3.2.2).
//!
//! # Differs from the paper
//!
//! A strict order names one entry, since two entries with the same match and priority
//! cannot stand in a table (OF13 clause 6.4); the firmware of the paper lets them, and
//! a strict order there may name all.

use wire::openflow::multipart::{FlowStatisticsRequest, MultipartRequest, RequestBody as WideBody};
use wire::openflow::{
    self, BufferId, ControllerLength, Echo, FlowModCommand, GroupId, GroupMod, GroupModCommand,
    GroupType, MeterFlags, MeterId, MeterMod, MeterModCommand, QueueId, Role, RoleMessage,
    Sequence, TableId,
};
use wire::openflow10::statistics::{
    FlowStatisticsRequest as NarrowFlowRequest, RequestBody as NarrowBody, StatisticsRequest,
};
use wire::openflow10::{self, Action, PortNumber, SwitchConfig};

use super::exchange::{Answer, Exchange};
use crate::method::orders::{FlowEntry, Version, plain, widened};
use crate::method::table_setting::{TableSetting, output};
use wire::ethernet::MacAddress;

/// What is measured: its name, the state of the device, and what is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageTest {
    /// The name of the message.
    pub name: String,
    /// The state of the device, by name and value.
    pub setting: Vec<(String, String)>,
    pub exchange: Exchange,
}

/// Which entries an order concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concerns {
    All,
    One,
    None,
}

impl Concerns {
    const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::One => "one",
            Self::None => "none",
        }
    }
}

/// Returns every message that does not depend on the table, on an empty one.
#[must_use]
pub fn simple(version: Version) -> Vec<MessageTest> {
    let messages = match version {
        Version::V10 => narrow_messages(),
        Version::V13 => wide_messages(),
    };
    let point = |(name, message): (&str, Vec<u8>)| MessageTest {
        name: name.to_owned(),
        setting: Vec::new(),
        exchange: Exchange {
            before: vec![version.delete_all()],
            restore: restore_of(name),
            message,
            answer: answer_to(name),
        },
    };
    messages.into_iter().map(point).collect()
}

/// Returns the request for a barrier, on an empty table.
#[must_use]
pub fn barrier(version: Version) -> Exchange {
    Exchange {
        before: vec![version.delete_all()],
        restore: Vec::new(),
        message: version.barrier(),
        answer: Answer::Reply,
    }
}

/// Returns every message that depends on a table of so many entries of so many
/// actions.
#[must_use]
pub fn with_table(version: Version, entries: u16, actions: u8) -> Vec<MessageTest> {
    let mut points = vec![add(version, entries, actions)];
    let changes = [
        (FlowModCommand::Modify, Concerns::All),
        (FlowModCommand::Modify, Concerns::None),
        (FlowModCommand::ModifyStrict, Concerns::One),
        (FlowModCommand::ModifyStrict, Concerns::None),
        (FlowModCommand::Delete, Concerns::All),
        (FlowModCommand::Delete, Concerns::None),
        (FlowModCommand::DeleteStrict, Concerns::One),
        (FlowModCommand::DeleteStrict, Concerns::None),
    ];
    let changes = changes.into_iter();
    points.extend(
        changes.map(|(command, concerns)| change(version, command, concerns, (entries, actions))),
    );
    points.push(statistics(version, entries, actions));
    points
}

/// Returns the order that deletes a whole table.
#[must_use]
pub fn deletion_of_all(version: Version, entries: u16, actions: u8) -> MessageTest {
    let size = (entries, actions);
    change(version, FlowModCommand::Delete, Concerns::All, size)
}

fn add(version: Version, entries: u16, actions: u8) -> MessageTest {
    let new = with_actions(foreign(), actions);
    MessageTest {
        name: "FlowMod Add".to_owned(),
        setting: setting_of(entries, actions, None),
        exchange: Exchange {
            before: table(version, entries, actions),
            restore: vec![version.flow_mod(FlowModCommand::DeleteStrict, &new)],
            message: version.addition(&new),
            answer: Answer::None,
        },
    }
}

fn change(
    version: Version,
    command: FlowModCommand,
    concerns: Concerns,
    (entries, actions): (u16, u8),
) -> MessageTest {
    let filled = table(version, entries, actions);
    let last = TableSetting::five_tuples(entries).entries().last();
    let named = match concerns {
        Concerns::All => FlowEntry::EVERYTHING,
        Concerns::One => last.unwrap_or(FlowEntry::EVERYTHING),
        Concerns::None => foreign(),
    };
    let named = with_actions(named, actions);
    let restore = match (command, concerns) {
        (FlowModCommand::Delete | FlowModCommand::DeleteStrict, Concerns::All) => filled.clone(),
        (FlowModCommand::Delete | FlowModCommand::DeleteStrict, Concerns::One) => {
            vec![version.addition(&named)]
        }
        // In version 1.0 what is not found is added.
        (FlowModCommand::Modify | FlowModCommand::ModifyStrict, Concerns::None) => {
            vec![version.flow_mod(FlowModCommand::DeleteStrict, &named)]
        }
        (_, Concerns::All | Concerns::One | Concerns::None) => Vec::new(),
    };
    let name = match command {
        FlowModCommand::Add => "FlowMod Add",
        FlowModCommand::Modify => "FlowMod Modify",
        FlowModCommand::ModifyStrict => "FlowMod Modify strict",
        FlowModCommand::Delete => "FlowMod Delete",
        FlowModCommand::DeleteStrict => "FlowMod Delete strict",
    };
    MessageTest {
        name: name.to_owned(),
        setting: setting_of(entries, actions, Some(concerns)),
        exchange: Exchange {
            before: filled,
            restore,
            message: version.flow_mod(command, &named),
            answer: Answer::None,
        },
    }
}

fn statistics(version: Version, entries: u16, actions: u8) -> MessageTest {
    let message = match version {
        Version::V10 => plain(&asked(NarrowBody::Flow(NarrowFlowRequest::ALL))),
        Version::V13 => {
            let all = FlowStatisticsRequest::all(TableId(0));
            widened(&asked_widely(WideBody::Flow(all)))
        }
    };
    MessageTest {
        name: "FlowStatsRequest".to_owned(),
        setting: setting_of(entries, actions, None),
        exchange: Exchange {
            before: table(version, entries, actions),
            restore: Vec::new(),
            message,
            answer: Answer::Reply,
        },
    }
}

fn setting_of(entries: u16, actions: u8, concerns: Option<Concerns>) -> Vec<(String, String)> {
    let mut setting = vec![
        ("entries".to_owned(), entries.to_string()),
        ("actions".to_owned(), actions.to_string()),
    ];
    setting.extend(concerns.map(|it| ("matching".to_owned(), it.name().to_owned())));
    setting
}

/// Returns what fills an empty table.
fn table(version: Version, entries: u16, actions: u8) -> Vec<Vec<u8>> {
    let filled = TableSetting::five_tuples(entries);
    let adds = filled.entries();
    let adds = adds.map(|entry| version.addition(&with_actions(entry, actions)));
    std::iter::once(version.delete_all()).chain(adds).collect()
}

/// Returns an entry that no table here has.
fn foreign() -> FlowEntry {
    let far = TableSetting::five_tuples(30_000);
    let one = TableSetting::five_tuples(1).entries().next();
    // Any entry but the last of so large a table.
    far.entries()
        .nth(29_990)
        .or(one)
        .unwrap_or(FlowEntry::EVERYTHING)
}

/// Returns an entry with so many actions: the last one sends the frame, those before
/// set the source address.
fn with_actions(entry: FlowEntry, actions: u8) -> FlowEntry {
    let rewrites = u8::saturating_sub(actions, 1);
    let rewrites = (0..rewrites).map(|it| Action::SetDlSrc(MacAddress([2, 0, 0, 0, 1, it])));
    let send = (actions > 0).then(output);
    FlowEntry {
        actions: rewrites.chain(send).collect(),
        ..entry
    }
}

const NO_BUFFER: ControllerLength = ControllerLength::NO_BUFFER;
const GROUP: GroupId = GroupId(1);
const METER: MeterId = MeterId(1);

fn narrow_messages() -> Vec<(&'static str, Vec<u8>)> {
    use openflow10::Message;
    let config = SwitchConfig {
        flags: 0,
        miss_send_length: NO_BUFFER,
    };
    let packet_out = openflow10::PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::NONE,
        actions: openflow10::Actions::EMPTY,
        data: &[0; 60],
    };
    let aggregate = NarrowBody::Aggregate(NarrowFlowRequest::ALL);
    let queue = NarrowBody::Queue {
        port: PortNumber::ALL,
        queue: QueueId::ALL,
    };
    let port = NarrowBody::Port(PortNumber::NONE);
    let queue_config = Message::QueueGetConfigRequest(PortNumber(1));
    let messages = [
        ("EchoRequest", Message::EchoRequest(Echo { data: &[] })),
        ("BarrierRequest", Message::BarrierRequest),
        ("FeaturesRequest", Message::FeaturesRequest),
        ("GetConfigRequest", Message::GetConfigRequest),
        ("SetConfig", Message::SetConfig(config)),
        ("PacketOut", Message::PacketOut(packet_out)),
        ("DescStatsRequest", asked(NarrowBody::Description)),
        ("AggregateStatsRequest", asked(aggregate)),
        ("TableStatsRequest", asked(NarrowBody::Table)),
        ("PortStatsRequest", asked(port)),
        ("QueueStatsRequest", asked(queue)),
        ("QueueGetConfigRequest", queue_config),
    ];
    let messages = messages.iter();
    messages.map(|(name, it)| (*name, plain(it))).collect()
}

fn wide_messages() -> Vec<(&'static str, Vec<u8>)> {
    use openflow::{Message, PortNumber};
    let config = openflow::SwitchConfig {
        fragments: openflow::FragmentHandling::Normal,
        miss_send_length: NO_BUFFER,
    };
    let packet_out = openflow::PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: openflow::Actions::EMPTY,
        data: &[0; 60],
    };
    let role = RoleMessage {
        role: Role::NoChange,
        generation: 0,
    };
    let queue_config = Message::QueueGetConfigRequest(PortNumber(1));
    let messages = [
        ("EchoRequest", Message::EchoRequest(Echo { data: &[] })),
        ("BarrierRequest", Message::BarrierRequest),
        ("FeaturesRequest", Message::FeaturesRequest),
        ("GetConfigRequest", Message::GetConfigRequest),
        ("SetConfig", Message::SetConfig(config)),
        ("PacketOut", Message::PacketOut(packet_out)),
        ("RoleRequest", Message::RoleRequest(role)),
        ("GetAsyncRequest", Message::GetAsyncRequest),
        ("QueueGetConfigRequest", queue_config),
    ];
    let messages = messages.iter();
    let changes = [
        ("GroupMod Add", group(GroupModCommand::Add)),
        ("GroupMod Delete", group(GroupModCommand::Delete)),
        ("MeterMod Add", meter(MeterModCommand::Add)),
        ("MeterMod Delete", meter(MeterModCommand::Delete)),
    ];
    let questions = wide_questions().into_iter();
    messages
        .map(|(name, it)| (*name, widened(it)))
        .chain(changes)
        .chain(questions.map(|(name, body)| (name, widened(&asked_widely(body)))))
        .collect()
}

fn wide_questions() -> [(&'static str, WideBody<'static>); 13] {
    let any = openflow::PortNumber::ANY;
    let aggregate = WideBody::Aggregate(FlowStatisticsRequest::all(TableId(0)));
    let queue = WideBody::Queue {
        port: any,
        queue: QueueId::ALL,
    };
    let meter = WideBody::MeterConfig(MeterId::ALL);
    let table = WideBody::TableFeatures(Sequence::EMPTY);
    [
        ("DescStatsRequest", WideBody::Description),
        ("AggregateStatsRequest", aggregate),
        ("TableStatsRequest", WideBody::Table),
        ("PortStatsRequest", WideBody::PortStatistics(any)),
        ("QueueStatsRequest", queue),
        ("GroupStatsRequest", WideBody::Group(GroupId::ALL)),
        ("GroupDescStatsRequest", WideBody::GroupDescription),
        ("GroupFeaturesStatsRequest", WideBody::GroupFeatures),
        ("MeterStatsRequest", WideBody::Meter(MeterId::ALL)),
        ("MeterConfigStatsRequest", meter),
        ("MeterFeaturesStatsRequest", WideBody::MeterFeatures),
        ("TableFeaturesStatsRequest", table),
        ("PortDescStatsRequest", WideBody::PortDescription),
    ]
}

/// Tells whether a message is answered: what changes something is not.
fn answer_to(name: &str) -> Answer {
    match name {
        "SetConfig" | "PacketOut" => Answer::None,
        name if restore_of(name).is_empty() => Answer::Reply,
        _ => Answer::None,
    }
}

/// Returns what undoes a message that changes something.
fn restore_of(name: &str) -> Vec<Vec<u8>> {
    match name {
        "GroupMod Add" => vec![group(GroupModCommand::Delete)],
        "GroupMod Delete" => vec![group(GroupModCommand::Add)],
        "MeterMod Add" => vec![meter(MeterModCommand::Delete)],
        "MeterMod Delete" => vec![meter(MeterModCommand::Add)],
        _ => Vec::new(),
    }
}

fn group(command: GroupModCommand) -> Vec<u8> {
    widened(&openflow::Message::GroupMod(GroupMod {
        command,
        kind: GroupType::All,
        group: GROUP,
        buckets: Sequence::EMPTY,
    }))
}

fn meter(command: MeterModCommand) -> Vec<u8> {
    let bands = [openflow::Band::Drop {
        rate: 1_000,
        burst: 0,
    }];
    widened(&openflow::Message::MeterMod(MeterMod {
        command,
        flags: MeterFlags::KBPS,
        meter: METER,
        bands: Sequence::of(&bands),
    }))
}

fn asked(body: NarrowBody<'_>) -> openflow10::Message<'_> {
    openflow10::Message::StatisticsRequest(StatisticsRequest { body })
}

fn asked_widely(body: WideBody<'_>) -> openflow::Message<'_> {
    openflow::Message::MultipartRequest(MultipartRequest::new(body))
}
