//! Turns a flow into the entries that carry it.
//!
//! A flow has one entry at each switch that it visits. It matches the port by
//! which the flow comes in, the source's address and the fields of the
//! requirement, puts the frame into the queue of its class and sends it out of
//! one port or, where a multicast flow branches, of several. The input port is
//! part of every match: a frame that enters elsewhere, forged or looping, is
//! nobody's, and entries of different ways through a switch do not collide.

use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::taktos::Police;
use wire::openflow::{
    Action, Cookie, DatapathId, FlowMod, MatchField, PortNumber, QueueId, TableId, TransactionId,
};

use crate::desired::{
    Content, EntryOwner, FLAGS, Form, PlacedRule, RuleKey, RulePlace, Stencil, cookie,
};
use crate::discovery;
use crate::flows::{Entries, Entry};
use crate::northbound::{FlowId, FlowMatch, Requirement, TransportProtocol};
use crate::path::{Branch, Tree};
use crate::place::PortId;
use crate::priority;
use crate::seamless::Redundancy;

const TABLE: TableId = TableId(0);
const IP_PROTO_TCP: u8 = 6;
const IP_PROTO_UDP: u8 = 17;

/// What all entries of one flow have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowRule {
    flow: FlowId,
    /// All but the input port.
    fields: Vec<MatchField>,
    stencil: Stencil,
    /// What is policed, if its source is not trusted.
    contract: Option<PolicedContract>,
    /// What numbers frames and ends copies, if the flow takes two ways at the same time.
    redundancy: Option<Redundancy>,
}

/// What is policed of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicedContract {
    /// Where it comes in.
    pub at: PortId,
    /// What is policed there.
    pub first: Police,
    /// What is policed where it comes to a later switch: nothing unless some of it may go on
    /// that exceeds its contract.
    pub later: Option<Police>,
}

impl FlowRule {
    /// Returns the rule of a flow whose source has this address.
    #[must_use]
    pub fn new(flow: FlowId, source: MacAddress, requirement: &Requirement) -> Self {
        let fields = fields(Some(source), &requirement.matching);
        Self {
            flow,
            stencil: Stencil::new(TABLE, priority_of(&fields), &fields),
            fields,
            contract: None,
            redundancy: None,
        }
    }

    /// Returns the same of a flow that takes two ways at the same time.
    #[must_use]
    pub fn with_redundancy(self, redundancy: Option<Redundancy>) -> Self {
        Self { redundancy, ..self }
    }

    /// Returns whether its frames are numbered in trailers of PRP.
    #[must_use]
    pub fn is_by_prp(&self) -> bool {
        self.redundancy.as_ref().is_some_and(Redundancy::is_by_prp)
    }

    /// Returns what is done with frames that come in there.
    fn actions(&self, entrance: PortId, class: u8, outputs: &[PortNumber]) -> Actions {
        let police = self.police_at(entrance);
        match &self.redundancy {
            None => Actions::of(police, class, outputs),
            Some(redundancy) => {
                let queue = Action::SetQueue(QueueId(u32::from(class)));
                let first = police.map(Action::Police).into_iter().chain([queue]);
                let outputs = redundancy.actions(entrance, outputs);
                Actions::Several(first.chain(outputs).collect())
            }
        }
    }

    /// Returns what is policed.
    #[must_use]
    pub const fn contract(&self) -> Option<&PolicedContract> {
        self.contract.as_ref()
    }

    /// Has this policed from now on.
    pub const fn set_contract(&mut self, contract: Option<PolicedContract>) {
        self.contract = contract;
    }

    /// Returns what is policed of frames that come in there.
    fn police_at(&self, entrance: PortId) -> Option<Police> {
        let contract = self.contract?;
        match contract.at == entrance {
            true => Some(contract.first),
            false => contract.later,
        }
    }

    /// Returns the fields by which it recognises frames, beside the port; always in
    /// the same order.
    #[must_use]
    pub fn fields(&self) -> &[MatchField] {
        &self.fields
    }

    /// Returns a digest of these fields.
    #[must_use]
    pub const fn kind_of_frames(&self) -> u64 {
        self.stencil.kind_of_frames()
    }

    /// Returns whether a frame could match both rules at the same port, and
    /// neither of them is the more special one.
    #[must_use]
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let value = |rule: &Self, wanted: &MatchField| {
            let mut fields = rule.fields.iter();
            fields.find(|field| field.kind() == wanted.kind()).copied()
        };
        let overlap = self
            .fields
            .iter()
            .all(|field| value(other, field).is_none_or(|theirs| theirs == *field));
        let within = |one: &Self, all: &Self| {
            one.fields.len() < all.fields.len()
                && one.fields.iter().all(|field| value(all, field).is_some())
        };
        overlap && !within(self, other) && !within(other, self)
    }

    /// Returns the entry for frames that come in by `entrance`.
    #[must_use]
    pub fn form(&self, entrance: PortId, entry: &Entry) -> Form {
        if entry.backup.is_none() {
            let actions = self.actions(entrance, entry.class, &entry.outputs);
            return self.stencil.form(entrance.port, actions.get());
        }
        let police = self.police_at(entrance);
        let queue = Action::SetQueue(QueueId(u32::from(entry.class)));
        let first = police.map(Action::Police).into_iter().chain([queue]);
        let actions: Vec<Action> = first.chain(entry.sends(entrance.port)).collect();
        self.stencil.form(entrance.port, &actions)
    }

    /// Returns the place of that entry.
    #[must_use]
    pub fn place(&self, input: PortNumber) -> RulePlace {
        self.stencil.place(input)
    }

    /// Returns the entry that takes what looks like the flow and comes in elsewhere: it goes
    /// to the controller, and no further.
    #[must_use]
    pub fn guard(&self) -> Form {
        let told = [Action::output(PortNumber::CONTROLLER)];
        Form::new(TABLE, priority::GUARD, &self.fields, &told)
    }

    /// Returns all entries of the flow as its switches should have them.
    #[must_use]
    pub fn content(&self, entries: &Entries) -> Content {
        let forms = entries.iter().map(|(at, entry)| {
            let form = self.form(*at, entry);
            ((at.datapath, self.place(at.port)), form)
        });
        forms.collect()
    }

    /// Returns the entries of a tree that is travelled in `class`, each after the one
    /// before it.
    pub fn forms<'a>(
        &'a self,
        tree: &'a Tree,
        class: u8,
    ) -> impl Iterator<Item = (RuleKey, Form)> + 'a {
        tree.branches.iter().map(move |branch| {
            let actions = self.actions(branch.entrance(), class, &branch.outputs);
            let form = self.stencil.form(branch.input, actions.get());
            ((branch.datapath, self.place(branch.input)), form)
        })
    }

    /// Appends a FlowMod that adds the entry of a branch of a tree that is travelled
    /// in `class`, or writes over what is there. `scratch` is written over.
    pub fn emit_add(&self, branch: &Branch, class: u8, scratch: &mut Vec<u8>, out: &mut Vec<u8>) {
        let subject = EntryOwner::Flow(self.flow);
        let actions = self.actions(branch.entrance(), class, &branch.outputs);
        self.stencil.emit_add(
            (branch.input, actions.get()),
            |place, digest| cookie(subject, place, digest),
            (FLAGS, subject.transaction()),
            scratch,
            out,
        );
    }
}

/// The more special of two rules goes first. Above each there is room for what holds at
/// one level only.
pub(crate) fn priority_of(fields: &[MatchField]) -> u16 {
    let fields = u16::try_from(fields.len()).expect("a match has at most 40 fields");
    priority::FLOW + 2 * fields
}

/// What is done with frames of a flow; with one output it takes no memory.
enum Actions {
    One([Action; 2]),
    Policed([Action; 3]),
    Several(Vec<Action>),
}

impl Actions {
    fn of(police: Option<Police>, class: u8, outputs: &[PortNumber]) -> Self {
        let police = police.map(Action::Police);
        let queue = Action::SetQueue(QueueId(u32::from(class)));
        match (police, outputs) {
            (None, [output]) => Self::One([queue, Action::output(*output)]),
            (Some(police), [output]) => Self::Policed([police, queue, Action::output(*output)]),
            (police, outputs) => {
                let outputs = outputs.iter().map(|port| Action::output(*port));
                let first = police.into_iter().chain([queue]);
                Self::Several(first.chain(outputs).collect())
            }
        }
    }

    fn get(&self) -> &[Action] {
        match self {
            Self::One(actions) => actions,
            Self::Policed(actions) => actions,
            Self::Several(actions) => actions,
        }
    }
}

/// Returns the entries that every switch has, whatever flows it carries: echoes are
/// turned round, by the queue of `class`; probes and frames that nobody claims go to
/// the controller. They come whole, so that the switch does not keep what nobody will
/// ask for.
#[must_use]
pub fn services(datapath: DatapathId, class: u8) -> [PlacedRule; 3] {
    let lldp = MatchField::EthType(EtherType::LLDP);
    let address = |mac| MatchField::EthDst(Masked::exact(mac));
    let echoes = vec![address(discovery::ECHO), lldp];
    let turned = vec![
        Action::SetField(address(discovery::ECHOED)),
        Action::SetQueue(QueueId(u32::from(class))),
        Action::output(PortNumber::IN_PORT),
    ];
    let told = || vec![Action::output(PortNumber::CONTROLLER)];
    let all = [
        (echoes, priority::ECHO, turned),
        (vec![lldp], priority::PROBE, told()),
        (Vec::new(), priority::MISS, told()),
    ];
    all.map(|(matching, priority, actions)| PlacedRule {
        datapath,
        table: TABLE,
        priority,
        matching,
        actions,
    })
}

/// Returns an entry that discards what a host sends that nobody claims, once it
/// is known where the host is: it need not be told again. From another port it
/// is told.
#[must_use]
pub fn known_host(host: MacAddress, port: PortId) -> PlacedRule {
    PlacedRule {
        datapath: port.datapath,
        table: TABLE,
        priority: priority::KNOWN_HOST,
        matching: vec![
            MatchField::InPort(port.port),
            MatchField::EthSrc(Masked::exact(host)),
        ],
        actions: Vec::new(),
    }
}

/// Appends a FlowMod that deletes all entries with exactly this cookie.
pub fn emit_delete_cookie(cookie: Cookie, out: &mut Vec<u8>) {
    let flow_mod = FlowMod {
        cookie,
        cookie_mask: Cookie::EXACT,
        ..FlowMod::delete(TABLE)
    };
    flow_mod.emit(TransactionId(0), out);
}

/// Returns the match of a flow without its input port, prerequisites first.
pub(crate) fn fields(source: Option<MacAddress>, matching: &FlowMatch) -> Vec<MatchField> {
    let is_ip = matching.transport.is_some()
        || matching.ipv4_source.is_some()
        || matching.ipv4_destination.is_some();
    let ether_type = matching.ether_type.or(is_ip.then_some(EtherType::IPV4));
    let source = source.map(|source| MatchField::EthSrc(Masked::exact(source)));
    let mut fields: Vec<MatchField> = source.into_iter().collect();
    let destination = matching.destination.map(Masked::exact);
    fields.extend(destination.map(MatchField::EthDst));
    let vlan = matching.vlan.map(|id| Masked::exact(VlanMatch::tagged(id)));
    fields.extend(vlan.map(MatchField::VlanVid));
    fields.extend(ether_type.map(MatchField::EthType));
    let (from, to) = (matching.ipv4_source, matching.ipv4_destination);
    fields.extend(from.map(|address| MatchField::Ipv4Src(Masked::exact(address))));
    fields.extend(to.map(|address| MatchField::Ipv4Dst(Masked::exact(address))));
    if let Some(transport) = matching.transport {
        let (source, destination) = (transport.source, transport.destination);
        match transport.protocol {
            TransportProtocol::Tcp => {
                fields.push(MatchField::IpProto(IP_PROTO_TCP));
                fields.extend(source.map(MatchField::TcpSrc));
                fields.extend(destination.map(MatchField::TcpDst));
            }
            TransportProtocol::Udp => {
                fields.push(MatchField::IpProto(IP_PROTO_UDP));
                fields.extend(source.map(MatchField::UdpSrc));
                fields.extend(destination.map(MatchField::UdpDst));
            }
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use units::{BitRate, DataSize};
    use wire::openflow::{Fields, Instruction, Instructions, Message};

    use super::*;
    use crate::desired::flow_of;
    use crate::northbound::{ExceedAction, Protection, Traffic, Transport};

    const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    #[test]
    fn an_entry_matches_its_port_and_sends_to_its_queue_and_outputs() {
        let rule = rule(1, FlowMatch::default());
        let mut out = Vec::new();

        rule.emit_add(&branch(3, &[1, 2]), 5, &mut Vec::new(), &mut out);

        let Ok((header, Message::FlowMod(flow_mod))) = Message::parse(&out) else {
            panic!("a FlowMod")
        };
        assert_eq!(flow_of(header.transaction), Some(FlowId(1)));
        let expected = [
            MatchField::InPort(PortNumber(3)),
            MatchField::EthSrc(Masked::exact(SOURCE)),
        ];
        assert_eq!(flow_mod.matching, Fields::of(&expected));
        let actions = [
            Action::SetQueue(QueueId(5)),
            Action::output(PortNumber(1)),
            Action::output(PortNumber(2)),
        ];
        let expected = [Instruction::ApplyActions(wire::openflow::Actions::of(
            &actions,
        ))];
        assert_eq!(flow_mod.instructions, Instructions::of(&expected));
    }

    #[test]
    fn the_more_special_of_two_flows_goes_first_and_equal_ones_conflict() {
        let wide = rule(1, to_port(None));
        let narrow = rule(2, to_port(Some(5_000)));
        let elsewhere = rule(3, to_port(Some(5_001)));

        let priority = |rule: &FlowRule| priority_of(&rule.fields);
        assert!(priority(&narrow) > priority(&wide));
        assert!(!narrow.conflicts_with(&wide) && !wide.conflicts_with(&narrow));
        assert!(!narrow.conflicts_with(&elsewhere));
        assert!(narrow.conflicts_with(&rule(4, to_port(Some(5_000)))));
    }

    #[test]
    fn flows_of_which_each_looks_at_something_else_conflict() {
        let by_vlan = FlowMatch {
            vlan: Some(3),
            ..FlowMatch::default()
        };
        let by_destination = FlowMatch {
            destination: Some(MacAddress::BROADCAST),
            ..FlowMatch::default()
        };

        assert!(rule(1, by_vlan).conflicts_with(&rule(2, by_destination)));
    }

    proptest! {
        /// Whatever a flow looks at, prerequisites come before what needs them.
        #[test]
        fn every_match_is_in_order(matching in any_match()) {
            let mut out = Vec::new();

            rule(1, matching).emit_add(&branch(1, &[2]), 1, &mut Vec::new(), &mut out);

            let Ok((_, Message::FlowMod(flow_mod))) = Message::parse(&out) else {
                panic!("a FlowMod")
            };
            prop_assert_eq!(flow_mod.matching.check(), Ok(()));
        }
    }

    fn any_match() -> impl Strategy<Value = FlowMatch> {
        let addresses = (any::<Option<[u8; 4]>>(), any::<Option<[u8; 4]>>());
        let transport = prop::option::of((any::<bool>(), any::<(Option<u16>, Option<u16>)>()));
        let rest = (any::<Option<[u8; 6]>>(), prop::option::of(0u16..4_096));
        (addresses, transport, rest).prop_map(|(addresses, transport, rest)| FlowMatch {
            ether_type: None,
            destination: rest.0.map(MacAddress),
            vlan: rest.1,
            ipv4_source: addresses.0.map(Into::into),
            ipv4_destination: addresses.1.map(Into::into),
            transport: transport.map(|(is_tcp, (source, destination))| Transport {
                protocol: match is_tcp {
                    true => TransportProtocol::Tcp,
                    false => TransportProtocol::Udp,
                },
                source,
                destination,
            }),
        })
    }

    fn to_port(port: Option<u16>) -> FlowMatch {
        FlowMatch {
            transport: Some(Transport {
                protocol: TransportProtocol::Udp,
                source: None,
                destination: port,
            }),
            ..FlowMatch::default()
        }
    }

    fn branch(input: u32, outputs: &[u32]) -> Branch {
        Branch {
            datapath: DatapathId(1),
            input: PortNumber(input),
            outputs: outputs.iter().copied().map(PortNumber).collect(),
            parent: None,
        }
    }

    fn rule(flow: u32, matching: FlowMatch) -> FlowRule {
        let frame = DataSize::from_bytes(84);
        let requirement = Requirement {
            name: String::new(),
            source: String::new(),
            destinations: Vec::new(),
            matching,
            class: 5,
            is_class_free: false,
            must_be_enforced: false,
            excess: ExceedAction::Drop,
            traffic: Traffic {
                rate: BitRate::from_mbps(1),
                burst: frame,
                largest_frame: frame,
                smallest_frame: frame,
                frames: None,
            },
            deadline: None,
            protection: Protection::None,
            modes: None,
        };
        FlowRule::new(FlowId(flow), SOURCE, &requirement)
    }
}
