//! BFD as Wireshark dissects it: over IPv4, plain and authenticated.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

use std::fs::File;
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use measure::capture::{CaptureFile, Direction, Heading, Interface, Seen};
use units::BitRate;
use wire::bfd::{
    Authentication, AuthenticationKind, ControlPacket, Diagnostic, Flags, Neighbours, Secret,
    SequenceNumber, State,
};
use wire::ethernet::{EtherType, Header, MacAddress};

const NEIGHBOURS: Neighbours = Neighbours {
    local: Ipv4Addr::new(10, 0, 0, 1),
    remote: Ipv4Addr::new(10, 0, 0, 2),
};
const PACKET: ControlPacket = ControlPacket {
    diagnostic: Diagnostic::NEIGHBOUR_DOWN,
    state: State::Init,
    flags: Flags::POLL,
    detect_multiplier: 3,
    my_discriminator: 0x0102_0304,
    your_discriminator: 0x0506_0708,
    desired_min_tx_us: 1_000,
    required_min_rx_us: 2_000,
    required_min_echo_rx_us: 0,
};

#[test]
fn wireshark_sees_sessions_as_we_write_them() {
    if Command::new("tshark").arg("--version").output().is_err() {
        let notice = "SKIPPED wireshark_sees_sessions_as_we_write_them: needs tshark";
        let demanded = std::env::var_os("TAKTOS_REQUIRE_NEIGHBOURS");
        assert!(demanded.is_none(), "{notice}");
        // Not `eprintln!`: the test harness would swallow it.
        let _ = writeln!(io::stderr(), "\n{notice}\n");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bfd.pcapng");
    let kinds = [
        AuthenticationKind::SimplePassword,
        AuthenticationKind::KeyedSha1,
        AuthenticationKind::MeticulousKeyedSha1,
    ];
    let frames = [None].into_iter().chain(kinds.map(Some)).map(frame);
    write(&file, &frames.collect::<Vec<_>>());

    let shown = |filter: &str| {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&file).args(["-Y", filter]);
        tshark.args([
            "-o",
            "ip.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ]);
        let output = tshark.output().unwrap();
        assert!(output.status.success(), "{filter}: {output:?}");
        String::from_utf8(output.stdout).unwrap().lines().count()
    };

    assert_eq!(shown("_ws.malformed || _ws.short || _ws.expert"), 0);
    let said = "ip.ttl == 255 && bfd.version == 1 && bfd.diag == 3 && bfd.sta == 2 \
                && bfd.flags.p == 1 && bfd.flags.f == 0 && bfd.detect_time_multiplier == 3 \
                && bfd.my_discriminator == 0x01020304 && bfd.your_discriminator == 0x05060708 \
                && bfd.desired_min_tx_interval == 1000 && bfd.required_min_rx_interval == 2000";
    assert_eq!(shown(said), 4);
    assert_eq!(shown("bfd.flags.a == 1"), 3);
    assert_eq!(
        shown("bfd.auth.type == 1 && bfd.auth.password == \"secret\""),
        1
    );
    for kind in ["4", "5"] {
        let hashed =
            format!("bfd.auth.type == {kind} && bfd.auth.key == 7 && bfd.auth.seq_num == 9");
        assert_eq!(shown(&hashed), 1);
    }
}

fn frame(kind: Option<AuthenticationKind>) -> Vec<u8> {
    let authentication = kind.map(|kind| Authentication {
        kind,
        key: 7,
        secret: Secret::new(kind, b"secret").unwrap(),
    });
    let mut packet = Vec::new();
    let proof = authentication.as_ref().map(|it| (it, SequenceNumber(9)));
    PACKET.emit(proof, &mut packet);
    let mut frame = Vec::new();
    let header = Header {
        destination: MacAddress([2, 0, 0, 0, 0, 2]),
        source: MacAddress([2, 0, 0, 0, 0, 1]),
        vlan: None,
        ether_type: EtherType::IPV4,
    };
    header.emit(&mut frame);
    NEIGHBOURS.emit(&packet, &mut frame);
    frame
}

fn write(file: &Path, frames: &[Vec<u8>]) {
    let heading = Heading {
        comment: "BFD".to_owned(),
        program: "taktos".to_owned(),
    };
    let interface = Interface {
        name: "uplink".to_owned(),
        about: "between two neighbours".to_owned(),
        rate: BitRate::from_mbps(1_000),
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
