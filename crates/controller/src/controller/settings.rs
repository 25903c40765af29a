//! Settings that are changed while the controller runs, and kept by the store.
//!
//! A change concerns what it changes: of rules that are not ours, switches are
//! compared anew; of the metric, what is programmed without a promise finds its ways
//! anew, and moves only where another way is better; of drained switches, flows are led off
//! them.

use std::collections::{BTreeSet, VecDeque};

use serde::Deserialize;

use crate::northbound::{Event, MAX_WAITING, Reply, RequestId, Settings, SettingsChange};
use crate::store::{Key, StoreWrite};
use crate::ways::KnownWays;

use super::{Context, Network, Promises, Tables};

/// The version of the form in which settings are kept, and the one before, which knew of no
/// drained switches.
const VERSION: u8 = 2;
const FORMER_VERSION: u8 = 1;

/// What waits for the store.
#[derive(Debug, Default)]
pub struct SettingsDesk {
    /// What the settings are to be, if all that was asked for is kept.
    wanted: Option<Settings>,
    waiting: VecDeque<RequestId>,
}

impl SettingsDesk {
    pub fn settings(ctx: &Context, tables: &Tables) -> Settings {
        Settings {
            metric: ctx.metric,
            foreign_rules: tables.reconciliation.foreign,
            drained: ctx.drained.clone(),
        }
    }

    /// Asks the store to keep a change.
    pub fn configure(
        &mut self,
        ctx: &mut Context,
        tables: &Tables,
        id: RequestId,
        change: SettingsChange,
    ) {
        if self.waiting.len() >= MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        let present = Self::settings(ctx, tables);
        let settings = self.wanted.take().unwrap_or(present).after(change);
        self.wanted = Some(settings.clone());
        self.waiting.push_back(id);
        ctx.outbox.store(StoreWrite {
            key: Key::Settings,
            value: Some(to_bytes(&settings)),
        });
    }

    /// Takes settings that the store has kept, whoever changed them.
    pub fn settings_kept(
        &mut self,
        ctx: &mut Context,
        network: &mut Network,
        promises: &mut Promises,
        bytes: &[u8],
    ) {
        match from_bytes(bytes) {
            Some(settings) => Self::go_by(ctx, network, promises, settings),
            None => ctx.outbox.notify(Event::SettingsUnreadable),
        }
        let settings = Reply::Settings(Self::settings(ctx, &network.tables));
        self.answer_configuration(ctx, settings);
    }

    pub fn settings_rejected(&mut self, ctx: &mut Context) {
        self.answer_configuration(ctx, Reply::NotStored);
        self.wanted = None;
    }

    fn answer_configuration(&mut self, ctx: &mut Context, reply: Reply) {
        if let Some(id) = self.waiting.pop_front() {
            ctx.outbox.reply(id, reply);
        }
        if self.waiting.is_empty() {
            self.wanted = None;
        }
    }

    fn go_by(
        ctx: &mut Context,
        network: &mut Network,
        promises: &mut Promises,
        settings: Settings,
    ) {
        let before = Self::settings(ctx, &network.tables);
        if (before.metric, &before.drained) != (settings.metric, &settings.drained) {
            ctx.metric = settings.metric;
            ctx.drained = settings.drained;
            promises.known_ways = KnownWays::default();
            network.topology.atlas = None;
            network.owners.intents.price_anew();
        }
        promises.lead_off_drained(ctx, network);
        if before.foreign_rules != settings.foreign_rules {
            network.tables.reconciliation.foreign = settings.foreign_rules;
            network.tables.compare_whole(ctx, &network.owners, None);
        }
    }
}

fn to_bytes(settings: &Settings) -> Vec<u8> {
    postcard::to_extend(settings, vec![VERSION]).expect("words always have a form")
}

fn from_bytes(bytes: &[u8]) -> Option<Settings> {
    match bytes {
        [VERSION, content @ ..] => whole(content),
        [FORMER_VERSION, content @ ..] => {
            let (metric, foreign_rules) = whole(content)?;
            Some(Settings {
                metric,
                foreign_rules,
                drained: BTreeSet::new(),
            })
        }
        _ => None,
    }
}

/// Reads what takes all bytes.
fn whole<'a, T: Deserialize<'a>>(content: &'a [u8]) -> Option<T> {
    let (read, rest) = postcard::take_from_bytes(content).ok()?;
    rest.is_empty().then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Metric;
    use crate::northbound::ForeignRules;
    use wire::openflow::DatapathId;

    #[test]
    fn settings_are_read_as_they_were_written() {
        for metric in [Metric::Links, Metric::Delay] {
            for foreign_rules in [ForeignRules::Keep, ForeignRules::Remove] {
                let mut settings = Settings {
                    metric,
                    foreign_rules,
                    drained: BTreeSet::new(),
                };
                let former = [FORMER_VERSION, metric as u8, foreign_rules as u8];
                assert_eq!(from_bytes(&former).as_ref(), Some(&settings));

                settings.drained = [2, 300].map(DatapathId).into();

                let bytes = [VERSION, metric as u8, foreign_rules as u8, 2, 2, 0xac, 2];
                assert_eq!(to_bytes(&settings), bytes);
                assert_eq!(from_bytes(&bytes), Some(settings));
            }
        }
        for damaged in [
            &[][..],
            &[VERSION],
            &[VERSION, 2, 0, 0],
            &[9, 0, 0],
            &[VERSION, 1, 1, 1],
            &[VERSION, 1, 1, 0, 0],
            &[FORMER_VERSION, 1, 1, 0],
        ] {
            assert_eq!(from_bytes(damaged), None);
        }
    }
}
