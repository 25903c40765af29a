//! What makes a frame redundant, as Wireshark dissects it: the redundancy tag of IEEE
//! 802.1CB, and the trailer and the supervision frames of PRP.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use measure::capture::{CaptureFile, Direction, Heading, Interface, Seen};
use units::BitRate;
use wire::ethernet::{EtherType, Header, MacAddress, VlanTag};
use wire::prp::{self, Lan, Supervision, SupervisionKind, Trailer};
use wire::redundancy_tag::RedundancyTag;

const STATION: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);
const REDBOX: MacAddress = MacAddress([2, 0, 0, 0, 0, 9]);
const TRAILER: Trailer = Trailer {
    sequence: 0xfedc,
    lan: Lan::B,
};

#[test]
fn wireshark_sees_redundancy_as_we_write_it() {
    if Command::new("tshark").arg("--version").output().is_err() {
        let notice = "SKIPPED wireshark_sees_redundancy_as_we_write_it: needs tshark";
        let demanded = std::env::var_os("TAKTOS_REQUIRE_NEIGHBOURS");
        assert!(demanded.is_none(), "{notice}");
        // Not `eprintln!`: the test harness would swallow it.
        let _ = writeln!(io::stderr(), "\n{notice}\n");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("redundancy.pcapng");
    write(&file, &[tagged(), in_parallel(), supervision()]);

    let shown = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-Y", filter]);
        // Trailers are looked for only if that is asked.
        tshark.args(["--enable-protocol", "prp"]);
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{filter}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().count()
    };

    assert_eq!(shown("_ws.malformed || _ws.short"), 0);
    let tag = "ieee8021cb.seq == 4660 && ieee8021cb.etype == 0x88b5";
    assert_eq!(shown(tag), 1);
    let trailer = "prp.trailer.prp_sequence_nr == 65244 && prp.trailer.prp_lan == 11";
    assert_eq!(shown(trailer), 2);
    assert_eq!(shown("prp.trailer.prp_size == 106"), 1);
    let station = "hsr_prp_supervision.version == 1 \
                   && hsr_prp_supervision.supervision_seqno == 7 \
                   && hsr_prp_supervision.tlv.type == 20 \
                   && hsr_prp_supervision.source_mac_address == 02:00:00:00:00:01 \
                   && hsr_prp_supervision.red_box_mac_address == 02:00:00:00:00:09";
    assert_eq!(shown(station), 1);
}

/// Returns a frame with a VLAN tag and a redundancy tag.
fn tagged() -> Vec<u8> {
    let mut frame = Vec::new();
    header(EtherType::REDUNDANCY_TAG).emit(&mut frame);
    frame.truncate(frame.len() - 2);
    RedundancyTag { sequence: 0x1234 }.emit(&mut frame);
    frame.extend(EtherType::LOCAL_EXPERIMENTAL_1.0.to_be_bytes());
    frame.resize(100, 7);
    frame
}

/// Returns a frame with a trailer.
fn in_parallel() -> Vec<u8> {
    let mut frame = Vec::new();
    header(EtherType::LOCAL_EXPERIMENTAL_1).emit(&mut frame);
    frame.resize(118, 7);
    prp::append(&mut frame, TRAILER).unwrap();
    frame
}

/// Returns what says that a station is there, with a trailer.
fn supervision() -> Vec<u8> {
    let told = Supervision {
        sequence: 7,
        kind: SupervisionKind::DuplicateDiscard,
        station: STATION,
        redbox: Some(REDBOX),
    };
    let mut frame = Vec::new();
    told.emit_frame(REDBOX, 0, &mut frame);
    prp::append(&mut frame, TRAILER).unwrap();
    frame
}

fn header(ether_type: EtherType) -> Header {
    Header {
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x04, 0, 1]),
        source: STATION,
        vlan: Some(VlanTag {
            priority: 4,
            drop_eligible: false,
            id: 0,
        }),
        ether_type,
    }
}

fn write(file: &Path, frames: &[Vec<u8>]) {
    let heading = Heading {
        comment: "redundancy".to_owned(),
        program: "taktos".to_owned(),
    };
    let interface = Interface {
        name: "bay1".to_owned(),
        about: "all stations".to_owned(),
        rate: BitRate::from_mbps(100),
    };
    let out = Box::new(File::create(file).unwrap());
    let mut capture = CaptureFile::begin("ours".to_owned(), out, &heading, &[interface]);
    for bytes in frames {
        capture.enter(&Seen {
            interface: 0,
            unix_ns: 1_700_000_000_000_000_000,
            direction: Direction::Out,
            bytes,
            length: bytes.len(),
        });
    }
    assert_eq!(capture.finish().left_out, 0);
}
