//! Each part of a promise, kept and broken.

use units::{BitRate, DataSize};

use super::*;
use crate::recorder::{Recorder, Settings};
use crate::stalls::Stalls;
use crate::{Contract, FlowIndex, ReceiverIndex};

const PERIOD: Duration = Duration::from_us(250);
const LATENCY: Duration = Duration::from_us(300);
const CUT: Instant = Instant::from_ns(100_000_000);

#[test]
fn a_flow_without_loss_and_delay_keeps_its_promise() {
    let record = run(|_| Fate::Arrives(LATENCY));

    let assessment = assess(&plan(), &record, amid(&[], &Shadows::default()));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.breaches, []);
}

#[test]
fn one_frame_later_than_the_guarantee_breaks_it() {
    let record = run(|slot| match slot {
        77 => Fate::Arrives(Duration::from_us(801)),
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(&plan(), &record, amid(&[], &Shadows::default()));

    assert_eq!(assessment.verdict, Verdict::Broken);
    assert_eq!(assessment.breaches, [Breach::Late { count: 1 }]);
}

#[test]
fn what_the_network_gives_up_breaks_no_promise_and_what_it_loses_besides_does() {
    let record = run(|slot| match slot {
        100..200 | 300 => Fate::Lost,
        _ => Fate::Arrives(LATENCY),
    });
    let window = |from: u64, until: u64| GivenUp {
        from: Instant::ZERO + PERIOD * from,
        until: Instant::ZERO + PERIOD * until,
    };
    let shadows = Shadows::default();
    let [all, part] = [[window(101, 199), window(300, 300)], [window(101, 199); 2]];

    let [all, part] = [all, part].map(|given_up| {
        let amid = Circumstances {
            given_up: &given_up,
            ..amid(&[], &shadows)
        };
        assess(&plan(), &record, amid)
    });

    assert_eq!((all.verdict, all.given_up), (Verdict::Held, 101));
    assert_eq!(part.given_up, 100);
    assert_eq!(part.breaches, [Breach::Lost { count: 1 }]);
}

#[test]
fn one_frame_lost_while_nothing_is_broken_breaks_it() {
    let record = run(lost_in(77..78));

    let assessment = assess(&plan(), &record, amid(&[], &Shadows::default()));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 1 }]);
}

#[test]
fn losses_within_the_allowed_interruption_break_nothing() {
    let record = run(lost_in(400..420));

    let assessment = assess(&plan(), &record, amid(&[cut()], &Shadows::default()));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.lost_in_interruptions, 20);
    assert_eq!(assessment.outages, [PERIOD * 20u64]);
}

#[test]
fn an_interruption_that_is_too_long_breaks_it() {
    let record = run(lost_in(400..450));

    let assessment = assess(&plan(), &record, amid(&[cut()], &Shadows::default()));

    let breach = Breach::Interrupted {
        length: PERIOD * 50u64,
        allowed: Duration::from_ms(10),
    };
    assert_eq!(assessment.breaches, [breach]);
    assert_eq!(assessment.lost_in_interruptions, 50);
}

#[test]
fn a_loss_after_a_repair_or_elsewhere_is_no_interruption() {
    let record = run(lost_in(400..403));
    let repair = Disturbance {
        effect: Effect::Harmless,
        ..cut()
    };

    let assessment = assess(&plan(), &record, amid(&[repair], &Shadows::default()));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 3 }]);
    assert_eq!(assessment.outages, [PERIOD * 3u64]);
}

#[test]
fn a_loss_long_after_a_failure_breaks_it() {
    let record = run(lost_in(500..501));

    let assessment = assess(&plan(), &record, amid(&[cut()], &Shadows::default()));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 1 }]);
}

#[test]
fn a_flow_without_protection_may_end_with_a_failure() {
    let record = run(lost_in(400..1_000));
    let mut plan = plan();
    plan.promise.as_mut().unwrap().interruption = None;

    let assessment = assess(&plan, &record, amid(&[cut()], &Shadows::default()));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.lost_in_interruptions, 600);
}

#[test]
fn what_happens_while_the_machine_stands_still_is_set_aside() {
    let record = run(|slot| match slot {
        200..204 => Fate::Arrives(Duration::from_ms(3)),
        204..206 => Fate::Lost,
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(
        &plan(),
        &record,
        amid(&[], &stall_from_slot(199, Duration::from_ms(2))),
    );

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!((assessment.stalled_late, assessment.stalled_lost), (4, 2));
}

#[test]
fn a_stall_elsewhere_excuses_nothing() {
    let record = run(|slot| match slot {
        200 => Fate::Arrives(Duration::from_ms(3)),
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(
        &plan(),
        &record,
        amid(&[], &stall_from_slot(300, Duration::from_ms(2))),
    );

    assert_eq!(assessment.breaches, [Breach::Late { count: 1 }]);
    assert_eq!(assessment.stalled_late, 0);
}

#[test]
fn a_stall_excuses_no_loss_beyond_its_shadow() {
    let record = run(lost_in(300..500));

    let stall = stall_from_slot(300, Duration::from_ms(2));
    let assessment = assess(&plan(), &record, amid(&[], &stall));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 200 }]);
    assert_eq!(assessment.stalled_lost, 0);
}

#[test]
fn a_failure_that_a_stall_went_before_is_still_an_interruption() {
    let record = run(lost_in(395..450));

    let stall = stall_from_slot(394, Duration::from_ms(2));
    let assessment = assess(&plan(), &record, amid(&[cut()], &stall));

    assert_eq!(assessment.lost_in_interruptions, 55);
    assert_eq!(assessment.outages, [PERIOD * 55u64]);
}

#[test]
fn an_interruption_that_a_stall_made_too_long_breaks_nothing() {
    let record = run(lost_in(400..450));

    let stall = stall_from_slot(405, Duration::from_ms(3));
    let assessment = assess(&plan(), &record, amid(&[cut()], &stall));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.outages, [PERIOD * 50u64]);
}

#[test]
fn a_promise_that_nothing_tried_is_not_said_to_hold() {
    let recorder = recorder();

    let record = recorder.finish().remove(0);
    let assessment = assess(&plan(), &record, amid(&[], &Shadows::default()));

    assert_eq!(assessment.verdict, Verdict::Untried);
}

enum Fate {
    Arrives(Duration),
    Lost,
}

fn lost_in(slots: std::ops::Range<u64>) -> impl Fn(u64) -> Fate {
    move |slot| match slots.contains(&slot) {
        true => Fate::Lost,
        false => Fate::Arrives(LATENCY),
    }
}

/// Sends 1,000 frames, a quarter of a second.
fn run(fate: impl Fn(u64) -> Fate) -> FlowRecord {
    let mut recorder = recorder();
    for slot in 0..1_000 {
        let sent_at = Instant::ZERO + PERIOD * slot;
        recorder.sent(FlowIndex(0), slot, DataSize::from_bytes(144), sent_at);
        if let Fate::Arrives(latency) = fate(slot) {
            recorder.received(FlowIndex(0), ReceiverIndex(0), slot, sent_at + latency);
        }
    }
    recorder.finish().remove(0)
}

fn recorder() -> Recorder {
    let mut recorder = Recorder::new(Instant::ZERO, Settings::default());
    recorder.add(plan());
    recorder
}

fn plan() -> FlowPlan {
    FlowPlan {
        receivers: 1,
        promise: Some(Promise {
            guarantee: Duration::from_us(800),
            deadline: Duration::from_ms(2),
            interruption: Some(Duration::from_ms(10)),
        }),
        contract: Some(Contract {
            rate: BitRate::from_mbps(5),
            burst: DataSize::from_bytes(288),
        }),
        period: Some(PERIOD),
    }
}

fn amid<'a>(disturbances: &'a [Disturbance], shadows: &'a Shadows) -> Circumstances<'a> {
    Circumstances {
        disturbances,
        shadows,
        given_up: &[],
    }
}

fn cut() -> Disturbance {
    Disturbance {
        at: CUT,
        effect: Effect::Failure,
    }
}

fn stall_from_slot(slot: u64, length: Duration) -> Shadows {
    let mut stalls = Stalls::new(Duration::from_us(100));
    let start = Instant::ZERO + PERIOD * slot;
    stalls.look("packet loop", start, start + length);
    stalls.shadows()
}
