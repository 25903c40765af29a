//! Every error that the specification has, OF13 clause 7.4.4: what a controller
//! has to do to be answered with it, or why this switch never gives it.
//!
//! Nobody can forget one: the codes of a type are matched without a wildcard,
//! so a case is missing only as long as this does not compile. Where they come
//! from:
//!
//! | type | raised by |
//! |---|---|
//! | `HELLO_FAILED` | `agent::requests`, before a version is agreed on |
//! | `BAD_REQUEST` | `wire` where a message cannot be read; `agent` for roles, tables, ports and kept frames |
//! | `BAD_ACTION` | `wire` where an action cannot be read; `program` and `header_actions`, which compile it |
//! | `BAD_INSTRUCTION` | `wire` where an instruction cannot be read; `program` |
//! | `BAD_MATCH` | `wire`: lengths, values, masks, prerequisites; `matching` |
//! | `FLOW_MOD_FAILED` | `agent::flow_mods` |
//! | `GROUP_MOD_FAILED` | `agent::group_mods`, `group_table` |
//! | `PORT_MOD_FAILED` | `agent::ports` |
//! | `TABLE_MOD_FAILED` | `agent::requests` |
//! | `QUEUE_OP_FAILED` | `agent::ports`, `agent::statistics` |
//! | `SWITCH_CONFIG_FAILED` | `wire`, `agent::requests` |
//! | `ROLE_REQUEST_FAILED` | `wire`, `agent::roles` |
//! | `METER_MOD_FAILED` | `agent::meter_mods`, `meter_table`; `program` for a meter that an entry names |
//! | `TABLE_FEATURES_FAILED` | `wire`, `agent::table_features` |
//! | experimenter, of the Open Networking Foundation | `agent::bundles` |

mod actions;
mod bundles;
mod changes;
mod matches;
mod requests;

use std::fmt::Debug;

use wire::openflow::{
    Action, Actions, ErrorKind, FlowMod, Instruction, Instructions, Message, TableId, TransactionId,
};

use crate::world::{CONTROLLER, World, unpaced};

/// How an error comes about.
enum Case {
    /// A switch to which this is done answers with it.
    Given(fn(&mut World) -> ErrorKind),
    /// No switch of ours answers with it, for this reason.
    Never(&'static str),
}

/// Checks that every code of a type is given for its reason, or never.
fn check<T: Copy + Debug>(codes: &[T], kind: impl Fn(T) -> ErrorKind, case: impl Fn(T) -> Case) {
    for code in codes {
        let mut world = World::with_controller(unpaced());
        match case(*code) {
            Case::Given(provoke) => assert_eq!(provoke(&mut world), kind(*code)),
            Case::Never(reason) => assert!(!reason.is_empty(), "{code:?} without a reason"),
        }
    }
}

/// Returns a message of this type with this body.
fn raw(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(8 + body.len()).expect("a message is short");
    let [high, low] = length.to_be_bytes();
    let mut message = vec![4, kind, high, low, 0, 0, 0, 7];
    message.extend_from_slice(body);
    message
}

fn bytes(message: &Message<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.emit(TransactionId(7), &mut bytes);
    bytes
}

/// Sends bytes and returns the error that they are answered with.
fn refused(world: &mut World, bytes: &[u8]) -> ErrorKind {
    world.receive(CONTROLLER, bytes);
    let answers = world.answers(CONTROLLER);
    let answer = answers.first().map(crate::world::Answer::message);
    match answer {
        Some(Message::Error(error)) => error.kind,
        other => panic!("not refused, but {other:?}"),
    }
}

/// Sends a flow-mod with these instructions, of which a byte is changed: that
/// many bytes behind the first instruction, to this value.
fn refused_entry(
    world: &mut World,
    instructions: &[Instruction<'_>],
    change: Option<(usize, u8)>,
) -> ErrorKind {
    let mut flow_mod = bytes(&Message::FlowMod(FlowMod {
        instructions: Instructions::of(instructions),
        ..FlowMod::add(TableId(0))
    }));
    if let Some((at, value)) = change {
        flow_mod[EMPTY_FLOW_MOD + at] = value;
    }
    refused(world, &flow_mod)
}

/// The length of a flow-mod that matches everything and does nothing.
const EMPTY_FLOW_MOD: usize = 56;
/// Where actions begin behind the first byte of their instruction.
const INSTRUCTION_HEADER: usize = 8;

/// Sends a flow-mod that applies these actions, of which a byte is changed: that
/// many bytes behind the first action, to this value.
fn refused_actions(
    world: &mut World,
    actions: &[Action],
    change: Option<(usize, u8)>,
) -> ErrorKind {
    let instructions = [Instruction::ApplyActions(Actions::of(actions))];
    let change = change.map(|(at, value)| (INSTRUCTION_HEADER + at, value));
    refused_entry(world, &instructions, change)
}
