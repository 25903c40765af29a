use proptest::prelude::*;
use units::Duration;
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, FlowModFlags, Instruction, Instructions, MatchField, PortNumber, Sequence,
};

use super::*;
use crate::desired::{EntryOwner, PlacedRule};
use crate::northbound::FlowId;

const AT: DatapathId = DatapathId(1);

#[test]
fn a_switch_that_has_what_it_should_have_needs_nothing() {
    let desired = desired(&[1, 2, 3]);

    assert!(audit(&desired, &entries(&desired)).is_empty());
}

#[test]
fn what_lacks_what_differs_and_what_is_in_excess_is_found() {
    let desired = desired(&[1, 2, 3]);
    let mut there = entries(&desired);
    let lacking = there.remove(0);
    there[0].actions = vec![Action::output(PortNumber(9))];
    let changed = there[0].clone();
    there.push(entry(7, 1, COOKIE_OURS));

    let finding = audit(&desired, &there);

    assert_eq!(finding.missing, [lacking.place()]);
    assert_eq!(places(&finding), [changed.place()]);
    let excess: Vec<Cookie> = finding.excess.iter().map(|entry| entry.cookie).collect();
    assert_eq!(excess, [COOKIE_OURS]);
}

#[test]
fn an_entry_with_a_cookie_of_somebody_else_is_different() {
    let desired = desired(&[1]);
    let mut there = entries(&desired);
    there[0].cookie = Cookie(7);

    let mut audit = Audit::new(Scope::All);
    take(&mut audit, &desired, &there);
    let finding = audit.finish(
        AT,
        &desired,
        &mut Dialect::default(),
        &BTreeSet::new(),
        |_| true,
    );

    assert_eq!(places(&finding), [there[0].place()]);
    assert!(finding.missing.is_empty() && finding.excess.is_empty());
}

#[test]
fn what_was_changed_meanwhile_is_left_alone() {
    let desired = desired(&[1, 2]);
    let changed = entries(&desired).iter().map(Row::place).collect();

    let audit = Audit::new(Scope::Ours);
    let finding = audit.finish(AT, &desired, &mut Dialect::default(), &changed, |_| true);

    assert!(finding.is_empty());
}

/// A switch that says every entry in words of its own, match included, is
/// written over once and then left alone; a change behind its words is found.
#[test]
fn the_words_of_a_switch_are_learned() {
    let desired = desired(&[1]);
    let mut dialect = Dialect::default();
    let mut there = entries(&desired);
    there[0].input = 77;
    let mut look = |there: &[Row]| {
        let mut audit = Audit::new(Scope::Ours);
        take(&mut audit, &desired, there);
        let finding = audit.finish(AT, &desired, &mut dialect, &BTreeSet::new(), |_| true);
        let different = finding.different.iter();
        different.for_each(|different| dialect.written_over(different));
        finding
    };

    let first = look(&there);
    let second = look(&there);
    let third = look(&there);
    there[0].actions = Vec::new();
    let tampered = look(&there);

    assert_eq!(first.different.len(), 1);
    assert!(first.excess.is_empty() && first.missing.is_empty());
    assert!(second.is_empty() && second.words == 1);
    assert!(third.is_empty() && third.words == 0);
    assert_eq!(tampered.different.len(), 1);
}

proptest! {
    /// Whatever a switch has, mending what is found makes it what it should
    /// have, and then nothing is found any more; by slices as well as whole.
    #[test]
    fn what_is_found_is_what_is_wrong(
        wanted in prop::collection::btree_set(1..40u32, 0..30),
        there in prop::collection::btree_map(1..40u32, (1..4u32, any::<bool>()), 0..30),
        by_slices in any::<bool>(),
    ) {
        let desired = desired(&wanted.into_iter().collect::<Vec<_>>());
        let mut table: BTreeMap<RulePlace, Row> = there
            .into_iter()
            .map(|(input, (output, is_kept))| {
                let mut row = entry(input, output, COOKIE_OURS);
                let rule = desired.get(AT, row.place());
                if let Some(rule) = rule.filter(|_| is_kept) {
                    row.cookie = rule.cookie;
                }
                row.cookie = Cookie(
                    row.cookie.0 & !COOKIE_MASK_SLICE.0 | slice_cookie(row.place().slice()).0,
                );
                (row.place(), row)
            })
            .collect();
        let scopes: Vec<Scope> = match by_slices {
            true => (0..RulePlace::SLICES).map(Scope::Slice).collect(),
            false => vec![Scope::Ours],
        };

        for scope in scopes {
            let rows: Vec<Row> = table.values().cloned().collect();
            let mut audit = Audit::new(scope);
            take(&mut audit, &desired, &rows);
            let mut dialect = Dialect::default();
            let finding = audit.finish(AT, &desired, &mut dialect, &BTreeSet::new(), |_| true);
            for place in places(&finding).iter().chain(&finding.missing) {
                let rule = desired.get(AT, *place).unwrap();
                table.insert(*place, entry_of(&rule.form, rule.cookie));
            }
            for excess in finding.excess {
                table.remove(&excess.form.unwrap().place());
            }
        }

        let expected: BTreeMap<RulePlace, Row> = entries(&desired)
            .into_iter()
            .map(|row| (row.place(), row))
            .collect();
        prop_assert_eq!(table, expected);
    }
}

/// An entry of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    input: u32,
    cookie: Cookie,
    actions: Vec<Action>,
}

impl Row {
    fn fields(&self) -> [MatchField; 2] {
        let source = MacAddress([2, 0, 0, 0, 0, 1]);
        [
            MatchField::InPort(PortNumber(self.input)),
            MatchField::EthSrc(Masked::exact(source)),
        ]
    }

    fn rule(&self) -> PlacedRule {
        PlacedRule {
            datapath: AT,
            table: TableId(0),
            priority: 10,
            matching: self.fields().to_vec(),
            actions: self.actions.clone(),
        }
    }

    fn place(&self) -> RulePlace {
        self.rule().place()
    }
}

fn entry(input: u32, output: u32, cookie: Cookie) -> Row {
    Row {
        input,
        cookie,
        actions: vec![Action::output(PortNumber(output))],
    }
}

fn entry_of(form: &Form, cookie: Cookie) -> Row {
    let output = form.outputs().next().unwrap();
    entry(form.in_port().unwrap().0, output.0, cookie)
}

fn desired(inputs: &[u32]) -> Desired {
    let mut desired = Desired::default();
    for input in inputs {
        let rule = entry(*input, 1, Cookie(0)).rule();
        let subject = EntryOwner::Flow(FlowId(*input));
        desired.put(subject, (AT, rule.place()), rule.form());
    }
    desired
}

fn entries(desired: &Desired) -> Vec<Row> {
    let rules = desired.of_switch(AT);
    rules
        .map(|(_, rule)| entry_of(&rule.form, rule.cookie))
        .collect()
}

fn places(finding: &Finding) -> Vec<RulePlace> {
    finding
        .different
        .iter()
        .map(|different| different.place)
        .collect()
}

fn audit(desired: &Desired, there: &[Row]) -> Finding {
    let mut audit = Audit::new(Scope::Ours);
    take(&mut audit, desired, there);
    audit.finish(
        AT,
        desired,
        &mut Dialect::default(),
        &BTreeSet::new(),
        |_| true,
    )
}

fn take(audit: &mut Audit, desired: &Desired, there: &[Row]) {
    for row in there {
        let fields = row.fields();
        let instructions = [Instruction::ApplyActions(Actions::of(&row.actions))];
        let entry = FlowStatistics {
            table: TableId(0),
            age: Duration::ZERO,
            priority: 10,
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            flags: FlowModFlags::NONE,
            cookie: row.cookie,
            packets: 0,
            bytes: 0,
            matching: Sequence::of(&fields),
            instructions: Instructions::of(&instructions),
        };
        audit.take(AT, &entry, desired);
    }
}
