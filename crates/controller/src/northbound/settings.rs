//! How the controller goes about its work, as far as that can be changed while it
//! runs.

use crate::config::Metric;

use super::ForeignRules;

/// How the controller goes about its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Which paths are short. Flows stay on the ways that they were promised.
    pub metric: Metric,
    /// What is done with rules that are not the controller's.
    pub foreign_rules: ForeignRules,
}

/// What is to be otherwise; what is `None` stays as it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettingsChange {
    pub metric: Option<Metric>,
    /// What is done with rules that are not the controller's.
    pub foreign_rules: Option<ForeignRules>,
}

impl Settings {
    #[must_use]
    pub fn after(self, change: SettingsChange) -> Self {
        Self {
            metric: change.metric.unwrap_or(self.metric),
            foreign_rules: change.foreign_rules.unwrap_or(self.foreign_rules),
        }
    }
}
