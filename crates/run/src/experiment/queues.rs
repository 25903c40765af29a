//! Queues for flows of which nobody has named the class (S4-11).
//!
//! Where not all flows of a scenario fit, the controller is asked in virtual time in which
//! classes more of them would (`calculus::admission`, `assign_classes`): the least urgent
//! in which a deadline holds.

use std::sync::atomic::AtomicBool;

use calculus::admission::MOST_WEIGHED;
use controller::northbound::{Reply, Request, Requirement};
use scenario::{ClassIndex, Scenario};

use super::plan::{keeps_budgets, requirements};
use super::sim_world::SimWorld;
use super::{Experiment, ExperimentError, load};

/// A flow that travels in another class than usual for what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassigned {
    pub flow: String,
    /// The name of the class that is usual.
    pub from: String,
    /// The name of the class in which it travels.
    pub to: String,
}

/// Gives flows of which nobody has named the class other ones, where not all flows fit and
/// with these more do, and returns which. Where flows are promised something at levels of
/// criticality, or there are more than [`MOST_WEIGHED`], all stay where they are.
///
/// # Errors
///
/// As [`Experiment::run`].
pub fn assign(
    scenario: &mut Scenario,
    stop: &AtomicBool,
) -> Result<Vec<Reassigned>, ExperimentError> {
    let mut flows = scenario.flows.iter();
    let is_free = flows.any(|flow| flow.is_class_free && flow.deadline.is_some());
    if !is_free || keeps_budgets(scenario) || scenario.flows.len() > MOST_WEIGHED {
        return Ok(Vec::new());
    }
    let mut reassigned = Vec::new();
    for (at, queue) in asked(scenario, stop)? {
        let mut classes = scenario.classes.iter();
        let Some(class) = classes
            .position(|class| class.queue == queue)
            .map(ClassIndex)
        else {
            continue;
        };
        let name = |class: ClassIndex| scenario.classes[class.0].name.clone();
        let flow = &scenario.flows[at];
        if flow.class != class {
            reassigned.push(Reassigned {
                flow: flow.name.clone(),
                from: name(flow.class),
                to: name(class),
            });
            scenario.flows[at].class = class;
        }
    }
    Ok(reassigned)
}

/// Returns the queue that each flow should have which may have another one.
fn asked(scenario: &Scenario, stop: &AtomicBool) -> Result<Vec<(usize, u8)>, ExperimentError> {
    load::verify(scenario)?;
    let experiment = Experiment::deciding(scenario, stop);
    let mut world = SimWorld::new(scenario, experiment.config()?);
    experiment.discover(&mut world)?;
    let mut asked: Vec<(Option<usize>, Requirement)> = Vec::new();
    for (at, flow) in scenario.flows.iter().enumerate() {
        // What comes back is in the class of all that does.
        let may_move = flow.is_class_free && flow.deadline.is_some();
        let free = [Some(at).filter(|_| may_move), None];
        asked.extend(free.into_iter().zip(requirements(scenario, flow)));
    }
    let queues = scenario.classes.iter().map(|class| class.queue);
    let (flows, requirements): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let assign = Request::AssignClasses {
        requirements,
        free: flows.iter().map(Option::is_some).collect(),
        classes: queues.filter(|queue| *queue > 0).collect(),
    };
    let classes = experiment.have_decided(&mut world, assign, |reply| match reply {
        Reply::Classes(classes) => Some(classes),
        _ => None,
    })?;
    let assigned = flows.into_iter().zip(classes);
    Ok(assigned
        .filter_map(|(at, class)| Some((at?, class)))
        .collect())
}

#[cfg(test)]
mod tests {
    use units::Delay;

    use super::*;

    /// Twelve flows that have time to a host of 100 Mbit/s, and one that has not: frames of
    /// 1,500 bytes, so each is in the way of the others for 0.12 ms.
    fn hasty_among_patient(class: &str) -> Scenario {
        let mut text = "[scenario]\ntitle = \"Queues\"\nduration = \"1 s\"\n\n\
                        [network]\nprofile = \"line-rate\"\nhost_rate = \"100 Mbit/s\"\n\n\
                        [switches]\ns = {}\n\n[hosts]\nto = { at = \"s\" }\n"
            .to_owned();
        for number in 0..13 {
            text += &format!("h{number} = {{ at = \"s\" }}\n");
        }
        for number in 0..13 {
            let deadline = if number == 0 { "700 us" } else { "5 ms" };
            text += &format!(
                "[flows.f{number}]\nkind = \"udp\"\nfrom = \"h{number}\"\nto = \"to\"\n\
                 frame = \"1500 B\"\nperiod = \"10 ms\"\ndeadline = \"{deadline}\"\n{class}"
            );
        }
        Scenario::parse("queues.toml", &text, &mut |_| unreachable!()).unwrap()
    }

    #[test]
    fn who_is_in_a_hurry_gets_a_queue_for_it_if_no_class_is_named() {
        let stop = AtomicBool::new(false);
        let mut free = hasty_among_patient("");
        let mut named = hasty_among_patient("class = \"control\"\n");

        let moved = assign(&mut free, &stop).unwrap();

        assert_eq!(assign(&mut named, &stop).unwrap(), []);
        assert_eq!(weigh(&named, &stop), 12);
        assert_eq!(weigh(&free, &stop), 13);
        let names: Vec<_> = moved
            .iter()
            .map(|it| (it.flow.as_str(), it.from.as_str()))
            .collect();
        assert_eq!(names, [("f0", "control")]);
        let certified = Experiment::deciding(&free, &stop).promises().unwrap().1;
        let certificate = super::super::certificate(&free, &certified);
        assert_eq!(
            ::certificate::check(&certificate).unwrap().promises.len(),
            13
        );
    }

    fn weigh(scenario: &Scenario, stop: &AtomicBool) -> usize {
        let (admissions, _, _) = Experiment::deciding(scenario, stop).weigh().unwrap();
        let admitted = admissions.iter().filter(|it| it.decision.is_ok());
        admitted.count()
    }

    #[test]
    fn no_fewer_flows_of_the_substation_fit_whatever_its_switches_take() {
        let text = include_str!("../../../../scenarios/substation.toml");
        let stop = AtomicBool::new(false);
        for latency_us in [14, 56, 112] {
            let mut scenario =
                Scenario::parse("substation.toml", text, &mut |_| unreachable!()).unwrap();
            for profile in &mut scenario.profiles {
                profile.latency.value = Delay::from_us(latency_us);
            }
            let before = weigh(&scenario, &stop);

            let reassigned = assign(&mut scenario, &stop).unwrap();

            let after = weigh(&scenario, &stop);
            assert!(after > before || (after == before && reassigned.is_empty()));
        }
    }
}
