//! The format of a scenario file, as data: every table, every key, every
//! default.
//!
//! What a key means is said here once; the messages, the JSON Schema and the
//! reference in `docs/scenario.md` repeat it.

mod flows;
mod modes;
mod network;
pub(crate) mod profile;
mod settings;

pub(crate) use flows::{
    COVERS_ANY, ENCODING_PRP, EXCESS_BEST_EFFORT, FLOW, FLOW_IMPORT, FLOW_SET, ORDER_KEPT,
    PROTECTION_FAST_FAILOVER, PROTECTION_HEART_BEAT, PROTECTION_RESTORE, PROTECTION_SEAMLESS,
};
pub(crate) use modes::{FLOW_LEVEL, MODES};
pub(crate) use network::{HOST, LINK, NETWORK, SWITCH};
pub(crate) use profile::PROFILE;
pub(crate) use settings::{ADMISSION, BROADCAST, HOSTS_FROM_SCENARIO, POLICING_OFF, WATCHING_OFF};
pub(crate) use settings::{CAPTURE_ALL, CLASS, CONTROLLER, EVENT, MEASUREMENT, SCENARIO};

use crate::shape::Need::{self, Optional, Required};
use crate::shape::{KeyShape, Keys, TableShape, ValueShape};

pub(crate) static FILE: TableShape = TableShape {
    title: "the file",
    keys: &[
        key(
            "scenario",
            Required,
            ValueShape::Table(&SCENARIO),
            "the title and the duration of the run",
        ),
        key(
            "network",
            Optional,
            ValueShape::Table(&NETWORK),
            "a generator or an import, and defaults for links and switches",
        ),
        key(
            "switches",
            Optional,
            ValueShape::Map(Keys::Names, &ValueShape::Table(&SWITCH)),
            "the switches by name",
        ),
        key(
            "hosts",
            Optional,
            ValueShape::Map(Keys::Names, &ValueShape::Table(&HOST)),
            "the hosts by name",
        ),
        key(
            "links",
            Optional,
            ValueShape::AnyOf(&[
                ValueShape::Map(Keys::Names, &LINK_SHORT),
                ValueShape::List(&ValueShape::Table(&LINK)),
            ]),
            "the links: by name, or as a list of tables; \
             `uplink = [\"s1\", \"s2\"]` is short for `uplink = { ends = [\"s1\", \"s2\"] }`",
        ),
        key(
            "classes",
            Optional,
            ValueShape::Map(Keys::Names, &ValueShape::Table(&CLASS)),
            "the classes of traffic by name; without any: `protection` (queue 6), \
             `sampled-values` (5), `control` (3) and `best-effort` (0)",
        ),
        key(
            "templates",
            Optional,
            ValueShape::Map(Keys::Names, &ValueShape::Table(&FLOW)),
            "keys that several flows share, by the name that their `like` refers to",
        ),
        key(
            "flows",
            Optional,
            ValueShape::Map(Keys::Names, &ValueShape::Table(&FLOW)),
            "the flows by name",
        ),
        key(
            "flow_sets",
            Optional,
            ValueShape::List(&ValueShape::Table(&FLOW_SET)),
            "many flows at once, between random hosts",
        ),
        key(
            "flow_imports",
            Optional,
            ValueShape::List(&ValueShape::Table(&FLOW_IMPORT)),
            "the flows of a substation description or of a table",
        ),
        key(
            "modes",
            Optional,
            ValueShape::Table(&MODES),
            "the levels of the network: what it gives up when important flows need more",
        ),
        key(
            "events",
            Optional,
            ValueShape::List(&ValueShape::Table(&EVENT)),
            "what happens to the network while traffic runs",
        ),
        key(
            "admission",
            Optional,
            ValueShape::Table(&ADMISSION),
            "how promises are computed",
        ),
        key(
            "controller",
            Optional,
            ValueShape::Table(&CONTROLLER),
            "how the controller reaches the switches and learns the network",
        ),
        key(
            "measurement",
            Optional,
            ValueShape::Table(&MEASUREMENT),
            "what is measured, and how",
        ),
    ],
};

/// A link under its name: its ends, or all its keys.
static LINK_SHORT: ValueShape = ValueShape::AnyOf(&[
    ValueShape::List(&ValueShape::Text),
    ValueShape::Table(&LINK),
]);

const fn key(name: &'static str, need: Need, shape: ValueShape, about: &'static str) -> KeyShape {
    KeyShape {
        name,
        need,
        shape,
        about,
    }
}
