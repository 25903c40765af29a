//! Which neighbours controllers want asked whether they are there, and what they hear of it
//! (`docs/openflow-extension.md`).

use units::Instant;
use wire::openflow::taktos::{Answer, BfdConfig, BfdFailed, SessionOwner};
use wire::openflow::{ErrorKind, Sequence, TransactionId};

use super::Agent;
use super::inspection::{Part, send};
use super::session::{ConnectionId, Session};
use crate::pipeline::Pipeline;
use crate::port::PortIndex;

impl Agent {
    /// Gives ports the sessions that a controller wants, all or none.
    pub(super) fn bfd_config(
        &self,
        now: Instant,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        config: &BfdConfig<'_>,
    ) -> Result<(), ErrorKind> {
        self.may_change(id)?;
        let egress = &mut pipeline.egress;
        let is_own = |port: &crate::port::Port| {
            let session = port.bfd.as_deref();
            session.is_some_and(|it| it.owner() == SessionOwner::Switch)
        };
        let mut wanted = vec![None; egress.ports.len()];
        for session in config.sessions.iter() {
            let session = session.map_err(|error| error.kind())?;
            let port = egress.find_port(session.port).ok_or(BfdFailed::BadPort)?;
            if is_own(egress.port(port)) {
                return Err(BfdFailed::PortTaken.into());
            }
            if !session.session.is_sound() {
                return Err(BfdFailed::BadSession.into());
            }
            wanted[port.at()] = Some(session.session);
        }
        for (at, wanted) in (0..).map(PortIndex).zip(wanted) {
            if !is_own(egress.port(at)) {
                egress.set_session(now, at, SessionOwner::Controllers, wanted);
            }
        }
        Ok(())
    }

    /// Tells the controllers that listen which ports turned live or dead.
    pub(crate) fn tell_of_turned(&mut self, pipeline: &mut Pipeline) {
        while let Some(port) = pipeline.egress.bfd.take_turned() {
            self.port_changed(pipeline, port);
        }
    }
}

/// Answers what sessions stand. There are no more than fit a message.
pub(super) fn send_sessions(
    pipeline: &Pipeline,
    session: &mut Session,
    transaction: TransactionId,
) {
    let egress = &pipeline.egress;
    let ports = (0..).map(PortIndex).take(egress.ports.len());
    let reports = ports.filter_map(|at| egress.session_report(at));
    let reports: Vec<_> = reports.collect();
    let answer = Answer::Sessions(Sequence::of(&reports));
    send(session, transaction, Part::Last, &answer);
}
