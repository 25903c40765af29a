//! `taktos controller --etcd` beside a member of etcd that comes and goes.

use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cluster::{Cluster, Extras, free_port};
use crate::controller::{HOST, INTENT, LOCAL, OTHER_HOST, ask, ready_address};
use crate::testbed::eventually;
use crate::workplace::{Running, Workplace};

const THIRD_HOST: &str = r#"{"mac": "02:00:00:00:00:03"}"#;

#[test]
fn what_etcd_keeps_is_known_after_a_restart_and_while_it_is_gone_nothing_is_promised() {
    let test = "what_etcd_keeps_is_known_after_a_restart_and_while_it_is_gone_nothing_is_promised";
    let Some(mut cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let workplace = Workplace::new();
    let urls = cluster.urls().join(",");
    let arguments = [&LOCAL[..], &["--etcd", &urls]].concat();
    let mut first = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut first);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h1", "", HOST).0, 204);

    cluster.kill(0);
    let ready = || ask(&url, "GET", "/readyz", "", "").0;
    eventually("etcd is missed while nothing is asked", || ready() == 503);
    let (refused, _) = ask(&url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST);
    let (goes_on, hosts) = ask(&url, "GET", "/api/v1/hosts", "", "");
    cluster.start(0);
    let address = urls.trim_start_matches("http://");
    eventually("etcd starts", || TcpStream::connect(address).is_ok());
    eventually("etcd is found again", || ready() == 200);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST).0, 204);
    assert_eq!(ask(&url, "POST", "/api/v1/intents", "", INTENT).0, 201);
    first.signal(Signal::KILL);
    first.end();
    let mut second = Running::start(workplace.taktos(&arguments));
    let url = ready_address(&mut second);

    assert_eq!((refused, goes_on), (503, 200), "{hosts}");
    let (_, intents) = ask(&url, "GET", "/api/v1/intents", "", "");
    assert_eq!(intents["intents"][0]["intent"]["name"], "web", "{intents}");
    second.signal(Signal::TERM);
    assert_eq!(second.end().code, Some(0));
}

#[test]
fn a_second_controller_on_the_same_records_takes_over_and_the_first_says_so() {
    let test = "a_second_controller_on_the_same_records_takes_over_and_the_first_says_so";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let workplace = Workplace::new();
    let urls = cluster.urls().join(",");
    let arguments = [&LOCAL[..], &["--etcd", &urls]].concat();
    let mut first = Running::start(workplace.taktos(&arguments));
    let first_url = ready_address(&mut first);
    assert_eq!(ask(&first_url, "PUT", "/api/v1/hosts/h1", "", HOST).0, 204);

    let mut second = Running::start(workplace.taktos(&arguments));
    let second_url = ready_address(&mut second);
    let (refused, _) = ask(&first_url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST);
    let (kept, _) = ask(&second_url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST);

    assert_eq!((refused, kept), (503, 204));
    for running in [first, second] {
        running.signal(Signal::TERM);
        assert_eq!(running.end().code, Some(0));
    }
}

#[test]
fn what_others_have_filled_is_told_and_used_again_when_they_have_gone() {
    let test = "what_others_have_filled_is_told_and_used_again_when_they_have_gone";
    fill_and_empty(test, &[]);
}

#[test]
fn an_instance_tells_what_others_have_filled_as_well() {
    let test = "an_instance_tells_what_others_have_filled_as_well";
    let heard_at = format!("127.0.0.1:{}", free_port());
    fill_and_empty(test, &["--id", "a", "--cluster", &heard_at]);
}

/// Has others use up the quota of etcd while a controller runs, and give it back.
fn fill_and_empty(test: &str, more: &[&str]) {
    let extras = Extras {
        arguments: vec!["--quota-backend-bytes=6000000".to_owned()],
        ..Extras::default()
    };
    let Some(cluster) = Cluster::start_or_skip(test, 1, extras) else {
        return;
    };
    let workplace = Workplace::new();
    let urls = cluster.urls().join(",");
    let mut controller =
        Running::start(workplace.taktos([&LOCAL[..], &["--etcd", &urls], more].concat()));
    let url = ready_address(&mut controller);
    assert_eq!(ask(&url, "PUT", "/api/v1/hosts/h1", "", HOST).0, 204);

    // Keys of somebody else, by the gateway that etcd has for JSON.
    let etcd = urls.trim_start_matches("http://");
    let value = "A".repeat(400_000);
    let mut keys = (0..200).map(|key| format!("KEY{key:05}"));
    let mut fill = || {
        let is_refused = keys.find(|key| {
            let put = json!({"key": key, "value": value}).to_string();
            ask(etcd, "POST", "/v3/kv/put", "", &put).0 != 200
        });
        assert!(is_refused.is_some(), "there is a quota");
    };
    let (mut refused, mut problem) = (204, Value::Null);
    // Room is made of what is past, and rarely.
    for _ in 0..5 {
        fill();
        (refused, problem) = ask(&url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST);
        if refused != 204 {
            break;
        }
    }
    let ready = || ask(&url, "GET", "/readyz", "", "").0;
    let (goes_on, hosts) = ask(&url, "GET", "/api/v1/hosts", "", "");
    // What it says of itself is so, for longer than it looks after its store.
    for _ in 0..30 {
        std::thread::sleep(Duration::from_millis(100));
        if ready() == 200 {
            let (kept, _) = ask(&url, "PUT", "/api/v1/hosts/h2", "", OTHER_HOST);
            assert_eq!(kept, 204, "it said that it was ready");
        }
    }
    let all = json!({"key": "KEY0", "range_end": "KEY9"}).to_string();
    assert_eq!(ask(etcd, "POST", "/v3/kv/deleterange", "", &all).0, 200);

    eventually("there is room again", || {
        ask(&url, "PUT", "/api/v1/hosts/h3", "", THIRD_HOST).0 == 204
    });
    eventually("it is ready again", || ready() == 200);
    assert_eq!((refused, goes_on), (503, 200), "{problem} {hosts}");
    controller.signal(Signal::TERM);
    assert_eq!(controller.end().code, Some(0));
}

#[test]
fn what_is_said_of_etcd_wrongly_is_refused() {
    let workplace = Workplace::new();
    let say = |arguments: &[&str]| workplace.run(&[&LOCAL[..], arguments].concat());

    say(&["--etcd", "10.0.0.1:2379"]).is_refused("neither http:// nor https://");
    say(&["--etcd", "https://10.0.0.1:2379"]).is_refused("certificate of the authority");
    say(&["--etcd", "http://10.0.0.1:2379", "--etcd-ca", "none"]).is_refused("none");
    say(&["--etcd-ca", "ca.pem"]).is_refused("--etcd");
}
