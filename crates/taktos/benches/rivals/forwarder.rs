//! The bare forwarder: moves frames between two ports and does nothing else. What
//! it needs is what this machine needs at least.

use std::convert::Infallible;
use std::io;

use lab::switches::Carried;
use linux::interface::Interface;
use linux::packet_loop::Waiting;
use linux::port::packet::RING_BYTES;
use linux::port::{Attachment, Engine, Frame, Port};
use rustix::event::{PollFd, PollFlags, poll};

use lab::stage::PORT_NAMES;

/// How many frames are moved before the other direction has its turn, as long as
/// they wait.
const BURST: usize = 32;

/// Forwards between the two interfaces of the subject's room until the process
/// ends.
pub fn run(carried: Carried, waiting: Waiting) -> io::Result<Infallible> {
    let [mut first, mut second] = [open(carried, PORT_NAMES[0])?, open(carried, PORT_NAMES[1])?];
    loop {
        let moved = forward(&mut first, &mut second) + forward(&mut second, &mut first);
        if moved == 0 && waiting == Waiting::Sleeping {
            let mut both = [&first, &second].map(|port| PollFd::new(port, PollFlags::IN));
            poll(&mut both, None)?;
        }
    }
}

fn open(carried: Carried, name: &str) -> io::Result<Port> {
    let engine = match carried {
        Carried::Packet => Engine::Packet {
            ring_bytes: RING_BYTES,
        },
        Carried::Xdp => Engine::Xdp(Attachment::Any),
    };
    Port::open(engine, Interface::named(name)?.index())
}

fn forward(from: &mut Port, to: &mut Port) -> usize {
    for moved in 0..BURST {
        let more = from.receive(|arrived| {
            if let Frame::Whole(bytes) = arrived.frame {
                to.enqueue(0, bytes);
            }
        });
        if more.is_none() {
            to.flush();
            return moved;
        }
    }
    to.flush();
    BURST
}
