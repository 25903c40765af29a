//! What the tables of switches should be, and what is done so that they are.

use std::collections::BTreeSet;

use wire::openflow::TransactionId;

use crate::confirmation::Confirmations;
use crate::desired::{Desired, EntryOwner};
use crate::northbound::{FlowId, ForeignRules};
use crate::session::Slot;

use super::links::Operation;
use super::reconciliation::Reconciliation;
use super::refusals::Refusals;
use super::staged_updates::{StagedUpdates, Unasked};

/// What the tables of switches should be, and how far they are.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) desired: Desired,
    pub(super) confirmations: Confirmations<Operation>,
    pub(super) moves: StagedUpdates,
    pub(super) unasked: Unasked,
    pub(super) refusals: Refusals,
    pub(super) reconciliation: Reconciliation,
    /// Bundles that failed, whose errors may still arrive.
    pub(super) refused_bundles: BTreeSet<(Slot, TransactionId)>,
    /// Flows whose prepared entries were sent and are not in the desired state
    /// yet.
    pub(super) unrecorded: BTreeSet<FlowId>,
    /// Those whose entries are to be looked at, as a switch was given what it lacked.
    pub(super) unsettled: BTreeSet<EntryOwner>,
}

impl Tables {
    pub(super) fn new(foreign: ForeignRules) -> Self {
        Self {
            desired: Desired::default(),
            confirmations: Confirmations::default(),
            moves: StagedUpdates::default(),
            unasked: Unasked::default(),
            refusals: Refusals::default(),
            reconciliation: Reconciliation::new(foreign),
            refused_bundles: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            unsettled: BTreeSet::new(),
        }
    }
}
