//! Checks the instructions of an entry and the actions of a packet-out, and
//! makes them ready to be executed.
//!
//! Everything that can be wrong is found here, once, and answered with the
//! error that the specification has for it; executing an action can then not
//! fail. OF13 clauses 5.9, 5.12, 7.2.4, 7.2.5 and 7.4.4.
//!
//! # Left out
//!
//! MPLS and PBB: refused.

use wire::ethernet::EtherType;
use wire::openflow::{
    self, BadAction, BadInstruction, ErrorKind, Instruction, Instructions, MatchField, MeterId,
    MeterModFailed, PortNumber, TableId,
};

use crate::action::{ACTIONS_MAX, Action, FieldValue, MetadataChange, Program, Target, Transport};
use crate::egress::Egress;
use crate::flow_table::Rule;
use crate::packet_key::{VLAN_PRESENT, field};
use crate::port::QUEUES;

/// What instructions and actions are checked against.
pub(crate) struct Compiler<'a> {
    /// Which ports, groups and meters there are.
    pub(crate) egress: &'a Egress,
    /// How many tables there are.
    pub(crate) tables: u8,
    /// On whose behalf they are executed.
    pub(crate) place: Place<'a>,
}

/// Where instructions and actions stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// In an entry of this table with this rule.
    Entry(TableId, &'a Rule),
    /// In a packet-out, whose frame may be anything.
    PacketOut,
    /// In a bucket of a group, which any entry may use.
    Bucket,
}

/// What is known about the frames that an action will see.
#[derive(Clone, Copy, Debug)]
enum Frames {
    /// Nothing: an action that does not fit does nothing.
    Any,
    /// What the match demands.
    Matching {
        tagged: bool,
        ether_type: Option<u64>,
        protocol: Option<u64>,
    },
}

impl Compiler<'_> {
    /// Returns what an entry does.
    ///
    /// # Errors
    ///
    /// With the specification's error for the first thing that is wrong.
    pub(crate) fn program(&self, instructions: &Instructions<'_>) -> Result<Program, ErrorKind> {
        let mut program = Program::default();
        let mut seen = Vec::new();
        for instruction in instructions.iter() {
            let instruction = instruction.map_err(|error| error.kind())?;
            let kind = std::mem::discriminant(&instruction);
            if seen.contains(&kind) {
                return Err(refused(BadInstruction::UnsupportedInstruction));
            }
            seen.push(kind);
            self.add(&mut program, instruction)?;
        }
        Ok(program)
    }

    fn add(&self, program: &mut Program, instruction: Instruction<'_>) -> Result<(), ErrorKind> {
        match instruction {
            Instruction::GotoTable(next) => {
                let forward = match self.place {
                    Place::Entry(table, _) => next > table,
                    Place::PacketOut | Place::Bucket => false,
                };
                if !forward || next.0 >= self.tables {
                    return Err(refused(BadInstruction::BadTableId));
                }
                program.goto = Some(next);
            }
            Instruction::WriteMetadata { metadata, mask } => {
                let value = metadata;
                program.metadata = Some(MetadataChange { value, mask });
            }
            Instruction::WriteActions(actions) => program.write = self.actions(&actions)?,
            Instruction::ApplyActions(actions) => program.apply = self.actions(&actions)?,
            Instruction::ClearActions => program.clear = true,
            Instruction::Meter(meter) => {
                let unknown = ErrorKind::MeterModFailed(MeterModFailed::UnknownMeter);
                let usable = (1..=MeterId::MAX.0).contains(&meter.0);
                let found = self.egress.meters.find(meter).filter(|_| usable);
                program.meter = Some(found.ok_or(unknown)?);
            }
        }
        Ok(())
    }

    /// Returns a list of actions, ready to be executed.
    ///
    /// # Errors
    ///
    /// With the specification's error for the first action that is wrong.
    pub(crate) fn actions(
        &self,
        actions: &openflow::Actions<'_>,
    ) -> Result<Box<[Action]>, ErrorKind> {
        let mut frames = match self.place {
            Place::Entry(_, rule) => Frames::matching(rule),
            Place::PacketOut | Place::Bucket => Frames::Any,
        };
        let mut list = Vec::new();
        for action in actions.iter() {
            if list.len() == ACTIONS_MAX {
                return Err(ErrorKind::BadAction(BadAction::TooMany));
            }
            let action = action.map_err(|error| error.kind())?;
            let action = self
                .action(action, &mut frames)
                .map_err(ErrorKind::BadAction)?;
            list.push(action);
        }
        Ok(list.into())
    }

    fn action(&self, action: openflow::Action, frames: &mut Frames) -> Result<Action, BadAction> {
        Ok(match action {
            openflow::Action::Output { port, .. } => Action::Output(self.target(port)?),
            openflow::Action::SetQueue(queue) => match u8::try_from(queue.0) {
                Ok(queue) if usize::from(queue) < QUEUES => Action::SetQueue(queue),
                Ok(_) | Err(_) => return Err(BadAction::BadQueue),
            },
            openflow::Action::PushVlan(ether_type) => {
                if !ether_type.is_vlan() {
                    return Err(BadAction::BadArgument);
                }
                frames.set_tagged(true);
                Action::PushVlan(ether_type.0)
            }
            openflow::Action::PopVlan => {
                frames.require(frames.tagged())?;
                // A second tag may follow, but the match cannot demand it.
                frames.set_tagged(false);
                Action::PopVlan
            }
            openflow::Action::SetNetworkTtl(ttl) => {
                frames.require(frames.is_ip())?;
                Action::SetTtl(ttl)
            }
            openflow::Action::DecrementNetworkTtl => {
                frames.require(frames.is_ip())?;
                Action::DecrementTtl
            }
            openflow::Action::SetField(field) => {
                let value = field_value(field)?;
                frames.require(frames.have(value))?;
                Action::SetField(value)
            }
            openflow::Action::Group(group) => {
                let found = self.egress.groups.find(group);
                Action::Group(found.ok_or(BadAction::BadOutGroup)?)
            }
            openflow::Action::CopyTtlOut
            | openflow::Action::CopyTtlIn
            | openflow::Action::SetMplsTtl(_)
            | openflow::Action::DecrementMplsTtl
            | openflow::Action::PushMpls(_)
            | openflow::Action::PopMpls(_)
            | openflow::Action::PushPbb(_)
            | openflow::Action::PopPbb => return Err(BadAction::BadType),
        })
    }

    fn target(&self, port: PortNumber) -> Result<Target, BadAction> {
        match port {
            PortNumber::IN_PORT => Ok(Target::InPort),
            PortNumber::ALL | PortNumber::FLOOD => Ok(Target::Flood),
            PortNumber::CONTROLLER => Ok(Target::Controller),
            PortNumber::TABLE if matches!(self.place, Place::PacketOut) => Ok(Target::Tables),
            port => match self.egress.find_port(port) {
                Some(port) => Ok(Target::Port(port)),
                None => Err(BadAction::BadOutPort),
            },
        }
    }
}

impl Frames {
    fn matching(rule: &Rule) -> Self {
        Self::Matching {
            tagged: rule.value.get(field::VLAN_VID) & VLAN_PRESENT != 0,
            ether_type: rule.required(field::ETH_TYPE),
            protocol: rule.required(field::IP_PROTO),
        }
    }

    fn set_tagged(&mut self, now: bool) {
        match self {
            Self::Any => {}
            Self::Matching { tagged, .. } => *tagged = now,
        }
    }

    /// Refuses an action that needs what the match does not demand.
    fn require(self, fits: bool) -> Result<(), BadAction> {
        match self {
            Self::Matching { .. } if !fits => Err(BadAction::MatchInconsistent),
            Self::Matching { .. } | Self::Any => Ok(()),
        }
    }

    /// Returns whether every frame has the header that the field is in.
    fn have(self, value: FieldValue) -> bool {
        match value {
            FieldValue::EthDst(_) | FieldValue::EthSrc(_) => true,
            FieldValue::VlanVid(_) | FieldValue::VlanPcp(_) => self.tagged(),
            FieldValue::IpDscp(_) | FieldValue::IpEcn(_) => self.is_ip(),
            FieldValue::Ipv4Src(_) | FieldValue::Ipv4Dst(_) => self.is(EtherType::IPV4),
            FieldValue::Ipv6Src(_) | FieldValue::Ipv6Dst(_) | FieldValue::Ipv6FlowLabel(_) => {
                self.is(EtherType::IPV6)
            }
            FieldValue::L4Src(transport, _) | FieldValue::L4Dst(transport, _) => {
                self.carry(transport.protocol())
            }
            FieldValue::ArpOp(_)
            | FieldValue::ArpSpa(_)
            | FieldValue::ArpTpa(_)
            | FieldValue::ArpSha(_)
            | FieldValue::ArpTha(_) => self.is(EtherType::ARP),
        }
    }

    const fn tagged(self) -> bool {
        match self {
            Self::Any => true,
            Self::Matching { tagged, .. } => tagged,
        }
    }

    fn is(self, wanted: EtherType) -> bool {
        match self {
            Self::Any => true,
            Self::Matching { ether_type, .. } => ether_type == Some(u64::from(wanted.0)),
        }
    }

    fn is_ip(self) -> bool {
        self.is(EtherType::IPV4) || self.is(EtherType::IPV6)
    }

    fn carry(self, wanted: u8) -> bool {
        match self {
            Self::Any => true,
            Self::Matching { protocol, .. } => protocol == Some(u64::from(wanted)),
        }
    }
}

fn refused(code: BadInstruction) -> ErrorKind {
    ErrorKind::BadInstruction(code)
}

/// Returns the value that a set-field writes, if the field can be set.
fn field_value(of: MatchField) -> Result<FieldValue, BadAction> {
    Ok(match of {
        MatchField::EthDst(address) => FieldValue::EthDst(address.value),
        MatchField::EthSrc(address) => FieldValue::EthSrc(address.value),
        MatchField::VlanVid(vlan) => {
            FieldValue::VlanVid(vlan.value.id().ok_or(BadAction::BadSetArgument)?)
        }
        MatchField::VlanPcp(priority) => FieldValue::VlanPcp(priority),
        MatchField::IpDscp(dscp) => FieldValue::IpDscp(dscp),
        MatchField::IpEcn(ecn) => FieldValue::IpEcn(ecn),
        MatchField::Ipv4Src(address) => FieldValue::Ipv4Src(address.value.octets()),
        MatchField::Ipv4Dst(address) => FieldValue::Ipv4Dst(address.value.octets()),
        MatchField::Ipv6Src(address) => FieldValue::Ipv6Src(address.value.octets()),
        MatchField::Ipv6Dst(address) => FieldValue::Ipv6Dst(address.value.octets()),
        MatchField::Ipv6Flabel(label) => FieldValue::Ipv6FlowLabel(label.value),
        MatchField::TcpSrc(port) => FieldValue::L4Src(Transport::Tcp, port),
        MatchField::TcpDst(port) => FieldValue::L4Dst(Transport::Tcp, port),
        MatchField::UdpSrc(port) => FieldValue::L4Src(Transport::Udp, port),
        MatchField::UdpDst(port) => FieldValue::L4Dst(Transport::Udp, port),
        MatchField::Icmpv4Type(kind) => FieldValue::L4Src(Transport::Icmp, kind.into()),
        MatchField::Icmpv4Code(code) => FieldValue::L4Dst(Transport::Icmp, code.into()),
        MatchField::Icmpv6Type(kind) => FieldValue::L4Src(Transport::Icmpv6, kind.into()),
        MatchField::Icmpv6Code(code) => FieldValue::L4Dst(Transport::Icmpv6, code.into()),
        MatchField::ArpOp(op) => FieldValue::ArpOp(op),
        MatchField::ArpSpa(address) => FieldValue::ArpSpa(address.value.octets()),
        MatchField::ArpTpa(address) => FieldValue::ArpTpa(address.value.octets()),
        MatchField::ArpSha(address) => FieldValue::ArpSha(address.value),
        MatchField::ArpTha(address) => FieldValue::ArpTha(address.value),
        MatchField::InPort(_)
        | MatchField::InPhysicalPort(_)
        | MatchField::Metadata(_)
        | MatchField::EthType(_)
        | MatchField::IpProto(_)
        | MatchField::SctpSrc(_)
        | MatchField::SctpDst(_)
        | MatchField::Ipv6NdTarget(_)
        | MatchField::Ipv6NdSll(_)
        | MatchField::Ipv6NdTll(_)
        | MatchField::MplsLabel(_)
        | MatchField::MplsTc(_)
        | MatchField::MplsBos(_)
        | MatchField::PbbIsid(_)
        | MatchField::TunnelId(_)
        | MatchField::Ipv6Exthdr(_) => return Err(BadAction::BadSetType),
    })
}
