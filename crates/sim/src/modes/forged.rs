//! What hosts and taps send that looks like a signal.

use wire::ethernet::MacAddress;
use wire::mode_signal::{Kind, Level, Mode, ModeSignal};
use wire::openflow::PortNumber;

use super::fault_schedule::Forgery;
use super::run::Flaw;
use super::site::datapath;
use super::topology::{HOST_PORT, ModeTopology};
use crate::World;
use crate::parts::Node;
use crate::servers::random::Random;

/// What all switches of a network sign with.
pub(super) const KEY: [u8; 16] = *b"the network's \x01\x02";

/// Sends what looks like a signal to a switch, as its host or over a cable that is tapped.
pub(super) fn forged(
    world: &mut World,
    (topology, switch): (&ModeTopology, usize),
    (forgery, flaw): (Forgery, Flaw),
    random: &mut Random,
) {
    let trunks: Vec<_> = topology.trunks(switch).collect();
    let (near, far, _) = trunks[random.index(trunks.len())];
    let Node::Switch(neighbour) = far.node else {
        return;
    };
    let mut signal = ModeSignal {
        kind: Kind::Signal,
        mode: far_ahead(),
        origin: datapath(neighbour),
        sender: datapath(neighbour),
        port: far.port,
    };
    let key = match flaw {
        Flaw::None | Flaw::Silent => [7; 16],
        Flaw::KeyIsKnown => KEY,
    };
    let (mut bytes, mut port) = (frame_of(&signal, key), near);
    match forgery {
        Forgery::OtherKey => {}
        Forgery::NoTag => {
            let length = bytes.len();
            bytes[length - 8..].fill(0);
        }
        Forgery::Truncated => bytes.truncate(14 + random.index(bytes.len() - 14)),
        // A true one, but by a port of hosts.
        Forgery::Recorded => {
            bytes = frame_of(&signal, KEY);
            port = HOST_PORT;
        }
        // A true one, but from another cable.
        Forgery::Elsewhere => {
            signal.port = PortNumber(signal.port.0 + 1_000);
            bytes = frame_of(&signal, KEY);
        }
    }
    world.inject(switch, port, &bytes);
}

fn frame_of(signal: &ModeSignal, key: [u8; 16]) -> Vec<u8> {
    let mut frame = Vec::new();
    signal.emit_frame(MacAddress([2, 0, 0, 0, 0, 1]), key, &mut frame);
    frame
}

/// Returns a mode that no network gets to.
pub(super) const fn far_ahead() -> Mode {
    Mode {
        era: 1_000_000,
        level: Level::HIGHEST,
    }
}
