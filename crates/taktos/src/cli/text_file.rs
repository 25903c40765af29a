//! Reads what a user wrote, and shows what is wrong with it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use super::exit::Exit;
use super::screen::{self, say};

/// Reads a file of at most `longest` bytes, or says on standard error why that
/// cannot be.
pub fn read(path: &Path, longest: usize) -> Result<String, Exit> {
    load(path, longest).map_err(|error| {
        say(format_args!(
            "taktos: cannot read {}: {error}",
            path.display()
        ));
        Exit::BadInput
    })
}

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

/// Shows the mistakes of a text on standard error.
pub fn show(error: &dyn Diagnostic) -> Exit {
    let theme = match screen::is_plain() {
        true => GraphicalTheme::unicode_nocolor(),
        false => GraphicalTheme::unicode(),
    };
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(theme).with_width(screen::WIDTH);
    match handler.render_report(&mut shown, error) {
        Ok(()) => say(shown),
        Err(_) => say(format_args!("taktos: {error}")),
    }
    Exit::BadInput
}
