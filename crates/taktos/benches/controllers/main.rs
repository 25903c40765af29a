//! Compares controllers on this machine, in one run: how many packet-ins a second
//! each answers, and how long a switch waits for an answer.
//!
//! ```text
//! cargo bench -p taktos --bench controllers -- --help
//! ```
//!
//! Each controller is a process of its own on a processor of its own; the load
//! generator, which plays the switches (`packet_ins`), has the other one.
//! They take turns, so that a slow phase of the machine hits them all, and while one
//! has its turn the others stand still. Two of them are no controllers but marks: the
//! null responder answers from the frame alone, with a prepared message; the learning
//! responder reads each packet-in, looks the hosts up in a hash table and writes the
//! answer, and does nothing else. The method and the figures are in
//! `docs/benchmarks.md`.

mod arguments;
mod learning;
mod load;
mod packet_ins;
mod process;
mod report;
mod responder;
mod run;
mod subject;
mod taktos_controller;

use std::io;
use std::process::ExitCode;

use clap::Parser;
use linux::scheduling::{self, HIGHEST_NICE, Session};

use arguments::{Arguments, Job};
use responder::Manner;
use run::Processors;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.job {
        Some(Job::Null { port }) => responder::serve(port, Manner::Null),
        Some(Job::Learn { port }) => responder::serve(port, Manner::Learning),
        Some(Job::Taktos { port }) => taktos_controller::serve(port),
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
    let processors = processors().ok_or_else(|| {
        io::Error::other("needs two processors: one for the controller, one for its switches")
    })?;
    let _session = Session::raise(HIGHEST_NICE);
    let rows = run::run(arguments, processors)?;
    println!("{}", report::markdown(&rows));
    Ok(())
}

fn processors() -> Option<Processors> {
    let subject = scheduling::dedicated_processor()?;
    let load = (0..subject).find(|processor| scheduling::is_allowed(*processor))?;
    Some(Processors { subject, load })
}
