//! The delay budgets of a network, and how they follow its flows (S4-6).
//!
//! Where budgets are fitted, they are chosen anew whenever those that there are refuse a
//! flow, and guarantees move with them, below deadlines (`docs/promises.md`, "Budgets
//! that follow the flows"). Nothing in the network changes by that: no switch is told a
//! budget. Who knows the flows beforehand can have budgets chosen for all of them at once;
//! whatever the configuration gives is a least.

use std::collections::BTreeMap;

use calculus::admission::{Chosen, Largest, Request, Slowdown, Stage};
use units::Delay;
use wire::openflow::DatapathId;

use crate::admission::{LedgerPlace, ReservationId, Reservations};
use crate::config::{PortParameters, SwitchParameters};

/// The budgets that there are, and what was expected in vain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fitted {
    /// The parameters of switches, with the budgets that there are.
    pub switches: BTreeMap<DatapathId, SwitchParameters>,
    /// The places of the requirements that do not fit beside the others: a choice of as
    /// few as were found.
    pub left_out: Vec<usize>,
    /// The places of requirements that do not fit together, in sets of which none has a
    /// place with another in common: no choice leaves out fewer than there are sets.
    pub conflicts: Vec<Vec<usize>>,
}

impl Reservations {
    /// Chooses budgets for as many of `requests` as possible, rather for those that stand
    /// first, beside all that is promised. Nothing is reserved for them.
    pub fn prepare(&mut self, requests: &[Request]) -> Largest {
        self.ledger.prepare(requests)
    }

    /// Returns the switches of the configuration with the budgets that there are.
    #[must_use]
    pub fn fitted(&self) -> BTreeMap<DatapathId, SwitchParameters> {
        let mut switches = self.parameters.switches.clone();
        for (place, stage) in self.places.iter().zip(self.ledger.stages()) {
            give(&mut switches, *place, stage);
        }
        switches
    }

    /// Returns how often budgets have been chosen: guarantees may have moved when this
    /// has.
    #[must_use]
    pub fn choices(&self) -> u64 {
        self.ledger.choices()
    }

    /// Returns how many times as long as stated every processor might take when budgets
    /// were last chosen; nothing where they are not fitted.
    #[must_use]
    pub fn slowdown(&self) -> Option<Slowdown> {
        self.ledger.slowdown()
    }

    /// Returns the longest delay on any way of a flow that is reserved, where budgets are
    /// fitted.
    pub(crate) fn guarantee_now(&mut self, id: ReservationId) -> Option<Delay> {
        self.ledger.slowdown()?;
        self.ledger.guarantee_of(id)
    }

    /// Returns how long after these flows have stopped nothing that they have sent plays a
    /// role; nothing if that may be never.
    pub(crate) fn quiet_after(&self, leaving: &[ReservationId]) -> Option<Delay> {
        self.ledger.quiet_after(leaving)
    }

    /// Returns the budgets that there are, to go back to.
    pub(crate) fn chosen(&self) -> Chosen {
        self.ledger.chosen()
    }

    /// Goes back to budgets that there were when no fewer flows were reserved.
    pub(crate) fn choose_again(&mut self, before: &Chosen) {
        self.ledger.choose_again(before);
    }
}

/// Writes the budgets of a stage into the parameters of its switch. A class that no flow
/// uses is left without: with any budget but none it has to wait for a frame.
fn give(switches: &mut BTreeMap<DatapathId, SwitchParameters>, place: LedgerPlace, stage: &Stage) {
    match (place, stage) {
        (LedgerPlace::Switch(datapath), Stage::Processing { budget, .. }) => {
            let switch = switches.get_mut(&datapath);
            if let Some(processing) = switch.and_then(|switch| switch.processing.as_mut()) {
                processing.budget = *budget;
            }
        }
        (LedgerPlace::Port(port), Stage::Port { budgets, .. }) => {
            if let Some(switch) = switches.get_mut(&port.datapath) {
                let parameters = *switch.port(port.port);
                let parameters = PortParameters {
                    budgets: budgets.map(|budget| budget.filter(|it| *it > Delay::ZERO)),
                    ..parameters
                };
                switch.ports.insert(port.port, parameters);
            }
        }
        (LedgerPlace::Switch(_), Stage::Port { .. })
        | (LedgerPlace::Port(_), Stage::Processing { .. }) => {
            unreachable!("a place has a stage of its kind")
        }
    }
}
