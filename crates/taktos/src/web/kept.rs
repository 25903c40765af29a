//! Answers that many clients ask for: made once for each change of the network,
//! and shared.
//!
//! Whoever finds an answer that is out of date has it made anew, while the others
//! wait for that one. An answer is out of date when something was told since, and
//! in any case after [`FRESH_FOR`]: not every change is told.

use std::future::Future;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use tokio::sync::Mutex;

use super::problem::Problem;

/// How old an answer may be although nothing was told since.
pub const FRESH_FOR: Duration = Duration::from_millis(100);

/// An answer that is shared.
#[derive(Debug, Default)]
pub struct SharedAnswer {
    held: Mutex<Option<HeldAnswer>>,
}

#[derive(Clone, Debug)]
struct HeldAnswer {
    change: u64,
    made: Instant,
    text: Bytes,
}

impl SharedAnswer {
    /// Returns the answer as of the change with this number, or has it made.
    ///
    /// # Errors
    ///
    /// If it cannot be made.
    pub async fn get<F>(&self, change: u64, make: F) -> Result<Bytes, Problem>
    where
        F: Future<Output = Result<Bytes, Problem>>,
    {
        let mut held = self.held.lock().await;
        if let Some(held) = &*held
            && held.change >= change
            && held.made.elapsed() < FRESH_FOR
        {
            return Ok(held.text.clone());
        }
        let made = Instant::now();
        let text = make.await?;
        *held = Some(HeldAnswer {
            change,
            made,
            text: text.clone(),
        });
        Ok(text)
    }
}
