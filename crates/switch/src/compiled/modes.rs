//! Modes and monitors as words.

use units::Duration;
use wire::mode_signal::Level;
use wire::openflow::taktos::ModeFlags;

use super::form::Form;
use super::layout::{Region, modes, monitor, port};
use super::memory::Record;
use crate::egress::Egress;
use crate::modes::{Contracts, ModeKeeper, SharedModes, WatchedMessages, word_of};
use crate::port::PortIndex;

impl Form {
    /// Shows what the switch holds of modes. The pair only ever grows: whoever walks the
    /// tables may have learnt of a greater one meanwhile.
    pub(super) fn write_modes(&mut self, egress: &Egress) {
        if self.modes_shown == Some(egress.modes.changes) {
            return;
        }
        self.modes_shown = Some(egress.modes.changes);
        let shared = egress.modes.shared();
        write_agreement(shared, &egress.modes);
        for (at, it) in (0..).map(PortIndex).zip(&egress.ports) {
            let (switch, far_port) = it.far_end.map_or((0, 0), |end| (end.switch.0, end.port.0));
            let far_port = u64::from(far_port);
            let words = shared.port(at);
            words.set(port::NEIGHBOUR, switch);
            words.set(port::NEIGHBOUR_PORT, far_port);
        }
        self.write_monitors(shared, &egress.modes);
    }

    /// Shows which flows are watched by which contracts, if that has changed: a change of
    /// the mode does not look at monitors. What walks have written of a monitor is theirs
    /// as long as its contracts stay.
    fn write_monitors(&mut self, shared: &SharedModes, held: &ModeKeeper) {
        let monitors = &held.monitors;
        if self.monitors_shown == Some(monitors.changes()) {
            return;
        }
        self.monitors_shown = Some(monitors.changes());
        let records = self.store.memory().sizes().records(Region::Monitors);
        for (place, watch) in monitors.watches().take(records).enumerate() {
            let words = shared.monitor_at(place);
            let given = watch.map_or(0, |watch| {
                let count = watch.contracts().given().len();
                let count = u64::try_from(count).expect("at most eight");
                count | u64::from(watch.turn()) << 32
            });
            if words.get(monitor::CONTRACTS) != given {
                begin_anew(words, given, watch.map(WatchedMessages::contracts));
            }
        }
    }
}

fn write_agreement(shared: &SharedModes, held: &ModeKeeper) {
    let words = shared.state();
    let [low, high] = halves(held.key().0);
    words.set(modes::KEY[0], low);
    words.set(modes::KEY[1], high);
    words.set(modes::OWN, held.own().0);
    words.set(modes::HOLD, held.hold().map_or(u64::MAX, Duration::as_ns));
    words.set(modes::FLAGS, flags_of(held.flags()));
    words.set(modes::SERVES, serves(held));
    if words.raise(modes::MODE, word_of(held.agreement().mode())) {
        words.set(modes::ORIGIN, held.agreement().origin().0);
    }
}

/// Has walks watch by other contracts, or by none.
fn begin_anew(words: Record<'_>, given: u64, contracts: Option<&Contracts>) {
    words.locked(monitor::LOCK, || {
        let nothing = [0; Region::Monitors.record_words() - monitor::CURRENT];
        words.write(monitor::CURRENT, &nothing);
        if let Some(contracts) = contracts {
            write_contracts(words, contracts);
        }
        words.set(monitor::CONTRACTS, given);
    });
}

fn write_contracts(words: Record<'_>, contracts: &Contracts) {
    words.set(monitor::JITTER, contracts.jitter().as_ns());
    for (level, contract) in contracts.given().iter().enumerate() {
        let place = |word| monitor::LEVELS + level * monitor::LEVEL_WORDS + word;
        words.set(place(monitor::PERIOD), contract.period.as_ns());
        words.set(place(monitor::SIZE), u64::from(contract.size_bytes));
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
