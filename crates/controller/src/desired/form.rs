//! An entry of a flow table in the one form that all who mean the same write.
//!
//! A switch that is asked for an entry may say it in other words than it was
//! told: fields in another order, a mask that spares nothing, actions that are
//! none. A [`Form`] leaves no choice: fields stand in the order of their
//! numbers, a mask is there only where it spares some bits and not all,
//! instructions stand in the order in which they are carried out, those without
//! effect are left out, and the length that only the controller's port looks at
//! is there only for that port. So two forms are equal if and only if their
//! entries treat the same frames alike.

mod canonical;

use std::ops::RangeInclusive;

use wire::openflow::multipart::FlowStatistics;
use wire::openflow::taktos::EntryContent;
use wire::openflow::{
    Action, Actions, Cookie, DecodeError, FieldKind, Fields, FlowMod, FlowModCommand, FlowModFlags,
    Instruction, Instructions, MatchField, PortNumber, TableId, TransactionId,
};

use crate::failover::Failover;
use canonical::{emit_fields, emit_instructions, plain, turn};
use wire::siphash::siphash_2_4;

/// The same in every controller, so that the next one knows the entries of the
/// last.
const KEY: [u8; 16] = *b"taktos-rule-form";
/// Class, number and length of a field.
const FIELD_HEADER_LENGTH: usize = 4;
/// The class of fields that are no fields of the specification, and their experimenter.
const EXPERIMENTER_CLASS: [u8; 2] = [0xff; 2];
const EXPERIMENTER_LENGTH: usize = 4;

/// Which entry of a switch: its table, priority and match. The slices of
/// [`RulePlace::slice`] are contiguous in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RulePlace(pub u64);

impl RulePlace {
    /// How many slices there are.
    pub const SLICES: u8 = 64;

    /// Returns the slice of all places that this one is in.
    #[must_use]
    pub const fn slice(self) -> u8 {
        (self.0 >> 58) as u8
    }

    pub const ALL: RangeInclusive<Self> = Self(0)..=Self(u64::MAX);

    /// Returns all places of a slice.
    #[must_use]
    pub const fn slice_range(slice: u8) -> RangeInclusive<Self> {
        let first = (slice as u64) << 58;
        Self(first)..=Self(first | u64::MAX >> 6)
    }
}

/// What the entries for the same frames at different ports have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stencil {
    table: TableId,
    priority: u16,
    /// All but the input port.
    fields: Box<[u8]>,
    kind: u64,
}

impl Stencil {
    /// Returns what entries for frames with these fields have in common; the input
    /// port is none of them.
    #[must_use]
    pub fn new(table: TableId, priority: u16, fields: &[MatchField]) -> Self {
        let Form { bytes, .. } = Form::new(table, priority, fields, &[]);
        Self {
            kind: hash(table, priority, &bytes),
            table,
            priority,
            fields: bytes,
        }
    }

    /// Returns a digest of which frames the entries are for, wherever they come in.
    #[must_use]
    pub const fn kind_of_frames(&self) -> u64 {
        self.kind
    }

    /// Returns the place of the entry for frames that come in by a port.
    #[must_use]
    pub fn place(&self, input: PortNumber) -> RulePlace {
        place_at(self.kind, input)
    }

    /// Returns the entry that applies `actions` to frames that come in by a port.
    #[must_use]
    pub fn form(&self, input: PortNumber, actions: &[Action]) -> Form {
        let fields_length = self.fields_length();
        let mut bytes = Vec::with_capacity(fields_length + instructions_length(actions));
        self.write(input, actions, &mut bytes);
        Form::from_parts(self.table, self.priority, fields_length, bytes)
    }

    /// Appends a FlowMod that adds that entry, with the cookie that `cookie` returns
    /// for its place and digest. `scratch` is written over.
    pub fn emit_add(
        &self,
        (input, actions): (PortNumber, &[Action]),
        cookie: impl FnOnce(RulePlace, u64) -> Cookie,
        (flags, transaction): (FlowModFlags, TransactionId),
        scratch: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) {
        scratch.clear();
        self.write(input, actions, scratch);
        let (fields, instructions) = scratch.split_at(self.fields_length());
        let place = self.place(input);
        let flow_mod = FlowMod {
            cookie: cookie(place, digest_of(place, instructions)),
            flags,
            priority: self.priority,
            matching: Fields::from_bytes(fields),
            instructions: Instructions::from_bytes(instructions),
            ..FlowMod::add(self.table)
        };
        flow_mod.emit(transaction, out);
    }

    fn fields_length(&self) -> usize {
        FIELD_HEADER_LENGTH + FieldKind::InPort.length() + self.fields.len()
    }

    fn write(&self, input: PortNumber, actions: &[Action], out: &mut Vec<u8>) {
        MatchField::InPort(input).emit(out);
        out.extend_from_slice(&self.fields);
        if !actions.is_empty() {
            let instruction = Instruction::ApplyActions(Actions::of(actions));
            Instructions::of(&[instruction]).emit(out);
        }
    }
}

/// Returns how long the instruction is that applies actions which choose a queue or
/// send out.
fn instructions_length(actions: &[Action]) -> usize {
    let lengths = actions.iter().map(|action| match action {
        Action::Output { .. } => 16,
        Action::Police(_) => 56,
        Action::Eliminate(_) => 40,
        Action::Sequence(_) | Action::Trailer(_) => 16,
        _ => 8,
    });
    8 + lengths.sum::<usize>()
}

/// What an entry looks at: which bits of a frame, and at which priority of which table. Two
/// entries of one shape are for the same frames only if they have the same place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchShape {
    priority: u16,
    table: TableId,
    /// A digest of the fields and their masks.
    fields: u64,
}

impl MatchShape {
    /// Returns all shapes of the same priority.
    pub(super) fn of_its_priority(self) -> RangeInclusive<Self> {
        let priority = self.priority;
        let at = |table, fields| Self {
            priority,
            table,
            fields,
        };
        at(TableId(0), 0)..=at(TableId(u8::MAX), u64::MAX)
    }
}

/// An entry of a flow table, without its cookie.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Form {
    table: TableId,
    priority: u16,
    fields_length: u16,
    /// The fields, and behind them the instructions.
    bytes: Box<[u8]>,
}

impl Form {
    /// Returns the form of an entry that applies `actions`. Without any it
    /// discards the frame.
    #[must_use]
    pub fn new(table: TableId, priority: u16, fields: &[MatchField], actions: &[Action]) -> Self {
        let mut bytes = Vec::with_capacity(96);
        emit_fields(fields.to_vec(), &mut bytes);
        let fields_length = bytes.len();
        let actions: Vec<Action> = actions.iter().copied().map(plain).collect();
        if !actions.is_empty() {
            let instruction = Instruction::ApplyActions(Actions::of(&actions));
            Instructions::of(&[instruction]).emit(&mut bytes);
        }
        Self::from_parts(table, priority, fields_length, bytes)
    }

    /// Returns the form of an entry that a switch reports.
    ///
    /// # Errors
    ///
    /// If a field or an instruction cannot be read.
    pub fn read(entry: &FlowStatistics<'_>) -> Result<Self, DecodeError> {
        let mut bytes = Vec::with_capacity(96);
        let fields = entry.matching.iter().collect::<Result<Vec<_>, _>>()?;
        emit_fields(fields, &mut bytes);
        let fields_length = bytes.len();
        emit_instructions(&entry.instructions, &mut bytes)?;
        let (table, priority) = (entry.table, entry.priority);
        Ok(Self::from_parts(table, priority, fields_length, bytes))
    }

    /// Returns the form of an entry whose fields and instructions stand in their order
    /// already.
    #[must_use]
    pub fn of_bytes(table: TableId, priority: u16, fields: &[u8], instructions: &[u8]) -> Self {
        let bytes = [fields, instructions].concat();
        Self::from_parts(table, priority, fields.len(), bytes)
    }

    fn from_parts(table: TableId, priority: u16, fields_length: usize, bytes: Vec<u8>) -> Self {
        Self {
            table,
            priority,
            fields_length: u16::try_from(fields_length)
                .expect("40 fields of at most 36 bytes are shorter"),
            bytes: bytes.into_boxed_slice(),
        }
    }

    /// Returns what it looks at.
    #[must_use]
    pub fn shape(&self) -> MatchShape {
        let mut fields = 0;
        for field in RawField::all(&self.bytes[..usize::from(self.fields_length)]) {
            let [high, low] = field.class;
            let (_, mask) = field.value_and_mask();
            for part in [&[high, low, field.number], mask.unwrap_or_default()] {
                fields = siphash_2_4(keyed_by(fields, *b"looks at"), part);
            }
        }
        MatchShape {
            priority: self.priority,
            table: self.table,
            fields,
        }
    }

    /// Returns which entry of a switch this is.
    #[must_use]
    pub fn place(&self) -> RulePlace {
        let kind = self.kind_of_frames();
        match self.in_port() {
            Some(port) => place_at(kind, port),
            None => RulePlace(kind),
        }
    }

    /// Returns a digest of all that there is; `place` is [`place`](Self::place).
    #[must_use]
    pub fn digest(&self, place: RulePlace) -> u64 {
        digest_of(place, &self.bytes[usize::from(self.fields_length)..])
    }

    /// Returns what is sent of the entry with this cookie.
    #[must_use]
    pub fn content(&self, cookie: Cookie, flags: FlowModFlags) -> EntryContent<'_> {
        let (fields, instructions) = self.bytes.split_at(usize::from(self.fields_length));
        EntryContent {
            cookie,
            priority: self.priority,
            flags,
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            fields,
            instructions,
        }
    }

    #[must_use]
    pub const fn table(&self) -> TableId {
        self.table
    }

    #[must_use]
    pub const fn priority(&self) -> u16 {
        self.priority
    }

    #[must_use]
    pub fn fields(&self) -> Fields<'_> {
        Fields::from_bytes(&self.bytes[..usize::from(self.fields_length)])
    }

    #[must_use]
    pub fn instructions(&self) -> Instructions<'_> {
        Instructions::from_bytes(&self.bytes[usize::from(self.fields_length)..])
    }

    /// Returns the port at which its frames come in, if it looks at that.
    #[must_use]
    pub fn in_port(&self) -> Option<PortNumber> {
        match self.fields().iter().next() {
            Some(Ok(MatchField::InPort(port))) => Some(port),
            Some(_) | None => None,
        }
    }

    /// Returns the ports by which frames go out.
    pub fn outputs(&self) -> impl Iterator<Item = PortNumber> {
        let applied = self.instructions().iter().filter_map(Result::ok);
        let actions = applied.filter_map(|instruction| match instruction {
            Instruction::ApplyActions(actions) | Instruction::WriteActions(actions) => {
                Some(actions)
            }
            Instruction::GotoTable(_)
            | Instruction::WriteMetadata { .. }
            | Instruction::ClearActions
            | Instruction::Meter(_) => None,
        });
        let actions = actions.flat_map(|actions| actions.iter().filter_map(Result::ok));
        let ports = actions.flat_map(|action| match action {
            Action::Output { port, .. } => [Some(port), None],
            Action::Group(group) => match Failover::of_group(group) {
                Some(failover) => failover.ports().map(Some),
                None => [None; 2],
            },
            _ => [None; 2],
        });
        ports.flatten().filter(|port| port.is_ordinary())
    }

    /// Returns a digest of which frames it is for, wherever they come in.
    #[must_use]
    pub fn kind_of_frames(&self) -> u64 {
        let fields = &self.bytes[..usize::from(self.fields_length)];
        let behind_port = match self.in_port() {
            Some(_) => FIELD_HEADER_LENGTH + FieldKind::InPort.length(),
            None => 0,
        };
        hash(self.table, self.priority, &fields[behind_port..])
    }

    /// Returns the same entry with frames going out by `ports` as well, as they do by `other`: what
    /// that sends on before it ends copies is sent on with its number, what it hands on behind
    /// that is handed on once.
    #[must_use]
    pub fn with_outputs(&self, ports: &[PortNumber], other: &Self) -> Self {
        let (mut actions, theirs) = (self.applied(), other.applied());
        let end_of = |actions: &[Action]| {
            let mut actions = actions.iter();
            actions.position(|action| matches!(action, Action::Eliminate(_)))
        };
        let their_end = end_of(&theirs);
        let sent_on = &theirs[..their_end.unwrap_or(theirs.len())];
        let is_sent_on = |wanted: &PortNumber| {
            let mut sent_on = sent_on.iter();
            sent_on.any(|action| matches!(action, Action::Output { port, .. } if port == wanted))
        };
        let (before, behind): (Vec<_>, Vec<_>) = ports.iter().copied().partition(is_sent_on);
        let end = end_of(&actions);
        let at = end.unwrap_or(actions.len());
        actions.splice(at..at, before.into_iter().map(Action::output));
        if end.is_none() && !behind.is_empty() {
            actions.extend(their_end.map(|at| theirs[at]));
        }
        actions.extend(behind.into_iter().map(Action::output));
        let all = self.instructions();
        let all = all.iter().filter_map(Result::ok);
        let is_other = |it: &Instruction<'_>| !matches!(it, Instruction::ApplyActions(_));
        let mut others: Vec<_> = all.filter(is_other).collect();
        let mut bytes = self.bytes[..usize::from(self.fields_length)].to_vec();
        others.push(Instruction::ApplyActions(Actions::of(&actions)));
        others.sort_by_key(turn);
        Instructions::of(&others).emit(&mut bytes);
        let fields_length = usize::from(self.fields_length);
        Self::from_parts(self.table, self.priority, fields_length, bytes)
    }

    /// Returns the actions that are applied at once.
    fn applied(&self) -> Vec<Action> {
        let all = self.instructions();
        let all = all.iter().filter_map(Result::ok);
        let applied = all.filter_map(|instruction| match instruction {
            Instruction::ApplyActions(actions) => Some(actions),
            _ => None,
        });
        applied
            .flat_map(|actions| actions.iter().filter_map(Result::ok))
            .collect()
    }

    /// Returns whether a frame could match both.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let ours = &self.bytes[..usize::from(self.fields_length)];
        let theirs = &other.bytes[..usize::from(other.fields_length)];
        RawField::all(ours).all(|field| {
            let mut same = RawField::all(theirs).filter(|their_field| their_field.is_like(&field));
            same.all(|their_field| their_field.meets(&field))
        })
    }

    /// Appends a FlowMod that adds the entry, or writes over it.
    pub fn emit_add(
        &self,
        cookie: Cookie,
        flags: FlowModFlags,
        transaction: TransactionId,
        out: &mut Vec<u8>,
    ) {
        let flow_mod = FlowMod {
            cookie,
            flags,
            priority: self.priority,
            matching: self.fields(),
            instructions: self.instructions(),
            ..FlowMod::add(self.table)
        };
        flow_mod.emit(transaction, out);
    }

    /// Appends a FlowMod that deletes the entry, whatever its cookie.
    pub fn emit_delete(&self, transaction: TransactionId, out: &mut Vec<u8>) {
        let flow_mod = FlowMod {
            command: FlowModCommand::DeleteStrict,
            priority: self.priority,
            matching: self.fields(),
            ..FlowMod::add(self.table)
        };
        flow_mod.emit(transaction, out);
    }
}

/// A field of a match as bytes.
#[derive(Clone, Copy)]
struct RawField<'a> {
    class: [u8; 2],
    /// Its number, and in the lowest bit whether there is a mask.
    number: u8,
    /// The value, and behind it the mask.
    payload: &'a [u8],
}

impl<'a> RawField<'a> {
    /// Returns the fields of a match.
    fn all(fields: &'a [u8]) -> impl Iterator<Item = Self> {
        let mut rest = fields;
        std::iter::from_fn(move || {
            let (header, behind) = rest.split_first_chunk::<FIELD_HEADER_LENGTH>()?;
            let [high, low, number, length] = *header;
            let (payload, behind) = behind.split_at_checked(usize::from(length))?;
            rest = behind;
            let own = match [high, low] {
                EXPERIMENTER_CLASS => EXPERIMENTER_LENGTH,
                _ => 0,
            };
            Some(Self {
                class: [high, low],
                number,
                payload: payload.get(own..)?,
            })
        })
    }

    fn is_like(&self, other: &Self) -> bool {
        self.class == other.class && self.number >> 1 == other.number >> 1
    }

    fn value_and_mask(&self) -> (&'a [u8], Option<&'a [u8]>) {
        match self.number & 1 {
            0 => (self.payload, None),
            _ => {
                let (value, mask) = self.payload.split_at(self.payload.len() / 2);
                (value, Some(mask))
            }
        }
    }

    /// Returns whether one value could match both fields, which are alike.
    fn meets(&self, other: &Self) -> bool {
        let ((value, mask), (theirs, their_mask)) = (self.value_and_mask(), other.value_and_mask());
        let bits = |mask: Option<&[u8]>, at: usize| mask.map_or(0xff, |mask| mask[at]);
        let mut bytes = value.iter().zip(theirs).enumerate();
        bytes.all(|(at, (one, other))| (one ^ other) & bits(mask, at) & bits(their_mask, at) == 0)
    }
}

/// Returns the place of the entry for frames of a kind that come in by a port.
fn place_at(kind: u64, port: PortNumber) -> RulePlace {
    let key = keyed_by(kind, *b"comes in");
    RulePlace(siphash_2_4(key, &port.0.to_be_bytes()))
}

/// Returns the digest of an entry with these instructions.
fn digest_of(place: RulePlace, instructions: &[u8]) -> u64 {
    siphash_2_4(keyed_by(place.0, *b"contents"), instructions)
}

fn keyed_by(number: u64, purpose: [u8; 8]) -> [u8; 16] {
    let mut key = [0; 16];
    let (first, second) = key.split_at_mut(8);
    first.copy_from_slice(&number.to_le_bytes());
    second.copy_from_slice(&purpose);
    key
}

fn hash(table: TableId, priority: u16, bytes: &[u8]) -> u64 {
    let [high, low] = priority.to_be_bytes();
    let mut key = KEY;
    for (byte, added) in key.iter_mut().zip([table.0, high, low]) {
        *byte ^= added;
    }
    siphash_2_4(key, bytes)
}

#[cfg(test)]
mod tests {
    use units::Duration;
    use wire::ethernet::{EtherType, MacAddress};
    use wire::openflow::oxm::{Masked, VlanMatch};
    use wire::openflow::taktos::{Eliminate, RecoveryAlgorithm, SequenceEncoding, StreamHandle};
    use wire::openflow::{Message, QueueId};

    use wire::openflow::ControllerLength;

    use super::*;

    const MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

    #[test]
    fn the_order_of_fields_and_needless_masks_make_no_difference() {
        let told = [
            MatchField::InPort(PortNumber(3)),
            MatchField::EthSrc(Masked::exact(MAC)),
            MatchField::EthType(EtherType::GOOSE),
            MatchField::VlanVid(Masked::exact(VlanMatch::tagged(3))),
        ];
        let said = [
            MatchField::EthType(EtherType::GOOSE),
            MatchField::EthDst(Masked::under(MacAddress([0; 6]), MacAddress([0; 6]))),
            MatchField::EthSrc(Masked::under(MAC, MacAddress([0xff; 6]))),
            MatchField::VlanVid(Masked::under(VlanMatch::tagged(3), VlanMatch(0x1fff))),
            MatchField::InPort(PortNumber(3)),
        ];

        assert_eq!(form(&told, &[]), read(&said, &[]));
    }

    /// What an entry sends on stays numbered while copies end there.
    #[test]
    fn an_output_that_is_kept_stands_where_it_stood_to_the_end_of_copies() {
        let out = |port| Action::output(PortNumber(port));
        let end = Action::Eliminate(Eliminate {
            stream: StreamHandle(1),
            algorithm: RecoveryAlgorithm::Vector,
            history: 8,
            reset: Duration::from_ms(1),
            takes_unnumbered: false,
            strips_tag: true,
            encoding: SequenceEncoding::RTag,
            ways: None,
            tolerance: 0,
            hold: Duration::ZERO,
        });
        let of = |actions: &[Action]| form(&[MatchField::InPort(PortNumber(9))], actions);
        let other = of(&[out(1), end, out(2)]);

        for (present, wanted) in [
            (vec![out(3)], vec![out(3), out(1), end, out(2)]),
            (vec![end, out(3)], vec![out(1), end, out(3), out(2)]),
            (
                vec![out(4), end, out(3)],
                vec![out(4), out(1), end, out(3), out(2)],
            ),
        ] {
            let kept = of(&present).with_outputs(&[PortNumber(1), PortNumber(2)], &other);
            assert_eq!(kept, of(&wanted));
        }
    }

    #[test]
    fn a_mask_that_spares_something_makes_a_difference() {
        let one = [MatchField::EthSrc(Masked::exact(MAC))];
        let part = MacAddress([0xff, 0xff, 0xff, 0, 0, 0]);
        let all = [MatchField::EthSrc(Masked::under(
            MacAddress([2, 0, 0, 0, 0, 0]),
            part,
        ))];

        assert_ne!(form(&one, &[]), read(&all, &[]));
    }

    #[test]
    fn instructions_without_effect_make_no_difference() {
        let nothing = Instruction::ApplyActions(Actions::EMPTY);

        assert_eq!(form(&[], &[]), read(&[], &[nothing]));
    }

    #[test]
    fn the_length_for_the_controller_counts_only_at_its_port() {
        let output = |port, length| Action::Output {
            port,
            max_length: ControllerLength(length),
        };
        let (port, controller) = (PortNumber(1), PortNumber::CONTROLLER);

        assert_eq!(
            form(&[], &[output(port, 0)]),
            form(&[], &[output(port, 128)])
        );
        assert_ne!(
            form(&[], &[output(controller, 0)]),
            form(&[], &[output(controller, 128)])
        );
    }

    #[test]
    fn entries_overlap_unless_a_field_tells_them_apart() {
        let group = |last| MacAddress([0x33, 0x33, 0, 0, 0, last]);
        let exact = |mac| form(&[MatchField::EthDst(Masked::exact(mac))], &[]);
        let prefix = MacAddress([0xff, 0xff, 0, 0, 0, 0]);
        let all = form(&[MatchField::EthDst(Masked::under(group(0), prefix))], &[]);
        let port = form(&[MatchField::InPort(PortNumber(1))], &[]);

        assert!(exact(group(1)).overlaps(&exact(group(1))));
        assert!(!exact(group(1)).overlaps(&exact(group(2))));
        assert!(exact(group(1)).overlaps(&all));
        assert!(!exact(MacAddress::BROADCAST).overlaps(&all));
        assert!(exact(group(1)).overlaps(&port));
    }

    #[test]
    fn what_is_sent_is_the_form() {
        let fields = [MatchField::InPort(PortNumber(3))];
        let actions = [Action::SetQueue(QueueId(5)), Action::output(PortNumber(1))];
        let form = form(&fields, &actions);
        let mut out = Vec::new();

        form.emit_add(Cookie(7), FlowModFlags::NONE, TransactionId(9), &mut out);

        let Ok((_, Message::FlowMod(flow_mod))) = Message::parse(&out) else {
            panic!("a FlowMod")
        };
        assert_eq!((flow_mod.cookie, flow_mod.priority), (Cookie(7), 10));
        assert_eq!(flow_mod.matching, Fields::of(&fields));
        let expected = [Instruction::ApplyActions(Actions::of(&actions))];
        assert_eq!(flow_mod.instructions, Instructions::of(&expected));
    }

    #[test]
    fn what_a_stencil_makes_is_the_form_that_is_written_whole() {
        let rest = [
            MatchField::EthSrc(Masked::exact(MAC)),
            MatchField::EthType(EtherType::GOOSE),
        ];
        let port = PortNumber(3);
        let actions = [Action::SetQueue(QueueId(5)), Action::output(PortNumber(1))];
        let stencil = Stencil::new(TableId(0), 10, &rest);
        let whole = form(&[MatchField::InPort(port), rest[0], rest[1]], &actions);
        let (mut written, mut sent) = (Vec::new(), Vec::new());
        let (flags, transaction) = (FlowModFlags::NONE, TransactionId(9));

        let made = stencil.form(port, &actions);
        let cookie = |_, digest| Cookie(digest);
        let marks = (flags, transaction);
        stencil.emit_add((port, &actions), cookie, marks, &mut Vec::new(), &mut sent);

        assert_eq!(made, whole);
        assert_eq!(stencil.place(port), whole.place());
        let cookie = Cookie(whole.digest(whole.place()));
        whole.emit_add(cookie, flags, transaction, &mut written);
        assert_eq!(sent, written);
    }

    #[test]
    fn a_place_is_the_same_whatever_is_done_with_the_frames() {
        let fields = [MatchField::InPort(PortNumber(3))];
        let (one, other) = (
            form(&fields, &[]),
            form(&fields, &[Action::output(PortNumber(1))]),
        );

        assert_eq!(one.place(), other.place());
        assert_ne!(one.digest(one.place()), other.digest(other.place()));
        assert_ne!(one.place(), form(&[], &[]).place());
        assert!(RulePlace::slice_range(one.place().slice()).contains(&one.place()));
    }

    fn form(fields: &[MatchField], actions: &[Action]) -> Form {
        Form::new(TableId(0), 10, fields, actions)
    }

    fn read(fields: &[MatchField], instructions: &[Instruction<'_>]) -> Form {
        let entry = FlowStatistics {
            table: TableId(0),
            age: Duration::ZERO,
            priority: 10,
            idle_timeout_s: 0,
            hard_timeout_s: 0,
            flags: FlowModFlags::NONE,
            cookie: Cookie(0),
            packets: 0,
            bytes: 0,
            matching: Fields::of(fields),
            instructions: Instructions::of(instructions),
        };
        Form::read(&entry).unwrap()
    }
}
