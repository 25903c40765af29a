//! In which frames the packets of a session come and go: right behind the Ethernet header
//! between our switches, or over IPv4, where the neighbour's address has to be found first
//! (RFC 826).

use wire::arp::{Arp, Operation};
use wire::bfd::{BadDatagram, DESTINATION, Encapsulation, Neighbours, is_stand_in};
use wire::ethernet::{EtherType, Header, MacAddress};

use super::session::Fault;

/// What a frame is to a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Incoming<'a> {
    /// A packet of BFD.
    Packet(&'a [u8]),
    /// One that cannot count.
    Bad(Fault),
    /// The neighbour asks for our address, and is to be answered.
    Asked(Arp),
    /// The neighbour says its address.
    Told,
    /// The neighbour's kernel says that it forwards, its process being late.
    StandIn,
}

/// Between which bytes packets stand, and where they go.
#[derive(Debug)]
pub(super) struct Framing {
    encapsulation: Encapsulation,
    /// The address of this end's port.
    own: MacAddress,
    /// That of the neighbour, if it is needed and known.
    neighbour: Option<MacAddress>,
}

impl Framing {
    pub(super) const fn new(encapsulation: Encapsulation, own: MacAddress) -> Self {
        Self {
            encapsulation,
            own,
            neighbour: None,
        }
    }

    pub(super) const fn encapsulation(&self) -> Encapsulation {
        self.encapsulation
    }

    /// Forgets where the neighbour is: another one may be there.
    pub(super) const fn forget(&mut self) {
        self.neighbour = None;
    }

    /// Returns what a frame is to the session; none if it is for others.
    pub(super) fn read<'a>(&mut self, frame: &'a [u8]) -> Option<Incoming<'a>> {
        let (header, payload) = Header::parse(frame).ok()?;
        if header.vlan.is_some() {
            return None;
        }
        match (self.encapsulation, header.ether_type) {
            (Encapsulation::Ethernet, EtherType::BFD) if is_stand_in(payload) => {
                Some(Incoming::StandIn)
            }
            (Encapsulation::Ethernet, EtherType::BFD) => Some(Incoming::Packet(payload)),
            (Encapsulation::Ipv4(ends), EtherType::IPV4) => {
                let packet = ends.payload(payload)?;
                Some(match packet {
                    Ok(packet) => {
                        self.neighbour = Some(header.source);
                        Incoming::Packet(packet)
                    }
                    Err(BadDatagram::TimeToLive { .. }) => Incoming::Bad(Fault::Hopped),
                    Err(BadDatagram::Damaged) => Incoming::Bad(Fault::Malformed),
                })
            }
            (Encapsulation::Ipv4(ends), EtherType::ARP) => self.resolve(ends, payload),
            _ => None,
        }
    }

    fn resolve(&mut self, ends: Neighbours, payload: &[u8]) -> Option<Incoming<'static>> {
        let said = Arp::parse(payload).ok()?;
        if (said.sender, said.target) != (ends.remote, ends.local) {
            return None;
        }
        self.neighbour = Some(said.sender_mac);
        Some(match said.operation {
            Operation::Request => Incoming::Asked(said),
            Operation::Reply => Incoming::Told,
        })
    }

    /// Appends a frame with a packet; a question for the neighbour's address if that is not
    /// known.
    pub(super) fn emit(&self, packet: &[u8], out: &mut Vec<u8>) {
        match (self.encapsulation, self.neighbour) {
            (Encapsulation::Ethernet, _) => {
                self.header(DESTINATION, EtherType::BFD).emit(out);
                out.extend_from_slice(packet);
            }
            (Encapsulation::Ipv4(ends), Some(neighbour)) => {
                self.header(neighbour, EtherType::IPV4).emit(out);
                ends.emit(packet, out);
            }
            (Encapsulation::Ipv4(ends), None) => {
                self.header(MacAddress::BROADCAST, EtherType::ARP).emit(out);
                let question = Arp {
                    operation: Operation::Request,
                    sender_mac: self.own,
                    sender: ends.local,
                    target_mac: MacAddress::ZERO,
                    target: ends.remote,
                };
                question.emit(out);
            }
        }
    }

    /// Appends a frame that answers who asked for our address.
    pub(super) fn answer(&self, asked: &Arp, out: &mut Vec<u8>) {
        self.header(asked.sender_mac, EtherType::ARP).emit(out);
        let answer = Arp {
            operation: Operation::Reply,
            sender_mac: self.own,
            sender: asked.target,
            target_mac: asked.sender_mac,
            target: asked.sender,
        };
        answer.emit(out);
    }

    const fn header(&self, destination: MacAddress, ether_type: EtherType) -> Header {
        Header {
            destination,
            source: self.own,
            vlan: None,
            ether_type,
        }
    }
}
