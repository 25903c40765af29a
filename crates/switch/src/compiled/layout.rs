//! Where everything stands in the compiled form of a switch's tables.
//!
//! The compiled form is a number of [`Region`]s. A region is an array of records
//! of one size, and a record is an array of 64-bit words in the byte order of the
//! machine. Whoever walks it (a program in the kernel, for instance) shares these
//! words with the switch and sees every one of them change as a whole.
//!
//! The same places, for C, stand in `crates/linux/bpf/layout.h`; a test compares
//! the two. Any change of either raises [`VERSION`].
//!
//! # Who sees what
//!
//! A walk reads [`settings::GENERATION`] once and keeps to it. It sees an entry if
//! `since <= generation < until`. Of a record with two versions it takes the one
//! with the greatest `since` that is not above the generation; a version that does
//! not exist has `since` [`NEVER`]. Whatever a walk could see is changed only
//! when no walk of an older generation is under way any more.

pub mod frame_times;
pub mod handed;
pub mod hop;
pub mod modes;
pub mod monitor;
pub mod operation;
pub mod stream;

/// The version of the layout.
pub const VERSION: u64 = 10;

/// A generation that never comes.
pub const NEVER: u64 = u64::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Region {
    /// One record: what holds for the whole switch.
    Settings,
    /// A record a processor: whether a walk is under way on it.
    Busy,
    /// A record a port, in the order of the switch's list of ports.
    Ports,
    /// A record a flow table: which masks its entries have.
    Tables,
    /// A record a mask of a table: its hash table.
    Masks,
    /// The hash tables of all masks, in cache lines of seven places.
    Lines,
    /// The entries of all tables.
    Entries,
    /// The actions of all entries and groups.
    Actions,
    Groups,
    /// The buckets of all groups.
    Buckets,
    Meters,
    /// The bands of all meters.
    Bands,
    /// What entries, groups, buckets, meters and bands have counted.
    Tallies,
    /// What every queue of every port was handed: the record of queue `q` of port
    /// `p` is number `8 p + q`.
    Queues,
    Arrivals,
    /// What every flow table was asked.
    Lookups,
    /// One record: what was counted for the whole switch.
    Totals,
    /// One record: which mode the switch is in, and how it agrees on one.
    Modes,
    Monitors,
    /// What the records of [`Region::Hops`] are about, in cache lines of eight.
    HopKeys,
    /// How long frames stayed, by entry, port and queue.
    Hops,
    /// What is remembered of streams that go over several ways.
    Streams,
    /// When frames came and left at a port whose neighbour is asked whether it is there.
    FrameTimes,
}

impl Region {
    pub const ALL: [Self; 23] = [
        Self::Settings,
        Self::Busy,
        Self::Ports,
        Self::Tables,
        Self::Masks,
        Self::Lines,
        Self::Entries,
        Self::Actions,
        Self::Groups,
        Self::Buckets,
        Self::Meters,
        Self::Bands,
        Self::Tallies,
        Self::Queues,
        Self::Arrivals,
        Self::Lookups,
        Self::Totals,
        Self::Modes,
        Self::Monitors,
        Self::HopKeys,
        Self::Hops,
        Self::Streams,
        Self::FrameTimes,
    ];

    /// Returns the name by which a program in the kernel knows it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Busy => "busy",
            Self::Ports => "ports",
            Self::Tables => "tables",
            Self::Masks => "masks",
            Self::Lines => "lines",
            Self::Entries => "entries",
            Self::Actions => "actions",
            Self::Groups => "groups",
            Self::Buckets => "buckets",
            Self::Meters => "meters",
            Self::Bands => "bands",
            Self::Tallies => "tallies",
            Self::Queues => "queues",
            Self::Arrivals => "arrivals",
            Self::Lookups => "lookups",
            Self::Totals => "totals",
            Self::Modes => "modes",
            Self::Monitors => "monitors",
            Self::HopKeys => "hop_keys",
            Self::Hops => "hops",
            Self::Streams => "streams",
            Self::FrameTimes => "frame_times",
        }
    }

    /// Returns how many words a record has.
    #[must_use]
    pub const fn record_words(self) -> usize {
        match self {
            Self::Settings => 16,
            Self::Busy => 8,
            Self::Ports => 8,
            Self::Tables => 36,
            Self::Masks => 18,
            Self::Lines => 8,
            Self::Entries => 24,
            Self::Actions => 4,
            Self::Groups => 12,
            Self::Buckets => 4,
            Self::Meters => 8,
            Self::Bands => 16,
            Self::Tallies => 4,
            Self::Queues => 4,
            Self::Arrivals => 4,
            Self::Lookups => 2,
            Self::Totals => 16,
            Self::Modes => 40,
            Self::Monitors => 48,
            Self::HopKeys => 8,
            Self::Hops => 96,
            Self::Streams => 32,
            Self::FrameTimes => 48,
        }
    }
}

/// How far a walk goes before it gives the frame to the switch's own core, which
/// knows no such limits.
pub mod limit {
    /// Flow tables on the way of a frame.
    pub const TABLES: usize = 16;
    pub const MASKS: usize = 64;
    pub const ACTIONS: usize = 32;
    pub const OUTPUTS: usize = 64;
    /// Different forms in which one frame leaves.
    pub const FORMS: usize = 8;
    /// Tallies that one frame adds to, besides those of queues.
    pub const TALLIES: usize = 96;
    /// Actions and buckets of one list of actions, with all groups that it
    /// leads to.
    pub const STEPS: usize = 256;
    /// Groups that lead to each other.
    pub const LEVELS: usize = 4;
    pub const BANDS: usize = 8;
    /// VLAN tags of one frame.
    pub const TAGS: usize = 4;
    /// Ports of a switch that sends to all of them at once.
    pub const PORTS_TO_ALL: usize = 32;
    /// Monitors that one frame is shown to.
    pub const MONITORS: usize = 4;
}

/// Words of the record of [`Region::Settings`].
pub mod settings {
    /// [`VERSION`](super::VERSION).
    pub const VERSION: usize = 0;
    /// The generation that walks see.
    pub const GENERATION: usize = 1;
    /// Bits of [`super::flag`].
    pub const FLAGS: usize = 2;
    /// Which parts of a frame anybody looks at: bits of [`super::need`].
    pub const NEEDS: usize = 3;
    /// What the hashes of masks begin with.
    pub const SEED: usize = 4;
    /// What the hashes of flows begin with, for select groups.
    pub const FLOW_SEED: usize = 5;
    /// How many ports there are.
    pub const PORTS: usize = 6;
    /// How many flow tables there are.
    pub const TABLES: usize = 7;
    /// The time in nanoseconds that walks go by; if zero, the clock's.
    pub const TRIAL_TIME: usize = 8;
    /// If not zero, every output is a copy, for trials in which nobody acts on
    /// what the program returns.
    pub const TRIAL_COPIES: usize = 9;
    /// How many lines [`super::Region::HopKeys`] has, a power of two, less one.
    pub const HOP_LINES: usize = 10;
    /// The number plus one by which those who see frames leave know the switch; zero if
    /// nobody sees them. Whoever provides the memory says so.
    pub const HOP_SPACE: usize = 11;
    /// The digest of what was written down of the state that walks see; zero if nothing
    /// was ([`crate::RetainedState`]).
    pub const STATE: usize = 12;
    /// The one that it is about to have.
    pub const STATE_NEXT: usize = 13;
}

/// Bits of [`settings::FLAGS`].
pub mod flag {
    /// Every frame goes to the core: the switch is a bridge for now.
    pub const ALL_TO_CORE: u64 = 1;
    /// Fragments of IP packets are dropped.
    pub const DROP_FRAGMENTS: u64 = 1 << 1;
    /// A frame that a table has no entry for goes to the core.
    pub const MISSES_TO_CORE: u64 = 1 << 2;
}

/// Bits of [`settings::NEEDS`]. A walk need not look at what nobody needs; a frame
/// with a header that somebody needs and the walk cannot read goes to the core.
pub mod need {
    /// Anything of IPv4 or IPv6 but the extension headers of IPv6.
    pub const NETWORK: u64 = 1;
    /// Ports of TCP, UDP or SCTP, types and codes of ICMP.
    pub const TRANSPORT: u64 = 1 << 1;
    pub const ARP: u64 = 1 << 2;
    /// Which extension headers an IPv6 packet has.
    pub const EXTENSIONS: u64 = 1 << 3;
    pub const DISCOVERY: u64 = 1 << 4;
    pub const MPLS: u64 = 1 << 5;
    pub const BACKBONE: u64 = 1 << 6;
    /// What the checksum of layer 4 covers, since an action changes that.
    pub const SUMS: u64 = 1 << 7;
    /// The trailer of PRP.
    pub const TRAILER: u64 = 1 << 8;
}

/// Words of a record of [`Region::Busy`].
pub mod busy {
    /// Odd while a walk is under way; each walk adds two.
    pub const WALKS: usize = 0;
}

/// Words of a record of [`Region::Ports`].
pub mod port {
    /// The number of its interface (low half); bits of this module (high
    /// half).
    pub const INTERFACE: usize = 0;
    /// Its OpenFlow number (low half); the class of its queue 0, zero if it has
    /// no classes (high half). The class of queue `q` is `q` more.
    pub const NUMBER: usize = 1;
    /// Its address: 48 bits, the first byte highest.
    pub const ADDRESS: usize = 2;
    /// Which switch is at the other end of a trunk, as far as known; zero if it is
    /// not.
    pub const NEIGHBOUR: usize = 3;
    /// By which of its ports (low half).
    pub const NEIGHBOUR_PORT: usize = 4;
    /// When it was last heard, in nanoseconds.
    pub const HEARD: usize = 5;
    /// Which mode it held then, as in [`super::modes::MODE`].
    pub const HEARD_MODE: usize = 6;

    /// Its link is up and its configuration lets it live: frames that come in
    /// are taken.
    pub const IS_UP: u32 = 1;
    pub const SENDS: u32 = 1 << 1;
    /// Frames for every port may leave, as version 1.0 can forbid.
    pub const SENDS_FLOODS: u32 = 1 << 2;
    /// Frames that come in are not wanted.
    pub const NO_RECEIVE: u32 = 1 << 3;
    /// Another switch is at its other end: signals of modes come and go.
    pub const IS_TRUNK: u32 = 1 << 4;
    /// It is up, and its neighbour there as far as anybody asks for that: what groups watch.
    pub const IS_LIVE: u32 = 1 << 5;
    /// The core asks its neighbour whether it is there: frames that may be answers go to it.
    pub const HAS_SESSION: u32 = 1 << 6;
}

/// Words of a record of [`Region::Tables`], which has two versions.
pub mod table {
    /// Since when the two versions hold.
    pub const SINCE: [usize; 2] = [0, 1];
    /// How many masks (bits 0 to 15); bits of this module (from 16 on).
    pub const HEAD: [usize; 2] = [2, 3];
    /// The numbers of the masks, four a word, the lowest bits first, best first.
    pub const MASKS: [usize; 2] = [4, 20];

    /// Frames that come to this table go to the core.
    pub const TO_CORE: u64 = 1 << 16;
}

/// Words of a record of [`Region::Masks`].
pub mod mask {
    /// The 14 words of the mask.
    pub const WORDS: usize = 0;
    /// Which of them are not zero: bit n for word n.
    pub const USED: usize = 14;
    /// The first line of its hash table (low half); how many lines it has, a power of two,
    /// less one (high half).
    pub const LINES: usize = 15;
    /// No entry ranks higher than this.
    pub const BEST: usize = 16;
}

/// Words of a record of [`Region::Lines`]: a cache line of a hash table.
///
/// The hash `h` of a key begins as the seed; for every used word of the mask, in
/// order, `h = (h ^ (key & mask)) * m` and `h ^= h >> 32`; at the end `h = h * m`
/// and `h ^= h >> 29`. All is modulo 2^64, and `m` is 0x9e3779b97f4a7c15. A product
/// carries what differs upwards only, so that each is folded back: keys may differ
/// in the highest bits of a word alone. Its high half is the tag, `t`. The entry stands in line
/// `home = h & lines` or, if that line is full when it comes, in line
/// `(home ^ (t | 1)) & lines` of those of the mask, where `lines` is their number
/// less one.
pub mod line {
    /// If not zero, entries whose home is here stand in their second line.
    pub const SPILLED: usize = 0;
    /// The first of the places: the number of an entry plus one (low half), zero
    /// if free; its tag (high half).
    pub const PLACES: usize = 1;
    /// How many places there are.
    pub const PLACES_COUNT: usize = 7;
}

/// Words of a record of [`Region::Entries`].
pub mod entry {
    /// Since which generation it is seen.
    pub const SINCE: usize = 0;
    /// From which generation on it is not seen any more.
    pub const UNTIL: usize = 1;
    /// The greater wins: the priority in the highest 16 bits, then age.
    pub const RANK: usize = 2;
    /// The 14 words of its value.
    pub const VALUE: usize = 3;
    /// The first of its actions to apply (low half), how many there are (bits 32
    /// to 47), bits of this module (bits 48 to 63).
    pub const APPLY: usize = 17;
    /// The first of its actions to write (low half), how many there are (bits 32
    /// to 47), the next table or [`LAST`] (bits 48 to 55).
    pub const WRITE: usize = 18;
    /// Its meter plus one, zero for none (low half); its tally (high half).
    pub const METER: usize = 19;
    /// New bits of the metadata.
    pub const METADATA: usize = 20;
    /// Which bits of the metadata are new.
    pub const METADATA_MASK: usize = 21;
    /// The monitor that the frame is shown to before its actions are applied, plus one;
    /// zero for none. Further ones are among the actions.
    pub const MONITOR: usize = 22;
    /// Its number in its table.
    pub const INDEX: usize = 23;

    /// Frames go to the core.
    pub const TO_CORE: u64 = 1;
    /// The action set is emptied before anything is written to it.
    pub const CLEARS: u64 = 1 << 1;
    pub const LAST: u64 = 0xff;
}

/// Words of a record of [`Region::Actions`].
pub mod action {
    /// What is to be done (bits 0 to 7, of [`super::operation`]); its place in an
    /// action set (bits 8 to 15); a protocol of layer 4 (bits 16 to 23); a number
    /// (high half): that of a port, group, queue or type.
    pub const WHAT: usize = 0;
    /// A value: of a field of at most 64 bits, or the high half of a longer one.
    pub const VALUE: usize = 1;
    /// The low half of a longer value.
    pub const LOW: usize = 2;
}

/// What the value of an action says that ends copies.
pub mod eliminate {
    /// The history has so many numbers (bits 0 to 7).
    pub const HISTORY: u64 = 0xff;
    /// It is that of the vector algorithm.
    pub const VECTOR: u64 = 1 << 8;
    /// Frames without a number pass.
    pub const TAKES_UNNUMBERED: u64 = 1 << 9;
    /// Frames that pass lose their tag or trailer.
    pub const STRIPS_TAG: u64 = 1 << 10;
    /// It is that of duplicate discard.
    pub const DUPLICATE_DISCARD: u64 = 1 << 11;
    /// Numbers stand in trailers.
    pub const IN_TRAILER: u64 = 1 << 12;
}

/// Words of a record of [`Region::Groups`], which has two versions of four words.
pub mod group {
    /// Since when the two versions hold.
    pub const SINCE: [usize; 2] = [0, 1];
    pub const VERSIONS: [usize; 2] = [2, 6];
    /// Whether a bucket is alive: 1 or 0.
    pub const LIVE: usize = 10;

    /// In a version: the kind (bits 0 to 7, as in OpenFlow: all 0, select 1,
    /// indirect 2, fast failover 3), bits of this module (bits 8 to 15), how many
    /// buckets (bits 16 to 31), the first bucket (high half).
    pub const HEAD: usize = 0;
    /// In a version: all shares together (low half), the tally (high half).
    pub const SHARES: usize = 1;
    /// In a version: the OpenFlow number of the group.
    pub const NUMBER: usize = 2;

    /// Frames go to the core.
    pub const TO_CORE: u64 = 1 << 8;
}

/// Words of a record of [`Region::Buckets`].
pub mod bucket {
    /// The first of its actions (low half), how many (bits 32 to 47), bits of
    /// this module (bits 48 to 63). They stand in the order of an action set.
    pub const ACTIONS: usize = 0;
    /// The port (low half) and the group (high half) that it watches.
    pub const WATCHES: usize = 1;
    /// Its share (low half); its share and those of all before it (high half).
    pub const SHARE: usize = 2;
    /// Its tally (low half); how many copies of a frame it makes at most (high
    /// half).
    pub const TALLY: usize = 3;

    pub const WATCHES_PORT: u64 = 1;
    pub const WATCHES_GROUP: u64 = 1 << 1;
}

/// Words of a record of [`Region::Meters`], which has two versions of one word.
pub mod meter {
    /// Since when the two versions hold.
    pub const SINCE: [usize; 2] = [0, 1];
    /// The two versions: bits of this module (bits 8 to 15), how many bands (bits 16 to 31), the first band
    /// (high half).
    pub const VERSIONS: [usize; 2] = [2, 3];
    pub const TALLY: usize = 4;
    /// Not zero while a walk judges by it.
    pub const LOCK: usize = 5;

    /// Frames go to the core.
    pub const TO_CORE: u64 = 1 << 8;
}

/// Words of a record of [`Region::Bands`], whose arithmetic is that of
/// `meter_band`.
pub mod band {
    /// 0 to drop, 1 to remark, 2 to leave by queue 0 (bits 0 to 7); by how many levels (bits 8
    /// to 15).
    pub const WHAT: usize = 0;
    /// The tokens of a burst.
    pub const BURST: usize = 1;
    /// The tokens that are left; written by walks.
    pub const TOKENS: usize = 2;
    /// When they were counted; written by walks.
    pub const FILLED: usize = 3;
    /// The tally of the band.
    pub const TALLY: usize = 4;
    /// In tokens a nanosecond.
    pub const RATE: usize = 5;
    /// The tokens that a frame takes for each of its bytes.
    pub const PER_BYTE: usize = 6;
    /// The tokens that a frame takes besides.
    pub const PER_FRAME: usize = 7;
    /// The least that a frame takes.
    pub const FLOOR: usize = 8;
    /// After how many nanoseconds an empty bucket is full.
    pub const FULL: usize = 9;
    /// A frame of more bytes is above the rate.
    pub const LONGEST: usize = 10;
}

/// Words of a record of [`Region::Tallies`].
pub mod tally {
    pub const FRAMES: usize = 0;
    /// Bytes of those, tags included, without check sequence.
    pub const BYTES: usize = 1;
    /// When the last came, in nanoseconds.
    pub const LAST: usize = 2;
    /// Copies that were to leave on its behalf and did not, as far as known.
    pub const DROPPED: usize = 3;
}

/// Words of a record of [`Region::Queues`].
pub mod queue {
    /// Frames handed to the queue.
    pub const FRAMES: usize = 0;
    pub const BYTES: usize = 1;
    /// Frames that were to go there and could not: the port does not send.
    pub const DROPPED: usize = 2;
    /// How long frames may stay that leave there, in nanoseconds, plus one; [`super::NEVER`]
    /// if that is not bounded, zero if nobody watches.
    pub const BUDGET: usize = 3;
}

/// Words of a record of [`Region::Arrivals`]. What goes on to the core is counted
/// there and not here.
pub mod arrival {
    pub const FRAMES: usize = 0;
    pub const BYTES: usize = 1;
    /// Those that were given up before the first table.
    pub const DROPPED: usize = 2;
}

/// Words of a record of [`Region::Lookups`].
pub mod lookup {
    /// How often the table was asked.
    pub const LOOKUPS: usize = 0;
    /// How often it had an entry.
    pub const MATCHES: usize = 1;
}

/// Words of the record of [`Region::Totals`]; all but `TO_CORE`, `LOST`
/// and `TOO_LONG_A_WAY` mean what
/// [`SwitchCounters`](crate::SwitchCounters) says and leave out what goes on to the
/// core.
pub mod total {
    pub const FRAMES: usize = 0;
    /// Given up before the first table.
    pub const REFUSED: usize = 1;
    pub const MISSED: usize = 2;
    pub const METERED: usize = 3;
    /// Outputs that were asked for.
    pub const OUTPUTS: usize = 4;
    /// Outputs that were handed to a queue.
    pub const SENT: usize = 5;
    /// Outputs to ports that do not send.
    pub const DROPPED: usize = 6;
    /// Given up half-way: the kernel lacked the memory for a change.
    pub const ABANDONED: usize = 7;
    /// Frames that went on to the core.
    pub const TO_CORE: usize = 8;
    /// Frames that should have and were lost, since the core did not keep up.
    pub const LOST: usize = 9;
    /// Of those that went on, those that a limit of [`super::limit`] stopped.
    pub const TOO_LONG_A_WAY: usize = 10;
    /// Of those given up before the first table, those that were too long.
    pub const OVERSIZED: usize = 11;
    /// Frames that lost the queue of their entry, as they exceeded a contract.
    pub const DEMOTED: usize = 12;
}
