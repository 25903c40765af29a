//! What entries and buckets do with frames.

use wire::ethernet::EtherType;
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::taktos::{MonitorId, QueuedFrameActions};
use wire::openflow::{Action, ControllerLength, GroupId, MatchField, PortNumber, QueueId};

use crate::matching::Matching;
use crate::modes;
use crate::pools::{DSCPS, IPV4, IPV6, LABELS, MACS, OPERATIONS, PORTS, VLANS};
use crate::random::Random;

/// What lists of actions are drawn from.
#[derive(Clone, Debug)]
pub struct Repertoire {
    pub ports: u8,
    /// The groups that there are, as far as known.
    pub groups: Vec<u32>,
    /// How often in a hundred an action is one that only the core knows.
    pub exotic: u64,
    /// How often in a hundred a bucket leads to another group.
    pub chains: u64,
}

impl Repertoire {
    /// Returns actions for frames that are as the match demands, as far as that
    /// is known.
    pub fn list(&self, random: &mut Random, matching: &Matching, most: usize) -> Vec<Action> {
        let mut frames = matching.clone();
        let count = random.between(0, most);
        let actions = (0..count).map(|_| self.action(random, &mut frames));
        actions.collect()
    }

    /// Returns an action that sends.
    pub fn output(&self, random: &mut Random) -> Action {
        let port = match random.below(100) {
            0..=82 => u32::try_from(random.between(1, usize::from(self.ports))).unwrap(),
            83..=90 => PortNumber::IN_PORT.0,
            91..=97 => PortNumber::ALL.0,
            _ => PortNumber::FLOOD.0,
        };
        Action::output(PortNumber(port))
    }

    fn action(&self, random: &mut Random, frames: &mut Matching) -> Action {
        if random.percent(self.exotic) {
            return exotic(random, frames);
        }
        match random.below(100) {
            0..=41 => self.output(random),
            42..=49 => Action::SetQueue(QueueId(u32::from(random.byte() & 7))),
            50..=57 if !self.groups.is_empty() => Action::Group(GroupId(random.pick(&self.groups))),
            58..=65 => {
                frames.tags += 1;
                Action::PushVlan(EtherType(random.pick(&[0x8100, 0x88a8])))
            }
            66..=73 if frames.tags > 0 => {
                frames.tags -= 1;
                Action::PopVlan
            }
            74 | 75 => Action::FlowMonitor(MonitorId(random.pick(&modes::MONITORS))),
            76 => Action::QueuedFrame(QueuedFrameActions::STAY),
            _ => Action::SetField(field(random, frames)),
        }
    }
}

/// Returns a field that all of the frames have, with a new value.
fn field(random: &mut Random, frames: &Matching) -> MatchField {
    let mut choices = vec![
        MatchField::EthDst(Masked::exact(random.pick(&MACS))),
        MatchField::EthSrc(Masked::exact(random.pick(&MACS))),
    ];
    if random.percent(5) {
        choices.push(MatchField::TunnelId(Masked::exact(7)));
    }
    if frames.tags > 0 {
        let vlan = VlanMatch::tagged(random.pick(&VLANS));
        choices.push(MatchField::VlanVid(Masked::exact(vlan)));
        choices.push(MatchField::VlanPcp(random.pick(&[0, 5, 7])));
    }
    let several = [1, 2, 3];
    match frames.ether_type {
        Some(0x0800) => several.iter().for_each(|_| choices.push(of_ipv4(random))),
        Some(0x86dd) => several.iter().for_each(|_| choices.push(of_ipv6(random))),
        Some(0x0806) => several.iter().for_each(|_| choices.push(of_arp(random))),
        Some(_) | None => {}
    }
    let v6 = frames.ether_type == Some(0x86dd);
    if let Some(protocol) = frames.protocol {
        choices.extend(of_transport(random, protocol, v6));
    }
    random.pick(&choices)
}

/// Returns any field, for buckets: nobody knows which frames they get.
fn any_field(random: &mut Random) -> MatchField {
    let vlan = VlanMatch::tagged(random.pick(&VLANS));
    let all = [
        MatchField::EthDst(Masked::exact(random.pick(&MACS))),
        MatchField::EthSrc(Masked::exact(random.pick(&MACS))),
        MatchField::VlanVid(Masked::exact(vlan)),
        MatchField::VlanPcp(random.byte() & 7),
        of_ipv4(random),
        of_ipv6(random),
        of_arp(random),
    ];
    let protocol = random.pick(&[1, 6, 17, 58]);
    let transport = of_transport(random, protocol, protocol == 58);
    match random.percent(25) {
        true => transport.unwrap_or(all[0]),
        false => random.pick(&all),
    }
}

fn of_ipv4(random: &mut Random) -> MatchField {
    match random.below(4) {
        0 => MatchField::IpDscp(random.pick(&DSCPS)),
        1 => MatchField::IpEcn(random.byte() & 3),
        2 => MatchField::Ipv4Src(Masked::exact(random.pick(&IPV4))),
        _ => MatchField::Ipv4Dst(Masked::exact(random.pick(&IPV4))),
    }
}

fn of_ipv6(random: &mut Random) -> MatchField {
    match random.below(5) {
        0 => MatchField::IpDscp(random.pick(&DSCPS)),
        1 => MatchField::IpEcn(random.byte() & 3),
        2 => MatchField::Ipv6Src(Masked::exact(random.pick(&IPV6))),
        3 => MatchField::Ipv6Dst(Masked::exact(random.pick(&IPV6))),
        _ => MatchField::Ipv6Flabel(Masked::exact(random.pick(&LABELS))),
    }
}

fn of_arp(random: &mut Random) -> MatchField {
    match random.below(5) {
        0 => MatchField::ArpOp(random.pick(&OPERATIONS)),
        1 => MatchField::ArpSpa(Masked::exact(random.pick(&IPV4))),
        2 => MatchField::ArpTpa(Masked::exact(random.pick(&IPV4))),
        3 => MatchField::ArpSha(Masked::exact(random.pick(&MACS))),
        _ => MatchField::ArpTha(Masked::exact(random.pick(&MACS))),
    }
}

fn of_transport(random: &mut Random, protocol: u8, v6: bool) -> Option<MatchField> {
    let (port, code) = (random.pick(&PORTS), random.byte() & 1);
    let kind = random.pick(&[0, 8, 128, 135]);
    let both = match protocol {
        6 => [MatchField::TcpSrc(port), MatchField::TcpDst(port)],
        17 => [MatchField::UdpSrc(port), MatchField::UdpDst(port)],
        132 => [MatchField::SctpSrc(port), MatchField::SctpDst(port)],
        1 if !v6 => [MatchField::Icmpv4Type(kind), MatchField::Icmpv4Code(code)],
        58 if v6 => [MatchField::Icmpv6Type(kind), MatchField::Icmpv6Code(code)],
        _ => return None,
    };
    Some(random.pick(&both))
}

/// Returns an action that the kernel leaves to the core.
fn exotic(random: &mut Random, frames: &mut Matching) -> Action {
    match random.below(9) {
        0 => Action::Output {
            port: PortNumber::CONTROLLER,
            max_length: ControllerLength(random.pick(&[0, 20, 128, 0xffff])),
        },
        1 => Action::output(PortNumber::NORMAL),
        2 => {
            frames.ether_type = Some(0x8847);
            frames.protocol = None;
            Action::PushMpls(EtherType(0x8847))
        }
        3 => Action::PopMpls(EtherType(0x0800)),
        4 => Action::PushPbb(EtherType::PROVIDER_BACKBONE),
        5 => Action::DecrementNetworkTtl,
        6 => Action::SetNetworkTtl(9),
        7 => Action::CopyTtlOut,
        _ => Action::SetField(MatchField::EthType(EtherType(0x88b5))),
    }
}

/// Returns actions for a bucket, which any frame may go through.
pub fn bucket(repertoire: &Repertoire, random: &mut Random, groups: &[u32]) -> Vec<Action> {
    let mut actions = Vec::new();
    while random.percent(35) {
        actions.push(match random.below(6) {
            0 => Action::PopVlan,
            1 => Action::PushVlan(EtherType(random.pick(&[0x8100, 0x88a8]))),
            2 => Action::SetQueue(QueueId(u32::from(random.byte() & 7))),
            _ => Action::SetField(any_field(random)),
        });
    }
    if random.percent(repertoire.exotic) {
        actions.push(exotic(random, &mut Matching::default()));
    }
    match (random.percent(repertoire.chains), groups) {
        (true, [_, ..]) => actions.push(Action::Group(GroupId(random.pick(groups)))),
        (true, []) | (false, _) if random.percent(95) => actions.push(repertoire.output(random)),
        (true, []) | (false, _) => {}
    }
    actions
}
