//! What a program does with frames, and what it tells this process.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use linux::bpf::test_run::Context;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::world::{Action, Probe, frame};

const SHOT: i32 = 2;
const UNSPECIFIED: i32 = -1;
/// A header, the frame's length, and its first bytes, as the probe writes it.
const RECORD_BYTES: usize = 64;

#[test]
fn a_run_without_an_interface_has_the_programs_verdict_and_the_frame() {
    let test = "a_run_without_an_interface_has_the_programs_verdict_and_the_frame";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };
    let sent = frame(Action::Pass, 7);
    let context = Context {
        priority: 0x1_0013,
        ..Context::default()
    };

    let passed = probe.program.test_run(&sent, context, 1).unwrap();
    let dropped = probe
        .program
        .test_run(&frame(Action::Drop, 7), context, 3)
        .unwrap();

    assert_eq!((passed.verdict, dropped.verdict), (UNSPECIFIED, SHOT));
    assert_eq!(passed.frame, sent);
    assert_eq!(passed.context.priority, context.priority);
    assert_eq!(
        [Action::Pass, Action::Drop].map(|it| probe.tally(it)),
        [1, 3]
    );
}

#[test]
fn a_frame_that_the_kernel_does_not_build_is_an_error() {
    let test = "a_frame_that_the_kernel_does_not_build_is_an_error";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };

    assert!(
        probe
            .program
            .test_run(&[0; 13], Context::default(), 1)
            .is_err()
    );
}

#[test]
fn records_arrive_whole_and_in_order_over_the_end_of_the_ring() {
    let test = "records_arrive_whole_and_in_order_over_the_end_of_the_ring";
    let Some(mut probe) = Probe::load_or_skip(test) else {
        return;
    };

    for sign in 0..=255 {
        record(&probe, sign);
        let sent = frame(Action::Record, sign);
        assert!(probe.records.is_ready());
        let received = probe.records.receive(<[u8]>::to_vec).unwrap().unwrap();
        assert_eq!(received.len(), RECORD_BYTES);
        assert_eq!(received[..8], 60_u64.to_ne_bytes());
        assert_eq!(received[8..22], sent[..14]);
        assert_eq!(probe.records.receive(<[u8]>::to_vec).unwrap(), None);
        assert!(!probe.records.is_ready());
    }
}

#[test]
fn a_full_ring_refuses_and_has_room_again_when_it_was_read() {
    let test = "a_full_ring_refuses_and_has_room_again_when_it_was_read";
    let Some(mut probe) = Probe::load_or_skip(test) else {
        return;
    };

    let mut written = 0;
    while probe.tally(Action::NoRoom) == 0 {
        record(&probe, written);
        written += 1;
    }
    let mut signs = Vec::new();
    while let Some(sign) = probe.records.receive(|record| record[9]).unwrap() {
        signs.push(sign);
    }
    record(&probe, 99);

    assert_eq!(signs, (0..written - 1).collect::<Vec<_>>());
    assert_eq!(probe.records.receive(|record| record[9]).unwrap(), Some(99));
}

#[test]
fn a_record_makes_the_ring_readable_for_whoever_waits() {
    let test = "a_record_makes_the_ring_readable_for_whoever_waits";
    let Some(mut probe) = Probe::load_or_skip(test) else {
        return;
    };
    assert_eq!(readable(&probe), 0);

    record(&probe, 1);
    assert_eq!(readable(&probe), 1);

    probe.records.receive(|_| ()).unwrap().unwrap();
    assert_eq!(readable(&probe), 0);
}

/// Every record wakes whoever waits, however closely it comes behind the last.
#[test]
fn no_record_is_left_unheard_by_a_reader_that_sleeps_in_between() {
    const RECORDS: u64 = 20_000;
    let test = "no_record_is_left_unheard_by_a_reader_that_sleeps_in_between";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };
    let Probe {
        program,
        tallies,
        mut records,
    } = probe;
    let waiting = epoll::create(CreateFlags::CLOEXEC).unwrap();
    let any = EventData::new_u64(0);
    epoll::add(&waiting, &records, any, EventFlags::IN).unwrap();
    let lost = || tallies.words()[Action::NoRoom as usize].load(Ordering::SeqCst);

    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..RECORDS {
                let sent = frame(Action::Record, 1);
                program.test_run(&sent, Context::default(), 1).unwrap();
            }
        });
        let mut heard = 0;
        while heard + lost() < RECORDS {
            while records.receive(|_| ()).unwrap().is_some() {
                heard += 1;
            }
            if heard + lost() < RECORDS {
                let patience = Timespec {
                    tv_sec: 5,
                    tv_nsec: 0,
                };
                let mut events = Vec::with_capacity(1);
                epoll::wait(&waiting, spare_capacity(&mut events), Some(&patience)).unwrap();
                // The last record of all may have been one that had no room.
                assert!(!events.is_empty() || heard + lost() == RECORDS, "{heard}");
            }
        }
    });
}

/// Has the probe write a record about a frame with `sign` in it.
fn record(probe: &Probe, sign: u8) {
    let sent = frame(Action::Record, sign);
    let outcome = probe.program.test_run(&sent, Context::default(), 1);
    assert_eq!(outcome.unwrap().verdict, SHOT);
}

fn readable(probe: &Probe) -> usize {
    let mut waited = [PollFd::from_borrowed_fd(
        probe.records.as_fd(),
        PollFlags::IN,
    )];
    let none = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut waited, Some(&none)).unwrap()
}
