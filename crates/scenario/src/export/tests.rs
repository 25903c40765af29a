use std::collections::BTreeSet;

use proptest::prelude::*;
use roxmltree::Document;
use units::{BitRate, DataSize, Delay};

use super::substation::{FlowSettings, write};
use super::*;
use crate::flow_table::{FlowSet, ImportedFlow, Options, attribute_of, read};
use crate::servers::ServerNetwork;

/// An address of a description: what it holds of each parameter, and how it is laid out.
#[derive(Clone, Debug)]
struct DrawnAddress {
    group: u8,
    application: Option<u8>,
    vlan: Option<u8>,
    priority: Option<u8>,
    layout: usize,
}

fn addresses() -> impl Strategy<Value = Vec<DrawnAddress>> {
    let one = (
        0u8..4,
        proptest::option::of(0u8..4),
        proptest::option::of(0u8..3),
        proptest::option::of(0u8..8),
        0usize..4,
    );
    let one = one.prop_map(
        |(group, application, vlan, priority, layout)| DrawnAddress {
            group,
            application,
            vlan,
            priority,
            layout,
        },
    );
    proptest::collection::vec(one, 1..8)
}

impl DrawnAddress {
    fn text(&self, at: usize) -> String {
        let [open, close, between] = [
            ["<P type=\"T\">", "</P>", "\n\t\t"],
            ["<P xmlns:x=\"u:x\" x:type=\"tP\" type='T'>", "</P>", ""],
            ["<!-- kept --><P\n type=\"T\" ><!-- c -->", " </P >", "\r\n"],
            ["<P type=\"T\"><![CDATA[", "]]></P>", " "],
        ][self.layout];
        let group = Some(format!("01-0c-cd-01-00-{:02x}", self.group));
        let parameters = [
            ("MAC-Address", group),
            ("APPID", self.application.map(|it| format!("{it:04X}"))),
            ("VLAN-ID", self.vlan.map(|it| format!("{it:03X}"))),
            ("VLAN-PRIORITY", self.priority.map(|it| it.to_string())),
            ("IP", Some("10.0.0.1".to_owned())),
        ];
        let parameters = parameters.into_iter().filter_map(|(name, value)| {
            // Text behind a comment is none that a reader sees.
            let open = match self.layout {
                2 => open.replace("<!-- c -->", ""),
                _ => open.to_owned(),
            };
            Some(format!(
                "{}{}{close}{between}",
                open.replace("=\"T\"", &format!("=\"{name}\""))
                    .replace("='T'", &format!("='{name}'")),
                value?
            ))
        });
        let parameters: String = parameters.collect();
        format!(
            "<GSE ldInst=\"L\" cbName=\"G{at}\">{between}<Address>{between}{parameters}</Address></GSE>"
        )
    }
}

/// A publisher with a control block for each address, to which one IED subscribes.
fn description(addresses: &[DrawnAddress]) -> String {
    let each = || addresses.iter().enumerate();
    let blocks =
        each().map(|(at, _)| format!("<GSEControl name=\"G{at}\" datSet=\"d\" appID=\"a\"/>"));
    let references = each().map(|(at, _)| {
        format!(
            "<ExtRef iedName=\"P\" ldInst=\"L\" lnClass=\"LLN0\" doName=\"M\" \
             serviceType=\"GOOSE\" srcCBName=\"G{at}\"/>"
        )
    });
    let texts = each().map(|(at, address)| address.text(at));
    let [blocks, references, texts] = [
        blocks.collect::<String>(),
        references.collect(),
        texts.collect(),
    ];
    format!(
        "<?xml version=\"1.0\"?>\n<SCL xmlns=\"http://www.iec.ch/61850/2003/SCL\"><!-- ä -->\n\
         <Communication><SubNetwork name=\"b\"><ConnectedAP iedName=\"P\" apName=\"A\">{texts}\
         </ConnectedAP></SubNetwork></Communication>\n\
         <IED name=\"P\"><AccessPoint name=\"A\"><Server><LDevice inst=\"L\"><LN0 lnClass=\"LLN0\" \
         inst=\"\" lnType=\"t\"><DataSet name=\"d\"><FCDA ldInst=\"L\" lnClass=\"LLN0\" \
         doName=\"M\" fc=\"ST\"/></DataSet>{blocks}</LN0></LDevice></Server></AccessPoint></IED>\n\
         <IED name=\"S\"><AccessPoint name=\"A\"><Server><LDevice inst=\"L\"><LN0 lnClass=\"LLN0\" \
         inst=\"\" lnType=\"t\"><Inputs>{references}</Inputs></LN0></LDevice></Server>\
         </AccessPoint></IED>\n</SCL>\n"
    )
}

fn flows(text: &str) -> FlowSet {
    read("a.scd", text, &Options::default()).unwrap()
}

fn settings_of(set: &FlowSet, priority: u8) -> BTreeMap<String, FlowSettings> {
    let one = FlowSettings {
        priority,
        guarantee: Some(Delay::from_ns(412_345)),
        deadline: Some(Delay::from_us(600)),
        way: "s1 s<2> \"&\"".to_owned(),
        ..FlowSettings::default()
    };
    let flows = set.flows.iter();
    flows.map(|flow| (flow.name.clone(), one.clone())).collect()
}

/// Returns the text without what may be set, and without white space.
fn skeleton(text: &str) -> String {
    let document = Document::parse(text).unwrap();
    let is_set = |it: &roxmltree::Node<'_, '_>| match it.tag_name().name() {
        "Private" => attribute_of(*it, "type") == "taktos:promise",
        "P" => ["MAC-Address", "APPID", "VLAN-ID", "VLAN-PRIORITY"]
            .contains(&attribute_of(*it, "type")),
        _ => false,
    };
    let set = document.descendants().filter(is_set).map(|it| it.range());
    let mut bytes = text.as_bytes().to_vec();
    for range in set {
        bytes[range].fill(b' ');
    }
    let text = String::from_utf8(bytes).unwrap();
    text.split_whitespace().collect()
}

/// Returns all of a flow but what stands in its address.
fn without_address(flow: &ImportedFlow) -> ImportedFlow {
    ImportedFlow {
        matching: Matching::default(),
        priority: None,
        line: 0,
        address: 0,
        ..flow.clone()
    }
}

fn check_written(text: &str, priority: u8) {
    let before = flows(text);
    let settings = settings_of(&before, priority);

    let written = write("a.scd", text, &Options::default(), &settings).unwrap();

    assert_eq!(written.set.len(), before.flows.len());
    let after = flows(&written.text);
    assert_eq!(skeleton(&written.text), skeleton(text));
    assert_eq!(after.flows.len(), before.flows.len());
    let (mut seen, mut given) = (BTreeSet::new(), BTreeSet::new());
    for (old, new) in before.flows.iter().zip(&after.flows) {
        assert_eq!(without_address(new), without_address(old));
        assert_eq!(
            (new.priority, new.matching.vlan),
            (Some(priority), old.matching.vlan)
        );
        let group = |flow: &ImportedFlow| (flow.matching.destination, flow.matching.vlan);
        match seen.insert(group(old)) {
            true => assert_eq!(group(new), group(old), "the first keeps its group"),
            false => assert_ne!(group(new), group(old)),
        }
        assert!(given.insert(group(new)), "{} shares its group", new.name);
        assert_eq!(written.set[&new.name], new.matching);
    }
    let again = write("a.scd", &written.text, &Options::default(), &settings).unwrap();
    assert_eq!(
        again.text, written.text,
        "writing twice changes nothing more"
    );
}

#[test]
fn descriptions_of_open_scd_keep_all_that_is_not_set() {
    let names = [
        "LaterBindingGOOSE-LGOS",
        "LaterBindingSMV-LSVS",
        "communication",
    ];
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/flows/");
    for name in names {
        let text = std::fs::read_to_string(format!("{folder}{name}.scd")).unwrap();

        check_written(&text, 6);

        let nothing = write("a.scd", &text, &Options::default(), &BTreeMap::new()).unwrap();
        assert_eq!(nothing.text, text);
        assert_eq!(
            (nothing.set.len(), nothing.unknown.len()),
            (0, flows(&text).flows.len())
        );
    }
}

proptest! {
    /// IEC 61850-6 clause 9.4: an address is a set of parameters, each once.
    #[test]
    fn a_description_gets_its_settings_and_keeps_the_rest(
        addresses in addresses(),
        priority in 0u8..8,
    ) {
        let text = description(&addresses);
        prop_assert_eq!(flows(&text).flows.len(), addresses.len());
        check_written(&text, priority);
    }

    #[test]
    fn what_a_network_says_of_a_flow_is_written(
        addresses in addresses(),
        group: u8,
        vlan in 0u16..0xFFF,
    ) {
        let text = description(&addresses);
        let mut settings = settings_of(&flows(&text), 4);
        let own = settings.get_mut("P.G0").unwrap();
        own.group = Some([0x01, 0x0C, 0xCD, 0x01, 0x01, group]);
        own.vlan = Some(vlan);

        let written = write("a.scd", &text, &Options::default(), &settings).unwrap();

        let set = flows(&written.text);
        let matching = set.flows[0].matching;
        prop_assert_eq!(matching.destination, Some([0x01, 0x0C, 0xCD, 0x01, 0x01, group]));
        prop_assert_eq!(matching.vlan, Some(vlan).filter(|it| *it > 0));
    }

    /// Cuts and doubles pieces of a real description.
    #[test]
    fn no_damage_makes_the_writer_panic(
        damage in proptest::collection::vec((0usize..29_000, 0usize..400, 0usize..29_000), 1..4),
    ) {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/flows/");
        let file = format!("{folder}LaterBindingGOOSE-LGOS.scd");
        let mut text = std::fs::read_to_string(file).unwrap();
        let settings = settings_of(&flows(&text), 6);
        for (from, length, to) in damage {
            let end = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            let (from, until, to) = (end(from).unwrap(), end(from + length).unwrap(), end(to).unwrap());
            let piece = text[from..until].to_owned();
            text.replace_range(to..to, &piece);
        }

        if let Ok(written) = write("a.scd", &text, &Options::default(), &settings) {
            prop_assert!(read("a.scd", &written.text, &Options::default()).is_ok());
        }
    }
}

/// Two switches, with a host at the first and two at the second.
fn network() -> ConfiguredNetwork {
    let switch = |at, port| End {
        node: Node::Switch(crate::SwitchIndex(at)),
        port,
    };
    let host = |at| End {
        node: Node::Host(HostIndex(at)),
        port: 1,
    };
    let link = |ends| ConfiguredLink {
        ends,
        rate: Some(BitRate::from_mbps(100)),
        propagation: Delay::from_ns(50),
    };
    let named = |name: &str, ports: &[u32]| ConfiguredSwitch {
        name: name.to_owned(),
        processing_budget: Some(Delay::from_us(10)),
        port_budgets: ports
            .iter()
            .map(|port| ((*port, 6), Delay::from_us(200)))
            .collect(),
    };
    let bounds = TrafficBounds {
        rate: BitRate::from_mbps(1),
        burst: DataSize::from_bytes(400),
        largest_frame: DataSize::from_bytes(200),
    };
    ConfiguredNetwork {
        name: "a-1".to_owned(),
        switches: vec![named("s1", &[2]), named("s|2", &[2, 3])],
        hosts: ["h1", "h2", "h3"].map(str::to_owned).to_vec(),
        links: vec![
            link([host(0), switch(0, 1)]),
            link([switch(1, 1), switch(0, 2)]),
            link([switch(1, 2), host(1)]),
            link([host(2), switch(1, 3)]),
        ],
        flows: vec![ConfiguredFlow {
            name: "=trip, \"a\"".to_owned(),
            source: HostIndex(0),
            receivers: vec![HostIndex(1), HostIndex(2)],
            matching: Matching {
                ether_type: Some(0x88B8),
                destination: Some([1, 0x0C, 0xCD, 1, 0, 7]),
                vlan: Some(12),
                ..Matching::default()
            },
            queue: 6,
            traffic: bounds,
            deadline: Some(Delay::from_us(600)),
            guarantee: Some(Delay::from_us(440)),
            protection: "none",
            way: [3, 2, 1, 0].map(LinkIndex).to_vec(),
            alternatives: Vec::new(),
        }],
        background: vec![(3, bounds)],
    }
}

#[test]
fn each_port_has_the_filters_queues_and_policers_of_its_flows() {
    let network = network();

    let text = network.settings_text();
    let table = network.settings_csv();

    let policer = "| 1 | policer: comes in here | =trip, \"a\" | type 0x88B8, \
                   to 01-0C-CD-01-00-07, VLAN 12 | 6 | 1 Mbit/s, burst 400 B |";
    assert!(text.contains(policer), "{text}");
    assert!(text.contains("## s\\|2"), "{text}");
    assert!(text.contains("| 2 | s\\|2 | 100 Mbit/s | 6: 1 Mbit/s promised, within 200 us | 12 |"));
    assert_eq!(text.matches("multicast filter: leaves here").count(), 3);
    let lines: Vec<_> = table.lines().collect();
    let forward = "s|2,3,h3,forward,6,\"'=trip, \"\"a\"\"\",0x88B8,01-0C-CD-01-00-07,12,,,";
    assert!(lines.contains(&forward), "{table}");
    assert!(
        lines.contains(&"s1,2,s|2,queue,6,,,,,1000000,,200000"),
        "{table}"
    );
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("switch") || line.starts_with("s"))
    );
}

#[test]
fn the_table_of_flows_has_bound_deadline_and_way() {
    let table = network().flows_csv();

    let row = "\"'=trip, \"\"a\"\"\",h1,h2 h3,0x88B8,01-0C-CD-01-00-07,12,6,1000000,400,200,\
               600000,440000,160000,none,s1 s|2,";
    assert_eq!(table.lines().nth(1), Some(row));
}

#[test]
fn inet_has_each_link_and_a_source_and_a_sink_for_each_receiver() {
    let (ned, ini) = network().to_inet().unwrap();

    assert!(
        ned.contains("network a_2d_1 extends TsnNetworkBase"),
        "{ned}"
    );
    assert!(
        ned.contains("s_7c_2: TsnSwitch { gates: ethg[3]; }"),
        "{ned}"
    );
    let link = "s_7c_2.ethg[0] <--> EthernetLink { datarate = 100000000bps; delay = 50000ps; } \
                <--> s1.ethg[1];";
    assert!(ned.contains(link), "{ned}");
    assert_eq!(ned.matches("EthernetLink {").count(), 4);
    assert!(ini.contains("*.h1.numApps = 2"), "{ini}");
    // 200 B at 1 Mbit/s, of which 130 B are a payload.
    assert!(
        ini.contains("*.h1.app[0].source.packetLength = 130B"),
        "{ini}"
    );
    assert!(
        ini.contains("*.h1.app[0].source.productionInterval = 1600000000ps"),
        "{ini}"
    );
    assert_eq!(ini.matches("UdpSinkApp").count(), 2);
    let ways = "*.s_7c_2.macTable.forwardingTable = [{address: \"h2\", interface: \"eth1\"}, \
                {address: \"h3\", interface: \"eth2\"}]";
    assert!(ini.contains(ways), "{ini}");
}

/// S4-5: the frame that is being sent goes first, and what is more urgent.
#[test]
fn a_server_is_what_others_leave_of_a_link_behind_a_processor() {
    let mut network = network();
    let urgent = (7, network.background[0].1);
    network.background.push(urgent);

    let servers = network.to_servers().unwrap();

    let first = &servers.servers[0];
    let (rate, latency) = first.service[0];
    assert_eq!(
        (first.id.as_str(), rate.as_ubps()),
        ("s1:2/6", 99_000_000_000_000)
    );
    // 1,542 B of another queue and 400 B of queue 7 at 99 Mbit/s, a processor, a cable.
    let ps = ((1_542 + 400) * 8 * 1_000_000u64).div_ceil(99) + 10_000_000 + 50_000;
    assert_eq!(latency.round_up().as_ps(), ps);
    let names: Vec<_> = servers.flows.iter().map(|flow| flow.id.as_str()).collect();
    assert_eq!(names, ["=trip, \"a\"/h2", "=trip, \"a\"/h3"]);
    let text = servers.to_saihu_with(&network.promises_in_words()).unwrap();
    assert!(
        text.contains("promised within 440 us, asked for 600 us"),
        "{text}"
    );
    assert!(ServerNetwork::parse("saihu.json", &text).is_ok());
    network.links[0].rate = None;
    let error = network.to_servers().unwrap_err();
    assert_eq!(
        error.to_string(),
        "it is not known how fast the link between h1 and s1 is"
    );
    assert_eq!(network.to_inet(), Err(error));
}
