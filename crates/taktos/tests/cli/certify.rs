//! Certificates, written and checked.

use serde_json::Value;

use crate::workplace::{Workplace, scenario};

/// S4-11.
#[test]
fn what_is_certified_is_proven_and_any_change_is_refused() {
    let workplace = Workplace::new();
    let file = scenario("refused.toml");

    let written = workplace.run(&["certify", &file, "--json"]);

    // Two of its three flows are admitted.
    assert_eq!(written.code, Some(3), "{}", written.stderr);
    workplace.write("certificate.json", &written.stdout);
    let proven = workplace.run(&["verify", "certificate.json", "--json"]);
    assert_eq!(proven.code, Some(0), "{}", proven.stderr);
    let document: Value = serde_json::from_str(&proven.stdout).unwrap();
    assert_eq!(document["verdict"], "proven");
    let flows = document["flows"].as_array().unwrap();
    let trip = flows.iter().find(|flow| flow["name"] == "trip").unwrap();
    let checked = workplace.run(&["check", &file, "--json"]);
    let checked: Value = serde_json::from_str(&checked.stdout).unwrap();
    let promised = checked["flows"].as_array().unwrap().iter();
    let promised = promised
        .clone()
        .find(|flow| flow["name"] == "trip")
        .unwrap();
    assert_eq!(trip["guarantee_ns"], promised["guarantee_ns"]);

    let digits = written
        .stdout
        .char_indices()
        .filter(|(_, letter)| letter.is_ascii_digit());
    let digits: Vec<_> = digits.collect();
    for (at, digit) in digits.iter().step_by(digits.len() / 5) {
        let mut changed = written.stdout.clone();
        let other = if *digit == '7' { "3" } else { "7" };
        changed.replace_range(*at..at + 1, other);
        workplace.write("changed.json", &changed);

        let refused = workplace.run(&["verify", "changed.json"]);

        assert!(
            matches!(refused.code, Some(2 | 3)),
            "byte {at}: {}",
            refused.stdout
        );
        assert!(refused.stderr.contains("is refused"), "{}", refused.stderr);
    }
}

/// S4-11, of what is turned back and what goes two ways.
#[test]
fn flows_that_switches_protect_are_certified_and_compared() {
    let workplace = Workplace::new();
    for name in ["fast-failover.toml", "heart-beat.toml", "seamless.toml"] {
        let file = scenario(name);

        let written = workplace.run(&["certify", &file, "--out", "certificate.json"]);

        assert_eq!(written.code, Some(0), "{name}: {}", written.stderr);
        let verify = ["verify", "certificate.json", "--against", &file];
        let proven = workplace.run(&verify);
        assert_eq!(proven.code, Some(0), "{name}: {}", proven.stderr);
    }
}

/// A limit of the length of files stands for a disk that is full.
#[test]
fn a_certificate_for_which_there_is_no_space_leaves_the_one_that_was_there() {
    let workplace = Workplace::new();
    let file = scenario("refused.toml");
    let taktos = env!("CARGO_BIN_EXE_taktos");
    workplace.write("certificate.json", "the one before");
    let limited =
        format!("trap '' XFSZ; ulimit -f 1; exec {taktos} certify {file} --out certificate.json");

    let mut shell = std::process::Command::new("sh");
    let shell = shell
        .args(["-c", &limited])
        .current_dir(workplace.path("."));
    let output = shell.output().unwrap();

    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("cannot write certificate.json"), "{said}");
    let left = std::fs::read_to_string(workplace.path("certificate.json"));
    assert_eq!(left.unwrap(), "the one before");
    let parts = workplace.path(".").read_dir().unwrap();
    let parts = parts.filter(|it| it.as_ref().unwrap().path().extension() == Some("part".as_ref()));
    assert_eq!(parts.count(), 0);
}

/// A board that may be flooded promises nothing, and nobody asked it to.
const FLOODED_ASIDE: &str = r#"
[scenario]
title = "A flooded board beside"
duration = "1 s"

[switches]
s1 = { profile = "line-rate" }
slow = { profile = "zodiac-fx" }

[hosts]
h1 = { at = "s1" }
h2 = { at = "s1" }
h3 = { at = "slow" }
h4 = { at = "slow" }

[links]
trunk = ["s1", "slow"]

[flows.trip]
kind = "udp"
from = "h1"
to = "h2"
frame = "160 B"
rate = "1 Mbit/s"
deadline = "5 ms"

[flows.flood]
kind = "best-effort"
from = "h3"
to = "h4"
frame = "60 B"
"#;

#[test]
fn a_stage_that_no_promised_flow_passes_refuses_no_certificate() {
    let workplace = Workplace::new();
    workplace.write("aside.toml", FLOODED_ASIDE);

    let written = workplace.run(&["certify", "aside.toml", "--out", "aside.json"]);
    let proven = workplace.run(&["verify", "aside.json"]);

    assert!(
        written.stdout.contains("certificate: "),
        "{}",
        written.stderr
    );
    assert_eq!(proven.code, Some(0), "{}{}", proven.stdout, proven.stderr);
    assert!(proven.stdout.contains("trip"), "{}", proven.stdout);
}

/// S4-11: the scanner may take its whole deadline at the higher level, a change included.
#[test]
fn a_network_with_levels_is_proven_at_each_of_them() {
    let workplace = Workplace::new();
    let file = scenario("emergency-braking.toml");

    let written = workplace.run(&["certify", &file, "--out", "levels.json"]);
    let proven = workplace.run(&["verify", "levels.json", "--against", &file, "--json"]);

    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(proven.code, Some(0), "{}{}", proven.stdout, proven.stderr);
    let document: Value = serde_json::from_str(&proven.stdout).unwrap();
    let flows = document["flows"].as_array().unwrap().iter();
    let told = flows.map(|flow| {
        let text = |key: &str| flow[key].as_str().unwrap().to_owned();
        (
            text("name"),
            text("level"),
            flow["deadline_ns"].as_u64().unwrap(),
        )
    });
    let ms = 1_000_000;
    let expected = [
        ("lidar", "lo", 25 * ms),
        ("stream", "lo", 40 * ms),
        ("cam", "lo", 200 * ms),
        ("lidar", "hi", 25 * ms),
        ("cam", "hi", 22 * ms),
    ];
    let expected = expected.map(|(name, level, ns)| (name.to_owned(), level.to_owned(), ns));
    assert_eq!(told.collect::<Vec<_>>(), expected);
    assert_eq!(document["differences"], Value::Array(Vec::new()));
    let assumed = document["assumed"].as_array().unwrap().iter();
    let assumed: Vec<_> = assumed.filter_map(Value::as_str).collect();
    assert!(
        assumed
            .iter()
            .any(|it| it.contains("While the level changes")),
        "{assumed:?}"
    );
}

#[test]
fn a_certificate_of_another_network_is_told_from_this_one() {
    let workplace = Workplace::new();
    let file = scenario("diamond.toml");
    workplace.run(&["certify", &file, "--out", "diamond.json"]);

    let same = workplace.run(&["verify", "diamond.json", "--against", &file]);
    let other = workplace.run(&["verify", "diamond.json", "--against", "pair.toml"]);
    let nobody = workplace.run(&["verify", "diamond.json", "--against", "http://127.0.0.1:1"]);

    assert_eq!(same.code, Some(0), "{}", same.stdout);
    assert!(same.stdout.contains("The same as"), "{}", same.stdout);
    assert_eq!(other.code, Some(3), "{}", other.stdout);
    assert!(other.stdout.contains("flow `sv`: "), "{}", other.stdout);
    assert!(other.stdout.contains("Not the same as"), "{}", other.stdout);
    assert_ne!(nobody.code, Some(0), "{}", nobody.stdout);
    assert!(
        nobody.stderr.contains("no controller answers"),
        "{}",
        nobody.stderr
    );
}

#[test]
fn a_certificate_without_flows_proves_nothing() {
    let workplace = Workplace::new();
    let written = workplace.run(&["certify", &scenario("diamond.toml"), "--json"]);
    let mut certificate = certificate::Certificate::read(&written.stdout).unwrap();
    certificate.flows.clear();
    workplace.write("empty.json", certificate.seal().write());

    let ended = workplace.run(&["verify", "empty.json"]);

    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stdout.contains("proves nothing"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("Proven"), "{}", ended.stdout);
}

/// RFC 8410 section 10.1 and 10.3.
const PRIVATE_KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
-----END PRIVATE KEY-----
";
const PUBLIC_KEY: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
";
const OTHER_KEY: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";

#[test]
fn a_certificate_is_refused_unless_it_was_signed_by_whom_it_should() {
    let workplace = Workplace::new();
    let file = scenario("diamond.toml");
    workplace.write("key.pem", PRIVATE_KEY);
    workplace.write("public.pem", PUBLIC_KEY);
    workplace.write("other.pem", OTHER_KEY);
    workplace.run(&["certify", &file, "--out", "open.json"]);
    let arguments = ["certify", &file, "--out", "signed.json", "--sign-with"];
    let signed = workplace.run(&[&arguments[..], &["key.pem"]].concat());
    let unusable = workplace.run(&[&arguments[..], &["public.pem"]].concat());
    let verify = |file: &str, key: &str| workplace.run(&["verify", file, "--signed-by", key]);
    let text = std::fs::read_to_string(workplace.path("signed.json")).unwrap();
    let mut altered = certificate::Certificate::read(&text).unwrap();
    let signature = altered.signature.clone();
    altered.network.name = "other".to_owned();
    altered = altered.seal();
    altered.signature = signature;
    workplace.write("altered.json", altered.write());

    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    assert_eq!(unusable.code, Some(2), "{}", unusable.stderr);
    let right = verify("signed.json", "public.pem");
    assert_eq!(right.code, Some(0), "{}", right.stderr);
    assert!(
        right.stdout.contains("Signed with this key"),
        "{}",
        right.stdout
    );
    for (file, key, why) in [
        ("signed.json", "other.pem", "not of this key"),
        ("altered.json", "public.pem", "not of this key"),
        ("open.json", "public.pem", "nobody signed it"),
    ] {
        let refused = verify(file, key);
        assert_eq!(refused.code, Some(3), "{file} {key}: {}", refused.stdout);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    let no_key = verify("signed.json", "pair.toml");
    assert_eq!(no_key.code, Some(2), "{}", no_key.stdout);
    assert!(no_key.stderr.contains("openssl"), "{}", no_key.stderr);
    assert_eq!(workplace.run(&["verify", "signed.json"]).code, Some(0));
}

#[test]
fn names_in_a_certificate_command_no_terminal() {
    let workplace = Workplace::new();
    let written = workplace.run(&["certify", &scenario("diamond.toml"), "--json"]);
    let mut certificate = certificate::Certificate::read(&written.stdout).unwrap();
    certificate.flows[0].demand.name = "\u{1b}[2Jgone".to_owned();
    workplace.write("loud.json", certificate.seal().write());

    let ended = workplace.run(&["verify", "loud.json"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.contains('\u{1b}'), "{:?}", ended.stdout);
    assert!(ended.stdout.contains("gone"), "{}", ended.stdout);
}

#[test]
fn a_certificate_is_written_where_it_was_asked_for() {
    let workplace = Workplace::new();
    let file = scenario("diamond.toml");
    let out = "deep/down/diamond.json";

    let written = workplace.run(&["certify", &file, "--out", out]);
    let beside = workplace.run(&["certify", &file, "--report", "folder"]);
    assert_eq!(beside.code, Some(0), "{}", beside.stderr);
    assert!(workplace.has("folder/certificate.json"));
    let proven = workplace.run(&["verify", out]);

    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(written.stdout.contains(out), "{}", written.stdout);
    assert!(proven.stdout.contains("Proven: "), "{}", proven.stdout);
}

#[test]
fn a_device_that_takes_no_certificate_is_said_and_stays() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["certify", &scenario("diamond.toml"), "--out", "/dev/full"]);

    assert_eq!(ended.code, Some(2), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("cannot write /dev/full"),
        "{}",
        ended.stderr
    );
    assert!(std::path::Path::new("/dev/full").exists());
}
