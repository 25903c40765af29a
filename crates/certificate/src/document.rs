//! What a certificate holds.
//!
//! Whole numbers only, in bits, bits per second, picoseconds and millionths of a
//! frame, the unit in the name of each. A digest over everything closes the
//! document: it tells a changed certificate from one that never was right.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

/// What the first line of every certificate of this kind says.
pub const FORMAT: &str = "taktos certificate 1";
/// The longest certificate that is read, in bytes.
pub const LONGEST: usize = 256 << 20;

/// The promises of a network and what they rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// [`FORMAT`].
    pub format: String,
    /// The name of the network.
    pub network: String,
    /// Where the figures of the switches come from.
    pub profiles: Vec<Profile>,
    /// What flows pass and wait for.
    pub stages: Vec<Stage>,
    /// The failures that are provided for, by their names.
    pub failures: Vec<String>,
    /// The flows, the controller's own among them.
    pub flows: Vec<Flow>,
    /// SHA-256 of all that stands above, in hexadecimal digits.
    pub sha256: String,
}

/// The profile of a device, as it was when the promises were made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// SHA-256 of its figures, in hexadecimal digits.
    pub sha256: String,
    /// The switches that have it.
    pub switches: Vec<String>,
}

/// Something that flows pass and wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Stage {
    /// The processor of a switch, first in first out, by the frame.
    Processor(Processor),
    /// A port with a queue a class, the most urgent served first, no frame
    /// interrupted.
    Port(Port),
}

/// The processor of a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Where it is.
    pub name: String,
    /// The longest time before it works at its pace.
    pub latency_ps: u64,
    /// The longest time that a frame occupies it.
    pub per_frame_ps: u64,
    /// The shortest time that a frame occupies it.
    pub fastest_per_frame_ps: u64,
    /// How long a frame may be here.
    pub budget_ps: u64,
    /// How many frames may be here, if that is limited.
    pub buffer_frames: Option<u64>,
    /// Frames without promise, a second.
    pub unpromised_millionths_per_second: u64,
    /// Frames without promise, at once.
    pub unpromised_burst_millionths: u64,
    /// How long a frame is here at most, with what is promised now.
    pub bound_ps: u64,
}

/// A port and its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// Where it is.
    pub name: String,
    /// The rate of its link.
    pub rate_bps: u64,
    /// How long its link takes.
    pub propagation_ps: u64,
    /// The largest frame of traffic without promise.
    pub largest_unpromised_frame_bit: u64,
    /// The classes that may have promises here.
    pub classes: Vec<Class>,
}

/// A class of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its number; 7 is the most urgent.
    pub class: u8,
    /// How long a frame may be here.
    pub budget_ps: u64,
    /// How much may be queued here, if that is limited.
    pub buffer_bit: Option<u64>,
    /// How many frames may be queued here, if that is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer_frames: Option<u64>,
    /// How long a frame is here at most, with what is promised now.
    pub bound_ps: u64,
}

/// A flow and its promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Its class at every port.
    pub class: u8,
    /// What it brings at most, sizes as on the wire.
    pub contract: Bucket,
    /// What else bounds it, if anything.
    pub peak: Option<Bucket>,
    /// How many frames it is, if not as many as fit of the smallest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
    /// Its largest frame.
    pub largest_frame_bit: u64,
    /// Its smallest frame.
    pub smallest_frame_bit: u64,
    /// How late a frame may be.
    pub deadline_ps: u64,
    /// How late a frame is at most: the promise.
    pub guarantee_ps: u64,
    /// How long the first link takes at most.
    pub initial_ps: u64,
    /// The stages it passes while nothing is broken.
    pub path: Vec<Hop>,
    /// The stages it passes instead after a failure.
    pub alternatives: Vec<Alternative>,
    /// The stages that a second copy of each frame passes. A flow that has them
    /// has no alternatives.
    pub redundant: Option<Redundant>,
}

/// In any interval of length `t`, at most `burst + rate * t` arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bucket {
    /// The rate.
    pub rate_bps: u64,
    /// The burst.
    pub burst_bit: u64,
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

/// A stage on the way of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hop {
    /// The place of the stage in the list.
    pub stage: usize,
    /// The place of the hop before it in this list; nothing at the first.
    pub after: Option<usize>,
    /// The burst with which the flow arrives here while nothing is broken: in
    /// bits at a port, in millionths of a frame at a processor, rounded up.
    pub burst: u64,
}

/// What a flow does after a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alternative {
    /// The place of the failure in the list.
    pub failure: usize,
    /// The stages that it passes then.
    pub path: Vec<Step>,
}

/// Where the second copies of a flow's frames go. As far as path and redundant
/// path begin with the same hops, a frame is not doubled yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redundant {
    /// The stages that they pass.
    pub path: Vec<Step>,
    /// The place of the stage that hands on the first copy and drops the other;
    /// nothing if the receivers do that.
    pub eliminator: Option<usize>,
}

/// A stage on an alternative way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The place of the stage in the list.
    pub stage: usize,
    /// The place of the step before it in this list; nothing at the first.
    pub after: Option<usize>,
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
    #[error("it calls itself `{found}`, and `{FORMAT}` is what is understood here")]
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
        let certificate: Self = serde_json::from_str(text)?;
        if certificate.format != FORMAT {
            let found = certificate.format;
            return Err(Unreadable::Format { found });
        }
        let right = certificate.digest();
        if certificate.sha256 != right {
            let found = certificate.sha256;
            return Err(Unreadable::Changed { found, right });
        }
        Ok(certificate)
    }

    /// Closes the document with its digest.
    #[must_use]
    pub fn seal(mut self) -> Self {
        self.sha256 = self.digest();
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

    /// Returns the digest of everything but the digest itself, which does not
    /// depend on how the text is laid out.
    fn digest(&self) -> String {
        let open = Self {
            sha256: String::new(),
            ..self.clone()
        };
        let bytes = serde_json::to_vec(&open).expect("texts and numbers are JSON");
        hexadecimal(&Sha256::digest(&bytes))
    }
}

/// Returns the digest of a text, such as the figures of a profile, in
/// hexadecimal digits.
#[must_use]
pub fn digest_of(text: &str) -> String {
    hexadecimal(&Sha256::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
