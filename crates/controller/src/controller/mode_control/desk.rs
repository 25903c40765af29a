//! What is known of the modes of a network, and of each switch in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use units::{Duration, Instant};
use wire::mode_signal::{Level, Mode};
use wire::openflow::taktos::{
    LevelSet, ModeCounters, ModeFailed, ModeKey, MonitorContract, MonitorId,
};
use wire::openflow::{DatapathId, TransactionId};
use wire::siphash::siphash_2_4;

use crate::desired::Content;
use crate::modes::{Modes, Strategy};
use crate::northbound::{FlowId, RequestId};

use super::super::context::Context;
use super::orders::OrdersDesk;

/// How often is looked at whether everything is as it should be, if nothing happens.
const LOOK_INTERVAL: Duration = Duration::from_ms(250);
/// How long is waited after something happened, for more of it.
const LOOK_PAUSE: Duration = Duration::from_ms(2);
/// How often switches are asked for their mode while nothing is given up.
const CALM_POLL: Duration = Duration::from_secs(1);
/// The shortest time between two such questions while something is.
const BUSY_POLL_MIN: Duration = Duration::from_ms(10);

/// Whether a switch knows modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ability {
    /// It has not answered yet.
    Unknown,
    Has,
    Lacks,
}

/// What a monitor is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MonitorSetup {
    pub(super) jitter: Duration,
    pub(super) contracts: Vec<MonitorContract>,
}

/// What is known of a switch that is connected.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) ability: Ability,
    /// The question or first messages that it has not answered yet.
    pub(super) asked: Option<TransactionId>,
    /// What it was told of how it takes part.
    pub(super) told: Vec<u8>,
    /// Whether all its levels are complete, as far as it was told.
    pub(super) is_complete: bool,
    /// The levels that a controller before this one called complete, until this one
    /// knows.
    pub(super) inherited: LevelSet,
    pub(super) monitors: BTreeMap<MonitorId, MonitorSetup>,
    pub(super) held: Option<Held>,
}

/// What a switch said of the mode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// The mode that is agreed on, as far as it knows.
    pub(super) mode: Mode,
    pub(super) origin: DatapathId,
    pub(super) served: Level,
    /// The levels whose entries are all there.
    pub(super) complete: LevelSet,
    /// How long ago a flow of it last demanded more, if one did.
    pub(super) quiet: Option<Duration>,
    /// Frames that waited in its queues.
    pub(super) waiting: u64,
    pub(super) counters: ModeCounters,
}

/// A level that a switch was asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) transaction: TransactionId,
    pub(super) datapath: DatapathId,
    /// Who asked, if the controller did not by itself.
    pub(super) by: Option<RequestId>,
    /// The level that is forced from then on, if it does so.
    pub(super) forces: Option<Level>,
    pub(super) failed: Option<ModeFailed>,
}

/// Whether violations raise the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lock {
    /// Nobody has said so: as the first switch that answers has it.
    Unsaid,
    Open,
    Locked,
}

/// The modes of the network.
#[derive(Debug)]
pub struct ModeDesk {
    pub(super) settings: Option<Arc<Modes>>,
    pub(super) key: ModeKey,
    pub(super) members: BTreeMap<DatapathId, Member>,
    /// The entries of levels that flows are to have.
    pub(super) levels: BTreeMap<FlowId, Content>,
    pub(super) lock: Lock,
    pub(super) forced: Option<Level>,
    /// The level whose entries stand, where the controller writes them.
    pub(super) written: Level,
    pub(super) asked: Option<Asked>,
    pub(super) orders: OrdersDesk,
    looked: Instant,
    pub(super) polled: Instant,
}

impl ModeDesk {
    /// Begins with no switch. Signals are tagged with a key that follows from the
    /// `secret`, which nobody else knows and which outlives the controller; where there
    /// is none, from the seed, so that a simulation is the same every time.
    ///
    /// # Panics
    ///
    /// If the modes make no sense.
    pub fn new(
        now: Instant,
        modes: Option<Modes>,
        (secret, seed): (Option<[u8; 16]>, u64),
    ) -> Self {
        if let Some(Err(error)) = modes.as_ref().map(Modes::check) {
            panic!("the configuration cannot be: {error}");
        }
        Self {
            settings: modes.map(Arc::new),
            key: signal_key(secret, seed),
            members: BTreeMap::new(),
            levels: BTreeMap::new(),
            lock: Lock::Unsaid,
            forced: None,
            written: Level::LOWEST,
            asked: None,
            orders: OrdersDesk::default(),
            looked: now,
            polled: now,
        }
    }

    /// Returns the modes, if something is to be done about them.
    pub(super) fn active(&self) -> Option<Arc<Modes>> {
        let settings = self.settings.as_ref();
        settings
            .filter(|modes| modes.strategy != Strategy::McAgnostic)
            .cloned()
    }

    /// Returns what a level is called.
    pub fn name_of(&self, level: Level) -> String {
        let modes = self.settings.as_ref();
        modes.map_or_else(|| level.number().to_string(), |modes| modes.name(level))
    }

    /// Notes that a switch is gone.
    pub fn lose(&mut self, ctx: &mut Context, datapath: DatapathId) {
        self.members.remove(&datapath);
        ctx.modes_changed();
    }

    /// Returns when everything is to be looked at.
    pub fn deadline(&self, is_stale: bool) -> Option<Instant> {
        self.active()?;
        let wait = match is_stale {
            true => LOOK_PAUSE,
            false => LOOK_INTERVAL,
        };
        Some((self.looked + wait).min(self.next_poll()))
    }

    /// Returns whether it is time to look, and notes that it is done.
    pub(super) fn is_due(&mut self, ctx: &mut Context) -> bool {
        let due = self.deadline(ctx.are_modes_stale);
        if due.is_none_or(|due| ctx.now < due) {
            return false;
        }
        self.looked = ctx.now;
        ctx.are_modes_stale = false;
        true
    }

    /// Returns when switches are asked for their mode.
    pub(super) fn next_poll(&self) -> Instant {
        let hold = self.settings.as_ref().and_then(|modes| modes.hold);
        let is_calm = self.agreed().0.level.max(self.written) == Level::LOWEST;
        match hold.filter(|_| !is_calm) {
            Some(hold) => {
                let quarter = Duration::from_ns(hold.as_ns() / 4);
                self.polled + quarter.max(BUSY_POLL_MIN).min(CALM_POLL)
            }
            None => self.polled + CALM_POLL,
        }
    }

    /// Returns the greatest mode that a switch holds, and where it began.
    pub(super) fn agreed(&self) -> (Mode, Option<DatapathId>) {
        let held = self.members.values().filter_map(|member| member.held);
        let greatest = held.max_by_key(|held| held.mode);
        match greatest {
            Some(held) => (held.mode, Some(held.origin)),
            None => (Mode::default(), None),
        }
    }

    /// Returns the switches that know modes.
    pub(super) fn able(&self) -> impl Iterator<Item = DatapathId> + '_ {
        let able = self.members.iter();
        able.filter(|(_, member)| member.ability == Ability::Has)
            .map(|(datapath, _)| *datapath)
    }
}

/// Returns the key of signals: two halves of what only those know who know the secret, or
/// else the seed.
fn signal_key(secret: Option<[u8; 16]>, seed: u64) -> ModeKey {
    let half = |name: &[u8; 16]| match secret {
        Some(secret) => siphash_2_4(secret, name).to_be_bytes(),
        None => siphash_2_4(*name, &seed.to_be_bytes()).to_be_bytes(),
    };
    let mut key = [0; 16];
    key[..8].copy_from_slice(&half(b"mode signals, 1."));
    key[8..].copy_from_slice(&half(b"mode signals, 2."));
    ModeKey(key)
}
