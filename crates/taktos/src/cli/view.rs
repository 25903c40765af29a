//! `taktos view`: a run that is over, on the page.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::exit::Exit;
use super::run::stop_on_signals;
use super::run_page::{ADDRESS, RunPage};
use super::screen::say;
use super::text_file;

/// The longest report that is shown.
const LONGEST: usize = 256 << 20;

/// What `taktos view` is told.
#[derive(Debug, clap::Args)]
pub struct View {
    /// The directory that a run has written, with its report.json.
    dir: PathBuf,
    /// Where the page is; a loopback address.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = ADDRESS)]
    http: SocketAddr,
}

/// Shows a run until it is stopped.
pub fn view(arguments: &View) -> Exit {
    let path = arguments.dir.join("report.json");
    let report = match text_file::read(&path, LONGEST) {
        Ok(report) => report,
        Err(exit) => return exit,
    };
    let stop = match stop_on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            say(format_args!("taktos: cannot catch Ctrl-C: {error}"));
            return Exit::Fault;
        }
    };
    let opened = RunPage::open(arguments.http).and_then(|page| page.announce(""));
    let shown = opened.map(|page| page.conclude(report, &stop));
    match shown {
        Ok(Ok(())) => Exit::Done,
        Ok(Err(error)) => {
            say(format_args!("taktos: {}: {error}", path.display()));
            Exit::BadInput
        }
        Err(error) => {
            say(format_args!("taktos: {error}"));
            Exit::Lacking
        }
    }
}
