//! What was found, for people and for programs.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use measure::measurement::Measurement;
use measure::method::{METHODS, acceptance, profile};

use super::{calibrate, write_whole};
use run::measuring::target::TARGETS;

/// Returns which methods and targets there are.
pub fn list() -> String {
    let mut text = "taktos measure METHOD [TARGET] [--set NAME=VALUE]…\n\nmethods\n".to_owned();
    for method in METHODS {
        let _ = writeln!(text, "  {:16}{}", method.name, method.finds);
        for (name, meaning) in method.options {
            let _ = writeln!(text, "  {:16}  {name}: {meaning}", "");
        }
    }
    let _ = writeln!(text, "  {:16}{}", calibrate::NAME, calibrate::FINDS);
    text += "\ntargets\n";
    for (name, meaning) in TARGETS {
        let _ = writeln!(text, "  {name}\n      {meaning}");
    }
    text += "  --ports IF,IF,…\n      whatever is connected to these interfaces of this machine\n";
    text + "\ntaktos measure compare A B\n  two targets in turns, or two results (measurement.json), \
            beside each other\n"
}

/// Writes a measurement into a folder: for people, for browsers, for spreadsheets and
/// for programs.
pub fn write(folder: &Path, measurement: &Measurement) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let document = measurement.document();
    write_whole(&folder.join("measurement.txt"), &document.to_text())?;
    write_whole(&folder.join("measurement.html"), &document.to_page())?;
    write_whole(&folder.join("measurement.csv"), &measurement.to_csv())?;
    write_whole(&folder.join("measurement.json"), &measurement.to_json())?;
    let more = [
        ("profile.toml", profile::to_toml(measurement)),
        ("acceptance.txt", acceptance::table(measurement)),
    ];
    for (name, text) in more {
        if let Some(text) = text {
            write_whole(&folder.join(name), &text)?;
        }
    }
    Ok(())
}
