//! Room for the packets by which neighbours ask each other whether they are there: reserved
//! with the first flow that relies on them, given back with the last.

use std::collections::BTreeMap;

use calculus::admission::Tree;
use units::Duration;
use wire::openflow::DatapathId;

use super::{Refused, Request, ReservationId, Reservations};
use crate::neighbour_sessions;
use crate::northbound::Requirement;
use crate::place::PortId;
use crate::ways::Ways;

/// What is reserved for sessions.
#[derive(Clone, Debug, Default)]
pub struct SessionRooms {
    /// By the port by which packets leave: how often, and what is reserved for them.
    rooms: BTreeMap<PortId, (Duration, ReservationId)>,
    /// Which flows rely on which ports, and how often their frames come if those count.
    users: BTreeMap<ReservationId, (Vec<PortId>, Option<Duration>)>,
    /// How often the sessions that there are to be have changed.
    changes: u64,
}

/// A room that was made, in place of one for fewer packets if there was one.
pub(super) struct MadeRoom {
    port: PortId,
    far: DatapathId,
    before: Option<Duration>,
}

impl SessionRooms {
    /// Returns how often packets are to leave by each port, and how often frames come by it
    /// that count as heart-beats.
    pub fn wanted(&self) -> impl Iterator<Item = (PortId, Duration, Option<Duration>)> {
        let mut beats: BTreeMap<PortId, Duration> = BTreeMap::new();
        for (ports, beat) in self.users.values() {
            for (port, beat) in ports.iter().zip(beat.iter().cycle()) {
                let known = beats.entry(*port).or_insert(*beat);
                *known = (*known).min(*beat);
            }
        }
        let rooms = self.rooms.iter();
        rooms.map(move |(port, room)| (*port, room.0, beats.get(port).copied()))
    }

    /// Returns how often they have changed.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes that a flow relies on the sessions at these ports.
    pub(super) fn use_by(
        &mut self,
        flow: ReservationId,
        ports: Vec<PortId>,
        heart_beat: Option<Duration>,
    ) {
        if !ports.is_empty() {
            self.users.insert(flow, (ports, heart_beat));
            self.changes += u64::from(heart_beat.is_some());
        }
    }

    /// Notes that a flow is gone. Returns what nobody relies on any more.
    pub(super) fn leave(&mut self, flow: ReservationId) -> Vec<ReservationId> {
        let (ports, heart_beat) = self.users.remove(&flow).unwrap_or_default();
        self.changes += u64::from(heart_beat.is_some());
        let mut idle = Vec::new();
        for port in ports {
            if !self.users.values().any(|(used, _)| used.contains(&port)) {
                idle.extend(self.rooms.remove(&port).map(|(_, room)| room));
                self.changes += 1;
            }
        }
        idle
    }
}

impl Reservations {
    /// Makes room for the sessions that a flow relies on, where there is not enough yet.
    /// Returns the ports of all of them, and the rooms that were made.
    ///
    /// # Errors
    ///
    /// Where and why there is no room; all is as it was then.
    pub(super) fn reserve_sessions(
        &mut self,
        requirement: &Requirement,
        ways: &Ways,
    ) -> Result<(Vec<PortId>, Vec<MadeRoom>), Box<Refused>> {
        let Some(interval) = neighbour_sessions::interval_for(requirement.protection) else {
            return Ok((Vec::new(), Vec::new()));
        };
        let (mut ports, mut made) = (Vec::new(), Vec::new());
        for link in ways.links() {
            let [one, other] = link.both();
            for (port, far) in [(one, other), (other, one)] {
                ports.push(port);
                match self.reserve_session((port, far.datapath), interval) {
                    Ok(room) => made.extend(room),
                    Err(refused) => {
                        self.undo_sessions(made);
                        return Err(refused);
                    }
                }
            }
        }
        Ok((ports, made))
    }

    /// Gives back rooms that were made last.
    pub(super) fn undo_sessions(&mut self, made: Vec<MadeRoom>) {
        for MadeRoom { port, far, before } in made.into_iter().rev() {
            if let Some((_, room)) = self.sessions.rooms.remove(&port) {
                self.ledger.withdraw(room);
            }
            if let Some(interval) = before {
                let again = self.reserve_session((port, far), interval);
                again.expect("what was there a moment ago has room");
            }
        }
        self.sessions.changes += 1;
    }

    /// Makes room for packets of this interval by a port, whose link leads to the switch
    /// `far`; nothing if there is enough.
    fn reserve_session(
        &mut self,
        (port, far): (PortId, DatapathId),
        interval: Duration,
    ) -> Result<Option<MadeRoom>, Box<Refused>> {
        let known = self.sessions.rooms.get(&port).copied();
        if known.is_some_and(|(known, _)| known <= interval) {
            return Ok(None);
        }
        let parameters = *self.parameters(port.datapath).port(port.port);
        let Some(packets) = neighbour_sessions::request(&parameters, interval) else {
            return Ok(None);
        };
        let at_port = self.add_port(port);
        let least = neighbour_sessions::least_budget(&parameters);
        self.ledger
            .open_class(at_port, neighbour_sessions::CLASS, least);
        let stages = [Some(at_port), self.add_switch(far)];
        let asked = Request {
            base: Tree::path(stages.into_iter().flatten()),
            ..packets
        };
        // The same session is asked for more packets: they are not sent beside the others.
        let before =
            known.and_then(|(interval, room)| Some((interval, self.ledger.withdraw(room)?)));
        match self.ledger.admit(asked.clone()) {
            Ok(admitted) => {
                let room = (interval, admitted.id);
                self.sessions.rooms.insert(port, room);
                self.sessions.changes += 1;
                Ok(Some(MadeRoom {
                    port,
                    far,
                    before: before.map(|(interval, _)| interval),
                }))
            }
            Err(refusal) => {
                let refused = Box::new(self.refused(refusal, asked));
                if let Some((interval, request)) = before {
                    let again = self.ledger.admit(request);
                    let again = again.expect("what was there a moment ago has room");
                    self.sessions.rooms.insert(port, (interval, again.id));
                }
                Err(refused)
            }
        }
    }
}
