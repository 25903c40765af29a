//! The device under test, running in the room of its stage.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use linux::bpf::relay::{Hook, Relay};
use linux::scheduling;
use thiserror::Error;
use units::{BitRate, Duration};

use crate::agent::AgentConnection;
use crate::delay_line::{DelayLine, Keeper};
use crate::open_vswitch;
use crate::process::{self, Process, Processors, Start};
use crate::stage::Testbed;
use crate::switches::Carried;

/// How many entries each flow table of a Taktos switch is to hold, and for how many its
/// kernel engine sets memory aside: the core forwards for those beyond.
const TABLE_SIZE: u32 = 200_000;
const KERNEL_ENTRIES: u32 = 20_000;

/// What a device under test is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceUnderTest {
    /// Moves frames between the first port and the second and does nothing else.
    Relay(RelayPlan),
    /// Moves frames between the first port and the second when somebody says.
    Kept(Keeping),
    /// The bridge in the kernel.
    Bridge,
    Taktos {
        program: PathBuf,
        engine: TaktosEngine,
    },
    /// Open vSwitch, its datapath in user space.
    OpenVswitch(Carried),
}

/// A relay of frames that somebody keeps.
#[derive(Clone)]
pub struct Keeping {
    pub name: String,
    /// Makes who decides, for each time that the relay is started.
    pub keeper: Arc<dyn Fn() -> Box<dyn Keeper> + Send + Sync>,
}

impl fmt::Debug for Keeping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Keeping").field(&self.name).finish()
    }
}

impl PartialEq for Keeping {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Keeping {}

/// Who moves the frames of a Taktos switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaktosEngine {
    /// A program in the kernel.
    Kernel,
    /// The core, by packet sockets.
    Packet,
    Xdp,
}

/// What a relay does besides relaying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelayPlan {
    /// For how long it holds each frame. Without it the kernel relays at once.
    pub delay: Option<Duration>,
    /// What it makes of the second port's rate.
    pub shaper: Option<Shaper>,
}

/// A token bucket of the kernel, `tc-tbf(8)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shaper {
    /// The rate, in bits of frames without check sequence.
    pub rate: BitRate,
    /// The depth of the bucket in bytes: so much leaves at once.
    pub burst_bytes: u32,
    /// How many bytes wait at most.
    pub limit_bytes: u32,
}

/// Why a device does not run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DeviceError {
    #[error("{subject} needs `{program}`, which is not installed: apt install {package}")]
    Lacks {
        subject: String,
        program: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// It did not come up.
    #[error("{subject} does not start: {reason}{said}")]
    Start {
        subject: String,
        reason: io::Error,
        /// What the device said last, on lines of its own.
        said: String,
    },
}

impl fmt::Display for DeviceUnderTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relay(RelayPlan { delay, shaper }) => {
                match delay {
                    Some(delay) => write!(f, "relay of {delay}")?,
                    None => write!(f, "relay in the kernel")?,
                }
                match shaper {
                    Some(it) => write!(f, " at {}, bucket of {} bytes", it.rate, it.burst_bytes),
                    None => Ok(()),
                }
            }
            Self::Kept(keeping) => f.write_str(&keeping.name),
            Self::Bridge => write!(f, "Linux bridge"),
            Self::Taktos { engine, .. } => write!(f, "Taktos switch, {engine} engine"),
            Self::OpenVswitch(carried) => {
                let version = open_vswitch::version();
                let version = version.map_or_else(String::new, |it| format!(" {it}"));
                let ports = match carried {
                    Carried::Packet => "AF_PACKET",
                    Carried::Xdp => "AF_XDP",
                };
                write!(f, "{}{version}, {ports} ports", open_vswitch::NAME)
            }
        }
    }
}

impl fmt::Display for TaktosEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kernel => "kernel",
            Self::Packet => "packet",
            Self::Xdp => "xdp",
        })
    }
}

impl DeviceUnderTest {
    /// Returns the programs that it needs, and the Debian package that has them.
    fn needs(&self) -> (&'static [&'static str], &'static str) {
        match self {
            Self::Relay(RelayPlan { shaper: None, .. }) | Self::Kept(_) => (&[], ""),
            Self::Relay(_) => (&["nsenter", "tc"], "iproute2"),
            Self::Bridge => (&["nsenter", "ip"], "iproute2"),
            Self::Taktos { .. } => (&["nsenter", "setpriv", "taskset"], "util-linux"),
            Self::OpenVswitch(_) => (&open_vswitch::PROGRAMS, open_vswitch::PACKAGE),
        }
    }

    /// Tells whether it is in the kernel, which hands on the very buffer that a sender
    /// made.
    #[must_use]
    pub fn hands_on_buffers(&self) -> bool {
        match self {
            Self::Relay(plan) => plan.delay.is_none(),
            Self::Bridge => true,
            Self::Taktos { engine, .. } => match engine {
                TaktosEngine::Kernel => true,
                TaktosEngine::Packet | TaktosEngine::Xdp => false,
            },
            Self::OpenVswitch(_) | Self::Kept(_) => false,
        }
    }

    fn lacks(&self) -> Option<DeviceError> {
        let (programs, package) = self.needs();
        let missing = programs.iter().find(|it| !process::is_installed(it))?;
        Some(DeviceError::Lacks {
            subject: self.to_string(),
            program: (*missing).to_owned(),
            package,
        })
    }
}

/// A device that runs; it ends with this value.
#[derive(Debug)]
pub struct Running {
    subject: DeviceUnderTest,
    processes: Vec<Process>,
    /// The socket at which it takes controllers.
    control: Option<PathBuf>,
    _relays: Vec<Relay>,
    delay_line: Option<DelayLine>,
    folder: Folder,
}

impl Running {
    /// Starts a device on its stage.
    ///
    /// # Errors
    ///
    /// If the machine lacks something that it needs, or it does not come up.
    pub fn start(subject: &DeviceUnderTest, stage: &Testbed) -> Result<Self, DeviceError> {
        if let Some(lacking) = subject.lacks() {
            return Err(lacking);
        }
        let failed = |said: String| {
            let subject = subject.to_string();
            move |reason| DeviceError::Start {
                subject,
                reason,
                said,
            }
        };
        let folder = Folder::new().map_err(failed(String::new()))?;
        let mut running = Self {
            subject: subject.clone(),
            processes: Vec::new(),
            control: None,
            _relays: Vec::new(),
            delay_line: None,
            folder,
        };
        let started = running.begin(stage);
        started.map_err(|reason| failed(running.last_words())(reason))?;
        Ok(running)
    }

    fn begin(&mut self, stage: &Testbed) -> io::Result<()> {
        match self.subject.clone() {
            DeviceUnderTest::Relay(plan) => self.relay(stage, plan),
            DeviceUnderTest::Kept(keeping) => self.keep(stage, &keeping),
            DeviceUnderTest::Bridge => bridge(stage),
            DeviceUnderTest::Taktos { program, engine } => self.taktos(stage, &program, engine),
            DeviceUnderTest::OpenVswitch(carried) => {
                let (processes, control) = open_vswitch::start(&open_vswitch::Post {
                    room: &stage.room,
                    ports: stage.ports(),
                    carried,
                    processor: own_processor().unwrap_or(0),
                    folder: &self.folder.path,
                    rate: None,
                })?;
                self.processes = processes;
                self.control = Some(control);
                Ok(())
            }
        }
    }

    fn relay(&mut self, stage: &Testbed, plan: RelayPlan) -> io::Result<()> {
        let &[first, second, ..] = stage.port_indices() else {
            return Err(io::Error::other("a relay has two ports"));
        };
        if let Some(shaper) = plan.shaper {
            shape(stage, shaper)?;
        }
        match plan.delay {
            Some(delay) => {
                let ports = [first, second];
                let start = || DelayLine::start(ports, delay, own_processor());
                self.delay_line = Some(stage.room.run(start)?);
            }
            None => {
                let hook = Hook::TrafficControl;
                let ways = [(first, second), (second, first)];
                for (from, to) in ways {
                    let attach = || Relay::attach(from, to, hook);
                    self._relays.push(stage.room.run(attach)?);
                }
            }
        }
        Ok(())
    }

    fn keep(&mut self, stage: &Testbed, keeping: &Keeping) -> io::Result<()> {
        let &[first, second, ..] = stage.port_indices() else {
            return Err(io::Error::other("a relay has two ports"));
        };
        let start = || DelayLine::kept_by((keeping.keeper)(), [first, second], own_processor());
        self.delay_line = Some(stage.room.run(start)?);
        Ok(())
    }

    fn taktos(&mut self, stage: &Testbed, program: &Path, engine: TaktosEngine) -> io::Result<()> {
        let control = self.folder.path.join("taktos.sock");
        let processor = own_processor();
        let mut words = vec![
            program.display().to_string(),
            "switch".to_owned(),
            format!("--ports={}", stage.ports().join(",")),
            "--rate=none".to_owned(),
            format!("--table-size={TABLE_SIZE}"),
            format!("--kernel-entries={KERNEL_ENTRIES}"),
            format!("--engine={engine}"),
            format!("--control={}", control.display()),
        ];
        match (engine, processor) {
            (TaktosEngine::Packet | TaktosEngine::Xdp, Some(processor)) => {
                words.push("--spin".to_owned());
                words.push(format!("--cpu={processor}"));
            }
            (TaktosEngine::Kernel, _) | (_, None) => words.push("--sleep".to_owned()),
        }
        let command: Vec<&str> = words.iter().map(String::as_str).collect();
        self.processes = vec![Process::start(&Start {
            room: &stage.room,
            processors: Processors::All,
            command: &command,
            environment: &[],
            log: &self.folder.path.join("taktos.log"),
        })?];
        self.control = Some(control);
        Ok(())
    }

    /// Returns the socket at which it takes controllers, if it takes any.
    #[must_use]
    pub fn control(&self) -> Option<&Path> {
        self.control.as_deref()
    }

    /// Connects to its agent, if it has one.
    ///
    /// # Errors
    ///
    /// If it does not answer.
    pub fn agent(&mut self) -> Result<Option<AgentConnection>, DeviceError> {
        let Some(socket) = self.control.clone() else {
            return Ok(None);
        };
        let connected = AgentConnection::connect(&socket, || self.has_ended());
        connected.map(Some).map_err(|reason| DeviceError::Start {
            subject: self.subject.to_string(),
            reason,
            said: self.last_words(),
        })
    }

    /// Tells whether one of its programs has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.processes.iter_mut().any(Process::has_ended)
    }

    /// Returns the relay that holds frames, if it is one.
    #[must_use]
    pub fn delay_line(&self) -> Option<&DelayLine> {
        self.delay_line.as_ref()
    }

    /// Returns its programs, of which it may have none.
    #[must_use]
    pub fn processes(&self) -> &[Process] {
        &self.processes
    }

    /// Returns the last lines of what its programs said, on lines of their own.
    #[must_use]
    pub fn last_words(&self) -> String {
        const LINES: usize = 3;
        let mut said = String::new();
        let files = fs::read_dir(&self.folder.path);
        let files = files.into_iter().flatten().flatten();
        for file in files.filter(|it| it.path().extension().is_some_and(|it| it == "log")) {
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for line in &lines[lines.len().saturating_sub(LINES)..] {
                said += &format!("\n    {line}");
            }
        }
        said
    }
}

/// Returns the processor that a device has for itself, if there are two.
#[must_use]
pub fn own_processor() -> Option<usize> {
    scheduling::dedicated_processor()
}

fn bridge(stage: &Testbed) -> io::Result<()> {
    let run = |words: &str| {
        let words: Vec<&str> = words.split_whitespace().collect();
        process::run(&stage.room, &words)
    };
    // Not `br…`: the kernel's tool takes that for "broadcast".
    run("ip link add name wire0 type bridge mcast_snooping 0 stp_state 0")?;
    for port in stage.ports() {
        run(&format!("ip link set {port} master wire0"))?;
    }
    run("ip link set wire0 up")
}

/// Gives the second port a token bucket.
fn shape(stage: &Testbed, shaper: Shaper) -> io::Result<()> {
    let port = stage.ports()[1];
    let Shaper {
        rate,
        burst_bytes,
        limit_bytes,
    } = shaper;
    let words = format!(
        "tc qdisc add dev {port} root tbf rate {}bit burst {burst_bytes} limit {limit_bytes}",
        rate.as_bps()
    );
    let words: Vec<&str> = words.split_whitespace().collect();
    process::run(&stage.room, &words)
}

/// A folder for the files of one device; it ends with this value.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
}

impl Folder {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("taktos-measure-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the place of such files.
        let _ = fs::remove_dir_all(&self.path);
    }
}
