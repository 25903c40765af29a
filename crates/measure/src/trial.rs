//! A trial: what a tester sends to a device under test in one go, and what was
//! seen of it.
//!
//! A method of measurement is a function of trials: it says what to send, watches
//! what was seen where, and draws its conclusion. It knows neither the device nor
//! the world that the tester works in. A tester knows no method: it sends at the
//! intended times, tells of every frame that passes one of its ports with the stamp
//! of that port, and says what got in its way. Captures that were taken elsewhere
//! are told in the same words, so that methods do not care where frames come from.
//!
//! Frames carry the number of their trial ([`number`]): what a device held back for so
//! long that another trial is under way is told to nobody, and counted.
//!
//! Names as in RFC 2544: the *tester* sends and receives, the *device under test*
//! is between its ports.

pub mod number;

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use units::{BitRate, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use crate::stalls::Stalls;
use crate::statistics::Distribution;
use crate::traffic::mms::Server;
use crate::traffic::trace::Trace;
use crate::traffic::{Emitted, Source};

pub use number::TrialNumbers;

/// The most frames that one trial sends.
pub const MOST_FRAMES: u64 = 100_000_000;
/// The longest that one trial lasts.
pub const LONGEST_TRIAL: Duration = Duration::from_secs(3_600);

/// The most ports that a tester has.
pub const MOST_PORTS: usize = 16;

/// A port of the tester, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortIndex(pub usize);

/// Who is played at a port of the tester.
///
/// A tester that arranges how its device forwards has it carry whatever is
/// addressed to a station to the port of that station, by the hardware address.
/// What is addressed to nobody goes from the first port to the second and back,
/// or to all ports where the device is a bridge. Orders may change that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayedStation {
    pub mac: MacAddress,
    /// Its address among those that are set apart for measuring devices, RFC 2544
    /// appendix C.2.2.
    pub address: Ipv4Addr,
    /// The number that the device's agent has for the port that it is connected to.
    pub device_port: PortNumber,
}

impl PlayedStation {
    /// Returns who is played at a port.
    ///
    /// # Panics
    ///
    /// If the port is not one of the first [`MOST_PORTS`].
    #[must_use]
    pub fn at(port: PortIndex) -> Self {
        assert!(port.0 < MOST_PORTS, "port {} of {MOST_PORTS}", port.0);
        let number = u8::try_from(port.0 + 1).expect("few ports");
        Self {
            mac: MacAddress([0x02, 0, 0, 0x25, 0x44, number]),
            address: Ipv4Addr::new(198, 18, 0, number),
            device_port: PortNumber(u32::from(number)),
        }
    }
}

/// Something that sends within a trial.
pub trait Sender: std::fmt::Debug + Send {
    /// Returns when the next frame is due, counted from the beginning of the trial,
    /// or nothing if there is none any more.
    fn next_due(&self) -> Option<Duration>;

    /// Puts the next frame into `frame`, replacing what is there, if one is due
    /// `after` the beginning of the trial. Allocates nothing once `frame` has the
    /// capacity.
    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing>;

    /// Takes a frame that arrived at the port from which this one sends.
    fn received(&mut self, _after: Duration, _frame: &[u8]) {}

    /// Tells whether what arrives decides when it sends, or what. A tester then looks
    /// for arrivals without pause, which it otherwise does only now and then.
    fn listens(&self) -> bool;

    /// Returns how many frames were left out because the tester came too late.
    fn skipped(&self) -> u64 {
        0
    }
}

/// A frame that a sender made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// When it should leave, counted from the beginning of the trial.
    pub due: Duration,
}

/// A sender and the port from which it sends.
#[derive(Debug)]
pub struct Stream {
    pub from: PortIndex,
    pub sender: Box<dyn Sender>,
}

impl Stream {
    #[must_use]
    pub fn new(from: PortIndex, sender: impl Sender + 'static) -> Self {
        Self {
            from,
            sender: Box::new(sender),
        }
    }
}

/// A message to the device's OpenFlow agent, within a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// When it is sent, counted from the beginning of the trial.
    pub due: Duration,
    /// One OpenFlow message or several, whole; each with a transaction number of
    /// its own.
    pub bytes: Vec<u8>,
}

/// Something that happens to a cable or the device during a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The cable at a port loses its carrier.
    Cut(PortIndex),
    /// The cable at a port is whole again.
    Join(PortIndex),
    /// What the device sends to a port gets lost; the carrier stays.
    Mute(PortIndex),
    /// What the device sends to a port arrives again.
    Unmute(PortIndex),
    Kill,
}

impl Fault {
    /// Returns the port to whose cable it happens, if it happens to one.
    #[must_use]
    pub fn port(&self) -> Option<PortIndex> {
        match self {
            Self::Cut(port) | Self::Join(port) | Self::Mute(port) | Self::Unmute(port) => {
                Some(*port)
            }
            Self::Kill => None,
        }
    }
}

/// What a tester does in one go.
#[derive(Debug, Default)]
pub struct Trial {
    pub streams: Vec<Stream>,
    /// What the device's agent is told meanwhile.
    pub orders: Vec<Order>,
    /// What happens meanwhile, and when, counted from the beginning.
    pub faults: Vec<(Duration, Fault)>,
    /// How long is sent, at most [`LONGEST_TRIAL`]. Who [listens](Sender::listens) may still
    /// answer until the trial is over.
    pub length: Duration,
    /// How long is listened afterwards.
    pub drain: Duration,
    /// How much longer is listened while the watcher still
    /// [awaits](Watcher::awaits) frames.
    pub patience: Duration,
}

/// Whether a frame entered the network at a port or left it there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Sent,
    Received,
}

/// A frame as it was seen at a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting<'a> {
    pub port: PortIndex,
    pub way: Way,
    /// When, by the clock of that port. Two ports have the same clock only if
    /// [`Setup::one_clock`] says so. In virtual time and by the clock of a card it is
    /// when the start-of-frame delimiter passed; by the kernel when the driver took
    /// or handed up the frame.
    pub at: Instant,
    /// The length of the frame, without check sequence, in bytes.
    pub length: usize,
    /// Its bytes from the destination address on; fewer than its length if it was
    /// cut off.
    pub bytes: &'a [u8],
}

/// Watches the frames of a trial. Those that went one way at one port come in the
/// order of their stamps; all others in any order.
pub trait Watcher {
    /// Takes a frame that was seen.
    fn see(&mut self, sighting: &Sighting<'_>);

    /// Takes a frame that passed a port without a stamp that could be believed: it is
    /// known to have been there, and not when. Whoever counts frames counts it.
    fn see_unstamped(&mut self, _port: PortIndex, _way: Way, _bytes: &[u8]) {}

    /// Takes what the device's agent sent: whole OpenFlow messages, and when they
    /// arrived.
    fn hear(&mut self, _at: Instant, _bytes: &[u8]) {}

    /// Takes when an order was handed over, by its place in [`Trial::orders`].
    fn ordered(&mut self, _order: usize, _at: Instant) {}

    /// Tells whether frames that were sent may still arrive that it has to see.
    fn awaits(&self) -> bool {
        false
    }
}

/// Where stamps come from, from the most exact to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamps {
    Virtual,
    Hardware,
    /// The kernel, at the driver.
    Kernel,
    Program,
    /// Whoever wrote the capture; unknown.
    File,
}

/// A tester and the device that is connected to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// What the device is, as in "Taktos switch, kernel engine".
    pub device: String,
    /// The ports of the tester, by name.
    pub ports: Vec<String>,
    /// The rate of the slowest link of the ports, or nothing if it has none, as
    /// a cable between namespaces.
    pub rate: Option<BitRate>,
    /// Whether the stamps of all ports come from one clock, or are brought to one.
    pub one_clock: bool,
    /// By how much the stamps of two ports may be apart though they are of one moment,
    /// since their clocks are brought to one and are not: zero if they are.
    pub clocks_apart: Duration,
    pub stamps: Stamps,
    /// How much later an arrival is stamped than it should be, by calibration, or
    /// nothing if that was not measured.
    pub bias: Option<Duration>,
    /// Whether the device has an OpenFlow agent that takes [`Trial::orders`].
    pub agent: bool,
}

/// How a trial went, apart from what was seen.
#[derive(Clone, Debug)]
pub struct Conduct {
    /// How long after its intended time each frame left its port.
    pub lateness: Distribution,
    /// The same of those that no stall of the machine has made late.
    pub calm_lateness: Distribution,
    /// Frames handed to a port.
    pub sent: u64,
    /// Frames that were left out, since the tester came too late for them.
    pub skipped: u64,
    /// Frames that went by unseen, as the tester's own buffers were full.
    pub unseen: u64,
    /// Frames that passed without a stamp of the network card that could be believed.
    pub unstamped: u64,
    /// Frames of other trials that arrived during this one.
    pub strays: u64,
    /// When the machine stood still.
    pub stalls: Stalls,
    /// What happened to the clocks of the stamps, in sentences: steps of the time of
    /// day and of the clocks of cards.
    pub clock_steps: Vec<String>,
}

/// Why a trial could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrialError {
    /// The trial asks for something that this tester cannot do.
    #[error("{device} cannot take part in this: {reason}")]
    Unable {
        device: String,
        /// What is lacking, and what to do.
        reason: String,
    },
    #[error("{port} disappeared after {after} of the trial: {reason}")]
    PortGone {
        /// The name of the port.
        port: String,
        after: Duration,
        reason: String,
    },
    #[error("{device} ended after {after} of the trial: {reason}")]
    DeviceGone {
        device: String,
        after: Duration,
        reason: String,
    },
    #[error("{0}")]
    Machine(String),
    /// The user wants to stop.
    #[error("interrupted")]
    Interrupted,
}

/// How a tester speaks with the device's agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlLink {
    /// The version of OpenFlow that was agreed on, as its messages have it.
    pub version: u8,
    /// The rate of the cable on which messages travel and are stamped, or nothing if
    /// it has none.
    pub rate: Option<BitRate>,
    /// How far apart messages have to be so that none is lost: nothing over TCP.
    pub apart: Duration,
}

/// Makes trials with one device.
pub trait Tester {
    /// Returns what is connected to it.
    fn setup(&self) -> &Setup;

    /// Returns how it speaks with the device's agent, if there is one: OpenFlow 1.3
    /// over a connection without a rate, unless it says otherwise.
    fn control_link(&self) -> ControlLink {
        ControlLink {
            version: wire::openflow::VERSION,
            rate: None,
            apart: Duration::ZERO,
        }
    }

    /// Returns the recording that it was given to send, if it was given one.
    fn recording(&self) -> Option<&Trace> {
        None
    }

    /// Makes a trial, and tells `watcher` what is seen.
    ///
    /// # Errors
    ///
    /// If it cannot be begun or does not come to its end. What was seen until then
    /// was told.
    fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError>;
}

/// A source of a scenario, as a sender: its times are counted from the beginning of
/// the world's clock, which here is that of the trial.
#[derive(Debug)]
pub struct Sourced(pub Source);

impl Sender for Sourced {
    fn next_due(&self) -> Option<Duration> {
        self.0
            .next_due()
            .map(|due| due.saturating_since(Instant::ZERO))
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let Emitted { due, .. } = self.0.emit(Instant::ZERO + after, frame)?;
        Some(Outgoing {
            due: due.saturating_since(Instant::ZERO),
        })
    }

    fn received(&mut self, after: Duration, frame: &[u8]) {
        self.0.received(Instant::ZERO + after, frame);
    }

    fn listens(&self) -> bool {
        self.0.listens()
    }

    fn skipped(&self) -> u64 {
        self.0.skipped()
    }
}

/// Answers that wait for their turn; more are not given.
const MOST_ANSWERS: usize = 1_024;

/// A station that is asked, as a sender: it answers as soon as it may.
#[derive(Debug)]
pub struct Served {
    server: Server,
    answers: VecDeque<(Duration, Vec<u8>)>,
}

impl Served {
    #[must_use]
    pub fn new(server: Server) -> Self {
        Self {
            server,
            answers: VecDeque::new(),
        }
    }
}

impl Sender for Served {
    fn next_due(&self) -> Option<Duration> {
        self.answers.front().map(|(due, _)| *due)
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let due = self.next_due().filter(|due| *due <= after)?;
        let (_, answer) = self.answers.pop_front()?;
        *frame = answer;
        Some(Outgoing { due })
    }

    fn received(&mut self, after: Duration, frame: &[u8]) {
        let mut answer = Vec::new();
        let is_answered = self.server.received(frame, &mut answer).is_some();
        if is_answered && self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((after, answer));
        }
    }

    fn listens(&self) -> bool {
        true
    }
}
