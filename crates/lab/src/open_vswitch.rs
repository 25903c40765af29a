//! A private Open vSwitch in the room of a stage: its own database, its own
//! daemon, the datapath that runs in user space.
//!
//! Nothing of an Open vSwitch that the machine runs already is touched.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use linux::clock;
use linux::namespace::Namespace;
use linux::qdisc::QUEUES;
use units::{BitRate, Duration};

use crate::process::{Process, Processors, Start};
use crate::switches::Carried;

/// What has to be installed.
pub const PROGRAMS: [&str; 4] = ["ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl"];
/// The Debian package that has it.
pub const PACKAGE: &str = "openvswitch-switch";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const PATIENCE: Duration = Duration::from_secs(5);

/// Where and how it is to run.
#[derive(Clone, Copy, Debug)]
pub struct Post<'a> {
    /// The namespace of its ports.
    pub room: &'a Namespace,
    /// Its ports, in the order of their numbers from 1.
    pub ports: &'a [&'a str],
    pub carried: Carried,
    /// The processor for what moves frames.
    pub processor: usize,
    pub folder: &'a Path,
    /// The rate of its second port, with eight queues; without one it sends as fast
    /// as it can.
    pub rate: Option<BitRate>,
}

/// Starts it. Returns its programs and where it takes controllers.
///
/// # Errors
///
/// If a program of it is not installed, or it does not come up.
pub fn start(post: &Post<'_>) -> io::Result<(Vec<Process>, PathBuf)> {
    let (room, processor, carried) = (post.room, post.processor, post.carried);
    let place = DaemonFolder::new(post.folder)?;
    let database = place.file("conf.db");
    tool("ovsdb-tool", &["create", &database, SCHEMA])?;
    let remote = format!("--remote=punix:{}", place.file("db.sock"));
    let server = place.start(room, "ovsdb-server", Processors::All, &[&database, &remote])?;
    place.wait_for("db.sock")?;
    let socket = format!("unix:{}", place.file("db.sock"));
    let database = format!("--db={socket}");
    tool("ovs-vsctl", &[&database, "--no-wait", "init"])?;
    // Packet sockets are served by the main thread, which else shares its
    // processor with the sender.
    let processors = match carried {
        Carried::Packet => Processors::Only(processor),
        Carried::Xdp => Processors::All,
    };
    let daemon = place.start(room, "ovs-vswitchd", processors, &[&socket])?;
    place.wait_for("vswitchd.ctl")?;
    let mut wanted = vec![database, "--timeout=10".to_owned()];
    let pacing = post.rate.map(|rate| pacing(post.ports[1], rate));
    let text = configuration(post) + &pacing.unwrap_or_default();
    wanted.extend(text.split_whitespace().map(str::to_owned));
    tool("ovs-vsctl", &wanted)?;
    place.wait_for("rival.mgmt")?;
    Ok((vec![daemon, server], post.folder.join("rival.mgmt")))
}

/// The words that make the bridge.
fn configuration(post: &Post<'_>) -> String {
    let kind = match post.carried {
        Carried::Packet => "system",
        Carried::Xdp => "afxdp",
    };
    let mask = 1_u64 << post.processor;
    let mut text = format!(
        "set Open_vSwitch . other_config:pmd-cpu-mask={mask:x} -- add-br rival -- set bridge rival \
         datapath_type=netdev fail-mode=secure other_config:disable-in-band=true"
    );
    for (number, port) in (1..).zip(post.ports) {
        text += &format!(
            " -- add-port rival {port} -- set interface {port} type={kind} ofport_request={number}"
        );
    }
    text
}

/// The words that give a port a rate and eight queues, the highest
/// number first, as `ovs-vswitchd.conf.db(5)` has it.
fn pacing(port: &str, rate: BitRate) -> String {
    let rate = rate.as_bps();
    let mut text = format!(
        " -- set port {port} qos=@qos -- --id=@qos create qos type=linux-htb \
         other-config:max-rate={rate}"
    );
    for queue in 0..QUEUES {
        text += &format!(" queues:{queue}=@q{queue}");
    }
    for queue in 0..QUEUES {
        let priority = QUEUES - 1 - queue;
        text += &format!(
            " -- --id=@q{queue} create queue other-config:priority={priority} \
             other-config:max-rate={rate}"
        );
    }
    text
}

struct DaemonFolder<'a> {
    folder: &'a Path,
    folder_name: String,
}

impl<'a> DaemonFolder<'a> {
    fn new(folder: &'a Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let folder_name = folder.display().to_string();
        Ok(Self {
            folder,
            folder_name,
        })
    }

    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    fn start(
        &self,
        room: &Namespace,
        program: &str,
        processors: Processors,
        arguments: &[&str],
    ) -> io::Result<Process> {
        let name = program.trim_start_matches("ovs-");
        let control = format!("--unixctl={}", self.file(&format!("{name}.ctl")));
        let number = format!("--pidfile={}", self.file(&format!("{name}.pid")));
        let mut command = vec![program, &control, &number, "-vconsole:warn"];
        command.extend_from_slice(arguments);
        let names = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"];
        Process::start(&Start {
            room,
            processors,
            command: &command,
            environment: &names.map(|name| (name, self.folder_name.as_str())),
            log: &self.folder.join(format!("{name}.log")),
        })
    }

    fn wait_for(&self, name: &str) -> io::Result<()> {
        let end = clock::now() + PATIENCE;
        while !self.folder.join(name).exists() {
            if clock::now() >= end {
                return Err(io::Error::other(format!("Open vSwitch made no `{name}`")));
            }
            clock::sleep_until(clock::now() + Duration::from_ms(10));
        }
        Ok(())
    }
}

fn tool(program: &str, arguments: &[impl AsRef<str>]) -> io::Result<()> {
    let arguments = arguments.iter().map(AsRef::as_ref);
    let output = Command::new(program).args(arguments).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{program}: {}", said.trim())))
}

pub const NAME: &str = "Open vSwitch";

/// Returns its version, if it is installed: the last word of the first line.
#[must_use]
pub fn version() -> Option<String> {
    let said = Command::new("ovs-vswitchd")
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Some(text.lines().next()?.split_whitespace().last()?.to_owned())
}
