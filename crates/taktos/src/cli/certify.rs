//! `taktos certify`: promises that can be checked by who trusts neither the controller
//! nor its analysis.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::exit::Exit;
use super::report_folder::write_whole;
use super::run::explain;
use super::scenario_file;
use super::screen::{self, say};
use crate::signature;
use run::experiment::{Experiment, certificate};

/// What `taktos certify` is told.
#[derive(Debug, clap::Args)]
pub struct Certify {
    /// The scenario file.
    file: PathBuf,
    /// The directory for certificate.json, or another file if it ends in .json
    /// [default: out/NAME, by the name of the file].
    #[arg(long, visible_alias = "report", value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the certificate on standard output, and write no file.
    #[arg(long, conflicts_with = "out")]
    json: bool,
    /// Sign it with this private key of Ed25519, in PEM.
    #[arg(long, value_name = "KEY")]
    sign_with: Option<PathBuf>,
}

/// Admits the flows of a scenario and writes down what the promises rest on.
pub fn certify(arguments: &Certify) -> Exit {
    let stop = AtomicBool::new(false);
    let scenario = scenario_file::read(&arguments.file).and_then(|mut scenario| {
        scenario_file::settle_queues(&mut scenario, &stop)?;
        Ok(scenario)
    });
    let scenario = match scenario {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    let experiment = Experiment::deciding(&scenario, &stop);
    let (admissions, promises) = match experiment.promises() {
        Ok(found) => found,
        Err(error) => return explain(&error),
    };
    let mut certificate = certificate(&scenario, &promises);
    if let Some(key) = &arguments.sign_with
        && let Err(error) = signature::sign(&mut certificate, key)
    {
        say(format_args!("taktos: {error}"));
        return Exit::BadInput;
    }
    let text = certificate.write();
    let promised = promises.flows.len();
    let refused = admissions
        .iter()
        .filter(|admission| admission.decision.is_err())
        .count();
    let exit = match refused {
        0 => Exit::Done,
        _ => Exit::Broken,
    };
    if arguments.json {
        return print(&text, exit);
    }
    let usual = || Path::new("out").join(&scenario.name);
    let path = file_in(&arguments.out.clone().unwrap_or_else(usual));
    if let Err(error) = write(&path, &text) {
        say(format_args!(
            "taktos: cannot write {}: {error}",
            path.display()
        ));
        return Exit::BadInput;
    }
    let refused = match refused {
        0 => String::new(),
        refused => format!("; {refused} refused"),
    };
    let path = path.display();
    print(
        &format!("{promised} promises{refused}\ncertificate: {path}\n"),
        exit,
    )
}

/// Returns the file that a user means by the place for it.
fn file_in(place: &Path) -> PathBuf {
    let is_file = place.exists() && !place.is_dir();
    match is_file || place.extension().is_some_and(|end| end == "json") {
        true => place.to_owned(),
        false => place.join("certificate.json"),
    }
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(path, text)
}

/// Prints a result.
pub(super) fn print(text: &str, exit: Exit) -> Exit {
    match screen::print(text) {
        Ok(()) => exit,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}
