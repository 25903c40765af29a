//! What a flow says of failures, and of frames beyond its contract.

use crate::Protection;
use crate::format::{
    COVERS_ANY, ENCODING_PRP, EXCESS_BEST_EFFORT, ORDER_KEPT, PROTECTION_FAST_FAILOVER,
    PROTECTION_HEART_BEAT, PROTECTION_RESTORE, PROTECTION_SEAMLESS,
};
use crate::mistake::Mistake;
use crate::problem::Problems;
use crate::record::LayeredTable;

pub(super) fn excess_goes_on(record: &LayeredTable<'_>) -> bool {
    record.choice("excess") == Some(EXCESS_BEST_EFFORT)
}

pub(super) fn protection(record: &LayeredTable<'_>, problems: &mut Problems) -> Protection {
    let wanted = record.choice("protection");
    let is_local = wanted == Some(PROTECTION_FAST_FAILOVER);
    let beats = wanted == Some(PROTECTION_HEART_BEAT);
    let is_protected = is_local || beats || wanted == Some(PROTECTION_RESTORE);
    if is_protected && !record.has("interruption") {
        problems.report(
            record.place_of("protection"),
            record.missing("interruption"),
        );
    }
    for key in ["interruption", "covers"] {
        if !is_protected && record.has(key) {
            let mistake = Mistake::Contradiction {
                sentence: format!("`{key}` is promised to protected flows only"),
                help: "add `protection = \"restore\"` or `\"fast-failover\"`".to_owned(),
            };
            problems.report(record.place_of(key), mistake);
        }
    }
    let is_seamless = wanted == Some(PROTECTION_SEAMLESS);
    for key in ["encoding", "order"] {
        if !is_seamless && record.has(key) {
            let mistake = Mistake::Contradiction {
                sentence: "only frames of seamless flows are numbered".to_owned(),
                help: format!("add `protection = \"seamless\"`, or leave `{key}` out"),
            };
            problems.report(record.place_of(key), mistake);
        }
    }
    let by_prp = record.choice("encoding") == Some(ENCODING_PRP);
    let keeps_order = record.choice("order") == Some(ORDER_KEPT);
    if by_prp && keeps_order {
        let mistake = Mistake::Contradiction {
            sentence: "numbers of PRP have gaps, so nobody knows which frames are missing"
                .to_owned(),
            help: "leave `encoding` out, or `order`".to_owned(),
        };
        problems.report(record.place_of("order"), mistake);
    }
    let covers_any_fault = record.choice("covers") == Some(COVERS_ANY);
    if beats && record.has("covers") && !covers_any_fault {
        let mistake = Mistake::Contradiction {
            sentence: "heart-beats cover more than that".to_owned(),
            help: "leave `covers` out".to_owned(),
        };
        problems.report(record.place_of("covers"), mistake);
    }
    match record.time("interruption") {
        Some(interruption) if beats => Protection::HeartBeat { interruption },
        Some(interruption) if is_local => Protection::FastFailover {
            interruption,
            covers_any_fault,
        },
        Some(interruption) if is_protected => Protection::Restore {
            interruption,
            covers_any_fault,
        },
        Some(_) | None if is_seamless => Protection::Seamless {
            by_prp,
            keeps_order,
        },
        Some(_) | None => Protection::None,
    }
}

/// Reports a flow whose frames are to be heart-beats and that is not sent all the time.
pub(super) fn check_heart_beat(
    protection: Protection,
    is_periodic: bool,
    record: &LayeredTable<'_>,
    problems: &mut Problems,
) {
    if matches!(protection, Protection::HeartBeat { .. }) && !is_periodic {
        let mistake = Mistake::Contradiction {
            sentence: "its frames are no heart-beats: only Sampled Values are sent all the time"
                .to_owned(),
            help: "take `fast-failover`, with `covers = \"any\"` for silent faults".to_owned(),
        };
        problems.report(record.place_of("protection"), mistake);
    }
}
