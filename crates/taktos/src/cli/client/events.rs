//! `taktos events`: what happens in the network.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, sync_channel};

use api::{Event, Occurrence, Occurrences};
use clap::builder::PossibleValuesParser;

use super::super::exit::Exit;
use super::super::screen::say;
use super::live::{self, Notice};
use super::sheet::{harmless, harmless_document};
use super::{Page, Target, at, failure, moment};
use crate::client::event_stream::ServerEvent;
use crate::client::watcher::{self, Heard};

/// How many events may wait to be printed.
const WAITING: usize = 1_024;

/// What `taktos events` is told.
#[derive(Debug, clap::Args)]
pub struct Events {
    /// Go on until Ctrl-C: print what happens, as it happens.
    #[arg(long, short)]
    follow: bool,
    /// Print events of this kind alone, as in `link-lost`; may be repeated.
    #[arg(
        long,
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(Event::KINDS),
        hide_possible_values = true
    )]
    kind: Vec<String>,
    #[command(flatten)]
    target: Target,
}

/// Prints the latest events, or those to come.
pub fn events(arguments: &Events) -> Exit {
    match arguments.follow {
        true => follow(arguments),
        false => latest(arguments),
    }
}

impl Events {
    fn wants(&self, kind: &str) -> bool {
        self.kind.is_empty() || kind == Event::GAP || self.kind.iter().any(|it| it == kind)
    }
}

fn latest(arguments: &Events) -> Exit {
    arguments.target.show(&Page {
        title: "events",
        ask: &at("/api/v1/events/latest"),
        text: &|document: &Occurrences| {
            let wanted = document.events.iter();
            let wanted = wanted.filter(|event| arguments.wants(event.what.kind()));
            let lines: String = wanted.map(line).collect();
            match lines.is_empty() {
                true => "nothing has happened yet\n".to_owned(),
                false => lines,
            }
        },
    })
}

fn line(event: &Occurrence) -> String {
    let words = event.what.to_string();
    format!(
        "{}  {}\n",
        moment::written(event.at.as_ns()),
        harmless(&words)
    )
}

fn follow(arguments: &Events) -> Exit {
    let controller = match arguments.target.controller() {
        Ok(controller) => controller,
        Err(exit) => return exit,
    };
    let (tell, notices) = sync_channel(WAITING);
    if let Err(error) = live::end_on_signals("", tell.clone()) {
        say(format_args!("taktos: cannot catch Ctrl-C: {error}"));
        return Exit::Fault;
    }
    watcher::listen(controller, tell);
    match print(arguments, &notices) {
        Ok(exit) => exit,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            say(format_args!("taktos: cannot show the result: {error}"));
            Exit::Fault
        }
    }
}

/// How the stream of events is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EventStreamState {
    /// It was not open yet.
    Opening,
    /// It is open.
    Open,
    /// It broke.
    Lost,
}

/// Prints what comes until nobody reads it.
fn print(arguments: &Events, notices: &Receiver<Notice>) -> io::Result<Exit> {
    let mut link = EventStreamState::Opening;
    let mut out = io::stdout();
    for notice in notices {
        match notice {
            Notice::Heard(Heard::Connected) => {
                if link == EventStreamState::Lost {
                    say("taktos: connected again");
                }
                link = EventStreamState::Open;
            }
            Notice::Heard(Heard::Lost(error)) => match link {
                EventStreamState::Opening => return Ok(failure::complain(&error)),
                EventStreamState::Open => {
                    let reason = failure::sentence(&error);
                    say(format_args!("taktos: disconnected, retrying: {reason}"));
                    link = EventStreamState::Lost;
                }
                EventStreamState::Lost => {}
            },
            Notice::Heard(Heard::Event(event)) => {
                if arguments.wants(event.kind.as_deref().unwrap_or_default()) {
                    out.write_all(shown(arguments, &event).as_bytes())?;
                    out.flush()?;
                }
            }
            Notice::Heard(Heard::Alive) | Notice::Resized => {}
        }
    }
    Ok(Exit::Done)
}

fn shown(arguments: &Events, event: &ServerEvent) -> String {
    if arguments.target.json {
        return format!("{}\n", harmless_document(&event.data));
    }
    match serde_json::from_str(&event.data) {
        Ok(document) => line(&document),
        // A newer controller knows more kinds: its own words are better than none.
        Err(_) => format!("{}\n", harmless(&event.data)),
    }
}
