//! What is handled by those who walk the compiled form, and what by the core, told
//! part by part: tables first, then groups, meters and entries.

use wire::openflow::taktos::{Answer, EngineItem, EngineReply, EngineSubject};
use wire::openflow::{Fields, GroupId, MeterId, Sequence, TableId, TransactionId};

use super::inspection::{Part, send};
use super::session::Session;
use super::statistics::PART_LOOKS;
use super::sweep::{Cursor, SweptPlace};
use crate::compiled::Form;
use crate::pipeline::Pipeline;
use crate::timeouts::EntryId;

/// An answer that lists what is handled where.
#[derive(Debug)]
pub(super) struct EngineDump {
    transaction: TransactionId,
    next: Next,
}

/// With what to go on.
#[derive(Clone, Copy, Debug)]
enum Next {
    Tables,
    Groups(GroupId),
    Meters(MeterId),
    Entries(Cursor),
}

impl EngineDump {
    pub(super) const fn new(transaction: TransactionId) -> Self {
        Self {
            transaction,
            next: Next::Tables,
        }
    }

    /// Sends the next part of the answer, and returns what is left of it.
    pub(super) fn send_part(mut self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let mut items = Vec::new();
        let next = pipeline.form.as_deref().and_then(|form| match self.next {
            Next::Tables => Some(tables(pipeline, form, &mut items)),
            Next::Groups(first) => Some(groups(pipeline, form, first, &mut items)),
            Next::Meters(first) => Some(meters(pipeline, form, first, &mut items)),
            Next::Entries(cursor) => entries(pipeline, form, cursor, &mut items),
        });
        let engine = pipeline.engine_counters();
        let answer = Answer::Engine(EngineReply {
            generation: pipeline.form.as_ref().map_or(0, |form| form.generation()),
            frames: engine.frames,
            handed: engine.handed,
            lost: engine.lost,
            too_long: engine.too_long,
            items: Sequence::of(&items),
        });
        let part = match next {
            Some(_) => Part::MoreFollows,
            None => Part::Last,
        };
        send(session, self.transaction, part, &answer);
        self.next = next?;
        Some(self)
    }
}

fn tables(pipeline: &Pipeline, form: &Form, items: &mut Vec<EngineItem<'_>>) -> Next {
    for (at, table) in pipeline.tables.iter().enumerate() {
        if table.flows.len() > 0 {
            let number = TableId(u8::try_from(at).expect("made from a u8"));
            items.push(EngineItem {
                subject: EngineSubject::Table(number),
                reason: form.why_table(at),
            });
        }
    }
    Next::Groups(GroupId(0))
}

fn groups(
    pipeline: &Pipeline,
    form: &Form,
    first: GroupId,
    items: &mut Vec<EngineItem<'_>>,
) -> Next {
    let groups = &pipeline.egress.groups;
    for group in groups.iter_within(first..=GroupId::MAX) {
        let id = group.config.id;
        if items.len() == PART_LOOKS {
            return Next::Groups(id);
        }
        let index = groups.find(id).expect("it was found by its number");
        items.push(EngineItem {
            subject: EngineSubject::Group(id),
            reason: form.why_group(pipeline, index),
        });
    }
    Next::Meters(MeterId(0))
}

fn meters(
    pipeline: &Pipeline,
    form: &Form,
    first: MeterId,
    items: &mut Vec<EngineItem<'_>>,
) -> Next {
    let meters = pipeline.egress.meters.iter();
    for (index, meter) in meters.filter(|(_, meter)| meter.config.id >= first) {
        let id = meter.config.id;
        if items.len() == PART_LOOKS {
            return Next::Meters(id);
        }
        items.push(EngineItem {
            subject: EngineSubject::Meter(id),
            reason: form.why_meter(pipeline, index),
        });
    }
    Next::Entries(Cursor::new(TableId::ALL))
}

fn entries<'a>(
    pipeline: &'a Pipeline,
    form: &Form,
    mut cursor: Cursor,
    items: &mut Vec<EngineItem<'a>>,
) -> Option<Next> {
    for _ in 0..PART_LOOKS {
        match cursor.step(pipeline) {
            SweptPlace::Entry(id) => items.push(entry(pipeline, form, id)),
            SweptPlace::Empty => {}
            SweptPlace::End => return None,
        }
    }
    Some(Next::Entries(cursor))
}

fn entry<'a>(pipeline: &'a Pipeline, form: &Form, id: EntryId) -> EngineItem<'a> {
    let entry = pipeline.entry(id);
    EngineItem {
        subject: EngineSubject::Entry {
            table: id.table,
            priority: entry.rule.priority,
            cookie: entry.cookie,
            matching: Fields::from_bytes(&entry.fields),
        },
        reason: form.why_entry(pipeline, id),
    }
}
