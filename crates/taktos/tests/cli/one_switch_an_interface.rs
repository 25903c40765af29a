//! An interface is the port of one `taktos switch` at a time, whatever its engine.

use std::process::Command;

use linux::hold::Hold;
use linux::interface::Interface;
use linux::port::{Attachment, XdpPort};
use rustix::process::Signal;

use crate::testbed::{Testbed, stop};
use crate::workplace::{Ended, Running};

const ENGINES: [&str; 3] = ["kernel", "xdp", "packet"];
const PORTS: &str = "s1,s2";
const LISTEN: &str = "tcp:127.0.0.1:6653";
const LISTENED: u16 = 6653;

#[test]
fn a_second_switch_on_an_interface_is_refused_whatever_the_engines() {
    let test = "a_second_switch_on_an_interface_is_refused_whatever_the_engines";
    for first in ENGINES {
        for second in ENGINES {
            let Some(bed) = Testbed::or_skip(test, 3) else {
                return;
            };
            let Some(running) = start_or_skip(&bed, test, first) else {
                return;
            };
            bed.connect(LISTENED).join(1, 2);

            // One interface in common is enough.
            let beside = ["--ports", "s3,s2", "--engine", second];
            let refused = refusal(begin_beside(&bed, &[], &beside));

            is_taken(&refused, "s2", running.id());
            let (mut left, mut right) = (bed.host(1), bed.host(2));
            for mark in 1..=20 {
                left.send(mark);
                right.receives(mark);
            }
            assert_eq!(right.count_others(), 0, "{first} beside {second}");
            assert_eq!(bed.show("flows")["flows"][0]["packets"], 20);
            assert_eq!(stop(running).code, Some(0));
        }
    }
}

#[test]
fn a_switch_in_another_mount_namespace_is_refused_too() {
    let test = "a_switch_in_another_mount_namespace_is_refused_too";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let running = bed.start(&["--ports", PORTS, "--engine", "packet"]);
    let apart = ["unshare", "--mount"];

    let beside = ["--ports", PORTS, "--engine", "packet"];
    let refused = refusal(begin_beside(&bed, &apart, &beside));

    is_taken(&refused, "s1", running.id());
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn an_interface_is_free_once_its_switch_is_killed() {
    let test = "an_interface_is_free_once_its_switch_is_killed";
    for engine in ENGINES {
        let Some(bed) = Testbed::or_skip(test, 2) else {
            return;
        };
        let Some(killed) = start_or_skip(&bed, test, engine) else {
            return;
        };
        killed.signal(Signal::KILL);
        killed.end();

        // No pause, as service managers make none.
        let next = start_or_skip(&bed, test, engine).unwrap();
        bed.connect(LISTENED).join(1, 2);
        let (mut left, mut right) = (bed.host(1), bed.host(2));
        left.send(7);
        right.receives(7);
        assert_eq!(stop(next).code, Some(0));
    }
}

#[test]
fn an_interface_that_comes_back_as_somebody_elses_is_taken_once_it_is_free() {
    let test = "an_interface_that_comes_back_as_somebody_elses_is_taken_once_it_is_free";
    let Some(mut bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let mut running = bed.start(&["--ports", PORTS, "--listen", LISTEN, "--engine", "packet"]);
    bed.remove_cable(10);
    assert!(running.says("port 1 (s1) gone"));
    // Held before it is there, so that the switch cannot be the first.
    let somebody_elses = bed.room.run(|| Hold::take(70)).unwrap();
    bed.lay_cable(1, 70);

    let process = format!("process {}", std::process::id());
    let told = running.line_with("s1").unwrap();
    let reason = format!("it is a port of another switch ({process}");
    assert!(told.contains(&reason), "{told}");
    drop(somebody_elses);

    assert!(running.says("back"));
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn a_program_that_takes_the_frames_first_is_named() {
    let test = "a_program_that_takes_the_frames_first_is_named";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let index = bed.interface("s1").index();
    let Ok(_program) = bed.room.run(|| XdpPort::open(index, Attachment::Any)) else {
        return crate::testbed::skip(test);
    };
    let program = || Interface::named("s1").and_then(|it| it.xdp_program());
    let number = bed.room.run(program).unwrap().unwrap();

    for engine in ["auto", "kernel", "xdp", "packet"] {
        let refused = refusal(bed.begin(&["--ports", PORTS, "--engine", engine]));

        assert_eq!(refused.code, Some(4), "{}", refused.stderr);
        let words = format!("the XDP program of number {number} takes its frames");
        assert!(refused.stderr.contains(&words), "{}", refused.stderr);
        assert!(refused.stderr.contains("ip link set dev s1 xdp off"));
        assert_eq!(bed.room.run(program).unwrap(), Some(number));
    }
}

/// Starts the first switch; nothing where this process may not run its engine, which is
/// said.
fn start_or_skip(bed: &Testbed, test: &str, engine: &str) -> Option<Running> {
    let mut running = bed.begin(&["--ports", PORTS, "--listen", LISTEN, "--engine", engine]);
    if running.says("running") {
        return Some(running);
    }
    let ended = running.end();
    assert!(ended.stderr.contains("CAP_BPF"), "{}", ended.stderr);
    crate::testbed::skip(test);
    None
}

/// Starts a switch with a control socket of its own beside the one of the testbed, by way
/// of the program `before`.
fn begin_beside(bed: &Testbed, before: &[&str], arguments: &[&str]) -> Running {
    let control = bed.workplace.path("beside.sock").display().to_string();
    let taktos = env!("CARGO_BIN_EXE_taktos");
    let words = [
        before,
        &[taktos, "switch", "--control", &control],
        arguments,
    ]
    .concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    let command = bed.workplace.prepare(command);
    bed.room.run(|| Running::start(command))
}

/// Waits for the end of a switch that may not run.
#[track_caller]
fn refusal(mut running: Running) -> Ended {
    if running.says("running") {
        panic!("it runs: {}", stop(running).stderr);
    }
    running.end()
}

fn is_taken(refused: &Ended, interface: &str, by: u32) {
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    let reason = format!("`{interface}` cannot be a port: it is a port of another switch");
    let who = format!("(process {by} of user ");
    for words in [reason.as_str(), &who, "stop that one, or choose another"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}
