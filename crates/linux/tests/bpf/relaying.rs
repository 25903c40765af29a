//! Relays: that they move frames, at either hook, to the class that a frame names.

use linux::bpf::attachment::{Attachment, Preference};
use linux::bpf::relay::{ClassByte, Hook, Relay};
use linux::hold::Hold;
use linux::netlink::Netlink;
use linux::qdisc::{self, Length, QueueReader, Shape};
use units::BitRate;

use crate::world::{Action, Cable, Probe, await_some, frame};

#[test]
fn a_relay_moves_frames_to_the_other_interface() {
    let test = "a_relay_moves_frames_to_the_other_interface";
    for hook in [Hook::TrafficControl, Hook::Driver] {
        let Some(probe) = Probe::load_or_skip(test) else {
            return;
        };
        let cable = Cable::lay();
        // Both ends of the cable are the other interface of each other: the relay
        // sends a frame back to where the probe waits for it.
        let _relays = cable.namespace.run(|| {
            let accept = Relay::accept(cable.far).unwrap();
            (accept, Relay::attach(cable.near, cable.near, hook).unwrap())
        });
        let hold = cable.namespace.run(|| Hold::take(cable.far)).unwrap();
        let attach = || Attachment::attach(&probe.program, &hold, Preference::Best);
        let _probe = cable.namespace.run(attach).unwrap();

        cable.send(&frame(Action::Drop, 1));

        await_some("the frame", || {
            (probe.tally(Action::Drop) == 1).then_some(())
        });
    }
}

#[test]
fn a_relayed_frame_goes_to_the_class_that_its_byte_says() {
    const QUEUE: u8 = 5;
    let test = "a_relayed_frame_goes_to_the_class_that_its_byte_says";
    if Probe::load_or_skip(test).is_none() {
        return;
    }
    let cable = Cable::lay();
    let class = ClassByte {
        offset: 19,
        first: qdisc::class(0),
    };
    let shape = Shape {
        rate: BitRate::from_mbps(100),
        length: Length::Frames(10),
    };
    let (mut queues, _relay) = cable.namespace.run(|| {
        let mut netlink = Netlink::open().unwrap();
        qdisc::pace(&mut netlink, cable.near, shape).unwrap();
        let relay = Relay::attach_with_classes(cable.near, cable.near, class).unwrap();
        (QueueReader::open(cable.near).unwrap(), relay)
    });

    cable.send(&frame(Action::Drop, QUEUE));

    await_some("the frame", || {
        let queue = queues.read().unwrap()[usize::from(QUEUE)];
        (queue.tally.sent_frames == 1).then_some(())
    });
}
