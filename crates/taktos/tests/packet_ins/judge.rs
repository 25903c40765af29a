//! What is an answer, and what is none.

use units::{Duration, Instant};

use crate::packet_ins::Population;
use crate::packet_ins::judge::Judge;

const POPULATION: Population = Population {
    switch: 1,
    hosts: 8,
};

#[test]
fn a_question_is_answered_once_both_its_rule_and_its_frame_came() {
    let mut judge = asked(2);

    judge.rule(at(3), POPULATION.destination(0));
    let after_the_rule = judge.passed();
    judge.frame(at(5), 0);

    assert_eq!((after_the_rule, judge.passed()), (0, 1));
    let outcome = judge.finish();
    assert_eq!((outcome.tally.answered, outcome.tally.lost()), (1, 1));
    assert_eq!(outcome.waits.max(), Some(Duration::from_us(5)));
}

#[test]
fn a_rule_or_a_frame_that_is_passed_over_is_lost() {
    let mut judge = asked(3);

    for number in [0, 2] {
        judge.rule(at(1), POPULATION.destination(number));
    }
    (0..3).for_each(|number| judge.frame(at(1), number));

    let tally = judge.finish().tally;
    assert_eq!((tally.rules_lost, tally.frames_lost), (1, 0));
    assert_eq!((tally.answered, tally.lost()), (2, 1));
}

#[test]
fn a_frame_after_its_successor_is_out_of_order_and_not_lost() {
    let mut judge = asked(2);

    (0..2).for_each(|number| judge.rule(at(1), POPULATION.destination(number)));
    judge.frame(at(1), 1);
    judge.frame(at(2), 0);

    let tally = judge.finish().tally;
    assert_eq!((tally.disordered, tally.lost()), (1, 0));
}

#[test]
fn what_fits_no_open_question_is_stray() {
    let mut judge = asked(1);

    judge.rule(at(1), POPULATION.destination(4));
    judge.frame(at(1), 7);

    let tally = judge.finish().tally;
    assert_eq!((tally.stray, tally.answered), (2, 0));
}

#[test]
fn what_is_given_up_does_not_answer_later_questions() {
    let mut judge = asked(1);
    judge.finish();

    let number = judge.ask(at(9));
    judge.frame(at(9), number - 1);

    assert_eq!(judge.passed(), 0);
    assert_eq!(judge.outstanding(), 1);
}

fn asked(count: u64) -> Judge {
    let mut judge = Judge::new(POPULATION);
    (0..count).for_each(|_| {
        judge.ask(at(0));
    });
    judge
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}
