//! Passes bytes between an enciphered connection and a pair of sockets, so that whoever
//! holds the other one of the pair sees a plain connection.
//!
//! Each direction holds a bounded number of bytes; while they do not go on, no more are
//! read. Once one end has left, the other one gets what was said before.

use std::io;
use std::os::unix::net::UnixStream as Plain;
use std::pin::pin;

use futures_util::future::{Either, select};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest, split};
use tokio::net::UnixStream;
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::time::{sleep, timeout};

use super::PARTING;
use super::claim::{Claim, Listening};

/// How much is read at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// Makes a pair of sockets; returns the end for the holder, and the one for [`carry`].
///
/// # Errors
///
/// If the process has no descriptors left.
pub fn pair() -> io::Result<(Plain, UnixStream)> {
    let (theirs, ours) = Plain::pair()?;
    ours.set_nonblocking(true)?;
    Ok((theirs, UnixStream::from_std(ours)?))
}

/// Passes bytes on until one end has left and the other one has what was said before, or
/// does not take it in time. With a `claim`, the peer has to be who it says.
///
/// # Errors
///
/// If an end broke, or the peer is another one.
pub async fn carry<S>(enciphered: S, mut plain: UnixStream, claim: Option<Claim>) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite,
{
    let (from_peer, to_peer) = split(enciphered);
    let (from_holder, to_holder) = plain.split();
    let inbound = pin!(decipher(from_peer, to_holder, claim));
    let outbound = pin!(encipher(from_holder, to_peer));
    match select(inbound, outbound).await {
        Either::Left((ended, _)) | Either::Right((ended, _)) => ended,
    }
}

async fn decipher(
    mut from_peer: impl AsyncRead + Unpin,
    mut to_holder: WriteHalf<'_>,
    mut claim: Option<Claim>,
) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK_BYTES];
    loop {
        let count = from_peer.read(&mut bytes).await?;
        if count == 0 {
            return Ok(());
        }
        if let Some(unsettled) = &mut claim
            && unsettled
                .listen(&bytes[..count])
                .map_err(io::Error::other)?
                == Listening::Settled
        {
            claim = None;
        }
        to_holder.write_all(&bytes[..count]).await?;
    }
}

async fn encipher(
    mut from_holder: ReadHalf<'_>,
    mut to_peer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let mut bytes = vec![0; CHUNK_BYTES];
    loop {
        let count = from_holder.read(&mut bytes).await?;
        if count == 0 {
            return timeout(PARTING, to_peer.shutdown()).await?;
        }
        let sent = pin!(async {
            to_peer.write_all(&bytes[..count]).await?;
            to_peer.flush().await
        });
        match select(sent, pin!(given_up(&from_holder))).await {
            Either::Left((sent, _)) => sent?,
            Either::Right(_) => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

/// Waits until the holder has left for so long that the peer has had its time.
async fn given_up(from_holder: &ReadHalf<'_>) {
    // What is ready, whatever else is to be read, when the other one of a pair closes.
    let _ = from_holder.ready(Interest::PRIORITY).await;
    sleep(PARTING).await;
}
