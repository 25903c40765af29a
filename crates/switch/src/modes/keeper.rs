//! What a switch holds of modes: what is agreed on, how it takes part, its monitors,
//! and what came of all that.

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::mode_signal::{FRAME_LENGTH, Kind, Level, Mode, ModeSignal};
use wire::openflow::taktos::{
    LevelSet, ModeConfig, ModeCounters, ModeEvent, ModeEventKind, ModeFlags, ModeKey, MonitorId,
};
use wire::openflow::{DatapathId, PortNumber};

use super::mode_consensus::{ModeConsensus, Restraint};
use super::mode_handler::MonitorDemand;
use super::monitor_table::MonitorTable;
use super::outbox::Outbox;
use super::shared::{Entered, SharedModes};
use crate::compiled::Beginning;

/// What a controller asks to wait for longer than this never comes.
const LONGEST_WAIT: Duration = Duration::from_secs(365 * 24 * 3600);

/// The switch at the other end of a trunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FarEnd {
    pub(crate) switch: DatapathId,
    pub(crate) port: PortNumber,
    /// When it was last heard, and what it said.
    pub(crate) heard: Option<(Instant, Mode)>,
}

/// All that a switch holds of modes.
#[derive(Debug)]
pub(crate) struct ModeKeeper {
    own: DatapathId,
    pub(super) agreement: ModeConsensus,
    key: ModeKey,
    hold: Option<Duration>,
    heart_beat: Option<Duration>,
    beat_due: Instant,
    complete: LevelSet,
    default: Level,
    flags: ModeFlags,
    /// When a flow of this switch last demanded more than the lowest level.
    pub(super) demanded: Option<Instant>,
    pub(crate) monitors: MonitorTable,
    pub(crate) outbox: Outbox,
    pub(crate) counters: ModeCounters,
    /// How often anything changed that others see in the compiled form.
    pub(crate) changes: u64,
    /// What walks of the compiled form change as well, if there is one.
    pub(crate) shared: Option<SharedModes>,
    /// The mode whose beginning the controllers were told last.
    told: Mode,
    frame: Vec<u8>,
    /// What the monitors of the frame under way demand.
    pub(super) demands: Vec<MonitorDemand>,
}

/// As many monitors as a frame usually meets at most.
const USUAL_DEMANDS: usize = 4;
/// Until a controller says otherwise, how long a demand keeps its level up.
const HOLD: Duration = Duration::from_secs(1);

impl ModeKeeper {
    /// Begins with the lowest mode, no trunks and no monitors: a switch that nobody has
    /// told takes part in nothing.
    pub(crate) fn new(now: Instant, own: DatapathId) -> Self {
        Self {
            own,
            agreement: ModeConsensus::new(own, HOLD),
            key: ModeKey([0; 16]),
            hold: Some(HOLD),
            heart_beat: None,
            beat_due: Instant::FAR_FUTURE,
            complete: LevelSet::NONE.with(Level::LOWEST),
            default: Level::LOWEST,
            flags: ModeFlags(0),
            demanded: None,
            monitors: MonitorTable::new(),
            outbox: Outbox::new(now),
            counters: ModeCounters::default(),
            changes: 0,
            shared: None,
            told: Mode::default(),
            frame: Vec::with_capacity(FRAME_LENGTH),
            demands: Vec::with_capacity(USUAL_DEMANDS),
        }
    }

    pub(crate) const fn own(&self) -> DatapathId {
        self.own
    }

    pub(crate) const fn agreement(&self) -> &ModeConsensus {
        &self.agreement
    }

    pub(crate) const fn key(&self) -> ModeKey {
        self.key
    }

    /// Returns how long a demand keeps its level up; none is for ever.
    pub(crate) const fn hold(&self) -> Option<Duration> {
        self.hold
    }

    pub(crate) const fn complete(&self) -> LevelSet {
        self.complete
    }

    pub(crate) const fn default(&self) -> Level {
        self.default
    }

    pub(crate) const fn flags(&self) -> ModeFlags {
        self.flags
    }

    /// Returns how long ago a flow of this switch demanded more than the lowest level.
    pub(crate) fn quiet(&self, now: Instant) -> Option<Duration> {
        let shared = self.shared.as_ref().and_then(SharedModes::demanded);
        let last = self.demanded.max(shared);
        last.map(|last| now.saturating_since(last))
    }

    /// Returns when the next heart-beats are due.
    pub(crate) const fn beat_due(&self) -> Instant {
        self.beat_due
    }

    /// Returns what walks of the compiled form change as well.
    ///
    /// # Panics
    ///
    /// If there is no compiled form.
    pub(crate) fn shared(&self) -> &SharedModes {
        self.shared.as_ref().expect("the compiled form is kept")
    }

    /// Lets walks of the compiled form change what they can, from here on.
    pub(crate) fn share(&mut self, shared: SharedModes, beginning: Beginning) {
        if beginning == Beginning::Empty {
            shared.begin(&self.agreement);
        }
        shared.want(&self.outbox);
        self.shared = Some(shared);
        if beginning == Beginning::Resumed {
            self.agree(|_| ());
            self.told = self.agreement.mode();
        }
    }

    /// Takes a step of the agreement, on what walks have left.
    pub(super) fn agree<R>(&mut self, mut step: impl FnMut(&mut ModeConsensus) -> R) -> R {
        match &self.shared {
            Some(shared) => self.agreement.share(shared.state(), step),
            None => step(&mut self.agreement),
        }
    }

    /// Returns what happened, if walks have entered a mode of which nobody was told,
    /// and goes on from that mode.
    pub(super) fn catch_up(&mut self) -> Option<Entered> {
        let shared = self.shared.as_ref()?;
        if shared.mode() == self.told {
            return None;
        }
        let entered = shared.entered();
        self.agree(|_| ());
        self.told = self.agreement.mode();
        Some(entered)
    }

    /// Returns whether walks left it to the core to tell neighbours.
    pub(super) fn take_unsent(&mut self) -> bool {
        let shared = self.shared.as_mut();
        shared.is_some_and(SharedModes::take_unsent)
    }

    /// Notes that the controllers are told of the mode.
    pub(super) fn note_told(&mut self) {
        self.told = self.agreement.mode();
    }

    /// Returns all that was counted.
    pub(super) fn all_counters(&self) -> ModeCounters {
        let mut all = self.counters;
        if let Some(shared) = &self.shared {
            shared.add_counters(&mut all);
        }
        all
    }

    /// Returns whether somebody has to be told something.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// Takes part as a controller says. The trunks are the ports' affair.
    pub(super) fn configure(&mut self, now: Instant, config: &ModeConfig<'_>) {
        self.key = config.key;
        self.hold = finite(config.hold);
        self.complete = config.complete;
        self.default = config.default;
        self.flags = config.flags;
        self.changes += 1;
        let agreement = &mut self.agreement;
        agreement.set_hold(self.hold);
        agreement.restrain(match config.flags.contains(ModeFlags::LOCKED) {
            true => Restraint::Locked,
            false => Restraint::Free,
        });
        agreement.set_default(config.default);
        for level in Level::all() {
            agreement.set_complete(level, config.complete.contains(level));
        }
        let heart_beat = finite(config.heart_beat);
        if self.heart_beat != heart_beat {
            self.heart_beat = heart_beat;
            self.beat_due = heart_beat.map_or(Instant::FAR_FUTURE, |interval| now + interval);
        }
    }

    /// Notes that heart-beats leave now, and when the next ones do: a switch that
    /// comes late leaves out what it has missed.
    pub(super) fn note_beat(&mut self, now: Instant) {
        self.beat_due = match self.heart_beat {
            None => Instant::FAR_FUTURE,
            Some(interval) if self.beat_due + interval > now => self.beat_due + interval,
            Some(interval) => now + interval,
        };
    }

    /// Returns a frame that tells the mode, to leave by this port; lent until the next
    /// one, so that none has to be made.
    pub(super) fn signal(&mut self, kind: Kind, port: PortNumber, source: MacAddress) -> Vec<u8> {
        let mut frame = std::mem::take(&mut self.frame);
        frame.clear();
        let signal = ModeSignal {
            kind,
            mode: self.agreement.mode(),
            origin: self.agreement.origin(),
            sender: self.own,
            port,
        };
        signal.emit_frame(source, self.key.0, &mut frame);
        frame
    }

    /// Takes back what [`signal`](Self::signal) lent.
    pub(super) fn take_back(&mut self, frame: Vec<u8>) {
        self.frame = frame;
    }

    /// Tells the controllers that something happened now.
    pub(super) fn tell(
        &mut self,
        now: Instant,
        kind: ModeEventKind,
        monitor: MonitorId,
        port: PortNumber,
    ) {
        self.tell_of(now, [now; 2], kind, (monitor, port));
    }

    /// Tells them that something happened, when it was noticed, and when the level
    /// changed by it.
    pub(super) fn tell_of(
        &mut self,
        now: Instant,
        [detected, changed]: [Instant; 2],
        kind: ModeEventKind,
        (monitor, port): (MonitorId, PortNumber),
    ) {
        let event = ModeEvent {
            kind,
            mode: self.agreement.mode(),
            served: self.agreement.serves(),
            origin: self.agreement.origin(),
            monitor,
            port,
            detected,
            changed,
            count: 1,
        };
        let Some(shared) = &mut self.shared else {
            return self.outbox.put(now, event);
        };
        shared.tell_counted(&mut self.outbox);
        self.outbox.put(now, event);
        shared.want(&self.outbox);
    }
}

/// Returns a time that a controller asked for, or nothing if it never comes.
fn finite(asked: Option<Duration>) -> Option<Duration> {
    asked.filter(|asked| *asked <= LONGEST_WAIT)
}
