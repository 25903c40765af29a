//! What hosts and taps send that looks like a signal.

use wire::mode_signal::{Kind, ModeSignal};
use wire::openflow::PortNumber;

use super::ordeal::Forgery;
use super::site::datapath;
use super::station::{KEY, far_ahead, frame_of};
use super::topology::{HOST_PORT, Topology};
use crate::World;
use crate::parts::Node;
use crate::servers::random::Random;

/// Sends what looks like a signal to a switch, as its host or over a cable that is tapped.
pub(super) fn forged(
    world: &mut World,
    (topology, switch): (&Topology, usize),
    forgery: Forgery,
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
    let (mut bytes, mut port) = (frame_of(&signal, [7; 16]), near);
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
