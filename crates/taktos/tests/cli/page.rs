//! The page of a run that is over, and what a browser makes of it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::workplace::{Running, Workplace};

const REPORT: &str = r#"{"topology": {
    "nodes": [{"name": "s1", "kind": "switch"}, {"name": "h1", "kind": "host"}],
    "links": [{"name": "h1-s1", "a": "h1", "b": "s1"}]}}"#;

/// Returns how an address answers, head and body.
fn answer(address: &str, host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_run_that_is_over_is_shown_to_this_machine_alone() {
    let workplace = Workplace::new();
    workplace.write("report.json", REPORT);
    let mut view = Running::start(workplace.taktos(["view", ".", "--http", "127.0.0.1:0"]));
    let line = view.line_with("page: http://").unwrap();
    let address = line
        .trim()
        .trim_start_matches("page: http://")
        .trim_end_matches('/');

    let first = answer(address, address, "/");
    let page = answer(address, address, "/?run");
    let report = answer(address, address, "/run/report.json");
    let foreign = answer(address, "evil.example", "/run/report.json");

    assert!(first.starts_with("HTTP/1.1 303"), "{first}");
    assert!(first.contains("location: /?run"), "{first}");
    assert!(
        page.contains("content-security-policy: default-src 'none'"),
        "{page}"
    );
    assert!(report.ends_with(REPORT), "{report}");
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    view.signal(Signal::TERM);
    assert_eq!(view.end().code, Some(0));
}

#[test]
fn a_run_in_virtual_time_says_at_its_beginning_how_and_when_it_is_shown() {
    let workplace = Workplace::new();

    let alone = workplace.run(&["run", "pair.toml", "--world", "sim"]);
    let mut shown = Running::start(workplace.taktos([
        "run",
        "pair.toml",
        "--world",
        "sim",
        "--page=127.0.0.1:0",
    ]));

    let before = alone.stderr.split("discovered").next().unwrap_or_default();
    let why =
        "page: `--page` slows virtual time down to be watched in a browser; `taktos view out/pair`";
    assert!(before.contains(why), "{}", alone.stderr);
    assert!(
        alone
            .stdout
            .contains("page: `taktos view out/pair` replays it")
    );
    assert!(shown.says("virtual time goes by no faster than the clock"));
    assert!(shown.says("the page shows the run until Ctrl-C"));
    shown.signal(Signal::TERM);
    assert_eq!(shown.end().code, Some(0));
}

#[test]
fn what_is_no_run_and_who_is_not_of_this_machine_are_refused() {
    let workplace = Workplace::new();
    let nowhere = ["view", "no-such-folder"];
    let everywhere = ["view", ".", "--http", "0.0.0.0:0"];

    workplace.run(&nowhere).is_refused("report.json");
    workplace.write("report.json", "{\"verdict\": 7}");
    workplace
        .run(&["view", ".", "--http", "127.0.0.1:0"])
        .is_refused("`topology`");
    workplace.write("report.json", REPORT);
    let ended = workplace.run(&everywhere);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("give a loopback address"),
        "{}",
        ended.stderr
    );
}

/// `cargo xtask page` runs all of these tests.
#[test]
fn a_browser_shows_a_run_where_there_is_one() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page");
    let chromium = Path::new("/usr/bin/chromium");
    if !page.join("node_modules").exists() || !chromium.exists() {
        let needs = "chromium and the packages of the page (`cargo xtask page` installs them)";
        // Not `eprintln!`: the test harness would swallow it.
        let _ = writeln!(
            std::io::stderr(),
            "\nSKIPPED a_browser_shows_a_run_where_there_is_one: needs {needs}\n"
        );
        return;
    }

    let tested = Command::new("node")
        .args([
            "--test",
            "--test-name-pattern=^a run says",
            "test/run.test.js",
        ])
        .current_dir(page)
        .env("TAKTOS", env!("CARGO_BIN_EXE_taktos"))
        .output()
        .unwrap();

    let said = String::from_utf8_lossy(&tested.stdout);
    assert!(
        tested.status.success() && said.contains("# pass 1"),
        "{said}"
    );
}
