//! Requirements that are decided together.

use controller::northbound::{Decision, FlowId};
use controller::refusal::Refusal;
use controller::{Reply, Request, Requirement};
use units::BitRate;

use crate::fake::{Network, group, requirement};
use crate::{DIAMOND, entries};

#[test]
fn of_requirements_that_cannot_all_be_met_none_is() {
    let mut network = Network::started(4, &DIAMOND);
    let before = entries(&network);

    let replies = network.request(Request::AdmitTogether(vec![modest(1), greedy(), modest(2)]));

    let [first, second, third] = &decisions(&replies)[..] else {
        panic!("{replies:?}")
    };
    let reason = |decision: &Decision| match decision {
        Decision::Refused { reason, .. } => reason.clone(),
        Decision::Accepted(accepted) => panic!("{accepted:?}"),
    };
    let with = "greedy".to_owned();
    assert_eq!(reason(first), Refusal::Together { with: with.clone() });
    assert!(matches!(reason(second), Refusal::Shortage(_)));
    assert_eq!(reason(third), Refusal::Together { with });
    assert_eq!(entries(&network), before);
    assert!(network.admissions() == 0);
}

#[test]
fn requirements_that_can_all_be_met_are() {
    let mut network = Network::started(4, &DIAMOND);

    let replies = network.request(Request::AdmitTogether(vec![modest(1), modest(2)]));

    let accepted = |decision: &Decision| matches!(decision, Decision::Accepted(_));
    assert_eq!(decisions(&replies).len(), 2);
    assert!(decisions(&replies).iter().all(accepted));
    assert_eq!(network.admissions(), 2);
}

#[test]
fn what_the_store_keeps_of_requirements_that_belong_together_it_keeps_whole() {
    let mut network = Network::started(4, &DIAMOND);
    network.rejected_writes = vec![1];

    let replies = network.request(Request::AdmitTogether(vec![modest(1), modest(2)]));

    assert_eq!(replies, [Reply::NotStored]);
    assert!(network.admissions() == 0);
    assert_eq!(network.topology().flows, 0);
    assert!(network.admit(modest(2)).is_ok());
}

/// What is asked as a question is answered as it would be decided, and changes
/// nothing: the same requirements are decided in the same way afterwards.
#[test]
fn a_question_is_answered_like_a_requirement_and_changes_nothing() {
    let mut network = Network::started(4, &DIAMOND);
    let wanted = vec![modest(1), greedy(), modest(2)];

    let question = network.request(Request::WhatIf(wanted.clone()));
    let (records, flows) = (network.admissions(), network.topology().flows);
    let admitted = network.request(Request::Admit(wanted));

    let outcome = |decision: &Decision| match decision {
        Decision::Accepted(accepted) => Ok((accepted.guarantee, accepted.route.clone())),
        Decision::Refused { name, reason } => Err((name.clone(), reason.clone())),
    };
    let outcomes = |replies: &[Reply]| decisions(replies).iter().map(outcome).collect::<Vec<_>>();
    assert_eq!((records, flows), (0, 0));
    assert_eq!(outcomes(&question), outcomes(&admitted));
}

fn decisions(replies: &[Reply]) -> Vec<Decision> {
    match replies {
        [Reply::Decisions(decisions)] => decisions.clone(),
        other => panic!("{other:?}"),
    }
}

fn modest(number: u8) -> Requirement {
    requirement(&format!("modest{number}"), 1, &[4], group(number))
}

/// Returns a requirement that asks for more than a link has.
fn greedy() -> Requirement {
    let mut greedy = requirement("greedy", 1, &[4], group(9));
    greedy.traffic.rate = BitRate::from_mbps(100_000);
    greedy
}

#[test]
fn a_list_in_parts_is_the_whole_list() {
    let mut network = Network::started(4, &DIAMOND);
    for number in 1..=5 {
        network.admit(modest(number)).unwrap();
    }
    let mut listed = Vec::new();

    let mut after = FlowId(0);
    loop {
        let most = 2;
        let replies = network.request(Request::FlowsAfter { after, most });
        let [Reply::Flows(part)] = &replies[..] else {
            panic!("{replies:?}")
        };
        let Some(last) = part.last() else { break };
        assert!(part.len() <= most);
        after = last.accepted.id;
        listed.extend(part.clone());
    }

    assert_eq!(network.request(Request::Flows), [Reply::Flows(listed)]);
}

#[test]
fn one_flow_is_shown_by_its_name() {
    let mut network = Network::started(4, &DIAMOND);
    network.admit(modest(1)).unwrap();
    let accepted = network.admit(modest(2)).unwrap();

    let known = network.request(Request::Flow("modest2".into()));
    let unknown = network.request(Request::Flow("modest3".into()));

    let [Reply::Flows(flows)] = &known[..] else {
        panic!("{known:?}")
    };
    assert_eq!((flows.len(), &flows[0].accepted), (1, &accepted));
    assert_eq!(unknown, [Reply::UnknownFlow("modest3".into())]);
}
