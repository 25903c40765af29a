//! Has the switches at the ends of links ask each other whether they are there, where flows
//! rely on that.

use std::collections::BTreeMap;

use wire::openflow::taktos::{BfdConfig, PortSession};
use wire::openflow::{DatapathId, Sequence, TransactionId};

use crate::neighbour_sessions::session;

use super::{Context, Promises};

/// What switches were told of sessions.
#[derive(Debug, Default)]
pub struct ToldSessions {
    told: BTreeMap<DatapathId, Vec<PortSession>>,
    /// How often the sessions had changed, and who knows our extension, when switches were
    /// told last.
    seen: Option<(u64, u64)>,
}

impl ToldSessions {
    /// Has a switch be told anew what it may have forgotten.
    pub fn forget(&mut self, datapath: DatapathId) {
        self.told.remove(&datapath);
        self.seen = None;
    }
}

impl Promises {
    /// Tells the switches which sessions their ports are to have, where that is other than
    /// they were told.
    pub fn tell_sessions(&mut self, ctx: &mut Context) {
        let rooms = self.reservations.sessions();
        let now = Some((rooms.changes(), ctx.policing.changes()));
        if self.sessions.seen == now {
            return;
        }
        self.sessions.seen = now;
        let mut wanted: BTreeMap<DatapathId, Vec<PortSession>> = BTreeMap::new();
        for (at, interval, heart_beat) in rooms.wanted() {
            let session = PortSession {
                port: at.port,
                session: session(interval, heart_beat, ctx.session_secret),
            };
            wanted.entry(at.datapath).or_default().push(session);
        }
        for datapath in ctx.policing.able() {
            let Some(slot) = ctx.sessions.of_switch(datapath) else {
                continue;
            };
            let wanted = wanted.remove(&datapath).unwrap_or_default();
            let told = self.sessions.told.get(&datapath);
            if told.map_or(&[][..], Vec::as_slice) == wanted {
                continue;
            }
            let sessions = Sequence::of(&wanted);
            BfdConfig { sessions }.emit(TransactionId(0), ctx.outbox.to(slot));
            self.sessions.told.insert(datapath, wanted);
        }
    }
}
