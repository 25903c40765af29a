//! A run in virtual time can be repeated: the same seed gives the same report,
//! to the byte.

mod virtual_run;

use calculus::admission::Spare;
use measure::report::text::Details;
use measure::report::{Report, RunVerdict, ShownFlows};
use run::experiment::SimEngine;
use scenario::{MachineShare, Scenario};
use units::{Delay, Duration};

use virtual_run::{carry_out, carry_out_by, carry_out_with, scenario, text_of};

#[test]
fn the_same_seed_gives_the_same_report_to_the_byte() {
    let [first, second] = [7, 7].map(run);

    assert_eq!(
        first.to_json(ShownFlows::Worst),
        second.to_json(ShownFlows::Worst)
    );
    assert_eq!(
        first.document(Details::Few, ShownFlows::Worst).to_page(),
        second.document(Details::Few, ShownFlows::Worst).to_page()
    );
}

/// What the kernel walks in the lab does what the core does: nothing of the report says
/// which of them looked frames up.
#[test]
fn the_compiled_form_of_the_tables_gives_the_same_report_as_the_tables() {
    let scenario = shortened(7);

    let [tables, compiled] = [SimEngine::Tables, SimEngine::Compiled]
        .map(|engine| carry_out_by(engine, &scenario, Spare::default()));

    assert_eq!(tables.verdict(), RunVerdict::Held);
    assert_eq!(
        tables.to_json(ShownFlows::All),
        compiled.to_json(ShownFlows::All)
    );
}

/// The same with levels: signals, monitors and shadow entries.
#[test]
fn the_compiled_form_changes_levels_as_the_tables_do() {
    let scenario = scenario("modes.toml", MODES);

    let [tables, compiled] = [SimEngine::Tables, SimEngine::Compiled]
        .map(|engine| carry_out_by(engine, &scenario, Spare::default()));

    assert_eq!(
        tables.to_json(ShownFlows::All),
        compiled.to_json(ShownFlows::All)
    );
}

/// S0-4: in the core's tables and in the form that the kernel walks.
#[test]
fn switches_that_heal_by_themselves_turn_frames_back_by_either_form_of_their_tables() {
    let text = include_str!("../../../scenarios/fast-failover.toml");
    let scenario = scenario("fast-failover.toml", text);

    let [tables, compiled] = [SimEngine::Tables, SimEngine::Compiled]
        .map(|engine| carry_out_by(engine, &scenario, Spare::default()));

    assert_eq!(tables.verdict(), RunVerdict::Held);
    assert_eq!(
        tables.to_json(ShownFlows::All),
        compiled.to_json(ShownFlows::All)
    );
    let flow = &tables.flows[0];
    let turned = ["mu", "s1", "s2", "s1", "s5", "s4", "s3", "relay"];
    assert_eq!(flow.facts.alternatives[1], turned);
    // A sample each 0.25 ms, and the carrier is seen to be gone after 1 ms.
    assert!(flow.lost > 0 && flow.lost <= 5, "{}", flow.lost);
}

/// S0-4: the same where nobody sees a carrier lost, and the samples themselves are missed.
#[test]
fn samples_are_missed_behind_a_silent_link_by_either_form_of_the_tables() {
    let text = include_str!("../../../scenarios/heart-beat.toml");
    let scenario = scenario("heart-beat.toml", text);

    let [tables, compiled] = [SimEngine::Tables, SimEngine::Compiled]
        .map(|engine| carry_out_by(engine, &scenario, Spare::default()));

    assert_eq!(tables.verdict(), RunVerdict::Held);
    assert_eq!(
        tables.to_json(ShownFlows::All),
        compiled.to_json(ShownFlows::All)
    );
    let lost = tables.flows[0].lost;
    assert!(lost > 0 && lost <= 6, "{lost}");
}

#[test]
fn another_seed_gives_another_report() {
    assert_ne!(
        run(7).to_json(ShownFlows::Worst),
        run(8).to_json(ShownFlows::Worst)
    );
}

/// S2-10: what a level gives up is no loss, and each frame counts at one level.
#[test]
fn a_run_whose_level_rises_and_falls_says_what_each_flow_got_at_each() {
    let report = carry_out(&scenario("modes.toml", MODES));

    let modes = report.modes.as_ref().unwrap();
    let levels: Vec<_> = modes
        .changes
        .iter()
        .map(|change| &change.level[..])
        .collect();
    assert_eq!(levels, ["hi", "lo"]);
    for change in &modes.changes {
        assert_eq!(change.entered.len(), 2);
        assert!(
            modes.change_bound_ns.unwrap() >= change.took_ns,
            "{change:?}"
        );
    }
    assert_eq!(modes.violations[0].flow, "cam");
    assert_eq!(modes.signals.len(), 2);
    assert!(modes.signals.iter().map(|it| it.sent).sum::<u64>() > 0);
    assert!(modes.signals.iter().all(|it| it.beats_received > 0));
    assert!(modes.signals.iter().all(|it| it.refused.total() == 0));
    for flow in &report.flows {
        let sent: u64 = flow.levels.iter().map(|at| at.sent).sum();
        assert_eq!(sent, flow.sent, "{}", flow.facts.name);
        assert!(
            flow.levels.iter().all(|at| at.sent > 0),
            "{}",
            flow.facts.name
        );
    }
    let film = &report.flows[1];
    assert_eq!((film.levels[0].lost, film.levels[1].lost), (0, 0));
    assert!(film.levels[1].given_up > 100 && !film.levels[1].served);
    assert_eq!(report.flows[2].lost, 0, "the camera is served at both");
    let lidar = &report.flows[0].levels[1];
    assert!(lidar.highest_ns < lidar.guarantee_ns && lidar.guarantee_ns.is_some());
}

/// S2-9: a controller that changes the level takes longer, and is seen to.
#[test]
fn a_controller_that_changes_the_level_is_in_the_report_as_well() {
    let text = MODES.replace("[modes]", "[modes]\nstrategy = \"std-sdn\"");

    let report = carry_out(&scenario("modes.toml", &text));

    let modes = report.modes.unwrap();
    let levels: Vec<_> = modes
        .changes
        .iter()
        .map(|change| &change.level[..])
        .collect();
    assert_eq!(levels, ["hi", "lo"]);
    assert_eq!(modes.changes[0].origin, "the controller");
    assert!(
        modes.changes[0].took_ns > 200_000,
        "two ways over the control network"
    );
    assert!(report.flows[1].levels[1].given_up > 100);
}

/// S2-9: without modes nothing is given up, whatever is needed.
#[test]
fn a_network_without_modes_gives_nothing_up() {
    let text = MODES.replace("[modes]", "[modes]\nstrategy = \"mc-agnostic\"");

    let report = carry_out(&scenario("modes.toml", &text));

    assert!(report.modes.unwrap().changes.is_empty());
    let mut levels = report.flows.iter().flat_map(|flow| &flow.levels);
    assert!(levels.all(|at| at.given_up == 0));
    assert_eq!(report.flows[1].lost, 0);
}

/// Whatever a machine that carries all switches holds up, it holds up once, and everything
/// alike: the guarantee has it once, however many switches there are, and what is sent
/// meanwhile as a burst.
#[test]
fn what_a_machine_adds_is_part_of_a_guarantee_once() {
    let with = |cover: Delay, deadline: &str| {
        let text = TWO_HOPS.replace("DEADLINE", deadline);
        let mut scenario = scenario("two-hops.toml", &text);
        for profile in &mut scenario.profiles {
            profile.machine = Some(MachineShare {
                cover,
                one_in: 100_000,
                confidence_percent: 95,
                about: "made up".to_owned(),
            });
        }
        // With room to spare a guarantee is near its deadline, whatever is added.
        carry_out_with(&scenario, Spare::None)
    };
    let guarantee = |report: &Report| report.flows[0].guarantee_ns.unwrap();

    let [without, covered] = [0, 300].map(|us| with(Delay::from_us(us), "5 ms"));
    let refused = with(Delay::from_us(300), "400 us");

    let more = guarantee(&covered) - guarantee(&without);
    assert!(
        (300_000..330_000).contains(&more),
        "{more} ns for three hops"
    );
    for report in [&without, &covered] {
        let flow = &report.flows[0];
        let terms: u64 = flow.facts.calculation.iter().map(|row| row.delay_ns).sum();
        assert_eq!(Some(terms), flow.guarantee_ns);
        assert_eq!(report.verdict(), RunVerdict::Held);
    }
    assert!(
        !refused.flows[0].admitted,
        "100 us are left, and the way takes more"
    );
}

const TWO_HOPS: &str = r#"
[scenario]
title = "Two hops"
duration = "200 ms"
[network]
generator = "line"
size = 3
hosts_per_switch = 1
host_rate = "100 Mbit/s"
profile = "taktos-kernel"
[flows.control]
kind = "udp"
from = "h1"
to = "h3"
frame = "306 B"
rate = "1 Mbit/s"
deadline = "DEADLINE"
"#;

/// A car: what steers it, a film, and a camera that needs more for a while.
const MODES: &str = r#"
[scenario]
title = "Modes"
duration = "1500 ms"
[switches]
s1 = {}
s2 = {}
[hosts]
h1 = { at = "s1" }
h2 = { at = "s1" }
h3 = { at = "s2" }
h4 = { at = "s2" }
[links]
trunk = ["s1", "s2"]
[classes]
high.queue = 6
mid.queue = 5
low.queue = 4
best-effort.queue = 0
[modes]
levels = ["lo", "hi"]
serve = { hi = 4 }
hold = "100 ms"
[flows.lidar]
kind = "message"
from = "h1"
to = "h3"
size = "1 kB"
period = "25 ms"
deadline = "25 ms"
class = "high"
criticality = 5
[flows.film]
kind = "message"
from = "h2"
to = "h4"
size = "30 kB"
period = "40 ms"
deadline = "40 ms"
class = "low"
[flows.cam]
kind = "message"
from = "h1"
to = "h3"
size = "6 kB"
period = "50 ms"
deadline = "50 ms"
class = "mid"
criticality = 5
modes.hi = { size = "12 kB" }
[[events]]
at = "500 ms"
kind = "violate"
flow = "cam"
level = "hi"
until = "800 ms"
"#;

/// What is left to spare is said of the network and of each promise, beside the share of
/// the busiest switch.
#[test]
fn a_report_says_for_how_much_slower_switches_it_would_hold() {
    let report = run(1);

    let promised = report
        .flows
        .iter()
        .filter(|flow| flow.guarantee_ns.is_some());
    let factors: Vec<_> = promised
        .map(|flow| flow.slowdown_thousandths.unwrap())
        .collect();
    let least = factors.iter().min().unwrap();
    assert!(factors.len() > 8 && *least >= 1_000, "{factors:?}");
    let factor = format!("up to {}.{} times", least / 1_000, least / 100 % 10);
    let text = report.document(Details::Few, ShownFlows::Worst).to_text();
    assert!(text.contains(&factor), "{factor}: {text}");
    assert!(
        text.contains("The busiest switch, s4, may have to work"),
        "{text}"
    );
}

/// Runs the default scenario, with its cut in the middle of a shorter run.
fn run(seed: u64) -> Report {
    carry_out(&shortened(seed))
}

fn shortened(seed: u64) -> Scenario {
    let mut scenario = substation();
    scenario.seed = seed;
    scenario.duration = Duration::from_secs(1);
    for (event, at) in scenario.events.iter_mut().zip([300, 600]) {
        event.at = Duration::from_ms(at);
    }
    scenario
}

fn substation() -> Scenario {
    let file = "substation.toml";
    scenario(file, &text_of(file))
}
