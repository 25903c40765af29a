//! A host in the simulation: its sources, its interface, and what it answers.

use measure::load::{HostLoad, QueuedSource};
use measure::traffic::Source;
use measure::{FlowIndex, ReceiverIndex};
use units::{BitRate, Duration, Instant};

use crate::frames::{FrameId, Frames};
use crate::host_interface::{HostInterface, Sending};

/// Frames that one source may hand over in one go: what a burst is in practice.
/// The rest follows a nanosecond later, so that nobody can stop the clock.
const FRAMES_AT_ONCE: usize = 256;
/// The queue of what belongs to no flow.
const BEST_EFFORT: u8 = 0;

#[derive(Debug)]
pub struct HostNode {
    load: HostLoad,
    /// When each source is due; a source is asked only after something happened
    /// to it, for a host has many.
    dues: Vec<Instant>,
    /// The sources that go on by what arrives.
    listeners: Vec<usize>,
    pub interface: HostInterface,
    scratch: Vec<u8>,
    /// The earliest wake-up of the host that stands in the calendar.
    pub wake_up: Option<Instant>,
}

impl HostNode {
    /// Returns a host that sends nothing.
    #[must_use]
    pub fn new(rate: BitRate) -> Self {
        Self {
            load: HostLoad::default(),
            dues: Vec::new(),
            listeners: Vec::new(),
            interface: HostInterface::new(rate),
            scratch: Vec::with_capacity(crate::frames::FRAME_CAPACITY),
            wake_up: None,
        }
    }

    /// Begins to send and to receive this, in place of what was before.
    pub fn begin(&mut self, load: HostLoad) {
        let foreign = load.foreign.iter().map(|(source, _)| source);
        let sources = load.sources.iter().map(|part| &part.source).chain(foreign);
        self.dues = sources.map(due).collect();
        let sources = load.sources.iter().enumerate();
        let listeners = sources.filter(|(_, part)| part.source.listens());
        self.listeners = listeners.map(|(place, _)| place).collect();
        self.load = load;
    }

    /// Queues a frame that belongs to no flow, behind everything else.
    pub fn announce(&mut self, frame: &[u8], frames: &mut Frames) {
        enqueue(&mut self.interface, frames, BEST_EFFORT, frame);
    }

    /// Queues whatever is due, and returns the frame whose first bit leaves now,
    /// if one does.
    pub fn work(&mut self, now: Instant, frames: &mut Frames) -> Option<Sending> {
        let own = self.load.sources.iter_mut();
        let own = own.map(|QueuedSource { source, queue, .. }| (source, queue));
        let foreign = self.load.foreign.iter_mut();
        let sources = own.chain(foreign.map(|(source, queue)| (source, queue)));
        for (due_at, (source, queue)) in self.dues.iter_mut().zip(sources) {
            if *due_at > now {
                continue;
            }
            for _ in 0..FRAMES_AT_ONCE {
                if source.emit(now, &mut self.scratch).is_none() {
                    break;
                }
                enqueue(&mut self.interface, frames, *queue, &self.scratch);
            }
            *due_at = due(source);
        }
        self.interface.send(now, frames)
    }

    /// Takes a frame that arrived, for those who wait for it.
    pub fn receive(&mut self, now: Instant, frame: FrameId, frames: &mut Frames) {
        for &place in &self.listeners {
            let source = &mut self.load.sources[place].source;
            source.received(now, frames.bytes(frame));
            self.dues[place] = due(source);
        }
        for answering in &mut self.load.answering {
            let (who, queue) = (&mut answering.who, answering.queue);
            if who
                .received(frames.bytes(frame), &mut self.scratch)
                .is_some()
            {
                enqueue(&mut self.interface, frames, queue, &self.scratch);
            }
        }
    }

    /// Returns as which of its receivers the host receives a flow.
    #[must_use]
    pub fn receiver_of(&self, flow: FlowIndex) -> Option<ReceiverIndex> {
        self.load.receives.get(&flow).copied()
    }

    /// Returns when the host has something to do next.
    #[must_use]
    pub fn deadline(&self, now: Instant) -> Option<Instant> {
        let soon = now + Duration::from_ns(1);
        let due = self.dues.iter().min().map(|due| (*due).max(soon));
        let next = due.into_iter().chain(self.interface.deadline()).min();
        next.filter(|next| *next < Instant::FAR_FUTURE)
    }

    /// Returns how many slots of its schedule each source left out.
    pub fn skipped(&self) -> impl Iterator<Item = (FlowIndex, u64)> {
        self.load
            .sources
            .iter()
            .map(|part| (part.flow, part.source.skipped()))
    }

    /// Returns how many frames the interface dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.interface.dropped()
    }
}

/// Returns when a source is due; one that has ended never is.
fn due(source: &Source) -> Instant {
    source.next_due().unwrap_or(Instant::FAR_FUTURE)
}

fn enqueue(interface: &mut HostInterface, frames: &mut Frames, queue: u8, bytes: &[u8]) {
    let Some(frame) = frames.keep(bytes) else {
        return;
    };
    if let Err(frame) = interface.enqueue(queue, frame) {
        frames.release(frame);
    }
}
