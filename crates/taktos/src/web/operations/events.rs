//! What happens, as it happens (server-sent events, HTML Living Standard section
//! 9.2).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use api::{Event, Occurrences};
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use futures_util::stream::{self, Stream};
use linux::clock;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, timeout_at};

use super::{Operation, texted};
use crate::web::body::suggestion;
use crate::web::describe::wall_clock;
use crate::web::feed::{KEPT, Published, Subscription, gap};
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

const WATCHED: [(&str, &str); 2] = [
    ("kind", "only events of this kind; may be repeated"),
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
    headers: HeaderMap,
    query: Query,
) -> Result<Response<Body>, Problem> {
    query.only(&["kind", "after"])?;
    if site.feed.watchers() >= MOST_WATCHERS {
        return Err(Problem::too_many());
    }
    let kinds = query.all("kind").map(kind).collect::<Result<_, _>>()?;
    let last = match headers.get("last-event-id") {
        Some(value) => value.to_str().ok().and_then(|text| text.parse().ok()),
        None => query.number("after")?,
    };
    let subscription = site.feed.subscribe(wall_clock(clock::now()), last);
    let watch = Watch::new(site, subscription, kinds);
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
    /// The kinds that are wanted; all if there are none.
    kinds: Vec<&'static str>,
    /// The number of the last event that came by.
    last: u64,
    greeted: bool,
    /// When the next sign of life is due.
    silent_until: Instant,
}

impl Watch {
    fn new(site: Site, subscription: Subscription, kinds: Vec<&'static str>) -> Self {
        Self {
            last: site.feed.newest(),
            site,
            missed: subscription.missed,
            coming: subscription.coming,
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
                None => match timeout_at(self.silent_until, self.coming.recv()).await {
                    Err(_) => return Some(Bytes::from_static(SIGN_OF_LIFE)),
                    Ok(Ok(event)) => event,
                    Ok(Err(RecvError::Lagged(missed))) => self.lagged(missed),
                    Ok(Err(RecvError::Closed)) => return None,
                },
            };
            self.last = event.id;
            if self.wants(event.kind) {
                return Some(Bytes::copy_from_slice(event.text.as_bytes()));
            }
        }
    }

    fn wants(&self, kind: &str) -> bool {
        self.kinds.is_empty() || kind == Event::GAP || self.kinds.contains(&kind)
    }

    fn lagged(&self, missed: u64) -> Published {
        self.site.meters.missed(missed);
        gap(self.last + missed, wall_clock(clock::now()), Some(missed))
    }
}
