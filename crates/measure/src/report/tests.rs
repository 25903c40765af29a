//! What a reader, a program and an attacker find in a report.

mod example;

use serde_json::Value;

use super::text::Details;
use super::*;
use example::{broken, exceeded, substation, with_levels};

#[test]
fn the_same_run_gives_the_same_bytes() {
    let (one, other) = (substation(), substation());

    assert_eq!(
        one.to_json(ShownFlows::Worst),
        other.to_json(ShownFlows::Worst)
    );
    assert_eq!(
        one.document(Details::Few, ShownFlows::Worst).to_page(),
        other.document(Details::Few, ShownFlows::Worst).to_page()
    );
    assert_eq!(
        one.document(Details::Few, ShownFlows::Worst).to_text(),
        other.document(Details::Few, ShownFlows::Worst).to_text()
    );
}

#[test]
fn the_json_has_the_keys_that_programs_rely_on() {
    let document: Value = serde_json::from_str(&substation().to_json(ShownFlows::Worst)).unwrap();

    for key in [
        "scenario", "world", "seed", "verdict", "flows", "events", "platform",
    ] {
        assert!(!document[key].is_null(), "{key}");
    }
    let flow = &document["flows"][0];
    for key in [
        "name",
        "admitted",
        "path",
        "deadline_ns",
        "guarantee_ns",
        "sent",
        "received",
        "lost",
        "duplicates",
        "late",
        "stalled",
        "skipped",
        "protection",
        "interruption_ns",
        "histogram",
    ] {
        assert!(!flow[key].is_null(), "{key}");
    }
    for key in ["min", "mean", "p50", "p99", "p999", "max"] {
        assert!(flow["latency_ns"][key].is_u64(), "{key}");
    }
    assert!(flow["reason"].is_null() && flow.get("reason").is_some());
    assert_eq!(document["verdict"], "held");
    assert!(document["events"][0]["outage_ns"]["sv-mu1"].is_u64());
    assert!(document["platform"]["stall_ns"]["p999"].is_u64());
    assert!(document["platform"]["stall_ns"]["max"].is_u64());
    assert!(document["platform"]["interruption_ns"]["max"].is_u64());
    assert!(document.get("machine").is_none());
}

#[test]
fn json_breaks_lines_for_people_and_keeps_histograms_together() {
    let json = substation().to_json(ShownFlows::Worst);

    assert!(json.starts_with("{\n  \"verdict\": \"held\",\n"));
    assert!(json.contains("\n      \"name\": \"sv-mu1\",\n"));
    let histogram = json
        .lines()
        .find(|line| line.contains("\"histogram\""))
        .unwrap();
    assert!(histogram.ends_with("]],"), "{histogram}");
}

#[test]
fn the_terminal_shows_a_line_a_flow_and_the_outcome() {
    let text = substation()
        .document(Details::Few, ShownFlows::Worst)
        .to_text();

    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("flow "));
    assert_eq!(lines.len(), 1 + 9 + 1 + 1);
    let cells: Vec<&str> = lines[1].split_whitespace().collect();
    assert_eq!(cells[..5], ["sv-mu1", "2.00", "ms", "0.81", "ms"]);
    assert!(
        lines[1].ends_with("held (interruption 3.25 ms of 10 ms, 5 stalled, up to 2.20 ms)"),
        "{}",
        lines[1]
    );
    assert!(lines[9].contains("refused (link s2-s3 has 8.2 of the 20 Mbit/s left"));
    assert!(lines[10].starts_with("Every deadline holds if switches take up to 1.4 times"));
    assert_eq!(
        lines[11],
        "Every promise held. Smallest safety factor 2.1 (trip-b3). The machine took a processor \
         away 3 times, for 1.90 ms at most: 16 frames set apart."
    );
}

#[test]
fn details_are_a_second_table() {
    let text = substation()
        .document(Details::All, ShownFlows::Worst)
        .to_text();

    let details = text.lines().skip(11);
    let line = details.clone().find(|line| line.starts_with("sv-mu1"));
    let cells: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(cells[1], "SV");
    assert_eq!(cells[4], "120000", "sent");
    assert!(details.clone().any(|line| line.contains("beyond contract")));
}

/// Ten thousand rows and 65 MB were what a run of ten thousand flows left.
#[test]
fn of_many_flows_the_worst_are_shown_and_what_all_come_to() {
    let mut report = substation();
    let pattern = report.flows[0].clone();
    report.flows = (0..10_000)
        .map(|number| {
            let mut flow = pattern.clone();
            flow.facts.name = format!("flow-{number}");
            flow.facts.queue = Some(if number % 2 == 0 { 5 } else { 3 });
            flow
        })
        .collect();
    report.flows[7_000].verdict = Verdict::Broken;
    report.flows[7_000].breaches = vec!["3 lost".to_owned()];
    report.flows[300].verdict = Verdict::NotJudged;

    let text = report.document(Details::Few, ShownFlows::Worst).to_text();
    let page = report.document(Details::Few, ShownFlows::Worst).to_page();

    let lines: Vec<_> = text.lines().collect();
    assert!(lines.len() < 60, "{}", lines.len());
    assert!(
        lines[1].starts_with("flow-7000 ") && lines[2].starts_with("flow-300 "),
        "{text}"
    );
    assert!(text.contains("9960 flows that are better off"), "{text}");
    let sums: Vec<Vec<_>> = lines
        .iter()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let of_queue = |queue: &str| {
        let found = sums.iter().find(|cells| cells.starts_with(&["SV", queue]));
        found.unwrap_or_else(|| panic!("{text}"))[2..6].join(" ")
    };
    assert_eq!(of_queue("5"), "5000 4998 1 0");
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains("flow-7000") && page.contains("id=\"sums\""));
    assert!(!page.contains("flow-9999<"));
    let all = report.document(Details::Few, ShownFlows::All).to_text();
    assert!(all.lines().count() > 10_000 && !all.contains("better off"));
    let few = substation();
    assert!(
        !few.document(Details::Few, ShownFlows::Worst)
            .to_page()
            .contains("id=\"sums\"")
    );
}

/// The deadline was promised, and not the bound: that is a warning with what to do.
#[test]
fn a_bound_that_did_not_hold_is_a_warning() {
    let report = exceeded();

    assert_eq!(report.verdict(), RunVerdict::Exceeded);
    assert!(
        report
            .to_json(ShownFlows::Worst)
            .starts_with("{\n  \"verdict\": \"exceeded\",\n")
    );
    let text = report.document(Details::Few, ShownFlows::Worst).to_text();
    let line = text.lines().find(|line| line.starts_with("trip-b3"));
    assert!(line.unwrap().contains("held, model exceeded ("), "{text}");
    let summary = report.summary();
    assert!(summary.starts_with("Every promise held. Warning: 1 flow was later"));
    assert!(summary.contains("--profile measured"), "{summary}");
    let flow = &report.flows[3];
    assert!(flow.exceeded.unwrap().count > 0 && flow.missed_deadline == 0);
    assert!(flow.breaches.is_empty());
}

#[test]
fn a_bound_that_is_no_worst_case_says_so() {
    let mut report = substation();
    assert!(
        !report
            .document(Details::Few, ShownFlows::Worst)
            .to_text()
            .contains("statistical")
    );
    report.profiles = vec![ProfileReport {
        name: "taktos-kernel, measured here".to_owned(),
        switches: 4,
        origin: ProfileOrigin::Measured,
        about: "a switch".to_owned(),
        latency_ns: 18_000,
        per_frame_ns: 900,
        statistical: Some(Statistical {
            one_in: 100_000,
            confidence_percent: 95,
            cover_ns: 212_000,
            about: "measured under load".to_owned(),
        }),
        measured: None,
        instead: None,
    }];

    let said = "bound (statistical: q 99.999 %, confidence 95 %): of it 0.21 ms once";
    assert!(
        report
            .document(Details::Few, ShownFlows::Worst)
            .to_text()
            .contains(said)
    );
    assert!(
        report
            .document(Details::Few, ShownFlows::Worst)
            .to_page()
            .contains(said)
    );
    assert!(
        report
            .to_json(ShownFlows::Worst)
            .contains("\"confidence_percent\": 95")
    );
}

#[test]
fn a_run_of_which_most_is_unknown_is_not_judged() {
    let mut report = substation();
    for flow in report.flows.iter_mut().take(4) {
        flow.verdict = Verdict::NotJudged;
        (flow.skipped, flow.unseen, flow.not_judged) = (70_000, 9, 70_009);
    }

    assert_eq!(report.verdict(), RunVerdict::NotJudged);
    assert!(
        report
            .to_json(ShownFlows::Worst)
            .contains("\"verdict\": \"not-judged\"")
    );
    let summary = report.summary();
    assert!(summary.starts_with("Nothing can be said of most promises."));
    assert!(summary.contains("4 of 7 promises are not judged: 280000 frames were not sent"));
    report.flows[0].verdict = Verdict::Held;
    assert_eq!(report.verdict(), RunVerdict::Held, "three of seven");
    report.flows[0].verdict = Verdict::Broken;
    assert_eq!(report.verdict(), RunVerdict::Broken);
}

#[test]
fn a_run_with_levels_shows_each_change_and_each_flow_at_each_level() {
    let report = with_levels();

    let text = report.document(Details::Few, ShownFlows::Worst).to_text();
    let html = report.document(Details::Few, ShownFlows::Worst).to_page();
    let document: Value = serde_json::from_str(&report.to_json(ShownFlows::Worst)).unwrap();

    assert!(text.contains("Levels lo, hi (taktos)."), "{text}");
    let change = "hi at 9000.00 ms, by s1: 4 switches after 0.10 ms (bound 2.13 ms)";
    assert!(text.contains(change), "{text}");
    assert!(
        text.contains("Signals: 6 sent, 6 counted, 3 refused;"),
        "{text}"
    );
    let given_up = text.lines().find(|line| line.contains("hi (not served)"));
    assert!(given_up.is_some_and(|line| line.ends_with("288")), "{text}");
    assert_eq!(html.matches("class=\"entered\"").count(), 8);
    assert_eq!(html.matches("class=\"given-up\"").count(), 1);
    assert_eq!(html.matches("class=\"violation\"").count(), 1);
    assert!(html.contains("3 forged"));
    let change = &document["modes"]["changes"][0];
    assert_eq!(change["entered"][3]["after_ns"], 104_000);
    assert_eq!(document["modes"]["signals"][0]["refused"]["forged"], 3);
    let level = &document["flows"][7]["levels"][1];
    assert_eq!(
        (&level["served"], &level["given_up"]),
        (&Value::Bool(false), &288.into())
    );
    assert!(level["highest_ns"].is_u64() && level["guarantee_ns"].is_null());
}

#[test]
fn a_network_without_levels_has_no_word_of_them() {
    let report = substation();

    assert!(
        !report
            .document(Details::Few, ShownFlows::Worst)
            .to_page()
            .contains("id=\"modes\"")
    );
    assert!(!report.to_json(ShownFlows::Worst).contains("\"levels\""));
    assert!(
        !report
            .document(Details::Few, ShownFlows::Worst)
            .to_text()
            .contains("Levels")
    );
}

#[test]
fn a_broken_promise_is_named_with_its_reason() {
    let report = broken();

    assert_eq!(report.verdict(), RunVerdict::Broken);
    let summary = report.summary();
    assert!(
        summary.starts_with("2 of 7 promises were broken: sv-mu1 (interrupted for "),
        "{summary}"
    );
    assert_eq!(report.by_margin()[0].verdict, Verdict::Broken);
}

#[test]
fn whoever_broke_promises_is_named_in_text_json_and_page() {
    let mut report = broken();
    report.culprits = vec![CulpritReport {
        kind: CulpritKind::Switch,
        name: "s2".to_owned(),
        since_ns: 2_013_400_000,
        by_ns: Some(118_000),
        by_is_mean: false,
        seen: 500,
        frames: 412,
        flows: ["sv-mu1", "sv-mu2", "trip-b1"].map(str::to_owned).to_vec(),
    }];

    let document = report.document(Details::Few, ShownFlows::Worst);
    let json: Value = serde_json::from_str(&report.to_json(ShownFlows::Worst)).unwrap();

    // Between these stands a time, which people read with a µ.
    for said in [
        "Late or lost frames of 3 flows: switch s2 took 118 ",
        "at most beyond its profile from 2.013 s on (412 frames).",
    ] {
        assert!(document.to_text().contains(said), "{said}");
        assert!(document.to_page().contains(said), "{said}");
    }
    assert_eq!(json["culprits"][0]["kind"], "switch");
    assert_eq!(json["culprits"][0]["by_ns"], 118_000);
}

#[test]
fn who_harms_nobody_is_a_warning_and_a_wrong_calculation_is_loud() {
    let harmless = CulpritReport {
        kind: CulpritKind::Foreign,
        name: "h1".to_owned(),
        since_ns: 0,
        by_ns: None,
        by_is_mean: false,
        seen: 7,
        frames: 0,
        flows: Vec::new(),
    };
    let nobody = CulpritReport {
        kind: CulpritKind::Nobody,
        frames: 1,
        flows: vec!["sv".to_owned()],
        ..harmless.clone()
    };

    assert_eq!(
        harmless.sentence(),
        "Warning: host h1 sent 7 frames of no admitted flow from 0.000 s on; no promised frame \
         was late or lost by it."
    );
    assert!(nobody.sentence().contains("NOBODY is to blame"));
}

#[test]
fn a_run_of_refusals_alone_is_refused() {
    let mut report = substation();
    report.flows.retain(|flow| !flow.admitted);

    assert_eq!(report.verdict(), RunVerdict::Refused);
    assert_eq!(
        report.summary().split('.').next(),
        Some("No flow was admitted")
    );
}

#[test]
fn a_run_cut_short_says_so() {
    let mut report = substation();
    report.completion = Completion::Partial;
    report.duration_ns = 12_300_000_000;

    assert!(
        report
            .summary()
            .starts_with("The run was interrupted after 12300.00 ms.")
    );
    assert!(
        report
            .to_json(ShownFlows::Worst)
            .contains("\"completion\": \"partial\"")
    );
}

#[test]
fn a_run_that_somebody_touched_says_so_in_its_verdict_and_others_say_nothing() {
    let untouched = substation();
    let mut touched = substation();
    touched.by_hand = ["change-cable s1-s2 cut", "b", "c", "d"]
        .map(String::from)
        .to_vec();
    touched.events[0].is_by_hand = true;

    let summary = touched.summary();
    assert!(
        summary.contains("Touched by hand 4 times, so that another run may end otherwise: change-cable s1-s2 cut, b, c, 1 more."),
        "{summary}"
    );
    let page = touched.document(Details::Few, ShownFlows::Worst).to_page();
    assert!(page.contains("s1-s2 cut by hand") && page.contains("Touched by hand"));
    let json = untouched.to_json(ShownFlows::Worst);
    assert!(!untouched.summary().contains("by hand") && !json.contains("\"by_hand\""));
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let html = substation()
        .document(Details::Few, ShownFlows::Worst)
        .to_page();

    for outside in ["http://", "https://", "src=", "@import", "url(", "<link"] {
        assert!(!html.contains(outside), "{outside}");
    }
    for part in [
        "margins",
        "network",
        "time-line",
        "distributions",
        "events",
        "flows",
        "calculation",
        "platform",
    ] {
        assert!(html.contains(&format!("id=\"{part}\"")), "{part}");
    }
}

#[test]
fn hostile_names_stay_names() {
    let hostile = "<script>alert(1)</script>\"'&";
    let mut report = substation();
    report.title = hostile.to_owned();
    report.world = hostile.to_owned();
    report.assumptions = vec![hostile.to_owned()];
    report.platform.notes = vec![hostile.to_owned()];
    report.versions = BTreeMap::from([(hostile.to_owned(), hostile.to_owned())]);
    report.machine = Some(report.versions.clone());
    for flow in &mut report.flows {
        flow.facts.name = hostile.to_owned();
        flow.facts.source = hostile.to_owned();
        flow.facts.destinations = vec![hostile.to_owned()];
        flow.reason = Some(hostile.to_owned());
        for row in &mut flow.facts.calculation {
            row.at = hostile.to_owned();
            row.formula = hostile.to_owned();
        }
    }
    report.culprits = vec![CulpritReport {
        kind: CulpritKind::Source,
        name: hostile.to_owned(),
        since_ns: 0,
        by_ns: None,
        by_is_mean: false,
        seen: 1,
        frames: 1,
        flows: vec![hostile.to_owned()],
    }];
    for node in &mut report.topology.nodes {
        node.name = hostile.to_owned();
    }
    for link in &mut report.topology.links {
        (link.name, link.a, link.b) = (hostile.to_owned(), hostile.to_owned(), hostile.to_owned());
    }
    for event in &mut report.events {
        event.target = hostile.to_owned();
        event.outage_ns = BTreeMap::from([(hostile.to_owned(), 1)]);
    }

    let html = report.document(Details::Few, ShownFlows::Worst).to_page();

    assert_eq!(html.matches("<script>").count(), 1);
    assert!(!html.contains("alert(1)</script>"));
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;"));
}

#[test]
fn an_empty_report_is_a_page_and_a_table_too() {
    let mut report = substation();
    report.flows.clear();
    report.events.clear();
    report.topology = Topology::default();

    assert!(
        report
            .document(Details::Few, ShownFlows::Worst)
            .to_page()
            .contains("Nothing was promised.")
    );
    assert!(
        report
            .document(Details::Few, ShownFlows::Worst)
            .to_text()
            .ends_with("1.90 ms at most: 0 frames set apart.\n")
    );
}
