//! The interface as its clients meet it: a controller that runs, without switches,
//! and requests over a socket.

mod conversation;

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::gate::tokens::{self, Tokens};
use super::gate::{Gate, Role};
use super::operations::description::description;
use super::operations::{self, Gives};
use conversation::{Answer, Bed};

const HOST: &str = r#"{"mac": "02:00:00:00:00:01", "ipv4": "10.0.0.1"}"#;
const OTHER_HOST: &str = r#"{"mac": "02:00:00:00:00:02", "ipv4": "10.0.0.2"}"#;
const INTENT: &str = r#"{"kind": "host-to-host", "name": "web", "one": "h1", "other": "h2"}"#;

#[test]
fn everything_that_is_described_is_served_and_answers_as_described() {
    let bed = Bed::new();
    bed.with_hosts();
    let description = description(&Gate::Loopback(Role::Administer));
    for operation in operations::all() {
        let path = operation
            .path
            .replace("{name}", "h1")
            .replace("{switch}", "1")
            .replace("{link}", "1:1-2:1");
        if operation.id == "watch-events" {
            continue;
        }
        let answer = bed.ask(operation.method.as_str(), &path, "");

        let is_there = answer.code() != Some("no-such-path") && answer.status != 405;
        assert!(is_there, "{} {path}: {answer:?}", operation.method);
        let Gives::Document(status, _) = operation.gives else {
            continue;
        };
        let described = &description["paths"][operation.path];
        let method = operation.method.as_str().to_ascii_lowercase();
        let responses = &described[method]["responses"];
        let response = match answer.status == status {
            true => &responses[status.to_string()],
            false => &responses["default"],
        };
        let schema = &response["content"]["application/json"]["schema"];
        is_valid(&description, schema, &answer.json());
    }
}

#[test]
fn what_is_not_there_and_what_is_not_possible_is_said_with_what_to_do() {
    let bed = Bed::new();
    for (method, path, body, status, code) in [
        ("GET", "/api/v1/flow", "", 404, "no-such-path"),
        ("PATCH", "/api/v1/flows", "", 405, "no-such-method"),
        ("GET", "/api/v1/flows/nobody", "", 404, "unknown-flow"),
        ("DELETE", "/api/v1/flows/nobody", "", 404, "unknown-flow"),
        ("DELETE", "/api/v1/intents/none", "", 404, "unknown-intent"),
        ("DELETE", "/api/v1/switches/zz", "", 404, "unknown-switch"),
        (
            "PUT",
            "/api/v1/links/1:1-2:1/cable",
            r#"{"cut": true}"#,
            409,
            "no-run",
        ),
        ("POST", "/api/v1/flows", "", 400, "no-body"),
        ("POST", "/api/v1/flows", "{", 400, "malformed-json"),
        (
            "POST",
            "/api/v1/flows?dry_rum=true",
            "{}",
            400,
            "unknown-parameter",
        ),
        (
            "POST",
            "/api/v1/paths",
            r#"{"from": {"host": "a"}, "to": {"host": "b"}, "count": 65}"#,
            400,
            "unusable-value",
        ),
        (
            "PUT",
            "/api/v1/hosts/h1",
            r#"{"mac": "1:2"}"#,
            400,
            "unusable-value",
        ),
        (
            "PUT",
            "/api/v1/hosts/h1",
            r#"{"mac": "02:00:00:00:00:01", "attachment": {"datapath": "9", "port": 1}}"#,
            422,
            "no-access",
        ),
        (
            "GET",
            "/api/v1/events?kind=link-last",
            "",
            400,
            "unknown-kind",
        ),
    ] {
        let answer = bed.ask(method, path, body);

        assert_eq!(
            (answer.status, answer.code()),
            (status, Some(code)),
            "{method} {path}"
        );
        let help = answer.json()["error"]["help"].clone();
        assert!(help.is_string(), "{method} {path}: {answer:?}");
    }
}

#[test]
fn who_may_only_look_cuts_no_link_and_admits_no_flow() {
    let bed = Bed::with(Gate::Loopback(Role::Read));

    let seen = bed.ask("GET", "/api/v1/page", "");
    let cut = bed.ask("PUT", "/api/v1/links/1:1-2:1/cable", r#"{"cut": true}"#);
    let admitted = bed.ask("POST", "/api/v1/flows", "{}");

    assert_eq!(seen.status, 200);
    assert_eq!(seen.json()["cables"], false);
    for refused in [cut, admitted] {
        assert_eq!((refused.status, refused.code()), (403, Some("role")));
    }
}

#[test]
fn a_flow_to_a_host_that_is_not_there_is_refused_and_nothing_is_done() {
    let bed = Bed::new();
    bed.with_hosts();
    let flow = json!({"name": "f", "source": "h1", "destinations": ["h9"], "rate_bps": 1000});

    let answer = bed.ask("POST", "/api/v1/flows", &flow.to_string());

    assert_eq!((answer.status, answer.code()), (422, Some("unknown-host")));
    assert_eq!(answer.json()["decisions"][0]["name"], "f");
    assert_eq!(
        bed.ask("GET", "/api/v1/flows", "").json(),
        json!({"flows": []})
    );
}

#[test]
fn of_requests_that_exclude_each_other_exactly_one_wins() {
    let bed = Bed::new();
    bed.with_hosts();
    let ask = || bed.ask("POST", "/api/v1/intents", INTENT);

    let answers = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        let answers = threads.into_iter().map(|thread| thread.join().unwrap());
        answers.collect::<Vec<Answer>>()
    });

    let won = answers.iter().filter(|answer| answer.status == 201).count();
    let lost = answers.iter().filter(|answer| answer.status == 409);
    assert_eq!((won, lost.count()), (1, 7), "{answers:?}");
    let intents = bed.ask("GET", "/api/v1/intents", "").json();
    assert_eq!(intents["intents"].as_array().unwrap().len(), 1);
}

#[test]
fn who_changes_something_sees_it_at_once() {
    let bed = Bed::new();
    let host = r#"{"mac": "02:00:00:00:00:77"}"#;
    let is_there = || {
        let hosts = bed.ask("GET", "/api/v1/topology", "").json()["hosts"].clone();
        let mut names = hosts.as_array().unwrap().iter().map(|host| &host["name"]);
        names.any(|name| name == "h7")
    };
    for _ in 0..20 {
        assert!(!is_there());
        bed.ask("PUT", "/api/v1/hosts/h7", host);
        assert!(is_there());
        bed.ask("DELETE", "/api/v1/hosts/h7", "");
    }
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let bed = Bed::new();
    let long = " ".repeat(super::body::LONGEST_BODY + 1);

    let answer = bed.ask("POST", "/api/v1/flows", &long);

    assert_eq!((answer.status, answer.code()), (413, Some("body-too-long")));
}

#[test]
fn a_watcher_hears_what_happens_and_after_a_break_what_it_missed() {
    let bed = Bed::new();
    bed.with_hosts();
    let mut watcher = bed.watch("/api/v1/events?kind=intent-changed", None);

    bed.ask("POST", "/api/v1/intents", INTENT);
    let first = watcher.next();
    drop(watcher);
    bed.ask("DELETE", "/api/v1/intents/web", "");
    bed.ask("POST", "/api/v1/intents", INTENT);
    let mut back = bed.watch("/api/v1/events?kind=intent-changed", Some(first.id));
    let second = back.next();

    assert_eq!(first.document["kind"], "intent-changed");
    assert_eq!(first.document["name"], "web");
    assert_eq!(first.document["id"], first.id);
    assert!(second.id > first.id);
}

#[test]
fn every_change_is_noted_with_who_made_it_and_what_came_of_it() {
    let bed = Bed::new();
    bed.with_hosts();
    bed.ask("POST", "/api/v1/intents", INTENT);
    bed.ask("POST", "/api/v1/intents", INTENT);
    bed.ask("GET", "/api/v1/intents", "");

    let audit = bed.ask("GET", "/api/v1/audit?limit=2", "").json();

    let entries = audit["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2, "{audit}");
    assert_eq!(entries[0]["operation"], "add-intents");
    assert_eq!(entries[0]["about"], json!(["web"]));
    assert_eq!(
        (&entries[0]["status"], &entries[0]["code"]),
        (&json!(201), &Value::Null)
    );
    assert_eq!(entries[1]["status"], 409);
    assert_eq!(entries[1]["code"], "name-taken");
    assert_eq!(entries[1]["by"], "local");
}

#[test]
fn a_token_gives_its_role_and_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let reader = tokens::make(&path, "reader", Role::Read, None).unwrap();
    let operator = tokens::make(&path, "operator", Role::Operate, None).unwrap();
    let planner = tokens::make(&path, "planner", Role::Operate, Some("planner")).unwrap();
    let bed = Bed::with(Gate::Tokens(Tokens::read(&path).unwrap()));
    let ask = |token: &str, method, path, body| {
        let header = format!("Authorization: Bearer {token}\r\n");
        let answer = bed.ask_with(method, path, body, &header);
        (answer.status, answer.code().map(str::to_owned))
    };
    let code = |code: &str| Some(code.to_owned());

    assert_eq!(
        ask("wrong", "GET", "/api/v1/flows", ""),
        (401, code("unauthorized"))
    );
    assert_eq!(bed.ask("GET", "/api/v1/flows", "").status, 401);
    assert_eq!(bed.ask("GET", "/readyz", "").status, 200);
    assert_eq!(ask(&reader, "GET", "/api/v1/flows", ""), (200, None));
    assert_eq!(
        ask(&reader, "PUT", "/api/v1/hosts/h1", HOST),
        (403, code("role"))
    );
    assert_eq!(ask(&operator, "PUT", "/api/v1/hosts/h1", HOST), (204, None));
    assert_eq!(
        ask(&operator, "GET", "/api/v1/audit", ""),
        (403, code("role"))
    );
    // No application of that name is loaded: nothing is granted.
    assert_eq!(
        ask(&planner, "GET", "/api/v1/flows", ""),
        (403, code("denied"))
    );
}

#[test]
fn a_page_of_another_site_cannot_ask_a_controller_of_this_machine() {
    let bed = Bed::new();

    let foreign = bed.ask_with(
        "GET",
        "/api/v1/flows",
        "",
        "Origin: https://evil.example\r\n",
    );
    let rebound = bed.ask_as("evil.example:8181", "DELETE", "/api/v1/flows/f");

    assert_eq!(
        (foreign.status, foreign.code()),
        (403, Some("foreign-origin"))
    );
    assert_eq!(
        (rebound.status, rebound.code()),
        (403, Some("foreign-host"))
    );
}

#[test]
fn the_page_is_for_everybody_and_what_it_shows_for_those_who_may_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens");
    let token = tokens::make(&path, "viewer", Role::Read, None).unwrap();
    let bed = Bed::with(Gate::Tokens(Tokens::read(&path).unwrap()));
    let shown = format!("Authorization: Bearer {token}\r\n");

    for (path, stranger, viewer) in [
        ("/", 200, 200),
        ("/page/page.js", 200, 200),
        ("/page/nothing", 404, 404),
        ("/api/v1/page", 401, 200),
        ("/api/v1/caller", 401, 200),
        ("/api/v1/history?flow=none", 401, 404),
        ("/api/v1/history?at_ns=1", 401, 200),
        ("/api/v1/history", 401, 400),
    ] {
        assert_eq!(bed.ask("GET", path, "").status, stranger, "{path}");
        assert_eq!(
            bed.ask_with("GET", path, "", &shown).status,
            viewer,
            "{path}"
        );
    }
    let caller = bed.ask_with("GET", "/api/v1/caller", "", &shown).json();
    assert_eq!(caller, json!({"name": "viewer", "role": "read"}));
}

#[test]
fn prometheus_finds_what_was_counted() {
    let bed = Bed::new();
    bed.ask("GET", "/api/v1/flows", "");
    bed.ask("GET", "/api/v1/flows/none", "");

    let page = bed.ask("GET", "/metrics", "").body;

    for line in [
        "taktos_ready 1",
        "taktos_switches 0",
        "taktos_http_requests_total{operation=\"list-flows\",status=\"2xx\"} 1",
        "taktos_http_requests_total{operation=\"show-flow\",status=\"4xx\"} 1",
    ] {
        assert!(page.lines().any(|it| it == line), "no `{line}` in {page}");
    }
    let names = page.lines().filter(|line| line.starts_with("# TYPE"));
    let different: BTreeSet<_> = names.clone().collect();
    assert_eq!(names.count(), different.len(), "a metric stands twice");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_body_on_any_path_is_more_than_a_request_that_is_refused(
        bodies in prop::collection::vec(body(), 4),
        tail in "[ -~]{0,12}",
    ) {
        let bed = Bed::shared();
        let all = operations::all();
        for (number, operation) in all.iter().enumerate() {
            let name = conversation::escaped(&tail);
            let path = operation.path.replace("{name}", &name).replace("{switch}", &name);
            if operation.id == "watch-events" {
                continue;
            }
            let body = &bodies[number % bodies.len()];

            let answer = bed.ask(operation.method.as_str(), &path, body);

            prop_assert!(answer.status < 500, "{} {path} {body}: {answer:?}", operation.method);
        }
    }
}

/// A body: anything, any JSON, or JSON that has keys that are known.
fn body() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[ -~]{0,8}".prop_map(Value::from),
        prop::sample::select(vec!["h1", "h2", "host-to-host", "match-action", "restore"])
            .prop_map(Value::from),
    ];
    let keys = prop::sample::select(vec![
        "name",
        "source",
        "destinations",
        "rate_bps",
        "deadline_ns",
        "burst_bytes",
        "class",
        "match",
        "kind",
        "one",
        "other",
        "from",
        "to",
        "host",
        "port",
        "requirements",
        "intents",
        "mac",
        "attachment",
        "datapath",
        "count",
        "avoid",
        "load",
        "at",
        "priority",
        "actions",
        "protection",
        "vlan",
        "through",
        "extent",
    ]);
    let known = leaf.prop_recursive(4, 32, 8, move |inner| {
        let fields = prop::collection::vec((keys.clone(), inner.clone()), 0..8);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            fields.prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    });
    prop_oneof![
        1 => "\\PC{0,32}",
        4 => known.prop_map(|value| value.to_string()),
    ]
}

/// Checks a document against a schema that refers into the description.
#[track_caller]
fn is_valid(description: &Value, schema: &Value, document: &Value) {
    if schema == &Value::Bool(true) {
        // Anything goes: the description does not describe itself.
        return;
    }
    let mut whole = schema.clone();
    whole["components"] = description["components"].clone();
    let validator = jsonschema::draft202012::new(&whole).unwrap();
    let wrong: Vec<_> = validator
        .iter_errors(document)
        .map(|it| it.to_string())
        .collect();
    assert!(wrong.is_empty(), "{document}: {wrong:?}");
}

/// Whatever stands in the documents as something to send is read, and refused for the
/// network alone, if at all: this one has neither its hosts nor levels of criticality.
#[test]
fn what_the_documents_send_is_understood() {
    let bed = Bed::shared();
    let sent = |text: &'static str, begins| {
        let blocks = text.split("```json\n").skip(1);
        let blocks = blocks.map(|rest| rest.split_once("```").unwrap().0);
        blocks.filter(move |block| block.starts_with(begins))
    };
    let flows = sent(include_str!("../../../../docs/rest.md"), "{\"name\"");
    let flows = flows.map(|body| ("/api/v1/flows", body));
    let intents = sent(include_str!("../../../../docs/intents.md"), "{ \"intents\"");
    let intents = intents.map(|body| ("/api/v1/intents", body));
    let asked: Vec<_> = flows.chain(intents).collect();

    assert!(asked.len() >= 2);
    for (path, body) in asked {
        // No switch has a name here.
        let body = body.replace("\"s4\"", "\"4\"").replace("\"s5\"", "\"5\"");
        let answer = bed.ask("POST", path, &body);

        assert!(
            [200, 201, 404, 422].contains(&answer.status),
            "{body}: {answer:?}"
        );
    }
}
