//! Hops: how long frames of promised flows stayed there, as switches have last said.

use controller::northbound::{FlowHops, HopCount, HopSeen};

use crate::web::metrics::{Page, label, seconds};

/// The most hops that are shown; how many are not is a metric of its own.
const HOPS_SHOWN: usize = 10_000;

pub fn write(page: &mut Page, flows: &[FlowHops]) {
    let hops = || {
        let all = flows
            .iter()
            .flat_map(|flow| flow.hops.iter().map(move |hop| (flow, hop)));
        all.filter_map(|(flow, hop)| Some((labels(flow, hop), hop.seen.as_ref()?)))
    };
    let mut family = |name, kind, help, value: fn(&HopCount) -> f64| {
        page.begin(name, kind, help);
        for (labels, seen) in hops().take(HOPS_SHOWN) {
            page.line(&labels, value(seen));
        }
    };
    family(
        "taktos_hop_frames_total",
        "counter",
        "Frames of a flow that left a switch by a port, and whose stay is known.",
        |seen| seen.frames as f64,
    );
    family(
        "taktos_hop_stay_max_seconds",
        "gauge",
        "The longest that a frame of a flow stayed in a switch.",
        |seen| seconds(seen.longest),
    );
    family(
        "taktos_hop_above_budget_total",
        "counter",
        "Frames of a flow that stayed in a switch longer than their budget there.",
        |seen| seen.above as f64,
    );
    page.single(
        "taktos_hops_not_shown",
        "gauge",
        "Hops of flows beyond those that are shown here.",
        hops().skip(HOPS_SHOWN).count() as u64,
    );
}

fn labels(flow: &FlowHops, hop: &HopSeen) -> String {
    let (flow, at) = (label(&flow.name), label(&hop.at.to_string()));
    format!("{{flow=\"{flow}\",hop=\"{at}\"}}")
}

#[cfg(test)]
mod tests {
    use controller::northbound::FlowId;
    use controller::place::{Place, PortId};
    use units::Duration;
    use wire::openflow::{DatapathId, PortNumber};

    use super::*;

    fn flow(number: u32, hops: u32) -> FlowHops {
        let hop = |port| HopSeen {
            at: Place::new(
                PortId::new(DatapathId(1), PortNumber(port)),
                "s1".to_owned(),
            ),
            queue: 6,
            seen: Some(HopCount {
                frames: 7,
                longest: Duration::from_us(15),
                above: 2,
                ..HopCount::default()
            }),
        };
        FlowHops {
            id: FlowId(number),
            name: format!("trip \"{number}\""),
            guarantee: None,
            observed: None,
            hops: (0..hops).map(hop).collect(),
        }
    }

    #[test]
    fn each_hop_has_a_line_of_each_family_up_to_a_limit() {
        let mut page = Page::default();

        write(&mut page, &[flow(1, 1), flow(2, 10_000)]);

        let text = page.text();
        let shown = |family: &str| {
            let begins = format!("{family}{{");
            text.lines()
                .filter(|line| line.starts_with(&begins))
                .count()
        };
        for family in [
            "taktos_hop_frames_total",
            "taktos_hop_stay_max_seconds",
            "taktos_hop_above_budget_total",
        ] {
            assert_eq!(shown(family), HOPS_SHOWN);
        }
        assert!(text.contains("taktos_hops_not_shown 1\n"));
        assert!(text.contains("taktos_hop_stay_max_seconds{flow=\"trip \\\"1\\\"\",hop="));
        assert!(text.lines().any(|line| line.ends_with(" 0.000015")));
    }
}
