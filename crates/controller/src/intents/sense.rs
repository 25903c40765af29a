//! Does an intent contradict itself?

use wire::openflow::oxm::Fields;

use super::frame::{fields, sends};
use crate::flows::BEST_EFFORT;
use crate::northbound::{
    Endpoint, FrameAction, FrameMatch, Intent, IntentKind, MAX_DESTINATIONS, MAX_WAYPOINTS, Scope,
    Waypoint,
};
use crate::priority::MATCH_ACTION_MAX;
use crate::view::MAX_SWITCHES;

/// The longest name of an intent, in bytes.
pub const MAX_NAME: usize = 256;
/// The most actions of one intent.
pub const MAX_ACTIONS: usize = 32;

/// Checks what can be checked without looking at the network.
///
/// # Errors
///
/// What makes no sense, and what would.
pub fn check(intent: &Intent) -> Result<(), &'static str> {
    demand(
        !intent.name.is_empty() && intent.name.len() <= MAX_NAME,
        "its name has no letter, or more than 256 bytes",
    )?;
    match &intent.kind {
        IntentKind::HostToHost { one, other } => {
            demand(one != other, "a host reaches itself without help: name two")
        }
        IntentKind::PointToPoint { from, to, matching } => {
            demand(from != to, "frames would leave where they enter")?;
            check_entering(matching)
        }
        IntentKind::Multicast { from, to, matching } => {
            check_receivers(from, to)?;
            check_entering(matching)
        }
        IntentKind::Path {
            from,
            to,
            through,
            matching,
            actions,
            ..
        } => {
            demand(from != to, "frames would leave where they enter")?;
            check_entering(matching)?;
            check_places(through)?;
            check_actions(actions)?;
            demand(
                !actions.iter().any(sends),
                "a path says itself where its frames leave: its actions change them only",
            )
        }
        IntentKind::MatchAction {
            at,
            priority,
            matching,
            actions,
        } => {
            demand(
                *priority <= MATCH_ACTION_MAX,
                "its priority is above 99, the highest of a match-action",
            )?;
            check_match(matching)?;
            check_actions(actions)?;
            match at {
                Scope::Everywhere => Ok(()),
                Scope::Switches(these) => demand(
                    !these.is_empty() && these.len() <= MAX_SWITCHES,
                    "it names no switch, or more than there can be",
                ),
            }
        }
    }
}

fn demand(holds: bool, otherwise: &'static str) -> Result<(), &'static str> {
    match holds {
        true => Ok(()),
        false => Err(otherwise),
    }
}

fn check_receivers(from: &Endpoint, to: &[Endpoint]) -> Result<(), &'static str> {
    demand(
        !to.is_empty() && to.len() <= MAX_DESTINATIONS,
        "it names no receiver, or more than 256",
    )?;
    demand(!to.contains(from), "frames would leave where they enter")?;
    let is_first = |(place, end): (usize, &Endpoint)| !to[..place].contains(end);
    demand(
        to.iter().enumerate().all(is_first),
        "a receiver is named twice",
    )
}

/// Checks a match whose frames enter at a place that is named beside it.
fn check_entering(matching: &FrameMatch) -> Result<(), &'static str> {
    demand(
        matching.input.is_none(),
        "the port by which frames come in is said by where they enter: leave it out of the match",
    )?;
    check_match(matching)
}

fn check_match(matching: &FrameMatch) -> Result<(), &'static str> {
    demand(
        matching.flow.vlan.is_none_or(is_vlan),
        "a VLAN id is 0 to 4094",
    )?;
    demand(
        matching.source.is_none_or(|source| !source.is_multicast()),
        "no frame comes from a group address",
    )?;
    demand(
        Fields::of(&fields(matching, None)).check().is_ok(),
        "the fields of its match contradict each other: addresses and ports of IPv4 are in frames \
         of EtherType 0x0800 only",
    )
}

/// A path visits no switch twice, so it cannot pass one twice.
fn check_places(places: &[Waypoint]) -> Result<(), &'static str> {
    demand(
        places.len() <= MAX_WAYPOINTS,
        "it passes more than 64 places",
    )?;
    let is_first = |(place, at): (usize, &Waypoint)| !places[..place].contains(at);
    demand(
        places.iter().enumerate().all(is_first),
        "it passes a place twice, which would be a loop",
    )
}

fn check_actions(actions: &[FrameAction]) -> Result<(), &'static str> {
    demand(actions.len() <= MAX_ACTIONS, "it has more than 32 actions")?;
    for action in actions {
        match action {
            FrameAction::Queue(queue) => demand(
                *queue == BEST_EFFORT,
                "only what is admitted travels in another queue than 0: admit a flow",
            )?,
            FrameAction::SetVlan(id) => demand(is_vlan(*id), "a VLAN id is 0 to 4094")?,
            FrameAction::SetSource(mac) => {
                demand(!mac.is_multicast(), "no frame comes from a group address")?;
            }
            FrameAction::Output(port) => demand(
                port.is_ordinary(),
                "a port is named by its number: the others have actions of their own",
            )?,
            FrameAction::Flood
            | FrameAction::Controller
            | FrameAction::StripVlan
            | FrameAction::SetDestination(_) => {}
        }
    }
    Ok(())
}

const fn is_vlan(id: u16) -> bool {
    id < 4_095
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use wire::ethernet::EtherType;
    use wire::openflow::DatapathId;

    use super::*;
    use crate::northbound::{Extent, FlowMatch};

    #[test]
    fn a_path_that_passes_a_switch_twice_is_a_loop() {
        let stop = |at| Waypoint::Switch(DatapathId(at));
        let path = |through| IntentKind::Path {
            from: host("a"),
            to: host("b"),
            through,
            extent: Extent::Partial,
            matching: FrameMatch::default(),
            actions: Vec::new(),
        };

        assert_eq!(checked(path(vec![stop(1), stop(2)])), Ok(()));
        assert!(checked(path(vec![stop(1), stop(2), stop(1)])).is_err());
    }

    /// Another queue would hold frames that nothing was reserved for.
    #[test]
    fn only_the_queue_without_promises_may_be_chosen() {
        let action = |queue| IntentKind::MatchAction {
            at: Scope::Everywhere,
            priority: 1,
            matching: FrameMatch::default(),
            actions: vec![FrameAction::Queue(queue), FrameAction::Flood],
        };

        assert_eq!(checked(action(0)), Ok(()));
        assert!(checked(action(6)).is_err());
    }

    #[test]
    fn fields_of_which_a_frame_can_have_one_only_contradict_each_other() {
        let matching = |ether_type| FrameMatch {
            flow: FlowMatch {
                ether_type,
                ipv4_source: Some(Ipv4Addr::LOCALHOST),
                ..FlowMatch::default()
            },
            ..FrameMatch::default()
        };
        let point = |ether_type| IntentKind::PointToPoint {
            from: host("a"),
            to: host("b"),
            matching: matching(ether_type),
        };

        assert_eq!(checked(point(None)), Ok(()));
        assert!(checked(point(Some(EtherType::GOOSE))).is_err());
    }

    fn checked(kind: IntentKind) -> Result<(), &'static str> {
        check(&Intent {
            name: "it".into(),
            kind,
        })
    }

    fn host(name: &str) -> Endpoint {
        Endpoint::Host(name.into())
    }
}
