//! Reads a scenario from disk, and shows what is wrong with it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};
use scenario::{LONGEST_FILE, Scenario};

use super::exit::Exit;
use super::screen::{self, say};

/// Reads the scenario in `path`, or says on standard error why that cannot be.
pub fn read(path: &Path) -> Result<Scenario, Exit> {
    let text = read_text(path).map_err(|error| {
        say(format_args!(
            "taktos: cannot read {}: {error}",
            path.display()
        ));
        Exit::BadInput
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.display().to_string();
    Scenario::parse(&name, &text, &mut |file| read_text(&folder.join(file))).map_err(|error| {
        let theme = match screen::is_plain() {
            true => GraphicalTheme::unicode_nocolor(),
            false => GraphicalTheme::unicode(),
        };
        let mut shown = String::new();
        let handler = GraphicalReportHandler::new_themed(theme).with_width(screen::WIDTH);
        match handler.render_report(&mut shown, &error) {
            Ok(()) => say(shown),
            Err(_) => say(format_args!("taktos: {error}")),
        }
        Exit::BadInput
    })
}

fn read_text(path: &Path) -> io::Result<String> {
    // Asked before it is opened: opening a pipe waits for somebody to write.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    let read = File::open(path)?
        .take(LONGEST_FILE as u64 + 1)
        .read_to_string(&mut text)?;
    if read > LONGEST_FILE {
        let reason = format!("longer than {LONGEST_FILE} bytes");
        return Err(io::Error::other(reason));
    }
    Ok(text)
}
