use std::sync::LazyLock;

use measure::reproduction::Printed;

use super::*;

/// The ring takes seconds, and several tests look at it.
static FIG_20: LazyLock<ExperimentOutcome> = LazyLock::new(|| loko("fig20"));

const QUICK: ExperimentSettings = ExperimentSettings {
    seed: 1,
    effort: Thoroughness::Quick,
};

/// Every figure that a paper prints, to half of its last digit.
#[test]
fn figures_that_follow_from_formulas_agree_with_the_papers() {
    for name in ["baselines", "model", "fig14", "table2"] {
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

/// S2-10: a change of mode comes to its end within the bound, and the large message is
/// never later for it.
#[test]
fn experiments_with_modes_keep_what_they_promise() {
    for name in ["fig2", "fig6", "fig7", "fig8"] {
        let experiments = mc_sdn::PAPER.experiments.iter();
        let mut found = experiments.filter(|experiment| experiment.name == name);

        let outcome = (found.next().unwrap().run)(QUICK, &mut |_, _| {});

        assert_eq!(outcome.broken, [""; 0], "{name}");
        assert!(!outcome.pictures.is_empty(), "{name}");
    }
}

/// S4-10: the bench gets back what was put in, and what the paper prints but for
/// throughputs, which it searches within 6 %.
#[test]
fn the_emulated_switch_is_recovered_from_outside() {
    let outcome = loko("zodiac");

    let searched = |row: &&Row| row.quantity.starts_with("throughput");
    for row in outcome.rows.iter().filter(|row| !searched(row)) {
        assert_ne!(row.agrees(), Some(false), "{row:?}");
    }
    let all = outcome
        .rows
        .iter()
        .find(|row| row.unit == "settings")
        .unwrap();
    let measured = format!("of {} settings", all.taktos.unwrap());
    assert!(all.note.starts_with(&measured), "{all:?}");
}

/// S4-1 to S4-4 by the methods that measure any device. What Fig. 9 prints is read off
/// a plot.
#[test]
fn what_the_paper_measured_of_a_zodiac_fx_is_measured_again() {
    for name in ["fig6", "fig7", "fig9", "fig10", "fig12", "buffer"] {
        let outcome = loko(name);

        assert!(!outcome.rows.is_empty(), "{name}");
        assert_eq!(outcome.broken, [""; 0], "{name}");
        for row in outcome.rows.iter().filter(|_| name != "fig9") {
            assert_ne!(row.agrees(), Some(false), "{name}: {row:?}");
        }
    }
}

/// S4-8: whatever is sent within the promise arrives in time.
#[test]
fn two_emulated_switches_keep_the_promises_of_loko() {
    for name in ["fig15", "fig17", "fig18", "fig19"] {
        let outcome = loko(name);

        assert_eq!(outcome.broken, [""; 0], "{name}");
        assert!(!outcome.pictures.is_empty(), "{name}");
    }
}

/// S4-7: what Silo and QJump promise does not hold.
#[test]
fn two_emulated_switches_break_the_promises_of_others() {
    let rows = loko("fig3").rows;

    for others in rows.chunks_exact(4) {
        let broken: f64 = others[2..].iter().filter_map(|row| row.taktos).sum();
        assert!(broken > 1.0, "{others:?}");
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
fn heat_maps_of_loko_fig_14_mark_what_is_infeasible() {
    let outcome = loko("fig14");

    let maps = outcome.pictures.iter().map(|picture| match picture {
        Picture::HeatMap(map) => map,
        Picture::Boxes(_) | Picture::Curves(_) | Picture::Network(_) | Picture::Road(_) => {
            panic!("{}", picture.name())
        }
    });
    let maps: Vec<_> = maps.collect();
    assert_eq!(maps.len(), 6);
    for map in maps {
        assert!(
            map.values.iter().all(|row| row.len() == 128),
            "{}",
            map.name
        );
        let infeasible = map.values.iter().flatten().any(|value| value.is_none());
        assert_eq!(infeasible, map.name.contains("full-rate"), "{}", map.name);
    }
}

/// S4-9, LOKO section 6.2, with fewer runs: the tolerance is larger than the ±.005
/// of a thousand.
#[test]
fn the_ring_of_loko_fig_20_accepts_as_the_papers_rule_does() {
    let rows = &FIG_20.rows;

    let share = |label: &str, length: usize| {
        let quantity = format!("{label}: accepted at path length {length}");
        let row = rows
            .iter()
            .find(|row| row.quantity == quantity && row.unit.is_empty());
        row.and_then(|row| row.taktos).unwrap()
    };
    for (length, expected) in [0.980, 0.585, 0.307, 0.181, 0.111, 0.079]
        .into_iter()
        .enumerate()
    {
        let ours = share("Loko", length);
        assert!(
            (ours - expected).abs() < 0.01,
            "length {length}: {ours}, not {expected}"
        );
    }
    let taktos = share("Taktos, budgets for deadlines, spacing measured", 5);
    assert!(taktos > 4.0 * share("Loko", 5), "{taktos}");
    assert_eq!(FIG_20.broken, [""; 0]);
}

#[test]
fn ten_times_the_buffer_fills_the_ring_only_if_too_little_delay_is_promised() {
    let rows = &FIG_20.rows;

    let ours = |quantity: &str| {
        let row = rows.iter().find(|row| row.quantity.starts_with(quantity));
        row.and_then(|row| row.taktos).unwrap()
    };
    assert!((ours("ten times the buffer: delay of a switch") - 18.61).abs() < 0.01);
    let longest = ": longest paths that fill a switch to 95 %";
    let unsound = ours(&format!("Loko, buffer x 10, delay kept (unsound){longest}"));
    let sound = ours(&format!("Loko, buffer x 10, sound{longest}"));
    assert!(unsound >= 15.0 && sound <= 2.0, "{unsound}, {sound}");
}

#[test]
fn the_same_seed_gives_the_same_figures_on_any_number_of_processors() {
    let again = loko("fig20");

    assert_eq!(again.rows, FIG_20.rows);
    assert_eq!(again.pictures, FIG_20.pictures);
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
fn loko(name: &str) -> ExperimentOutcome {
    let mut experiments = loko::PAPER.experiments.iter();
    let experiment = experiments.find(|one| one.name == name).unwrap();
    (experiment.run)(QUICK, &mut |_, _| {})
}

fn onos(name: &str) -> ExperimentOutcome {
    let experiment = onos::PAPER.experiments.iter().find(|one| one.name == name);
    (experiment.unwrap().run)(QUICK, &mut |_, _| {})
}

/// S1-11: all that is there is found, and nothing else.
#[test]
fn the_network_of_internet2_is_discovered() {
    let outcome = onos("internet2");

    assert_eq!(outcome.broken, [""; 0]);
    let printed: Vec<_> = outcome.rows.iter().filter_map(Row::agrees).collect();
    assert_eq!(printed, [true, true]);
    let [Picture::Network(map)] = &outcome.pictures[..] else {
        panic!("{:?}", outcome.pictures);
    };
    assert_eq!((map.places.len(), map.links.len()), (205, 414));
}

/// S1-11: flows leave a link that breaks for ways one link longer, every time.
#[test]
fn flows_leave_a_broken_link_for_longer_ways() {
    let outcome = onos("table2");

    assert_eq!(outcome.broken, [""; 0]);
    let printed = ["links of a path before", "links of a path afterwards"];
    for row in &outcome.rows {
        if printed.iter().any(|what| row.quantity.ends_with(what)) {
            assert_eq!(row.agrees(), Some(true), "{row:?}");
        }
    }
}

/// S1-11: whatever is asked for is installed and confirmed.
#[test]
fn paths_are_installed_and_switches_and_links_added() {
    for name in ["table1", "table3"] {
        let outcome = onos(name);

        assert_eq!(outcome.broken, [""; 0], "{name}");
        assert!(
            outcome.rows.iter().all(|row| row.taktos.is_some()),
            "{name}"
        );
    }
}
