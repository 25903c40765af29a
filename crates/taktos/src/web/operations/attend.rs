//! What is done around every operation: who asks is checked, the answer is counted
//! and, if it was to change something, noted.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, Uri};
use axum::middleware::Next;
use axum::response::IntoResponse;
use linux::clock::WallTime;

use super::{Answers, Changes, Operation};
use crate::web::document::AuditEntry;
use crate::web::forwarding::{AnsweredBy, NOBODY_DECIDES, STALE};
use crate::web::gate::{Caller, Role, check_addressed};
use crate::web::problem::{Code, Problem};
use crate::web::site::Site;

/// How many names the audit log keeps of one request.
const NAMES_NOTED: usize = 16;

/// How much of an address the audit log keeps.
const LONGEST_PATH_NOTED: usize = 512;

/// How the audit log calls whoever has shown no token that is known.
const STRANGER: &str = "somebody who was not let in";

/// Who asked for a change.
#[derive(Debug)]
enum By {
    LetIn(String),
    Refused(String),
}

/// The names of what an answer is about, for the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About(pub Vec<String>);

/// What stands around an operation.
#[derive(Clone, Debug)]
pub struct Post {
    site: Site,
    number: usize,
    id: &'static str,
    role: Option<Role>,
    changes: Changes,
    answered_by: Answers,
}

impl Post {
    /// Returns what stands around the operation with this number.
    #[must_use]
    pub fn new(site: Site, number: usize, operation: &Operation) -> Self {
        Self {
            site,
            number,
            id: operation.id,
            role: operation.role,
            changes: operation.changes,
            answered_by: operation.answered_by,
        }
    }

    fn note(&self, by: By, path: String, response: &Response<Body>) {
        let extensions = response.extensions();
        let about = extensions.get::<About>().cloned().unwrap_or_default().0;
        let code = extensions.get::<Code>();
        let (by, is_refused) = match by {
            By::LetIn(name) => (name, false),
            By::Refused(name) => (name, true),
        };
        let entry = AuditEntry {
            at_ns: WallTime::now().as_ns(),
            by,
            operation: self.id.to_owned(),
            path,
            about: about.into_iter().take(NAMES_NOTED).collect(),
            status: response.status().as_u16(),
            code: code.map(|code| code.0.to_owned()),
        };
        match is_refused {
            true => self.site.audit.note_refusal(entry),
            false => self.site.audit.note(entry),
        }
    }
}

pub async fn attend(State(post): State<Post>, mut request: Request, next: Next) -> Response<Body> {
    let began = Instant::now();
    let path = match post.changes {
        Changes::Something => Some(noted(request.uri())),
        Changes::Nothing => None,
    };
    let (by, response) = match let_in(&post, &request) {
        Ok(caller) => {
            let by = caller.as_ref().map(|caller| caller.name.clone());
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            let by = By::LetIn(by.unwrap_or_else(|| STRANGER.to_owned()));
            (by, answer(&post, request, next).await)
        }
        Err((name, problem)) => (By::Refused(name), problem.into_response()),
    };
    if let Some(path) = path {
        if matches!(by, By::LetIn(_)) {
            post.site.show_anew();
        }
        post.note(by, path, &response);
    }
    let took = units::Duration::from_ns(began.elapsed().as_nanos().try_into().unwrap_or(u64::MAX));
    let status = response.status();
    post.site.meters.answered(post.number, status, took);
    response
}

/// Has the instance answer that decides.
async fn answer(post: &Post, request: Request, next: Next) -> Response<Body> {
    let Some(cluster) = &post.site.cluster else {
        return next.run(request).await;
    };
    if post.answered_by == Answers::Anybody {
        return next.run(request).await;
    }
    let answered = match cluster.who_answers(&request) {
        Ok(AnsweredBy::Us(epoch)) => {
            let response = next.run(request).await;
            // Else it may have told what the store holds, and not that it is that.
            let leads = cluster.report().leads == Some(epoch);
            match leads || post.answered_by == Answers::Sequencer {
                true => Ok(response),
                false => Err(Problem::no_sequencer()),
            }
        }
        Ok(AnsweredBy::Other { name, url }) => cluster.forward((&name, &url), request).await,
        Ok(AnsweredBy::Nobody) if post.answered_by == Answers::SequencerOrRecords => {
            let mut response = next.run(request).await;
            response.headers_mut().insert(STALE, NOBODY_DECIDES);
            post.site.show_anew();
            Ok(response)
        }
        Ok(AnsweredBy::Nobody) => Err(Problem::no_sequencer()),
        Err(problem) => Err(problem),
    };
    answered.unwrap_or_else(IntoResponse::into_response)
}

/// Returns what the audit log shows of an address.
fn noted(uri: &Uri) -> String {
    uri.to_string().chars().take(LONGEST_PATH_NOTED).collect()
}

/// Returns who asks, if that matters; else the name of who may not, and why.
fn let_in(post: &Post, request: &Request) -> Result<Option<Caller>, (String, Problem)> {
    check_addressed(request.headers()).map_err(|problem| (STRANGER.to_owned(), problem))?;
    let Some(role) = post.role else {
        return Ok(None);
    };
    let caller = post.site.gate.admit(request.headers());
    let caller = caller.map_err(|problem| (STRANGER.to_owned(), problem))?;
    match caller.check(role) {
        Ok(()) => Ok(Some(caller)),
        Err(problem) => Err((caller.name, problem)),
    }
}
