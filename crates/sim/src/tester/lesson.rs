//! How a device under test learns what to do with frames, before it is measured.

use measure::trial::{MOST_PORTS, PlayedStation, PortIndex};
use wire::openflow::oxm::Masked;
use wire::openflow::{
    Action, Actions, Fields, FlowMod, GroupId, Instruction, Instructions, MatchField, PortNumber,
    TableId, TransactionId, emit_detour,
};

/// Whose way has a detour, by which port, and the group that takes it.
const PROTECTED: PortNumber = PortNumber(2);
const BY_WAY_OF: PortNumber = PortNumber(3);
const DETOUR: GroupId = GroupId(1);
/// What frames for a station meet, and what all others do.
const TO_STATION: u16 = 2;
const ACROSS: u16 = 1;

/// Who tells an emulated device what to do with frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taught {
    /// Whoever tests it, by orders.
    ByTester,
    /// It has an entry for every station ([`PlayedStation`]), and carries everything else
    /// from the first port to the second and back.
    Beforehand,
    /// The same, but what goes to the second port has a detour by the third, which a
    /// fast-failover group takes once the device has noticed that the second port has
    /// no carrier.
    WithDetour,
    /// It asks a controller, which answers at once, about every pair of stations that
    /// it has not met.
    ByAttendant,
}

/// Returns the entries by which frames get to their stations, and others from the
/// first port to the second and back.
pub(super) fn stations(ports: u32) -> Vec<u8> {
    entries(ports, Action::output)
}

/// Returns the same with a detour for what goes to the second port.
pub(super) fn stations_with_detour(ports: u32) -> Vec<u8> {
    let mut bytes = detour();
    bytes.extend(entries(ports, |port| match port {
        PROTECTED => Action::Group(DETOUR),
        other => Action::output(other),
    }));
    bytes
}

/// Returns the group that leads to the second port, or to the third while the second
/// has no carrier (OF13 clause 5.6.1).
fn detour() -> Vec<u8> {
    let mut bytes = Vec::new();
    emit_detour(
        DETOUR,
        &[PROTECTED, BY_WAY_OF],
        TransactionId(0),
        &mut bytes,
    );
    bytes
}

fn entries(ports: u32, towards: impl Fn(PortNumber) -> Action) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut add = |priority: u16, field: MatchField, to: PortNumber| {
        let actions = [towards(to)];
        let instructions = [Instruction::ApplyActions(Actions::of(&actions))];
        let fields = [field];
        let entry = FlowMod {
            priority,
            matching: Fields::of(&fields),
            instructions: Instructions::of(&instructions),
            ..FlowMod::add(TableId(0))
        };
        entry.emit(TransactionId(0), &mut bytes);
    };
    for port in 0..(ports as usize).min(MOST_PORTS) {
        let station = PlayedStation::at(PortIndex(port));
        let field = MatchField::EthDst(Masked::exact(station.mac));
        add(TO_STATION, field, station.device_port);
    }
    for (from, to) in [(1, 2), (2, 1)] {
        add(ACROSS, MatchField::InPort(PortNumber(from)), PortNumber(to));
    }
    bytes
}
