//! Actions of version 1.0 in the words of 1.3, and back.

use wire::ethernet::EtherType;
use wire::openflow::oxm::VlanMatch;
use wire::openflow::{
    self, ControllerLength, Instruction, Instructions, MatchField, PortNumber, QueueId,
};
use wire::openflow10::{Action, Actions, BadAction, ErrorKind, Match};

use super::errors::narrowed;
use crate::action::{self, ACTIONS_MAX};
use crate::pipeline::Pipeline;
use crate::program::{Compiler, Place};

const VLAN_ID_MAX: u16 = 0x0fff;
const VLAN_PRIORITY_MAX: u8 = 7;
/// The bits of the type of service that are none of the code point.
const ECN_BITS: u8 = 3;
const DSCP_SHIFT: u32 = 2;
/// The queue of an output that names none.
const DEFAULT_QUEUE: QueueId = QueueId(0);

/// What the actions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Entry,
    PacketOut,
}

/// One step of what a list of actions asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Make a VLAN tag if there is none.
    EnsureTag,
    /// What version 1.3 has an action for.
    Do(openflow::Action),
}

/// Returns the steps of a list of actions.
///
/// # Errors
///
/// With the specification's error for the first action that is wrong, as far as
/// the ports and queues of the switch do not matter.
pub(super) fn steps(actions: &Actions<'_>, purpose: Purpose) -> Result<Vec<Step>, ErrorKind> {
    let mut list = List {
        purpose,
        steps: Vec::new(),
        queue: DEFAULT_QUEUE,
    };
    for action in actions.iter() {
        let action = action.map_err(|error| narrowed(error.kind()))?;
        list.add(action).map_err(ErrorKind::BadAction)?;
        if list.steps.len() > ACTIONS_MAX {
            return Err(ErrorKind::BadAction(BadAction::TooMany));
        }
    }
    Ok(list.steps)
}

struct List {
    purpose: Purpose,
    steps: Vec<Step>,
    /// The queue of the next output if nothing is said about it.
    queue: QueueId,
}

impl List {
    fn add(&mut self, action: Action) -> Result<(), BadAction> {
        match action {
            Action::Output { port, max_length } => {
                self.choose(DEFAULT_QUEUE);
                self.output(port.widened(), widened_length(max_length))?;
            }
            Action::Enqueue { port, queue } => {
                let port = port.widened();
                if !port.is_ordinary() && port != PortNumber::IN_PORT {
                    return Err(BadAction::BadOutPort);
                }
                self.choose(queue);
                self.output(port, ControllerLength::NO_BUFFER)?;
            }
            Action::SetVlanVid(id) => {
                check(id <= VLAN_ID_MAX)?;
                self.steps.push(Step::EnsureTag);
                self.set(MatchField::VlanVid(VlanMatch::tagged(id).into()));
            }
            Action::SetVlanPcp(priority) => {
                check(priority <= VLAN_PRIORITY_MAX)?;
                self.steps.push(Step::EnsureTag);
                self.set(MatchField::VlanPcp(priority));
            }
            Action::StripVlan => self.push(openflow::Action::PopVlan),
            Action::SetDlSrc(address) => self.set(MatchField::EthSrc(address.into())),
            Action::SetDlDst(address) => self.set(MatchField::EthDst(address.into())),
            Action::SetNwSrc(address) => self.set(MatchField::Ipv4Src(address.into())),
            Action::SetNwDst(address) => self.set(MatchField::Ipv4Dst(address.into())),
            Action::SetNwTos(tos) => {
                check(tos & ECN_BITS == 0)?;
                self.set(MatchField::IpDscp(tos >> DSCP_SHIFT));
            }
            Action::SetTpSrc(port) => {
                self.set(MatchField::TcpSrc(port));
                self.set(MatchField::UdpSrc(port));
            }
            Action::SetTpDst(port) => {
                self.set(MatchField::TcpDst(port));
                self.set(MatchField::UdpDst(port));
            }
        }
        Ok(())
    }

    fn output(&mut self, port: PortNumber, max_length: ControllerLength) -> Result<(), BadAction> {
        let meaningless = port == PortNumber::ANY;
        if meaningless || port == PortNumber::TABLE && self.purpose == Purpose::Entry {
            return Err(BadAction::BadOutPort);
        }
        self.push(openflow::Action::Output { port, max_length });
        Ok(())
    }

    /// Lets the next output go through this queue: in version 1.3 a queue stays
    /// chosen, in version 1.0 it does not.
    fn choose(&mut self, queue: QueueId) {
        if self.queue != queue {
            self.queue = queue;
            self.push(openflow::Action::SetQueue(queue));
        }
    }

    fn set(&mut self, field: MatchField) {
        self.push(openflow::Action::SetField(field));
    }

    fn push(&mut self, action: openflow::Action) {
        self.steps.push(Step::Do(action));
    }
}

/// Returns how much of a frame the controller wants, in a number that version
/// 1.3 allows: what is beyond its longest is longer than any frame.
pub(super) fn widened_length(narrow: ControllerLength) -> ControllerLength {
    match narrow {
        ControllerLength::NO_BUFFER => narrow,
        narrow => narrow.min(ControllerLength::MAX),
    }
}

fn check(fits: bool) -> Result<(), BadAction> {
    match fits {
        true => Ok(()),
        false => Err(BadAction::BadArgument),
    }
}

/// Makes steps ready to be executed. What does not fit a frame leaves it alone,
/// as for a packet-out of version 1.3.
///
/// # Errors
///
/// If there is no such port or queue.
pub(super) fn compile(
    pipeline: &Pipeline,
    steps: &[Step],
) -> Result<Box<[action::Action]>, ErrorKind> {
    let compiler = Compiler {
        egress: &pipeline.egress,
        tables: 0,
        place: Place::PacketOut,
    };
    let mut ready = Vec::new();
    for step in steps {
        match step {
            Step::EnsureTag => ready.push(action::Action::EnsureTag),
            Step::Do(action) => {
                let actions = openflow::Actions::of(std::slice::from_ref(action));
                ready.extend(compiler.actions(&actions).map_err(narrowed)?);
            }
        }
    }
    Ok(ready.into())
}

/// Returns the actions by which version 1.3 is told of an entry. Of a tag that
/// is made only if there is none it hears if the match says that there is none.
pub(super) fn told(matching: &Match, steps: &[Step]) -> Vec<openflow::Action> {
    let mut untagged = matching.dl_vlan == Some(Match::NO_VLAN);
    let mut told = Vec::new();
    for step in steps {
        match *step {
            Step::EnsureTag if untagged => {
                untagged = false;
                told.push(openflow::Action::PushVlan(EtherType::VLAN));
            }
            Step::EnsureTag => {}
            Step::Do(action) => {
                untagged |= action == openflow::Action::PopVlan;
                told.push(action);
            }
        }
    }
    told
}

/// Returns what version 1.0 can say of what an entry does.
pub(super) fn narrowed_actions(instructions: &Instructions<'_>) -> Vec<Action> {
    let mut narrow = Vec::new();
    for instruction in instructions.iter() {
        match instruction {
            Ok(Instruction::ApplyActions(actions) | Instruction::WriteActions(actions)) => {
                narrow_list(&actions, &mut narrow);
            }
            Ok(
                Instruction::GotoTable(_)
                | Instruction::WriteMetadata { .. }
                | Instruction::ClearActions
                | Instruction::Meter(_),
            )
            | Err(_) => {}
        }
    }
    narrow
}

fn narrow_list(wide: &openflow::Actions<'_>, narrow: &mut Vec<Action>) {
    let mut queue = DEFAULT_QUEUE;
    for action in wide.iter() {
        let Ok(action) = action else { break };
        if let openflow::Action::SetQueue(chosen) = action {
            queue = chosen;
        }
        // A port is set for TCP and UDP by two actions there and one here.
        if let Some(action) = narrow_action(action, queue).filter(|it| narrow.last() != Some(it)) {
            narrow.push(action);
        }
    }
}

fn narrow_action(wide: openflow::Action, queue: QueueId) -> Option<Action> {
    match wide {
        openflow::Action::Output { port, max_length } => {
            let narrow = wire::openflow10::PortNumber::narrowed(port)?;
            let queued = port.is_ordinary() || port == PortNumber::IN_PORT;
            Some(match queued && queue != DEFAULT_QUEUE {
                true => Action::Enqueue {
                    port: narrow,
                    queue,
                },
                false => Action::Output {
                    port: narrow,
                    max_length,
                },
            })
        }
        openflow::Action::PopVlan => Some(Action::StripVlan),
        openflow::Action::SetField(field) => narrow_field(field),
        openflow::Action::CopyTtlOut
        | openflow::Action::CopyTtlIn
        | openflow::Action::SetMplsTtl(_)
        | openflow::Action::DecrementMplsTtl
        | openflow::Action::PushVlan(_)
        | openflow::Action::PushMpls(_)
        | openflow::Action::PopMpls(_)
        | openflow::Action::SetQueue(_)
        | openflow::Action::Group(_)
        | openflow::Action::SetNetworkTtl(_)
        | openflow::Action::DecrementNetworkTtl
        | openflow::Action::PushPbb(_)
        | openflow::Action::PopPbb
        | openflow::Action::FlowMonitor(_)
        | openflow::Action::ModeArrange
        | openflow::Action::QueuedFate(_) => None,
    }
}

fn narrow_field(field: MatchField) -> Option<Action> {
    Some(match field {
        MatchField::EthSrc(address) => Action::SetDlSrc(address.value),
        MatchField::EthDst(address) => Action::SetDlDst(address.value),
        MatchField::VlanVid(vlan) => Action::SetVlanVid(vlan.value.id()?),
        MatchField::VlanPcp(priority) => Action::SetVlanPcp(priority),
        MatchField::IpDscp(dscp) => Action::SetNwTos(dscp << DSCP_SHIFT),
        MatchField::Ipv4Src(address) => Action::SetNwSrc(address.value),
        MatchField::Ipv4Dst(address) => Action::SetNwDst(address.value),
        MatchField::TcpSrc(port) | MatchField::UdpSrc(port) => Action::SetTpSrc(port),
        MatchField::TcpDst(port) | MatchField::UdpDst(port) => Action::SetTpDst(port),
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

#[cfg(test)]
mod tests {
    use wire::ethernet::MacAddress;

    use super::*;

    #[test]
    fn what_version_1_3_is_told_reads_in_version_1_0_as_it_was_written() {
        let port = wire::openflow10::PortNumber(2);
        let mac = MacAddress([2, 0, 0, 0, 0, 9]);
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
            Action::Enqueue {
                port,
                queue: QueueId(7),
            },
            Action::output(port),
            Action::output(wire::openflow10::PortNumber::CONTROLLER),
        ];
        for matching in [
            Match::ANY,
            Match {
                dl_vlan: Some(Match::NO_VLAN),
                ..Match::ANY
            },
        ] {
            let steps = steps(&Actions::of(&written), Purpose::Entry).unwrap();
            let told = told(&matching, &steps);
            let instructions = [Instruction::ApplyActions(openflow::Actions::of(&told))];

            let read = narrowed_actions(&Instructions::of(&instructions));

            assert_eq!(read, written);
        }
    }

    /// OF10 section 5.4.4.
    #[test]
    fn arguments_out_of_range_and_ports_that_mean_nothing_are_refused() {
        let out = |port| Action::output(wire::openflow10::PortNumber(port));
        let enqueue = Action::Enqueue {
            port: wire::openflow10::PortNumber::FLOOD,
            queue: QueueId(1),
        };
        for (action, expected) in [
            (Action::SetVlanVid(0x1000), BadAction::BadArgument),
            (Action::SetVlanPcp(8), BadAction::BadArgument),
            (Action::SetNwTos(1), BadAction::BadArgument),
            (out(0xffff), BadAction::BadOutPort),
            (out(0xfff9), BadAction::BadOutPort),
            (enqueue, BadAction::BadOutPort),
        ] {
            let refused = steps(&Actions::of(&[action]), Purpose::Entry);

            assert_eq!(refused, Err(ErrorKind::BadAction(expected)), "{action:?}");
        }
    }
}
