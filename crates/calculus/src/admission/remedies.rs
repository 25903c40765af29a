//! What would have to change for a flow to be admitted.
//!
//! Whatever is named here has been tried beside all that is promised, on a copy of
//! the ledger: it is no guess. Each remedy helps by itself. Those with the budgets
//! as they are come first, as other budgets change other guarantees too.

use std::collections::BTreeMap;

use units::{BitRate, DataSize, Delay};

use super::budgets::grown_to_admit;
use super::ledger::{FlowId, Ledger, search_largest};
use super::refusal::{Breach, Constraint, Fits, Refusal};
use super::request::{MAX_DELAY, Request};
use super::stage::{Stage, StageId};
use crate::bounds::strict_priority::CLASSES;
use crate::min_plus::TokenBucket;

/// The rates that links have.
const LINK_RATES: [BitRate; 6] = [
    BitRate::from_mbps(10),
    BitRate::from_mbps(100),
    BitRate::from_mbps(1_000),
    BitRate::from_mbps(10_000),
    BitRate::from_mbps(100_000),
    BitRate::from_mbps(1_000_000),
];
/// How many links are made faster, one after the other, until it is given up.
const MOST_FASTER_LINKS: usize = 32;
/// How many flows are taken out, one at a time, to see whether that is enough.
const MOST_TAKEN_OUT: usize = 16;
/// With more flows than these, nothing is tried that needs other budgets.
const MOST_REFITTED: usize = 2_000;

/// A change with which a flow would be admitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// What would be different.
    pub change: RemedyChange,
    /// The budgets that would have to be larger as well. All deadlines hold with
    /// them, and other guarantees become larger too.
    pub budgets: Vec<LargerBudget>,
    /// What would be guaranteed then.
    pub guarantee: Delay,
}

/// What would be different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemedyChange {
    /// No more than this rate.
    Rate(BitRate),
    /// A burst no larger than this.
    Burst(DataSize),
    /// A deadline no sooner than this.
    Deadline(Delay),
    /// This class.
    Class(u8),
    /// One flow less that has a promise.
    Without(FlowId),
    /// Nothing but budgets.
    Budgets,
    /// Links of these rates behind these ports.
    Links(Vec<(StageId, BitRate)>),
}

/// A budget that is too small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LargerBudget {
    /// The stage.
    pub stage: StageId,
    /// The class; at a processor all classes are one, 0.
    pub class: u8,
    /// What it is, if the class has one.
    pub from: Option<Delay>,
    /// What it would have to be.
    pub to: Delay,
}

/// Whether budgets stay as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Budgets {
    Fixed,
    Larger,
}

impl Ledger {
    /// Returns what would be guaranteed to `request`, whichever of its ways it has
    /// to take, or nothing if it would be refused.
    #[must_use]
    pub fn would_guarantee(&self, request: &Request) -> Option<Delay> {
        let mut ledger = self.clone();
        if !ledger.admits(request) {
            return None;
        }
        let admitted = ledger.admit(request.clone()).ok()?;
        let alternatives = admitted.alternatives.iter().map(|(_, latest)| *latest);
        alternatives.chain([admitted.guarantee]).max()
    }

    /// Returns changes with each of which `request`, which is refused, would be
    /// admitted; if there are none with the budgets as they are, those that need
    /// larger ones as well. It takes many times as long as the refusal did.
    #[must_use]
    pub fn remedies(&self, request: &Request) -> Vec<Remedy> {
        let Err(refusal) = self.clone().check(request) else {
            return Vec::new();
        };
        let mut remedies = self.remedies_with(Budgets::Fixed, request, &refusal);
        if self.flows() <= MOST_REFITTED {
            remedies.extend(self.remedy(RemedyChange::Budgets, request, Budgets::Larger));
            if remedies.is_empty() {
                remedies = self.remedies_with(Budgets::Larger, request, &refusal);
            }
        }
        remedies
    }

    /// Returns the classes next to that of `request` in which it would be admitted,
    /// with what would be guaranteed there.
    pub fn other_classes(&self, request: &Request) -> impl Iterator<Item = (u8, Delay)> {
        beside(request.class).filter_map(|class| {
            let remedy = self.remedy(RemedyChange::Class(class), request, Budgets::Fixed)?;
            Some((class, remedy.guarantee))
        })
    }

    fn remedies_with(&self, budgets: Budgets, request: &Request, refusal: &Refusal) -> Vec<Remedy> {
        let fits = match budgets {
            Budgets::Fixed => refusal.fits,
            Budgets::Larger => self.fits_with_larger_budgets(request),
        };
        let mut changes = Vec::new();
        changes.extend(fits.rate.map(RemedyChange::Rate));
        changes.extend(fits.burst.map(RemedyChange::Burst));
        changes.extend(self.later_deadline(request, budgets));
        changes.extend(beside(request.class).map(RemedyChange::Class));
        // Those who take the most of the time of the stage that has not enough.
        let rivals = refusal
            .stage
            .map(|stage| self.competitors(stage, request.class));
        let rivals = rivals.into_iter().flatten().take(MOST_TAKEN_OUT);
        changes.extend(rivals.map(|rival| RemedyChange::Without(rival.flow)));
        let tried = changes.into_iter();
        let tried = tried.filter_map(|change| self.remedy(change, request, budgets));
        tried.chain(self.faster_links(request, budgets)).collect()
    }

    /// Returns the remedy that a change is, if it is one.
    fn remedy(&self, change: RemedyChange, request: &Request, budgets: Budgets) -> Option<Remedy> {
        let mut request = request.clone();
        match &change {
            RemedyChange::Rate(rate) => {
                request = request.cut_to(TokenBucket::new(*rate, request.burst));
            }
            RemedyChange::Burst(burst) => {
                request = request.cut_to(TokenBucket::new(request.rate, *burst));
            }
            RemedyChange::Deadline(deadline) => request.deadline = *deadline,
            RemedyChange::Class(class) => request.class = *class,
            RemedyChange::Without(flow) => {
                let mut ledger = self.clone();
                ledger.withdraw(*flow);
                return ledger.as_remedy(change, &request, budgets, self.stages());
            }
            RemedyChange::Budgets => {}
            RemedyChange::Links(faster) => {
                let ledger = self.with_links(faster, budgets)?;
                return ledger.as_remedy(change, &request, budgets, self.stages());
            }
        }
        self.as_remedy(change, &request, budgets, self.stages())
    }

    /// Returns the remedy that it is to have come to this ledger and request, from
    /// stages with the budgets `before`.
    fn as_remedy(
        &self,
        change: RemedyChange,
        request: &Request,
        budgets: Budgets,
        before: &[Stage],
    ) -> Option<Remedy> {
        let (budgets, guarantee) = match budgets {
            Budgets::Fixed => (Vec::new(), self.would_guarantee(request)?),
            Budgets::Larger => {
                let stages = self.stages_for(request)?;
                let guarantee = self.on(stages.clone()).ok()?.would_guarantee(request)?;
                (larger(before, &stages), guarantee)
            }
        };
        Some(Remedy {
            change,
            budgets,
            guarantee,
        })
    }

    fn later_deadline(&self, request: &Request, budgets: Budgets) -> Option<RemedyChange> {
        let latest = RemedyChange::Deadline(MAX_DELAY);
        let remedy = self.remedy(latest, request, budgets)?;
        (remedy.guarantee > request.deadline).then_some(RemedyChange::Deadline(remedy.guarantee))
    }

    /// Finds the highest rate and the largest burst for which budgets can be made.
    fn fits_with_larger_budgets(&self, request: &Request) -> Fits {
        let rate = search_largest(1, request.rate.as_bps(), |bps| {
            let slower = TokenBucket::new(BitRate::from_bps(bps), request.burst);
            let request = request.cut_to(slower);
            self.stages_for(&request).is_some()
        });
        let least = request.largest_frame.as_bits();
        let burst = search_largest(least, request.burst.as_bits(), |bits| {
            let smaller = TokenBucket::new(request.rate, DataSize::from_bits(bits));
            let request = request.cut_to(smaller);
            self.stages_for(&request).is_some()
        });
        Fits {
            rate: rate.and_then(BitRate::new),
            burst: burst.map(DataSize::from_bits),
        }
    }

    /// Makes the links faster that have not enough, one after the other.
    fn faster_links(&self, request: &Request, budgets: Budgets) -> Option<Remedy> {
        let mut faster: BTreeMap<StageId, BitRate> = BTreeMap::new();
        for _ in 0..MOST_FASTER_LINKS {
            let links: Vec<_> = faster.iter().map(|(stage, rate)| (*stage, *rate)).collect();
            let mut ledger = self.with_links(&links, budgets)?;
            if !links.is_empty() {
                let remedy = self.remedy(RemedyChange::Links(links), request, budgets);
                if remedy.is_some() {
                    return remedy;
                }
            }
            let breach = ledger.fits(request, request.traffic()).err()?;
            let stage = breach.stage?;
            let next = next_rate(&ledger.stages()[stage.index()], breach.constraint)?;
            faster.insert(stage, next);
        }
        None
    }

    /// Returns the same promises over faster links, with larger budgets where these
    /// are needed as more may come at once.
    fn with_links(&self, links: &[(StageId, BitRate)], budgets: Budgets) -> Option<Self> {
        let mut stages = self.stages().to_vec();
        for (stage, faster) in links {
            match &mut stages[stage.index()] {
                Stage::Port { rate, .. } => *rate = *faster,
                Stage::Processing { .. } => {}
            }
        }
        if budgets == Budgets::Larger {
            let unpromised: Vec<_> = self.unpromised_work().collect();
            let requests: Vec<_> = self.requests().map(|(_, it)| it.clone()).collect();
            stages = grown_to_admit(&stages, &unpromised, &requests)?;
        }
        self.on(stages).ok()
    }

    /// Returns the stages with budgets as large as it takes to admit `request`.
    fn stages_for(&self, request: &Request) -> Option<Vec<Stage>> {
        let unpromised: Vec<_> = self.unpromised_work().collect();
        let mut requests: Vec<_> = self.requests().map(|(_, it)| it.clone()).collect();
        requests.push(request.clone());
        grown_to_admit(self.stages(), &unpromised, &requests)
    }

    /// Returns the same promises on other stages.
    fn on(&self, stages: Vec<Stage>) -> Result<Self, Breach> {
        let mut ledger = Self::new(stages);
        for (stage, frames) in self.unpromised_work() {
            ledger.count_unpromised(stage, frames)?;
        }
        for (id, request) in self.requests() {
            ledger.next = id.0;
            ledger.promise(request.clone())?;
        }
        ledger.next = self.next;
        Ok(ledger)
    }
}

/// Returns the classes next to one, the more urgent first.
fn beside(class: u8) -> impl Iterator<Item = u8> {
    let classes = [class.checked_add(1), class.checked_sub(1)];
    let classes = classes.into_iter().flatten();
    classes.filter(|class| (1..CLASSES).contains(&usize::from(*class)))
}

/// Returns the next faster rate of the link of a stage, if that helps.
fn next_rate(stage: &Stage, constraint: Constraint) -> Option<BitRate> {
    match constraint {
        Constraint::Rate { .. }
        | Constraint::Unbounded { .. }
        | Constraint::Delay { .. }
        | Constraint::Buffer { .. }
        | Constraint::Frames { .. } => match stage {
            Stage::Port { rate, .. } => LINK_RATES.into_iter().find(|next| next > rate),
            Stage::Processing { .. } => None,
        },
        Constraint::Malformed(_)
        | Constraint::NoBudget { .. }
        | Constraint::Deadline { .. }
        | Constraint::FrameRate { .. }
        | Constraint::FrameBuffer { .. }
        | Constraint::NotReserved { .. }
        | Constraint::UnboundedChange
        | Constraint::Overtaken { .. }
        | Constraint::ForSignals { .. }
        | Constraint::NoWay => None,
    }
}

/// Returns the budgets that have been made larger.
fn larger(before: &[Stage], after: &[Stage]) -> Vec<LargerBudget> {
    let mut larger = Vec::new();
    for ((stage, before), after) in (0..).map(StageId).zip(before).zip(after) {
        let classes = match before {
            Stage::Processing { .. } => 0..1,
            Stage::Port { .. } => 0..CLASSES,
        };
        for class in classes.filter_map(|class| u8::try_from(class).ok()) {
            let (from, to) = (before.budget(class), after.budget(class));
            let to = to.filter(|to| from.is_none_or(|from| from < *to));
            larger.extend(to.map(|to| LargerBudget {
                stage,
                class,
                from,
                to,
            }));
        }
    }
    larger
}

#[cfg(test)]
mod tests {
    use super::super::request::Tree;
    use super::*;

    const FRAME: DataSize = DataSize::from_bytes(1_500);

    #[test]
    fn each_remedy_admits_what_was_refused() {
        let mut ledger = ledger(&[BitRate::from_mbps(100); 2]);
        let rival = ledger.admit(flow(60, 5_000)).unwrap().id;
        let refused = flow(60, 5_000);

        let remedies = ledger.remedies(&refused);

        let has = |wanted: &RemedyChange| remedies.iter().any(|remedy| remedy.change == *wanted);
        assert!(
            has(&RemedyChange::Rate(BitRate::from_mbps(40))),
            "{remedies:?}"
        );
        assert!(has(&RemedyChange::Without(rival)));
        let gigabit = BitRate::from_mbps(1_000);
        assert!(has(&RemedyChange::Links(vec![
            (StageId(0), gigabit),
            (StageId(1), gigabit)
        ])));
        assert!(
            !has(&RemedyChange::Budgets),
            "no budget makes a link faster"
        );
        for remedy in &remedies {
            assert!(remedy.guarantee <= refused.deadline, "{remedy:?}");
            assert_eq!(remedy.budgets, []);
        }
    }

    #[test]
    fn a_deadline_that_would_do_is_the_least_that_does() {
        let ledger = ledger(&[BitRate::from_mbps(100); 2]);
        let hasty = flow(10, 1_000);

        let remedies = ledger.remedies(&hasty);

        let deadline = remedies.iter().find_map(|remedy| match remedy.change {
            RemedyChange::Deadline(deadline) => Some(deadline),
            _ => None,
        });
        let deadline = deadline.unwrap();
        let with = |deadline| Request {
            deadline,
            ..hasty.clone()
        };
        assert!(ledger.would_guarantee(&with(deadline)).is_some());
        let sooner = deadline.saturating_sub(Delay::from_ps(1));
        assert_eq!(ledger.would_guarantee(&with(sooner)), None);
    }

    #[test]
    fn budgets_that_are_too_small_are_named_with_what_they_need() {
        let mut stages = ledger(&[BitRate::from_mbps(100)]).stages().to_vec();
        let small = Delay::from_us(200);
        if let Stage::Port { budgets, .. } = &mut stages[0] {
            budgets[5] = Some(small);
        }
        let ledger = Ledger::new(stages);
        let mut flow = flow(10, 5_000);
        flow.base = Tree::path([StageId(0)]);

        let remedies = ledger.remedies(&flow);

        let budgets = remedies
            .iter()
            .find(|it| it.change == RemedyChange::Budgets)
            .unwrap();
        let [larger] = budgets.budgets[..] else {
            panic!("{budgets:?}")
        };
        assert_eq!(
            (larger.stage, larger.class, larger.from),
            (StageId(0), 5, Some(small))
        );
        // A frame in the way and its own, 120 us each.
        assert_eq!(larger.to, Delay::from_us(240));
    }

    /// Ports of these rates, one behind the other, with 1 ms for class 5.
    fn ledger(rates: &[BitRate]) -> Ledger {
        let mut budgets = [None; CLASSES];
        budgets[5] = Some(Delay::from_us(1_000));
        let stages = rates.iter().map(|rate| Stage::Port {
            rate: *rate,
            propagation: Delay::ZERO,
            budgets,
            buffers: [None; CLASSES],
            largest_frame: FRAME,
        });
        Ledger::new(stages.collect())
    }

    /// A flow over all ports.
    fn flow(mbps: u64, deadline_us: u64) -> Request {
        Request {
            class: 5,
            rate: BitRate::from_mbps(mbps),
            burst: FRAME,
            peak: None,
            frames: None,
            largest_frame: FRAME,
            smallest_frame: FRAME,
            deadline: Delay::from_us(deadline_us),
            initial: Delay::ZERO,
            base: Tree::path([StageId(0), StageId(1)]),
            alternatives: Vec::new(),
            is_held_back: false,
            redundant: None,
        }
    }
}
