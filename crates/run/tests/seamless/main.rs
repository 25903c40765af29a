//! A flow that two ways carry loses nothing when one of them breaks, whichever and
//! whenever, and its receiver gets nothing twice (S0-4, IEEE 802.1CB).

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::sync::atomic::AtomicBool;

use lab::switches::Forwarding;
use measure::report::{FlowReport, Report, Verdict};
use run::experiment::{
    Admission, Audience, Discovered, Experiment, Plug, SimEngine, Wish, WorldChoice,
};
use scenario::Scenario;
use units::{Duration, Seeded};

const EXAMPLE: &str = include_str!("../../../../scenarios/seamless.toml");

#[test]
fn the_example_loses_nothing_by_either_cut() {
    for engine in [SimEngine::Tables, SimEngine::Compiled] {
        for text in [EXAMPLE.to_owned(), by_prp(EXAMPLE)] {
            let report = run(&text, engine);

            let flow = unbroken(&report);
            assert!(flow.sent >= 15_900, "{}", flow.sent);
        }
    }
}

/// Returns the same with the numbers in trailers (IEC 62439-3).
fn by_prp(text: &str) -> String {
    let protection = "protection = \"seamless\"\n";
    text.replace(protection, &format!("{protection}encoding = \"prp\"\n"))
}

/// Cuts of drawn links at drawn moments, each healed before the next: what both ways
/// bring is late, reordered and cut off in every way that single cuts can do.
#[test]
fn single_cuts_at_any_moment_lose_nothing_and_double_nothing() {
    (0..24).for_each(lose_nothing_by_drawn_cuts);
}

/// The same for as long as somebody wants to wait, some twelve a second.
#[test]
#[ignore = "takes long: cargo xtask seamless"]
fn of_many_drawn_cuts_none_loses_or_doubles_a_frame() {
    let told = |name, otherwise| {
        std::env::var(name).map_or(otherwise, |text| text.parse::<u64>().unwrap())
    };
    let first = told("TAKTOS_FIRST", 0);
    for seed in first..first + told("TAKTOS_NETWORKS", 1_000) {
        lose_nothing_by_drawn_cuts(seed);
    }
}

/// Every second seed has trailers instead of tags (IEC 62439-3), and every second pair of seeds
/// several receivers, one of them at the switch of the source, forwarded by either engine.
fn lose_nothing_by_drawn_cuts(seed: u64) {
    let mut random = Seeded::new(seed);
    let engines = [SimEngine::Tables, SimEngine::Compiled];
    let engine = *random.choose(&engines).unwrap();
    let mut text = drawn(&mut random);
    if seed % 4 >= 2 {
        text = to_several(&text, &mut random);
    }
    if seed % 2 == 1 {
        text = by_prp(&text);
    }
    println!("seed {seed}"); // Shown only if the test fails.

    let report = run(&text, engine);

    unbroken(&report);
}

/// The same with real frames to several receivers, forwarded by the kernel: of one flow with
/// tags, and of one with trailers. How late they are is the machine's affair; that none is lost
/// is not.
#[test]
fn in_namespaces_the_kernel_loses_nothing_by_either_cut() {
    if let Some(refusal) = lab::switches::kernel_refuses() {
        let notice = "SKIPPED in_namespaces_the_kernel_loses_nothing_by_either_cut";
        // Not `eprintln!`: the test harness would swallow it.
        let _ = writeln!(io::stderr(), "\n{notice}: {refusal}\n");
        return;
    }

    let (before, rest) = EXAMPLE.split_once("[flows.sv]\n").unwrap();
    let (flow, events) = rest.split_once("\n\n").unwrap();
    let other = by_prp(&format!("[flows.parallel]\n{flow}\n"));
    let text = format!("{before}[flows.sv]\n{flow}\n\n{other}\n{events}");
    let text = to_several(&text, &mut Seeded::new(1));
    let report = run_at(&text, WorldChoice::Lab(Forwarding::Kernel));

    assert_eq!(report.flows.len(), 2);
    for flow in &report.flows {
        assert!(flow.received > 10_000, "{}", flow.received);
        assert_eq!((flow.lost - flow.unseen, flow.duplicates), (0, 0));
    }
}

/// The quicker way loses frames at random, and is cut and healed: what it loses comes by the
/// slower one, two periods later, behind others unless these are held back (RFC 9550).
#[test]
fn frames_that_one_way_loses_are_late_or_in_order_as_is_wanted() {
    for seed in 0..6 {
        let text = losing(&mut Seeded::new(seed));

        let as_they_come = run(&text, SimEngine::Tables);
        let in_order = run(&in_order(&text), SimEngine::Tables);

        println!("seed {seed}");
        assert!(reordered(unbroken(&as_they_come)) > 0);
        assert_eq!(reordered(unbroken(&in_order)), 0);
    }
}

/// Where the kernel would forward no frame is held back as quickly as its profile says.
#[test]
fn order_that_a_switch_does_not_keep_is_refused_by_name() {
    let text = in_order(EXAMPLE);
    let scenario = Scenario::parse("in-order.toml", &text, &mut |_| unreachable!()).unwrap();
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(&scenario, &stop);

    let refused = experiment.run(WorldChoice::Sim(SimEngine::Compiled), &mut Silent);

    let said = format!("{:?}", refused.map(|report| report.flows[0].clone()));
    assert!(
        said.contains("switch s4 does not hold frames back"),
        "{said}"
    );
}

fn in_order(text: &str) -> String {
    let protection = "protection = \"seamless\"\n";
    text.replace(protection, &format!("{protection}order = \"kept\"\n"))
}

fn reordered(flow: &FlowReport) -> u64 {
    flow.receivers.iter().map(|it| it.reordered).sum()
}

/// Returns the example with a slower way of 100 km, whose quicker one loses some of its frames
/// and is cut and healed meanwhile; then the slower one is cut.
fn losing(random: &mut Seeded) -> String {
    let (before, _) = EXAMPLE.split_once("[[events]]").unwrap();
    let slow = "s3-s5 = [\"s3\", \"s5\"]";
    let far = "s3-s5 = { ends = [\"s3\", \"s5\"], length = \"100 km\" }";
    assert!(before.contains(slow));
    let mut text = before.replace(slow, far);
    let one_in = 3 + random.up_to(20);
    let cut = 1_000_000 + random.up_to(999_999);
    write!(
        text,
        "[[events]]\nat = \"300 ms\"\nkind = \"lose\"\nlink = \"s1-s2\"\none_in = {one_in}\n\
         until = \"2800 ms\"\n\
         [[events]]\nat = \"{cut} us\"\nkind = \"cut\"\nlink = \"s2-s4\"\n\
         [[events]]\nat = \"{} us\"\nkind = \"heal\"\nlink = \"s2-s4\"\n\
         [[events]]\nat = \"3500 ms\"\nkind = \"cut\"\nlink = \"s5-s4\"\n",
        cut + 100_000 + random.up_to(300_000)
    )
    .unwrap();
    text
}

/// A link that was lost too often is not believed for a while, and carries copies all the same:
/// what does without it reaches nobody else.
#[test]
fn a_link_that_flapped_carries_its_copy_when_the_other_way_is_cut() {
    let (before, _) = EXAMPLE.split_once("[[events]]").unwrap();
    let text = before.replace("[hosts]\n", "[hosts]\nfar = { at = \"s5\" }\n");
    let mut text = text.replace("to = \"relay\"", "to = [\"relay\", \"far\"]");
    text += "[[events]]\nat = \"500 ms\"\nkind = \"flap\"\nlink = \"s5-s4\"\n\
             period = \"100 ms\"\nuntil = \"1300 ms\"\n";
    for (at, kind) in [(1_500, "cut"), (2_500, "heal")] {
        text += &format!("[[events]]\nat = \"{at} ms\"\nkind = \"{kind}\"\nlink = \"s2-s4\"\n");
    }

    unbroken(&run(&text, SimEngine::Tables));
}

#[test]
fn without_redundancy_the_same_cut_loses_samples() {
    let plain = EXAMPLE.replace("protection = \"seamless\"", "");

    let report = run(&plain, SimEngine::Tables);

    let lost: u64 = report.flows[0].receivers.iter().map(|it| it.lost).sum();
    assert!(lost > 0);
}

/// What somebody does who watches is judged as what the scenario plans, and told apart.
#[test]
fn a_cut_by_hand_counts_as_one_of_the_scenario_and_is_told_as_what_it_is() {
    let (quiet, _) = EXAMPLE.split_once("[[events]]").unwrap();
    let plain = quiet.replace("protection = \"seamless\"", "");
    let sim = WorldChoice::Sim(SimEngine::Tables);

    let carried = run_with(quiet, sim, &mut Hand::default());
    let [interrupted, planned] = [
        run_with(&plain, sim, &mut Hand::default()),
        run_at(&EXAMPLE.replace("protection = \"seamless\"", ""), sim),
    ];

    unbroken(&carried);
    for report in [&carried, &interrupted] {
        let told: Vec<_> = report.events.iter().map(|it| it.label()).collect();
        assert_eq!(told, ["s1-s2 cut by hand", "s1-s2 healed by hand"]);
    }
    let lost = |report: &Report| report.flows[0].receivers[0].lost;
    assert!(lost(&interrupted) > 0 && lost(&planned) > 0);
    let outage = |report: &Report| report.events[0].outage_ns.contains_key("sv");
    assert!(outage(&interrupted) && outage(&planned));
    assert!(planned.events.iter().all(|it| !it.is_by_hand));
}

/// Cuts the link s1-s2 after a second, heals it after two, and asks for one that there is not.
#[derive(Default)]
struct Hand {
    elapsed: Duration,
    done: usize,
}

impl Audience for Hand {
    fn built(&mut self, _took: Duration) {}
    fn discovered(&mut self, _found: Discovered, _took: Duration) {}
    fn decided(&mut self, _admissions: &[Admission]) {}
    fn running(&mut self, elapsed: Duration, _total: Duration) {
        self.elapsed = elapsed;
    }
    fn wish(&mut self) -> Option<Wish> {
        // s1-s2 as the controller calls it: the first port of s1 is that of its host.
        let there = "1:2-2:1";
        let wishes = [
            (1, there, Plug::Out),
            (1, "1:9-2:9", Plug::Out),
            (2, there, Plug::In),
        ];
        let (at, link, plug) = *wishes.get(self.done)?;
        if self.elapsed < Duration::from_secs(at) {
            return None;
        }
        self.done += 1;
        let link = link.parse().unwrap();
        Some(Wish { link, plug })
    }
    fn happened(&mut self, _at: Duration, _what: &str) {}
}

/// Returns the only flow, of which nothing is lost, late or doubled.
fn unbroken(report: &Report) -> &FlowReport {
    let [flow] = &report.flows[..] else {
        panic!("there is one flow")
    };
    assert_eq!(flow.verdict, Verdict::Held, "{flow:?}");
    for receiver in &flow.receivers {
        assert_eq!((receiver.lost, receiver.duplicates), (0, 0));
    }
    flow
}

/// Behind the two ways there is a longer one, which takes the place of the one that breaks: the
/// flow is promised anew, and the report says the greater promise.
#[test]
fn what_a_longer_way_carries_is_held_to_what_was_promised_for_it() {
    let (quiet, _) = EXAMPLE.split_once("[[events]]").unwrap();
    let far = "s1-s6 = [\"s1\", \"s6\"]\ns6-s7 = [\"s6\", \"s7\"]\ns7-s8 = [\"s7\", \"s8\"]\n\
               s8-s4 = { ends = [\"s8\", \"s4\"], propagation = \"900 us\" }\n";
    let text = quiet.replace("s3 = {}\n", "s3 = {}\ns6 = {}\ns7 = {}\ns8 = {}\n");
    let quiet = text.replace("[links]\n", &format!("[links]\n{far}"));
    let mut text = quiet.clone();
    for (at, link) in [(1_000, "s1-s2"), (2_500, "s3-s5")] {
        let event = format!("at = \"{at} ms\"\nkind = \"cut\"\nlink = \"{link}\"\n");
        text += &format!("[[events]]\n{event}");
    }

    let [before, after] = [&quiet, &text].map(|text| run(text, SimEngine::Tables));

    let (promised, promised_anew) = (unbroken(&before), unbroken(&after));
    assert!(promised_anew.guarantee_ns > promised.guarantee_ns);
}

/// Has the flow go to the relay and some of the hosts at the other switches as well.
fn to_several(text: &str, random: &mut Seeded) -> String {
    let mut hosts = String::from("[hosts]\n");
    let mut names = String::from("to = [\"relay\"");
    for switch in ["s1", "s2", "s3", "s5"] {
        writeln!(hosts, "at-{switch} = {{ at = \"{switch}\" }}").unwrap();
        if random.up_to(2) > 0 {
            write!(names, ", \"at-{switch}\"").unwrap();
        }
    }
    let text = text.replace("[hosts]\n", &hosts);
    text.replace("to = \"relay\"", &format!("{names}]"))
}

/// Returns the example with other cuts, ways of other lengths and another period.
fn drawn(random: &mut Seeded) -> String {
    let (before, _) = EXAMPLE.split_once("[[events]]").unwrap();
    let period = [250, 400, 1_000][usize::try_from(random.up_to(2)).unwrap()];
    let mut text = before.replace("250 us", &format!("{period} us"));
    let mut at = 400;
    while at < 3_600 {
        let links = ["s1-s2", "s2-s4", "s1-s3", "s3-s5", "s5-s4"];
        let link = links[usize::try_from(random.up_to(4)).unwrap()];
        let healed = at + 50 + random.up_to(300);
        for (kind, at) in [("cut", at), ("heal", healed)] {
            let at = at * 1_000 + random.up_to(999);
            writeln!(text, "[[events]]\nat = \"{at} us\"").unwrap();
            writeln!(text, "kind = \"{kind}\"\nlink = \"{link}\"").unwrap();
        }
        at = healed + 20 + random.up_to(300);
    }
    text
}

fn run(text: &str, engine: SimEngine) -> Report {
    run_at(text, WorldChoice::Sim(engine))
}

fn run_at(text: &str, place: WorldChoice) -> Report {
    run_with(text, place, &mut Silent)
}

fn run_with(text: &str, place: WorldChoice, to: &mut dyn Audience) -> Report {
    let scenario = Scenario::parse("drawn.toml", text, &mut |_| unreachable!());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let stop = AtomicBool::new(false);
    let experiment = Experiment::deciding(&scenario, &stop);
    experiment.run(place, to).unwrap()
}

struct Silent;

impl Audience for Silent {
    fn built(&mut self, _took: Duration) {}
    fn discovered(&mut self, _found: Discovered, _took: Duration) {}
    fn decided(&mut self, _admissions: &[Admission]) {}
    fn running(&mut self, _elapsed: Duration, _total: Duration) {}
    fn happened(&mut self, _at: Duration, _what: &str) {}
}
