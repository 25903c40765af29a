//! Why a switch is not taken to be slower.

use thiserror::Error;

/// Why no corrected profile is offered or adopted; nothing has changed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProfileRefusal {
    /// All that was seen of it is explained, or nothing was seen.
    #[error("no frame was seen to stay there for longer than its profile explains")]
    NothingToExplain,
    /// It is taken to forward as fast as its links.
    #[error("it is taken to have no processor, so there is nothing to correct")]
    NoProcessor,
    /// Budgets stay as they are.
    #[error("where flows are promised something at levels of criticality, budgets do not change")]
    Levels,
    /// What is promised cannot be carried then, all of it.
    #[error("what is promised, all of it, cannot be carried then{}", at.as_ref().map_or_else(String::new, |at| format!(": {at} is asked for too much")))]
    Overload {
        /// Where.
        at: Option<String>,
    },
    /// No correction that was tried explains what was seen.
    #[error("no correction that was tried explains all that was seen")]
    Unexplained,
}
