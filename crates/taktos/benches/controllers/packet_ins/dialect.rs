//! What a played switch says and hears in each version of OpenFlow.

use wire::ethernet::MacAddress;
use wire::openflow::multipart::{
    MultipartReply, MultipartRequest, ReplyBody, RequestBody, SwitchDescription,
};
use wire::openflow::{
    self as of13, BufferId, Cookie, DatapathId, Echo, FlowModCommand, Hello, MatchField,
    PacketInReason, PortName, Sequence, TableId, TransactionId,
};
use wire::openflow10::{self as of10, statistics};

use super::questions::PORTS;

/// The version that a played switch speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// OpenFlow 1.0.
    OpenFlow10,
    /// OpenFlow 1.3.
    OpenFlow13,
}

/// What a controller says, as far as it answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Said<'a> {
    Rule(Rule),
    /// A frame is sent on.
    Frame {
        /// To the one port, if it is one.
        output: Output,
        data: &'a [u8],
    },
    Error,
    /// The controller has asked who the switch is, and has been told.
    Identified,
    /// Anything else; it has been answered if it is to be.
    Other,
}

/// An entry, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) destination: Option<MacAddress>,
    pub(super) source: Option<MacAddress>,
    pub(super) output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    Port(u32),
    Many,
    Nowhere,
}

impl Output {
    /// Returns where several outputs together lead.
    fn of(ports: impl Iterator<Item = of13::PortNumber>) -> Self {
        ports.fold(Self::Nowhere, |before, port| match before {
            Self::Nowhere if port.is_ordinary() => Self::Port(port.0),
            Self::Nowhere | Self::Port(_) | Self::Many => Self::Many,
        })
    }
}

impl Dialect {
    pub(super) fn emit_hello(self, out: &mut Vec<u8>) {
        let hello = match self {
            Self::OpenFlow10 => Hello {
                version: of10::VERSION,
                versions: None,
            },
            Self::OpenFlow13 => Hello::OURS,
        };
        hello.emit(TransactionId(0), out);
    }

    /// Appends a packet-in with a whole frame.
    pub(super) fn emit_packet_in(self, in_port: u16, frame: &[u8], out: &mut Vec<u8>) {
        let total_length = u16::try_from(frame.len()).expect("a frame is short");
        match self {
            Self::OpenFlow10 => {
                let packet_in = of10::PacketIn {
                    buffer: BufferId::NONE,
                    total_length,
                    in_port: of10::PortNumber(in_port),
                    reason: PacketInReason::NoMatch,
                    data: frame,
                };
                packet_in.emit(TransactionId(0), out);
            }
            Self::OpenFlow13 => {
                let fields = [MatchField::InPort(of13::PortNumber(u32::from(in_port)))];
                let packet_in = of13::PacketIn {
                    buffer: BufferId::NONE,
                    total_length,
                    reason: PacketInReason::NoMatch,
                    table: TableId(0),
                    cookie: Cookie(0),
                    fields: Sequence::of(&fields),
                    data: frame,
                };
                packet_in.emit(TransactionId(0), out);
            }
        }
    }

    /// Takes a message of the controller, and appends to `out` what a switch answers
    /// at once. What cannot be read says nothing.
    pub(super) fn hear<'a>(
        self,
        datapath: DatapathId,
        message: &'a [u8],
        out: &mut Vec<u8>,
    ) -> Said<'a> {
        match self {
            Self::OpenFlow10 => match of10::Message::parse(message) {
                Ok((header, parsed)) => hear_10(datapath, header.transaction, &parsed, out),
                Err(_) => Said::Other,
            },
            Self::OpenFlow13 => match of13::Message::parse(message) {
                Ok((header, parsed)) => hear_13(datapath, header.transaction, &parsed, out),
                Err(_) => Said::Other,
            },
        }
    }
}

fn hear_13<'a>(
    datapath: DatapathId,
    transaction: TransactionId,
    message: &of13::Message<'a>,
    out: &mut Vec<u8>,
) -> Said<'a> {
    match message {
        of13::Message::FlowMod(flow_mod) => rule_13(flow_mod).map_or(Said::Other, Said::Rule),
        of13::Message::PacketOut(packet_out) => Said::Frame {
            output: Output::of(outputs_13(&packet_out.actions)),
            data: packet_out.data,
        },
        of13::Message::Error(_) => Said::Error,
        of13::Message::FeaturesRequest => {
            let features = of13::FeaturesReply {
                datapath,
                buffers: 0,
                tables: 1,
                auxiliary: 0,
                capabilities: of13::Capabilities::NONE,
            };
            features.emit(transaction, out);
            Said::Identified
        }
        asked => {
            obey_13(transaction, asked, out);
            Said::Other
        }
    }
}

/// Answers what every switch answers.
fn obey_13(transaction: TransactionId, asked: &of13::Message<'_>, out: &mut Vec<u8>) {
    match asked {
        of13::Message::EchoRequest(Echo { data }) => Echo { data }.emit_reply(transaction, out),
        of13::Message::BarrierRequest => of13::Message::BarrierReply.emit(transaction, out),
        // Whoever asks is the only one, and its master.
        of13::Message::RoleRequest(asked) => of13::RoleMessage {
            role: of13::Role::Master,
            ..*asked
        }
        .emit_reply(transaction, out),
        of13::Message::GetConfigRequest => {
            let config = of13::SwitchConfig {
                fragments: of13::FragmentHandling::Normal,
                miss_send_length: of13::ControllerLength::NO_BUFFER,
            };
            config.emit_reply(transaction, out);
        }
        of13::Message::MultipartRequest(request) => multipart_13(transaction, request, out),
        // Orders without an answer, and what no controller says.
        _ => {}
    }
}

fn multipart_13(transaction: TransactionId, request: &MultipartRequest<'_>, out: &mut Vec<u8>) {
    let ports = ports().map(|(number, name)| {
        let number = of13::PortNumber(u32::from(number));
        of13::PortDescription::new(number, MacAddress([2; 6]), name)
    });
    let body = match request.body {
        RequestBody::PortDescription => ReplyBody::PortDescription(Sequence::of(&ports)),
        RequestBody::Flow(_) => ReplyBody::Flow(Sequence::EMPTY),
        RequestBody::Description => ReplyBody::Description(description()),
        // Nobody who only forwards asks for more.
        _ => return,
    };
    MultipartReply::new(body).emit(transaction, out);
}

fn rule_13(flow_mod: &of13::FlowMod<'_>) -> Option<Rule> {
    is_set(flow_mod.command).then_some(())?;
    let mut rule = Rule {
        destination: None,
        source: None,
        output: Output::Nowhere,
    };
    for field in flow_mod.matching.iter().map_while(Result::ok) {
        match field {
            MatchField::EthDst(mac) if mac.mask.is_none() => rule.destination = Some(mac.value),
            MatchField::EthSrc(mac) if mac.mask.is_none() => rule.source = Some(mac.value),
            _ => {}
        }
    }
    for instruction in flow_mod.instructions.iter().map_while(Result::ok) {
        if let of13::Instruction::ApplyActions(actions) | of13::Instruction::WriteActions(actions) =
            instruction
        {
            rule.output = Output::of(outputs_13(&actions));
        }
    }
    Some(rule)
}

fn outputs_13<'a>(actions: &of13::Actions<'a>) -> impl Iterator<Item = of13::PortNumber> + 'a {
    let actions = actions.iter().map_while(Result::ok);
    actions.filter_map(|action| match action {
        of13::Action::Output { port, .. } => Some(port),
        _ => None,
    })
}

fn hear_10<'a>(
    datapath: DatapathId,
    transaction: TransactionId,
    message: &of10::Message<'a>,
    out: &mut Vec<u8>,
) -> Said<'a> {
    match message {
        of10::Message::FlowMod(flow_mod) => rule_10(flow_mod).map_or(Said::Other, Said::Rule),
        of10::Message::PacketOut(packet_out) => Said::Frame {
            output: Output::of(outputs_10(&packet_out.actions)),
            data: packet_out.data,
        },
        of10::Message::Error(_) => Said::Error,
        of10::Message::FeaturesRequest => {
            identify_10(datapath, transaction, out);
            Said::Identified
        }
        of10::Message::EchoRequest(echo) => {
            of10::Message::EchoReply(*echo).emit(transaction, out);
            Said::Other
        }
        of10::Message::BarrierRequest => {
            of10::Message::BarrierReply.emit(transaction, out);
            Said::Other
        }
        of10::Message::GetConfigRequest => {
            let config = of10::SwitchConfig {
                flags: 0,
                miss_send_length: of13::ControllerLength::NO_BUFFER,
            };
            config.emit_reply(transaction, out);
            Said::Other
        }
        of10::Message::StatisticsRequest(request) => {
            if request.body == statistics::RequestBody::Description {
                let reply = statistics::StatisticsReply {
                    more: false,
                    body: statistics::ReplyBody::Description(description()),
                };
                reply.emit(transaction, out);
            }
            Said::Other
        }
        // Orders without an answer, and what no controller says.
        _ => Said::Other,
    }
}

fn identify_10(datapath: DatapathId, transaction: TransactionId, out: &mut Vec<u8>) {
    let ports = ports().map(|(number, name)| of10::PortDescription {
        number: of10::PortNumber(number),
        address: MacAddress([2; 6]),
        name,
        config: of10::PortConfig::NONE,
        state: of10::PortState::NONE,
        current: of10::PortFeatures::NONE,
        advertised: of10::PortFeatures::NONE,
        supported: of10::PortFeatures::NONE,
        peer: of10::PortFeatures::NONE,
    });
    let features = of10::FeaturesReply {
        datapath,
        buffers: 0,
        tables: 1,
        capabilities: of10::Capabilities::NONE,
        actions: of10::ActionKinds::ALL,
        ports: Sequence::of(&ports),
    };
    features.emit(transaction, out);
}

fn rule_10(flow_mod: &of10::FlowMod<'_>) -> Option<Rule> {
    is_set(flow_mod.command).then_some(())?;
    Some(Rule {
        destination: flow_mod.matching.dl_dst,
        source: flow_mod.matching.dl_src,
        output: Output::of(outputs_10(&flow_mod.actions)),
    })
}

fn outputs_10<'a>(actions: &of10::Actions<'a>) -> impl Iterator<Item = of13::PortNumber> + 'a {
    let actions = actions.iter().map_while(Result::ok);
    actions.filter_map(|action| match action {
        of10::Action::Output { port, .. } => Some(port.to_of13()),
        _ => None,
    })
}

/// Tells whether there is an entry after this order.
const fn is_set(command: FlowModCommand) -> bool {
    match command {
        FlowModCommand::Add | FlowModCommand::Modify | FlowModCommand::ModifyStrict => true,
        FlowModCommand::Delete | FlowModCommand::DeleteStrict => false,
    }
}

fn ports() -> [(u16, PortName); PORTS as usize] {
    std::array::from_fn(|index| {
        let number = u16::try_from(index).expect("few ports") + 1;
        (number, PortName::new(&format!("p{number}")))
    })
}

const fn description() -> SwitchDescription<'static> {
    SwitchDescription {
        manufacturer: "Taktos",
        hardware: "none",
        software: "played switch",
        serial: "none",
        datapath: "none",
    }
}
