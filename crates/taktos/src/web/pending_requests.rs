//! Where requests from outside wait for the controller's answers.
//!
//! A request leaves a waiter under its number and goes to the controller; the
//! thread that listens to the controller hands each answer to its waiter. Whoever
//! goes away, or waited for too long, takes his waiter with him.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use controller::northbound::{Asker, Reply, Request, RequestId};
use linux::controller_loop::Desk;
use linux::time_histogram::TimeHistogram;
use tokio::sync::oneshot;

use super::problem::Problem;

/// The most requests that wait for an answer at a time.
pub const MOST_WAITING: usize = 1_024;
/// How long a request waits for its answer.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Where requests wait for answers.
#[derive(Clone, Debug)]
pub struct PendingRequests {
    desk: Desk,
    waiters: Arc<Mutex<Waiters>>,
}

type Waiters = BTreeMap<RequestId, oneshot::Sender<Reply>>;

impl PendingRequests {
    /// Returns an office without waiters, in front of `desk`.
    #[must_use]
    pub fn new(desk: Desk) -> Self {
        Self {
            desk,
            waiters: Arc::default(),
        }
    }

    /// Returns how long frames that switches hand over take in the controller.
    #[must_use]
    pub fn packet_in_times(&self) -> &TimeHistogram {
        self.desk.packet_in_times()
    }

    /// Asks the controller and waits for its answer. What may answer any request
    /// comes as a problem.
    ///
    /// # Errors
    ///
    /// If too many wait, the answer is late, or the controller refuses to answer.
    pub async fn ask(&self, by: Asker, request: Request) -> Result<Reply, Problem> {
        let (tell, told) = oneshot::channel();
        let id = self.desk.next_id();
        let waiter = self.wait(id, tell)?;
        self.desk.ask_as(id, by, request);
        let reply = tokio::time::timeout(PATIENCE, told).await;
        drop(waiter);
        match reply {
            Err(_) => Err(Problem::late(PATIENCE)),
            Ok(Err(_)) => Err(Problem::ended()),
            Ok(Ok(reply)) => sorted(reply),
        }
    }

    /// Hands an answer to whoever waits for it.
    pub fn answer(&self, id: RequestId, reply: Reply) {
        if let Some(waiter) = self.waiters().remove(&id) {
            // Who went away meanwhile does not want to know.
            let _ = waiter.send(reply);
        }
    }

    /// Sends away all who wait: they are not answered any more.
    pub fn give_up(&self) {
        self.waiters().clear();
    }

    #[must_use]
    pub fn waiting(&self) -> usize {
        self.waiters().len()
    }

    fn wait(&self, id: RequestId, tell: oneshot::Sender<Reply>) -> Result<Waiter<'_>, Problem> {
        let mut waiters = self.waiters();
        if waiters.len() >= MOST_WAITING {
            return Err(Problem::too_many());
        }
        waiters.insert(id, tell);
        Ok(Waiter { office: self, id })
    }

    fn waiters(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the office, left when this value is dropped.
struct Waiter<'a> {
    office: &'a PendingRequests,
    id: RequestId,
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.office.waiters().remove(&self.id);
    }
}

/// Tells what may answer any request from the answer to this one.
fn sorted(reply: Reply) -> Result<Reply, Problem> {
    match reply {
        Reply::Busy => Err(Problem::busy()),
        Reply::Starting => Err(Problem::starting()),
        Reply::NotStored => Err(Problem::not_stored()),
        Reply::Denied { application, needs } => Err(Problem::denied(&application, needs)),
        reply => Ok(reply),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::RETRY_AFTER;
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn who_asks_too_early_or_too_often_is_told_to_try_again() {
        for (reply, code) in [
            (Reply::Starting, "starting"),
            (Reply::Busy, "busy"),
            (Reply::NotStored, "not-stored"),
        ] {
            let problem = sorted(reply).unwrap_err();

            let body = problem.body();
            assert_eq!((problem.status().as_u16(), problem.code()), (503, code));
            assert!(body.help.unwrap().contains("nothing has changed"));
            let response = problem.into_response();
            assert_eq!(response.headers()[RETRY_AFTER], "1");
        }
        assert_eq!(sorted(Reply::HostSet), Ok(Reply::HostSet));
    }
}
