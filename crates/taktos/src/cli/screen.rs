//! What a person sees while a scenario runs: a few lines and a bar on standard
//! error, or lines alone where that is no terminal. Nothing here minds whether
//! anybody listens.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use controller::Config;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use units::Duration;

use super::run_page::RunPage;
use run::experiment::world::World;
use run::experiment::{Admission, Audience, Discovered, Wish};

pub const WIDTH: usize = 100;
/// How often a line says how far it is, where there is no bar.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
const EACH_SECOND: Duration = Duration::from_secs(1);

/// Writes a line to standard error.
pub fn say(line: impl Display) {
    // Who has closed it does not want to know.
    let _ = writeln!(io::stderr(), "{line}");
}

/// Writes a result to standard output. Who has closed it has read enough; that
/// is no error.
///
/// # Errors
///
/// If it cannot be written though somebody listens.
pub fn print(result: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(result.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Tells whether standard error takes no colours.
#[must_use]
pub fn is_plain() -> bool {
    colours_are_unwanted() || !io::stderr().is_terminal()
}

/// Tells whether standard output takes no colours.
#[must_use]
pub fn results_are_plain() -> bool {
    colours_are_unwanted() || !io::stdout().is_terminal()
}

/// Tells whether the user wants no colours anywhere (<https://no-color.org>).
fn colours_are_unwanted() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Shows how an experiment goes.
#[derive(Debug)]
pub struct Screen {
    bar: Option<ProgressBar>,
    line_due: Duration,
    names: Vec<String>,
    page: Option<RunPage>,
}

impl Screen {
    /// Returns a screen for a scenario whose flows have these names, and which is shown on a
    /// page as well.
    #[must_use]
    pub fn new(names: Vec<String>, page: Option<RunPage>) -> Self {
        Self {
            bar: None,
            line_due: Duration::ZERO,
            names,
            page,
        }
    }

    /// Ends it, and returns the page, which goes on.
    pub fn close(self) -> Option<RunPage> {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.page
    }

    /// Writes a line, above the bar if there is one.
    fn line(&self, line: impl Display) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(line)),
            None => say(line),
        }
    }
}

impl Audience for Screen {
    fn built(&mut self, took: Duration) {
        self.line(format_args!("built in {:.1} s", took.as_secs_f64()));
    }

    fn watches(&self) -> bool {
        self.page.is_some()
    }

    fn stands(&mut self, world: &mut dyn World, config: &Config) {
        if let Some(page) = &mut self.page
            && let Err(error) = page.follow(world, config)
        {
            say(format_args!("page: cannot show the run live: {error}"));
        }
    }

    fn discovered(&mut self, found: Discovered, took: Duration) {
        self.line(format_args!(
            "discovered {found} in {:.1} s",
            took.as_secs_f64()
        ));
    }

    fn decided(&mut self, admissions: &[Admission]) {
        let refused = admissions.iter().filter_map(|admission| {
            let reason = admission.decision.as_ref().err()?;
            Some(format!("{} ({reason})", self.names[admission.flow]))
        });
        let refused: Vec<_> = refused.collect();
        let admitted = admissions.len() - refused.len();
        match refused.as_slice() {
            [] => self.line(format_args!("admitted {admitted} of {admitted} flows")),
            refused => self.line(format_args!(
                "admitted {admitted} of {} flows; refused: {}",
                admissions.len(),
                refused.join("; ")
            )),
        }
    }

    fn running(&mut self, elapsed: Duration, total: Duration) {
        if io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| bar(total));
            bar.set_position(elapsed.as_whole_ms());
        } else if elapsed >= self.line_due {
            self.line_due = elapsed + LINE_INTERVAL;
            let seconds = elapsed.as_secs_f64();
            say(format_args!("running: {seconds:.0} s of {total}"));
        }
    }

    fn wish(&mut self) -> Option<Wish> {
        self.page.as_ref()?.wish()
    }

    fn happened(&mut self, at: Duration, what: &str) {
        self.line(format_args!("{:>8.3} s  {what}", at.as_secs_f64()));
    }
}

/// Shows how far something with countable steps is.
#[derive(Debug)]
pub struct Steps {
    name: String,
    bar: Option<ProgressBar>,
    quarters: u64,
}

impl Steps {
    /// Returns what will show how far `name` is.
    #[must_use]
    pub fn new(name: String) -> Self {
        Self {
            name,
            bar: None,
            quarters: 0,
        }
    }

    /// Shows that `done` of `total` steps are done: as a bar, or as a line for each
    /// quarter where there is no terminal.
    pub fn show(&mut self, done: u64, total: u64) {
        self.show_with_rest(done, total, None);
    }

    /// Shows the same, and how long the rest will take if that is known.
    pub fn show_with_rest(&mut self, done: u64, total: u64, rest: Option<Duration>) {
        let rest = rest.filter(|_| done < total).map(|rest| {
            // Nobody counts nanoseconds here.
            let seconds = rest.as_ns().div_ceil(Duration::from_secs(1).as_ns());
            match seconds {
                0..120 => format!(", about {seconds} s left"),
                _ => format!(", about {} min left", seconds.div_ceil(60)),
            }
        });
        let rest = rest.unwrap_or_default();
        if io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(|| steps_bar(&self.name, total));
            bar.set_length(total);
            bar.set_position(done);
            bar.set_message(format!("{}{rest}", self.name));
            return;
        }
        let quarters = done.saturating_mul(4).checked_div(total).unwrap_or(0);
        if quarters > self.quarters {
            self.quarters = quarters;
            say(format_args!("{}: {} %{rest}", self.name, quarters * 25));
        }
    }

    pub fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn steps_bar(name: &str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {bar:24} {percent:>3} % {elapsed}")
        .expect("the template is well formed")
        .progress_chars("━╸─");
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    // A step may take minutes, and shall not look as if nothing went on.
    bar.enable_steady_tick(EACH_SECOND.into());
    bar.with_style(style).with_message(name.to_owned())
}

fn bar(total: Duration) -> ProgressBar {
    let style = ProgressStyle::with_template("running {msg} {bar:24} {percent:>3} %")
        .expect("the template is well formed")
        .progress_chars("━╸─");
    let bar =
        ProgressBar::with_draw_target(Some(total.as_whole_ms()), ProgressDrawTarget::stderr());
    bar.with_style(style).with_message(total.to_string())
}
