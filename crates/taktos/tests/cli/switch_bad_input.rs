//! What `taktos switch` refuses, with the reason in one sentence.

use std::io::{self, Write};
use std::process::Command;

use crate::testbed::{Testbed, stop};
use crate::workplace::{Ended, Workplace};

#[test]
fn a_command_line_that_makes_no_sense_starts_nothing() {
    let workplace = Workplace::new();
    workplace.write("letter", "Dear");

    for (arguments, saying) in [
        (&[][..], "--ports"),
        (&["--ports", ""], "names no interface"),
        (&["--ports", "0=a"], "no number of a port"),
        (&["--ports", "a,a"], "`a` is named twice"),
        (&["--ports", "2=a,b"], "both `a` and `b` are to be port 2"),
        (&["--ports", "a", "--local", "a"], "`a` is named twice"),
        (&["--ports", "a", "--rate", "fast"], "no rate"),
        (&["--ports", "a", "--rate", "b=1M"], "none of the ports"),
        (&["--ports", "a", "--bfd", "a=fast"], "`eth1=1ms*3`"),
        (&["--ports", "a", "--bfd", "a=99us*3"], "100 µs"),
        (&["--ports", "a", "--bfd", "b=1ms*3"], "none of the ports"),
        (
            &["--ports", "a", "--bfd-key", "sha1:1:letter"],
            "no session",
        ),
        (&["--ports", "a", "--controller", "10.0.0.1"], "tcp:"),
        (&["--ports", "a", "--controller", "tcp:h:0"], "no port"),
        (&["--ports", "a", "--listen", "udp:0.0.0.0"], "tcp:"),
        (&["--ports", "a", "--dpid", "x"], "no 64 bits"),
        (&["--ports", "a", "--tables", "0"], "1..=254"),
        (&["--ports", "a", "--tables", "255"], "1..=254"),
        (&["--ports", "a", "--table-size", "0"], "1..="),
        (&["--ports", "a", "--engine", "magic"], "magic"),
        (&["--ports", "a", "--fail-mode", "open"], "open"),
        (&["--ports", "a", "--cpu", "100000"], "no processor 100000"),
        (&["--ports", "a", "--spin", "--sleep"], "--sleep"),
        (&["--ports", "a", "--controller", "tls:h"], "--tls-ca"),
        (&["--ports", "a", "--listen", "tls:h"], "--tls-key"),
        (
            &[
                "--ports",
                "a",
                "--controller",
                "tls:h",
                "--tls-ca",
                "letter",
            ],
            "no certificate in it",
        ),
        (
            &["--ports", "a", "--controller", "tls:h", "--tls-ca", "none"],
            "cannot use none",
        ),
        (
            &["--ports", "a", "--listen", "tls:h", "--tls-key", "letter"],
            "belong together",
        ),
        (&["show"], "<TOPIC>"),
        (&["show", "weather"], "weather"),
    ] {
        let arguments = [&["switch"], arguments].concat();
        workplace.run(&arguments).is_refused(saying);
    }
}

#[test]
fn what_the_machine_lacks_is_said_in_one_sentence() {
    let workplace = Workplace::new();
    workplace.write("letter", "Dear");

    for (arguments, saying) in [
        (&["switch", "--ports", "none"][..], "no interface `none`"),
        (
            &["switch", "--ports", "a-name-that-is-too-long"],
            "no interface `a-name-that-is-too-long`",
        ),
        (
            &["switch", "show", "flows", "--control", "nowhere.sock"],
            "no switch at nowhere.sock",
        ),
        (
            &["switch", "show", "flows", "--control", "letter"],
            "no switch at letter",
        ),
    ] {
        let ended = workplace.run(arguments);

        assert_eq!(ended.code, Some(4), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(saying), "{}", ended.stderr);
    }
}

#[test]
fn more_controllers_than_a_switch_serves_are_refused() {
    let workplace = Workplace::new();
    let controllers = ["tcp:10.0.0.1"; 16].join(",");

    let ended = workplace.run(&["switch", "--ports", "a", "--controller", &controllers]);

    ended.is_refused("16 controllers and addresses to listen on are more than 15");
}

#[test]
fn without_the_privilege_it_says_which_one_is_missing() {
    let Some(bed) = Testbed::or_skip("without_the_privilege_it_says_which_one_is_missing", 1)
    else {
        return;
    };
    let mut shell = Command::new("setpriv");
    shell
        .args(["--inh-caps=-all", "--bounding-set=-all"])
        .arg(env!("CARGO_BIN_EXE_taktos"))
        .args(["switch", "--ports", "s1"]);
    let mut shell = bed.workplace.prepare(shell);
    let Ok(output) = bed.room.run(|| shell.output()) else {
        // Not `eprintln!`: the test harness would swallow it.
        let _ = writeln!(
            io::stderr(),
            "\nSKIPPED without_the_privilege: needs setpriv\n"
        );
        return;
    };

    let ended = Ended::from(output);

    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("CAP_NET_RAW"), "{}", ended.stderr);
}

#[test]
fn what_is_taken_is_named_and_left_alone() {
    let test = "what_is_taken_is_named_and_left_alone";
    let Some(bed) = Testbed::or_skip(test, 4) else {
        return;
    };
    let listen = ["--listen", "tcp:127.0.0.1:6653"];
    let running = bed.start(&[&["--ports", "s1,s2"][..], &listen].concat());

    let same_socket = bed.begin(&["--ports", "s3,s4"]).end();
    let elsewhere = bed.workplace.path("other.sock").display().to_string();
    let other = ["--ports", "s3,s4", "--control", &elsewhere];
    let mut command = bed
        .workplace
        .taktos([&["switch"], &other[..], &listen].concat());
    let same_address = bed.room.run(|| command.output()).unwrap();

    assert_eq!(same_socket.code, Some(4));
    assert!(
        same_socket.stderr.contains("another --control"),
        "{}",
        same_socket.stderr
    );
    assert_eq!(same_address.status.code(), Some(4));
    let said = String::from_utf8(same_address.stderr).unwrap();
    assert!(
        said.contains("cannot listen on tcp:127.0.0.1:6653"),
        "{said}"
    );
    bed.connect(6653).pass_barrier();
    assert_eq!(stop(running).code, Some(0));
}
