//! Frames that the switch keeps while a controller decides about them, OF13
//! clauses 6.1.2 and 7.4.1.
//!
//! A frame is copied out of the pool, so that a controller that never answers
//! costs no room that other frames need. A kept frame that nobody asked for is
//! given up for a younger one, but not before a minimum time has passed; while
//! all are younger than that, frames are sent to the controller whole.
//!
//! The number of a kept frame tells its place and how often the place was used,
//! so that a late answer does not release another frame than the one it means.

use units::{Duration, Instant};
use wire::openflow::{BadRequest, BufferId, ErrorKind, PortNumber};

use crate::config::PacketBuffersConfig;

/// How many frames can be kept: what the numbers have room for.
const BUFFERS_MAX: usize = 1 << 16;
const PLACE_BITS: u32 = 16;
/// The last turn of a place before it begins anew: one more would be the number
/// that stands for no frame.
const LAST_TURN: u16 = u16::MAX - 1;

/// A frame that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptFrame {
    /// The port at which it arrived.
    pub(super) in_port: PortNumber,
    pub(super) frame: Vec<u8>,
}

#[derive(Debug)]
struct BufferSlot {
    /// How often the place was used before.
    turn: u16,
    since: Instant,
    /// Nothing if it was asked for.
    kept: Option<KeptFrame>,
}

/// All frames that are kept.
#[derive(Debug)]
pub(super) struct PacketBuffers {
    capacity: usize,
    hold: Duration,
    /// As many as were needed so far.
    places: Vec<BufferSlot>,
}

impl PacketBuffers {
    pub(super) const fn new(config: PacketBuffersConfig) -> Self {
        assert!(
            config.frames <= BUFFERS_MAX,
            "more than the numbers have room for"
        );
        Self {
            capacity: config.frames,
            hold: config.hold,
            places: Vec::new(),
        }
    }

    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    /// Keeps a copy of a frame, if there is room for it.
    pub(super) fn keep(
        &mut self,
        now: Instant,
        in_port: PortNumber,
        frame: &[u8],
    ) -> Option<BufferId> {
        let kept = Some(KeptFrame {
            in_port,
            frame: frame.to_vec(),
        });
        let since = now;
        if self.places.len() < self.capacity && self.places.iter().all(|it| it.kept.is_some()) {
            let turn = 0;
            self.places.push(BufferSlot { turn, since, kept });
            return Some(id(self.places.len() - 1, turn));
        }
        // A free place first, else the oldest.
        let (at, place) = self
            .places
            .iter_mut()
            .enumerate()
            .min_by_key(|(_, place)| (place.kept.is_some(), place.since))?;
        if place.kept.is_some() && now < place.since + self.hold {
            return None;
        }
        let turn = if place.turn == LAST_TURN {
            0
        } else {
            place.turn + 1
        };
        *place = BufferSlot { turn, since, kept };
        Some(id(at, turn))
    }

    /// Returns whether a frame is kept.
    ///
    /// # Errors
    ///
    /// If it was asked for already, or never kept, or given up.
    pub(super) fn check(&self, buffer: BufferId) -> Result<(), ErrorKind> {
        let (at, turn) = parts(buffer);
        match self.places.get(at) {
            Some(place) if place.turn == turn => match place.kept {
                Some(_) => Ok(()),
                None => Err(ErrorKind::BadRequest(BadRequest::BufferEmpty)),
            },
            Some(_) | None => Err(ErrorKind::BadRequest(BadRequest::BufferUnknown)),
        }
    }

    /// Returns a frame, which is then no longer kept.
    ///
    /// # Errors
    ///
    /// Like [`check`](Self::check).
    pub(super) fn take(&mut self, buffer: BufferId) -> Result<KeptFrame, ErrorKind> {
        self.check(buffer)?;
        let (at, _) = parts(buffer);
        let kept = self.places[at].kept.take();
        Ok(kept.expect("it was there a moment ago"))
    }
}

fn id(at: usize, turn: u16) -> BufferId {
    let at = u32::try_from(at).expect("there are at most 2^16 places");
    BufferId(u32::from(turn) << PLACE_BITS | at)
}

fn parts(buffer: BufferId) -> (usize, u16) {
    let [a, b, c, d] = buffer.0.to_be_bytes();
    let at = usize::from(u16::from_be_bytes([c, d]));
    (at, u16::from_be_bytes([a, b]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(1);
    const PORT: PortNumber = PortNumber(1);

    fn buffers(frames: usize) -> PacketBuffers {
        let hold = HOLD;
        PacketBuffers::new(PacketBuffersConfig { frames, hold })
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    #[test]
    fn a_frame_is_given_back_once() {
        let mut buffers = buffers(2);
        let id = buffers.keep(at(0), PORT, b"frame").unwrap();

        let kept = buffers.take(id);

        let expected = KeptFrame {
            in_port: PORT,
            frame: b"frame".to_vec(),
        };
        assert_eq!(kept, Ok(expected));
        let empty = ErrorKind::BadRequest(BadRequest::BufferEmpty);
        assert_eq!(buffers.take(id), Err(empty));
    }

    #[test]
    fn the_oldest_is_given_up_but_not_too_soon() {
        let mut buffers = buffers(2);
        let first = buffers.keep(at(0), PORT, b"first").unwrap();
        let second = buffers.keep(at(1), PORT, b"second").unwrap();

        assert!(buffers.keep(at(0) + HOLD, PORT, b"third").is_some());
        assert_eq!(buffers.keep(at(1), PORT, b"fourth"), None);

        let unknown = ErrorKind::BadRequest(BadRequest::BufferUnknown);
        assert_eq!(buffers.take(first), Err(unknown));
        assert!(buffers.take(second).is_ok());
    }

    #[test]
    fn a_late_answer_does_not_release_another_frame() {
        let mut buffers = buffers(1);
        let mut earlier = Vec::new();
        for n in 0..200_000 {
            let id = buffers.keep(at(n), PORT, b"frame").unwrap();
            assert_ne!(id, BufferId::NONE);
            earlier.push(id);
        }

        let last = earlier.pop().unwrap();
        let unknown = ErrorKind::BadRequest(BadRequest::BufferUnknown);
        let recent = &earlier[earlier.len() - 60_000..];
        assert!(recent.iter().all(|id| buffers.check(*id) == Err(unknown)));
        assert_eq!(buffers.check(last), Ok(()));
    }

    #[test]
    fn without_room_nothing_is_kept() {
        assert_eq!(buffers(0).keep(at(0), PORT, b"frame"), None);
    }
}
