//! Actions on headers that make no sense are refused with their error.

use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{
    Action, Actions, BadAction, ErrorKind, Fields, FlowMod, Instruction, Instructions, MatchField,
    Message, PortNumber, TableId,
};

use crate::world::{World, output, unpaced};

const IPV4: MatchField = MatchField::EthType(EtherType::IPV4);
const IPV6: MatchField = MatchField::EthType(EtherType::IPV6);
const MPLS: MatchField = MatchField::EthType(EtherType::MPLS);
const BACKBONE: MatchField = MatchField::EthType(EtherType::PROVIDER_BACKBONE);
const TCP: MatchField = MatchField::IpProto(6);
const ICMPV6: MatchField = MatchField::IpProto(58);
const SOLICITATION: MatchField = MatchField::Icmpv6Type(135);
const TAG: MatchField = MatchField::VlanVid(Masked::exact(VlanMatch::tagged(3)));

const fn set(field: MatchField) -> Action {
    Action::SetField(field)
}

fn address() -> Action {
    set(MatchField::Ipv4Src(Masked::exact(Ipv4Addr::LOCALHOST)))
}

/// What is answered to an entry of table 0, if it is refused.
fn answer(fields: &[MatchField], instructions: &[Instruction<'_>]) -> Option<ErrorKind> {
    let mut world = World::with_controller(unpaced());
    let answers = world.ask(&Message::FlowMod(FlowMod {
        matching: Fields::of(fields),
        instructions: Instructions::of(instructions),
        ..FlowMod::add(TableId(0))
    }));
    answers.first().map(|answer| match answer.message() {
        Message::Error(error) => error.kind,
        other => panic!("not what was expected: {other:?}"),
    })
}

fn applied(fields: &[MatchField], actions: &[Action]) -> Option<ErrorKind> {
    answer(fields, &[Instruction::ApplyActions(Actions::of(actions))])
}

fn written(fields: &[MatchField], actions: &[Action]) -> Option<ErrorKind> {
    answer(fields, &[Instruction::WriteActions(Actions::of(actions))])
}

/// OF13 clauses 7.2.5 and 7.4.4.
#[test]
fn an_action_is_refused_if_the_match_does_not_demand_its_header() {
    let target = set(MatchField::Ipv6NdTarget([0; 16].into()));
    let solicited = set(MatchField::Ipv6NdSll(MacAddress([1; 6])));
    let advertised = set(MatchField::Ipv6NdTll(MacAddress([1; 6])));
    for (fields, action) in [
        (&[][..], Action::PopVlan),
        (&[], set(TAG)),
        (&[], set(MatchField::VlanPcp(3))),
        (&[], address()),
        (&[IPV6], address()),
        (&[IPV4, TCP], set(MatchField::UdpSrc(1))),
        (&[IPV4, TCP], set(MatchField::SctpDst(1))),
        (&[IPV6, ICMPV6], target),
        (&[IPV6, ICMPV6, SOLICITATION], advertised),
        (&[IPV6, ICMPV6, MatchField::Icmpv6Type(136)], solicited),
        (&[IPV6], set(MatchField::ArpOp(1))),
        (&[], set(MatchField::IpProto(6))),
        (&[MPLS], Action::SetNetworkTtl(1)),
        (&[], Action::DecrementNetworkTtl),
        (&[IPV4], Action::SetMplsTtl(1)),
        (&[IPV4], Action::DecrementMplsTtl),
        (&[IPV4], Action::PopMpls(EtherType::IPV4)),
        (&[IPV4], set(MatchField::MplsTc(1))),
        (&[MPLS], Action::PopPbb),
        (&[MPLS], set(MatchField::PbbIsid(Masked::exact([1; 3])))),
        (&[BACKBONE], Action::CopyTtlOut),
    ] {
        let inconsistent = Some(ErrorKind::BadAction(BadAction::MatchInconsistent));

        assert_eq!(applied(fields, &[action]), inconsistent, "{action:?}");
        assert_eq!(written(fields, &[action]), inconsistent, "{action:?}");
    }
}

/// OF13 clause 5.11: a list is executed in its order.
#[test]
fn an_action_may_need_what_an_earlier_one_of_the_list_made() {
    let label = set(MatchField::MplsLabel(7));
    let service = set(MatchField::PbbIsid(Masked::exact([1; 3])));
    let pop_mpls = Action::PopMpls(EtherType::IPV4);
    let push_mpls = Action::PushMpls(EtherType::MPLS);
    let push_pbb = Action::PushPbb(EtherType::PROVIDER_BACKBONE);
    let push_vlan = Action::PushVlan(EtherType::VLAN);
    for (fields, before, action) in [
        (&[][..], push_vlan, set(TAG)),
        (&[], push_vlan, Action::PopVlan),
        (&[IPV4], push_mpls, label),
        (&[], push_mpls, Action::CopyTtlOut),
        (&[], push_pbb, service),
        (&[], push_pbb, Action::PopPbb),
        (&[MPLS], pop_mpls, address()),
        (&[], set(IPV4), address()),
        (&[IPV4], set(TCP), set(MatchField::TcpSrc(1))),
    ] {
        let refused = applied(fields, &[action, before]);
        assert!(refused.is_some(), "{action:?} before {before:?}");
        let accepted = applied(fields, &[before, action]);
        assert_eq!(accepted, None, "{before:?} before {action:?}");
    }
}

/// OF13 clauses 5.10 and 5.11.
#[test]
fn an_action_is_refused_once_another_took_its_header_away() {
    for (fields, before, action) in [
        (&[IPV4, TAG][..], Action::PopVlan, set(TAG)),
        (&[IPV4], Action::PushMpls(EtherType::MPLS), address()),
        (
            &[IPV4, TCP],
            set(MatchField::IpProto(17)),
            set(MatchField::TcpSrc(1)),
        ),
        (
            &[BACKBONE],
            Action::PopPbb,
            set(MatchField::PbbIsid(Masked::exact([1; 3]))),
        ),
    ] {
        assert!(applied(fields, &[before, action]).is_some(), "{before:?}");
    }
}

/// OF13 clause 5.10: in which order they come does not matter, and other tables
/// may add to them.
#[test]
fn written_actions_are_judged_by_the_frame_that_they_will_see() {
    let set_first = [set(TAG), Action::PushVlan(EtherType::VLAN), output(1)];
    let onward = [
        Instruction::WriteActions(Actions::of(&[Action::PopVlan])),
        Instruction::GotoTable(TableId(1)),
    ];
    let behind_apply = [
        Instruction::ApplyActions(Actions::of(&[Action::PushMpls(EtherType::MPLS)])),
        Instruction::WriteActions(Actions::of(&[Action::SetMplsTtl(3)])),
    ];

    assert_eq!(written(&[], &set_first), None);
    assert_eq!(answer(&[], &onward), None);
    assert_eq!(answer(&[], &behind_apply), None);
}

/// OF13 clauses 5.12, 7.2.5 and 7.4.4.
#[test]
fn an_argument_that_no_header_can_have_is_refused() {
    for (action, expected) in [
        (Action::PushVlan(EtherType::IPV4), BadAction::BadArgument),
        (Action::PushMpls(EtherType::IPV4), BadAction::BadArgument),
        (Action::PushPbb(EtherType::MPLS), BadAction::BadArgument),
        (Action::PopMpls(EtherType(1500)), BadAction::BadArgument),
        (
            set(MatchField::EthType(EtherType(0x05ff))),
            BadAction::BadSetArgument,
        ),
        (
            set(MatchField::VlanVid(Masked::exact(VlanMatch(5)))),
            BadAction::BadSetArgument,
        ),
    ] {
        let refused = applied(&[MPLS, TAG], &[action]);

        assert_eq!(refused, Some(ErrorKind::BadAction(expected)), "{action:?}");
    }
}

/// OF13 clause 7.2.5: what is no header, or is told by others.
#[test]
fn a_field_that_is_no_header_cannot_be_set() {
    let port = PortNumber(1);
    for field in [
        MatchField::InPort(port),
        MatchField::InPhysicalPort(port),
        MatchField::Metadata(Masked::exact(1)),
        MatchField::Ipv6Exthdr(Masked::exact(1)),
    ] {
        let refused = applied(&[IPV6], &[set(field)]);

        let expected = Some(ErrorKind::BadAction(BadAction::BadSetType));
        assert_eq!(refused, expected, "{field:?}");
    }
}

/// OF13 clauses 7.2.5 and 7.4.4.
#[test]
fn an_action_in_bad_bytes_is_refused_with_its_error() {
    for (bytes, expected) in [
        (&[0, 17, 0, 4, 0x81, 0, 0, 0][..], BadAction::BadLength),
        (
            &[0, 17, 0, 16, 0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            BadAction::BadLength,
        ),
        (&[0, 1, 0, 8, 0, 0, 0, 0], BadAction::BadType),
        (&[0xff, 0xff, 0, 8, 0, 0, 0, 1], BadAction::BadExperimenter),
        // A field that nobody knows, one that is too long, one that is too large.
        (
            &[0, 25, 0, 16, 0x80, 0, 80, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            BadAction::BadSetType,
        ),
        (
            &[0, 25, 0, 16, 0x80, 0, 14, 2, 0, 0, 0, 0, 0, 0, 0, 0],
            BadAction::BadSetLength,
        ),
        (
            &[0, 25, 0, 16, 0x80, 0, 14, 1, 8, 0, 0, 0, 0, 0, 0, 0],
            BadAction::BadSetArgument,
        ),
    ] {
        let actions = Actions::from_bytes(bytes);

        let refused = answer(&[TAG], &[Instruction::ApplyActions(actions)]);

        assert_eq!(refused, Some(ErrorKind::BadAction(expected)), "{bytes:?}");
    }
}
