//! Lists inside messages: what is read from them is written and read again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::openflow::multipart::{
    ActionId, FieldId, FlowStatistics, GroupDescription, GroupStatistics, InstructionId,
    MeterConfig, MeterStatistics, PortStatistics, QueueStatistics, TableFeatures, TableProperty,
    TableStatistics,
};
use wire::openflow::taktos::{MonitorContract, MonitorReport, Trunk, TrunkStatus};
use wire::openflow::{
    Action, Band, Bucket, BundleProperty, Element, Fields, Instruction, Match, MatchField,
    PortDescription, QueueDescription, Sequence,
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
    match kind % 25 {
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
        10 => read!(TableStatistics, bytes),
        11 => read!(GroupStatistics, bytes),
        12 => read!(GroupDescription, bytes),
        13 => read!(MeterStatistics, bytes),
        14 => read!(MeterConfig, bytes),
        15 => read!(TableFeatures, bytes),
        16 => read!(TableProperty, bytes),
        17 => read!(InstructionId, bytes),
        18 => read!(ActionId, bytes),
        19 => read!(FieldId, bytes),
        20 => read!(BundleProperty, bytes),
        21 => read!(MonitorContract, bytes),
        22 => read!(MonitorReport, bytes),
        23 => read!(Trunk, bytes),
        _ => read!(TrunkStatus, bytes),
    }
    if let Ok(kept) = Match::parse(&Fields::from_bytes(bytes)) {
        assert_eq!(Match::parse(&kept.fields()), Ok(kept.clone()));
    }
});
