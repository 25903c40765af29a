//! A neighbour's mode.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{Header, MacAddress};
use wire::mode_signal::ModeSignal;
use wire::siphash::siphash_2_4;

const KEY: [u8; 16] = *b"0123456789abcdef";
/// What the tag is of.
const SIGNED: usize = 36;

fuzz_target!(|data: &[u8]| {
    let _ = ModeSignal::parse(data, KEY);
    // With a tag that is right, to get behind it.
    let Some(signed) = data.get(..SIGNED) else {
        return;
    };
    let mut payload = signed.to_vec();
    payload.extend(siphash_2_4(KEY, signed).to_be_bytes());
    if let Ok(signal) = ModeSignal::parse(&payload, KEY) {
        let mut frame = Vec::new();
        signal.emit_frame(MacAddress::ZERO, KEY, &mut frame);
        let (_, payload) = Header::parse(&frame).expect("what we write can be read");
        assert_eq!(ModeSignal::parse(payload, KEY), Ok(signal));
    }
});
