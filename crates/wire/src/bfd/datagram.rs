//! Packets over IPv4 (RFC 5881): to port 3784, and with the greatest time to live, so that
//! whoever is farther away than the neighbour cannot send one that counts (RFC 5082).

use std::net::Ipv4Addr;

use thiserror::Error;

use crate::ipv4::{self, PROTOCOL_UDP};
use crate::udp;

/// Where packets go.
pub const UDP_PORT: u16 = 3784;
/// Where they come from: a port of those that are for it, RFC 5881 section 4.
const SOURCE_PORT: u16 = 49_152;
const TIME_TO_LIVE: u8 = 255;
/// Network control, RFC 2474: the most urgent there is.
const TRAFFIC_CLASS: u8 = 0xc0;

/// Two that speak BFD over IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// Whose end this is.
    pub local: Ipv4Addr,
    /// Who is at the other one.
    pub remote: Ipv4Addr,
}

/// A datagram for the port of BFD does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadDatagram {
    /// It may have come from farther away than the neighbour.
    #[error("packet with a time to live of {time_to_live}, not {TIME_TO_LIVE}")]
    TimeToLive {
        /// What stands there.
        time_to_live: u8,
    },
    /// It was damaged.
    #[error("datagram is damaged or cut short")]
    Damaged,
}

impl Neighbours {
    /// Returns what a packet that came says in a datagram of BFD; none if it is another
    /// packet, or one of others.
    #[must_use]
    pub fn payload<'a>(&self, packet: &'a [u8]) -> Option<Result<&'a [u8], BadDatagram>> {
        let (ip, datagram) = ipv4::Header::parse(packet).ok()?;
        let ends = (ip.source, ip.destination, ip.protocol);
        let port = datagram.get(2..4)?;
        if ends != (self.remote, self.local, PROTOCOL_UDP) || port != UDP_PORT.to_be_bytes() {
            return None;
        }
        let time_to_live = ip.time_to_live;
        if time_to_live != TIME_TO_LIVE {
            return Some(Err(BadDatagram::TimeToLive { time_to_live }));
        }
        let udp = udp::Header::parse(datagram).ok();
        let whole = udp.filter(|_| udp::verify(&ip, datagram).is_ok());
        Some(whole.map_or(Err(BadDatagram::Damaged), |(_, payload)| Ok(payload)))
    }

    /// Appends an IPv4 packet that carries a packet of BFD.
    pub fn emit(&self, payload: &[u8], out: &mut Vec<u8>) {
        let ip = ipv4::Header {
            source: self.local,
            destination: self.remote,
            protocol: PROTOCOL_UDP,
            traffic_class: TRAFFIC_CLASS,
            time_to_live: TIME_TO_LIVE,
        };
        let udp = udp::Header {
            source_port: SOURCE_PORT,
            destination_port: UDP_PORT,
        };
        udp.emit_packet(&ip, payload, out);
    }
}
