//! Takes down what goes by at the hosts, and captures links.

use measure::capture::{CaptureRecord, Captures, Direction, Seen};
use measure::fault_losses::FaultLosses;
use measure::identity::Catalogue;
use measure::load::HostLoad;
use measure::recorder::FlowRecord;
use measure::{FlowIndex, Promise, ReceiverIndex, Recorder};
use units::Instant;
use wire::ethernet::wire_size;

use crate::hop_watch::SeenHops;
use crate::network::PortBinding;

/// The only interface of the capture of a host's link.
const AT_HOST: u32 = 0;

#[derive(Debug)]
pub(crate) struct Observer {
    pub recorder: Recorder,
    catalogue: Catalogue,
    captures: Captures,
}

#[derive(Debug, Default)]
pub struct Observed {
    /// Flow by flow, in the order of the load.
    pub flows: Vec<FlowRecord>,
    /// What became of the capture files.
    pub captures: Vec<CaptureRecord>,
    /// What was seen of hops, if they were watched.
    pub hops: Option<SeenHops>,
    /// What faults of cables took of promised flows, if hops were watched.
    pub fault_losses: FaultLosses,
}

impl Observer {
    /// Returns what observes a load, and what its hosts do.
    pub fn of(load: measure::load::Load) -> (Self, Vec<HostLoad>) {
        let observer = Self {
            recorder: load.recorder,
            catalogue: load.catalogue,
            captures: load.captures,
        };
        (observer, load.hosts)
    }

    /// Takes down that the first bit of a frame leaves a host now. Returns its flow.
    pub fn left_host(
        &mut self,
        now: Instant,
        binding: Option<PortBinding>,
        bytes: &[u8],
    ) -> Option<FlowIndex> {
        let identified = self.catalogue.identify(bytes, now);
        if let Some((flow, sequence)) = identified {
            let size = wire_size(bytes.len());
            self.recorder.sent(flow, sequence, size, now);
        }
        if let Some(binding) = binding {
            self.capture(now, binding.cable, AT_HOST, Direction::Out, bytes);
        }
        identified.map(|(flow, _)| flow)
    }

    /// Takes down that the last bit of a frame has arrived at a host, which is
    /// `receiver_of` the flows that it receives. Returns what was promised to it there.
    pub fn reached_host(
        &mut self,
        now: Instant,
        binding: PortBinding,
        bytes: &[u8],
        receiver_of: impl Fn(FlowIndex) -> Option<ReceiverIndex>,
    ) -> Option<Promise> {
        let mut promise = None;
        if let Some((flow, sequence)) = self.catalogue.identify(bytes, now)
            && let Some(receiver) = receiver_of(flow)
        {
            self.recorder.received(flow, receiver, sequence, now);
            promise = self.recorder.promise(flow);
        }
        self.capture(now, binding.cable, AT_HOST, Direction::In, bytes);
        promise
    }

    /// Takes down that the last bit of a frame has arrived at a switch from
    /// another one.
    pub fn crossed(&mut self, now: Instant, binding: PortBinding, bytes: &[u8]) {
        self.capture(
            now,
            binding.cable,
            u32::from(binding.end),
            Direction::In,
            bytes,
        );
    }

    pub fn finish(self) -> Observed {
        Observed {
            flows: self.recorder.finish(),
            captures: self.captures.finish(),
            hops: None,
            fault_losses: FaultLosses::default(),
        }
    }

    fn capture(
        &mut self,
        now: Instant,
        cable: u32,
        interface: u32,
        direction: Direction,
        bytes: &[u8],
    ) {
        let seen = Seen {
            interface,
            unix_ns: self.captures.unix_ns(now),
            direction,
            bytes,
            length: bytes.len(),
        };
        self.captures.enter(cable as usize, &seen);
    }
}
