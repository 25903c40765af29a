//! A connection's byte stream, cut where the first byte says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::openflow::{Framer, Message};

fuzz_target!(|data: &[u8]| {
    let Some((&cut, stream)) = data.split_first() else {
        return;
    };
    let mut framer = Framer::new();
    for piece in stream.chunks(usize::from(cut) + 1) {
        framer.push(piece);
        while let Ok(Some(bytes)) = framer.next_message() {
            if let Ok((header, message)) = Message::parse(bytes) {
                let mut out = Vec::new();
                message.emit(header.transaction, &mut out);
                let (_, again) = Message::parse(&out).expect("what we write can be read");
                assert_eq!(again, message);
            }
        }
    }
});
