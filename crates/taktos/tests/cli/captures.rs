//! Captures of links, where the scenario asks for them.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::workplace::{Workplace, scenario};

const SAMPLED_VALUES: u16 = 0x88ba;

#[test]
fn a_capture_has_every_frame_of_its_link() {
    let workplace = diamond("\"all\"");

    let ended = workplace.run(&RUN);

    let report: Value = serde_json::from_slice(&read(&workplace, "report.json")).unwrap();
    let flow = &report["flows"][0];
    let count = |link: &str, interface: u32, direction: u32| {
        let frames = frames(&read(&workplace, &format!("captures/{link}.pcapng")));
        let wanted = frames.into_iter().filter(|frame| {
            (frame.interface, frame.direction) == (interface, direction)
                && frame.ether_type == SAMPLED_VALUES
        });
        wanted.count() as u64
    };
    assert_eq!(flow["sent"], 100);
    assert_eq!(flow["received"], 100);
    assert_eq!((count("mu-s1", 0, OUT), count("mu-s1", 0, IN)), (100, 0));
    assert_eq!(
        (count("relay-s4", 0, OUT), count("relay-s4", 0, IN)),
        (0, 100)
    );
    let [used, spare] = [["s1-s2", "s2-s4"], ["s1-s3", "s3-s4"]];
    for (links, frames) in [(used, 100), (spare, 0)] {
        for link in links {
            assert_eq!((count(link, 1, IN), count(link, 0, IN)), (frames, 0));
        }
    }
    assert!(
        ended.stdout.contains("captures: out/diamond/captures\n"),
        "{}",
        ended.stdout
    );
}

#[test]
fn captures_are_the_same_bytes_for_the_same_seed_and_only_those_asked_for() {
    let workplace = diamond("[\"s2-s4\"]");

    workplace.run(&RUN);
    let first = read(&workplace, "captures/s2-s4.pcapng");
    workplace.run(&RUN);
    let again = read(&workplace, "captures/s2-s4.pcapng");

    assert!(!frames(&first).is_empty());
    assert!(first == again);
    let files = std::fs::read_dir(workplace.path("out/diamond/captures")).unwrap();
    assert_eq!(files.count(), 1);
}

#[test]
fn without_a_wish_there_are_no_captures() {
    let workplace = diamond("\"none\"");

    let ended = workplace.run(&RUN);

    assert!(!workplace.has("out/diamond/captures"));
    assert!(!ended.stdout.contains("captures"), "{}", ended.stdout);
}

#[test]
fn wireshark_reads_a_capture() {
    let workplace = diamond("[\"mu-s1\"]");
    workplace.run(&RUN);
    let file = workplace.path("out/diamond/captures/mu-s1.pcapng");

    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(file).arg("-Tfields");
    for field in [
        "frame.time_epoch",
        "frame.packet_flags_direction",
        "frame.interface_name",
    ] {
        tshark.args(["-e", field]);
    }
    tshark.args(["-Y", "sv"]);
    let output = match tshark.stderr(Stdio::null()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Not `eprintln!`: the test harness would swallow it.
            let notice = "\nSKIPPED wireshark_reads_a_capture: needs tshark\n";
            let _ = writeln!(io::stderr(), "{notice}");
            return;
        }
        Err(error) => panic!("{error}"),
    };

    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert_eq!(text.lines().count(), 100);
    for line in text.lines() {
        let fields: Vec<_> = line.split('\t').collect();
        let [time, direction, interface] = fields[..] else {
            panic!("{line}")
        };
        let (seconds, fraction) = time.split_once('.').unwrap();
        assert!(
            seconds.starts_with("17672256") && fraction.len() == 9,
            "{time}"
        );
        assert!(["2", "0x00000002"].contains(&direction), "{direction}");
        assert_eq!(interface, "mu");
    }
}

#[test]
fn captures_of_both_ends_give_the_latency_that_the_run_measured() {
    let workplace = diamond("\"all\"");
    workplace.run(&RUN);
    let report: Value = serde_json::from_slice(&read(&workplace, "report.json")).unwrap();
    let folder = "out/diamond/captures";
    let both = format!("{folder}/mu-s1.pcapng,{folder}/relay-s4.pcapng");

    let measured = workplace.run(&[
        "measure",
        "latency",
        "--captures",
        &both,
        "--one-clock",
        "--json",
    ]);

    let found: Value = serde_json::from_str(&measured.stdout).unwrap();
    let figure = |quantity: &str| {
        let figures = found["figures"].as_array().unwrap();
        let named = figures.iter().find(|it| it["quantity"] == quantity);
        named.unwrap_or_else(|| panic!("no {quantity} in {found:#}"))["value"].clone()
    };
    assert_eq!(figure("packets found in both captures")["count"], 100);
    assert_eq!(figure("packets lost")["count"], 0);
    let latency = &report["flows"][0]["latency_ns"];
    let summary = &figure("one-way latency")["distribution_ns"];
    assert_eq!(summary["max"], latency["max"]);
    assert_eq!(summary["min"], latency["min"]);
}

#[test]
fn captures_answer_what_a_method_asks_and_must_be_there() {
    let workplace = diamond("\"all\"");
    workplace.run(&RUN);
    let folder = "out/diamond/captures";
    let both = format!("{folder}/mu-s1.pcapng,{folder}/relay-s4.pcapng");
    let ask = |method: &str, captures: &str| {
        workplace.run(&["measure", method, "--captures", captures, "--json"])
    };
    for (method, quantity) in [
        ("loss", "longest run of losses"),
        ("jitter", "jitter"),
        ("throughput", "rate received"),
        ("failover", "interruptions"),
    ] {
        let answered = ask(method, &both);

        let found: Value = serde_json::from_str(&answered.stdout).unwrap();
        assert_eq!(found["method"], method);
        let figures = found["figures"].as_array().unwrap();
        assert!(
            figures.iter().any(|it| it["quantity"] == quantity),
            "no {quantity} in {found:#}"
        );
    }

    ask("buffer", "a.pcap").is_refused("they tell of latency, flow-setup");
    ask("loss", "a.pcap").is_refused("one capture tells nothing of loss");
    ask("latency", "a.pcap").is_refused("a.pcap: No such file");
}

const RUN: [&str; 6] = [
    "run",
    "diamond.toml",
    "--world",
    "sim",
    "--duration",
    "100 ms",
];

/// The directions as a capture says them.
const IN: u32 = 1;
const OUT: u32 = 2;

/// Returns a workplace with the diamond, of which `capture` is wanted.
fn diamond(capture: &str) -> Workplace {
    let workplace = Workplace::new();
    let text = std::fs::read_to_string(scenario("diamond.toml")).unwrap();
    let wish = format!("{text}\n[measurement]\ncapture = {capture}\n");
    workplace.write("diamond.toml", wish);
    workplace
}

fn read(workplace: &Workplace, name: &str) -> Vec<u8> {
    std::fs::read(workplace.path("out/diamond").join(name)).unwrap()
}

struct Frame {
    interface: u32,
    direction: u32,
    ether_type: u16,
}

/// Returns the frames of a capture.
fn frames(mut file: &[u8]) -> Vec<Frame> {
    const ENHANCED_PACKET: u32 = 6;
    let number = |bytes: &[u8], at: usize| -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    };
    let mut frames = Vec::new();
    while !file.is_empty() {
        let (block, rest) = file.split_at(number(file, 4) as usize);
        file = rest;
        if number(block, 0) != ENHANCED_PACKET {
            continue;
        }
        let bytes = &block[28..28 + number(block, 20) as usize];
        let untagged = match bytes[12..14] {
            [0x81, 0] => &bytes[16..18],
            _ => &bytes[12..14],
        };
        frames.push(Frame {
            interface: number(block, 8),
            direction: number(block, block.len() - 12),
            ether_type: u16::from_be_bytes(untagged.try_into().unwrap()),
        });
    }
    frames
}
