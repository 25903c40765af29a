//! Hundreds of flows move at once on the switch that ships: is every frame of
//! theirs where it should be?

use controller::Request;
use controller::northbound::{Event, Travels};
use sim::parts::Fault;
use units::Duration;

use crate::blueprint::{Blueprint, INTERRUPTION};
use crate::run::{Outcome, run_asking};

const CUT: Duration = Duration::from_ms(100);
const HEALED: Duration = Duration::from_ms(200);
/// About when flows return, half a second after the link is back.
const RETURN: Duration = Duration::from_ms(702);
const DURATION: Duration = Duration::from_ms(900);
const WITHDRAWN: usize = 20;

#[test]
fn hundreds_of_flows_return_at_once_without_losing_a_frame() {
    let outcome = run_crowd(&[]);

    assert_lost_only_at_the_cut(&outcome, 0);
    let travels = outcome.summaries.iter().map(|flow| flow.travels);
    assert!(travels.into_iter().all(|travels| travels == Travels::Base));
}

/// Compared and mended, and with flows that end, in the middle of it.
#[test]
fn hundreds_of_flows_return_while_switches_are_compared_and_flows_end() {
    let mut asked = Vec::new();
    for step in 0..WITHDRAWN {
        let at = RETURN + Duration::from_us(300) * step as u64;
        asked.push((at, Request::Reconcile(None)));
        asked.push((at, Request::Withdraw(format!("flow-{step}"))));
    }

    let outcome = run_crowd(&asked);

    assert_lost_only_at_the_cut(&outcome, WITHDRAWN);
    assert!(outcome.summaries.iter().all(|flow| flow.installed));
}

fn run_crowd(asked: &[(Duration, Request)]) -> Outcome {
    let blueprint = Blueprint::crowd();
    let faults = [
        (CUT, Fault::Cut { link: 0 }),
        (HEALED, Fault::Heal { link: 0 }),
    ];
    let outcome = run_asking(&blueprint, &faults, asked, DURATION);
    let returned = |event: &Event| matches!(event, Event::Returned { flows } if *flows >= 200);
    assert!(outcome.heard(returned), "they did not move together");
    assert_eq!(
        outcome.flows.len(),
        blueprint.wishes.len(),
        "some were refused"
    );
    outcome
}

/// All frames of all flows but the first ones arrive once and in time, those
/// excepted that the broken link took along.
fn assert_lost_only_at_the_cut(outcome: &Outcome, ended: usize) {
    let cut = outcome.start + CUT;
    for flow in &outcome.flows[ended..] {
        let (name, record) = (&flow.accepted.name, &flow.record);
        assert!(record.sent > 0, "{name}");
        let odd = (record.late, record.misfits, record.duplicates());
        assert_eq!(odd, (0, 0, 0), "{name}");
        for run in &record.receivers[0].loss_runs {
            let is_near = run.last_sent <= cut + INTERRUPTION;
            assert!(is_near, "{name} lost {run:?}, the link was cut at {cut:?}");
        }
    }
}
