//! What a process leaves at an interface that is killed without a chance to clean
//! up.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use linux::bpf::attachment::{Attachment, Preference};
use linux::hold::Hold;
use linux::interface::Interface;

use crate::world::{Action, Cable, Probe, await_some, frame};

/// Set for the process that is to be killed, with the way in which it attaches.
const VICTIM: &str = "TAKTOS_TEST_VICTIM";
const READY: &str = "the program is attached";

#[test]
fn a_killed_process_leaves_no_program_in_the_way_of_the_next() {
    let test = "a_killed_process_leaves_no_program_in_the_way_of_the_next";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };
    for way in ["best", "filter"] {
        let cable = Cable::lay();
        let before = probe.tally(Action::Drop);

        cable.namespace.run(|| kill_a_victim(way));
        let program = &probe.program;
        // A killed process's descriptors are closed after it was waited for.
        let hold = || Hold::take(cable.near).ok();
        let hold = await_some("the end of the hold", || cable.namespace.run(hold));
        let attach = || Attachment::attach(program, &hold, Preference::Best);
        let _attachment = await_some("the end of the link", || cable.namespace.run(attach).ok());

        cable.send(&frame(Action::Drop, 1));
        await_some("the frame", || {
            (probe.tally(Action::Drop) == before + 1).then_some(())
        });
    }
}

fn kill_a_victim(way: &str) {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "killed::a_victim_attaches_and_waits",
            "--nocapture",
        ])
        .env(VICTIM, way)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(victim.stdout.take().unwrap()).lines();
    let attached = said.any(|line| line.unwrap().contains(READY));
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(attached, "the victim attached nothing");
}

/// Does nothing unless it is run by the test above.
#[test]
fn a_victim_attaches_and_waits() {
    let Ok(way) = std::env::var(VICTIM) else {
        return;
    };
    let preference = match way.as_str() {
        "filter" => Preference::Filter,
        _ => Preference::Best,
    };
    let probe = Probe::load_or_skip("a_victim_attaches_and_waits").unwrap();
    let near = Interface::named("near").unwrap().index();
    let hold = Hold::take(near).unwrap();
    let _attachment = Attachment::attach(&probe.program, &hold, preference).unwrap();

    println!("{READY}");

    // Nothing is ever written to it.
    let _ = std::io::stdin().lines().next();
}
