//! Scenarios drawn from a seed: text, as a user would write it.
//!
//! Every generator of networks and networks written by hand, every built-in profile,
//! rates, lengths, classes with budgets and without, every kind of flow with what it may
//! state, protection, several receivers, and levels. Small, so that thousands are
//! decided in a minute.

use sim::servers::random::Random;

/// The profiles that are built in.
pub const PROFILES: [&str; 14] = [
    "banana-pi-r1",
    "hp-aruba-3810m",
    "line-rate",
    "odroid-xu4",
    "open-vswitch",
    "open-vswitch-mininet",
    "open-vswitch-sdn4ci",
    "pica8-p3297",
    "taktos-af-packet",
    "taktos-af-xdp",
    "taktos-kernel",
    "taktos-packet",
    "unknown-switch",
    "zodiac-fx",
];
/// The file that drawn traces name.
pub const RECORDING: &str = "drawn.csv";
/// Switches that most flows are promised something by; they are drawn more often.
const QUICK: [&str; 4] = ["line-rate", "pica8-p3297", "taktos-kernel", "taktos-packet"];

/// Returns the text of the scenario of a seed.
pub fn text(seed: u64) -> String {
    let mut random = Random::new(seed);
    let random = &mut random;
    let mut text = format!("[scenario]\ntitle = \"Drawn {seed}\"\n");
    let hosts = network(&mut text, random);
    let classes = classes(&mut text, random);
    let has_levels = random.in_percent(25);
    if has_levels {
        levels(&mut text, random);
    }
    if random.in_percent(15) {
        let budget = random.pick(&[50, 200, 1_000, 5_000]);
        text.push_str(&format!(
            "[admission]\nprocessing_budget = \"{budget} us\"\n"
        ));
    }
    if random.in_percent(70) {
        text.push_str("[controller]\nhosts = \"scenario\"\n");
    }
    for set in 0..random.between(1, 3) {
        flow_set(&mut text, random, set, (&hosts, &classes));
    }
    for flow in 0..random.below(4) {
        let kind = match flow {
            0 => random.pick(&["mms", "trace", "best-effort"]),
            _ => random.pick(&["message", "udp", "trace", "best-effort"]),
        };
        let of = (hosts.as_slice(), classes.as_slice(), has_levels);
        single_flow(&mut text, random, (flow, kind), of);
    }
    text
}

/// Returns the recording of a seed: seconds and bits.
pub fn recording(seed: u64) -> String {
    let mut random = Random::new(seed ^ 0x7261_6365);
    let (mut lines, mut us) = (String::new(), 0);
    for _ in 0..random.between(3, 40) {
        us += random.pick(&[5, 200, 3_000, 20_000]) + random.below(100);
        let bits = 8 * random.between(60, 1_514);
        lines.push_str(&format!(
            "{}.{:06},{bits}\n",
            us / 1_000_000,
            us % 1_000_000
        ));
    }
    lines
}

/// Writes a network and returns the names of its hosts.
fn network(text: &mut String, random: &mut Random) -> Vec<String> {
    let profile = match random.in_percent(70) {
        true => random.pick(&QUICK),
        false => random.pick(&PROFILES),
    };
    let link_rate = random.pick(&["100 Mbit/s", "1 Gbit/s", "1 Gbit/s", "10 Gbit/s"]);
    let host_rate = random.pick(&["100 Mbit/s", "100 Mbit/s", "1 Gbit/s"]);
    let length = random.pick(&["1 m", "10 m", "2 km", "30 km"]);
    let per_switch = random.between(1, 3);
    let (shape, switches) = match random.below(8) {
        0 => sized("line", random.between(1, 5), 0),
        1 => sized("ring", random.between(3, 6), 0),
        2 => sized("star", random.between(2, 5), 0),
        3 => sized("diamond", random.between(2, 4), 2),
        4 => oblong("grid", random.between(1, 3), random.between(2, 3)),
        5 => oblong("torus", 3, 3),
        6 => {
            let fan_out = random.between(1, 3);
            let shape = format!("generator = \"tree\"\ndepth = 2\nfan_out = {fan_out}\n");
            (shape, 1 + fan_out)
        }
        _ => (String::new(), random.between(2, 6)),
    };
    let by_hand = shape.is_empty();
    text.push_str(&format!(
        "[network]\n{shape}link_rate = \"{link_rate}\"\nhost_rate = \"{host_rate}\"\n\
         length = \"{length}\"\nprofile = \"{profile}\"\n"
    ));
    if by_hand {
        mesh(text, random, switches);
    } else {
        text.push_str(&format!("hosts_per_switch = {per_switch}\n"));
    }
    let per_switch = if by_hand { 1 } else { per_switch };
    let of_switch = |switch| {
        (1..=per_switch).map(move |host| match per_switch {
            1 => format!("h{switch}"),
            _ => format!("h{switch}-{host}"),
        })
    };
    (1..=switches).flat_map(of_switch).collect()
}

fn sized(generator: &str, size: u64, more: u64) -> (String, u64) {
    let shape = format!("generator = \"{generator}\"\nsize = {size}\n");
    (shape, size + more)
}

fn oblong(generator: &str, rows: u64, columns: u64) -> (String, u64) {
    let shape = format!("generator = \"{generator}\"\nrows = {rows}\ncolumns = {columns}\n");
    (shape, rows * columns)
}

/// Writes switches of different kinds, each linked to one before it, and some more
/// links of different rates; each switch has a host.
fn mesh(text: &mut String, random: &mut Random, switches: u64) {
    text.push_str("[switches]\n");
    for switch in 1..=switches {
        let profile = match random.below(4) {
            0 => format!("profile = \"{}\"", random.pick(&PROFILES)),
            _ => String::new(),
        };
        text.push_str(&format!("s{switch} = {{ {profile} }}\n"));
    }
    text.push_str("[hosts]\n");
    for switch in 1..=switches {
        let rate = match random.below(3) {
            0 => ", rate = \"1 Gbit/s\"",
            _ => "",
        };
        text.push_str(&format!("h{switch} = {{ at = \"s{switch}\"{rate} }}\n"));
    }
    let mut links: Vec<[u64; 2]> = Vec::new();
    for switch in 2..=switches {
        links.push([random.between(1, switch - 1), switch]);
    }
    for _ in 0..random.below(switches + 1) {
        let (one, other) = (random.between(1, switches), random.between(1, switches));
        let link = [one.min(other), one.max(other)];
        if one != other && !links.contains(&link) {
            links.push(link);
        }
    }
    text.push_str("[links]\n");
    for [one, other] in links {
        let rate = match random.below(3) {
            0 => format!(", rate = \"{}\"", random.pick(&["100 Mbit/s", "1 Gbit/s"])),
            _ => String::new(),
        };
        text.push_str(&format!(
            "l{one}-{other} = {{ ends = [\"s{one}\", \"s{other}\"]{rate} }}\n"
        ));
    }
}

/// Writes classes, or leaves the default ones, and returns the names of those that
/// can have promises, the most urgent first.
fn classes(text: &mut String, random: &mut Random) -> Vec<&'static str> {
    if random.in_percent(50) {
        return vec!["protection", "sampled-values", "control"];
    }
    let names = ["protection", "sampled-values", "control", "slow"];
    text.push_str("[classes]\nbest-effort.queue = 0\n");
    let most_urgent = random.between(4, 7);
    for (below, name) in (0..).zip(names) {
        let queue = most_urgent - below;
        text.push_str(&format!("{name}.queue = {queue}\n"));
        let budget = match random.below(4) {
            0 => format!("\"{} us\"", random.pick(&[300, 1_000, 4_000, 20_000])),
            1 => "{ \"10 Mbit/s\" = \"9 ms\", \"100 Mbit/s\" = \"900 us\", \
                  \"1 Gbit/s\" = \"120 us\", \"10 Gbit/s\" = \"60 us\" }"
                .to_owned(),
            _ => continue,
        };
        text.push_str(&format!("{name}.budget = {budget}\n"));
    }
    names.to_vec()
}

fn levels(text: &mut String, random: &mut Random) {
    let strategy = random.pick(&["taktos", "taktos", "std-sdn", "mc-agnostic"]);
    let levels = random.pick(&["\"lo\", \"hi\"", "\"lo\", \"mid\", \"hi\""]);
    let serve = random.between(1, 6);
    text.push_str(&format!(
        "[modes]\nlevels = [{levels}]\nstrategy = \"{strategy}\"\nserve = {{ hi = {serve} }}\n"
    ));
}

/// Writes many flows at once.
fn flow_set(
    text: &mut String,
    random: &mut Random,
    set: u64,
    (hosts, classes): (&[String], &[&str]),
) {
    let kind = random.pick(&[
        "message",
        "message",
        "udp",
        "udp",
        "goose",
        "sampled-values",
    ]);
    let count = random.between(1, 8);
    let seed = random.below(1 << 30);
    let most = u64::try_from(hosts.len() - 1).expect("few hosts").min(3);
    if most == 0 {
        return; // Nobody to receive.
    }
    let receivers = match kind {
        "goose" | "sampled-values" | "udp" => random.between(1, most),
        _ => 1,
    };
    text.push_str(&format!(
        "[[flow_sets]]\nprefix = \"{kind}-{set}-\"\ncount = {count}\nkind = \"{kind}\"\n\
         seed = {seed}\nreceivers = {receivers}\n"
    ));
    contract(text, random, kind);
    treatment(text, random, classes);
}

/// Writes what flows of a kind send.
fn contract(text: &mut String, random: &mut Random, kind: &str) {
    let frame = random.between(150, 1_514);
    let period_us = random.pick(&[250, 1_000, 4_000, 20_000]);
    match kind {
        "message" => {
            let size = random.pick(&[200, 1_500, 8_000, 8_000, 30_000, 100_000]);
            let size = size + random.below(500);
            // No more than a link of a host carries.
            let least = if size > 40_000 { 20 } else { 5 };
            let period = random.pick(&[5, 20, 20, 100]).max(least);
            text.push_str(&format!("size = \"{size} B\"\nperiod = \"{period} ms\"\n"));
        }
        "goose" => text.push_str(&format!(
            "frame = \"{frame} B\"\nmin_time = \"{} ms\"\n",
            random.pick(&[1, 4, 10])
        )),
        _ => text.push_str(&format!(
            "frame = \"{frame} B\"\nperiod = \"{period_us} us\"\n"
        )),
    }
    if random.in_percent(60) {
        let jitter = random.pick(&[0, 10, 250, 250, 2_000]);
        text.push_str(&format!("jitter = \"{jitter} us\"\n"));
    }
}

/// Writes how a flow is treated.
fn treatment(text: &mut String, random: &mut Random, classes: &[&str]) {
    let deadline = random.pick(&[2_000, 20_000, 100_000, 500_000]) + random.below(100);
    text.push_str(&format!("deadline = \"{deadline} us\"\n"));
    if random.in_percent(70) {
        let interruption = random.pick(&[5, 50, 1_000]);
        let interruption = format!("interruption = \"{interruption} ms\"\n");
        text.push_str(&match random.below(6) {
            0 => {
                let how = random.pick(&[
                    "encoding = \"r-tag\"",
                    "encoding = \"prp\"",
                    "order = \"kept\"",
                ]);
                format!("protection = \"seamless\"\n{how}\n")
            }
            1 => format!("protection = \"fast-failover\"\n{interruption}"),
            2 => format!("protection = \"fast-failover\"\n{interruption}covers = \"any\"\n"),
            _ => format!("protection = \"restore\"\n{interruption}"),
        });
    }
    if random.in_percent(40) {
        text.push_str(&format!("class = \"{}\"\n", random.pick(classes)));
    }
    text.push_str(&format!("criticality = {}\n", random.below(8)));
}

/// Writes one flow of the kinds that have no sets, or with levels of its own.
fn single_flow(
    text: &mut String,
    random: &mut Random,
    (flow, kind): (u64, &str),
    (hosts, classes, has_levels): (&[String], &[&str], bool),
) {
    let from = random.index(hosts.len());
    let to = random.index(hosts.len());
    if from == to {
        return;
    }
    let (from, to) = (&hosts[from], &hosts[to]);
    text.push_str(&format!(
        "[flows.one-{flow}]\nkind = \"{kind}\"\nfrom = \"{from}\"\nto = \"{to}\"\n"
    ));
    match kind {
        "best-effort" => return,
        "mms" => text.push_str(&format!(
            "value = \"{} B\"\nperiod = \"{} ms\"\n",
            random.between(1, 1_400),
            random.pick(&[20, 100, 1_000])
        )),
        "trace" => text.push_str(&format!("file = \"{RECORDING}\"\n")),
        "udp" => text.push_str(&format!(
            "frame = \"{} B\"\nrate = \"{} kbit/s\"\nburst = \"{} B\"\n",
            random.between(60, 1_000),
            random.between(50, 5_000),
            random.between(1_100, 20_000)
        )),
        _ => contract(text, random, kind),
    }
    treatment(text, random, classes);
    if has_levels && random.in_percent(50) {
        let treatment = random.pick(&["\"drop\"", "{}", "{ deadline = \"40 ms\" }"]);
        text.push_str(&format!("modes.hi = {treatment}\n"));
    }
}
