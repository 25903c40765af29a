//! What can be measured, and how to get at it.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lab::device_under_test::{DeviceUnderTest, RelayPlan, Shaper, TaktosEngine};
use lab::switches::Carried;
use lab::tester::{Arrangement, LinkTester, TesterError};
use measure::method::{Effort, MethodError};
use measure::trial::{Conduct, ControlLink, Setup, Tester, Trial, TrialError, Watcher};
use scenario::Profile;
use sim::emulation::fidelity::{self, Fidelity};
use sim::tester::{CoreSwitch, SmallSwitch, Taught, VirtualTester};
use thiserror::Error;
use units::{BitRate, Duration};

use super::{emulated_relay, invocation};

/// What targets there are, in the words of the command line.
pub const TARGETS: &[(&str, &str)] = &[
    (
        "taktos[:kernel|packet|xdp]",
        "the Taktos switch of this program, by one of its engines [kernel]",
    ),
    (
        "open-vswitch[:afxdp|af-packet]",
        "Open vSwitch, its datapath in user space [afxdp]",
    ),
    ("bridge", "the bridge of the kernel"),
    (
        "relay[:KEY=VALUE,…]",
        "a relay of known delay=, or with a bucket of known rate=, burst= and limit=",
    ),
    (
        "relay:profile=PROFILE",
        "a relay between namespaces with the latency, throughput, set-up of flows and losses of a \
         profile that has [emulation]",
    ),
    (
        "emulated:PROFILE",
        "a device in virtual time: zodiac-fx and banana-pi-r1 as built by LOKO, any other profile \
         that is built in, or a file ending in .toml",
    ),
];

/// What a relay that emulates begins with.
const PROFILE: &str = "profile=";
/// The most bytes that a relay's bucket or queue holds.
const MOST_BYTES: u32 = 1 << 30;
/// What a token bucket has unless the user says otherwise: a frame, and fifty.
const USUAL_BURST: u32 = 1_600;
const USUAL_LIMIT: u32 = 75_000;
/// The rate of an emulated device's ports unless its profile says otherwise.
const USUAL_RATE: BitRate = BitRate::from_mbps(1_000);

/// A device that can be had for the asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Taktos(TaktosEngine),
    OpenVswitch(Carried),
    /// The bridge of the kernel.
    Bridge,
    Relay(RelayPlan),
    /// A relay that holds and loses frames as a device of this profile does.
    EmulatedRelay(Box<Profile>),
    /// A device in virtual time.
    Emulated(Emulated),
}

/// A device in virtual time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emulated {
    /// The Zodiac FX of LOKO.
    ZodiacFx,
    /// The Banana Pi R1 of LOKO.
    BananaPiR1,
    /// Any device, by its profile.
    Profile(Box<Profile>),
}

/// A text names no target.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ParseTargetError {
    #[error("no target is named `{0}`: `taktos measure` lists them")]
    Unknown(String),
    /// There is such a target, but not of that kind.
    #[error("`{name}` cannot be `{kind}`: choose among {choices}")]
    Kind {
        name: &'static str,
        kind: String,
        choices: &'static str,
    },
    /// No device can be emulated by that.
    #[error("no profile `{name}`: {reason}")]
    Profile {
        name: String,
        /// What there is, or what is wrong with it.
        reason: String,
    },
    /// A part of a relay makes no sense.
    #[error("a relay cannot have `{0}`: say delay=100us, or rate=10Mbit/s,burst=1600,limit=75000")]
    Relay(String),
}

impl FromStr for Target {
    type Err = ParseTargetError;

    fn from_str(text: &str) -> Result<Self, ParseTargetError> {
        let (name, kind) = match text.split_once(':') {
            Some((name, kind)) => (name, Some(kind)),
            None => (text, None),
        };
        match (name, kind) {
            ("taktos", kind) => engine(kind).map(Self::Taktos),
            ("open-vswitch", None | Some("afxdp")) => Ok(Self::OpenVswitch(Carried::Xdp)),
            ("open-vswitch", Some("af-packet")) => Ok(Self::OpenVswitch(Carried::Packet)),
            ("open-vswitch", Some(kind)) => Err(ParseTargetError::Kind {
                name: "open-vswitch",
                kind: kind.to_owned(),
                choices: "afxdp, af-packet",
            }),
            ("bridge", None) => Ok(Self::Bridge),
            ("relay", Some(kind)) if kind.starts_with(PROFILE) => {
                let name = &kind[PROFILE.len()..];
                let profile = named_profile(name)?;
                match profile.emulation {
                    Some(_) => Ok(Self::EmulatedRelay(Box::new(profile))),
                    None => Err(ParseTargetError::Profile {
                        name: name.to_owned(),
                        reason: "it has bounds and no [emulation]".to_owned(),
                    }),
                }
            }
            ("relay", kind) => relay(kind.unwrap_or_default()).map(Self::Relay),
            ("emulated", Some("zodiac-fx")) => Ok(Self::Emulated(Emulated::ZodiacFx)),
            ("emulated", Some("banana-pi-r1")) => Ok(Self::Emulated(Emulated::BananaPiR1)),
            ("emulated", name) => {
                let profile = named_profile(name.unwrap_or_default())?;
                Ok(Self::Emulated(Emulated::Profile(Box::new(profile))))
            }
            (_, _) => Err(ParseTargetError::Unknown(text.to_owned())),
        }
    }
}

fn engine(kind: Option<&str>) -> Result<TaktosEngine, ParseTargetError> {
    match kind {
        None | Some("kernel") => Ok(TaktosEngine::Kernel),
        Some("packet") => Ok(TaktosEngine::Packet),
        Some("xdp") => Ok(TaktosEngine::Xdp),
        Some(kind) => Err(ParseTargetError::Kind {
            name: "taktos",
            kind: kind.to_owned(),
            choices: "kernel, packet, xdp",
        }),
    }
}

/// Returns the profile of this name, or of this file.
///
/// # Errors
///
/// If there is none, or the file is none.
pub fn named_profile(name: &str) -> Result<Profile, ParseTargetError> {
    let mistake = |reason: String| ParseTargetError::Profile {
        name: name.to_owned(),
        reason,
    };
    if !name.ends_with(".toml") {
        let known = || Profile::built_in_names().collect::<Vec<_>>().join(", ");
        return Profile::built_in(name)
            .ok_or_else(|| mistake(format!("there are {}, or a file ending in .toml", known())));
    }
    let text = std::fs::read_to_string(name).map_err(|error| mistake(error.to_string()))?;
    Profile::parse(name, &text).map_err(|error| match error.problems().first() {
        Some(first) => mistake(first.to_string()),
        None => mistake(error.to_string()),
    })
}

/// Reads `delay=100us`, `rate=10Mbit/s,burst=1600,limit=75000`, all of it, or nothing.
fn relay(text: &str) -> Result<RelayPlan, ParseTargetError> {
    let mut plan = RelayPlan::default();
    let (mut rate, mut burst, mut limit) = (None, None, None);
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let mistake = || ParseTargetError::Relay(part.to_owned());
        let bytes = |text: &str| {
            let bytes = text.parse::<u32>().ok();
            let bytes = bytes.filter(|bytes| (1..=MOST_BYTES).contains(bytes));
            bytes.map(Some).ok_or_else(mistake)
        };
        match part.split_once('=') {
            Some(("delay", text)) => {
                let delay = text.parse::<Duration>().ok();
                let delay = delay.filter(|it| *it <= lab::delay_line::LONGEST_DELAY);
                plan.delay = Some(delay.ok_or_else(mistake)?);
            }
            Some(("rate", text)) => {
                rate = Some(text.parse::<BitRate>().map_err(|_| mistake())?);
            }
            Some(("burst", text)) => burst = bytes(text)?,
            Some(("limit", text)) => limit = bytes(text)?,
            Some(_) | None => return Err(mistake()),
        }
    }
    plan.shaper = match (rate, burst.or(limit)) {
        (Some(rate), _) => Some(Shaper {
            rate,
            burst_bytes: burst.unwrap_or(USUAL_BURST),
            limit_bytes: limit.unwrap_or(USUAL_LIMIT),
        }),
        (None, None) => None,
        (None, Some(_)) => return Err(ParseTargetError::Relay(text.to_owned())),
    };
    Ok(plan)
}

/// What a tester is to have besides its device.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub ports: usize,
    /// How a device forwards whose forwarding can be arranged.
    pub arrangement: Arrangement,
    /// Who tells an emulated device how to forward.
    pub taught: Taught,
    /// Everything random about an emulated device follows from it.
    pub seed: u64,
    /// Ends trials early when it is set.
    pub stop: Arc<AtomicBool>,
}

impl Wanted {
    /// Returns what a method needs, by its name.
    #[must_use]
    pub fn for_method(method: &str, seed: u64, stop: Arc<AtomicBool>) -> Self {
        let (ports, arrangement, taught) = match method {
            // A way that fails has a detour by a third port.
            "failover" => (3, Arrangement::Detour, Taught::WithDetour),
            "flow-setup" => (2, Arrangement::Stations, Taught::ByAttendant),
            "control-plane" | "data-plane" | "table-size" | "profile" => {
                (2, Arrangement::Stations, Taught::ByTester)
            }
            _ => (2, Arrangement::Stations, Taught::Beforehand),
        };
        Self {
            ports,
            arrangement,
            taught,
            seed,
            stop,
        }
    }
}

impl Target {
    /// Tells whether it stands in namespaces, for which this process needs a
    /// privilege.
    #[must_use]
    pub fn is_real(&self) -> bool {
        match self {
            Self::Taktos(_)
            | Self::OpenVswitch(_)
            | Self::Bridge
            | Self::Relay(_)
            | Self::EmulatedRelay(_) => true,
            Self::Emulated(_) => false,
        }
    }

    /// Returns the device by which a method measures the tester and the machine
    /// rather than a device: the fastest relay there is.
    #[must_use]
    pub fn usual_for(method: &str) -> Self {
        match method {
            "generator" | "stall" => Self::Relay(RelayPlan::default()),
            _ => Self::Taktos(TaktosEngine::Kernel),
        }
    }

    /// Tells whether it has an OpenFlow agent, which some methods need.
    #[must_use]
    pub fn has_agent(&self) -> bool {
        match self {
            Self::Taktos(_) | Self::OpenVswitch(_) | Self::Emulated(_) => true,
            Self::Bridge | Self::Relay(_) | Self::EmulatedRelay(_) => false,
        }
    }

    /// Starts the device, and a tester around it.
    ///
    /// # Errors
    ///
    /// If the machine lacks something that the device needs.
    pub fn open(&self, wanted: &Wanted) -> Result<Box<dyn Tester>, TesterError> {
        let subject = match self {
            Self::Taktos(engine) => DeviceUnderTest::Taktos {
                program: invocation::program()?,
                engine: *engine,
            },
            Self::OpenVswitch(carried) => DeviceUnderTest::OpenVswitch(*carried),
            Self::Bridge => DeviceUnderTest::Bridge,
            Self::Relay(plan) => DeviceUnderTest::Relay(*plan),
            Self::EmulatedRelay(profile) => {
                DeviceUnderTest::Kept(emulated_relay::of_profile(profile, wanted.seed))
            }
            Self::Emulated(which) => {
                let stop = Arc::clone(&wanted.stop);
                let tester = emulated(which, wanted);
                return Ok(Box::new(Stoppable { tester, stop }));
            }
        };
        let stop = Arc::clone(&wanted.stop);
        let tester = LinkTester::with(&subject, wanted.ports, wanted.arrangement, stop)?;
        Ok(Box::new(tester))
    }
}

/// A tester in virtual time that makes no more trials once it is told to stop.
struct Stoppable {
    tester: Box<dyn Tester>,
    stop: Arc<AtomicBool>,
}

impl Tester for Stoppable {
    fn setup(&self) -> &Setup {
        self.tester.setup()
    }

    fn control_link(&self) -> ControlLink {
        self.tester.control_link()
    }

    fn run(&mut self, trial: Trial, watcher: &mut dyn Watcher) -> Result<Conduct, TrialError> {
        match self.stop.load(Ordering::Relaxed) {
            true => Err(TrialError::Interrupted),
            false => self.tester.run(trial, watcher),
        }
    }
}

impl Emulated {
    /// Measures it again, and says by how much it misses what is known of the device.
    ///
    /// # Errors
    ///
    /// If a method cannot be applied.
    pub fn likeness(&self, effort: Effort, seed: u64) -> Result<Vec<Fidelity>, MethodError> {
        match self {
            Self::ZodiacFx => fidelity::of_zodiac_fx(effort, seed),
            // One throughput is all that is known of it, and it is put in.
            Self::BananaPiR1 => Ok(Vec::new()),
            Self::Profile(profile) => fidelity::of_profile(profile, effort, seed),
        }
    }
}

fn emulated(which: &Emulated, wanted: &Wanted) -> Box<dyn Tester> {
    // LOKO measures in OpenFlow 1.0, and the tester says there what it wants.
    let version = match wanted.taught {
        Taught::ByTester => wire::openflow10::VERSION,
        Taught::Beforehand | Taught::WithDetour | Taught::ByAttendant => wire::openflow::VERSION,
    };
    let small = |device| Box::new(VirtualTester::new(device, version).teach(wanted.taught));
    match which {
        Emulated::ZodiacFx => small(SmallSwitch::zodiac_fx()),
        Emulated::BananaPiR1 => small(SmallSwitch::banana_pi_r1()),
        Emulated::Profile(profile) => {
            let ports = u32::try_from(wanted.ports).unwrap_or(u32::MAX);
            let rate = profile.emulation.as_ref().and_then(|it| it.link_rate);
            let rate = rate.unwrap_or(USUAL_RATE);
            let device = CoreSwitch::emulated(profile, ports, rate, wanted.seed, wanted.taught);
            Box::new(VirtualTester::new(device, wire::openflow::VERSION))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_as_they_are_listed() {
        let read = |text: &str| text.parse::<Target>();

        assert_eq!(read("taktos"), Ok(Target::Taktos(TaktosEngine::Kernel)));
        assert_eq!(read("taktos:xdp"), Ok(Target::Taktos(TaktosEngine::Xdp)));
        let packet = Target::OpenVswitch(Carried::Packet);
        assert_eq!(read("open-vswitch:af-packet"), Ok(packet));
        let delay = Some(Duration::from_us(100));
        let plan = RelayPlan {
            delay,
            shaper: None,
        };
        assert_eq!(read("relay:delay=100us"), Ok(Target::Relay(plan)));
    }

    #[test]
    fn a_bucket_needs_a_rate() {
        let read = |text: &str| text.parse::<Target>();

        let Ok(Target::Relay(plan)) = read("relay:rate=10Mbit/s,burst=3000") else {
            panic!("a relay with a bucket");
        };

        let shaper = plan.shaper.unwrap();
        assert_eq!((shaper.burst_bytes, shaper.limit_bytes), (3_000, 75_000));
        assert!(matches!(
            read("relay:burst=3000"),
            Err(ParseTargetError::Relay(_))
        ));
    }

    #[test]
    fn what_is_no_target_is_named() {
        let refused = "zodiac".parse::<Target>().unwrap_err();

        assert_eq!(refused, ParseTargetError::Unknown("zodiac".to_owned()));
        let refused = "emulated:pica9".parse::<Target>().unwrap_err();
        assert!(refused.to_string().contains("pica8-p3297"), "{refused}");
        assert!("emulated:nowhere.toml".parse::<Target>().is_err());
        assert!("taktos:gpu".parse::<Target>().is_err());
        assert!("relay:delay=never".parse::<Target>().is_err());
        let bounds = "relay:profile=line-rate".parse::<Target>().unwrap_err();
        assert!(bounds.to_string().contains("no [emulation]"), "{bounds}");
        let relay = "relay:profile=open-vswitch".parse::<Target>();
        assert!(matches!(relay, Ok(Target::EmulatedRelay(_))), "{relay:?}");
    }
}
