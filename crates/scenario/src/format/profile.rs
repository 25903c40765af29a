//! The tables of a device profile.

use crate::format::key;
use crate::shape::Need::{Optional, Required};
use crate::shape::{Choice, Key, Shape, Table, Zero};

static ORIGINS: Choice = Choice {
    what: "origin",
    words: &["measured", "paper", "stated"],
};

pub(crate) static PROFILE: Table = Table {
    title: "the profile",
    keys: &[
        key(
            "about",
            Required,
            Shape::Text,
            "which device in which set-up, in a sentence",
        ),
        key(
            "processing",
            Required,
            Shape::Table(&PROCESSING),
            "the stage shared by all ports",
        ),
        key(
            "lookup",
            Optional,
            Shape::Table(&LOOKUP),
            "what the flow tables add to both times of [processing], where their size matters",
        ),
        key(
            "buffers",
            Required,
            Shape::Table(&BUFFERS),
            "how much the device holds",
        ),
        key(
            "control",
            Required,
            Shape::Table(&CONTROL),
            "the times of control messages",
        ),
    ],
};

pub(crate) static PROCESSING: Table = Table {
    title: "[processing]",
    keys: &[
        key(
            "latency",
            Required,
            Shape::Table(&STATED_DELAY),
            "the longest time from the arrival of a frame to its queue in an idle switch",
        ),
        key(
            "per_frame",
            Required,
            Shape::Table(&STATED_DELAY),
            "the longest time for which a frame occupies the stage; 0 ns at line rate",
        ),
    ],
};

pub(crate) static LOOKUP: Table = Table {
    title: "[lookup]",
    keys: &[
        key(
            "per_mask",
            Required,
            Shape::Table(&STATED_DELAY),
            "the time for each mask that a frame is compared under",
        ),
        key(
            "masks",
            Required,
            Shape::Table(&STATED_COUNT),
            "how many that are at most",
        ),
        key(
            "per_action",
            Required,
            Shape::Table(&STATED_DELAY),
            "the time for each action that is done to a frame",
        ),
        key(
            "actions",
            Required,
            Shape::Table(&STATED_COUNT),
            "how many that are at most",
        ),
    ],
};

pub(crate) static BUFFERS: Table = Table {
    title: "[buffers]",
    keys: &[
        key(
            "pool_frames",
            Required,
            Shape::Table(&STATED_COUNT),
            "how many frames the switch holds in all",
        ),
        key(
            "queue_frames",
            Required,
            Shape::Table(&STATED_COUNT),
            "how many frames one queue of one port holds",
        ),
    ],
};

pub(crate) static CONTROL: Table = Table {
    title: "[control]",
    keys: &[
        control(
            "flow_mod",
            "the time for adding, changing or deleting an entry",
        ),
        control(
            "packet_in",
            "the time for handing a frame to the controller",
        ),
        control(
            "packet_out",
            "the time for sending a frame for the controller",
        ),
        control("barrier", "the time for answering a barrier"),
        control("echo", "the time for answering an echo"),
    ],
};

pub(crate) static STATED_DELAY: Table = Table {
    title: "a stated delay",
    keys: &[
        key("value", Required, Shape::Delay(Zero::Allowed), "the value"),
        ORIGIN,
        NOTE,
    ],
};

pub(crate) static STATED_COUNT: Table = Table {
    title: "a stated count",
    keys: &[
        key(
            "value",
            Required,
            Shape::Integer {
                least: 1,
                most: 100_000_000,
            },
            "the value",
        ),
        ORIGIN,
        NOTE,
    ],
};

const ORIGIN: Key = key(
    "origin",
    Required,
    Shape::Choice(&ORIGINS),
    "how it was obtained",
);

const NOTE: Key = key(
    "note",
    Optional,
    Shape::Text,
    "by which method, on which machine, or in which publication",
);

const fn control(name: &'static str, about: &'static str) -> Key {
    key(name, Required, Shape::Table(&STATED_DELAY), about)
}
