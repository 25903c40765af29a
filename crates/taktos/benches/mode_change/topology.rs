//! How nine switches are joined (MC-SDN Fig. 5).

use wire::openflow::PortNumber;

/// Switches of every network.
pub const SWITCHES: usize = 9;

/// The port of the first switch at which the host is.
pub const HOST_PORT: PortNumber = PortNumber(1);

/// A port of a switch that leads to another.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// The port.
    pub port: PortNumber,
    /// The switch at the other end.
    pub far: usize,
    /// Its port.
    pub far_port: PortNumber,
    /// Whether it leads away from where violations are seen.
    pub is_outward: bool,
}

/// How they are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topology {
    /// One behind the other.
    Line,
    /// Eight around one; the violation is seen at one of the eight.
    Star,
    /// Three by three; the violation is seen in a corner.
    Grid,
}

impl Topology {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Line, Self::Star, Self::Grid];

    /// Returns its name.
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

    /// Returns over how many links the last switch is told.
    pub const fn links(self) -> u32 {
        match self {
            Self::Line => 8,
            Self::Star => 2,
            Self::Grid => 4,
        }
    }
}
