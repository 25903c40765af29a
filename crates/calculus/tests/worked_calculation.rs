//! The calculation of `docs/promises.md`, figure by figure.

use calculus::admission::{CLASSES, Ledger, Request, Stage, StageId, Tree};
use units::{BitRate, DataSize, Delay};

const RELAY_SWITCH: StageId = StageId(0);
const RING_PORT: StageId = StageId(1);
const BUSBAR_SWITCH: StageId = StageId(2);
const BUSBAR_PORT: StageId = StageId(3);

#[test]
fn the_worked_calculation_is_what_the_ledger_computes() {
    let mut ledger = Ledger::new(vec![
        processor(90),
        port(1_000, [(7, 30), (6, 60)]),
        processor(90),
        port(100, [(7, 160), (6, 300)]),
    ]);
    let way = [RELAY_SWITCH, RING_PORT, BUSBAR_SWITCH, BUSBAR_PORT];
    for _ in 0..3 {
        ledger.admit(samples(&way)).expect("there is room");
    }

    let trip = ledger.admit(trip(&way)).expect("there is room");

    assert_eq!(trip.guarantee, Delay::from_ns(384_870));
    let hops = ledger.explain(trip.id).expect("it was admitted").hops;
    let bounds: Vec<_> = hops
        .iter()
        .map(|hop| hop.bound.round_up().as_ns())
        .collect();
    assert_eq!(bounds, [35_427, 15_264, 37_907, 152_820]);
}

fn processor(budget_us: u64) -> Stage {
    Stage::Processing {
        latency: Delay::from_us(20),
        per_frame: Delay::from_us(3),
        fastest_per_frame: Delay::ZERO,
        budget: Delay::from_us(budget_us),
        buffer_frames: None,
    }
}

fn port(mbps: u64, classes: [(usize, u64); 2]) -> Stage {
    let mut budgets = [None; CLASSES];
    for (class, budget_us) in classes {
        budgets[class] = Some(Delay::from_us(budget_us));
    }
    Stage::Port {
        rate: BitRate::from_mbps(mbps),
        propagation: Delay::from_ns(50),
        budgets,
        buffers: [None; CLASSES],
        largest_frame: DataSize::from_bytes(1_538),
    }
}

/// Two trips of 184 bytes back to back, on average 100 a second.
fn trip(way: &[StageId]) -> Request {
    let frame = DataSize::from_bytes(184);
    Request {
        class: 7,
        rate: BitRate::from_bps(147_200),
        burst: frame * 2,
        deadline: Delay::from_us(600),
        ..of_frames(frame, way)
    }
}

/// Samples of 146 bytes at 4 kHz.
fn samples(way: &[StageId]) -> Request {
    let frame = DataSize::from_bytes(146);
    Request {
        class: 6,
        rate: BitRate::from_bps(4_672_000),
        burst: frame,
        deadline: Delay::from_us(2_000),
        ..of_frames(frame, way)
    }
}

fn of_frames(frame: DataSize, way: &[StageId]) -> Request {
    Request {
        class: 1,
        rate: BitRate::from_bps(1),
        burst: frame,
        peak: None,
        frames: None,
        largest_frame: frame,
        smallest_frame: frame,
        deadline: Delay::ZERO,
        initial: BitRate::from_mbps(100).time_to_send(frame) + Delay::from_ns(50),
        base: Tree::path(way.iter().copied()),
        alternatives: Vec::new(),
        is_held_back: false,
        redundant: None,
    }
}
