//! Reads what a user wrote.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Reads a file of at most `longest` bytes.
///
/// # Errors
///
/// What the system says, that it is no file, or that it is too long.
pub fn load(path: &Path, longest: usize) -> io::Result<String> {
    // Asked before it is opened: opening a pipe waits for somebody to write.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    let read = File::open(path)?
        .take(longest as u64 + 1)
        .read_to_string(&mut text)?;
    if read > longest {
        let reason = format!("longer than {longest} bytes");
        return Err(io::Error::other(reason));
    }
    Ok(text)
}
