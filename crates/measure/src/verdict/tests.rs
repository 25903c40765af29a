//! Each part of a promise, kept and broken.

mod drawn;

use units::{BitRate, DataSize};

use super::*;
use crate::fault_losses::Harm;
use crate::interruptions::Interruption;
use crate::recorder::{Recorder, Settings};
use crate::unseen::Gap;
use crate::{Contract, FlowIndex, ReceiverIndex};

const PERIOD: Duration = Duration::from_us(250);
const LATENCY: Duration = Duration::from_us(300);
const CUT: Instant = Instant::from_ns(100_000_000);

#[test]
fn a_flow_without_loss_and_delay_keeps_its_promise() {
    let record = run(|_| Fate::Arrives(LATENCY));

    let assessment = assess(&plan(), &record, amid(&[], &Interruptions::default()));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.breaches, []);
}

#[test]
fn one_frame_later_than_the_deadline_breaks_it() {
    let record = run(|slot| match slot {
        77 => Fate::Arrives(Duration::from_us(2_001)),
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(&plan(), &record, amid(&[], &Interruptions::default()));

    assert_eq!(assessment.verdict, Verdict::Broken);
    assert_eq!(assessment.breaches, [Breach::Late { count: 1 }]);
}

/// The deadline was asked for; the guarantee was calculated.
#[test]
fn frames_between_guarantee_and_deadline_exceed_the_model_and_break_nothing() {
    let record = run(|slot| match slot {
        77 => Fate::Arrives(Duration::from_us(801)),
        78 => Fate::Arrives(Duration::from_us(2_000)),
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(&plan(), &record, amid(&[], &Interruptions::default()));

    assert_eq!(assessment.verdict, Verdict::Exceeded);
    assert_eq!(assessment.breaches, []);
    let exceeded = Exceeded {
        count: 2,
        most: Duration::from_us(1_200),
    };
    assert_eq!(assessment.exceeded, Some(exceeded));
    assert_eq!(assessment.highest, Some(Duration::from_ms(2)));
}

/// Where switches do exactly what was calculated with, the calculation is at fault.
#[test]
fn a_bound_that_is_certain_and_does_not_hold_breaks_the_promise() {
    let record = run(|slot| match slot {
        77 => Fate::Arrives(Duration::from_us(801)),
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(
        &plan(),
        &record,
        Circumstances {
            bound: Bound::Certain,
            ..amid(&[], &Interruptions::default())
        },
    );

    assert_eq!(assessment.verdict, Verdict::Broken);
    assert_eq!(assessment.breaches, [Breach::AboveBound { count: 1 }]);
}

/// Its way is another one from slot 400 on, and again from slot 800 on.
#[test]
fn a_flow_that_is_promised_anew_is_held_to_what_was_in_force_meanwhile() {
    let longer = Duration::from_us(900);
    let recorder = sent_in(8_000, |slot| match slot {
        390 | 400 | 500 | 4_799 | 4_800 => Fate::Arrives(longer),
        600 => Fate::Arrives(longer + Duration::from_ns(1)),
        _ => Fate::Arrives(LATENCY),
    });
    let record = recorder.finish().remove(0);
    let slot = |slot: u64| Instant::ZERO + PERIOD * slot;
    let later = [(slot(400), longer), (slot(800), Duration::from_us(700))];

    let assessment = assess(
        &plan(),
        &record,
        Circumstances {
            later_guarantees: &later,
            ..amid(&[], &Interruptions::default())
        },
    );

    // The one before, the one beyond the new bound, and the one a second after that went.
    let exceeded = assessment.exceeded.unwrap();
    assert_eq!(exceeded.count, 3);
    assert_eq!(exceeded.most, Duration::from_us(100));
    assert_eq!(assessment.highest, Some(longer + Duration::from_ns(1)));
}

/// What went wrong is told all the same.
#[test]
fn a_machine_that_was_asked_for_too_much_breaks_no_promise() {
    let record = run(|slot| match slot {
        77 => Fate::Arrives(Duration::from_ms(5)),
        90..200 => Fate::Lost,
        _ => Fate::Arrives(LATENCY),
    });

    let assessment = assess(
        &plan(),
        &record,
        Circumstances {
            overloaded: true,
            ..amid(&[], &Interruptions::default())
        },
    );

    assert_eq!(assessment.verdict, Verdict::NotJudged);
    assert_eq!(assessment.breaches.len(), 2);
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
    let shadows = Interruptions::default();
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
fn what_a_planted_fault_takes_breaks_no_promise_and_what_is_lost_besides_does() {
    let shadows = Interruptions::default();
    let judged = |lost: std::ops::Range<u64>, spells: &[FaultSpell]| {
        let record = run(|slot| match lost.contains(&slot) || slot == 900 {
            true => Fate::Lost,
            false => Fate::Arrives(LATENCY),
        });
        let amid = Circumstances {
            fault_spells: spells,
            ..amid(&[], &shadows)
        };
        let assessment = assess(&plan(), &record, amid);
        (assessment.lost_to_faults, assessment.breaches)
    };
    let last = taken_by_fault(900, 901);

    // The flow is led elsewhere within its 10 ms, which are 40 slots.
    let all = judged(100..200, &[taken_by_fault(100, 161), last]);
    let too_long = judged(100..201, &[taken_by_fault(100, 160), last]);
    let elsewhere = judged(100..200, &[taken_by_fault(210, 310), last]);
    let one_more = judged(100..200, &[taken_by_fault(100, 200)]);

    assert_eq!(all, (101, vec![]));
    assert_eq!(too_long, (61, vec![Breach::Lost { count: 41 }]));
    assert_eq!(elsewhere, (1, vec![Breach::Lost { count: 100 }]));
    assert_eq!(one_more, (100, vec![Breach::Lost { count: 1 }]));
}

/// A bit that makes a frame an earlier one makes that one late.
#[test]
fn a_late_frame_may_be_one_that_a_fault_corrupted_and_no_other() {
    let record = run(|slot| match slot {
        77 | 500 => Fate::Arrives(Duration::from_ms(5)),
        _ => Fate::Arrives(LATENCY),
    });
    let shadows = Interruptions::default();
    let judged = |harm| {
        let spells = [FaultSpell {
            harm,
            ..taken_by_fault(90, 100)
        }];
        let amid = Circumstances {
            fault_spells: &spells,
            ..amid(&[], &shadows)
        };
        assess(&plan(), &record, amid).breaches
    };

    assert_eq!(judged(Harm::Corrupted), [Breach::Late { count: 1 }]);
    assert_eq!(judged(Harm::Lost), [Breach::Late { count: 2 }]);
}

#[test]
fn one_frame_lost_while_nothing_is_broken_breaks_it() {
    let record = run(lost_in(77..78));

    let assessment = assess(&plan(), &record, amid(&[], &Interruptions::default()));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 1 }]);
}

#[test]
fn losses_within_the_allowed_interruption_break_nothing() {
    let record = run(lost_in(400..420));

    let assessment = assess(&plan(), &record, amid(&[cut()], &Interruptions::default()));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.lost_in_interruptions, 20);
    assert_eq!(assessment.outages, [PERIOD * 20u64]);
}

#[test]
fn an_interruption_that_is_too_long_breaks_it() {
    let record = run(lost_in(400..450));

    let assessment = assess(&plan(), &record, amid(&[cut()], &Interruptions::default()));

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

    let assessment = assess(&plan(), &record, amid(&[repair], &Interruptions::default()));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 3 }]);
    assert_eq!(assessment.outages, [PERIOD * 3u64]);
}

#[test]
fn a_loss_long_after_a_failure_breaks_it() {
    let record = run(lost_in(500..501));

    let assessment = assess(&plan(), &record, amid(&[cut()], &Interruptions::default()));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 1 }]);
}

/// Two frames are lost; the receiver hears nothing for 15 ms since nothing was sent.
#[test]
fn a_pause_of_the_sender_is_no_interruption_and_losses_beside_it_are() {
    let heard = |pause: std::ops::Range<u64>, lost: std::ops::Range<u64>| {
        let mut recorder = recorder();
        for slot in (0..1_000).filter(|slot| !pause.contains(slot)) {
            let at = Instant::ZERO + PERIOD * slot;
            recorder.sent(FlowIndex(0), slot, DataSize::from_bytes(144), at);
            if !lost.contains(&slot) {
                recorder.received(FlowIndex(0), ReceiverIndex(0), slot, at + LATENCY);
            }
        }
        let record = recorder.finish().remove(0);
        assess(&plan(), &record, amid(&[cut()], &Interruptions::default()))
    };

    let paused = heard(402..462, 400..402);
    let lost = heard(402..462, 400..510);

    assert_eq!(paused.verdict, Verdict::Held, "{:?}", paused.breaches);
    assert_eq!(lost.verdict, Verdict::Broken);
}

#[test]
fn a_flow_without_protection_may_end_with_a_failure() {
    let record = run(lost_in(400..1_000));
    let mut plan = plan();
    plan.promise.as_mut().unwrap().interruption = None;

    let assessment = assess(&plan, &record, amid(&[cut()], &Interruptions::default()));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.lost_in_interruptions, 600);
}

/// Slots 200 to 203 are sent within the interruption: it lies within their flights for
/// 1.75, 1.5, 1.25 and 1 ms.
#[test]
fn what_an_interruption_accounts_for_is_set_apart() {
    let record = run(|slot| match slot {
        200..204 => Fate::Arrives(Duration::from_us(2_500 - 250 * (slot - 200))),
        204..206 => Fate::Lost,
        _ => Fate::Arrives(LATENCY),
    });

    let taken = taken_from_slot(199, Duration::from_ms(2));
    let assessment = assess(&plan(), &record, amid(&[], &taken));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!((assessment.held_up, assessment.held_up_lost), (4, 2));
    assert_eq!(assessment.highest, Some(LATENCY));
}

/// 0.5 ms were taken of a flight of 3 ms: without, it would have been 2.5 ms.
#[test]
fn an_interruption_excuses_no_more_than_it_took() {
    let record = run(|slot| match slot {
        200 => Fate::Arrives(Duration::from_ms(3)),
        _ => Fate::Arrives(LATENCY),
    });

    let taken = taken_from_slot(201, Duration::from_us(500));
    let assessment = assess(&plan(), &record, amid(&[], &taken));

    assert_eq!(assessment.verdict, Verdict::Broken);
    assert_eq!(assessment.held_up, 0);
    assert_eq!(assessment.highest, Some(Duration::from_ms(3)));
}

/// Of 2.4 ms, 0.5 ms were taken: the deadline would have been met, and the bound not.
#[test]
fn what_an_interruption_made_miss_its_deadline_may_still_exceed_the_model() {
    let record = run(|slot| match slot {
        200 => Fate::Arrives(Duration::from_us(2_400)),
        _ => Fate::Arrives(LATENCY),
    });

    let taken = taken_from_slot(201, Duration::from_us(500));
    let assessment = assess(&plan(), &record, amid(&[], &taken));

    assert_eq!(assessment.verdict, Verdict::Exceeded);
    assert_eq!(assessment.exceeded.unwrap().most, Duration::from_us(1_100));
    assert_eq!(assessment.highest, Some(Duration::from_us(1_900)));
}

/// It waited behind those that were held up, and nothing was taken from it.
#[test]
fn an_interruption_before_the_flight_or_after_it_excuses_nothing() {
    let record = run(|slot| match slot {
        300 => Fate::Arrives(Duration::from_ms(3)),
        _ => Fate::Arrives(LATENCY),
    });

    for slot in [292, 312] {
        let taken = taken_from_slot(slot, Duration::from_ms(2));
        let assessment = assess(&plan(), &record, amid(&[], &taken));

        assert_eq!(assessment.breaches, [Breach::Late { count: 1 }], "{slot}");
        assert_eq!(assessment.held_up, 0);
    }
}

#[test]
fn an_interruption_excuses_no_loss_beyond_it() {
    let record = run(lost_in(300..500));

    let taken = taken_from_slot(300, Duration::from_ms(2));
    let assessment = assess(&plan(), &record, amid(&[], &taken));

    assert_eq!(assessment.breaches, [Breach::Lost { count: 200 }]);
    assert_eq!(assessment.held_up_lost, 0);
}

#[test]
fn only_what_goes_beyond_what_the_observer_missed_is_lost() {
    let record = run(|slot| match slot {
        300..310 | 700..702 => Fate::Lost,
        _ => Fate::Arrives(LATENCY),
    });
    let of = |frames: u64| {
        let mut unseen = Unseen::default();
        unseen.add(Gap {
            from: Instant::ZERO + PERIOD * 290u64,
            to: Instant::ZERO + PERIOD * 400u64,
            frames,
        });
        [unseen]
    };
    let interruptions = Interruptions::default();

    let [enough, few] = [of(100), of(7)].map(|unseen| {
        let amid = Circumstances {
            unseen: &unseen,
            ..amid(&[], &interruptions)
        };
        assess(&plan(), &record, amid)
    });

    assert_eq!(enough.unseen, 10 + 2 - 2, "slots 700 and 701 were seen");
    assert_eq!(enough.breaches, [Breach::Lost { count: 2 }]);
    assert_eq!(few.breaches, [Breach::Lost { count: 3 + 2 }]);
}

#[test]
fn a_flow_of_which_most_was_not_sent_is_not_judged() {
    let record = |skipped| {
        let mut recorder = sent(|_| Fate::Arrives(LATENCY));
        recorder.skipped(FlowIndex(0), skipped);
        recorder.finish().remove(0)
    };
    let nothing = Interruptions::default();

    let [half, more] = [1_000, 1_001].map(|it| assess(&plan(), &record(it), amid(&[], &nothing)));

    assert_eq!(half.verdict, Verdict::Held);
    assert_eq!(more.verdict, Verdict::NotJudged);
    assert_eq!(more.unjudged, 1_001);
}

#[test]
fn a_failure_that_an_interruption_went_before_is_still_an_interruption() {
    let record = run(lost_in(395..450));

    let taken = taken_from_slot(394, Duration::from_ms(2));
    let assessment = assess(&plan(), &record, amid(&[cut()], &taken));

    assert_eq!(assessment.lost_in_interruptions, 55);
    assert_eq!(assessment.outages, [PERIOD * 55u64]);
}

#[test]
fn an_interruption_that_the_machine_made_too_long_breaks_nothing() {
    let record = run(lost_in(400..450));

    let taken = taken_from_slot(405, Duration::from_ms(3));
    let assessment = assess(&plan(), &record, amid(&[cut()], &taken));

    assert_eq!(assessment.verdict, Verdict::Held);
    assert_eq!(assessment.outages, [PERIOD * 50u64]);
}

#[test]
fn a_promise_that_nothing_tried_is_not_said_to_hold() {
    let recorder = recorder();

    let record = recorder.finish().remove(0);
    let assessment = assess(&plan(), &record, amid(&[], &Interruptions::default()));

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
    sent(fate).finish().remove(0)
}

fn sent(fate: impl Fn(u64) -> Fate) -> Recorder {
    sent_in(1_000, fate)
}

fn sent_in(slots: u64, fate: impl Fn(u64) -> Fate) -> Recorder {
    let mut recorder = recorder();
    for slot in 0..slots {
        let sent_at = Instant::ZERO + PERIOD * slot;
        recorder.sent(FlowIndex(0), slot, DataSize::from_bytes(144), sent_at);
        if let Fate::Arrives(latency) = fate(slot) {
            recorder.received(FlowIndex(0), ReceiverIndex(0), slot, sent_at + latency);
        }
    }
    recorder
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

fn amid<'a>(
    disturbances: &'a [Disturbance],
    interruptions: &'a Interruptions,
) -> Circumstances<'a> {
    Circumstances {
        disturbances,
        interruptions,
        unseen: &[],
        unseen_at_sender: 0,
        given_up: &[],
        later_guarantees: &[],
        fault_spells: &[],
        bound: Bound::OfProfile,
        overloaded: false,
    }
}

fn cut() -> Disturbance {
    Disturbance {
        at: CUT,
        effect: Effect::Failure,
    }
}

/// What a cable took, sent in the slots from one to before another.
fn taken_by_fault(from: u64, to: u64) -> FaultSpell {
    FaultSpell {
        cable: 0,
        flow: FlowIndex(0),
        harm: Harm::Lost,
        from: Instant::ZERO + PERIOD * from,
        to: Instant::ZERO + PERIOD * (to - 1),
        frames: to - from,
    }
}

fn taken_from_slot(slot: u64, taken: Duration) -> Interruptions {
    let from = Instant::ZERO + PERIOD * slot;
    Interruptions::of([Interruption {
        from,
        to: from + taken,
        taken,
    }])
}
