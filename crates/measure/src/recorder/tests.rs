//! Known answers, and conservation of counts under any order of events.

use proptest::prelude::*;
use units::BitRate;

use super::*;
use crate::{Contract, Promise};

const SIZE: DataSize = DataSize::from_bytes(144);
const PERIOD: Duration = Duration::from_us(250);

#[test]
fn a_frame_that_arrives_has_a_latency() {
    let (mut recorder, flow) = recorder_of(plan(1));

    recorder.sent(flow, 1, SIZE, at_us(0));
    recorder.received(flow, ReceiverIndex(0), 1, at_us(120));

    let record = finish(recorder);
    assert_eq!((record.sent, record.received(), record.lost), (1, 1, 0));
    assert_eq!(record.latency.max(), Some(Duration::from_us(120)));
    assert_eq!(record.late, 0);
}

#[test]
fn an_arrival_may_become_known_first() {
    let (mut recorder, flow) = recorder_of(plan(2));

    recorder.received(flow, ReceiverIndex(1), 1, at_us(130));
    recorder.received(flow, ReceiverIndex(0), 1, at_us(120));
    recorder.sent(flow, 1, SIZE, at_us(0));

    let record = finish(recorder);
    assert_eq!((record.sent, record.lost, record.misfits), (1, 0, 0));
    assert_eq!(record.latency.count(), 2);
}

#[test]
fn losses_in_a_row_make_one_run() {
    let (mut recorder, flow) = recorder_of(plan(1));

    for sequence in 0..10 {
        recorder.sent(flow, sequence, SIZE, at_us(250 * sequence));
        if !(3..7).contains(&sequence) {
            recorder.received(
                flow,
                ReceiverIndex(0),
                sequence,
                at_us(250 * sequence + 100),
            );
        }
    }

    let record = finish(recorder);
    let receiver = &record.receivers[0];
    assert_eq!((record.lost, record.longest_loss_run()), (4, 4));
    assert_eq!(receiver.loss_runs.len(), 1);
    assert_eq!(receiver.loss_runs[0].first_sent, at_us(750));
    assert_eq!(receiver.loss_runs[0].last_sent, at_us(1500));
    let silences = receiver.silences();
    assert_eq!(silences.len(), 1);
    assert_eq!(silences[0].length() - PERIOD, PERIOD * 4u64);
}

#[test]
fn a_receiver_that_falls_silent_for_good_is_silent_until_the_end() {
    let (mut recorder, flow) = recorder_of(plan(1));

    for sequence in 0..100 {
        recorder.sent(flow, sequence, SIZE, at_us(250 * sequence));
        if sequence < 20 {
            recorder.received(
                flow,
                ReceiverIndex(0),
                sequence,
                at_us(250 * sequence + 100),
            );
        }
    }

    let record = finish(recorder);
    assert_eq!(record.lost, 80);
    assert_eq!(record.receivers[0].silences()[0].to, at_us(25_000));
}

#[test]
fn copies_and_reordering_are_counted_apart() {
    let (mut recorder, flow) = recorder_of(plan(1));
    for sequence in 0..3 {
        recorder.sent(flow, sequence, SIZE, at_us(250 * sequence));
    }

    for (sequence, at) in [(0, 600), (2, 610), (1, 620), (1, 630)] {
        recorder.received(flow, ReceiverIndex(0), sequence, at_us(at));
    }

    let record = finish(recorder);
    assert_eq!(
        (record.lost, record.duplicates(), record.reordered()),
        (0, 1, 2)
    );
    assert_eq!(record.receivers[0].received, 3);
}

#[test]
fn a_frame_is_lost_for_all_if_one_of_its_receivers_misses_it() {
    let (mut recorder, flow) = recorder_of(plan(2));

    recorder.sent(flow, 0, SIZE, at_us(0));
    recorder.received(flow, ReceiverIndex(1), 0, at_us(90));

    let record = finish(recorder);
    assert_eq!((record.received(), record.lost), (0, 1));
    assert_eq!((record.receivers[0].lost, record.receivers[1].lost), (1, 0));
}

#[test]
fn a_frame_beyond_the_contract_is_counted() {
    let (mut recorder, flow) = recorder_of(plan(1));

    for (sequence, at) in [(0, 0), (1, 10), (2, 250)] {
        recorder.sent(flow, sequence, SIZE, at_us(at));
    }

    assert_eq!(finish(recorder).out_of_contract, 1);
}

#[test]
fn frames_are_late_above_the_guarantee_and_miss_above_the_deadline() {
    let (mut recorder, flow) = recorder_of(plan(1));

    for (sequence, latency) in [(0, 800), (1, 801), (2, 2001)] {
        recorder.sent(flow, sequence, SIZE, at_us(sequence * 250));
        recorder.received(
            flow,
            ReceiverIndex(0),
            sequence,
            at_us(sequence * 250 + latency),
        );
    }

    let record = finish(recorder);
    assert_eq!((record.late, record.missed_deadline), (2, 1));
    assert_eq!(record.late_frames.len(), 2);
}

#[test]
fn strangers_are_misfits_and_nothing_else() {
    let (mut recorder, flow) = recorder_of(plan(1));

    recorder.sent(flow, 5, SIZE, at_us(0));
    recorder.sent(flow, 5, SIZE, at_us(1));
    recorder.received(flow, ReceiverIndex(0), 4, at_us(2));
    recorder.received(flow, ReceiverIndex(7), 5, at_us(3));
    recorder.received(flow, ReceiverIndex(0), 9, at_us(4));

    let record = finish(recorder);
    assert_eq!((record.sent, record.lost, record.misfits), (1, 1, 4));
    assert_eq!(record.latency.count(), 0);
}

proptest! {
    /// Every frame that was sent is received or lost, at every receiver, and
    /// every arrival is one delivery, copy or misfit.
    #[test]
    fn counts_are_conserved(
        receivers in 1usize..5,
        frames in prop::collection::vec((1u64..400, any::<u8>(), any::<u8>(), 0u64..3_000), 1..200),
        arrivals_first: bool,
    ) {
        let (mut recorder, flow) = recorder_of(plan(receivers));
        let (mut sequence, mut now_us, mut sent, mut arrived) = (0, 0, Vec::new(), Vec::new());
        for (step, reached, twice, latency_us) in frames {
            sequence += step % 3 + 1;
            now_us += step;
            sent.push((sequence, at_us(now_us)));
            for receiver in 0..u8::try_from(receivers).unwrap() {
                let copies = ((reached >> receiver) & 1) + (((reached & twice) >> receiver) & 1);
                for copy in 0..u64::from(copies) {
                    arrived.push((sequence, ReceiverIndex(receiver), at_us(now_us + latency_us + copy)));
                }
            }
        }

        let feed_sent = |recorder: &mut Recorder| for &(sequence, at) in &sent {
            recorder.sent(flow, sequence, SIZE, at);
        };
        let feed_arrived = |recorder: &mut Recorder| for &(sequence, receiver, at) in &arrived {
            recorder.received(flow, receiver, sequence, at);
        };
        if arrivals_first {
            feed_arrived(&mut recorder);
            feed_sent(&mut recorder);
        } else {
            feed_sent(&mut recorder);
            feed_arrived(&mut recorder);
        }

        let record = finish(recorder);
        prop_assert_eq!(record.sent, sent.len() as u64);
        prop_assert_eq!(record.received() + record.lost, record.sent);
        let mut deliveries = 0;
        for receiver in &record.receivers {
            prop_assert_eq!(receiver.received + receiver.lost, record.sent);
            let in_runs: u64 = receiver.loss_runs.iter().map(|run| run.count).sum();
            prop_assert_eq!(in_runs, receiver.lost);
            deliveries += receiver.received;
        }
        prop_assert_eq!(record.latency.count(), deliveries);
        prop_assert_eq!(deliveries + record.duplicates() + record.misfits, arrived.len() as u64);
    }
}

fn plan(receivers: usize) -> FlowPlan {
    FlowPlan {
        receivers,
        promise: Some(Promise {
            guarantee: Duration::from_us(800),
            deadline: Duration::from_ms(2),
            interruption: Some(Duration::from_ms(10)),
        }),
        contract: Some(Contract {
            rate: BitRate::from_bps(4_608_000),
            burst: SIZE,
        }),
        period: Some(PERIOD),
    }
}

fn recorder_of(plan: FlowPlan) -> (Recorder, FlowIndex) {
    let mut recorder = Recorder::new(Instant::ZERO, Settings::default());
    let flow = recorder.add(plan);
    (recorder, flow)
}

fn finish(recorder: Recorder) -> FlowRecord {
    recorder.finish().remove(0)
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}
