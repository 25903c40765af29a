//! Who has entries at switches: flows, intents and applications.
//!
//! They are told what becomes of their entries, so they are below the tables, which they
//! know nothing of.

use crate::applications::Applications;
use crate::flows::Flows;
use crate::forwarding::Forwarding;
use crate::intents::Intents;
use crate::northbound::Manifest;
use crate::packet_in_classes::Budgets;

use super::leaving::Leaving;

/// Who has entries at switches.
#[derive(Debug)]
pub(super) struct Owners {
    pub(super) flows: Flows,
    pub(super) leaving: Leaving,
    pub(super) intents: Intents,
    pub(super) applications: Applications,
    /// The application that forwards what no flow claims, if one is to.
    pub(super) forwarding: Option<Forwarding>,
    /// Whether every two known hosts are to be connected.
    pub(super) is_proactive: bool,
}

impl Owners {
    /// Starts with the applications that are configured.
    ///
    /// # Panics
    ///
    /// If they cannot be loaded together.
    pub(super) fn new(configured: Vec<Manifest>) -> Self {
        let applications = Applications::configured(configured)
            .unwrap_or_else(|error| panic!("the configuration cannot be: {error}"));
        Self {
            flows: Flows::default(),
            leaving: Leaving::default(),
            intents: Intents::default(),
            applications,
            forwarding: None,
            is_proactive: false,
        }
    }

    /// Returns what is taken of the frames that switches hand over.
    pub(super) const fn budgets(&self) -> &'static Budgets {
        match self.forwarding {
            Some(_) => &Budgets::FORWARDING,
            None => &Budgets::LEARNING,
        }
    }
}
