//! Lists inside messages: what is read from them is written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::openflow::multipart::{FlowStatistics, PortStatistics, QueueStatistics, TableStatistics};
use wire::openflow::{
    Action, Band, Bucket, Element, Fields, Instruction, Match, MatchField, PortDescription,
    QueueDescription, Sequence,
};

/// Reads items of one type. No function, because items borrow from bytes of two
/// lifetimes.
macro_rules! read {
    ($item:ident, $bytes:expr) => {
        for item in Sequence::<$item>::from_bytes($bytes) {
            let Ok(item) = item else { break };
            let mut out = Vec::new();
            item.emit(&mut out);
            let (again, rest) = <$item as Element>::parse(&out).expect("what we write can be read");
            assert_eq!(again, item);
            assert!(rest.is_empty());
        }
    };
}

fuzz_target!(|data: &[u8]| {
    let Some((&kind, bytes)) = data.split_first() else {
        return;
    };
    match kind % 11 {
        0 => read!(MatchField, bytes),
        1 => read!(Action, bytes),
        2 => read!(Instruction, bytes),
        3 => read!(Bucket, bytes),
        4 => read!(Band, bytes),
        5 => read!(PortDescription, bytes),
        6 => read!(QueueDescription, bytes),
        7 => read!(FlowStatistics, bytes),
        8 => read!(PortStatistics, bytes),
        9 => read!(QueueStatistics, bytes),
        _ => read!(TableStatistics, bytes),
    }
    if let Ok(kept) = Match::parse(&Fields::from_bytes(bytes)) {
        assert_eq!(Match::parse(&kept.fields()), Ok(kept.clone()));
    }
});
