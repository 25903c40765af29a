//! How long a Zodiac FX works on a frame, over the dimensions of LOKO Table 1
//! (S4-2).
//!
//! The firmware copies the frame and walks through its list of entries. Each
//! entry costs a fixed part and a part for each field that it matches on, whether
//! the field agrees or not. Once an entry has matched, those of lower priority
//! cost no more than a glance at their priority. One action follows:
//!
//! ```text
//! p = 32.2832 us + 186.8 ns * l + sum over entries of c(fields) + action
//! ```
//!
//! for frames of `l` bytes. Of the 186.8 ns a byte, 160 are the two passes of the
//! inner link at 100 Mbit/s.
//!
//! # Where the numbers come from
//!
//! The paper prints few figures in its text; the rest it shows in plots. Four of
//! them fix the line above and the costs of the entries, and the rest must agree:
//!
//! | figure | printed | ours |
//! |---|---|---|
//! | LOKO section 6: 17 entries, five-tuple, 306 bytes | 257 us, and 257.2 from LOKO Table 2 | 257.2 us (fitted) |
//! | LOKO section 4: 128 entries, five-tuple, 306 bytes | 1.35 ms, 1.88 Mbit/s | 1.353 ms, 1.88 Mbit/s (fitted) |
//! | LOKO Fig. 10c: 1 entry, port, 1516 bytes | 322 us | 322.0 us (fitted) |
//! | LOKO Fig. 10b: 128 entries, port, 64 bytes | 0.88 ms | 0.880 ms (fitted) |
//! | LOKO Fig. 10b: 128 entries, all, 64 bytes | 1.65 ms | 1.650 ms (fitted) |
//! | LOKO Fig. 10c: set-nw-src | 380 us | 380.0 us (fitted) |
//! | LOKO Fig. 9: least of all cases | 50 us | 50.8 us |
//! | LOKO Fig. 9: most of all cases | 2.1 ms | 1.98 ms |
//! | LOKO section 3.4.3: line rate below 65 entries, and from 65 on never | | so, which puts the glance between 0.71 and 0.93 us |
//! | LOKO section 3.4.3: line rate only above 790 bytes | | from 790 bytes on |
//!
//! How the cost of an entry splits among its fields is ours; only the sums for
//! the port, the five-tuple and all fields are the paper's. So are the times of
//! the actions that it does not print, which lie within what it says of them:
//! set-dl-src and strip-vlan still reach the line rate at 1516 bytes, the others
//! do not.

use units::{DataSize, Delay};

/// The part of the processing time that every frame has.
const FIXED: Delay = Delay::from_ps(32_283_200);
/// What each byte adds: twice its time on the inner link, and its copying.
const PER_BYTE: Delay = Delay::from_ps(186_800);
/// What an entry costs before any of its fields is looked at.
const ENTRY: Delay = Delay::from_ns(6_230);
/// What an entry costs that needs no comparison, because one of higher priority
/// has matched already.
const GLANCE: Delay = Delay::from_ns(900);

/// A field of the match structure of OpenFlow 1.0 (OF10 section 5.2.3), in which
/// the paper speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchField {
    /// The port that the frame came from.
    InPort,
    /// The Ethernet source.
    DlSrc,
    /// The Ethernet destination.
    DlDst,
    /// The identifier of the virtual LAN.
    DlVlan,
    /// The priority within the virtual LAN.
    DlVlanPcp,
    /// The Ethernet type.
    DlType,
    /// The IPv4 type of service.
    NwTos,
    /// The IPv4 protocol.
    NwProto,
    /// The IPv4 source, or a prefix of it.
    NwSrc,
    /// The IPv4 destination, or a prefix of it.
    NwDst,
    /// The source port of UDP or TCP.
    TpSrc,
    /// The destination port of UDP or TCP.
    TpDst,
}

impl MatchField {
    const ALL: [Self; 12] = [
        Self::InPort,
        Self::DlSrc,
        Self::DlDst,
        Self::DlVlan,
        Self::DlVlanPcp,
        Self::DlType,
        Self::NwTos,
        Self::NwProto,
        Self::NwSrc,
        Self::NwDst,
        Self::TpSrc,
        Self::TpDst,
    ];

    /// Returns what looking at the field adds to an entry.
    const fn comparison_time(self) -> Delay {
        match self {
            Self::InPort => Delay::from_ns(298),
            Self::DlSrc | Self::DlDst | Self::NwSrc | Self::NwDst => Delay::from_ns(900),
            Self::DlVlan | Self::DlVlanPcp => Delay::from_ns(600),
            Self::NwTos => Delay::from_ns(579),
            Self::NwProto => Delay::from_ns(538),
            Self::TpSrc | Self::TpDst => Delay::from_ns(650),
            // Looked at on the way to what lies above it.
            Self::DlType => Delay::ZERO,
        }
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The fields that an entry matches on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchFields {
    bits: u16,
}

impl MatchFields {
    /// The port alone.
    pub const PORT: Self = Self::of(&[MatchField::InPort]);
    /// The destination port of UDP or TCP.
    pub const TP_DST: Self = Self::of(&[MatchField::TpDst]);
    /// The Ethernet destination.
    pub const DL_DST: Self = Self::of(&[MatchField::DlDst]);
    /// A prefix of the IPv4 destination.
    pub const MASKED_NW_DST: Self = Self::of(&[MatchField::NwDst]);
    /// Addresses, ports and protocol.
    pub const FIVE_TUPLE: Self = Self::of(&[
        MatchField::NwProto,
        MatchField::NwSrc,
        MatchField::NwDst,
        MatchField::TpSrc,
        MatchField::TpDst,
    ]);
    /// What the paper calls all.
    pub const ALL: Self = Self::of(&[
        MatchField::InPort,
        MatchField::DlSrc,
        MatchField::DlDst,
        MatchField::NwTos,
        MatchField::NwProto,
        MatchField::NwSrc,
        MatchField::NwDst,
        MatchField::TpSrc,
        MatchField::TpDst,
    ]);
    /// The match types of LOKO Table 1, in its order, with its names.
    pub const OF_TABLE_1: [(&str, Self); 6] = [
        ("port", Self::PORT),
        ("tp-dst", Self::TP_DST),
        ("dl-dst", Self::DL_DST),
        ("masked-nw-dst", Self::MASKED_NW_DST),
        ("five-tuple", Self::FIVE_TUPLE),
        ("all", Self::ALL),
    ];

    /// Returns just these fields.
    #[must_use]
    pub const fn of(fields: &[MatchField]) -> Self {
        let mut these = Self { bits: 0 };
        let mut next = 0;
        while next < fields.len() {
            these = these.with(fields[next]);
            next += 1;
        }
        these
    }

    /// Returns these fields and one more.
    #[must_use]
    pub const fn with(self, field: MatchField) -> Self {
        Self {
            bits: self.bits | field.bit(),
        }
    }

    /// Tells whether a field is one of these.
    #[must_use]
    pub const fn contains(self, field: MatchField) -> bool {
        self.bits & field.bit() != 0
    }

    /// Returns how long comparing a frame with one entry takes.
    #[must_use]
    pub fn comparison_time(self) -> Delay {
        let all = MatchField::ALL.into_iter();
        let these = all.filter(|field| self.contains(*field));
        these.fold(ENTRY, |time, field| time + field.comparison_time())
    }
}

/// What an entry does with a frame. All but the first are followed by an output
/// (LOKO Table 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LokoAction {
    /// Sends it.
    Output,
    /// Sets the identifier of the virtual LAN.
    SetVlanId,
    /// Sets the priority within the virtual LAN.
    SetVlanPcp,
    /// Removes the tag of the virtual LAN.
    StripVlan,
    /// Sets the Ethernet source.
    SetDlSrc,
    /// Sets the IPv4 source.
    SetNwSrc,
    /// Sets the IPv4 type of service.
    SetNwTos,
    /// Sets the source port of UDP or TCP.
    SetTpSrc,
}

impl LokoAction {
    /// The actions of LOKO Table 1, in its order, with its names.
    pub const OF_TABLE_1: [(&str, Self); 8] = [
        ("output", Self::Output),
        ("set-vlan-id", Self::SetVlanId),
        ("set-vlan-pcp", Self::SetVlanPcp),
        ("strip-vlan", Self::StripVlan),
        ("set-dl-src", Self::SetDlSrc),
        ("set-nw-src", Self::SetNwSrc),
        ("set-nw-tos", Self::SetNwTos),
        ("set-tp-src", Self::SetTpSrc),
    ];

    /// Returns what the action adds to the processing time, beside the output.
    #[must_use]
    pub const fn time(self) -> Delay {
        match self {
            Self::Output => Delay::ZERO,
            Self::SetDlSrc => Delay::from_us(4),
            Self::StripVlan => Delay::from_us(20),
            Self::SetVlanId | Self::SetVlanPcp => Delay::from_us(50),
            Self::SetNwSrc | Self::SetNwTos | Self::SetTpSrc => Delay::from_us(58),
        }
    }
}

/// Which entry of the table matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedEntry {
    /// The one that was added first.
    First,
    /// The one that was added last.
    Last,
}

/// How priorities run from the first entry to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priorities {
    /// Upwards: whatever has matched, the next may be better.
    Increasing,
    /// Downwards: after a match nothing better can come.
    Decreasing,
}

/// One combination of LOKO Table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Entries in the table, all alike; at least one.
    pub entries: u64,
    /// What each matches on.
    pub fields: MatchFields,
    /// What the matching one does.
    pub action: LokoAction,
    /// Which one matches.
    pub used: UsedEntry,
    /// How their priorities run.
    pub priorities: Priorities,
    /// The size of the frames, check sequence included.
    pub frame: DataSize,
}

impl Setting {
    /// Entries of LOKO Table 1.
    pub const ENTRIES: [u64; 9] = [1, 17, 33, 49, 65, 81, 97, 113, 128];
    /// Frame sizes of LOKO Table 1, in bytes.
    pub const FRAME_BYTES: [u64; 7] = [64, 306, 548, 790, 1_032, 1_274, 1_516];

    /// Returns the worst case that LOKO sections 4 to 6 use: five-tuples,
    /// increasing priorities, the last entry matches and sends.
    #[must_use]
    pub const fn worst_five_tuple(entries: u64, frame: DataSize) -> Self {
        Self {
            entries,
            fields: MatchFields::FIVE_TUPLE,
            action: LokoAction::Output,
            used: UsedEntry::Last,
            priorities: Priorities::Increasing,
            frame,
        }
    }

    /// Returns the time from port to port, `p` of LOKO Eq. (4).
    #[must_use]
    pub fn processing_time(&self) -> Delay {
        let compared = match (self.used, self.priorities) {
            (UsedEntry::First, Priorities::Decreasing) => self.entries.min(1),
            (UsedEntry::First, Priorities::Increasing) | (UsedEntry::Last, _) => self.entries,
        };
        let lookup = self.fields.comparison_time() * compared;
        let glances = GLANCE * (self.entries - compared);
        frame_time(self.frame) + lookup + glances + self.action.time()
    }
}

/// Returns the part of the processing time that depends on nothing but the size
/// of the frame; a part of a byte counts as one.
#[must_use]
pub fn frame_time(frame: DataSize) -> Delay {
    FIXED + PER_BYTE * frame.bytes_up()
}

/// Returns what an entry costs that is passed over for its priority.
#[must_use]
pub const fn glance_time() -> Delay {
    GLANCE
}

#[cfg(test)]
mod tests;
