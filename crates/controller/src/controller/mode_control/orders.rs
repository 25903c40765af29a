//! What an operator has said of the level, which the store keeps.
//!
//! It holds from when the store has it, and whoever said so is answered then. A
//! controller that starts does as it was said, and brings a network whose switches have
//! all restarted to the level that is forced.

use std::collections::VecDeque;

use wire::mode_signal::Level;
use wire::openflow::taktos::ModeCommand;

use crate::modes::{Modes, Strategy};
use crate::northbound::{Event, MAX_WAITING, Reply, RequestId};
use crate::store::{Key, StoreWrite};

use super::super::{Context, ModeDesk, Network};
use super::desk::Lock;

/// The version of the form in which it is kept.
const VERSION: u8 = 1;
const NOT_FORCED: u8 = 0xff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Orders {
    pub(super) lock: Lock,
    pub(super) forced: Option<Level>,
}

/// What waits for the store.
#[derive(Debug, Default)]
pub(super) struct OrdersDesk {
    /// What is to hold if all that was said is kept.
    wanted: Option<Orders>,
    waiting: VecDeque<RequestId>,
}

impl OrdersDesk {
    pub(super) fn is_settled(&self) -> bool {
        self.waiting.is_empty()
    }
}

impl ModeDesk {
    /// Asks the store to keep what an operator says.
    pub(super) fn keep_orders(
        &mut self,
        ctx: &mut Context,
        id: RequestId,
        change: impl FnOnce(&mut Orders),
    ) {
        if self.orders.waiting.len() >= MAX_WAITING {
            ctx.outbox.reply(id, Reply::Busy);
            return;
        }
        let present = Orders {
            lock: self.lock,
            forced: self.forced,
        };
        let desk = &mut self.orders;
        let mut orders = desk.wanted.unwrap_or(present);
        change(&mut orders);
        desk.wanted = Some(orders);
        desk.waiting.push_back(id);
        ctx.outbox.store(StoreWrite {
            key: Key::Mode,
            value: Some(orders.to_bytes()),
        });
    }

    /// Does as was said, which the store has kept, whoever said so.
    pub fn orders_kept(&mut self, ctx: &mut Context, network: &Network, bytes: &[u8]) {
        match (Orders::from_bytes(bytes), self.active()) {
            (Some(orders), Some(modes)) => {
                if orders.lock != Lock::Unsaid {
                    self.lock = orders.lock;
                }
                self.forced = orders.forced.filter(|level| modes.has(*level));
                self.take_part_all(ctx, network, &modes);
                ctx.modes_changed();
            }
            (Some(_), None) => {}
            (None, _) => ctx.outbox.notify(Event::SettingsUnreadable),
        }
        if let Some(id) = self.orders.waiting.pop_front() {
            self.show_mode(ctx, id);
        }
        self.settle_orders();
    }

    pub fn orders_rejected(&mut self, ctx: &mut Context) {
        if let Some(id) = self.orders.waiting.pop_front() {
            ctx.outbox.reply(id, Reply::NotStored);
        }
        self.orders.wanted = None;
    }

    fn settle_orders(&mut self) {
        if self.orders.is_settled() {
            self.orders.wanted = None;
        }
    }

    /// Has the network go to the level that is forced, where it is below.
    pub(super) fn keep_forced(&mut self, ctx: &mut Context, network: &mut Network, modes: &Modes) {
        let is_idle = self.asked.is_none() && self.orders.is_settled();
        let Some(forced) = self.forced.filter(|_| is_idle) else {
            return;
        };
        let (mode, origin) = self.agreed();
        match modes.strategy {
            Strategy::StdSdn if self.written < forced => {
                self.write_level(ctx, network, modes, forced)
            }
            Strategy::Taktos if mode.level < forced => {
                if let Some(datapath) = self.whom_to_ask(origin) {
                    self.ask_for_level(
                        ctx,
                        &mut network.tables,
                        datapath,
                        ModeCommand::Force,
                        forced,
                        None,
                    );
                }
            }
            Strategy::StdSdn | Strategy::Taktos | Strategy::McAgnostic => {}
        }
    }
}

impl Orders {
    fn to_bytes(self) -> Vec<u8> {
        let lock = match self.lock {
            Lock::Unsaid => 0,
            Lock::Open => 1,
            Lock::Locked => 2,
        };
        let forced = self.forced.map_or(NOT_FORCED, Level::number);
        vec![VERSION, lock, forced]
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let [VERSION, lock, forced] = bytes else {
            return None;
        };
        Some(Self {
            lock: match lock {
                0 => Lock::Unsaid,
                1 => Lock::Open,
                2 => Lock::Locked,
                _ => return None,
            },
            forced: match *forced {
                NOT_FORCED => None,
                level => Some(Level::new(level)?),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read_as_they_were_written() {
        for lock in [Lock::Unsaid, Lock::Open, Lock::Locked] {
            for forced in [None, Some(Level::LOWEST), Some(Level::HIGHEST)] {
                let orders = Orders { lock, forced };

                assert_eq!(Orders::from_bytes(&orders.to_bytes()), Some(orders));
            }
        }
        for damaged in [
            &[][..],
            &[VERSION],
            &[VERSION, 3, 0],
            &[VERSION, 0, 8],
            &[9, 0, 0],
        ] {
            assert_eq!(Orders::from_bytes(damaged), None);
        }
    }
}
