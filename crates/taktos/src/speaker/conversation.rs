//! One connection to the speaker, from its first answer to its last: what it tells becomes
//! requests to the controller.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use api::{RouteChange, SpeakerState};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, Sleep, sleep_until};
use tonic::{Status, Streaming};

use super::client::{Listed, SpeakerClient, SpeakerError};
use super::controller_link::{Answer, ControllerLink, Saying};
use super::messages::{Path, Peer, PeerEvent, PeerEventKind, WatchEventResponse, WatchedEvent};
use super::path::{self, PeerLinks};
use super::peers::have_said_all;
use super::report::SharedReport;
use super::route_feed::{Outcome, RouteFeed};

/// How long after a list the next one is asked for, when nothing is amiss.
const LIST_INTERVAL: Duration = Duration::from_secs(60);
/// How long after something odd: others of its kind come with it.
const ODD_INTERVAL: Duration = Duration::from_secs(1);
/// How often it is looked whether a speaker that was started anew knows all again, and
/// whether the controller is still there.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// How often peers are listed otherwise: a speaker that does not answer is lost. GoBGP closes
/// connections on which it is pinged.
const PROBE_INTERVAL: Duration = Duration::from_secs(10);
/// How long that is waited for (the Selection_Deferral_Timer of RFC 4724 section 4.1).
const DEFERRAL: Duration = Duration::from_secs(60);

/// Why a conversation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The speaker is of no use.
    Speaker(SpeakerError),
    /// The controller decides no more, or has begun anew.
    Controller,
}

impl From<SpeakerError> for End {
    fn from(error: SpeakerError) -> Self {
        Self::Speaker(error)
    }
}

/// What the speaker's table is taken for when a conversation begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beginning {
    /// The controller knows nothing yet: whatever there is counts.
    First,
    /// The speaker was away and may have been started anew: what it does not know again yet
    /// is not withdrawn for that.
    Again,
}

/// What may happen next.
enum Happening {
    Heard(Result<Option<WatchEventResponse>, Status>),
    Listed(Option<Result<Vec<Path>, SpeakerError>>),
    Answered(Told, Answer),
    Peers(Result<Vec<Peer>, SpeakerError>),
    Due,
}

/// What the controller was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Routes,
    State,
}

/// A connection to the speaker.
pub struct Conversation {
    controller: ControllerLink,
    client: SpeakerClient,
    links: PeerLinks,
    report: SharedReport,
    feed: RouteFeed,
    events: Streaming<WatchEventResponse>,
    list: Option<Listed<Vec<Path>>>,
    peers: Option<BoxFuture<'static, Result<Vec<Peer>, SpeakerError>>>,
    answers: FuturesUnordered<BoxFuture<'static, (Told, Answer)>>,
    /// When a list is asked for.
    list_due: Instant,
    /// When peers are listed.
    probe_due: Instant,
    /// Until when it is waited for what the speaker does not know again yet.
    deferred_until: Option<Instant>,
    /// When it last told of a change.
    changed: Instant,
    timer: Pin<Box<Sleep>>,
    is_turn_of_list: bool,
}

impl Conversation {
    /// Begins to listen to a speaker.
    ///
    /// # Errors
    ///
    /// If it does not let itself be listened to.
    pub async fn begin(
        controller: ControllerLink,
        client: SpeakerClient,
        (links, report): (PeerLinks, SharedReport),
        beginning: Beginning,
    ) -> Result<Self, SpeakerError> {
        let global = client.global().await?;
        let events = client.watch().await?;
        report.connected(global);
        let now = Instant::now();
        Ok(Self {
            controller,
            client,
            links,
            report,
            feed: RouteFeed::default(),
            events,
            list: None,
            peers: None,
            answers: FuturesUnordered::new(),
            list_due: now,
            probe_due: now + LOOK_INTERVAL,
            deferred_until: match beginning {
                Beginning::First => None,
                Beginning::Again => Some(now + DEFERRAL),
            },
            changed: now,
            timer: Box::pin(sleep_until(now + LOOK_INTERVAL)),
            is_turn_of_list: false,
        })
    }

    /// Goes on until the speaker or the controller is of no use.
    pub async fn go_on(&mut self) -> End {
        loop {
            if !self.controller.is_ready() {
                return End::Controller;
            }
            self.look_after_lists();
            while let Some(request) = self.feed.next_request() {
                self.tell(Told::Routes, Saying::Routes(request));
            }
            let happening = poll_fn(|context| self.poll(context)).await;
            if let Err(end) = self.take(happening) {
                return end;
            }
        }
    }

    /// Asks for a list, or whether one is worth asking for, when it is time.
    fn look_after_lists(&mut self) {
        let now = Instant::now();
        if self.feed.is_out_of_step() {
            self.list_is_due_soon(now);
        }
        if !self.feed.is_listing() {
            self.list = None;
        }
        let is_deferred = self.deferred_until.is_some_and(|until| now < until);
        if self.probe_due <= now && self.peers.is_none() {
            let client = self.client.clone();
            self.peers = Some(async move { client.peers().await }.boxed());
            self.probe_due = match is_deferred {
                true => now + LOOK_INTERVAL,
                false => now + PROBE_INTERVAL,
            };
        }
        if !is_deferred && !self.feed.is_listing() && self.list_due <= now {
            self.ask_for_list(now);
        }
        if self.timer.is_elapsed() {
            self.timer.as_mut().reset(now + LOOK_INTERVAL);
        }
    }

    fn list_is_due_soon(&mut self, now: Instant) {
        self.list_due = self.list_due.min(now + ODD_INTERVAL);
    }

    fn ask_for_list(&mut self, now: Instant) {
        if self.report.listed() {
            self.tell(Told::State, Saying::State(SpeakerState::Connected));
        }
        self.deferred_until = None;
        self.feed.begin_snapshot();
        self.list = Some(self.client.paths());
        self.list_due = now + LIST_INTERVAL;
    }

    fn tell(&mut self, told: Told, saying: Saying) {
        let answer = self.controller.tell(saying);
        self.answers
            .push(answer.map(move |answer| (told, answer)).boxed());
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        if let Poll::Ready(Some((told, answer))) = self.answers.poll_next_unpin(context) {
            return Poll::Ready(Happening::Answered(told, answer));
        }
        if let Some(peers) = &mut self.peers
            && let Poll::Ready(peers) = peers.poll_unpin(context)
        {
            self.peers = None;
            return Poll::Ready(Happening::Peers(peers));
        }
        self.is_turn_of_list = !self.is_turn_of_list;
        let polled = match self.is_turn_of_list {
            true => [Self::poll_list, Self::poll_events],
            false => [Self::poll_events, Self::poll_list],
        };
        for poll in polled {
            let happening = poll(self, context);
            if happening.is_ready() {
                return happening;
            }
        }
        self.timer.as_mut().poll(context).map(|()| Happening::Due)
    }

    fn poll_events(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        match self.feed.takes_changes() {
            true => {
                let heard = self.events.poll_next_unpin(context);
                heard.map(|heard| Happening::Heard(heard.transpose()))
            }
            false => Poll::Pending,
        }
    }

    fn poll_list(&mut self, context: &mut Context<'_>) -> Poll<Happening> {
        match &mut self.list {
            Some(list) if self.feed.takes_listed() => {
                list.poll_next_unpin(context).map(Happening::Listed)
            }
            Some(_) | None => Poll::Pending,
        }
    }

    fn take(&mut self, happening: Happening) -> Result<(), End> {
        match happening {
            Happening::Due => {}
            Happening::Heard(Ok(Some(heard))) => self.take_event(heard),
            Happening::Heard(Ok(None)) => return Err(self.client.ended().into()),
            Happening::Heard(Err(status)) => return Err(self.client.broken_watch(&status).into()),
            Happening::Listed(Some(Ok(paths))) => self.take_listed(&paths),
            Happening::Listed(Some(Err(error))) => return Err(error.into()),
            Happening::Listed(None) => {
                self.list = None;
                self.feed.end_of_list();
            }
            Happening::Peers(peers) => {
                let peers = peers?;
                let news = peers.iter().filter(|peer| self.report.peer(peer)).count();
                if news > 0 {
                    self.list_is_due_soon(Instant::now());
                }
                if have_said_all(&peers, self.changed.elapsed()) {
                    self.deferred_until = None;
                }
            }
            Happening::Answered(told, answer) => return self.take_answer(told, answer),
        }
        Ok(())
    }

    fn take_event(&mut self, heard: WatchEventResponse) {
        match heard.event {
            Some(WatchedEvent::Table(table)) => {
                self.changed = Instant::now();
                for path in &table.paths {
                    let change = self.read(path);
                    change
                        .into_iter()
                        .for_each(|change| self.feed.change(change));
                }
            }
            Some(WatchedEvent::Peer(event)) => self.take_peer(&event),
            None => {}
        }
    }

    fn take_peer(&mut self, event: &PeerEvent) {
        let Some(peer) = &event.peer else {
            return;
        };
        let is_news = self.report.peer(peer);
        // What hangs on a session may not have been told one by one.
        if is_news && event.kind == i32::from(PeerEventKind::State) {
            self.list_is_due_soon(Instant::now());
        }
    }

    /// Takes the paths to one prefix, of which the best one counts.
    fn take_listed(&mut self, paths: &[Path]) {
        let best = paths.iter().find(|path| path.best);
        let change = best.and_then(|best| self.read(best));
        if let Some(change) = change.filter(|it| it.next_hop.is_some()) {
            self.feed.listed(change);
        }
    }

    fn read(&self, path: &Path) -> Option<RouteChange> {
        let reading = path::read(path, &self.links);
        self.report.read(&reading);
        reading.ok().map(|it| it.change)
    }

    fn take_answer(&mut self, told: Told, answer: Answer) -> Result<(), End> {
        let outcome = match answer {
            Answer::Taken { refused } => {
                self.report.refused(&refused);
                Outcome::CarriedOut
            }
            Answer::NotTaken { reason } => {
                self.report.not_taken(&reason);
                Outcome::Unknown
            }
            Answer::Gone => return Err(End::Controller),
        };
        match told {
            Told::Routes => self.feed.answered(outcome),
            Told::State => {}
        }
        Ok(())
    }
}
