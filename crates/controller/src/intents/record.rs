//! An intent as the store keeps it.
//!
//! A record says what is to hold and who wants it, never how it is kept: that is
//! found anew in the network as it is. The first byte is the version of the form; a
//! record of another version is not read.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::{DatapathId, PortNumber};

use super::sense;
use crate::northbound::{
    Asker, Endpoint, Extent, FlowMatch, FrameAction, FrameMatch, Intent, IntentKind, Scope,
    Transport, TransportProtocol, Waypoint,
};
use crate::place::{LinkEnds, PortId};
use crate::record::RecordError;

const VERSION: u8 = 1;

/// Returns the bytes of an intent's record.
#[must_use]
pub fn to_bytes(owner: &Asker, intent: &Intent) -> Vec<u8> {
    let stored = Stored {
        owner: match owner {
            Asker::Operator => None,
            Asker::Application(name) => Some(name.clone()),
        },
        name: intent.name.clone(),
        kind: store_kind(&intent.kind),
    };
    postcard::to_extend(&stored, vec![VERSION])
        .expect("numbers and texts always have a form, and a vector has room")
}

/// Reads a record.
///
/// # Errors
///
/// If it is not one that [`to_bytes`] could have written of an intent that makes
/// sense.
pub fn from_bytes(bytes: &[u8]) -> Result<(Asker, Intent), RecordError> {
    let [VERSION, content @ ..] = bytes else {
        let found = bytes.first().copied();
        return Err(RecordError::Version { found });
    };
    let stored: Stored = postcard::from_bytes(content)?;
    let intent = Intent {
        name: stored.name,
        kind: load_kind(stored.kind),
    };
    sense::check(&intent).map_err(RecordError::Nonsense)?;
    let owner = stored.owner.map_or(Asker::Operator, Asker::Application);
    Ok((owner, intent))
}

#[derive(Serialize, Deserialize)]
struct Stored {
    /// The application; the operator if there is none.
    owner: Option<String>,
    name: String,
    kind: StoredKind,
}

#[derive(Serialize, Deserialize)]
enum StoredKind {
    HostToHost(String, String),
    PointToPoint(StoredEnd, StoredEnd, StoredMatch),
    Multicast(StoredEnd, Vec<StoredEnd>, StoredMatch),
    Path {
        ends: (StoredEnd, StoredEnd),
        through: Vec<StoredPlace>,
        is_full: bool,
        matching: StoredMatch,
        actions: Vec<StoredAction>,
    },
    MatchAction {
        /// Everywhere if there are none.
        at: Option<Vec<u64>>,
        priority: u8,
        matching: StoredMatch,
        actions: Vec<StoredAction>,
    },
}

#[derive(Serialize, Deserialize)]
enum StoredEnd {
    Host(String),
    Port(StoredPort),
}

/// Datapath id and port number.
type StoredPort = (u64, u32);

#[derive(Serialize, Deserialize)]
enum StoredPlace {
    Switch(u64),
    Link(StoredPort, StoredPort),
}

#[derive(Serialize, Deserialize)]
struct StoredMatch {
    input: Option<u32>,
    source: Option<[u8; 6]>,
    ether_type: Option<u16>,
    destination: Option<[u8; 6]>,
    vlan: Option<u16>,
    ipv4: (Option<[u8; 4]>, Option<[u8; 4]>),
    /// Whether it is TCP, and the ports.
    transport: Option<(bool, Option<u16>, Option<u16>)>,
}

#[derive(Serialize, Deserialize)]
enum StoredAction {
    Output(u32),
    Flood,
    Controller,
    Queue(u8),
    SetVlan(u16),
    StripVlan,
    SetSource([u8; 6]),
    SetDestination([u8; 6]),
}

fn store_kind(kind: &IntentKind) -> StoredKind {
    match kind {
        IntentKind::HostToHost { one, other } => StoredKind::HostToHost(one.clone(), other.clone()),
        IntentKind::PointToPoint { from, to, matching } => {
            StoredKind::PointToPoint(store_end(from), store_end(to), store_match(matching))
        }
        IntentKind::Multicast { from, to, matching } => {
            let to = to.iter().map(store_end).collect();
            StoredKind::Multicast(store_end(from), to, store_match(matching))
        }
        IntentKind::Path {
            from,
            to,
            through,
            extent,
            matching,
            actions,
        } => StoredKind::Path {
            ends: (store_end(from), store_end(to)),
            through: through.iter().map(store_place).collect(),
            is_full: matches!(extent, Extent::Full),
            matching: store_match(matching),
            actions: actions.iter().map(store_action).collect(),
        },
        IntentKind::MatchAction {
            at,
            priority,
            matching,
            actions,
        } => StoredKind::MatchAction {
            at: match at {
                Scope::Everywhere => None,
                Scope::Switches(these) => Some(these.iter().map(|at| at.0).collect()),
            },
            priority: *priority,
            matching: store_match(matching),
            actions: actions.iter().map(store_action).collect(),
        },
    }
}

fn load_kind(stored: StoredKind) -> IntentKind {
    match stored {
        StoredKind::HostToHost(one, other) => IntentKind::HostToHost { one, other },
        StoredKind::PointToPoint(from, to, matching) => IntentKind::PointToPoint {
            from: load_end(from),
            to: load_end(to),
            matching: load_match(&matching),
        },
        StoredKind::Multicast(from, to, matching) => IntentKind::Multicast {
            from: load_end(from),
            to: to.into_iter().map(load_end).collect(),
            matching: load_match(&matching),
        },
        StoredKind::Path {
            ends: (from, to),
            through,
            is_full,
            matching,
            actions,
        } => IntentKind::Path {
            from: load_end(from),
            to: load_end(to),
            through: through.into_iter().map(load_place).collect(),
            extent: match is_full {
                true => Extent::Full,
                false => Extent::Partial,
            },
            matching: load_match(&matching),
            actions: actions.iter().map(load_action).collect(),
        },
        StoredKind::MatchAction {
            at,
            priority,
            matching,
            actions,
        } => IntentKind::MatchAction {
            at: at.map_or(Scope::Everywhere, |these| {
                Scope::Switches(these.into_iter().map(DatapathId).collect())
            }),
            priority,
            matching: load_match(&matching),
            actions: actions.iter().map(load_action).collect(),
        },
    }
}

fn store_end(end: &Endpoint) -> StoredEnd {
    match end {
        Endpoint::Host(name) => StoredEnd::Host(name.clone()),
        Endpoint::Port(port) => StoredEnd::Port(store_port(*port)),
    }
}

fn load_end(stored: StoredEnd) -> Endpoint {
    match stored {
        StoredEnd::Host(name) => Endpoint::Host(name),
        StoredEnd::Port(port) => Endpoint::Port(load_port(port)),
    }
}

fn store_port(port: PortId) -> StoredPort {
    (port.datapath.0, port.port.0)
}

fn load_port((datapath, port): StoredPort) -> PortId {
    PortId::new(DatapathId(datapath), PortNumber(port))
}

fn store_place(place: &Waypoint) -> StoredPlace {
    match place {
        Waypoint::Switch(at) => StoredPlace::Switch(at.0),
        Waypoint::Link(link) => {
            let [lower, higher] = link.both().map(store_port);
            StoredPlace::Link(lower, higher)
        }
    }
}

fn load_place(stored: StoredPlace) -> Waypoint {
    match stored {
        StoredPlace::Switch(at) => Waypoint::Switch(DatapathId(at)),
        StoredPlace::Link(one, other) => {
            Waypoint::Link(LinkEnds::new(load_port(one), load_port(other)))
        }
    }
}

fn store_match(matching: &FrameMatch) -> StoredMatch {
    let flow = &matching.flow;
    let octets = |address: Option<Ipv4Addr>| address.map(|address| address.octets());
    StoredMatch {
        input: matching.input.map(|port| port.0),
        source: matching.source.map(|mac| mac.0),
        ether_type: flow.ether_type.map(|ether_type| ether_type.0),
        destination: flow.destination.map(|mac| mac.0),
        vlan: flow.vlan,
        ipv4: (octets(flow.ipv4_source), octets(flow.ipv4_destination)),
        transport: flow.transport.map(|transport| {
            let is_tcp = match transport.protocol {
                TransportProtocol::Tcp => true,
                TransportProtocol::Udp => false,
            };
            (is_tcp, transport.source, transport.destination)
        }),
    }
}

fn load_match(stored: &StoredMatch) -> FrameMatch {
    let transport = stored
        .transport
        .map(|(is_tcp, source, destination)| Transport {
            protocol: match is_tcp {
                true => TransportProtocol::Tcp,
                false => TransportProtocol::Udp,
            },
            source,
            destination,
        });
    FrameMatch {
        input: stored.input.map(PortNumber),
        source: stored.source.map(MacAddress),
        flow: FlowMatch {
            ether_type: stored.ether_type.map(EtherType),
            destination: stored.destination.map(MacAddress),
            vlan: stored.vlan,
            ipv4_source: stored.ipv4.0.map(Ipv4Addr::from),
            ipv4_destination: stored.ipv4.1.map(Ipv4Addr::from),
            transport,
        },
    }
}

fn store_action(action: &FrameAction) -> StoredAction {
    match action {
        FrameAction::Output(port) => StoredAction::Output(port.0),
        FrameAction::Flood => StoredAction::Flood,
        FrameAction::Controller => StoredAction::Controller,
        FrameAction::Queue(queue) => StoredAction::Queue(*queue),
        FrameAction::SetVlan(id) => StoredAction::SetVlan(*id),
        FrameAction::StripVlan => StoredAction::StripVlan,
        FrameAction::SetSource(mac) => StoredAction::SetSource(mac.0),
        FrameAction::SetDestination(mac) => StoredAction::SetDestination(mac.0),
    }
}

fn load_action(stored: &StoredAction) -> FrameAction {
    match stored {
        StoredAction::Output(port) => FrameAction::Output(PortNumber(*port)),
        StoredAction::Flood => FrameAction::Flood,
        StoredAction::Controller => FrameAction::Controller,
        StoredAction::Queue(queue) => FrameAction::Queue(*queue),
        StoredAction::SetVlan(id) => FrameAction::SetVlan(*id),
        StoredAction::StripVlan => FrameAction::StripVlan,
        StoredAction::SetSource(mac) => FrameAction::SetSource(MacAddress(*mac)),
        StoredAction::SetDestination(mac) => FrameAction::SetDestination(MacAddress(*mac)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_intent_survives_the_store() {
        let owners = [Asker::Operator, Asker::Application("plant".into())];
        for (intent, owner) in examples().into_iter().zip(owners.iter().cycle()) {
            let read = from_bytes(&to_bytes(owner, &intent));

            assert_eq!(read, Ok((owner.clone(), intent)));
        }
    }

    #[test]
    fn a_record_of_an_intent_that_makes_no_sense_is_refused() {
        let mut intent = examples().swap_remove(0);
        intent.kind = IntentKind::HostToHost {
            one: "h1".into(),
            other: "h1".into(),
        };

        let read = from_bytes(&to_bytes(&Asker::Operator, &intent));

        assert!(matches!(read, Err(RecordError::Nonsense(_))));
    }

    #[test]
    fn a_record_of_another_version_is_not_read() {
        let mut bytes = to_bytes(&Asker::Operator, &examples()[0]);
        bytes[0] = 9;

        let read = from_bytes(&bytes);

        assert_eq!(read, Err(RecordError::Version { found: Some(9) }));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_bytes(&bytes);
        }

        #[test]
        fn no_damage_panics(
            which in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            value in any::<u8>(),
        ) {
            let mut bytes = to_bytes(&Asker::Operator, which.get(&examples()));
            *at.get_mut(&mut bytes) = value;

            let _ = from_bytes(&bytes);
        }
    }

    fn examples() -> Vec<Intent> {
        let port = |datapath, number| PortId::new(DatapathId(datapath), PortNumber(number));
        let host = |name: &str| Endpoint::Host(name.into());
        let matching = FrameMatch {
            input: None,
            source: Some(MacAddress([2, 0, 0, 0, 0, 1])),
            flow: FlowMatch {
                ether_type: Some(EtherType::IPV4),
                destination: Some(MacAddress([2, 0, 0, 0, 0, 2])),
                vlan: Some(3),
                ipv4_source: None,
                ipv4_destination: Some(Ipv4Addr::new(10, 0, 0, 1)),
                transport: Some(Transport {
                    protocol: TransportProtocol::Udp,
                    source: None,
                    destination: Some(5_000),
                }),
            },
        };
        let kinds = [
            IntentKind::HostToHost {
                one: "h1".into(),
                other: "h2".into(),
            },
            IntentKind::PointToPoint {
                from: host("h1"),
                to: Endpoint::Port(port(2, 7)),
                matching,
            },
            IntentKind::Multicast {
                from: host("mu"),
                to: vec![host("relay"), Endpoint::Port(port(3, 1))],
                matching: FrameMatch::default(),
            },
            IntentKind::Path {
                from: host("h1"),
                to: host("h2"),
                through: vec![
                    Waypoint::Switch(DatapathId(4)),
                    Waypoint::Link(LinkEnds::new(port(4, 1), port(5, 2))),
                ],
                extent: Extent::Full,
                matching,
                actions: vec![FrameAction::StripVlan, FrameAction::SetVlan(9)],
            },
            IntentKind::MatchAction {
                at: Scope::Switches(vec![DatapathId(1)]),
                priority: 99,
                matching,
                actions: vec![FrameAction::Output(PortNumber(2)), FrameAction::Controller],
            },
        ];
        let named = kinds.into_iter().zip(1..).map(|(kind, number)| Intent {
            name: format!("intent-{number}"),
            kind,
        });
        named.collect()
    }
}
