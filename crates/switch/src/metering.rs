//! What a meter does to a frame, OF13 clauses 5.7 and 5.7.1.

use units::Instant;

use crate::egress::{Egress, Fate};
use crate::meter_band::Treatment;
use crate::meter_table::MeterIndex;
use crate::packet::{Packet, Stale};
use crate::rewrite;

impl Egress {
    /// Lets a meter judge the frame.
    pub(crate) fn meter(&mut self, now: Instant, packet: &mut Packet, index: MeterIndex) -> Fate {
        let bytes = self.pool.frame(packet.slot).len();
        match self.meters.meter_mut(index).judge(now, bytes) {
            None => Fate::Lives,
            Some(Treatment::Drop) => {
                self.counters.metered += 1;
                Fate::Ends
            }
            Some(Treatment::Remark(levels)) => self.change(packet, Stale::Key, |frame, headers| {
                rewrite::raise_drop_precedence(frame, headers, levels);
            }),
        }
    }
}
