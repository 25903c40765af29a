//! What a controller does that is one instance of a cluster: it leads, stands by, and says
//! what the store knows while nobody leads.

use std::fmt::Display;
use std::io;
use std::net::TcpListener;

use controller::store::{Epoch, Revision};
use controller::{Config, Controller, Input, Output, Request, Store, StoreEvent};

use super::cluster_keeper::{self, Call, Line, Membership};
use super::store_keeper::{Begins, StoreKeeper};
use super::{Asked, ControllerHandle, Loop, Told};
use crate::clock;
use crate::scheduling::Wish;
use crate::waker::Waker;

/// What a controller knows that is an instance of a cluster.
pub(super) struct Standby {
    /// What each controller begins with that takes the place of one which led.
    config: Config,
    leads: Option<Epoch>,
    /// The later term of a switch that was told last.
    later: Option<u64>,
    line: Line,
    /// What knows the records of the store as of a revision, and nothing else.
    reader: Option<(Revision, Controller)>,
}

impl Standby {
    pub(super) fn new(config: Config, line: Line) -> Self {
        Self {
            config,
            leads: None,
            later: None,
            line,
            reader: None,
        }
    }
}

impl ControllerHandle {
    /// Starts one instance of a cluster, which stands by until it leads.
    ///
    /// # Errors
    ///
    /// If the process has no descriptors left.
    pub fn start_instance<S>(
        listener: impl Into<Option<TcpListener>>,
        config: Config,
        store: S,
        membership: Membership,
        wish: Wish,
    ) -> io::Result<Self>
    where
        S: Store + Send + 'static,
        S::Error: Display,
    {
        let waker = Waker::new()?;
        let prepared = cluster_keeper::prepare()?;
        let line = prepared.line.clone();
        let standby = Standby::new(config.clone(), line.clone());
        let (keeper, wants) = StoreKeeper::start_for(store, waker.clone(), &membership.terms, line);
        let told = (config, Some(standby));
        let mut handle = Self::run(listener.into(), told, (keeper, waker), wish)?;
        handle.cluster = Some(prepared.start(membership, wants)?);
        Ok(handle)
    }
}

impl Loop {
    pub(super) fn tell_of_later_term(&mut self) {
        let term = self.controller.later_term();
        if let Some(cluster) = &mut self.cluster
            && cluster.later != term
        {
            cluster.later = term;
            term.into_iter()
                .for_each(|term| cluster.line.call(Call::Later(term)));
        }
    }

    /// Leads from now on.
    pub(super) fn lead(&mut self, epoch: Epoch, begins: Begins) {
        let Some(cluster) = &mut self.cluster else {
            return;
        };
        if cluster.leads.is_some() && begins == Begins::Anew {
            self.stand_down();
        }
        if let Some(cluster) = &mut self.cluster {
            cluster.reader = None;
            match (cluster.leads, begins) {
                // It was told to stand down meanwhile.
                (None, Begins::GoesOn) => return,
                (Some(_), _) | (None, Begins::Anew) => cluster.leads = Some(epoch),
            }
        }
        self.input(Input::Lead(epoch));
    }

    /// Leads no more, if it does in this epoch or a later one of the same life.
    pub(super) fn stand_down_in(&mut self, epoch: Epoch) {
        let leads = self.cluster.as_ref().and_then(|it| it.leads);
        if leads.is_some_and(|leads| leads.holder == epoch.holder) {
            self.stand_down();
        }
    }

    /// Leads no more: another controller takes the place of this one, which closes all
    /// connections.
    fn stand_down(&mut self) {
        let Some(cluster) = &mut self.cluster else {
            return;
        };
        cluster.leads = None;
        self.spoken_to.clear();
        self.doorway.close_all();
        self.controller = Controller::stand_by(clock::now(), cluster.config.clone());
        self.tell(Told::StoodDown);
    }

    pub(super) fn stands_by(&self) -> bool {
        let cluster = self.cluster.as_ref();
        cluster.is_some_and(|cluster| cluster.leads.is_none())
    }

    /// Passes on what is asked. Whoever stands by is asked about what is promised only while
    /// nobody leads, and looks at what the store was last known to hold.
    pub(super) fn ask(&mut self, (id, by, request): Asked) {
        let is_of_records = self.stands_by() && is_of_records(&request);
        if is_of_records {
            // It may have come to lead before this was asked.
            self.take_kept();
        }
        let input = Input::Request { id, by, request };
        match is_of_records && self.stands_by() {
            true => self.answer_from_records(input),
            false => self.input(input),
        }
    }

    /// Answers as a controller would that knows the records of the store and has met no
    /// switch; none of them, if none were ever read.
    fn answer_from_records(&mut self, question: Input<'_>) {
        let now = clock::now();
        let Some(cluster) = &mut self.cluster else {
            return;
        };
        let known = cluster.reader.as_ref().map(|(revision, _)| *revision);
        if let Some((revision, Some(records))) = self.keeper.records(known) {
            let mut reader = Controller::new(now, cluster.config.clone());
            let records = records.into_iter().map(StoreEvent::Written);
            for event in records.chain([StoreEvent::Replayed]) {
                reader.handle(now, Input::Stored(event));
                // Nothing that it wants is done.
                while reader.poll().is_some() {}
            }
            cluster.reader = Some((revision, reader));
        }
        let Some((_, reader)) = &mut cluster.reader else {
            // It says that it has not read all yet.
            return self.input(question);
        };
        let mut reply = None;
        reader.handle(now, question);
        while let Some(output) = reader.poll() {
            if let Output::Reply { id, reply: said } = output {
                let at = clock::now();
                reply = Some(Told::Reply {
                    at,
                    id,
                    reply: said,
                });
            }
        }
        reply.into_iter().for_each(|reply| self.tell(reply));
    }
}

/// Tells whether the records of the store answer a question.
const fn is_of_records(request: &Request) -> bool {
    matches!(
        request,
        Request::View
            | Request::Flow(_)
            | Request::FlowsAfter { .. }
            | Request::Intents
            | Request::Settings
    )
}
