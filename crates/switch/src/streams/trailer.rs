//! The trailer of PRP on a frame (IEC 62439-3 clause 4.2.7.3): it comes and goes at the end.

use wire::ethernet::SHORTEST_FRAME;
use wire::openflow::taktos::TrailerAction;
use wire::prp::{Lan, TRAILER_LENGTH, Trailer, length_with_trailer};

use crate::egress::{Egress, FrameOutcome};
use crate::packet::{Packet, Stale};

impl Egress {
    /// Does what an action says about the trailer of a frame.
    pub(crate) fn change_trailer(
        &mut self,
        packet: &mut Packet,
        what: TrailerAction,
    ) -> FrameOutcome {
        match what {
            TrailerAction::Lan(lan) => match self.trailer_of(packet) {
                Some((found, at)) => self.write_trailer(packet, Trailer { lan, ..found }, at),
                None => FrameOutcome::Lives,
            },
            TrailerAction::Number(stream) => {
                let known = self.judged.take_number();
                match known.or_else(|| self.streams.next(stream)) {
                    Some(number) => self.put_trailer(packet, number),
                    None => FrameOutcome::Lives,
                }
            }
            TrailerAction::Supervise => {
                let frame = self.pool.frame(packet.slot);
                self.nodes.take_in(packet.port, frame);
                FrameOutcome::Ends
            }
        }
    }

    /// Puts a number into the trailer that a frame has, or into a new one, as it goes to the
    /// first LAN.
    pub(crate) fn put_trailer(&mut self, packet: &mut Packet, sequence: u16) -> FrameOutcome {
        let trailer = Trailer {
            sequence,
            lan: Lan::A,
        };
        if let Some((_, at)) = self.trailer_of(packet) {
            return self.write_trailer(packet, trailer, at);
        }
        if self.make_unique(packet) == FrameOutcome::Ends {
            return FrameOutcome::Ends;
        }
        let length = length_with_trailer(self.pool.frame(packet.slot).len());
        if self.pool.pad(packet.slot, length).is_err() {
            self.counters.abandoned += 1;
            return FrameOutcome::Ends;
        }
        self.write_trailer(packet, trailer, length - TRAILER_LENGTH)
    }

    /// Takes the trailer off. A frame that was long enough for the medium remains so.
    pub(crate) fn take_trailer_off(&mut self, packet: &mut Packet) -> FrameOutcome {
        let Some((_, at)) = self.trailer_of(packet) else {
            return FrameOutcome::Lives;
        };
        let fate = self.make_unique(packet);
        if fate == FrameOutcome::Lives {
            let was_long_enough = self.pool.frame(packet.slot).len() >= SHORTEST_FRAME;
            self.pool.truncate(packet.slot, at);
            if was_long_enough {
                self.keep_long_enough(packet);
            }
            packet.stale = Stale::Headers;
        }
        fate
    }

    /// Returns the trailer of a frame, and where it stands.
    pub(crate) fn trailer_of(&self, packet: &Packet) -> Option<(Trailer, usize)> {
        Trailer::of_frame(self.pool.frame(packet.slot)).ok()
    }

    fn write_trailer(&mut self, packet: &mut Packet, trailer: Trailer, at: usize) -> FrameOutcome {
        // A packet that says to be longer than it is reads even this.
        self.change(packet, Stale::Headers, |frame, _| {
            let written = trailer.put(&mut frame[..at + TRAILER_LENGTH]);
            debug_assert!(written.is_ok(), "no frame of the pool is too long");
        })
    }
}
