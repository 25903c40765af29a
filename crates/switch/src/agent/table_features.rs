//! What tables can do, and which tables there are, OF13 clause 7.3.5.5.
//!
//! Every table can do everything that the switch can do, so a request to
//! configure the tables names them, says how many of them there are, and is
//! otherwise checked: what it asks for must be no more than what there is. The
//! answer lists what there is. A request may come in many messages; nothing is
//! changed before the last one, and nothing at all if one of them is refused.
//!
//! The tables of a request are numbered from 0 on without a gap. Where their
//! number changes, every entry loses tables that it could go to or gets new
//! ones, so all entries go, without a word, as the specification says for
//! tables whose abilities change.
//!
//! # Left out
//!
//! Tables that do less than they could because a controller asked for less: the
//! specification lets the switch offer more than was asked for.

use wire::openflow::multipart::{
    ActionId, FieldId, InstructionId, MultipartReply, ReplyBody, TableFeatures, TableProperty,
};
use wire::openflow::{
    ActionKind, BadRequest, ErrorKind, FieldKind, InstructionKind, Message, Sequence,
    TableFeaturesFailed, TableId, TransactionId,
};

use super::Agent;
use super::dump::Dump;
use super::session::{ConnectionId, Session};
use crate::pipeline::Pipeline;

/// How many tables are described in one part of an answer.
const PART_TABLES: usize = 8;
/// The bits of a table's configuration that mean nothing any more, OF13 clause
/// 7.3.3: a controller may set them.
pub(super) const DEPRECATED_CONFIG: u32 = 3;

/// The tables that a controller asked for in the messages so far of a request.
#[derive(Debug)]
pub(super) struct Wanted {
    transaction: TransactionId,
    tables: Vec<WantedTable>,
}

#[derive(Debug)]
struct WantedTable {
    table: TableId,
    name: String,
    /// The highest table that its entries want to go to.
    next: Option<TableId>,
}

/// An answer that lists what tables can do, part by part.
#[derive(Debug)]
pub(super) struct TableDump {
    transaction: TransactionId,
    /// The table to go on with.
    next: usize,
}

impl Agent {
    /// Answers what tables can do, or takes a part of what they shall be.
    pub(super) fn table_features(
        &mut self,
        pipeline: &mut Pipeline,
        id: ConnectionId,
        transaction: TransactionId,
        more: bool,
        tables: Sequence<'_, TableFeatures<'_>>,
    ) -> Result<(), ErrorKind> {
        let Some(session) = self.sessions.get_mut(&id) else {
            return Ok(());
        };
        let mut wanted = match session.wanted_tables.take() {
            Some(wanted) if wanted.transaction == transaction => wanted,
            Some(other) if more => {
                // One request at a time is kept.
                session.wanted_tables = Some(other);
                let code = BadRequest::MultipartBufferOverflow;
                return Err(ErrorKind::BadRequest(code));
            }
            other => {
                session.wanted_tables = other;
                Wanted {
                    transaction,
                    tables: Vec::new(),
                }
            }
        };
        let asks = tables.iter().next().is_none() && wanted.tables.is_empty();
        if !asks {
            self.may_change(id)?;
        }
        for table in tables {
            let table = table.map_err(|error| error.kind())?;
            wanted.add(pipeline, &table)?;
        }
        if more {
            self.keep_wanted(id, wanted);
            return Ok(());
        }
        if !asks {
            self.set_tables(pipeline, wanted.tables)?;
        }
        if let Some(session) = self.sessions.get_mut(&id) {
            let next = 0;
            session.dump = Some(Dump::Tables(TableDump { transaction, next }));
        }
        Ok(())
    }

    fn keep_wanted(&mut self, id: ConnectionId, wanted: Wanted) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.wanted_tables = Some(wanted);
        }
    }

    /// Makes the tables what was asked for.
    fn set_tables(
        &mut self,
        pipeline: &mut Pipeline,
        mut wanted: Vec<WantedTable>,
    ) -> Result<(), ErrorKind> {
        wanted.sort_by_key(|wanted| wanted.table);
        let gapless = (0..).map(TableId).zip(&wanted);
        if gapless.into_iter().any(|(at, wanted)| at != wanted.table) {
            return failed(TableFeaturesFailed::BadTable);
        }
        let last = wanted.last().map(|wanted| wanted.table);
        if wanted.iter().any(|wanted| wanted.next > last) {
            return failed(TableFeaturesFailed::BadArgument);
        }
        if wanted.len() != pipeline.tables.len() {
            self.forget_entries(pipeline);
            pipeline.resize(wanted.len());
        }
        for (table, wanted) in pipeline.tables.iter_mut().zip(wanted) {
            table.name = wanted.name;
        }
        Ok(())
    }
}

impl Wanted {
    /// Takes a table, if the switch can be what is asked for.
    fn add(&mut self, pipeline: &Pipeline, features: &TableFeatures<'_>) -> Result<(), ErrorKind> {
        let table = features.table;
        let known = usize::from(table.0) < pipeline.tables_max();
        if !known || self.tables.iter().any(|wanted| wanted.table == table) {
            return failed(TableFeaturesFailed::BadTable);
        }
        let capacity = pipeline.tables[0].flows.capacity();
        let too_many = usize::try_from(features.max_entries).is_ok_and(|max| max > capacity);
        if too_many || features.config & !DEPRECATED_CONFIG != 0 {
            return failed(TableFeaturesFailed::BadArgument);
        }
        let mut next = None;
        for property in features.properties {
            let property = property.map_err(|error| error.kind())?;
            next = next.max(check(table, property)?);
        }
        self.tables.push(WantedTable {
            table,
            name: features.name.to_owned(),
            next,
        });
        Ok(())
    }
}

/// Checks that a table can have a property, and returns the highest table that
/// it lets entries go to.
fn check(table: TableId, property: TableProperty<'_>) -> Result<Option<TableId>, ErrorKind> {
    match property {
        TableProperty::Instructions(list) | TableProperty::InstructionsMiss(list) => {
            each(list, |id| matches!(id, InstructionId::Standard(_)))?;
        }
        TableProperty::NextTables(list) | TableProperty::NextTablesMiss(list) => {
            each(list, |next| next > table)?;
            return Ok(list.iter().filter_map(Result::ok).max());
        }
        TableProperty::WriteActions(list)
        | TableProperty::WriteActionsMiss(list)
        | TableProperty::ApplyActions(list)
        | TableProperty::ApplyActionsMiss(list) => {
            each(list, |id| matches!(id, ActionId::Standard(_)))?;
        }
        TableProperty::Match(list) => each(list, can_match)?,
        TableProperty::Wildcards(list) => {
            each(list, |id| matches!(id, FieldId::Standard { .. }))?;
        }
        TableProperty::WriteSetField(list)
        | TableProperty::WriteSetFieldMiss(list)
        | TableProperty::ApplySetField(list)
        | TableProperty::ApplySetFieldMiss(list) => each(list, can_set)?,
        TableProperty::Experimenter { .. } | TableProperty::ExperimenterMiss { .. } => {
            return failed(TableFeaturesFailed::BadType);
        }
    }
    Ok(None)
}

/// Checks every item of a list.
fn each<'a, T: wire::openflow::Element<'a>>(
    list: Sequence<'a, T>,
    can: impl Fn(T) -> bool,
) -> Result<(), ErrorKind> {
    for item in list {
        let item = item.map_err(|error| error.kind())?;
        if !can(item) {
            return failed(TableFeaturesFailed::BadArgument);
        }
    }
    Ok(())
}

fn can_match(id: FieldId) -> bool {
    match id {
        FieldId::Standard { field, has_mask } => !has_mask || field.can_have_mask(),
        FieldId::Experimenter { .. } | FieldId::Unknown { .. } => false,
    }
}

fn can_set(id: FieldId) -> bool {
    match id {
        FieldId::Standard { field, .. } => is_settable(field),
        FieldId::Experimenter { .. } | FieldId::Unknown { .. } => false,
    }
}

/// Returns whether a set-field action can write the field: everything that
/// stands in a frame, and the tunnel, OF13 clauses 5.12 and 7.2.5.
fn is_settable(field: FieldKind) -> bool {
    match field {
        FieldKind::InPort
        | FieldKind::InPhysicalPort
        | FieldKind::Metadata
        | FieldKind::Ipv6Exthdr
        | FieldKind::Level => false,
        FieldKind::EthDst
        | FieldKind::EthSrc
        | FieldKind::EthType
        | FieldKind::VlanVid
        | FieldKind::VlanPcp
        | FieldKind::IpDscp
        | FieldKind::IpEcn
        | FieldKind::IpProto
        | FieldKind::Ipv4Src
        | FieldKind::Ipv4Dst
        | FieldKind::TcpSrc
        | FieldKind::TcpDst
        | FieldKind::UdpSrc
        | FieldKind::UdpDst
        | FieldKind::SctpSrc
        | FieldKind::SctpDst
        | FieldKind::Icmpv4Type
        | FieldKind::Icmpv4Code
        | FieldKind::ArpOp
        | FieldKind::ArpSpa
        | FieldKind::ArpTpa
        | FieldKind::ArpSha
        | FieldKind::ArpTha
        | FieldKind::Ipv6Src
        | FieldKind::Ipv6Dst
        | FieldKind::Ipv6Flabel
        | FieldKind::Icmpv6Type
        | FieldKind::Icmpv6Code
        | FieldKind::Ipv6NdTarget
        | FieldKind::Ipv6NdSll
        | FieldKind::Ipv6NdTll
        | FieldKind::MplsLabel
        | FieldKind::MplsTc
        | FieldKind::MplsBos
        | FieldKind::PbbIsid
        | FieldKind::TunnelId => true,
    }
}

fn failed<T>(code: TableFeaturesFailed) -> Result<T, ErrorKind> {
    Err(ErrorKind::TableFeaturesFailed(code))
}

impl TableDump {
    /// Sends one part of the answer, and returns what is left of it.
    pub(super) fn send_part(self, pipeline: &Pipeline, session: &mut Session) -> Option<Self> {
        let abilities = Abilities::new();
        let count = pipeline.tables.len();
        let end = count.min(self.next + PART_TABLES);
        let all: Vec<_> = (0..=TableId::MAX.0).map(TableId).take(count).collect();
        let part = self.next.min(end)..end;
        let properties: Vec<_> = part
            .clone()
            .map(|at| abilities.properties(&all[at + 1..]))
            .collect();
        let tables = part.zip(&properties).map(|(at, properties)| {
            let table = &pipeline.tables[at];
            TableFeatures {
                table: all[at],
                name: &table.name,
                metadata_match: u64::MAX,
                metadata_write: u64::MAX,
                config: 0,
                max_entries: u32::try_from(table.flows.capacity()).unwrap_or(u32::MAX),
                properties: Sequence::of(properties),
            }
        });
        let tables: Vec<_> = tables.collect();
        let more = end < count;
        let body = ReplyBody::TableFeatures(Sequence::of(&tables));
        let reply = Message::MultipartReply(MultipartReply { more, body });
        session.send(self.transaction, &reply);
        more.then_some(Self { next: end, ..self })
    }
}

/// What every table can do.
struct Abilities {
    instructions: Vec<InstructionId>,
    actions: Vec<ActionId>,
    matchable: Vec<FieldId>,
    wildcards: Vec<FieldId>,
    settable: Vec<FieldId>,
}

impl Abilities {
    fn new() -> Self {
        let fields = || FieldKind::ALL.iter().copied();
        let matchable = fields().map(|field| FieldId::Standard {
            field,
            has_mask: field.can_have_mask(),
        });
        let settable = fields().filter(|field| is_settable(*field));
        let instructions = InstructionKind::ALL.iter().copied();
        let actions = ActionKind::ALL.iter().copied();
        Self {
            instructions: instructions.map(InstructionId::Standard).collect(),
            actions: actions.map(ActionId::Standard).collect(),
            matchable: matchable.collect(),
            wildcards: fields().map(FieldId::exact).collect(),
            settable: settable.map(FieldId::exact).collect(),
        }
    }

    /// Returns the properties of a table. Those of the table-miss entry are the
    /// same, and may then be left out.
    fn properties<'a>(&'a self, next: &'a [TableId]) -> [TableProperty<'a>; 8] {
        let (actions, settable) = (Sequence::of(&self.actions), Sequence::of(&self.settable));
        [
            TableProperty::Instructions(Sequence::of(&self.instructions)),
            TableProperty::NextTables(Sequence::of(next)),
            TableProperty::WriteActions(actions),
            TableProperty::ApplyActions(actions),
            TableProperty::Match(Sequence::of(&self.matchable)),
            TableProperty::Wildcards(Sequence::of(&self.wildcards)),
            TableProperty::WriteSetField(settable),
            TableProperty::ApplySetField(settable),
        ]
    }
}
