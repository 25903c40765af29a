//! What an ordinary user gets, and one who may do even less.

use std::io::Write;
use std::process::Command;

use crate::workplace::{Ended, Workplace};

/// Starts the rest of the command line without any capability.
const UNPRIVILEGED: &str = "setpriv --inh-caps=-all --bounding-set=-all";

#[test]
fn an_ordinary_user_gets_a_namespace_of_their_own_or_virtual_time() {
    let workplace = Workplace::new();

    let ended = in_shell(
        &workplace,
        &as_ordinary_user("run pair.toml --duration '300 ms'"),
    );
    if ended.stderr.contains("setpriv: ") {
        return skip("an_ordinary_user_gets_a_namespace", &ended);
    }

    assert!(matches!(ended.code, Some(0 | 3)), "{}", ended.stderr);
    let world = match ended.stderr.contains("in a user namespace of our own") {
        true => "lab",
        false => "sim",
    };
    assert_eq!(workplace.report()["world"], world, "{}", ended.stderr);
    assert!(world == "lab" || ended.stderr.contains("so in virtual time (--world sim)"));
}

#[test]
fn without_any_privilege_the_lab_says_what_is_missing_and_virtual_time_will_do() {
    let workplace = Workplace::new();
    let run = |arguments: &str| in_shell(&workplace, &without_namespaces(arguments));
    let lab = run("run pair.toml --world lab");
    if lab.stderr.contains("unshare: ") || lab.stderr.contains("sh: ") {
        return skip("without_any_privilege_the_lab_says_what_is_missing", &lab);
    }
    let started = workplace.has("out");

    let anywhere = run("run pair.toml --duration '300 ms'");

    assert_eq!((lab.code, started), (Some(4), false), "{}", lab.stderr);
    assert_eq!(lab.stderr.lines().count(), 1, "{}", lab.stderr);
    for words in ["needs root", "CAP_NET_ADMIN", "--world sim needs nothing"] {
        assert!(lab.stderr.contains(words), "{}", lab.stderr);
    }
    assert_eq!(anywhere.code, Some(0), "{}", anywhere.stderr);
    assert!(anywhere.stderr.contains("so in virtual time (--world sim)"));
    assert_eq!(workplace.report()["world"], "sim");
}

/// Drops what root has; whoever is not root has nothing to drop.
fn as_ordinary_user(arguments: &str) -> String {
    match rustix::process::geteuid().is_root() {
        true => format!("exec {UNPRIVILEGED} \"$TAKTOS\" {arguments}"),
        false => format!("exec \"$TAKTOS\" {arguments}"),
    }
}

/// The same in a user namespace within which no further one can be made.
fn without_namespaces(arguments: &str) -> String {
    format!(
        "exec unshare --user --map-root-user sh -c \"\
         echo 0 > /proc/sys/user/max_user_namespaces && exec {UNPRIVILEGED} $TAKTOS {arguments}\""
    )
}

fn in_shell(workplace: &Workplace, line: &str) -> Ended {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .env("TAKTOS", env!("CARGO_BIN_EXE_taktos"));
    Ended::from(workplace.prepare(shell).output().unwrap())
}

fn skip(test: &str, ended: &Ended) {
    // Not `eprintln!`: the test harness would swallow it.
    let _ = writeln!(std::io::stderr(), "\nSKIPPED {test}: {}\n", ended.stderr);
}
