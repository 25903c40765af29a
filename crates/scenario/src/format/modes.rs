//! The tables that describe criticality modes.

use crate::format::key;
use crate::shape::Need::{Optional, Required};
use crate::shape::{Keys, TableShape, ValueShape, WordChoice, Zero};

static STRATEGIES: WordChoice = WordChoice {
    what: "strategy",
    words: &["taktos", "std-sdn", "mc-agnostic"],
};

static DROP: WordChoice = WordChoice {
    what: "treatment",
    words: &["drop"],
};

pub(crate) static MODES: TableShape = TableShape {
    title: "[modes]",
    keys: &[
        key(
            "levels",
            Required,
            ValueShape::List(&ValueShape::Text),
            "the names of the levels, 2 to 8, the lowest first, such as [\"lo\", \"hi\"]",
        ),
        key(
            "strategy",
            Optional,
            ValueShape::Choice(&STRATEGIES),
            "who changes the level: the switches by signals, the controller by new rules, or nobody; \
             default \"taktos\"",
        ),
        key(
            "hold",
            Optional,
            ValueShape::TimeOrNever,
            "how long every monitored flow has to be quiet before the level falls; \"never\" leaves \
             that to the operator; default \"500 ms\"",
        ),
        key(
            "heartbeat",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the time between two heart-beats by which switches repeat the mode to their neighbours; \
             default \"10 ms\"",
        ),
        key(
            "default",
            Optional,
            ValueShape::Text,
            "the level that a switch serves while its rules for the agreed one are not complete; \
             default the lowest",
        ),
        key(
            "serve",
            Optional,
            ValueShape::Map(Keys::Names, &CRITICALITY_SHAPE),
            "the least criticality that is served at a level, by the level's name, such as \
             { hi = 4 }; default the number of the level, 0 for the lowest",
        ),
    ],
};

static CRITICALITY_SHAPE: ValueShape = ValueShape::Integer { least: 0, most: 7 };

/// How a flow is treated at a level: a word, or what differs.
pub(super) static TREATMENT: ValueShape =
    ValueShape::AnyOf(&[ValueShape::Table(&FLOW_LEVEL), ValueShape::Choice(&DROP)]);

pub(crate) static FLOW_LEVEL: TableShape = TableShape {
    title: "a level of a flow",
    keys: &[
        key(
            "size",
            Optional,
            ValueShape::Size,
            "the size of each message at this level; default as at the level below",
        ),
        key(
            "period",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the time between two messages at this level; default as at the level below",
        ),
        key(
            "class",
            Optional,
            ValueShape::Text,
            "its class at this level; default as at the level below",
        ),
        key(
            "deadline",
            Optional,
            ValueShape::Time(Zero::Refused),
            "how late a frame may be at this level; default as at the level below",
        ),
    ],
};
