//! A right scenario with modes, and one mistake at a time.

use std::io;

use miette::{GraphicalReportHandler, GraphicalTheme};
use units::{DataSize, Duration};

use crate::{
    Criticality, FlowIndex, LevelIndex, MessageContract, Scenario, ScenarioError, Strategy,
    Treatment,
};

/// A car with a camera that matters, another that does not, and three levels.
const RIGHT: &str = r#"
[scenario]
title = "Test"
[switches]
s1 = {}
[hosts]
a = { at = "s1" }
b = { at = "s1" }
[modes]
levels = ["lo", "mid", "hi"]
serve = { mid = 1, hi = 4 }
[flows.cam]
kind = "message"
from = "a"
to = "b"
size = "150 kB"
period = "200 ms"
deadline = "100 ms"
criticality = 5
modes.mid = { period = "50 ms" }
modes.hi = { period = "25 ms", class = "protection", deadline = "20 ms" }
[flows.stream]
kind = "message"
from = "a"
to = "b"
size = "100 kB"
period = "40 ms"
deadline = "40 ms"
criticality = 4
modes.mid = "drop"
[flows.flood]
kind = "best-effort"
from = "b"
to = "a"
[[events]]
at = "2 s"
kind = "violate"
flow = "cam"
level = "hi"
until = "3 s"
[[events]]
at = "3 s"
kind = "violate"
flow = "cam"
size = "200 kB"
"#;

#[test]
fn a_level_differs_from_the_one_below_by_what_is_said() {
    let scenario = parse(RIGHT).unwrap();

    let [cam, stream, flood] = &scenario.flows[..] else {
        panic!("three flows");
    };
    let contract = |at: usize| match cam.by_level[at] {
        Treatment::Served(service) => service.message.unwrap(),
        Treatment::Dropped => panic!("dropped"),
    };
    assert_eq!([0, 1, 2].map(contract), [200, 50, 25].map(of_150_kb));
    let Treatment::Served(hi) = cam.by_level[2] else {
        panic!("{:?}", cam.by_level);
    };
    assert_eq!(scenario.classes[hi.class.0].name, "protection");
    assert_eq!(hi.deadline, Some(Duration::from_ms(20)));
    assert_eq!(
        stream.by_level[1..],
        [Treatment::Dropped, Treatment::Dropped]
    );
    assert!(matches!(flood.by_level[0], Treatment::Served(_)));
    assert_eq!(flood.by_level[1], Treatment::Dropped);
}

#[test]
fn modes_have_defaults() {
    let scenario = parse(RIGHT).unwrap();

    let modes = scenario.modes.unwrap();
    assert_eq!(modes.strategy, Strategy::Taktos);
    assert_eq!(modes.hold, Some(Duration::from_ms(500)));
    assert_eq!(modes.heartbeat, Duration::from_ms(10));
    assert_eq!(modes.default, LevelIndex(0));
    let serves: Vec<_> = modes.levels.iter().map(|level| level.serves.0).collect();
    assert_eq!(serves, [0, 1, 4]);
    assert_eq!(modes.highest_for(Criticality(3)), LevelIndex(1));
}

#[test]
fn a_level_may_never_fall_and_the_controller_may_change_it() {
    let text = RIGHT.replace(
        "[modes]",
        "[modes]\nhold = \"never\"\nstrategy = \"std-sdn\"",
    );

    let modes = parse(&text).unwrap().modes.unwrap();

    assert_eq!((modes.hold, modes.strategy), (None, Strategy::StdSdn));
}

#[test]
fn flows_without_levels_are_treated_at_none() {
    let (before, _) = RIGHT.split_once("[modes]").unwrap();

    let scenario = parse(before).unwrap();

    assert!(scenario.modes.is_none());
}

#[test]
fn a_violation_ends_before_the_next_begins() {
    let scenario = parse(RIGHT).unwrap();

    let [first, second] = scenario.violations[..] else {
        panic!("{:?}", scenario.violations);
    };
    assert_eq!((first.sent, second.until), (of_150_kb(25), None));
    let flow = FlowIndex(0);
    let phases = scenario.phases_of(flow);
    let periods = phases.iter().map(|phase| phase.message.period);
    assert_eq!(
        periods.collect::<Vec<_>>(),
        [200, 25, 200].map(Duration::from_ms)
    );
    assert_eq!(phases[2].from, Duration::from_secs(3));
}

#[test]
fn who_complies_again_waits_as_long_as_agreed() {
    let (one, _) = RIGHT.rsplit_once("[[events]]").unwrap();

    let phases = parse(one).unwrap().phases_of(FlowIndex(0));

    // The last message of the violation is sent 25 ms before its end.
    let from: Vec<_> = phases.iter().map(|phase| phase.from).collect();
    assert_eq!(from, [0, 2_000, 2_975 + 200].map(Duration::from_ms));
}

/// What of the right text is replaced, by what, and what the mistake is called and
/// says.
#[rustfmt::skip]
const MISTAKES: [(&str, &str, &str, &str); 25] = [
    ("levels = [\"lo\", \"mid\", \"hi\"]", "", "missing_key", "`levels` is missing"),
    ("levels = [\"lo\", \"mid\", \"hi\"]", "levels = [\"lo\"]", "contradiction", "nothing to change between"),
    ("[\"lo\", \"mid\", \"hi\"]", "[\"lo\", \"mid\", \"hi\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\"]", "too_many", "9 levels"),
    ("[\"lo\", \"mid\", \"hi\"]", "[\"lo\", \"mid\", \"hi\", \"hi\"]", "twice", "`hi` is given twice"),
    ("[\"lo\", \"mid\", \"hi\"]", "[\"lo\", \"mid\", \"hi\", \"so so\"]", "not_a_name", "`so so`"),
    ("hi = 4 }", "hgi = 4 }", "unknown_name", "did you mean `hi`?"),
    ("hi = 4 }", "hi = 9 }", "out_of_range", "0 to 7"),
    ("hi = 4 }", "hi = 0 }", "contradiction", "gives up more"),
    ("{ mid = 1", "{ lo = 1, mid = 1", "contradiction", "does not serve all"),
    ("[modes]", "[modes]\ndefault = \"low\"", "unknown_name", "did you mean `lo`?"),
    ("[modes]", "[modes]\nhold = \"nevr\"", "not_a_quantity", "`nevr`"),
    ("[modes]", "[modes]\nheartbeat = \"0 s\"", "zero", "has no meaning"),
    ("[modes]", "[modes]\nstrategy = \"sdn\"", "unknown_choice", "`std-sdn`"),
    ("modes.mid = { period", "modes.med = { period", "unknown_name", "did you mean `mid`?"),
    ("modes.mid = { period", "modes.lo = { period", "contradiction", "its own keys"),
    ("modes.mid = \"drop\"", "modes.mid = \"dropped\"", "unknown_choice", "`drop`"),
    ("{ period = \"50 ms\" }", "{ period = \"10 ms\" }", "contradiction", "grants a flow no less"),
    ("{ period = \"50 ms\" }", "{ period = \"5 ms\" }", "above_link_rate", "the link of `a`"),
    ("kind = \"best-effort\"", "kind = \"best-effort\"\nmodes.hi = { size = \"1 kB\" }", "key_of_another_kind", "`size` has no meaning"),
    ("flow = \"cam\"\nlevel", "flow = \"camera\"\nlevel", "unknown_name", "no flow is named"),
    ("flow = \"cam\"\nlevel", "flow = \"flood\"\nlevel", "contradiction", "sends no messages"),
    ("level = \"hi\"\n", "", "missing_key", "`level` is missing"),
    ("level = \"hi\"\n", "level = \"hi\"\nsize = \"1 kB\"\n", "contradiction", "already says"),
    ("size = \"200 kB\"", "size = \"100 kB\"", "contradiction", "may send anyway"),
    ("until = \"3 s\"", "until = \"4 s\"", "event_out_of_order", "already sends otherwise"),
];

#[test]
fn each_mistake_is_pointed_at() {
    for (right, wrong, code, says) in MISTAKES {
        assert!(RIGHT.contains(right), "{right}");
        let text = RIGHT.replacen(right, wrong, 1);

        let error = parse(&text).expect_err(wrong);

        let problems = error.problems().iter();
        let codes: Vec<_> = problems.map(|problem| problem.mistake.code()).collect();
        assert!(codes.contains(&code), "{wrong}: {codes:?}");
        let shown = shown(&error);
        assert!(shown.contains(says), "{wrong}:\n{shown}");
    }
}

#[test]
fn modes_of_a_flow_need_levels_of_the_network() {
    let text = RIGHT.replace("[modes]\nlevels = [\"lo\", \"mid\", \"hi\"]", "");
    let text = text.replace("serve = { mid = 1, hi = 4 }", "");
    let (flows, _) = text.split_once("[[events]]").unwrap();

    let shown = shown(&parse(flows).unwrap_err());

    assert!(shown.contains("the network has no levels"), "{shown}");
}

fn of_150_kb(period_ms: u64) -> MessageContract {
    MessageContract {
        size: DataSize::from_bytes(150_000),
        period: Duration::from_ms(period_ms),
    }
}

fn parse(text: &str) -> Result<Scenario, ScenarioError> {
    let mut load = |_: &str| Err(io::Error::new(io::ErrorKind::NotFound, "no such file"));
    Scenario::parse("test.toml", text, &mut load)
}

fn shown(error: &ScenarioError) -> String {
    let mut out = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    handler.render_report(&mut out, error).unwrap();
    out
}
