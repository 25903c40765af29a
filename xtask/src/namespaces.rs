//! How this user may make network namespaces, and programs that run in one.

use std::process::{Command, Stdio};

/// How this user may make network namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespaces {
    /// As they are.
    Direct,
    /// Inside a user namespace of their own.
    InUserNamespace,
    /// Not at all.
    None,
}

impl Namespaces {
    /// Tries it out.
    pub fn of_this_user() -> Self {
        if unshare_works(&["--net"]) {
            Self::Direct
        } else if unshare_works(&["--user", "--map-root-user", "--net"]) {
            Self::InUserNamespace
        } else {
            Self::None
        }
    }

    /// Returns a command that runs `program` as the first process of namespaces
    /// of its own, of network and of processes: when it ends, the kernel ends
    /// everything that it has started and takes down what it has built.
    pub fn command(self, program: &str) -> Option<Command> {
        let mut command = Command::new("unshare");
        match self {
            Self::Direct => {}
            Self::InUserNamespace => {
                command.args(["--user", "--map-root-user"]);
            }
            Self::None => return None,
        }
        command.args(["--net", "--pid", "--fork", "--kill-child", program]);
        Some(command)
    }
}

fn unshare_works(options: &[&str]) -> bool {
    let mut unshare = Command::new("unshare");
    let unshare = unshare
        .args(options)
        .arg("true")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    unshare.status().is_ok_and(|it| it.success())
}
