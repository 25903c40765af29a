//! Whether a controller is there, and what follows if not, OF13 clause 6.3.2.
//!
//! A connection over which nothing came for a while is asked for a sign of life
//! (OF13 clause 7.5.2), and closed if none comes. While the switch has not yet
//! looked at everything that came, the silence is its own.

use units::Instant;
use wire::openflow::{Echo, Message, TransactionId};

use super::session::{ConnectionId, Outlet, Peer, Session, State};
use super::{Agent, CloseReason, earlier};
use crate::config::{FailMode, KeepAlive};
use crate::pipeline::{Forwarder, Misses, Pipeline};

impl Agent {
    /// Takes note of whether a controller is there and whether one speaks
    /// version 1.0, and lets frames be treated accordingly.
    pub(crate) fn note_contact(&mut self, pipeline: &mut Pipeline) {
        let in_contact = self.sessions.values().any(is_controller);
        if self.in_contact && !in_contact {
            self.lost_contacts += 1;
        }
        self.in_contact = in_contact;
        let told = self
            .sessions
            .values()
            .any(|session| is_controller(session) && session.is_old());
        pipeline.misses = match told {
            true => Misses::Told,
            false => Misses::Dropped,
        };
        pipeline.treatment = match (self.fail_mode, in_contact) {
            (FailMode::Standalone, false) => Forwarder::Bridge,
            (FailMode::Standalone, true) | (FailMode::Secure, _) => Forwarder::Tables,
        };
    }

    /// Asks those for a sign of life that were silent, and closes connections
    /// that gave none.
    pub(super) fn keep_alive(&mut self, now: Instant) {
        let Some(limits) = self.keep_alive else {
            return;
        };
        for session in self.sessions.values_mut() {
            if session.may_step() {
                session.heard = now;
                session.asked = None;
            }
            if next_step(session, limits).is_none_or(|due| due > now) {
                continue;
            }
            self.unsent = true;
            if session.state == State::Open && session.asked.is_none() {
                session.asked = Some(now);
                let echo = Echo { data: b"alive?" };
                session.send(TransactionId(0), &Message::EchoRequest(echo));
            } else {
                session.close(CloseReason::Silent);
            }
        }
    }

    /// Notes that a connection takes nothing more for now.
    pub(crate) fn congested(&mut self, id: ConnectionId) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.outlet = Outlet::Congested;
        }
    }

    /// Notes that a connection takes bytes again, which is a sign of life.
    pub(crate) fn relieved(&mut self, now: Instant, id: ConnectionId) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.outlet = Outlet::Free;
            session.heard = now;
            session.asked = None;
            self.unsent = true;
        }
    }

    /// Returns when [`keep_alive`](Self::keep_alive) has something to do.
    pub(super) fn next_sign_of_life(&self) -> Option<Instant> {
        let limits = self.keep_alive?;
        let sessions = self.sessions.values();
        sessions.fold(None, |first, session| {
            earlier(first, next_step(session, limits))
        })
    }
}

/// Returns whether the session is one that makes the switch do what its entries
/// say.
fn is_controller(session: &Session) -> bool {
    match session.peer {
        Peer::Controller => session.is_open(),
        Peer::Management => false,
    }
}

/// Returns when a session that stays silent is asked for a sign of life, or
/// given up.
fn next_step(session: &Session, limits: KeepAlive) -> Option<Instant> {
    match (session.state, session.asked) {
        (State::Greeting, _) => Some(session.heard + limits.idle + limits.give_up),
        (State::Open, None) => Some(session.heard + limits.idle),
        (State::Open, Some(asked)) => Some(asked + limits.give_up),
        (State::Closing(_), _) => None,
    }
}
