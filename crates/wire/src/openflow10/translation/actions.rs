//! Actions, one by one (OF10 section 5.2.4, OF13 clause 7.2.5).

use super::super::{Action, PortNumber};
use crate::openflow::oxm::VlanMatch;
use crate::openflow::{self, ControllerLength, MatchField, QueueId};

/// The queue of an output that names none.
const NO_QUEUE: QueueId = QueueId(0);
const DSCP_SHIFT: u32 = 2;

impl ControllerLength {
    /// Returns a number that version 1.3 allows: what is beyond its longest is longer
    /// than any frame.
    #[must_use]
    pub fn to_of13(self) -> Self {
        match self {
            Self::NO_BUFFER => self,
            length => length.min(Self::MAX),
        }
    }
}

impl Action {
    /// Appends the actions of version 1.3 that do the same. A queue stays chosen in
    /// version 1.3 and does not in version 1.0: `queue` is the one that the actions so
    /// far have chosen, 0 at first.
    ///
    /// A port of a transport protocol is set for TCP and for UDP. That setting a VLAN
    /// may have to make a tag is not said: version 1.3 has no word for it.
    pub fn to_of13(self, queue: &mut QueueId, out: &mut Vec<openflow::Action>) {
        use openflow::Action as Wide;
        let mut output = |chosen: QueueId, port: PortNumber, max_length: ControllerLength| {
            if *queue != chosen {
                *queue = chosen;
                out.push(Wide::SetQueue(chosen));
            }
            let port = port.to_of13();
            out.push(Wide::Output { port, max_length });
        };
        let field = match self {
            Self::Output { port, max_length } => {
                return output(NO_QUEUE, port, max_length.to_of13());
            }
            Self::Enqueue { port, queue } => {
                return output(queue, port, ControllerLength::NO_BUFFER);
            }
            Self::StripVlan => return out.push(Wide::PopVlan),
            Self::SetTpSrc(port) => {
                out.push(Wide::SetField(MatchField::TcpSrc(port)));
                MatchField::UdpSrc(port)
            }
            Self::SetTpDst(port) => {
                out.push(Wide::SetField(MatchField::TcpDst(port)));
                MatchField::UdpDst(port)
            }
            Self::SetVlanVid(id) => MatchField::VlanVid(VlanMatch::tagged(id).into()),
            Self::SetVlanPcp(priority) => MatchField::VlanPcp(priority),
            Self::SetDlSrc(address) => MatchField::EthSrc(address.into()),
            Self::SetDlDst(address) => MatchField::EthDst(address.into()),
            Self::SetNwSrc(address) => MatchField::Ipv4Src(address.into()),
            Self::SetNwDst(address) => MatchField::Ipv4Dst(address.into()),
            Self::SetNwTos(tos) => MatchField::IpDscp(tos >> DSCP_SHIFT),
        };
        out.push(Wide::SetField(field));
    }

    /// Returns the action that does the same as one of version 1.3 while `queue` is
    /// chosen. Choosing a queue is part of the output here, and pushing a tag part of
    /// setting its VLAN.
    #[must_use]
    pub fn from_of13(wide: openflow::Action, queue: QueueId) -> Option<Self> {
        use openflow::Action as Wide;
        match wide {
            Wide::Output { port, max_length } => {
                let queued = port.is_ordinary() || port == openflow::PortNumber::IN_PORT;
                let port = PortNumber::from_of13(port)?;
                Some(match queued && queue != NO_QUEUE {
                    true => Self::Enqueue { port, queue },
                    false => Self::Output { port, max_length },
                })
            }
            Wide::PopVlan => Some(Self::StripVlan),
            Wide::SetField(field) => Self::set_field(field),
            Wide::CopyTtlOut
            | Wide::CopyTtlIn
            | Wide::SetMplsTtl(_)
            | Wide::DecrementMplsTtl
            | Wide::PushVlan(_)
            | Wide::PushMpls(_)
            | Wide::PopMpls(_)
            | Wide::SetQueue(_)
            | Wide::Group(_)
            | Wide::SetNetworkTtl(_)
            | Wide::DecrementNetworkTtl
            | Wide::PushPbb(_)
            | Wide::PopPbb
            | Wide::FlowMonitor(_)
            | Wide::ModeArrange
            | Wide::QueuedFrame(_)
            | Wide::Police(_)
            | Wide::Sequence(_)
            | Wide::Eliminate(_)
            | Wide::Trailer(_) => None,
        }
    }

    fn set_field(field: MatchField) -> Option<Self> {
        Some(match field {
            MatchField::EthSrc(address) => Self::SetDlSrc(address.value),
            MatchField::EthDst(address) => Self::SetDlDst(address.value),
            MatchField::VlanVid(vlan) => Self::SetVlanVid(vlan.value.id()?),
            MatchField::VlanPcp(priority) => Self::SetVlanPcp(priority),
            MatchField::IpDscp(dscp) => Self::SetNwTos(dscp << DSCP_SHIFT),
            MatchField::Ipv4Src(address) => Self::SetNwSrc(address.value),
            MatchField::Ipv4Dst(address) => Self::SetNwDst(address.value),
            MatchField::TcpSrc(port) | MatchField::UdpSrc(port) => Self::SetTpSrc(port),
            MatchField::TcpDst(port) | MatchField::UdpDst(port) => Self::SetTpDst(port),
            MatchField::InPort(_)
            | MatchField::InPhysicalPort(_)
            | MatchField::Metadata(_)
            | MatchField::EthType(_)
            | MatchField::IpEcn(_)
            | MatchField::IpProto(_)
            | MatchField::SctpSrc(_)
            | MatchField::SctpDst(_)
            | MatchField::Icmpv4Type(_)
            | MatchField::Icmpv4Code(_)
            | MatchField::ArpOp(_)
            | MatchField::ArpSpa(_)
            | MatchField::ArpTpa(_)
            | MatchField::ArpSha(_)
            | MatchField::ArpTha(_)
            | MatchField::Ipv6Src(_)
            | MatchField::Ipv6Dst(_)
            | MatchField::Ipv6Flabel(_)
            | MatchField::Icmpv6Type(_)
            | MatchField::Icmpv6Code(_)
            | MatchField::Ipv6NdTarget(_)
            | MatchField::Ipv6NdSll(_)
            | MatchField::Ipv6NdTll(_)
            | MatchField::MplsLabel(_)
            | MatchField::MplsTc(_)
            | MatchField::MplsBos(_)
            | MatchField::PbbIsid(_)
            | MatchField::TunnelId(_)
            | MatchField::Ipv6Exthdr(_)
            | MatchField::Level(_) => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ethernet::MacAddress;

    #[test]
    fn every_action_reads_in_version_1_0_as_it_was_written() {
        let port = PortNumber(2);
        let mac = MacAddress([2, 0, 0, 0, 0, 9]);
        let enqueue = |queue| Action::Enqueue {
            port,
            queue: QueueId(queue),
        };
        let written = [
            Action::SetVlanVid(8),
            Action::SetVlanPcp(5),
            Action::StripVlan,
            Action::SetDlSrc(mac),
            Action::SetDlDst(mac),
            Action::SetNwSrc([10, 0, 0, 1].into()),
            Action::SetNwDst([10, 0, 0, 2].into()),
            Action::SetNwTos(0xb8),
            Action::SetTpSrc(1024),
            Action::SetTpDst(80),
            enqueue(7),
            enqueue(7),
            Action::output(port),
            enqueue(1),
            Action::output(PortNumber::CONTROLLER),
        ];
        let (mut wide, mut queue) = (Vec::new(), NO_QUEUE);
        for action in written {
            action.to_of13(&mut queue, &mut wide);
        }

        let mut read: Vec<Action> = Vec::new();
        queue = NO_QUEUE;
        for action in wide {
            if let openflow::Action::SetQueue(chosen) = action {
                queue = chosen;
            }
            let twice = |it: &Action| {
                matches!(it, Action::SetTpSrc(_) | Action::SetTpDst(_)) && read.last() == Some(it)
            };
            let said = Action::from_of13(action, queue).filter(|it| !twice(it));
            read.extend(said);
        }

        assert_eq!(read, written);
    }
}
