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
    rooms: BTreeMap<PortId, Vec<(Duration, ReservationId)>>,
    /// Which flows rely on which ports.
    users: BTreeMap<ReservationId, Vec<PortId>>,
    /// How often the sessions that there are to be have changed.
    changes: u64,
}

impl SessionRooms {
    /// Returns how often packets are to leave by each port.
    pub fn intervals(&self) -> impl Iterator<Item = (PortId, Duration)> + '_ {
        let rooms = self.rooms.iter();
        rooms.filter_map(|(port, rooms)| Some((*port, rooms.iter().map(|it| it.0).min()?)))
    }

    /// Returns how often they have changed.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Notes that a flow relies on the sessions at these ports.
    pub(super) fn use_by(&mut self, flow: ReservationId, ports: Vec<PortId>) {
        if !ports.is_empty() {
            self.users.insert(flow, ports);
        }
    }

    /// Notes that a flow is gone. Returns what nobody relies on any more.
    pub(super) fn leave(&mut self, flow: ReservationId) -> Vec<ReservationId> {
        let ports = self.users.remove(&flow).unwrap_or_default();
        let mut idle = Vec::new();
        for port in ports {
            if !self.users.values().any(|used| used.contains(&port)) {
                let rooms = self.rooms.remove(&port).unwrap_or_default();
                idle.extend(rooms.into_iter().map(|(_, room)| room));
                self.changes += 1;
            }
        }
        idle
    }
}

impl Reservations {
    /// Makes room for the sessions that a flow relies on, where there is none yet. Returns the
    /// ports of all of them, and those at which room was made.
    ///
    /// # Errors
    ///
    /// Where and why there is no room; nothing is reserved then.
    pub(super) fn reserve_sessions(
        &mut self,
        requirement: &Requirement,
        ways: &Ways,
    ) -> Result<[Vec<PortId>; 2], Box<Refused>> {
        let Some(interval) = neighbour_sessions::interval_for(requirement.protection) else {
            return Ok([Vec::new(), Vec::new()]);
        };
        let (mut ports, mut made) = (Vec::new(), Vec::new());
        for link in ways.links() {
            let [one, other] = link.both();
            for (port, far) in [(one, other), (other, one)] {
                ports.push(port);
                match self.reserve_session(port, far.datapath, interval) {
                    Ok(is_new) => made.extend(is_new.then_some(port)),
                    Err(refused) => {
                        self.undo_sessions(&made);
                        return Err(refused);
                    }
                }
            }
        }
        Ok([ports, made])
    }

    /// Gives back the rooms that were made last at these ports.
    pub(super) fn undo_sessions(&mut self, made: &[PortId]) {
        for port in made {
            let rooms = self.sessions.rooms.get_mut(port);
            if let Some((_, room)) = rooms.and_then(Vec::pop) {
                self.ledger.withdraw(room);
            }
        }
        self.sessions.rooms.retain(|_, rooms| !rooms.is_empty());
        self.sessions.changes += 1;
    }

    /// Returns whether there was no room for packets so often.
    fn reserve_session(
        &mut self,
        port: PortId,
        far: DatapathId,
        interval: Duration,
    ) -> Result<bool, Box<Refused>> {
        let rooms = self.sessions.rooms.get(&port);
        if rooms.is_some_and(|rooms| rooms.iter().any(|it| it.0 <= interval)) {
            return Ok(false);
        }
        let parameters = *self.parameters(port.datapath).port(port.port);
        let Some(packets) = neighbour_sessions::request(&parameters, interval) else {
            return Ok(false);
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
        let admitted = self.ledger.admit(asked.clone());
        let admitted = admitted.map_err(|refusal| Box::new(self.refused(refusal, asked)))?;
        let rooms = self.sessions.rooms.entry(port).or_default();
        rooms.push((interval, admitted.id));
        self.sessions.changes += 1;
        Ok(true)
    }
}
