//! Whatever a plain total flow analysis proves is admitted.
//!
//! The analysis below shares nothing with the crate but the formulas of the
//! textbook (NC section 1.3), in floating point: greedy bursts, one frame of a lower
//! class in the way, bursts that grow with the delay before, iterated until nothing
//! changes. Flows are asked for in drawn order, and whenever it finds that all flows
//! admitted so far keep their deadlines with one more, so must the ledger.

use calculus::admission::{CLASSES, Ledger, Request, Spare, Stage, StageId, Tree};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{BitRate, DataSize, Delay};

const LINK: BitRate = BitRate::from_mbps(100);
const FRAME: DataSize = DataSize::from_bytes(146);
const FULL_FRAME: DataSize = DataSize::from_bytes(1542);
const PERIOD: Delay = Delay::from_us(1_000);
const LATENCY: Delay = Delay::from_us(5);

/// Switches in a line or a ring with so many hosts each; stages are a processor a
/// switch, then the ports to the right, to the left and to hosts.
struct Network {
    switches: usize,
    hosts: usize,
    is_ring: bool,
}

/// A flow as the textbook sees it.
struct Plain {
    way: Vec<usize>,
    deadline_us: f64,
    class: u8,
}

#[test]
fn what_a_plain_analysis_proves_is_admitted() {
    for seed in 0..60 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (admitted, proven) = admit_drawn(&mut random);
        assert!(admitted >= proven, "seed {seed}: {admitted} of {proven}");
    }
}

/// Asks for drawn flows, and returns how many were admitted and how many of them the
/// plain analysis had proven.
fn admit_drawn(random: &mut Xoshiro256PlusPlus) -> (usize, usize) {
    let mut below =
        |most: usize| usize::try_from(random.next_u64() % most as u64).expect("less than it was");
    let network = Network {
        switches: 3 + below(6),
        hosts: 1 + below(3),
        is_ring: below(2) == 0,
    };
    let classes = [1, 4][below(2)];
    let (flows, deadline_us) = [(10, 1_000u64), (20, 2_000), (40, 2_000), (120, 6_000)][below(4)];
    let mut ledger = Ledger::fitted(network.stages(), Spare::Shared);
    let mut plain: Vec<Plain> = Vec::new();
    let mut proven = 0;
    for flow in 0..flows {
        let ends = [network.switches, network.hosts].map(&mut below);
        let to = [network.switches, network.hosts].map(&mut below);
        if ends == to {
            continue;
        }
        let class = 5 - u8::try_from(below(classes)).expect("four classes");
        let way = network.way(ends[0], to);
        plain.push(Plain {
            way: way.clone(),
            deadline_us: deadline_us as f64,
            class,
        });
        let is_proven = network.holds(&plain);
        let decision = ledger.admit(request(&way, class, Delay::from_us(deadline_us)));
        match decision {
            Ok(_) => proven += usize::from(is_proven),
            Err(refusal) => {
                assert!(!is_proven, "flow {flow} is proven and refused: {refusal}");
                plain.pop();
            }
        }
    }
    (ledger.flows(), proven)
}

fn request(way: &[usize], class: u8, deadline: Delay) -> Request {
    Request {
        class,
        rate: BitRate::of(FRAME, PERIOD).expect("a frame a millisecond"),
        burst: FRAME,
        peak: None,
        frames: None,
        largest_frame: FRAME,
        smallest_frame: FRAME,
        deadline,
        initial: LINK.time_to_send(FRAME),
        base: Tree::path(
            way.iter()
                .map(|at| StageId(u32::try_from(*at).expect("a few stages"))),
        ),
        alternatives: Vec::new(),
        redundant: None,
    }
}

impl Network {
    fn stages(&self) -> Vec<Stage> {
        let processor = Stage::Processing {
            latency: LATENCY,
            per_frame: Delay::ZERO,
            fastest_per_frame: Delay::ZERO,
            budget: Delay::ZERO,
            buffer_frames: None,
        };
        let mut budgets = [Some(Delay::ZERO); CLASSES];
        budgets[0] = None;
        let port = Stage::Port {
            rate: LINK,
            propagation: Delay::ZERO,
            budgets,
            buffers: [None; CLASSES],
            largest_frame: FULL_FRAME,
        };
        let ports = self.switches * (2 + self.hosts);
        let mut stages = vec![processor; self.switches];
        stages.extend(vec![port; ports]);
        stages
    }

    /// Returns the stages from a switch to a host at another: the shorter way around a
    /// ring, to the right if both are as long.
    fn way(&self, from: usize, [to, host]: [usize; 2]) -> Vec<usize> {
        let n = self.switches;
        let rightward = match self.is_ring {
            true => (to + n - from) % n <= (from + n - to) % n,
            false => to > from,
        };
        let mut way = Vec::new();
        let mut at = from;
        while at != to {
            way.push(at);
            way.push(n + 2 * at + usize::from(!rightward));
            at = match rightward {
                true => (at + 1) % n,
                false => (at + n - 1) % n,
            };
        }
        way.push(at);
        way.push(n + 2 * n + at * self.hosts + host);
        way
    }

    /// Returns whether a plain total flow analysis proves that all flows are in time.
    fn holds(&self, flows: &[Plain]) -> bool {
        let stages = self.switches * (3 + self.hosts);
        let mut delays = vec![[0.0f64; CLASSES]; stages];
        for _ in 0..2_000 {
            let next = self.delays_after(&delays, flows);
            let late = |flow: &Plain| {
                let class = usize::from(flow.class);
                let first = FRAME.as_bits() as f64 / 100.0;
                let way = flow.way.iter().map(|at| next[*at][class]);
                first + way.sum::<f64>() > flow.deadline_us
            };
            if flows.iter().any(late) {
                return false;
            }
            let moved = |(old, new): (&[f64; CLASSES], &[f64; CLASSES])| {
                old.iter().zip(new).any(|(old, new)| new - old > 1e-6)
            };
            if !delays.iter().zip(&next).any(moved) {
                return true;
            }
            delays = next;
        }
        false
    }

    /// Returns the delays of all stages in microseconds, if frames are as late as
    /// `delays` say.
    fn delays_after(&self, delays: &[[f64; CLASSES]], flows: &[Plain]) -> Vec<[f64; CLASSES]> {
        let (bits, per_us) = (FRAME.as_bits() as f64, 100.0);
        let rate = bits / 1_000.0;
        let mut bursts = vec![[0.0; CLASSES]; delays.len()];
        let mut rates = vec![[0.0; CLASSES]; delays.len()];
        for flow in flows {
            let class = usize::from(flow.class);
            let mut late = bits / per_us;
            for at in &flow.way {
                bursts[*at][class] += bits + rate * late;
                rates[*at][class] += rate;
                late += delays[*at][class];
            }
        }
        let stage = |at: usize| match at < self.switches {
            true => [5.0; CLASSES],
            false => std::array::from_fn(|class| {
                if rates[at][class] == 0.0 {
                    return 0.0;
                }
                let above: f64 = rates[at][class + 1..].iter().sum();
                let burst: f64 = bursts[at][class..].iter().sum();
                let blocking = FULL_FRAME.as_bits() as f64;
                (burst + blocking) / (per_us - above)
            }),
        };
        (0..delays.len()).map(stage).collect()
    }
}
