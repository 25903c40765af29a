//! Any frame, and any changes of its headers, at once and in the action set.

#![no_main]

#[allow(dead_code, reason = "other targets read more of a script")]
mod script;

use std::net::{Ipv4Addr, Ipv6Addr};

use libfuzzer_sys::fuzz_target;
use script::{Script, hello};
use switch::{Config, ConnectionId, FRAME_BYTES_MAX, Input, Output, Pacing, Peer, PortConfig, Switch};
use units::Instant;
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, BufferId, DatapathId, FlowMod, Instruction, Instructions, MatchField, Message,
    PacketOut, PortNumber, TableId, TransactionId,
};

const CONTROLLER: ConnectionId = ConnectionId(1);
/// How many actions a frame undergoes.
const ACTIONS_MAX: u8 = 24;
/// The most that tags can add to a frame.
const HEADROOM: usize = 64;

fuzz_target!(|data: &[u8]| {
    let mut script = Script(data);
    let Some(actions) = actions(&mut script) else {
        return;
    };
    let frame = script.0;
    let mut switch = new_switch();
    let buffers = switch.free_buffers();
    tell(
        &mut switch,
        &Message::FlowMod(FlowMod {
            instructions: Instructions::of(&[
                Instruction::WriteActions(Actions::of(&actions)),
                Instruction::GotoTable(TableId(1)),
            ]),
            ..FlowMod::add(TableId(0))
        }),
    );
    tell(&mut switch, &Message::FlowMod(FlowMod::add(TableId(1))));

    handle(
        &mut switch,
        Input::Frame {
            port: PortNumber(1),
            bytes: frame,
            arrived: Instant::ZERO,
        },
    );
    if frame.len() <= FRAME_BYTES_MAX {
        tell(
            &mut switch,
            &Message::PacketOut(PacketOut {
                buffer: BufferId::NONE,
                in_port: PortNumber(1),
                actions: Actions::of(&actions),
                data: frame,
            }),
        );
    }

    assert_eq!(switch.free_buffers(), buffers, "every buffer is given back");
});

fn new_switch() -> Switch {
    let ports = (1..=2).map(|number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 1, 1]),
        rate: None,
        pacing: Pacing::Core,
    });
    let mut config = Config::new(DatapathId(1), ports.collect());
    config.tables = 2;
    config.table_capacity = 4;
    config.buffers = 64;
    config.packet_buffers.frames = 1;
    config.mac_table.capacity = 1;
    let mut switch = Switch::new(Instant::ZERO, config);
    handle(
        &mut switch,
        Input::Connected {
            connection: CONTROLLER,
            peer: Peer::Controller,
        },
    );
    handle(
        &mut switch,
        Input::Received {
            connection: CONTROLLER,
            bytes: &hello(),
        },
    );
    switch
}

fn tell(switch: &mut Switch, message: &Message<'_>) {
    let mut bytes = Vec::new();
    message.emit(TransactionId(1), &mut bytes);
    handle(
        switch,
        Input::Received {
            connection: CONTROLLER,
            bytes: &bytes,
        },
    );
}

fn handle(switch: &mut Switch, input: Input<'_>) {
    switch.handle(Instant::ZERO, input);
    while let Some(output) = switch.poll() {
        if let Output::Transmit { bytes, .. } = output {
            assert!((14..=FRAME_BYTES_MAX + HEADROOM).contains(&bytes.len()));
        }
    }
}

fn actions(script: &mut Script<'_>) -> Option<Vec<Action>> {
    let count = script.byte()? % ACTIONS_MAX;
    let mut actions = Vec::new();
    for _ in 0..count {
        actions.push(action(script)?);
    }
    actions.push(Action::output(PortNumber(2)));
    Some(actions)
}

fn action(script: &mut Script<'_>) -> Option<Action> {
    let what = script.byte()?;
    Some(match what % 16 {
        0 => Action::PushVlan(EtherType::VLAN),
        1 => Action::PopVlan,
        2 => Action::PushMpls(EtherType::MPLS),
        3 => Action::PopMpls(ether_type(script.byte()?)),
        4 => Action::PushPbb(EtherType::PROVIDER_BACKBONE),
        5 => Action::PopPbb,
        6 => Action::CopyTtlIn,
        7 => Action::CopyTtlOut,
        8 => Action::SetMplsTtl(what),
        9 => Action::DecrementMplsTtl,
        10 => Action::SetNetworkTtl(what),
        11 => Action::DecrementNetworkTtl,
        12 => Action::output(PortNumber(2)),
        _ => Action::SetField(field(script)?),
    })
}

fn ether_type(which: u8) -> EtherType {
    let types = [
        EtherType::IPV4,
        EtherType::IPV6,
        EtherType::ARP,
        EtherType::MPLS,
        EtherType::PROVIDER_BACKBONE,
        EtherType::VLAN,
        EtherType::SERVICE_VLAN,
        EtherType::LLDP,
    ];
    types[usize::from(which) % types.len()]
}

fn field(script: &mut Script<'_>) -> Option<MatchField> {
    let (what, value) = (script.byte()?, script.byte()?);
    let address = MacAddress([value; 6]);
    let wide = u16::from(value) << 8 | u16::from(value);
    Some(match what % 36 {
        0 => MatchField::EthDst(Masked::exact(address)),
        1 => MatchField::EthSrc(Masked::exact(address)),
        2 => MatchField::EthType(ether_type(value)),
        3 => MatchField::VlanVid(Masked::exact(VlanMatch::tagged(wide))),
        4 => MatchField::VlanPcp(value & 7),
        5 => MatchField::IpDscp(value & 63),
        6 => MatchField::IpEcn(value & 3),
        7 => MatchField::IpProto(value),
        8 => MatchField::Ipv4Src(Masked::exact(Ipv4Addr::from([value; 4]))),
        9 => MatchField::Ipv4Dst(Masked::exact(Ipv4Addr::from([value; 4]))),
        10 => MatchField::TcpSrc(wide),
        11 => MatchField::TcpDst(wide),
        12 => MatchField::UdpSrc(wide),
        13 => MatchField::UdpDst(wide),
        14 => MatchField::SctpSrc(wide),
        15 => MatchField::SctpDst(wide),
        16 => MatchField::Icmpv4Type(value),
        17 => MatchField::Icmpv4Code(value),
        18 => MatchField::ArpOp(wide),
        19 => MatchField::ArpSpa(Masked::exact(Ipv4Addr::from([value; 4]))),
        20 => MatchField::ArpTpa(Masked::exact(Ipv4Addr::from([value; 4]))),
        21 => MatchField::ArpSha(Masked::exact(address)),
        22 => MatchField::ArpTha(Masked::exact(address)),
        23 => MatchField::Ipv6Src(Masked::exact(Ipv6Addr::from([value; 16]))),
        24 => MatchField::Ipv6Dst(Masked::exact(Ipv6Addr::from([value; 16]))),
        25 => MatchField::Ipv6Flabel(Masked::exact(u32::from(wide))),
        26 => MatchField::Icmpv6Type(value),
        27 => MatchField::Icmpv6Code(value),
        28 => MatchField::Ipv6NdTarget(Ipv6Addr::from([value; 16])),
        29 => MatchField::Ipv6NdSll(address),
        30 => MatchField::Ipv6NdTll(address),
        31 => MatchField::MplsLabel(u32::from(wide)),
        32 => MatchField::MplsTc(value & 7),
        33 => MatchField::MplsBos(value & 1),
        34 => MatchField::PbbIsid(Masked::exact([value; 3])),
        _ => MatchField::TunnelId(Masked::exact(u64::from(value))),
    })
}
