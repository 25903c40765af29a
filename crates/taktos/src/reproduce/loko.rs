//! The experiments of LOKO.

mod baselines;
mod fig14;
mod fig20;
mod model;
mod setting;
mod table2;

use super::{Experiment, Paper};

/// The paper and its experiments, in the order in which it has them.
pub const PAPER: Paper = Paper {
    name: "loko",
    title: "Loko: Predictable Latency in Small Networks (CoNEXT 2019)",
    experiments: &[
        Experiment {
            name: "baselines",
            shows: "what Silo and QJump promise (section 2.3, appendix A)",
            run: baselines::run,
        },
        Experiment {
            name: "model",
            shows: "the switch as one service curve, and what it can hold (sections 3.5 and 4)",
            run: model::run,
        },
        Experiment {
            name: "fig14",
            shows: "delay, burst and rate of a switch over entries and frame sizes (Fig. 14)",
            run: fig14::run,
        },
        Experiment {
            name: "table2",
            shows: "what of a switch is set aside for promises, and how flows share it (Table 2, Eq. 8)",
            run: table2::run,
        },
        Experiment {
            name: "fig20",
            shows: "how many flows a ring of 31 switches admits over the length of their paths (Fig. 20)",
            run: fig20::run,
        },
    ],
};
