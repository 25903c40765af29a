use std::collections::BTreeMap;

use calculus::analysis::tfa;
use proptest::prelude::*;
use run::experiment::{Admission, Audience, Discovered, SimEngine, WorldChoice};
use scenario::Scenario;
use scenario::servers::ServerNetwork;
use units::Duration;

use super::*;
use crate::cli::analyze::network::build;

/// A flow between hosts of a ring with two hosts at each switch.
#[derive(Clone, Debug)]
struct DrawnFlow {
    from: usize,
    to: usize,
    further: Option<usize>,
    kind: usize,
    frame: u32,
    restored: bool,
}

fn drawn_flows() -> impl Strategy<Value = (usize, Vec<DrawnFlow>)> {
    let flow = (
        0usize..12,
        0usize..12,
        proptest::option::of(0usize..12),
        0usize..3,
        200u32..1_400,
        any::<bool>(),
    );
    let flow = flow.prop_map(|(from, to, further, kind, frame, restored)| DrawnFlow {
        from,
        to,
        further,
        kind,
        frame,
        restored,
    });
    (3usize..6, proptest::collection::vec(flow, 1..7))
}

/// Writes a ring of so many switches with the flows.
fn ring(size: usize, flows: &[DrawnFlow]) -> String {
    let mut text = format!(
        "[scenario]\ntitle = \"Ring\"\nduration = \"60 ms\"\n[network]\ngenerator = \"ring\"\n\
         size = {size}\nhosts_per_switch = 2\nlink_rate = \"100 Mbit/s\"\n"
    );
    let hosts = size * 2;
    for (at, flow) in flows.iter().enumerate() {
        let host = |number: usize| format!("\"h{}-{}\"", number % hosts / 2 + 1, number % 2 + 1);
        let (from, to) = (host(flow.from), host(flow.to));
        if from == to {
            continue;
        }
        let further = flow.further.map(host);
        let further = further.filter(|it| *it != from && *it != to && flow.kind != 2);
        let to = [Some(to), further]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        let kind = [
            "kind = \"goose\"\nmin_time = \"8 ms\"",
            "kind = \"sampled-values\"\nperiod = \"2 ms\"",
            "kind = \"udp\"\nrate = \"2 Mbit/s\"\nclass = \"control\"",
        ][flow.kind];
        let protection = match flow.restored {
            true => "protection = \"restore\"\ninterruption = \"1 s\"\n",
            false => "",
        };
        text += &format!(
            "[flows.f{at}]\n{kind}\nfrom = {from}\nto = [{}]\nframe = \"{} B\"\n\
             deadline = \"20 ms\"\n{protection}",
            to.join(", "),
            flow.frame
        );
    }
    text
}

fn parsed(text: &str, description: &str) -> Scenario {
    let mut load = |_: &str| Ok(description.to_owned());
    Scenario::parse("drawn.toml", text, &mut load)
        .unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn admitted_of(scenario: &Scenario) -> (Vec<Admission>, ConfiguredNetwork) {
    let stop = AtomicBool::new(false);
    let (admissions, promises) = Experiment::deciding(scenario, &stop).promises().unwrap();
    let certificate = certificate(scenario, &promises);
    (admissions, admitted::of_certificate(scenario, &certificate))
}

struct Nobody;

impl Audience for Nobody {
    fn built(&mut self, _: Duration) {}
    fn discovered(&mut self, _: Discovered, _: Duration) {}
    fn decided(&mut self, _: &[Admission]) {}
    fn running(&mut self, _: Duration, _: Duration) {}
    fn happened(&mut self, _: Duration, _: &str) {}
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// What Saihu is given comes back whole; it says of every flow that it is in time, as
    /// the admission did, and less than what was seen of none.
    #[test]
    fn servers_come_back_from_saihu_and_bound_what_is_seen((size, flows) in drawn_flows()) {
        let scenario = parsed(&ring(size, &flows), "");
        prop_assume!(!scenario.flows.is_empty());
        let (admissions, network) = admitted_of(&scenario);
        let written = network.to_servers().unwrap();
        let text = written.to_saihu_with(&network.promises_in_words()).unwrap();

        let read = ServerNetwork::parse("saihu.json", &text).unwrap();

        let of_saihu = |network: &ServerNetwork| {
            let mut network = network.clone();
            network.flows.iter_mut().for_each(|flow| flow.priority = 0);
            network
        };
        prop_assert_eq!(&read, &of_saihu(&written));
        prop_assert_eq!(network.flows.len(), admissions.iter().filter(|it| it.decision.is_ok()).count());
        let (graph, _) = build(&read, None).unwrap();
        let analysis = tfa::analyze(&graph).unwrap();
        let mut latest = BTreeMap::<&str, u64>::new();
        for (flow, bound) in read.flows.iter().zip(&analysis.flows) {
            let name = flow.id.split('/').next().unwrap();
            let bound = bound.delay.expect("what is promised is bounded").round_up();
            let latest = latest.entry(name).or_default();
            *latest = (*latest).max(bound.as_ps().div_ceil(1_000));
        }
        let stop = AtomicBool::new(false);
        let place = WorldChoice::Sim(SimEngine::Tables);
        let report = Experiment::deciding(&scenario, &stop).run(place, &mut Nobody).unwrap();
        for (flow, seen) in scenario.flows.iter().zip(&report.flows) {
            let Some(bound) = latest.get(flow.name.as_str()) else { continue };
            let link = scenario.links[scenario.hosts[flow.source.0].link.0].clone();
            let first = link.rate.time_to_send(flow.contract().unwrap().largest_frame);
            let whole = bound + (first + link.propagation).round_up().as_ns();
            prop_assert!(whole <= flow.deadline.unwrap().as_ns(), "{}: {}", flow.name, whole);
            let observed = seen.latency_ns.as_ref().map_or(0, |it| it.max);
            prop_assert!(observed <= whole, "{}: {} > {}", flow.name, observed, whole);
        }
    }

    /// A description with its settings is admitted as the one before was.
    #[test]
    fn a_written_description_is_admitted_as_before(
        addresses in proptest::collection::vec((0u8..3, proptest::option::of(0u8..3), 1u8..6), 1..7),
    ) {
        let text = "[scenario]\ntitle = \"Bus\"\n[network]\ngenerator = \"ring\"\nsize = 3\n\
                    hosts_per_switch = 2\n[[flow_imports]]\nfile = \"bus.scd\"\nprefix = \"bus-\"\n\
                    deadline = \"5 ms\"\nhosts = { P = \"h1-1\", S0 = \"h2-1\", S1 = \"h3-2\" }\n";
        let description = bus(&addresses);
        let scenario = parsed(text, &description);
        let (before, network) = admitted_of(&scenario);
        let import = &scenario.imports[0];
        let settings = settings_of_import(import, &network);

        let written = substation::write("bus.scd", &description, &import.options, &settings).unwrap();

        prop_assert_eq!(written.set.len(), addresses.len());
        let (after, again) = admitted_of(&parsed(text, &written.text));
        prop_assert_eq!(before, after);
        prop_assert_eq!(network, again);
    }
}

/// A publisher with a control block for each group, VLAN and `MinTime`.
fn bus(addresses: &[(u8, Option<u8>, u8)]) -> String {
    let (mut blocks, mut texts) = (String::new(), String::new());
    let mut references = [String::new(), String::new()];
    for (at, (group, vlan, min_time)) in addresses.iter().enumerate() {
        blocks += &format!("<GSEControl name=\"G{at}\" datSet=\"d\" appID=\"a\"/>");
        let vlan = vlan.map(|it| format!("<P type=\"VLAN-ID\">00{it}</P>"));
        texts += &format!(
            "<GSE ldInst=\"L\" cbName=\"G{at}\"><Address><P type=\"MAC-Address\">\
             01-0C-CD-01-00-0{group}</P>{}</Address>\
             <MinTime unit=\"s\" multiplier=\"m\">{min_time}</MinTime></GSE>",
            vlan.unwrap_or_default()
        );
        references[at % 2] += &format!(
            "<ExtRef iedName=\"P\" ldInst=\"L\" lnClass=\"LLN0\" doName=\"M\" \
             serviceType=\"GOOSE\" srcCBName=\"G{at}\"/>"
        );
    }
    let node = |name: &str, inside: &str| {
        format!(
            "<IED name=\"{name}\"><AccessPoint name=\"A\"><Server><LDevice inst=\"L\">\
             <LN0 lnClass=\"LLN0\" inst=\"\" lnType=\"t\">{inside}</LN0></LDevice></Server>\
             </AccessPoint></IED>"
        )
    };
    let set = "<DataSet name=\"d\"><FCDA ldInst=\"L\" lnClass=\"LLN0\" doName=\"M\" fc=\"ST\"/></DataSet>";
    let subscribers = references.iter().enumerate();
    let subscribers =
        subscribers.map(|(at, it)| node(&format!("S{at}"), &format!("<Inputs>{it}</Inputs>")));
    format!(
        "<SCL><Communication><SubNetwork name=\"b\"><ConnectedAP iedName=\"P\" apName=\"A\">{texts}\
         </ConnectedAP></SubNetwork></Communication>{}{}</SCL>",
        node("P", &format!("{set}{blocks}")),
        subscribers.collect::<String>()
    )
}
