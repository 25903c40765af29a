//! `taktos switch --engine kernel` goes on forwarding when its process has died, and the
//! next process goes on with what it had: no frame is lost, none comes twice, and counters,
//! streams and controllers notice nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lab::veth::Power;
use rustix::process::Signal;
use units::Duration;
use wire::openflow::taktos::{Eliminate, RecoveryAlgorithm, SequenceEncoding, StreamHandle};
use wire::openflow::{Action, GroupId, MatchField, PortNumber};

use crate::kernel_engine::{LISTENED, start_or_skip, switch_or_skip};
use crate::testbed::{Host, Testbed, frame, stop};
use crate::workplace::Running;

/// Where what outlives switches is.
const RETAINED: &str = "/run/taktos/retained";
const NUMBERED: StreamHandle = StreamHandle(7);
const ENDED: StreamHandle = StreamHandle(8);
const GOES_ON: &str = "goes on from a process that has ended";

fn from(port: u32) -> MatchField {
    MatchField::InPort(PortNumber(port))
}

fn to(port: u32) -> Action {
    Action::output(PortNumber(port))
}

/// A frame with a number of its own.
fn numbered(number: u32) -> Vec<u8> {
    let mut bytes = frame(9);
    bytes[20..24].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// Returns what lies under a stream of frames: how many were sent until it was told to
/// stop, each of which came once, in order.
fn flows_while(left: &mut Host, right: &mut Host, work: impl FnOnce()) -> u32 {
    const WINDOW: u32 = 16;
    let is_done = AtomicBool::new(false);
    let sent = thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut sent = 0;
            while !is_done.load(Ordering::Relaxed) {
                (sent..sent + WINDOW).for_each(|number| left.send_frame(&numbered(number)));
                for number in sent..sent + WINDOW {
                    let came = right.next_frame();
                    assert_eq!(came, Some(numbered(number)), "frame {number}");
                }
                sent += WINDOW;
            }
            sent
        });
        work();
        is_done.store(true, Ordering::Relaxed);
        sender.join().unwrap()
    });
    assert_eq!(right.count_others(), 0, "none comes twice");
    sent
}

fn kill(running: Running) {
    running.signal(Signal::KILL);
    running.end();
}

/// Returns the files in which the switches of a testbed write down what they have.
fn state_files(bed: &Testbed) -> Vec<PathBuf> {
    let namespace = bed.room.run(|| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata("/proc/thread-self/ns/net").unwrap().ino()
    });
    let name = format!("{namespace}-");
    let files = fs::read_dir(RETAINED).into_iter().flatten().flatten();
    let files = files.map(|file| file.path());
    files.filter(|path| is_state(path, &name)).collect()
}

fn is_state(path: &Path, name: &str) -> bool {
    let is_named = path
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .starts_with(name);
    is_named && path.extension().is_some_and(|it| it == "a" || it == "b")
}

/// Whether the machine lets a switch outlive its process.
fn outlives(running: &Running) -> bool {
    running
        .said()
        .contains("goes on forwarding when this process dies")
}

#[test]
fn a_stream_of_frames_does_not_notice_that_its_switch_is_killed_and_started_again() {
    let test = "a_stream_of_frames_does_not_notice_that_its_switch_is_killed_and_started_again";
    for (kills, options) in [(2, &[][..]), (1, &["--rate", "1G"])] {
        let Some((bed, first)) = switch_or_skip(test, 3, options) else {
            return;
        };
        if !outlives(&first) {
            return crate::testbed::skip(test);
        }
        let mut controller = bed.connect(LISTENED);
        controller.add_failover(GroupId(1), [2, 3]);
        controller.add(1, &[from(1)], &[Action::Group(GroupId(1))]);
        let (mut left, mut right) = (bed.host(1), bed.host(2));
        let mut running = Some(first);

        let sent = flows_while(&mut left, &mut right, || {
            for _ in 0..kills {
                kill(running.take().unwrap());
                running = start_or_skip(&bed, test, 3, options);
            }
        });

        let next = running.unwrap();
        assert!(next.said().contains(GOES_ON), "{}", next.said());
        let packets = |topic: &str, n: usize, key: &str| bed.show(topic)[topic][n][key].clone();
        let sent = u64::from(sent);
        assert_eq!(packets("flows", 0, "packets"), sent);
        assert_eq!(packets("flows", 0, "bytes"), 60 * sent);
        assert_eq!(packets("groups", 0, "packets"), sent);
        assert_eq!(packets("ports", 0, "received_packets"), sent);
        assert_eq!(packets("ports", 1, "sent_packets"), sent);
        // What it has learned since is in force as well, and stays.
        bed.connect(LISTENED).add(2, &[from(1)], &[to(3)]);
        left.send(1);
        bed.host(3).hears_nothing_of(7);
        assert_eq!(stop(next).code, Some(0));
        left.send(2);
        right.hears_nothing_of(2);
        assert_eq!(state_files(&bed), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_port_that_is_down_is_so_for_the_next_process_at_once() {
    let test = "a_port_that_is_down_is_so_for_the_next_process_at_once";
    let Some((mut bed, first)) = switch_or_skip(test, 3, &[]) else {
        return;
    };
    if !outlives(&first) {
        return crate::testbed::skip(test);
    }
    let mut controller = bed.connect(LISTENED);
    controller.want_news();
    controller.add_failover(GroupId(1), [2, 3]);
    controller.add(1, &[from(1)], &[Action::Group(GroupId(1))]);
    let (mut left, mut right) = (bed.host(1), bed.host(3));
    bed.switch(bed.interface("h2").index(), Power::Off);
    assert_eq!(controller.await_port_status().port.number, PortNumber(2));
    let mut running = Some(first);

    flows_while(&mut left, &mut right, || {
        kill(running.take().unwrap());
        running = start_or_skip(&bed, test, 3, &[]);
    });

    assert_eq!(stop(running.unwrap()).code, Some(0));
}

#[test]
fn streams_over_several_ways_go_on_with_the_numbers_that_they_had() {
    let test = "streams_over_several_ways_go_on_with_the_numbers_that_they_had";
    let Some((bed, killed)) = switch_or_skip(test, 4, &[]) else {
        return;
    };
    if !outlives(&killed) {
        return crate::testbed::skip(test);
    }
    let eliminate = Action::Eliminate(Eliminate {
        stream: ENDED,
        algorithm: RecoveryAlgorithm::Vector,
        history: 8,
        reset: Duration::from_secs(1000),
        takes_unnumbered: false,
        strips_tag: true,
        encoding: SequenceEncoding::RTag,
        ways: None,
        tolerance: 0,
        hold: Duration::ZERO,
    });
    let mut controller = bed.connect(LISTENED);
    controller.add(1, &[from(1)], &[Action::Sequence(NUMBERED), to(2)]);
    controller.add(1, &[from(3)], &[eliminate, to(4)]);
    let [mut talker, mut tagged, mut ways, mut listener] = [1, 2, 3, 4].map(|n| bed.host(n));
    let mut number = |talker: &mut Host| {
        talker.send(5);
        let came = tagged.next_frame().unwrap();
        let tag = came[14..].first_chunk::<4>().unwrap();
        u16::from_be_bytes([tag[2], tag[3]])
    };

    let before = [number(&mut talker), number(&mut talker)];
    ways.send_frame(&with_tag(3, 41));
    listener.receives(3);
    kill(killed);
    let between = number(&mut talker);
    ways.send_frame(&with_tag(3, 41));
    listener.hears_nothing_of(3);
    ways.send_frame(&with_tag(4, 42));
    listener.receives(4);
    let next = start_or_skip(&bed, test, 4, &[]).unwrap();
    let after = number(&mut talker);
    ways.send_frame(&with_tag(4, 42));
    listener.hears_nothing_of(4);
    ways.send_frame(&with_tag(6, 43));
    listener.receives(6);

    assert_eq!([before[0], before[1], between, after], [0, 1, 2, 3]);
    let streams = bed.show("streams");
    let ended = &streams["streams"][1];
    assert_eq!(ended["frames_passed"], 3, "{streams}");
    assert_eq!(
        [&ended["copies_discarded"], &ended["frames_rogue"]],
        [2, 0],
        "{streams}"
    );
    assert_eq!(stop(next).code, Some(0));
}

/// Returns a frame of a stream with this number in its redundancy tag.
fn with_tag(mark: u8, number: u16) -> Vec<u8> {
    let mut bytes = frame(mark);
    let [high, low] = number.to_be_bytes();
    bytes.splice(12..12, [0xf1, 0xc1, 0, 0, high, low]);
    bytes
}

#[test]
fn what_was_written_down_and_altered_or_cut_short_is_not_gone_on_with() {
    let test = "what_was_written_down_and_altered_or_cut_short_is_not_gone_on_with";
    let Some((bed, mut running)) = switch_or_skip(test, 2, &[]) else {
        return;
    };
    if !outlives(&running) {
        return crate::testbed::skip(test);
    }
    let (mut left, mut right) = (bed.host(1), bed.host(2));
    for (mark, alter) in (1..).step_by(2).zip([cut_short, forge, drop_last]) {
        bed.connect(LISTENED).join(1, 2);
        kill(running);
        left.send(mark);
        right.receives(mark);
        for file in state_files(&bed) {
            let mut written = fs::read(&file).unwrap();
            alter(&mut written);
            fs::write(&file, written).unwrap();
        }

        running = start_or_skip(&bed, test, 2, &[]).unwrap();

        let said = running.said();
        assert!(said.contains("it was altered, or cut short"), "{said}");
        assert_eq!(bed.show("flows")["flows"].as_array().unwrap().len(), 0);
        left.send(mark + 1);
        right.hears_nothing_of(mark + 1);
    }
    assert_eq!(stop(running).code, Some(0));
}

fn cut_short(written: &mut Vec<u8>) {
    written.pop();
}

fn forge(written: &mut Vec<u8>) {
    let last = written.pop().unwrap();
    written.push(last ^ 1);
}

/// What is left is whole and was in force once.
fn drop_last(written: &mut Vec<u8>) {
    let length = u32::from_be_bytes(*written.first_chunk().unwrap());
    written.truncate(12 + usize::try_from(length).unwrap());
}

#[test]
fn who_has_other_ports_or_options_begins_anew_and_others_may_clear_what_is_left() {
    let test = "who_has_other_ports_or_options_begins_anew_and_others_may_clear_what_is_left";
    let Some((bed, killed)) = switch_or_skip(test, 3, &["--rate", "1G"]) else {
        return;
    };
    if !outlives(&killed) {
        return crate::testbed::skip(test);
    }
    bed.connect(LISTENED).join(1, 2);
    let (mut left, mut right) = (bed.host(1), bed.host(2));
    kill(killed);

    let next = start_or_skip(&bed, test, 3, &["--rate", "100M"]).unwrap();
    assert!(
        next.said().contains("it had other ports or other options"),
        "{}",
        next.said()
    );
    left.send(1);
    right.hears_nothing_of(1);
    bed.connect(LISTENED).join(1, 2);
    left.send(2);
    right.receives(2);
    kill(next);
    left.send(3);
    right.receives(3);

    let clear = || bed.room.run(|| bed.workplace.run(&["switch", "clear"]));
    let cleared = clear();
    assert_eq!(cleared.code, Some(0), "{}", cleared.stderr);
    assert!(cleared.stderr.contains("s1"), "{}", cleared.stderr);
    left.send(4);
    right.hears_nothing_of(4);
    assert!(clear().stderr.contains("nothing was left"));
}

#[test]
fn a_switch_that_is_asked_to_leaves_forwarding_when_it_is_stopped() {
    let test = "a_switch_that_is_asked_to_leaves_forwarding_when_it_is_stopped";
    let options = ["--graceful-restart"];
    let Some((bed, running)) = switch_or_skip(test, 2, &options) else {
        return;
    };
    if !outlives(&running) {
        return crate::testbed::skip(test);
    }
    bed.connect(LISTENED).join(1, 2);
    let (mut left, mut right) = (bed.host(1), bed.host(2));

    let ended = stop(running);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    left.send(1);
    right.receives(1);
    let next = start_or_skip(&bed, test, 2, &[]).unwrap();

    assert!(next.said().contains(GOES_ON), "{}", next.said());
    assert_eq!(bed.show("flows")["flows"][0]["packets"], 1);
    assert_eq!(stop(next).code, Some(0));
    left.send(2);
    right.hears_nothing_of(2);
}
