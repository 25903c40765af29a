//! Serves HTTP/1.1, enciphered or not, to a bounded number of clients, none of which
//! can hold up the others: who is slow to ask or does not read is let go, and who has
//! nothing to ask makes room.

mod guarded;
mod lobby;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Response;
use axum::http::header::CONTENT_TYPE;
use futures_util::future::select;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::tls::HANDSHAKE_PATIENCE;
use guarded::Guarded;
use lobby::{ClientSlot, Lobby};

/// The most clients at a time.
pub const MOST_CLIENTS: usize = 1_024;
/// The most of them from one address, unless it is one of this machine.
pub const MOST_OF_ONE_ADDRESS: usize = 512;
/// How long a client may take for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take nothing of an answer.
pub const STALL_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest head of a request.
const LONGEST_HEAD: usize = 32 << 10;
/// How long nobody is let in when the process has no descriptors left.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);

/// Serves until the task is dropped.
pub async fn serve(listener: TcpListener, tls: Option<Arc<ServerConfig>>, router: Router) {
    let lobby = Lobby::default();
    let acceptor = tls.map(TlsAcceptor::from);
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(SHORTAGE_PAUSE).await;
            continue;
        };
        // Who finds no place is closed.
        let Some((place, show_out)) = lobby.enter(peer.ip()) else {
            continue;
        };
        let (acceptor, router) = (acceptor.clone(), router.clone());
        tokio::spawn(async move {
            // It is shown out by whoever needs the room.
            let served = pin!(serve_one(stream, acceptor, router, &place));
            select(served, show_out).await;
        });
    }
}

async fn serve_one(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    router: Router,
    place: &ClientSlot,
) {
    // An answer is one write: waiting for more only delays it.
    let _ = stream.set_nodelay(true);
    let guarded = Guarded::new(stream, STALL_TIMEOUT);
    match acceptor {
        None => converse(guarded, router, place).await,
        Some(acceptor) => {
            let handshake = timeout(HANDSHAKE_PATIENCE, acceptor.accept(guarded));
            if let Ok(Ok(enciphered)) = handshake.await {
                converse(enciphered, router, place).await;
            }
        }
    }
}

async fn converse<S>(stream: S, router: Router, place: &ClientSlot)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let router = TowerToHyperService::new(router);
    let service = service_fn(|request| {
        place.asks();
        let answer = router.call(request);
        async {
            let answer = answer.await;
            place.is_answered(answer.as_ref().is_ok_and(goes_on));
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    // Whatever ended it, nobody else noticed.
    let _ = connection.await;
}

/// Tells whether an answer has no end that could be waited for: a stream of events.
fn goes_on(answer: &Response<Body>) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}
