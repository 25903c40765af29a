//! What the controller is told before it starts.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use calculus::admission::{ProcessorTimes, Room, Spare};
use units::{BitRate, DataSize, Delay, Duration};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::best_effort::probe_class;
use crate::mastery::Claim;
use crate::modes::Modes;
pub use api::Metric;

use crate::northbound::{ApplicationKind, Cover, ForeignRules, Manifest};
use crate::place::PortId;

/// The tolerance of policing where nobody says another: as long as machines often stand
/// still that forward in software.
pub const POLICING_TOLERANCE: Duration = Duration::from_ms(5);

/// Everything that the controller is told before it starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// What is known of each switch.
    pub switches: BTreeMap<DatapathId, SwitchParameters>,
    /// What is assumed of a switch that is not among them.
    pub unknown_switch: SwitchParameters,
    /// The hosts that are known by name.
    pub hosts: Vec<HostParameters>,
    /// The applications that are loaded from the start on; at most one of those of
    /// the same priority that decide about frames which no flow claims.
    pub applications: Vec<Manifest>,
    pub metric: Metric,
    /// How often and how long.
    pub timers: Timers,
    /// With a key, only probes that were made with it are believed.
    pub probe_key: Option<[u8; 16]>,
    /// What is done with entries that are not the controller's.
    pub foreign_rules: ForeignRules,
    /// The criticality modes of the network, if it has any.
    pub modes: Option<Modes>,
    /// How much later than they came the frames of a policed flow may be judged, beyond what
    /// is known of the switch: so much more of it passes at once. Nothing if no flow is
    /// policed, and all sources are trusted.
    pub policing: Option<Duration>,
    /// Whether switches that can are to watch how long promised frames stay, which costs each
    /// of them time.
    pub watch_hops: bool,
    /// Whether a machine that has other work carries the switches: it holds single frames up,
    /// which says nothing of a profile.
    pub interrupted: bool,
    /// How budgets are fitted to the flows that there are: those given above are the
    /// least then. Nothing if they stay as they are, as they do in any case where flows
    /// are promised something at levels of criticality.
    pub fit: Option<Spare>,
    /// What it claims of switches that several controllers may speak with.
    pub claim: Claim,
    /// What hashes depend on; best unknown to others.
    pub seed: u64,
}

impl Config {
    /// Returns the configuration of a controller that is told nothing of its network
    /// and promises nothing: all links are of 1 Gbit/s and have no budgets.
    #[must_use]
    pub fn without_promises(application: ApplicationKind) -> Self {
        let other_ports = PortParameters {
            rate: BitRate::from_mbps(1_000),
            propagation: Delay::ZERO,
            budgets: [None; 8],
            buffers: [None; 8],
            largest_frame: DataSize::from_bytes(1_542),
        };
        Self {
            switches: BTreeMap::new(),
            unknown_switch: SwitchParameters {
                name: String::new(),
                processing: None,
                ports: BTreeMap::new(),
                other_ports,
            },
            hosts: Vec::new(),
            applications: vec![Manifest::built_in(application)],
            metric: Metric::Links,
            timers: Timers::default(),
            probe_key: None,
            foreign_rules: ForeignRules::Keep,
            modes: None,
            policing: Some(POLICING_TOLERANCE),
            watch_hops: true,
            interrupted: false,
            fit: None,
            claim: Claim::default(),
            seed: 1,
        }
    }
}

/// What is known of all switches. It changes where a switch is found to be slower than it was
/// taken to be, and somebody adopts that.
#[derive(Clone, Debug)]
pub(crate) struct Parameters {
    pub(crate) switches: BTreeMap<DatapathId, SwitchParameters>,
    unknown_switch: SwitchParameters,
    /// Those of switches that the configuration does not know, with another processor.
    corrected: BTreeMap<DatapathId, SwitchParameters>,
}

impl Parameters {
    pub fn new(config: &Config) -> Self {
        Self {
            switches: config.switches.clone(),
            unknown_switch: config.unknown_switch.clone(),
            corrected: BTreeMap::new(),
        }
    }

    /// Returns what is known of a switch.
    pub fn of(&self, datapath: DatapathId) -> &SwitchParameters {
        let known = self.switches.get(&datapath);
        let known = known.or_else(|| self.corrected.get(&datapath));
        known.unwrap_or(&self.unknown_switch)
    }

    /// Takes a switch to have another processor; returns whether it is taken to have one.
    pub fn correct(&mut self, datapath: DatapathId, times: ProcessorTimes) -> bool {
        let switch = match self.switches.get_mut(&datapath) {
            Some(switch) => switch,
            None => self
                .corrected
                .entry(datapath)
                .or_insert_with(|| self.unknown_switch.clone()),
        };
        let Some(processing) = &mut switch.processing else {
            return false;
        };
        processing.latency = times.latency;
        processing.per_frame = times.per_frame;
        processing.budget = processing.budget.max(times.budget);
        true
    }

    /// Returns the queue in which probes leave a port.
    pub fn probe_class(&self, port: PortId) -> u8 {
        probe_class(self.of(port.datapath).port(port.port))
    }

    /// Returns the queue in which a switch turns echoes round: the lowest in which
    /// probes leave any of its ports. Where a port promises nothing in it, they wait
    /// there with what nobody was promised.
    pub fn echo_class(&self, datapath: DatapathId) -> u8 {
        let switch = self.of(datapath);
        let ports = switch.ports.values().chain([&switch.other_ports]);
        ports.map(probe_class).min().unwrap_or(0)
    }

    /// Returns the delay that a flow of `class` may have by leaving a switch by
    /// a port: the budgets and the propagation.
    pub fn hop_delay(&self, port: PortId, class: u8) -> Delay {
        let switch = self.of(port.datapath);
        let processing = switch.processing.map(|processing| processing.budget);
        let parameters = switch.port(port.port);
        let budget = parameters
            .budgets
            .get(usize::from(class))
            .copied()
            .flatten();
        // A budget that is fitted is a least here: frames wait for another one in any case.
        let blocked = parameters.rate.time_to_send(parameters.largest_frame);
        let queue = budget.filter(|budget| *budget > Delay::ZERO);
        processing.unwrap_or_default() + queue.unwrap_or(blocked) + parameters.propagation
    }
}

/// What is known of a switch: the parameters of its stages (S4-5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchParameters {
    /// Its name; its datapath id in text if that is empty.
    pub name: String,
    /// The stage that all its ports share; `None` where hardware forwards at
    /// line rate.
    pub processing: Option<ProcessingParameters>,
    pub ports: BTreeMap<PortNumber, PortParameters>,
    /// What is assumed of a port that is not among them.
    pub other_ports: PortParameters,
}

impl SwitchParameters {
    /// Returns what is known of a port.
    #[must_use]
    pub fn port(&self, number: PortNumber) -> &PortParameters {
        self.ports.get(&number).unwrap_or(&self.other_ports)
    }
}

/// The stage of a switch that all its ports share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessingParameters {
    /// The longest time before it works at its pace.
    pub latency: Delay,
    /// The longest time for which one frame occupies it.
    pub per_frame: Delay,
    /// The delay that it may add, or the least of it where budgets are fitted.
    pub budget: Delay,
    /// How many frames may wait for it, if that is limited.
    pub buffer_frames: Option<u64>,
}

/// A port of a switch with its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortParameters {
    /// The rate of its link.
    pub rate: BitRate,
    /// How long a bit travels on that link.
    pub propagation: Delay,
    /// The delay that each queue may add, or the least of it where budgets are fitted;
    /// `None` for one without promises.
    pub budgets: [Option<Delay>; 8],
    /// What each queue can hold, if that is limited.
    pub buffers: [Option<Room>; 8],
    /// The largest frame of traffic without a promise, as on the wire.
    pub largest_frame: DataSize,
}

/// A host that is known by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostParameters {
    pub name: String,
    pub mac: MacAddress,
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its port; learned from its first frame if absent.
    pub attachment: Option<PortId>,
    /// Whether no frame from elsewhere moves it from that port.
    pub is_fixed: bool,
    /// What it may send without a promise; nothing if absent.
    pub unpromised: Option<BestEffortTraffic>,
}

/// What a host may send without a promise: in every window of length `t`, at
/// most `rate * t` and one frame. The switches have to work on it all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestEffortTraffic {
    /// The highest rate, as on the wire.
    pub rate: BitRate,
    /// Its largest frame, as on the wire.
    pub largest_frame: DataSize,
    /// Its smallest frame, as on the wire.
    pub smallest_frame: DataSize,
}

/// How often and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timers {
    /// The time between two probes of one port.
    pub probe_interval: Duration,
    /// The silence after which a link is lost.
    pub link_timeout: Duration,
    /// The time between two looks at whether a switch is silent.
    pub echo_interval: Duration,
    /// The silence after which a connection is closed.
    pub echo_timeout: Duration,
    /// How long a connection may take to say which switch it is.
    pub handshake_timeout: Duration,
    /// How long a link has to be back before flows return to it.
    pub return_wait: Duration,
    /// How long an entry that a switch refuses waits until it is sent again the
    /// first time; twice as long the next.
    pub retry_wait: Duration,
    /// How long a host that only its frames made known stays so once its port has no
    /// carrier, unless something that was promised or intended needs it.
    pub host_timeout: Duration,
    /// The time between two looks at what a switch has: at how many entries it
    /// has, and at a 64th of them.
    pub audit_interval: Duration,
}

/// How long it takes at most from the time when a fault is noticed until flows are
/// moved: stated, not proven. Restorations of hundreds of flows take a tenth of it.
pub const RESTORATION: Duration = Duration::from_ms(100);

impl Timers {
    /// Returns how long a fault of a link or a switch that nobody reports may go
    /// unnoticed: until probes have been missing for long enough, or until a switch that
    /// says nothing is suspected and four echoes are missing (decision 0016).
    #[must_use]
    pub fn silent_detection(&self) -> Duration {
        let interval = self.probe_interval;
        let looked_at = Duration::from_ns(interval.as_ns() / PROBE_PHASES);
        let suspected = self.silence_allowed() + looked_at + interval * 2u64;
        suspected.max(self.link_timeout + looked_at)
    }

    /// Returns the least interruption that can be promised whatever fails.
    #[must_use]
    pub fn least_for_any_fault(&self) -> Duration {
        self.silent_detection() + RESTORATION
    }

    /// Returns which failures the promise of this interruption covers.
    #[must_use]
    pub fn cover(&self, interruption: Duration) -> Cover {
        match interruption >= self.least_for_any_fault() {
            true => Cover::Any,
            false => Cover::CarrierLoss,
        }
    }

    /// Returns how long a switch may say nothing before it is suspected: one that is
    /// asked for a sign of life has had time to give it.
    #[must_use]
    pub fn silence_allowed(&self) -> Duration {
        Duration::from_ns(self.echo_interval.as_ns() / 2 * 5)
    }
}

/// Ports are not probed all at once, but in this many parts of the interval.
pub const PROBE_PHASES: u64 = 8;

impl Default for Timers {
    fn default() -> Self {
        Self {
            probe_interval: Duration::from_secs(1),
            link_timeout: Duration::from_ms(3_500),
            echo_interval: Duration::from_secs(1),
            echo_timeout: Duration::from_secs(5),
            handshake_timeout: Duration::from_secs(5),
            return_wait: Duration::from_ms(500),
            retry_wait: Duration::from_secs(1),
            host_timeout: Duration::from_secs(300),
            audit_interval: Duration::from_secs(5),
        }
    }
}
