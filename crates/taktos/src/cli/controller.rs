//! `taktos controller`: one controller for real switches, until it is stopped.

mod cluster;
mod data;
mod etcd;
mod network;
mod programs;
mod repair;
mod sdn_ip;
mod token;

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use clap::ValueEnum;
use controller::Config;
use controller::applications::Applications;
use controller::mastery::Claim;
use controller::northbound::{ApplicationKind, Manifest};
use linux::controller_loop::{self, ControllerHandle, ListenError, Membership};
use linux::scheduling::{Placement, Wish};
use thiserror::Error;
use wire::siphash::siphash_2_4;

use self::cluster::{ClusterError, ClusterOptions};
use self::data::{DataError, DataFolder};
use self::etcd::{EtcdError, EtcdOptions, Patience};
use self::programs::{Programs, ProgramsError};
use self::sdn_ip::{Routing, SdnIpOptions};
use super::exit::Exit;
use super::run::stop_on_signals;
use super::screen::say;
use crate::southbound::{OpenFlowOptions, SouthboundError};
use crate::web::{Terms, Web};
use controller::store::MemoryStore;
use store::EtcdStore;

/// How often the program looks whether it is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// The controller's thread is before those that serve its clients, if the machine
/// grants that.
const WISH: Wish = Wish {
    nice: -10,
    placement: Placement::Anywhere,
};

/// What `taktos controller` is told.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ControllerArgs {
    #[command(subcommand)]
    instead: Option<Instead>,
    /// A file with options, by their long names, as in `http = "127.0.0.1:8181"`; those of the
    /// command line go before them.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    openflow: OpenFlowOptions,
    #[command(flatten)]
    programs: Programs,
    /// The folder in which it keeps what outlives it; without one, it forgets
    /// everything when it ends.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(flatten)]
    etcd: EtcdOptions,
    #[command(flatten)]
    cluster: ClusterOptions,
    /// What it is called.
    #[arg(long, value_name = "NAME", default_value = "controller")]
    id: String,
    /// Become master of switches of which another controller is. Without it, nothing is
    /// written at those.
    #[arg(long)]
    take_over: bool,
    /// What is done with frames that no flow claims, and what else the controller does; may be
    /// repeated.
    #[arg(
        long = "app",
        value_name = "NAME",
        value_enum,
        default_value = "reactive-forwarding"
    )]
    applications: Vec<ApplicationName>,
    #[command(flatten)]
    sdn_ip: SdnIpOptions,
    /// A scenario file: what it says of switches, links, hosts, classes and levels of
    /// criticality is known beforehand; its traffic and events are ignored.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// The profile of switches that the network file does not name.
    #[arg(long, value_name = "NAME", default_value = "unknown-switch")]
    profile: String,
    /// Have no switch watch how long frames of promised flows stay, which costs each of them
    /// some 150 ns.
    #[arg(long)]
    no_hops: bool,
}

/// What else can be done about controllers.
#[derive(Debug, clap::Subcommand)]
enum Instead {
    /// Make a token by which a client shows who it is, and print it.
    Token(token::Token),
    /// Keep what can still be read of a damaged store.
    Repair(repair::Repair),
}

/// An application that the controller brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ApplicationName {
    /// Forwards what no flow claims to where its destination was last seen.
    ReactiveForwarding,
    /// Forwards what is admitted and nothing else.
    Deterministic,
    /// Makes the network one router among others, which speaks BGP by gobgpd.
    SdnIp,
}

impl ApplicationName {
    const fn kind(self) -> ApplicationKind {
        match self {
            Self::ReactiveForwarding => ApplicationKind::ReactiveForwarding,
            Self::Deterministic => ApplicationKind::Deterministic,
            Self::SdnIp => ApplicationKind::SdnIp,
        }
    }
}

/// Why the controller does not start.
#[derive(Debug, Error)]
enum StartError {
    #[error(transparent)]
    Programs(#[from] ProgramsError),
    #[error(transparent)]
    Southbound(#[from] SouthboundError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error(transparent)]
    Etcd(#[from] EtcdError),
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    #[error("cannot start: {0}")]
    Machine(#[from] io::Error),
}

impl StartError {
    fn exit(&self) -> Exit {
        match self {
            Self::Programs(_) | Self::Etcd(_) | Self::Cluster(_) => Exit::BadInput,
            Self::Southbound(error) if !error.is_of_the_machine() => Exit::BadInput,
            Self::Southbound(_) => Exit::Lacking,
            Self::Listen(_) | Self::Data(_) | Self::Machine(_) => Exit::Lacking,
        }
    }
}

/// Runs a controller until it is told to stop, or does what is asked instead.
pub fn controller(arguments: &ControllerArgs) -> Exit {
    match &arguments.instead {
        Some(Instead::Token(arguments)) => token::token(arguments),
        Some(Instead::Repair(arguments)) => repair::repair(arguments),
        None => serve(arguments),
    }
}

fn serve(arguments: &ControllerArgs) -> Exit {
    let is_loaded = arguments.applications.contains(&ApplicationName::SdnIp);
    let routing = arguments.sdn_ip.read(is_loaded);
    let told = routing.and_then(|routing| Ok((config(arguments)?, routing)));
    let (config, routing) = match told {
        Ok(told) => told,
        Err(exit) => return exit,
    };
    run(arguments, config, routing).unwrap_or_else(|error| {
        say(format_args!("taktos: {error}"));
        error.exit()
    })
}

fn config(arguments: &ControllerArgs) -> Result<Config, Exit> {
    let kinds: BTreeSet<ApplicationKind> =
        arguments.applications.iter().map(|it| it.kind()).collect();
    let applications: Vec<Manifest> = kinds.into_iter().map(Manifest::built_in).collect();
    if let Err(error) = Applications::configured(applications.clone()) {
        say(format_args!("taktos: --app: {error}"));
        return Err(Exit::BadInput);
    }
    let known = network::config(arguments.network.as_deref(), &arguments.profile)?;
    Ok(Config {
        applications,
        watch_hops: known.watch_hops && !arguments.no_hops,
        ..known
    })
}

fn run(
    arguments: &ControllerArgs,
    config: Config,
    routing: Option<Routing>,
) -> Result<Exit, StartError> {
    let terms = arguments.programs.terms(arguments.network.as_deref())?;
    let options = digest(&config, &terms);
    let http = arguments.programs.address();
    arguments.cluster.check(http, arguments.programs.scheme())?;
    let mut etcd = arguments.etcd.store(match arguments.cluster.is_wanted() {
        true => Patience::Short,
        false => Patience::Usual,
    })?;
    let stop = stop_on_signals()?;
    // A file that may not grow is a store that fails for a while, and no end.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default())?;
    let data = arguments
        .data
        .as_deref()
        .map(DataFolder::open)
        .transpose()?;
    let secrets = match (&mut etcd, &data) {
        (Some(etcd), _) if arguments.cluster.is_wanted() => cluster::secrets(etcd, &stop)?,
        (_, Some(data)) => data.secrets()?,
        (_, None) => data::Secrets::random()?,
    };
    let mut doors = arguments.openflow.open()?;
    let programs = controller_loop::listen(arguments.programs.address())?;
    let announced = doors.announce();
    let kept = data.is_some().then_some(secrets.probe_key);
    let claim = claim(arguments, kept, &announced);
    let config = Config {
        claim,
        ..with_secrets(config, &secrets)
    };
    let terms = Terms {
        id: arguments.id.clone(),
        audit: data.as_ref().map(DataFolder::audit),
        store: match etcd {
            Some(_) => None,
            None => data.as_ref().map(DataFolder::store_file),
        },
        speaker: routing.as_ref().map(|it| it.report.clone()),
        ..terms
    };
    let url = arguments.programs.url(programs.local_addr()?);
    let named = (&*arguments.id, url);
    let membership = arguments.cluster.join(named, options, &secrets)?;
    let records = (etcd, data, membership);
    let handle = start(doors.take_plain(), config.clone(), records)?;
    let cluster = handle.cluster();
    let cluster = cluster
        .map(|it| arguments.cluster.forwarding(it))
        .transpose()?;
    // What was opened stays open; nothing more takes a privilege.
    linux::privilege::renounce()?;
    let gates = doors.serve(&handle.side_entrance(), say)?;
    let web = Web::start_instance(programs, handle.desk(), &config, (terms, cluster))?;
    let speaker = routing.map(|it| it.start(web.site())).transpose()?;
    introduce(arguments, &announced, web.address());
    let exit = attend(&handle, &web, &stop);
    handle.leave();
    // In this order: each serves the one behind it.
    drop((gates, speaker, web, handle));
    if exit == Exit::Done {
        say("stopped");
    }
    Ok(exit)
}

/// Returns how a controller claims switches: with a folder of its own by the key that is kept
/// there, otherwise by where it runs.
fn claim(arguments: &ControllerArgs, kept: Option<[u8; 16]>, announced: &[String]) -> Claim {
    let instance = match kept {
        Some(key) => instance(key, &[]),
        None => {
            let here = [host(), arguments.id.clone()];
            instance(*b"forgets at ends.", &[&here, announced].concat())
        }
    };
    Claim {
        instance,
        take_over: arguments.take_over,
        has_lost: false,
    }
}

/// Returns what a controller is told that has these secrets.
fn with_secrets(config: Config, secrets: &data::Secrets) -> Config {
    Config {
        probe_key: Some(secrets.probe_key),
        foreign_rules: controller::northbound::ForeignRules::Keep,
        seed: secrets.seed,
        ..config
    }
}

/// Passes on what the controller tells, until it is to stop.
fn attend(handle: &ControllerHandle, web: &Web, stop: &AtomicBool) -> Exit {
    while !stop.load(Ordering::Relaxed) {
        match handle.told().recv_timeout(LOOK_INTERVAL) {
            Ok(told) => web.take(told),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                say("taktos: the controller has ended by itself");
                return Exit::Fault;
            }
        }
    }
    Exit::Done
}

/// Returns the number by which switches know a controller: the same when it is started
/// again. With a folder of its own it follows from its key, otherwise from where it runs.
fn instance(key: [u8; 16], words: &[String]) -> u32 {
    let digest = siphash_2_4(key, words.join(" ").as_bytes());
    u32::try_from(digest >> u32::BITS).expect("half of 64 bits")
}

/// Returns a digest of what all instances of a cluster have to be told alike.
fn digest(config: &Config, terms: &Terms) -> u64 {
    const KEY: [u8; 16] = *b"taktos's options";
    siphash_2_4(KEY, format!("{config:?} {:?}", terms.gate).as_bytes())
}

fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default()
}

fn start(
    listener: Option<TcpListener>,
    config: Config,
    (etcd, data, membership): (Option<EtcdStore>, Option<DataFolder>, Option<Membership>),
) -> Result<ControllerHandle, StartError> {
    Ok(match (etcd, membership, data) {
        (Some(etcd), Some(membership), _) => {
            ControllerHandle::start_instance(listener, config, etcd, membership, WISH)?
        }
        (Some(etcd), None, _) => ControllerHandle::start(listener, config, etcd, WISH)?,
        (None, _, Some(data)) => ControllerHandle::start(listener, config, data.store()?, WISH)?,
        (None, _, None) => ControllerHandle::start(listener, config, MemoryStore::default(), WISH)?,
    })
}

fn introduce(arguments: &ControllerArgs, switches: &[String], http: SocketAddr) {
    let names = arguments.applications.iter().map(|it| it.kind().name());
    let names: Vec<_> = names.collect();
    say(format_args!("{} · {}", arguments.id, names.join(", ")));
    let etcd = arguments.etcd.introduction();
    match &arguments.data {
        Some(folder) => say(format_args!("data in {}", folder.display())),
        None if arguments.cluster.is_wanted() => {
            say("no --data: the audit log is forgotten at its end");
        }
        None if etcd.is_some() => say("no --data: secrets and audit log are forgotten at its end"),
        None => say("no --data: everything is forgotten when it ends"),
    }
    for line in etcd.into_iter().chain(arguments.cluster.introduction()) {
        say(line);
    }
    say(format_args!(
        "switches that no network file names are taken for a `{}`",
        arguments.profile
    ));
    for line in switches {
        say(line);
    }
    let url = arguments.programs.url(http);
    say(format_args!("programs ask at {url}/api/v1"));
    say(format_args!("page: {url}/"));
    say("running");
}
