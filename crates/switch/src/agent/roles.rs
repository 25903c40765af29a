//! Which of several controllers may change things, OF13 clauses 6.3.4 and
//! 7.3.9.

use wire::openflow::{
    AsyncConfig, ControllerLength, ErrorKind, Message, Role, RoleMessage, RoleRequestFailed,
    TransactionId,
};

use super::Agent;
use super::session::{ConnectionId, NOTHING_UNASKED};

impl Agent {
    pub(super) fn role_request(
        &mut self,
        id: ConnectionId,
        transaction: TransactionId,
        request: RoleMessage,
    ) -> Result<(), ErrorKind> {
        match request.role {
            Role::NoChange => {}
            Role::Equal => self.set_role(id, Role::Equal),
            Role::Master => {
                self.see_generation(request.generation)?;
                // There is one master at most.
                for session in self.sessions.values_mut() {
                    if session.role == Role::Master {
                        session.role = Role::Slave;
                    }
                }
                self.set_role(id, Role::Master);
            }
            Role::Slave => {
                self.see_generation(request.generation)?;
                self.set_role(id, Role::Slave);
            }
        }
        let role = self
            .sessions
            .get(&id)
            .map_or(Role::Equal, |session| session.role);
        let generation = self.generation.unwrap_or(u64::MAX);
        let reply = RoleMessage { role, generation };
        self.reply(id, transaction, &Message::RoleReply(reply));
        Ok(())
    }

    /// Refuses an election that is older than one seen before. The numbers wrap
    /// around, so they are compared by their distance.
    fn see_generation(&mut self, generation: u64) -> Result<(), ErrorKind> {
        const HALF: u64 = 1 << 63;
        if let Some(youngest) = self.generation
            && generation.wrapping_sub(youngest) >= HALF
        {
            return Err(ErrorKind::RoleRequestFailed(RoleRequestFailed::Stale));
        }
        self.generation = Some(generation);
        Ok(())
    }

    /// Answers which messages the controller gets unasked, OF13 clause 7.3.10.
    pub(super) fn get_async(&mut self, id: ConnectionId, transaction: TransactionId) {
        if let Some(session) = self.sessions.get_mut(&id) {
            let wanted = session.asynchronous;
            session.send(transaction, &Message::GetAsyncReply(wanted));
        }
    }

    /// Changes which messages the controller gets unasked, OF13 clause 7.3.10.
    pub(super) fn set_async(&mut self, id: ConnectionId, wanted: AsyncConfig) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.asynchronous = wanted;
        }
    }

    /// Tells a management client what controllers hear unasked once it has said
    /// how much of a frame it wants: that is how such clients ask for it.
    pub(super) fn listen(&mut self, id: ConnectionId) {
        if let Some(session) = self.sessions.get_mut(&id)
            && session.asynchronous == NOTHING_UNASKED
            && self.config.miss_send_length != ControllerLength(0)
        {
            session.asynchronous = AsyncConfig::DEFAULT;
        }
    }

    fn set_role(&mut self, id: ConnectionId, role: Role) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.role = role;
        }
    }
}
