use super::*;

#[test]
fn half_of_the_last_digit_is_left_open() {
    for (text, value, covered) in [
        ("11.8", 11.8375, true),
        ("11.8", 11.85, true),
        ("11.8", 11.851, false),
        ("464", 463.6, true),
        ("464", 464.6, false),
        ("0.92", 0.915, true),
    ] {
        assert_eq!(Printed::new(text).covers(value), covered, "{text}, {value}");
    }
}

#[test]
fn ours_has_a_digit_more_than_the_paper_prints_and_four_unless_it_is_whole() {
    let with = |printed, value| Row::new("", "").printed(printed).ours(value).ours_as_text();

    assert_eq!(with("11.8", 11.8375), "11.84");
    assert_eq!(with("49.0", 48.96), "48.96");
    assert_eq!(with("146.9", 146.88), "146.88");
    assert_eq!(Row::new("", "").ours(5_918.8).ours_as_text(), "5919");
    assert_eq!(Row::new("", "").ours(0.079).ours_as_text(), "0.0790");
    assert_eq!(Row::new("", "").ours(0.0).ours_as_text(), "0");
    assert_eq!(with("25", 25.0), "25");
    assert_eq!(with("1.00", 1.0), "1.000");
    assert_eq!(Row::new("", "").ours_as_text(), "–");
}

#[test]
fn agreement_needs_two_figures() {
    let row = Row::new("delay", "ms").printed("1.86");

    assert_eq!(row.agrees(), None);
    assert_eq!(row.clone().ours(1.8612).agrees(), Some(true));
    assert_eq!(row.ours(1.87).agrees(), Some(false));
}

#[test]
fn the_json_is_the_one_that_programs_rely_on() {
    let reproduction = example();

    let json = document(&reproduction);

    let expected = serde_json::json!({
        "paper": "loko", "experiment": "table2", "world": "sim", "seed": 1,
        "rows": [{
            "quantity": "full-rate max delay", "unit": "ms",
            "paper": 1.86, "taktos": 1.87, "note": "",
        }],
    });
    assert_eq!(json, expected);
    let both = documents(&[reproduction.clone(), reproduction]);
    assert_eq!(both, serde_json::json!([expected, expected]));
}

#[test]
fn the_page_shows_every_figure_and_escapes_what_it_says() {
    let mut reproduction = example();
    reproduction.remarks.push("a < b".to_owned());

    let page = page("Loko", &[reproduction]);

    for text in [
        "full-rate max delay",
        "1.86",
        "1.870",
        "a &lt; b",
        "</html>",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

fn example() -> Reproduction {
    Reproduction {
        paper: "loko".to_owned(),
        experiment: "table2".to_owned(),
        title: "what is set aside".to_owned(),
        world: "sim".to_owned(),
        seed: 1,
        rows: vec![
            Row::new("full-rate max delay", "ms")
                .printed("1.86")
                .ours(1.87),
        ],
        pictures: Vec::new(),
        remarks: Vec::new(),
        broken: Vec::new(),
    }
}
