//! The tables that describe criticality modes.

use crate::format::key;
use crate::shape::Need::{Optional, Required};
use crate::shape::{Choice, Keys, Shape, Table, Zero};

static STRATEGIES: Choice = Choice {
    what: "strategy",
    words: &["taktos", "std-sdn", "mc-agnostic"],
};

static DROP: Choice = Choice {
    what: "treatment",
    words: &["drop"],
};

pub(crate) static MODES: Table = Table {
    title: "[modes]",
    keys: &[
        key(
            "levels",
            Required,
            Shape::List(&Shape::Text),
            "the names of the levels, 2 to 8, the lowest first, such as [\"lo\", \"hi\"]",
        ),
        key(
            "strategy",
            Optional,
            Shape::Choice(&STRATEGIES),
            "who changes the level: the switches by signals, the controller by new rules, or nobody; \
             default \"taktos\"",
        ),
        key(
            "hold",
            Optional,
            Shape::TimeOrNever,
            "how long every monitored flow has to be quiet before the level falls; \"never\" leaves \
             that to the operator; default \"500 ms\"",
        ),
        key(
            "heartbeat",
            Optional,
            Shape::Time(Zero::Refused),
            "the time between two heart-beats by which switches repeat the mode to their neighbours; \
             default \"10 ms\"",
        ),
        key(
            "default",
            Optional,
            Shape::Text,
            "the level that a switch serves while its rules for the agreed one are not complete; \
             default the lowest",
        ),
        key(
            "serve",
            Optional,
            Shape::Map(Keys::Names, &CRITICALITY_SHAPE),
            "the least criticality that is served at a level, by the level's name, such as \
             { hi = 4 }; default the number of the level, 0 for the lowest",
        ),
    ],
};

static CRITICALITY_SHAPE: Shape = Shape::Integer { least: 0, most: 7 };

/// How a flow is treated at a level: a word, or what differs.
pub(super) static TREATMENT: Shape =
    Shape::AnyOf(&[Shape::Table(&FLOW_LEVEL), Shape::Choice(&DROP)]);

pub(crate) static FLOW_LEVEL: Table = Table {
    title: "a level of a flow",
    keys: &[
        key(
            "size",
            Optional,
            Shape::Size,
            "the size of each message at this level; default as at the level below",
        ),
        key(
            "period",
            Optional,
            Shape::Time(Zero::Refused),
            "the time between two messages at this level; default as at the level below",
        ),
        key(
            "class",
            Optional,
            Shape::Text,
            "its class at this level; default as at the level below",
        ),
        key(
            "deadline",
            Optional,
            Shape::Time(Zero::Refused),
            "how late a frame may be at this level; default as at the level below",
        ),
    ],
};
