//! How this program was started, and how to start it again.

use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

static GIVEN: OnceLock<Vec<OsString>> = OnceLock::new();

/// Says so where the process is that of an interpreter, which has this program as a
/// library: the path of what starts the program by itself, and the words that follow. Only
/// the first time counts.
pub fn say(given: &[OsString]) {
    let _ = GIVEN.set(given.to_vec());
}

/// Returns the path of the program.
///
/// # Errors
///
/// If the kernel does not tell.
pub fn program() -> io::Result<PathBuf> {
    match GIVEN.get().and_then(|given| given.first()) {
        Some(program) => Ok(PathBuf::from(program)),
        None => env::current_exe(),
    }
}

/// Returns the words that followed it.
#[must_use]
pub fn words() -> Vec<OsString> {
    match GIVEN.get() {
        Some(given) => given.iter().skip(1).cloned().collect(),
        None => env::args_os().skip(1).collect(),
    }
}
