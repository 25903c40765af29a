//! Has the instance that decides answer what this one is asked.
//!
//! A request goes on as it came, with the token of whoever asks, and so does the answer, a
//! stream of events as well. An instance asks no further that was itself asked by another
//! one: where two take each other for the one that decides, the client is told to come
//! back.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONNECTION, HOST, HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING};
use axum::http::{Response, Uri};
use controller::cluster::Report;
use futures_util::future::{Either, select};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use linux::controller_loop::ClusterReport;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::problem::Problem;

/// Marks what another instance has sent on.
const FORWARDED: HeaderName = HeaderName::from_static("taktos-forwarded");
/// Marks what is told from the records of the store while no instance is known that
/// decides: it may have changed, and no switch was asked.
pub const STALE: HeaderName = HeaderName::from_static("taktos-stale");
/// Another one may all the same, that this one does not hear.
pub const NOBODY_DECIDES: HeaderValue =
    HeaderValue::from_static("no instance is known that decides");
/// How long the other instance may take to let us in.
const CONNECT_PATIENCE: Duration = Duration::from_secs(1);
/// How often it is looked whether it still decides, while it is silent.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

/// How the instances of a cluster are reached.
#[derive(Debug)]
pub struct Forwarding {
    pub report: ClusterReport,
    /// What trusts them, if they are asked by HTTPS.
    pub tls: Option<Arc<ClientConfig>>,
}

/// Who answers a request.
#[derive(Debug)]
pub enum AnsweredBy {
    /// This instance, which decides in the epoch with this number.
    Us(u64),
    /// The instance with this name, where programs ask it.
    Other { name: String, url: String },
    /// No instance is known that decides.
    Nobody,
}

impl Forwarding {
    /// Returns who decides, and so who answers.
    ///
    /// # Errors
    ///
    /// If another instance takes us for the one.
    pub fn who_answers(&self, request: &Request) -> Result<AnsweredBy, Problem> {
        let report = self.report.read();
        if let Some(epoch) = report.leads {
            return Ok(AnsweredBy::Us(epoch));
        }
        let other = report.sequencer().filter(|it| !it.is_this);
        match other {
            Some(other) if !request.headers().contains_key(FORWARDED) => Ok(AnsweredBy::Other {
                name: other.member.name.clone(),
                url: other.member.url.clone(),
            }),
            Some(_) => Err(Problem::no_sequencer()),
            None => Ok(AnsweredBy::Nobody),
        }
    }

    /// Has another instance answer.
    ///
    /// # Errors
    ///
    /// If it does not.
    pub async fn forward(
        &self,
        (name, url): (&str, &str),
        request: Request,
    ) -> Result<Response<Body>, Problem> {
        let answer = pin!(self.answer_of((name, url), request));
        let replaced = pin!(self.is_replaced(url));
        match select(answer, replaced).await {
            Either::Left((answer, _)) => answer,
            // Whoever hangs answers nobody any more.
            Either::Right(_) => Err(Problem::unanswered(name)),
        }
    }

    /// Waits until another instance decides than the one that is asked at `url`.
    async fn is_replaced(&self, url: &str) {
        loop {
            tokio::time::sleep(LOOK_INTERVAL).await;
            let report = self.report.read();
            if report.sequencer().is_none_or(|it| it.member.url != url) {
                return;
            }
        }
    }

    async fn answer_of(
        &self,
        (name, url): (&str, &str),
        request: Request,
    ) -> Result<Response<Body>, Problem> {
        let unanswered = || Problem::unanswered(name);
        let target: Uri = url.parse().map_err(|_| unanswered())?;
        let authority = target.authority().ok_or_else(unanswered)?;
        let is_enciphered = target.scheme_str() == Some("https");
        let port = authority.port_u16();
        let port = port.unwrap_or(if is_enciphered { 443 } else { 80 });
        let host = authority.host().trim_matches(['[', ']']);
        let request = directed(request, authority.as_str()).ok_or_else(unanswered)?;
        let connecting = timeout(CONNECT_PATIENCE, TcpStream::connect((host, port)));
        let Ok(Ok(stream)) = connecting.await else {
            return Err(unanswered());
        };
        let _ = stream.set_nodelay(true);
        let answer = match (is_enciphered, &self.tls) {
            (false, _) => converse(stream, request).await,
            (true, None) => None,
            (true, Some(tls)) => {
                let server = ServerName::try_from(host.to_owned()).map_err(|_| unanswered())?;
                let connector = TlsConnector::from(Arc::clone(tls));
                match timeout(CONNECT_PATIENCE, connector.connect(server, stream)).await {
                    Ok(Ok(stream)) => converse(stream, request).await,
                    Ok(Err(_)) | Err(_) => None,
                }
            }
        };
        answer.ok_or_else(unanswered)
    }

    /// Returns what is known of the cluster.
    #[must_use]
    pub fn report(&self) -> Report {
        self.report.read()
    }
}

/// Returns the request as another instance is to see it.
fn directed(mut request: Request, authority: &str) -> Option<Request> {
    let path = request.uri().path_and_query()?.as_str().parse().ok()?;
    *request.uri_mut() = path;
    let headers = request.headers_mut();
    headers.remove(CONNECTION);
    headers.remove(TRANSFER_ENCODING);
    // Whether the page of this instance asks has been looked at.
    headers.remove(ORIGIN);
    headers.insert(HOST, HeaderValue::from_str(authority).ok()?);
    headers.insert(FORWARDED, HeaderValue::from_static("1"));
    Some(request)
}

async fn converse<S>(stream: S, request: Request) -> Option<Response<Body>>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.ok()?;
    // It carries the body of the answer, and ends with it.
    tokio::spawn(connection);
    let mut answer = sender.send_request(request).await.ok()?;
    answer.headers_mut().remove(CONNECTION);
    answer.headers_mut().remove(TRANSFER_ENCODING);
    Some(answer.map(Body::new))
}
