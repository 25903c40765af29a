//! Matches and actions of version 1.3 in the words of 1.0, exactly or not at all.

use wire::openflow::{
    self, BadAction, ErrorKind, Fields, Instruction, Instructions, MatchField, QueueId,
};
use wire::openflow10::{Action, Match10};

use super::Enqueue;

/// What version 1.0 has no words for.
const BAD_MATCH: ErrorKind = ErrorKind::BadMatch(openflow::BadMatch::BadWildcards);
const BAD_INSTRUCTION: ErrorKind =
    ErrorKind::BadInstruction(openflow::BadInstruction::UnsupportedInstruction);
const BAD_ACTION: ErrorKind = ErrorKind::BadAction(BadAction::BadType);
const BAD_FIELD: ErrorKind = ErrorKind::BadAction(BadAction::BadSetType);

/// Returns the match that means the same.
///
/// # Errors
///
/// If a field or a mask has no counterpart.
pub(super) fn narrow_match(wide: &Fields<'_>) -> Result<Match10, ErrorKind> {
    Match10::exactly_from_of13(wide).ok_or(BAD_MATCH)
}

/// Returns the actions that do the same, for an entry.
///
/// # Errors
///
/// If an instruction or an action has no counterpart at this switch.
pub(super) fn narrow_instructions(
    wide: &Instructions<'_>,
    enqueue: Enqueue,
) -> Result<Vec<Action>, ErrorKind> {
    let mut narrow = Vec::new();
    for instruction in wide.iter() {
        match instruction.map_err(|_| BAD_INSTRUCTION)? {
            Instruction::ApplyActions(actions) => {
                let mut list = List {
                    enqueue,
                    queue: QueueId(0),
                    tag: Tag::Untouched,
                    narrow: &mut narrow,
                };
                for action in actions.iter() {
                    list.add(action.map_err(|_| BAD_ACTION)?)?;
                }
                list.finish()?;
            }
            Instruction::GotoTable(_)
            | Instruction::WriteMetadata { .. }
            | Instruction::WriteActions(_)
            | Instruction::ClearActions
            | Instruction::Meter(_) => return Err(BAD_INSTRUCTION),
        }
    }
    Ok(narrow)
}

/// Returns the actions that do the same with a frame that is sent once. Its queue
/// is only a wish: whether the switch has one, nobody relies on.
///
/// # Errors
///
/// If an action has no counterpart.
pub(super) fn narrow_actions(wide: &openflow::Actions<'_>) -> Result<Vec<Action>, ErrorKind> {
    let mut narrow = Vec::new();
    let mut list = List {
        enqueue: Enqueue::Unable,
        queue: QueueId(0),
        tag: Tag::Untouched,
        narrow: &mut narrow,
    };
    for action in wide.iter() {
        match action.map_err(|_| BAD_ACTION)? {
            openflow::Action::SetQueue(_) => {}
            action => list.add(action)?,
        }
    }
    list.finish()?;
    Ok(narrow)
}

struct List<'a> {
    enqueue: Enqueue,
    queue: QueueId,
    tag: Tag,
    narrow: &'a mut Vec<Action>,
}

/// Whether a tag was pushed of which the id is still to come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Untouched,
    Pushed,
}

impl List<'_> {
    fn add(&mut self, action: openflow::Action) -> Result<(), ErrorKind> {
        use openflow::Action as Wide;
        let bad = match action {
            Wide::SetQueue(queue) => {
                self.queue = queue;
                return Ok(());
            }
            Wide::PushVlan(_) => {
                self.tag = Tag::Pushed;
                return Ok(());
            }
            Wide::Output { .. } => ErrorKind::BadAction(BadAction::BadOutPort),
            Wide::SetField(field) => {
                self.check(field)?;
                BAD_FIELD
            }
            _ => BAD_ACTION,
        };
        let narrow = Action::from_of13(action, self.queue).ok_or(bad)?;
        if matches!(narrow, Action::Enqueue { .. }) && self.enqueue == Enqueue::Unable {
            return Err(ErrorKind::BadAction(BadAction::BadQueue));
        }
        self.narrow.push(narrow);
        Ok(())
    }

    /// Checks that a field is set for exactly the frames for which version 1.0 would
    /// set it: its ports are those of TCP and UDP alike, its type of service that of
    /// IPv6, too.
    fn check(&mut self, field: MatchField) -> Result<(), ErrorKind> {
        match field {
            MatchField::VlanVid(vlan) if vlan.mask.is_none() => self.tag = Tag::Untouched,
            MatchField::VlanPcp(_)
            | MatchField::EthSrc(_)
            | MatchField::EthDst(_)
            | MatchField::Ipv4Src(_)
            | MatchField::Ipv4Dst(_) => {}
            _ => return Err(BAD_FIELD),
        }
        Ok(())
    }

    /// Checks that nothing is left half said: a tag without an id.
    fn finish(self) -> Result<(), ErrorKind> {
        match self.tag {
            Tag::Untouched => Ok(()),
            Tag::Pushed => Err(BAD_ACTION),
        }
    }
}
