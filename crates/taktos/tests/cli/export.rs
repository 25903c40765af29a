//! Networks that promise something, written in the words of others.

use std::fs;

use serde_json::{Value, json};

use crate::scripted::{Answer, Scripted};
use crate::workplace::{Ended, Workplace, scenario};

/// Makes a workplace with the scenarios and the files that they import.
fn with_scenarios() -> Workplace {
    let workplace = Workplace::new();
    for folder in ["", "flows/", "profiles/", "topologies/"] {
        let from = scenario(folder);
        fs::create_dir_all(workplace.path("scenarios").join(folder)).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let to = workplace.path("scenarios").join(folder);
                fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    workplace
}

fn checked(workplace: &Workplace) -> Value {
    let checked = workplace.run(&["check", "scenarios/imported.toml", "--json"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    serde_json::from_str(&checked.stdout).unwrap()
}

#[test]
fn a_written_description_takes_the_place_of_its_original() {
    let workplace = with_scenarios();
    let before = checked(&workplace);

    let export = [
        "export",
        "scenarios/imported.toml",
        "--out",
        "bus",
        "--json",
    ];
    let written = workplace.run(&export);

    assert_eq!(written.code, Some(0), "{}", written.stderr);
    let document: Value = serde_json::from_str(&written.stdout).unwrap();
    assert_eq!(
        (&document["flows"], &document["refused"]),
        (&json!(7), &json!(0))
    );
    let set = |at: usize| &document["descriptions"][at]["set"];
    assert_eq!((set(0), set(1)), (&json!(3), &json!(1)));
    for name in ["LaterBindingGOOSE-LGOS.scd", "LaterBindingSMV-LSVS.scd"] {
        let text = fs::read_to_string(workplace.path("bus").join(name)).unwrap();
        assert!(text.contains("<Private type=\"taktos:promise\">"), "{text}");
        fs::copy(
            workplace.path("bus").join(name),
            workplace.path("scenarios/flows").join(name),
        )
        .unwrap();
    }
    assert_eq!(checked(&workplace), before);
    // Filters are for the groups of the description.
    let settings = fs::read_to_string(workplace.path("bus/settings.csv")).unwrap();
    let filter = "forward,6,GOOSE_Publisher.GOOSE2,0x88B8,01-0C-CD-01-00-01,";
    assert!(settings.contains(filter), "{settings}");
    let rival = workplace.run(&["analyze", "bus/saihu.json", "--method", "tfa", "--json"]);
    assert_eq!(rival.code, Some(0), "{}", rival.stderr);
}

/// Every command of the document, as a reader types it.
#[test]
fn the_document_says_what_to_type() {
    let workplace = with_scenarios();
    let text = include_str!("../../../../docs/export.md");
    let commands = text
        .lines()
        .filter_map(|line| line.strip_prefix("$ taktos "));
    let local = commands.filter(|line| !line.contains("--scd"));
    let mut ran = 0;

    for line in local {
        let line = line.split(" #").next().unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        let ended = workplace.run(&words);
        assert_eq!(ended.code, Some(0), "{line}: {}", ended.stderr);
        ran += 1;
    }

    assert!(ran >= 4, "{ran} commands");
    for name in [
        "settings.md",
        "settings.csv",
        "flows.csv",
        "network.ned",
        "omnetpp.ini",
    ] {
        assert!(
            workplace.has(&format!("out/imported/export/{name}")),
            "{name}"
        );
    }
}

/// A controller with one flow, which came from [`STATION`].
fn controller() -> Scripted {
    let topology = json!({
        "switches": [{"datapath": "0000000000000001", "name": "s1", "connected": true, "ports": []}],
        "links": [],
        "hosts": [
            host("P", "02:00:00:00:00:01", 1),
            host("S", "02:00:00:00:00:02", 2),
        ],
        "counts": {"switches": 1, "links": 0, "hosts": 2},
    });
    let flow = json!({
        "id": 1, "name": "P.G", "guarantee_ns": 412_000,
        "route": {"switches": ["s1"], "links": []}, "alternatives": [],
        "travels": {"way": "base"}, "promise": "holds", "installed": true,
        "requirement": {
            "name": "P.G", "source": "P", "destinations": ["S"], "deadline_ns": 600_000,
            "rate_bps": 400_000, "class": 6,
            "match": {"ether_type": 35000, "destination_mac": "01:0c:cd:01:00:09", "vlan": 7},
        },
    });
    let answer = |value: &Value| vec![Answer::Document(200, value.to_string())];
    Scripted::start([
        ("GET /api/v1/topology", answer(&topology)),
        ("GET /api/v1/flows", answer(&json!({"flows": [flow]}))),
    ])
}

fn host(name: &str, mac: &str, port: u32) -> Value {
    let attachment = json!({"datapath": "0000000000000001", "switch": "s1", "port": port});
    json!({"name": name, "mac": mac, "addresses": [], "attachment": attachment,
           "origin": "named"})
}

const STATION: &str = r#"<SCL><Communication><SubNetwork name="b"><ConnectedAP iedName="P" apName="A">
  <GSE ldInst="L" cbName="G"><Address>
    <P type="MAC-Address">01-0C-CD-01-00-01</P>
  </Address></GSE></ConnectedAP></SubNetwork></Communication>
<IED name="P"><AccessPoint name="A"><Server><LDevice inst="L"><LN0 lnClass="LLN0" inst="" lnType="t">
<DataSet name="d"><FCDA ldInst="L" lnClass="LLN0" doName="M" fc="ST"/></DataSet>
<GSEControl name="G" datSet="d" appID="a"/></LN0></LDevice></Server></AccessPoint></IED>
<IED name="S"><AccessPoint name="A"><Server><LDevice inst="L"><LN0 lnClass="LLN0" inst="" lnType="t">
<Inputs><ExtRef iedName="P" ldInst="L" lnClass="LLN0" doName="M" serviceType="GOOSE" srcCBName="G"/></Inputs>
</LN0></LDevice></Server></AccessPoint></IED></SCL>
"#;

fn ask(server: &Scripted, workplace: &Workplace, arguments: &[&str]) -> Ended {
    let mut command = workplace.taktos(arguments);
    command.env("TAKTOS_URL", &server.url);
    Ended::from(command.output().unwrap())
}

#[test]
fn a_running_network_writes_its_settings_into_the_description() {
    let (server, workplace) = (controller(), Workplace::new());
    workplace.write("station.scd", STATION);

    let ended = ask(
        &server,
        &workplace,
        &["export", "--scd", "station.scd", "--out", "to"],
    );

    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = fs::read_to_string(workplace.path("to/station.scd")).unwrap();
    let promise = "  <GSE ldInst=\"L\" cbName=\"G\"><Private type=\"taktos:promise\"><t:promise \
                   xmlns:t=\"urn:taktos:promise:1\" queue=\"6\" bound_ns=\"412000\" \
                   deadline_ns=\"600000\" way=\"s1\"/></Private><Address>\n";
    let address = "    <P type=\"MAC-Address\">01-0C-CD-01-00-09</P>\n    \
                   <P type=\"APPID\">0001</P>\n    <P type=\"VLAN-PRIORITY\">6</P>\n    \
                   <P type=\"VLAN-ID\">007</P>\n";
    let before = "  <GSE ldInst=\"L\" cbName=\"G\"><Address>\n    \
                  <P type=\"MAC-Address\">01-0C-CD-01-00-01</P>\n";
    assert_eq!(
        text,
        STATION.replace(before, &format!("{promise}{address}"))
    );
    let settings = fs::read_to_string(workplace.path("to/settings.csv")).unwrap();
    assert!(settings.contains("s1,2,S,forward,6,P.G,0x88B8,01-0C-CD-01-00-09,7,,,"));
    assert!(settings.contains("s1,1,P,police,6,P.G,0x88B8,01-0C-CD-01-00-09,7,400000,1542,"));
    assert!(
        !workplace.has("to/saihu.json"),
        "nobody says how fast links are"
    );
}

#[test]
fn what_cannot_be_written_is_said_and_the_original_stays() {
    let (server, workplace) = (controller(), with_scenarios());
    workplace.write("station.scd", STATION);
    workplace.write("broken.scd", "<SCL>");

    let saihu = ask(
        &server,
        &workplace,
        &["export", "--only", "saihu", "--out", "to"],
    );
    let over = ask(
        &server,
        &workplace,
        &["export", "--scd", "station.scd", "--out", "."],
    );
    let broken = ask(
        &server,
        &workplace,
        &["export", "--scd", "broken.scd", "--out", "to"],
    );
    let refused = workplace.run(&["export", "scenarios/refused.toml", "--out", "refused"]);

    saihu.is_refused("it is not known how fast the link between P and s1 is");
    over.is_refused("is the original, which stays");
    assert_eq!(
        fs::read_to_string(workplace.path("station.scd")).unwrap(),
        STATION
    );
    broken.is_refused("broken.scd");
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(
        refused.stdout.starts_with("2 flows; 1 refused"),
        "{}",
        refused.stdout
    );
}
