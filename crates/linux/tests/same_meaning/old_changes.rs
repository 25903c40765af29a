//! Entries as a controller of version 1.0 adds them, with its own actions.

use wire::ethernet::EtherType;
use wire::openflow::{ControllerLength, Cookie, FlowModCommand, QueueId, TransactionId};
use wire::openflow10::{Action, Actions, AddressPrefix, FlowMod, Match10, Message, PortNumber};

use crate::pools::{IPV4, MACS, PORTS, VLANS};
use crate::random::Random;
use crate::template::{self, Template};

/// Returns a message that adds, changes or removes an entry for frames like the
/// template, on a switch with so many ports.
pub fn draw(random: &mut Random, template: &Template, ports: u8) -> Vec<u8> {
    let actions: Vec<_> = (0..random.between(0, 5))
        .map(|_| action(random, ports))
        .collect();
    let command = match random.below(8) {
        0 => FlowModCommand::Modify,
        1 => FlowModCommand::DeleteStrict,
        _ => FlowModCommand::Add,
    };
    let message = Message::FlowMod(FlowMod {
        matching: matching(random, template, ports),
        cookie: Cookie(random.below(4)),
        command,
        priority: random.pick(&[1, 5, 9]),
        actions: Actions::of(&actions),
        ..FlowMod::ADD
    });
    let mut bytes = Vec::new();
    message.emit(TransactionId(9), &mut bytes);
    bytes
}

fn matching(random: &mut Random, template: &Template, ports: u8) -> Match10 {
    let mut it = Match10::ANY;
    if random.percent(20) {
        it.in_port = Some(port(random, ports));
    }
    if random.percent(30) {
        it.dl_dst = Some(template.dst);
    }
    match template.tags.first() {
        Some((_, control)) if random.percent(40) => {
            it.dl_vlan = Some(control & 0xfff);
            if random.percent(50) {
                it.dl_vlan_pcp = u8::try_from(control >> 13).ok();
            }
        }
        None if random.percent(20) => it.dl_vlan = Some(Match10::NO_VLAN),
        Some(_) | None => {}
    }
    if let template::Network::Ipv4(packet) = &template.network
        && random.percent(70)
    {
        it.dl_type = Some(EtherType::IPV4);
        it.nw_src = AddressPrefix::new(packet.src, random.pick(&[0, 24, 32]));
        it.nw_dst = AddressPrefix::new(packet.dst, random.pick(&[0, 0, 8, 32]));
        if random.percent(50) {
            it.nw_proto = Some(packet.transport.protocol);
            it.tp_dst = random.percent(50).then_some(packet.transport.dst);
        }
    }
    it
}

fn action(random: &mut Random, ports: u8) -> Action {
    match random.below(16) {
        0 => Action::SetVlanVid(random.pick(&VLANS)),
        1 => Action::SetVlanPcp(random.pick(&[0, 5, 7])),
        2 => Action::StripVlan,
        3 => Action::SetDlSrc(random.pick(&MACS)),
        4 => Action::SetDlDst(random.pick(&MACS)),
        5 => Action::SetNwSrc(random.pick(&IPV4)),
        6 => Action::SetNwDst(random.pick(&IPV4)),
        7 => Action::SetNwTos(random.pick(&[0, 0x28, 0xfc])),
        8 => Action::SetTpSrc(random.pick(&PORTS)),
        9 => Action::SetTpDst(random.pick(&PORTS)),
        10 => Action::Enqueue {
            port: port(random, ports),
            queue: QueueId(u32::from(random.byte() & 7)),
        },
        11 => Action::output(random.pick(&[
            PortNumber::IN_PORT,
            PortNumber::FLOOD,
            PortNumber::ALL,
            PortNumber::NORMAL,
        ])),
        12 if random.percent(20) => Action::Output {
            port: PortNumber::CONTROLLER,
            max_length: ControllerLength(64),
        },
        _ => Action::output(port(random, ports)),
    }
}

fn port(random: &mut Random, ports: u8) -> PortNumber {
    PortNumber(u16::try_from(random.between(1, usize::from(ports))).unwrap())
}
