//! The experiments of MC-SDN (S2-10), in virtual time: the switches that ship, with the
//! times of the paper's boards and with those of ours; and with real frames ([`lab`]).

mod aeb;
mod fig2;
mod fig6;
mod fig7;
mod fig8;
mod lab;
mod networks;
mod switches;

use super::{Experiment, MachineRequirement, Paper};

/// The paper and its experiments, in the order in which it has them.
pub const PAPER: Paper = Paper {
    name: "mc-sdn",
    title: "MC-SDN: Supporting Mixed-Criticality Scheduling on Switched-Ethernet Using \
            Software-Defined Networking (RTSS 2018)",
    place: MachineRequirement::Anywhere,
    experiments: &[
        Experiment {
            name: "fig2",
            shows: "how long a controller takes to change the mode of a switch (Fig. 2, Table I)",
            run: fig2::run,
        },
        Experiment {
            name: "fig6",
            shows: "how long a change of mode takes over topologies and rules (Fig. 6)",
            run: fig6::run,
        },
        Experiment {
            name: "fig7",
            shows: "how long the message takes that breaks its contract (Fig. 7)",
            run: fig7::run,
        },
        Experiment {
            name: "fig8",
            shows: "throughput of a switch that watches a flow, and of one that does not (Fig. 8)",
            run: fig8::run,
        },
        Experiment {
            name: "aeb",
            shows: "where a car stops that is braked over the network (section VIII)",
            run: aeb::run,
        },
    ],
    in_lab: &[
        ("fig2", fig2::run_in_lab),
        ("fig6", fig6::run_in_lab),
        ("fig7", fig7::run_in_lab),
        ("fig8", fig8::run_in_lab),
        ("aeb", aeb::run_in_lab),
    ],
};
