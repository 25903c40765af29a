//! A flow goes by PRP (IEC 62439-3): the switches on its ways hear that its source is there.

use sim::Engine;
use sim::parts::Fault;
use units::Duration;

use crate::blueprint::{Blueprint, HealedBy, host_mac};
use crate::run::run_by;

/// From the source's switch two ways lead over one switch each to that of the receiver; one is
/// cut after a while. Who is on the way hears of its LAN alone.
#[test]
fn each_switch_hears_of_a_source_over_the_lan_that_it_is_on_until_that_is_cut() {
    let mut blueprint = Blueprint::two_ways();
    blueprint.wishes[0].healed_by = HealedBy::Copies;
    let length = Duration::from_secs(21);
    let cut = [(Duration::from_secs(11), Fault::Cut { link: 0 })];

    for engine in [Engine::Tables, Engine::Compiled { entries: 1_024 }] {
        let outcome = run_by(engine, &blueprint, &cut, length);

        assert_eq!(outcome.flows[0].record.receivers[0].lost, 0);
        let heard: Vec<Vec<_>> = outcome
            .nodes
            .iter()
            .map(|nodes| {
                let of_source = |station| station == host_mac(0);
                assert!(nodes.iter().all(|node| of_source(node.station)));
                nodes
                    .iter()
                    .map(|node| node.lans.map(|lan| lan.frames))
                    .collect()
            })
            .collect();
        let [first, last, quick, slow] = &heard[..] else {
            panic!("{heard:?}")
        };
        assert!(first.is_empty(), "{heard:?}");
        let ([[a, b]], [on_cut], [on_whole]) = (&last[..], &quick[..], &slow[..]) else {
            panic!("{heard:?}")
        };
        // Both LANs bring all there is until one is cut, which the other one does not mind.
        let (fewer, all) = (*a.min(b), *a.max(b));
        assert!(
            (4..=6).contains(&fewer) && (9..=11).contains(&all),
            "{heard:?}"
        );
        assert_eq!(
            [on_cut, on_whole].map(|of| *of.iter().max().unwrap()),
            [fewer, all]
        );
        assert!(on_cut.contains(&0) && on_whole.contains(&0), "{heard:?}");
    }
}
