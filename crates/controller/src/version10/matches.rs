//! Matches and actions of version 1.3 in the words of 1.0, exactly or not at all.

use wire::openflow::{
    self, BadAction, ErrorKind, Fields, Instruction, Instructions, MatchField, QueueId,
};
use wire::openflow10::{Action, Match, PortNumber};

use super::Enqueue;

/// What version 1.0 has no words for.
const BAD_MATCH: ErrorKind = ErrorKind::BadMatch(openflow::BadMatch::BadWildcards);
const BAD_INSTRUCTION: ErrorKind =
    ErrorKind::BadInstruction(openflow::BadInstruction::UnsupportedInstruction);
const BAD_ACTION: ErrorKind = ErrorKind::BadAction(BadAction::BadType);

/// Returns the match that means the same.
///
/// # Errors
///
/// If a field or a mask has no counterpart.
pub(super) fn narrow_match(wide: &Fields<'_>) -> Result<Match, ErrorKind> {
    let narrow = Match::narrowed(wide);
    let by_kind = |field: &MatchField| field.kind().number();
    let mut said = narrow.widened();
    let mut meant: Vec<MatchField> = wide
        .iter()
        .collect::<Result<_, _>>()
        .map_err(|_| BAD_MATCH)?;
    said.sort_by_key(by_kind);
    meant.sort_by_key(by_kind);
    (said == meant).then_some(narrow).ok_or(BAD_MATCH)
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
        match action {
            Wide::Output { port, max_length } => {
                let bad_port = ErrorKind::BadAction(BadAction::BadOutPort);
                let port = PortNumber::narrowed(port).ok_or(bad_port)?;
                self.narrow.push(match (self.queue, self.enqueue) {
                    (QueueId(0), _) => Action::Output { port, max_length },
                    (queue, Enqueue::Able) => Action::Enqueue { port, queue },
                    (_, Enqueue::Unable) => {
                        return Err(ErrorKind::BadAction(BadAction::BadQueue));
                    }
                });
            }
            Wide::SetQueue(queue) => self.queue = queue,
            Wide::PushVlan(_) => self.tag = Tag::Pushed,
            Wide::PopVlan => self.narrow.push(Action::StripVlan),
            Wide::SetField(field) => self.set(field)?,
            Wide::CopyTtlOut
            | Wide::CopyTtlIn
            | Wide::SetMplsTtl(_)
            | Wide::DecrementMplsTtl
            | Wide::PushMpls(_)
            | Wide::PopMpls(_)
            | Wide::Group(_)
            | Wide::SetNetworkTtl(_)
            | Wide::DecrementNetworkTtl
            | Wide::PushPbb(_)
            | Wide::PopPbb
            | Wide::FlowMonitor(_)
            | Wide::ModeArrange
            | Wide::QueuedFate(_) => return Err(BAD_ACTION),
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

    fn set(&mut self, field: MatchField) -> Result<(), ErrorKind> {
        let bad_field = ErrorKind::BadAction(BadAction::BadSetType);
        self.narrow.push(match field {
            MatchField::VlanVid(vlan) if vlan.mask.is_none() => {
                self.tag = Tag::Untouched;
                Action::SetVlanVid(vlan.value.id().ok_or(bad_field)?)
            }
            MatchField::VlanPcp(priority) => Action::SetVlanPcp(priority),
            MatchField::EthSrc(address) => Action::SetDlSrc(address.value),
            MatchField::EthDst(address) => Action::SetDlDst(address.value),
            MatchField::Ipv4Src(address) => Action::SetNwSrc(address.value),
            MatchField::Ipv4Dst(address) => Action::SetNwDst(address.value),
            _ => return Err(bad_field),
        });
        Ok(())
    }
}

/// Returns the actions of version 1.3 that do what those of an entry do.
pub(super) fn widen_actions(narrow: &wire::openflow10::Actions<'_>) -> Vec<openflow::Action> {
    use openflow::Action as Wide;
    let set = |field: MatchField| Wide::SetField(field);
    let mut wide = Vec::new();
    for action in narrow.iter().map_while(Result::ok) {
        match action {
            Action::Output { port, max_length } => wide.push(Wide::Output {
                port: port.widened(),
                max_length,
            }),
            Action::Enqueue { port, queue } => {
                let chosen = wide.iter().rev().find_map(|action| match action {
                    Wide::SetQueue(queue) => Some(*queue),
                    _ => None,
                });
                if chosen != Some(queue) {
                    wide.push(Wide::SetQueue(queue));
                }
                wide.push(Wide::output(port.widened()));
            }
            Action::SetVlanVid(id) => {
                let vlan = openflow::oxm::VlanMatch::tagged(id);
                wide.push(set(MatchField::VlanVid(vlan.into())));
            }
            Action::SetVlanPcp(priority) => wide.push(set(MatchField::VlanPcp(priority))),
            Action::StripVlan => wide.push(Wide::PopVlan),
            Action::SetDlSrc(address) => wide.push(set(MatchField::EthSrc(address.into()))),
            Action::SetDlDst(address) => wide.push(set(MatchField::EthDst(address.into()))),
            Action::SetNwSrc(address) => wide.push(set(MatchField::Ipv4Src(address.into()))),
            Action::SetNwDst(address) => wide.push(set(MatchField::Ipv4Dst(address.into()))),
            Action::SetNwTos(tos) => wide.push(set(MatchField::IpDscp(tos >> 2))),
            Action::SetTpSrc(port) => wide.push(set(MatchField::TcpSrc(port))),
            Action::SetTpDst(port) => wide.push(set(MatchField::TcpDst(port))),
        }
    }
    wide
}
