//! Errors of actions and instructions.

use wire::ethernet::EtherType;
use wire::openflow::{
    Action, Actions, BadAction, BadInstruction, ErrorKind, GroupId, Instruction, MatchField,
    PortNumber, QueueId, TableId,
};

use super::{Case, check, refused_actions, refused_entry};

const NO_EXPERIMENTERS: &str = "no experimenter is known";
const NO_RIGHTS: &str = "who may connect may do everything that his role allows";

/// An action with four bytes of argument, to be changed to another.
const SHORT: [Action; 1] = [Action::PopPbb];

#[test]
fn every_bad_action_has_its_reason() {
    check(BadAction::ALL, ErrorKind::BadAction, bad_action);
}

fn bad_action(code: BadAction) -> Case {
    match code {
        BadAction::BadType => Case::Given(|world| refused_actions(world, &SHORT, Some((1, 99)))),
        BadAction::BadLength => Case::Given(|world| refused_actions(world, &SHORT, Some((3, 4)))),
        BadAction::BadExperimenter => Case::Given(|world| {
            // The type is 0xff1b but for its second byte.
            let actions = [Action::SetQueue(QueueId(1)), Action::PopPbb];
            refused_experimenter(world, &actions)
        }),
        BadAction::BadExperimenterType => {
            Case::Given(|world| refused_actions(world, &[Action::ModeArrange], Some((9, 99))))
        }
        BadAction::BadOutPort => Case::Given(|world| {
            let actions = [Action::output(PortNumber(99))];
            refused_actions(world, &actions, None)
        }),
        BadAction::BadArgument => Case::Given(|world| {
            let actions = [Action::PushVlan(EtherType::IPV4)];
            refused_actions(world, &actions, None)
        }),
        BadAction::PermissionDenied => Case::Never(NO_RIGHTS),
        BadAction::TooMany => Case::Given(|world| {
            let actions = [Action::output(PortNumber(1)); 1000];
            refused_actions(world, &actions, None)
        }),
        BadAction::BadQueue => Case::Given(|world| {
            let actions = [Action::SetQueue(QueueId(8))];
            refused_actions(world, &actions, None)
        }),
        BadAction::BadOutGroup => Case::Given(|world| {
            let actions = [Action::Group(GroupId(5))];
            refused_actions(world, &actions, None)
        }),
        BadAction::MatchInconsistent => {
            Case::Given(|world| refused_actions(world, &[Action::DecrementNetworkTtl], None))
        }
        BadAction::UnsupportedOrder => Case::Never("every order is supported"),
        BadAction::BadTag => Case::Never("a bad type of a tag is a bad argument"),
        BadAction::BadSetType => Case::Given(|world| {
            let actions = [Action::SetField(MatchField::InPort(PortNumber(1)))];
            refused_actions(world, &actions, None)
        }),
        BadAction::BadSetLength => Case::Given(|world| {
            // The length of the field's value stands seven bytes on.
            let actions = [Action::SetField(MatchField::EthType(EtherType::IPV4))];
            refused_actions(world, &actions, Some((7, 3)))
        }),
        BadAction::BadSetArgument => Case::Given(|world| {
            let actions = [Action::SetField(MatchField::EthType(EtherType(5)))];
            refused_actions(world, &actions, None)
        }),
    }
}

fn refused_experimenter(world: &mut crate::world::World, actions: &[Action]) -> ErrorKind {
    use wire::openflow::{FlowMod, Instructions, Message};

    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let mut message = super::bytes(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(&instructions),
        ..FlowMod::add(TableId(0))
    }));
    let first = super::EMPTY_FLOW_MOD + super::INSTRUCTION_HEADER;
    message[first..first + 2].copy_from_slice(&[0xff, 0xff]);
    super::refused(world, &message)
}

#[test]
fn every_bad_instruction_has_its_reason() {
    check(
        BadInstruction::ALL,
        ErrorKind::BadInstruction,
        bad_instruction,
    );
}

fn bad_instruction(code: BadInstruction) -> Case {
    const CLEAR: [Instruction<'_>; 2] = [Instruction::ClearActions; 2];
    match code {
        BadInstruction::UnknownInstruction => {
            Case::Given(|world| refused_entry(world, &CLEAR, Some((1, 99))))
        }
        // What makes no sense twice is not supported twice.
        BadInstruction::UnsupportedInstruction => {
            Case::Given(|world| refused_entry(world, &CLEAR, None))
        }
        BadInstruction::BadTableId => Case::Given(|world| {
            let back = [Instruction::GotoTable(TableId(0))];
            refused_entry(world, &back, None)
        }),
        BadInstruction::UnsupportedMetadata | BadInstruction::UnsupportedMetadataMask => {
            Case::Never("every bit of the metadata is supported")
        }
        BadInstruction::BadExperimenter => Case::Given(|world| {
            use wire::openflow::{FlowMod, Instructions, Message};

            let mut message = super::bytes(&Message::FlowMod(FlowMod {
                instructions: Instructions::of(&CLEAR[..1]),
                ..FlowMod::add(TableId(0))
            }));
            let first = super::EMPTY_FLOW_MOD;
            message[first..first + 2].copy_from_slice(&[0xff, 0xff]);
            super::refused(world, &message)
        }),
        BadInstruction::BadExperimenterType => Case::Never(NO_EXPERIMENTERS),
        BadInstruction::BadLength => {
            Case::Given(|world| refused_entry(world, &CLEAR, Some((3, 12))))
        }
        BadInstruction::PermissionDenied => Case::Never(NO_RIGHTS),
    }
}
