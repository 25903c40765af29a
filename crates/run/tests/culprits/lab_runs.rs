//! The same in namespaces, with real frames: three switches in a row, and an error of each
//! kind. Messages meet at each link, so that frames wait for it: what a link is like shows in
//! nothing else.

use std::io::{self, Write as _};

use lab::switches::Forwarding;
use measure::report::{CulpritKind, Verdict};
use run::experiment::WorldChoice;
use units::Seeded;

use super::draw::Planted;
use super::{NOTICED_NS, Silent, run_at, sentences};

const NETWORK: &str = "[scenario]\ntitle = \"Drawn\"\nduration = \"2.5 s\"\n\n\
    [network]\nlink_rate = \"100 Mbit/s\"\nprofile = \"taktos-kernel\"\n\n\
    [switches]\ns1 = {}\ns2 = {}\ns3 = {}\n\n\
    [links]\ns1-s2 = [\"s1\", \"s2\"]\ns2-s3 = [\"s2\", \"s3\"]\n\n\
    [hosts]\na1 = { at = \"s1\" }\na2 = { at = \"s1\" }\nb1 = { at = \"s2\" }\n\
    b2 = { at = \"s2\" }\nc1 = { at = \"s3\" }\nc2 = { at = \"s3\" }\n\n\
    [templates.samples]\nkind = \"sampled-values\"\nframe = \"122 B\"\nperiod = \"2 ms\"\n\
    deadline = \"40 ms\"\n\n\
    [templates.message]\nkind = \"message\"\nsize = \"60 kB\"\nperiod = \"40 ms\"\n\
    jitter = \"3 ms\"\ndeadline = \"200 ms\"\n\n\
    [flows]\n\
    samples-a = { like = \"samples\", from = \"a1\", to = \"c2\" }\n\
    samples-b = { like = \"samples\", from = \"b1\", to = \"a2\" }\n\
    samples-c = { like = \"samples\", from = \"c2\", to = \"b2\" }\n\
    message-1 = { like = \"message\", from = \"a1\", to = \"c1\" }\n\
    message-2 = { like = \"message\", from = \"a2\", to = \"c1\" }\n\
    message-3 = { like = \"message\", from = \"b2\", to = \"c1\" }\n\
    message-4 = { like = \"message\", from = \"c2\", to = \"c1\" }\n";

/// When an error begins, after the start of traffic, and how much later at most.
const EARLIEST_MS: u64 = 800;
const LATER_MS: u64 = 700;
/// Who is told by switches is told within so much of when it began, and may seem to have
/// begun so much earlier.
const EARLIER_NS: u64 = 250_000_000;

#[test]
fn in_namespaces_the_culprit_is_named() {
    if is_skipped("in_namespaces_the_culprit_is_named") {
        return;
    }
    let mut random = Seeded::new(1);
    for kind in [Error::SlowSwitch, Error::Foreign] {
        if let Err(why) = judged(&planted(&mut random, kind)) {
            panic!("{why}");
        }
    }
}

#[test]
#[ignore = "the long form: cargo xtask lab-culprits"]
fn in_namespaces_the_culprit_is_named_many_times() {
    let times = std::env::var("TAKTOS_NETWORKS").map_or(20, |text| text.parse::<u64>().unwrap());
    let first = std::env::var("TAKTOS_FIRST").map_or(0, |text| text.parse::<u64>().unwrap());
    let mut wrong = 0;
    let mut verdict = |what: &str, seed, result: Result<String, String>| match result {
        Ok(what) => println!("seed {seed}: {what}"),
        Err(why) => {
            wrong += 1;
            println!("seed {seed}, {what}: WRONG: {why}");
        }
    };
    for seed in first..first + times {
        let mut random = Seeded::new(seed);
        verdict("without an error", seed, unblamed());
        for error in Error::ALL {
            let planted = planted(&mut random, error);
            verdict(&planted.event, seed, judged(&planted));
        }
    }
    assert_eq!(wrong, 0, "of {times} times six runs");
}

#[derive(Clone, Copy)]
enum Error {
    SlowSwitch,
    SlowLink,
    Exceed,
    Foreign,
    Flood,
}

impl Error {
    const ALL: [Self; 5] = [
        Self::SlowSwitch,
        Self::SlowLink,
        Self::Exceed,
        Self::Foreign,
        Self::Flood,
    ];
}

fn is_skipped(test: &str) -> bool {
    let refusal = lab::switches::kernel_refuses();
    if let Some(refusal) = &refusal {
        // Not `eprintln!`: the test harness would swallow it.
        let _ = writeln!(io::stderr(), "\nSKIPPED {test}: {refusal}\n");
    }
    refusal.is_some()
}

fn planted(random: &mut Seeded, error: Error) -> Planted {
    let at_ms = EARLIEST_MS + random.below(LATER_MS);
    let mut one_of = |names: &[&str]| (*random.choose(names).unwrap()).to_owned();
    let (kind, name, keys) = match error {
        Error::SlowSwitch => {
            let switch = one_of(&["s1", "s2", "s3"]);
            let extra = one_of(&["30 us", "60 us", "100 us"]);
            let keys =
                format!("kind = \"slow-switch\"\nswitch = \"{switch}\"\nextra = \"{extra}\"");
            (CulpritKind::Switch, switch, keys)
        }
        Error::SlowLink => {
            let link = one_of(&["s1-s2", "s2-s3", "c1-s3", "a1-s1"]);
            let by = one_of(&["5 %", "10 %", "30 %"]);
            let keys = format!("kind = \"slow-link\"\nlink = \"{link}\"\nby = \"{by}\"");
            (CulpritKind::Link, link, keys)
        }
        Error::Exceed => {
            let flow = one_of(&["samples-a", "samples-b", "samples-c"]);
            let factor = one_of(&["2.0", "4.0"]);
            let keys = format!("kind = \"exceed\"\nflow = \"{flow}\"\nfactor = {factor}");
            (CulpritKind::Source, flow, keys)
        }
        Error::Foreign => {
            let host = one_of(&["b1", "b2", "c2"]);
            let frames = one_of(&["like = \"samples-a\"", "priority = 5", "priority = 7"]);
            let frames = match host.as_str() {
                "c2" => "priority = 6".to_owned(),
                _ => frames,
            };
            let rate = one_of(&["1 Mbit/s", "8 Mbit/s"]);
            let keys =
                format!("kind = \"foreign\"\nhost = \"{host}\"\n{frames}\nrate = \"{rate}\"");
            (CulpritKind::Foreign, host, keys)
        }
        Error::Flood => {
            let host = one_of(&["b1", "b2", "c2"]);
            let to = one_of(&["random", "broadcast"]);
            let keys = format!(
                "kind = \"flood\"\nhost = \"{host}\"\nrate = \"8 Mbit/s\"\n\
                 destination = \"{to}\"\nsize = \"500 B\""
            );
            (CulpritKind::Foreign, host, keys)
        }
    };
    Planted {
        event: format!("\n[[events]]\nat = \"{at_ms} ms\"\n{keys}\n"),
        at_ms,
        kind,
        name,
    }
}

/// Runs without an error: nobody is named.
fn unblamed() -> Result<String, String> {
    let report = run_at(NETWORK, WorldChoice::Lab(Forwarding::Kernel), &mut Silent);
    match report.culprits.is_empty() {
        true => Ok("nobody is named where there is no error".to_owned()),
        false => Err(format!("without an error: {}", sentences(&report.culprits))),
    }
}

/// Runs with an error: whoever it is is named in time, and nobody else; and no other flow is
/// broken by who sends too much.
fn judged(planted: &Planted) -> Result<String, String> {
    let text = format!("{NETWORK}{}", planted.event);
    let report = run_at(&text, WorldChoice::Lab(Forwarding::Kernel), &mut Silent);
    let said = sentences(&report.culprits);
    let [named] = &report.culprits[..] else {
        return Err(format!("{planted:?}: {said}"));
    };
    let at_ns = planted.at_ms * 1_000_000;
    let in_time = at_ns - EARLIER_NS..=at_ns + NOTICED_NS;
    let is_right = (named.kind, &named.name) == (planted.kind, &planted.name)
        && in_time.contains(&named.since_ns);
    let sends = matches!(planted.kind, CulpritKind::Source | CulpritKind::Foreign);
    let mut others = report.flows.iter();
    let broken = others
        .find(|flow| sends && flow.facts.name != planted.name && flow.verdict == Verdict::Broken);
    match (is_right, broken) {
        (true, None) => Ok(said),
        (true, Some(flow)) => Err(format!("{planted:?}: broke {}", flow.facts.name)),
        (false, _) => Err(format!("{planted:?}: {said}")),
    }
}
