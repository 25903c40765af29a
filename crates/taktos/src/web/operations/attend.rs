//! What is done around every operation: who asks is checked, the answer is counted
//! and, if it was to change something, noted.

use std::time::Instant;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Response, Uri};
use axum::middleware::Next;
use axum::response::IntoResponse;
use linux::clock::WallTime;

use super::{Changes, Operation};
use crate::web::document::AuditEntry;
use crate::web::gate::{Caller, Role};
use crate::web::problem::{Code, Problem};
use crate::web::site::Site;

/// How many names the audit log keeps of one request.
const NAMES_NOTED: usize = 16;

/// How much of an address the audit log keeps.
const LONGEST_PATH_NOTED: usize = 512;

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
        }
    }

    fn note(&self, by: String, path: String, response: &Response<Body>) {
        let extensions = response.extensions();
        let about = extensions.get::<About>().cloned().unwrap_or_default().0;
        let code = extensions.get::<Code>();
        self.site.audit.note(AuditEntry {
            at_ns: WallTime::now().as_ns(),
            by,
            operation: self.id.to_owned(),
            path,
            about: about.into_iter().take(NAMES_NOTED).collect(),
            status: response.status().as_u16(),
            code: code.map(|code| code.0.to_owned()),
        });
    }
}

/// Attends to a request.
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
            (by, next.run(request).await)
        }
        Err(problem) => (None, problem.into_response()),
    };
    if let Some(path) = path {
        post.site.show_anew();
        let by = by.unwrap_or_else(|| "somebody who was not let in".to_owned());
        post.note(by, path, &response);
    }
    let (status, took) = (response.status(), began.elapsed());
    post.site.meters.answered(post.number, status, took);
    response
}

/// Returns what the audit log shows of an address.
fn noted(uri: &Uri) -> String {
    uri.to_string().chars().take(LONGEST_PATH_NOTED).collect()
}

/// Returns who asks, if that matters.
fn let_in(post: &Post, request: &Request) -> Result<Option<Caller>, Problem> {
    let Some(role) = post.role else {
        return Ok(None);
    };
    let caller = post.site.gate.admit(request.headers())?;
    caller.check(role)?;
    Ok(Some(caller))
}
