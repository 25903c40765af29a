//! A frame's redundancy tag, its trailer of PRP, and who says to be there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ethernet::{Header, MacAddress};
use wire::prp::{self, Supervision, Trailer};
use wire::redundancy_tag::RedundancyTag;

fuzz_target!(|data: &[u8]| {
    if let Ok((tag, at)) = RedundancyTag::of_frame(data) {
        let mut bytes = Vec::new();
        tag.emit(&mut bytes);
        bytes.extend(&data[at + bytes.len()..]);
        let found = RedundancyTag::parse(&bytes).map(|(tag, _)| tag);
        assert_eq!(found, Ok(tag));
    }
    if let Ok((trailer, length)) = Trailer::of_frame(data) {
        let mut frame = data[..length].to_vec();
        prp::append(&mut frame, trailer).expect("it had one");
        let found = Trailer::of_frame(&frame).map(|(trailer, _)| trailer);
        assert_eq!(found, Ok(trailer));
    }
    if let Ok(told) = Supervision::parse(data) {
        let mut frame = Vec::new();
        told.emit_frame(MacAddress::ZERO, 0, &mut frame);
        let (_, payload) = Header::parse(&frame).expect("what we write can be read");
        assert_eq!(Supervision::parse(payload), Ok(told));
    }
});
