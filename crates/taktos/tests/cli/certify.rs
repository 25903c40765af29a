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

#[test]
fn a_certificate_is_written_where_it_was_asked_for() {
    let workplace = Workplace::new();
    let file = scenario("diamond.toml");
    let out = "deep/down/diamond.json";

    let written = workplace.run(&["certify", &file, "--out", out]);
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
