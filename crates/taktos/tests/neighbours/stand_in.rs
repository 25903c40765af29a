//! Two switches of ours that ask each other whether they are there, while the process of one is
//! held up, dead or ended: its kernel speaks for it as long as it forwards.

use std::fs;
use std::os::fd::AsFd;

use linux::impaired_interface::{HitFrames, ImpairedInterface};
use linux::interface::Interface;
use linux::netlink::{Netlink, Purpose, Request};
use rustix::process::Signal;
use serde_json::Value;

use crate::workbench::Workbench;

/// The ends of the cable, each the port of the switch of that name.
const ENDS: [&str; 2] = ["left", "right"];
const INTERVAL: &str = "150ms*3";
/// As many packets as take several times as long as silence may.
const MANY: u64 = 12;
const DELETE_LINK: u16 = 17;

struct Neighbours {
    bench: Workbench,
    programs: [usize; 2],
}

impl Neighbours {
    /// Returns two that are up, or nothing where the kernel cannot speak for processes.
    fn or_skip(test: &str) -> Option<Self> {
        let mut bench = Workbench::new(test, 0)?;
        bench.lay_cable(ENDS);
        let programs = ENDS.map(|end| start(&mut bench, end));
        let neighbours = Self { bench, programs };
        neighbours.await_up();
        let engine = neighbours.bench.show(ENDS[0], "engine").to_string();
        let outlives = engine.contains("goes on forwarding when this process dies");
        outlives.then_some(neighbours)
    }

    fn session(&self, end: usize) -> Value {
        self.bench.show(ENDS[end], "bfd")["bfd"][0].clone()
    }

    fn count(&self, end: usize, what: &str) -> Option<u64> {
        self.session(end)[what].as_u64()
    }

    #[track_caller]
    fn await_up(&self) {
        let is_up = |end| {
            let session = self.session(end);
            session["state"] == "up" && session["interval_ns"] == 150_000_000
        };
        let both = || [0, 1].into_iter().all(is_up);
        self.bench.until("session that is up at both ends", both);
    }

    #[track_caller]
    fn await_stand_in(&self, end: usize, who: &str) {
        let is_said = || {
            let said = self.session(end)["stand_in"].to_string();
            said.trim_matches('"').starts_with(who)
        };
        self.bench.until(who, is_said);
    }

    #[track_caller]
    fn await_state(&self, end: usize, state: &str) {
        let is_there = || self.session(end)["state"] == state;
        self.bench.until(state, is_there);
    }

    /// Waits until an end has sent many packets, and asserts that it was up all the time.
    #[track_caller]
    fn stays_up(&self, end: usize) {
        let sent = self.count(end, "sent").unwrap();
        self.bench.until("many packets", || {
            self.count(end, "sent").is_some_and(|now| now > sent + MANY)
        });
        let session = self.session(end);
        assert_eq!(session["state"], "up", "{session}");
        assert_eq!(session["live"], "yes", "{session}");
        assert_eq!(session["downs"], 0, "{session}");
    }

    /// Returns the interfaces that switches made for themselves.
    fn pacemakers(&self) -> Vec<String> {
        let devices = || fs::read_to_string("/proc/thread-self/net/dev");
        let devices = self.bench.within(devices).unwrap();
        let names = devices.lines().filter_map(|line| line.split_once(':'));
        let names = names.map(|(name, _)| name.trim().to_owned());
        names.filter(|name| name.starts_with("tk0")).collect()
    }
}

fn start(bench: &mut Workbench, end: &str) -> usize {
    let number = ENDS.iter().position(|it| *it == end).unwrap();
    let dpid = (0xe1 + number).to_string();
    let session = format!("{end}={INTERVAL}");
    let arguments = ["--dpid", &dpid, "--ports", end, "--bfd", &session];
    bench.start_switch_named(end, &arguments)
}

#[test]
fn a_neighbour_hears_of_a_switch_whose_process_is_held_up() {
    let test = "a_neighbour_hears_of_a_switch_whose_process_is_held_up";
    let Some(neighbours) = Neighbours::or_skip(test) else {
        return;
    };
    neighbours.await_stand_in(0, "the kernel");

    neighbours
        .bench
        .signal(neighbours.programs[0], Signal::STOP);
    neighbours.stays_up(1);
    neighbours
        .bench
        .signal(neighbours.programs[0], Signal::CONT);

    neighbours.stays_up(0);
    let stood_in = neighbours.count(0, "stand_ins").unwrap();
    assert!(stood_in > MANY / 2, "{stood_in}");
    assert_eq!(neighbours.count(1, "malformed"), Some(0));
}

#[test]
fn without_a_pacemaker_the_process_speaks_alone_and_says_so() {
    let test = "without_a_pacemaker_the_process_speaks_alone_and_says_so";
    let Some(neighbours) = Neighbours::or_skip(test) else {
        return;
    };
    neighbours.await_stand_in(0, "the kernel");

    for name in neighbours.pacemakers() {
        neighbours.bench.within(|| remove(&name));
    }
    neighbours.await_stand_in(0, "nobody: no pacemaker, ");
    neighbours.stays_up(1);

    neighbours
        .bench
        .signal(neighbours.programs[0], Signal::STOP);
    neighbours.await_state(1, "down");
    neighbours
        .bench
        .signal(neighbours.programs[0], Signal::CONT);
    neighbours.await_up();
}

#[test]
fn a_switch_whose_process_is_killed_is_there_as_long_as_it_forwards_and_hears() {
    let test = "a_switch_whose_process_is_killed_is_there_as_long_as_it_forwards_and_hears";
    let Some(mut neighbours) = Neighbours::or_skip(test) else {
        return;
    };
    neighbours.await_stand_in(0, "the kernel");

    neighbours.bench.kill(neighbours.programs[0]);
    neighbours.stays_up(1);

    // The next process begins a session of its own, with interfaces of its own.
    neighbours.programs[0] = start(&mut neighbours.bench, ENDS[0]);
    neighbours.await_up();
    assert_eq!(neighbours.count(1, "ups"), Some(2));
    neighbours.await_stand_in(0, "the kernel");
    neighbours
        .bench
        .until("two pairs", || neighbours.pacemakers().len() == 4);

    // What it hears nothing of, it says nothing of: so the other end notices.
    neighbours.bench.kill(neighbours.programs[0]);
    let _deaf = neighbours.bench.within(|| {
        let hits = HitFrames::create().unwrap();
        let interface = Interface::named(ENDS[0]).unwrap();
        let deaf = ImpairedInterface::attach(interface.index(), 1, hits.as_fd()).unwrap();
        deaf.lose(1.try_into().ok());
        deaf
    });
    neighbours.await_state(1, "down");
}

#[test]
fn the_interfaces_of_a_switch_are_gone_when_it_has_ended() {
    let test = "the_interfaces_of_a_switch_are_gone_when_it_has_ended";
    let Some(mut neighbours) = Neighbours::or_skip(test) else {
        return;
    };
    neighbours.await_stand_in(0, "the kernel");
    neighbours.await_stand_in(1, "the kernel");
    assert_eq!(neighbours.pacemakers().len(), 4);

    neighbours
        .bench
        .signal(neighbours.programs[0], Signal::TERM);
    neighbours.bench.await_end(neighbours.programs[0]);
    assert_eq!(neighbours.pacemakers().len(), 2);
    neighbours.await_state(1, "down");

    neighbours.bench.kill(neighbours.programs[1]);
    assert_eq!(neighbours.pacemakers().len(), 2);
    neighbours.bench.clear_killed_switches();
    assert_eq!(neighbours.pacemakers(), [""; 0]);
}

fn remove(name: &str) {
    // The other end of a pair goes with it.
    if let Ok(interface) = Interface::named(name) {
        let mut header = [0; 16];
        header[4..8].copy_from_slice(&interface.index().to_ne_bytes());
        let request = Request::new(DELETE_LINK, Purpose::Change, &header);
        Netlink::open().unwrap().ask(request).unwrap();
    }
}
