//! `taktos verify`: whether a certificate proves its promises, and whether it is about
//! this network.

mod beside;

use std::path::PathBuf;

use certificate::document::LONGEST;
use certificate::{
    Certificate, Difference, Objection, Proven, ProvenPromise, Unreadable, assumptions, check,
};
use serde_json::{Value, json};

use super::certify::print;
use super::client::sheet::{harmless, harmless_document};
use super::exit::Exit;
use super::screen::say;
use super::text_file;
use crate::signature::{self, SignatureError};
use beside::Compared;

/// What `taktos verify` is told.
#[derive(Debug, clap::Args)]
pub struct Verify {
    /// The certificate.
    file: PathBuf,
    /// Compare what it states with a scenario file, or with what a running controller
    /// knows, as in http://127.0.0.1:8181.
    #[arg(long, value_name = "SCENARIO|URL")]
    against: Option<String>,
    /// Refuse it unless it was signed with the private half of this public key of
    /// Ed25519, in PEM.
    #[arg(long, value_name = "PUBLIC-KEY")]
    signed_by: Option<PathBuf>,
    #[command(flatten)]
    right: beside::Right,
    /// Print one JSON document, and nothing else.
    #[arg(long)]
    json: bool,
}

/// Calculates again whether a certificate proves its promises, and compares it if that
/// is wanted.
pub fn verify(arguments: &Verify) -> Exit {
    let certificate = match read(arguments) {
        Ok(certificate) => certificate,
        Err(exit) => return exit,
    };
    let proven = check(&certificate);
    let compared = arguments.against.as_deref();
    let compared = compared.map(|to| beside::compare_with(&certificate, to, &arguments.right));
    let compared = match compared.transpose() {
        Ok(compared) => compared,
        Err(exit) => return exit,
    };
    let same = compared.as_ref().is_none_or(|it| it.differences.is_empty());
    let exit = match proven.is_ok() && same {
        true => Exit::Done,
        false => Exit::Broken,
    };
    let text = match arguments.json {
        true => document(
            &certificate,
            &proven,
            arguments.against.as_deref().zip(compared.as_ref()),
            arguments.signed_by.is_some(),
        ),
        false => text(&certificate, &proven, compared.as_ref(), arguments),
    };
    // Names in a certificate come from anybody.
    print(&harmless_document(&text), exit)
}

/// Reads the certificate, and sees who signed it.
fn read(arguments: &Verify) -> Result<Certificate, Exit> {
    let text = text_file::read(&arguments.file, LONGEST)?;
    let refused = |reason: &dyn std::fmt::Display| {
        let (file, reason) = (arguments.file.display(), harmless(&reason.to_string()));
        say(format_args!("taktos: {file} is refused: {reason}"));
    };
    let certificate = Certificate::read(&text).map_err(|error| {
        refused(&error);
        match error {
            Unreadable::Changed { .. } => Exit::Broken,
            Unreadable::TooLong { .. } | Unreadable::Form(_) | Unreadable::Format { .. } => {
                Exit::BadInput
            }
        }
    })?;
    let signed = match &arguments.signed_by {
        Some(key) => signature::check(&certificate, key),
        None => Ok(()),
    };
    match signed {
        Ok(()) => Ok(certificate),
        Err(error @ SignatureError::Key { .. }) => {
            say(format_args!("taktos: {error}"));
            Err(Exit::BadInput)
        }
        Err(error) => {
            refused(&error);
            Err(Exit::Broken)
        }
    }
}

type Checked = Result<Proven, Vec<Objection>>;

/// Returns what `taktos verify --json` prints of a certificate alone.
pub(crate) fn document_of(certificate: &Certificate) -> String {
    document(certificate, &check(certificate), None, false)
}

fn document(
    certificate: &Certificate,
    proven: &Checked,
    compared: Option<(&str, &Compared)>,
    is_signature_checked: bool,
) -> String {
    let (promises, objections): (&[ProvenPromise], &[Objection]) = match proven {
        Ok(proven) => (&proven.promises, &[]),
        Err(objections) => (&[], objections),
    };
    let flows = promises.iter().map(|promise| {
        json!({
            "name": promise.flow,
            "level": promise.level,
            "guarantee_ns": promise.guarantee.round_up().as_ns(),
            "deadline_ns": promise.deadline.round_up().as_ns(),
        })
    });
    let objections = objections
        .iter()
        .map(|objection| json!({"at": objection.at, "reason": objection.reason.to_string()}));
    let differences = compared.map(|(_, compared)| {
        let differences = compared.differences.iter();
        let differences = differences.map(|difference| {
            let Difference { at, stated, found } = difference;
            json!({"at": at, "stated": stated, "found": found})
        });
        Value::Array(differences.collect())
    });
    let document = json!({
        "network": certificate.network.name,
        "verdict": if proven.is_ok() { "proven" } else { "not proven" },
        "flows": flows.collect::<Vec<_>>(),
        "objections": objections.collect::<Vec<_>>(),
        "against": compared.map(|(to, _)| to),
        "differences": differences,
        "not_compared": compared.map(|(_, compared)| compared.left_out),
        "signature_checked": is_signature_checked,
        "assumed": assumptions(certificate),
    });
    format!("{document:#}\n")
}

fn text(
    certificate: &Certificate,
    proven: &Checked,
    compared: Option<&Compared>,
    arguments: &Verify,
) -> String {
    let mut text = match proven {
        Ok(proven) => proven_text(proven),
        Err(objections) => {
            let lines = objections.iter().map(|objection| format!("{objection}\n"));
            lines.collect::<String>() + "Not proven.\n"
        }
    };
    if let (Some(compared), Some(to)) = (compared, &arguments.against) {
        let lines = compared.differences.iter().map(|it| format!("{it}\n"));
        text.extend(lines);
        text += &match compared.differences.len() {
            0 => format!("The same as {to}.\n"),
            _ => format!("Not the same as {to}.\n"),
        };
        if !compared.left_out.is_empty() {
            text += &format!("Not compared: {}.\n", compared.left_out.join(", "));
        }
    }
    if arguments.signed_by.is_some() {
        text += "Signed with this key.\n";
    }
    if proven.is_ok() {
        text += "Assumed:\n";
        let lines = assumptions(certificate).into_iter();
        text.extend(lines.map(|line| format!("  {line}\n")));
    }
    text
}

fn proven_text(proven: &Proven) -> String {
    let name = |promise: &ProvenPromise| match &promise.level {
        Some(level) => format!("{} at level {level}", promise.flow),
        None => promise.flow.clone(),
    };
    let promises = proven.promises.iter();
    let named: Vec<_> = promises.map(|promise| (name(promise), promise)).collect();
    let width = named.iter().map(|(name, _)| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let lines = named.iter().map(|(name, promise)| {
        let [guarantee, deadline] =
            [promise.guarantee, promise.deadline].map(|it| it.round_up().to_string());
        format!("{name:width$}  {guarantee} of {deadline}\n")
    });
    format!(
        "{}Proven: {} promises over {} stages, in {} cases of stage, level and failure.\n",
        lines.collect::<String>(),
        proven.promises.len(),
        proven.stages,
        proven.cases
    )
}
