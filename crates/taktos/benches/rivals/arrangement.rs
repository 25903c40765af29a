//! Which processor carries what, for subjects that the kernel carries: they work on
//! the processor of whoever sends, unless the kernel is told to hand frames over.

use std::fmt;
use std::io;
use std::thread;

use linux::scheduling::{self, Placement, Wish};
use serde_json::{Value, json};

use lab::stage::Testbed;

/// The priority of what sends and receives.
pub const HOSTS_NICE: i32 = -15;

/// The two processors of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processors {
    /// What the subject has for itself.
    pub subject: usize,
    /// Where the hosts are when they have one processor.
    pub hosts: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrangement {
    /// Sender, subject and receiver on one processor.
    Together,
    /// The subject and the receiver on a processor of their own.
    Apart,
}

impl Arrangement {
    pub const ALL: [Self; 2] = [Self::Together, Self::Apart];

    /// Does `work`, which sends, on one processor, while the kernel carries on what
    /// arrives where this arrangement has it.
    pub fn hold<R: Send>(
        self,
        stage: &Testbed,
        processors: Processors,
        work: impl FnOnce() -> io::Result<R> + Send,
    ) -> io::Result<R> {
        stage.hand_over(match self {
            Self::Together => None,
            Self::Apart => Some(processors.subject),
        })?;
        let result = thread::scope(|scope| {
            let pinned = scope.spawn(|| {
                scheduling::apply(Wish {
                    nice: HOSTS_NICE,
                    placement: Placement::Only(processors.hosts),
                });
                work()
            });
            match pinned.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        stage.hand_over(None)?;
        result
    }

    /// Returns it as it stands in a result file.
    pub fn to_json(self) -> Value {
        match self {
            Self::Together => json!("together"),
            Self::Apart => json!("apart"),
        }
    }
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Together => "sender and all else on one processor",
            Self::Apart => "the sender on another processor",
        })
    }
}
