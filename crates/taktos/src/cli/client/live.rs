//! Shows a document again whenever something happens at the controller that may
//! have changed it (`--watch`).
//!
//! Nothing is asked without a reason: the stream of events says when. On a terminal
//! the document is drawn in its place, with a line that says how old it is; where
//! output goes elsewhere, each new state is appended. A controller that goes away
//! is waited for.

use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use api::{About, Occurrence};
use rustix::termios;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use super::super::exit::Exit;
use super::super::screen::{results_are_plain, say};
use super::{failure, moment};
use crate::client::watcher::{self, Heard};
use crate::client::{ClientError, Controller};

/// How often the age of what is shown is drawn anew.
const TICK: Duration = Duration::from_secs(1);
/// How long to wait at least between two questions: what happens meanwhile is in
/// the next answer.
const LEAST_INTERVAL: Duration = Duration::from_millis(200);
/// How long to wait before a question that failed is asked again.
const PAUSE: Duration = Duration::from_secs(2);
/// How many notices may wait.
const WAITING: usize = 1_024;
/// The size of a terminal that does not tell.
const USUAL_ROWS: u16 = 24;

/// Take the other screen, hide the cursor, cut lines that are too long.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
/// Undo [`ENTER`].
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// What is shown, and when it may have changed.
pub struct View<'a> {
    pub title: &'a str,
    /// Asks the controller and returns what is shown.
    pub fetch: &'a dyn Fn() -> Result<String, ClientError>,
    pub reader: Audience,
    /// Whether it may be different after this has happened.
    pub concerns: fn(About) -> bool,
}

/// Who reads what is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A person: states that follow each other have a date.
    Person,
    /// A program: each state is a line.
    Program,
}

/// Shows `view` until Ctrl-C, or until nobody reads it any more.
pub fn watch(controller: &Controller, view: &View<'_>) -> Exit {
    let text = match (view.fetch)() {
        Ok(text) => text,
        Err(error) => return failure::complain(&error),
    };
    let (tell, notices) = sync_channel(WAITING);
    let end = match (io::stdout().is_terminal(), view.reader) {
        (true, Audience::Person) => LEAVE,
        (false, _) | (_, Audience::Program) => "",
    };
    if let Err(error) = end_on_signals(end, tell.clone()) {
        say(format_args!("taktos: cannot catch Ctrl-C: {error}"));
        return Exit::Fault;
    }
    watcher::listen(controller.clone(), tell);
    let now = Instant::now();
    let mut live = Live {
        view,
        url: controller.url(),
        text,
        heard_at: now,
        asked_at: now,
        took: Duration::ZERO,
        due: Due::Settled,
        link: StreamState::Opening,
        fault: None,
        display: Display::open(view.reader),
    };
    let ended = live.run(&notices);
    drop(live);
    match ended {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
        Ok(()) | Err(_) => Exit::Done,
    }
}

/// What a view has to know of.
pub enum Notice {
    /// Something was heard from the controller.
    Heard(Heard),
    /// The terminal has another size.
    Resized,
}

impl From<Heard> for Notice {
    fn from(heard: Heard) -> Self {
        Self::Heard(heard)
    }
}

/// Ends the program when it is told to, whatever it is doing, with `last` as its
/// last words.
pub fn end_on_signals(last: &'static str, tell: SyncSender<Notice>) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGWINCH])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGWINCH {
                // If it is full, something will be drawn soon.
                let _ = tell.try_send(Notice::Resized);
                continue;
            }
            // Nobody writes after this: the lock is never given back.
            let mut out = io::stdout().lock();
            let _ = out.write_all(last.as_bytes()).and_then(|()| out.flush());
            std::process::exit(0);
        }
    });
    Ok(())
}

/// How the stream of events is.
enum StreamState {
    /// It is not open yet.
    Opening,
    Open,
    Lost {
        at: Instant,
        reason: String,
    },
}

/// Whether the controller has to be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    /// What is shown is what there is.
    Settled,
    Changed,
    /// It was, and did not answer.
    Unanswered,
}

struct Live<'a> {
    view: &'a View<'a>,
    url: &'a str,
    text: String,
    /// When the controller was last known to have nothing newer.
    heard_at: Instant,
    asked_at: Instant,
    /// How long the last answer took.
    took: Duration,
    due: Due,
    link: StreamState,
    /// Why the last question was not answered.
    fault: Option<String>,
    display: Display,
}

impl Live<'_> {
    fn run(&mut self, notices: &Receiver<Notice>) -> io::Result<()> {
        self.display.append(&self.text)?;
        loop {
            self.draw()?;
            match notices.recv_timeout(self.patience()) {
                Ok(notice) => self.take(notice),
                Err(RecvTimeoutError::Timeout) => {}
                // The thread that listens never ends before this one.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            while let Ok(notice) = notices.try_recv() {
                self.take(notice);
            }
            if self.due != Due::Settled && self.patience() == Duration::ZERO {
                self.ask()?;
            }
        }
    }

    fn patience(&self) -> Duration {
        let since = self.asked_at.elapsed();
        match self.due {
            Due::Settled => TICK,
            // Whoever takes long to answer is asked less often.
            Due::Changed => LEAST_INTERVAL.max(self.took * 4).saturating_sub(since),
            Due::Unanswered => PAUSE.saturating_sub(since).min(TICK),
        }
    }

    fn take(&mut self, notice: Notice) {
        match notice {
            Notice::Heard(Heard::Connected) => {
                if let StreamState::Lost { .. } = self.link {
                    self.display.aside("connected again");
                }
                self.link = StreamState::Open;
                // What happened before the stream was open was not heard.
                self.due = Due::Changed;
            }
            Notice::Heard(Heard::Event(event)) => {
                self.heard_at = Instant::now();
                let event = serde_json::from_str::<Occurrence>(&event.data);
                let about = event.map_or(About::Anything, |it| it.what.about());
                if (self.view.concerns)(about) {
                    self.due = Due::Changed;
                }
            }
            Notice::Heard(Heard::Alive) => self.heard_at = Instant::now(),
            Notice::Heard(Heard::Lost(error)) => self.lose(&error),
            Notice::Resized => {}
        }
    }

    fn lose(&mut self, error: &ClientError) {
        let reason = failure::sentence(error);
        if !matches!(self.link, StreamState::Lost { .. }) {
            self.display
                .aside(&format!("disconnected, retrying: {reason}"));
            let at = Instant::now();
            self.link = StreamState::Lost { at, reason };
        }
    }

    fn ask(&mut self) -> io::Result<()> {
        let asked_at = Instant::now();
        let fetched = (self.view.fetch)();
        self.asked_at = Instant::now();
        self.took = self.asked_at - asked_at;
        match fetched {
            Ok(text) => {
                self.due = Due::Settled;
                self.fault = None;
                self.heard_at = asked_at;
                if text != self.text {
                    self.text = text;
                    self.display.append(&self.text)?;
                }
            }
            Err(error) => {
                self.due = Due::Unanswered;
                let reason = failure::sentence(&error);
                if self.fault.is_none() && matches!(self.link, StreamState::Open) {
                    self.display.aside(&format!("retrying: {reason}"));
                }
                self.fault = Some(reason);
            }
        }
        Ok(())
    }

    fn draw(&mut self) -> io::Result<()> {
        let age = moment::age(self.heard_at.elapsed());
        let state = match (&self.link, &self.fault) {
            (StreamState::Opening, _) => "opening the stream of events".to_owned(),
            (StreamState::Open, None) => format!("as of {age} ago"),
            (StreamState::Open, Some(fault)) => format!("retrying; this is {age} old ({fault})"),
            (StreamState::Lost { at, reason }, _) => format!(
                "disconnected, retrying for {}; this is {age} old ({reason})",
                moment::age(at.elapsed())
            ),
        };
        let status = format!("{} of {}: {state}", self.view.title, self.url);
        self.display.draw(&status, &self.text)
    }
}

/// Where a view is shown.
enum Display {
    /// On a terminal, in place.
    Terminal,
    /// Elsewhere, one state after the other.
    Record(Audience),
}

impl Display {
    fn open(reader: Audience) -> Self {
        if reader == Audience::Program || !io::stdout().is_terminal() {
            return Self::Record(reader);
        }
        let mut out = io::stdout().lock();
        // A terminal that does not take it shows the rest all the same.
        let _ = out.write_all(ENTER.as_bytes()).and_then(|()| out.flush());
        Self::Terminal
    }

    /// Draws everything anew, in one piece.
    fn draw(&mut self, status: &str, text: &str) -> io::Result<()> {
        let Self::Terminal = self else { return Ok(()) };
        let size = termios::tcgetwinsize(io::stdout()).map(|size| size.ws_row);
        let rows = size.ok().filter(|rows| *rows > 0).unwrap_or(USUAL_ROWS);
        let frame = frame(status, text, usize::from(rows.max(4)), results_are_plain());
        let mut out = io::stdout().lock();
        out.write_all(frame.as_bytes())?;
        out.flush()
    }

    /// Writes a new state down where states follow each other.
    fn append(&mut self, text: &str) -> io::Result<()> {
        let Self::Record(reader) = self else {
            return Ok(());
        };
        let mut out = io::stdout().lock();
        if *reader == Audience::Person {
            writeln!(out, "{}", moment::written(moment::now_ns()))?;
        }
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Says something about the connection where there is no place for it.
    fn aside(&mut self, line: &str) {
        if let Self::Record(_) = self {
            say(format_args!("taktos: {line}"));
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Self::Terminal = self {
            let mut out = io::stdout().lock();
            let _ = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush());
        }
    }
}

/// Returns what draws a screen of so many rows anew.
fn frame(status: &str, text: &str, rows: usize, plain: bool) -> String {
    let room = rows - 2;
    let lines: Vec<&str> = text.lines().collect();
    let mut frame = match plain {
        true => format!("\x1b[H{status}\x1b[K\n\x1b[K"),
        false => format!("\x1b[H\x1b[7m{status}\x1b[0m\x1b[K\n\x1b[K"),
    };
    let fits = lines.len() <= room;
    let shown = if fits { lines.len() } else { room - 1 };
    for line in &lines[..shown] {
        frame.push_str(&format!("\n{line}\x1b[K"));
    }
    if !fits {
        let more = lines.len() - shown;
        frame.push_str(&format!(
            "\n… {more} more lines: a higher window shows them\x1b[K"
        ));
    }
    frame.push_str("\x1b[J");
    frame
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_the_window_and_clears_what_was_there() {
        let text = "a\nb\nc\nd\n";

        let whole = frame("all", text, 6, true);
        let cut = frame("all", text, 5, true);

        assert_eq!(
            whole,
            "\x1b[Hall\x1b[K\n\x1b[K\na\x1b[K\nb\x1b[K\nc\x1b[K\nd\x1b[K\x1b[J"
        );
        assert!(cut.ends_with("\nb\x1b[K\n… 2 more lines: a higher window shows them\x1b[K\x1b[J"));
        assert_eq!(cut.matches('\n').count(), 4);
    }
}
