//! The commands that ask a running controller, towards a server that answers
//! whatever a test wants: what goes wrong, and what must be harmless.

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::scripted::{Answer, Scripted};
use crate::terminal::Terminal;
use crate::workplace::{Ended, Running, Workplace};

const FLOWS: &str = "GET /api/v1/flows";
const EVENTS: &str = "GET /api/v1/events";
const ADMIT: &str = "POST /api/v1/flows";

fn ask(server: &Scripted, arguments: &[&str]) -> Ended {
    Ended::from(
        command(server, &Workplace::new(), arguments)
            .output()
            .unwrap(),
    )
}

fn command(server: &Scripted, workplace: &Workplace, arguments: &[&str]) -> Command {
    let mut command = workplace.taktos(arguments);
    command
        .env("TAKTOS_URL", &server.url)
        .env_remove("TAKTOS_TOKEN");
    command
}

fn document(value: &Value) -> Answer {
    Answer::Document(200, value.to_string())
}

fn problem(status: u16, code: &str, message: &str) -> Answer {
    let body = json!({"error": {"code": code, "message": message}});
    Answer::Document(status, body.to_string())
}

fn flow(name: &str, guarantee_ns: u64) -> Value {
    json!({
        "id": 1, "name": name, "guarantee_ns": guarantee_ns,
        "route": {"switches": ["s1", "s2"], "links": ["1:2-2:1"]},
        "alternatives": [{"without": "1:2-2:1", "route": {"switches": ["s1", "s3"], "links": []}}],
        "travels": {"way": "base"}, "promise": "holds", "installed": true,
        "requirement": {
            "name": name, "source": "mu", "destinations": ["relay"], "deadline_ns": 2_000_000,
            "rate_bps": 4_000_000, "match": {"ether_type": 35002, "vlan": 5}, "class": 6,
        },
    })
}

fn event(id: u64, link: &str) -> String {
    let data = json!({
        "id": id, "at_ns": id, "kind": "link-lost", "link": link, "detection": "silence",
    });
    format!("id: {id}\nevent: link-lost\ndata: {data}\n\n")
}

#[test]
fn nobody_there_is_said_with_how_to_start_one() {
    let ended = Workplace::new().run(&["topology", "--url", "http://127.0.0.1:9"]);

    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("taktos controller"),
        "{}",
        ended.stderr
    );
    assert_eq!(ended.stderr.lines().count(), 1);
}

#[test]
fn what_is_no_controller_is_told_from_one() {
    let server = Scripted::start([(FLOWS, vec![Answer::Document(200, "<html>".to_owned())])]);

    ask(&server, &["flows"]).is_refused("is no Taktos controller");
}

#[test]
fn a_token_goes_along_and_a_wrong_one_is_said_to_be() {
    let wrong = problem(401, "unknown-token", "nobody has this token");
    let server = Scripted::start([(FLOWS, vec![wrong])]);
    let workplace = Workplace::new();
    workplace.write("token", "secret\n");

    let file = command(&server, &workplace, &["flows", "--token-file", "token"]).output();
    let mut environment = command(&server, &workplace, &["flows"]);
    let environment = environment.env("TAKTOS_TOKEN", "other").output();

    Ended::from(file.unwrap()).is_refused("TAKTOS_TOKEN");
    Ended::from(environment.unwrap()).is_refused("nobody has this token");
    let asked = server.asked();
    assert!(asked[0].head.contains("authorization: Bearer secret\n"));
    assert!(asked[1].head.contains("authorization: Bearer other\n"));
}

#[test]
fn a_thousand_hostile_names_do_nothing_to_the_terminal() {
    let names = (0..1_000).map(|n| format!("h{n}\x1b]0;gone\x07\u{9b}2J\u{202e}\n"));
    let flows = names.map(|name| flow(&name, 1)).collect::<Vec<_>>();
    let server = Scripted::start([(FLOWS, vec![document(&json!({"flows": flows}))])]);

    let (people, programs) = (ask(&server, &["flows"]), ask(&server, &["flows", "--json"]));

    for ended in [&people, &programs] {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let harmful = |it: char| it.is_control() && it != '\n' || it == '\u{202e}';
        assert!(!ended.stdout.contains(harmful));
    }
    assert_eq!(people.stdout.lines().count(), 1_002);
    let read: Value = serde_json::from_str(&programs.stdout).unwrap();
    assert_eq!(read["flows"], Value::from(flows));
}

#[test]
fn one_flow_is_shown_in_detail_under_a_name_of_any_kind() {
    let path = "GET /api/v1/flows/sv%2F1%3F";
    let server = Scripted::start([(path, vec![document(&flow("sv/1?", 900_000))])]);

    let ended = ask(&server, &["flows", "sv/1?"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "900 us, slack 1.1 ms",
        "Sampled Values, VLAN 5",
        "s1 s3, without 1:2-2:1",
    ] {
        assert!(
            ended.stdout.contains(words),
            "no `{words}` in: {}",
            ended.stdout
        );
    }
}

#[test]
fn decisions_are_listed_with_their_reasons_and_a_refusal_is_the_exit_code() {
    let refused =
        json!({"code": "no-room", "message": "link a has no room", "help": "ask for less"});
    let admitted = &flow("archive", 5)["route"];
    let admitted = json!({
        "id": 2, "name": "sv", "guarantee_ns": 900_000, "route": admitted, "alternatives": [],
    });
    let decisions = json!({"decisions": [
        {"name": "sv", "admitted": admitted}, {"name": "archive", "refused": refused},
    ]});
    let server = Scripted::start([(ADMIT, vec![document(&decisions)])]);
    let workplace = Workplace::new();
    workplace.write(
        "flows.csv",
        "name,src,dst,frame_bytes,period_us,deadline_us\nsv,MU1,h2,122,250,2000\narchive,MU1,h3,1500,1000,3000\n",
    );

    let arguments = ["admit", "--from", "flows.csv", "--host", "MU1=h1"];
    let people = Ended::from(command(&server, &workplace, &arguments).output().unwrap());

    assert_eq!(people.code, Some(3), "{}", people.stderr);
    assert!(
        people
            .stdout
            .contains("refused: link a has no room; ask for less")
    );
    assert!(
        people.stdout.ends_with("1 of 2 flows were admitted\n"),
        "{}",
        people.stdout
    );
    let asked: Value = serde_json::from_str(&server.asked()[0].body).unwrap();
    let first = &asked["requirements"][0];
    assert_eq!(
        (&first["source"], &first["destinations"]),
        (&json!("h1"), &json!(["h2"]))
    );
    assert_eq!(first["deadline_ns"], 2_000_000);
}

/// Asks for one flow.
fn admit_one(server: &Scripted, options: &[&str]) -> Ended {
    let flow = [
        "admit",
        "sv",
        "--source",
        "h1",
        "--destination",
        "h2",
        "--rate",
        "1 Mbit/s",
    ];
    ask(server, &[&flow[..], options].concat())
}

#[test]
fn two_ways_are_asked_for_with_numbers_in_tags_or_in_trailers() {
    for (option, protection) in [
        (
            &["--seamless"][..],
            json!({"kind": "seamless", "encoding": "r-tag"}),
        ),
        (
            &["--seamless", "prp"],
            json!({"kind": "seamless", "encoding": "prp"}),
        ),
        (
            &["--seamless", "--keep-order"],
            json!({"kind": "seamless", "encoding": "r-tag", "order": "kept"}),
        ),
    ] {
        let decided = json!({"decisions": [{"name": "sv", "refused": "no two ways"}]});
        let server = Scripted::start([("POST /api/v1/flows", vec![document(&decided)])]);
        admit_one(&server, &[option, &["--deadline", "3 ms"]].concat());

        let asked: Value = serde_json::from_str(&server.asked()[0].body).unwrap();
        assert_eq!(asked["requirements"][0]["protection"], protection);
    }
}

#[test]
fn it_is_said_who_stands_in_the_way_and_who_goes_another_way() {
    let decided = |name: &str, more: Value| {
        let refused = json!({"code": "no-room", "message": "link a has no room"});
        let mut decision = json!({"name": name, "refused": refused});
        let fields = more.as_object().unwrap().clone();
        decision.as_object_mut().unwrap().extend(fields);
        document(&json!({"decisions": [decision]}))
    };
    let (question, request) = (
        "POST /api/v1/flows?dry_run=true",
        "POST /api/v1/flows?rearrange=true",
    );
    let many: Vec<_> = (0..9).map(|n| format!("f{n}\x1b[2J")).collect();
    let server = Scripted::start([
        (
            question,
            vec![
                decided("sv", json!({"conflict": many})),
                decided("sv", json!({"conflict": []})),
            ],
        ),
        (request, vec![decided("sv", json!({"moved": "archive"}))]),
    ]);
    let admit = |option: &str| {
        let ended = admit_one(&server, &[option]);
        assert_eq!(ended.code, Some(3), "{}", ended.stderr);
        ended.stdout
    };

    let (beside, alone) = (admit("--dry-run"), admit("--dry-run"));
    let moved = admit("--rearrange");

    assert!(
        beside.contains("does not fit beside f0\\u{1b}[2J, f1"),
        "{beside}"
    );
    assert!(
        beside.contains("and 3 more") && !beside.contains('\x1b'),
        "{beside}"
    );
    assert!(alone.contains("does not fit even alone"), "{alone}");
    assert!(moved.contains("archive goes another way for it"), "{moved}");
}

#[test]
fn who_is_late_first_if_switches_are_slower_stands_first() {
    let room = json!({
        "slowdown_thousandths": 2_450,
        "flows": [
            {"name": "trip", "slowdown_thousandths": 2_450},
            {"name": "archive", "slowdown_thousandths": 64_000},
        ],
        "switches": [
            {"switch": "s1", "busy_thousandths": 910, "without_promise_thousandths": 700},
        ],
        "sentences": ["Every deadline holds up to 2.4.", "Switch s1\x1b[2J is busy."],
    });
    let server = Scripted::start([("GET /api/v1/room", vec![document(&room)])]);

    let ended = ask(&server, &["flows", "--room"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let (trip, archive) = (ended.stdout.find("2.4x"), ended.stdout.find("\u{2265}64x"));
    assert!(trip.is_some() && trip < archive, "{}", ended.stdout);
    assert!(
        ended.stdout.ends_with("s1\\u{1b}[2J is busy.\n"),
        "{}",
        ended.stdout
    );
    let both = ask(&server, &["flows", "trip", "--room"]);
    assert_eq!(both.code, Some(2), "{}", both.stderr);
}

#[test]
fn many_flows_are_asked_for_some_at_a_time_and_what_breaks_is_said() {
    let one = json!({"name": "f", "refused": {"code": "no", "message": "no"}});
    let decisions = json!({"decisions": vec![one; 256]});
    let busy = problem(503, "busy", "too many requests wait");
    let server = Scripted::start([(ADMIT, vec![document(&decisions), busy])]);
    let workplace = Workplace::new();
    let rows: String = (0..300).map(|n| format!("f{n},a,b,122,250\n")).collect();
    workplace.write(
        "flows.csv",
        format!("name,src,dst,frame_bytes,period_us\n{rows}"),
    );

    let arguments = [
        "admit",
        "--from",
        "flows.csv",
        "--json",
        "--deadline",
        "2ms",
    ];
    let ended = Ended::from(command(&server, &workplace, &arguments).output().unwrap());

    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("256 of 300 flows were decided"),
        "{}",
        ended.stderr
    );
    let printed: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(printed["decisions"].as_array().map(Vec::len), Some(256));
    assert_eq!(server.asked().len(), 2);
}

#[test]
fn events_go_on_where_they_broke() {
    let first = vec![
        ": hello\n\n".to_owned(),
        event(7, "1:1-2:1"),
        "data: {\"half".to_owned(),
    ];
    let second = vec![event(8, "1:2-2:2")];
    let server = Scripted::start([(EVENTS, vec![Answer::Broken(first), Answer::Stream(second)])]);
    let workplace = Workplace::new();

    let mut running = Running::start(command(
        &server,
        &workplace,
        &["events", "--follow", "--json"],
    ));
    let said = [
        running.says("disconnected, retrying"),
        running.says("connected again"),
    ];
    // The second time, it breaks after its event.
    let again = running.says("disconnected, retrying");
    running.signal(Signal::INT);
    let ended = running.end();

    assert_eq!((said, again), ([true; 2], true), "{}", ended.stderr);
    assert_eq!(ended.code, Some(0));
    let ids = ended.stdout.lines().map(|line| {
        let event: Value = serde_json::from_str(line).unwrap();
        event["id"].as_u64().unwrap()
    });
    assert_eq!(ids.take(2).collect::<Vec<_>>(), [7, 8]);
    assert!(server.asked()[1].head.contains("last-event-id: 7\n"));
}

#[test]
fn a_view_follows_what_happens_and_outlives_the_connection() {
    let states = [1_000, 2_000, 3_000];
    let states = states.map(|ns| document(&json!({"flows": [flow("sv", ns)]})));
    let server = Scripted::start([
        (FLOWS, states.to_vec()),
        (
            EVENTS,
            vec![
                Answer::Stream(vec![event(1, "1:1-2:1")]),
                Answer::Stream(vec![event(2, "1:2-2:2")]),
            ],
        ),
    ]);
    let workplace = Workplace::new();

    let mut running = Running::start(command(&server, &workplace, &["flows", "--watch"]));
    let said = running.says("disconnected, retrying: ");
    let again = running.says("connected again");
    // When it asks for the fourth time, it has shown the third answer.
    server.wait_for(FLOWS, 4);
    running.signal(Signal::INT);
    let ended = running.end();

    assert!(said && again, "{}", ended.stderr);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for guarantee in [" 1 us", " 2 us", " 3 us"] {
        assert!(
            ended.stdout.contains(guarantee),
            "no{guarantee} in: {}",
            ended.stdout
        );
    }
    assert!(!ended.stdout.contains('\x1b'), "{}", ended.stdout);
}

#[test]
fn a_host_that_gets_a_name_keeps_its_addresses() {
    let known = json!({"hosts": [{
        "name": "00:00:00:00:00:01", "mac": "00:00:00:00:00:01", "origin": "learned",
        "addresses": ["fe80::1", "10.0.0.1", "10.0.0.2"], "attachment": null,
    }]});
    let put = "PUT /api/v1/hosts/mu";
    let server = Scripted::start([
        ("GET /api/v1/hosts", vec![document(&known)]),
        (put, vec![Answer::Document(200, String::new())]),
    ]);

    let ended = ask(
        &server,
        &[
            "hosts",
            "add",
            "mu",
            "--mac",
            "00:00:00:00:00:01",
            "--port",
            "s1:3",
        ],
    );

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "00:00:00:00:00:01 is called mu\n");
    let said: Value = serde_json::from_str(&server.asked()[1].body).unwrap();
    assert_eq!(
        (&said["ipv4"], &said["ipv6"]),
        (&json!("10.0.0.1"), &json!("fe80::1"))
    );
    assert_eq!(said["attachment"], json!({"datapath": "s1", "port": 3}));
}

#[test]
fn things_are_removed_one_by_one_and_one_that_is_not_there_keeps_no_other() {
    let gone = vec![Answer::Document(200, String::new())];
    let unknown = vec![problem(404, "unknown-flow", "no flow is called b")];
    let server = Scripted::start([
        ("DELETE /api/v1/flows/a", gone.clone()),
        ("DELETE /api/v1/flows/b", unknown),
        ("DELETE /api/v1/flows/c", gone),
    ]);

    let people = ask(&server, &["withdraw", "a", "b", "c"]);
    let programs = ask(&server, &["withdraw", "--json", "a", "b", "c"]);

    assert_eq!((people.code, programs.code), (Some(2), Some(2)));
    assert_eq!(people.stdout, "2 flows removed: a, c\n");
    assert_eq!(
        people.stderr,
        "taktos: no flow is called b; `taktos flows` lists those that are\n"
    );
    let printed: Value = serde_json::from_str(&programs.stdout).unwrap();
    assert_eq!(printed, json!({"removed": ["a", "c"]}));
}

#[test]
fn too_few_paths_are_a_refusal() {
    let few = problem(409, "too-few-paths", "1 of 2 paths exist");
    let found = json!({"paths": [
        {"route": {"switches": ["s1", "s2"], "links": ["1:2-2:1"]}, "cost": 1, "guarantee_ns": 5},
    ]});
    let server = Scripted::start([("POST /api/v1/paths", vec![document(&found), few])]);

    let one = ask(
        &server,
        &[
            "paths",
            "h1",
            "s2:3",
            "--rate",
            "1 Mbit/s",
            "--deadline",
            "1 ms",
        ],
    );
    let none = ask(&server, &["paths", "h1", "h2", "--disjoint", "links"]);

    assert_eq!((one.code, none.code), (Some(0), Some(3)));
    assert!(
        one.stdout
            .contains("1      1       5 ns  s1 s2     1:2-2:1"),
        "{}",
        one.stdout
    );
    let asked = server.asked();
    let asked = asked
        .iter()
        .map(|it| serde_json::from_str::<Value>(&it.body).unwrap());
    let asked: Vec<_> = asked.collect();
    assert_eq!(
        asked[0]["to"],
        json!({"port": {"datapath": "s2", "port": 3}})
    );
    assert_eq!(asked[0]["load"]["rate_bps"], 1_000_000);
    assert_eq!(
        (&asked[1]["wish"], &asked[1]["count"]),
        (&json!("link-disjoint"), &json!(2))
    );
}

#[test]
fn a_view_on_a_terminal_gives_it_back_as_it_was() {
    let flows = document(&json!({"flows": [flow("sv", 1_000)]}));
    let quiet = Answer::Stream(vec![": hello\n\n".to_owned()]);
    let server = Scripted::start([(FLOWS, vec![flows]), (EVENTS, vec![quiet])]);
    let (terminal, screen) = Terminal::open();
    let workplace = Workplace::new();
    let mut command = command(&server, &workplace, &["flows", "--watch"]);
    command.stdout(screen);

    let running = Running::start(command);
    let drawn = terminal.read_until("sv ");
    running.signal(Signal::INT);
    let ended = running.end();
    let rest = terminal.read_to_end();

    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(drawn.starts_with("\x1b[?1049h\x1b[?25l"), "{drawn:?}");
    assert!(rest.ends_with("\x1b[?7h\x1b[?25h\x1b[?1049l"), "{rest:?}");
}

/// A question to a controller without switches, its exit code, and words of the answer.
type Expected = (&'static [&'static str], i32, &'static str);

#[rustfmt::skip]
const ANSWERS: [Expected; 23] = [
    (&["topology"], 0, "no switch has connected yet"),
    (&["hosts"], 0, "no host is known yet"),
    (&["flows"], 0, "no flow is admitted"),
    (&["flows", "sv"], 2, ""),
    (&["admit", "sv", "--source", "a", "--destination", "b", "--rate", "1 Mbit/s"], 3,
     "refused: host a is not known"),
    (&["withdraw", "sv"], 2, ""),
    (&["paths", "a", "b"], 2, ""),
    (&["events"], 0, ""),
    (&["intents"], 0, "there are no intents"),
    (&["intents", "add", "pair", "host-to-host", "a", "b"], 3, "refused: host a is not known"),
    (&["intents", "add", "drop", "match-action", "--vlan", "5"], 0, "accepted"),
    (&["intents", "remove", "nix"], 2, ""),
    (&["rules"], 0, "no switch has connected yet"),
    (&["rules", "s1"], 2, ""),
    (&["rules", "reconcile"], 0, "comparing 0 switches"),
    (&["settings"], 0, "left alone"),
    (&["settings", "--foreign-rules", "remove", "--metric", "delay"], 0, "are removed"),
    (&["profile"], 0, "no switch is known"),
    (&["profile", "adopt", "s1"], 2, ""),
    (&["contract", "suggest", "nix"], 2, ""),
    (&["apps"], 0, "reactive-forwarding"),
    (&["apps", "reload", "reactive-forwarding"], 0, "begins anew"),
    (&["apps", "unload", "nix"], 2, ""),
];

#[test]
fn a_real_controller_answers_every_question_also_without_switches() {
    let workplace = Workplace::new();
    let anywhere = [
        "controller",
        "--openflow",
        "tcp:127.0.0.1:0",
        "--http",
        "127.0.0.1:0",
    ];
    let mut controller = Running::start(workplace.taktos(anywhere));
    let line = controller.line_with("programs ask at ").unwrap();
    let url = line.trim().trim_start_matches("programs ask at ");
    let url = url.trim_end_matches("/api/v1").to_owned();
    let ask = |arguments: &[&str]| {
        let mut command = workplace.taktos(arguments);
        Ended::from(command.env("TAKTOS_URL", &url).output().unwrap())
    };

    for (arguments, code, words) in ANSWERS {
        let people = ask(arguments);
        if arguments.contains(&"drop") {
            ask(&["intents", "remove", "drop"]);
        }
        let programs = ask(&[arguments, &["--json"]].concat());
        assert_eq!(people.code, Some(code), "{arguments:?} {}", people.stderr);
        assert_eq!(
            programs.code,
            Some(code),
            "{arguments:?} {}",
            programs.stderr
        );
        assert!(
            people.stdout.contains(words),
            "{arguments:?} {}",
            people.stdout
        );
        if code != 2 {
            serde_json::from_str::<Value>(&programs.stdout).unwrap();
        }
    }
    controller.signal(Signal::INT);
    assert_eq!(controller.end().code, Some(0));
}

#[test]
fn an_intent_of_every_kind_is_asked_for_and_shown() {
    let add = "POST /api/v1/intents";
    let accepted = document(&json!({"decisions": [{"name": "i", "id": 1}]}));
    let server = Scripted::start([(add, vec![accepted])]);
    let workplace = Workplace::new();
    let frames = ["--vlan", "5", "--from-address", "02:00:00:00:00:01"];
    let path = ["--through", "s1,1:2-2:1", "--action", "set-vlan:7"];
    let rule = [
        "--at",
        "s1",
        "--priority",
        "9",
        "--action",
        "queue:3",
        "--action",
        "flood",
    ];
    let kinds: [Vec<&str>; 5] = [
        vec!["host-to-host", "h1", "h2"],
        [&["point-to-point", "h1", "s2:3"][..], &frames].concat(),
        vec!["multicast", "h1", "h2", "h3"],
        [&["path", "h1", "h2"][..], &path].concat(),
        [&["match-action"][..], &rule].concat(),
    ];

    for kind in &kinds {
        let arguments = [&["intents", "add", "i"][..], kind].concat();
        let ended = Ended::from(command(&server, &workplace, &arguments).output().unwrap());
        assert_eq!(ended.code, Some(0), "{kind:?} {}", ended.stderr);
    }

    let asked = server.asked();
    let asked = asked
        .iter()
        .map(|it| serde_json::from_str::<Value>(&it.body).unwrap());
    let asked: Vec<_> = asked.map(|mut it| it["intents"][0].take()).collect();
    assert_eq!(
        asked[0],
        json!({"kind": "host-to-host", "name": "i", "one": "h1", "other": "h2"})
    );
    assert_eq!(asked[1]["match"]["vlan"], 5);
    assert_eq!(asked[2]["to"], json!([{"host": "h2"}, {"host": "h3"}]));
    assert_eq!(
        asked[3]["through"],
        json!([{"switch": "s1"}, {"link": "1:2-2:1"}])
    );
    assert_eq!(asked[4]["actions"], json!([{"queue": 3}, "flood"]));
    let shown = asked.into_iter().map(|intent| {
        json!({"id": 1, "owner": "operator", "state": "waiting", "reason": "h2 is away",
               "routes": [], "rules": 0, "intent": intent})
    });
    let intents = json!({"intents": shown.collect::<Vec<_>>()});
    let server = Scripted::start([("GET /api/v1/intents", vec![document(&intents)])]);
    let list = ask(&server, &["intents", "list"]).stdout;
    for words in [
        "h1 and h2",
        "h1 to s2:3 (from 02:00:00:00:00:01, VLAN 5)",
        "h1 to h2 by s1 1:2-2:1: set-vlan:7",
        "at s1, priority 9: queue:3 flood",
        "waits: h2 is away",
    ] {
        assert!(list.contains(words), "no `{words}` in: {list}");
    }
}

#[test]
fn rules_are_shown_switch_by_switch_in_words() {
    let switch = |datapath: &str| json!({"datapath": datapath, "name": datapath, "connected": true, "ports": []});
    let [one, two] = ["0000000000000001", "0000000000000002"];
    let topology = json!({"switches": [switch(two), switch(one)], "links": [], "hosts": [],
                          "counts": {"switches": 2, "links": 0, "hosts": 0}});
    let rule = json!({
        "table": 0, "priority": 400, "match": {"vlan_vid": 5, "eth_dst": "01:0c:cd:04:00:01"},
        "actions": ["set_queue:6", "output:2"], "cookie": "0x1", "state": "refused",
        "owner": {"kind": "flow", "id": 1, "name": "sv\u{1b}[2J"}, "error": "TableFull",
    });
    let rules = |datapath: &str, rules: &[&Value]| {
        document(&json!({"datapath": datapath, "name": datapath, "rules": rules}))
    };
    let server = Scripted::start([
        ("GET /api/v1/topology", vec![document(&topology)]),
        (
            "GET /api/v1/switches/0000000000000001/rules",
            vec![rules(one, &[&rule])],
        ),
        (
            "GET /api/v1/switches/0000000000000002/rules",
            vec![rules(two, &[])],
        ),
    ]);

    let ended = ask(&server, &["rules"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let row = "0       400  eth_dst=01:0c:cd:04:00:01,vlan_vid=5  set_queue:6,output:2  \
               flow sv\\u{1b}[2J  refused: TableFull";
    assert!(ended.stdout.contains(row), "{}", ended.stdout);
    assert!(
        ended
            .stdout
            .starts_with(&format!("switch {one} ({one}), 1 rule\n")),
        "{}",
        ended.stdout
    );
    assert!(
        ended
            .stdout
            .ends_with(&format!("\nswitch {two} ({two}), 0 rules\n")),
        "{}",
        ended.stdout
    );
}
