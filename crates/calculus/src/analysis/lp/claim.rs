//! How a fact is found from others, and shown to hold.
//!
//! A [`FactClaim`] is a fact that has to be found. A [`Reason`] says why it holds: by
//! the multipliers of a program, by a sum, or because it is known from elsewhere.
//! A reason that was found for some values of the other facts holds for all:
//! evaluated anew it gives another bound, perhaps not the best.

use std::cell::OnceCell;

use units::fine::{Data, Rate, Time};

use crate::analysis::{Crossing, FlowId, ServerId};

use super::dates::Starts;
use super::facts::{ArcId, FactId, FactMap, Facts};
use super::model::{Objective, Unwritten, program};
use super::program::Program;
use super::proof::Proof;
use super::tree::ServerTree;
use super::work::{self, Share};
use crate::analysis::budget::Budget;

/// How many servers of a path one program looks at, how many servers in all if these
/// are not more, and at which starts of service: the first that is no more work than
/// allowed. With the oldest alone the work grows with the sixth power of the path.
/// Bursts lose little with the smaller ones.
const SIZES: [Size; 7] = [
    (5, 5, Starts::All),
    (12, 6, Starts::Oldest),
    (6, 6, Starts::Oldest),
    (4, 4, Starts::Oldest),
    (3, 3, Starts::Oldest),
    (2, 2, Starts::Oldest),
    (1, 1, Starts::Oldest),
];

type Size = (usize, usize, Starts);

/// A fact that has to be found.
#[derive(Debug)]
pub(super) struct FactClaim<'a> {
    /// Which.
    pub(super) fact: FactId,
    unit: FactUnit,
    asked: Option<AskedBound<'a>>,
    /// Written when it is needed for the first time.
    program: OnceCell<Option<Program>>,
    simple: Simple,
    /// How much work its program may be, in steps of a budget.
    pub(super) allowed: u64,
}

/// What a program is asked.
#[derive(Debug)]
enum AskedBound<'a> {
    /// The delay of a path.
    Delay(&'a [ServerId]),
    /// The burst of some flows behind a path that all have taken.
    Burst(&'a [ServerId], Vec<FlowId>),
}

/// What a fact counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FactUnit {
    Femtoseconds,
    Microbits,
}

/// How a fact is found without a program.
#[derive(Debug)]
enum Simple {
    /// It is known from elsewhere, or not at all.
    Known(Option<u64>),
    /// A burst grows by what may come within a delay.
    Grown {
        before: FactId,
        rate: Rate,
        delay: FactId,
    },
    /// Flows together have the sum of their bursts.
    Sum(Vec<FactId>),
}

/// Why a fact holds.
#[derive(Debug)]
pub(super) enum Reason {
    /// A program's multipliers.
    Program(Proof),
    /// The way without a program.
    Simple,
}

impl<'a> FactClaim<'a> {
    /// The delay of a server, which may be known to be no more than `known`.
    pub(super) fn delay(map: &FactMap, server: &'a ServerId, known: Option<Time>) -> Self {
        let asked = AskedBound::Delay(std::slice::from_ref(server));
        let simple = Simple::Known(known.map(Time::as_fs));
        Self::new(
            map.delay(*server),
            FactUnit::Femtoseconds,
            Some(asked),
            simple,
        )
    }

    /// The bursts and peaks of the flows that come over an arc, and of all
    /// together.
    pub(super) fn over(map: &FactMap<'a>, arc: ArcId) -> Vec<Self> {
        let crossings = &map.arc(arc).crossings;
        let mut claims = Vec::new();
        for at in crossings {
            claims.push(Self::burst(map, *at));
            if map.has_peak(at.flow) {
                claims.push(Self::peak(map, *at));
            }
        }
        if crossings.len() > 1 {
            claims.push(Self::group(map, arc));
        }
        claims
    }

    /// Returns the share of the work that it may take.
    pub(super) fn share(&self) -> Share {
        match &self.asked {
            Some(AskedBound::Burst(_, flows)) if flows.len() == 1 => Share::Flow,
            Some(AskedBound::Burst(..) | AskedBound::Delay(_)) | None => Share::Many,
        }
    }

    /// Returns the least value that is found for the fact, with the reason, by a
    /// program if the budget is not spent.
    pub(super) fn prove(
        &self,
        map: &FactMap,
        facts: &Facts,
        budget: &Budget,
    ) -> Option<(u64, Reason)> {
        let program = match budget.spend(0) {
            true => self.write_program(map, budget),
            false => None,
        };
        let searched = program.and_then(|program| {
            budget.spend(work::steps(program.variables()));
            let values = program.values(facts);
            let proof = Proof::search(program, &values)?;
            let value = self.in_unit(program, proof.bound(program, &values)?)?;
            Some((value, Reason::Program(proof)))
        });
        let simple = self.simple(facts).map(|value| (value, Reason::Simple));
        [searched, simple]
            .into_iter()
            .flatten()
            .min_by_key(|found| found.0)
    }

    /// Returns what a reason shows for other values of the facts.
    pub(super) fn value(&self, reason: &Reason, facts: &Facts) -> Option<u64> {
        match reason {
            Reason::Simple => self.simple(facts),
            Reason::Program(proof) => {
                let program = self.program.get()?.as_ref()?;
                self.in_unit(program, proof.bound(program, &program.values(facts))?)
            }
        }
    }

    /// Returns what is found without a program.
    pub(super) fn simple(&self, facts: &Facts) -> Option<u64> {
        self.simple.value(facts)
    }

    fn new(fact: FactId, unit: FactUnit, asked: Option<AskedBound<'a>>, simple: Simple) -> Self {
        let program = OnceCell::new();
        Self {
            fact,
            unit,
            asked,
            program,
            simple,
            allowed: u64::MAX,
        }
    }

    fn write_program(&self, map: &FactMap, budget: &Budget) -> Option<&Program> {
        let most = (budget, self.allowed);
        let write = || match self.asked.as_ref()? {
            AskedBound::Delay(path) => {
                let mut written = sizes(path).map(|size| path_program(map, path, size, most));
                written.find_map(Result::ok)
            }
            AskedBound::Burst(path, flows) => burst_program(map, path, flows, most),
        };
        self.program.get_or_init(write).as_ref()
    }

    fn in_unit(&self, program: &Program, bound: u128) -> Option<u64> {
        match self.unit {
            FactUnit::Femtoseconds => u64::try_from(bound).ok(),
            FactUnit::Microbits => program.scale.data(bound).map(Data::as_ubits),
        }
    }

    fn burst(map: &FactMap<'a>, at: Crossing) -> Self {
        let path = &map.network.path(at.flow)[..at.hop as usize];
        let asked = AskedBound::Burst(path, vec![at.flow]);
        let simple = Simple::Grown {
            before: map.burst(at.flow, at.hop - 1),
            rate: map.lasting(at.flow).rate,
            delay: map.delay(path[path.len() - 1]),
        };
        Self::new(
            map.burst(at.flow, at.hop),
            FactUnit::Microbits,
            Some(asked),
            simple,
        )
    }

    fn peak(map: &FactMap, at: Crossing) -> Self {
        let simple = Simple::Grown {
            before: map.peak(at.flow, at.hop - 1),
            rate: map.short_lived(at.flow).rate,
            delay: map.delay(map.network.path(at.flow)[at.hop as usize - 1]),
        };
        Self::new(map.peak(at.flow, at.hop), FactUnit::Microbits, None, simple)
    }

    fn group(map: &FactMap<'a>, arc: ArcId) -> Self {
        let crossings = &map.arc(arc).crossings;
        let flows = crossings.iter().map(|at| at.flow).collect();
        let asked = AskedBound::Burst(shared(map, crossings), flows);
        let bursts = crossings.iter().map(|at| map.burst(at.flow, at.hop));
        let simple = Simple::Sum(bursts.collect());
        Self::new(map.group(arc), FactUnit::Microbits, Some(asked), simple)
    }
}

impl Simple {
    fn value(&self, facts: &Facts) -> Option<u64> {
        match self {
            Self::Known(value) => *value,
            Self::Grown {
                before,
                rate,
                delay,
            } => {
                let grown = rate.most_in(facts.time(*delay)?)?;
                facts.data(*before)?.checked_add(grown).map(Data::as_ubits)
            }
            Self::Sum(bursts) => {
                let add = |sum: u64, burst: &FactId| sum.checked_add(facts.value(*burst)?);
                bursts.iter().try_fold(0, add)
            }
        }
    }
}

/// Returns the longest time that anything needs for a path, or nothing if it
/// has no bound or one would be more work than `allowed`.
pub(super) fn path_delay(
    map: &FactMap,
    facts: &Facts,
    path: &[ServerId],
    (budget, allowed): (&Budget, u64),
) -> Option<Time> {
    let programs = sizes(path).find_map(|size| {
        let parts = path.chunks(size.0);
        let allowed = allowed / parts.len() as u64;
        let programs = parts.map(|part| path_program(map, part, size, (budget, allowed)));
        match programs.collect::<Result<Vec<_>, _>>() {
            Ok(programs) => Some(Some(programs)),
            Err(Unwritten::TooLarge) => None,
            Err(Unwritten::NoScale) => Some(None),
        }
    })??;
    let mut sum = Time::ZERO;
    for program in programs {
        budget.spend(work::steps(program.variables()));
        let values = program.values(facts);
        let bound = Proof::search(&program, &values)?.bound(&program, &values)?;
        sum = sum.checked_add(Time::from_fs(u64::try_from(bound).ok()?))?;
    }
    Some(sum)
}

/// The sizes that make a difference for a path; all starts of service only where the
/// path is not cut for it.
fn sizes(path: &[ServerId]) -> impl Iterator<Item = Size> {
    let length = path.len();
    let mut before = None;
    SIZES.into_iter().filter(move |(servers, all, starts)| {
        if *starts == Starts::All && length > *servers {
            return false;
        }
        let now = Some((length.min(*servers), *all, *starts));
        std::mem::replace(&mut before, now) != now
    })
}

/// The program for the delay of a path.
fn path_program(
    map: &FactMap,
    path: &[ServerId],
    (_, all, starts): Size,
    most: (&Budget, u64),
) -> Result<Program, Unwritten> {
    let tree = ServerTree::around(map, path, all);
    program(map, &tree, Objective::Delay, starts, most)
}

/// The program for the burst of some flows behind a path that all have taken.
fn burst_program(
    map: &FactMap,
    path: &[ServerId],
    flows: &[FlowId],
    most: (&Budget, u64),
) -> Option<Program> {
    let mut written = sizes(path).map(|(servers, all, starts)| {
        let path = &path[path.len().saturating_sub(servers)..];
        let tree = ServerTree::around(map, path, all);
        program(map, &tree, Objective::Burst(flows), starts, most)
    });
    written.find_map(Result::ok)
}

/// The longest path that all flows have taken to get where they are.
fn shared<'a>(map: &FactMap<'a>, crossings: &[Crossing]) -> &'a [ServerId] {
    let ways = crossings
        .iter()
        .map(|at| &map.network.path(at.flow)[..at.hop as usize]);
    let shorter = |a: &'a [ServerId], b: &'a [ServerId]| {
        let same = a
            .iter()
            .rev()
            .zip(b.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        &a[a.len() - same..]
    };
    ways.reduce(shorter).unwrap_or_default()
}
