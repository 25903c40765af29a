//! What is seen of a processor that does not get on with frames.

use linux::bpf::attachment::{Attachment, Preference};
use linux::clock;
use linux::frame_watch::{Cause, FrameWatch, Halt, LEAST};
use linux::hold::Hold;
use linux::scheduling::{self, Placement, Wish};
use linux::sender::{ClassId, Sender};
use units::{Duration, Instant};

use crate::world::{Action, Cable, Probe, frame};

/// So long the probe keeps the processor.
const LINGERED: Duration = Duration::from_us(300);
const FRAMES: usize = 5;

/// Sends frames from the processor that the thread stays on, and returns when each call
/// began and ended.
fn send(cable: &Cable, action: Action) -> Vec<(Instant, Instant)> {
    let mut sender = cable
        .namespace
        .run(|| Sender::open(cable.far, ClassId { major: 0, minor: 0 }).unwrap());
    let frames = 0..FRAMES;
    frames
        .map(|number| {
            let begun = clock::now();
            let sign = u8::try_from(number).unwrap();
            sender.send(&frame(action, sign)).unwrap();
            (begun, clock::now())
        })
        .collect()
}

fn forwarding_within(halts: &[Halt], (from, to): (Instant, Instant)) -> Duration {
    let own = halts.iter().filter(|halt| halt.cause == Cause::Forwarding);
    let within = own.filter(|halt| halt.from >= from && halt.to <= to);
    within.map(|halt| halt.to.saturating_since(halt.from)).sum()
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

    let calls = send(&cable, Action::Linger);

    let seen = watch.seen();
    assert_eq!(seen.len(), 1);
    assert_eq!((seen[0].processor, seen[0].unkept), (processor, 0));
    let halts = &seen[0].halts;
    assert_eq!(probe.tally(Action::Linger), FRAMES as u64);
    // What is shorter than the least before and after an interrupt in between goes unseen.
    let least = LINGERED.saturating_sub(LEAST * 2u64);
    for call in calls {
        let forwarding = forwarding_within(halts, call);
        assert!(forwarding >= least, "{forwarding} of {call:?}: {halts:?}");
    }
    for halt in halts {
        assert!(halt.to.saturating_since(halt.from) >= LEAST, "{halt:?}");
    }
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
