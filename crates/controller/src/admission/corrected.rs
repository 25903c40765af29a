//! A switch that is slower than it was taken to be: what of that its stages explain, and
//! what is reserved when it is known (S4-5, S4-6).

use std::collections::BTreeMap;
use std::sync::Arc;

use calculus::admission::{Constraint, Lateness, MAX_DELAY, ProcessorTimes, Request, Stage};
use units::Delay;
use wire::openflow::DatapathId;

use super::{LedgerPlace, Refused, ReservationId, Reservations, Reserved};
use crate::northbound::Requirement;
use crate::place::PortId;
use crate::ways::Ways;

/// Why a switch cannot be taken to be slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uncorrectable {
    /// It is taken to have no processor that its ports share.
    NoProcessor,
    /// Flows are promised something at levels of criticality, where budgets stay as they are.
    Levels,
    /// What is promised, all of it, cannot be carried then.
    Overload {
        place: Option<LedgerPlace>,
        constraint: Constraint,
    },
}

/// Another processor, with what is reserved then and how late each flow can be.
pub type Correction = (Reservations, BTreeMap<ReservationId, Delay>);

impl Reservations {
    /// Returns what has changed whenever something is reserved, given back or chosen anew.
    pub(crate) fn generation(&self) -> (u64, u64) {
        (self.choices(), self.changes)
    }

    /// Returns what the processor of a switch is taken to be.
    pub(crate) fn processor(&self, datapath: DatapathId) -> Option<ProcessorTimes> {
        let processing = self.parameters(datapath).processing?;
        Some(ProcessorTimes {
            latency: processing.latency,
            per_frame: processing.per_frame,
            budget: self.budget_of(datapath).unwrap_or(processing.budget),
        })
    }

    fn budget_of(&self, datapath: DatapathId) -> Option<Delay> {
        let stage = *self.stages.get(&LedgerPlace::Switch(datapath))?;
        self.ledger.stages()[stage.0 as usize].budget(0)
    }

    /// Returns for how long a frame of `class` may stay in a switch that leaves by a port,
    /// with all that is promised, if frames are no later than promised when they come but for
    /// what the switches of `later` hold them back beyond their budgets, and no earlier by more
    /// than `early`.
    pub(crate) fn hop_bound(
        &self,
        port: PortId,
        class: u8,
        (later, early): (&[(DatapathId, Delay)], Delay),
    ) -> Option<Delay> {
        let later: Vec<_> = later
            .iter()
            .flat_map(|(datapath, by)| self.holding(*datapath).map(|stage| (stage, *by)))
            .collect();
        let stages = &later[..];
        let lateness = Lateness { stages, early };
        let bound = |place, class| match self.stages.get(&place) {
            Some(stage) => self.ledger.bound_at(*stage, class, &lateness),
            None => Some(Delay::ZERO),
        };
        let processor = bound(LedgerPlace::Switch(port.datapath), 0)?;
        processor.checked_add(bound(LedgerPlace::Port(port), class)?)
    }

    /// Returns the stages at which frames are counted that a switch holds back: its
    /// processor, or all its ports where it has none.
    fn holding(
        &self,
        datapath: DatapathId,
    ) -> impl Iterator<Item = calculus::admission::StageId> + '_ {
        let processor = self.stages.get(&LedgerPlace::Switch(datapath)).copied();
        let ports = self.stages.iter().filter_map(move |(place, stage)| {
            let is_port = matches!(place, LedgerPlace::Port(port) if port.datapath == datapath);
            (is_port && processor.is_none()).then_some(*stage)
        });
        processor.into_iter().chain(ports)
    }

    /// Returns the processor of a switch with so much of a delay more, as a longer time of a
    /// frame; nothing if that cannot be.
    pub(crate) fn with_longer_frames(
        &self,
        datapath: DatapathId,
        more: Delay,
    ) -> Option<ProcessorTimes> {
        let stage = *self.stages.get(&LedgerPlace::Switch(datapath))?;
        let bound = self.ledger.bound_at(stage, 0, &Lateness::default())?;
        let bound = bound.checked_add(more)?;
        Some(ProcessorTimes {
            per_frame: self.ledger.per_frame_for(stage, bound)?,
            ..self.processor(datapath)?
        })
    }

    /// Returns what is reserved if a switch has another processor, and how late each flow can
    /// be. Flows that are later than their deadline in `deadlines` are counted all the same.
    pub(crate) fn corrected(
        &self,
        datapath: DatapathId,
        times: ProcessorTimes,
        deadlines: &BTreeMap<ReservationId, Delay>,
    ) -> Result<Correction, Uncorrectable> {
        if self.modal.is_some() {
            return Err(Uncorrectable::Levels);
        }
        let mut parameters = (*self.parameters).clone();
        if !parameters.correct(datapath, times) {
            return Err(Uncorrectable::NoProcessor);
        }
        let mut corrected = self.clone();
        corrected.parameters = Arc::new(parameters);
        corrected.changes += 1;
        let Some(stage) = self.stages.get(&LedgerPlace::Switch(datapath)) else {
            return Ok((corrected, BTreeMap::new()));
        };
        let with = self.ledger.with_processor(*stage, times, deadlines);
        let (ledger, guarantees) = with.map_err(|refusal| Uncorrectable::Overload {
            place: refusal.stage.map(|stage| self.places[stage.0 as usize]),
            constraint: refusal.constraint,
        })?;
        if let Stage::Processing { budget, .. } = &ledger.stages()[stage.0 as usize]
            && ledger.slowdown().is_none()
        {
            let parameters = Arc::make_mut(&mut corrected.parameters);
            parameters.correct(
                datapath,
                ProcessorTimes {
                    budget: *budget,
                    ..times
                },
            );
        }
        corrected.ledger = ledger;
        Ok((corrected, guarantees))
    }

    /// Reserves what a flow sends, whenever that arrives: who is late goes on sending, and
    /// promises of others count it.
    ///
    /// # Errors
    ///
    /// If that does not fit beside what is promised.
    pub(crate) fn reserve_late(
        &mut self,
        requirement: &Requirement,
        source: PortId,
        ways: &Ways,
    ) -> Result<Reserved, Box<Refused>> {
        let patient = Requirement {
            deadline: Some(MAX_DELAY),
            ..requirement.clone()
        };
        self.reserve(&patient, source, ways)
    }

    /// Returns whether flows are promised something at levels of criticality.
    pub(crate) fn has_levels(&self) -> bool {
        self.modal.is_some()
    }

    /// Returns whether a flow is counted without its deadline.
    pub(crate) fn is_late(&self, id: ReservationId) -> bool {
        let request: Option<&Request> = self.ledger.request(id);
        request.is_some_and(|request| request.deadline == MAX_DELAY)
    }
}
