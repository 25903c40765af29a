//! `taktos switch --engine kernel`: what the kernel forwards, what the core does,
//! and that nobody can tell the two apart but by asking.

use lab::veth::Power;
use linux::netlink::{Netlink, Purpose, Request};
use wire::ethernet::EtherType;
use wire::openflow::{Action, GroupId, MatchField, PortNumber};

use crate::testbed::{Testbed, frame, stop};
use crate::workplace::Running;

pub const LISTEN: &str = "tcp:127.0.0.1:6653";
pub const LISTENED: u16 = 6653;
const LLDP: EtherType = EtherType(0x88cc);
const MPLS: EtherType = EtherType(0x8847);
const TO_CONTROLLER: Action = Action::output(PortNumber::CONTROLLER);

/// Lays cables and starts a switch on them; nothing where the kernel does not let
/// this process load programs, which is said.
pub fn switch_or_skip(test: &str, cables: u32, options: &[&str]) -> Option<(Testbed, Running)> {
    let bed = Testbed::or_skip(test, cables)?;
    let running = start_or_skip(&bed, test, cables, options)?;
    Some((bed, running))
}

pub fn start_or_skip(bed: &Testbed, test: &str, cables: u32, options: &[&str]) -> Option<Running> {
    let ports: Vec<_> = (1..=cables).map(|n| format!("s{n}")).collect();
    let ports = ports.join(",");
    let always = ["--engine", "kernel", "--ports", &ports, "--listen", LISTEN];
    let mut running = bed.begin(&[&always[..], options].concat());
    if running.says("running") {
        return Some(running);
    }
    let ended = running.end();
    assert!(ended.stderr.contains("CAP_BPF"), "{}", ended.stderr);
    crate::testbed::skip(test);
    None
}

#[test]
fn the_kernel_forwards_by_flow_mods_and_says_so() {
    let test = "the_kernel_forwards_by_flow_mods_and_says_so";
    for options in [&[][..], &["--rate", "100M"], &["--spin"]] {
        let Some((bed, running)) = switch_or_skip(test, 2, options) else {
            return;
        };
        let (mut left, mut right) = (bed.host(1), bed.host(2));

        bed.connect(LISTENED).join(1, 2);
        left.send(7);
        right.receives(7);
        right.send(8);
        left.hears_nothing_of(8);

        assert_eq!(bed.show("flows")["flows"][0]["packets"], 1);
        assert_eq!(bed.show("ports")["ports"][1]["sent_packets"], 1);
        assert_eq!(bed.show("queues")["queues"][8]["sent_packets"], 1);
        let ended = stop(running);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        for words in ["sleeping", "engine kernel (as asked)", "by the kernel ("] {
            assert!(ended.stderr.contains(words), "{}", ended.stderr);
        }
    }
}

#[test]
fn what_goes_to_controllers_and_comes_from_them_passes_the_core() {
    let test = "what_goes_to_controllers_and_comes_from_them_passes_the_core";
    for options in [&[][..], &["--rate", "1G"]] {
        let Some((bed, running)) = switch_or_skip(test, 2, options) else {
            return;
        };
        let (mut left, mut right) = (bed.host(1), bed.host(2));
        let mut controller = bed.connect(LISTENED);
        controller.want_news();
        let mut discovery = frame(9);
        discovery[12..14].copy_from_slice(&LLDP.0.to_be_bytes());

        controller.add(0, &[], &[TO_CONTROLLER]);
        controller.add(9, &[MatchField::EthType(LLDP)], &[TO_CONTROLLER]);
        left.send(7);
        assert_eq!(controller.await_packet_in(), frame(7));
        left.send_frame(&discovery);
        assert_eq!(controller.await_packet_in(), discovery);
        controller.send_out(2, &frame(8));
        right.receives(8);

        assert_eq!(stop(running).code, Some(0));
    }
}

#[test]
fn what_only_the_core_can_do_leaves_as_it_should() {
    let test = "what_only_the_core_can_do_leaves_as_it_should";
    let Some((bed, running)) = switch_or_skip(test, 3, &[]) else {
        return;
    };
    let (mut left, mut right) = (bed.host(1), bed.host(2));
    let mut controller = bed.connect(LISTENED);
    let from_left = [MatchField::InPort(PortNumber(1))];
    let labelled = [
        Action::PushMpls(MPLS),
        Action::SetField(MatchField::MplsLabel(77)),
        Action::output(PortNumber(2)),
    ];

    controller.add(1, &from_left, &labelled);
    left.send(7);

    let mut expected = frame(7);
    let shim = [0x88, 0x47, 0x00, 0x04, 0xd1, 0x00];
    expected.splice(12..14, shim);
    right.receives_frame(&expected);
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn counters_are_the_sums_of_what_kernel_and_core_did() {
    let test = "counters_are_the_sums_of_what_kernel_and_core_did";
    for options in [&[][..], &["--rate", "1G"]] {
        let Some((bed, running)) = switch_or_skip(test, 2, options) else {
            return;
        };
        let (mut left, mut right) = (bed.host(1), bed.host(2));
        let mut controller = bed.connect(LISTENED);
        let from_left = [MatchField::InPort(PortNumber(1))];
        let by_core = [Action::output(PortNumber(2)), Action::output(PortNumber(2))];

        controller.add(1, &from_left, &[Action::output(PortNumber(2))]);
        for mark in 1..=5 {
            left.send(mark);
            right.receives(mark);
        }
        let tagged = [MatchField::EthType(EtherType(0x88b5))];
        let labelled = [&[Action::PushMpls(MPLS)][..], &by_core].concat();
        controller.add(2, &tagged, &labelled);
        for mark in 1..=3 {
            left.send(mark);
            right.receives_any();
            right.receives_any();
        }

        let flows = bed.show("flows");
        let counted = |n: usize| flows["flows"][n]["packets"].as_u64();
        assert_eq!([counted(0), counted(1)], [Some(3), Some(5)], "{flows}");
        let ports = bed.show("ports");
        assert_eq!(ports["ports"][0]["received_packets"], 8, "{ports}");
        assert_eq!(ports["ports"][1]["sent_packets"], 11, "{ports}");
        let bytes = 5 * 60 + 6 * 64;
        assert_eq!(ports["ports"][1]["sent_bytes"], bytes, "{ports}");
        assert_eq!(bed.show("queues")["queues"][8]["sent_packets"], 11);
        assert_eq!(stop(running).code, Some(0));
    }
}

#[test]
fn after_a_barrier_no_frame_meets_what_was_before() {
    let test = "after_a_barrier_no_frame_meets_what_was_before";
    let Some((bed, running)) = switch_or_skip(test, 3, &[]) else {
        return;
    };
    let mut left = bed.host(1);
    let mut ends = [bed.host(2), bed.host(3)];
    let mut controller = bed.connect(LISTENED);

    for round in 0..500_u32 {
        let (port, mark) = (round % 2, u8::try_from(round % 250).unwrap());
        controller.join(1, 2 + port);
        left.send(mark);
        ends[usize::try_from(port).unwrap()].receives(mark);
    }

    assert_eq!(ends.map(|mut end| end.count_others()), [0, 0]);
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn an_interface_that_somebody_else_uses_is_refused_and_auto_does_without_the_kernel() {
    let test = "an_interface_that_somebody_else_uses_is_refused";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    let index = bed.interface("s2").index();
    if bed.room.run(|| let_all_pass(index)).is_err() {
        // A kernel without this filter has nobody who uses it.
        return crate::testbed::skip(test);
    }

    let refused = bed.begin(&["--engine", "kernel", "--ports", "s1,s2"]).end();
    let running = bed.start(&["--engine", "auto", "--ports", "s1,s2", "--listen", LISTEN]);
    bed.connect(LISTENED).join(1, 2);
    let (mut left, mut right) = (bed.host(1), bed.host(2));
    left.send(7);
    right.receives(7);
    let ended = stop(running);

    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    if refused.stderr.contains("CAP_BPF") {
        return crate::testbed::skip(test);
    }
    for words in ["for `s2`", "u32 filter", "`--engine packet` does without"] {
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
    let why = "not the kernel: ";
    assert!(ended.stderr.contains(why), "{}", ended.stderr);
    assert!(ended.stderr.contains("u32 filter"), "{}", ended.stderr);
}

#[test]
fn a_fast_failover_group_takes_the_other_port_when_a_cable_is_cut() {
    let test = "a_fast_failover_group_takes_the_other_port_when_a_cable_is_cut";
    let Some((mut bed, running)) = switch_or_skip(test, 3, &[]) else {
        return;
    };
    let [mut left, mut first, mut second] = [1, 2, 3].map(|n| bed.host(n));
    let mut controller = bed.connect(LISTENED);
    controller.want_news();
    controller.add_failover(GroupId(1), [2, 3]);
    let from_left = [MatchField::InPort(PortNumber(1))];
    controller.add(1, &from_left, &[Action::Group(GroupId(1))]);

    left.send(1);
    first.receives(1);
    bed.switch(bed.interface("h2").index(), Power::Off);
    assert_eq!(controller.await_port_status().port.number, PortNumber(2));
    left.send(2);
    second.receives(2);

    let engine = &bed.show("engine")["engine"];
    assert_eq!(engine["frames_to_core"], 0, "{engine}");
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn where_entries_run_and_why_is_shown() {
    let test = "where_entries_run_and_why_is_shown";
    let Some((bed, running)) = switch_or_skip(test, 2, &["--rate", "s1=100M"]) else {
        return;
    };
    let mut controller = bed.connect(LISTENED);
    controller.join(1, 2);
    controller.add(9, &[MatchField::EthType(LLDP)], &[TO_CONTROLLER]);

    let shown = bed.show_text("engine");
    let engine = &bed.show("engine")["engine"];

    for words in [
        "engine kernel (as asked), Linux ",
        "paced by htb",
        "generation: ",
    ] {
        assert!(shown.contains(words), "no `{words}` in: {shown}");
    }
    let entries = engine["items"].as_array().unwrap().iter();
    let entries = entries.filter(|item| item["what"] == "entry");
    let places: Vec<_> = entries
        .map(|entry| (&entry["priority"], &entry["runs_in"], &entry["why"]))
        .map(|(priority, place, why)| format!("{priority} {place} {why}"))
        .collect();
    let expected = [r#"1 "kernel" null"#, r#"9 "core" "goes to controllers""#];
    assert!(
        places
            .iter()
            .all(|place| expected.contains(&place.as_str()))
    );
    assert_eq!(places.len(), expected.len(), "{engine}");
    assert_eq!(engine["entries_in_kernel"], 1, "{engine}");
    assert_eq!(engine["entries_in_core"], 1, "{engine}");
    assert_eq!(stop(running).code, Some(0));
}

#[test]
fn entries_beyond_the_room_go_to_the_core_or_are_refused_as_wished() {
    let test = "entries_beyond_the_room_go_to_the_core_or_are_refused_as_wished";
    const ROOM: usize = 64;
    for (overflow, added) in [("core", 3 * ROOM), ("refuse", ROOM)] {
        let options = ["--kernel-entries", "64", "--kernel-overflow", overflow];
        let Some((bed, running)) = switch_or_skip(test, 2, &options) else {
            return;
        };
        let mut controller = bed.connect(LISTENED);

        for n in 0..3 * ROOM {
            let ether_type = EtherType(0x4000 + u16::try_from(n).unwrap());
            let fields = [MatchField::EthType(ether_type)];
            controller.add(1, &fields, &[Action::output(PortNumber(2))]);
        }

        let flows = bed.show("flows");
        assert_eq!(
            flows["flows"].as_array().unwrap().len(),
            added,
            "{overflow}"
        );
        assert_eq!(stop(running).code, Some(0));
    }
}

/// Gives the interface of number `index` a filter that does nothing.
fn let_all_pass(index: u32) -> std::io::Result<()> {
    const NEW_DISCIPLINE: u16 = 36;
    const NEW_FILTER: u16 = 44;
    const KIND: u16 = 1;
    const OPTIONS: u16 = 2;
    const SELECTOR: u16 = 5;
    let header = |handle: u32, parent: u32, info: u32| {
        let words = [0, index, handle, parent, info];
        words.map(u32::to_ne_bytes).concat()
    };
    let mut netlink = Netlink::open()?;
    let ingress = header(0xffff_0000, 0xffff_fff1, 0);
    let qdisc = Request::new(NEW_DISCIPLINE, Purpose::Create, &ingress);
    netlink.ask(qdisc.with(KIND, b"clsact\0"))?;
    let all = u32::from(0x0003_u16.to_be());
    let filter = header(0, 0xffff_fff2, 7 << 16 | all);
    let filter = Request::new(NEW_FILTER, Purpose::Create, &filter).with(KIND, b"u32\0");
    // `struct tc_u32_sel` without any key: every frame matches.
    netlink.ask(filter.with_nested(OPTIONS, |options| options.append(SELECTOR, &[0; 16])))
}
