//! The tables that describe flows.

use crate::format::key;
use crate::format::modes::TREATMENT;
use crate::limits::{MOST_FLOWS, MOST_RECEIVERS};
use crate::shape::Need::{Optional, Required};
use crate::shape::{KeyShape, Keys, TableShape, ValueShape, WordChoice, Zero};

static KINDS: WordChoice = WordChoice {
    what: "kind of flow",
    words: &[
        "sampled-values",
        "goose",
        "udp",
        "message",
        "trace",
        "mms",
        "best-effort",
    ],
};

/// The word for a flow that is restored.
pub(crate) const PROTECTION_RESTORE: &str = "restore";
pub(crate) const PROTECTION_FAST_FAILOVER: &str = "fast-failover";
/// The word for a flow whose frames are heart-beats.
pub(crate) const PROTECTION_HEART_BEAT: &str = "heart-beat";
/// The word for a flow that two ways carry.
pub(crate) const PROTECTION_SEAMLESS: &str = "seamless";

static PROTECTIONS: WordChoice = WordChoice {
    what: "protection",
    words: &[
        "none",
        PROTECTION_RESTORE,
        PROTECTION_FAST_FAILOVER,
        PROTECTION_HEART_BEAT,
        PROTECTION_SEAMLESS,
    ],
};

/// The word for an interruption that covers faults which nobody reports, too.
pub(crate) const COVERS_ANY: &str = "any";

static COVERS_WORDS: WordChoice = WordChoice {
    what: "cover",
    words: &["carrier-loss", COVERS_ANY],
};

/// The word for frames that go on without a promise.
pub(crate) const EXCESS_BEST_EFFORT: &str = "best-effort";

static EXCESSES: WordChoice = WordChoice {
    what: "choice for frames that exceed a contract",
    words: &["drop", EXCESS_BEST_EFFORT],
};

pub(crate) static FLOW: TableShape = TableShape {
    title: "a flow",
    keys: &[
        key(
            "like",
            Optional,
            ValueShape::Text,
            "the template whose keys it takes over where it has none",
        ),
        KIND,
        key("from", Optional, ValueShape::Text, "the host that sends"),
        key(
            "to",
            Optional,
            ONE_OR_MORE_TEXTS,
            "the host or the list of hosts that receive",
        ),
        FRAME,
        key(
            "payload",
            Optional,
            ValueShape::Size,
            "instead of `frame`, what a UDP datagram carries: the frame has 42 B more",
        ),
        key(
            "size",
            Optional,
            ValueShape::Size,
            "the size of each message",
        ),
        key(
            "file",
            Optional,
            ValueShape::Text,
            "the recording whose frames are sent (`.csv`: seconds, bits; or a capture, `.pcap`, \
             `.pcapng`), relative to this file",
        ),
        VALUE,
        PERIOD,
        key(
            "rate",
            Optional,
            ValueShape::Rate,
            "the rate on the wire, overhead of 24 B a frame included; of best effort, the most that \
             it sends (default what its link carries); of a trace, what its burst follows from \
             (default a quarter above its mean)",
        ),
        key(
            "burst",
            Optional,
            ValueShape::Size,
            "the depth of the token bucket on the wire; default one frame",
        ),
        JITTER,
        MIN_TIME,
        MAX_TIME,
        key(
            "min_spacing",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the shortest time between two state changes; default `min_time`",
        ),
        CHANGES,
        key(
            "deadline",
            Optional,
            ValueShape::Time(Zero::Refused),
            "how late a frame may be, from the first bit at the sender to the last bit at the \
             receiver",
        ),
        CLASS_OF_FLOW,
        CRITICALITY,
        PROTECTION,
        INTERRUPTION,
        COVERS,
        ENCODING,
        ORDER,
        EXCESS,
        key(
            "modes",
            Optional,
            ValueShape::Map(Keys::Names, &TREATMENT),
            "how it is treated at levels above the lowest, by the level's name: \"drop\", or what \
             differs from the level below; default as its criticality says",
        ),
        key(
            "start",
            Optional,
            ValueShape::Time(Zero::Allowed),
            "when it begins; default \"0 s\"",
        ),
        key(
            "stop",
            Optional,
            ValueShape::Time(Zero::Refused),
            "when it ends; default with the run",
        ),
    ],
};

pub(crate) static FLOW_SET: TableShape = TableShape {
    title: "a flow set",
    keys: &[
        key(
            "prefix",
            Required,
            ValueShape::Text,
            "what the names begin with; a number follows",
        ),
        key(
            "count",
            Required,
            ValueShape::Integer {
                least: 1,
                most: MOST_FLOWS,
            },
            "how many flows",
        ),
        KIND,
        key(
            "seed",
            Optional,
            ValueShape::Number,
            "what the random choices follow from, apart from the seed of the run, so that every \
             run has the same flows; default 1",
        ),
        key(
            "from",
            Optional,
            ONE_OR_MORE_TEXTS,
            "the hosts among which the sender is drawn; default all",
        ),
        key(
            "to",
            Optional,
            ONE_OR_MORE_TEXTS,
            "the hosts among which the receivers are drawn; default all",
        ),
        key(
            "receivers",
            Optional,
            ValueShape::Integer {
                least: 1,
                most: MOST_RECEIVERS,
            },
            "how many receivers each flow has; default 1",
        ),
        key(
            "frame",
            Optional,
            ValueShape::AnyOf(&[ValueShape::List(&ValueShape::Size), ValueShape::Size]),
            "the sizes of frames among which each flow's is drawn, without check sequence",
        ),
        key(
            "size",
            Optional,
            ValueShape::AnyOf(&[ValueShape::List(&ValueShape::Size), ValueShape::Size]),
            "the sizes of messages among which each flow's is drawn",
        ),
        key(
            "period",
            Optional,
            ValueShape::AnyOf(&[
                ValueShape::List(&ValueShape::Time(Zero::Refused)),
                ValueShape::Time(Zero::Refused),
            ]),
            "the periods among which each flow's is drawn",
        ),
        key(
            "deadline",
            Optional,
            ValueShape::AnyOf(&[
                ValueShape::List(&ValueShape::Time(Zero::Refused)),
                ValueShape::Time(Zero::Refused),
            ]),
            "the deadlines among which each flow's is drawn",
        ),
        VALUE,
        JITTER,
        MIN_TIME,
        MAX_TIME,
        CHANGES,
        CLASS_OF_FLOW,
        CRITICALITY,
        PROTECTION,
        INTERRUPTION,
        COVERS,
        ENCODING,
        ORDER,
        EXCESS,
    ],
};

pub(crate) static FLOW_IMPORT: TableShape = TableShape {
    title: "a flow import",
    keys: &[
        key(
            "file",
            Required,
            ValueShape::Text,
            "the substation description (`.scd`) or the table (`.csv`), relative to this file",
        ),
        key(
            "hosts",
            Optional,
            ValueShape::Map(Keys::Names, &ValueShape::Text),
            "the hosts that names of the file stand for, where they differ: \
             `hosts = { IED1 = \"relay1\" }`",
        ),
        key(
            "prefix",
            Optional,
            ValueShape::Text,
            "what the names of the flows begin with; default nothing",
        ),
        key(
            "deadline",
            Optional,
            ValueShape::Time(Zero::Refused),
            "the deadline of flows whose file states none; default of a substation description \
             \"600 us\"",
        ),
        JITTER,
        key(
            "frequency",
            Optional,
            ValueShape::Integer {
                least: 1,
                most: 1000,
            },
            "the frequency of the power system in Hz, for samples per period; default what the \
             description states, else 50",
        ),
        key(
            "mode",
            Optional,
            ValueShape::Text,
            "of a table with columns for several modes (`period_lo_ms`), the one to read (`lo`)",
        ),
        key(
            "sub_network",
            Optional,
            ValueShape::Text,
            "of a substation description, the sub-network to read; default all",
        ),
        key(
            "from",
            Optional,
            ValueShape::Text,
            "who sends, if a table has no column for it",
        ),
        key(
            "to",
            Optional,
            ONE_OR_MORE_TEXTS,
            "who receives, if a table has no column for it, and what of a substation nobody \
             subscribes to",
        ),
        key(
            "class",
            Optional,
            ValueShape::Text,
            "the class of all; default by kind and priority, see above",
        ),
        CRITICALITY,
        PROTECTION,
        INTERRUPTION,
        COVERS,
        ENCODING,
        ORDER,
        EXCESS,
    ],
};

const ONE_OR_MORE_TEXTS: ValueShape =
    ValueShape::AnyOf(&[ValueShape::List(&ValueShape::Text), ValueShape::Text]);

const KIND: KeyShape = key(
    "kind",
    Optional,
    ValueShape::Choice(&KINDS),
    "what it sends: IEC 61850 Sampled Values, GOOSE, UDP datagrams, messages longer than a frame, \
     the frames of a recording, reads of a value over TCP port 102 as MMS has them, or best effort \
     without a promise",
);

const FRAME: KeyShape = key(
    "frame",
    Optional,
    ValueShape::Size,
    "the size of each frame without its check sequence, VLAN tag included, \"60 B\" to \"1518 B\"",
);

const VALUE: KeyShape = key(
    "value",
    Optional,
    ValueShape::Size,
    "the size of the value that is read, \"1 B\" to \"1400 B\"; default \"200 B\"",
);

const PERIOD: KeyShape = key(
    "period",
    Optional,
    ValueShape::Time(Zero::Refused),
    "the time between two frames, two messages or two requests",
);

const JITTER: KeyShape = key(
    "jitter",
    Optional,
    ValueShape::Time(Zero::Allowed),
    "how much later than its time a frame may leave the host; default one period for \
     Sampled Values, \"250 us\" for the others",
);

const MIN_TIME: KeyShape = key(
    "min_time",
    Optional,
    ValueShape::Time(Zero::Refused),
    "the time from a state change to its first repetition, doubled with each further one; \
     default \"4 ms\"",
);

const MAX_TIME: KeyShape = key(
    "max_time",
    Optional,
    ValueShape::Time(Zero::Refused),
    "the longest time between two repetitions; default \"1 s\"",
);

const CHANGES: KeyShape = key(
    "changes",
    Optional,
    ValueShape::AnyOf(&[
        ValueShape::List(&ValueShape::Time(Zero::Allowed)),
        ValueShape::Time(Zero::Refused),
    ]),
    "when the state changes: a mean interval for random times, or a list of times; \
     default \"1 s\"",
);

const CLASS_OF_FLOW: KeyShape = key(
    "class",
    Optional,
    ValueShape::Text,
    "its class; default by its kind: GOOSE `protection`, Sampled Values `sampled-values`, best effort \
     `best-effort`, all others `control`; where not all flows fit, those without this key may travel \
     in another one",
);

const CRITICALITY: KeyShape = key(
    "criticality",
    Optional,
    ValueShape::Integer { least: 0, most: 7 },
    "how much it matters when the network has to choose, 7 most; default 0",
);

const PROTECTION: KeyShape = key(
    "protection",
    Optional,
    ValueShape::Choice(&PROTECTIONS),
    "what happens when a link on its path breaks: it waits, or it is restored by the controller on \
     an alternative path, or the switch there sends it on by another port by itself, within \
     `interruption`, which (\"heart-beat\", of Sampled Values) may be a few periods and covers \
     links that bring nothing in one direction, or (\"seamless\", with a deadline) no frame is lost, \
     since two ways carry it at the same time; default \"none\"",
);

/// The word for numbers in trailers.
pub(crate) const ENCODING_PRP: &str = "prp";

static ENCODINGS: WordChoice = WordChoice {
    what: "encoding",
    words: &["r-tag", ENCODING_PRP],
};

const ENCODING: KeyShape = key(
    "encoding",
    Optional,
    ValueShape::Choice(&ENCODINGS),
    "where frames of a seamless flow have their numbers: in redundancy tags (IEEE 802.1CB) or in \
     trailers of PRP (IEC 62439-3); default \"r-tag\"",
);

/// The word for frames that stay in order.
pub(crate) const ORDER_KEPT: &str = "kept";

static ORDERS: WordChoice = WordChoice {
    what: "order",
    words: &["any", ORDER_KEPT],
};

const ORDER: KeyShape = key(
    "order",
    Optional,
    ValueShape::Choice(&ORDERS),
    "in which order frames of a seamless flow reach its one receiver: as they come, or as they were \
     sent (RFC 9550): then the last switch holds those back that are ahead of missing ones, for half \
     of the deadline at most, and the ways have the other half; default \"any\"",
);

const COVERS: KeyShape = key(
    "covers",
    Optional,
    ValueShape::Choice(&COVERS_WORDS),
    "which failures `interruption` has to hold for: links whose ends lose the carrier, or silent \
     faults as well; default \"carrier-loss\"",
);

const EXCESS: KeyShape = key(
    "excess",
    Optional,
    ValueShape::Choice(&EXCESSES),
    "what becomes of frames that exceed the contract, where switches police it: dropped, or sent on \
     without a promise, which every switch on the flow's ways has to police; default \"drop\"",
);

const INTERRUPTION: KeyShape = key(
    "interruption",
    Optional,
    ValueShape::Time(Zero::Refused),
    "the longest interruption after a failure that keeps the promise of a protected flow",
);
