//! Fields and instructions as all forms have them, however they were written.

use wire::openflow::{
    Action, Actions, ControllerLength, DecodeError, FieldKind, Instruction, Instructions,
    MatchField, PortNumber,
};

use super::{EXPERIMENTER_LENGTH, FIELD_HEADER_LENGTH};

/// Appends fields in the order of their numbers, none with a needless mask.
pub(super) fn emit_fields(mut fields: Vec<MatchField>, out: &mut Vec<u8>) {
    fields.sort_by_key(MatchField::kind);
    for field in fields {
        let start = out.len();
        field.emit(out);
        if field.has_mask() {
            drop_needless_mask(field.kind(), start, out);
        }
    }
}

/// Makes the field at the end of `out` one without a mask if that spares
/// nothing, and no field if it spares all.
fn drop_needless_mask(kind: FieldKind, start: usize, out: &mut Vec<u8>) {
    let experimenter = match kind {
        FieldKind::Level => EXPERIMENTER_LENGTH,
        _ => 0,
    };
    let payload = start + FIELD_HEADER_LENGTH + experimenter;
    let middle = payload + kind.length();
    let mask = &out[middle..];
    if mask.iter().all(|byte| *byte == 0) {
        out.truncate(start);
        return;
    }
    let unused = unused_bits(kind);
    let spares_nothing = mask
        .iter()
        .rev()
        .zip(unused)
        .all(|(mask, unused)| mask | unused == 0xff);
    if spares_nothing {
        out.truncate(middle);
        out[start + 2] &= !1;
        let shorter = u8::try_from(middle - start - FIELD_HEADER_LENGTH);
        out[start + 3] = shorter.expect("a field has at most 32 bytes");
    }
}

/// Returns which bits of a field's bytes, the last byte first, have no meaning.
fn unused_bits(kind: FieldKind) -> impl Iterator<Item = u8> {
    let used: u32 = match kind {
        FieldKind::VlanVid => 13,
        FieldKind::Ipv6Flabel => 20,
        FieldKind::Ipv6Exthdr => 9,
        FieldKind::Level => 3,
        _ => u32::try_from(kind.length() * 8).unwrap_or(u32::MAX),
    };
    (0..).step_by(8).map(move |below: u32| {
        let used = used.saturating_sub(below).min(8);
        u8::try_from(0xff_u16 << used & 0xff).unwrap_or(0)
    })
}

/// Appends instructions in the order in which they are carried out.
pub(super) fn emit_instructions(
    from: &Instructions<'_>,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let mut kept = Vec::new();
    for instruction in from.iter() {
        let mut bytes = Vec::new();
        let instruction = instruction?;
        match instruction {
            Instruction::ApplyActions(actions) => {
                let actions = plain_actions(&actions)?;
                let plain = Instruction::ApplyActions(Actions::of(&actions));
                emit_unless_empty(plain, &actions, &mut bytes);
            }
            Instruction::WriteActions(actions) => {
                let actions = plain_actions(&actions)?;
                let plain = Instruction::WriteActions(Actions::of(&actions));
                emit_unless_empty(plain, &actions, &mut bytes);
            }
            Instruction::GotoTable(_)
            | Instruction::WriteMetadata { .. }
            | Instruction::ClearActions
            | Instruction::Meter(_) => Instructions::of(&[instruction]).emit(&mut bytes),
        }
        kept.push((turn(&instruction), bytes));
    }
    kept.sort();
    kept.iter()
        .for_each(|(_, bytes)| out.extend_from_slice(bytes));
    Ok(())
}

fn emit_unless_empty(instruction: Instruction<'_>, actions: &[Action], out: &mut Vec<u8>) {
    if !actions.is_empty() {
        Instructions::of(&[instruction]).emit(out);
    }
}

/// Returns the place of an instruction among those of an entry (OF13 clause
/// 5.9).
pub(super) const fn turn(instruction: &Instruction<'_>) -> u8 {
    match instruction {
        Instruction::Meter(_) => 0,
        Instruction::ApplyActions(_) => 1,
        Instruction::ClearActions => 2,
        Instruction::WriteActions(_) => 3,
        Instruction::WriteMetadata { .. } => 4,
        Instruction::GotoTable(_) => 5,
    }
}

fn plain_actions(actions: &Actions<'_>) -> Result<Vec<Action>, DecodeError> {
    actions.iter().map(|action| action.map(plain)).collect()
}

/// Returns an action without what has no meaning in it.
pub(super) fn plain(action: Action) -> Action {
    match action {
        Action::Output { port, .. } if port != PortNumber::CONTROLLER => Action::Output {
            port,
            max_length: ControllerLength::NO_BUFFER,
        },
        _ => action,
    }
}
