//! The same substation with two levels: a film is given up while a sensor needs more.

use super::super::super::{
    EnteredReport, LevelReport, ModeChangeReport, ModesReport, RefusedSignals, SignalsReport,
    ViolationReport,
};
use super::*;
use crate::levels::{AtLevel, Treatment};

/// Returns a report of a run in which the level rose and fell.
pub(crate) fn with_levels() -> Report {
    let mut report = substation();
    report.modes = Some(modes());
    for (flow, treatment) in [(6, SERVED), (7, Treatment::GivenUp)] {
        let flow = &mut report.flows[flow];
        flow.levels = vec![
            LevelReport::observed("lo", SERVED, &seen(1_200, 0)),
            LevelReport::observed("hi", treatment, &seen(300, flow_gives_up(treatment))),
        ];
        flow.given_up = flow_gives_up(treatment);
    }
    report
}

const SERVED: Treatment = Treatment::Served {
    guarantee: Some(Duration::from_us(21_300)),
    deadline: Some(Duration::from_ms(50)),
};

fn flow_gives_up(treatment: Treatment) -> u64 {
    match treatment {
        Treatment::GivenUp => 288,
        Treatment::Served { .. } => 0,
    }
}

fn seen(sent: u64, given_up: u64) -> AtLevel {
    let mut at = AtLevel {
        sent,
        received: sent - given_up,
        given_up,
        highest: Some(Duration::from_us(4_100)),
        ..AtLevel::default()
    };
    at.latency.record(Duration::from_us(3_400));
    at
}

fn modes() -> ModesReport {
    ModesReport {
        levels: vec!["lo".to_owned(), "hi".to_owned()],
        strategy: "taktos".to_owned(),
        change_bound_ns: Some(2_130_000),
        changes: vec![
            change(9_000_000_000, "hi", 0),
            change(14_500_000_000, "lo", 1),
        ],
        violations: vec![ViolationReport {
            at_ns: 9_000_000_000,
            flow: "waves".to_owned(),
            switch: "s1".to_owned(),
            level: "hi".to_owned(),
            count: 1,
        }],
        signals: vec![SignalsReport {
            switch: "s1".to_owned(),
            sent: 6,
            received: 2,
            duplicate: 4,
            stale: 0,
            beats_sent: 5_800,
            beats_received: 5_800,
            refused: RefusedSignals {
                forged: 3,
                ..RefusedSignals::default()
            },
            demanded: 1,
            entered: 2,
            queued_dropped: 41,
            queued_moved: 0,
        }],
    }
}

fn change(at_ns: u64, level: &str, era: u32) -> ModeChangeReport {
    let entered = [("s1", 300), ("s2", 52_000), ("s4", 55_000), ("s3", 104_000)];
    ModeChangeReport {
        at_ns,
        era,
        level: level.to_owned(),
        origin: "s1".to_owned(),
        took_ns: 104_000,
        switches: entered.len(),
        entered: entered
            .map(|(switch, after_ns)| EnteredReport {
                switch: switch.to_owned(),
                after_ns,
            })
            .to_vec(),
    }
}
