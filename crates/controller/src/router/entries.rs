//! The entries that lead packets of outside routers through the network.
//!
//! | table | matches | does |
//! |---|---|---|
//! | 0, at the port of a peering | the router's address, IPv4 or IPv6 | goes to table 1 |
//! | 1, where peerings are | a prefix | notes its next hop as metadata, goes to table 2 |
//! | 2, where peerings are | the next hop | writes both addresses, takes one off the TTL, sends out |
//! | 2, where the next hop is | the same, and its port as the one where it came in | the same, sends back |
//! | 0, on the way | from the router to the next hop's address | sends on |
//! | 0, between a peer and the speaker | BGP, ARP, neighbour discovery, ICMP for the speaker's address there | sends on |
//!
//! All of it travels in the queue in which nothing is promised.

use std::collections::BTreeSet;
use std::net::IpAddr;

use wire::ethernet::{EtherType, MacAddress};
use wire::ipv6::NEXT_HEADER_ICMP as IP_PROTO_ICMPV6;
use wire::openflow::multipart::{FlowStatistics, FlowStatisticsRequest};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, Cookie, DatapathId, Fields, FlowMod, FlowModCommand, Instruction,
    Instructions, MatchField, PortNumber, TableId, TransactionId,
};

use super::next_hops::HopTag;
use crate::desired::{Content, Form};
use crate::intents::frame::best_effort;
use crate::northbound::IpPrefix;
use crate::path::Tree;
use crate::place::PortId;
use crate::priority;

/// Where frames arrive.
const ENTRANCE: TableId = TableId(0);
/// Where prefixes are.
pub const PREFIXES: TableId = TableId(1);
/// Where next hops are.
const NEXT_HOPS: TableId = TableId(2);
/// The cookie of all entries of prefixes.
pub const COOKIE: Cookie = Cookie(0x53 << 56);
pub const COOKIE_MASK: Cookie = Cookie(0xff << 56);
/// Which bits of the metadata name a next hop.
const TAG_MASK: u64 = 0xffff_ffff;
const IP_PROTO_ICMP: u8 = 1;
const IP_PROTO_TCP: u8 = 6;
/// RFC 4271 section 8.
const BGP_PORT: u16 = 179;
const NEIGHBOUR_SOLICITATION: u8 = 135;

/// What is done with frames, as instructions of one entry.
fn instructions(actions: &[Action], metadata: Option<HopTag>, next: Option<TableId>) -> Vec<u8> {
    let applied = (!actions.is_empty()).then(|| Instruction::ApplyActions(Actions::of(actions)));
    let noted = metadata.map(|HopTag(tag)| Instruction::WriteMetadata {
        metadata: u64::from(tag),
        mask: TAG_MASK,
    });
    let all = [applied, noted, next.map(Instruction::GotoTable)];
    let all: Vec<Instruction<'_>> = all.into_iter().flatten().collect();
    let mut bytes = Vec::new();
    Instructions::of(&all).emit(&mut bytes);
    bytes
}

/// Returns the field that a prefix is, and the type of frames that goes with it.
fn destination(prefix: IpPrefix) -> [MatchField; 2] {
    match (prefix.address(), prefix.mask()) {
        (IpAddr::V4(address), IpAddr::V4(mask)) => [
            MatchField::EthType(EtherType::IPV4),
            MatchField::Ipv4Dst(Masked::under(address, mask)),
        ],
        (IpAddr::V6(address), IpAddr::V6(mask)) => [
            MatchField::EthType(EtherType::IPV6),
            MatchField::Ipv6Dst(Masked::under(address, mask)),
        ],
        _ => unreachable!("a prefix and its mask are of one family"),
    }
}

/// Returns the fields of the entry of a prefix: of the shortest one the address does not
/// matter.
fn prefix_fields(prefix: IpPrefix) -> Vec<u8> {
    let [kind, address] = destination(prefix);
    let mut fields = Vec::new();
    kind.emit(&mut fields);
    if !prefix.is_default() {
        let full = match prefix.address() {
            IpAddr::V4(exact) if prefix.length() == 32 => MatchField::Ipv4Dst(exact.into()),
            IpAddr::V6(exact) if prefix.length() == 128 => MatchField::Ipv6Dst(exact.into()),
            _ => address,
        };
        full.emit(&mut fields);
    }
    fields
}

fn prefix_priority(prefix: IpPrefix) -> u16 {
    u16::from(prefix.length()) + 1
}

/// Appends a FlowMod that has a prefix lead to a next hop, or to none.
pub fn emit_prefix(prefix: IpPrefix, next_hop: Option<HopTag>, out: &mut Vec<u8>) {
    let fields = prefix_fields(prefix);
    let does = instructions(&[], next_hop, Some(NEXT_HOPS));
    let add = FlowMod {
        cookie: cookie_of(prefix),
        priority: prefix_priority(prefix),
        matching: Fields::from_bytes(&fields),
        ..FlowMod::add(PREFIXES)
    };
    let flow_mod = match next_hop {
        Some(_) => FlowMod {
            instructions: Instructions::from_bytes(&does),
            ..add
        },
        None => FlowMod {
            command: FlowModCommand::DeleteStrict,
            ..add
        },
    };
    flow_mod.emit(TransactionId(0), out);
}

/// Appends a FlowMod that deletes the entries of all prefixes.
pub fn emit_delete_prefixes(out: &mut Vec<u8>) {
    let flow_mod = FlowMod {
        cookie: COOKIE,
        cookie_mask: COOKIE_MASK,
        ..FlowMod::delete(PREFIXES)
    };
    flow_mod.emit(TransactionId(0), out);
}

/// What is added to the lengths of IPv4 in cookies, to tell them from those of IPv6.
const LENGTHS_V6: u8 = 129;

/// Returns the cookie of the entry of a prefix: its family and length, and its first 48 bits, by
/// which a refusal is known.
fn cookie_of(prefix: IpPrefix) -> Cookie {
    let (length, bits) = match prefix.address() {
        IpAddr::V4(address) => (
            LENGTHS_V6 + prefix.length(),
            u64::from(address.to_bits()) << 16,
        ),
        IpAddr::V6(address) => {
            let [a, b, c, d, e, f, ..] = address.octets();
            let bits = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
            (prefix.length(), bits)
        }
    };
    Cookie(COOKIE.0 | u64::from(length) << 48 | bits)
}

/// Returns the prefix whose entry has a cookie, if the cookie says all of it.
#[must_use]
pub fn prefix_of(cookie: Cookie) -> Option<IpPrefix> {
    let [0x53, length, a, b, c, d, e, f] = cookie.0.to_be_bytes() else {
        return None;
    };
    let (address, length) = match length.checked_sub(LENGTHS_V6) {
        Some(length) => (IpAddr::from([a, b, c, d]), length),
        None if length > 48 => return None,
        None => {
            let mut octets = [0; 16];
            octets[..6].copy_from_slice(&[a, b, c, d, e, f]);
            (IpAddr::from(octets), length)
        }
    };
    IpPrefix::new(address, length).ok()
}

/// Returns which entries of prefixes a switch is asked for.
#[must_use]
pub const fn question() -> FlowStatisticsRequest<'static> {
    let mut question = FlowStatisticsRequest::all(PREFIXES);
    (question.cookie, question.cookie_mask) = (COOKIE, COOKIE_MASK);
    question
}

/// Reads the entry of a prefix that a switch reports: the prefix, and the next hop if the entry
/// does exactly what it should for one. Nothing if it is none of ours.
#[must_use]
pub fn read(entry: &FlowStatistics<'_>) -> Option<(IpPrefix, Option<HopTag>)> {
    if !entry.cookie.matches(COOKIE, COOKIE_MASK) || entry.table != PREFIXES {
        return None;
    }
    let (mut is_v6, mut found) = (None, None);
    for field in entry.matching.iter() {
        match field.ok()? {
            MatchField::EthType(EtherType::IPV4) => is_v6 = Some(false),
            MatchField::EthType(EtherType::IPV6) => is_v6 = Some(true),
            MatchField::Ipv4Dst(Masked { value, mask }) => {
                let mask = mask.map_or(u32::MAX, std::net::Ipv4Addr::to_bits);
                let length = u8::try_from(mask.leading_ones()).ok()?;
                found = Some((IpAddr::V4(value), length));
            }
            MatchField::Ipv6Dst(Masked { value, mask }) => {
                let mask = mask.map_or(u128::MAX, std::net::Ipv6Addr::to_bits);
                let length = u8::try_from(mask.leading_ones()).ok()?;
                found = Some((IpAddr::V6(value), length));
            }
            _ => return None,
        }
    }
    let everything = match is_v6? {
        true => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        false => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
    };
    let (address, length) = found.unwrap_or((everything, 0));
    let prefix = IpPrefix::new(address, length).ok()?;
    let is_placed = entry.priority == prefix_priority(prefix);
    Some((prefix, tag_of(entry).filter(|_| is_placed)))
}

fn tag_of(entry: &FlowStatistics<'_>) -> Option<HopTag> {
    let all: Option<Vec<_>> = entry.instructions.iter().map(Result::ok).collect();
    let mut tag = None;
    let mut goes_on = false;
    for instruction in all? {
        match instruction {
            Instruction::WriteMetadata { metadata, mask } if mask == TAG_MASK => {
                tag = u32::try_from(metadata).ok().map(HopTag);
            }
            Instruction::GotoTable(table) => goes_on = table == NEXT_HOPS,
            _ => return None,
        }
    }
    tag.filter(|_| goes_on)
}

/// The way to a next hop.
#[derive(Clone, Debug)]
pub struct HopWay<'a> {
    pub address: IpAddr,
    pub tag: HopTag,
    pub mac: MacAddress,
    /// The address that packets have on the way.
    pub router: MacAddress,
    /// From its port to all switches.
    pub tree: &'a Tree,
}

impl HopWay<'_> {
    /// Returns the entries that lead to it: from the switches where packets enter, and at
    /// those on the way.
    #[must_use]
    pub fn content(&self, ingresses: &BTreeSet<DatapathId>) -> Content {
        let branches = &self.tree.branches;
        let mut is_passed = vec![false; branches.len()];
        for (place, branch) in branches.iter().enumerate() {
            let mut at = ingresses.contains(&branch.datapath).then_some(place);
            while let Some((before, _)) = at.and_then(|at| branches[at].parent) {
                is_passed[before] = true;
                at = Some(before);
            }
        }
        let mut content = Content::new();
        for (branch, is_passed) in branches.iter().zip(is_passed) {
            let entering = ingresses
                .contains(&branch.datapath)
                .then(|| self.entering(branch.input));
            let passing = is_passed.then(|| self.passing(branch.input));
            let returning = branch.parent.is_none() && ingresses.contains(&branch.datapath);
            let returning = returning.then(|| self.returning(branch.input));
            let forms = entering.into_iter().chain(passing).chain(returning);
            content.extend(forms.map(|form| ((branch.datapath, form.place()), form)));
        }
        content
    }

    /// A span leads away from its port: what it comes in by, packets go out by.
    fn entering(&self, output: PortNumber) -> Form {
        Form::new(
            NEXT_HOPS,
            priority::ROUTER,
            &self.packets(),
            &self.actions(output),
        )
    }

    /// What came in by the port of the next hop, as two systems may be behind one port: a
    /// switch sends a frame out where it came in only by a reserved port (OF13 clause 4.5).
    fn returning(&self, port: PortNumber) -> Form {
        let matching = [&[MatchField::InPort(port)][..], &self.packets()].concat();
        let actions = self.actions(PortNumber::IN_PORT);
        Form::new(NEXT_HOPS, priority::ROUTER + 1, &matching, &actions)
    }

    fn actions(&self, output: PortNumber) -> [Action; 5] {
        [
            Action::SetField(MatchField::EthSrc(Masked::exact(self.router))),
            Action::SetField(MatchField::EthDst(Masked::exact(self.mac))),
            Action::DecrementNetworkTtl,
            best_effort(),
            Action::output(output),
        ]
    }

    /// Packets that a prefix has led to the next hop.
    fn packets(&self) -> [MatchField; 2] {
        let HopTag(tag) = self.tag;
        // A switch that is to count hops wants to know that frames have them.
        let kind = match self.address {
            IpAddr::V4(_) => EtherType::IPV4,
            IpAddr::V6(_) => EtherType::IPV6,
        };
        [
            MatchField::Metadata(Masked::under(u64::from(tag), TAG_MASK)),
            MatchField::EthType(kind),
        ]
    }

    fn passing(&self, output: PortNumber) -> Form {
        let matching = [
            MatchField::EthDst(Masked::exact(self.mac)),
            MatchField::EthSrc(Masked::exact(self.router)),
        ];
        let actions = [best_effort(), Action::output(output)];
        Form::new(ENTRANCE, priority::ROUTER, &matching, &actions)
    }
}

/// A port with outside routers, as entries see it.
#[derive(Clone, Debug)]
pub struct PeeringEnds<'a> {
    pub port: PortId,
    /// The speaker's addresses there.
    pub own: Vec<IpAddr>,
    /// The routers' addresses.
    pub peers: Vec<IpAddr>,
    pub router: MacAddress,
    /// The way from the port to the speaker, and back; nothing if there is none.
    pub ways: Option<[&'a Tree; 2]>,
}

impl PeeringEnds<'_> {
    /// Returns all entries of the peering.
    #[must_use]
    pub fn content(&self) -> Content {
        let mut content = Content::new();
        let mut put = |datapath, form: Form| {
            content.insert((datapath, form.place()), form);
        };
        for kind in [EtherType::IPV4, EtherType::IPV6] {
            put(self.port.datapath, self.entrance(kind));
        }
        let own = self.own.iter().flat_map(|own| to_speaker(*own));
        let own: Vec<(Vec<MatchField>, Heard)> = own.collect();
        match self.ways {
            Some([on, back]) => {
                for (place, branch) in on.branches.iter().enumerate() {
                    for (fields, heard) in &own {
                        let is_told = place == 0 && *heard == Heard::ByController;
                        let form = led(branch.input, fields, &branch.outputs, is_told);
                        put(branch.datapath, form);
                    }
                }
                let back_fields = self.peers.iter().flat_map(|peer| to_peer(*peer));
                let back_fields: Vec<_> = back_fields.collect();
                for branch in &back.branches {
                    for fields in &back_fields {
                        put(
                            branch.datapath,
                            led(branch.input, fields, &branch.outputs, false),
                        );
                    }
                }
            }
            // Who the next hops are is asked also while the speaker is not there.
            None => {
                let heard = own
                    .iter()
                    .filter(|(_, heard)| *heard == Heard::ByController);
                for (fields, _) in heard {
                    put(self.port.datapath, led(self.port.port, fields, &[], true));
                }
            }
        }
        content
    }

    /// Returns the entry that takes what is to be routed.
    fn entrance(&self, kind: EtherType) -> Form {
        let matching = [
            MatchField::InPort(self.port.port),
            MatchField::EthDst(Masked::exact(self.router)),
            MatchField::EthType(kind),
        ];
        let mut fields = Vec::new();
        matching.iter().for_each(|field| field.emit(&mut fields));
        let goes_on = instructions(&[], None, Some(PREFIXES));
        Form::of_bytes(ENTRANCE, priority::ROUTER, &fields, &goes_on)
    }
}

/// Whether the controller hears frames, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    BySpeakerAlone,
    ByController,
}

/// Returns the entry that sends frames on that come in by a port.
fn led(input: PortNumber, fields: &[MatchField], outputs: &[PortNumber], is_told: bool) -> Form {
    let mut matching = vec![MatchField::InPort(input)];
    matching.extend_from_slice(fields);
    let outputs = outputs.iter().copied().map(Action::output);
    let told = is_told.then(|| Action::output(PortNumber::CONTROLLER));
    let actions: Vec<Action> = std::iter::once(best_effort())
        .chain(outputs)
        .chain(told)
        .collect();
    Form::new(ENTRANCE, priority::PEERING, &matching, &actions)
}

/// Returns the frames that outside routers send to an address of the speaker, and who hears
/// them.
fn to_speaker(own: IpAddr) -> Vec<(Vec<MatchField>, Heard)> {
    let (for_it, icmp) = addressed(own);
    let with = |more: &[MatchField]| [&for_it[..], more].concat();
    let mut all = vec![
        (with(&bgp_to()), Heard::BySpeakerAlone),
        (with(&bgp_from()), Heard::BySpeakerAlone),
        (
            with(&[MatchField::IpProto(icmp)]),
            match own {
                // Advertisements are among these.
                IpAddr::V6(_) => Heard::ByController,
                IpAddr::V4(_) => Heard::BySpeakerAlone,
            },
        ),
    ];
    all.push((asked_for(own), Heard::ByController));
    all
}

/// Returns the frames that the speaker sends to an outside router.
fn to_peer(peer: IpAddr) -> Vec<Vec<MatchField>> {
    let (for_it, icmp) = addressed(peer);
    let with = |more: &[MatchField]| [&for_it[..], more].concat();
    vec![
        with(&bgp_to()),
        with(&bgp_from()),
        with(&[MatchField::IpProto(icmp)]),
        asked_for(peer),
    ]
}

const fn bgp_to() -> [MatchField; 2] {
    [
        MatchField::IpProto(IP_PROTO_TCP),
        MatchField::TcpDst(BGP_PORT),
    ]
}

const fn bgp_from() -> [MatchField; 2] {
    [
        MatchField::IpProto(IP_PROTO_TCP),
        MatchField::TcpSrc(BGP_PORT),
    ]
}

/// Returns the fields of packets to an address, and the number of its control protocol.
fn addressed(address: IpAddr) -> (Vec<MatchField>, u8) {
    match address {
        IpAddr::V4(address) => (
            vec![
                MatchField::EthType(EtherType::IPV4),
                MatchField::Ipv4Dst(Masked::exact(address)),
            ],
            IP_PROTO_ICMP,
        ),
        IpAddr::V6(address) => (
            vec![
                MatchField::EthType(EtherType::IPV6),
                MatchField::Ipv6Dst(Masked::exact(address)),
            ],
            IP_PROTO_ICMPV6,
        ),
    }
}

/// Returns the fields of frames by which somebody asks who has an address, or says so to it.
fn asked_for(address: IpAddr) -> Vec<MatchField> {
    match address {
        IpAddr::V4(address) => vec![
            MatchField::EthType(EtherType::ARP),
            MatchField::ArpTpa(Masked::exact(address)),
        ],
        IpAddr::V6(address) => vec![
            MatchField::EthType(EtherType::IPV6),
            MatchField::IpProto(IP_PROTO_ICMPV6),
            MatchField::Icmpv6Type(NEIGHBOUR_SOLICITATION),
            MatchField::Ipv6NdTarget(address),
        ],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::openflow::Message;

    use super::*;

    proptest! {
        /// What an error quotes says which prefix is refused, where a cookie has room for it.
        #[test]
        fn a_prefix_comes_back_from_its_cookie(
            bits: u128, is_v4: bool, length in 0_u8..=128, tag in 1_u32..,
        ) {
            let address = match is_v4 {
                true => IpAddr::V4(bits.to_be_bytes()[..4].iter().fold(0, |all, byte| {
                    all << 8 | u32::from(*byte)
                }).into()),
                false => IpAddr::V6(bits.into()),
            };
            let length = if is_v4 { length % 33 } else { length };
            let prefix = IpPrefix::of(address, length).unwrap();
            let mut out = Vec::new();

            emit_prefix(prefix, Some(HopTag(tag)), &mut out);

            let Ok((_, Message::FlowMod(flow_mod))) = Message::parse(&out) else {
                panic!("a FlowMod")
            };
            prop_assert_eq!(flow_mod.matching.check(), Ok(()));
            prop_assert!(flow_mod.cookie.matches(COOKIE, COOKIE_MASK));
            let is_whole = is_v4 || length <= 48;
            prop_assert_eq!(prefix_of(flow_mod.cookie), is_whole.then_some(prefix));
        }

        #[test]
        fn no_cookie_makes_it_panic(cookie: u64) {
            let _ = prefix_of(Cookie(cookie));
            let _ = prefix_of(Cookie(COOKIE.0 | cookie >> 8));
        }
    }
}
