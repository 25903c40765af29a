//! A frame, and IPv4, UDP and the message shim inside.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::Header;
use wire::message_shim::MessageShim;
use wire::{ipv4, udp};

fuzz_target!(|data: &[u8]| {
    let Ok((_, packet)) = Header::parse(data) else {
        return;
    };
    let _ = MessageShim::parse(packet);
    let _ = udp::Header::parse(packet);
    if let Ok((ip, datagram)) = ipv4::Header::parse(packet) {
        let sound = udp::verify(&ip, datagram);
        if let Ok((ports, payload)) = udp::Header::parse(datagram) {
            let mut out = Vec::new();
            ports.emit_packet(&ip, payload, &mut out);
            let (again, datagram) = ipv4::Header::parse(&out).expect("what we write can be read");
            assert_eq!(again, ip);
            assert_eq!(udp::verify(&ip, datagram), Ok(()));
        } else {
            assert!(sound.is_err());
        }
    }
});
