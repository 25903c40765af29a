//! `taktos switch` on real interfaces.

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use lab::veth::Power;
use linux::interface::{self, ReceiveOffload};
use linux::port::{Attachment, XdpPort};
use rustix::process::Signal;
use wire::openflow::{PortNumber, PortState};

use crate::openflow::Client;
use crate::testbed::{Testbed, eventually, stop};

const PORTS: &str = "s1,s2";
const LISTEN: &str = "tcp:127.0.0.1:6653";
const LISTENED: u16 = 6653;

#[test]
fn a_switch_forwards_what_a_controller_tells_it_and_says_so() {
    let test = "a_switch_forwards_what_a_controller_tells_it_and_says_so";
    for options in [
        &["--engine", "packet", "--spin"][..],
        &["--engine", "packet", "--sleep"],
        &["--engine", "packet", "--rate", "100M"],
        &["--engine", "auto"],
    ] {
        let Some(bed) = Testbed::or_skip(test, 2) else {
            return;
        };
        let running = bed.start(&[&["--ports", PORTS, "--listen", LISTEN][..], options].concat());
        let (mut left, mut right) = (bed.host(1), bed.host(2));

        bed.connect(LISTENED).join(1, 2);
        left.send(7);
        right.receives(7);
        right.send(8);
        left.hears_nothing_of(8);

        let flows = bed.show("flows");
        assert_eq!(flows["flows"][0]["packets"], 1, "{flows}");
        assert_eq!(flows["flows"][0]["match"]["in_port"], 1, "{flows}");
        assert_eq!(flows["flows"][0]["actions"][0], "output:2", "{flows}");
        assert_eq!(stop(running).code, Some(0));
    }
}

#[test]
fn a_controller_that_is_lost_is_dialled_again() {
    let test = "a_controller_that_is_lost_is_dialled_again";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let listener = bed.room.run(|| TcpListener::bind("127.0.0.1:0")).unwrap();
    let controller = format!("tcp:{}", listener.local_addr().unwrap());
    let mut running = bed.start(&["--ports", PORTS, "--controller", &controller]);

    let (first, _) = listener.accept().unwrap();
    drop(Client::greet(first));
    let (second, _) = listener.accept().unwrap();
    Client::greet(second).join(1, 2);

    assert!(running.says(&format!("controller {controller} lost")));
    assert!(running.says(&format!("controller {controller} connected")));
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn why_a_connection_is_closed_is_told_once() {
    let Some(bed) = Testbed::or_skip("why_a_connection_is_closed_is_told_once", 2) else {
        return;
    };
    let listener = bed.room.run(|| TcpListener::bind("127.0.0.1:0")).unwrap();
    let controller = format!("tcp:{}", listener.local_addr().unwrap());
    let mut running = bed.start(&["--ports", PORTS, "--controller", &controller]);
    let closed = "closed a connection to a controller: it speaks no version of OpenFlow";

    for _ in 0..3 {
        let (mut stream, _) = listener.accept().unwrap();
        // A hello of version 0x7f alone.
        let hello = [0x7f, 0, 0, 16, 0, 0, 0, 1, 0, 1, 0, 8, 0x80, 0, 0, 0];
        stream.write_all(&hello).unwrap();
        while !matches!(stream.read(&mut [0; 512]), Ok(0) | Err(_)) {}
    }

    assert!(running.says(closed));
    let ended = stop(running);
    assert_eq!(ended.stderr.matches(closed).count(), 1, "{}", ended.stderr);
}

#[test]
fn two_controllers_are_served_at_once_beside_those_who_connect() {
    let test = "two_controllers_are_served_at_once_beside_those_who_connect";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let listeners = [(); 2].map(|()| bed.room.run(|| TcpListener::bind("127.0.0.1:0")).unwrap());
    let [first, second] = listeners
        .each_ref()
        .map(|it| format!("tcp:{}", it.local_addr().unwrap()));
    let running = bed.start(&[
        "--ports",
        PORTS,
        "--controller",
        &first,
        "--controller",
        &second,
        "--listen",
        LISTEN,
    ]);

    let mut clients = listeners.map(|it| Client::greet(it.accept().unwrap().0));
    clients[0].join(1, 2);
    clients[1].join(2, 1);
    bed.connect(LISTENED).pass_barrier();

    assert_eq!(bed.show("flows")["flows"].as_array().unwrap().len(), 2);
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn without_a_controller_a_standalone_switch_is_a_bridge_and_reaches_its_host() {
    let test = "without_a_controller_a_standalone_switch_is_a_bridge_and_reaches_its_host";
    let Some(bed) = Testbed::or_skip(test, 3) else {
        return;
    };
    let running = bed.start(&[
        "--ports",
        PORTS,
        "--local",
        "s3",
        "--fail-mode",
        "standalone",
    ]);
    let [mut left, mut right, mut own] = [1, 2, 3].map(|n| bed.host(n));

    left.send(7);

    right.receives(7);
    own.receives(7);
    let ports = bed.show("ports");
    assert_eq!(ports["ports"][2]["port"], "LOCAL", "{ports}");
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn a_switch_that_ends_gives_its_interfaces_back_as_they_were() {
    let test = "a_switch_that_ends_gives_its_interfaces_back_as_they_were";
    for engine in ["packet", "auto"] {
        let Some(mut bed) = Testbed::or_skip(test, 2) else {
            return;
        };
        let lent = bed.interface("s1");
        lent.let_do(ReceiveOffload::Merging, interface::Power::On)
            .unwrap();
        bed.switch(lent.index(), Power::Off);

        let running = bed.start(&["--ports", PORTS, "--engine", engine]);
        let during = lent.power().unwrap();
        let mode = fs::metadata(bed.control()).unwrap().permissions().mode();
        let ended = stop(running);

        assert_eq!(during, interface::Power::On);
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert_eq!(lent.power().unwrap(), interface::Power::Off);
        assert!(lent.does(ReceiveOffload::Merging));
        assert!(!bed.control().exists());
    }
}

#[test]
fn a_switch_that_is_killed_leaves_room_for_the_next_one() {
    let test = "a_switch_that_is_killed_leaves_room_for_the_next_one";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let arguments = ["--ports", PORTS, "--listen", LISTEN];
    let killed = bed.start(&arguments);

    killed.signal(Signal::KILL);
    killed.end();
    let index = bed.interface("s1").index();
    eventually("nothing is attached any more", || {
        let again = || XdpPort::open(index, Attachment::Any);
        // Who may attach nothing finds nothing attached.
        let refused = bed.room.run(again).err().map(|error| error.kind());
        refused != Some(io::ErrorKind::ResourceBusy)
    });
    let next = bed.start(&arguments);

    bed.connect(LISTENED).join(1, 2);
    assert_eq!(stop(next).code, Some(0));
}

#[test]
fn a_port_that_vanishes_is_down_and_works_again_when_it_is_back() {
    let test = "a_port_that_vanishes_is_down_and_works_again_when_it_is_back";
    // What comes back may have the number of what has gone.
    for (engine, index) in [("packet", 70), ("auto", 70), ("packet", 10), ("auto", 10)] {
        let Some(mut bed) = Testbed::or_skip(test, 3) else {
            return;
        };
        let mut running = bed.start(&[
            "--ports", "s1,s2,s3", "--listen", LISTEN, "--engine", engine,
        ]);
        let mut controller = bed.connect(LISTENED);
        controller.want_news();
        controller.join(2, 3);
        controller.join(1, 2);

        bed.remove_cable(10);
        let status = controller.await_port_status();
        assert_eq!(status.port.number, PortNumber(1));
        assert!(status.port.state.contains(PortState::LINK_DOWN));
        assert!(running.says("port 1 (s1) gone"));
        let (mut second, mut third) = (bed.host(2), bed.host(3));
        second.send(7);
        third.receives(7);

        bed.lay_cable(1, index);
        assert!(running.says("back"));
        let mut first = bed.host(1);
        eventually("the port forwards again", || {
            first.send(8);
            let ports = bed.show("ports");
            ports["ports"][0]["state"] == "up" && ports["ports"][1]["sent_packets"] != 0
        });

        second.receives(8);
        assert_eq!(stop(running).code, Some(0));
    }
}

#[test]
fn a_cable_that_is_pulled_is_told_to_controllers_and_users() {
    let test = "a_cable_that_is_pulled_is_told_to_controllers_and_users";
    let Some(mut bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let mut running = bed.start(&["--ports", PORTS, "--listen", LISTEN]);
    let mut controller = bed.connect(LISTENED);
    controller.want_news();

    bed.switch(bed.interface("h2").index(), Power::Off);

    let status = controller.await_port_status();
    assert_eq!(status.port.number, PortNumber(2));
    assert!(status.port.state.contains(PortState::LINK_DOWN));
    assert!(running.says("port 2 (s2) down"));
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn every_topic_is_shown_for_people_and_for_programs() {
    let test = "every_topic_is_shown_for_people_and_for_programs";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let running = bed.start(&["--ports", PORTS, "--rate", "s1=100M", "--listen", LISTEN]);
    bed.connect(LISTENED).join(1, 2);
    let control = bed.control().display().to_string();

    for (topic, words) in [
        ("flows", "output:2"),
        ("groups", "no groups"),
        ("meters", "no meters"),
        ("queues", "queue"),
        ("ports", "100 Mbit/s"),
        ("stats", "lookups"),
        ("streams", "no stream is numbered"),
    ] {
        let shown = bed
            .workplace
            .run(&["switch", "show", topic, "--control", &control]);
        let document = bed.show(topic);

        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        assert!(shown.stdout.contains(words), "{topic}: {}", shown.stdout);
        assert!(document[topic].is_array(), "{document}");
    }
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn connections_beyond_the_limit_are_closed_and_the_rest_goes_on() {
    let test = "connections_beyond_the_limit_are_closed_and_the_rest_goes_on";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let running = bed.start(&["--ports", PORTS, "--listen", LISTEN]);
    let mut first = bed.connect(LISTENED);

    let tools: Vec<_> = (0..100)
        .map(|_| UnixStream::connect(bed.control()).unwrap())
        .collect();
    first.join(1, 2);
    drop(tools);

    eventually("tools are let in again", || {
        let control = bed.control().display().to_string();
        let asked = ["switch", "show", "flows", "--control", &control];
        bed.workplace.run(&asked).code == Some(0)
    });
    assert_eq!(stop(running).code, Some(0));
}
