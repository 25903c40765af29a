//! What the receiver of a flood answers.

use wire::ethernet::{EtherType, Header, SHORTEST_FRAME};
use wire::message_shim;

use super::super::datagram::{Addresses, Datagram, DatagramView};

/// The greatest frame received, and a map of those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    /// The greatest sequence number that arrived.
    pub(super) greatest: u32,
    /// Bit `n` stands for the frame `n + 1` before.
    earlier: u64,
}

const LENGTH: usize = 4 + 8;
/// The longest frame with an answer, without check sequence: with a VLAN tag.
pub const LONGEST_ANSWER: usize = 14 + 4 + 20 + 8 + message_shim::LENGTH + LENGTH;
/// How many frames one answer speaks of. Answers are the smallest frames there
/// are, and as costly to a switch's processor as the largest: few of them leave
/// it to those with a promise.
pub const FRAMES_PER_ANSWER: u32 = 16;

impl Acknowledgement {
    /// Tells whether the frame with this id has arrived.
    pub(super) fn covers(&self, id: u32) -> bool {
        match self.greatest.wrapping_sub(id) {
            0 => true,
            behind @ 1..=64 => self.earlier >> (behind - 1) & 1 == 1,
            _ => false,
        }
    }

    /// Reads an acknowledgement with these addresses, if the frame is one.
    pub(super) fn find(frame: &[u8], addresses: &Addresses) -> Option<Self> {
        let datagram = datagram_between(frame, addresses)?;
        let (bytes, _) = datagram.payload.split_first_chunk::<LENGTH>()?;
        let (greatest, earlier) = bytes.split_first_chunk::<4>()?;
        Some(Self {
            greatest: u32::from_be_bytes(*greatest),
            earlier: u64::from_be_bytes(*earlier.first_chunk()?),
        })
    }

    fn emit(self, out: &mut [u8]) {
        let (greatest, earlier) = out.split_at_mut(4);
        greatest.copy_from_slice(&self.greatest.to_be_bytes());
        earlier[..8].copy_from_slice(&self.earlier.to_be_bytes());
    }

    fn add(&mut self, id: u32) {
        let ahead = id.wrapping_sub(self.greatest);
        match ahead {
            0 => {}
            1..=0x7fff_ffff => {
                self.earlier = self.earlier.checked_shl(ahead).unwrap_or(0);
                if let 1..=64 = ahead {
                    self.earlier |= 1 << (ahead - 1);
                }
                self.greatest = id;
            }
            _ => {
                if let behind @ 1..=64 = self.greatest.wrapping_sub(id) {
                    self.earlier |= 1 << (behind - 1);
                }
            }
        }
    }
}

/// The receiver of a flood: answers every [`FRAMES_PER_ANSWER`]th frame of it.
#[derive(Debug)]
pub struct Acknowledger {
    flood: Addresses,
    datagram: Datagram,
    heard: Option<Acknowledgement>,
    /// Frames since the last answer.
    unanswered: u32,
    next: u32,
}

impl Acknowledger {
    /// Returns the receiver of a flood that is sent with these addresses.
    #[must_use]
    pub fn new(flood: Addresses) -> Self {
        let answers = flood.reversed();
        let length = (answers.shortest_frame() + LENGTH).max(SHORTEST_FRAME);
        Self {
            flood,
            datagram: Datagram::new(&answers, length),
            heard: None,
            unanswered: 0,
            next: 0,
        }
    }

    /// Takes a frame that arrived, and puts an answer into `answer` if the frame
    /// belongs to the flood and it is time for one. Returns the length of the
    /// answer.
    pub fn received(&mut self, frame: &[u8], answer: &mut Vec<u8>) -> Option<usize> {
        let sequence = datagram_between(frame, &self.flood)?.shim.sequence;
        let heard = self.heard.get_or_insert(Acknowledgement {
            greatest: sequence,
            earlier: 0,
        });
        heard.add(sequence);
        self.unanswered += 1;
        if self.unanswered < FRAMES_PER_ANSWER {
            return None;
        }
        self.unanswered = 0;
        let own = self.next;
        self.next = own.wrapping_add(1);
        self.datagram
            .fill(self.datagram.message_of_one(own), answer);
        heard.emit(&mut answer[self.datagram.payload_at()..]);
        Some(answer.len())
    }
}

/// Returns a frame as a datagram with these addresses, if it is one.
fn datagram_between<'a>(frame: &'a [u8], addresses: &Addresses) -> Option<DatagramView<'a>> {
    let (header, packet) = Header::parse(frame).ok()?;
    if header.ether_type != EtherType::IPV4 {
        return None;
    }
    let datagram = DatagramView::parse(packet)?;
    let same = datagram.source == addresses.source
        && datagram.destination == addresses.destination
        && datagram.destination_port == addresses.destination_port;
    same.then_some(datagram)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;
    use units::{Duration, Instant};
    use wire::ethernet::MacAddress;

    use super::super::{BestEffortConfig, Flood};
    use super::*;

    #[test]
    fn the_map_follows_the_greatest_and_keeps_what_came_before() {
        let mut heard = Acknowledgement {
            greatest: u32::MAX - 1,
            earlier: 0,
        };

        for id in [u32::MAX, 1, 0, 70] {
            heard.add(id);
        }

        assert_eq!(heard.greatest, 70);
        assert!(!heard.covers(69) && !heard.covers(5));
        heard.add(6);
        assert!(heard.covers(6) && heard.covers(70) && !heard.covers(71));
    }

    proptest! {
        /// Whoever answers, and whatever: the sender goes on.
        #[test]
        fn forged_acknowledgements_do_no_harm(forged in prop::collection::vec((any::<u32>(), any::<u64>()), 1..30)) {
            let mut source = Flood::new(&BestEffortConfig {
                addresses: addresses(),
                frame_length: 1000,
                limit: None,
                start: Instant::ZERO,
                until: None,
            });
            let (mut now, mut frame, mut answer) = (Instant::ZERO, Vec::new(), Vec::new());
            let mut acknowledger = Acknowledger::new(addresses());
            for (greatest, earlier) in forged {
                for _ in 0..5 {
                    source.emit(now, &mut frame);
                }
                while acknowledger.received(&frame, &mut answer).is_none() {}
                let at = acknowledger.datagram.payload_at();
                Acknowledgement { greatest: greatest % 64, earlier }.emit(&mut answer[at..]);
                source.received(now, &answer);
                Acknowledgement { greatest, earlier }.emit(&mut answer[at..]);
                source.received(now, &answer);
                now += Duration::from_ms(1);
            }

            prop_assert!(source.window() >= 1);
            let due = source.next_due().unwrap();
            prop_assert!(source.emit(now.max(due), &mut frame).is_some());
        }
    }

    fn addresses() -> Addresses {
        Addresses {
            source_mac: MacAddress([2, 0, 0, 0, 0, 1]),
            destination_mac: MacAddress([2, 0, 0, 0, 0, 2]),
            vlan: None,
            source: Ipv4Addr::new(10, 0, 0, 1),
            destination: Ipv4Addr::new(10, 0, 0, 2),
            source_port: 40_000,
            destination_port: 5_000,
            dscp: 0,
        }
    }
}
