//! A message of OpenFlow 1.0: what is read from it is written and read again,
//! lists inside it included.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::openflow10::Message;

fuzz_target!(|data: &[u8]| {
    // A first byte and a length that fit are not worth looking for.
    let mut bytes = data.to_vec();
    if let (Some(header), Ok(length)) = (bytes.get_mut(..8), u16::try_from(data.len())) {
        header[0] = wire::openflow10::VERSION;
        header[2..4].copy_from_slice(&length.to_be_bytes());
    }
    let Ok((header, message)) = Message::parse(&bytes) else {
        return;
    };
    let mut out = Vec::new();
    message.emit(header.transaction, &mut out);
    let (_, again) = Message::parse(&out).expect("what we write can be read");
    // Comparing iterates over every list.
    assert_eq!(again, message);
});
