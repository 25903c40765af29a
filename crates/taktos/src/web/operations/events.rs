//! What happens, as it happens (server-sent events, HTML Living Standard section
//! 9.2).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use api::{Event, Occurrences};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use futures_util::FutureExt;
use futures_util::future::select;
use futures_util::stream::{self, Stream};
use linux::clock;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::{Operation, flows, texted};
use crate::web::body::suggestion;
use crate::web::describe::wall_clock;
use crate::web::feed::{KEPT, Published, Subscription, gap};
use crate::web::gate::Caller;
use crate::web::problem::{Problem, json};
use crate::web::query::Query;
use crate::web::site::Site;

/// The most clients that watch.
pub const MOST_WATCHERS: usize = 512;
/// How long nothing is said before a comment says that all is well.
const SILENCE: Duration = Duration::from_secs(15);
/// What the stream begins with: when to come back after the connection broke.
const GREETING: &[u8] = b"retry: 1000\n\n";
const SIGN_OF_LIFE: &[u8] = b": all is well\n\n";

const WATCHED: [(&str, &str); 3] = [
    ("kind", "only events of this kind; may be repeated"),
    (
        "observed",
        "once a second also what switches have seen of flows and is other than before, as \
         `observed`, without a number",
    ),
    (
        "after",
        "begin behind the event with this number, as with the header Last-Event-ID",
    ),
];

/// Returns what can be asked about it.
#[must_use]
pub fn operations() -> Vec<Operation> {
    let watch = "Watch what happens, as server-sent events.";
    let latest = "Show what happened last.";
    vec![
        Operation::get("watch-events", "/api/v1/events", watch, watched)
            .parameters(&WATCHED)
            .gives_text("text/event-stream"),
        Operation::get("list-events", "/api/v1/events/latest", latest, listed)
            .parameters(&[("limit", "how many; at most 4096")])
            .gives::<Occurrences>(StatusCode::OK),
    ]
}

async fn listed(State(site): State<Site>, query: Query) -> Result<Response<Body>, Problem> {
    query.only(&["limit"])?;
    let limit = query.number("limit")?.unwrap_or(KEPT as u64);
    let latest = site.feed.latest(usize::try_from(limit).unwrap_or(KEPT));
    let events = latest.iter().map(|event| (*event.occurrence).clone());
    let events = events.collect();
    Ok(json(StatusCode::OK, &Occurrences { events }))
}

async fn watched(
    State(site): State<Site>,
    caller: Caller,
    headers: HeaderMap,
    query: Query,
) -> Result<Response<Body>, Problem> {
    query.only(&WATCHED.map(|(name, _)| name))?;
    if site.feed.watchers() >= MOST_WATCHERS {
        return Err(Problem::too_many());
    }
    let kinds = query.all("kind").map(kind).collect::<Result<_, _>>()?;
    let last = match headers.get("last-event-id") {
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()),
        None => query.number("after")?,
    };
    let observed = match query.flag("observed")? {
        true => {
            flows::may_see_hops(&site, &caller).await?;
            Some(site.feed.observe())
        }
        false => None,
    };
    let subscription = site.feed.subscribe(wall_clock(clock::now()), last);
    let watch = Watch {
        observed,
        ..Watch::new(site, subscription, kinds)
    };
    let mut response = texted(Body::from_stream(watch.stream()), "text/event-stream");
    let uncached = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, uncached);
    Ok(response)
}

fn kind(name: &str) -> Result<&'static str, Problem> {
    let known = Event::KINDS.iter().copied();
    known.clone().find(|kind| *kind == name).ok_or_else(|| {
        let problem = Problem::bad("unknown-kind", format!("no event is of the kind `{name}`"));
        match suggestion(name, known) {
            Some(nearest) => problem.help(format!("did you mean `{nearest}`?")),
            None => problem.help(format!("there are: {}", Event::KINDS.join(", "))),
        }
    })
}

struct Watch {
    site: Site,
    missed: VecDeque<Published>,
    coming: Receiver<Published>,
    /// What switches see, if that is wanted.
    observed: Option<Receiver<Arc<str>>>,
    /// The kinds that are wanted; all if there are none.
    kinds: Vec<&'static str>,
    /// The number of the last event that came by.
    last: u64,
    greeted: bool,
    /// When the next sign of life is due.
    silent_until: Instant,
}

/// What comes next.
enum News {
    Event(Published),
    Observed(Arc<str>),
    /// The client did not keep up, and so many events are gone.
    Missed(u64),
    /// The controller ends.
    End,
}

impl News {
    fn of(event: Result<Published, RecvError>) -> Self {
        match event {
            Ok(event) => Self::Event(event),
            Err(RecvError::Lagged(missed)) => Self::Missed(missed),
            Err(RecvError::Closed) => Self::End,
        }
    }
}

impl Watch {
    fn new(site: Site, subscription: Subscription, kinds: Vec<&'static str>) -> Self {
        Self {
            last: site.feed.newest(),
            site,
            missed: subscription.missed,
            coming: subscription.coming,
            observed: None,
            kinds,
            greeted: false,
            silent_until: Instant::now() + SILENCE,
        }
    }

    fn stream(self) -> impl Stream<Item = Result<Bytes, Infallible>> {
        stream::unfold(self, |mut watch| async move {
            let text = watch.next().await?;
            watch.silent_until = Instant::now() + SILENCE;
            Some((Ok(text), watch))
        })
    }

    /// Returns what is said next, or nothing when the controller ends.
    async fn next(&mut self) -> Option<Bytes> {
        if !self.greeted {
            self.greeted = true;
            return Some(Bytes::from_static(GREETING));
        }
        loop {
            let event = match self.missed.pop_front() {
                Some(event) => event,
                None => match timeout_at(self.silent_until, self.news()).await {
                    Err(_) => return Some(Bytes::from_static(SIGN_OF_LIFE)),
                    Ok(News::Event(event)) => event,
                    Ok(News::Observed(text)) => {
                        return Some(Bytes::copy_from_slice(text.as_bytes()));
                    }
                    Ok(News::Missed(missed)) => self.lagged(missed),
                    Ok(News::End) => return None,
                },
            };
            self.last = event.id;
            if self.wants(event.kind) {
                return Some(Bytes::copy_from_slice(event.text.as_bytes()));
            }
        }
    }

    async fn news(&mut self) -> News {
        let event = self.coming.recv().map(News::of);
        let Some(observed) = &mut self.observed else {
            return event.await;
        };
        let seen = observed.recv().map(|seen| match seen {
            Ok(text) => News::Observed(text),
            // What the events before these are is known: nothing of them is missing.
            Err(RecvError::Lagged(_)) => News::Missed(0),
            Err(RecvError::Closed) => News::End,
        });
        select(pin!(event), pin!(seen)).await.factor_first().0
    }

    fn wants(&self, kind: &str) -> bool {
        self.kinds.is_empty() || kind == Event::GAP || self.kinds.contains(&kind)
    }

    fn lagged(&self, missed: u64) -> Published {
        self.site.meters.missed(missed);
        gap(self.last + missed, wall_clock(clock::now()), Some(missed))
    }
}
