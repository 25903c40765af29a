//! What packages put beside the program: manual pages, and what completes commands in a
//! shell.

use std::io::Write;
use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;

use super::exit::Exit;
use super::screen::say;

/// What `taktos completions` is told.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

/// What `taktos manual` is told.
#[derive(Debug, clap::Args)]
pub struct Manual {
    /// The folder, which has to exist.
    folder: PathBuf,
}

/// Prints what completes commands in a shell.
pub fn completions(mut program: Command, arguments: &Completions) -> Exit {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut script);
    // A reader that has gone away has what it wanted.
    let _ = std::io::stdout().write_all(&script);
    Exit::Done
}

/// Writes a manual page for the program and one for each command.
pub fn manual(program: Command, arguments: &Manual) -> Exit {
    match clap_mangen::generate_to(program, &arguments.folder) {
        Ok(()) => Exit::Done,
        Err(error) => {
            let folder = arguments.folder.display();
            say(format_args!("taktos: cannot write to {folder}: {error}"));
            Exit::BadInput
        }
    }
}
