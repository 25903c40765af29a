//! The experiments of SDN4CI: real switches in namespaces, and beside them those of the
//! paper, emulated by their profiles.

mod fig3;
mod fig6;
mod table1;

use super::{Experiment, MachineRequirement, Paper};

/// The paper and its experiments, in the order in which it has them.
pub const PAPER: Paper = Paper {
    name: "sdn4ci",
    title: "Empirical Comparison of Virtualized and Bare-Metal Switching for SDN-based 5G \
            Communication in Critical Infrastructures (NetSoft 2016)",
    place: MachineRequirement::Namespaces,
    experiments: &[
        Experiment {
            name: "fig3",
            shows: "how long a frame takes through a switch, at five spacings (Fig. 3)",
            run: fig3::run,
        },
        Experiment {
            name: "fig6",
            shows: "how long each failure interrupts reception, by how it is healed (Fig. 6)",
            run: fig6::run,
        },
        Experiment {
            name: "table1",
            shows: "switches beside each other by measurements (Table I)",
            run: table1::run,
        },
    ],
    in_lab: &[],
};
