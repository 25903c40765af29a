//! Serves HTTP/1.1, enciphered or not, to a bounded number of clients, none of which
//! can hold up the others: who is slow to ask or does not read is let go.

mod guarded;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use crate::tls::HANDSHAKE_PATIENCE;
use guarded::Guarded;

/// The most clients at a time.
pub const MOST_CLIENTS: usize = 1_024;
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
    let places = Arc::new(Semaphore::new(MOST_CLIENTS));
    let acceptor = tls.map(TlsAcceptor::from);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(SHORTAGE_PAUSE).await;
            continue;
        };
        let (acceptor, router) = (acceptor.clone(), router.clone());
        tokio::spawn(async move {
            serve_one(stream, acceptor, router).await;
            drop(place);
        });
    }
}

async fn serve_one(stream: TcpStream, acceptor: Option<TlsAcceptor>, router: Router) {
    // An answer is one write: waiting for more only delays it.
    let _ = stream.set_nodelay(true);
    let guarded = Guarded::new(stream, STALL_TIMEOUT);
    match acceptor {
        None => converse(guarded, router).await,
        Some(acceptor) => {
            let handshake = timeout(HANDSHAKE_PATIENCE, acceptor.accept(guarded));
            if let Ok(Ok(enciphered)) = handshake.await {
                converse(enciphered, router).await;
            }
        }
    }
}

async fn converse<S>(stream: S, router: Router)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // Whatever ended it, nobody else noticed.
    let _ = connection.await;
}
