//! What `taktos cluster init` writes: whole, checked, and in use.

use std::fs;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use crate::cluster::Cluster;
use crate::workplace::{Running, Workplace};

/// How long a cluster may take to begin, beside whatever else this machine does.
const MOST_LOOKS: u32 = 600;
const LOOK_INTERVAL: Duration = Duration::from_millis(100);
const THREE: [&str; 3] = ["a=10.0.0.1", "b=10.0.0.2", "c=fd00::3"];

/// Spoils what was written.
type Alteration = fn(&Workplace);

fn init(workplace: &Workplace, more: &[&str]) {
    let ended = workplace.run(&[&["cluster", "init", "made"], more].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}

#[test]
fn three_machines_run_what_is_written_for_them() {
    let test = "three_machines_run_what_is_written_for_them";
    let Some(etcd) = Cluster::program_or_skip(test) else {
        return;
    };
    let workplace = Workplace::new();
    init(
        &workplace,
        &["--here", "a=127.0.88.1", "b=127.0.88.2", "c=127.0.88.3"],
    );
    let start = |name: &str| {
        let mut script = Command::new(workplace.path(&format!("made/{name}/start.sh")));
        script
            .env("TAKTOS", env!("CARGO_BIN_EXE_taktos"))
            .env("TAKTOS_ETCD", &etcd);
        Running::start(workplace.prepare(script))
    };
    let all = ["a", "b", "c"].map(start);
    let ask = |arguments: &[&str], at: u8| {
        let url = format!("https://127.0.88.{at}:8181");
        let trust = ["--ca", "made/ca.pem", "--token-file", "made/operator-token"];
        let place = ["--url", &url];
        workplace.run(&[arguments, &place[..], &trust[..]].concat())
    };

    for at in 1..=3 {
        let is_whole = || {
            let listed = ask(&["instances"], at).stdout;
            let count = |words: &str| listed.matches(words).count();
            (count("decides"), count("stands by")) == (1, 2)
        };
        // Three members of etcd elect one of them first.
        let came = (0..MOST_LOOKS).any(|_| {
            std::thread::sleep(LOOK_INTERVAL);
            is_whole()
        });
        assert!(came, "{at}: {}", ask(&["instances"], at).stdout);
        let name = format!("h{at}");
        let mac = format!("02:00:00:00:00:0{at}");
        let added = ask(&["hosts", "add", &name, "--mac", &mac], at);
        assert_eq!(added.code, Some(0), "{}", added.stderr);
    }
    let seen = ask(&["hosts"], 2).stdout;
    let without = workplace.run(&[
        "hosts",
        "--url",
        "https://127.0.88.2:8181",
        "--ca",
        "made/ca.pem",
    ]);
    for one in &all {
        one.signal(Signal::TERM);
    }
    let ended = all.map(|one| one.end().code);

    for name in ["h1", "h2", "h3"] {
        assert!(seen.contains(name), "{seen}");
    }
    assert_ne!(without.code, Some(0), "without a token nobody is answered");
    assert!(ended.iter().all(Option::is_some), "{ended:?}");
}

#[test]
fn nobody_but_its_owner_reads_a_key() {
    use std::os::unix::fs::PermissionsExt;
    let workplace = Workplace::new();
    init(&workplace, &THREE);

    for machine in ["a", "b", "c"] {
        for entry in fs::read_dir(workplace.path("made").join(machine)).unwrap() {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            let is_secret = text.contains("PRIVATE KEY") || entry.file_name() == "tokens";
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            let name = entry.file_name();
            assert_eq!(is_secret, mode == 0o600, "{name:?} of {machine}: {mode:o}");
        }
    }
    let kept = fs::read_dir(workplace.path("made/authority")).unwrap();
    assert_eq!(kept.count(), 4, "two certificates and two keys");
}

#[test]
fn what_does_not_fit_together_is_named() {
    let alterations: [(&str, Alteration, &str); 6] = [
        (
            "a file is gone",
            |it| fs::remove_file(it.path("made/b/tokens")).unwrap(),
            "tokens",
        ),
        (
            "a key of another machine",
            |it| swap(it, "etcd-key.pem"),
            "make no sense together",
        ),
        (
            "key and certificate of another machine",
            |it| {
                swap(it, "controller-key.pem");
                swap(it, "controller.pem");
            },
            "controller.pem",
        ),
        (
            "another authority",
            |it| swap_text(it, "b/ca.pem", "b/etcd-ca.pem"),
            "controller.pem",
        ),
        (
            "another cluster",
            |it| replace(it, "b/etcd.env", "taktos-", "other-"),
            "not those of the others",
        ),
        (
            "an option that is none",
            |it| replace(it, "b/controller.toml", "http =", "htpp ="),
            "not what `taktos controller` takes",
        ),
    ];
    for (what, alter, named) in alterations {
        let workplace = Workplace::new();
        init(&workplace, &THREE);
        let whole = workplace.run(&["cluster", "check", "made"]);
        alter(&workplace);

        let altered = workplace.run(&["cluster", "check", "made"]);

        assert_eq!(whole.code, Some(0), "{}", whole.stderr);
        assert_eq!(altered.code, Some(2), "{what}: {}", altered.stdout);
        assert!(altered.stderr.contains(named), "{what}: {}", altered.stderr);
    }
}

#[test]
fn what_is_there_is_not_written_over_and_odd_machines_are_refused() {
    let workplace = Workplace::new();
    init(&workplace, &THREE);

    let words = |more: &[&str]| {
        let ended = workplace.run(&[&["cluster", "init"], more].concat());
        (ended.code, ended.stderr)
    };

    for (more, named) in [
        (&["made", "a=10.0.0.1"][..], "is there already"),
        (&["new", "a=10.0.0.1", "b=10.0.0.2"], "one or three"),
        (&["new", "a=10.0.0.1", "b=10.0.0.2", "b=10.0.0.3"], "name b"),
        (&["new", "../a=10.0.0.1"], "no name of a machine"),
        (&["it's", "a=10.0.0.1"], "quotes"),
    ] {
        let (code, said) = words(more);
        assert_eq!(code, Some(2), "{more:?}: {said}");
        assert!(said.contains(named), "{more:?}: {said}");
    }
    assert!(!workplace.has("new"));
    assert!(!workplace.has("it's"));
}

/// Gives machine `b` a file of machine `a`.
fn swap(workplace: &Workplace, file: &str) {
    swap_text(workplace, &format!("b/{file}"), &format!("a/{file}"));
}

fn swap_text(workplace: &Workplace, to: &str, from: &str) {
    let made = workplace.path("made");
    fs::copy(made.join(from), made.join(to)).unwrap();
}

fn replace(workplace: &Workplace, file: &str, old: &str, new: &str) {
    let path = workplace.path("made").join(file);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(old));
    fs::write(path, text.replace(old, new)).unwrap();
}
