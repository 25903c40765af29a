//! Modes and monitors as words.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, Release};

use units::Duration;
use wire::mode_signal::Level;
use wire::openflow::taktos::ModeFlags;

use super::form::Form;
use super::layout::{Region, modes, monitor, port};
use crate::egress::Egress;
use crate::modes::{Contracts, ModeKeeper, MonitorTable, Watch, locked, word_of};

impl Form {
    /// Shows what the switch holds of modes. The pair only ever grows: whoever walks the
    /// tables may have learnt of a greater one meanwhile.
    pub(super) fn write_modes(&mut self, egress: &Egress) {
        if self.modes_shown == Some(egress.modes.changes) {
            return;
        }
        self.modes_shown = Some(egress.modes.changes);
        self.write_agreement(&egress.modes);
        for (at, it) in (0..).zip(&egress.ports) {
            let (switch, far_port) = it.far_end.map_or((0, 0), |end| (end.switch.0, end.port.0));
            let far_port = u64::from(far_port);
            self.store.set(Region::Ports, at, port::NEIGHBOUR, switch);
            self.store
                .set(Region::Ports, at, port::NEIGHBOUR_PORT, far_port);
        }
        self.write_monitors(&egress.modes.monitors);
    }

    fn write_agreement(&self, held: &ModeKeeper) {
        let set = |at, value| self.store.set(Region::Modes, 0, at, value);
        let [low, high] = halves(held.key().0);
        set(modes::KEY[0], low);
        set(modes::KEY[1], high);
        set(modes::OWN, held.own().0);
        set(modes::HOLD, held.hold().map_or(u64::MAX, Duration::as_ns));
        set(modes::FLAGS, flags_of(held.flags()));
        set(modes::SERVES, serves(held));
        let word = word_of(held.agreement().mode());
        let mode = &self.store.record(Region::Modes, 0)[modes::MODE];
        if mode.fetch_max(word, AcqRel) < word {
            set(modes::ORIGIN, held.agreement().origin().0);
        }
    }

    /// Shows which flows are watched by which contracts, if that has changed: a change of
    /// the mode does not look at monitors. What walks have written of a monitor is theirs
    /// as long as its contracts stay.
    fn write_monitors(&mut self, monitors: &MonitorTable) {
        if self.monitors_shown == Some(monitors.changes()) {
            return;
        }
        self.monitors_shown = Some(monitors.changes());
        let records = self.store.memory().sizes().records(Region::Monitors);
        for (record, watch) in (0..).zip(monitors.watches().take(records)) {
            let words = self.store.record(Region::Monitors, record);
            let given = watch.map_or(0, |watch| {
                let count = watch.contracts().given().len();
                let count = u64::try_from(count).expect("at most eight");
                count | u64::from(watch.turn()) << 32
            });
            if words[monitor::CONTRACTS].load(Relaxed) != given {
                begin_anew(words, given, watch.map(Watch::contracts));
            }
        }
    }
}

/// Has walks watch by other contracts, or by none.
fn begin_anew(words: &[AtomicU64], given: u64, contracts: Option<&Contracts>) {
    locked(words, || {
        let all = words.iter().skip(monitor::LOCK + 1);
        all.for_each(|word| word.store(0, Relaxed));
        if let Some(contracts) = contracts {
            write_contracts(words, contracts);
        }
        words[monitor::CONTRACTS].store(given, Release);
    });
}

fn write_contracts(words: &[AtomicU64], contracts: &Contracts) {
    let set = |at: usize, value: u64| words[at].store(value, Relaxed);
    set(monitor::JITTER, contracts.jitter().as_ns());
    for (level, contract) in contracts.given().iter().enumerate() {
        let place = |word| monitor::LEVELS + level * monitor::LEVEL_WORDS + word;
        set(place(monitor::PERIOD), contract.period.as_ns());
        set(place(monitor::SIZE), u64::from(contract.size_bytes));
    }
}

fn serves(held: &ModeKeeper) -> u64 {
    let served = Level::all().map(|level| {
        let served = held.agreement().serves_at(level);
        u64::from(served.number()) << (4 * u32::from(level.number()))
    });
    served.sum()
}

fn flags_of(flags: ModeFlags) -> u64 {
    let bits = [
        (ModeFlags::LOCKED, modes::LOCKED),
        (ModeFlags::ASK, modes::ASKS),
    ];
    let bits = bits.iter().filter(|(flag, _)| flags.contains(*flag));
    modes::IS_ON | bits.map(|(_, bit)| bit).sum::<u64>()
}

fn halves(key: [u8; 16]) -> [u64; 2] {
    let key = u128::from_le_bytes(key);
    crate::packet_key::halves(key.rotate_left(64))
}
