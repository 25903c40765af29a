//! What it takes to ask something.

use super::{Intent, IntentKind, Permission, Request};

/// The longest name of an application.
pub const MAX_APPLICATION_NAME: usize = 64;
/// The most applications at a time.
pub const MAX_APPLICATIONS: usize = 64;

impl Request {
    /// Returns what it takes to ask this.
    #[must_use]
    pub fn needs(&self) -> Permission {
        match self {
            Self::Admit(_) | Self::AdmitTogether(_) | Self::MakeRoom(_) | Self::Withdraw(_) => {
                Permission::AdmitFlows
            }
            Self::WhatIf(_)
            | Self::Flows
            | Self::FlowsAfter { .. }
            | Self::Flow(_)
            | Self::HopsAfter { .. }
            | Self::Promises
            | Self::Profiles
            | Self::SuggestContract(_)
            | Self::CorrectProfile { is_dry: true, .. }
            | Self::Prepare(_)
            | Self::AssignClasses { .. }
            | Self::Intents => Permission::SeeFlows,
            Self::AddIntents(intents) => match intents.iter().any(is_match_action) {
                true => Permission::WriteRules,
                false => Permission::WriteIntents,
            },
            Self::RemoveIntent(_) => Permission::WriteIntents,
            Self::Rules(_) => Permission::SeeRules,
            Self::ForgetSwitch(_)
            | Self::CorrectProfile { is_dry: false, .. }
            | Self::Reconcile(_)
            | Self::Configure(_)
            | Self::SetMode(_)
            | Self::ConfigureSdnIp(_)
            | Self::Load(_)
            | Self::Unload(_)
            | Self::Reload(_) => Permission::Configure,
            Self::Applications => Permission::SeeTopology,
            Self::Topology
            | Self::Paths(_)
            | Self::View
            | Self::Settings
            | Self::Mode
            | Self::RoutesAfter { .. }
            | Self::RoutingStatus
            | Self::Statistics => Permission::SeeTopology,
            Self::ChangeRoutes { .. } | Self::SpeakerState(_) => Permission::ChangeRoutes,
            Self::SetHost(_) | Self::RemoveHost(_) => Permission::ChangeHosts,
        }
    }
}

fn is_match_action(intent: &Intent) -> bool {
    match intent.kind {
        IntentKind::MatchAction { .. } => true,
        IntentKind::HostToHost { .. }
        | IntentKind::PointToPoint { .. }
        | IntentKind::Multicast { .. }
        | IntentKind::Path { .. } => false,
    }
}
