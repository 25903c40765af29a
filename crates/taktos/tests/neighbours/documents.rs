//! What the documents have a reader type does what they say, with everything as it comes.

use serde_json::Value;

use crate::workbench::Workbench;

const MACS: [&str; 2] = ["02:00:00:00:00:01", "02:00:00:00:00:02"];
/// Where the description of the interface asks for a flow.
const BEFORE_THE_FLOW: &str = "/api/v1/flows -d '";

#[test]
fn a_controller_as_it_comes_admits_the_flow_of_its_description() {
    let test = "a_controller_as_it_comes_admits_the_flow_of_its_description";
    let Some(mut bench) = Workbench::new(test, 2) else {
        return;
    };
    bench.start_controller(&[]);
    bench.start_switch(&["--controller", "tcp:127.0.0.1:6653"]);
    bench.await_answer(1, 2);
    let hosts = || MACS.map(|mac| bench.host_named(mac));
    bench.until("hosts", || hosts().iter().all(Option::is_some));
    let text = include_str!("../../../../docs/rest.md");
    let (_, flow) = text.split_once(BEFORE_THE_FLOW).unwrap();
    let (flow, _) = flow.split_once('\'').unwrap();
    let mut flow: Value = serde_json::from_str(flow).unwrap();
    let [one, other] = hosts();
    flow["source"] = one.into();
    flow["destinations"][0] = other.into();

    let (status, decisions) = bench.ask("POST", "flows", &flow);

    assert_eq!(status, 201, "{decisions}");
}
