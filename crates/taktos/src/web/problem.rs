//! Why a request is not answered as hoped: a status, a word for programs, a
//! sentence for people, and what to do.

use std::time::Duration;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use controller::northbound::Permission;

use super::document::{ProblemBody, ProblemDocument, Unusable};

/// When a client that was sent away may come back.
const RETRY_AFTER_SECONDS: &str = "1";

/// Why a request is not answered as hoped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    status: StatusCode,
    code: &'static str,
    message: String,
    help: Option<String>,
}

impl Problem {
    /// Returns a problem that has a status, a code and a message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            help: None,
        }
    }

    #[must_use]
    pub fn help(self, help: impl Into<String>) -> Self {
        let help = Some(help.into());
        Self { help, ..self }
    }

    /// The thing that the path names is not there.
    pub fn not_found(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, code, message)
    }

    /// The request contradicts what is there.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// The request is understood and cannot be met.
    pub fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    /// The request cannot be understood.
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Too many requests wait for an answer already.
    #[must_use]
    pub fn too_many() -> Self {
        let message = "too many requests wait for an answer already";
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", message)
            .help("nothing has changed: ask again in a second")
    }

    /// The controller has too much to do.
    #[must_use]
    pub fn busy() -> Self {
        let message = "the controller has too many requests that wait for the store";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", message)
            .help("nothing has changed: ask again in a second")
    }

    /// The store has not told all that it kept.
    #[must_use]
    pub fn starting() -> Self {
        let message = "the controller has not read all yet that its store kept";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "starting", message)
            .help("nothing has changed: ask again in a second")
    }

    /// Another controller is the master of a switch.
    #[must_use]
    pub fn not_master(switch: &str) -> Self {
        let message = format!("another controller is master of switch {switch}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not-master", message).help(
            "stop the other one and start this one again, or start this one with `--take-over`",
        )
    }

    #[must_use]
    pub fn not_stored() -> Self {
        let message = "the store could not keep the change";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not-stored", message)
            .help("nothing has changed: look at the events for why, and whether the disk is full")
    }

    /// The store has failed, and does not work yet.
    #[must_use]
    pub fn store_fails(reason: &str) -> Self {
        let message = format!("nothing can be kept: {reason}");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store-failed", message)
            .help("it is tried every second: look whether the disk is full")
    }

    /// The controller did not answer in time.
    #[must_use]
    pub fn late(patience: Duration) -> Self {
        let message = format!(
            "the controller did not answer within {} s",
            patience.as_secs()
        );
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "late", message)
            .help("if this was a change, it may be made yet: look before you repeat it")
    }

    #[must_use]
    pub fn ended() -> Self {
        let message = "the controller is about to end";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "ended", message)
    }

    /// No instance of the cluster is known that decides at the moment.
    #[must_use]
    pub fn no_sequencer() -> Self {
        let message = "no instance of the cluster is known that decides at the moment";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "no-sequencer", message)
            .help("nothing has changed: ask again in a second")
    }

    /// The instance that decides has not answered.
    #[must_use]
    pub fn unanswered(name: &str) -> Self {
        let message = format!("instance {name}, which decides, did not answer");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unanswered", message)
            .help("if this was a change, it may be made yet: look before you repeat it")
    }

    /// The application was not granted what it asks for.
    #[must_use]
    pub fn denied(application: &str, needs: Permission) -> Self {
        let message = format!("application {application} has no permission to {needs}");
        Self::new(StatusCode::FORBIDDEN, "denied", message).help(format!(
            "nothing has changed: declare `{needs}` in its manifest and load it again"
        ))
    }

    /// The controller answered something that is no answer to the question.
    #[must_use]
    pub fn fault() -> Self {
        let message = "the answer of the controller was none to this question";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "fault", message)
    }

    #[must_use]
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    #[must_use]
    pub const fn code(&self) -> &'static str {
        self.code
    }

    #[must_use]
    pub fn body(&self) -> ProblemBody {
        ProblemBody {
            code: self.code.to_owned(),
            message: self.message.clone(),
            help: self.help.clone(),
        }
    }
}

/// The code of the problem that an answer tells, for those who count and log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub &'static str);

impl From<Unusable> for Problem {
    fn from(unusable: Unusable) -> Self {
        Self::bad("unusable-value", unusable.to_string())
            .help("/api/v1/openapi.json shows what is expected")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let document = ProblemDocument { error: self.body() };
        let mut response = json(self.status, &document);
        response.extensions_mut().insert(Code(self.code));
        let headers = response.headers_mut();
        match self.status {
            StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => {
                let seconds = HeaderValue::from_static(RETRY_AFTER_SECONDS);
                headers.insert(RETRY_AFTER, seconds);
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        response
    }
}

/// Returns an answer with a JSON document in it.
pub fn json(status: StatusCode, document: &impl serde::Serialize) -> Response<Body> {
    let text = serde_json::to_vec(document).expect("documents have text keys alone");
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
