use proptest::prelude::*;
use units::{DataSize, Duration};

use super::*;
use crate::flow_table::{ImportedFlow, Matching, Remark, read as read_file};
use crate::{SampledValues, Traffic};

fn vector(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/flows/");
    std::fs::read_to_string(format!("{folder}{name}")).unwrap()
}

fn set_of(text: &str, options: &Options) -> FlowSet {
    read_file("a.scd", text, options).unwrap()
}

fn mistake(text: &str) -> String {
    let error = read_file("a.scd", text, &Options::default()).unwrap_err();
    let [problem] = error.problems() else {
        panic!("{error:?}");
    };
    let help = problem.mistake.help().unwrap_or_default();
    format!("{problem} ({help})")
}

fn reasons(remarks: &[Remark]) -> String {
    let lines = remarks.iter().map(ToString::to_string);
    lines.collect::<Vec<_>>().join("\n")
}

/// A description of a publisher `P` with what is below `LN0`, a subscriber `S`
/// with inputs, and what `Communication` holds.
fn description(control: &str, inputs: &str, addresses: &str) -> String {
    format!(
        r#"<SCL xmlns="http://www.iec.ch/61850/2003/SCL">
<Substation name="A"><VoltageLevel name="E" nomFreq="60"/></Substation>
<Communication><SubNetwork name="bus">{addresses}</SubNetwork></Communication>
<IED name="P"><AccessPoint name="A"><Server><LDevice inst="L">
<LN0 lnClass="LLN0" inst="" lnType="zero">
<DataSet name="ds"><FCDA ldInst="L" prefix="" lnClass="XCBR" lnInst="1" doName="Pos" fc="ST"/></DataSet>
<DataSet name="sv"><FCDA ldInst="L" prefix="" lnClass="TCTR" lnInst="1" doName="Amp" daName="instMag.i" fc="MX"/>
<FCDA ldInst="L" prefix="" lnClass="TCTR" lnInst="1" doName="Amp" daName="q" fc="MX"/></DataSet>
{control}
</LN0>
<LN prefix="" lnClass="XCBR" inst="1" lnType="breaker"/><LN prefix="" lnClass="TCTR" inst="1" lnType="current"/>
</LDevice></Server></AccessPoint></IED>
<IED name="S"><AccessPoint name="A"><Server><LDevice inst="L"><LN0 lnClass="LLN0" inst="" lnType="zero">
<Inputs>{inputs}</Inputs></LN0></LDevice></Server></AccessPoint></IED>
<DataTypeTemplates>
<LNodeType id="zero" lnClass="LLN0"/>
<LNodeType id="breaker" lnClass="XCBR"><DO name="Pos" type="position"/></LNodeType>
<LNodeType id="current" lnClass="TCTR"><DO name="Amp" type="sample"/></LNodeType>
<DOType id="position" cdc="DPC"><DA name="stVal" bType="Dbpos" fc="ST"/><DA name="q" bType="Quality" fc="ST"/>
<DA name="t" bType="Timestamp" fc="ST"/><DA name="d" bType="VisString255" fc="DC"/></DOType>
<DOType id="sample" cdc="SAV"><DA name="instMag" bType="Struct" type="analogue" fc="MX"/><DA name="q" bType="Quality" fc="MX"/></DOType>
<DAType id="analogue"><BDA name="i" bType="INT32"/></DAType>
</DataTypeTemplates>
</SCL>"#
    )
}

const GOOSE: &str = r#"<GSEControl name="G" datSet="ds" appID="trip"/>"#;
const BOUND: &str = r#"<ExtRef iedName="P" ldInst="L" lnClass="XCBR" lnInst="1" doName="Pos" daName="stVal" serviceType="GOOSE" srcCBName="G"/>"#;
const ADDRESS: &str = r#"<ConnectedAP iedName="P" apName="A"><GSE ldInst="L" cbName="G"><Address>
<P type="MAC-Address">01-0C-CD-01-00-10</P><P type="VLAN-ID">00A</P><P type="VLAN-PRIORITY">5</P><P type="APPID">0010</P>
</Address><MinTime unit="s" multiplier="m">10</MinTime><MaxTime unit="s" multiplier="m">1000</MaxTime></GSE></ConnectedAP>"#;

fn only_flow(set: &FlowSet) -> &ImportedFlow {
    let [flow] = &set.flows[..] else {
        panic!("{}", reasons(&set.left_out));
    };
    flow
}

#[test]
fn a_goose_control_block_is_a_flow_to_who_binds_it() {
    let set = set_of(&description(GOOSE, BOUND, ADDRESS), &Options::default());

    let flow = only_flow(&set);
    assert_eq!((flow.name.as_str(), flow.source.as_str()), ("P.G", "P"));
    assert_eq!(flow.receivers, ["S"]);
    assert_eq!(
        flow.matching,
        Matching {
            ether_type: Some(0x88B8),
            destination: Some([0x01, 0x0C, 0xCD, 0x01, 0x00, 0x10]),
            vlan: Some(10),
            ..Matching::default()
        }
    );
    assert_eq!((flow.priority, flow.queue), (Some(5), 6));
    assert_eq!(flow.deadline, Some(Duration::from_us(600)));
    let Traffic::Goose(goose) = &flow.traffic else {
        panic!("{:?}", flow.traffic);
    };
    // References 14 and 12, identifier 6; position, quality and time are 19 in a
    // structure of 21; numbers 33, flags 6, time 10, and the PDU's own header 2.
    let pdu = 2 + (14 + 12 + 6 + 33 + 6 + 10) + 2 + 21;
    assert_eq!(goose.frame, DataSize::from_bytes(14 + 4 + 8 + pdu));
    assert_eq!(goose.min_time, Duration::from_ms(10));
    let contract = flow.contract().unwrap();
    assert_eq!(
        contract.rate.as_bps(),
        2 * 8 * (goose.frame.bytes_up() + 24) * 100
    );
}

#[test]
fn samples_a_period_follow_from_the_frequency_of_the_description_or_of_the_caller() {
    let control = r#"<SampledValueControl name="M" datSet="sv" smvID="MU01" smpRate="80" nofASDU="1"><SmvOpts/></SampledValueControl>"#;
    let inputs = BOUND.replace("GOOSE", "SMV").replace("\"G\"", "\"M\"");
    let addresses = ADDRESS.replace("GSE", "SMV").replace("\"G\"", "\"M\"");
    let text = description(control, &inputs, &addresses);
    let at = |frequency_hz| {
        let options = Options {
            frequency_hz,
            ..Options::default()
        };
        match only_flow(&set_of(&text, &options)).traffic {
            Traffic::SampledValues(SampledValues { period, .. }) => period,
            ref other => panic!("{other:?}"),
        }
    };

    assert_eq!(at(None), Duration::from_ns(208_333));
    assert_eq!(at(Some(50)), Duration::from_us(250));
    let per_second = text.replace("smpRate=\"80\"", "smpRate=\"4800\" smpMod=\"SmpPerSec\"");
    let two = per_second.replace("nofASDU=\"1\"", "nofASDU=\"2\"");
    let set = set_of(&two, &Options::default());
    let Traffic::SampledValues(traffic) = only_flow(&set).traffic else {
        panic!("{:?}", set.flows);
    };
    assert_eq!(traffic.period, Duration::from_ns(416_666));
}

#[test]
fn a_frame_of_9_2le_has_126_bytes() {
    let member = |n: u32| {
        format!(
            r#"<FCDA ldInst="L" prefix="" lnClass="TCTR" lnInst="1" doName="Amp" daName="instMag.i" fc="MX"/>
<FCDA ldInst="L" prefix="" lnClass="TCTR" lnInst="1" doName="Amp" daName="q" fc="MX"/><!-- {n} -->"#
        )
    };
    let eight: String = (0..8).map(member).collect();
    let control = format!(
        r#"<DataSet name="PhsMeas1">{eight}</DataSet>
<SampledValueControl name="M" datSet="PhsMeas1" smvID="MU01_SMV01" smpRate="80" nofASDU="1"><SmvOpts/></SampledValueControl>"#
    );
    let inputs = BOUND.replace("GOOSE", "SMV").replace("\"G\"", "\"M\"");
    let addresses = ADDRESS.replace("GSE", "SMV").replace("\"G\"", "\"M\"");

    let set = set_of(
        &description(&control, &inputs, &addresses),
        &Options::default(),
    );

    let Traffic::SampledValues(traffic) = only_flow(&set).traffic else {
        panic!("{:?}", set.flows);
    };
    assert_eq!(traffic.frame, DataSize::from_bytes(126));
}

#[test]
fn whoever_binds_a_datum_supervises_or_is_listed_subscribes() {
    let datum = r#"<ExtRef iedName="P" ldInst="L" prefix="" lnClass="XCBR" lnInst="1" doName="Pos" daName="q"/>"#;
    let supervision = |reference: &str| {
        format!(
            r#"</Inputs></LN0><LN lnClass="LGOS" inst="1" lnType="x"><DOI name="GoCBRef"><DAI name="setSrcRef"><Val>{reference}</Val></DAI></DOI></LN><LN0><Inputs>"#
        )
    };
    let listed = r#"<GSEControl name="G" datSet="ds"><IEDName>S</IEDName></GSEControl>"#;

    for (control, inputs) in [
        (GOOSE, datum.to_owned()),
        (GOOSE, supervision("PL/LLN0.G")),
        (GOOSE, supervision("PL/LLN0$GO$G")),
        (listed, String::new()),
    ] {
        let set = set_of(&description(control, &inputs, ADDRESS), &Options::default());

        assert_eq!(only_flow(&set).receivers, ["S"], "{inputs}");
        assert!(set.left_out.is_empty(), "{}", reasons(&set.left_out));
    }
}

/// What is wrong in a description once `.0` stands as `.1`, and what is said.
const WRONG: [(&str, &str, &str); 15] = [
    (
        "iedName=\"P\" ldInst",
        "iedName=\"Q\" ldInst",
        "names IED `Q`, which is not there",
    ),
    (
        "srcCBName=\"G\"",
        "srcCBName=\"H\"",
        "names control block `P/L/H`",
    ),
    ("iedName=\"P\" ldInst", "ldInst", "names no publisher"),
    ("\"GOOSE\"", "\"Report\"", "it travels by TCP"),
    ("<ExtRef", "<Extra", "nobody subscribes to it"),
    (
        "GSE ldInst=\"L\" cbName=\"G\"",
        "GSE ldInst=\"M\" cbName=\"G\"",
        "it has no address: no <GSE>",
    ),
    (
        "iedName=\"P\" apName",
        "iedName=\"X\" apName",
        "there is no such IED",
    ),
    ("cbName=\"G\"", "cbName=\"X\"", "has no such GSEControl"),
    ("MAC-Address", "Address", "has no MAC-Address"),
    ("01-0C", "1-0C", "is no hardware address"),
    (">00A<", ">FFF<", "`FFF` is no VLAN-ID"),
    (">5<", ">9<", "`9` is no VLAN-PRIORITY"),
    (">10<", ">soon<", "`soon` is no MinTime"),
    (
        "name=\"G\" datSet=\"ds\"",
        "name=\"G\"",
        "it has no data set",
    ),
    (
        "datSet=\"ds\"",
        "datSet=\"no\"",
        "its data set `no` is not in its LN0",
    ),
];

#[test]
fn what_dangles_is_left_out_with_its_line_and_what_would_be_right() {
    let right = description(GOOSE, BOUND, ADDRESS);
    for (from, to, expected) in WRONG {
        assert!(right.contains(from), "{from}");
        let wrong = right.replace(from, to);

        let set = set_of(&wrong, &Options::default());

        let left_out = reasons(&set.left_out);
        assert!(left_out.contains(expected), "{expected}:\n{left_out}");
        assert!(
            set.left_out.iter().all(|remark| remark.line > 1),
            "{left_out}"
        );
    }
}

#[test]
fn subscribers_in_another_sub_network_are_left_out_and_named() {
    let other = r#"</SubNetwork><SubNetwork name="other"><ConnectedAP iedName="S" apName="A"/>"#;
    let text = description(GOOSE, BOUND, &format!("{ADDRESS}{other}"));

    let set = set_of(&text, &Options::default());

    assert!(set.flows.is_empty());
    let left_out = reasons(&set.left_out);
    assert!(
        left_out.contains("connected to `other`, not to `bus`"),
        "{left_out}"
    );
    assert!(reasons(&set.assumed).contains("the flows of all are read: `bus`, `other`"));
    let options = Options {
        sub_network: Some("bus2".to_owned()),
        ..Options::default()
    };
    let error = read_file("a.scd", &text, &options).unwrap_err();
    assert!(
        error.problems()[0]
            .mistake
            .help()
            .unwrap()
            .contains("`bus`")
    );
}

#[test]
fn a_frame_of_unknown_types_is_the_largest_and_says_so() {
    let text = description(GOOSE, BOUND, ADDRESS).replace("<DO name=\"Pos\"", "<DO name=\"Sop\"");

    let set = set_of(&text, &Options::default());

    let Traffic::Goose(goose) = &only_flow(&set).traffic else {
        panic!("{:?}", set.flows);
    };
    assert_eq!(goose.frame, DataSize::from_bytes(1518));
    let assumed = reasons(&set.assumed);
    assert!(assumed.contains("`breaker` has no DO `Pos`"), "{assumed}");
}

#[test]
fn types_that_contain_themselves_end() {
    let text = description(GOOSE, BOUND, ADDRESS).replace(
        "<DA name=\"stVal\" bType=\"Dbpos\" fc=\"ST\"/>",
        "<SDO name=\"again\" type=\"position\"/>",
    );

    let set = set_of(&text, &Options::default());

    assert!(reasons(&set.assumed).contains("nested deeper than 16"));
}

#[test]
fn files_that_are_no_description_are_pointed_at() {
    for (text, expected) in [
        ("<SCL><a></SCL>", "expected 'a' tag"),
        (
            "<html/>",
            "the root of a substation description is <SCL>, not <html>",
        ),
        ("<SCL/>", "no <Communication>"),
        (
            "<!DOCTYPE a [<!ENTITY b \"c\"><!ENTITY d \"&b;&b;\">]><SCL>&d;</SCL>",
            "remove <!DOCTYPE",
        ),
    ] {
        let found = mistake(text);

        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn xml_made_to_exhaust_its_reader_is_refused() {
    let attributes: String = (0..300).map(|n| format!(" a{n}=\"1\"")).collect();
    let prefixes: String = (0..60).map(|n| format!("<a xmlns:p{n}=\"u\">")).collect();
    let inside =
        format!("<SCL><!-- <a{attributes}> --><?p <a{attributes}>?><![CDATA[{prefixes}]]></SCL>");

    assert!(mistake(&format!("<SCL{attributes}/>")).contains("300 attributes of an element"));
    assert!(mistake(&format!("<SCL>{prefixes}")).contains("49 prefixes of namespaces"));
    assert!(mistake(&inside).contains("no <Communication>"));
    let long = " ".repeat(LONGEST_DESCRIPTION + 1);
    assert!(mistake(&long).contains("is the most that is read"));
}

#[test]
fn descriptions_of_open_scd_are_read_as_they_are() {
    let read = |name| set_of(&vector(name), &Options::default());

    let goose = read("LaterBindingGOOSE-LGOS.scd");
    let receivers: Vec<_> = goose
        .flows
        .iter()
        .map(|flow| flow.receivers.len())
        .collect();
    assert_eq!(receivers, [2, 1, 1]);
    assert!(
        reasons(&goose.left_out).contains("line 375: `GOOSE_Publisher2/QB2_Disconnector/GOOSE1`")
    );
    let samples = read("LaterBindingSMV-LSVS.scd");
    assert_eq!(only_flow(&samples).receivers.len(), 5);
    assert!(reasons(&samples.assumed).contains("no logical node `L2TCTR2`"));
    let networks = read("communication.scd");
    assert_eq!(networks.flows.len(), 1);
    assert!(reasons(&networks.left_out).contains("`SMV_Publisher/CurrentTransformer/currentOnly`"));
    let redundant = read("sampledvaluecontrol.scd");
    assert!(redundant.flows.is_empty());
    assert!(reasons(&redundant.assumed).contains("a redundant connection"));
}

#[test]
fn receivers_may_be_named_for_what_nobody_subscribes_to() {
    let options = Options {
        receivers: vec!["IED1".to_owned()],
        ..Options::default()
    };

    let set = set_of(&vector("sampledvaluecontrol.scd"), &options);

    let flow = only_flow(&set);
    assert_eq!(
        (flow.source.as_str(), flow.matching.vlan),
        ("IED3", Some(7))
    );
    assert_eq!(flow.priority, Some(4));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "[<>/=\"' a-z&;!\\[\\]-]{0,200}") {
        let _ = read_file("a.scd", &text, &Options::default());
    }

    /// Cuts and doubles pieces of a real description.
    #[test]
    fn no_damage_makes_the_reader_panic(
        damage in proptest::collection::vec((0usize..29_000, 0usize..400, 0usize..29_000), 1..6),
    ) {
        let mut text = vector("LaterBindingGOOSE-LGOS.scd");
        for (from, length, to) in damage {
            let end = |at: usize| (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
            let (from, until, to) = (end(from).unwrap(), end(from + length).unwrap(), end(to).unwrap());
            let piece = text[from..until].to_owned();
            text.replace_range(to..to, &piece);
        }

        let _ = read_file("a.scd", &text, &Options::default());
    }

    /// Changes values, which leaves the XML whole.
    #[test]
    fn no_value_makes_the_reader_panic(
        changes in proptest::collection::vec((0usize..500, "[0-9a-zA-Z.$/-]{0,12}"), 1..20),
    ) {
        let text = vector("communication.scd");
        let mut parts: Vec<_> = text.split('"').map(str::to_owned).collect();
        for (index, value) in changes {
            let value_index = (index * 2 + 1) % parts.len();
            if value_index % 2 == 1 {
                parts[value_index] = value;
            }
        }

        let _ = read_file("a.scd", &parts.join("\""), &Options::default());
    }
}
