//! What is promised where the level may change.

use std::collections::BTreeMap;

use controller::modes::{Strategy, Treatment};
use controller::northbound::Accepted;
use controller::refusal::Refusal;
use units::{BitRate, Delay};

use crate::fake::{Network, PROMISED};
use crate::modes::{give_class_7, modes, unprotected};

/// Flows go from the first to the third.
const LINE: [(u64, u64); 3] = [(1, 2), (2, 3), (3, 4)];

#[test]
fn what_a_change_of_mode_takes_is_part_of_the_promise() {
    let promise = |bound| promised_with(bound, PROMISED);

    let usual = promise(Delay::ZERO).unwrap().guarantee.unwrap();
    let later = promise(Delay::from_us(1_000)).unwrap().guarantee.unwrap();
    let never = promise(Delay::from_us(30_000));

    assert_eq!(later, usual + Delay::from_us(1_000));
    assert!(never.is_err(), "{never:?}");
}

/// S2-8: a signal waits for no frame of a flow, also where it is in a queue with them.
#[test]
fn no_flow_is_promised_the_queue_of_signals_where_a_change_is_bounded() {
    let unbounded = promised_with(Delay::ZERO, 7);
    let bounded = promised_with(Delay::from_us(1_000), 7);

    assert!(unbounded.is_ok(), "{unbounded:?}");
    let said = bounded.unwrap_err().to_string();
    assert!(
        said.starts_with("at level hi, class 7 is for the signals of a change of level"),
        "{said}"
    );
}

/// S2-8: the last switch of the line is not on the way of the flow, but signals pass it.
#[test]
fn nothing_is_promised_at_levels_where_a_processor_does_not_keep_up_with_the_signals() {
    let [quick, slow] = [3, 1_000].map(Delay::from_us);
    let promised = |bound, per_frame| promised_beside(per_frame, bound, PROMISED);

    let bounded = promised(Delay::from_us(1_000), slow);

    assert!(promised(Delay::from_us(1_000), quick).is_ok());
    assert!(promised(Delay::ZERO, slow).is_ok());
    let said = bounded.unwrap_err().to_string();
    assert!(
        said.contains("cannot take it: signals of a change of level pass it"),
        "{said}"
    );
}

#[test]
fn a_flow_has_to_fit_at_every_level_and_while_it_changes() {
    let fits = |strategy| {
        let mut network = Network::with(4, &LINE, |config| {
            let mut modes = modes(strategy);
            let serve = Treatment::Serve {
                class: None,
                traffic: Some(controller::northbound::Traffic {
                    rate: BitRate::from_mbps(200),
                    ..unprotected("", 1).traffic
                }),
                deadline: None,
                contract: None,
            };
            let critical = modes.flows.get_mut("critical").unwrap();
            critical.levels = BTreeMap::from([("hi".to_owned(), serve)]);
            config.modes = Some(modes);
        });
        network.connect_all();
        network.admit(unprotected("critical", 1))
    };

    assert!(fits(Strategy::McAgnostic).is_ok());
    assert!(fits(Strategy::Taktos).is_err());
}

/// Asks for the critical flow where a change has this bound, and the flow this class at the
/// higher level.
fn promised_with(bound: Delay, class: u8) -> Result<Accepted, Refusal> {
    promised_beside(Delay::from_us(3), bound, class)
}

/// Does so where a frame occupies the last switch, which is not on the way, for so long.
fn promised_beside(per_frame: Delay, bound: Delay, class: u8) -> Result<Accepted, Refusal> {
    let mut network = Network::with(4, &LINE, |config| {
        give_class_7(config);
        let last = config.switches.values_mut().last().expect("four switches");
        last.processing.as_mut().expect("it has one").per_frame = per_frame;
        let mut modes = modes(Strategy::Taktos);
        modes.change_bound = bound;
        let flows = modes.flows.values_mut();
        for at_level in flows.flat_map(|flow| flow.levels.values_mut()) {
            if let Treatment::Serve { class: served, .. } = at_level {
                *served = Some(class);
            }
        }
        config.modes = Some(modes);
    });
    network.connect_all();
    network.admit(unprotected("critical", 1))
}
