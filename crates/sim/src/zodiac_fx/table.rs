//! The flow tables of the experiments, as a controller writes them: OpenFlow 1.0
//! orders that add one entry after the other.

use std::net::Ipv4Addr;

use calculus::loko::processing_time::{
    self, MatchField, MatchFields, Priorities, Setting, UsedEntry,
};
use units::DataSize;
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::ipv4::PROTOCOL_UDP;
use wire::openflow::TransactionId;
use wire::openflow10::{Action, Actions, AddressPrefix, FlowMod, Match10, PortNumber};

use super::Frame;
use super::frame::datagram;

/// The port that measured frames come from.
pub const FROM: PortNumber = PortNumber(1);
/// The port that they leave by.
pub const TO: PortNumber = PortNumber(2);

const SOURCE: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 1), 1_000);
const DESTINATION: (Ipv4Addr, u16) = (Ipv4Addr::new(10, 0, 0, 2), 2_000);
const PREFIX: u8 = 24;
const MIDDLE_PRIORITY: u16 = 1_000;

/// Returns a UDP frame of the flow that the one useful entry of a table takes.
#[must_use]
pub fn frame_of(size: DataSize) -> Frame {
    Frame {
        bytes: datagram(SOURCE, DESTINATION, size),
        tag: 0,
    }
}

/// Returns the orders that fill an empty table as a setting says.
#[must_use]
pub fn orders_of(setting: &Setting) -> Vec<Vec<u8>> {
    let last = setting.entries.saturating_sub(1);
    let used = match setting.used {
        UsedEntry::First => 0,
        UsedEntry::Last => last,
    };
    let wanted = match_on(setting.fields);
    let orders = (0..=last).map(|place| {
        let matching = match place == used {
            true => wanted,
            false => dummy(wanted, place),
        };
        let priority = priority_of(setting.priorities, place);
        order(matching, priority, &actions_of(setting.action))
    });
    orders.collect()
}

/// Returns the order to add one entry.
pub fn order(matching: Match10, priority: u16, actions: &[Action]) -> Vec<u8> {
    let order = FlowMod {
        matching,
        priority,
        actions: Actions::of(actions),
        ..FlowMod::ADD
    };
    let mut bytes = Vec::new();
    order.emit(TransactionId(0), &mut bytes);
    bytes
}

/// Returns the priority of the entry at a place.
pub fn priority_of(priorities: Priorities, place: u64) -> u16 {
    let step = u16::try_from(place)
        .unwrap_or(MIDDLE_PRIORITY)
        .min(MIDDLE_PRIORITY);
    match priorities {
        Priorities::Increasing => MIDDLE_PRIORITY + step,
        Priorities::Decreasing => MIDDLE_PRIORITY - step,
    }
}

/// Returns a match on these fields that takes [`frame_of`].
fn match_on(fields: MatchFields) -> Match10 {
    let frame = frame_of(DataSize::ZERO);
    let none = MacAddress([0; 6]);
    let header = Header::parse(&frame.bytes).map(|(header, _)| header);
    let (source, destination) = header.map_or((none, none), |it| (it.source, it.destination));
    let network = |field, address| match fields.contains(field) {
        true if fields == MatchFields::MASKED_NW_DST => AddressPrefix::new(address, PREFIX),
        true => AddressPrefix::host(address),
        false => AddressPrefix::ANY,
    };
    let has = |field| fields.contains(field);
    let above_ethernet = [
        MatchField::NwProto,
        MatchField::NwSrc,
        MatchField::NwDst,
        MatchField::TpSrc,
        MatchField::TpDst,
    ];
    Match10 {
        in_port: has(MatchField::InPort).then_some(FROM),
        dl_src: has(MatchField::DlSrc).then_some(source),
        dl_dst: has(MatchField::DlDst).then_some(destination),
        dl_type: above_ethernet
            .into_iter()
            .any(has)
            .then_some(EtherType::IPV4),
        nw_tos: has(MatchField::NwTos).then_some(0),
        nw_proto: has(MatchField::NwProto).then_some(PROTOCOL_UDP),
        nw_src: network(MatchField::NwSrc, SOURCE.0),
        nw_dst: network(MatchField::NwDst, DESTINATION.0),
        tp_src: has(MatchField::TpSrc).then_some(SOURCE.1),
        tp_dst: has(MatchField::TpDst).then_some(DESTINATION.1),
        ..Match10::ANY
    }
}

/// Returns a match on the same fields that takes no frame of the experiment.
pub fn dummy(like: Match10, place: u64) -> Match10 {
    let number = u16::try_from(place).unwrap_or(0);
    let [high, low] = number.to_be_bytes();
    let elsewhere = |network: AddressPrefix| match network.prefix_length() {
        0 => AddressPrefix::ANY,
        prefix => AddressPrefix::new(Ipv4Addr::new(172, high, low, 1), prefix),
    };
    Match10 {
        in_port: like.in_port.map(|_| PortNumber(3)),
        dl_src: like.dl_src.map(|_| MacAddress([2, 1, 0, 0, high, low])),
        dl_dst: like.dl_dst.map(|_| MacAddress([2, 1, 0, 0, high, low])),
        nw_src: elsewhere(like.nw_src),
        nw_dst: elsewhere(like.nw_dst),
        tp_src: like.tp_src.map(|_| 10_000 + number),
        tp_dst: like.tp_dst.map(|_| 10_000 + number),
        ..like
    }
}

fn actions_of(action: processing_time::LokoAction) -> Vec<Action> {
    use processing_time::LokoAction as Timed;
    let change = match action {
        Timed::Output => None,
        Timed::SetVlanId => Some(Action::SetVlanVid(7)),
        Timed::SetVlanPcp => Some(Action::SetVlanPcp(3)),
        Timed::StripVlan => Some(Action::StripVlan),
        Timed::SetDlSrc => Some(Action::SetDlSrc(MacAddress([2, 0, 0, 0, 0, 9]))),
        Timed::SetNwSrc => Some(Action::SetNwSrc(Ipv4Addr::new(192, 0, 2, 1))),
        Timed::SetNwTos => Some(Action::SetNwTos(0x10)),
        Timed::SetTpSrc => Some(Action::SetTpSrc(9)),
    };
    change.into_iter().chain([Action::output(TO)]).collect()
}
/// Returns the five-tuple of a flow.
pub fn five_tuple(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Match10 {
    Match10 {
        dl_type: Some(EtherType::IPV4),
        nw_proto: Some(PROTOCOL_UDP),
        nw_src: AddressPrefix::host(from.0),
        nw_dst: AddressPrefix::host(to.0),
        tp_src: Some(from.1),
        tp_dst: Some(to.1),
        ..Match10::ANY
    }
}
