//! The tables that describe a network.

use crate::format::key;
use crate::limits::MOST_NODES;
use crate::shape::Need::{Optional, Required};
use crate::shape::{TableShape, ValueShape, WordChoice, Zero};

static GENERATORS: WordChoice = WordChoice {
    what: "generator",
    words: &["line", "ring", "star", "grid", "torus", "diamond", "tree"],
};

static DEVICES: WordChoice = WordChoice {
    what: "device",
    words: &["taktos"],
};

pub(crate) static NETWORK: TableShape = TableShape {
    title: "[network]",
    keys: &[
        key(
            "generator",
            Optional,
            ValueShape::Choice(&GENERATORS),
            "the shape of a generated network, whose switches are s1, s2, …: line, ring and star \
             of `size` switches, grid and torus of `rows` by `columns`, diamond of `size` parallel paths, \
             tree of `depth` levels with `fan_out` children a switch",
        ),
        key(
            "import",
            Optional,
            ValueShape::Text,
            "a topology file, relative to the scenario: node-link JSON (`.json`) or GraphML \
             (`.graphml`)",
        ),
        key(
            "size",
            Optional,
            count(),
            "the number of switches or, of a diamond, of paths",
        ),
        key("rows", Optional, count(), "the rows of a grid or torus"),
        key(
            "columns",
            Optional,
            count(),
            "the columns of a grid or torus",
        ),
        key(
            "depth",
            Optional,
            count(),
            "the levels of a tree, its root included",
        ),
        key(
            "fan_out",
            Optional,
            count(),
            "the children of each inner switch of a tree",
        ),
        key(
            "hosts_per_switch",
            Optional,
            ValueShape::Integer {
                least: 0,
                most: 1_000,
            },
            "how many hosts each generated or imported switch gets: h1, h2, … or h1-1, h1-2, …, \
             at imported switches NAME-h1, …; default 0",
        ),
        key(
            "link_rate",
            Optional,
            ValueShape::Rate,
            "the rate of links between switches that state none; default \"1 Gbit/s\"",
        ),
        key(
            "host_rate",
            Optional,
            ValueShape::Rate,
            "the rate of links to hosts that state none; default \"100 Mbit/s\"",
        ),
        key(
            "length",
            Optional,
            ValueShape::Length,
            "the length of links that state none, at 5 us/km; default \"10 m\"",
        ),
        key(
            "minimum_length",
            Optional,
            ValueShape::Length,
            "the length of imported links that are shorter, such as those of length 0 within a \
             town; default \"100 m\"",
        ),
        key(
            "device",
            Optional,
            ValueShape::Choice(&DEVICES),
            "what runs on switches that state none; default \"taktos\"",
        ),
        key(
            "profile",
            Optional,
            ValueShape::Text,
            "the profile of switches that state none: one that is built in, or a file ending in \
             `.toml`, relative to the scenario; default \"taktos-packet\"",
        ),
    ],
};

pub(crate) static SWITCH: TableShape = TableShape {
    title: "a switch",
    keys: &[
        key(
            "device",
            Optional,
            ValueShape::Choice(&DEVICES),
            "what runs on it; default as in [network]",
        ),
        key(
            "profile",
            Optional,
            ValueShape::Text,
            "what it can do: a built-in profile or a file ending in `.toml`; default as in \
             [network]",
        ),
        key(
            "datapath_id",
            Optional,
            ValueShape::Number,
            "its OpenFlow datapath id; default its number in order of declaration, from 1",
        ),
    ],
};

pub(crate) static HOST: TableShape = TableShape {
    title: "a host",
    keys: &[
        key(
            "mac",
            Optional,
            ValueShape::Mac,
            "its hardware address; default 02:00:00:00:00:01 and up",
        ),
        key(
            "ip",
            Optional,
            ValueShape::Address,
            "its network address; default 10.0.0.1 and up",
        ),
        key(
            "at",
            Optional,
            ValueShape::Text,
            "the switch it is plugged into, instead of a link under [links]",
        ),
        key(
            "rate",
            Optional,
            ValueShape::Rate,
            "the rate of the link that `at` makes; default `host_rate` of [network]",
        ),
        key(
            "length",
            Optional,
            ValueShape::Length,
            "the length of the link that `at` makes; default `length` of [network]",
        ),
    ],
};

pub(crate) static LINK: TableShape = TableShape {
    title: "a link",
    keys: &[
        key(
            "name",
            Optional,
            ValueShape::Text,
            "its name, in a list of links; default the names of its ends joined by `-`",
        ),
        key(
            "ends",
            Required,
            ValueShape::List(&ValueShape::Text),
            "its two ends, such as [\"s1\", \"s2\"]",
        ),
        key(
            "rate",
            Optional,
            ValueShape::Rate,
            "its rate; default `host_rate` or `link_rate` of [network]",
        ),
        key(
            "length",
            Optional,
            ValueShape::Length,
            "its length, at 5 us/km; default `length` of [network]",
        ),
        key(
            "propagation",
            Optional,
            ValueShape::Delay(Zero::Allowed),
            "how long a bit travels, instead of a length",
        ),
    ],
};

const fn count() -> ValueShape {
    ValueShape::Integer {
        least: 1,
        most: MOST_NODES,
    }
}
