//! A monitor in words, as walks of the compiled form have it.

use units::Instant;
use wire::mode_signal::Level;

use super::{CurrentMessage, Demand, FlowMonitor, MonitorCounters, Window};
use crate::compiled::layout::{Region, monitor as at};

/// A record of [`Region::Monitors`].
pub(crate) type MonitorWords = [u64; Region::Monitors.record_words()];

impl FlowMonitor {
    /// Writes all that a monitor remembers.
    pub(crate) fn write(&self, words: &mut MonitorWords) {
        let mut set = |at: usize, value: u64| words[at] = value;
        for (level, guide) in self.guides.iter().enumerate() {
            set(of_level(level, at::GUIDE), guide.as_ns());
        }
        let messages = [
            (at::CURRENT, at::CURRENT_SEEN, &self.current),
            (at::BEFORE, at::BEFORE_SEEN, &self.before),
        ];
        for (place, seen, message) in messages {
            let [first, second] = words_of(message.as_ref());
            set(place, first);
            set(seen, second);
        }
        let begun = u64::from(self.window.begun) << 32;
        set(at::HIGHEST, begun | u64::from(self.window.highest));
        set(at::SEEN, self.window.seen);
        set(at::LAST_SEEN, self.last_seen.as_ns());
        let counters = counters_of(&self.counters);
        for (place, counter) in counters {
            set(place, counter);
        }
    }

    /// Goes on with what walks remember.
    pub(crate) fn read(&mut self, words: &MonitorWords) {
        let get = |at: usize| words[at];
        // Levels without a contract have that of the last one.
        let last = self.contracts.given().len() - 1;
        for (level, guide) in self.guides.iter_mut().enumerate() {
            *guide = Instant::from_ns(get(of_level(level.min(last), at::GUIDE)));
        }
        self.current = message_of(get(at::CURRENT), get(at::CURRENT_SEEN));
        self.before = message_of(get(at::BEFORE), get(at::BEFORE_SEEN));
        self.window = Window {
            begun: get(at::HIGHEST) >> 32 != 0,
            highest: low(get(at::HIGHEST)),
            seen: get(at::SEEN),
        };
        self.last_seen = Instant::from_ns(get(at::LAST_SEEN));
        self.counters = MonitorCounters {
            packets: get(at::PACKETS),
            messages: get(at::MESSAGES),
            violations: get(at::VIOLATIONS),
            beyond: get(at::BEYOND),
            missing: get(at::MISSING),
            duplicates: get(at::DUPLICATES),
            reordered: get(at::REORDERED),
        };
    }
}

/// Returns where a word of a level stands.
const fn of_level(level: usize, word: usize) -> usize {
    at::LEVELS + level * at::LEVEL_WORDS + word
}

/// Returns the counters with their places.
const fn counters_of(counters: &MonitorCounters) -> [(usize, u64); 7] {
    [
        (at::PACKETS, counters.packets),
        (at::MESSAGES, counters.messages),
        (at::VIOLATIONS, counters.violations),
        (at::BEYOND, counters.beyond),
        (at::MISSING, counters.missing),
        (at::DUPLICATES, counters.duplicates),
        (at::REORDERED, counters.reordered),
    ]
}

/// Returns both words of a message.
fn words_of(message: Option<&CurrentMessage>) -> [u64; 2] {
    let Some(message) = message else {
        return [0; 2];
    };
    let beyond = match message.demand {
        Demand::Level(_) => 0,
        Demand::Beyond(_) => at::IS_BEYOND,
    };
    let level = u64::from(message.demand.level().number()) << 32;
    [
        u64::from(message.number) | u64::from(message.size_bytes) << 32,
        u64::from(message.seen_bytes) | level | beyond | at::IS_THERE,
    ]
}

/// Returns the message of which these are the words.
fn message_of(first: u64, second: u64) -> Option<CurrentMessage> {
    let [.., level, _, _, _, _] = second.to_be_bytes();
    let level = Level::new(level).unwrap_or_default();
    (second & at::IS_THERE != 0).then(|| CurrentMessage {
        number: low(first),
        size_bytes: low(first >> 32),
        seen_bytes: low(second),
        demand: match second & at::IS_BEYOND {
            0 => Demand::Level(level),
            _ => Demand::Beyond(level),
        },
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
const fn low(word: u64) -> u32 {
    word as u32
}

#[cfg(test)]
mod tests {
    use units::{Duration, Instant};
    use wire::message_shim::MessageShim;

    use super::super::{Contract, Contracts, FlowMonitor, Packet};
    use crate::compiled::layout::Region;

    #[test]
    fn a_monitor_goes_on_from_its_words_as_if_it_had_never_been_away() {
        let contract = |size_bytes| Contract {
            period: Duration::from_ns(100),
            size_bytes,
        };
        let contracts = [contract(10), contract(1000)];
        let contracts = Contracts::new(&contracts, Duration::from_ns(7)).unwrap();
        let mut stays = FlowMonitor::new(contracts);
        let mut words = [0; Region::Monitors.record_words()];

        for step in 0..200u32 {
            let packet = Packet {
                shim: MessageShim {
                    message: step / 3,
                    size_bytes: step * 37 % 1200,
                    sequence: step ^ (step * 5 % 3),
                },
                carried_bytes: step * 11 % 900,
            };
            let now = Instant::from_ns(u64::from(step) * 31);
            let mut moves = FlowMonitor::new(contracts);
            moves.read(&words);
            assert_eq!(moves.observe(now, &packet), stays.observe(now, &packet));
            moves.write(&mut words);
            assert_eq!(moves.counters(), stays.counters());
        }
    }
}
