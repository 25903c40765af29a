//! Questions are known by their frames.

use crate::packet_ins::questions::{Questions, host_port, number_of};
use crate::packet_ins::{Dialect, FRAME_LENGTH, Population};

const POPULATION: Population = Population {
    switch: 3,
    hosts: 8,
};

#[test]
fn every_question_is_known_by_its_frame() {
    for dialect in [Dialect::OpenFlow10, Dialect::OpenFlow13] {
        let questions = Questions::new(POPULATION, dialect);
        for number in [0, 7, 8, u64::from(u32::MAX)] {
            let mut out = Vec::new();

            questions.emit(number, &mut out);

            let frame = &out[out.len() - FRAME_LENGTH..];
            assert_eq!(number_of(POPULATION, frame), Some(number));
        }
    }
}

#[test]
fn a_frame_of_another_switch_is_no_question_of_this_one() {
    let questions = Questions::new(POPULATION, Dialect::OpenFlow13);
    let mut out = Vec::new();
    questions.emit(5, &mut out);
    let other = Population {
        switch: 4,
        ..POPULATION
    };

    let frame = &out[out.len() - FRAME_LENGTH..];

    assert_eq!(number_of(other, frame), None);
}

#[test]
fn a_host_and_its_partner_are_behind_different_ports() {
    for number in 0..64 {
        let hosts = [POPULATION.source(number), POPULATION.destination(number)];

        let [from, to] = hosts.map(host_port);

        assert_ne!(from, to);
    }
}
