//! Settings that are changed while the controller runs, and kept by the store.
//!
//! A change concerns what it changes: of rules that are not ours, switches are
//! compared anew; of the metric, what is programmed without a promise finds its ways
//! anew, and moves only where another way is better.

use std::collections::VecDeque;

use crate::northbound::{Event, MAX_WAITING, Reply, RequestId, Settings, SettingsChange};
use crate::store::{Key, StoreWrite};
use crate::ways::KnownWays;

use super::Controller;

/// The version of the form in which settings are kept.
const VERSION: u8 = 1;

/// What waits for the store.
#[derive(Debug, Default)]
pub(super) struct SettingsDesk {
    /// What the settings are to be, if all that was asked for is kept.
    wanted: Option<Settings>,
    waiting: VecDeque<RequestId>,
}

impl Controller {
    pub(super) fn settings(&self) -> Settings {
        Settings {
            metric: self.ctx.metric,
            foreign_rules: self.tables.reconciliation.foreign,
        }
    }

    /// Asks the store to keep a change.
    pub(super) fn configure(&mut self, id: RequestId, change: SettingsChange) {
        if self.settings_desk.waiting.len() >= MAX_WAITING {
            self.ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        let present = self.settings();
        let settings = self.settings_desk.wanted.unwrap_or(present).after(change);
        self.settings_desk.wanted = Some(settings);
        self.settings_desk.waiting.push_back(id);
        self.ctx.outbox.store(StoreWrite {
            key: Key::Settings,
            value: Some(to_bytes(settings)),
        });
    }

    /// Takes settings that the store has kept, whoever changed them.
    pub(super) fn settings_kept(&mut self, bytes: &[u8]) {
        match from_bytes(bytes) {
            Some(settings) => self.go_by(settings),
            None => self.ctx.outbox.notify(Event::SettingsUnreadable),
        }
        let settings = Reply::Settings(self.settings());
        self.answer_configuration(settings);
    }

    pub(super) fn settings_rejected(&mut self) {
        self.answer_configuration(Reply::NotStored);
        self.settings_desk.wanted = None;
    }

    fn answer_configuration(&mut self, reply: Reply) {
        if let Some(id) = self.settings_desk.waiting.pop_front() {
            self.ctx.outbox.reply(id, reply);
        }
        if self.settings_desk.waiting.is_empty() {
            self.settings_desk.wanted = None;
        }
    }

    fn go_by(&mut self, settings: Settings) {
        let before = self.settings();
        if before.metric != settings.metric {
            self.ctx.metric = settings.metric;
            self.promises.known_ways = KnownWays::default();
            self.owners.intents.price_anew();
        }
        if before.foreign_rules != settings.foreign_rules {
            self.tables.reconciliation.foreign = settings.foreign_rules;
            self.compare_whole(None);
        }
    }
}

fn to_bytes(settings: Settings) -> Vec<u8> {
    postcard::to_extend(&settings, vec![VERSION]).expect("words always have a form")
}

fn from_bytes(bytes: &[u8]) -> Option<Settings> {
    let [VERSION, content @ ..] = bytes else {
        return None;
    };
    match postcard::take_from_bytes(content) {
        Ok((settings, [])) => Some(settings),
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Metric;
    use crate::northbound::ForeignRules;

    #[test]
    fn settings_are_read_as_they_were_written() {
        for metric in [Metric::Links, Metric::Delay] {
            for foreign_rules in [ForeignRules::Keep, ForeignRules::Remove] {
                let settings = Settings {
                    metric,
                    foreign_rules,
                };

                let bytes = [VERSION, metric as u8, foreign_rules as u8];

                assert_eq!(to_bytes(settings), bytes);
                assert_eq!(from_bytes(&bytes), Some(settings));
            }
        }
        for damaged in [
            &[][..],
            &[VERSION],
            &[VERSION, 2, 0],
            &[9, 0, 0],
            &[VERSION, 1, 1, 0],
        ] {
            assert_eq!(from_bytes(damaged), None);
        }
    }
}
