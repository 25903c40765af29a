//! Listens to what happens at a controller, on a thread of its own, and comes back
//! when the connection breaks.

use std::io::{self, Read};
use std::sync::mpsc::{SendError, SyncSender};
use std::thread;
use std::time::Duration;

use super::event_stream::{EventStream, ServerEvent};
use super::{ClientError, Controller};

/// How long to wait before the controller is tried again, the last one as often as
/// it takes.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
];
const CHUNK_BYTES: usize = 1 << 14;

/// What is heard from a controller.
#[derive(Debug)]
pub enum Heard {
    /// The stream is open: what happens from now on will be heard.
    Connected,
    Event(ServerEvent),
    /// Nothing did, and the controller says that it is still there.
    Alive,
    /// The stream broke, or could not be opened; it will be tried again.
    Lost(ClientError),
}

/// Listens to `controller` until nobody wants to hear about it, and hands on what
/// `T` can be made of.
///
/// Events wait at the controller while the channel is full; it may close a stream
/// that is never read.
pub fn listen<T: From<Heard> + Send + 'static>(controller: Controller, to: SyncSender<T>) {
    thread::spawn(move || {
        let mut listener = Listener {
            controller,
            to,
            last: None,
            failures: 0,
        };
        while listener.listen_once().is_ok() {
            let pause = listener.failures.min(PAUSES.len() - 1);
            listener.failures += 1;
            thread::sleep(PAUSES[pause]);
        }
    });
}

struct Listener<T> {
    controller: Controller,
    to: SyncSender<T>,
    /// The number of the event that was heard last.
    last: Option<String>,
    /// How often the controller was tried since it answered.
    failures: usize,
}

impl<T: From<Heard>> Listener<T> {
    /// Opens the stream and hands on what comes, until it breaks.
    fn listen_once(&mut self) -> Result<(), SendError<T>> {
        let reason = match self.controller.events(self.last.as_deref()) {
            Ok(stream) => self.read(stream)?,
            Err(reason) => reason,
        };
        self.tell(Heard::Lost(reason))
    }

    fn read(&mut self, mut bytes: impl Read) -> Result<ClientError, SendError<T>> {
        self.failures = 0;
        self.tell(Heard::Connected)?;
        let mut stream = EventStream::new();
        let mut room = vec![0; CHUNK_BYTES];
        loop {
            let count = match bytes.read(&mut room) {
                Ok(0) => return Ok(self.gone("it closed the stream of events")),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Ok(self.gone(&error.to_string())),
            };
            let mut events = Vec::new();
            let pushed = stream.push(&room[..count], |event| events.push(event));
            if events.is_empty() {
                self.tell(Heard::Alive)?;
            }
            for event in events {
                self.last = event.id.clone().or(self.last.take());
                self.tell(Heard::Event(event))?;
            }
            if let Err(error) = pushed {
                return Ok(self.gone(&error.to_string()));
            }
        }
    }

    fn tell(&self, heard: Heard) -> Result<(), SendError<T>> {
        self.to.send(T::from(heard))
    }

    fn gone(&self, reason: &str) -> ClientError {
        ClientError::Unreachable {
            url: self.controller.url().to_owned(),
            reason: reason.to_owned(),
        }
    }
}
