use measure::reproduction::Printed;

use super::*;

const QUICK: Settings = Settings {
    seed: 1,
    effort: Effort::Quick,
};

/// Every figure that a paper prints, to half of its last digit.
#[test]
fn figures_that_follow_from_formulas_agree_with_the_papers() {
    for name in ["baselines", "model", "table2"] {
        let outcome = loko(name);

        let differ: Vec<_> = outcome
            .rows
            .iter()
            .filter(|row| row.agrees() == Some(false))
            .collect();
        assert!(differ.is_empty(), "{name}: {differ:#?}");
        let printed = outcome.rows.iter().filter(|row| row.paper.is_some());
        let agree = outcome.rows.iter().filter(|row| row.agrees().is_some());
        assert_eq!(printed.count(), agree.count(), "{name}");
    }
}

/// S4-6 has the figures of LOKO Eq. (8) that the paper does not print.
#[test]
fn flows_of_loko_eq_8_share_what_is_set_aside() {
    let rows = loko("table2").rows;

    for (quantity, expected) in [
        ("fifth-rate N = 2: r2", "394.6"),
        ("fifth-rate N = 2: b2", "344.3"),
        ("full-rate N = 0: r2", "5918.8"),
        ("full-rate N = 0: b2", "345.2"),
        ("full-rate N = 1: b2", "172.6"),
        ("full-rate N = 2: b2", "115.1"),
    ] {
        let row = rows.iter().find(|row| row.quantity == quantity).unwrap();
        let ours = row.taktos.unwrap();
        assert!(Printed::new(expected).covers(ours), "{quantity}: {ours}");
        let infeasible = ours < 306.0;
        assert_eq!(row.note.contains("infeasible"), infeasible, "{quantity}");
    }
}

#[test]
fn names_are_words_and_no_two_experiments_of_a_paper_share_one() {
    for paper in &PAPERS {
        let mut names: Vec<_> = paper.experiments.iter().map(|one| one.name).collect();
        names.sort_unstable();
        names.dedup();

        assert_eq!(names.len(), paper.experiments.len());
        for name in names {
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{name}");
        }
    }
}

/// Does an experiment of LOKO quickly.
fn loko(name: &str) -> Outcome {
    let mut experiments = loko::PAPER.experiments.iter();
    let experiment = experiments.find(|one| one.name == name).unwrap();
    (experiment.run)(QUICK, &mut |_, _| {})
}
