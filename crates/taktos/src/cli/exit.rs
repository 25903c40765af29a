//! What the program tells its caller when it ends.

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

impl Exit {
    /// Returns the code of the process.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Fault => 1,
            Self::BadInput => 2,
            Self::Broken => 3,
            Self::Lacking => 4,
            Self::Interrupted => 130,
        }
    }
}
