//! Compares the Taktos switch with its rivals on this machine, in one run: Open
//! vSwitch, the bridge in the kernel, and forwarders that do nothing else, which
//! are the floor.
//!
//! `cargo xtask rivals` is the way to start it. Each subject stands on a stage of its own
//! (two hosts and the subject between, in namespaces) and they take turns, so
//! that a slow phase of the machine hits them all; while one has its turn, the
//! others stand still. The method is described in `docs/benchmarks.md`.

mod arguments;
mod arrangement;
mod control_plane;
mod controller;
mod cost;
mod disturbance;
mod document;
mod forwarder;
mod kernel_forwarder;
mod latency;
mod overload;
mod ratios;
mod report;
mod run;
mod running;
mod subject;
mod throughput;
mod traffic;
mod verdict;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Session, Wish};

use arguments::{Arguments, Job};
use arrangement::{HOSTS_NICE, Processors};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.job {
        Some(Job::Forward { ports, turns }) => {
            forwarder::run(ports.carried(), turns.waiting()).map(|never| match never {})
        }
        None => compare(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> io::Result<()> {
    lab::privilege::acquire().map_err(io::Error::other)?;
    let processors = processors().ok_or_else(|| {
        io::Error::other(
            "the comparison needs two processors: one for the subject, one for its hosts",
        )
    })?;
    let _session = Session::raise(HIGHEST_NICE);
    scheduling::apply(Wish {
        nice: HOSTS_NICE,
        placement: Placement::AllBut(processors.subject),
    });
    let results = run::run(arguments, processors)?;
    let tables = report::Report::new(&results).markdown();
    println!("{tables}");
    std::fs::write(&arguments.markdown, tables)?;
    std::fs::write(&arguments.json, document::write(&results)?)?;
    println!("All figures of all rounds: {}", arguments.json.display());
    Ok(())
}

fn processors() -> Option<Processors> {
    let subject = scheduling::dedicated_processor()?;
    let hosts = (0..subject).find(|processor| scheduling::is_allowed(*processor))?;
    Some(Processors { subject, hosts })
}
