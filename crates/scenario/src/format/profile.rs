//! The tables of a device profile.

use crate::emulation::MILLION;
use crate::format::key;
use crate::shape::Need::{Optional, Required};
use crate::shape::{KeyShape, TableShape, ValueShape, WordChoice, Zero};

static ORIGINS: WordChoice = WordChoice {
    what: "origin",
    words: &["measured", "paper", "stated"],
};

pub(crate) static PROFILE: TableShape = TableShape {
    title: "the profile",
    keys: &[
        key(
            "about",
            Required,
            ValueShape::Text,
            "which device in which set-up, in a sentence",
        ),
        key(
            "processing",
            Required,
            ValueShape::Table(&PROCESSING),
            "the stage shared by all ports",
        ),
        key(
            "lookup",
            Optional,
            ValueShape::Table(&LOOKUP),
            "what the flow tables add to both times of [processing], where their size matters",
        ),
        key(
            "buffers",
            Required,
            ValueShape::Table(&BUFFERS),
            "how much the device holds",
        ),
        key(
            "control",
            Required,
            ValueShape::Table(&CONTROL),
            "the times of control messages",
        ),
        key(
            "emulation",
            Optional,
            ValueShape::Table(&EMULATION),
            "how an emulated device of this kind behaves; without it, every time is the longest",
        ),
    ],
};

pub(crate) static PROCESSING: TableShape = TableShape {
    title: "[processing]",
    keys: &[
        key(
            "latency",
            Required,
            ValueShape::Table(&STATED_DELAY),
            "the longest time from the arrival of a frame to its queue in an idle switch",
        ),
        key(
            "per_frame",
            Required,
            ValueShape::Table(&STATED_DELAY),
            "the longest time for which a frame occupies the stage; 0 ns at line rate",
        ),
    ],
};

pub(crate) static LOOKUP: TableShape = TableShape {
    title: "[lookup]",
    keys: &[
        key(
            "per_mask",
            Required,
            ValueShape::Table(&STATED_DELAY),
            "the time for each mask that a frame is compared under",
        ),
        key(
            "masks",
            Required,
            ValueShape::Table(&STATED_COUNT),
            "how many that are at most",
        ),
        key(
            "per_action",
            Required,
            ValueShape::Table(&STATED_DELAY),
            "the time for each action that is done to a frame",
        ),
        key(
            "actions",
            Required,
            ValueShape::Table(&STATED_COUNT),
            "how many that are at most",
        ),
    ],
};

pub(crate) static BUFFERS: TableShape = TableShape {
    title: "[buffers]",
    keys: &[
        key(
            "pool_frames",
            Required,
            ValueShape::Table(&STATED_COUNT),
            "how many frames the switch holds in all",
        ),
        key(
            "queue_frames",
            Required,
            ValueShape::Table(&STATED_COUNT),
            "how many frames one queue of one port holds",
        ),
    ],
};

pub(crate) static CONTROL: TableShape = TableShape {
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

pub(crate) static EMULATION: TableShape = TableShape {
    title: "[emulation]",
    keys: &[
        key(
            "link_rate",
            Optional,
            ValueShape::Rate,
            "the rate of the ports between which latency was measured: sending the frame at \
             that rate is in the latency; default no sending is",
        ),
        key(
            "latency",
            Optional,
            ValueShape::List(&ValueShape::Table(&LATENCY)),
            "the time from the last bit of a frame in to its last bit out, in an idle device, \
             by setting; default as in [processing]",
        ),
        key(
            "occupancy",
            Optional,
            ValueShape::List(&ValueShape::Table(&OCCUPANCY)),
            "for how long a frame occupies the stage shared by all ports, which limits the \
             throughput; linear between the sizes that are given; default as in [processing]",
        ),
        key(
            "loss_ppm",
            Optional,
            ValueShape::Table(&STATED_PPM),
            "how many of a million frames are lost in an idle device; default none",
        ),
        key(
            "flow_setup",
            Optional,
            ValueShape::Table(&SPREAD),
            "how much longer than later ones the first frame of a flow takes that the controller \
             has to decide about, the controller's own time apart; default as in [control]",
        ),
        key(
            "link_down",
            Optional,
            ValueShape::Table(&SPREAD),
            "the time from the loss of a port's carrier to the device's noticing it; default \
             that of the world",
        ),
        key(
            "table_entries",
            Optional,
            ValueShape::Table(&STATED_COUNT),
            "how many entries its flow table holds; default 10000",
        ),
    ],
};

pub(crate) static LATENCY: TableShape = TableShape {
    title: "[[emulation.latency]]",
    keys: &[
        FRAME,
        key(
            "interval",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the time since the frame before: the setting with the nearest one is taken; \
             default any",
        ),
        quantile("min", "the shortest"),
        quantile("p1", "what 1 % do not exceed"),
        quantile("p25", "what a quarter does not exceed"),
        quantile("p50", "the median"),
        quantile("p75", "what three quarters do not exceed"),
        quantile("p99", "what 99 % do not exceed"),
        quantile("p999", "what 99.9 % do not exceed"),
        quantile("max", "the longest"),
        ORIGIN,
        NOTE,
    ],
};

pub(crate) static SPREAD: TableShape = TableShape {
    title: "a spread",
    keys: &[
        quantile("min", "the shortest"),
        quantile("p1", "what 1 % do not exceed"),
        quantile("p25", "what a quarter does not exceed"),
        quantile("p50", "the median"),
        quantile("p75", "what three quarters do not exceed"),
        quantile("p99", "what 99 % do not exceed"),
        quantile("p999", "what 99.9 % do not exceed"),
        quantile("max", "the longest"),
        ORIGIN,
        NOTE,
    ],
};

pub(crate) static OCCUPANCY: TableShape = TableShape {
    title: "[[emulation.occupancy]]",
    keys: &[
        FRAME,
        key(
            "value",
            Required,
            ValueShape::Delay(Zero::Allowed),
            "for how long; 0 ns at line rate",
        ),
        ORIGIN,
        NOTE,
    ],
};

pub(crate) static STATED_PPM: TableShape = TableShape {
    title: "a stated share",
    keys: &[
        key(
            "value",
            Required,
            ValueShape::Integer {
                least: 0,
                most: MILLION,
            },
            "how many of a million",
        ),
        ORIGIN,
        NOTE,
    ],
};

pub(crate) static STATED_DELAY: TableShape = TableShape {
    title: "a stated delay",
    keys: &[
        key(
            "value",
            Required,
            ValueShape::Delay(Zero::Allowed),
            "the value",
        ),
        ORIGIN,
        NOTE,
    ],
};

pub(crate) static STATED_COUNT: TableShape = TableShape {
    title: "a stated count",
    keys: &[
        key(
            "value",
            Required,
            ValueShape::Integer {
                least: 1,
                most: 100_000_000,
            },
            "the value",
        ),
        ORIGIN,
        NOTE,
    ],
};

const FRAME: KeyShape = key(
    "frame",
    Optional,
    ValueShape::Size,
    "the size of the frame without its check sequence; linear between the sizes that are given, \
     the nearest one beyond them; default any",
);

const ORIGIN: KeyShape = key(
    "origin",
    Required,
    ValueShape::Choice(&ORIGINS),
    "how it was obtained",
);

const NOTE: KeyShape = key(
    "note",
    Optional,
    ValueShape::Text,
    "by which method, on which machine, or in which publication",
);

const fn quantile(name: &'static str, about: &'static str) -> KeyShape {
    key(name, Optional, ValueShape::Delay(Zero::Allowed), about)
}

const fn control(name: &'static str, about: &'static str) -> KeyShape {
    key(name, Required, ValueShape::Table(&STATED_DELAY), about)
}
