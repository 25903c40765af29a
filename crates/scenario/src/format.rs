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

pub(crate) use flows::{COVERS_ANY, FLOW, FLOW_IMPORT, FLOW_SET, PROTECTION_RESTORE};
pub(crate) use modes::{FLOW_LEVEL, MODES};
pub(crate) use network::{HOST, LINK, NETWORK, SWITCH};
pub(crate) use profile::PROFILE;
pub(crate) use settings::{ADMISSION, BROADCAST, HOSTS_FROM_SCENARIO};
pub(crate) use settings::{CAPTURE_ALL, CLASS, CONTROLLER, EVENT, MEASUREMENT, SCENARIO};

use crate::shape::Need::{self, Optional, Required};
use crate::shape::{Key, Keys, Shape, Table};

pub(crate) static FILE: Table = Table {
    title: "the file",
    keys: &[
        key(
            "scenario",
            Required,
            Shape::Table(&SCENARIO),
            "the title and the duration of the run",
        ),
        key(
            "network",
            Optional,
            Shape::Table(&NETWORK),
            "a generator or an import, and defaults for links and switches",
        ),
        key(
            "switches",
            Optional,
            Shape::Map(Keys::Names, &Shape::Table(&SWITCH)),
            "the switches by name",
        ),
        key(
            "hosts",
            Optional,
            Shape::Map(Keys::Names, &Shape::Table(&HOST)),
            "the hosts by name",
        ),
        key(
            "links",
            Optional,
            Shape::AnyOf(&[
                Shape::Map(Keys::Names, &LINK_SHORT),
                Shape::List(&Shape::Table(&LINK)),
            ]),
            "the links: by name, or as a list of tables; \
             `uplink = [\"s1\", \"s2\"]` is short for `uplink = { ends = [\"s1\", \"s2\"] }`",
        ),
        key(
            "classes",
            Optional,
            Shape::Map(Keys::Names, &Shape::Table(&CLASS)),
            "the classes of traffic by name; without any: `protection` (queue 6), \
             `sampled-values` (5), `control` (3) and `best-effort` (0)",
        ),
        key(
            "templates",
            Optional,
            Shape::Map(Keys::Names, &Shape::Table(&FLOW)),
            "keys that several flows share, by the name that their `like` refers to",
        ),
        key(
            "flows",
            Optional,
            Shape::Map(Keys::Names, &Shape::Table(&FLOW)),
            "the flows by name",
        ),
        key(
            "flow_sets",
            Optional,
            Shape::List(&Shape::Table(&FLOW_SET)),
            "many flows at once, between random hosts",
        ),
        key(
            "flow_imports",
            Optional,
            Shape::List(&Shape::Table(&FLOW_IMPORT)),
            "the flows of a substation description or of a table",
        ),
        key(
            "modes",
            Optional,
            Shape::Table(&MODES),
            "the levels of the network: what it gives up when important flows need more",
        ),
        key(
            "events",
            Optional,
            Shape::List(&Shape::Table(&EVENT)),
            "what happens to the network while traffic runs",
        ),
        key(
            "admission",
            Optional,
            Shape::Table(&ADMISSION),
            "how promises are computed",
        ),
        key(
            "controller",
            Optional,
            Shape::Table(&CONTROLLER),
            "how the controller reaches the switches and learns the network",
        ),
        key(
            "measurement",
            Optional,
            Shape::Table(&MEASUREMENT),
            "what is measured, and how",
        ),
    ],
};

/// A link under its name: its ends, or all its keys.
static LINK_SHORT: Shape = Shape::AnyOf(&[Shape::List(&Shape::Text), Shape::Table(&LINK)]);

const fn key(name: &'static str, need: Need, shape: Shape, about: &'static str) -> Key {
    Key {
        name,
        need,
        shape,
        about,
    }
}
