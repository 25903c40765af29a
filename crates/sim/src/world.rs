//! Runs a network in virtual time: the same cores as on real wires, between
//! them a calendar of what happens next.

mod by_hand;
mod control;
mod faults;
mod lines;
mod succession;

use std::collections::BTreeSet;

use controller::Controller;
use controller::northbound::{Request, RequestId, Said};
use measure::Recorder;
use measure::load::Load;
use switch::Switch;
use units::{Duration, Instant};
use wire::openflow::PortNumber;
use wire::openflow::taktos::NodeReport;

use crate::emulation::Dice;
use crate::frames::FrameId;
use crate::hop_watch::{HopWatch, Trail, WatchedLine};
use crate::host_interface::Sending;
use crate::host_node::HostNode;
use crate::message_watch::MessageWatch;
use crate::network::{Channel, Event, Network, PortBinding, Towards};
pub use crate::observer::Observed;
use crate::observer::Observer;
use crate::parts::{End, Engine, Fault, FaultAt, Node, Parts};
use crate::switch_node::{SwitchNode, TakenFrame};
pub use by_hand::{Overheard, Told};
use controller::store::MemoryStore;
use lines::Lines;
pub use lines::{Line, LineEvent};

/// The only port of a host.
const HOST_PORT: PortNumber = PortNumber(1);

/// A network in virtual time.
#[derive(Debug)]
pub struct World {
    now: Instant,
    network: Network,
    switches: Vec<SwitchNode>,
    hosts: Vec<HostNode>,
    controller: Option<Controller>,
    /// What switches said, if there is no controller.
    told: Vec<Told>,
    /// What the controller said to switches, if that is kept.
    orders: Option<Vec<Told>>,
    /// The hosts of which frames are kept that come to them, and these.
    listening: BTreeSet<usize>,
    overheard: Vec<Overheard>,
    watch: Option<MessageWatch>,
    hop_watch: Option<HopWatch>,
    controller_wake_up: Option<Instant>,
    store: MemoryStore,
    observer: Option<Observer>,
    carrier_detection: Duration,
    faults: Vec<Fault>,
    requests: u64,
    /// The connections of controllers that are elsewhere, and what happened there.
    lines: Lines,
    /// How many have meddled with switches.
    strangers: u32,
    said: Vec<Said>,
    events: u64,
}

/// What a run has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events taken from the calendar.
    pub events: u64,
    /// How often a frame was put on a cable.
    pub hops: u64,
    pub lost_on_cables: u64,
    /// Frames dropped before the processor of a switch.
    pub dropped_before_processor: u64,
    /// Frames that emulated devices lost for no reason that is seen from outside.
    pub lost_by_devices: u64,
    /// Frames dropped by the hosts' own interfaces.
    pub dropped_by_hosts: u64,
}

impl World {
    /// Returns a network at time zero, in which every switch begins to connect
    /// to the controller.
    ///
    /// # Panics
    ///
    /// If a link names a node that is not there.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self::with_engine(parts, Engine::Tables)
    }

    /// The same, with switches that look frames up by an engine.
    ///
    /// # Panics
    ///
    /// If a link names a node that is not there.
    #[must_use]
    pub fn with_engine(parts: Parts, engine: Engine) -> Self {
        Self::beginning_at(Instant::ZERO, parts, engine)
    }

    /// The same, in which it is that time at first.
    ///
    /// # Panics
    ///
    /// As [`with_engine`](Self::with_engine).
    #[must_use]
    pub fn beginning_at(begins: Instant, parts: Parts, engine: Engine) -> Self {
        let nodes = [parts.switches.len(), parts.hosts.len()];
        let network = Network::new(parts.seed, nodes, &parts.links, parts.control_delay);
        let switches = parts.switches.into_iter();
        let mut world = Self {
            now: begins,
            network,
            switches: (0..)
                .zip(switches)
                .map(|(number, part)| {
                    let dice = Dice::new(parts.seed, number);
                    SwitchNode::new(begins, part, engine, &dice)
                })
                .collect(),
            hosts: parts.hosts.into_iter().map(HostNode::new).collect(),
            controller: parts
                .controller
                .map(|config| Controller::new(begins, config)),
            told: Vec::new(),
            orders: None,
            listening: BTreeSet::new(),
            overheard: Vec::new(),
            watch: None,
            hop_watch: None,
            controller_wake_up: None,
            store: MemoryStore::default(),
            observer: None,
            carrier_detection: parts.carrier_detection,
            faults: Vec::new(),
            requests: 0,
            strangers: 0,
            lines: Lines::default(),
            said: Vec::new(),
            events: 0,
        };
        // The store is new: there is nothing to replay.
        let replayed = controller::Input::Stored(controller::StoreEvent::Replayed);
        if let Some(controller) = &mut world.controller {
            controller.handle(world.now, replayed);
        }
        for switch in 0..world.switches.len() {
            world.unplug_spare_ports(switch);
            world.connect(switch);
        }
        world.drain_controller();
        world
    }

    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Lets a host send a frame that belongs to no flow.
    pub fn announce(&mut self, host: usize, frame: &[u8]) {
        self.hosts[host].announce(frame, &mut self.network.frames);
        self.hosts[host].wake_up = Some(self.now);
        self.wake_host(host);
    }

    /// Sees every hop from now on, so that who is not what he says is known afterwards.
    ///
    /// # Panics
    ///
    /// If more cables are there than can be counted.
    pub fn watch_hops(&mut self, links: usize) {
        let lines = (0..links).map(|link| {
            let ends = self.network.cable(number(link)).ends();
            ends.map(|End { node, port }| match node {
                Node::Switch(switch) => WatchedLine::new(self.switches[switch].rate_of(port)),
                Node::Host(host) => WatchedLine::new(Some(self.hosts[host].interface.nominal)),
            })
        });
        let lines = lines.collect();
        let stages = self.switches.iter().map(SwitchNode::stage);
        self.hop_watch = Some(HopWatch::new(stages.collect(), lines));
    }

    /// Lets the hosts begin to send, and observes it.
    ///
    /// # Panics
    ///
    /// If the load is not for as many hosts as there are.
    pub fn begin(&mut self, load: Load) {
        assert_eq!(load.hosts.len(), self.hosts.len(), "a load for each host");
        let (observer, mut hosts) = Observer::of(load);
        if let Some(watch) = &mut self.hop_watch {
            watch.expect(hosts.iter_mut().map(|it| it.headers.take()).collect());
        }
        self.observer = Some(observer);
        for (host, load) in hosts.into_iter().enumerate() {
            self.hosts[host].begin(load);
            self.plan_host(host);
        }
    }

    /// Enters what goes wrong, and when.
    pub fn plan(&mut self, faults: &[FaultAt]) {
        for FaultAt { at, fault } in faults {
            let index = number(self.faults.len());
            self.faults.push(*fault);
            self.network.calendar.schedule(*at, Event::Fault { index });
        }
    }

    /// Asks the controller for something; the answer comes with
    /// [`said`](Self::said).
    ///
    /// # Panics
    ///
    /// If there is no controller.
    pub fn request(&mut self, request: Request) -> RequestId {
        let id = RequestId(self.requests);
        self.requests += 1;
        self.request_as(id, controller::Asker::Operator, request);
        id
    }

    /// Asks it for something in somebody's name, by an id that nobody else uses.
    ///
    /// # Panics
    ///
    /// If there is no controller.
    pub fn request_as(&mut self, id: RequestId, by: controller::Asker, request: Request) {
        let controller = self.controller.as_mut();
        let asked = controller::Input::Request { id, by, request };
        let controller = controller.expect("a request needs a controller");
        controller.handle(self.now, asked);
        self.drain_controller();
    }

    /// Takes what the controller has said since the last call.
    pub fn said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    /// Runs until `until`.
    pub fn run_until(&mut self, until: Instant) {
        while self.step(until) {}
        self.now = self.now.max(until);
    }

    /// Runs until the controller has said something, or until `until`.
    pub fn run_until_said(&mut self, until: Instant) -> Vec<Said> {
        while self.said.is_empty() && self.step(until) {}
        if self.said.is_empty() {
            self.now = self.now.max(until);
        }
        self.said()
    }

    /// Returns what has been observed so far, if anything was to be.
    #[must_use]
    pub fn recorder(&self) -> Option<&Recorder> {
        self.observer.as_ref().map(|observer| &observer.recorder)
    }

    /// Ends the run and returns what was observed.
    #[must_use]
    pub fn finish(mut self) -> Observed {
        let Some(mut observer) = self.observer.take() else {
            return Observed::default();
        };
        for host in &self.hosts {
            for (flow, skipped) in host.skipped() {
                observer.recorder.skipped(flow, skipped);
            }
        }
        Observed {
            hops: self.hop_watch.take().map(HopWatch::finish),
            fault_losses: self.network.fault_losses,
            ..observer.finish()
        }
    }

    /// Returns the stations that a switch heard of in the last minute, by PRP.
    #[must_use]
    pub fn nodes(&self, switch: usize) -> Vec<NodeReport> {
        let core = self.switches[switch].core.iter();
        core.flat_map(Switch::nodes).collect()
    }

    /// Returns what the run has done so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            events: self.events,
            hops: self.network.hops(),
            lost_on_cables: self.network.lost_on_cables(),
            dropped_before_processor: self.switches.iter().map(SwitchNode::dropped).sum(),
            lost_by_devices: self.switches.iter().map(SwitchNode::lost).sum(),
            dropped_by_hosts: self.hosts.iter().map(HostNode::dropped).sum(),
        }
    }

    /// Lets the next event happen, if there is one before `until`.
    fn step(&mut self, until: Instant) -> bool {
        let Some((now, event)) = self.network.calendar.next(until) else {
            return false;
        };
        self.now = self.now.max(now);
        self.events += 1;
        match event {
            Event::Arrival {
                binding,
                breaks,
                frame,
            } => self.arrive(binding, breaks, frame),
            Event::Processed { switch } => self.processed(switch as usize),
            Event::SwitchWakeUp { switch } => self.wake_switch(switch as usize),
            Event::HostWakeUp { host } => self.wake_host(host as usize),
            Event::ControllerWakeUp => self.wake_controller(),
            Event::Control {
                channel,
                towards,
                chunk,
            } => {
                self.take_control(channel, towards, chunk);
            }
            Event::Connect { channel } => self.connected(channel),
            Event::Carrier { binding } => self.notice_carrier(binding),
            Event::Fault { index } => self.fault(self.faults[index as usize]),
        }
        true
    }

    fn arrive(&mut self, binding: PortBinding, breaks: u32, frame: FrameId) {
        if !self.network.cable(binding.cable).arrives(breaks) {
            self.network.frames.release(frame);
            return;
        }
        let End { node, port } = self.network.end(binding);
        if let Some(observer) = &mut self.observer
            && self.network.is_trunk(binding.cable)
        {
            observer.crossed(self.now, binding, self.network.frames.bytes(frame));
        }
        match node {
            Node::Switch(switch) => {
                let bytes = self.network.frames.bytes(frame).len();
                let fate = self.switches[switch].arrive(self.now, port, (frame, bytes));
                self.watch_arrival(switch, frame, fate.ok());
                match fate {
                    Ok(ready) if ready <= self.now => self.processed(switch),
                    Ok(ready) => {
                        let event = Event::Processed {
                            switch: number(switch),
                        };
                        self.network.calendar.schedule(ready, event);
                    }
                    Err(frame) => self.network.frames.release(frame),
                }
            }
            Node::Host(host) => self.deliver(host, binding, frame),
        }
    }

    fn deliver(&mut self, host: usize, binding: PortBinding, frame: FrameId) {
        let node = &mut self.hosts[host];
        if let Some(watch) = &mut self.watch {
            watch.arrived(self.now, self.network.frames.bytes(frame));
        }
        if let Some(observer) = &mut self.observer {
            let bytes = self.network.frames.bytes(frame);
            let promise =
                observer.reached_host(self.now, binding, bytes, |flow| node.receiver_of(flow));
            if let Some(watch) = &mut self.hop_watch
                && let (Some(promise), Some(trail)) = (promise, self.network.frames.trail(frame))
            {
                watch.reached(self.now, trail, promise);
            }
        }
        if self.listening.contains(&host) {
            let bytes = self.network.frames.bytes(frame).to_vec();
            let at = self.now;
            self.overheard.push(Overheard { at, host, bytes });
        }
        node.receive(self.now, frame, &mut self.network.frames);
        self.network.frames.release(frame);
        self.plan_host(host);
    }

    fn processed(&mut self, switch: usize) {
        let node = &mut self.switches[switch];
        let Some(taken) = node.processed(self.now) else {
            return;
        };
        let TakenFrame {
            arrived,
            port,
            frame,
        } = taken;
        if let Some(core) = &mut node.core {
            let bytes = self.network.frames.bytes(frame);
            core.handle(self.now, node.engine.input(port, bytes, arrived));
        }
        if let (Some(watch), Some(trail)) = (&mut self.hop_watch, *self.network.frames.trail(frame))
        {
            watch.processed(arrived, switch, trail);
        }
        self.network.frames.release(frame);
        self.drain_switch(switch);
    }

    /// Shows a frame that came to a switch to who watches hops: the processor is done with
    /// it at `ready`, or had no room.
    fn watch_arrival(&mut self, switch: usize, frame: FrameId, ready: Option<Instant>) {
        let Some(watch) = &mut self.hop_watch else {
            return;
        };
        let trail = self.network.frames.trail(frame).as_mut();
        match (ready, trail) {
            (Some(ready), trail) => watch.came(self.now, switch, ready, trail),
            (None, Some(trail)) => {
                let busy_until = self.switches[switch].busy_until();
                watch.had_no_room(self.now, switch, busy_until, *trail);
            }
            (None, None) => {}
        }
    }

    fn wake_switch(&mut self, switch: usize) {
        let node = &mut self.switches[switch];
        if node.wake_up.is_none_or(|at| at > self.now) {
            return;
        }
        node.wake_up = None;
        if let Some(core) = &mut node.core
            && core.deadline().is_some_and(|deadline| deadline <= self.now)
        {
            core.handle(self.now, switch::Input::Timeout);
        }
        self.drain_switch(switch);
    }

    fn drain_switch(&mut self, switch: usize) {
        let node = &mut self.switches[switch];
        let channel = Channel {
            switch: number(switch),
            generation: node.generation,
        };
        node.publish();
        let SwitchNode { core, pace, .. } = node;
        let Some(core) = core else { return };
        let mut closed = false;
        while let Some(output) = core.poll() {
            match output {
                switch::Output::Transmit {
                    port,
                    bytes,
                    departs,
                    stay,
                    ..
                } => {
                    if let Some(watch) = &mut self.watch {
                        watch.leaves_switch(self.now, switch, bytes);
                    }
                    let trail = self.hop_watch.as_mut().and_then(|watch| {
                        let plug = self.network.plug_of_switch(switch, port)?;
                        let times = (self.now, departs);
                        watch.leaves_switch(times, (switch, plug), bytes.len(), stay.arrived)
                    });
                    self.network
                        .transmit(Node::Switch(switch), port, (bytes, trail), departs);
                    core.left(stay, departs);
                }
                switch::Output::Send { connection, bytes } if connection != control::CONNECTION => {
                    self.lines.said(switch, connection, bytes);
                }
                switch::Output::Send { bytes, .. } => {
                    let towards = Towards::Controller;
                    pace.send(self.now, bytes, |leaves, bytes| {
                        self.network.control(leaves, channel, towards, bytes);
                    });
                }
                switch::Output::Close { connection, .. } => {
                    closed |= connection == control::CONNECTION;
                    self.lines.closed(switch, connection);
                }
                switch::Output::Count => {}
            }
        }
        let deadline = core.deadline();
        if let Some(at) = deadline
            && node.wake_up.is_none_or(|planned| at < planned)
        {
            node.wake_up = Some(at);
            self.network.calendar.schedule(
                at,
                Event::SwitchWakeUp {
                    switch: channel.switch,
                },
            );
        }
        if closed {
            self.disconnect(switch);
            self.connect(switch);
        }
    }

    fn wake_host(&mut self, host: usize) {
        if self.hosts[host].wake_up.is_none_or(|at| at > self.now) {
            return;
        }
        self.hosts[host].wake_up = None;
        while let Some(sending) = self.hosts[host].work(self.now, &mut self.network.frames) {
            self.observe_departure(host, sending);
            if let Some(watch) = &mut self.watch {
                watch.leaves_host(self.now, self.network.frames.bytes(sending.frame));
            }
            let Sending { frame, departs } = sending;
            self.network
                .transmit_kept(Node::Host(host), HOST_PORT, frame, departs);
        }
        self.plan_host(host);
    }

    /// Takes down that a frame begins to leave a host.
    fn observe_departure(&mut self, host: usize, Sending { frame, departs }: Sending) {
        let Some(observer) = &mut self.observer else {
            return;
        };
        let plug = self.network.plug_of_host(host);
        let bytes = self.network.frames.bytes(frame);
        let flow = observer.left_host(self.now, plug, bytes);
        if let (Some(watch), Some(plug)) = (&mut self.hop_watch, plug) {
            let promised = flow.filter(|flow| observer.recorder.promise(*flow).is_some());
            let mut trail = promised.map(|flow| Trail::new(flow, self.now));
            let times = (self.now, departs);
            watch.leaves_host(times, (host, plug), bytes, trail.as_mut());
            *self.network.frames.trail(frame) = trail;
        }
    }

    /// Enters when a host has to be woken, if that is sooner than planned.
    fn plan_host(&mut self, host: usize) {
        let node = &mut self.hosts[host];
        if let Some(at) = node.deadline(self.now)
            && node.wake_up.is_none_or(|planned| at < planned)
        {
            node.wake_up = Some(at);
            self.network
                .calendar
                .schedule(at, Event::HostWakeUp { host: number(host) });
        }
    }
}

fn number(place: usize) -> u32 {
    u32::try_from(place).expect("a network has fewer than 2^32 nodes")
}
