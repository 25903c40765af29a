//! What whoever runs a switch wants to know while it runs.

use std::fmt;
use std::io;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use linux::connection::ConnectionOrigin;
use linux::interface::Carrier;
use linux::packet_loop::Closed;

use super::endpoint::Endpoint;

/// For how long the same is not told again.
pub const QUIET: Duration = Duration::from_secs(60);
/// How many events wait to be read; those beyond are not told.
pub const EVENTS_WAITING: usize = 256;

#[derive(Debug)]
pub enum DatapathEvent {
    Connected(Endpoint),
    /// A controller was there and is no longer.
    Lost(Endpoint),
    /// A controller does not answer; the switch tries on.
    Unreachable(Endpoint, io::Error),
    /// A controller comes and goes; nothing more is told for a while.
    Restless(Endpoint),
    /// The switch closed a connection.
    Closed(Closed),
    /// A link went up or down.
    Link(String, Carrier),
    Gone(String),
    /// An interface is there again, and a port as this says.
    Back(String),
    /// An interface is there again and cannot be a port; the switch tries on.
    Unusable(String),
}

impl fmt::Display for DatapathEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected(controller) => write!(f, "controller {controller} connected"),
            Self::Lost(controller) => write!(f, "controller {controller} lost"),
            Self::Unreachable(controller, reason) => {
                write!(
                    f,
                    "controller {controller} does not answer ({reason}); trying on"
                )
            }
            Self::Restless(controller) => write!(
                f,
                "controller {controller} comes and goes; nothing more about it for a minute"
            ),
            Self::Closed(Closed { origin, reason }) => {
                let whose = match origin {
                    ConnectionOrigin::Dialled => "to a controller",
                    ConnectionOrigin::Accepted => "that was accepted",
                };
                write!(f, "closed a connection {whose}: {reason}")
            }
            Self::Link(port, Carrier::Present) => write!(f, "{port} up"),
            Self::Link(port, Carrier::Lost) => write!(f, "{port} down"),
            Self::Gone(port) => write!(f, "{port} gone: no such interface any more"),
            Self::Back(port) => write!(f, "{port} back"),
            Self::Unusable(why) => write!(f, "{why}; trying on"),
        }
    }
}

/// Tells `to`, unless nobody reads fast enough.
pub fn tell(to: &SyncSender<DatapathEvent>, event: DatapathEvent) {
    let _ = to.try_send(event);
}

/// What was told of closed connections: the same is told once in a while, not each
/// time.
#[derive(Debug, Default)]
pub struct ClosedNotices(Vec<(Closed, Instant)>);

impl ClosedNotices {
    /// Returns the event, unless it was told a moment ago.
    pub fn news(&mut self, closed: Closed) -> Option<DatapathEvent> {
        self.0.retain(|(_, at)| at.elapsed() < QUIET);
        if self.0.iter().any(|(told, _)| *told == closed) {
            return None;
        }
        self.0.push((closed, Instant::now()));
        Some(DatapathEvent::Closed(closed))
    }
}
