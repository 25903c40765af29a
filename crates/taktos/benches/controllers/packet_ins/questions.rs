//! The packet-ins that a played switch sends, prepared.

use std::ops::Range;

use wire::ethernet::{EtherType, Header, MacAddress, SHORTEST_FRAME};

use super::dialect::Dialect;

/// How many ports a played switch has; its hosts are spread over them.
pub const PORTS: u16 = 4;
/// How long the frame of a question is.
pub const FRAME_LENGTH: usize = SHORTEST_FRAME;

/// What the frames of questions carry: an EtherType for experiments (IEEE 802),
/// so that no controller takes them for more than frames.
const ETHER_TYPE: EtherType = EtherType(0x88b5);
/// By what a frame of a question is known, behind its header.
const MARK: [u8; 4] = *b"ask?";
const MARK_AT: usize = 14;
const NUMBER_AT: usize = 18;
const NUMBER_END: usize = NUMBER_AT + 8;

/// The hosts of one played switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Population {
    /// The number of the switch; the hosts of two switches differ.
    pub switch: u16,
    /// How many hosts there are, 2^24 at most.
    pub hosts: u32,
}

impl Population {
    #[must_use]
    pub const fn mac(self, host: u32) -> MacAddress {
        let ([a, b], [_, c, d, e]) = (self.switch.to_be_bytes(), host.to_be_bytes());
        MacAddress([0x02, a, b, c, d, e])
    }

    pub(crate) fn host_with(self, mac: MacAddress) -> Option<u32> {
        let [.., c, d, e] = mac.0;
        let host = u32::from_be_bytes([0, c, d, e]);
        (host < self.hosts && self.mac(host) == mac).then_some(host)
    }

    /// Returns who sends question `number`.
    pub(crate) fn source(self, number: u64) -> u32 {
        let host = number % u64::from(self.hosts);
        u32::try_from(host).expect("below a u32")
    }

    /// Returns to whom question `number` is sent.
    pub(crate) fn destination(self, number: u64) -> u32 {
        self.source(number + 1)
    }
}

/// Returns the port behind which a host is, whichever the switch.
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "a few ports")]
pub const fn host_port(host: u32) -> u16 {
    (host % PORTS as u32) as u16 + 1
}

/// The prepared packet-ins of one switch, one a host.
#[derive(Debug)]
pub(crate) struct Questions {
    population: Population,
    dialect: Dialect,
    /// All of the same length, one behind the other.
    prepared: Vec<u8>,
    length: usize,
}

impl Questions {
    /// Prepares the questions of a population.
    ///
    /// # Panics
    ///
    /// If the hosts cannot be spread evenly over the ports: then a host and its
    /// partner could be behind the same one.
    pub(crate) fn new(population: Population, dialect: Dialect) -> Self {
        let hosts = population.hosts;
        assert!(
            hosts > 0 && hosts <= 1 << 24 && hosts.is_multiple_of(u32::from(PORTS)),
            "{hosts} hosts do not spread evenly over {PORTS} ports"
        );
        let mut prepared = Vec::new();
        for host in 0..hosts {
            let destination = population.mac(population.destination(u64::from(host)));
            let frame = frame(population.mac(host), destination, &MARK);
            dialect.emit_packet_in(host_port(host), &frame, &mut prepared);
        }
        let length = prepared.len() / hosts as usize;
        Self {
            population,
            dialect,
            prepared,
            length,
        }
    }

    /// Appends question `number`.
    #[inline]
    pub(crate) fn emit(&self, number: u64, out: &mut Vec<u8>) {
        let host = self.population.source(number) as usize;
        let question = &self.prepared[host * self.length..][..self.length];
        out.extend_from_slice(question);
        let number_at = out.len() - FRAME_LENGTH + NUMBER_AT;
        out[number_at..][..8].copy_from_slice(&number.to_be_bytes());
    }

    /// Appends a frame to everybody from each of these hosts, which asks nothing.
    pub(crate) fn emit_introductions(&self, hosts: Range<u32>, out: &mut Vec<u8>) {
        for host in hosts {
            let frame = frame(self.population.mac(host), MacAddress::BROADCAST, &[0; 4]);
            self.dialect.emit_packet_in(host_port(host), &frame, out);
        }
    }
}

fn frame(source: MacAddress, destination: MacAddress, mark: &[u8; 4]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(FRAME_LENGTH);
    let header = Header {
        destination,
        source,
        vlan: None,
        ether_type: ETHER_TYPE,
    };
    header.emit(&mut frame);
    frame.extend_from_slice(mark);
    frame.resize(FRAME_LENGTH, 0);
    frame
}

/// Returns which question of `population` a frame belongs to, if to any.
#[inline]
pub(crate) fn number_of(population: Population, frame: &[u8]) -> Option<u64> {
    if frame.len() != FRAME_LENGTH || frame[MARK_AT..NUMBER_AT] != MARK {
        return None;
    }
    let number = frame[NUMBER_AT..NUMBER_END].try_into().ok()?;
    let number = u64::from_be_bytes(number);
    let hosts = [population.destination(number), population.source(number)];
    let [destination, source] = hosts.map(|host| population.mac(host).0);
    (frame[..6] == destination && frame[6..12] == source).then_some(number)
}
