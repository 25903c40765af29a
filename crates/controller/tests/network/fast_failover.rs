//! Switches make up for a broken link by themselves: what they are given for it, and where
//! that cannot be.

use controller::northbound::{Cover, Protection, Travels};
use controller::refusal::{LocalLack, Refusal};
use controller::{Event, Requirement};
use units::Duration;
use wire::openflow::Action;

use super::RING;
use super::fake::{Network, group, requirement};

fn healed_by_switches(name: &str, source: u64, destinations: &[u64]) -> Requirement {
    Requirement {
        protection: Protection::FastFailover {
            interruption: Duration::from_ms(5),
            covers: Cover::CarrierLoss,
            heart_beat: None,
        },
        ..requirement(name, source, destinations, group(1))
    }
}

/// Returns how many entries of a switch go to groups, all of which it has.
fn entries_with_groups(network: &Network, switch: u64) -> usize {
    let switch = &network.switches[&switch];
    let entries = switch.entries.iter().filter(|entry| {
        entry.actions.iter().any(|action| match action {
            Action::Group(group) => {
                assert!(switch.groups.contains(group), "{group:?}");
                true
            }
            _ => false,
        })
    });
    entries.count()
}

#[test]
fn groups_stand_on_the_way_and_make_up_for_a_cut() {
    let mut network = Network::started(5, &RING);

    let accepted = network.admit(healed_by_switches("trip", 1, &[3])).unwrap();
    network.pass(Duration::from_ms(10));
    let standing = [1, 2, 3, 4, 5].map(|switch| entries_with_groups(&network, switch));
    network.cut(2, 3);
    network.pass(Duration::from_ms(10));
    let told = [1, 2, 3, 4, 5].map(|switch| entries_with_groups(&network, switch));
    network.heal(2, 3);
    network.pass(Duration::from_secs(10));
    let healed = [1, 2, 3, 4, 5].map(|switch| entries_with_groups(&network, switch));

    assert_eq!(accepted.route.switches, ["s1", "s2", "s3"]);
    let around = accepted
        .alternatives
        .iter()
        .map(|it| it.route.switches.join(" "));
    assert_eq!(
        around.collect::<Vec<_>>(),
        ["s1 s5 s4 s3", "s1 s2 s1 s5 s4 s3"]
    );
    assert_eq!(standing, [1, 1, 0, 0, 0]);
    let restored = |event: &Event| {
        matches!(
            event,
            Event::Restored {
                flows: 1,
                flow_mods: 0,
                ..
            }
        )
    };
    assert!(network.events.iter().any(restored));
    // Then switch 2 is told to stay there, and when the link has stayed, to choose again.
    assert_eq!((told, healed), ([1, 0, 0, 0, 0], [1, 1, 0, 0, 0]));
}

#[test]
fn groups_that_a_switch_has_already_are_no_refusals() {
    let mut network = Network::started(5, &RING);
    network.admit(healed_by_switches("trip", 1, &[3])).unwrap();

    network.restart_controller(5, &RING);
    network.pass(Duration::from_secs(3));
    network.disconnect(2);
    network.connect(2);
    network.pass(Duration::from_secs(3));

    let refused = |event: &Event| matches!(event, Event::EntryRefused { .. });
    assert!(!network.events.iter().any(refused), "{:?}", network.events);
    assert_eq!(entries_with_groups(&network, 2), 1);
}

/// A controller that starts again knows who heals a flow.
#[test]
fn a_flow_is_healed_by_its_switches_after_a_restart_as_well() {
    let mut network = Network::started(5, &RING);
    network.admit(healed_by_switches("trip", 1, &[3])).unwrap();

    network.restart_controller(5, &RING);
    network.pass(Duration::from_secs(3));
    network.cut(1, 2);

    let restored = |event: &Event| matches!(event, Event::Restored { flow_mods: 0, .. });
    assert!(network.events.iter().any(restored));
    assert!(matches!(
        super::travels(&mut network)[..],
        [Travels::Alternative { .. }]
    ));
}

#[test]
fn what_switches_cannot_make_up_for_is_refused_with_the_reason() {
    let mut network = Network::started(5, &RING);
    let lacking = |why| Err(Refusal::NoFastFailover { why });

    let several = network.admit(healed_by_switches("trip", 1, &[3, 4]));

    assert_eq!(several, lacking(LocalLack::Receivers { count: 2 }));

    let mut line = Network::started(3, &[(1, 2), (2, 3)]);
    let bridge = line.admit(healed_by_switches("trip", 1, &[3]));
    assert!(
        matches!(bridge, Err(Refusal::NoAlternative { .. })),
        "{bridge:?}"
    );
}
