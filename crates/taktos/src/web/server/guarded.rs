//! A connection that breaks when its far end takes nothing for too long.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// A connection whose writes have a time limit.
#[derive(Debug)]
pub struct Guarded<S> {
    stream: S,
    limit: Duration,
    /// Runs while a write waits.
    stall: Pin<Box<Sleep>>,
    waits: bool,
}

impl<S> Guarded<S> {
    /// Lets no write on `stream` wait for longer than `limit`.
    #[must_use]
    pub fn new(stream: S, limit: Duration) -> Self {
        Self {
            stream,
            limit,
            stall: Box::pin(tokio::time::sleep(limit)),
            waits: false,
        }
    }

    fn watch<T>(&mut self, context: &mut Context<'_>, polled: Poll<T>) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = polled {
            self.waits = false;
            return Poll::Ready(Ok(done));
        }
        if !self.waits {
            self.waits = true;
            self.stall.as_mut().reset(Instant::now() + self.limit);
        }
        ready!(self.stall.as_mut().poll(context));
        let reason = "the client takes nothing of its answer";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, reason)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, room)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.watch(context, polled).map(Result::flatten)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.watch(context, polled).map(Result::flatten)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_shutdown(context);
        self.watch(context, polled).map(Result::flatten)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    fn run<T>(what: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().build().unwrap().block_on(what)
    }

    #[test]
    fn a_client_that_takes_nothing_is_let_go() {
        let written = run(async {
            let (near, _far) = tokio::io::duplex(16);
            let mut guarded = Guarded::new(near, Duration::from_millis(20));
            guarded.write_all(&[7; 64]).await
        });

        assert_eq!(written.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn a_client_that_takes_a_little_now_and_then_is_served() {
        let taken = run(async {
            let (near, mut far) = tokio::io::duplex(16);
            let mut guarded = Guarded::new(near, Duration::from_secs(60));
            let reader = tokio::spawn(async move {
                let mut taken = Vec::new();
                far.read_to_end(&mut taken).await.map(|_| taken)
            });
            guarded.write_all(&[7; 640]).await.unwrap();
            drop(guarded);
            reader.await.unwrap().unwrap()
        });

        assert_eq!(taken, [7; 640]);
    }
}
