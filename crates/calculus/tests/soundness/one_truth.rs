//! What is admissible follows from the set of flows alone.
//!
//! The truth about a set is taken from the climb itself (`suggest_budgets`), each flow by
//! itself and nothing before it. Held against it is what a ledger says that decides on one
//! flow after the other: in drawn orders, with budgets that share out what deadlines leave
//! and with the least, and after flows have come and gone. Then the set is made harder in
//! one respect, and no more may be admitted. Networks are rows, rings, trees, meshes and
//! tori; flows have one to four classes, alternatives, second copies, or neither, and
//! deadlines near what is possible. `cargo xtask admissible` asks more of it.

use std::ops::Range;

use calculus::admission::{
    CLASSES, FlowId, Headroom, Ledger, Request, Room, Spare, Stage, suggest_budgets,
};
use units::{DataSize, Delay};

use super::Prng;
use super::adversary::{SHAPES, seeds};
use super::wiring::Wiring;

/// Sets in a run of the tests.
const RUNS: u64 = 240;
/// Decisions on flows that come again, with others there, for each set.
const COMINGS: u64 = 3;
/// No flow has more time: delays that grow without end are given up sooner.
const LONGEST: Delay = Delay::from_us(40_000);
/// Flows that go the same ways climb as one, and round as one: what is in time or late by
/// so much may be judged either way.
const ROUNDING: Delay = Delay::from_us(1);

/// What was found.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    sets: u64,
    admissible: u64,
    /// Sets of which rounding decides.
    borderline: u64,
    /// Sets that were made harder, and those of them that are not admissible any more.
    harder: u64,
    lost: u64,
    /// Decisions on flows that came again, and how many of these were refusals.
    comings: u64,
    refused: u64,
    with_protection: u64,
    /// Sets of which more flows fit in other classes.
    reassigned: u64,
}

#[test]
fn what_is_admissible_follows_from_the_set_alone() {
    let found = judge(seeds(RUNS));

    println!("{found:?}");
    // Sets that all fit, or none, would say nothing.
    let tenth = found.sets / 10;
    assert!(found.admissible > 2 * tenth && found.admissible < 8 * tenth);
    assert!(found.lost > tenth && found.harder > found.lost + tenth / 2);
    assert!(found.refused > found.comings / 20 && found.refused < found.comings / 2);
    assert!(found.with_protection > 4 * tenth);
    assert!(found.borderline < tenth);
    assert!(found.reassigned > tenth / 5, "{found:?}");
}

/// The same for as long as somebody wants to wait.
#[test]
#[ignore = "takes long: cargo xtask admissible"]
#[expect(clippy::disallowed_methods, reason = "is told how much to do")]
fn of_many_sets_all_are_judged_alike() {
    let number = |name| std::env::var(name).map_or(0, |it| it.parse().expect("a number"));
    let (first, sets) = (number("TAKTOS_FIRST"), number("TAKTOS_NETWORKS"));
    let half = first + sets / 2;
    let found = std::thread::scope(|scope| {
        let other = scope.spawn(|| judge(half..first + sets));
        let found = judge(first..half);
        [found, other.join().expect("no set judged otherwise")]
    });
    for found in found {
        println!("{found:?}");
    }
}

fn judge(seeds: Range<u64>) -> Found {
    let mut found = Found::default();
    for seed in seeds {
        println!("TAKTOS_SEED={seed}"); // Shown only if the test fails.
        let mut random = Prng::new(seed);
        let set = Set::draw(&mut random);
        let protected = |flow: &Request| !flow.alternatives.is_empty() || flow.redundant.is_some();
        found.sets += 1;
        found.with_protection += u64::from(set.flows.iter().any(protected));
        found.admissible += u64::from(set.is_admissible());
        found.borderline += u64::from(set.is_borderline());
        let resident = in_any_order(&set, &mut random);
        made_harder(&set, &mut random, &mut found);
        coming_and_going(&set, resident, &mut random, &mut found);
        in_other_classes(&set, &mut random, &mut found);
    }
    found
}

/// A ledger and the flows of a set that it has admitted, each at its place.
struct Resident {
    ledger: Ledger,
    there: Vec<Option<FlowId>>,
}

/// The ledger admits all flows, in whatever order, if the set is admissible, and only then.
/// Returns one of the ledgers.
fn in_any_order(set: &Set, random: &mut Prng) -> Resident {
    let spare = [Spare::Shared, Spare::None, Spare::None][random.index_below(3)];
    let [_, last] = [Spare::None, spare].map(|spare| {
        let order = shuffled(set.flows.len(), random);
        let resident = set.admit_in(&order, spare);
        let all = resident.there.iter().all(Option::is_some);
        set.hold(all, &format!("{spare:?}, in the order {order:?}"));
        resident
    });
    last
}

/// What is admissible with a slower switch, a sooner deadline, a larger burst or one flow
/// more is so without, and delays are no longer.
fn made_harder(set: &Set, random: &mut Prng, found: &mut Found) {
    let (what, harder) = set.harder(random);
    found.harder += u64::from(set.is_admissible());
    found.lost += u64::from(set.is_admissible() && !harder.is_admissible());
    let order = shuffled(harder.flows.len(), random);
    let resident = harder.admit_in(&order, Spare::None);
    let admitted = resident.there.iter().all(Option::is_some);
    assert!(!admitted || set.could_be_admissible(), "{what}");
    let Some(larger) = harder.least() else { return };
    let Some(least) = set.least() else {
        return assert!(set.could_be_admissible(), "{what}");
    };
    for (at, (stage, larger)) in least.iter().zip(&larger).enumerate() {
        for class in 0..8 {
            let budgets = [stage, larger].map(|stage| stage.budget(class).unwrap_or_default());
            let told = format!("{what}: {budgets:?} of class {class} at {at}");
            assert!(budgets[0] <= budgets[1] + ROUNDING, "{told}");
        }
    }
}

/// Whatever flows have been there before, and with whatever budgets, a flow is admitted
/// beside those that are there if and only if they fit together.
fn coming_and_going(set: &Set, resident: Resident, random: &mut Prng, found: &mut Found) {
    let Resident {
        mut ledger,
        mut there,
    } = resident;
    for _ in 0..COMINGS {
        for _ in 0..1 + random.below(3) {
            let at = random.index_below(there.len().try_into().unwrap());
            there[at] = there[at].and_then(|id| ledger.withdraw(id)).and(None);
        }
        let absent: Vec<usize> = (0..there.len()).filter(|at| there[*at].is_none()).collect();
        let asked = absent[random.index_below(absent.len().try_into().unwrap())];
        let together = Set {
            stages: set.stages.clone(),
            flows: (0..there.len())
                .filter(|at| *at == asked || there[*at].is_some())
                .map(|at| set.flows[at].clone())
                .collect(),
        };
        there[asked] = admit(&mut ledger, &set.flows[asked]);
        together.hold(there[asked].is_some(), &format!("flow {asked}"));
        if there[asked].is_none() {
            contradict(set, &ledger, &there, asked);
            found.refused += 1;
        }
        found.comings += 1;
    }
}

/// The flows of which it is said that one which was refused does not fit beside them do not
/// fit, and do with any one left out.
fn contradict(set: &Set, ledger: &Ledger, there: &[Option<FlowId>], asked: usize) {
    let Some(conflict) = ledger.conflict_with(&set.flows[asked]) else {
        return assert!(set.could_be_admissible(), "it was refused");
    };
    let place = |id: &FlowId| there.iter().position(|it| *it == Some(*id));
    let all: Vec<usize> = conflict.iter().filter_map(place).chain([asked]).collect();
    assert_eq!(all.len(), conflict.len() + 1, "all of them are there");
    let without = |left_out: Option<usize>| Set {
        stages: set.stages.clone(),
        flows: (all.iter().filter(|at| Some(**at) != left_out))
            .map(|at| set.flows[*at].clone())
            .collect(),
    };
    without(None).hold(false, "they contradict each other");
    for left_out in &all {
        without(Some(*left_out)).hold(true, "one fewer does not");
    }
}

/// More flows fit in the classes that they are given, or all keep theirs; so do those that
/// are not free in any case.
fn in_other_classes(set: &Set, random: &mut Prng, found: &mut Found) {
    let free: Vec<bool> = set.flows.iter().map(|_| random.below(4) > 0).collect();
    let empty = || Ledger::fitted(set.stages.clone(), Spare::None);
    let classes = empty().assign_classes(&set.flows, &free, &[1, 3, 5, 7]);
    let given = set.flows.iter().zip(&classes).map(|(flow, class)| Request {
        class: *class,
        ..flow.clone()
    });
    let given: Vec<Request> = given.collect();
    let left_out = |flows: &[Request]| empty().prepare(flows).left_out.len();
    let [usual, fewer] = [&set.flows, &given].map(|flows| left_out(flows));
    for ((flow, class), is_free) in set.flows.iter().zip(&classes).zip(&free) {
        assert!(*is_free || *class == flow.class);
    }
    assert!(fewer < usual || given == set.flows, "{fewer} of {usual}");
    found.reassigned += u64::from(fewer < usual);
}

/// Admits a flow if it can be, without a look for what else could.
pub fn admit(ledger: &mut Ledger, flow: &Request) -> Option<FlowId> {
    let fits = ledger.admits(flow);
    fits.then(|| ledger.admit(flow.clone()).expect("it was said to fit").id)
}

/// A network and flows that are asked for.
#[derive(Clone, Debug)]
struct Set {
    stages: Vec<Stage>,
    flows: Vec<Request>,
}

impl Set {
    fn draw(random: &mut Prng) -> Self {
        let wiring = Wiring::draw(SHAPES[random.index_below(5)], random);
        let classes = 1 + random.below(4);
        let mut flows: Vec<_> = (0..2 + random.below(9))
            .map(|_| {
                let flow = match random.below(3) {
                    0 => wiring.flow(random),
                    _ => wiring.messages(random),
                };
                Request {
                    class: [5, 7, 3, 1][random.index_below(classes)],
                    deadline: LONGEST,
                    ..flow
                }
            })
            .collect();
        // Some go the same ways.
        for _ in 0..random.below(4) {
            let of = random.index_below(flows.len().try_into().unwrap());
            flows.push(flows[of].clone());
        }
        let mut stages = wiring.stages(random);
        let room = (random.below(4) == 0).then(|| 8 + random.below(120));
        stages.iter_mut().for_each(|stage| open(stage, room));
        let mut set = Self { stages, flows };
        set.draw_deadlines(random);
        set
    }

    /// Has flows be in a hurry: deadlines are what is possible, or a part more, and of
    /// some sets one is a little less.
    fn draw_deadlines(&mut self, random: &mut Prng) {
        let Some(guarantees) = self.guarantees() else {
            return;
        };
        let more = [0, 50, 400][random.index_below(3)];
        for (flow, guarantee) in self.flows.iter_mut().zip(&guarantees) {
            let part = guarantee.as_ps() / 1_000 * random.below(more + 1);
            flow.deadline = *guarantee + ROUNDING * 2u64 + Delay::from_ps(part);
        }
        if random.below(3) == 0 {
            let at = random.index_below(self.flows.len().try_into().unwrap());
            let less = guarantees[at].as_ps() / 1_000 * (1 + random.below(200));
            self.flows[at].deadline = guarantees[at].saturating_sub(Delay::from_ps(less));
        }
    }

    /// Returns the longest delay of each flow on any of its ways, with the least budgets.
    fn guarantees(&self) -> Option<Vec<Delay>> {
        let mut ledger = Ledger::fitted(self.least()?, Spare::None);
        let flows = self.flows.iter();
        let ids: Option<Vec<_>> = flows.map(|flow| admit(&mut ledger, flow)).collect();
        ids?.into_iter().map(|id| ledger.guarantee_of(id)).collect()
    }

    fn least(&self) -> Option<Vec<Stage>> {
        suggest_budgets(&self.stages, &[], &self.flows, Headroom::default())
    }

    fn is_admissible(&self) -> bool {
        self.least().is_some()
    }

    /// Returns whether a little time more or less decides.
    fn is_borderline(&self) -> bool {
        self.could_be_admissible() && !self.is_surely_admissible()
    }

    fn is_surely_admissible(&self) -> bool {
        let sooner = |deadline: Delay, by| deadline.saturating_sub(by);
        self.is_admissible() && self.with_deadlines(sooner).is_admissible()
    }

    fn could_be_admissible(&self) -> bool {
        self.is_admissible() || self.with_deadlines(|it, by| it + by).is_admissible()
    }

    fn with_deadlines(&self, moved: impl Fn(Delay, Delay) -> Delay) -> Self {
        let mut other = self.clone();
        for flow in &mut other.flows {
            flow.deadline = moved(flow.deadline, ROUNDING);
        }
        other
    }

    /// Holds what was decided against the truth.
    #[track_caller]
    fn hold(&self, admitted: bool, told: &str) {
        match admitted {
            true => assert!(self.could_be_admissible(), "admitted: {told}"),
            false => assert!(!self.is_surely_admissible(), "refused: {told}"),
        }
    }

    fn admit_in(&self, order: &[usize], spare: Spare) -> Resident {
        let mut ledger = Ledger::fitted(self.stages.clone(), spare);
        let mut there = vec![None; self.flows.len()];
        for at in order {
            there[*at] = admit(&mut ledger, &self.flows[*at]);
        }
        Resident { ledger, there }
    }

    /// Returns the same, harder in one respect, and in which.
    fn harder(&self, random: &mut Prng) -> (String, Self) {
        let mut harder = self.clone();
        let is_processor = |stage: &&Stage| matches!(stage, Stage::Processing { .. });
        let processors = harder.stages.iter().filter(is_processor).count();
        let stage = random.index_below(processors.try_into().unwrap());
        let at = random.index_below(harder.flows.len().try_into().unwrap());
        let flow = &mut harder.flows[at];
        let what = match random.below(5) {
            0 | 1 => slow_down(&mut harder.stages[stage], random),
            2 => {
                let less = flow.deadline.as_ps() / 1_000 * random.below(200);
                flow.deadline = flow.deadline.saturating_sub(Delay::from_ps(less));
                "a sooner deadline"
            }
            3 => {
                flow.burst += DataSize::from_bits(1 + random.below(20_000));
                "a larger burst"
            }
            _ => {
                let more = Request {
                    class: [7, 5, 3, 1][random.index_below(4)],
                    deadline: LONGEST,
                    ..flow.clone()
                };
                harder.flows.push(more);
                "one flow more"
            }
        };
        (format!("{what}, at switch {stage} or of flow {at}"), harder)
    }
}

/// Gives every class budgets that may be chosen, and queues some room.
pub fn open(stage: &mut Stage, room: Option<u64>) {
    match stage {
        Stage::Processing { buffer_frames, .. } => *buffer_frames = room,
        Stage::Port {
            budgets, buffers, ..
        } => {
            *budgets = [Some(Delay::ZERO); CLASSES];
            budgets[0] = None;
            *buffers = [room.map(Room::Frames); CLASSES];
        }
    }
}

/// Makes a processor slower. (Of links that cannot be said: a slower one spreads its
/// frames, and a longer one brings them nearer to those that come another way, so that
/// others behind it may be sooner.)
fn slow_down(stage: &mut Stage, random: &mut Prng) -> &'static str {
    let Stage::Processing {
        latency, per_frame, ..
    } = stage
    else {
        unreachable!("processors come first");
    };
    match random.below(2) {
        0 => {
            *latency += Delay::from_us(random.below(100));
            "a longer latency"
        }
        _ => {
            *per_frame += Delay::from_ns(random.below(2_000));
            "slower frames"
        }
    }
}

pub fn shuffled(count: usize, random: &mut Prng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, random.index_below((last + 1).try_into().unwrap()));
    }
    order
}
