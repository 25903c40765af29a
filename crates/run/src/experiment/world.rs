//! What an experiment asks of the world that it runs in.

use std::collections::BTreeMap;
use std::sync::mpsc::Receiver;

use controller::northbound::{Reply, Request, RequestId, Said, Saying};
use controller::place::LinkEnds;
use linux::controller_loop::{Desk, Told};
use measure::culprit::Deviation;
use measure::fault_losses::FaultLosses;
use measure::interruptions::Interruptions;
use measure::load::Load;
use measure::recorder::FlowRecord;
use measure::stalls::Stalls;
use measure::unseen::Unseen;
use scenario::{Change, Scenario};
use sim::hop_watch::SeenHops;
use units::{Duration, Instant};

use super::{Experiment, ExperimentError};

/// How long the controller may take to decide.
const DECISION_PATIENCE: Duration = Duration::from_secs(60);

/// Where an experiment runs: in virtual time or with real packets. The time is
/// the world's own.
pub trait World {
    /// Returns how long it took to build, if that took any time.
    fn building(&self) -> Option<Duration>;

    fn now(&self) -> Instant;

    /// Returns the time of day at the origin of the world's clock, in
    /// nanoseconds since 1970.
    fn unix_origin_ns(&self) -> u64;

    /// Returns whether nothing but switches and links delays frames: no machine takes its
    /// processors away.
    fn is_undisturbed(&self) -> bool;

    /// Asks the controller for something.
    fn request(&mut self, request: Request) -> RequestId;

    /// Returns where others can ask its controller, and what that tells; nothing where
    /// its time is not theirs.
    fn lend_controller(&mut self) -> Option<(Desk, Receiver<Told>)> {
        None
    }

    /// Waits until the controller has said something or until `until`, and
    /// returns what it said.
    ///
    /// # Errors
    ///
    /// If the world broke down.
    fn listen(&mut self, until: Instant) -> Result<Vec<Said>, ExperimentError>;

    /// Lets a host send a frame that belongs to no flow.
    fn announce(&mut self, host: usize, frame: &[u8]);

    /// Plants the errors of a scenario whose traffic begins at `start`, where the world has
    /// a part in them, and watches hops if it can.
    fn plant(&mut self, scenario: &Scenario, start: Instant);

    /// Lets the hosts begin to send, and plans what happens to the network, in
    /// order of time.
    ///
    /// # Errors
    ///
    /// If the world broke down.
    fn begin(&mut self, load: Load, changes: &[(Instant, Change)]) -> Result<(), ExperimentError>;

    /// Changes the network at once, as nobody had planned.
    fn change(&mut self, change: Change);

    /// Ends the run.
    ///
    /// # Errors
    ///
    /// If the world broke down.
    fn finish(self: Box<Self>) -> Result<Observed, ExperimentError>;
}

impl Experiment<'_> {
    /// Asks the controller, and returns what `take` makes of its reply; nothing if none that
    /// it takes has come after `patience`.
    ///
    /// # Errors
    ///
    /// If the world broke down, or the user wants to stop.
    pub(super) fn ask<T>(
        &self,
        world: &mut dyn World,
        request: Request,
        patience: Duration,
        mut take: impl FnMut(Reply) -> Option<T>,
    ) -> Result<Option<T>, ExperimentError> {
        let until = world.now() + patience;
        let id = world.request(request);
        while world.now() < until {
            self.go_on()?;
            for said in world.listen(until)? {
                if let Saying::Reply(of, reply) = said.what
                    && of == id
                    && let Some(taken) = take(reply)
                {
                    return Ok(Some(taken));
                }
            }
        }
        Ok(None)
    }

    /// Asks the controller for something on which the experiment cannot go on without.
    ///
    /// # Errors
    ///
    /// As [`ask`](Self::ask), or if nothing has come.
    pub(super) fn have_decided<T>(
        &self,
        world: &mut dyn World,
        request: Request,
        take: impl FnMut(Reply) -> Option<T>,
    ) -> Result<T, ExperimentError> {
        let waited = DECISION_PATIENCE;
        let answer = self.ask(world, request, waited, take)?;
        answer.ok_or(ExperimentError::Undecided { waited })
    }
}

/// What somebody who watches wants done to a link between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    pub link: LinkEnds,
    pub plug: Plug,
}

/// Whether the cable of a link is plugged in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plug {
    Out,
    In,
}

/// Something that was done to the network, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happening {
    pub at: Instant,
    pub change: Change,
    /// Whether somebody who watches did it, and not the scenario.
    pub is_by_hand: bool,
}

#[derive(Debug)]
pub struct Observed {
    /// Flow by flow, in the order of the load.
    pub records: Vec<FlowRecord>,
    /// What was done to the network, in order of time; what did not come to pass is absent.
    pub happenings: Vec<Happening>,
    /// How the stamps were taken.
    pub stamps: String,
    /// How late those were who watched the machine; nothing where time is virtual.
    pub stalls: Option<Stalls>,
    /// When processors were taken away that frames need.
    pub interruptions: Interruptions,
    /// How late the hosts of a machine were at most with what they were to send.
    pub called_late: Duration,
    /// Frames that hosts sent and for which the queues of their own interfaces had no room:
    /// the network never had them.
    pub overflowed: u64,
    /// What the observer of each host missed, in the order of the hosts; nothing where
    /// all is seen.
    pub unseen: Vec<Unseen>,
    /// What planted faults of cables took of promised flows.
    pub fault_losses: FaultLosses,
    /// What was seen of every hop, where each frame is seen at each.
    pub hops: Option<SeenHops>,
    /// Who was seen not to be what the network file says, where it is not.
    pub deviations: Vec<Deviation>,
    /// Whether switches and links were watched for that.
    pub watches_paces: bool,
    /// For how long a processor was in use for frames, rather too long than too short;
    /// nothing where the machine does not say.
    pub busy: Option<Duration>,
    /// What else is worth knowing, a sentence each.
    pub notes: Vec<String>,
    /// What the machine is, where one matters.
    pub machine: Option<BTreeMap<String, String>>,
}
