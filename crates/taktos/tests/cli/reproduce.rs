//! Experiments of papers, done again.

use serde_json::{Value, json};

use crate::workplace::Workplace;

#[test]
fn without_arguments_it_lists_what_can_be_reproduced() {
    let workplace = Workplace::new();

    let text = workplace.run(&["reproduce"]);
    let machine = workplace.run(&["reproduce", "--json"]);

    assert_eq!((text.code, machine.code), (Some(0), Some(0)));
    assert!(text.stdout.contains("table2"), "{}", text.stdout);
    let list: Value = serde_json::from_str(&machine.stdout).unwrap();
    let papers = list["papers"].as_array().unwrap();
    let loko = papers.iter().find(|paper| paper["paper"] == "loko");
    let experiments = loko.unwrap()["experiments"].as_array().unwrap();
    let names: Vec<_> = experiments.iter().map(|one| &one["experiment"]).collect();
    assert!(names.contains(&&json!("table2")), "{names:?}");
}

#[test]
fn an_experiment_is_one_json_document_with_the_keys_that_programs_rely_on() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["reproduce", "loko", "table2", "--json", "--seed", "7"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["paper"], "loko");
    assert_eq!(document["experiment"], "table2");
    assert_eq!(document["world"], "sim");
    assert_eq!(document["seed"], 7);
    let rows = document["rows"].as_array().unwrap();
    for row in rows {
        let keys: Vec<_> = row.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["quantity", "unit", "paper", "taktos", "note"]);
    }
    let delay = rows
        .iter()
        .find(|row| row["quantity"] == "full-rate max delay");
    let delay = delay.unwrap();
    assert_eq!(
        (&delay["paper"], &delay["unit"]),
        (&json!(1.86), &json!("ms"))
    );
    assert!((delay["taktos"].as_f64().unwrap() - 1.8612).abs() < 0.0001);
}

#[test]
fn the_text_sets_the_figure_of_the_paper_beside_ours() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["reproduce", "loko", "baselines"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let line = ended
        .stdout
        .lines()
        .find(|line| line.contains("Zodiac FX: guarantee over"));
    let words: Vec<_> = line.unwrap().split_whitespace().rev().take(3).collect();
    assert_eq!(words, ["agrees", "146.88", "146.9"]);
    assert!(
        ended.stdout.contains("prints 45 Mbit/s"),
        "{}",
        ended.stdout
    );
}

#[test]
fn a_name_that_nothing_has_is_answered_with_the_nearest() {
    let workplace = Workplace::new();
    for (arguments, nearest) in [
        (&["reproduce", "lokko"][..], "`loko`"),
        (&["reproduce", "loko", "tabel2"][..], "`table2`"),
    ] {
        let ended = workplace.run(arguments);

        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
        let asks = format!("did you mean {nearest}?");
        assert!(ended.stderr.contains(&asks), "{}", ended.stderr);
    }
}

#[test]
fn a_report_holds_the_same_document_and_a_page() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["reproduce", "loko", "model", "--json", "--out", "out"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let file = std::fs::read_to_string(workplace.path("out/report.json")).unwrap();
    assert_eq!(file, ended.stdout);
    let page = std::fs::read_to_string(workplace.path("out/report.html")).unwrap();
    assert!(page.contains("464") && page.trim_end().ends_with("</html>"));
}

#[test]
fn what_cannot_be_done_with_real_frames_is_refused_before_anything_starts() {
    let workplace = Workplace::new();

    let formula = workplace.run(&["reproduce", "loko", "table2", "--world", "lab"]);
    let device = workplace.run(&["reproduce", "sdn4ci", "fig3", "--world", "sim"]);

    assert_eq!((formula.code, device.code), (Some(2), Some(2)));
    assert!(
        formula
            .stderr
            .contains("loko table2 is not done with real frames"),
        "{}",
        formula.stderr
    );
    assert!(
        device.stderr.contains("real devices alone"),
        "{}",
        device.stderr
    );
}

/// S2-9, S2-10: a switch that changes by itself is done before one that a controller
/// changes.
#[test]
fn changes_of_mode_are_measured_with_real_frames() {
    let workplace = Workplace::new();

    let ended = workplace.run(&[
        "reproduce",
        "mc-sdn",
        "fig2",
        "--world",
        "lab",
        "--quick",
        "--json",
    ]);

    if ended.code == Some(4) {
        return crate::testbed::skip("changes_of_mode_are_measured_with_real_frames");
    }
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let document: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(document["world"], "lab");
    let value = |quantity: &str| {
        let rows = document["rows"].as_array().unwrap();
        let row = rows.iter().find(|row| row["quantity"] == quantity);
        row.and_then(|row| row["taktos"].as_f64())
            .unwrap_or_else(|| panic!("{quantity}: {rows:?}"))
    };
    let by_controller = value("Std-SDN: until it has changed, mean");
    let by_switch = value("the same switch with modes: until it has changed, mean");
    assert!(
        by_switch < by_controller,
        "{by_switch} ms, {by_controller} ms"
    );
}
