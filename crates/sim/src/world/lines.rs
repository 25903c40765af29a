//! Connections of several controllers to the switches of a network that has none of its own:
//! whoever holds the world carries what is said over them, as late as he likes.

use std::collections::BTreeSet;

use switch::{ConnectionId, Input, Peer};
use units::Instant;

use super::World;

/// A connection to a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Line {
    pub switch: usize,
    /// Its number at the switch, which none had before.
    pub number: u32,
}

/// What a switch did at its end of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineEvent {
    /// It said something.
    Said(Line, Vec<u8>),
    /// It closed the connection.
    Closed(Line),
}

/// The numbers of connections that others may have.
const OTHERS: u32 = 1 << 16;

/// All of them, and what happened there.
#[derive(Debug, Default)]
pub struct Lines {
    open: BTreeSet<Line>,
    events: Vec<LineEvent>,
    opened: u32,
}

impl Lines {
    /// Takes what a switch says, if it is over one of these.
    pub fn said(&mut self, switch: usize, connection: ConnectionId, bytes: &[u8]) {
        let number = connection.0;
        let line = Line { switch, number };
        if self.open.contains(&line) {
            self.events.push(LineEvent::Said(line, bytes.to_vec()));
        }
    }

    /// Takes in that a switch has closed a connection, if it is one of these.
    pub fn closed(&mut self, switch: usize, connection: ConnectionId) {
        let number = connection.0;
        let line = Line { switch, number };
        if self.open.remove(&line) {
            self.events.push(LineEvent::Closed(line));
        }
    }
}

impl World {
    /// Connects a controller to a switch that runs.
    pub fn open_line(&mut self, switch: usize) -> Option<Line> {
        let core = self.switches[switch].core.as_mut()?;
        self.lines.opened += 1;
        let number = OTHERS + self.lines.opened;
        let connection = ConnectionId(number);
        let peer = Peer::Controller;
        core.handle(self.now, Input::Connected { connection, peer });
        let line = Line { switch, number };
        self.lines.open.insert(line);
        self.drain_switch(switch);
        Some(line)
    }

    /// Lets a switch hear something; nothing comes over a connection that is gone.
    pub fn speak(&mut self, line: Line, bytes: &[u8]) {
        self.at_line(line, |connection| Input::Received { connection, bytes });
    }

    /// Ends a connection.
    pub fn hang_up(&mut self, line: Line) {
        self.at_line(line, Input::Disconnected);
        self.lines.open.remove(&line);
    }

    fn at_line<'a>(&mut self, line: Line, input: impl FnOnce(ConnectionId) -> Input<'a>) {
        if self.lines.open.contains(&line)
            && let Some(core) = &mut self.switches[line.switch].core
        {
            core.handle(self.now, input(ConnectionId(line.number)));
            self.drain_switch(line.switch);
        }
    }

    /// Ends the connections of a switch that has crashed.
    pub(super) fn cut_lines(&mut self, switch: usize) {
        let gone = self.lines.open.extract_if(.., |line| line.switch == switch);
        self.lines.events.extend(gone.map(LineEvent::Closed));
    }

    /// Runs until something happens at a connection, or until `until`.
    pub fn run_until_line(&mut self, until: Instant) -> Vec<LineEvent> {
        while self.lines.events.is_empty() && self.step(until) {}
        if self.lines.events.is_empty() {
            self.now = self.now.max(until);
        }
        std::mem::take(&mut self.lines.events)
    }
}
