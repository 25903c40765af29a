//! The same as one JSON value; the keys are described in `docs/promises.md`.

use calculus::admission::{Remedy, RemedyChange, Request};
use serde_json::{Value, json};
use units::Delay;

use run::experiment::explanation::{
    Competition, Explainer, Explanation, HopShare, Lacking, Promised,
};

/// Returns the explanation of the flow of this name.
#[must_use]
pub fn value(name: &str, explanation: &Explanation, explainer: &Explainer<'_>) -> Value {
    match explanation {
        Explanation::BestEffort => json!({"name": name, "verdict": "best-effort"}),
        Explanation::Refused(reason) => {
            json!({"name": name, "verdict": "refused", "reason": reason})
        }
        Explanation::Promised(promised) => {
            let mut value = promise(promised);
            value["name"] = name.into();
            value["verdict"] = "admitted".into();
            value
        }
        Explanation::Lacking(lacking) => {
            let mut value = refusal(lacking, explainer);
            value["name"] = name.into();
            value["verdict"] = "refused".into();
            value
        }
    }
}

/// Returns a delay in nanoseconds, rounded up.
fn ns(delay: Delay) -> u64 {
    delay.round_up().as_ns()
}

fn asked(request: &Request) -> Value {
    json!({
        "class": request.class,
        "rate_bps": request.rate.as_bps(),
        "burst_bit": request.burst.as_bits(),
        "largest_frame_bit": request.largest_frame.as_bits(),
        "deadline_ns": ns(request.deadline),
    })
}

fn promise(promised: &Promised) -> Value {
    let hops = promised.hops.iter().map(hop);
    let classes = promised.other_classes.iter();
    let classes =
        classes.map(|(class, guarantee)| json!({"class": class, "guarantee_ns": ns(*guarantee)}));
    json!({
        "asked": asked(&promised.request),
        "guarantee_ns": ns(promised.guarantee),
        "unbroken_ns": ns(promised.unbroken),
        "reached_after": promised.reached_after,
        "now_ns": promised.now.map(ns),
        "first_link_ns": ns(promised.request.initial),
        "hops": hops.collect::<Vec<_>>(),
        "other_classes": classes.collect::<Vec<_>>(),
    })
}

fn hop(hop: &HopShare) -> Value {
    json!({
        "stage": hop.place,
        "budget_ns": ns(hop.budget),
        "propagation_ns": ns(hop.propagation),
        "share_thousandths": hop.share,
        "needed_ns": ns(hop.needed),
        "needed_without": hop.needed_under,
        "now_ns": hop.now.map(ns),
        "who": company(&hop.company),
    })
}

fn company(company: &Competition) -> Value {
    let flows = company.rivals.iter().map(|rival| {
        json!({
            "name": rival.name,
            "class": rival.class,
            "rate_bps": rival.rate.as_bps(),
            "takes_ns": ns(rival.takes),
        })
    });
    json!({
        "own_ns": company.own.map(ns),
        "flows": flows.collect::<Vec<_>>(),
        "unpromised_ns": ns(company.unpromised),
        "latency_ns": ns(company.latency),
        "blocking_frame_bit": company.blocking.map(|(frame, _)| frame.as_bits()),
        "blocking_ns": company.blocking.map(|(_, takes)| ns(takes)),
    })
}

fn refusal(lacking: &Lacking, explainer: &Explainer<'_>) -> Value {
    let constraint = &lacking.refusal.constraint;
    let remedies = lacking.remedies.iter();
    json!({
        "asked": asked(&lacking.request),
        "stage": lacking.place,
        "without": lacking.after,
        "reason": constraint.to_string(),
        "missed_by": constraint.margin().map(|margin| margin.to_string()),
        "who": lacking.company.as_ref().map(company),
        "way": lacking.way.as_deref().map(promise),
        "remedies": remedies.map(|it| remedy(it, explainer)).collect::<Vec<_>>(),
    })
}

fn remedy(remedy: &Remedy, explainer: &Explainer<'_>) -> Value {
    let mut value = change(&remedy.change, explainer);
    let budgets = remedy.budgets.iter().map(|larger| {
        json!({
            "stage": explainer.place_of(larger.stage),
            "class": larger.class,
            "budget_ns": larger.from.map(ns),
            "needed_ns": ns(larger.to),
        })
    });
    value["budgets"] = budgets.collect();
    value["guarantee_ns"] = ns(remedy.guarantee).into();
    value
}

fn change(change: &RemedyChange, explainer: &Explainer<'_>) -> Value {
    match change {
        RemedyChange::Rate(rate) => json!({"change": "rate", "rate_bps": rate.as_bps()}),
        RemedyChange::Burst(burst) => json!({"change": "burst", "burst_bit": burst.as_bits()}),
        RemedyChange::Deadline(deadline) => {
            json!({"change": "deadline", "deadline_ns": ns(*deadline)})
        }
        RemedyChange::Class(class) => json!({"change": "class", "class": class}),
        RemedyChange::Without(flow) => {
            json!({"change": "without", "flow": explainer.name_of(*flow)})
        }
        RemedyChange::Budgets => json!({"change": "budgets"}),
        RemedyChange::Links(faster) => {
            let faster = faster.iter().map(|(stage, rate)| {
                json!({"stage": explainer.place_of(*stage), "rate_bps": rate.as_bps()})
            });
            let faster: Vec<_> = faster.collect();
            json!({"change": "links", "links": faster})
        }
    }
}
