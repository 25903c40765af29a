//! `taktos certify` and `taktos verify`: promises that can be checked by who
//! trusts neither the controller nor its analysis.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use certificate::document::LONGEST;
use certificate::{Certificate, Objection, Proven, Unreadable};
use serde_json::json;
use units::Duration;

use super::exit::Exit;
use super::report_folder::write_whole;
use super::run::explain;
use super::screen::{self, say};
use super::{scenario_file, text_file};
use crate::experiment::{Experiment, certificate};

/// What `taktos certify` is told.
#[derive(Debug, clap::Args)]
pub struct Certify {
    /// The scenario file.
    file: PathBuf,
    /// The file to write [default: out/NAME/certificate.json].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the certificate on standard output, and write no file.
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

/// What `taktos verify` is told.
#[derive(Debug, clap::Args)]
pub struct Verify {
    /// The certificate.
    file: PathBuf,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// Admits the flows of a scenario and writes down what the promises rest on.
pub fn certify(arguments: &Certify) -> Exit {
    let scenario = match scenario_file::read(&arguments.file) {
        Ok(scenario) => scenario,
        Err(exit) => return exit,
    };
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(&scenario, &stop);
    let (admissions, promises) = match experiment.promises() {
        Ok(found) => found,
        Err(error) => return explain(&error),
    };
    let text = certificate(&scenario, &promises).write();
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
    let usual = || {
        Path::new("out")
            .join(&scenario.name)
            .join("certificate.json")
    };
    let path = arguments.out.clone().unwrap_or_else(usual);
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

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    write_whole(path, text)
}

/// Calculates again whether a certificate proves its promises.
pub fn verify(arguments: &Verify) -> Exit {
    let text = match text_file::read(&arguments.file, LONGEST) {
        Ok(text) => text,
        Err(exit) => return exit,
    };
    let certificate = match Certificate::read(&text) {
        Ok(certificate) => certificate,
        Err(error) => {
            say(format_args!(
                "taktos: {} is refused: {error}",
                arguments.file.display()
            ));
            return match error {
                Unreadable::Changed { .. } => Exit::Broken,
                Unreadable::TooLong { .. } | Unreadable::Form(_) | Unreadable::Format { .. } => {
                    Exit::BadInput
                }
            };
        }
    };
    match certificate::check(&certificate) {
        Ok(proven) => print(
            &proven_text(&certificate, &proven, arguments.json),
            Exit::Done,
        ),
        Err(objections) => print(&objections_text(&objections, arguments.json), Exit::Broken),
    }
}

fn proven_text(certificate: &Certificate, proven: &Proven, json: bool) -> String {
    let guarantees = proven.guarantees.iter();
    if json {
        let flows = guarantees.map(
            |(name, guarantee)| json!({"name": name, "guarantee_ns": guarantee.round_up().as_ns()}),
        );
        let document = json!({
            "network": certificate.network,
            "verdict": "proven",
            "flows": flows.collect::<Vec<_>>(),
            "objections": [],
        });
        return format!("{document:#}\n");
    }
    let width = guarantees
        .clone()
        .map(|(name, _)| name.chars().count())
        .max();
    let width = width.unwrap_or_default();
    let lines = guarantees.map(|(name, guarantee)| {
        let guarantee: Duration = guarantee.round_up();
        format!("{name:width$}  {guarantee}\n")
    });
    let lines: String = lines.collect();
    format!(
        "{lines}Proven: {} promises over {} stages, in {} cases of stage and failure.\n",
        proven.guarantees.len(),
        proven.stages,
        proven.cases
    )
}

fn objections_text(objections: &[Objection], json: bool) -> String {
    if json {
        let objections = objections
            .iter()
            .map(|objection| json!({"at": objection.at, "reason": objection.reason.to_string()}));
        let objections: Vec<_> = objections.collect();
        let document = json!({"verdict": "not proven", "flows": [], "objections": objections});
        return format!("{document:#}\n");
    }
    let lines = objections.iter().map(|objection| format!("{objection}\n"));
    lines.collect::<String>() + "Not proven.\n"
}

fn print(text: &str, exit: Exit) -> Exit {
    match screen::print(text) {
        Ok(()) => exit,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}
