//! Chooses the delay budgets of a network for the flows that it is to carry.
//!
//! Budgets are fixed before the first promise is given (S4-6): a promise once
//! given holds for the life of the network. Who knows the flows beforehand can
//! have the smallest budgets that admit all of them; whatever the configuration
//! gives already is a least. Nothing is reserved by asking.

use std::collections::BTreeMap;

use calculus::admission::{
    Headroom, Request, Stage, StageId, Unpromised, suggest_budgets_for_most,
};
use wire::openflow::DatapathId;

use crate::admission::{Place, Reservations, on_one_stage, port_stage, processing_stage};
use crate::config::{PortParameters, SwitchParameters};

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fitted {
    /// The parameters of the switches, with budgets.
    pub switches: BTreeMap<DatapathId, SwitchParameters>,
    /// The places of the requests for which there are no budgets beside those
    /// of the ones before them.
    pub left_out: Vec<usize>,
}

impl Reservations {
    /// Returns the smallest budgets for as many of `requests` as possible, the
    /// most important first; nothing if the network is too slow for what it does
    /// without any promise.
    #[must_use]
    pub fn fit(&self, requests: &[Request]) -> Option<Fitted> {
        let stages: Vec<Stage> = self
            .places
            .iter()
            .map(|place| self.stage_at(*place))
            .collect();
        let numbered = || (0..).map(StageId).zip(&self.places);
        let unpromised: Vec<(StageId, Unpromised)> = numbered()
            .flat_map(|(id, place)| self.work_at(*place).into_iter().map(move |work| (id, work)))
            .collect();
        let probes = numbered().filter_map(|(id, place)| match place {
            Place::Switch(_) => None,
            Place::Port(port) => {
                let probe = self
                    .work
                    .probe(self.parameters(port.datapath).port(port.port))?;
                Some(on_one_stage(&probe, id))
            }
        });
        let mut all: Vec<Request> = probes.collect();
        let probes = all.len();
        all.extend_from_slice(requests);

        let suggestion = suggest_budgets_for_most(&stages, &unpromised, &all, Headroom::default())?;
        let mut switches = self.switches.clone();
        for (place, stage) in self.places.iter().zip(&suggestion.stages) {
            give(&mut switches, *place, stage);
        }
        let left_out = suggestion
            .left_out
            .iter()
            .filter_map(|place| place.checked_sub(probes));
        Some(Fitted {
            switches,
            left_out: left_out.collect(),
        })
    }

    /// Returns a stage with the budgets of its configuration, nothing reserved.
    fn stage_at(&self, place: Place) -> Stage {
        match place {
            Place::Switch(datapath) => {
                let processing = self.parameters(datapath).processing;
                processing_stage(&processing.expect("only a processing stage has this place"))
            }
            Place::Port(port) => port_stage(self.parameters(port.datapath).port(port.port)),
        }
    }

    fn work_at(&self, place: Place) -> Vec<Unpromised> {
        match place {
            Place::Switch(datapath) => self.work.at(datapath, self.parameters(datapath)),
            Place::Port(_) => Vec::new(),
        }
    }
}

/// Writes the budgets of a stage into the parameters of its switch.
fn give(switches: &mut BTreeMap<DatapathId, SwitchParameters>, place: Place, stage: &Stage) {
    match (place, stage) {
        (Place::Switch(datapath), Stage::Processing { budget, .. }) => {
            let switch = switches.get_mut(&datapath);
            if let Some(processing) = switch.and_then(|switch| switch.processing.as_mut()) {
                processing.budget = *budget;
            }
        }
        (Place::Port(port), Stage::Port { budgets, .. }) => {
            if let Some(switch) = switches.get_mut(&port.datapath) {
                let parameters = *switch.port(port.port);
                let parameters = PortParameters {
                    budgets: *budgets,
                    ..parameters
                };
                switch.ports.insert(port.port, parameters);
            }
        }
        (Place::Switch(_), Stage::Port { .. }) | (Place::Port(_), Stage::Processing { .. }) => {
            unreachable!("a place has a stage of its kind")
        }
    }
}
