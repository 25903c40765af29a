//! What a certificate holds.
//!
//! Three parts: what is *stated* ([`Network`] and each flow's [`Demand`]), which is
//! assumed and can be compared with what is there; what was *chosen* (budgets and
//! ways); and what is *promised* (guarantees). Whatever follows from these is not
//! written down but calculated: stages, the order of hops, windows, bursts, peaks,
//! probes, what switches have to do for traffic without promise, the delay of a
//! change of level.
//!
//! Whole numbers only, in bits, bits per second, picoseconds and millionths of a
//! frame, the unit in the name of each. A digest over everything closes the
//! document: it tells a changed certificate from one that never was right.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// What the first line of every certificate of this kind says.
pub const FORMAT: &str = "taktos certificate 2";
/// The longest certificate that is read, in bytes.
pub const LONGEST: usize = 256 << 20;

/// The promises of a network and what they rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`FORMAT`].
    pub format: String,
    /// What there is.
    pub network: Network,
    /// The budgets at each level, the lowest first; a network without levels has one.
    pub levels: Vec<Level>,
    /// The flows.
    pub flows: Vec<Flow>,
    /// SHA-256 of all that stands above, in hexadecimal digits.
    pub sha256: String,
    /// An Ed25519 signature of the digest, in hexadecimal digits, if somebody signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

/// The network as it is stated to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// Its name.
    pub name: String,
    /// What its switches are taken for.
    pub profiles: Vec<Profile>,
    /// Its switches.
    pub switches: Vec<Switch>,
    /// Its hosts.
    pub hosts: Vec<Host>,
    /// Its links.
    pub links: Vec<Link>,
    /// The queues that may have promises, 1 to 7; 7 is the most urgent.
    pub classes: Vec<u8>,
    /// The time between two probes of the controller at a port.
    pub probe_interval_ps: u64,
    /// Who changes the level.
    pub changes: Changes,
}

/// Who changes the level of criticality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Changes {
    /// Nobody: there is one level.
    Nobody,
    /// The switches, by signals ahead of all other frames: promises hold while they do.
    Switches,
    /// The controller, by other entries: promises hold at each level, and not while it
    /// does.
    Controller,
}

/// The profile of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// Its figures.
    pub figures: Figures,
    /// SHA-256 of its figures ([`Figures::digest`]), in hexadecimal digits.
    pub sha256: String,
}

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The longest time before its processor works at its pace, tables included.
    pub latency_ps: u64,
    /// The longest time that a frame occupies its processor, tables included.
    pub per_frame_ps: u64,
    /// How many frames it holds in all.
    pub pool_frames: u64,
    /// How many frames one queue of one port holds.
    pub queue_frames: u64,
}

/// A switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Its OpenFlow datapath id.
    pub datapath: u64,
    /// The name of its profile.
    pub profile: String,
}

/// A host: it has one link, to a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// What it may send without a promise, if anything.
    pub unpromised: Option<BestEffort>,
}

/// In any interval of length `t`, at most a frame of the largest and `rate * t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestEffort {
    /// The rate.
    pub rate_bps: u64,
    /// The largest frame, as on the wire.
    pub largest_frame_bit: u64,
    /// The smallest frame, as on the wire.
    pub smallest_frame_bit: u64,
}

/// A link, as fast in either direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it joins: two switches, or a switch and a host.
    pub ends: [End; 2],
    /// How fast it is.
    pub rate_bps: u64,
    /// How long a bit travels.
    pub propagation_ps: u64,
}

/// An end of a link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The switch or the host.
    pub node: String,
    /// The port there; a host has port 1.
    pub port: u32,
}

/// The budgets at a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Its name; nothing if there is but one.
    pub name: Option<String>,
    /// How long a frame may be at the processor of a switch.
    pub processors: Vec<ProcessorBudget>,
    /// How long a frame of a class may be at a port.
    pub ports: Vec<PortBudget>,
}

/// How long a frame may be at a processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorBudget {
    /// The switch.
    pub switch: String,
    /// How long.
    pub budget_ps: u64,
}

/// How long a frame of a class may be at a port, until its last bit has left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortBudget {
    /// The switch.
    pub switch: String,
    /// The number of the port.
    pub port: u32,
    /// The class.
    pub class: u8,
    /// How long.
    pub budget_ps: u64,
}

/// A flow and its promise. Ways are sets of links, by their places in the list of
/// links: each leads from the source to all receivers, and their order does not matter
/// unless its switches turn frames back: then ways are lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What was asked for.
    pub demand: Demand,
    /// How late a frame is at most at each level, the lowest first; nothing where the
    /// flow is given up. This is the promise.
    pub guarantees_ps: Vec<Option<u64>>,
    /// The links it crosses while nothing is broken.
    pub path: Vec<usize>,
    /// The links it crosses instead after a failure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Alternative>,
    /// The links that a second copy of each frame crosses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
}

/// What a flow asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demand {
    /// Its name.
    pub name: String,
    /// The host that sends.
    pub source: String,
    /// The hosts that receive.
    pub receivers: Vec<String>,
    /// What happens when a link breaks.
    pub protection: Protection,
    /// How much longer the switch that doubles its frames makes each of them; nothing where
    /// nobody does.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub tag_bit: u64,
    /// For how long at most the switch that drops second copies holds frames back that are
    /// ahead of missing ones, so that all go on in order; nothing if it hands on each as it
    /// comes.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub hold_ps: u64,
    /// How often both ends of each link between switches on its path send a BFD packet, if
    /// they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bfd_interval_ps: Option<u64>,
    /// What it brings and how late it may be at each level, the lowest first; nothing
    /// where it is given up.
    pub levels: Vec<Option<Service>>,
}

/// What happens to a flow when a link on its way breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// It waits, and nothing is promised meanwhile.
    None,
    /// It moves, whichever link between two switches breaks.
    Restore,
    /// The switch before the broken link sends its frames on by another port, which may lead
    /// back the way they came.
    FastFailover,
    /// A second copy of each frame takes another way.
    Copies,
}

/// What a flow brings at a level, sizes as on the wire, and how late it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Its class at every port.
    pub class: u8,
    /// Its rate.
    pub rate_bps: u64,
    /// Its burst.
    pub burst_bit: u64,
    /// Its largest frame.
    pub largest_frame_bit: u64,
    /// Its smallest frame.
    pub smallest_frame_bit: u64,
    /// How many frames it is, if not as many as fit of the smallest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// How late a frame may be.
    pub deadline_ps: u64,
}

/// In any interval of length `t`, at most `burst + rate * t` frames arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    /// The rate.
    pub millionths_per_second: u64,
    /// The burst.
    pub burst_millionths: u64,
}

/// What a flow does after a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// The link that is broken.
    pub without: usize,
    /// The links that it crosses then; where switches turn frames back, in order.
    pub path: Vec<usize>,
}

/// Where the second copies of a flow's frames go. As far as path and second path begin
/// with the same links, a frame is not doubled yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Copies {
    /// The links that they cross.
    pub path: Vec<usize>,
    /// The switch whose processor hands on the first copy and drops the other; nothing
    /// if the receivers do that.
    pub eliminator: Option<String>,
}

/// Why a text is no certificate, or no longer the one that was written.
#[derive(Debug, Error)]
pub enum Unreadable {
    /// It is too long.
    #[error("it has {size} bytes, and {LONGEST} are the most that is read")]
    TooLong {
        /// Its length.
        size: usize,
    },
    /// It does not have the form of a certificate.
    #[error("it does not have the form of a certificate: {0}")]
    Form(#[from] serde_json::Error),
    /// It is of another kind.
    #[error(
        "it calls itself `{found}`, and `{FORMAT}` is what is understood here: let `taktos \
         certify` write it anew"
    )]
    Format {
        /// What it calls itself.
        found: String,
    },
    /// It was changed after it had been written.
    #[error(
        "it was changed after it had been written: its digest is {found}, and should be {right}"
    )]
    Changed {
        /// What it says.
        found: String,
        /// What would be right.
        right: String,
    },
}

/// What every kind of certificate begins with.
#[derive(Deserialize)]
struct CertificateHeader {
    format: String,
}

impl Certificate {
    /// Reads a certificate and sees that it is unchanged. Whether it proves
    /// anything is another question, which [`check`](crate::check()) answers.
    ///
    /// # Errors
    ///
    /// What keeps it from being read.
    pub fn read(text: &str) -> Result<Self, Unreadable> {
        if text.len() > LONGEST {
            let size = text.len();
            return Err(Unreadable::TooLong { size });
        }
        let kind: CertificateHeader = serde_json::from_str(text)?;
        if kind.format != FORMAT {
            let found = kind.format.chars().take(FORMAT.len() * 2).collect();
            return Err(Unreadable::Format { found });
        }
        let certificate: Self = serde_json::from_str(text)?;
        let right = certificate.digest();
        if certificate.sha256 != right {
            let found = certificate.sha256;
            return Err(Unreadable::Changed { found, right });
        }
        Ok(certificate)
    }

    /// Closes the document with its digest, and without a signature.
    #[must_use]
    pub fn seal(mut self) -> Self {
        self.sha256 = self.digest();
        self.signature = None;
        self
    }

    /// Writes the document.
    ///
    /// # Panics
    ///
    /// Never: it consists of texts and numbers.
    #[must_use]
    pub fn write(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("texts and numbers are JSON");
        text + "\n"
    }

    /// Returns the digest of everything but the digest itself and its signature, which
    /// does not depend on how the text is laid out.
    fn digest(&self) -> String {
        let open = Self {
            sha256: String::new(),
            signature: None,
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&open).expect("texts and numbers are JSON");
        hexadecimal(&Sha256::digest(&bytes))
    }
}

impl Figures {
    /// Returns SHA-256 of the line `latency_ps=… per_frame_ps=… pool_frames=…
    /// queue_frames=…`, in hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        let Self {
            latency_ps,
            per_frame_ps,
            pool_frames,
            queue_frames,
        } = self;
        let line = format!(
            "latency_ps={latency_ps} per_frame_ps={per_frame_ps} pool_frames={pool_frames} \
             queue_frames={queue_frames}"
        );
        hexadecimal(&Sha256::digest(line.as_bytes()))
    }
}

/// What is left out of the document where it is nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_nothing(bits: &u64) -> bool {
    *bits == 0
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
