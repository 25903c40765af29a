//! A neighbour that says whether it is there, and a session that hears it.

#![no_main]

use std::net::Ipv4Addr;

use libfuzzer_sys::fuzz_target;
use switch::{Config, Input, Pacing, PortConfig, Switch};
use units::{Duration, Instant};
use wire::bfd::{
    Authentication, AuthenticationKind, ControlPacket, DESTINATION, Encapsulation, Neighbours,
    Secret, SequenceNumber, SessionConfig,
};
use wire::ethernet::{EtherType, Header, MacAddress};
use wire::openflow::taktos::PortSession;
use wire::openflow::{DatapathId, PortNumber};

const NEIGHBOURS: Neighbours = Neighbours {
    local: Ipv4Addr::new(10, 0, 0, 1),
    remote: Ipv4Addr::new(10, 0, 0, 2),
};

fuzz_target!(|data: &[u8]| {
    let kind = AuthenticationKind::KeyedSha1;
    let secret = Secret::new(kind, b"key").expect("it is short");
    let authentication = Authentication { kind, key: 1, secret };
    let _ = NEIGHBOURS.payload(data);
    if let Ok((packet, _)) = ControlPacket::parse(data) {
        let mut bytes = Vec::new();
        packet.emit(Some((&authentication, SequenceNumber(1))), &mut bytes);
        let (read, proof) = ControlPacket::parse(&bytes).expect("what we write can be read");
        assert_eq!(read, packet);
        assert!(proof.expect("it has one").is_of(&authentication));
    }
    hear(data);
});

/// Hands pieces of the data to a switch: what a frame carries, behind how long after the one
/// before.
fn hear(data: &[u8]) {
    let port = |number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        rate: None,
        pacing: Pacing::Core,
    };
    let session = |number, encapsulation| PortSession {
        port: PortNumber(number),
        session: SessionConfig {
            encapsulation,
            desired_min_tx_us: 1_000,
            required_min_rx_us: 1_000,
            detect_multiplier: 3,
            authentication: None,
        },
    };
    let mut config = Config::new(DatapathId(1), vec![port(1), port(2)]);
    config.sessions = vec![
        session(1, Encapsulation::Ethernet),
        session(2, Encapsulation::Ipv4(NEIGHBOURS)),
    ];
    let mut now = Instant::ZERO;
    let mut switch = Switch::new(now, config);
    for piece in data.chunks(60) {
        let later = Duration::from_us(u64::from(piece[0]) * 50);
        let until = now + later;
        while let Some(due) = switch.deadline().filter(|due| *due <= until) {
            now = now.max(due);
            switch.handle(now, Input::Timeout);
            while switch.poll().is_some() {}
        }
        now = until;
        let number = PortNumber(1 + u32::from(piece[0] & 1));
        let ether_type = match piece[0] & 7 {
            1 => EtherType::ARP,
            3 => EtherType::IPV4,
            _ => EtherType::BFD,
        };
        let mut frame = Vec::new();
        let header = Header {
            destination: DESTINATION,
            source: MacAddress([2, 0, 0, 0, 0, 2]),
            vlan: None,
            ether_type,
        };
        header.emit(&mut frame);
        frame.extend_from_slice(&piece[1..]);
        switch.handle(
            now,
            Input::Frame {
                port: number,
                bytes: &frame,
                arrived: now,
            },
        );
        while switch.poll().is_some() {}
    }
}
