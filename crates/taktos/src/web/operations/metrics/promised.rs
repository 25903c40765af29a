//! Flows: what they were promised, how that stands, and what switches carried of them.

use std::collections::BTreeMap;

use controller::northbound::{FlowId, FlowSummary, SwitchStatistics};

use crate::web::metrics::{Page, label, seconds};

pub fn write(page: &mut Page, flows: &[FlowSummary], switches: &[SwitchStatistics]) {
    let names: BTreeMap<FlowId, String> = flows
        .iter()
        .map(|flow| (flow.accepted.id, label(&flow.accepted.name)))
        .collect();
    page.begin(
        "taktos_flow_promise",
        "gauge",
        "1 for each flow, with how its promise stands.",
    );
    for flow in flows {
        let state = flow.promise.state.name();
        let name = &names[&flow.accepted.id];
        page.line(&format!("{{flow=\"{name}\",state=\"{state}\"}}"), 1);
    }
    page.begin(
        "taktos_flow_deadline_seconds",
        "gauge",
        "How late a frame of a flow may be.",
    );
    for flow in flows {
        if let Some(deadline) = flow.requirement.deadline {
            let name = &names[&flow.accepted.id];
            page.line(
                &format!("{{flow=\"{name}\"}}"),
                seconds(deadline.round_up()),
            );
        }
    }
    page.begin(
        "taktos_flow_guarantee_seconds",
        "gauge",
        "How late a frame of a flow is at most, if all keep what they are admitted for.",
    );
    for flow in flows {
        if let Some(guarantee) = flow.accepted.guarantee {
            let name = &names[&flow.accepted.id];
            let guarantee = seconds(guarantee.round_up());
            page.line(&format!("{{flow=\"{name}\"}}"), guarantee);
        }
    }
    let mut carried = |metric, help, count: fn(&controller::telemetry::FlowCount) -> u64| {
        page.begin(metric, "counter", help);
        for switch in switches {
            for (flow, counted) in &switch.flows {
                if let Some(name) = names.get(flow) {
                    let datapath = switch.datapath;
                    let labels = format!("{{flow=\"{name}\",switch=\"{datapath}\"}}");
                    page.line(&labels, count(counted));
                }
            }
        }
    };
    carried(
        "taktos_flow_packets_total",
        "Frames of a flow that a switch has carried, by the entries that it has for it.",
        |it| it.packets,
    );
    carried(
        "taktos_flow_bytes_total",
        "Bytes of a flow that a switch has carried, by the entries that it has for it.",
        |it| it.bytes,
    );
}
