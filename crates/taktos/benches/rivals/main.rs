//! Compares the Taktos switch with its rivals on this machine, in one run: Open
//! vSwitch, the bridge in the kernel, and a bare forwarder, which is the floor.
//!
//! `cargo xtask rivals` is the way to start it. Each subject stands on a stage of its own
//! (two hosts and the subject between, in namespaces) and they take turns, so
//! that a slow phase of the machine hits them all; while one has its turn, the
//! others stand still. The method is described in `docs/benchmarks.md`.

mod arguments;
mod control_plane;
mod controller;
mod cost;
mod disturbance;
mod forwarder;
mod latency;
mod open_vswitch;
mod process;
mod report;
mod run;
mod stage;
mod subject;
mod throughput;
mod traffic;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use linux::scheduling::{self, HIGHEST_NICE, Placement, Session, Wish};

use arguments::{Arguments, Job};

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
    let Some(processor) = scheduling::dedicated_processor() else {
        return Err(io::Error::other(
            "the comparison needs two processors: one for the subject, one for its hosts",
        ));
    };
    let _session = Session::raise(HIGHEST_NICE);
    scheduling::apply(Wish {
        nice: -15,
        placement: Placement::AllBut(processor),
    });
    let results = run::run(arguments, processor)?;
    let report = report::Report::new(&results);
    println!("{}", report.markdown());
    std::fs::write(&arguments.json, report.json()?)?;
    println!("All figures of all rounds: {}", arguments.json.display());
    Ok(())
}
