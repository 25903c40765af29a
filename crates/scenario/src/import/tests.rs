use super::*;

const GRAPHML: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d0"/>
  <key attr.name="Longitude" attr.type="double" for="node" id="d1"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="d2"/>
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d3"/>
  <graph edgedefault="undirected">
    <node id="0"><data key="d0">Oslo Sentrum</data>
      <data key="d1">10.75</data><data key="d2">59.91</data></node>
    <node id="1"><data key="d0">Bergen</data>
      <data key="d1">5.32</data><data key="d2">60.39</data></node>
    <node id="2"/>
    <edge source="0" target="1"><data key="d3">155000000.0</data></edge>
    <edge source="1" target="2"/>
  </graph>
</graphml>"#;

#[test]
fn graphml_of_the_topology_zoo_is_read() {
    let topology = read("x.graphml", GRAPHML).unwrap();

    let names: Vec<_> = topology.nodes.iter().map(|node| &node.name).collect();
    assert_eq!(names, ["Oslo-Sentrum", "Bergen", "2"]);
    assert_eq!(topology.links[0].rate, Some(BitRate::from_bps(155_000_000)));
    assert_eq!(topology.links[1].rate, None);
    assert_eq!(topology.links[1].length, None);
}

#[test]
fn a_link_without_a_length_follows_the_great_circle() {
    let topology = read("x.graphml", GRAPHML).unwrap();

    // Oslo to Bergen is about 305 km as the crow flies.
    let length = topology.links[0].length.unwrap();
    assert!(
        length > Length::from_m(303_000) && length < Length::from_m(307_000),
        "{length:?}"
    );
}

#[test]
fn a_node_stands_where_the_file_says_and_nowhere_without_numbers() {
    let nowhere = GRAPHML.replacen(">59.9", ">NaN", 1);
    let moved = read("x.graphml", &nowhere).unwrap();
    let topology = read("x.graphml", GRAPHML).unwrap();

    let oslo = Position {
        east: 10_750_000,
        north: 59_910_000,
    };
    assert_eq!(topology.nodes[0].position, Some(oslo));
    assert_ne!(nowhere, GRAPHML);
    assert_eq!(moved.nodes[0].position, None);
}

#[test]
fn node_link_json_is_read_with_kinds_and_capacities() {
    let text = r#"{"nodes": [{"id": 0, "name": "s", "kind": "switch"},
                             {"id": "1", "name": "e", "kind": "end_system"}],
                   "links": [{"a": 0, "b": "1", "capacity_mbps": 100, "length_km": null},
                             {"a": 1, "b": 0, "length_km": 1.5}]}"#;

    let topology = read("x.json", text).unwrap();

    assert_eq!(topology.nodes[1].kind, NodeKind::EndSystem);
    assert_eq!(topology.links[0].rate, Some(BitRate::from_mbps(100)));
    assert_eq!(topology.links[0].length, None);
    assert_eq!(topology.links[1].length, Some(Length::from_m(1500)));
}

#[test]
fn a_capacity_beyond_what_is_calculated_with_is_refused_with_its_link() {
    for mbps in ["2000000", "0.0001"] {
        let text = format!(
            r#"{{"nodes": [{{"id": 0}}, {{"id": 1}}],
                "links": [{{"a": 0, "b": 1, "capacity_mbps": {mbps}}}]}}"#
        );

        let refused = read("x.json", &text).unwrap_err();

        assert!(refused.to_string().contains("its capacity"), "{refused}");
    }
}

#[test]
fn nodes_of_the_same_name_are_told_apart_by_their_id() {
    let text = r#"{"nodes": [{"id": 0, "name": "UiO"}, {"id": 1, "name": "UiO"}], "links": []}"#;

    let topology = read("x.json", text).unwrap();

    let names: Vec<_> = topology.nodes.iter().map(|node| &node.name).collect();
    assert_eq!(names, ["UiO", "UiO-1"]);
}

#[test]
fn what_is_no_topology_is_refused_with_its_place() {
    for (file, text, says) in [
        ("x.json", "{", "line 1"),
        (
            "x.json",
            r#"{"nodes": [], "links": [{"a": 0, "b": 1}]}"#,
            "link 0: it ends at `0`",
        ),
        (
            "x.json",
            r#"{"nodes": [{"id": 1}, {"id": "1"}], "links": []}"#,
            "two nodes",
        ),
        (
            "x.json",
            r#"{"nodes": [{"id": 1, "kind": "hub"}], "links": []}"#,
            "`hub`",
        ),
        ("x.graphml", "<graphml>\n<a b></a></graphml>", "2:"),
        (
            "x.graphml",
            "<graphml><graph><node/></graph></graphml>",
            "line 1, column 17",
        ),
        ("x.graphml", "<gml/>", "<gml>"),
        ("x.csv", "", ".json"),
    ] {
        let error = read(file, text).unwrap_err();

        assert!(error.contains(says), "{file}: {error}");
    }
}
