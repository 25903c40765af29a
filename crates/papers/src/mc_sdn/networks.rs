//! The networks of MC-SDN Fig. 5 and the flows of its section VII-A.

use sim::modes::deployment::{LevelTreatment, Strategy};
use sim::modes::stage::{Breach, ModeSetup, StagedFlow};
use sim::modes::topology::ModeTopology;
use sim::servers::random::Random;
use units::{BitRate, Duration};

use super::switches::{RATE_MBPS, SwitchKind};

const PERIOD: Duration = Duration::from_ms(100);
const HIGH_BYTES: u32 = 180_000;
const LOW_BYTES: u32 = 490_000;
/// How large the message is that breaks the contract; the paper does not say.
const BREACH_BYTES: u32 = 2 * HIGH_BYTES;
/// The third message breaks it: the queues are as full by then as they get.
const BREACH: u32 = 3;
const DURATION: Duration = Duration::from_ms(1_000);
/// All flows go to this host, so that they share all links, as in a star they would
/// not otherwise.
const RECEIVER: usize = 1;

/// A network of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyShape {
    /// One switch, and all hosts around it.
    Star,
    Grid,
    /// Nine, one after the other.
    Linear,
}

impl TopologyShape {
    pub const ALL: [Self; 3] = [Self::Star, Self::Grid, Self::Linear];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Star => "star",
            Self::Grid => "grid",
            Self::Linear => "linear",
        }
    }

    /// Returns the most links between two switches: `N_link` of MC-SDN Eq. (2).
    #[must_use]
    pub const fn links(self) -> u64 {
        match self {
            Self::Star => 0,
            Self::Grid => 4,
            Self::Linear => 8,
        }
    }

    fn topology(self) -> ModeTopology {
        match self {
            Self::Star => ModeTopology::line(1),
            Self::Grid => ModeTopology::grid(3, 3),
            Self::Linear => ModeTopology::line(9),
        }
    }

    /// Returns a way through all switches.
    fn route(self) -> Vec<usize> {
        match self {
            Self::Star => vec![0],
            Self::Grid => vec![0, 1, 2, 5, 4, 3, 6, 7, 8],
            Self::Linear => (0..9).collect(),
        }
    }
}

/// What changes from one measurement to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementCase {
    pub shape: TopologyShape,
    pub kind: SwitchKind,
    pub strategy: Strategy,
    /// How many entries of each switch change.
    pub rules: usize,
    /// Whether two flows that are to be dropped fill the queues.
    pub others: Others,
    pub trial: u64,
}

/// Who shares the links with the flow that breaks its contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    Nobody,
    /// Two flows that matter less, ahead of it in the usual case.
    TwoLow,
}

impl MeasurementCase {
    /// Returns the network, its flows and its controller.
    #[must_use]
    pub fn stage(&self, seed: u64) -> ModeSetup {
        let mut random = Random::new(seed.wrapping_mul(1_000_003).wrapping_add(self.trial));
        let route = self.shape.route();
        let last = *route.last().expect("a way has switches");
        let mut phase = || Duration::from_ns(random.below(PERIOD.as_ns()));
        let flow = |from, phase, size_bytes, treatments| StagedFlow {
            from,
            to: RECEIVER,
            route: route.clone(),
            period: PERIOD,
            size_bytes,
            phase,
            treatments,
            breach: None,
            quickens: None,
        };
        let treatments = [LevelTreatment::Queue(4), LevelTreatment::Queue(6)];
        let mut flows = vec![StagedFlow {
            breach: Some(Breach {
                number: BREACH,
                size_bytes: BREACH_BYTES,
            }),
            ..flow(0, phase(), HIGH_BYTES, treatments)
        }];
        if self.others == Others::TwoLow {
            let low = [LevelTreatment::Queue(5), LevelTreatment::Drop];
            flows.push(flow(2, phase(), LOW_BYTES, low));
            flows.push(flow(3, phase(), LOW_BYTES, low));
        }
        ModeSetup {
            seed: seed.wrapping_add(self.trial),
            topology: self.shape.topology(),
            // Who sends is at the first switch, who receives at the last.
            hosts: vec![0, last, 0, 0],
            flows,
            strategy: self.strategy,
            rules: self.rules,
            device: self.kind.device(),
            controller: self.kind.controller(&mut random),
            rate: BitRate::from_mbps(RATE_MBPS),
            duration: DURATION,
        }
    }
}
