//! Sampled Values and GOOSE with other software: Wireshark, which dissects whatever
//! there is, and open61850, which publishes and follows both.

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use measure::capture::reader::{End, Step};
use measure::capture::{CaptureFile, CaptureReader, Direction, Heading, Interface, Seen};
use measure::identity::{FlowKey, identify};
use measure::traffic::sampled_values::{self, METERING_RATE, PROTECTION_RATE, SampleLayout};
use measure::traffic::{Addresses, Goose, SampledValues, Source, goose, mms};
use units::{BitRate, Duration, Instant};
use wire::ethernet::{Header, MacAddress, VlanTag};

use crate::workbench::{has_or_skip, neighbour, python_or_skip};

const BEGIN_UNIX_NS: u64 = 1_700_000_000_000_000_000;
/// Long enough for the number of a sample to begin again.
const LENGTH: Duration = Duration::from_ms(1_200);

#[test]
fn wireshark_remarks_nothing_in_our_frames() {
    if !has_or_skip(
        "wireshark_remarks_nothing_in_our_frames",
        "tshark",
        "tshark",
    ) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ours.pcapng");
    let frames = write(&file);

    let shown = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-Y", filter]);
        let output = tshark.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };

    assert_eq!(shown("_ws.expert || _ws.malformed || _ws.short"), "");
    assert_eq!(shown("sv || goose").lines().count(), frames);
    let packed = shown("sv.noASDU == 6 && sv.smpCnt == 14399");
    assert_eq!(packed.lines().count(), 1);
}

#[test]
fn wireshark_follows_a_station_that_reads_from_another() {
    let test = "wireshark_follows_a_station_that_reads_from_another";
    if !has_or_skip(test, "tshark", "tshark") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mms.pcapng");
    let answers = write_reads(&file);

    let shown = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-Y", filter]);
        // Check sums are right, and looked at.
        tshark.args([
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
        ]);
        let output = tshark.output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };

    // What only opens a connection is told, too, but is no warning.
    assert_eq!(
        shown("_ws.malformed || _ws.short || _ws.expert.severity >= 0x400000"),
        ""
    );
    assert_eq!(
        shown("mms.initiate_RequestPDU_element || mms.initiate_ResponsePDU_element")
            .lines()
            .count(),
        2
    );
    assert_eq!(shown("mms.read_element").lines().count(), 2 * answers);
    assert_eq!(answers, 60);
}

#[test]
fn open61850_misses_nothing_of_ours() {
    let Some(programs) = python_or_skip("open61850_misses_nothing_of_ours", "open61850") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ours.pcapng");
    write(&file);

    let mut supervise = Command::new(programs.join("open61850-supervise"));
    let output = supervise.arg(&file).output().unwrap();

    let said = String::from_utf8(output.stdout).unwrap();
    let streams: Vec<_> = said
        .lines()
        .filter(|line| line.contains(" missed"))
        .collect();
    assert_eq!(streams.len(), 4, "{said}");
    for stream in streams {
        assert!(stream.contains(" 0 missed"), "{stream}");
        let is_clean = !stream.contains('(') || stream.ends_with("(2 state change)");
        assert!(is_clean, "{stream}");
    }
    assert!(!said.contains("malformed"), "{said}");
}

#[test]
fn we_read_what_open61850_encodes() {
    let Some(programs) = python_or_skip("we_read_what_open61850_encodes", "open61850") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("theirs.pcap");
    let mut python = Command::new(programs.join("python"));
    python.arg(neighbour("process_bus.py")).arg(&file);
    assert!(python.status().unwrap().success());

    let mut reader = CaptureReader::default();
    let bytes = fs::read(&file).unwrap();
    reader.room()[..bytes.len()].copy_from_slice(&bytes);
    reader.filled(bytes.len());
    let (mut samples, mut states) = (Vec::new(), Vec::new());
    while let Step::Frame(frame) = reader.next_frame() {
        let identity = identify(frame.bytes).unwrap();
        match identity.key {
            FlowKey::SampledValues { application, .. } => {
                assert_eq!(application, 0x4007);
                let (_, payload) = Header::parse(frame.bytes).unwrap();
                let (_, values) = wire::sampled_values::SampledValues::parse(payload).unwrap();
                samples.extend(values.asdus.map(|asdu| asdu.unwrap().smp_cnt));
            }
            FlowKey::Goose { .. } => states.push(identity.number >> u32::BITS),
            FlowKey::Datagram { .. } | FlowKey::Mms { .. } => panic!("nobody sends packets"),
        }
    }

    assert_eq!(samples, (0..200).collect::<Vec<_>>());
    assert_eq!(states, (1..=10).collect::<Vec<_>>());
    assert_eq!(reader.finish().end, End::Whole);
}

/// Writes a capture of a station that reads from another one for 1.2 s. Returns how many
/// answers it had.
fn write_reads(file: &Path) -> usize {
    let addresses = Addresses {
        source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
        destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
        vlan: None,
        source: Ipv4Addr::new(10, 0, 0, 1),
        destination: Ipv4Addr::new(10, 0, 0, 2),
        source_port: 49_184,
        destination_port: 102,
        dscp: 0,
    };
    let mut capture = begin(file);
    let mut client = mms::Client::new(&mms::MmsClientConfig {
        contract: None,
        addresses,
        period: Duration::from_ms(20),
        start: Instant::ZERO,
        until: Some(Instant::ZERO + LENGTH),
    });
    let mut server = mms::Server::new(addresses, 200);
    let (mut frame, mut answer) = (Vec::new(), Vec::new());
    let mut enter = |at: Instant, bytes: &[u8]| {
        capture.enter(&Seen {
            interface: 0,
            unix_ns: BEGIN_UNIX_NS + at.as_ns(),
            direction: Direction::Out,
            bytes,
            length: bytes.len(),
        });
    };
    while let Some(at) = client.next_due() {
        if client.emit(at, &mut frame).is_none() {
            continue;
        }
        enter(at, &frame);
        if server.received(&frame, &mut answer).is_some() {
            let at = at + Duration::from_us(100);
            enter(at, &answer);
            client.received(at, &answer);
        }
    }
    assert_eq!(capture.finish().left_out, 0);
    usize::try_from(client.answers()).unwrap()
}

/// Begins a capture of a single interface.
fn begin(file: &Path) -> CaptureFile {
    let heading = Heading {
        comment: "process bus".to_owned(),
        program: "taktos".to_owned(),
    };
    let interface = Interface {
        name: "bay1".to_owned(),
        about: "all publishers".to_owned(),
        rate: BitRate::from_mbps(100),
    };
    let out = Box::new(File::create(file).unwrap());
    CaptureFile::begin("ours".to_owned(), out, &heading, &[interface])
}

/// Writes a capture of a protection device and of merging units of three forms.
/// Returns how many frames it has.
fn write(file: &Path) -> usize {
    let mut capture = begin(file);
    let mut sources = sources();
    let mut frame = Vec::new();
    loop {
        let due = sources.iter().enumerate();
        let due = due.filter_map(|(place, source)| Some((source.next_due()?, place)));
        let Some((at, place)) = due.min() else {
            break;
        };
        if sources[place].emit(at, &mut frame).is_some() {
            capture.enter(&Seen {
                interface: 0,
                unix_ns: BEGIN_UNIX_NS + at.as_ns(),
                direction: Direction::Out,
                bytes: &frame,
                length: frame.len(),
            });
        }
    }
    usize::try_from(capture.finish().frames).unwrap()
}

fn sources() -> Vec<Source> {
    let unit = |number: u8, rate: u32, form: SampleLayout| {
        let config = sampled_values::SampledValuesConfig {
            source: MacAddress([2, 0, 0, 0, 0, number]),
            destination: MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, number]),
            vlan: Some(tag()),
            application: 0x4000 + u16::from(number),
            sv_id: format!("TAKTOSMU0{number}"),
            rate,
            contract: None,
            start: Instant::ZERO,
            until: Some(Instant::ZERO + LENGTH),
        };
        Source::SampledValues(SampledValues::in_form(&config, form))
    };
    let device = Goose::new(&goose::GooseConfig {
        source: MacAddress([2, 0, 0, 0, 0, 9]),
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 9]),
        vlan: Some(tag()),
        application: 9,
        control_block: "TAKTOSLD0/LLN0$GO$trip".to_owned(),
        min_time: Duration::from_ms(4),
        max_time: Duration::from_ms(1_000),
        changes: [300, 700]
            .map(|ms| Instant::ZERO + Duration::from_ms(ms))
            .to_vec(),
        contract: None,
        start: Instant::ZERO,
        until: Some(Instant::ZERO + LENGTH),
        unix_origin_ns: BEGIN_UNIX_NS,
    });
    vec![
        unit(1, 4_000, SampleLayout::LIGHT),
        unit(2, PROTECTION_RATE, SampleLayout::PROTECTION),
        unit(3, METERING_RATE, SampleLayout::METERING),
        Source::Goose(device),
    ]
}

fn tag() -> VlanTag {
    VlanTag {
        priority: 4,
        drop_eligible: false,
        id: 0,
    }
}
