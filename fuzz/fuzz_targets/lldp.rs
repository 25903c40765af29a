//! A neighbour's announcement.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{Header, MacAddress};
use wire::lldp::Lldp;

fuzz_target!(|data: &[u8]| {
    if let Ok(lldp) = Lldp::parse(data)
        && let Some(origin) = lldp.origin
    {
        let mut frame = Vec::new();
        origin.emit_frame(MacAddress::ZERO, lldp.time_to_live_s, &mut frame);
        let (_, payload) = Header::parse(&frame).expect("what we write can be read");
        let again = Lldp::parse(payload).expect("what we write can be read");
        assert_eq!(again.origin, Some(origin));
        assert_eq!(again.time_to_live_s, lldp.time_to_live_s);
    }
});
