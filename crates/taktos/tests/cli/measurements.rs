//! `taktos measure`: documents that can be read again, and plans that are resumed.

use measure::measurement::Measurement;

use crate::workplace::Workplace;

const PLAN: [&str; 8] = [
    "measure",
    "jitter",
    "emulated:zodiac-fx",
    "--quick",
    "--duration",
    "100 ms",
    "--journal",
    "plan.journal",
];

#[test]
fn a_measurement_is_written_for_people_browsers_spreadsheets_and_programs() {
    let workplace = Workplace::new();

    let ended = workplace.run(&[&PLAN[..6], &["--json", "--out", "found"]].concat());

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let printed = Measurement::from_json(&ended.stdout).unwrap();
    assert!(printed.quick && printed.method == "jitter");
    let file = |name: &str| std::fs::read_to_string(workplace.path("found").join(name)).unwrap();
    assert_eq!(file("measurement.json"), ended.stdout);
    assert!(file("measurement.html").trim_end().ends_with("</html>"));
    assert!(file("measurement.csv").starts_with("device,method"));
    assert!(file("measurement.txt").contains("no figure for publication"));
}

#[test]
fn a_plan_is_resumed_from_its_journal_and_no_other() {
    let workplace = Workplace::new();
    let first = workplace.run(&PLAN);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let kept = std::fs::read_to_string(workplace.path("plan.journal")).unwrap();
    assert_eq!(kept.lines().count(), 2);

    let resumed = workplace.run(&PLAN);

    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(
        resumed
            .stdout
            .contains("1 points were measured by an earlier run")
    );
    let after = std::fs::read_to_string(workplace.path("plan.journal")).unwrap();
    assert_eq!(after, kept, "nothing was measured again");
    let other = workplace.run(&[&PLAN[..], &["--seed", "2"]].concat());
    assert_eq!(other.code, Some(2), "{}", other.stderr);
    assert!(
        other.stderr.contains("the seed was 1 and is 2"),
        "{}",
        other.stderr
    );
}
