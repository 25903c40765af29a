//! How nine switches are joined (MC-SDN Fig. 5).

use calculus::mode_change::{Hop, SIGNALS_AHEAD, SignalHop, Trunks};
use units::{BitRate, DataSize, Delay, Duration};
use wire::openflow::PortNumber;

pub const SWITCHES: usize = 9;

/// The port of the first switch at which the host is.
pub const HOST_PORT: PortNumber = PortNumber(1);

/// What a signal can no longer overtake at a port that the kernel queues for: the frame
/// that is being sent, and the one behind it that has left the inner queue (decision
/// 0010), on the wire.
const BLOCKING: DataSize = DataSize::from_bytes(2 * 1538);

/// The longest time that a frame is taken to be in a switch, as the profile
/// `taktos-kernel` has it.
const PROCESSING: Delay = Delay::from_us(14);

/// A port of a switch that leads to another.
#[derive(Clone, Copy, Debug)]
pub struct End {
    pub port: PortNumber,
    /// The switch at the other end.
    pub far: usize,
    pub far_port: PortNumber,
    /// Whether it leads away from where violations are seen.
    pub is_outward: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    Line,
    /// Eight around one; the violation is seen at one of the eight.
    Star,
    /// Three by three; the violation is seen in a corner.
    Grid,
}

impl Topology {
    pub const ALL: [Self; 3] = [Self::Line, Self::Star, Self::Grid];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Star => "star",
            Self::Grid => "grid",
        }
    }

    /// Returns the cables between switches: from the one nearer to the violation, to the
    /// one further away.
    pub fn cables(self) -> Vec<[usize; 2]> {
        match self {
            Self::Line => (1..SWITCHES).map(|to| [to - 1, to]).collect(),
            Self::Star => {
                let rest = (2..SWITCHES).map(|to| [1, to]);
                std::iter::once([0, 1]).chain(rest).collect()
            }
            Self::Grid => {
                let right = (0..SWITCHES).filter(|at| at % 3 < 2);
                let down = 0..SWITCHES - 3;
                let right = right.map(|at| [at, at + 1]);
                right.chain(down.map(|at| [at, at + 3])).collect()
            }
        }
    }

    /// Returns the ports of each switch that lead to others.
    pub fn ends(self) -> Vec<Vec<End>> {
        let mut ends: Vec<Vec<End>> = vec![Vec::new(); SWITCHES];
        for [near, far] in self.cables() {
            let next = |ends: &[End]| PortNumber(2 + u32::try_from(ends.len()).expect("a few"));
            let (port, far_port) = (next(&ends[near]), next(&ends[far]));
            ends[near].push(End {
                port,
                far,
                far_port,
                is_outward: true,
            });
            ends[far].push(End {
                port: far_port,
                far: near,
                far_port: port,
                is_outward: false,
            });
        }
        ends
    }

    /// Returns the longest time from the detection until the last switch has changed, over
    /// links of this rate of which none is lost: the sound bound of
    /// `calculus::mode_change`, and the work on one signal over each link in each
    /// direction, as all of these switches share the processors of one machine and a
    /// signal may wait until all others have been dealt with.
    pub fn bound(self, rate: BitRate) -> Duration {
        let hop = SignalHop {
            rate,
            propagation: Delay::ZERO,
            blocking: BLOCKING,
            equal: DataSize::ZERO,
            signals_ahead: SIGNALS_AHEAD,
            processing: PROCESSING,
        };
        let delay = hop.bound().expect("a signal takes less than 213 days");
        let cables = self.cables();
        let others = PROCESSING * (2 * cables.len() as u64);
        let hops = cables.into_iter().enumerate();
        let hops = hops.flat_map(|(link, [one, other])| {
            [(one, other), (other, one)].map(|(from, to)| Hop {
                from,
                to,
                link,
                delay,
            })
        });
        let spread = Trunks::new(SWITCHES, hops).spread(0);
        (PROCESSING + spread + others).round_up()
    }

    /// Returns over how many links the last switch is told.
    pub const fn links(self) -> u32 {
        match self {
            Self::Line => 8,
            Self::Star => 2,
            Self::Grid => 4,
        }
    }
}
