//! A switch becomes slower than its profile says: it is said to be, a corrected profile is
//! adopted while traffic runs, and what is promised then holds.

use calculus::admission::Spare;
use controller::northbound::{Event, ProfileOffer, ProfileWish, Reply, Request};
use sim::parts::Fault;
use sim::servers::random::Random;
use units::Duration;

use crate::blueprint::{Blueprint, datapath};
use crate::run::{Outcome, run_asking};

/// How many networks are drawn.
const DRAWN: u64 = 16;
/// When the switch becomes slower, between two questions for what hops have seen.
const SLOW_AT: Duration = Duration::from_ms(300);
const ASKED_AT: [u64; 4] = [50, 1_100, 2_200, 2_400];
/// How much longer a switch takes for a frame while a machine holds it up, and for how long
/// that is.
const HELD_UP: Duration = Duration::from_us(400);
const MOMENT: Duration = Duration::from_ms(2);
/// When it does, with all traffic under way.
const HELD_AT: Duration = Duration::from_ms(1_200);
const ADOPTED_AT: Duration = Duration::from_ms(2_500);
const RUN: Duration = Duration::from_ms(3_200);
const MARGIN_PERCENT: u32 = 50;

#[test]
fn a_slow_switch_is_contradicted_and_what_is_promised_with_its_corrected_profile_holds() {
    let (mut adopted, mut named) = (0, 0);
    for seed in 0..DRAWN {
        println!("seed {seed}"); // Shown only if the test fails.
        let mut random = Random::new(!seed);
        let mut blueprint = Blueprint::draw(seed);
        blueprint.fit = Some(Spare::None);
        let switch = random.index(blueprint.parts().switches.len());
        let extra = Duration::from_us(60) + random.time_below(Duration::from_us(60));

        let outcome = run(&blueprint, switch, extra);

        let said = contradicted(&outcome, true);
        assert!(
            said.iter().all(|it| *it == format!("s{switch}")),
            "{said:?}"
        );
        named += u64::from(!said.is_empty());
        let Some(offer) = adopted_by(&outcome) else {
            // No frame happened to stay for longer than is explained, or so slow a switch
            // cannot carry what is promised.
            continue;
        };
        adopted += 1;
        assert!(offer.after.latency > offer.before.latency);
        assert_kept(&outcome, &offer);
    }
    println!("{named} were named, {adopted} corrected");
    assert!(named > DRAWN / 2 && adopted > DRAWN / 5);
}

/// Nothing is said of switches that are as their profiles say, however much is asked.
#[test]
fn switches_that_are_as_their_profiles_say_are_not_contradicted() {
    for seed in 0..DRAWN {
        println!("seed {seed}"); // Shown only if the test fails.
        let mut blueprint = Blueprint::draw(seed);
        blueprint.fit = Some(Spare::None);

        let outcome = run(&blueprint, 0, Duration::ZERO);

        assert_eq!(contradicted(&outcome, true), [""; 0]);
        assert_eq!(contradicted(&outcome, false), [""; 0]);
        assert!(!outcome.heard(|it| matches!(it, Event::SwitchDoubted { .. })));
    }
}

/// A machine holds a switch up for a moment: where that is known to happen, it says nothing of
/// the profile; a switch that goes on being slow does all the same.
#[test]
fn on_a_machine_with_other_work_a_moment_contradicts_nothing_and_most_frames_do() {
    let (mut moments, mut lasting) = (0, 0);
    for seed in 0..DRAWN / 4 {
        println!("seed {seed}"); // Shown only if the test fails.
        let mut blueprint = Blueprint::draw(seed);
        blueprint.fit = Some(Spare::None);
        let switch = Random::new(!seed).index(blueprint.parts().switches.len());
        let slow = |extra| Fault::Slow { switch, extra };
        let moment = [
            (HELD_AT, slow(HELD_UP)),
            (HELD_AT + MOMENT, slow(Duration::ZERO)),
        ];

        moments += contradicted(&run_faults(&blueprint, &moment, &[]), true).len();
        blueprint.interrupted = true;
        let outcome = run_faults(&blueprint, &moment, &[]);
        assert_eq!(contradicted(&outcome, true), [""; 0]);
        assert_eq!(contradicted(&outcome, false), [""; 0]);
        let outcome = run_faults(&blueprint, &moment[..1], &[]);
        lasting += contradicted(&outcome, true).len();
    }
    println!("{moments} moments were taken for the switch, {lasting} switches were named");
    assert!(moments > 1 && lasting > 1);
}

fn run(blueprint: &Blueprint, switch: usize, extra: Duration) -> Outcome {
    let adopt = Request::CorrectProfile {
        datapath: datapath(switch),
        wish: ProfileWish {
            margin_percent: MARGIN_PERCENT,
            ..ProfileWish::default()
        },
        is_dry: false,
    };
    let slow = Fault::Slow { switch, extra };
    run_faults(blueprint, &[(SLOW_AT, slow)], &[(ADOPTED_AT, adopt)])
}

fn run_faults(
    blueprint: &Blueprint,
    faults: &[(Duration, Fault)],
    asked: &[(Duration, Request)],
) -> Outcome {
    let profiles = ASKED_AT.map(|ms| (Duration::from_ms(ms), Request::Profiles));
    let asked: Vec<_> = profiles.into_iter().chain(asked.iter().cloned()).collect();
    run_asking(blueprint, faults, &asked, RUN)
}

/// No frame is lost, and none of a flow that is said to be in time was later than what is
/// promised now, unless the profile was contradicted again.
fn assert_kept(outcome: &Outcome, offer: &ProfileOffer) {
    let is_again = outcome.notices.iter().any(|(at, event)| {
        matches!(event, Event::ProfileContradicted { .. }) && *at > outcome.start + ADOPTED_AT
    });
    for flow in &outcome.flows {
        let name = &flow.accepted.name;
        assert_eq!(flow.record.lost, 0, "{name}");
        let now = outcome
            .summaries
            .iter()
            .find(|it| it.accepted.name == *name);
        let now = now.unwrap();
        let Some(guarantee) = now.accepted.guarantee else {
            continue;
        };
        let is_late = offer.late.iter().any(|it| it.name == *name);
        assert_eq!(
            guarantee > now.requirement.deadline.unwrap(),
            is_late,
            "{name}"
        );
        let highest = flow.record.latency.max().unwrap_or_default();
        assert!(
            highest <= guarantee.round_up() || is_again,
            "{name}: {highest} of {guarantee}"
        );
    }
}

fn contradicted(outcome: &Outcome, is_certain: bool) -> Vec<String> {
    let said = outcome.notices.iter().filter_map(|(_, event)| match event {
        Event::ProfileContradicted { at, certain, .. } if *certain == is_certain => {
            Some(at.switch.clone())
        }
        _ => None,
    });
    said.collect()
}

fn adopted_by(outcome: &Outcome) -> Option<ProfileOffer> {
    let mut offers = outcome.answers.iter().filter_map(|(_, reply)| match reply {
        Reply::ProfileOffered(offer) => Some((**offer).clone()),
        _ => None,
    });
    offers.next().filter(|offer| offer.adopted)
}
