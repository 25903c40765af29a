//! Whether what a requirement says of levels can be.

use crate::modes::MAX_MODAL_FLOWS;
use crate::northbound::Requirement;
use crate::refusal::Refusal;

use super::super::{ModeDesk, Owners};

impl ModeDesk {
    /// Checks what a requirement says of levels; there is room for it.
    pub fn check_levels(&self, owners: &Owners, requirement: &Requirement) -> Result<(), Refusal> {
        if requirement.modes.is_none() {
            return Ok(());
        }
        let Some(modes) = &self.settings else {
            return Err(Refusal::NoModes);
        };
        modes.check_flow(requirement)?;
        match modes.flows.len() + owners.flows.modal().len() < MAX_MODAL_FLOWS {
            true => Ok(()),
            false => Err(Refusal::TooManyModalFlows {
                limit: MAX_MODAL_FLOWS,
            }),
        }
    }
}
