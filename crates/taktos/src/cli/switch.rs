//! `taktos switch`: one switch on existing interfaces, until it is stopped.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use linux::kernel_engine::{Manner, RING_BYTES};
use linux::packet_loop::Waiting;
use linux::qdisc::Qdisc;
use linux::scheduling;
use switch::FailMode;
use switch::compiled::Overflow;
use thiserror::Error;
use wire::openflow::DatapathId;

use super::exit::Exit;
use super::run::stop_on_signals;
use super::screen::say;
use super::show;
use crate::datapath::bfd_choice::{self, BfdChoice, BfdPlanError, KeyChoice};
use crate::datapath::carriage::{EngineChoice, KernelPlan};
use crate::datapath::doors::{DialledController, Entrance};
use crate::datapath::endpoint::{Endpoint, EndpointTransport};
use crate::datapath::port_plan::{self, PortName, PortPlanError, RateChoice};
use crate::datapath::{Datapath, DatapathError, DatapathPlan, MOST_WAYS};
use crate::tls::{TlsError, TlsFiles};

/// How often the program looks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// What `taktos switch` is told.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct SwitchArgs {
    #[command(subcommand)]
    ask: Option<Ask>,
    /// A file with options, by their long names, as in `ports = ["eth1", "eth2"]`; those of the
    /// command line go before them.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The interfaces that are ports, numbered from 1 in their order, or as in
    /// `7=eth1`.
    #[arg(long, value_name = "[N=]IF", value_delimiter = ',', required = true)]
    ports: Vec<PortName>,
    /// The interface that leads to this host, as the port LOCAL.
    #[arg(long, value_name = "IF")]
    local: Option<String>,
    /// The rate that a port keeps when it sends, as in `eth1=100M`, or `100M` for
    /// all; `none` for no rate [default: that of its link, if it has a cable].
    #[arg(long, value_name = "[IF=]RATE", value_delimiter = ',')]
    rate: Vec<RateChoice>,
    /// Ask the neighbour behind a port all the time whether it is there (BFD), as in
    /// `eth1=1ms*3`, or over IPv4 `eth1=300ms*3@10.0.0.1-10.0.0.2`; may be repeated.
    #[arg(long, value_name = "IF=INTERVAL*N", value_delimiter = ',')]
    bfd: Vec<BfdChoice>,
    /// How those neighbours prove who they are, with the number of a key and the file
    /// that holds it.
    #[arg(long, value_name = "password|sha1|meticulous-sha1:N:FILE")]
    bfd_key: Option<KeyChoice>,
    /// A controller to connect to, as in `tcp:10.0.0.1:6653`; may be repeated.
    #[arg(long, value_name = "tcp|tls:HOST[:PORT]", value_delimiter = ',')]
    controller: Vec<Endpoint>,
    /// Where controllers and tools may connect; may be repeated.
    #[arg(long, value_name = "tcp|tls:ADDR[:PORT]", value_delimiter = ',')]
    listen: Vec<Endpoint>,
    /// What becomes of frames while none of the controllers is there.
    #[arg(long, value_enum, default_value = "secure")]
    fail_mode: FailModeName,
    /// The datapath id, decimal or as 0x… [default: the first port's address].
    #[arg(long, value_name = "N", value_parser = parse_datapath_id)]
    dpid: Option<DatapathId>,
    /// How many flow tables there are.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=254))]
    tables: u8,
    /// How many entries a flow table holds.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    table_size: u32,
    /// How frames come and go.
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    /// What becomes of an entry that the kernel engine cannot run, or has no room
    /// for.
    #[arg(long, value_enum, default_value = "core")]
    kernel_overflow: OverflowName,
    /// For how many entries the kernel engine sets memory aside, some 900 bytes
    /// each; they are shared by all tables [default: twice the table size].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(64..=4_000_000))]
    kernel_entries: Option<u32>,
    /// What keeps the rates of ports where the kernel forwards.
    #[arg(
        long = "discipline",
        value_name = "auto|htb|none",
        default_value = "auto"
    )]
    qdisc: Qdisc,
    /// When the switch is stopped, have the kernel engine go on forwarding until the next
    /// process of the same switch goes on with it, as it does when the process dies.
    #[arg(long)]
    graceful_restart: bool,
    /// The processor to run on; the switch then spins unless told to sleep or
    /// carried by the kernel.
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Look for frames without pause: quickest, and takes a processor. Where the
    /// kernel forwards, there is nothing to look for.
    #[arg(long, conflicts_with = "sleep")]
    spin: bool,
    /// Sleep until a frame comes.
    #[arg(long)]
    sleep: bool,
    /// The switch's private key for tls: connections, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
    /// The certificate of that key, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The certificate of the authority that peers have to be certified by, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// The name that controllers' certificates bear [default: the HOST].
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
    /// The control socket, by which tools of this machine reach the switch
    /// [default: /run/taktos/DPID.sock].
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
}

/// What else can be done with switches.
#[derive(Debug, clap::Subcommand)]
enum Ask {
    /// Show what a running switch has and does.
    Show(show::Show),
    /// Take away what killed switches have left in the kernel, in this network namespace.
    Clear,
}

/// How frames come and go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EngineName {
    /// The kernel where it can; else AF_XDP where the driver has it, and packet
    /// sockets elsewhere.
    Auto,
    /// The kernel, by a program on each port; what it cannot do, the switch does.
    Kernel,
    /// AF_XDP.
    Xdp,
    /// Packet sockets.
    Packet,
}

/// What becomes of an entry that the kernel engine cannot run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OverflowName {
    /// The switch's own process forwards its frames, slower.
    Core,
    /// The controller gets an error: the table is full.
    Refuse,
}

/// Runs a switch until it is told to stop, or asks one that runs.
pub fn switch(arguments: &SwitchArgs) -> Exit {
    match &arguments.ask {
        Some(Ask::Show(arguments)) => show::show(arguments),
        Some(Ask::Clear) => clear(),
        None => run(arguments),
    }
}

fn run(arguments: &SwitchArgs) -> Exit {
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(error) => {
            say(format_args!("taktos: {error}"));
            return Exit::BadInput;
        }
    };
    let stop = match stop_on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            say(format_args!("taktos: cannot catch Ctrl-C: {error}"));
            return Exit::Fault;
        }
    };
    let mut datapath = match Datapath::start(&plan) {
        Ok(datapath) => datapath,
        Err(error) => return refuse(&error),
    };
    introduce(arguments, &plan, &datapath);
    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
        if !datapath.is_running() {
            say("taktos: the switch has ended by itself");
            return Exit::Fault;
        }
        if let Some(event) = datapath.next_event(LOOK_INTERVAL) {
            say(event);
        }
    }
    if arguments.graceful_restart && datapath.outlives_process {
        say("stopped; the kernel goes on forwarding");
        // As when it is killed: what is given back at an end is what goes on.
        std::mem::forget(datapath);
        return Exit::Done;
    }
    drop(datapath);
    say("stopped");
    Exit::Done
}

fn clear() -> Exit {
    match linux::kernel_engine::clear_left() {
        Ok(interfaces) if interfaces.is_empty() => {
            say("nothing was left");
            Exit::Done
        }
        Ok(interfaces) => {
            say(format_args!("cleared {}", interfaces.join(", ")));
            Exit::Done
        }
        Err(error) => {
            say(format_args!(
                "taktos: cannot look for what was left: {error}"
            ));
            Exit::Lacking
        }
    }
}

/// What becomes of frames while no controller is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailModeName {
    /// The entries stay in force, and decide alone.
    Secure,
    /// Every frame is treated as by an ordinary bridge.
    Standalone,
}

/// What the command line says makes no sense.
#[derive(Debug, Error)]
enum Mistake {
    #[error(transparent)]
    Ports(#[from] PortPlanError),
    #[error(transparent)]
    Bfd(#[from] BfdPlanError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("there is no processor {0}")]
    Processor(usize),
    #[error("{0} controllers and addresses to listen on are more than {MOST_WAYS}")]
    Ways(usize),
}

fn plan(arguments: &SwitchArgs) -> Result<DatapathPlan, Mistake> {
    if let Some(processor) = arguments.cpu
        && !scheduling::is_allowed(processor)
    {
        return Err(Mistake::Processor(processor));
    }
    let ways = arguments.controller.len() + arguments.listen.len();
    if ways > MOST_WAYS {
        return Err(Mistake::Ways(ways));
    }
    let local = arguments.local.as_deref();
    let ports = port_plan::plan(&arguments.ports, local, &arguments.rate)?;
    let key = arguments.bfd_key.as_ref();
    Ok(DatapathPlan {
        sessions: bfd_choice::plan(&arguments.bfd, key, &ports)?,
        ports,
        engine: match arguments.engine {
            EngineName::Auto => EngineChoice::Auto,
            EngineName::Kernel => EngineChoice::Kernel,
            EngineName::Xdp => EngineChoice::Xdp,
            EngineName::Packet => EngineChoice::Packet,
        },
        kernel: kernel_plan(arguments),
        fail_mode: match arguments.fail_mode {
            FailModeName::Secure => FailMode::Secure,
            FailModeName::Standalone => FailMode::Standalone,
        },
        datapath_id: arguments.dpid,
        tables: arguments.tables,
        table_size: usize::try_from(arguments.table_size).expect("a million at most"),
        controllers: controllers(arguments)?,
        entrances: entrances(arguments)?,
        waiting: waiting(arguments),
        processor: arguments.cpu,
        control: arguments.control.clone(),
    })
}

fn kernel_plan(arguments: &SwitchArgs) -> KernelPlan {
    let entries = arguments.kernel_entries;
    KernelPlan {
        entries: entries.map(|entries| usize::try_from(entries).expect("a few million")),
        overflow: match arguments.kernel_overflow {
            OverflowName::Core => Overflow::ToCore,
            OverflowName::Refuse => Overflow::Refuse,
        },
        manner: Manner {
            qdisc: arguments.qdisc,
            processor: linux::scheduling::dedicated_processor(),
            ..Manner::BEST
        },
        ring_bytes: RING_BYTES,
    }
}

fn tls_files(arguments: &SwitchArgs) -> TlsFiles {
    TlsFiles {
        option: "--tls",
        key: arguments.tls_key.clone(),
        certificate: arguments.tls_cert.clone(),
        authority: arguments.tls_ca.clone(),
        peer_name: arguments.tls_name.clone(),
    }
}

fn controllers(arguments: &SwitchArgs) -> Result<Vec<DialledController>, TlsError> {
    let files = tls_files(arguments);
    let endpoints = arguments.controller.iter().cloned();
    let controllers = endpoints.map(|endpoint| {
        let tls = match endpoint.transport {
            EndpointTransport::Tcp => None,
            EndpointTransport::Tls => Some(files.dialling(&endpoint.host)?),
        };
        Ok(DialledController { endpoint, tls })
    });
    controllers.collect()
}

fn entrances(arguments: &SwitchArgs) -> Result<Vec<Entrance>, TlsError> {
    let files = tls_files(arguments);
    let endpoints = arguments.listen.iter().cloned();
    let entrances = endpoints.map(|endpoint| {
        let tls = match endpoint.transport {
            EndpointTransport::Tcp => None,
            EndpointTransport::Tls => Some(files.listening()?),
        };
        Ok(Entrance { endpoint, tls })
    });
    entrances.collect()
}

/// Who gives the switch a processor wants it used.
fn waiting(arguments: &SwitchArgs) -> Waiting {
    match arguments.spin || (arguments.cpu.is_some() && !arguments.sleep) {
        true => Waiting::Spinning,
        false => Waiting::Sleeping,
    }
}

fn introduce(arguments: &SwitchArgs, plan: &DatapathPlan, datapath: &Datapath) {
    let waiting = match datapath.waiting {
        Waiting::Spinning => "spinning",
        Waiting::Sleeping => "sleeping",
    };
    let processor = plan
        .processor
        .map(|processor| format!(" on processor {processor}"))
        .unwrap_or_default();
    say(format_args!(
        "switch {} · {} ports · {} tables of {} entries · {waiting}{processor}",
        datapath.datapath_id,
        plan.ports.len(),
        plan.tables,
        plan.table_size
    ));
    say(format_args!("engine {}", datapath.engine));
    for port in &datapath.ports {
        say(port);
    }
    for controller in &plan.controllers {
        say(format_args!("controller {}", controller.endpoint));
    }
    for entrance in &plan.entrances {
        let open_to = match (&entrance.tls, arguments.tls_ca.is_some()) {
            (Some(_), false) => ", to anybody: without --tls-ca nobody has to show who they are",
            (Some(_), true) | (None, _) => "",
        };
        say(format_args!("listening on {}{open_to}", entrance.endpoint));
    }
    match &datapath.control {
        Ok(socket) => say(format_args!("control socket {}", socket.path().display())),
        Err(reason) => say(format_args!("no control socket: {reason}")),
    }
    say("running");
}

fn refuse(error: &DatapathError) -> Exit {
    say(format_args!("taktos: {error}"));
    Exit::Lacking
}

fn parse_datapath_id(text: &str) -> Result<DatapathId, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed
        .map(DatapathId)
        .map_err(|_| "no 64 bits, as in `4242` or `0x00a1`".to_owned())
}
