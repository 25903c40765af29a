//! A private Open vSwitch in the room of a stage: its own database, its own
//! daemon, the datapath that runs in user space.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use lab::switches::Carried;
use linux::clock;
use linux::namespace::Namespace;
use units::{BitRate, Duration};

use crate::process::{Process, Processors, Start};
use crate::running::Post;
use crate::stage::PORTS;
use crate::traffic::URGENT;

/// What has to be installed.
pub const PROGRAMS: [&str; 4] = ["ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl"];
/// The Debian package that has it.
pub const PACKAGE: &str = "openvswitch-switch";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
const PATIENCE: Duration = Duration::from_secs(5);

/// Starts it with both ports. Returns its programs and where it takes controllers.
pub fn start(post: Post<'_>, carried: Carried) -> io::Result<(Vec<Process>, PathBuf)> {
    let (room, processor) = (&post.stage.room, post.processor);
    let place = Place::new(post.folder)?;
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
    let text = configuration(carried, processor) + &post.rate.map_or_else(String::new, pacing);
    wanted.extend(text.split_whitespace().map(str::to_owned));
    tool("ovs-vsctl", &wanted)?;
    place.wait_for("rival.mgmt")?;
    Ok((vec![daemon, server], post.folder.join("rival.mgmt")))
}

/// The words that make the bridge.
fn configuration(carried: Carried, processor: usize) -> String {
    let kind = match carried {
        Carried::Packet => "system",
        Carried::Xdp => "afxdp",
    };
    let mask = 1_u64 << processor;
    let mut text = format!(
        "set Open_vSwitch . other_config:pmd-cpu-mask={mask:x} -- add-br rival -- set bridge rival \
         datapath_type=netdev fail-mode=secure other_config:disable-in-band=true"
    );
    for (number, port) in (1..).zip(PORTS) {
        text += &format!(
            " -- add-port rival {port} -- set interface {port} type={kind} ofport_request={number}"
        );
    }
    text
}

/// The words that give the second port a rate and eight queues, the highest
/// number first, as `ovs-vswitchd.conf.db(5)` has it.
fn pacing(rate: BitRate) -> String {
    let rate = rate.as_bps();
    let mut text = format!(
        " -- set port {} qos=@qos -- --id=@qos create qos type=linux-htb \
         other-config:max-rate={rate}",
        PORTS[1]
    );
    for queue in 0..=URGENT {
        text += &format!(" queues:{queue}=@q{queue}");
    }
    for queue in 0..=URGENT {
        let priority = URGENT - queue;
        text += &format!(
            " -- --id=@q{queue} create queue other-config:priority={priority} \
             other-config:max-rate={rate}"
        );
    }
    text
}

struct Place<'a> {
    folder: &'a Path,
    folder_name: String,
}

impl<'a> Place<'a> {
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
