//! Several instances of `taktos controller` that share one etcd: killed, stopped, paused.

use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::cluster::{Cluster, Extras, free_port};
use crate::controller::{LOCAL, address, ask, ready_address, text};
use crate::site::Site;
use crate::testbed::{Testbed, eventually, stop};
use crate::workplace::{Running, Workplace};

/// How many hosts are named through each instance in turn.
const NAMED: u8 = 6;

/// An instance that runs, and where programs ask it.
struct Instance {
    running: Running,
    url: String,
}

impl Instance {
    fn start(workplace: &Workplace, etcd: &str, name: &str, more: &[&str]) -> Self {
        let heard_at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr();
        let heard_at = heard_at.unwrap().to_string();
        let own = ["--etcd", etcd, "--id", name, "--cluster", &heard_at];
        let arguments = [&LOCAL[..], &own, more].concat();
        let mut running = Running::start(workplace.taktos(&arguments));
        let url = ready_address(&mut running);
        Self { running, url }
    }

    fn name_host(&self, number: u8) -> u16 {
        let path = format!("/api/v1/hosts/h{number}");
        let host = format!(r#"{{"mac": "02:00:00:00:00:{number:02x}"}}"#);
        ask(&self.url, "PUT", &path, "", &host).0
    }

    /// Returns the hosts that are known to whoever decides.
    fn hosts(&self) -> usize {
        let (_, hosts) = ask(&self.url, "GET", "/api/v1/hosts", "", "");
        hosts["hosts"].as_array().map_or(0, Vec::len)
    }

    /// Tells whether it sends a stream of events, its own or that of who decides.
    fn streams_events(&self) -> bool {
        let mut stream = TcpStream::connect(&self.url).unwrap();
        let host = &self.url;
        write!(
            stream,
            "GET /api/v1/events HTTP/1.1\r\nHost: {host}\r\n\r\n"
        )
        .unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        head == *b"HTTP/1.1 200"
    }

    fn instances(&self) -> Vec<Value> {
        let (_, document) = ask(&self.url, "GET", "/api/v1/instances", "", "");
        document["instances"].as_array().unwrap().clone()
    }

    /// Returns who decides, as this one knows it.
    fn sequencer(&self) -> Option<String> {
        let mut deciding = self.instances().into_iter();
        let one = deciding.find(|it| it["decides"] == true && it["lives"] == true)?;
        Some(one["id"].as_str().unwrap().to_owned())
    }
}

fn start_three(workplace: &Workplace, cluster: &Cluster, more: &[&str]) -> Vec<Instance> {
    let urls = cluster.urls().join(",");
    let all: Vec<_> = ["a", "b", "c"]
        .map(|name| Instance::start(workplace, &urls, name, more))
        .into();
    await_each_other(&all);
    all
}

/// Waits until each of them hears the others, of which the store has told it.
fn await_each_other(all: &[Instance]) {
    for one in all {
        eventually("each hears the others", || {
            let instances = one.instances();
            instances.len() == all.len() && instances.iter().all(|it| it["lives"] == true)
        });
    }
}

/// Takes the one that decides out of those that run.
fn take_sequencer(all: &mut Vec<Instance>) -> (Instance, String) {
    let mut known = None;
    eventually("one decides", || {
        known = all[0].sequencer();
        known.is_some()
    });
    let name = known.unwrap();
    let is_it = |it: &Instance| {
        let instances = it.instances();
        instances
            .iter()
            .any(|one| one["id"] == name && one["answers"] == true)
    };
    let at = all.iter().position(is_it).unwrap();
    (all.remove(at), name)
}

/// Names a host through an instance again and again, until another one decides than
/// `former` and has answered; says for how long nothing was.
fn until_answered(one: &Instance, number: u8, (former, after): (&str, &str)) {
    let (mut last, mut longest) = (Instant::now(), Duration::ZERO);
    eventually("another one decides, and answers", || {
        let is_another = one.sequencer().is_some_and(|it| it != former);
        let is_answered = one.name_host(number) == 204;
        if is_answered {
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        is_another && is_answered
    });
    println!("nothing was answered for {longest:?} after {after}");
}

#[test]
fn any_instance_answers_and_nothing_is_lost_when_the_one_that_decides_dies() {
    let test = "any_instance_answers_and_nothing_is_lost_when_the_one_that_decides_dies";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let workplace = Workplace::new();
    let mut all = start_three(&workplace, &cluster, &[]);
    for number in 1..=NAMED {
        let one = &all[usize::from(number) % all.len()];
        assert_eq!(one.name_host(number), 204, "through {}", one.url);
    }
    let seen: Vec<_> = all.iter().map(Instance::hosts).collect();
    for one in &all {
        let url = format!("http://{}", one.url);
        let listed = workplace.run(&["instances", "--url", &url]).stdout;
        let count = |words: &str| listed.matches(words).count();
        assert_eq!((count("decides"), count("stands by")), (1, 2), "{listed}");
        assert!(one.streams_events());
    }

    let (killed, name) = take_sequencer(&mut all);
    killed.running.signal(Signal::KILL);
    until_answered(&all[0], NAMED + 1, (&name, "SIGKILL"));
    killed.running.end();
    let after_kill: Vec<_> = all.iter().map(Instance::hosts).collect();
    let (stopped, name) = take_sequencer(&mut all);
    stopped.running.signal(Signal::TERM);
    until_answered(&all[0], NAMED + 2, (&name, "SIGTERM"));
    let code = stopped.running.end().code;

    let named = usize::from(NAMED);
    assert_eq!(seen, [named; 3]);
    assert_eq!(after_kill, [named + 1; 2]);
    assert_eq!((code, all[0].hosts()), (Some(0), named + 2));
    assert_eq!(stop(all.remove(0).running).code, Some(0));
}

#[test]
fn an_instance_that_was_stopped_and_goes_on_decides_nothing_more() {
    let test = "an_instance_that_was_stopped_and_goes_on_decides_nothing_more";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let workplace = Workplace::new();
    let mut all = start_three(&workplace, &cluster, &[]);
    let (paused, name) = take_sequencer(&mut all);
    assert_eq!(paused.name_host(1), 204);

    paused.running.signal(Signal::STOP);
    until_answered(&all[0], 2, (&name, "SIGSTOP"));
    let successor = all[0].sequencer();
    // It is read when the other one goes on, which believes then that it decides.
    let answer = std::thread::scope(|scope| {
        let asking = scope.spawn(|| paused.name_host(3));
        paused.running.signal(Signal::CONT);
        asking.join().unwrap()
    });

    eventually("it knows who decides", || paused.sequencer() == successor);
    let expected = 2 + usize::from(answer == 204);
    let seen = [&all[0], &all[1], &paused].map(Instance::hosts);
    assert_eq!(seen, [expected; 3], "what was answered with {answer} is so");
    assert_eq!(
        paused.name_host(4),
        204,
        "it is asked, and another one answers"
    );
    for one in all.into_iter().chain([paused]) {
        assert_eq!(stop(one.running).code, Some(0));
    }
}

#[test]
fn a_switch_has_one_master_and_another_one_soon_after_that_is_gone() {
    let test = "a_switch_has_one_master_and_another_one_soon_after_that_is_gone";
    let Some(bed) = Testbed::or_skip(test, 2) else {
        return;
    };
    bed.room.run(|| {
        let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
            return;
        };
        let ports: Vec<_> = (0..3).map(|_| free_port()).collect();
        let urls = cluster.urls().join(",");
        let mut all: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .zip(&ports)
            .map(|(name, port)| {
                let openflow = format!("127.0.0.1:{port}");
                let more = ["--openflow", &openflow];
                let mut own = LOCAL.to_vec();
                own.truncate(1);
                let heard_at = format!("127.0.0.1:{}", free_port());
                let arguments = [
                    &own[..],
                    &more,
                    &["--http", "127.0.0.1:0", "--etcd", &urls],
                    &["--id", name, "--cluster", &heard_at],
                ]
                .concat();
                let mut running = Running::start(bed.workplace.taktos(&arguments));
                let url = ready_address(&mut running);
                Instance { running, url }
            })
            .collect();
        let controllers = ports.iter().map(|port| format!("tcp:127.0.0.1:{port}"));
        let controllers: Vec<_> = controllers.collect();
        let mut arguments = vec!["--ports", "s1,s2"];
        for controller in &controllers {
            arguments.extend(["--controller", controller.as_str()]);
        }
        let switch = bed.start(&arguments);
        let has_master = |one: &Instance| {
            let (_, topology) = ask(&one.url, "GET", "/api/v1/topology", "", "");
            let switches = topology["switches"].as_array().cloned();
            switches.is_some_and(|it| it.iter().any(|it| it["connected"] == true))
        };
        eventually("it has a master", || has_master(&all[0]));

        for (signal, name) in [(Signal::TERM, "SIGTERM"), (Signal::KILL, "SIGKILL")] {
            let (gone, former) = take_sequencer(&mut all);
            gone.running.signal(signal);
            let began = Instant::now();
            eventually("it has a master again", || {
                let is_another = all[0].sequencer().is_some_and(|it| it != former);
                is_another && has_master(&all[0])
            });
            println!("master again {:?} after {name}", began.elapsed());
            gone.running.end();
        }
        assert_eq!(stop(switch).code, Some(0));
        assert_eq!(stop(all.remove(0).running).code, Some(0));
    });
}

#[test]
fn an_instance_asks_the_one_that_decides_over_an_enciphered_connection_with_the_same_token() {
    let test =
        "an_instance_asks_the_one_that_decides_over_an_enciphered_connection_with_the_same_token";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let (workplace, site) = (Workplace::new(), Site::new());
    let papers = site.certify("127.0.0.1");
    workplace.write("cert.pem", &papers.certificate);
    workplace.write("key.pem", &papers.key);
    workplace.write("ca.pem", site.authority());
    let made = workplace.run(&["controller", "token", "alice", "read"]);
    workplace.write("alice", made.stdout.trim());
    let etcd = cluster.urls().join(",");
    let tls = ["--http-tls-cert", "cert.pem", "--http-tls-key", "key.pem"];
    let known = ["--tokens", "tokens", "--cluster-ca", "ca.pem"];
    let mut all: Vec<_> = ["a", "b"]
        .map(|name| {
            let heard_at = format!("127.0.0.1:{}", free_port());
            let own = ["--etcd", &etcd, "--id", name, "--cluster", &heard_at];
            let arguments = [&LOCAL[..], &own, &tls, &known].concat();
            Running::start(workplace.taktos(&arguments))
        })
        .into();
    let urls: Vec<_> = all
        .iter_mut()
        .map(|it| format!("https://{}", address(it)))
        .collect();

    for url in &urls {
        let flows = ["flows", "--url", url, "--ca", "ca.pem"];
        let asked = [&flows[..], &["--token-file", "alice"]].concat();
        eventually("it answers", || workplace.run(&asked).code == Some(0));
        let stranger = workplace.run(&flows);
        assert_ne!(stranger.code, Some(0), "{}", stranger.stdout);
    }
    let alone = [
        &LOCAL[..],
        &["--etcd", &etcd, "--cluster", "127.0.0.1:0"],
        &tls,
        &known[..2],
    ];
    workplace.run(&alone.concat()).is_refused("--cluster-ca");
    for running in all {
        assert_eq!(stop(running).code, Some(0));
    }
}

#[test]
fn an_instance_that_was_told_something_else_than_the_others_is_shown() {
    let test = "an_instance_that_was_told_something_else_than_the_others_is_shown";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let workplace = Workplace::new();
    let etcd = cluster.urls().join(",");
    let start = |name, more: &[&str]| Instance::start(&workplace, &etcd, name, more);
    let all = [start("a", &[]), start("b", &[]), start("c", &["--no-hops"])];
    let url = format!("http://{}", all[0].url);
    let mut listed = String::new();
    eventually("the third is known", || {
        listed = workplace.run(&["instances", "--url", &url]).stdout;
        listed.lines().any(|line| line.starts_with("c "))
    });

    let told: Vec<_> = listed.lines().collect();
    for (name, differs) in [("a ", false), ("b ", false), ("c ", true)] {
        let line = told.iter().find(|line| line.starts_with(name)).unwrap();
        assert_eq!(line.contains("other options"), differs, "{listed}");
    }
    assert!(listed.contains("--no-hops"), "{listed}");
    for one in all {
        assert_eq!(stop(one.running).code, Some(0));
    }
}

#[test]
fn while_nobody_decides_each_tells_what_the_store_held_and_that_it_is_that() {
    let test = "while_nobody_decides_each_tells_what_the_store_held_and_that_it_is_that";
    let Some(cluster) = Cluster::start_or_skip(test, 1, Extras::default()) else {
        return;
    };
    let workplace = Workplace::new();
    let urls = cluster.urls().join(",");
    let start = |name| Instance::start(&workplace, &urls, name, &[]);
    let first = start("a");
    assert_eq!(first.name_host(1), 204);
    // Who knows from the store that the others are there has read about the host as well.
    let all = [first, start("b"), start("c")];
    await_each_other(&all);
    let listed = |one: &Instance| {
        let answer = text(&one.url, "/api/v1/hosts");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let is_stale = head
            .to_lowercase()
            .contains("taktos-stale: no instance is known that decides");
        let hosts: Value = serde_json::from_str(body).unwrap_or_default();
        (is_stale, hosts["hosts"][0]["name"] == "h1")
    };
    let fresh: Vec<_> = all.iter().map(listed).collect();

    cluster.signal(0, Signal::STOP);
    for one in &all {
        eventually("it knows that nobody decides", || {
            listed(one) == (true, true)
        });
        assert_eq!(one.name_host(2), 503);
        let url = format!("http://{}", one.url);
        let flows = workplace.run(&["flows", "--url", &url]);
        assert!(
            flows.stderr.contains("no instance is known that decides"),
            "{}",
            flows.stderr
        );
        assert_eq!(one.sequencer(), None);
        // What only who decides knows is asked of nobody else.
        assert_eq!(ask(&one.url, "GET", "/api/v1/statistics", "", "").0, 503);
    }
    cluster.signal(0, Signal::CONT);

    assert_eq!(fresh, [(false, true); 3]);
    for one in &all {
        eventually("somebody decides again", || listed(one) == (false, true));
    }
    for one in all {
        assert_eq!(stop(one.running).code, Some(0));
    }
}

#[test]
fn what_is_said_of_a_cluster_wrongly_is_refused() {
    let workplace = Workplace::new();
    let etcd = ["--etcd", "http://127.0.0.1:1"];
    let say = |more: &[&str]| workplace.run(&[&LOCAL[..], more].concat());

    say(&["--cluster", "127.0.0.1:7000"]).is_refused("--etcd");
    say(&[&etcd[..], &["--cluster", "0.0.0.0:7000"]].concat()).is_refused("name the address");
    say(&[&etcd[..], &["--cluster", "192.0.2.1:7000"]].concat()).is_refused("another --http");
}
