//! Whoever reads what the program prints may stop to do so, or be unable.

use std::fs::{File, OpenOptions};
use std::io::pipe;
use std::process::Stdio;

use crate::workplace::{Ended, Workplace};

const COMMANDS: [&[&str]; 4] = [
    &["run", "pair.toml", "--world", "sim"],
    &["run", "pair.toml", "--world", "sim", "--json"],
    &["check", "pair.toml"],
    &["--help"],
];

#[test]
fn a_reader_that_leaves_changes_nothing() {
    let workplace = Workplace::new();

    for arguments in COMMANDS {
        let mut command = workplace.taktos(arguments);
        let ended = Ended::from(command.stdout(nobody()).output().unwrap());

        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    assert_eq!(workplace.report()["completion"], "complete");
}

#[test]
fn nobody_has_to_read_the_progress() {
    let workplace = Workplace::new();

    for arguments in COMMANDS {
        let mut command = workplace.taktos(arguments);
        let ended = Ended::from(command.stderr(nobody()).output().unwrap());

        assert_eq!(ended.code, Some(0));
        assert!(!ended.stdout.is_empty());
    }
    let refused = workplace
        .taktos(["check", "missing.toml"])
        .stderr(nobody())
        .status();
    assert_eq!(refused.unwrap().code(), Some(2));
}

#[test]
fn a_result_that_cannot_be_written_is_a_fault() {
    let workplace = Workplace::new();

    for arguments in &COMMANDS[..3] {
        let mut command = workplace.taktos(*arguments);
        let ended = Ended::from(command.stdout(full()).output().unwrap());

        assert_eq!(ended.code, Some(1), "{}", ended.stderr);
        assert!(
            ended.stderr.contains("taktos: cannot show the re"),
            "{}",
            ended.stderr
        );
    }
}

/// Returns a pipe whose reader has left.
fn nobody() -> Stdio {
    let (_, writer) = pipe().unwrap();
    writer.into()
}

/// Returns a device on which there is never room.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}
