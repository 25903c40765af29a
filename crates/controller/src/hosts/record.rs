//! A host that somebody has named, as the store keeps it.
//!
//! The first byte is the version of the form; a record of another version is not
//! read.

use serde::{Deserialize, Serialize};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

use crate::northbound::StaticHost;
use crate::place::PortId;

const VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct Stored {
    name: String,
    ipv4: Option<[u8; 4]>,
    ipv6: Option<[u8; 16]>,
    /// Datapath id and port number.
    attachment: Option<(u64, u32)>,
}

/// Returns the bytes of a host; its address is the name of its record.
#[must_use]
pub fn to_bytes(host: &StaticHost) -> Vec<u8> {
    let attachment = host.attachment;
    let stored = Stored {
        name: host.name.clone(),
        ipv4: host.ipv4.map(|address| address.octets()),
        ipv6: host.ipv6.map(|address| address.octets()),
        attachment: attachment.map(|port| (port.datapath.0, port.port.0)),
    };
    postcard::to_extend(&stored, vec![VERSION])
        .expect("numbers and texts always have a form, and a vector has room")
}

/// Reads the bytes of a host, or returns `None` if they are none.
#[must_use]
pub fn from_bytes(mac: MacAddress, bytes: &[u8]) -> Option<StaticHost> {
    let [VERSION, content @ ..] = bytes else {
        return None;
    };
    let stored: Stored = postcard::from_bytes(content).ok()?;
    let port = |(datapath, number)| PortId::new(DatapathId(datapath), PortNumber(number));
    Some(StaticHost {
        name: stored.name,
        mac,
        ipv4: stored.ipv4.map(Into::into),
        ipv6: stored.ipv6.map(Into::into),
        attachment: stored.attachment.map(port),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_host_is_read_as_it_was_written(
            name in ".{0,20}",
            ipv4 in any::<Option<[u8; 4]>>(),
            ipv6 in any::<Option<[u8; 16]>>(),
            port in any::<Option<(u64, u32)>>(),
        ) {
            let mac = MacAddress([2, 0, 0, 0, 0, 1]);
            let place = |(datapath, number)| PortId::new(DatapathId(datapath), PortNumber(number));
            let host = StaticHost {
                name,
                mac,
                ipv4: ipv4.map(Into::into),
                ipv6: ipv6.map(Into::into),
                attachment: port.map(place),
            };

            prop_assert_eq!(from_bytes(mac, &to_bytes(&host)), Some(host));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = from_bytes(MacAddress::ZERO, &bytes);
        }
    }
}
