//! `taktos check --explain`: why a flow has its guarantee, or none.

use serde_json::Value;

use crate::workplace::{Workplace, scenario};

#[test]
fn a_promise_is_explained_hop_by_hop() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["check", "pair.toml", "--explain", "control"]);

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for words in [
        "guarantee ",
        "first link",
        "s1 to s2",
        "in the way",
        "without promise",
        "What would have to change",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert_fits_the_screen(&ended.stdout);
}

#[test]
fn shares_add_up_to_the_guarantee_and_no_hop_now_exceeds_its_budget() {
    let workplace = Workplace::new();
    let file = scenario("substation.toml");

    let ended = workplace.run(&["check", &file, "--json", "--explain", "trip-b2"]);

    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    let explained = &found["explanations"][0];
    assert_eq!(explained["name"], "trip-b2");
    let ns = |value: &Value| value.as_u64().unwrap();
    let (guarantee, unbroken) = (
        ns(&explained["guarantee_ns"]),
        ns(&explained["unbroken_ns"]),
    );
    assert!(
        unbroken < guarantee,
        "the way around a broken link is longer"
    );
    assert!(explained["reached_after"].is_string());
    let hops = explained["hops"].as_array().unwrap();
    let on_way = hops.iter().filter(|hop| hop["share_thousandths"].is_u64());
    let sum = on_way.fold(ns(&explained["first_link_ns"]), |sum, hop| {
        sum + ns(&hop["budget_ns"]) + ns(&hop["propagation_ns"])
    });
    let rounding = hops.len() as u64 + 1;
    assert!(sum.abs_diff(unbroken) <= rounding, "{sum} and {unbroken}");
    for hop in hops {
        assert!(ns(&hop["needed_ns"]) <= ns(&hop["budget_ns"]), "{hop}");
        assert!(ns(&hop["now_ns"]) <= ns(&hop["needed_ns"]), "{hop}");
    }
    for flow in found["flows"].as_array().unwrap() {
        if let Some(now) = flow["now_ns"].as_u64() {
            assert!(now <= ns(&flow["now_any_failure_ns"]), "{flow}");
            assert!(
                ns(&flow["now_any_failure_ns"]) <= ns(&flow["guarantee_ns"]),
                "{flow}"
            );
        }
    }
    let stages = found["stages"].as_array().unwrap();
    assert!(
        stages
            .iter()
            .any(|stage| stage["stage"] == "s4 to s1" && stage["class"] == 6)
    );
}

#[test]
fn a_refusal_says_what_would_have_to_change() {
    let workplace = Workplace::new();
    let file = scenario("refused.toml");

    let ended = workplace.run(&["check", &file, "--explain", "camera"]);

    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    for words in [
        "camera: refused",
        "s1 to s2: class 3 and those above need 105005120 bit/s",
        "missed by 5005120 bit/s",
        "control 10 Mbit/s (class 3)",
        // What fixed budgets admit only if they are made larger.
        "- a rate of no more than 89.15 Mbit/s: guarantee 5 ms",
        "- without control: ",
        "- s1 to s2 at 1 Gbit/s, s2 to s3 at 1 Gbit/s, s3 to h3 at 1 Gbit/s",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert_fits_the_screen(&ended.stdout);
}

#[test]
fn an_unknown_flow_is_answered_with_the_nearest_name() {
    let workplace = Workplace::new();

    let ended = workplace.run(&["check", "pair.toml", "--explain", "controll"]);

    ended.is_refused("no flow is named `controll`: did you mean `control`?");
}

fn assert_fits_the_screen(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}
