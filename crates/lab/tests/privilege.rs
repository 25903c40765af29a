//! The right to build networks, as an administrator and as an ordinary user.
//!
//! Runs without the usual harness: only a process with a single thread can get a
//! user namespace of its own. Run by root it tries again as nobody.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use lab::network::{LabNetwork, Plan};
use lab::privilege::{self, Lacking, Privilege};

/// The user that owns nothing.
const NOBODY: u32 = 65_534;
/// Set for the attempt as nobody.
const AS_NOBODY: &str = "TAKTOS_TEST_AS_NOBODY";

fn main() -> ExitCode {
    let required = std::env::var_os("TAKTOS_REQUIRE_NAMESPACES").is_some();
    let as_nobody = std::env::var_os(AS_NOBODY).is_some();
    match privilege::acquire() {
        Ok(privilege) => {
            let empty = Plan {
                switches: vec!["s1".to_owned()],
                hosts: vec![],
                cables: vec![],
            };
            LabNetwork::build(&empty).expect("who has the privilege can build");
            println!("test what_is_acquired_suffices_to_build_a_network ({privilege:?}) ... ok");
            assert!(!as_nobody || privilege == Privilege::OwnUserNamespace);
        }
        Err(lacking @ Lacking::Privilege { .. }) if as_nobody || !required => {
            println!("SKIPPED what_is_acquired_suffices_to_build_a_network: {lacking}");
        }
        Err(lacking) => {
            println!("test what_is_acquired_suffices_to_build_a_network ... FAILED: {lacking}");
            return ExitCode::FAILURE;
        }
    }
    if as_nobody || !is_root() {
        return ExitCode::SUCCESS;
    }
    try_as_nobody()
}

fn try_as_nobody() -> ExitCode {
    let myself = std::env::current_exe().expect("/proc is there");
    let attempt = Command::new(myself)
        .env(AS_NOBODY, "1")
        .uid(NOBODY)
        .gid(NOBODY)
        .status();
    match attempt {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            println!("SKIPPED the attempt as nobody, who cannot run this program: {error}");
            ExitCode::SUCCESS
        }
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
