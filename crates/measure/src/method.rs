//! Methods of measurement: what each is given, and what it returns.
//!
//! A method makes trials with a tester and draws figures from what it sees. What the
//! machine did meanwhile is taken down around it by a [`TrialLogger`], so that every
//! method keeps the same conditions beside its figures.
//!
//! A new method is a function and a line in [`METHODS`]. A method goes through its
//! points with [`at_each`], so that what was found before an interruption is not
//! measured again.
//!
//! | module | finds | source |
//! |---|---|---|
//! | [`latency`] | how long a frame takes, by several techniques from one run | S0-2, S3-1, S3-2 |
//! | [`flow_setup`] | what the first frame of a flow waits longer | S3-4 |
//! | [`throughput`] | the highest rate without loss | S4-3, S3-5, RFC 2544 section 26.1 |
//! | [`jitter`] | how the latency varies | RFC 3550 section 6.4.1, RFC 5481 |
//! | [`loss`] | what is lost, doubled or overtaken | RFC 7680, RFC 5560, RFC 4737 |
//! | [`buffer`] | how many frames a device can hold | S4-4, RFC 9004 |
//! | [`failover`] | how long an interruption lasts | S0-3 |
//! | [`control_plane`] | how long the device works on each message | S4-1 |
//! | [`data_plane`] | how long the device works on a frame | S4-2 to S4-4 |
//! | [`acceptance`] | whether services get what they need | ITU-T Y.1564 |
//! | [`replay`] | what becomes of recorded traffic | S0-5 |
//! | [`table_size`] | how many entries the flow table takes | S0-7 |
//! | [`generator`] | how punctual the tester itself is | S0-5 |
//! | [`profile`] | all that a device profile needs | S4-1 to S4-5 |
//! | [`stall`] | how the machine itself stands still | |
//! | [`trial_log`] | what the machine did during all trials | |

#[macro_use]
mod named;

pub mod acceptance;
pub mod background_traffic;
pub mod buffer;
mod cadence;
pub mod control_plane;
pub mod data_plane;
mod exchanges;
pub mod failover;
pub mod flow_setup;
mod frame_summary;
pub mod generator;
pub mod jitter;
pub mod known_times;
pub mod latency;
mod load;
pub mod loss;
mod offer;
pub mod orders;
mod passage;
pub mod profile;
mod recording;
pub mod replay;
mod requests;
pub mod stall;
pub mod table_setting;
pub mod table_size;
pub mod throughput;
pub mod trial_log;
mod windowed;

/// What the tests of methods share.
#[cfg(test)]
pub(crate) mod tests {
    pub(crate) mod known_device;
}

use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::str::FromStr;

use thiserror::Error;
use units::Duration;

use crate::measurement::{Figure, Value};
use crate::statistics::Distribution;
use crate::traffic::Addresses;
use crate::trial::{PlayedStation, PortIndex, Setup, Stamps, Stream, Tester, Trial, TrialError};

pub use background_traffic::{BackgroundSource, BackgroundTraffic};
pub use cadence::{Cadence, SendingPace};
pub use exchanges::{Backwards, Exchange, Exchanges, Span, Technique};
pub use frame_summary::{Content, FrameSummary};
pub use load::{Background, LoadLevel};
pub use passage::{Awaited, Keep, MOST_STAMPED, Passage, Passing};
pub use recording::Recording;
pub use requests::{LARGEST_PAYLOAD, MOST_ROUNDS, RequestKind, Requests, Responder};
pub use trial_log::{Log, TrialLogger};
pub use windowed::{Acknowledging, Windowed};

/// All methods, in the order in which they are listed.
pub const METHODS: &[Method] = &[
    latency::METHOD,
    flow_setup::METHOD,
    throughput::METHOD,
    jitter::METHOD,
    loss::METHOD,
    buffer::METHOD,
    failover::METHOD,
    control_plane::METHOD,
    data_plane::METHOD,
    acceptance::METHOD,
    replay::METHOD,
    table_size::METHOD,
    generator::METHOD,
    profile::METHOD,
    stall::METHOD,
];

/// The check sequence that RFC 2544 counts and a tester does not see, in bytes.
pub const CHECK_SEQUENCE: usize = 4;
/// How long a trial waits for what is still under way, RFC 2544 section 23: what arrives
/// later counts as lost.
pub const RESIDUAL: Duration = Duration::from_secs(2);
/// Where frames are sent from, unless a method says otherwise.
pub const FROM: PortIndex = PortIndex(0);
pub const TO: PortIndex = PortIndex(1);

#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it finds, in a few words.
    pub finds: &'static str,
    /// What can be chosen besides the common settings, by name, and what it means.
    pub options: &'static [(&'static str, &'static str)],
    pub run: fn(&mut dyn Tester, &Settings, &mut dyn Progress) -> Result<Findings, MethodError>,
}

impl Method {
    /// Returns what an option means and may be, and what it is if nothing is said.
    #[must_use]
    pub fn meaning(&self, option: &str) -> Option<&'static str> {
        let mut options = self.options.iter();
        let (_, meaning) = options.find(|(name, _)| *name == option)?;
        Some(meaning)
    }
}

/// Finds a method by its name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// As much as a figure needs that is to be published.
    Full,
    /// Enough to see that it works.
    Quick,
}

/// What the user wants of any method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub effort: Effort,
    /// Everything random follows from it.
    pub seed: u64,
    /// How long one trial sends; the method's own choice if nothing is said.
    pub duration: Option<Duration>,
    /// What is chosen of the method's own [`options`](Method::options), by name.
    pub options: BTreeMap<String, String>,
}

impl Settings {
    /// Returns what is chosen of an option, or `usual` if nothing is.
    ///
    /// # Errors
    ///
    /// If what is chosen makes no sense.
    pub fn option<T: FromStr>(&self, name: &str, usual: T) -> Result<T, MethodError> {
        let Some(text) = self.options.get(name) else {
            return Ok(usual);
        };
        text.parse()
            .map_err(|_| MethodError::Option(name.to_owned(), text.clone()))
    }

    /// Returns what is chosen of an option that is a list, its parts separated by
    /// commas, or `usual` if nothing is.
    ///
    /// # Errors
    ///
    /// If a part makes no sense.
    pub fn list<T: FromStr>(&self, name: &str, usual: Vec<T>) -> Result<Vec<T>, MethodError> {
        let Some(text) = self.options.get(name) else {
            return Ok(usual);
        };
        let mistake = |_| MethodError::Option(name.to_owned(), text.clone());
        let parts = text.split(',');
        parts
            .map(|part| part.trim().parse().map_err(mistake))
            .collect()
    }

    /// Returns what is chosen of an option that has bounds, or `usual` if nothing is.
    ///
    /// # Errors
    ///
    /// If what is chosen makes no sense.
    pub fn within<T: FromStr + PartialOrd + ToString>(
        &self,
        name: &str,
        usual: T,
        bounds: impl RangeBounds<T>,
    ) -> Result<T, MethodError> {
        let chosen = self.option(name, usual)?;
        match bounds.contains(&chosen) {
            true => Ok(chosen),
            false => Err(MethodError::refusing(name, chosen)),
        }
    }

    /// The same of a list.
    ///
    /// # Errors
    ///
    /// If a part makes no sense.
    pub fn list_within<T: FromStr + PartialOrd + ToString>(
        &self,
        name: &str,
        usual: Vec<T>,
        bounds: impl RangeBounds<T>,
    ) -> Result<Vec<T>, MethodError> {
        let chosen = self.list(name, usual)?;
        match chosen.iter().find(|it| !bounds.contains(it)) {
            None => Ok(chosen),
            Some(wrong) => Err(MethodError::refusing(name, wrong.to_string())),
        }
    }

    /// Returns how long one trial sends: what the user says, or one of two lengths
    /// by the effort.
    #[must_use]
    pub fn length(&self, full: Duration, quick: Duration) -> Duration {
        self.duration.unwrap_or(self.usual(full, quick))
    }

    /// Returns what is usual by the effort.
    #[must_use]
    pub fn usual<T>(&self, full: T, quick: T) -> T {
        match self.effort {
            Effort::Full => full,
            Effort::Quick => quick,
        }
    }
}

/// Learns how far a method is.
pub trait Progress {
    /// Takes that `done` of `of` steps of about the same length are done, and what is
    /// done now.
    fn step(&mut self, done: u64, of: u64, now: &str);

    /// Returns what an earlier run found at a point before it was interrupted.
    fn recall(&mut self, _point: &str) -> Option<Findings> {
        None
    }

    /// Takes what was found at a point.
    ///
    /// # Errors
    ///
    /// If it cannot be kept.
    fn keep(&mut self, _point: &str, _found: &Findings) -> Result<(), MethodError> {
        Ok(())
    }
}

/// Does not care how far a method is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {
    fn step(&mut self, _done: u64, _of: u64, _now: &str) {}
}

#[derive(Clone, Debug, Default)]
pub struct Findings {
    pub figures: Vec<Figure>,
    /// What is to be known about them, a sentence or more each.
    pub remarks: Vec<String>,
}

impl Findings {
    pub fn add(&mut self, (quantity, source): (&str, &str), setting: &Setting, value: Value) {
        self.figures.push(Figure {
            quantity: quantity.to_owned(),
            source: source.to_owned(),
            setting: setting.clone(),
            value,
        });
    }

    /// Adds lengths of time, or says why there are none.
    pub fn add_times(
        &mut self,
        name: (&str, &str),
        setting: &Setting,
        times: Distribution,
        otherwise: &str,
    ) {
        let value = match times.count() {
            0 => Value::Unknown(otherwise.to_owned()),
            _ => Value::Times(times),
        };
        self.add(name, setting, value);
    }

    /// Adds a remark that is not there yet.
    pub fn remark(&mut self, remark: impl Into<String>) {
        let remark = remark.into();
        if !self.remarks.contains(&remark) {
            self.remarks.push(remark);
        }
    }

    /// Adds what was found at another point.
    pub fn absorb(&mut self, other: Self) {
        self.figures.extend(other.figures);
        for remark in other.remarks {
            self.remark(remark);
        }
    }
}

/// The values of what can be chosen, by name, in the order in which they count.
pub type Setting = Vec<(String, String)>;

/// Measures at each of a list of points, but where an earlier run did.
///
/// # Errors
///
/// The first of `measure`; what was found until then was kept.
pub fn at_each<P>(
    points: &[(Setting, P)],
    progress: &mut dyn Progress,
    mut measure: impl FnMut(&Setting, &P, &mut Findings) -> Result<(), MethodError>,
) -> Result<Findings, MethodError> {
    let mut findings = Findings::default();
    let of = points.len() as u64;
    for (done, (setting, point)) in (0..).zip(points) {
        let name = point_name(setting);
        if let Some(found) = progress.recall(&name) {
            findings.absorb(found);
            continue;
        }
        progress.step(done, of, &name);
        let mut found = Findings::default();
        measure(setting, point, &mut found)?;
        progress.keep(&name, &found)?;
        findings.absorb(found);
    }
    progress.step(of, of, "done");
    Ok(findings)
}

/// Returns a setting as text, as in "interval 125 us, size 60 bytes".
#[must_use]
pub fn point_name(setting: &Setting) -> String {
    let parts = setting
        .iter()
        .map(|(name, value)| format!("{name} {value}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns something that is chosen, and what is chosen.
fn choice(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// The way through a device that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    pub from: PortIndex,
    pub to: PortIndex,
    /// Where a copy of what goes in arrives, if there is a mirror before the device.
    pub mirror: Option<PortIndex>,
    /// What is written on them.
    pub addresses: Addresses,
}

/// The port of UDP at the sender.
const SOURCE_PORT: u16 = 49_184;
/// The port of UDP at the receiver: none that anybody answers.
const PROBE_PORT: u16 = 49_185;

impl Path {
    /// Returns the way between the stations at two ports.
    ///
    /// # Panics
    ///
    /// If there is no such station.
    #[must_use]
    pub fn between(from: PortIndex, to: PortIndex) -> Self {
        let (source, destination) = (PlayedStation::at(from), PlayedStation::at(to));
        let addresses = Addresses {
            source_mac: source.mac,
            destination_mac: destination.mac,
            vlan: None,
            source: source.address,
            destination: destination.address,
            source_port: SOURCE_PORT,
            destination_port: PROBE_PORT,
            dscp: 0,
        };
        Self {
            from,
            to,
            mirror: None,
            addresses,
        }
    }

    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            mirror: None,
            addresses: self.addresses.reversed(),
        }
    }
}

/// Returns a trial that sends so long, and waits for what is still under way.
fn trial_of(streams: Vec<Stream>, length: Duration, drain: Duration) -> Trial {
    Trial {
        streams,
        length,
        drain,
        patience: RESIDUAL,
        ..Trial::default()
    }
}

/// Tells if a tester has too few ports.
fn need_two_ports(setup: &Setup, method: &str) -> Result<(), MethodError> {
    if setup.ports.len() < 2 {
        return Err(MethodError::Unsuitable(format!(
            "{method} needs two ports: one that sends and one that receives"
        )));
    }
    Ok(())
}

/// Says what makes times doubtful.
fn doubt(findings: &mut Findings, setup: &Setup) {
    match setup.stamps {
        Stamps::Virtual | Stamps::Hardware | Stamps::Kernel => {}
        Stamps::Program => findings.remark(
            "Stamps were taken by the tester's own program, so that its waking up is part of every \
             latency.",
        ),
        Stamps::File => {
            findings.remark("Stamps are those of captures; who took them is not known.");
        }
    }
    if setup.clocks_apart > units::Duration::ZERO {
        findings.remark(format!(
            "Ports are stamped by clocks of different cards, which are brought to one to within \
             {}: a latency one way can be off by as much.",
            setup.clocks_apart
        ));
    }
    if let Some(bias) = setup.bias.filter(|bias| *bias > units::Duration::ZERO) {
        findings.remark(format!(
            "{bias} were taken off each latency one way: what the tester and its cables add, as \
             calibrated."
        ));
    }
}

/// Why a method found nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MethodError {
    /// A trial could not be made.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// What is chosen of an option makes no sense.
    #[error("option `{0}` cannot be `{1}`")]
    Option(String, String),
    /// The device or the tester lacks what the method needs, and what to do.
    #[error("{0}")]
    Unsuitable(String),
}

impl MethodError {
    /// Says that an option cannot be what was chosen.
    fn refusing(name: &str, chosen: impl ToString) -> Self {
        Self::Option(name.to_owned(), chosen.to_string())
    }
}
