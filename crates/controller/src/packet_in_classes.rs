//! The frames that switches hand over: their classes, what is taken of each, and
//! counts.
//!
//! Each class of each switch has a budget of its own, so that a storm of one kind
//! drives out nothing but itself, at its own switch. Probes for links have none:
//! they are few, they cost less than it takes to tell that they are too many, and
//! a link must not seem lost because of what else arrives. Budgets differ by what
//! is done with frames: where frames only tell of hosts, few are enough; where they
//! are forwarded, a budget only keeps one switch from occupying the controller.

use units::{Duration, Instant};
use wire::dhcp;
use wire::ethernet::{EtherType, Header};
use wire::{ipv4, ipv6};

/// The time for which budgets are given.
pub const PUNT_WINDOW: Duration = Duration::from_ms(10);

/// A kind of frame that switches hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameClass {
    /// A probe for links that the controller has sent.
    LinkProbe,
    /// Another LLDP frame: that of a neighbour, or a forged one.
    ForeignLldp,
    AddressResolution,
    /// DHCP over IPv4.
    Dhcp,
    /// Any other frame for one station.
    Unicast,
    /// Any other frame for several stations.
    Multicast,
    /// What nobody can have sent or nobody may forward: frames that end within
    /// their header, come from a group, or are for the nearest bridge.
    Other,
}

impl FrameClass {
    pub const ALL: [Self; CLASSES] = [
        Self::LinkProbe,
        Self::ForeignLldp,
        Self::AddressResolution,
        Self::Dhcp,
        Self::Unicast,
        Self::Multicast,
        Self::Other,
    ];

    /// Returns its name, as statistics spell it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LinkProbe => "link-probe",
            Self::ForeignLldp => "foreign-lldp",
            Self::AddressResolution => "address-resolution",
            Self::Dhcp => "dhcp",
            Self::Unicast => "unicast",
            Self::Multicast => "multicast",
            Self::Other => "other",
        }
    }

    /// Returns the class of a frame that is not LLDP.
    #[inline]
    #[must_use]
    pub fn of(header: &Header, payload: &[u8]) -> Self {
        if header.source.is_multicast() || header.destination.is_link_local() {
            return Self::Other;
        }
        match header.ether_type {
            EtherType::ARP => return Self::AddressResolution,
            EtherType::IPV4 if is_dhcp(payload) => return Self::Dhcp,
            EtherType::IPV6 if is_neighbour_discovery(payload) => return Self::AddressResolution,
            _ => {}
        }
        match header.destination.is_multicast() {
            true => Self::Multicast,
            false => Self::Unicast,
        }
    }

    /// Returns whether its frames tell who has which address, also those of hosts
    /// that are known.
    #[must_use]
    pub const fn tells_addresses(self) -> bool {
        match self {
            Self::AddressResolution | Self::Dhcp => true,
            Self::LinkProbe | Self::ForeignLldp | Self::Unicast | Self::Multicast | Self::Other => {
                false
            }
        }
    }

    const fn index(self) -> usize {
        self as usize
    }
}

/// How many classes there are.
pub const CLASSES: usize = 7;

/// Tells UDP between the ports of DHCP, behind a header without options.
fn is_dhcp(packet: &[u8]) -> bool {
    const FIRST: u8 = 0x45;
    let Some(head) = packet.first_chunk::<24>() else {
        return false;
    };
    let ports = [
        u16::from_be_bytes([head[20], head[21]]),
        u16::from_be_bytes([head[22], head[23]]),
    ];
    let (client, server) = (dhcp::CLIENT_PORT, dhcp::SERVER_PORT);
    head[0] == FIRST
        && head[9] == ipv4::PROTOCOL_UDP
        && (ports == [client, server] || ports == [server, client])
}

/// Tells the messages of neighbour discovery, RFC 4861 section 4.
fn is_neighbour_discovery(packet: &[u8]) -> bool {
    let kind = packet.get(ipv6::HEADER_LENGTH).copied();
    packet.get(6) == Some(&ipv6::NEXT_HEADER_ICMP)
        && kind.is_some_and(|kind| (133..=136).contains(&kind))
}

/// How many frames of each class are taken from one switch within
/// [`PUNT_WINDOW`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets([u32; CLASSES]);

impl Budgets {
    /// Where frames only tell of hosts.
    pub const LEARNING: Self = Self::new(&[
        (FrameClass::LinkProbe, u32::MAX),
        (FrameClass::AddressResolution, 200),
        (FrameClass::Dhcp, 100),
        (FrameClass::Unicast, 1_000),
        (FrameClass::Multicast, 1_000),
    ]);
    /// Where frames are forwarded: all that one processor can take from one switch;
    /// of those that go everywhere, less.
    pub const FORWARDING: Self = Self::new(&[
        (FrameClass::LinkProbe, u32::MAX),
        (FrameClass::AddressResolution, 2_000),
        (FrameClass::Dhcp, 500),
        (FrameClass::Unicast, 100_000),
        (FrameClass::Multicast, 2_000),
    ]);

    /// Gives classes that are not named nothing.
    const fn new(budgets: &[(FrameClass, u32)]) -> Self {
        let mut frames = [0; CLASSES];
        let mut next = 0;
        while next < budgets.len() {
            frames[budgets[next].0.index()] = budgets[next].1;
            next += 1;
        }
        Self(frames)
    }

    /// Returns the budget of a class, in frames within [`PUNT_WINDOW`].
    #[must_use]
    pub const fn of(&self, class: FrameClass) -> u32 {
        self.0[class.index()]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassCount {
    pub class: FrameClass,
    pub offered: u64,
    /// Of how many nothing was made.
    pub dropped: u64,
}

impl ClassCount {
    /// Returns how many frames were dealt with.
    #[must_use]
    pub const fn taken(&self) -> u64 {
        self.offered - self.dropped
    }
}

/// The frames of one switch, or of all.
#[derive(Clone, Copy, Debug)]
pub struct PacketInClasses {
    offered: [u64; CLASSES],
    dropped: [u64; CLASSES],
    spent: [u32; CLASSES],
    since: Instant,
}

impl PacketInClasses {
    #[must_use]
    pub const fn new(now: Instant) -> Self {
        Self {
            offered: [0; CLASSES],
            dropped: [0; CLASSES],
            spent: [0; CLASSES],
            since: now,
        }
    }

    /// Counts a frame. Returns whether it is within the budget of its class.
    #[inline]
    pub fn take(&mut self, now: Instant, class: FrameClass, budgets: &Budgets) -> bool {
        if now.saturating_since(self.since) >= PUNT_WINDOW {
            self.since = now;
            self.spent = [0; CLASSES];
        }
        let index = class.index();
        self.offered[index] += 1;
        let is_within = self.spent[index] < budgets.0[index];
        self.spent[index] += u32::from(is_within);
        self.dropped[index] += u64::from(!is_within);
        is_within
    }

    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: &Self) {
        for index in 0..CLASSES {
            self.offered[index] += other.offered[index];
            self.dropped[index] += other.dropped[index];
        }
    }

    /// Returns what was counted of each class.
    pub fn counts(&self) -> impl Iterator<Item = ClassCount> + '_ {
        FrameClass::ALL.into_iter().map(|class| ClassCount {
            class,
            offered: self.offered[class.index()],
            dropped: self.dropped[class.index()],
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::ethernet::MacAddress;

    use super::*;

    #[test]
    fn each_kind_of_frame_has_its_class() {
        let (host, group) = (MacAddress([2, 0, 0, 0, 0, 1]), MacAddress([1; 6]));
        let bridge = MacAddress::NEAREST_BRIDGE;
        let ip = |protocol: u8, at: usize, bytes: &[u8]| {
            let mut packet = vec![0; 60];
            packet[0] = 0x45;
            packet[9] = protocol;
            packet[6] = protocol;
            packet[at..at + bytes.len()].copy_from_slice(bytes);
            packet
        };
        for (destination, ether_type, payload, class) in [
            (host, EtherType::ARP, vec![], FrameClass::AddressResolution),
            (group, EtherType::ARP, vec![], FrameClass::AddressResolution),
            (host, EtherType::IPV4, vec![], FrameClass::Unicast),
            (group, EtherType::GOOSE, vec![], FrameClass::Multicast),
            (bridge, EtherType::GOOSE, vec![], FrameClass::Other),
            (
                MacAddress::BROADCAST,
                EtherType::IPV4,
                ip(17, 20, &[0, 68, 0, 67]),
                FrameClass::Dhcp,
            ),
            (
                host,
                EtherType::IPV4,
                ip(6, 20, &[0, 68, 0, 67]),
                FrameClass::Unicast,
            ),
            (
                group,
                EtherType::IPV6,
                ip(58, 40, &[135]),
                FrameClass::AddressResolution,
            ),
            (
                group,
                EtherType::IPV6,
                ip(58, 40, &[143]),
                FrameClass::Multicast,
            ),
        ] {
            let header = Header {
                destination,
                source: host,
                vlan: None,
                ether_type,
            };
            assert_eq!(FrameClass::of(&header, &payload), class, "{ether_type}");
        }
    }

    #[test]
    fn a_class_beyond_its_budget_takes_nothing_from_the_others() {
        let mut punts = PacketInClasses::new(Instant::ZERO);
        let budgets = Budgets::LEARNING;
        let mut take = |now: u64, class| punts.take(Instant::from_ns(now), class, &budgets);

        let taken = (0..5_000).filter(|_| take(0, FrameClass::Multicast));
        let multicast = taken.count();
        let others = [FrameClass::LinkProbe, FrameClass::Dhcp].map(|class| take(0, class));
        let later = take(PUNT_WINDOW.as_ns(), FrameClass::Multicast);

        assert_eq!(multicast, 1_000);
        assert_eq!((others, later), ([true; 2], true));
        let count = punts
            .counts()
            .find(|count| count.class == FrameClass::Multicast);
        let count = count.unwrap();
        assert_eq!(
            (count.offered, count.taken(), count.dropped),
            (5_001, 1_001, 4_000)
        );
    }

    #[test]
    fn a_class_is_found_under_its_number() {
        for (index, class) in FrameClass::ALL.into_iter().enumerate() {
            assert_eq!(class.index(), index);
        }
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(frame in prop::collection::vec(any::<u8>(), 0..80)) {
            if let Ok((header, payload)) = Header::parse(&frame) {
                let _ = FrameClass::of(&header, payload);
            }
        }
    }
}
