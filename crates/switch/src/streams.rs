//! Streams whose frames go over several ways and are handed on once (IEEE 802.1CB).
//!
//! Which frames a stream has is said by the entries that name it. Where ways part an entry
//! gives each frame a number in a redundancy tag; where they meet the entries of all
//! arriving ports share a recovery function, which hands on what is new (`recovery`), and
//! behind it, if that is wanted, an ordering function (`ordering`).
//! What is remembered stands in words (`stream_table`), which walks of the
//! [compiled form](crate::compiled) read and change as well.
//!
//! Instead of a tag frames may have a trailer of PRP (IEC 62439-3), which is looked for only
//! where an action is about it.

mod held_frames;
mod node_table;
mod ordering;
mod recovery;
mod stream_table;
mod supervision;
mod trailer;

pub use held_frames::HELD_FRAMES_MAX;
pub(crate) use held_frames::{HeldFrames, RestOfList};
pub(crate) use node_table::NodeTable;
pub(crate) use recovery::Passing;
pub(crate) use stream_table::StreamTable;

use wire::openflow::taktos::{
    Eliminate, SequenceEncoding, StreamHandle, StreamReport, TrailerAction,
};

use crate::action::{Action, Pop, Push};
use crate::egress::{Egress, FrameOutcome};
use crate::headers::Headers;
use crate::packet::{Packet, Stale};

/// How many streams a switch keeps.
pub const STREAMS_MAX: usize = 1024;

impl Egress {
    /// Gives the frame the next number of a stream, in the tag that it has or in a new
    /// one: the sequence generation and encoding functions, IEEE 802.1CB clauses 7.4.1 and
    /// 7.6.
    pub(crate) fn number(&mut self, packet: &mut Packet, stream: StreamHandle) -> FrameOutcome {
        let known = self.judged.take_number();
        match known.or_else(|| self.streams.next(stream)) {
            Some(number) => self.put_number(packet, number),
            None => FrameOutcome::Lives,
        }
    }

    /// Puts a number into the tag that a frame has, or into a new one.
    pub(crate) fn put_number(&mut self, packet: &mut Packet, number: u16) -> FrameOutcome {
        packet.refresh_headers(&self.pool);
        let Some(at) = packet.headers.redundancy_at else {
            return self.push(packet, Push::Redundancy(number));
        };
        self.change(packet, Stale::Nothing, |frame, _| {
            frame[at + 4..at + 6].copy_from_slice(&number.to_be_bytes());
        })
    }

    /// Ends the frame if a copy of it was handed on before; else it goes on, without its
    /// tag or trailer if that is wanted.
    pub(crate) fn eliminate(&mut self, packet: &mut Packet, how: &Eliminate) -> FrameOutcome {
        let passing = match self.judged.take_passing() {
            Some(passing) => passing,
            None => self.recover(packet, how),
        };
        match passing {
            Passing::Dropped => FrameOutcome::Ends,
            Passing::Passes if how.strips_tag => self.strip(packet, how.encoding),
            Passing::Passes => FrameOutcome::Lives,
        }
    }

    /// Returns whether a frame is new to a stream, which takes it then. What counts is when
    /// it arrived.
    pub(crate) fn recover(&mut self, packet: &mut Packet, how: &Eliminate) -> Passing {
        let number = self.sequence_number(packet, how.encoding);
        let arrived = self.pool.arrived(packet.slot);
        self.streams.take(how, arrived, number)
    }

    /// Returns the number that a frame has.
    fn sequence_number(&mut self, packet: &mut Packet, encoding: SequenceEncoding) -> Option<u16> {
        match encoding {
            SequenceEncoding::RTag => {
                packet.refresh_headers(&self.pool);
                number_of(&packet.headers, self.pool.frame(packet.slot))
            }
            SequenceEncoding::Prp => self.trailer_of(packet).map(|(it, _)| it.sequence),
        }
    }

    /// Takes the number off a frame, if it has one.
    pub(crate) fn strip(
        &mut self,
        packet: &mut Packet,
        encoding: SequenceEncoding,
    ) -> FrameOutcome {
        match encoding {
            SequenceEncoding::RTag => self.pop(packet, Pop::Redundancy),
            SequenceEncoding::Prp => self.take_trailer_off(packet),
        }
    }

    /// Notes that an entry names streams.
    pub(crate) fn hold_streams(&mut self, actions: &[Action]) {
        for action in actions {
            match action {
                Action::Sequence(stream) | Action::Trailer(TrailerAction::Number(stream)) => {
                    self.streams.hold(*stream, None);
                }
                Action::Eliminate(how) => {
                    self.streams.hold(how.stream, Some(how));
                    self.held_frames.prepare(how);
                }
                _ => {}
            }
        }
    }

    /// Notes that an entry names streams no more.
    pub(crate) fn release_streams(&mut self, actions: &[Action]) {
        for stream in actions.iter().filter_map(stream_of) {
            self.streams.release(stream);
            self.forget_order_unless_known(stream);
        }
    }

    /// Forgets streams that no entry names, from now on at once.
    pub(crate) fn forget_unnamed_streams(&mut self) {
        self.streams.forget_unnamed();
        self.held_frames
            .known()
            .into_iter()
            .for_each(|stream| self.forget_order_unless_known(stream));
    }

    /// Returns the stream behind another one, or the first, as it stands.
    pub(crate) fn stream_behind(&self, before: Option<StreamHandle>) -> Option<StreamReport> {
        self.stream_report(self.streams.behind(before)?)
    }

    /// Returns a stream as it stands.
    pub(crate) fn stream_report(&self, stream: StreamHandle) -> Option<StreamReport> {
        let mut report = self.streams.report(stream)?;
        let counters = &mut report.counters;
        [counters.held, counters.gave_up, counters.late] = self.held_frames.counters(stream);
        Some(report)
    }
}

/// Returns the stream that an action names.
pub(crate) const fn stream_of(action: &Action) -> Option<StreamHandle> {
    match action {
        Action::Sequence(stream) | Action::Trailer(TrailerAction::Number(stream)) => Some(*stream),
        Action::Eliminate(how) => Some(how.stream),
        _ => None,
    }
}

/// Returns the number in the redundancy tag of a frame.
fn number_of(headers: &Headers, frame: &[u8]) -> Option<u16> {
    let at = headers.redundancy_at?;
    let number = frame.get(at + 4..)?.first_chunk()?;
    Some(u16::from_be_bytes(*number))
}
