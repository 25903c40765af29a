//! The experiments of ONOS: one instance decides, records are kept in memory, in a file, or in
//! etcd of one, three and five members, as several instances share it.

mod emulation;
mod internet2;
mod members;
mod paths;
mod stopwatch;
mod table1;
mod table2;
mod table3;
mod wide_area;

use super::{Experiment, MachineRequirement, Paper};

/// The paper and its experiments, in the order in which it has them.
pub const PAPER: Paper = Paper {
    name: "onos",
    title: "ONOS: Towards an Open, Distributed SDN OS (HotSDN 2014)",
    place: MachineRequirement::Anywhere,
    experiments: &[
        Experiment {
            name: "table1",
            shows: "how long a switch and a link take to get into the view (Table 1)",
            run: table1::run,
        },
        Experiment {
            name: "table2",
            shows: "how long a thousand flows take to leave a link that breaks (Table 2)",
            run: table2::run,
        },
        Experiment {
            name: "table3",
            shows: "how long a thousand paths take to be installed, and how many a second (Table 3)",
            run: table3::run,
        },
        Experiment {
            name: "internet2",
            shows: "a network of 205 switches and 414 links, discovered (section 3.2, Fig. 6)",
            run: internet2::run,
        },
    ],
    in_lab: &[],
};
