//! The experiments of ASYNC, in virtual time: the paper's two switches by their
//! profiles, and those that were measured here.

mod emulation;
mod figures;

use super::{Experiment, MachineRequirement, Paper};

/// The paper and its experiments, in the order in which it has them.
pub const PAPER: Paper = Paper {
    name: "async",
    title: "Developing an Asynchronous Technique to Evaluate the Performance of SDN HP Aruba \
            switch and OVS (Computing Conference 2018)",
    place: MachineRequirement::Anywhere,
    experiments: &[
        Experiment {
            name: "fig3",
            shows: "two-way latency by three techniques, three windows and three loads (Fig. 3)",
            run: figures::fig3,
        },
        Experiment {
            name: "fig4",
            shows: "what setting up a flow adds, by two techniques (Fig. 4)",
            run: figures::fig4,
        },
        Experiment {
            name: "fig5",
            shows: "TCP and UDP throughput by window and load (Fig. 5)",
            run: figures::fig5,
        },
        Experiment {
            name: "fig6",
            shows: "jitter and loss by window and load (Fig. 6)",
            run: figures::fig6,
        },
        Experiment {
            name: "emulation",
            shows: "how far emulated devices are from their profiles, measured from outside",
            run: emulation::run,
        },
    ],
    in_lab: &[],
};
