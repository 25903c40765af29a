//! Actions of version 1.0 in the words of 1.3, and back.

use wire::ethernet::EtherType;
use wire::openflow::{self, Instruction, Instructions, QueueId};
use wire::openflow10::{Action, Actions, BadAction, ErrorKind, Match10, PortNumber};

use crate::action::{self, ACTIONS_MAX};
use crate::pipeline::Pipeline;
use crate::program::{Compiler, InstructionSite};

const VLAN_ID_MAX: u16 = 0x0fff;
const VLAN_PRIORITY_MAX: u8 = 7;
/// The bits of the type of service that are none of the code point.
const ECN_BITS: u8 = 3;
/// The queue of an output that names none.
const NO_QUEUE: QueueId = QueueId(0);

/// What the actions are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Entry,
    PacketOut,
}

/// One step of what a list of actions asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ActionStep {
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
pub(super) fn steps(actions: &Actions<'_>, purpose: Purpose) -> Result<Vec<ActionStep>, ErrorKind> {
    let mut list = List {
        purpose,
        steps: Vec::new(),
        queue: NO_QUEUE,
    };
    for action in actions.iter() {
        let action = action.map_err(|error| ErrorKind::from_of13(error.kind()))?;
        list.add(action).map_err(ErrorKind::BadAction)?;
        if list.steps.len() > ACTIONS_MAX {
            return Err(ErrorKind::BadAction(BadAction::TooMany));
        }
    }
    Ok(list.steps)
}

struct List {
    purpose: Purpose,
    steps: Vec<ActionStep>,
    /// The queue of the next output if nothing is said about it.
    queue: QueueId,
}

impl List {
    fn add(&mut self, action: Action) -> Result<(), BadAction> {
        self.check(action)?;
        if let Action::SetVlanVid(_) | Action::SetVlanPcp(_) = action {
            self.steps.push(ActionStep::EnsureTag);
        }
        let mut wide = Vec::new();
        action.to_of13(&mut self.queue, &mut wide);
        self.steps.extend(wide.into_iter().map(ActionStep::Do));
        Ok(())
    }

    /// OF10 section 5.4.4: what an action may say.
    fn check(&self, action: Action) -> Result<(), BadAction> {
        let argument = |fits| match fits {
            true => Ok(()),
            false => Err(BadAction::BadArgument),
        };
        match action {
            Action::Output { port, .. } => {
                let meaningless = port == PortNumber::NONE;
                let in_entry = port == PortNumber::TABLE && self.purpose == Purpose::Entry;
                match meaningless || in_entry {
                    true => Err(BadAction::BadOutPort),
                    false => Ok(()),
                }
            }
            Action::Enqueue { port, .. } => {
                let ordinary = port.to_of13().is_ordinary() || port == PortNumber::IN_PORT;
                ordinary.then_some(()).ok_or(BadAction::BadOutPort)
            }
            Action::SetVlanVid(id) => argument(id <= VLAN_ID_MAX),
            Action::SetVlanPcp(priority) => argument(priority <= VLAN_PRIORITY_MAX),
            Action::SetNwTos(tos) => argument(tos & ECN_BITS == 0),
            Action::StripVlan
            | Action::SetDlSrc(_)
            | Action::SetDlDst(_)
            | Action::SetNwSrc(_)
            | Action::SetNwDst(_)
            | Action::SetTpSrc(_)
            | Action::SetTpDst(_) => Ok(()),
        }
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
    steps: &[ActionStep],
) -> Result<Box<[action::Action]>, ErrorKind> {
    let compiler = Compiler {
        egress: &pipeline.egress,
        tables: 0,
        place: InstructionSite::PacketOut,
    };
    let mut ready = Vec::new();
    for step in steps {
        match step {
            ActionStep::EnsureTag => ready.push(action::Action::EnsureTag),
            ActionStep::Do(action) => {
                let actions = openflow::Actions::of(std::slice::from_ref(action));
                ready.extend(compiler.actions(&actions).map_err(ErrorKind::from_of13)?);
            }
        }
    }
    Ok(ready.into())
}

/// Returns the actions by which version 1.3 is told of an entry. Of a tag that
/// is made only if there is none it hears if the match says that there is none.
pub(super) fn told(matching: &Match10, steps: &[ActionStep]) -> Vec<openflow::Action> {
    let mut untagged = matching.dl_vlan == Some(Match10::NO_VLAN);
    let mut told = Vec::new();
    for step in steps {
        match *step {
            ActionStep::EnsureTag if untagged => {
                untagged = false;
                told.push(openflow::Action::PushVlan(EtherType::VLAN));
            }
            ActionStep::EnsureTag => {}
            ActionStep::Do(action) => {
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
    let mut queue = NO_QUEUE;
    for action in wide.iter() {
        let Ok(action) = action else { break };
        if let openflow::Action::SetQueue(chosen) = action {
            queue = chosen;
        }
        // A port is set for TCP and UDP by two actions there and one here.
        let said = Action::from_of13(action, queue).filter(|it| narrow.last() != Some(it));
        narrow.extend(said);
    }
}

#[cfg(test)]
mod tests {
    use wire::ethernet::MacAddress;

    use super::*;

    #[test]
    fn what_version_1_3_is_told_reads_in_version_1_0_as_it_was_written() {
        let port = PortNumber(2);
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
            Action::output(PortNumber::CONTROLLER),
        ];
        for matching in [
            Match10::ANY,
            Match10 {
                dl_vlan: Some(Match10::NO_VLAN),
                ..Match10::ANY
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
        let out = |port| Action::output(PortNumber(port));
        let enqueue = Action::Enqueue {
            port: PortNumber::FLOOD,
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
