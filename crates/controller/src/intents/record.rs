//! An intent as the store keeps it.
//!
//! A record says what is to hold and who wants it, never how it is kept: that is
//! found anew in the network as it is. The first byte is the version of the form; a
//! record of another version is not read.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::PortNumber;

use super::sense;
use crate::northbound::{
    Asker, Endpoint, Extent, FlowMatch, FrameAction, FrameMatch, Intent, IntentKind, Scope,
    Transport, Waypoint,
};
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
        kind: intent.kind.clone(),
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
        kind: stored.kind,
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
    #[serde(with = "StoredKind")]
    kind: IntentKind,
}

/// The form of a kind in a record: its place, then its fields.
#[derive(Serialize, Deserialize)]
#[serde(remote = "IntentKind")]
enum StoredKind {
    HostToHost {
        one: String,
        other: String,
    },
    PointToPoint {
        from: Endpoint,
        to: Endpoint,
        #[serde(with = "StoredMatch")]
        matching: FrameMatch,
    },
    Multicast {
        from: Endpoint,
        to: Vec<Endpoint>,
        #[serde(with = "StoredMatch")]
        matching: FrameMatch,
    },
    Path {
        from: Endpoint,
        to: Endpoint,
        through: Vec<Waypoint>,
        extent: Extent,
        #[serde(with = "StoredMatch")]
        matching: FrameMatch,
        actions: Vec<FrameAction>,
    },
    MatchAction {
        at: Scope,
        priority: u8,
        #[serde(with = "StoredMatch")]
        matching: FrameMatch,
        actions: Vec<FrameAction>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FrameMatch")]
struct StoredMatch {
    input: Option<PortNumber>,
    source: Option<MacAddress>,
    #[serde(with = "StoredFlowMatch")]
    flow: FlowMatch,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FlowMatch")]
struct StoredFlowMatch {
    ether_type: Option<EtherType>,
    destination: Option<MacAddress>,
    vlan: Option<u16>,
    ipv4_source: Option<Ipv4Addr>,
    ipv4_destination: Option<Ipv4Addr>,
    #[serde(with = "stored_transport")]
    transport: Option<Transport>,
}

/// Whether it is TCP, and the ports.
mod stored_transport {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::northbound::{Transport, TransportProtocol};

    type Stored = Option<(bool, Option<u16>, Option<u16>)>;

    pub fn serialize<S: Serializer>(
        transport: &Option<Transport>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let stored: Stored = transport.map(|transport| {
            let is_tcp = match transport.protocol {
                TransportProtocol::Tcp => true,
                TransportProtocol::Udp => false,
            };
            (is_tcp, transport.source, transport.destination)
        });
        stored.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Transport>, D::Error> {
        let stored = Stored::deserialize(from)?;
        Ok(stored.map(|(is_tcp, source, destination)| Transport {
            protocol: match is_tcp {
                true => TransportProtocol::Tcp,
                false => TransportProtocol::Udp,
            },
            source,
            destination,
        }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wire::openflow::DatapathId;

    use super::*;
    use crate::northbound::TransportProtocol;
    use crate::place::{LinkEnds, PortId};

    #[test]
    fn every_kind_of_intent_survives_the_store() {
        let owners = [Asker::Operator, Asker::Application("plant".into())];
        for (intent, owner) in examples().into_iter().zip(owners.iter().cycle()) {
            let read = from_bytes(&to_bytes(owner, &intent));

            assert_eq!(read, Ok((owner.clone(), intent)));
        }
    }

    /// What stores of before hold has to be read.
    #[test]
    fn the_form_of_a_record_stays() {
        let before = [
            "010008696e74656e742d3100026831026832",
            "010008696e74656e742d320100026831010207000102000000000101801001020000000\
             002010300010a000001010000018827",
            "010008696e74656e742d330200026d7502000572656c61790103010000000000000000",
            "010008696e74656e742d340300026831000268320200040104010502010001020000000\
             00101801001020000000002010300010a00000101000001882702050409",
            "010008696e74656e742d350401010163000102000000000101801001020000000002010\
             300010a00000101000001882702000202",
        ];
        let written = examples().into_iter().map(|intent| {
            let bytes = to_bytes(&Asker::Operator, &intent);
            let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        });

        assert_eq!(written.collect::<Vec<_>>(), before);
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
