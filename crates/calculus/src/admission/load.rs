//! What has been reserved at a stage, and under which failures.

use std::collections::BTreeMap;

use units::DataSize;

use super::reservation::{Reservation, Share};
use super::sides::{SideArrivals, Sides};
use super::stage::{FailureId, Stage};
use crate::bounds::processing::FrameBucket;
use crate::bounds::strict_priority::{CLASSES, ClassLoad};

/// The sum of what flows bring to a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReservedLoad {
    /// At a processor all frames are equal, those without promise too.
    Processing(FrameBucket),
    /// At a port each class has its own sum.
    Port([ClassLoad; CLASSES]),
}

impl ReservedLoad {
    fn nothing(stage: &Stage) -> Self {
        match stage {
            Stage::Processing { .. } => Self::Processing(FrameBucket::default()),
            Stage::Port { .. } => Self::Port([ClassLoad::default(); CLASSES]),
        }
    }

    fn is_nothing(&self) -> bool {
        match self {
            Self::Processing(frames) => *frames == FrameBucket::default(),
            Self::Port(classes) => *classes == [ClassLoad::default(); CLASSES],
        }
    }

    /// Adds what `reservation` brings.
    pub(super) fn add(&mut self, reservation: &Reservation) {
        match (self, reservation.share()) {
            (Self::Processing(frames), Share::Processing(share)) => *frames += share,
            (Self::Port(classes), Share::Port(share, _)) => {
                let load = &mut classes[usize::from(reservation.class)];
                load.traffic += share;
                // Otherwise its frames are those counted always.
                if reservation.is_whole() {
                    load.largest_frame = load.largest_frame.max(reservation.largest_frame);
                }
            }
            (Self::Processing(_), Share::Port(..)) | (Self::Port(_), Share::Processing(_)) => {
                kinds_differ()
            }
        }
    }

    /// Takes away what `reservation` brought, but for its largest frame, which
    /// only a look at the other flows can tell.
    fn subtract(&mut self, reservation: &Reservation) {
        match (self, reservation.share()) {
            (Self::Processing(frames), Share::Processing(share)) => *frames -= share,
            (Self::Port(classes), Share::Port(share, _)) => {
                classes[usize::from(reservation.class)].traffic -= share;
            }
            (Self::Processing(_), Share::Port(..)) | (Self::Port(_), Share::Processing(_)) => {
                kinds_differ()
            }
        }
    }

    /// Raises what is less than in another load, of one class.
    fn raise_class_to(&mut self, class: u8, other: &Self) {
        match (self, other) {
            (Self::Port(classes), Self::Port(other)) => {
                let (load, other) = (&mut classes[usize::from(class)], &other[usize::from(class)]);
                load.traffic = load.traffic.max(other.traffic);
                load.largest_frame = load.largest_frame.max(other.largest_frame);
            }
            (all, other) => all.raise_to(other),
        }
    }

    /// Raises what is less than in another load.
    fn raise_to(&mut self, other: &Self) {
        match (self, other) {
            (Self::Processing(frames), Self::Processing(other)) => {
                frames.rate_per_second = frames.rate_per_second.max(other.rate_per_second);
                frames.burst = frames.burst.max(other.burst);
            }
            (Self::Port(classes), Self::Port(other)) => {
                for (load, other) in classes.iter_mut().zip(other) {
                    load.traffic = load.traffic.max(other.traffic);
                    load.largest_frame = load.largest_frame.max(other.largest_frame);
                }
            }
            (Self::Processing(_), Self::Port(_)) | (Self::Port(_), Self::Processing(_)) => {
                kinds_differ()
            }
        }
    }

    /// Adds what comes on top under a failure.
    fn add_load(&mut self, more: &Self) {
        match (self, more) {
            (Self::Processing(frames), Self::Processing(more)) => *frames += *more,
            (Self::Port(classes), Self::Port(more)) => {
                for (load, more) in classes.iter_mut().zip(more) {
                    load.traffic += more.traffic;
                    load.largest_frame = load.largest_frame.max(more.largest_frame);
                }
            }
            (Self::Processing(_), Self::Port(_)) | (Self::Port(_), Self::Processing(_)) => {
                kinds_differ()
            }
        }
    }
}

/// Everything that is reserved at one stage.
#[derive(Clone, Debug)]
pub(super) struct StageLoad {
    base: ReservedLoad,
    /// The failures under which something comes on top, in order.
    failures: Vec<FailureId>,
    /// What that is, in the same order.
    extras: Vec<ReservedLoad>,
    /// What no failure is beyond: never less than what comes on top under any, and more
    /// for a while after something was taken back.
    ceiling: ReservedLoad,
    /// How often something was taken back since the ceiling was computed.
    lowered: usize,
    /// How many flows have a frame of this size as their largest.
    sizes: BTreeMap<(Option<FailureId>, u8, DataSize), u32>,
    /// The same, by where it comes from.
    sides: Sides,
    /// What has no promise and is in `base` too.
    unpromised: FrameBucket,
}

/// How high the ceiling is says nothing of what is reserved.
impl PartialEq for StageLoad {
    fn eq(&self, other: &Self) -> bool {
        let reserved = |it: &Self| (it.base.clone(), it.unpromised);
        reserved(self) == reserved(other)
            && self.failures == other.failures
            && self.extras == other.extras
            && self.sizes == other.sizes
            && self.sides == other.sides
    }
}

impl Eq for StageLoad {}

impl StageLoad {
    pub(super) fn nothing(stage: &Stage) -> Self {
        Self {
            base: ReservedLoad::nothing(stage),
            failures: Vec::new(),
            extras: Vec::new(),
            ceiling: ReservedLoad::nothing(stage),
            lowered: 0,
            sizes: BTreeMap::new(),
            sides: Sides::default(),
            unpromised: FrameBucket::default(),
        }
    }

    /// Returns the cases that differ: nothing broken, and each failure under which
    /// more is reserved.
    pub(super) fn cases(&self) -> impl Iterator<Item = Option<FailureId>> {
        let failures = self.failures.iter().copied().map(Some);
        std::iter::once(None).chain(failures)
    }

    /// Returns what is always reserved, and what comes on top under `failure`.
    pub(super) fn parts(
        &self,
        failure: Option<FailureId>,
    ) -> (&ReservedLoad, Option<&ReservedLoad>) {
        let at = failure.and_then(|failure| self.find(failure).ok());
        (&self.base, at.map(|at| &self.extras[at]))
    }

    /// Returns what is always reserved, and at least what comes on top under any failure.
    pub(super) fn worst(&self) -> (&ReservedLoad, Option<&ReservedLoad>) {
        (&self.base, Some(&self.ceiling))
    }

    /// Returns whether no failure is beyond the ceiling.
    #[cfg(test)]
    pub(super) fn ceiling_holds(&self) -> bool {
        let mut raised = self.ceiling.clone();
        for load in &self.extras {
            raised.raise_to(load);
        }
        raised == self.ceiling
    }

    /// Returns all that is reserved under `failure`, or while nothing is broken.
    pub(super) fn total(&self, failure: Option<FailureId>) -> ReservedLoad {
        let (base, extra) = self.parts(failure);
        let mut total = base.clone();
        if let Some(extra) = extra {
            total.add_load(extra);
        }
        total
    }

    /// Returns all that is reserved under `failure`, or while nothing is broken,
    /// and `more`, by where it comes from.
    pub(super) fn arrivals(
        &self,
        failure: Option<FailureId>,
        more: &[Reservation],
    ) -> SideArrivals {
        self.sides.under(failure, more)
    }

    /// Returns what has been declared without promise.
    pub(super) fn unpromised(&self) -> FrameBucket {
        self.unpromised
    }

    /// Adds a reservation.
    pub(super) fn reserve(&mut self, reservation: &Reservation, stage: &Stage) {
        match reservation.failure {
            None => self.base.add(reservation),
            Some(failure) => {
                let at = self.case_at(failure, stage);
                self.extras[at].add(reservation);
                let class = reservation.class;
                self.ceiling.raise_class_to(class, &self.extras[at]);
            }
        }
        self.sides.add(reservation);
        if reservation.is_whole() {
            *self.sizes.entry(size_key(reservation)).or_insert(0) += 1;
        }
    }

    /// Takes a reservation back, so that nothing tells that it has been there.
    pub(super) fn release(&mut self, reservation: &Reservation, stage: &Stage) {
        self.sides.subtract(reservation);
        let largest = reservation
            .is_whole()
            .then(|| self.forget_size(reservation));
        let at = reservation
            .failure
            .map(|failure| self.case_at(failure, stage));
        let load = at.map_or(&mut self.base, |at| &mut self.extras[at]);
        load.subtract(reservation);
        match (load, largest) {
            (ReservedLoad::Port(classes), Some(largest)) => {
                classes[usize::from(reservation.class)].largest_frame = largest;
            }
            (ReservedLoad::Port(_), None) | (ReservedLoad::Processing(_), _) => {}
        }
        if let Some(at) = at {
            self.lower(at, stage);
        }
    }

    /// Forgets a failure under which nothing comes on top any more, and computes the
    /// ceiling anew when as much has been taken back as there are failures: so that
    /// costs no more than what was taken back.
    fn lower(&mut self, at: usize, stage: &Stage) {
        // Where only frames are more, there is something all the same.
        if self.extras[at].is_nothing() && !self.sides.have(self.failures[at]) {
            self.failures.remove(at);
            self.extras.remove(at);
        }
        self.lowered += 1;
        if self.lowered > self.failures.len() {
            self.lowered = 0;
            self.ceiling = ReservedLoad::nothing(stage);
            for load in &self.extras {
                self.ceiling.raise_to(load);
            }
        }
    }

    /// Adds work for which nothing is promised.
    ///
    /// # Panics
    ///
    /// If the stage is a port.
    pub(super) fn add_unpromised(&mut self, more: FrameBucket) {
        self.unpromised += more;
        match &mut self.base {
            ReservedLoad::Processing(frames) => *frames += more,
            ReservedLoad::Port(_) => kinds_differ(),
        }
    }

    /// Takes work away for which nothing was promised.
    ///
    /// # Panics
    ///
    /// If the stage is a port, or less than that has been declared.
    pub(super) fn remove_unpromised(&mut self, less: FrameBucket) {
        self.unpromised -= less;
        match &mut self.base {
            ReservedLoad::Processing(frames) => *frames -= less,
            ReservedLoad::Port(_) => kinds_differ(),
        }
    }

    /// Returns the place of a failure; a new one if nothing came under it.
    fn case_at(&mut self, failure: FailureId, stage: &Stage) -> usize {
        self.find(failure).unwrap_or_else(|at| {
            self.failures.insert(at, failure);
            self.extras.insert(at, ReservedLoad::nothing(stage));
            at
        })
    }

    fn find(&self, failure: FailureId) -> Result<usize, usize> {
        self.failures.binary_search(&failure)
    }

    /// Forgets one flow's largest frame and returns the largest of the others.
    fn forget_size(&mut self, reservation: &Reservation) -> DataSize {
        let key = size_key(reservation);
        let flows = self
            .sizes
            .get_mut(&key)
            .expect("what is released was reserved");
        *flows -= 1;
        if *flows == 0 {
            self.sizes.remove(&key);
        }
        let (failure, class, _) = key;
        let of_class = (failure, class, DataSize::ZERO)..=(failure, class, LARGEST_POSSIBLE);
        let largest = self.sizes.range(of_class).next_back();
        largest.map_or(DataSize::ZERO, |((_, _, size), _)| *size)
    }
}

const LARGEST_POSSIBLE: DataSize = DataSize::from_bits(u64::MAX);

fn size_key(reservation: &Reservation) -> (Option<FailureId>, u8, DataSize) {
    let Reservation {
        failure,
        class,
        largest_frame,
        ..
    } = *reservation;
    (failure, class, largest_frame)
}

fn kinds_differ() -> ! {
    unreachable!("loads and reservations are made for the kind of their stage")
}
