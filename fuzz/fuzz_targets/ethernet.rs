//! A frame, and inside it IPv4, UDP, the message shim, and all that tells which
//! host has which address.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::Header;
use wire::message_shim::MessageShim;
use wire::neighbour_discovery::NdMessage;
use wire::{arp::Arp, dhcp::Dhcp, ipv4, ipv6, udp};

fuzz_target!(|data: &[u8]| {
    let Ok((_, packet)) = Header::parse(data) else {
        return;
    };
    let _ = MessageShim::parse(packet);
    let _ = udp::Header::parse(packet);
    addresses(packet);
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

fn addresses(packet: &[u8]) {
    let mut out = Vec::new();
    if let Ok(arp) = Arp::parse(packet) {
        arp.emit(&mut out);
        assert_eq!(Arp::parse(&out), Ok(arp));
    }
    out.clear();
    if let Ok(dhcp) = Dhcp::parse(packet) {
        dhcp.emit(&mut out);
        assert_eq!(Dhcp::parse(&out), Ok(dhcp));
    }
    out.clear();
    if let Ok((ip, payload)) = ipv6::Header::parse(packet)
        && let Ok(message) = NdMessage::parse(&ip, payload)
    {
        message.emit_packet(&ip, &mut out);
        let (ip, payload) = ipv6::Header::parse(&out).expect("what we write can be read");
        assert_eq!(NdMessage::parse(&ip, payload), Ok(message));
    }
}
