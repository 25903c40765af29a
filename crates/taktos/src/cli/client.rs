//! `taktos topology`, `flows`, `admit` and the other commands that ask a controller
//! that runs, as its client over the interface for programs (S1-8).
//!
//! Each command fetches a document, and shows it as a table for people or as it
//! came for programs. What a document holds comes from the network, names of hosts
//! for instance: [`sheet`] shows none of it without making it harmless.

pub mod admit;
pub mod apps;
pub mod contract;
pub mod events;
pub mod flows;
pub mod hosts;
pub mod instances;
pub mod intents;
pub mod mode;
pub mod paths;
pub mod profiles;
pub mod routes;
pub mod rules;
pub mod settings;
pub mod topology;
pub mod withdraw;

mod endpoint;
pub(super) mod failure;
mod frames;
mod levels;
mod live;
mod moment;
pub(super) mod sheet;

use std::path::PathBuf;

use api::About;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use live::{Audience, View};

use super::exit::Exit;
use super::screen::{self, say};
use crate::client::access::{self, Access, AccessError, DEFAULT_URL};
use crate::client::{ClientError, Controller};

/// Where the controller is, by what right we ask, and how we want the answer.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Controller")]
pub struct Target {
    /// Where the controller is.
    #[arg(long, global = true, value_name = "URL", env = "TAKTOS_URL", default_value = DEFAULT_URL)]
    url: String,
    /// The file with the token that says who asks [default: what the environment
    /// variable TAKTOS_TOKEN holds].
    #[arg(long, global = true, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The certificate of the authority that certified the controller, in PEM.
    #[arg(long, global = true, value_name = "FILE", env = "TAKTOS_CA")]
    ca: Option<PathBuf>,
    /// Print one JSON document, and nothing else.
    #[arg(long, global = true)]
    json: bool,
}

impl Target {
    /// Tells whether one JSON document is to be printed, and nothing else.
    pub(super) fn json(&self) -> bool {
        self.json
    }

    /// Returns the controller, or says why it cannot be asked.
    pub(super) fn controller(&self) -> Result<Controller, Exit> {
        match self.access() {
            Ok(access) => Ok(Controller::new(access)),
            Err(error) => {
                say(format_args!("taktos: {error}"));
                Err(Exit::BadInput)
            }
        }
    }

    fn access(&self) -> Result<Access, AccessError> {
        let token = match &self.token_file {
            Some(file) => Some(access::token_in(file)?),
            None => std::env::var("TAKTOS_TOKEN").ok(),
        };
        let token = token.filter(|token| !token.is_empty() || self.token_file.is_some());
        Access::new(&self.url, token.as_deref(), self.ca.as_deref())
    }

    /// Fetches the document of a page and shows it once.
    fn show<T: DeserializeOwned>(&self, page: &Page<'_, T>) -> Exit {
        match self.controller() {
            Ok(controller) => match self.fetch(&controller, page) {
                Ok(text) => put(&text),
                Err(error) => failure::complain(&error),
            },
            Err(exit) => exit,
        }
    }

    /// Shows a page again whenever something happens that is of concern to it.
    fn watch<T: DeserializeOwned>(&self, page: &Page<'_, T>, concerns: fn(About) -> bool) -> Exit {
        let controller = match self.controller() {
            Ok(controller) => controller,
            Err(exit) => return exit,
        };
        let reader = match self.json {
            true => Audience::Program,
            false => Audience::Person,
        };
        let fetch = || match reader {
            Audience::Program => {
                let document = (page.ask)(&controller)?;
                Ok(format!(
                    "{}\n",
                    sheet::harmless_document(&document.to_string())
                ))
            }
            Audience::Person => self.fetch(&controller, page),
        };
        live::watch(
            &controller,
            &View {
                title: page.title,
                fetch: &fetch,
                reader,
                concerns,
            },
        )
    }

    fn fetch<T: DeserializeOwned>(
        &self,
        controller: &Controller,
        page: &Page<'_, T>,
    ) -> Result<String, ClientError> {
        self.shown((page.ask)(controller)?, page.text)
    }

    /// Returns what is shown of a document.
    fn shown<T: DeserializeOwned>(
        &self,
        document: Value,
        text: &dyn Fn(&T) -> String,
    ) -> Result<String, ClientError> {
        if self.json {
            return Ok(sheet::harmless_document(&format!("{document:#}\n")));
        }
        self.read(document).map(|document| text(&document))
    }

    /// Returns what a document says.
    fn read<T: DeserializeOwned>(&self, document: Value) -> Result<T, ClientError> {
        serde_json::from_value(document).map_err(|error| ClientError::Stranger {
            url: self.url.clone(),
            reason: format!("its answer is not understood ({error}): are both of one version?"),
        })
    }
}

/// A document of a controller, and how it is shown.
struct Page<'a, T> {
    /// What it is called.
    title: &'a str,
    /// Asks for it.
    ask: &'a dyn Fn(&Controller) -> Result<Value, ClientError>,
    /// What people read of it.
    text: &'a dyn Fn(&T) -> String,
}

/// Returns what asks for the document at `path`.
fn at(path: impl Into<String>) -> impl Fn(&Controller) -> Result<Value, ClientError> {
    let path = path.into();
    move |controller| controller.get(&path)
}

/// Removes things by their names, one by one; one that is not there does not keep
/// the others.
fn remove(target: &Target, what: &str, path: &str, names: &[String]) -> Exit {
    let controller = match target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let mut removed = Vec::new();
    let mut worst = Exit::Done;
    for name in names {
        match controller.delete::<Value>(&format!("{path}/{}", segment(name))) {
            Ok(_) => removed.push(name),
            Err(error) => {
                worst = failure::complain(&error);
                // With nobody there, the others need not be tried.
                if !matches!(error, ClientError::Refused(_)) {
                    break;
                }
            }
        }
    }
    let shown = match target.json {
        true => format!("{:#}\n", json!({ "removed": removed })),
        false if removed.is_empty() => String::new(),
        false => {
            let names: Vec<_> = removed.iter().map(|name| sheet::harmless(name)).collect();
            let number = sheet::count(removed.len(), what);
            format!("{number} removed: {}\n", names.join(", "))
        }
    };
    match (worst, put(&sheet::harmless_document(&shown))) {
        (Exit::Done, shown) => shown,
        (worst, _) => worst,
    }
}

/// Prints a result.
fn put(result: &str) -> Exit {
    match screen::print(result) {
        Ok(()) => Exit::Done,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}

/// Returns a name as one part of a path.
fn segment(name: &str) -> String {
    let mut segment = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                segment.push(char::from(byte));
            }
            byte => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_place_in_a_path() {
        assert_eq!(segment("sv-1_a.b~"), "sv-1_a.b~");
        assert_eq!(segment("../a b?c=d#é"), "..%2Fa%20b%3Fc%3Dd%23%C3%A9");
    }
}
