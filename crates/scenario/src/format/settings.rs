//! The tables that describe the run: title, classes, events, measurement.

use crate::format::key;
use crate::shape::Need::{Optional, Required};
use crate::shape::{Keys, TableShape, ValueShape, WordChoice, Zero};

static EVENT_KINDS: WordChoice = WordChoice {
    what: "kind of event",
    words: &[
        "cut",
        "heal",
        "host-moves",
        "switch-crash",
        "switch-kill",
        "switch-restart",
        "lose",
        "corrupt",
        "flap",
        "isolate",
        "violate",
        "slow-switch",
        "slow-link",
        "exceed",
        "foreign",
        "flood",
    ],
};

/// The word for frames to all hosts.
pub(crate) const BROADCAST: &str = "broadcast";

static FLOOD_DESTINATIONS: WordChoice = WordChoice {
    what: "destination",
    words: &["random", BROADCAST],
};

/// The word for hosts that are known from the scenario.
pub(crate) const HOSTS_FROM_SCENARIO: &str = "scenario";

/// The word for capturing every link.
pub(crate) const CAPTURE_ALL: &str = "all";

/// The word for sources that are trusted.
pub(crate) const POLICING_OFF: &str = "off";

static POLICING: WordChoice = WordChoice {
    what: "choice for policing",
    words: &["on", POLICING_OFF],
};

/// The word for stays that nobody watches.
pub(crate) const WATCHING_OFF: &str = "off";

static WATCHING: WordChoice = WordChoice {
    what: "choice for watch_hops",
    words: &["on", WATCHING_OFF],
};

static HOST_DISCOVERIES: WordChoice = WordChoice {
    what: "way to find hosts",
    words: &["first-frame", HOSTS_FROM_SCENARIO],
};

static CAPTURES: WordChoice = WordChoice {
    what: "capture",
    words: &["none", CAPTURE_ALL],
};

pub(crate) static SCENARIO: TableShape = TableShape {
    title: "[scenario]",
    keys: &[
        key(
            "title",
            Required,
            ValueShape::Text,
            "what the run is called in its report",
        ),
        key(
            "duration",
            Optional,
            ValueShape::Time(Zero::Refused),
            "how long traffic runs; default \"10 s\"",
        ),
        key(
            "seed",
            Optional,
            ValueShape::Number,
            "what the random choices of the run follow from; default 1",
        ),
    ],
};

pub(crate) static CLASS: TableShape = TableShape {
    title: "a class",
    keys: &[
        key(
            "queue",
            Required,
            ValueShape::Integer { least: 0, most: 7 },
            "the queue at every port: 7 is served first, 0 last; each class has its own",
        ),
        key(
            "budget",
            Optional,
            ValueShape::AnyOf(&[
                ValueShape::Map(Keys::Rates, &ValueShape::Delay(Zero::Refused)),
                ValueShape::Delay(Zero::Refused),
            ]),
            "the most delay that one port may add: one for all, or one for each rate of links, \
             such as { \"100 Mbit/s\" = \"300 us\", \"1 Gbit/s\" = \"40 us\" }: the least that \
             the admission chooses, by default nothing",
        ),
    ],
};

pub(crate) static EVENT: TableShape = TableShape {
    title: "an event",
    keys: &[
        key(
            "at",
            Required,
            ValueShape::Time(Zero::Allowed),
            "when it happens, after the start of traffic",
        ),
        key(
            "kind",
            Required,
            ValueShape::Choice(&EVENT_KINDS),
            "what happens",
        ),
        key(
            "link",
            Optional,
            ValueShape::Text,
            "the link that is cut, healed, impaired or slow",
        ),
        key(
            "host",
            Optional,
            ValueShape::Text,
            "the host that moves, or that sends what it should not",
        ),
        key(
            "to",
            Optional,
            ValueShape::Text,
            "the switch that the host moves to",
        ),
        key(
            "switch",
            Optional,
            ValueShape::Text,
            "the switch that crashes, is killed, restarts, is isolated or is slow",
        ),
        key(
            "from",
            Optional,
            ValueShape::Text,
            "the end of the link whose frames are lost or corrupted; default both",
        ),
        key(
            "one_in",
            Optional,
            ValueShape::Integer {
                least: 1,
                most: 1_000_000,
            },
            "of how many frames one is lost or corrupted, at random; default 1, which is each",
        ),
        key(
            "flow",
            Optional,
            ValueShape::Text,
            "the flow that sends otherwise than it agreed to; with `violate` it sends messages",
        ),
        key(
            "level",
            Optional,
            ValueShape::Text,
            "the level whose period and size the flow sends with",
        ),
        key(
            "size",
            Optional,
            ValueShape::Size,
            "the size of the messages that the flow sends instead, or of a frame that belongs to \
             no flow, without its check sequence; default of those \"60 B\"",
        ),
        key(
            "period",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the time between two messages of the flow instead, or between two cuts of a link that \
             flaps",
        ),
        key(
            "until",
            Optional,
            ValueShape::Time(Zero::Refused),
            "when all is as agreed, or whole, again; default with the run",
        ),
        key(
            "extra",
            Optional,
            ValueShape::Delay(Zero::Refused),
            "how much longer the switch is occupied by each frame",
        ),
        key(
            "by",
            Optional,
            ValueShape::Percent,
            "by how much the link is slower than it says",
        ),
        key(
            "factor",
            Optional,
            ValueShape::Factor,
            "how many times as fast the flow sends its frames, such as 2.0",
        ),
        key(
            "burst",
            Optional,
            ValueShape::Size,
            "how much the flow sends at once, as fast as its link takes it",
        ),
        key(
            "like",
            Optional,
            ValueShape::Text,
            "the flow whose headers the frames of the host carry",
        ),
        key(
            "priority",
            Optional,
            ValueShape::Integer { least: 0, most: 7 },
            "the priority in the tags of the frames of the host",
        ),
        key(
            "rate",
            Optional,
            ValueShape::Rate,
            "how much the host sends, as it occupies the wire",
        ),
        key(
            "destination",
            Optional,
            ValueShape::Choice(&FLOOD_DESTINATIONS),
            "to whom the frames of a flood are addressed; default \"random\"",
        ),
    ],
};

pub(crate) static ADMISSION: TableShape = TableShape {
    title: "[admission]",
    keys: &[key(
        "processing_budget",
        Optional,
        ValueShape::Delay(Zero::Refused),
        "the most delay that the processing stage of a switch may add: the least that the \
         admission chooses, by default nothing",
    )],
};

pub(crate) static CONTROLLER: TableShape = TableShape {
    title: "[controller]",
    keys: &[
        key(
            "channel_delay",
            Optional,
            ValueShape::Delay(Zero::Allowed),
            "how long a message of the control network travels in the simulation; \
             default \"100 us\"",
        ),
        key(
            "probe_interval",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the time between two probes of a port for the link behind it; what is longer than the \
             default makes the controller as much more patient with switches, too; default \"1 s\"",
        ),
        key(
            "hosts",
            Optional,
            ValueShape::Choice(&HOST_DISCOVERIES),
            "how the controller learns where hosts are; default \"first-frame\"",
        ),
        key(
            "policing",
            Optional,
            ValueShape::Choice(&POLICING),
            "whether the switch that a promised flow enters first drops what exceeds its contract; \
             default \"on\"",
        ),
        key(
            "policing_tolerance",
            Optional,
            ValueShape::Time(Zero::Allowed),
            "how much later than they came frames may be judged by that switch, so that so much \
             more of a flow passes at once; default \"1 ms\" in virtual time and \"5 ms\" in the lab",
        ),
        key(
            "watch_hops",
            Optional,
            ValueShape::Choice(&WATCHING),
            "whether switches that can watch how long promised frames stay; default \"on\"",
        ),
    ],
};

pub(crate) static MEASUREMENT: TableShape = TableShape {
    title: "[measurement]",
    keys: &[
        key(
            "warm_up",
            Optional,
            ValueShape::Time(Zero::Allowed),
            "how long traffic runs before frames count; default \"0 s\"",
        ),
        key(
            "drain",
            Optional,
            ValueShape::Time(Zero::Allowed),
            "how long receivers wait for the last frames; default \"200 ms\"",
        ),
        key(
            "stall_threshold",
            Optional,
            ValueShape::Time(Zero::Refused),
            "from which length on a stall of the machine sets frames aside; default \"50 us\"",
        ),
        key(
            "capture",
            Optional,
            ValueShape::AnyOf(&[
                ValueShape::List(&ValueShape::Text),
                ValueShape::Choice(&CAPTURES),
            ]),
            "the links written to capture files: \"none\", \"all\" or a list; default \"none\"",
        ),
    ],
};
