//! What a person sees while a scenario runs: a few lines and a bar on standard
//! error.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use units::Duration;

use crate::experiment::{Admission, Audience, Discovered};

/// Columns of diagnostics.
pub const WIDTH: usize = 100;

/// Tells whether standard error takes no colours: it is no terminal, or the user
/// wants none (<https://no-color.org>).
#[must_use]
pub fn is_plain() -> bool {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    unwanted || !std::io::stderr().is_terminal()
}

/// Shows how an experiment goes.
#[derive(Debug)]
pub struct Screen {
    bar: ProgressBar,
    names: Vec<String>,
}

impl Screen {
    /// Returns a screen for a scenario whose flows have these names.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::hidden());
        Self { bar, names }
    }

    /// Takes the bar off.
    pub fn close(&self) {
        self.bar.finish_and_clear();
    }

    fn begin(&mut self, total: Duration) {
        let style = ProgressStyle::with_template("running {msg} {bar:24} {percent:>3} %");
        let style = style
            .expect("the template is well formed")
            .progress_chars("━╸─");
        self.bar = ProgressBar::new(total.as_whole_ms()).with_style(style);
        self.bar.set_message(total.to_string());
    }
}

impl Audience for Screen {
    fn discovered(&mut self, found: Discovered, took: Duration) {
        eprintln!("discovered {found} in {:.1} s", took.as_secs_f64());
    }

    fn decided(&mut self, admissions: &[Admission]) {
        let refused = admissions.iter().filter_map(|admission| {
            let reason = admission.decision.as_ref().err()?;
            Some(format!("{} ({reason})", self.names[admission.flow]))
        });
        let refused: Vec<_> = refused.collect();
        let admitted = admissions.len() - refused.len();
        match refused.as_slice() {
            [] => eprintln!("admitted all {admitted} flows"),
            refused => eprintln!(
                "admitted {admitted} of {} flows; refused: {}",
                admissions.len(),
                refused.join("; ")
            ),
        }
    }

    fn running(&mut self, elapsed: Duration, total: Duration) {
        if self.bar.is_hidden() && self.bar.message().is_empty() {
            self.begin(total);
        }
        self.bar.set_position(elapsed.as_whole_ms());
    }

    fn happened(&mut self, at: Duration, what: &str) {
        let line = format!("{:>8.3} s  {what}", at.as_secs_f64());
        match self.bar.is_hidden() {
            true => eprintln!("{line}"),
            false => self.bar.println(line),
        }
    }
}
