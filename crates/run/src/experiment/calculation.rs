//! Shows how the guarantee of a flow was calculated, term by term.

use controller::config::Config;
use controller::northbound::Accepted;
use measure::report::CalculationRow;
use scenario::{Flow, Node, Scenario};
use units::Delay;
use wire::openflow::{DatapathId, PortNumber};

use super::route::{Atlas, Way};

/// Returns the terms of the guarantee on the way that has the greatest sum,
/// whichever link is broken.
#[must_use]
pub fn calculation(
    scenario: &Scenario,
    config: &Config,
    flow: &Flow,
    accepted: &Accepted,
) -> Vec<CalculationRow> {
    let atlas = Atlas::new(scenario);
    let routes =
        std::iter::once(&*accepted.route).chain(accepted.alternatives.iter().map(|it| &it.route));
    let ways = routes.flat_map(|route| atlas.ways(flow, route));
    let rows = ways.map(|way| rows(scenario, config, flow, &way));
    let mut rows = rows.max_by_key(|rows| total_ns(rows)).unwrap_or_default();
    rows.extend(machine(scenario));
    rows.extend(change(scenario, &rows, accepted));
    rows
}

/// Returns the term for what the machine adds that carries all switches.
fn machine(scenario: &Scenario) -> Option<CalculationRow> {
    let shares = scenario.profiles.iter();
    let shares = shares.filter_map(|profile| profile.machine.as_ref());
    let share = shares.max_by_key(|share| share.cover)?;
    Some(row(
        "the machine below",
        "interruptions, once",
        format!(
            "all but one in {} frames, {} % confidence",
            share.one_in, share.confidence_percent
        ),
        share.cover,
    ))
}

/// Returns the term for frames that meet a failure on their way, which have been delayed
/// on one way and go on where the other one leads; in a network with levels that for
/// frames that meet a change of level, or are later at a higher one.
fn change(
    scenario: &Scenario,
    rows: &[CalculationRow],
    accepted: &Accepted,
) -> Option<CalculationRow> {
    let guarantee = accepted.guarantee?.round_up().as_ns();
    let left = guarantee
        .checked_sub(total_ns(rows))
        .filter(|left| *left > 0)?;
    let (at, term, why) = match scenario.modes {
        Some(_) => (
            "everywhere",
            "a change of level",
            "the bound of a change, and what a frame may be later at a higher level",
        ),
        None => (
            "where two ways meet",
            "a change of way",
            "a frame that met a failure may come as late as on the later of both",
        ),
    };
    Some(row(at, term, why.to_owned(), Delay::from_ns(left)))
}

fn total_ns(rows: &[CalculationRow]) -> u64 {
    rows.iter().map(|row| row.delay_ns).sum()
}

fn rows(scenario: &Scenario, config: &Config, flow: &Flow, way: &Way) -> Vec<CalculationRow> {
    let Some(contract) = flow.contract() else {
        return Vec::new();
    };
    let first = &scenario.links[way.links[0].0];
    let sending = first.rate.time_to_send(contract.largest_frame);
    let mut rows = vec![row(
        &first.name,
        "sending",
        format!(
            "{} / {} + {}",
            contract.largest_frame, first.rate, first.propagation
        ),
        sending + first.propagation,
    )];
    let class = scenario.class_of(flow);
    for (node, link) in way.nodes.iter().skip(1).zip(&way.links[1..]) {
        let Node::Switch(switch) = *node else {
            continue;
        };
        let name = &scenario.switches[switch.0].name;
        let parameters = &config.switches[&DatapathId(scenario.switches[switch.0].datapath_id)];
        if let Some(processing) = parameters.processing {
            rows.push(row(
                name,
                "processing",
                format!(
                    "budget of the switch ({} + {} a frame)",
                    processing.latency, processing.per_frame
                ),
                processing.budget,
            ));
        }
        let link = &scenario.links[link.0];
        let end = link.end_at(*node).expect("the way leads over this link");
        let port = parameters.port(PortNumber(end.port));
        let budget = port.budgets[usize::from(class.queue)].unwrap_or_default();
        rows.push(row(
            &format!(
                "{name} to {}",
                scenario.name_of(link.end_opposite(*node).node)
            ),
            "queueing and sending",
            format!(
                "budget of class {} at {} + {}",
                class.name, port.rate, port.propagation
            ),
            budget + port.propagation,
        ));
    }
    rows
}

fn row(at: &str, term: &str, formula: String, delay: Delay) -> CalculationRow {
    CalculationRow {
        at: at.to_owned(),
        term: term.to_owned(),
        formula,
        delay_ns: delay.round_up().as_ns(),
    }
}
