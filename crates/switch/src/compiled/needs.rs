//! Which parts of a frame anybody looks at.

use wire::ethernet::EtherType;
use wire::openflow::GroupType;
use wire::openflow::taktos::{SequenceEncoding, TrailerAction};

use super::layout::need;
use crate::action::{Action, FieldValue};
use crate::flow_table::Rule;
use crate::group_table::GroupConfig;
use crate::packet_key::{PacketKey, field};

const BITS: usize = 9;

/// How many entries, groups and meters need which part.
#[derive(Debug, Default)]
pub(super) struct Needs {
    counts: [u32; BITS],
}

impl Needs {
    pub(super) fn add(&mut self, bits: u64) {
        for_each(bits, |at| self.counts[at] += 1);
    }

    pub(super) fn remove(&mut self, bits: u64) {
        for_each(bits, |at| self.counts[at] -= 1);
    }

    pub(super) fn bits(&self) -> u64 {
        let needed = (0..BITS).filter(|at| self.counts[*at] > 0);
        needed.map(|at| 1 << at).sum()
    }
}

fn for_each(bits: u64, visit: impl FnMut(usize)) {
    (0..BITS).filter(|at| bits >> at & 1 == 1).for_each(visit);
}

/// Returns what it takes to compare a frame with a rule. Other protocols' fields
/// lie at the same places, and the rule names its protocol.
pub(super) fn of_rule(rule: &Rule) -> u64 {
    let mask = &rule.mask;
    let words = mask.words();
    let header = words[5..9].iter().any(|word| *word != 0);
    if mask.get(field::ETH_TYPE) != field::ETH_TYPE.ones() {
        return if looks_behind_type(mask) { u64::MAX } else { 0 };
    }
    let of_transport = mask.get(field::L4_SRC) | mask.get(field::L4_DST);
    let ether_type = u16::try_from(rule.value.get(field::ETH_TYPE)).expect("sixteen bits");
    match EtherType(ether_type) {
        EtherType::ARP if header || of_transport != 0 => need::ARP,
        EtherType::MPLS | EtherType::MPLS_UPSTREAM if header => need::MPLS,
        EtherType::PROVIDER_BACKBONE if header => need::BACKBONE,
        EtherType::IPV4 | EtherType::IPV6 => {
            let of_network = mask.get(field::IP_PROTO)
                | mask.get(field::IP_DSCP)
                | mask.get(field::IP_ECN)
                | mask.get(field::IPV6_FLOW_LABEL);
            let discovery = words[9..12].iter().any(|word| *word != 0);
            when(header || of_network != 0, need::NETWORK)
                | when(of_transport != 0, need::NETWORK | need::TRANSPORT)
                | when(mask.get(field::IPV6_EXTHDR) != 0, need::EXTENSIONS)
                | when(discovery, need::DISCOVERY)
        }
        _ => 0,
    }
}

fn looks_behind_type(mask: &PacketKey) -> bool {
    let mut headers = *mask;
    headers.replace(field::LEVEL, 0);
    headers.words()[4..12].iter().any(|word| *word != 0)
        || mask.get(field::IP_PROTO) | mask.get(field::IP_DSCP) | mask.get(field::IP_ECN) != 0
        || mask.get(field::L4_SRC) != 0
}

const fn when(condition: bool, bits: u64) -> u64 {
    if condition { bits } else { 0 }
}

/// Returns what it takes to execute actions.
pub(super) fn of_actions(actions: &[Action]) -> u64 {
    actions
        .iter()
        .fold(0, |all, action| all | of_action(*action))
}

const fn is_about_trailers(action: Action) -> bool {
    match action {
        Action::Trailer(TrailerAction::Number(_) | TrailerAction::Lan(_)) => true,
        Action::Eliminate(how) => matches!(how.encoding, SequenceEncoding::Prp),
        _ => false,
    }
}

fn of_action(action: Action) -> u64 {
    let value = match action {
        Action::SetField(value) => value,
        Action::FlowMonitor(_) => return need::NETWORK | need::TRANSPORT,
        // A tag or trailer moves what a card would make a checksum of.
        Action::Sequence(_) | Action::Eliminate(_) | Action::Trailer(_) => {
            let trailer = when(is_about_trailers(action), need::TRAILER);
            return need::NETWORK | need::TRANSPORT | need::SUMS | trailer;
        }
        // Whoever reads anything behind the type reads enough.
        Action::ModeArrange => return need::NETWORK,
        Action::Output(_)
        | Action::SetQueue(_)
        | Action::Push(_)
        | Action::EnsureTag
        | Action::Pop(_)
        | Action::SetTtl(..)
        | Action::DecrementTtl(_)
        | Action::CopyTtl(_)
        | Action::Group(_)
        | Action::QueuedFrame(_) => return 0,
    };
    match value {
        FieldValue::IpDscp(_) | FieldValue::IpEcn(_) | FieldValue::Ipv6FlowLabel(_) => {
            need::NETWORK
        }
        // Checksums of layer 4 cover addresses.
        FieldValue::Ipv4Src(_)
        | FieldValue::Ipv4Dst(_)
        | FieldValue::Ipv6Src(_)
        | FieldValue::Ipv6Dst(_)
        | FieldValue::L4Src(..)
        | FieldValue::L4Dst(..) => need::NETWORK | need::TRANSPORT | need::SUMS,
        FieldValue::ArpOp(_)
        | FieldValue::ArpSpa(_)
        | FieldValue::ArpTpa(_)
        | FieldValue::ArpSha(_)
        | FieldValue::ArpTha(_) => need::ARP,
        FieldValue::EthDst(_)
        | FieldValue::EthSrc(_)
        | FieldValue::EthType(_)
        | FieldValue::VlanVid(_)
        | FieldValue::VlanPcp(_)
        | FieldValue::IpProto(_)
        | FieldValue::NdTarget(_)
        | FieldValue::NdSourceLinkLayer(_)
        | FieldValue::NdTargetLinkLayer(_)
        | FieldValue::MplsLabel(_)
        | FieldValue::MplsTc(_)
        | FieldValue::MplsBos(_)
        | FieldValue::PbbIsid(_)
        | FieldValue::TunnelId(_) => 0,
    }
}

/// Returns what it takes to send frames through a group: a flow is told by its
/// addresses and ports, whatever its protocol.
pub(super) fn of_group(group: &GroupConfig) -> u64 {
    let of_flow = match group.kind {
        GroupType::Select => {
            need::NETWORK
                | need::TRANSPORT
                | need::ARP
                | need::EXTENSIONS
                | need::MPLS
                | need::BACKBONE
        }
        GroupType::All | GroupType::Indirect | GroupType::FastFailover => 0,
    };
    of_flow | of_actions(&group.actions)
}
