//! The command line. Results go to standard output, progress and complaints to
//! standard error.

pub(crate) mod analyze;
mod certify;
pub(crate) mod check;
mod client;
mod cluster;
mod config_file;
mod controller;
mod exit;
mod explanation;
mod export;
mod manual;
mod measure;
mod profile;
mod report_folder;
mod reproduce;
mod run;
mod run_page;
pub(crate) mod scenario_file;
pub(crate) mod screen;
mod show;
mod switch;
pub(crate) mod text_file;
pub(crate) mod verify;
mod view;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use ::measure::report::ShownFlows;
use ::measure::report::text::Details;
use clap::{CommandFactory, Parser, Subcommand, ValueEnum};
use units::Duration;

use crate::web::gate::Role;
use exit::Exit;

/// An open network operating system for time-critical Ethernet.
#[derive(Debug, Parser)]
#[command(name = "taktos", version, about, propagate_version = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Build the network of a scenario, admit its flows, send real traffic and
    /// judge every promise.
    Run(RunArgs),
    /// Show a run that is over on the page, in a browser.
    View(view::View),
    /// Say which flows of a scenario would be admitted, with which guarantee.
    Check(Check),
    /// Bound delays and backlogs of a network of servers, by one method or all.
    Analyze(analyze::Analyze),
    /// Write down what the promises of a scenario rest on.
    Certify(certify::Certify),
    /// Calculate again whether a certificate proves its promises.
    Verify(verify::Verify),
    /// Write a network that promises something in the words of others: substation
    /// descriptions, settings of switches, tables, INET, Saihu.
    Export(export::Export),
    /// Run a controller for real switches, and the interface by which programs ask
    /// it.
    Controller(Box<controller::ControllerArgs>),
    /// Write what machines need whose controllers are one, or check that.
    Cluster(cluster::ClusterArgs),
    /// Run a switch on existing interfaces, or show what a running one does.
    Switch(Box<switch::SwitchArgs>),
    /// Show the network that a running controller knows.
    Topology(client::topology::TopologyArgs),
    /// Show the hosts that a running controller knows, name some, or forget some.
    Hosts(client::hosts::HostsArgs),
    /// Show the flows that are admitted, and how their promises stand.
    Flows(client::flows::Flows),
    /// Ask for flows that arrive in time: one, or those of a file.
    Admit(Box<client::admit::Admit>),
    /// End flows.
    Withdraw(client::withdraw::Withdraw),
    /// Find ways through the network, with room for a flow if that is wanted.
    Paths(client::paths::Paths),
    /// Show intents (connectivity, paths, match and action), add or remove some.
    Intents(Box<client::intents::Intents>),
    /// Show the rules that switches should have and whether they have them, or have
    /// them mended.
    Rules(client::rules::Rules),
    /// Show the applications of a running controller, load, unload or reload some.
    Apps(client::apps::Apps),
    /// Show routes to other networks, or how the network is as a router.
    Routes(client::routes::RoutesArgs),
    /// Say which contracts what a source really sends keeps.
    Contract(client::contract::ContractArgs),
    /// Show what switches are taken to be and whether what is seen agrees, or correct one.
    Profile(client::profiles::ProfileArgs),
    /// Show the instances of a cluster of controllers, and which of them decides.
    Instances(client::instances::InstancesArgs),
    /// Change how a running controller goes about its work.
    Settings(client::settings::SettingsArgs),
    /// Shows in which criticality mode a network is, or changes that.
    Mode(client::mode::Mode),
    /// Show what happened in the network, or what happens.
    Events(client::events::Events),
    /// Measure a device: one that is started here, or whatever is connected to
    /// interfaces of this machine; without arguments, list methods and targets.
    Measure(Box<measure::Measure>),
    /// Do experiments of the papers again and print their figures beside ours;
    /// without arguments, list them.
    Reproduce(reproduce::Reproduce),
    /// Print what completes commands in a shell.
    Completions(manual::Completions),
    /// Write the manual pages.
    #[command(hide = true)]
    Manual(manual::Manual),
}

/// What `taktos run` is told.
#[derive(Debug, clap::Args)]
struct RunArgs {
    /// The scenario file.
    file: PathBuf,
    /// Where to run it; without this, in `lab` if this machine allows it.
    #[arg(long, value_enum)]
    world: Option<WorldName>,
    /// How switches carry frames; `tables` and `compiled` are for `--world sim`.
    #[arg(long, value_enum, default_value = "auto")]
    engine: RunEngine,
    /// What Taktos switches are taken to be: `measured` on this machine, the first time
    /// in some twenty seconds; `committed`, as the scenario says; or a profile that is built
    /// in, or a file ending in .toml [default: measured in the lab where the kernel
    /// forwards, else committed].
    #[arg(long, value_name = "measured|committed|PROFILE")]
    profile: Option<profile::Choice>,
    /// Everything random follows from it; replaces the scenario's own.
    #[arg(long)]
    seed: Option<u64>,
    /// How long traffic is sent, as in "30 s"; replaces the scenario's own.
    #[arg(long)]
    duration: Option<Duration>,
    /// The directory for report.json and report.html
    /// [default: out/NAME, by the name of the file].
    #[arg(long, visible_alias = "report", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Show the frames of each flow as well: sent, lost, set apart, beyond the contract,
    /// not judged.
    #[arg(long, conflicts_with = "json")]
    details: bool,
    /// Show every flow one by one, here, on the page and in report.json, however many there
    /// are; without it, of many the worst, and what all come to.
    #[arg(long)]
    all: bool,
    /// Print report.json on standard output, and nothing else.
    #[arg(long)]
    json: bool,
    /// Show the run on a page for browsers of this machine: live where it is of real things,
    /// and what came of it until Ctrl-C.
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:8182")]
    page: Option<SocketAddr>,
    /// What browsers of this machine may do to the run while it lasts; `administer` cuts
    /// and heals links as well. The report says what was done.
    #[arg(
        long,
        value_enum,
        value_name = "ROLE",
        default_value = "read",
        requires = "page"
    )]
    page_role: Role,
}

impl RunArgs {
    fn extent(&self) -> ShownFlows {
        match self.all {
            true => ShownFlows::All,
            false => ShownFlows::Worst,
        }
    }

    fn details(&self) -> Details {
        match self.details {
            true => Details::All,
            false => Details::Few,
        }
    }
}

/// What `taktos check` is told.
#[derive(Debug, clap::Args)]
struct Check {
    /// The scenario file.
    file: PathBuf,
    /// What Taktos switches are taken to be: `committed`, as the scenario says;
    /// `measured`, as an earlier run in the lab found them on this machine; or a profile
    /// that is built in, or a file ending in .toml [default: committed].
    #[arg(long, value_name = "measured|committed|PROFILE")]
    profile: Option<profile::Choice>,
    /// Explain the decision on a flow: each hop with its share, who competes
    /// there, and what would have to change. May be given several times.
    #[arg(long, value_name = "FLOW")]
    explain: Vec<String>,
    /// How budgets are fitted to the flows.
    #[arg(long, value_enum, default_value_t = Fit::Roomy)]
    fit: Fit,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// How budgets are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fit {
    /// What deadlines leave is room for slower switches.
    Roomy,
    /// To the least, for research.
    Tight,
}

/// Where a scenario can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WorldName {
    /// In virtual time.
    Sim,
    /// In Linux namespaces, with real packets.
    Lab,
}

/// How switches carry frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunEngine {
    /// In the lab, the kernel where it can, packet sockets elsewhere; in virtual time,
    /// the tables.
    Auto,
    /// The kernel, by a program on each port.
    Kernel,
    /// AF_XDP, and a loop that spins.
    Xdp,
    /// Packet sockets, and a loop that spins.
    Packet,
    /// In virtual time, the tables of the switch's core.
    Tables,
    /// In virtual time, the compiled form of the tables, which the kernel walks in the
    /// lab.
    Compiled,
}

/// Does what the command line says and returns the exit code for it.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::from(run_with(std::env::args_os().collect()))
}

/// Does what `given` says, the name of the program first, and returns the exit code for it.
#[must_use]
pub fn run_with(given: Vec<OsString>) -> u8 {
    let given = match config_file::expand(&Arguments::command(), given) {
        Ok(given) => given,
        Err(exit) => return exit.code(),
    };
    let arguments = match Arguments::try_parse_from(given) {
        Ok(arguments) => arguments,
        Err(error) => {
            let code = if error.use_stderr() {
                Exit::BadInput
            } else {
                Exit::Done
            };
            // Nothing can be done about a closed terminal.
            let _ = error.print();
            return code.code();
        }
    };
    let exit = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::View(arguments) => view::view(&arguments),
        Command::Check(arguments) => check::check(&arguments),
        Command::Analyze(arguments) => analyze::analyze(&arguments),
        Command::Certify(arguments) => certify::certify(&arguments),
        Command::Verify(arguments) => verify::verify(&arguments),
        Command::Export(arguments) => export::export(&arguments),
        Command::Controller(arguments) => controller::controller(&arguments),
        Command::Cluster(arguments) => cluster::cluster(&arguments),
        Command::Switch(arguments) => switch::switch(&arguments),
        Command::Topology(arguments) => client::topology::topology(&arguments),
        Command::Hosts(arguments) => client::hosts::hosts(&arguments),
        Command::Paths(arguments) => client::paths::paths(&arguments),
        Command::Flows(arguments) => client::flows::flows(&arguments),
        Command::Admit(arguments) => client::admit::admit(&arguments),
        Command::Withdraw(arguments) => client::withdraw::withdraw(&arguments),
        Command::Intents(arguments) => client::intents::intents(&arguments),
        Command::Rules(arguments) => client::rules::rules(&arguments),
        Command::Apps(arguments) => client::apps::apps(&arguments),
        Command::Routes(arguments) => client::routes::routes(&arguments),
        Command::Contract(arguments) => client::contract::contract(&arguments),
        Command::Profile(arguments) => client::profiles::profile(&arguments),
        Command::Instances(arguments) => client::instances::instances(&arguments),
        Command::Settings(arguments) => client::settings::settings(&arguments),
        Command::Mode(arguments) => client::mode::mode(&arguments),
        Command::Events(arguments) => client::events::events(&arguments),
        Command::Measure(arguments) => measure::measure(&arguments),
        Command::Reproduce(arguments) => reproduce::reproduce(&arguments),
        Command::Completions(arguments) => manual::completions(Arguments::command(), &arguments),
        Command::Manual(arguments) => manual::manual(Arguments::command(), &arguments),
    };
    exit.code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_of_any_command_contradicts_another() {
        Arguments::command().debug_assert();
    }
}
