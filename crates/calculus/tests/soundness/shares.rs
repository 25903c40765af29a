//! How much of what a plain total flow analysis proves is admitted: all of it.
//!
//! Flows are drawn and taken in turn by the analysis of `plain`, which shares no code with
//! the admission, as long as it proves that all keep their deadlines. What it took is then
//! asked for as a set, and one by one in another order. How many of all flows that were
//! drawn are admitted one by one is told beside it. `-- --nocapture` prints the table that
//! stands in `docs/soundness.md`.

use calculus::admission::{Ledger, Request, Spare, Stage};
use units::{BitRate, DataSize, Delay};

use super::one_truth::{admit, open, shuffled};
use super::plain;
use super::wiring::{Shape, Wiring};
use super::{FULL_FRAME, LINK, Prng, processor};

/// Networks for each line of the table.
const NETWORKS: u64 = 4;
/// As a frame of 122 bytes is on the wire.
const SAMPLE: DataSize = DataSize::from_bytes(146);

/// How flows are protected.
#[derive(Clone, Copy, Debug)]
enum Protection {
    None,
    Restored,
    Doubled,
}

/// Flows of some networks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    asked: usize,
    /// What the plain analysis proves.
    proven: usize,
    /// What of that is admitted, as a set and one by one.
    as_set: usize,
    one_by_one: usize,
    /// What is admitted of all, one by one as they were asked for.
    admitted: usize,
}

#[test]
fn on_lines_all_that_is_proven_is_admitted() {
    println!("| line | flows, deadline | proven | as a set | one by one | admitted of all |");
    println!("| --- | --- | --: | --: | --: | --: |");
    for (switches, flows, deadline_ms) in [
        (5, 10, 1),
        (5, 20, 2),
        (5, 40, 2),
        (8, 10, 1),
        (8, 20, 2),
        (8, 40, 2),
        (8, 120, 6),
    ] {
        let mut share = Share::default();
        for seed in 0..NETWORKS {
            let mut random = Prng::new(seed);
            let wiring = Wiring::row(switches);
            let stages: Vec<_> = wiring
                .stages(&mut random)
                .into_iter()
                .map(as_fast)
                .collect();
            let flows: Vec<_> = (0..flows)
                .map(|_| {
                    let deadline = Delay::from_us(deadline_ms * 1_000);
                    periodic(wiring.flow(&mut random), 5, (SAMPLE, 1), deadline)
                })
                .collect();
            share.count(&stages, &flows, &mut random);
        }
        println!(
            "| {switches} switches | {flows}, {deadline_ms} ms | {}",
            share.cells()
        );
        assert_eq!(
            (share.as_set, share.one_by_one),
            (share.proven, share.proven)
        );
        assert!(share.proven * 10 > share.asked * 7, "{share:?}");
    }
}

#[test]
fn whatever_the_network_all_that_is_proven_is_admitted() {
    println!(
        "| network | classes | protection | proven | as a set | one by one | admitted of all |"
    );
    println!("| --- | --- | --- | --: | --: | --: | --: |");
    let mut protected = 0;
    for shape in [Shape::Tandem, Shape::Ring, Shape::Torus, Shape::Tree] {
        for protection in [Protection::None, Protection::Restored, Protection::Doubled] {
            let mut share = Share::default();
            for seed in 0..4 * NETWORKS {
                let (stages, flows) = drawn(shape, protection, seed);
                protected += flows.iter().filter(|flow| is_protected(flow)).count();
                share.count(&stages, &flows, &mut Prng::new(seed));
            }
            println!("| {shape:?} | {protection:?} | {}", share.cells());
            assert_eq!(
                (share.as_set, share.one_by_one),
                (share.proven, share.proven)
            );
            let tenth = share.asked / 10;
            assert!(
                share.proven > tenth && share.proven < share.asked,
                "{share:?}"
            );
        }
    }
    assert!(protected > 500, "{protected}");
}

fn is_protected(flow: &Request) -> bool {
    !flow.alternatives.is_empty() || flow.redundant.is_some()
}

/// Draws a network and periodic flows of one to four classes, with deadlines that not all
/// can have.
fn drawn(shape: Shape, protection: Protection, seed: u64) -> (Vec<Stage>, Vec<Request>) {
    let mut random = Prng::new(seed);
    let wiring = Wiring::draw(shape, &mut random);
    let mut stages = wiring.stages(&mut random);
    match seed % 2 {
        0 => stages = stages.into_iter().map(as_fast).collect(),
        _ => stages.iter_mut().for_each(|stage| open(stage, None)),
    }
    let flows = (0..40).map(|_| {
        let class = [5, 7, 3, 1][random.index_below(1 + seed / 2 % 4)];
        let frame = DataSize::from_bytes(84 + random.below(FULL_FRAME.as_bits() / 8 - 84));
        let period_ms = [1, 2, 4, 8, 16][random.index_below(5)];
        let deadline = Delay::from_us([1_000, 2_000, 5_000, 10_000][random.index_below(4)]);
        let mut flow = wiring.flow(&mut random);
        flow.alternatives.clear();
        let flow = match protection {
            Protection::None => flow,
            Protection::Restored => wiring.restored(flow, &mut random),
            Protection::Doubled => wiring.doubled(flow, &mut random),
        };
        periodic(flow, class, (frame, period_ms), deadline)
    });
    let flows = flows.collect();
    (stages, flows)
}

/// Has a flow send a frame a period.
fn periodic(
    flow: Request,
    class: u8,
    (frame, period_ms): (DataSize, u64),
    deadline: Delay,
) -> Request {
    Request {
        class,
        rate: BitRate::of(frame, Delay::from_us(period_ms * 1_000)).expect("it sends"),
        burst: frame,
        peak: None,
        frames: None,
        largest_frame: frame,
        smallest_frame: frame,
        deadline,
        initial: LINK.time_to_send(frame),
        ..flow
    }
}

/// Has a switch forward at line rate, and a port be in the way with full frames.
fn as_fast(mut stage: Stage) -> Stage {
    match &mut stage {
        Stage::Processing { .. } => stage = processor(Delay::from_us(5), Delay::ZERO),
        Stage::Port { largest_frame, .. } => *largest_frame = FULL_FRAME,
    }
    open(&mut stage, None);
    stage
}

impl Share {
    fn count(&mut self, stages: &[Stage], flows: &[Request], random: &mut Prng) {
        let fitted = || Ledger::fitted(stages.to_vec(), Spare::Shared);
        let proven: Vec<Request> = plain::taken_in_turn(stages, flows)
            .into_iter()
            .cloned()
            .collect();
        let left_out = fitted().prepare(&proven).left_out.len();
        let mut ledger = fitted();
        let order = shuffled(proven.len(), random);
        let one_by_one = order.iter();
        let one_by_one = one_by_one.filter(|at| admit(&mut ledger, &proven[**at]).is_some());
        self.one_by_one += one_by_one.count();
        let mut ledger = fitted();
        let admitted = flows.iter();
        self.admitted += admitted
            .filter(|flow| admit(&mut ledger, flow).is_some())
            .count();
        self.asked += flows.len();
        self.proven += proven.len();
        self.as_set += proven.len() - left_out;
    }

    fn cells(&self) -> String {
        let Self {
            asked,
            proven,
            as_set,
            one_by_one,
            admitted,
        } = self;
        format!("{proven} | {as_set} | {one_by_one} | {admitted} of {asked} |")
    }
}
