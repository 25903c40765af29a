//! The experiments of LOKO.

mod baselines;
mod benchmark;
mod emulated;
mod fig14;
mod fig20;
mod model;
mod table2;
mod two_switches;
mod zodiac;

use calculus::loko::SwitchModel;
use units::{DataSize, Delay};

use super::{Experiment, MachineRequirement, Paper};

/// The setting that most experiments share has frames of 306 bytes, 17 entries of
/// five-tuples, the action `output`, and every entry looked at (LOKO section 6).
const FRAME: DataSize = DataSize::from_bytes(306);
/// "257 us" in LOKO section 6. The digit that the paper does not print follows
/// from its other figures.
const PROCESSING_TIME: Delay = Delay::from_ns(257_200);
/// The same with 128 entries, LOKO section 4.
const PROCESSING_TIME_128_ENTRIES: Delay = Delay::from_us(1_350);

/// The paper and its experiments, in the order in which it has them.
pub const PAPER: Paper = Paper {
    name: "loko",
    title: "Loko: Predictable Latency in Small Networks (CoNEXT 2019)",
    place: MachineRequirement::Anywhere,
    experiments: &[
        Experiment {
            name: "baselines",
            shows: "what Silo and QJump promise (section 2.3, appendix A)",
            run: baselines::run,
        },
        Experiment {
            name: "fig3",
            shows: "which promises Silo and QJump break on two switches (section 2.3, Fig. 3)",
            run: two_switches::fig3,
        },
        Experiment {
            name: "zodiac",
            shows: "an emulated Zodiac FX, measured from outside (section 3, Figs. 9 and 10b)",
            run: zodiac::run,
        },
        Experiment {
            name: "fig6",
            shows: "how long an emulated Zodiac FX works on each message but FlowMod (Fig. 6b)",
            run: benchmark::fig6,
        },
        Experiment {
            name: "fig7",
            shows: "the same for FlowMod over entries and actions (Fig. 7)",
            run: benchmark::fig7,
        },
        Experiment {
            name: "fig9",
            shows: "how long it works on a frame over all of Table 1 (Fig. 9)",
            run: benchmark::fig9,
        },
        Experiment {
            name: "fig10",
            shows: "the same with one dimension at a time (Fig. 10a to c)",
            run: benchmark::fig10,
        },
        Experiment {
            name: "fig12",
            shows: "its throughput, searched and computed (Fig. 12b, Eqs. 6 and 7)",
            run: benchmark::fig12,
        },
        Experiment {
            name: "buffer",
            shows: "how many frames it holds (section 3.5)",
            run: benchmark::buffer,
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
            name: "fig15",
            shows: "the same beside Loko, which keeps its own (Fig. 15)",
            run: two_switches::fig15,
        },
        Experiment {
            name: "fig17",
            shows: "delays and losses when more is sent than promised, fifth-rate (Fig. 17)",
            run: two_switches::fig17,
        },
        Experiment {
            name: "fig18",
            shows: "the same, full-rate (Fig. 18)",
            run: two_switches::fig18,
        },
        Experiment {
            name: "fig19",
            shows: "the same beside messages of the controller (Fig. 19)",
            run: two_switches::fig19,
        },
        Experiment {
            name: "fig20",
            shows: "how many flows a ring of 31 switches admits over the length of their paths (Fig. 20)",
            run: fig20::run,
        },
    ],
    in_lab: &[],
};

/// Returns the Zodiac FX in the setting that most experiments share.
fn zodiac_fx() -> SwitchModel {
    SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME)
}
