//! What a meter does to a frame, OF13 clauses 5.7 and 5.7.1.

use units::Instant;

use crate::compiled::Form;
use crate::egress::{Egress, FrameOutcome};
use crate::meter_band::BandAction;
use crate::meter_table::MeterIndex;
use crate::packet::{Packet, Stale};
use crate::rewrite;
use crate::streams::Passing;

/// What stands for a frame that leaves without a promise among levels of drop precedence.
pub(crate) const BEST_EFFORT: u8 = 0xff;

/// What meters and streams decided about a frame before it was handed to the switch, the
/// next one last: a byte each, two for the number that a frame got.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    verdicts: Vec<u8>,
}

impl Judged {
    /// Notes by how many levels each of the first meters raises the drop precedence
    /// of the next frame, that it leaves without a promise, which number it was given, and
    /// whether it is a copy.
    pub(crate) fn begin(&mut self, verdicts: &[u8]) {
        self.verdicts.clear();
        self.verdicts.extend(verdicts.iter().rev());
    }

    /// Returns the number that the frame was given.
    pub(crate) fn take_number(&mut self) -> Option<u16> {
        let high = self.verdicts.pop()?;
        Some(u16::from_be_bytes([high, self.verdicts.pop()?]))
    }

    /// Returns what was decided about a copy.
    pub(crate) fn take_passing(&mut self) -> Option<Passing> {
        let verdict = self.verdicts.pop()?;
        Some(match verdict {
            0 => Passing::Passes,
            _ => Passing::Dropped,
        })
    }
}

impl Egress {
    /// Lets a meter judge the frame, unless it has done so before. It takes the
    /// tokens that others take, too, if there are such.
    pub(crate) fn meter(
        &mut self,
        now: Instant,
        packet: &mut Packet,
        index: MeterIndex,
        form: Option<&Form>,
    ) -> FrameOutcome {
        let treatment = match self.judged.verdicts.pop() {
            None => self.judge(now, packet, index, form),
            Some(0) => None,
            Some(BEST_EFFORT) => Some(BandAction::BestEffort),
            Some(levels) => Some(BandAction::Remark(levels)),
        };
        self.obey(packet, treatment)
    }

    /// Returns what is to be done with a frame that comes to a meter. A contract is kept or
    /// not when the frame arrives, however long it waited since then.
    pub(crate) fn judge(
        &mut self,
        now: Instant,
        packet: &Packet,
        index: MeterIndex,
        form: Option<&Form>,
    ) -> Option<BandAction> {
        let bytes = self.pool.frame(packet.slot).len();
        let arrived = self.pool.arrived(packet.slot);
        let meter = self.meters.meter_mut(index);
        let now = match meter.is_policer() {
            true => arrived,
            false => now,
        };
        match form {
            Some(form) => form.judge(now, index, meter, bytes),
            None => meter.judge(now, bytes),
        }
    }

    pub(crate) fn obey(
        &mut self,
        packet: &mut Packet,
        treatment: Option<BandAction>,
    ) -> FrameOutcome {
        match treatment {
            None => FrameOutcome::Lives,
            Some(BandAction::Drop) => {
                self.counters.metered += 1;
                FrameOutcome::Ends
            }
            Some(BandAction::BestEffort) => {
                // A frame is counted once, whoever says so again.
                self.counters.demoted += u64::from(!packet.exceeds);
                (packet.queue, packet.exceeds) = (0, true);
                FrameOutcome::Lives
            }
            Some(BandAction::Remark(levels)) => {
                self.change(packet, Stale::Key, |frame, headers| {
                    rewrite::raise_drop_precedence(frame, headers, levels);
                })
            }
        }
    }
}
