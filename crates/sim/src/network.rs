//! Everything between the nodes: cables, the frames and messages on the way,
//! and the calendar.

use measure::fault_losses::{FaultLosses, Harm};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Duration, Instant};
use wire::openflow::PortNumber;

use crate::cable::{Cable, Passage};
use crate::calendar::Calendar;
use crate::chunks::{ChunkId, Chunks};
use crate::frames::{FrameId, Frames};
use crate::hop_watch::Trail;
use crate::modes::signal_faults::SignalFaults;
use crate::parts::{End, LinkPart, Node};

/// What happens in a network. Small and plain: hundreds of thousands wait.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// The last bit of a frame has arrived at an end of a cable.
    Arrival {
        /// Which end of which cable.
        binding: PortBinding,
        /// How often the cable had broken when the frame was sent.
        breaks: u32,
        frame: FrameId,
    },
    /// The processor of a switch is done with a frame.
    Processed {
        switch: u32,
    },
    /// A switch asked to be woken.
    SwitchWakeUp {
        switch: u32,
    },
    /// A host has something to send, or its link is free.
    HostWakeUp {
        host: u32,
    },
    /// The controller asked to be woken.
    ControllerWakeUp,
    /// Bytes have reached the other end of a control connection.
    Control {
        channel: Channel,
        towards: Towards,
        chunk: ChunkId,
    },
    Connect {
        channel: Channel,
    },
    /// A switch notices that a port has gained or lost its carrier.
    Carrier {
        /// Which end of which cable.
        binding: PortBinding,
    },
    /// Something goes wrong, or right again.
    Fault {
        /// Its place in the list of faults.
        index: u32,
    },
}

/// The n-th control connection of a switch: what was sent over an earlier one
/// is not taken for this one's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    pub switch: u32,
    /// How many connections it had before.
    pub generation: u32,
}

/// A direction of a control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Towards {
    Switch,
    Controller,
}

/// One end of one cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortBinding {
    pub cable: u32,
    /// Which of its two ends.
    pub end: u8,
}

#[derive(Debug)]
pub struct Network {
    pub calendar: Calendar<Event>,
    /// The frames on the way.
    pub frames: Frames,
    /// The messages on the way.
    pub chunks: Chunks,
    cables: Vec<Cable>,
    /// By cable, what becomes of signals where it is not what becomes of any frame.
    whims: Vec<Option<SignalFaults>>,
    /// By switch and port number.
    switch_plugs: Vec<Vec<Option<PortBinding>>>,
    host_plugs: Vec<Option<PortBinding>>,
    control_delay: Duration,
    random: Xoshiro256PlusPlus,
    hops: u64,
    /// What impaired cables took of promised flows, while hops are watched.
    pub fault_losses: FaultLosses,
}

/// A frame that a cable carries.
#[derive(Clone, Copy, Debug)]
struct SentFrame {
    /// Where it arrives.
    binding: PortBinding,
    at: Instant,
    /// How often the cable had broken before.
    breaks: u32,
    is_corrupted: bool,
}

impl Network {
    /// Returns a network whose cables are whole.
    #[must_use]
    pub fn new(seed: u64, nodes: [usize; 2], links: &[LinkPart], control_delay: Duration) -> Self {
        let [switches, hosts] = nodes;
        let mut network = Self {
            calendar: Calendar::default(),
            frames: Frames::default(),
            chunks: Chunks::default(),
            cables: links.iter().copied().map(Cable::new).collect(),
            whims: vec![None; links.len()],
            switch_plugs: vec![Vec::new(); switches],
            host_plugs: vec![None; hosts],
            control_delay,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            hops: 0,
            fault_losses: FaultLosses::default(),
        };
        for (cable, link) in (0..).zip(links) {
            for (end, at) in (0..).zip(link.ends) {
                network.plug_in(at, PortBinding { cable, end });
            }
        }
        network
    }

    /// Puts a frame whose last bit leaves at `departs` on the cable at a port.
    pub fn transmit(
        &mut self,
        from: Node,
        port: PortNumber,
        (bytes, trail): (&[u8], Option<Trail>),
        departs: Instant,
    ) {
        self.hops += 1;
        for late in self.copies(from, port, bytes).into_iter().flatten() {
            self.transmit_once(from, port, (bytes, trail), departs + late);
        }
    }

    fn transmit_once(
        &mut self,
        from: Node,
        port: PortNumber,
        (bytes, trail): (&[u8], Option<Trail>),
        departs: Instant,
    ) {
        let Some(sent) = self.send(from, port, departs, trail) else {
            return;
        };
        let Some(frame) = self.frames.keep(bytes) else {
            return;
        };
        *self.frames.trail(frame) = trail;
        self.schedule(sent, frame);
    }

    /// The same for a frame that is kept already.
    pub fn transmit_kept(
        &mut self,
        from: Node,
        port: PortNumber,
        frame: FrameId,
        departs: Instant,
    ) {
        self.hops += 1;
        let trail = *self.frames.trail(frame);
        match self.send(from, port, departs, trail) {
            Some(sent) => self.schedule(sent, frame),
            None => self.frames.release(frame),
        }
    }

    /// Enters the arrival of a frame, with a bit of it flipped if it is corrupted.
    fn schedule(&mut self, sent: SentFrame, frame: FrameId) {
        if sent.is_corrupted {
            let bytes = self.frames.bytes_mut(frame);
            let bit = self.random.next_u32() as usize % (bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        let SentFrame {
            binding,
            at,
            breaks,
            ..
        } = sent;
        let arrival = Event::Arrival {
            binding,
            breaks,
            frame,
        };
        self.calendar.schedule(at, arrival);
    }

    /// Sends bytes over a control connection.
    pub fn control(&mut self, now: Instant, channel: Channel, towards: Towards, bytes: &[u8]) {
        self.control_at(now + self.control_delay, channel, towards, bytes);
    }

    /// Lets bytes of a control connection take effect at `at`.
    pub fn control_at(&mut self, at: Instant, channel: Channel, towards: Towards, bytes: &[u8]) {
        let chunk = self.chunks.keep(bytes);
        let event = Event::Control {
            channel,
            towards,
            chunk,
        };
        self.calendar.schedule(at, event);
    }

    /// Says what becomes of the signals on a cable.
    pub fn disturb(&mut self, cable: usize, whims: SignalFaults) {
        self.whims[cable] = Some(whims);
    }

    /// Returns how late a frame comes, and how late it comes again.
    fn copies(&mut self, from: Node, port: PortNumber, bytes: &[u8]) -> [Option<Duration>; 2] {
        let undisturbed = [Some(Duration::ZERO), None];
        let Node::Switch(switch) = from else {
            return undisturbed;
        };
        let Some(binding) = self.plug_of_switch(switch, port) else {
            return undisturbed;
        };
        match &mut self.whims[binding.cable as usize] {
            Some(whims) if SignalFaults::concern(bytes) => whims.next(usize::from(1 - binding.end)),
            Some(_) | None => undisturbed,
        }
    }

    pub fn cable(&mut self, cable: u32) -> &mut Cable {
        &mut self.cables[cable as usize]
    }

    /// Returns where an end of a cable is plugged in.
    #[must_use]
    pub fn end(&self, binding: PortBinding) -> End {
        self.cables[binding.cable as usize].ends()[usize::from(binding.end)]
    }

    /// Tells whether a cable joins two switches.
    #[must_use]
    pub fn is_trunk(&self, cable: u32) -> bool {
        let ends = self.cables[cable as usize].ends();
        ends.iter().all(|end| matches!(end.node, Node::Switch(_)))
    }

    /// Returns the cables that are plugged into a switch.
    pub fn plugs_of_switch(&self, switch: usize) -> impl Iterator<Item = PortBinding> + '_ {
        self.switch_plugs[switch].iter().flatten().copied()
    }

    /// Returns the end at a port of a switch of its cable.
    #[must_use]
    pub fn plug_of_switch(&self, switch: usize, port: PortNumber) -> Option<PortBinding> {
        let plug = self.switch_plugs[switch].get(port.0 as usize);
        plug.copied().flatten()
    }

    /// Returns the end at a host of its cable.
    #[must_use]
    pub fn plug_of_host(&self, host: usize) -> Option<PortBinding> {
        self.host_plugs[host]
    }

    /// Returns those of a switch's `ports` that nothing is plugged into.
    #[must_use]
    pub fn spare_ports(&self, switch: usize, ports: &[PortNumber]) -> Vec<PortNumber> {
        let bindings = &self.switch_plugs[switch];
        let is_spare =
            |port: &&PortNumber| bindings.get(port.0 as usize).copied().flatten().is_none();
        ports.iter().filter(is_spare).copied().collect()
    }

    /// Pulls an end of a cable out of its switch and plugs it in elsewhere.
    pub fn replug(&mut self, binding: PortBinding, to: End) {
        let from = self.end(binding);
        if let Node::Switch(switch) = from.node {
            self.switch_plugs[switch][from.port.0 as usize] = None;
        }
        self.cables[binding.cable as usize].set_end(binding.end, to);
        self.plug_in(to, binding);
    }

    /// Returns how long a message takes on the control network.
    #[must_use]
    pub fn control_delay(&self) -> Duration {
        self.control_delay
    }

    /// Returns how often a frame was put on a cable.
    #[must_use]
    pub fn hops(&self) -> u64 {
        self.hops
    }

    /// Returns how many frames were lost on cables.
    #[must_use]
    pub fn lost_on_cables(&self) -> u64 {
        self.cables.iter().map(Cable::lost).sum()
    }

    fn plug_in(&mut self, at: End, binding: PortBinding) {
        match at.node {
            Node::Switch(switch) => {
                let ports = &mut self.switch_plugs[switch];
                let port = at.port.0 as usize;
                if ports.len() <= port {
                    ports.resize(port + 1, None);
                }
                ports[port] = Some(binding);
            }
            Node::Host(host) => self.host_plugs[host] = Some(binding),
        }
    }

    /// Puts a frame on the cable at a port, with the flow of a promised one in its trail.
    /// Returns its arrival, if the cable carries it.
    fn send(
        &mut self,
        from: Node,
        port: PortNumber,
        departs: Instant,
        trail: Option<Trail>,
    ) -> Option<SentFrame> {
        let PortBinding { cable, end } = match from {
            Node::Switch(switch) => self.plug_of_switch(switch, port),
            Node::Host(host) => self.host_plugs[host],
        }?;
        let passage = self.cables[cable as usize].send(departs, end, &mut self.random);
        let harm = match passage {
            Passage::Arrives { corrupted, .. } => corrupted.then_some(Harm::Corrupted),
            Passage::Lost => Some(Harm::Lost),
            Passage::Broken => None,
        };
        if let Some((trail, harm)) = trail.zip(harm) {
            let flow = trail.flow();
            self.fault_losses.add(cable as usize, flow, harm, departs);
        }
        match passage {
            Passage::Arrives {
                at,
                breaks,
                corrupted,
            } => Some(SentFrame {
                binding: PortBinding {
                    cable,
                    end: 1 - end,
                },
                at,
                breaks,
                is_corrupted: corrupted,
            }),
            Passage::Broken | Passage::Lost => None,
        }
    }
}
