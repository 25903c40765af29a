//! What an intent says of frames, in the words of a switch.

use wire::ethernet::EtherType;
use wire::openflow::oxm::{Masked, VlanMatch};
use wire::openflow::{Action, MatchField, PortNumber, QueueId};

use crate::flows::BEST_EFFORT;
use crate::northbound::{FrameAction, FrameMatch};
use crate::rules;

/// Returns the fields of a match, with the port by which frames come in if that is
/// given, prerequisites first.
#[must_use]
pub fn fields(matching: &FrameMatch, input: Option<PortNumber>) -> Vec<MatchField> {
    let input = input.or(matching.input).map(MatchField::InPort);
    let rest = rules::fields(matching.source, &matching.flow);
    input.into_iter().chain(rest).collect()
}

/// What is done with some of the frames that match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTreatment {
    /// The fields that tell these frames from the others.
    pub only: Option<MatchField>,
    /// What is done with them.
    pub actions: Vec<Action>,
}

/// Returns what is done with frames that match. Where they are to be tagged, or
/// their tag is to go, and the match does not say whether they have one, those with
/// and those without a tag need different actions.
#[must_use]
pub fn treatments(matching: &FrameMatch, actions: &[FrameAction]) -> Vec<FrameTreatment> {
    let is_about_tag =
        |action: &FrameAction| matches!(action, FrameAction::SetVlan(_) | FrameAction::StripVlan);
    let asks = actions.iter().any(is_about_tag);
    if !asks || matching.flow.vlan.is_some() {
        return vec![FrameTreatment {
            only: None,
            actions: carried_out(actions, matching.flow.vlan.is_some()),
        }];
    }
    let tagged = Masked::under(VlanMatch::PRESENT, VlanMatch::PRESENT);
    let untagged = Masked::exact(VlanMatch::UNTAGGED);
    [(tagged, true), (untagged, false)]
        .map(|(tag, is_tagged)| FrameTreatment {
            only: Some(MatchField::VlanVid(tag)),
            actions: carried_out(actions, is_tagged),
        })
        .to_vec()
}

/// Returns the actions for frames that have a tag or none.
fn carried_out(actions: &[FrameAction], mut is_tagged: bool) -> Vec<Action> {
    let mut all = Vec::with_capacity(actions.len() + 2);
    if actions.iter().any(sends) {
        all.push(best_effort());
    }
    for action in actions {
        match *action {
            FrameAction::Output(port) => all.push(Action::output(port)),
            FrameAction::Flood => all.push(Action::output(PortNumber::FLOOD)),
            FrameAction::Controller => all.push(Action::output(PortNumber::CONTROLLER)),
            FrameAction::Queue(queue) => all.push(Action::SetQueue(QueueId(u32::from(queue)))),
            FrameAction::SetVlan(id) => {
                if !std::mem::replace(&mut is_tagged, true) {
                    all.push(Action::PushVlan(EtherType::VLAN));
                }
                let tag = Masked::exact(VlanMatch::tagged(id));
                all.push(Action::SetField(MatchField::VlanVid(tag)));
            }
            FrameAction::StripVlan => {
                if std::mem::replace(&mut is_tagged, false) {
                    all.push(Action::PopVlan);
                }
            }
            FrameAction::SetSource(mac) => {
                all.push(Action::SetField(MatchField::EthSrc(Masked::exact(mac))));
            }
            FrameAction::SetDestination(mac) => {
                all.push(Action::SetField(MatchField::EthDst(Masked::exact(mac))));
            }
        }
    }
    all
}

/// Returns the action that puts frames into the queue in which nothing is promised.
#[must_use]
pub fn best_effort() -> Action {
    Action::SetQueue(QueueId(u32::from(BEST_EFFORT)))
}

/// Returns whether an action sends a frame somewhere.
#[must_use]
pub const fn sends(action: &FrameAction) -> bool {
    match action {
        FrameAction::Output(_) | FrameAction::Flood | FrameAction::Controller => true,
        FrameAction::Queue(_)
        | FrameAction::SetVlan(_)
        | FrameAction::StripVlan
        | FrameAction::SetSource(_)
        | FrameAction::SetDestination(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::northbound::FlowMatch;

    #[test]
    fn frames_with_and_without_a_tag_are_tagged_alike() {
        let actions = [FrameAction::SetVlan(7), FrameAction::Output(PortNumber(2))];

        let found = treatments(&FrameMatch::default(), &actions);

        let pushes = |treatment: &FrameTreatment| {
            let mut actions = treatment.actions.iter();
            actions.any(|action| *action == Action::PushVlan(EtherType::VLAN))
        };
        assert_eq!(found.iter().map(pushes).collect::<Vec<_>>(), [false, true]);
        assert_ne!(found[0].only, found[1].only);
    }

    #[test]
    fn a_match_that_says_the_tag_needs_one_treatment() {
        let matching = FrameMatch {
            flow: FlowMatch {
                vlan: Some(3),
                ..FlowMatch::default()
            },
            ..FrameMatch::default()
        };

        let found = treatments(&matching, &[FrameAction::StripVlan]);

        assert_eq!(found.len(), 1);
        assert_eq!(found[0].actions, [Action::PopVlan]);
    }
}
