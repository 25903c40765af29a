//! Reads a scenario from disk, and shows what is wrong with it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use miette::{GraphicalReportHandler, GraphicalTheme};
use scenario::Scenario;

use super::exit::Exit;
use super::screen;

/// The largest file that is read.
const LONGEST_FILE: u64 = 64 << 20;

/// Reads the scenario in `path`, or says on standard error why that cannot be.
pub fn read(path: &Path) -> Result<Scenario, Exit> {
    let text = read_text(path).map_err(|error| {
        eprintln!("taktos: cannot read {}: {error}", path.display());
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
            Ok(()) => eprintln!("{shown}"),
            Err(_) => eprintln!("taktos: {error}"),
        }
        Exit::BadInput
    })
}

fn read_text(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut text = String::new();
    let read = file.take(LONGEST_FILE + 1).read_to_string(&mut text)?;
    if read as u64 > LONGEST_FILE {
        return Err(io::Error::other(format!(
            "longer than {LONGEST_FILE} bytes"
        )));
    }
    Ok(text)
}
