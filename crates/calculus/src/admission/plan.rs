//! What a request would reserve, stage by stage and failure by failure.
//!
//! A frame reaches a hop in a *window* of time after it left its sender: no
//! earlier than the links take, no later than the budgets allow. Behind a window
//! of length `w` a flow's burst is `b + r * w`.
//!
//! After a failure a flow moves from its base tree to an alternative while frames
//! are under way, and back when it is healed. What is reserved under the failure
//! is the union of both trees. At a stage of both, the window spans both windows,
//! and so do the windows of the hops behind it in either tree: that covers frames
//! which began on one tree and were caught by the other on their way.
//!
//! A flow may also send a second copy of each frame on another tree, all the time.
//! Behind the stage that drops one of the copies the windows span both: either may
//! be the first to arrive. If that stage puts frames in order as well, they may be later
//! by as long as it holds those back that are ahead: then a missing one has been lost.
//! Where a copy of each comes they are not, as nobody waits longer than for the slower way
//! of an earlier frame (`docs/promises.md`); but what is promised holds whatever is lost.
//!
//! Where all frames of a flow come to a stage from the same stage before it, that
//! one is their *origin*: they come over one link, and no denser than it carries. If
//! that is a processor, they may all have come to it over one link as well, and are
//! as much denser now as it may have held some of them back for longer than others.

use units::{DataSize, Delay};

use super::arrival_window::{ArrivalWindow, behind, lay_windows};
use super::copies::{self, Passing};
use super::load::StageLoad;
use super::refusal::{Breach, Constraint};
use super::request::{Hop, Malformed, Redundant, Request, Tree};
use super::reservation::{FlowOrigin, Reservation, ReservedPart, Share, StageArrival};
use super::stage::{FailureId, Stage, StageId};
use crate::bounds::processing::FrameBucket;
use crate::min_plus::TokenBucket;

/// What a flow brings as it leaves its sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderTraffic<'a> {
    request: &'a Request,
    largest_frame: DataSize,
    traffic: TokenBucket,
    frames: FrameBucket,
    peak: Option<(TokenBucket, FrameBucket)>,
}

impl<'a> SenderTraffic<'a> {
    /// Returns what a flow brings that brings `traffic` in the long run.
    pub(super) fn new(request: &'a Request, traffic: TokenBucket) -> Self {
        Self {
            request,
            largest_frame: request.largest_frame,
            traffic,
            frames: request.frames_of(traffic),
            peak: request
                .peak
                .map(|peak| (peak, FrameBucket::of(peak, request.smallest_frame))),
        }
    }

    /// Returns what several flows bring that go the ways of `request` and have no
    /// sooner deadline.
    pub(super) fn of_many(
        request: &'a Request,
        largest_frame: DataSize,
        (traffic, frames): (TokenBucket, FrameBucket),
        peak: Option<(TokenBucket, FrameBucket)>,
    ) -> Self {
        Self {
            request,
            largest_frame,
            traffic,
            frames,
            peak,
        }
    }

    /// Returns bits and frames in the long run, and those of the peak if there is one.
    pub(super) fn buckets(&self) -> (TokenBucket, FrameBucket, Option<(TokenBucket, FrameBucket)>) {
        (self.traffic, self.frames, self.peak)
    }
}

/// The end of a tree and the latest that a frame arrives there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    /// The failure under which that is, or nothing while nothing is broken.
    pub(super) failure: Option<FailureId>,
    /// The place of the leaf in the tree.
    pub(super) hop: usize,
    pub(super) latest: Delay,
}

/// Computes what requests would reserve. Keeps its memory from one to the next,
/// so that computing another one takes none.
#[derive(Clone, Debug)]
pub(super) struct ReservationPlanner {
    /// First one for each hop of the base tree, then those under failures.
    pub(super) reservations: Vec<Reservation>,
    leaves: Leaves,
    /// The latest that a second copy arrives at a receiver, if there are any.
    pub(super) second_copy: Option<Delay>,
    in_base: MarkedStages,
    in_alternative: MarkedStages,
    base: Vec<ArrivalWindow>,
    alternative: Vec<ArrivalWindow>,
    /// The windows of the base tree's hops under a failure.
    base_under_failure: Vec<ArrivalWindow>,
}

impl ReservationPlanner {
    pub(super) fn new(stages: usize) -> Self {
        Self {
            reservations: Vec::new(),
            leaves: Leaves::default(),
            second_copy: None,
            in_base: MarkedStages::new(stages),
            in_alternative: MarkedStages::new(stages),
            base: Vec::new(),
            alternative: Vec::new(),
            base_under_failure: Vec::new(),
        }
    }

    /// Makes room for one stage more.
    pub(super) fn add_stage(&mut self) {
        self.in_base.marks.push((0, 0));
        self.in_alternative.marks.push((0, 0));
    }

    /// Reserves what has been drawn.
    pub(super) fn reserve(&self, loads: &mut [StageLoad], stages: &[Stage]) {
        for reservation in &self.reservations {
            let at = reservation.stage.index();
            loads[at].reserve(reservation, &stages[at]);
        }
    }

    /// Takes back what has been drawn, and was reserved.
    pub(super) fn release(&self, loads: &mut [StageLoad], stages: &[Stage]) {
        for reservation in &self.reservations {
            let at = reservation.stage.index();
            loads[at].release(reservation, &stages[at]);
        }
    }

    /// Returns when frames reach the receivers: first on the base tree, then
    /// under failures on either tree.
    pub(super) fn leaves(&self) -> &[Leaf] {
        &self.leaves.noted
    }

    /// Returns whether something else comes to a stage under a failure than always does.
    pub(super) fn replaces(&self, stage: StageId, failure: Option<FailureId>) -> bool {
        let mut reservations = self.reservations.iter();
        failure.is_some()
            && reservations.any(|it| it.stage == stage && it.failure == failure && !it.is_whole())
    }

    /// Checks what can be checked without knowing what has been promised.
    pub(super) fn validate(
        &mut self,
        request: &Request,
        stages: &[Stage],
    ) -> Result<(), Malformed> {
        super::request::validate(request, stages, &mut self.in_alternative)
    }

    /// Computes what a valid `request` would reserve if it brought `traffic`.
    pub(super) fn draw(
        &mut self,
        request: &Request,
        traffic: TokenBucket,
        stages: &[Stage],
    ) -> Result<(), Breach> {
        self.draw_sent(SenderTraffic::new(request, traffic), stages)
    }

    /// Computes what flows would reserve that bring `sent`.
    pub(super) fn draw_sent(
        &mut self,
        sent: SenderTraffic<'_>,
        stages: &[Stage],
    ) -> Result<(), Breach> {
        let request = sent.request;
        self.reservations.clear();
        self.leaves.noted.clear();
        if request.initial > request.deadline {
            return Err(too_late(request.initial, request, None));
        }
        self.second_copy = None;
        self.draw_base(sent, stages)?;
        if let Some(redundant) = &request.redundant {
            return self.draw_redundant(redundant, sent, stages);
        }
        for (failure, tree) in &request.alternatives {
            self.draw_alternative(sent, stages, (*failure, tree))?;
        }
        Ok(())
    }

    fn draw_base(&mut self, sent: SenderTraffic<'_>, stages: &[Stage]) -> Result<(), Breach> {
        let request = sent.request;
        let tree = &request.base;
        self.in_base.mark_all(tree);
        lay_windows(
            &mut self.base,
            tree,
            None,
            request,
            stages,
            |_, _, window| window,
        )?;
        self.leaves
            .note((tree, &self.base), None, request, stages)?;
        for (hop, window) in tree.hops.iter().zip(&self.base) {
            let origin = tree.origin(hop, stages);
            let reservation = passing(hop.stage, origin, stages, sent, *window);
            self.reservations.push(reservation);
        }
        Ok(())
    }

    /// Adds to the base tree what second copies bring, which take another one at
    /// the same time.
    fn draw_redundant(
        &mut self,
        redundant: &Redundant,
        sent: SenderTraffic<'_>,
        stages: &[Stage],
    ) -> Result<(), Breach> {
        let request = sent.request;
        let (tree, eliminator) = (&redundant.tree, redundant.eliminator);
        self.in_alternative.mark_all(tree);
        let alone = |_, _, window| window;
        lay_windows(&mut self.alternative, tree, None, request, stages, alone)?;
        if let Some((eliminator, at, other)) = eliminator.and_then(|stage| {
            let other = self.in_alternative.find(stage)?;
            Some((stage, self.in_base.find(stage)?, other))
        }) {
            let copies = (self.base[at], self.alternative[other]);
            let either = copies.0.and(copies.1);
            let first = ArrivalWindow {
                latest: either.latest + redundant.hold,
                ..either
            };
            let join = |_, stage, window| if stage == eliminator { first } else { window };
            lay_windows(&mut self.base, &request.base, None, request, stages, join)?;
            lay_windows(&mut self.alternative, tree, None, request, stages, join)?;
            // It serves both copies, each within its own window.
            (self.base[at], self.alternative[other]) = copies;
            self.leaves.noted.clear();
            let base = (&request.base, self.base.as_slice());
            self.leaves.note(base, None, request, stages)?;
        }
        let known = self.leaves.noted.len();
        let second = (tree, self.alternative.as_slice());
        self.leaves.note(second, None, request, stages)?;
        let second = self.leaves.noted.drain(known..).map(|leaf| leaf.latest);
        self.second_copy = second.max();
        self.reserve_copies(redundant, sent, stages);
        Ok(())
    }

    /// Reserves what the copies on both trees bring.
    fn reserve_copies(&mut self, redundant: &Redundant, sent: SenderTraffic<'_>, stages: &[Stage]) {
        let (base, tree) = (&sent.request.base, &redundant.tree);
        let of_base = copies::passing(base, tree, redundant.eliminator);
        let of_tree = copies::passing(tree, base, redundant.eliminator);
        self.reservations.clear();
        let copy = |tree: &Tree, at: usize, windows: &[ArrivalWindow]| {
            let hop: &Hop = &tree.hops[at];
            let origin = tree.origin(hop, stages);
            // What the eliminator hands on came to it by the one tree or by the other; what it
            // held back goes on together.
            let merges = origin.stage.is_some() && origin.stage == redundant.eliminator;
            let origin = FlowOrigin {
                stage: origin
                    .stage
                    .filter(|_| !merges || redundant.hold == Delay::ZERO),
                link: origin.link.filter(|_| !merges),
            };
            arrival(hop.stage, origin, stages, sent, windows[at])
        };
        let second = |at: usize, windows: &[ArrivalWindow]| copy(tree, at, windows);
        for (at, hop) in base.hops.iter().enumerate() {
            let first = copy(base, at, &self.base);
            let other = self.in_alternative.find(hop.stage);
            let part = match other.filter(|_| of_base[at] == Passing::OwnCopy) {
                Some(other) => ReservedPart::Copies([first, second(other, &self.alternative)]),
                None => ReservedPart::Whole(first),
            };
            let reservation = reservation(hop.stage, None, sent, part);
            self.reservations.push(reservation);
        }
        for (at, hop) in tree.hops.iter().enumerate() {
            if of_tree[at] == Passing::OwnCopy && self.in_base.find(hop.stage).is_none() {
                let part = ReservedPart::Whole(second(at, &self.alternative));
                let reservation = reservation(hop.stage, None, sent, part);
                self.reservations.push(reservation);
            }
        }
    }

    fn draw_alternative(
        &mut self,
        sent: SenderTraffic<'_>,
        stages: &[Stage],
        (failure, tree): (FailureId, &Tree),
    ) -> Result<(), Breach> {
        let request = sent.request;
        self.in_alternative.mark_all(tree);
        let (in_base, base) = (&self.in_base, &self.base);
        let in_tree = &self.in_alternative;
        // Frames that are turned back come to a stage again, and by another entry.
        let is_first = |at, stage| in_tree.find(stage) == Some(at);
        let from_base = |hop, stage, window: ArrivalWindow| match in_base.find(stage) {
            Some(at) if is_first(hop, stage) => window.and(base[at]),
            Some(_) | None => window,
        };
        let under = Some(failure);
        lay_windows(
            &mut self.alternative,
            tree,
            under,
            request,
            stages,
            from_base,
        )?;

        let (in_alternative, alternative) = (&self.in_alternative, &self.alternative);
        let from_alternative = |_, stage, window: ArrivalWindow| match in_alternative.find(stage) {
            Some(at) => window.and(alternative[at]),
            None => window,
        };
        let windows = &mut self.base_under_failure;
        lay_windows(
            windows,
            &request.base,
            under,
            request,
            stages,
            from_alternative,
        )?;
        for ends in [
            (tree, &self.alternative),
            (&request.base, &self.base_under_failure),
        ] {
            self.leaves.note((ends.0, ends.1), under, request, stages)?;
        }
        self.reserve_under(failure, tree, sent, stages);
        Ok(())
    }

    /// Reserves what comes under a failure: at stages of the alternative alone what
    /// it brings there, and at those of the base tree what comes there by either,
    /// in place of what always does.
    fn reserve_under(
        &mut self,
        failure: FailureId,
        tree: &Tree,
        sent: SenderTraffic<'_>,
        stages: &[Stage],
    ) {
        let under = Some(failure);
        let base = &sent.request.base;
        // Frames that began on one tree may go on by the other behind a stage of both.
        let (in_base, in_alternative) = (&self.in_base, &self.in_alternative);
        let comes_from_one = |stage: &StageId| {
            let both = in_base.find(*stage).zip(in_alternative.find(*stage));
            both.is_none_or(|(at, other)| base.parent(at) == tree.parent(other))
        };
        let caught = |origin: FlowOrigin| FlowOrigin {
            stage: origin.stage,
            link: origin
                .link
                .filter(|_| origin.stage.as_ref().is_some_and(comes_from_one)),
        };
        for (hop, window) in tree.hops.iter().zip(&self.alternative) {
            if in_base.find(hop.stage).is_none() {
                let origin = caught(tree.origin(hop, stages));
                let whole = arrival(hop.stage, origin, stages, sent, *window);
                let whole = reservation(hop.stage, under, sent, ReservedPart::Whole(whole));
                self.reservations.push(whole);
            }
        }
        let hops = base.hops.iter().zip(&self.base_under_failure);
        for (at, (hop, window)) in hops.enumerate() {
            let ReservedPart::Whole(of) = self.reservations[at].part else {
                unreachable!("a flow with alternatives has no second copies")
            };
            let origin = match comes_from_one(&hop.stage) {
                true => caught(of.origin),
                false => FlowOrigin::default(),
            };
            let mut by = arrival(hop.stage, origin, stages, sent, *window);
            if let Some(again) = self.in_alternative.again(hop.stage) {
                let origin = FlowOrigin::default();
                let turned_back = self.alternative[again];
                by = by.and(arrival(hop.stage, origin, stages, sent, turned_back));
            }
            if by != of {
                let instead = reservation(hop.stage, under, sent, ReservedPart::Instead { of, by });
                self.reservations.push(instead);
            }
        }
    }
}

impl Tree {
    /// Returns the stage before a hop, by its place.
    fn parent(&self, hop: usize) -> Option<StageId> {
        let parent = self.hops[hop].parent;
        parent.map(|parent| self.hops[parent].stage)
    }

    /// Returns where frames come from to a hop.
    fn origin(&self, hop: &Hop, stages: &[Stage]) -> FlowOrigin {
        let before = hop.parent.map(|parent| self.hops[parent].stage);
        let port = hop.parent.and_then(|parent| self.parent(parent));
        let is_port = |stage: StageId| matches!(stages[stage.index()], Stage::Port { .. });
        match before.filter(|before| is_port(hop.stage) && !is_port(*before)) {
            Some(_) => FlowOrigin::leaving(before, port.filter(|port| is_port(*port))),
            None => FlowOrigin::leaving(None, before),
        }
    }
}

/// The receivers' ends of the trees in a plan.
#[derive(Clone, Debug, Default)]
struct Leaves {
    noted: Vec<Leaf>,
    /// Whether a hop of the tree in hand is a leaf.
    is_leaf: Vec<bool>,
}

impl Leaves {
    /// Notes when frames that are in `windows` at the hops of a tree reach its
    /// receivers, and that it is soon enough.
    fn note(
        &mut self,
        (tree, windows): (&Tree, &[ArrivalWindow]),
        failure: Option<FailureId>,
        request: &Request,
        stages: &[Stage],
    ) -> Result<(), Breach> {
        self.is_leaf.clear();
        self.is_leaf.resize(tree.hops.len(), true);
        for parent in tree.hops.iter().filter_map(|hop| hop.parent) {
            self.is_leaf[parent] = false;
        }
        let hops = windows.iter().enumerate();
        for (hop, window) in hops.filter(|(hop, _)| self.is_leaf[*hop]) {
            let stage = tree.hops[hop].stage;
            let latest = behind(*window, (stage, failure), request.class, stages)?.latest;
            if latest > request.deadline {
                return Err(too_late(latest, request, failure));
            }
            self.noted.push(Leaf {
                failure,
                hop,
                latest,
            });
        }
        Ok(())
    }
}

fn too_late(needed: Delay, request: &Request, failure: Option<FailureId>) -> Breach {
    Breach {
        stage: None,
        failure,
        constraint: Constraint::Deadline {
            needed,
            allowed: request.deadline,
        },
    }
}

/// Returns what a flow reserves that always passes `stage`, if frames come there
/// from `origin` in `window`.
pub(super) fn passing(
    stage: StageId,
    origin: FlowOrigin,
    stages: &[Stage],
    sent: SenderTraffic<'_>,
    window: ArrivalWindow,
) -> Reservation {
    let arrival = arrival(stage, origin, stages, sent, window);
    reservation(stage, None, sent, ReservedPart::Whole(arrival))
}

fn reservation(
    stage: StageId,
    failure: Option<FailureId>,
    sent: SenderTraffic<'_>,
    part: ReservedPart,
) -> Reservation {
    Reservation {
        stage,
        failure,
        class: sent.request.class,
        largest_frame: sent.largest_frame,
        part,
    }
}

/// Returns what a flow brings to a stage, to which it comes from `origin` in
/// `window`.
fn arrival(
    stage: StageId,
    origin: FlowOrigin,
    stages: &[Stage],
    sent: SenderTraffic<'_>,
    window: ArrivalWindow,
) -> StageArrival {
    let (stage, late) = (&stages[stage.index()], window.length());
    let share = |(traffic, frames): (TokenBucket, FrameBucket)| match stage {
        Stage::Processing { .. } => Share::Processing(frames.spread_by(late)),
        Stage::Port { .. } => Share::Port(traffic.spread_by(late), frames.spread_by(late)),
    };
    let long = share((sent.traffic, sent.frames));
    let link = origin.link.filter(|_| !sent.request.is_held_back);
    StageArrival {
        share: long,
        peak: sent.peak.map_or(long, share),
        origin: FlowOrigin { link, ..origin },
    }
}

/// Which stages a tree passes, and at which hop first.
#[derive(Clone, Debug)]
pub(super) struct MarkedStages {
    round: u64,
    marks: Vec<(u64, usize)>,
    /// The stages that are passed again, and at which hop.
    again: Vec<(StageId, usize)>,
}

impl MarkedStages {
    fn new(stages: usize) -> Self {
        Self {
            round: 0,
            marks: vec![(0, 0); stages],
            again: Vec::new(),
        }
    }

    /// Marks the stages of a tree and no others.
    fn mark_all(&mut self, tree: &Tree) {
        self.clear();
        for (at, hop) in tree.hops.iter().enumerate() {
            if self.mark(hop.stage, at).is_some() {
                self.again.push((hop.stage, at));
            }
        }
    }

    /// Forgets all marks.
    pub(super) fn clear(&mut self) {
        self.round += 1;
        self.again.clear();
    }

    /// Marks a stage, or returns the hop with which it is marked already.
    pub(super) fn mark(&mut self, stage: StageId, hop: usize) -> Option<usize> {
        let before = self.find(stage);
        if before.is_none() {
            self.marks[stage.index()] = (self.round, hop);
        }
        before
    }

    /// Returns the hop at which a stage is passed for the second time.
    fn again(&self, stage: StageId) -> Option<usize> {
        let (_, hop) = self.again.iter().find(|(again, _)| *again == stage)?;
        Some(*hop)
    }

    fn find(&self, stage: StageId) -> Option<usize> {
        let (round, hop) = self.marks[stage.index()];
        (round == self.round).then_some(hop)
    }
}
