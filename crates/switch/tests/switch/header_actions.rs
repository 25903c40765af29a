//! Every action on headers does to a frame what the specification says.

use proptest::prelude::*;
use wire::ethernet::EtherType;
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, AsyncConfig, BufferId, FieldKind, Fields, FlowMod, Instruction, Instructions,
    MatchField, Message, PacketInReason, PacketOut, PortNumber, TableId,
};

use crate::frames::{checksums_hold, frame, tagged, udp};
use crate::layers::{Built, built};
use crate::world::{CONTROLLER, World, output, unpaced};

const MPLS: MatchField = MatchField::EthType(EtherType::MPLS);
const BACKBONE: MatchField = MatchField::EthType(EtherType::PROVIDER_BACKBONE);

/// An MPLS header: label, traffic class, bottom of stack, time to live.
fn shim(label: u32, class: u32, bottom: u32, ttl: u8) -> [u8; 4] {
    (label << 12 | class << 9 | bottom << 8 | u32::from(ttl)).to_be_bytes()
}

/// The frame with MPLS headers behind `before` bytes of addresses and tags, and
/// their type in place of its own.
fn labelled(shims: &[[u8; 4]], before: usize, bytes: &[u8]) -> Vec<u8> {
    let (front, rest) = bytes.split_at(before);
    [front, &[0x88, 0x47], &shims.concat(), &rest[2..]].concat()
}

/// The frame in a backbone frame between the same stations, with this tag
/// control information.
fn wrapped(control: [u8; 4], bytes: &[u8]) -> Vec<u8> {
    [&bytes[..12], &[0x88, 0xe7], &control, bytes].concat()
}

/// Does the actions to a frame for an entry with this match.
fn changed(fields: &[MatchField], actions: &[Action], bytes: &[u8]) -> Vec<u8> {
    let mut world = World::with_controller(unpaced());
    world.add(1, fields, &[actions, &[output(2)]].concat());
    world.frame(1, bytes);
    let sent = world.take_sent();
    assert_eq!(sent.len(), 1, "one frame leaves");
    sent[0].1.clone()
}

/// A frame that is long enough for Ethernet without some of its bytes.
fn long() -> Vec<u8> {
    udp(64, &[7; 40])
}

/// OF13 clauses 5.12 and 5.12.1.
#[test]
fn a_vlan_tag_is_pushed_outermost_with_the_values_of_the_next() {
    let once = tagged(5, 6, &long());
    let mut twice = tagged(5, 6, &once);
    twice[12..14].copy_from_slice(&[0x88, 0xa8]);

    let push = |ether_type| [Action::PushVlan(ether_type)];

    let first = changed(&[], &push(EtherType::VLAN), &long());
    assert_eq!(first, tagged(0, 0, &long()));
    let second = changed(&[], &push(EtherType::SERVICE_VLAN), &once);
    assert_eq!(second, twice);
}

/// OF13 clauses 5.12 and 5.12.1: behind VLAN tags, where a match finds it.
#[test]
fn an_mpls_header_is_pushed_with_what_was_there() {
    let push = [Action::PushMpls(EtherType::MPLS)];
    let arp = frame(0x0806, &[0; 46]);
    let below = shim(5, 6, 1, 7);
    let once = labelled(&[below], 12, &long());
    let tag = tagged(3, 1, &long());

    let over_ip = changed(&[], &push, &long());
    let over_other = changed(&[], &push, &arp);
    let over_mpls = changed(&[], &push, &once);
    let over_tag = changed(&[], &push, &tag);

    assert_eq!(over_ip, labelled(&[shim(0, 0, 1, 64)], 12, &long()));
    assert_eq!(over_other, labelled(&[shim(0, 0, 1, 0)], 12, &arp));
    assert_eq!(over_mpls, labelled(&[shim(5, 6, 0, 7), below], 12, &long()));
    assert_eq!(over_tag, labelled(&[shim(0, 0, 1, 64)], 16, &tag));
}

/// OF13 clauses 5.12, 5.12.1 and 7.2.5.
#[test]
fn a_backbone_tag_is_pushed_with_the_addresses_of_the_frame() {
    let push = [Action::PushPbb(EtherType::PROVIDER_BACKBONE)];
    let tag = tagged(3, 5, &long());
    let once = wrapped([0x20, 1, 2, 3], &long());

    let plain = changed(&[], &push, &long());
    let over_tag = changed(&[], &push, &tag);
    let over_backbone = changed(&[], &push, &once);

    assert_eq!(plain, wrapped([0; 4], &long()));
    assert_eq!(over_tag, wrapped([5 << 5, 0, 0, 0], &tag));
    assert_eq!(over_backbone, wrapped([0, 1, 2, 3], &once));
}

/// OF13 clauses 5.12 and 7.2.5: the backbone's VLAN tag stays.
#[test]
fn a_backbone_tag_is_popped_with_its_addresses_and_without_its_vlan() {
    let mut customer = long();
    customer[..12].fill(9);
    let mut backbone = wrapped([0, 0, 0, 7], &customer);
    backbone[..12].fill(1);

    let pop = [Action::PopPbb];

    assert_eq!(changed(&[BACKBONE], &pop, &backbone), customer);
    let in_vlan = changed(&[BACKBONE], &pop, &tagged(3, 1, &backbone));
    assert_eq!(in_vlan, tagged(3, 1, &customer));
}

/// OF13 clause 5.12: what follows is of the type that the action names.
#[test]
fn a_popped_mpls_header_leaves_the_type_that_is_asked_for() {
    let pop = [Action::PopMpls(EtherType::IPV4)];
    let both = [shim(5, 0, 0, 9), shim(6, 0, 1, 9)];
    let tag = tagged(3, 1, &long());

    let last = changed(&[MPLS], &pop, &labelled(&both[1..], 12, &long()));
    let first = changed(
        &[MPLS],
        &[Action::PopMpls(EtherType::MPLS)],
        &labelled(&both, 12, &long()),
    );
    let tagged = changed(&[MPLS], &pop, &labelled(&both[1..], 16, &tag));

    assert_eq!(last, long());
    assert_eq!(first, labelled(&both[1..], 12, &long()));
    assert_eq!(tagged, tag);
}

/// A frame shorter than that is padded on its way, IEEE 802.3 clause 3.2.8.
#[test]
fn a_frame_that_was_long_enough_is_so_without_its_tag() {
    let shortest = udp(64, &[7; 18]);
    let tag = tagged(3, 1, &udp(64, &[7; 16]));
    let any_tag = MatchField::VlanVid(Masked::under(VlanMatch::PRESENT, VlanMatch::PRESENT));

    let untagged = changed(&[any_tag], &[Action::PopVlan], &tag);

    assert_eq!((tag.len(), shortest.len()), (62, 60));
    assert_eq!(untagged, [udp(64, &[7; 16]), vec![0; 2]].concat());
}

/// OF13 clause 5.12: between the outermost header that has one and the next.
#[test]
fn a_time_to_live_is_copied_between_neighbouring_headers() {
    let below = |ttl| labelled(&[shim(5, 0, 1, 9)], 12, &udp(ttl, &[7; 40]));
    let stack = |outer, inner| {
        let shims = [shim(5, 0, 0, outer), shim(6, 0, 1, inner)];
        labelled(&shims, 12, &long())
    };
    let mut copied_out = below(33);
    copied_out[17] = 33;

    let inwards = changed(&[MPLS], &[Action::CopyTtlIn], &below(33));
    let outwards = changed(&[MPLS], &[Action::CopyTtlOut], &below(33));

    assert_eq!(inwards, below(9), "the checksum included");
    assert_eq!(outwards, copied_out);
    let inwards = changed(&[MPLS], &[Action::CopyTtlIn], &stack(1, 2));
    let outwards = changed(&[MPLS], &[Action::CopyTtlOut], &stack(1, 2));
    assert_eq!((inwards, outwards), (stack(1, 1), stack(2, 2)));
}

/// OF13 clause 5.12: from one IP header to that of the packet within.
#[test]
fn a_time_to_live_is_copied_into_a_packet_within_a_packet() {
    let inner = &udp(7, b"inner")[14..];
    let mut outer = vec![0x60, 0, 0, 0, 0, 0, 4, 99];
    outer.extend([1; 32]);
    let ipv6 = MatchField::EthType(EtherType::IPV6);

    let inwards = changed(
        &[ipv6],
        &[Action::CopyTtlIn],
        &frame(0x86dd, &[&outer, inner].concat()),
    );

    let expected = [&outer, &udp(99, b"inner")[14..]].concat();
    assert_eq!(inwards, frame(0x86dd, &expected));
}

/// OF13 clauses 5.12 and 7.4.1.
#[test]
fn an_mpls_time_to_live_is_set_and_counted_down_until_it_ends() {
    let with = |ttl| labelled(&[shim(5, 3, 1, ttl)], 12, &long());
    let mut world = World::with_controller(unpaced());
    world.add(1, &[MPLS], &[Action::DecrementMplsTtl, output(2)]);
    world.tell(&Message::SetAsync(AsyncConfig {
        packet_in: [0b111, 0],
        ..AsyncConfig::DEFAULT
    }));

    let set = changed(&[MPLS], &[Action::SetMplsTtl(8)], &with(3));
    let counted = changed(&[MPLS], &[Action::DecrementMplsTtl], &with(3));
    world.frame(1, &with(1));

    assert_eq!((set, counted), (with(8), with(2)));
    assert_eq!(world.take_sent(), []);
    let answers = world.answers(CONTROLLER);
    let reasons = answers.iter().map(|answer| match answer.message() {
        Message::PacketIn(it) => (it.reason, it.data.to_vec()),
        other => panic!("not what was expected: {other:?}"),
    });
    assert_eq!(
        reasons.collect::<Vec<_>>(),
        [(PacketInReason::InvalidTtl, with(1))]
    );
}

/// What must be in an entry's match before an action may set a field: the
/// numbers that say what the frame is.
fn tells_what_follows(kind: FieldKind) -> bool {
    matches!(
        kind,
        FieldKind::EthType | FieldKind::VlanVid | FieldKind::IpProto | FieldKind::Icmpv6Type
    )
}

/// The fields that are no header, OF13 clause 7.2.5.
fn cannot_be_set(kind: FieldKind) -> bool {
    matches!(
        kind,
        FieldKind::InPort | FieldKind::InPhysicalPort | FieldKind::Metadata | FieldKind::Ipv6Exthdr
    )
}

/// A frame, a field of it, and another value for that.
fn another_value() -> impl Strategy<Value = (Built, MatchField, MatchField)> {
    let bit = any::<prop::sample::Index>();
    let drawn = (built(), any::<prop::sample::Index>(), bit);
    drawn.prop_filter_map("the field can be set", |(frame, at, bit)| {
        let field = *at.get(&frame.fields);
        let mut bytes = Vec::new();
        field.emit(&mut bytes);
        let bit = bit.index(8 * (bytes.len() - 4));
        bytes[4 + bit / 8] ^= 1 << (bit % 8);
        let (value, _) = MatchField::parse(&bytes).ok()?;
        let possible = match value {
            // The type of a VLAN tag is no type to match on: it would begin a tag.
            MatchField::EthType(it) => it.0 >= 0x0600 && !it.is_vlan(),
            MatchField::VlanVid(vlan) => vlan.value.id().is_some(),
            _ => true,
        };
        let is_there = !cannot_be_set(field.kind()) && !frame.absent.contains(&field.kind());
        (possible && is_there).then_some((frame, field, value))
    })
}

proptest! {
    /// OF13 clause 7.2.5: every field, set in one table and seen in the next.
    #[test]
    fn what_is_set_is_what_later_tables_see((frame, old, new) in another_value()) {
        let untagged = matches!(old, MatchField::VlanVid(it) if it.value.id().is_none());
        prop_assume!(!untagged);
        let before = frame.fields.iter().take_while(|it| **it != old);
        let known: Vec<_> = before.copied().filter(|it| tells_what_follows(it.kind())).collect();
        let (first, second) = ([&known[..], &[old]].concat(), [&known[..], &[new]].concat());
        let set = [Action::SetField(new)];
        let mut world = World::with_controller(unpaced());
        world.tell(&Message::FlowMod(FlowMod {
            matching: Fields::of(&first),
            instructions: Instructions::of(&[
                Instruction::ApplyActions(Actions::of(&set)),
                Instruction::GotoTable(TableId(1)),
            ]),
            ..FlowMod::add(TableId(0))
        }));
        world.tell(&Message::FlowMod(FlowMod {
            matching: Fields::of(&second),
            instructions: Instructions::of(&[
                Instruction::ApplyActions(Actions::of(&[output(3)])),
            ]),
            ..FlowMod::add(TableId(1))
        }));

        world.frame(frame.port, &frame.bytes);

        let sent = world.take_sent();
        prop_assert_eq!(sent.len(), 1);
        prop_assert_eq!(sent[0].1.len(), frame.bytes.len());
    }

    /// OF13 clause 5.12: a tag that is pushed and popped leaves no trace, unless
    /// the frame was too short for Ethernet.
    #[test]
    fn what_is_pushed_and_popped_again_leaves_the_frame_as_it_was(
        mut frame in built(),
        pushes in prop::collection::vec(0usize..3, 1..4),
    ) {
        frame.bytes.resize(frame.bytes.len().max(60), 0);
        let mut types = vec![type_behind_tags(&frame.bytes)];
        let mut actions = Vec::new();
        for push in &pushes {
            actions.push(match push {
                0 => Action::PushVlan(EtherType::SERVICE_VLAN),
                1 => Action::PushMpls(EtherType::MPLS_UPSTREAM),
                _ => Action::PushPbb(EtherType::PROVIDER_BACKBONE),
            });
            types.push(match push {
                0 => types[types.len() - 1],
                1 => EtherType::MPLS_UPSTREAM,
                _ => EtherType::PROVIDER_BACKBONE,
            });
        }
        for (at, push) in pushes.iter().enumerate().rev() {
            actions.push(match push {
                0 => Action::PopVlan,
                1 => Action::PopMpls(types[at]),
                _ => Action::PopPbb,
            });
        }
        // A length is no type that could be named.
        prop_assume!(!pushes.contains(&1) || types[0].0 >= 0x0600);

        prop_assert_eq!(sent_out(&actions, &frame.bytes), frame.bytes);
    }
}

fn type_behind_tags(bytes: &[u8]) -> EtherType {
    let at = |at: usize| EtherType(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let types = (12..).step_by(4).map(at);
    types
        .into_iter()
        .find(|it| !it.is_vlan())
        .expect("tags end")
}

/// Sends a frame out after these actions, which need not suit it.
fn sent_out(actions: &[Action], bytes: &[u8]) -> Vec<u8> {
    let mut world = World::with_controller(unpaced());
    world.tell(&Message::PacketOut(PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNumber::CONTROLLER,
        actions: Actions::of(&[actions, &[output(2)]].concat()),
        data: bytes,
    }));
    let sent = world.take_sent();
    sent[0].1.clone()
}

/// OF13 clause 5.12: an action for a header that is not there does nothing.
#[test]
fn a_frame_without_the_header_stays_as_it_is() {
    let actions = [
        Action::PopVlan,
        Action::PopMpls(EtherType::IPV4),
        Action::PopPbb,
        Action::CopyTtlIn,
        Action::CopyTtlOut,
        Action::SetMplsTtl(1),
        Action::DecrementMplsTtl,
        Action::DecrementNetworkTtl,
        Action::SetField(MatchField::MplsLabel(1)),
        Action::SetField(MatchField::PbbIsid(Masked::exact([1; 3]))),
        Action::SetField(MatchField::SctpSrc(1)),
        Action::SetField(MatchField::TunnelId(Masked::exact(1))),
    ];
    let other = frame(0x88b5, &[7; 50]);

    assert_eq!(sent_out(&actions, &other), other);
}

/// OF13 clause 5.10: pop, push MPLS, push PBB, push VLAN, set.
#[test]
fn the_action_set_pushes_and_pops_in_its_own_order() {
    let mut world = World::with_controller(unpaced());
    let written = [
        output(2),
        Action::SetField(MatchField::VlanPcp(3)),
        Action::PushVlan(EtherType::VLAN),
        Action::PushPbb(EtherType::PROVIDER_BACKBONE),
        Action::PushMpls(EtherType::MPLS),
        Action::PopVlan,
        Action::CopyTtlIn,
    ];
    let any_tag = MatchField::VlanVid(Masked::under(VlanMatch::PRESENT, VlanMatch::PRESENT));
    let ipv4 = MatchField::EthType(EtherType::IPV4);
    world.tell(&Message::FlowMod(FlowMod {
        matching: Fields::of(&[ipv4, any_tag]),
        instructions: Instructions::of(&[Instruction::WriteActions(Actions::of(&written))]),
        ..FlowMod::add(TableId(0))
    }));

    world.frame(1, &tagged(5, 6, &long()));

    let within = labelled(&[shim(0, 0, 1, 64)], 12, &long());
    let expected = tagged(0, 3, &wrapped([0; 4], &within));
    assert_eq!(world.take_sent(), [(2, expected)]);
}

/// OF13 clause 7.2.5: an IPv4 header has a checksum, and UDP's covers addresses.
#[test]
fn checksums_hold_after_a_header_was_popped_and_fields_set() {
    let actions = [
        Action::PopMpls(EtherType::IPV4),
        Action::SetNetworkTtl(3),
        Action::SetField(MatchField::Ipv4Src(Masked::exact([1, 2, 3, 4].into()))),
        Action::SetField(MatchField::IpDscp(46)),
    ];

    let sent = changed(
        &[MPLS],
        &actions,
        &labelled(&[shim(1, 0, 1, 9)], 12, &long()),
    );

    assert!(checksums_hold(&sent));
    assert_eq!((sent[15], sent[22]), (46 << 2, 3));
}
