//! Draws networks, and an error of each kind that fits into one.

use std::fmt::Write;

use measure::report::{CulpritKind, FlowKind, Report, Verdict};
use units::Seeded;

/// When an error begins, after the start of traffic, in milliseconds: at least so late.
const EARLIEST_MS: u64 = 200;

/// A network with its flows, as a scenario file.
pub struct Drawn {
    pub text: String,
    /// The hosts, and the rates of their links in Mbit/s.
    hosts: Vec<(String, u64)>,
}

/// An error, as an event of a scenario file, and who is to be named for it.
#[derive(Debug)]
pub struct Planted {
    pub event: String,
    pub at_ms: u64,
    pub kind: CulpritKind,
    pub name: String,
}

/// Draws a network that lasts 1.2 s.
pub fn network(random: &mut Seeded) -> Drawn {
    let profile = random
        .choose(&["taktos-kernel", "taktos-packet", "line-rate"])
        .unwrap();
    let mut text = format!(
        "[scenario]\ntitle = \"Drawn\"\nduration = \"1.2 s\"\nseed = {}\n\n\
         [network]\nlink_rate = \"1 Gbit/s\"\nprofile = \"{profile}\"\n",
        1 + random.below(1_000_000)
    );
    let switches = 3 + random.up_to(3);
    text += "\n[switches]\n";
    for number in 1..=switches {
        writeln!(text, "s{number} = {{}}").unwrap();
    }
    text += "\n[links]\n";
    for (one, other) in links(random, switches) {
        writeln!(text, "s{one}-s{other} = [\"s{one}\", \"s{other}\"]").unwrap();
    }
    text += "\n[hosts]\n";
    let mut hosts = Vec::new();
    for number in 1..=4 + random.up_to(6) {
        let mbps = *random.choose(&[100, 1_000]).unwrap();
        let at = 1 + random.below(switches);
        let name = format!("h{number}");
        writeln!(
            text,
            "{name} = {{ at = \"s{at}\", rate = \"{mbps} Mbit/s\" }}"
        )
        .unwrap();
        hosts.push((name, mbps));
    }
    for number in 0..3 + random.up_to(6) {
        let [from, to] = [(); 2].map(|()| &hosts[random.index(hosts.len())].0);
        if from == to {
            continue;
        }
        let kind = flow(random);
        write!(
            text,
            "\n[flows.f{number}]\nfrom = \"{from}\"\nto = \"{to}\"\n{kind}"
        )
        .unwrap();
    }
    Drawn { text, hosts }
}

/// Draws which switches are joined: a row, a ring, a star or a tree.
fn links(random: &mut Seeded, switches: u64) -> Vec<(u64, u64)> {
    let shape = random.below(4);
    let joined = (2..=switches).map(|number| match shape {
        0 | 1 => (number - 1, number),
        2 => (1, number),
        _ => (number / 2, number),
    });
    let closing = (shape == 1).then_some((switches, 1));
    joined.chain(closing).collect()
}

fn flow(random: &mut Seeded) -> String {
    let deadline = random.choose(&["500 us", "1 ms", "5 ms"]).unwrap();
    match random.below(5) {
        0 | 1 => {
            let period = random.choose(&["250 us", "1 ms", "2 ms"]).unwrap();
            format!(
                "kind = \"sampled-values\"\nframe = \"122 B\"\nperiod = \"{period}\"\n\
                 deadline = \"{deadline}\"\n"
            )
        }
        2 => format!(
            "kind = \"goose\"\nframe = \"160 B\"\nchanges = \"300 ms\"\n\
             deadline = \"{deadline}\"\n"
        ),
        3 => format!(
            "kind = \"udp\"\nframe = \"{} B\"\nrate = \"{} Mbit/s\"\nburst = \"4 kB\"\n\
             deadline = \"{deadline}\"\n",
            100 + random.below(1_300),
            1 + random.below(8)
        ),
        _ => format!(
            "kind = \"best-effort\"\nframe = \"1000 B\"\nrate = \"{} Mbit/s\"\n",
            1 + random.below(20)
        ),
    }
}

/// Draws an error that concerns what was seen of a run without one, if there is any flow
/// whose frames come often.
pub fn error(random: &mut Seeded, drawn: &Drawn, seen: &Report) -> Option<Planted> {
    let at_ms = EARLIEST_MS + random.below(600);
    let regular: Vec<_> = seen
        .flows
        .iter()
        .filter(|flow| flow.verdict == Verdict::Held)
        .filter(|flow| matches!(flow.facts.kind, FlowKind::SampledValues | FlowKind::Udp))
        .collect();
    let flow = *random.choose(&regular)?;
    let way = &flow.facts.routes[0];
    let (host, mbps) = random.choose(&drawn.hosts)?.clone();
    let (kind, name, keys) = match random.below(5) {
        0 => {
            let switch = way[1 + random.index(way.len() - 2)].clone();
            let extra = random.choose(&[1, 10, 50, 200, 500]).unwrap();
            let keys =
                format!("kind = \"slow-switch\"\nswitch = \"{switch}\"\nextra = \"{extra} us\"");
            (CulpritKind::Switch, switch, keys)
        }
        1 => {
            let place = random.index(way.len() - 1);
            let link = seen.topology.links.iter().find(|link| {
                let ends = [&link.a, &link.b];
                ends.contains(&&way[place]) && ends.contains(&&way[place + 1])
            })?;
            let by = random.choose(&[1, 5, 50, 95, 99]).unwrap();
            let name = link.name.clone();
            let keys = format!("kind = \"slow-link\"\nlink = \"{name}\"\nby = \"{by} %\"");
            (CulpritKind::Link, name, keys)
        }
        2 => {
            let name = flow.facts.name.clone();
            let excess = match random.below(3) {
                0 => "burst = \"20 kB\"".to_owned(),
                _ => format!("factor = {}.5", 1u64 << random.below(7)),
            };
            let keys = format!("kind = \"exceed\"\nflow = \"{name}\"\n{excess}");
            (CulpritKind::Source, name, keys)
        }
        3 => {
            let frames = match random.below(2) {
                0 if host != flow.facts.source => format!("like = \"{}\"", flow.facts.name),
                _ => format!("priority = {}", random.below(8)),
            };
            let keys = format!(
                "kind = \"foreign\"\nhost = \"{host}\"\n{frames}\nrate = \"{} Mbit/s\"\n\
                 size = \"{} B\"",
                1 + random.below(mbps),
                64 + random.below(1_400)
            );
            (CulpritKind::Foreign, host, keys)
        }
        _ => {
            let to = random.choose(&["random", "broadcast"]).unwrap();
            let keys = format!(
                "kind = \"flood\"\nhost = \"{host}\"\nrate = \"{} Mbit/s\"\n\
                 destination = \"{to}\"\nuntil = \"{} ms\"",
                1 + random.below(mbps),
                at_ms + 50
            );
            (CulpritKind::Foreign, host, keys)
        }
    };
    Some(Planted {
        event: format!("\n[[events]]\nat = \"{at_ms} ms\"\n{keys}\n"),
        at_ms,
        kind,
        name,
    })
}
