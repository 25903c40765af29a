//! The flow tables of the data-plane benchmark: every dimension of LOKO Table 1 but
//! the size of frames, which needs no table of its own (S4-2).

use std::net::Ipv4Addr;

use wire::ethernet::{EtherType, MacAddress};
use wire::ipv4::PROTOCOL_UDP;
use wire::openflow10::{Action, AddressPrefix, Match10, PortNumber};

use super::orders::FlowEntry;
pub use super::{FROM, TO};
use crate::traffic::Addresses;
use crate::trial::{PlayedStation, PortIndex};

/// The entries of LOKO Table 1.
pub const ENTRIES: [u16; 9] = [1, 17, 33, 49, 65, 81, 97, 113, 128];
/// The sizes of LOKO Table 1, check sequence included, in bytes.
pub const SIZES: [u16; 7] = [64, 306, 548, 790, 1_032, 1_274, 1_516];
/// The most entries of a table that is measured.
pub const MOST_ENTRIES: u16 = 32_000;

const MIDDLE_PRIORITY: u16 = 0x8000;
const PREFIX: u8 = 24;
/// The port that no frame here comes from.
const ELSEWHERE: PortNumber = PortNumber(3);
/// The UDP port that is set apart for measuring devices, RFC 2544 appendix C.2.6.4.
const ECHO: u16 = 7;

named!(
    /// Which fields the entries match on.
    pub MatchType,
    /// The port that the frame came from.
    Port = "port",
    /// The destination port of UDP.
    TpDst = "tp-dst",
    DlDst = "dl-dst",
    /// A prefix of the IPv4 destination.
    MaskedNwDst = "masked-nw-dst",
    FiveTuple = "five-tuple",
    /// All that the paper calls so.
    All = "all",
);

named!(
    /// What the entries do before they send the frame.
    pub Rewrite,
    Output = "output",
    /// They set the identifier of the virtual LAN.
    SetVlanId = "set-vlan-id",
    /// They set the priority within the virtual LAN.
    SetVlanPcp = "set-vlan-pcp",
    /// They remove the tag of the virtual LAN.
    StripVlan = "strip-vlan",
    /// They set the Ethernet source.
    SetDlSrc = "set-dl-src",
    /// They set the IPv4 source.
    SetNwSrc = "set-nw-src",
    /// They set the IPv4 type of service.
    SetNwTos = "set-nw-tos",
    /// They set the source port of UDP.
    SetTpSrc = "set-tp-src",
);

named!(
    /// Where in the order of their coming the entry stands that takes the frames.
    pub Used,
    First = "first",
    Last = "last",
);

named!(
    /// How priorities change with the order of coming.
    pub Priorities,
    /// Later entries have higher ones.
    Increasing = "increasing",
    /// Later entries have lower ones.
    Decreasing = "decreasing",
);

/// A flow table of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TableSetting {
    /// How many entries it has, at least one.
    pub count: u16,
    /// On which fields they match.
    pub fields: MatchType,
    pub rewrite: Rewrite,
    /// Which of them takes the frames.
    pub used: Used,
    pub priorities: Priorities,
}

impl TableSetting {
    /// Returns the setting of LOKO section 6: five-tuples, every entry looked at.
    #[must_use]
    pub const fn five_tuples(count: u16) -> Self {
        Self {
            count,
            fields: MatchType::FiveTuple,
            rewrite: Rewrite::Output,
            used: Used::Last,
            priorities: Priorities::Increasing,
        }
    }

    /// Returns every combination with these numbers of entries.
    #[must_use]
    pub fn all(counts: &[u16]) -> Vec<Self> {
        let mut all = Vec::new();
        for count in counts {
            for fields in MatchType::ALL {
                for rewrite in Rewrite::ALL {
                    for used in Used::ALL {
                        for priorities in Priorities::ALL {
                            all.push(Self {
                                count: *count,
                                fields: *fields,
                                rewrite: *rewrite,
                                used: *used,
                                priorities: *priorities,
                            });
                        }
                    }
                }
            }
        }
        all
    }

    /// Returns the entries in the order in which they come.
    pub fn entries(&self) -> impl Iterator<Item = FlowEntry> + '_ {
        let last = self.count.saturating_sub(1);
        let used = match self.used {
            Used::First => 0,
            Used::Last => last,
        };
        let wanted = match_on(self.fields);
        (0..=last).map(move |place| FlowEntry {
            matching: match place == used {
                true => wanted,
                false => elsewhere(wanted, place),
            },
            priority: priority_of(self.priorities, place),
            actions: self.actions(),
        })
    }

    /// Returns the values of the dimensions, by name.
    #[must_use]
    pub fn named(&self) -> Vec<(String, String)> {
        let named = [
            ("entries", self.count.to_string()),
            ("match", self.fields.name().to_owned()),
            ("action", self.rewrite.name().to_owned()),
            ("used", self.used.name().to_owned()),
            ("priorities", self.priorities.name().to_owned()),
        ];
        named.map(|(name, value)| (name.to_owned(), value)).into()
    }

    fn actions(&self) -> Vec<Action> {
        let change = match self.rewrite {
            Rewrite::Output => None,
            Rewrite::SetVlanId => Some(Action::SetVlanVid(7)),
            Rewrite::SetVlanPcp => Some(Action::SetVlanPcp(3)),
            Rewrite::StripVlan => Some(Action::StripVlan),
            Rewrite::SetDlSrc => Some(Action::SetDlSrc(MacAddress([2, 0, 0, 0, 0, 9]))),
            Rewrite::SetNwSrc => Some(Action::SetNwSrc(Ipv4Addr::new(198, 19, 0, 9))),
            Rewrite::SetNwTos => Some(Action::SetNwTos(0x10)),
            Rewrite::SetTpSrc => Some(Action::SetTpSrc(9)),
        };
        change.into_iter().chain([output()]).collect()
    }
}

/// Returns the action that sends frames where they are expected.
#[must_use]
pub fn output() -> Action {
    Action::output(port_of(TO))
}

/// Returns the number that the agent has for what is connected to a port.
#[must_use]
pub fn port_of(port: PortIndex) -> PortNumber {
    let wide = PlayedStation::at(port).device_port;
    PortNumber::from_of13(wide).unwrap_or(PortNumber::NONE)
}

/// Returns the addresses of the frames that are measured.
#[must_use]
pub fn addresses() -> Addresses {
    let (from, to) = (PlayedStation::at(FROM), PlayedStation::at(TO));
    Addresses {
        source_mac: from.mac,
        destination_mac: to.mac,
        vlan: None,
        source: from.address,
        destination: to.address,
        source_port: ECHO,
        destination_port: ECHO,
        dscp: 0,
    }
}

fn priority_of(priorities: Priorities, place: u16) -> u16 {
    let step = place.min(MOST_ENTRIES);
    match priorities {
        Priorities::Increasing => MIDDLE_PRIORITY + step,
        Priorities::Decreasing => MIDDLE_PRIORITY - step,
    }
}

/// Returns a match on these fields that takes the frames.
fn match_on(fields: MatchType) -> Match10 {
    let it = addresses();
    let any = Match10::ANY;
    let ip = Match10 {
        dl_type: Some(EtherType::IPV4),
        ..any
    };
    let five_tuple = Match10 {
        nw_proto: Some(PROTOCOL_UDP),
        nw_src: AddressPrefix::host(it.source),
        nw_dst: AddressPrefix::host(it.destination),
        tp_src: Some(it.source_port),
        tp_dst: Some(it.destination_port),
        ..ip
    };
    match fields {
        MatchType::Port => Match10 {
            in_port: Some(port_of(FROM)),
            ..any
        },
        MatchType::TpDst => Match10 {
            tp_dst: Some(it.destination_port),
            ..ip
        },
        MatchType::DlDst => Match10 {
            dl_dst: Some(it.destination_mac),
            ..any
        },
        MatchType::MaskedNwDst => Match10 {
            nw_dst: AddressPrefix::new(it.destination, PREFIX),
            ..ip
        },
        MatchType::FiveTuple => five_tuple,
        MatchType::All => Match10 {
            in_port: Some(port_of(FROM)),
            nw_tos: Some(0),
            dl_src: Some(it.source_mac),
            dl_dst: Some(it.destination_mac),
            ..five_tuple
        },
    }
}

/// Returns a match on the same fields that takes none of the frames.
fn elsewhere(like: Match10, place: u16) -> Match10 {
    let [high, low] = place.to_be_bytes();
    let moved = |network: AddressPrefix| match network.prefix_length() {
        0 => AddressPrefix::ANY,
        prefix => AddressPrefix::new(Ipv4Addr::new(172, high, low, 1), prefix),
    };
    Match10 {
        in_port: like.in_port.map(|_| ELSEWHERE),
        dl_src: like.dl_src.map(|_| MacAddress([2, 1, 0, 0, high, low])),
        dl_dst: like.dl_dst.map(|_| MacAddress([2, 1, 0, 0, high, low])),
        nw_src: moved(like.nw_src),
        nw_dst: moved(like.nw_dst),
        tp_src: like.tp_src.map(|_| 10_000 + place),
        tp_dst: like.tp_dst.map(|_| 10_000 + place),
        ..like
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_has_1728_tables() {
        assert_eq!(TableSetting::all(&ENTRIES).len(), 9 * 6 * 8 * 2 * 2);
    }

    #[test]
    fn just_one_entry_takes_the_frames() {
        for setting in TableSetting::all(&[1, 17]) {
            let wanted = match_on(setting.fields);

            let entries: Vec<_> = setting.entries().collect();

            let taking = entries.iter().filter(|it| it.matching == wanted);
            assert_eq!(taking.count(), 1, "{setting:?}");
            assert_eq!(entries.len(), usize::from(setting.count));
        }
    }

    #[test]
    fn names_are_read_back() {
        for rewrite in Rewrite::ALL {
            assert_eq!(rewrite.name().parse(), Ok(*rewrite));
        }
        assert_eq!("anything".parse::<MatchType>(), Err(()));
    }
}
