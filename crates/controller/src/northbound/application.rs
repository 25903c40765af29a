//! Who asks, and what it was granted (S1-9).

use std::collections::BTreeSet;
use std::fmt;

use super::{Intent, IntentKind, Request};

/// The longest name of an application.
pub const MAX_APPLICATION_NAME: usize = 64;
/// The most applications at a time.
pub const MAX_APPLICATIONS: usize = 64;

/// An application that is loaded; never given twice while the controller runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApplicationId(pub u16);

/// Who asks something of the controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Asker {
    /// The people who operate the network, and the program around the controller:
    /// everything is granted.
    Operator,
    /// The application with this name: what its manifest declares is granted.
    Application(String),
}

/// Something that an application may see or do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    /// See switches, ports, links and paths.
    SeeTopology,
    /// See hosts and where they are.
    SeeHosts,
    /// See flows, intents and what was promised.
    SeeFlows,
    /// See the rules of switches.
    SeeRules,
    /// Receive frames that no rule claims.
    ReceiveFrames,
    SendFrames,
    AdmitFlows,
    /// Add and remove connectivity intents and flow paths.
    WriteIntents,
    /// Add and remove rules of match and action.
    WriteRules,
    ChangeHosts,
    /// Change settings, load and unload applications.
    Configure,
}

impl Permission {
    pub const ALL: [Self; 11] = [
        Self::SeeTopology,
        Self::SeeHosts,
        Self::SeeFlows,
        Self::SeeRules,
        Self::ReceiveFrames,
        Self::SendFrames,
        Self::AdmitFlows,
        Self::WriteIntents,
        Self::WriteRules,
        Self::ChangeHosts,
        Self::Configure,
    ];

    /// Returns its name, as manifests and messages spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::SeeTopology => "see-topology",
            Self::SeeHosts => "see-hosts",
            Self::SeeFlows => "see-flows",
            Self::SeeRules => "see-rules",
            Self::ReceiveFrames => "receive-frames",
            Self::SendFrames => "send-frames",
            Self::AdmitFlows => "admit-flows",
            Self::WriteIntents => "write-intents",
            Self::WriteRules => "write-rules",
            Self::ChangeHosts => "change-hosts",
            Self::Configure => "configure",
        }
    }

    /// Returns what it takes to ask this.
    #[must_use]
    pub fn to_ask(request: &Request) -> Self {
        match request {
            Request::Admit(_)
            | Request::AdmitTogether(_)
            | Request::MakeRoom(_)
            | Request::Withdraw(_) => Self::AdmitFlows,
            Request::WhatIf(_)
            | Request::Flows
            | Request::FlowsAfter { .. }
            | Request::Flow(_)
            | Request::Promises
            | Request::Prepare(_)
            | Request::AssignClasses { .. }
            | Request::Intents => Self::SeeFlows,
            Request::AddIntents(intents) => match intents.iter().any(is_match_action) {
                true => Self::WriteRules,
                false => Self::WriteIntents,
            },
            Request::RemoveIntent(_) => Self::WriteIntents,
            Request::Rules(_) => Self::SeeRules,
            Request::ForgetSwitch(_)
            | Request::Reconcile(_)
            | Request::Configure(_)
            | Request::SetMode(_)
            | Request::Load(_)
            | Request::Unload(_)
            | Request::Reload(_) => Self::Configure,
            Request::Applications => Self::SeeTopology,
            Request::Topology
            | Request::Paths(_)
            | Request::View
            | Request::Settings
            | Request::Mode
            | Request::Statistics => Self::SeeTopology,
            Request::SetHost(_) | Request::RemoveHost(_) => Self::ChangeHosts,
        }
    }

    /// Returns the permission with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
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

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ApplicationKind {
    /// Forwards frames that no flow claims to where their destination was last
    /// seen.
    ReactiveForwarding,
    /// Forwards what is admitted and nothing else.
    Deterministic,
    /// Keeps every two known hosts connected before they send (S1-10).
    ProactiveRoutes,
    /// Runs elsewhere, and asks over the interface for programs.
    External,
}

impl ApplicationKind {
    /// The kinds that the controller itself brings.
    pub const BUILT_IN: [Self; 3] = [
        Self::ReactiveForwarding,
        Self::Deterministic,
        Self::ProactiveRoutes,
    ];

    /// Returns the kind with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let all = [Self::External].into_iter().chain(Self::BUILT_IN);
        all.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns what a built-in application does, and so has to declare.
    #[must_use]
    pub const fn needs(self) -> &'static [Permission] {
        match self {
            Self::ReactiveForwarding => &[
                Permission::SeeTopology,
                Permission::ReceiveFrames,
                Permission::SendFrames,
                Permission::WriteRules,
            ],
            Self::Deterministic => &[Permission::ReceiveFrames, Permission::WriteRules],
            Self::ProactiveRoutes => &[
                Permission::SeeTopology,
                Permission::SeeHosts,
                Permission::WriteIntents,
            ],
            Self::External => &[],
        }
    }

    /// Returns its name; a built-in application is called like its kind.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReactiveForwarding => "reactive-forwarding",
            Self::Deterministic => "deterministic",
            Self::ProactiveRoutes => "proactive-routes",
            Self::External => "external",
        }
    }
}

/// What an application declares before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its name, unique among those that are loaded.
    pub name: String,
    pub kind: ApplicationKind,
    /// What it may see and do.
    pub permissions: BTreeSet<Permission>,
    /// Whose rules go first where they conflict: the higher one's. Two of the same
    /// priority that conflict are refused.
    pub priority: u8,
}

impl Manifest {
    /// Returns the manifest of a built-in application: it declares what it needs,
    /// and the lowest priority.
    #[must_use]
    pub fn built_in(kind: ApplicationKind) -> Self {
        Self {
            name: kind.name().to_owned(),
            kind,
            permissions: kind.needs().iter().copied().collect(),
            priority: 0,
        }
    }
}

/// An application in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationSummary {
    pub id: ApplicationId,
    pub manifest: Manifest,
    /// How many intents it has.
    pub intents: usize,
    /// How many rules it has on all switches.
    pub rules: usize,
    /// How often it was refused something that it was not granted.
    pub denied: u64,
}
