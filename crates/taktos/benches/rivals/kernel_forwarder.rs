//! Forwarders in the kernel that only move frames between two ports: what any
//! switch in the kernel needs at least.

use std::io;

use linux::bpf::relay::{ClassByte, Hook, Relay};
use linux::netlink::Netlink;
use linux::qdisc::{self, Length, Shape};
use units::BitRate;

use crate::running::Post;
use crate::traffic;
use lab::stage::{RIGHT, Testbed};

/// How many frames each class holds.
const QUEUE_FRAMES: u32 = 100;

/// Attaches one in each direction.
pub fn start(post: Post<'_>, hook: Hook) -> io::Result<Vec<Relay>> {
    if let Some(rate) = post.rate {
        pace(post.stage, rate)?;
    }
    let &[left, right] = post.stage.port_indices() else {
        return Err(io::Error::other("a forwarder has two ports"));
    };
    let class = ClassByte {
        offset: traffic::QUEUE_AT,
        first: qdisc::class(0),
    };
    let mut relays = post.stage.room.run(|| {
        let there = match post.rate {
            Some(_) => Relay::attach_with_classes(left, right, class)?,
            None => Relay::attach(left, right, hook)?,
        };
        Ok::<_, io::Error>(vec![there, Relay::attach(right, left, hook)?])
    })?;
    if hook == Hook::Driver {
        let host = post.stage.interface(RIGHT);
        relays.push(post.stage.hosts[RIGHT].run(|| Relay::accept(host))?);
    }
    Ok(relays)
}

/// Gives the port towards the right host a rate, and eight classes.
fn pace(stage: &Testbed, rate: BitRate) -> io::Result<()> {
    let mut netlink = stage.room.run(Netlink::open)?;
    let length = Length::Frames(QUEUE_FRAMES);
    qdisc::pace(
        &mut netlink,
        stage.port_indices()[RIGHT],
        Shape { rate, length },
    )
}
