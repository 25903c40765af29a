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
fn how_far_a_figure_is_off_is_said_and_not_only_that_it_is() {
    let row = |unit: &str, paper: &'static str, ours: f64| {
        Row::new("delay", unit).printed(paper).ours(ours)
    };
    let rows = vec![
        row("ms", "1.86", 1.8612),
        row("ms", "50.65", 8.0),
        row("ms", "9.12", 0.228),
        row("us", "2", 52.0),
        row("", "100", 93.0),
        row("", "0", 3.0),
        Row::new("what the paper does not have", "ms").ours(1.0),
    ];

    let words: Vec<_> = rows.iter().map(Row::comparison).collect();
    let one = Reproduction { rows, ..example() };

    let expected = [
        "agrees",
        "6.3 times shorter",
        "40 times shorter",
        "26 times longer",
        "7.0 % lower",
        "differs",
        "",
    ];
    assert_eq!(words, expected);
    assert_eq!(
        one.agreement(),
        "1 of 6 figures that the paper prints agree to half of their last digit; 2 are shorter, by \
         6.3 times to 40 times; 1 is longer, by 26 times; 1 is lower, by 7.0 %; 1 differs from zero \
         or in sign."
    );
}

#[test]
fn a_page_says_what_the_text_says_of_figures_and_of_haste() {
    let quick = Reproduction {
        quick: true,
        ..example()
    };
    let broken = Reproduction {
        broken: vec!["it took too long".to_owned()],
        ..example()
    };

    let [quick, broken, whole] =
        [quick, broken, example()].map(|one| document("A paper", &[one]).to_page());

    assert!(
        quick.contains("Shortened (--quick)") && quick.contains("0.54 % longer"),
        "{quick}"
    );
    assert!(broken.contains("class=\"bad\"") && broken.contains("BROKEN: it took too long"));
    assert!(!whole.contains("class=\"good\"") && !whole.contains("Shortened"));
}

#[test]
fn the_json_is_the_one_that_programs_rely_on() {
    let reproduction = example();

    let json = documents(std::slice::from_ref(&reproduction));

    let expected = serde_json::json!({
        "paper": "loko", "experiment": "table2", "world": "sim", "seed": 1, "quick": false,
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

    let page = document("Loko", &[reproduction]).to_page();

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
        quick: false,
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
