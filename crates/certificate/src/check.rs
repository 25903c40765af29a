//! Whether a certificate proves its promises.
//!
//! The theorem is that of `docs/promises.md`: if at every stage, for every class
//! and after every failure provided for, the delay that follows from what all
//! flows may bring is within the budget, and the backlog within the buffer, then
//! nobody can be the first to be late, and each frame takes no longer than the
//! budgets on its way. All of it is calculated here from the document alone.

mod stage;

use std::collections::BTreeMap;

use thiserror::Error;
use units::Delay;

use crate::curve::Exact;
use crate::document::{Certificate, Flow, Stage};
use crate::windows::{self, Visit, Ways};

/// The smallest frame on Ethernet, in bits.
const SMALLEST_FRAME: u64 = 512;
/// The most objections that are listed.
const MOST_OBJECTIONS: usize = 100;

/// What a certificate proves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proven {
    /// Each flow with the delay that no frame of it exceeds.
    pub guarantees: Vec<(String, Delay)>,
    /// How many stages were looked at.
    pub stages: usize,
    /// In how many cases of stage and failure.
    pub cases: usize,
}

/// What a certificate does not prove.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {reason}")]
pub struct Objection {
    /// The flow or the stage.
    pub at: String,
    /// What is wrong there.
    pub reason: Reason,
}

/// Why something is not proven.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// A way is none.
    #[error("hop {hop} of a way names no stage, or stands before the one it comes from")]
    NoWay {
        /// The place of the hop.
        hop: usize,
    },
    /// A way passes a stage twice.
    #[error("a way passes stage {stage} twice")]
    StageTwice {
        /// The stage.
        stage: usize,
    },
    /// Two alternatives are for the same failure, or for one that is not listed.
    #[error("there is not one alternative for each failure")]
    FailureTwice,
    /// Second copies do not end where the document says.
    #[error("both copies have to meet at the eliminator and go on as one")]
    NoEliminator,
    /// The class has no budget at a port.
    #[error("class {class} has no budget at stage {stage}")]
    NoBudget {
        /// The stage.
        stage: usize,
        /// The class.
        class: u8,
    },
    /// A sum of delays is beyond everything.
    #[error("delays add up to more than 213 days")]
    TooLate,
    /// A contract that no traffic keeps, or a stage that no frame passes.
    #[error("{what}")]
    Senseless {
        /// What makes no sense.
        what: &'static str,
    },
    /// The promise is not what the budgets add up to.
    #[error("promises {promised}, and its budgets add up to {calculated}")]
    Guarantee {
        /// What is promised.
        promised: Delay,
        /// What was calculated.
        calculated: Delay,
    },
    /// The promise is beyond the deadline.
    #[error("promises {promised} for a deadline of {deadline}")]
    Deadline {
        /// What is promised.
        promised: Delay,
        /// What was asked for.
        deadline: Delay,
    },
    /// The burst with which a flow arrives is another one.
    #[error(
        "arrives at stage {stage} with a burst of {stated}, where {calculated} were calculated"
    )]
    Burst {
        /// The stage.
        stage: usize,
        /// What the document says, in bits or millionths of a frame.
        stated: u64,
        /// What was calculated, rounded up.
        calculated: Exact,
    },
    /// More arrives than can be served.
    #[error("more arrives than is served{}", under(after))]
    Overload {
        /// The class, unless it is a processor.
        class: Option<u8>,
        /// After which failure.
        after: Option<String>,
    },
    /// Frames can be there for longer than the document says.
    #[error(
        "frames{} may be here for {calculated} ps, not {stated}{}",
        of_class(class),
        under(after)
    )]
    Bound {
        /// The class, unless it is a processor.
        class: Option<u8>,
        /// After which failure.
        after: Option<String>,
        /// What the document says.
        stated: u64,
        /// What was calculated, rounded up.
        calculated: Exact,
    },
    /// A bound is beyond its budget.
    #[error(
        "a bound of {bound}{} is beyond the budget of {budget}",
        of_class(class)
    )]
    Budget {
        /// The class, unless it is a processor.
        class: Option<u8>,
        /// The bound.
        bound: Delay,
        /// The budget.
        budget: Delay,
    },
    /// A buffer may overflow.
    #[error(
        "up to {calculated}{} may wait here, and there is room for {room}{}",
        of_class(class),
        under(after)
    )]
    Buffer {
        /// The class, unless it is a processor.
        class: Option<u8>,
        /// After which failure.
        after: Option<String>,
        /// What was calculated, in bits or frames, rounded up.
        calculated: Exact,
        /// What fits.
        room: u64,
    },
}

fn under(after: &Option<String>) -> String {
    let text = after
        .as_ref()
        .map(|failure| format!(", after the failure of {failure}"));
    text.unwrap_or_default()
}

fn of_class(class: &Option<u8>) -> String {
    class
        .map(|class| format!(" of class {class}"))
        .unwrap_or_default()
}

/// Checks that a certificate proves all of its promises.
///
/// # Errors
///
/// What it does not prove, the first hundred of it.
pub fn check(certificate: &Certificate) -> Result<Proven, Vec<Objection>> {
    let mut objections = Vec::new();
    let mut ways = Vec::with_capacity(certificate.flows.len());
    for flow in &certificate.flows {
        match check_flow(flow, certificate) {
            Ok(of_flow) => ways.push(of_flow),
            Err(reason) => objections.push(Objection {
                at: format!("flow `{}`", flow.name),
                reason,
            }),
        }
    }
    if !objections.is_empty() {
        objections.truncate(MOST_OBJECTIONS);
        return Err(objections);
    }
    let load = Load::of(certificate, &ways);
    let mut cases = 0;
    for (at, stage) in certificate.stages.iter().enumerate() {
        match load.check_stage(at) {
            Ok(checked) => cases += checked,
            Err(reason) if objections.len() < MOST_OBJECTIONS => objections.push(Objection {
                at: format!("stage {at} (`{}`)", stage.name()),
                reason,
            }),
            Err(_) => {}
        }
    }
    match objections.is_empty() {
        true => Ok(Proven {
            guarantees: certificate.flows.iter().map(guarantee_of).collect(),
            stages: certificate.stages.len(),
            cases,
        }),
        false => Err(objections),
    }
}

fn guarantee_of(flow: &Flow) -> (String, Delay) {
    (flow.name.clone(), Delay::from_ps(flow.guarantee_ps))
}

/// Follows a flow and checks what can be checked without the others.
fn check_flow(flow: &Flow, certificate: &Certificate) -> Result<Ways, Reason> {
    check_contract(flow)?;
    let listed = |alternative: &&crate::document::Alternative| {
        alternative.failure < certificate.failures.len()
    };
    if !flow
        .alternatives
        .iter()
        .all(|alternative| listed(&alternative))
    {
        return Err(Reason::FailureTwice);
    }
    let ways = windows::follow(flow, &certificate.stages)?;
    let promised = Delay::from_ps(flow.guarantee_ps);
    let calculated = Delay::from_ps(ways.latest);
    if promised != calculated {
        return Err(Reason::Guarantee {
            promised,
            calculated,
        });
    }
    let deadline = Delay::from_ps(flow.deadline_ps);
    if promised > deadline {
        return Err(Reason::Deadline { promised, deadline });
    }
    for (hop, visit) in flow.path.iter().zip(&ways.path) {
        stage::check_burst(flow, hop.burst, visit, &certificate.stages)?;
    }
    Ok(ways)
}

fn check_contract(flow: &Flow) -> Result<(), Reason> {
    let what = if !(1..=7).contains(&flow.class) {
        "only the classes 1 to 7 have promises"
    } else if flow.smallest_frame_bit < SMALLEST_FRAME {
        "its smallest frame is smaller than Ethernet has them"
    } else if flow.smallest_frame_bit > flow.largest_frame_bit {
        "its smallest frame is larger than its largest"
    } else if flow.contract.burst_bit < flow.largest_frame_bit {
        "its burst has no room for its largest frame"
    } else if flow
        .peak
        .is_some_and(|peak| peak.burst_bit < flow.largest_frame_bit)
    {
        "its peak has no room for its largest frame"
    } else {
        return Ok(());
    };
    Err(Reason::Senseless { what })
}

/// Which flows come to each stage, always and after each failure.
struct Load<'a> {
    certificate: &'a Certificate,
    always: Vec<Vec<Arrival<'a>>>,
    after: BTreeMap<(usize, usize), Vec<Arrival<'a>>>,
}

/// A flow that comes to a stage.
#[derive(Clone, Copy, Debug)]
struct Arrival<'a> {
    flow: &'a Flow,
    visit: Visit,
}

impl<'a> Load<'a> {
    fn of(certificate: &'a Certificate, ways: &[Ways]) -> Self {
        let mut load = Self {
            certificate,
            always: vec![Vec::new(); certificate.stages.len()],
            after: BTreeMap::new(),
        };
        for (flow, ways) in certificate.flows.iter().zip(ways) {
            for visit in &ways.path {
                let visit = *visit;
                load.always[visit.stage].push(Arrival { flow, visit });
            }
            for (failure, visits) in &ways.after {
                for visit in visits {
                    let visit = *visit;
                    let key = (visit.stage, *failure);
                    load.after
                        .entry(key)
                        .or_default()
                        .push(Arrival { flow, visit });
                }
            }
        }
        load
    }

    /// Checks a stage in every case and returns how many there are.
    fn check_stage(&self, at: usize) -> Result<usize, Reason> {
        let stages = &self.certificate.stages;
        stage::check(&self.always[at], &stages[at], stages, None)?;
        let cases = self.after.range((at, 0)..=(at, usize::MAX));
        let mut checked = 1;
        for ((_, failure), moved) in cases {
            let stays = |arrival: &&Arrival| {
                let mut alternatives = arrival.flow.alternatives.iter();
                alternatives.all(|alternative| alternative.failure != *failure)
            };
            let staying = self.always[at].iter().filter(stays).copied();
            let arrivals: Vec<_> = staying.chain(moved.iter().copied()).collect();
            let name = self.certificate.failures[*failure].clone();
            stage::check(&arrivals, &stages[at], stages, Some(name))?;
            checked += 1;
        }
        Ok(checked)
    }
}

impl Stage {
    fn name(&self) -> &str {
        match self {
            Self::Processor(processor) => &processor.name,
            Self::Port(port) => &port.name,
        }
    }
}

#[cfg(test)]
mod tests;
