//! How far switches are with what they should have: which are there, what they were sent,
//! and what they have confirmed or refused.

use std::collections::BTreeSet;

use wire::openflow::DatapathId;

use super::{
    Connection, Desired, DigestSums, EntryOwner, Fate, Order, Progress, Rule, RuleKey, RulePlace,
    SentRef, Standing, Table, shift,
};

impl Desired {
    /// Notes that a switch is there, and gets what is sent to it from now on.
    pub fn connect(&mut self, datapath: DatapathId) {
        let at = self.table_at(datapath);
        self.set_connection(at, Connection::Connected);
    }

    /// Notes that a switch was given what it lacked: it has all that is not under way.
    pub fn synchronise(&mut self, datapath: DatapathId) {
        let at = self.table_at(datapath);
        self.set_connection(at, Connection::Synchronised);
    }

    /// Notes that a switch is away: nobody will confirm what was under way to it. Returns
    /// whose that was.
    pub fn disconnect(&mut self, datapath: DatapathId) -> BTreeSet<EntryOwner> {
        let mut lost = BTreeSet::new();
        let Some(at) = self.by_datapath.get(&datapath).copied() else {
            return lost;
        };
        self.set_connection(at, Connection::Away);
        if let Some(table) = self.tables.get_mut(at) {
            for sending in std::mem::take(&mut table.sent) {
                match sending.change {
                    SentRef::Loss(subject) => {
                        lost.insert(subject);
                    }
                    SentRef::Entry(number, _) => {
                        let rule = table.rules.get_mut(number);
                        let is_it = |rule: &&mut Rule| rule.message == Some(sending.message);
                        if let Some(rule) = rule.filter(is_it) {
                            rule.message = None;
                            lost.insert(rule.subject);
                        }
                    }
                }
            }
        }
        lost
    }

    fn set_connection(&mut self, at: u32, connection: Connection) {
        let Some(table) = self.tables.get_mut(at) else {
            return;
        };
        let is_away = |connection| connection != Connection::Synchronised;
        self.away -= usize::from(is_away(table.connection));
        self.away += usize::from(is_away(connection));
        table.connection = connection;
    }

    /// Returns whether a switch is connected and was given what it lacked.
    #[must_use]
    pub fn is_synchronised(&self, datapath: DatapathId) -> bool {
        let table = self.table(datapath);
        table.is_some_and(|table| table.connection == Connection::Synchronised)
    }

    /// Forgets a switch that is away, if nobody wants an entry of it.
    pub fn forget(&mut self, datapath: DatapathId) {
        let table = self.table(datapath);
        let is_unused =
            |table: &Table| table.places.is_empty() && table.connection != Connection::Synchronised;
        if table.is_some_and(is_unused)
            && let Some(at) = self.by_datapath.remove(&datapath)
        {
            self.tables.remove(at);
            self.away -= 1;
        }
    }

    /// Notes that a switch has refused an entry, or that it has lost one: no message that
    /// was sent before brings it.
    pub fn set_standing(&mut self, (datapath, place): RuleKey, standing: Standing) {
        let Some((rule, owned)) = self.rule_mut(datapath, place) else {
            return;
        };
        let (before, after) = (Fate::Had(rule.standing), Fate::Had(standing));
        (rule.standing, rule.message) = (standing, None);
        let owner = rule.owner;
        shift(owned, owner, before, after);
    }

    /// Lets an entry be sent once more. Returns it.
    pub fn send_again(&mut self, spot: RuleKey) -> Order<'_> {
        self.set_standing(spot, Standing::Sent);
        let (datapath, place) = spot;
        match self.table_mut(datapath) {
            Some(table) => match table.places.get(&place).copied() {
                Some(number) => table.order(number, place, true),
                None => Order::Nothing,
            },
            None => Order::Nothing,
        }
    }

    /// Notes that a switch has an entry that was sent, and returns whether that is
    /// new. One that is away may have lost it, and what is under way is confirmed by a
    /// barrier of its own.
    pub fn confirm(&mut self, (datapath, place): RuleKey) -> bool {
        if !self.is_synchronised(datapath) {
            return false;
        }
        let Some((rule, owned)) = self.rule_mut(datapath, place) else {
            return false;
        };
        if rule.standing != Standing::Sent || rule.is_under_way() {
            return false;
        }
        rule.standing = Standing::Confirmed;
        let (before, after) = (Fate::Had(Standing::Sent), Fate::Had(Standing::Confirmed));
        let owner = rule.owner;
        shift(owned, owner, before, after);
        true
    }

    /// Returns the number of the last message that was sent to a switch: a barrier behind
    /// it covers that one and all before.
    #[must_use]
    pub fn messages(&self, datapath: DatapathId) -> u64 {
        self.table(datapath).map_or(0, |table| table.messages)
    }

    /// Notes that a switch has answered a barrier that covers its messages up to one.
    /// Calls `answered` for each: with the subject, and with the place of the entry if it
    /// is confirmed by that. A subject that waits for more is left out unless `is_all`.
    /// Returns whether it covers anything that no other one did.
    pub fn confirm_up_to(
        &mut self,
        datapath: DatapathId,
        message: u64,
        is_all: bool,
        mut answered: impl FnMut(EntryOwner, Option<RulePlace>),
    ) -> bool {
        let at = self.by_datapath.get(&datapath);
        let Some(table) = at.and_then(|at| self.tables.get_mut(*at)) else {
            return false;
        };
        let under_way = table.sent.len();
        while let Some(sending) = table.sent.pop_front_if(|one| one.message.get() <= message) {
            let (number, place) = match sending.change {
                SentRef::Loss(subject) => {
                    answered(subject, None);
                    continue;
                }
                SentRef::Entry(number, place) => (number, place),
            };
            // It may have been refused or written over, and its number given again.
            let rule = table.rules.get_mut(number);
            let Some(rule) = rule.filter(|rule| rule.message == Some(sending.message)) else {
                continue;
            };
            rule.message = None;
            let Some(owned) = self.owned.get_mut(rule.owner) else {
                continue;
            };
            let mut confirmed = None;
            if table.connection == Connection::Synchronised && rule.standing == Standing::Sent {
                rule.standing = Standing::Confirmed;
                owned.sent -= 1;
                confirmed = Some(place);
            }
            if is_all || owned.progress(self.away) != Progress::Pending {
                answered(owned.subject, confirmed);
            }
        }
        table.sent.len() < under_way
    }

    /// Returns what the digests of all entries that a switch should have add up to.
    pub fn digest_sums(&mut self, datapath: DatapathId) -> DigestSums {
        let table = self.table_mut(datapath);
        table.map_or_else(DigestSums::new, |table| table.sums().clone())
    }

    /// Begins to note what is changed on a switch.
    pub fn watch(&mut self, datapath: DatapathId) {
        let at = self.table_at(datapath);
        if let Some(table) = self.tables.get_mut(at) {
            table.changed = Some(BTreeSet::new());
        }
    }

    /// Returns what was changed on a switch since [`watch`](Self::watch).
    pub fn unwatch(&mut self, datapath: DatapathId) -> BTreeSet<RulePlace> {
        let table = self.table_mut(datapath);
        let changed = table.and_then(|table| table.changed.take());
        changed.unwrap_or_default()
    }
}
