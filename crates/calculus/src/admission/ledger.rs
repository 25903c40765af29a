//! The book of promises: what has been promised, and what still can be.

use std::sync::Arc;

use units::{BitRate, DataSize, Delay};

use super::check::{plan_fits, plan_holds, stage_fits};
use super::fit::Fit;
use super::groups::PromisedFlows;
use super::load::StageLoad;
use super::plan::ReservationPlanner;
use super::refusal::{Breach, Fits, Refusal};
use super::request::{Malformed, Request};
use super::stage::{BestEffort, FailureId, Stage, StageId};
use crate::bounds::processing::FrameBucket;
use crate::min_plus::TokenBucket;

/// The number of an admitted flow. Never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u64);

/// A promise that has been made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// The flow it was made to.
    pub id: FlowId,
    /// The longest that any frame takes to any receiver while nothing is broken,
    /// and for a flow with a redundant tree also while either tree is.
    pub guarantee: Delay,
    /// The same for each leaf of the base tree, by its place in the tree.
    pub leaves: Vec<(usize, Delay)>,
    /// The longest that a frame takes on either tree under a failure, by failure.
    pub alternatives: Vec<(FailureId, Delay)>,
}

/// All promises, and what they have reserved.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(super) stages: Vec<Stage>,
    pub(super) loads: Vec<StageLoad>,
    pub(super) flows: PromisedFlows,
    pub(super) next: u64,
    pub(super) plan: ReservationPlanner,
    /// How budgets are chosen, unless they are fixed.
    pub(super) fit: Option<Fit>,
}

impl Ledger {
    /// Starts with no promises and budgets that do not change.
    ///
    /// # Panics
    ///
    /// If a stage is beyond the limits named in this module, or a port has a
    /// budget for class 0.
    #[must_use]
    pub fn new(stages: Vec<Stage>) -> Self {
        stages.iter().for_each(Stage::assert_within_limits);
        Self {
            loads: stages.iter().map(StageLoad::nothing).collect(),
            flows: PromisedFlows::new(),
            next: 0,
            plan: ReservationPlanner::new(stages.len()),
            stages,
            fit: None,
        }
    }

    /// Adds a stage behind the others and returns its number. Nothing that has
    /// been promised passes it.
    ///
    /// # Panics
    ///
    /// If the stage is beyond the limits named in this module, or a port has a
    /// budget for class 0.
    pub fn add_stage(&mut self, stage: Stage) -> StageId {
        stage.assert_within_limits();
        let id = StageId(u32::try_from(self.stages.len()).expect("memory ends before numbers"));
        self.loads.push(StageLoad::nothing(&stage));
        if let Some(fit) = &mut self.fit {
            fit.floors.push(stage.clone());
        }
        self.stages.push(stage);
        self.plan.add_stage();
        id
    }

    /// Has a port give promises in a class in which it gave none, with this budget at least.
    ///
    /// # Panics
    ///
    /// If the budget is beyond the limits named in this module, or for class 0.
    pub fn open_class(&mut self, stage: StageId, class: u8, least: Delay) {
        assert!(class > 0, "class 0 has no promises");
        let floors = self.fit.as_mut().map(|fit| &mut fit.floors[..]);
        for stages in [Some(&mut self.stages[..]), floors].into_iter().flatten() {
            let opened = &mut stages[stage.index()];
            if let Stage::Port { budgets, .. } = opened {
                budgets[usize::from(class)].get_or_insert(least);
            }
            opened.assert_within_limits();
        }
    }

    /// Returns the stages.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Returns what the flow `id` has asked for.
    #[must_use]
    pub fn request(&self, id: FlowId) -> Option<&Request> {
        self.flows.get(&id).map(Arc::as_ref)
    }

    /// Returns the number of flows that have a promise.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// Returns the guarantee that `request` would get, without giving it.
    ///
    /// The ledger is not changed; it is borrowed for the memory that it keeps
    /// for computing.
    ///
    /// # Errors
    ///
    /// Why it would be refused, and what would not be.
    pub fn check(&mut self, request: &Request) -> Result<Delay, Refusal> {
        self.plan
            .validate(request, &self.stages)
            .map_err(|malformed| Breach::from(malformed).refuse(Fits::default()))?;
        let Err(breach) = self.fits(request, request.traffic()) else {
            return Ok(self.guarantee());
        };
        if self.fit.is_none() || breach.constraint.is_overload() {
            return Err(breach.refuse(self.search_fits(request)));
        }
        let (_, grown) = self.fit_with(&[request]).map_err(|refusal| Refusal {
            fits: self.search_fits(request),
            ..refusal
        })?;
        let drawn = self.plan.draw(request, request.traffic(), &grown.stages);
        drawn.expect("budgets are chosen so that every deadline holds");
        Ok(self.guarantee())
    }

    /// Returns whether `request` would be admitted. Where it would not, this is
    /// much quicker than [`check`](Self::check), which looks for what would be.
    pub fn admits(&mut self, request: &Request) -> bool {
        self.plan.validate(request, &self.stages).is_ok() && self.takes(request)
    }

    /// Returns whether a valid request would be admitted.
    fn takes(&mut self, request: &Request) -> bool {
        let drawn = self.plan.draw(request, request.traffic(), &self.stages);
        (drawn.is_ok() && plan_holds(&self.plan, &self.stages, &self.loads))
            || (self.fit.is_some() && self.can_fit(&[request]))
    }

    /// Promises `request` what it asks for.
    ///
    /// # Errors
    ///
    /// Why that cannot be promised, and what could be.
    pub fn admit(&mut self, request: Request) -> Result<Admitted, Refusal> {
        self.plan
            .validate(&request, &self.stages)
            .map_err(|malformed| Breach::from(malformed).refuse(Fits::default()))?;
        if let Err(breach) = self.fits(&request, request.traffic()) {
            self.make_room(&request, breach)?;
        }
        Ok(self.enter(request))
    }

    /// Chooses budgets with which `request`, which does not fit with those that there
    /// are, does, and draws its plan.
    fn make_room(&mut self, request: &Request, breach: Breach) -> Result<(), Refusal> {
        if self.fit.is_none() || breach.constraint.is_overload() {
            return Err(breach.refuse(self.search_fits(request)));
        }
        self.refit(&[request]).map_err(|refusal| Refusal {
            fits: self.search_fits(request),
            ..refusal
        })?;
        // Flows that go the same ways were counted as one, and it rounds otherwise to look
        // again at each by itself.
        let drawn = self.plan.draw(request, request.traffic(), &self.stages);
        drawn.map_err(|breach| breach.refuse(Fits::default()))
    }

    /// Promises `request`, which is valid, what it asks for, without a look for
    /// what else could be.
    pub(super) fn promise(&mut self, request: Request) -> Result<Admitted, Breach> {
        self.fits(&request, request.traffic())?;
        Ok(self.enter(request))
    }

    /// Enters the flow whose plan has just been found to fit.
    fn enter(&mut self, request: Request) -> Admitted {
        let guarantee = self.guarantee();
        self.plan.reserve(&mut self.loads, &self.stages);
        let id = FlowId(self.next);
        self.next += 1;
        let admitted = Admitted {
            id,
            guarantee,
            leaves: self.base_leaves(),
            alternatives: self.worst_by_alternative(&request),
        };
        self.flows.insert(id, Arc::new(request));
        if let Some(fit) = &mut self.fit {
            fit.groups.singles.insert(id);
        }
        admitted
    }

    /// Takes a promise back and returns what had been asked for, or nothing if
    /// there is no such flow. All sums are then what they would be without it.
    pub fn withdraw(&mut self, id: FlowId) -> Option<Request> {
        let request = self.flows.remove(&id)?;
        // What it reserved follows from the request and the budgets that there are.
        if !self.leave_group(id, &request) {
            let drawn = self.plan.draw(&request, request.traffic(), &self.stages);
            drawn.expect("it was drawn when it was admitted");
            self.plan.release(&mut self.loads, &self.stages);
        }
        Some(Arc::unwrap_or_clone(request))
    }

    /// Counts work for which nothing is promised at a processing stage.
    ///
    /// # Errors
    ///
    /// If the budget of the stage, on which promises rest, would not hold, or the
    /// stage has no processor.
    pub fn declare_unpromised(&mut self, stage: StageId, work: BestEffort) -> Result<(), Refusal> {
        let frames = self.processing_work(stage, work)?;
        let counted = self.count_unpromised(stage, frames);
        counted.map_err(|breach| breach.refuse(Fits::default()))
    }

    /// Counts frames for which nothing is promised at a processing stage, if its
    /// budget holds.
    pub(super) fn count_unpromised(
        &mut self,
        stage: StageId,
        frames: FrameBucket,
    ) -> Result<(), Breach> {
        let at = stage.index();
        self.loads[at].add_unpromised(frames);
        self.start_from_nothing();
        let fits = stage_fits(stage, &self.stages, &self.loads[at], 0);
        let fits = fits.or_else(|breach| match self.fit.is_some() {
            true => match self.make_room_for_unpromised(stage) {
                Some(()) if self.flows.is_empty() => {
                    stage_fits(stage, &self.stages, &self.loads[at], 0)
                }
                Some(()) => Ok(()),
                None => Err(breach),
            },
            false => Err(breach),
        });
        fits.inspect_err(|_| self.loads[at].remove_unpromised(frames))
    }

    /// Returns the frames for which nothing is promised, by processing stage.
    pub(super) fn unpromised_work(&self) -> impl Iterator<Item = (StageId, FrameBucket)> {
        let stages = (0..).map(StageId).zip(&self.stages).zip(&self.loads);
        stages.filter_map(|((id, stage), load)| match stage {
            Stage::Processing { .. } => Some((id, load.unpromised())),
            Stage::Port { .. } => None,
        })
    }

    /// Takes back what [`declare_unpromised`](Self::declare_unpromised) counted.
    ///
    /// # Errors
    ///
    /// If the stage has no processor.
    ///
    /// # Panics
    ///
    /// If that much had not been declared.
    pub fn retract_unpromised(&mut self, stage: StageId, work: BestEffort) -> Result<(), Refusal> {
        let frames = self.processing_work(stage, work)?;
        self.loads[stage.index()].remove_unpromised(frames);
        Ok(())
    }

    pub(super) fn requests(&self) -> impl Iterator<Item = (FlowId, &Request)> {
        let flows = self.flows.iter();
        flows.map(|(id, request)| (*id, request.as_ref()))
    }

    pub(super) fn load(&self, stage: StageId) -> &StageLoad {
        &self.loads[stage.index()]
    }

    pub(super) fn fits(&mut self, request: &Request, traffic: TokenBucket) -> Result<(), Breach> {
        self.plan.draw(request, traffic, &self.stages)?;
        plan_fits(&self.plan, &self.stages, &self.loads)
    }

    /// Returns the worst of the base tree's leaves in the plan, and of those where
    /// second copies arrive.
    fn guarantee(&self) -> Delay {
        let leaves = self.plan.leaves().iter();
        let base = leaves.filter(|leaf| leaf.failure.is_none());
        base.map(|leaf| leaf.latest)
            .chain(self.plan.second_copy)
            .max()
            .expect("a tree has a leaf")
    }

    fn base_leaves(&self) -> Vec<(usize, Delay)> {
        let leaves = self.plan.leaves().iter();
        let base = leaves.filter(|leaf| leaf.failure.is_none());
        base.map(|leaf| (leaf.hop, leaf.latest)).collect()
    }

    fn worst_by_alternative(&self, request: &Request) -> Vec<(FailureId, Delay)> {
        let worst = |failure| {
            let leaves = self.plan.leaves().iter();
            let latest = leaves.filter(|leaf| leaf.failure == Some(failure));
            latest
                .map(|leaf| leaf.latest)
                .max()
                .expect("a tree has a leaf")
        };
        let alternatives = request.alternatives.iter();
        alternatives
            .map(|(failure, _)| (*failure, worst(*failure)))
            .collect()
    }

    /// Finds what would be admitted instead of `request`. Less is never harder
    /// to admit, so halving the range finds the largest.
    fn search_fits(&mut self, request: &Request) -> Fits {
        if !self.is_searched() {
            return Fits::default();
        }
        let (rate, burst) = (request.rate, request.burst);
        let highest = search_largest(1, rate.as_bps(), |bps| {
            let traffic = TokenBucket::new(BitRate::from_bps(bps), burst);
            self.takes(&request.cut_to(traffic))
        });
        let frame = request.largest_frame.as_bits();
        let largest = search_largest(frame, burst.as_bits(), |bits| {
            let traffic = TokenBucket::new(rate, DataSize::from_bits(bits));
            self.takes(&request.cut_to(traffic))
        });
        Fits {
            rate: highest.and_then(BitRate::new),
            burst: largest.map(DataSize::from_bits),
        }
    }

    fn processing_work(&self, stage: StageId, work: BestEffort) -> Result<FrameBucket, Refusal> {
        let refuse = |malformed| Err(Breach::from(malformed).refuse(Fits::default()));
        match self.stages.get(stage.index()) {
            None => refuse(Malformed::UnknownStage { stage }),
            Some(Stage::Port { .. }) => refuse(Malformed::NotAProcessor { stage }),
            Some(Stage::Processing { .. }) => match work.validate() {
                Ok(()) => Ok(FrameBucket::of(work.traffic, work.smallest_frame)),
                Err(malformed) => refuse(malformed),
            },
        }
    }
}

/// Two ledgers are equal if they have the same stages, promises and sums; how
/// many promises have been made and taken back does not matter. Where budgets follow
/// the flows, sums follow from who came since they were last chosen, which does not
/// matter either.
impl PartialEq for Ledger {
    fn eq(&self, other: &Self) -> bool {
        self.stages == other.stages
            && self.flows == other.flows
            && (self.fit.is_some() || self.loads == other.loads)
    }
}

impl Eq for Ledger {}

/// Returns the largest number from `least` to below `most` that fits.
pub(super) fn search_largest(
    least: u64,
    most: u64,
    mut fits: impl FnMut(u64) -> bool,
) -> Option<u64> {
    if least >= most || !fits(least) {
        return None;
    }
    let (mut good, mut bad) = (least, most);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match fits(middle) {
            true => good = middle,
            false => bad = middle,
        }
    }
    Some(good)
}
