//! What the program tells its caller when it ends.

use std::process::ExitCode;

/// The exit codes, the same for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done, and every promise held.
    Done,
    Fault,
    /// What the user gave cannot be used; nothing was started.
    BadInput,
    /// A promise was broken, or `check` refused a flow.
    Broken,
    /// The machine lacks something, or was too slow for most of a run to be judged.
    Lacking,
    /// The user stopped it (the shell's own code for Ctrl-C).
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Fault => 1,
            Exit::BadInput => 2,
            Exit::Broken => 3,
            Exit::Lacking => 4,
            Exit::Interrupted => 130,
        })
    }
}
