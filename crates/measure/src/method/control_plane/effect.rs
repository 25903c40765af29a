//! From a message to its effect in the data plane (S4-1).
//!
//! Frames cross the device all the time, and an entry that takes them comes and goes.
//! The effect of an order is there with the first frame after it that meets the new
//! state; it is known to the spacing of the frames. A barrier's reply that arrives
//! before that promises too much.

use units::{Duration, Instant};
use wire::openflow::FlowModCommand;

use super::exchange::Replies;
use crate::method::data_plane::passages::{Crossings, stream};
use crate::method::orders::{self, Version};
use crate::method::table_setting::TableSetting;
use crate::statistics::Distribution;
use crate::trial::{Order, Sighting, Tester, Trial, TrialError, Watcher};

pub const SPACING: Duration = Duration::from_us(100);
/// Between two orders: many times what an agent needs.
const APART: Duration = Duration::from_ms(20);
/// The time in which the first state is made.
const FIRST: Duration = Duration::from_ms(100);
/// The shortest frame, check sequence included.
const FRAME_BYTES: u16 = 64;

/// How long orders took to their effect.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// From an order to add an entry to the first frame that it forwards.
    pub added: Distribution,
    /// From an order to delete it to the first frame that is not forwarded.
    pub deleted: Distribution,
    /// Orders whose barrier was answered before a frame was sent that still met the
    /// state before.
    pub promised_too_early: u64,
    /// Orders that had no effect before the next.
    pub without_effect: u64,
    pub orders: u64,
}

/// Adds and deletes an entry so many times each under traffic.
///
/// # Errors
///
/// If the trial cannot be made.
pub fn measure(tester: &mut dyn Tester, times: u16) -> Result<Effects, TrialError> {
    let link = tester.control_link();
    let version = Version::of(link.version).unwrap_or(Version::V13);
    let spacing = SPACING.max(link.apart * 4u64);
    let apart = APART.max(spacing * 20u64);
    let length = FIRST + apart * (u64::from(times) * 2 + 1);
    let mut trial = Trial {
        streams: vec![stream(FRAME_BYTES, spacing, Duration::ZERO, length)],
        length,
        drain: apart,
        ..Trial::default()
    };
    trial.orders.push(Order {
        due: Duration::ZERO,
        bytes: version.delete_all(),
    });
    let entry = TableSetting::five_tuples(1).entries().next();
    let entry = entry.unwrap_or(orders::FlowEntry::EVERYTHING);
    for turn in 0..u32::from(times) * 2 {
        let command = match turn % 2 {
            0 => FlowModCommand::Add,
            _ => FlowModCommand::DeleteStrict,
        };
        let mut bytes = version.flow_mod(command, &entry);
        let mut barrier = version.barrier();
        orders::number(&mut barrier, turn + 1);
        bytes.extend(barrier);
        let due = FIRST + apart * u64::from(turn);
        trial.orders.push(Order { due, bytes });
    }
    let mut seen = EffectWatch::default();
    tester.run(trial, &mut seen)?;
    Ok(seen.judge(times))
}

/// When frames were sent, which came out, and what the agent said.
#[derive(Debug, Default)]
struct EffectWatch {
    crossings: Crossings,
    replies: Replies,
}

impl Watcher for EffectWatch {
    fn see(&mut self, sighting: &Sighting<'_>) {
        self.crossings.see(sighting);
    }

    fn hear(&mut self, at: Instant, bytes: &[u8]) {
        self.replies.hear(at, bytes);
    }

    fn ordered(&mut self, order: usize, at: Instant) {
        self.replies.ordered(order, at);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crossed {
    No,
    Yes,
}

impl EffectWatch {
    fn judge(&self, times: u16) -> Effects {
        let mut effects = Effects::default();
        for turn in 0..usize::from(times) * 2 {
            effects.orders += 1;
            // The first order made the first state.
            let sent = self.replies.sent.get(&(turn + 1)).copied();
            let next = self.replies.sent.get(&(turn + 2)).copied();
            let Some(ordered) = sent else {
                effects.without_effect += 1;
                continue;
            };
            let until = next.unwrap_or(Instant::FAR_FUTURE);
            let wanted = match turn % 2 {
                0 => Crossed::Yes,
                _ => Crossed::No,
            };
            let Some((effect, last_before)) = self.effect(ordered, until, wanted) else {
                effects.without_effect += 1;
                continue;
            };
            let took = effect.saturating_since(ordered);
            match wanted {
                Crossed::Yes => effects.added.record(took),
                Crossed::No => effects.deleted.record(took),
            }
            let number = u32::try_from(turn + 1).unwrap_or(u32::MAX);
            let barrier = self.replies.heard.get(&number).map(|it| it.at);
            if barrier.is_some_and(|barrier| last_before.is_some_and(|last| last > barrier)) {
                effects.promised_too_early += 1;
            }
        }
        effects
    }

    /// Returns when the first frame of the new state was sent, behind which all are
    /// of it, and when the last of the old one was.
    fn effect(
        &self,
        from: Instant,
        until: Instant,
        wanted: Crossed,
    ) -> Option<(Instant, Option<Instant>)> {
        let within = self.crossings.0.iter().filter_map(|times| {
            let sent = times.sent?;
            let crossed = match times.came {
                Some(_) => Crossed::Yes,
                None => Crossed::No,
            };
            (from <= sent && sent < until).then_some((sent, crossed))
        });
        let within: Vec<_> = within.collect();
        let old = within.iter().rposition(|(_, crossed)| *crossed != wanted);
        let first = old.map_or(0, |old| old + 1);
        let (effect, _) = within.get(first)?;
        Some((*effect, old.map(|old| within[old].0)))
    }
}
