//! What is seen of a processor that does not get on with frames.

use linux::bpf::attachment::{Attachment, Preference};
use linux::clock;
use linux::frame_watch::{Cause, FrameWatch, Halt, LEAST};
use linux::hold::Hold;
use linux::scheduling::{self, Placement, Wish};
use linux::sender::{ClassId, Sender};
use units::Duration;

use crate::world::{Action, Cable, Probe, await_some, frame};

/// So long the probe keeps the processor.
const LINGERED: Duration = Duration::from_us(300);
const FRAMES: u8 = 5;

/// Sends frames from the processor that the thread stays on.
fn send(cable: &Cable, action: Action) {
    let open = || Sender::open(cable.far, ClassId { major: 0, minor: 0 });
    let mut sender = cable.namespace.run(open).unwrap();
    for sign in 0..FRAMES {
        sender.send(&frame(action, sign)).unwrap();
    }
}

/// A program that keeps the processor while it has a frame stands for a hypervisor that
/// does so: no place is passed meanwhile. Others may stop it as well, so that the time is
/// in pieces.
#[test]
fn a_processor_that_stands_still_amid_a_frame_is_seen() {
    let test = "a_processor_that_stands_still_amid_a_frame_is_seen";
    let Some(probe) = Probe::load_or_skip(test) else {
        return;
    };
    let cable = Cable::lay();
    let (_hold, _attachment) = cable.namespace.run(|| {
        let hold = Hold::take(cable.near).unwrap();
        let attachment = Attachment::attach(&probe.program, &hold, Preference::Best).unwrap();
        (hold, attachment)
    });
    let processor = scheduling::allowed_processors()[0];
    let placement = Placement::Only(processor);
    scheduling::apply(Wish { nice: 0, placement });
    let watch = FrameWatch::begin(&[processor]).unwrap();

    let begun = clock::now();
    send(&cable, Action::Linger);
    await_some("frames that were lingered over", || {
        (probe.tally(Action::Lingered) == u64::from(FRAMES)).then_some(())
    });
    let ended = clock::now();

    let [seen] = &watch.seen()[..] else {
        panic!("one processor is watched");
    };
    assert_eq!((seen.processor, seen.unkept), (processor, 0));
    let length = |halt: &Halt| halt.to.saturating_since(halt.from);
    let own = seen
        .halts
        .iter()
        .filter(|halt| halt.cause == Cause::Forwarding);
    let own = own.filter(|halt| halt.from >= begun && halt.to <= ended);
    // What is shorter than the least before and after an interrupt in between goes unseen.
    let least = LINGERED.saturating_sub(LEAST * 2u64) * u64::from(FRAMES);
    let forwarding: Duration = own.map(length).sum();
    assert!(forwarding >= least, "{forwarding}: {:?}", seen.halts);
    let mut lengths = seen.halts.iter().map(length);
    assert!(lengths.all(|it| it >= LEAST), "{:?}", seen.halts);
}

/// What the watch sees of processors that it was not asked about: nothing.
#[test]
fn another_processor_is_not_watched() {
    let test = "another_processor_is_not_watched";
    if Probe::load_or_skip(test).is_none() {
        return;
    }

    let watch = FrameWatch::begin(&[]).unwrap();

    assert_eq!(watch.seen(), []);
}
