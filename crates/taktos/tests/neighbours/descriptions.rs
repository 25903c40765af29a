//! Substation descriptions with our settings, as open61850 reads them.

use std::process::Command;

use crate::workbench::{neighbour, python_or_skip};

#[test]
fn open61850_reads_the_settings_of_a_written_description() {
    let test = "open61850_reads_the_settings_of_a_written_description";
    let Some(programs) = python_or_skip(test, "open61850") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/imported.toml");
    let mut export = Command::new(env!("CARGO_BIN_EXE_taktos"));
    let exported = export.args(["export", scenario, "--only", "scd", "--out"]);
    let exported = exported.arg(folder.path()).output().unwrap();
    assert!(exported.status.success(), "{exported:?}");

    let mut python = Command::new(programs.join("python"));
    python.arg(neighbour("descriptions.py"));
    for name in ["LaterBindingGOOSE-LGOS.scd", "LaterBindingSMV-LSVS.scd"] {
        python.arg(folder.path().join(name));
    }
    let read = python.output().unwrap();

    let said = String::from_utf8_lossy(&read.stdout).into_owned();
    assert!(read.status.success(), "{read:?}");
    let expected = [
        "GOOSE_Publisher/GOOSE2 01:0c:cd:01:00:01 2 0 6",
        "GOOSE_Publisher/GOOSE1 01:0c:cd:01:00:00 1 0 6",
        "GOOSE_Publisher2/GOOSE2 01:0c:cd:01:00:03 3 0 6",
        // Nobody subscribes to it.
        "GOOSE_Publisher2/GOOSE1 01:0c:cd:01:00:04 4 None None",
        "SMV_Publisher/fullSmv 01:0c:cd:04:00:02 3 None None",
        "SMV_Publisher/voltageOnly 01:0c:cd:04:00:01 2 None None",
        "SMV_Publisher/currrentOnly 01:0c:cd:04:00:00 1 0 5",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}
