//! Speaks to a running controller as any program would: over its REST interface
//! (S1-8).
//!
//! One [`Controller`] is one place where a controller answers, with the right to
//! ask there; [`watcher`] listens to what happens there, and comes back when the
//! connection breaks. Nothing here knows what documents mean: they are JSON.

pub mod access;
pub mod event_stream;
pub mod trust;
pub mod watcher;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use ureq::http::request::Builder;
use ureq::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Connector, TcpConnector};
use ureq::{Agent, AsSendBody, Body, BodyReader, RequestExt};

use access::Access;
use trust::Enciphering;

use crate::cli::screen::say;
use crate::web::document::{ProblemBody, ProblemDocument};
use crate::web::forwarding::STALE;

/// For how long a controller may let us wait for a connection.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// For how long a controller may say nothing while it owes an answer: it decides
/// on thousands of flows before it says a word.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);
/// The longest answer: the rules of a switch with a million entries fit.
pub const LONGEST_ANSWER: u64 = 1 << 30;
/// For how long nothing may come on a stream of events: a controller says every
/// few seconds that it is still there.
const SILENCE: Duration = Duration::from_secs(30);

/// A controller does not answer as it should.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("no controller answers at {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// The controller's certificate is not one that we trust.
    #[error("the controller at {url} is not trusted: {reason}")]
    Untrusted { url: String, reason: String },
    /// The controller does not do what was asked.
    #[error("{}", .0.problem.message)]
    Refused(Box<ServerRefusal>),
    /// What answers is no controller.
    #[error("what answers at {url} is no Taktos controller: {reason}")]
    Stranger { url: String, reason: String },
    /// The request cannot even be written.
    #[error("that cannot be asked: {0}")]
    Unaskable(String),
}

/// What a controller says about a request that it does not fulfil.
#[derive(Debug)]
pub struct ServerRefusal {
    pub status: StatusCode,
    pub problem: ProblemBody,
    pub document: Value,
}

/// A place where a controller answers, and the right to ask there.
#[derive(Clone, Debug)]
pub struct Controller {
    agent: Agent,
    access: Arc<Access>,
}

impl Controller {
    /// Returns the controller to which `access` leads. Nothing is sent yet.
    #[must_use]
    pub fn new(access: Access) -> Self {
        let connector = TcpConnector::default().chain(Enciphering::trusting(&access.authorities));
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A controller is a neighbour: no proxy of the web stands between.
            .proxy(None)
            .user_agent(concat!("taktos/", env!("CARGO_PKG_VERSION")))
            .accept_encoding("identity")
            .timeout_connect(Some(CONNECT_PATIENCE))
            .timeout_per_read(Some(ANSWER_PATIENCE))
            .timeout_per_write(Some(ANSWER_PATIENCE))
            .build();
        Self {
            agent: Agent::with_parts(config, connector, DefaultResolver::default()),
            access: Arc::new(access),
        }
    }

    /// Returns where the controller is.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// Fetches the document at `path`.
    ///
    /// # Errors
    ///
    /// If nobody answers, the controller refuses, or the answer is none.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.read(self.send(Method::GET, path, None)?)
    }

    /// Hands `document` to `path`.
    ///
    /// # Errors
    ///
    /// If nobody answers, the controller refuses, or the answer is none.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        document: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.read(self.send(Method::POST, path, Some(written(document)?))?)
    }

    /// Puts `document` in the place of what is at `path`.
    ///
    /// # Errors
    ///
    /// If nobody answers, the controller refuses, or the answer is none.
    pub fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        document: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.read(self.send(Method::PUT, path, Some(written(document)?))?)
    }

    /// Removes what is at `path`.
    ///
    /// # Errors
    ///
    /// If nobody answers, the controller refuses, or the answer is none.
    pub fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        self.read(self.send(Method::DELETE, path, None)?)
    }

    /// Opens the stream of events, from the one after `last` on if the controller
    /// still has it.
    ///
    /// # Errors
    ///
    /// If nobody answers, or the controller refuses.
    pub fn events(&self, last: Option<&str>) -> Result<BodyReader<'static>, ClientError> {
        let mut request = self.request(Method::GET, "/api/v1/events");
        request = request.header(header::ACCEPT, "text/event-stream");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let request = request.body(());
        let request = request.map_err(|error| ClientError::Unaskable(error.to_string()))?;
        let patient = request.with_agent(&self.agent).configure();
        let answer = patient.timeout_per_read(Some(SILENCE)).run();
        let answer = self.accepted(answer.map_err(|error| self.failure(error))?)?;
        Ok(answer.into_body().into_reader())
    }

    /// Sends a request and returns the answer once its head is there and says that
    /// all is well.
    fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Vec<u8>>,
    ) -> Result<Response<Body>, ClientError> {
        let request = self.request(method, path);
        let answer = match body {
            None => self.run(request.body(()))?,
            Some(body) => {
                let json = HeaderValue::from_static("application/json");
                self.run(request.header(header::CONTENT_TYPE, json).body(body))?
            }
        };
        self.accepted(answer)
    }

    fn accepted(&self, answer: Response<Body>) -> Result<Response<Body>, ClientError> {
        match answer.status() {
            status if status.is_success() => {
                if let Some(why) = answer.headers().get(STALE) {
                    let why = why.to_str().unwrap_or_default();
                    say(format_args!(
                        "note: {why}: this is what the store was last known to hold, and may \
                         have changed"
                    ));
                }
                Ok(answer)
            }
            status if status.is_client_error() || status.is_server_error() => {
                Err(self.refusal(status, answer))
            }
            status => Err(self.stranger(format!("it answers with HTTP status {status}"))),
        }
    }

    fn request(&self, method: Method, path: &str) -> Builder {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.access.url));
        match &self.access.token {
            None => request,
            Some(token) => request.header(header::AUTHORIZATION, format!("Bearer {token}")),
        }
    }

    fn run(
        &self,
        request: ureq::http::Result<Request<impl AsSendBody>>,
    ) -> Result<Response<Body>, ClientError> {
        let request = request.map_err(|error| ClientError::Unaskable(error.to_string()))?;
        self.agent.run(request).map_err(|error| self.failure(error))
    }

    fn read<T: DeserializeOwned>(&self, mut answer: Response<Body>) -> Result<T, ClientError> {
        let limited = answer.body_mut().with_config().limit(LONGEST_ANSWER);
        let text = limited.read_to_vec().map_err(|error| self.failure(error))?;
        let text: &[u8] = if text.is_empty() { b"null" } else { &text };
        serde_json::from_slice(text)
            .map_err(|error| self.stranger(format!("it answers what cannot be read ({error})")))
    }

    /// Returns what the controller says about a request that it does not fulfil.
    fn refusal(&self, status: StatusCode, mut answer: Response<Body>) -> ClientError {
        let limited = answer.body_mut().with_config().limit(LONGEST_ANSWER);
        let text = limited.read_to_vec();
        let document: Option<Value> = text.ok().and_then(|it| serde_json::from_slice(&it).ok());
        let problem = document.as_ref().map(ProblemDocument::deserialize);
        match (document, problem) {
            (Some(document), Some(Ok(ProblemDocument { error: problem }))) => {
                ClientError::Refused(Box::new(ServerRefusal {
                    status,
                    problem,
                    document,
                }))
            }
            _ => self.stranger(format!("it answers with HTTP status {status}")),
        }
    }

    fn stranger(&self, reason: String) -> ClientError {
        ClientError::Stranger {
            url: self.access.url.clone(),
            reason,
        }
    }

    /// Tells apart what can go wrong before an answer is whole.
    fn failure(&self, error: ureq::Error) -> ClientError {
        let url = self.access.url.clone();
        let reason = error.to_string();
        match error {
            ureq::Error::Rustls(_) | ureq::Error::Tls(_) => ClientError::Untrusted { url, reason },
            ureq::Error::Io(error) => match distrust(&error) {
                Some(error) => ClientError::Untrusted {
                    url,
                    reason: error.to_string(),
                },
                None => ClientError::Unreachable {
                    url,
                    reason: error.to_string(),
                },
            },
            ureq::Error::Timeout(_) | ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => {
                ClientError::Unreachable { url, reason }
            }
            ureq::Error::Http(_) | ureq::Error::BadUri(_) => ClientError::Unaskable(reason),
            _ => ClientError::Stranger { url, reason },
        }
    }
}

/// Returns the objection of TLS that hides in an error of a connection.
fn distrust(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

fn written(document: &impl Serialize) -> Result<Vec<u8>, ClientError> {
    serde_json::to_vec(document).map_err(|error| ClientError::Unaskable(error.to_string()))
}
