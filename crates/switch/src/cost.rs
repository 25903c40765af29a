//! What a frame costs at most, for the tables as they stand.
//!
//! A table is looked up in by asking one hash table for each of its distinct
//! masks, and each of those by looking at no more than [`LONGEST_PROBE`] slots.
//! From a table a frame only goes on to tables behind it (OF13 clause 5.1.1), so
//! the most expensive way is found from the last table to the first. Every part
//! of the cost is the greatest of its own way: together they bound the cost of
//! every frame, and no single frame need reach them all.

use std::collections::BTreeMap;

use wire::openflow::TableId;

use crate::action::Program;
use crate::group_walk::GROUP_COPIES_A_FRAME;
use crate::mask_group::LONGEST_PROBE;

/// What a frame costs at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// From the first table on.
    pub frame: Work,
    /// Table by table, empty ones left out.
    pub tables: Vec<TableCost>,
}

/// A number of steps, none of which depends on how many entries there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    pub tables: u32,
    /// Hash tables asked: one for each distinct mask.
    pub lookups: u32,
    /// Slots of hash tables looked at.
    pub slots: u32,
    pub actions: u32,
    pub buckets: u32,
}

/// One table and what follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCost {
    pub table: TableId,
    /// How many entries it has.
    pub entries: u32,
    /// How many distinct masks these have.
    pub masks: u32,
    /// What a frame costs from here on.
    pub onward: Work,
}

impl Work {
    fn lookup(masks: u32) -> Self {
        Self {
            tables: 1,
            lookups: masks,
            slots: masks * LONGEST_PROBE,
            ..Self::default()
        }
    }

    /// Returns the two one after the other.
    fn and(self, other: Self) -> Self {
        Self {
            tables: self.tables + other.tables,
            lookups: self.lookups + other.lookups,
            slots: self.slots + other.slots,
            actions: self.actions + other.actions,
            // A frame goes through no more, however many groups it meets.
            buckets: self.buckets.max(other.buckets),
        }
    }

    fn or(self, other: Self) -> Self {
        Self {
            tables: self.tables.max(other.tables),
            lookups: self.lookups.max(other.lookups),
            slots: self.slots.max(other.slots),
            actions: self.actions.max(other.actions),
            buckets: self.buckets.max(other.buckets),
        }
    }
}

/// What an entry costs a frame: many entries have the same shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shape {
    goto: Option<TableId>,
    actions: u32,
    groups: bool,
}

impl Shape {
    pub(crate) fn of(program: &Program) -> Self {
        let actions = program.apply.len() + program.write.len();
        Self {
            goto: program.goto,
            actions: u32::try_from(actions).expect("lists of actions are short"),
            groups: !program.groups().is_empty(),
        }
    }
}

/// How many entries of a table have which shape.
pub(crate) type Shapes = BTreeMap<Shape, u32>;

/// Returns the cost of tables, of each of which the number of entries, the
/// number of masks and the shapes are given.
pub(crate) fn cost<'a>(
    tables: impl DoubleEndedIterator<Item = (u32, u32, &'a Shapes)> + ExactSizeIterator,
) -> Cost {
    let mut onward = vec![Work::default(); tables.len()];
    let mut listed = Vec::new();
    for (at, (entries, masks, shapes)) in tables.enumerate().rev() {
        let follows = shapes.keys().map(|shape| {
            let next = shape.goto.map_or(Work::default(), |next| {
                onward.get(usize::from(next.0)).copied().unwrap_or_default()
            });
            Work {
                actions: shape.actions,
                buckets: if shape.groups {
                    GROUP_COPIES_A_FRAME
                } else {
                    0
                },
                ..Work::default()
            }
            .and(next)
        });
        onward[at] = Work::lookup(masks).and(follows.fold(Work::default(), Work::or));
        if entries > 0 {
            listed.push(TableCost {
                table: TableId(u8::try_from(at).expect("made from a u8")),
                entries,
                masks,
                onward: onward[at],
            });
        }
    }
    listed.reverse();
    Cost {
        frame: onward.first().copied().unwrap_or_default(),
        tables: listed,
    }
}
