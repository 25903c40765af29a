//! What the speaker's thread tells the controller, and what comes back.

use std::fmt;
use std::sync::Arc;

use api::{IpPrefix, SpeakerState};
use futures_util::future::BoxFuture;

use super::route_feed::RouteRequest;

/// What the controller is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saying {
    /// What the application is: before anything else.
    Settings,
    State(SpeakerState),
    Routes(RouteRequest),
}

/// What the controller answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It has taken it, but for these.
    Taken { refused: Vec<(IpPrefix, String)> },
    /// It has not, or perhaps.
    NotTaken { reason: String },
    /// It knows nothing of the application any more, or decides no more.
    Gone,
}

type IsReady = dyn Fn() -> bool + Send + Sync;
type TellIt = dyn Fn(Saying) -> BoxFuture<'static, Answer> + Send + Sync;

/// Where the controller is told.
#[derive(Clone)]
pub struct ControllerLink {
    is_ready: Arc<IsReady>,
    tell: Arc<TellIt>,
}

impl ControllerLink {
    /// Returns a link to a controller that is told by `tell` while `is_ready`.
    pub fn new(
        is_ready: impl Fn() -> bool + Send + Sync + 'static,
        tell: impl Fn(Saying) -> BoxFuture<'static, Answer> + Send + Sync + 'static,
    ) -> Self {
        Self {
            is_ready: Arc::new(is_ready),
            tell: Arc::new(tell),
        }
    }

    /// Returns whether it decides.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        (self.is_ready)()
    }

    /// Tells it something.
    pub fn tell(&self, saying: Saying) -> BoxFuture<'static, Answer> {
        (self.tell)(saying)
    }
}

impl fmt::Debug for ControllerLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ControllerLink").finish_non_exhaustive()
    }
}
