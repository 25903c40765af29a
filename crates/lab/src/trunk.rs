//! A link between two switches of which a capture is wanted.
//!
//! Each end has a tap that sees what arrives there. What a port sends it sends
//! past all taps, and the far end sees it.

use std::io;

use linux::tap::{Direction, RING_BYTES, Tap};
use measure::capture::Captures;

use crate::network::{LabNetwork, Place};
use crate::traffic_loop::as_seen;

/// The most memory that the taps of all trunks take together.
const ALL_RINGS_BYTES: usize = 256 << 20;

#[derive(Debug)]
pub(crate) struct Trunk {
    /// The cable in the network's list.
    cable: usize,
    taps: [Tap; 2],
}

impl Trunk {
    /// Taps every link between switches that is captured.
    ///
    /// # Errors
    ///
    /// Without the privilege or the memory.
    pub(crate) fn open_all(network: &LabNetwork, captures: &Captures) -> io::Result<Vec<Self>> {
        let wanted: Vec<_> = (0..network.cables.len())
            .filter(|cable| captures.has(*cable))
            .filter_map(|cable| Some((cable, switches_at(network, cable)?)))
            .collect();
        let ring_bytes = RING_BYTES.min(ALL_RINGS_BYTES / (2 * wanted.len()).max(1));
        let open = |(cable, switches)| Self::open(network, cable, switches, ring_bytes);
        wanted.into_iter().map(open).collect()
    }

    fn open(
        network: &LabNetwork,
        cable: usize,
        switches: [usize; 2],
        ring_bytes: usize,
    ) -> io::Result<Self> {
        let tap = |end: usize| {
            let index = network.cables[cable].sockets[end].interface.index();
            network.switches[switches[end]].run(|| Tap::open(index, ring_bytes))
        };
        Ok(Self {
            cable,
            taps: [tap(0)?, tap(1)?],
        })
    }

    /// Captures the earliest frame that waits at either end. Returns whether
    /// there was one.
    pub(crate) fn read_one(&mut self, captures: &mut Captures) -> bool {
        let stamps = self.taps.each_ref().map(Tap::next_stamp);
        let end = match stamps {
            [None, None] => return false,
            [Some(first), Some(second)] => usize::from(second < first),
            [Some(_), None] => 0,
            [None, Some(_)] => 1,
        };
        let interface = u32::from(end == 1);
        self.taps[end].take(|seen| match seen.direction {
            Direction::In => captures.enter(self.cable, &as_seen(interface, &seen)),
            Direction::Out => {}
        });
        true
    }

    /// Forgets what was seen so far.
    pub(crate) fn forget_the_past(&mut self) {
        for tap in &mut self.taps {
            while tap.take(|_| ()).is_some() {}
        }
    }

    /// Tells the capture how many frames the taps have missed.
    pub(crate) fn close(&mut self, captures: &mut Captures) {
        for tap in &mut self.taps {
            captures.missed(self.cable, tap.lost());
        }
    }
}

/// Returns the switches at the ends of a cable, if there are two.
fn switches_at(network: &LabNetwork, cable: usize) -> Option<[usize; 2]> {
    match network.cables[cable].sockets.each_ref().map(|s| s.place) {
        [
            Place::Switch { switch: first, .. },
            Place::Switch { switch: second, .. },
        ] => Some([first, second]),
        [Place::Host(_), _] | [_, Place::Host(_)] => None,
    }
}
