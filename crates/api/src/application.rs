//! Applications, and what they were granted (S1-9).

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An application that is loaded; never given twice while the controller runs.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[schemars(inline, with = "u16")]
pub struct ApplicationId(pub u16);

/// Who asks something of the controller. In documents `operator`, or the name of an
/// application.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(inline, with = "String")]
pub enum Asker {
    /// The people who operate the network, and the program around the controller:
    /// everything is granted.
    Operator,
    /// The application with this name: what its manifest declares is granted.
    Application(String),
}

impl Asker {
    /// What the operator is called in documents.
    const OPERATOR: &'static str = "operator";
}

impl From<String> for Asker {
    fn from(name: String) -> Self {
        match name.as_str() {
            Self::OPERATOR => Self::Operator,
            _ => Self::Application(name),
        }
    }
}

impl From<Asker> for String {
    fn from(asker: Asker) -> Self {
        match asker {
            Asker::Operator => Asker::OPERATOR.to_owned(),
            Asker::Application(name) => name,
        }
    }
}

/// Something that an application may see or do.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, with = "String")]
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
    /// Have switches send frames.
    SendFrames,
    /// Admit and withdraw flows.
    AdmitFlows,
    /// Add and remove connectivity intents and flow paths.
    WriteIntents,
    /// Add and remove rules of match and action.
    WriteRules,
    /// Name and remove hosts.
    ChangeHosts,
    /// Change which routes of other networks there are, and say how the speaker is.
    ChangeRoutes,
    /// Change settings, load and unload applications.
    Configure,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 12] = [
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
        Self::ChangeRoutes,
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
            Self::ChangeRoutes => "change-routes",
            Self::Configure => "configure",
        }
    }

    /// Returns the permission with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What an application is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline, with = "String")]
pub enum ApplicationKind {
    /// Forwards frames that no flow claims to where their destination was last
    /// seen.
    ReactiveForwarding,
    /// Forwards what is admitted and nothing else.
    Deterministic,
    /// Keeps every two known hosts connected before they send (S1-10).
    ProactiveRoutes,
    /// Makes the network a router among others, by the routes that a BGP speaker has learned
    /// (S1-10).
    SdnIp,
    /// Runs elsewhere, and asks over the interface for programs.
    External,
}

impl ApplicationKind {
    /// The kinds that the controller itself brings.
    pub const BUILT_IN: [Self; 4] = [
        Self::ReactiveForwarding,
        Self::Deterministic,
        Self::ProactiveRoutes,
        Self::SdnIp,
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
            Self::SdnIp => &[
                Permission::SeeTopology,
                Permission::SeeHosts,
                Permission::ReceiveFrames,
                Permission::SendFrames,
                Permission::WriteRules,
                Permission::ChangeRoutes,
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
            Self::SdnIp => "sdn-ip",
            Self::External => "external",
        }
    }
}

/// What an application declares before it is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Its name, unique among those that are loaded.
    pub name: String,
    /// What it is: `external`, or the name of a built-in one.
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ApplicationDocument")]
pub struct ApplicationSummary {
    /// Its number.
    pub id: ApplicationId,
    /// What it has declared.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// How many intents it has.
    pub intents: usize,
    /// How many rules it has on all switches.
    pub rules: usize,
    /// How often it was refused something that it was not granted.
    pub denied: u64,
}
