//! Serves HTTP/1.1 to a bounded number of clients, none of which can hold up the
//! others: who is slow to ask or does not read is let go.

mod guarded;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

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
pub async fn serve(listener: TcpListener, router: Router) {
    let places = Arc::new(Semaphore::new(MOST_CLIENTS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else {
            return;
        };
        match listener.accept().await {
            Ok((stream, peer)) => {
                tokio::spawn(serve_one(stream, peer, router.clone(), place));
            }
            Err(_) => tokio::time::sleep(SHORTAGE_PAUSE).await,
        }
    }
}

async fn serve_one(
    stream: TcpStream,
    _peer: SocketAddr,
    router: Router,
    place: OwnedSemaphorePermit,
) {
    // An answer is one write: waiting for more only delays it.
    let _ = stream.set_nodelay(true);
    let guarded = TokioIo::new(Guarded::new(stream, STALL_TIMEOUT));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(LONGEST_HEAD)
        .serve_connection(guarded, TowerToHyperService::new(router));
    // Whatever ended it, nobody else noticed.
    let _ = connection.await;
    drop(place);
}
