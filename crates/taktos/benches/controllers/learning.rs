//! A learning switch and nothing else: no session, no view, no clock, no budget.

use wire::ethernet::{Header, MacAddress};
use wire::openflow::{Action, Actions, Message, PacketIn, PacketOut, PortNumber, TransactionId};

use crate::responder::emit_entry;

/// How many hosts are kept; a power of two: 16 switches with 100,000 each fill it less
/// than half.
const CAPACITY: usize = 1 << 22;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Where hosts were seen: a hash table whose entries lie where their hash points, or
/// behind that.
pub struct Learner {
    places: Vec<Place>,
    used: usize,
}

#[derive(Clone, Copy)]
struct Place {
    /// The connection and the address; zero if the place is free.
    key: u64,
    port: PortNumber,
}

impl Learner {
    pub fn new() -> Self {
        let free = Place {
            key: 0,
            port: PortNumber(0),
        };
        Self {
            places: vec![free; CAPACITY],
            used: 0,
        }
    }

    /// Answers a packet-in that came over the connection `mark`.
    pub fn answer(&mut self, mark: u64, message: &[u8], out: &mut Vec<u8>) {
        let Ok((_, Message::PacketIn(packet_in))) = Message::parse(message) else {
            return;
        };
        let (Some(in_port), Ok((header, _))) = (packet_in.in_port(), Header::parse(packet_in.data))
        else {
            return;
        };
        self.learn(key(mark, header.source), in_port);
        match self.port(key(mark, header.destination)) {
            Some(port) => {
                let addresses = [header.destination, header.source];
                emit_entry(addresses, [in_port, port], out);
                send_on(&packet_in, in_port, port, out);
            }
            None => send_on(&packet_in, in_port, PortNumber::FLOOD, out),
        }
    }

    fn learn(&mut self, key: u64, port: PortNumber) {
        if self.used > CAPACITY / 2 {
            self.places.fill(Place {
                key: 0,
                port: PortNumber(0),
            });
            self.used = 0;
        }
        let index = self.find(key);
        self.used += usize::from(self.places[index].key == 0);
        self.places[index] = Place { key, port };
    }

    fn port(&self, key: u64) -> Option<PortNumber> {
        let place = self.places[self.find(key)];
        (place.key == key).then_some(place.port)
    }

    /// Returns where a key is, or where it would be.
    fn find(&self, key: u64) -> usize {
        let hash = key.wrapping_mul(FACTOR) >> (64 - CAPACITY.ilog2());
        let mut index = usize::try_from(hash).unwrap_or(0);
        while self.places[index].key != 0 && self.places[index].key != key {
            index = (index + 1) % CAPACITY;
        }
        index
    }
}

/// Returns what an address is known by: no two connections share one.
fn key(mark: u64, mac: MacAddress) -> u64 {
    let [a, b, c, d, e, f] = mac.0;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f]) | (mark + 1) << 48
}

fn send_on(packet_in: &PacketIn<'_>, in_port: PortNumber, to: PortNumber, out: &mut Vec<u8>) {
    let actions = [Action::output(to)];
    let packet_out = PacketOut {
        buffer: packet_in.buffer,
        in_port,
        actions: Actions::of(&actions),
        data: packet_in.data,
    };
    packet_out.emit(TransactionId(0), out);
}
