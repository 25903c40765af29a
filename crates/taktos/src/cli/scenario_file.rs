//! Reads a scenario from disk, and shows what is wrong with it.

use std::path::Path;

use scenario::{LONGEST_FILE, Scenario};

use super::exit::Exit;
use super::text_file;

/// Reads the scenario in `path`, or says on standard error why that cannot be.
pub fn read(path: &Path) -> Result<Scenario, Exit> {
    let text = text_file::read(path, LONGEST_FILE)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.display().to_string();
    let mut load = |file: &str| text_file::load(&folder.join(file), LONGEST_FILE);
    Scenario::parse(&name, &text, &mut load).map_err(|error| text_file::show(&error))
}
