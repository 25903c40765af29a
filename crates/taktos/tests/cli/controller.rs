//! `taktos controller` as its users start it.

use std::io::{Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;
use serde_json::Value;

use crate::site::Site;
use crate::testbed::eventually;
use crate::workplace::{Running, Workplace};

pub const LOCAL: [&str; 5] = [
    "controller",
    "--openflow",
    "127.0.0.1:0",
    "--http",
    "127.0.0.1:0",
];
pub const HOST: &str = r#"{"mac": "02:00:00:00:00:01"}"#;
pub const OTHER_HOST: &str = r#"{"mac": "02:00:00:00:00:02"}"#;
pub const INTENT: &str = r#"{"kind": "host-to-host", "name": "web", "one": "h1", "other": "h2"}"#;

#[test]
fn an_address_beyond_this_machine_needs_tls_and_tokens() {
    let workplace = Workplace::new();
    let open = ["controller", "--http", "0.0.0.0:0"];
    workplace.write("tokens", "# nobody yet\n");
    let local = [&LOCAL[..], &["--tokens", "tokens"]].concat();

    workplace
        .run(&open)
        .is_refused("--http-tls-key and --tokens");
    workplace.run(&local).is_refused("has no token");
    workplace
        .run(&["controller", "--profile", "no-such"])
        .is_refused("no-such");
}

#[test]
fn a_token_is_printed_once_and_lets_its_holder_in() {
    let workplace = Workplace::new();

    let made = workplace.run(&["controller", "token", "alice", "read"]);
    let again = workplace.run(&["controller", "token", "alice", "read"]);
    let token = made.stdout.trim();
    let arguments = [&LOCAL[..], &["--tokens", "tokens"]].concat();
    let mut running = Running::start(workplace.taktos(arguments));
    let url = ready_address(&mut running);

    assert_eq!(made.code, Some(0), "{}", made.stderr);
    again.is_refused("used once");
    let shown = format!("Authorization: Bearer {token}\r\n");
    assert_eq!(ask(&url, "GET", "/api/v1/flows", &shown, "").0, 200);
    assert_eq!(ask(&url, "GET", "/api/v1/flows", "", "").0, 401);
    running.signal(Signal::TERM);
    let ended = running.end();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("stopped"), "{}", ended.stderr);
    assert!(!ended.stderr.contains(token), "{}", ended.stderr);
}

#[test]
fn what_was_asked_for_and_who_asked_are_known_after_a_restart() {
    let workplace = Workplace::new();
    let arguments = [&LOCAL[..], &["--data", "data"]].concat();
    let mut first = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut first);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h1", "", HOST).0, 204);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST).0, 204);
    assert_eq!(ask(&url, "POST", "/api/v1/intents", "", INTENT).0, 201);
    first.signal(Signal::INT);
    assert_eq!(first.end().code, Some(0));

    let mut second = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut second);

    let (_, intents) = ask(&url, "GET", "/api/v1/intents", "", "");
    assert_eq!(intents["intents"][0]["intent"]["name"], "web", "{intents}");
    let (_, audit) = ask(&url, "GET", "/api/v1/audit", "", "");
    assert_eq!(audit["entries"][2]["operation"], "add-intents", "{audit}");
    second.signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
}

#[test]
fn a_client_asks_over_an_enciphered_connection_with_its_token() {
    let workplace = Workplace::new();
    let site = Site::new();
    let papers = site.certify("localhost");
    workplace.write("cert.pem", &papers.certificate);
    workplace.write("key.pem", &papers.key);
    workplace.write("ca.pem", site.authority());
    let made = workplace.run(&["controller", "token", "alice", "read"]);
    workplace.write("alice", made.stdout.trim());
    let tls = ["--http-tls-cert", "cert.pem", "--http-tls-key", "key.pem"];
    let arguments = [&LOCAL[..], &tls, &["--tokens", "tokens"]].concat();
    let mut running = Running::start(workplace.taktos(arguments));
    let port = address(&mut running).rsplit_once(':').unwrap().1.to_owned();
    let url = format!("https://localhost:{port}");
    let flows = ["flows", "--json", "--url", &url, "--ca", "ca.pem"];

    let shown = workplace.run(&[&flows[..], &["--token-file", "alice"]].concat());
    let stranger = workplace.run(&flows);
    let plain = TcpStream::connect(format!("127.0.0.1:{port}")).map(|mut stream| {
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    });

    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["flows"], Value::Array(Vec::new()));
    assert_ne!(stranger.code, Some(0), "{}", stranger.stdout);
    assert!(
        !plain.unwrap().starts_with(b"HTTP"),
        "it answers in plain text"
    );
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, Some(0));
}

#[test]
fn a_store_that_could_not_grow_for_a_while_keeps_what_is_asked_for_afterwards() {
    let workplace = Workplace::new();
    let arguments = [&LOCAL[..], &["--data", "data"]].concat();
    let mut first = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut first);
    let put = |name: &str, host: &str| ask(&url, "PUT", &format!("/api/v1/hosts/{name}"), "", host);
    let ready = || ask(&url, "GET", "/readyz", "", "");
    assert_eq!(put("h1", HOST).0, 204);

    first.limit_files_to(Some(0));
    let refused = put("h2", OTHER_HOST);
    let unready = ready();
    first.limit_files_to(None);
    let accepted = put("h2", OTHER_HOST);
    let (ready, _) = ready();
    let metrics = text(&url, "/metrics");
    first.signal(Signal::KILL);
    first.end();
    let mut second = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut second);
    let (_, hosts) = ask(&url, "GET", "/api/v1/hosts", "", "");

    assert_eq!(refused.0, 503, "{}", refused.1);
    assert_eq!(unready.0, 503);
    assert_eq!(unready.1["error"]["code"], "store-failed", "{}", unready.1);
    assert_eq!((accepted.0, ready), (204, 200), "{}", accepted.1);
    assert!(
        metrics.contains("taktos_store_failures_total 1\n"),
        "{metrics}"
    );
    assert!(metrics.contains("taktos_store_failing 0\n"), "{metrics}");
    assert_eq!(hosts["hosts"].as_array().unwrap().len(), 2, "{hosts}");
    second.signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
}

#[test]
fn no_thread_keeps_a_privilege_but_that_to_open_files() {
    let workplace = Workplace::new();
    // Nobody is there, which the threads for it do not have to know.
    let etcd = ["--etcd", "http://127.0.0.1:1"];
    for store in [["--data", "data"], etcd] {
        let arguments = [&LOCAL[..], &store].concat();
        let mut running = Running::start(workplace.taktos(arguments));
        address(&mut running);
        assert!(running.says("running"), "{}", running.said());
        assert!(running.threads().len() >= 4, "{:?}", running.threads());
        // A thread that has just begun has them for as long as it takes to renounce.
        eventually("all threads have renounced", || {
            running.threads().iter().all(|status| has_renounced(status))
        });
        running.signal(Signal::TERM);
        assert_eq!(running.end().code, Some(0));
    }
}

fn has_renounced(status: &str) -> bool {
    const OPEN_ANY_FILE: u64 = 1 << 1;
    let value = |key: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.unwrap().trim().to_owned()
    };
    let rights = u64::from_str_radix(&value("CapPrm:"), 16).unwrap();
    rights & !OPEN_ANY_FILE == 0 && value("NoNewPrivs:") == "1"
}

#[test]
fn a_damaged_store_is_refused_with_a_way_to_repair_it() {
    let workplace = Workplace::new();
    let arguments = [&LOCAL[..], &["--data", "data"]].concat();
    let mut first = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut first);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h1", "", HOST).0, 204);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST).0, 204);
    first.signal(Signal::TERM);
    assert_eq!(first.end().code, Some(0));
    let store = workplace.path("data/store.redb");
    let mut bytes = std::fs::read(&store).unwrap();
    let key = [b"h", &[2, 0, 0, 0, 0, 2][..]].concat();
    for at in 0..bytes.len() - key.len() {
        if bytes[at..].starts_with(&key) {
            bytes[at] ^= 2;
        }
    }
    std::fs::write(&store, bytes).unwrap();

    let refused = workplace.run(&arguments);
    let repaired = workplace.run(&["controller", "repair", "--data", "data"]);
    let again = workplace.run(&["controller", "repair", "--data", "data"]);
    let mut second = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut second);
    let (_, hosts) = ask(&url, "GET", "/api/v1/hosts", "", "");

    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("controller repair --data data"),
        "{}",
        refused.stderr
    );
    assert_eq!(repaired.code, Some(0), "{}", repaired.stderr);
    assert!(
        repaired.stderr.contains("1 are lost"),
        "{}",
        repaired.stderr
    );
    assert!(again.stderr.contains("is whole"), "{}", again.stderr);
    assert_eq!(hosts["hosts"][0]["name"], "h1", "{hosts}");
    assert_eq!(hosts["hosts"].as_array().unwrap().len(), 1, "{hosts}");
    assert!(workplace.has("data/store.redb.damaged"));
    second.signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
}

/// Waits until the controller runs; returns where it listens for programs.
#[track_caller]
pub fn address(running: &mut Running) -> String {
    assert!(running.says("programs ask at"));
    let line = running.said().lines().last().unwrap();
    let (_, url) = line.split_once("://").unwrap();
    url.trim_end_matches("/api/v1").to_owned()
}

/// The same once the controller has read what it kept.
pub fn ready_address(running: &mut Running) -> String {
    let url = address(running);
    eventually("it has read all", || {
        ask(&url, "GET", "/readyz", "", "").0 != 503
    });
    url
}

/// Returns what is answered, head and body.
pub fn text(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub fn ask(address: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or_default())
}
