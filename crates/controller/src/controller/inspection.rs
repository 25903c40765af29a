//! Shows the entries of a switch: those that it should have, and whether it has
//! them, and those that it has beside them.

use std::collections::BTreeMap;

use wire::openflow::{Action, Cookie, DatapathId, Instruction, MatchField};

use crate::audit::Reported;
use crate::desired::{COOKIE_MASK_OURS, COOKIE_OURS, Form, Rule, RulePlace, Standing};
use crate::northbound::{Reply, RequestId, RuleOwner, RuleState, RuleSummary};

use super::{Context, Owners, Tables};

impl Tables {
    /// Answers with the entries of a switch. `reported` is what it says that it
    /// has, if it says so.
    pub fn show_rules(
        &mut self,
        ctx: &mut Context,
        owners: &Owners,
        id: RequestId,
        datapath: DatapathId,
        reported: Option<&[Reported]>,
    ) {
        self.record_all(owners);
        let there: Option<BTreeMap<RulePlace, &Reported>> = reported.map(|rows| {
            let places = rows
                .iter()
                .filter_map(|row| Some((row.form.as_ref()?.place(), row)));
            places.collect()
        });
        let wanted = self.desired.of_switch(datapath);
        let mut rules: Vec<RuleSummary> = wanted
            .map(|(place, rule)| {
                let present = there.as_ref().map(|there| there.get(&place).copied());
                let state = self.state(datapath, (place, rule), present);
                let owner = owners.owner(rule.subject);
                summary(&rule.form, rule.cookie, owner, state)
            })
            .collect();
        for (place, row) in there.into_iter().flatten() {
            if self.desired.get(datapath, place).is_some() {
                continue;
            }
            let Some(form) = &row.form else {
                continue;
            };
            let state = match row.cookie.matches(COOKIE_OURS, COOKIE_MASK_OURS) {
                true => RuleState::Excess,
                false => RuleState::Present,
            };
            let owner = owners.owner_of_unwanted(row.cookie);
            rules.push(summary(form, row.cookie, owner, state));
        }
        ctx.outbox.reply(id, Reply::Rules(rules));
    }

    /// Returns whether a switch has an entry; `present` is what it says to have
    /// in its place, if it says so.
    fn state(
        &self,
        datapath: DatapathId,
        (place, rule): (RulePlace, &Rule),
        present: Option<Option<&Reported>>,
    ) -> RuleState {
        if let Some(error) = self.refusals.error((datapath, place)) {
            return RuleState::Refused {
                error: format!("{error:?}"),
            };
        }
        match present {
            Some(Some(row))
                if row.cookie == rule.cookie && row.form.as_ref() == Some(&rule.form) =>
            {
                RuleState::Present
            }
            Some(Some(_)) => RuleState::Different,
            Some(None) if rule.standing == Standing::Confirmed => RuleState::Missing,
            Some(None) => RuleState::Pending,
            None if !self.is_synchronised(datapath) => RuleState::Away,
            None => match rule.standing {
                Standing::Confirmed => RuleState::Present,
                Standing::Sent | Standing::Refused => RuleState::Pending,
            },
        }
    }
}

fn summary(form: &Form, cookie: Cookie, owner: RuleOwner, state: RuleState) -> RuleSummary {
    let matching: Vec<MatchField> = form.fields().iter().filter_map(Result::ok).collect();
    let instructions = form.instructions();
    let applied = instructions.iter().filter_map(Result::ok);
    let applied = applied.filter_map(|instruction| match instruction {
        Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => Some(actions),
        Instruction::GotoTable(_)
        | Instruction::WriteMetadata { .. }
        | Instruction::ClearActions
        | Instruction::Meter(_) => None,
    });
    let actions: Vec<Action> = applied
        .flat_map(|actions| actions.iter().filter_map(Result::ok))
        .collect();
    RuleSummary {
        table: form.table(),
        priority: form.priority(),
        matching,
        actions,
        cookie,
        owner,
        state,
    }
}
