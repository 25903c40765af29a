//! Reads what a user wrote, and shows what is wrong with it.

use std::path::Path;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use super::exit::Exit;
use super::screen::{self, say};

/// Reads a file of at most `longest` bytes, or says on standard error why that
/// cannot be.
pub fn read(path: &Path, longest: usize) -> Result<String, Exit> {
    run::text_file::load(path, longest).map_err(|error| {
        say(format_args!(
            "taktos: cannot read {}: {error}",
            path.display()
        ));
        Exit::BadInput
    })
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
