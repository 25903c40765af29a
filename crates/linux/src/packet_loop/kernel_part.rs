//! The part of a station that the kernel runs: the compiled tables are published to
//! it, and what it gives up is taken from it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use switch::compiled::layout::{Region, port};
use switch::compiled::{Carried, Departures, Memory};
use switch::modes::Violation;
use switch::{Config, Input, Link, Switch, Unreceived};
use units::{Duration, Instant};
use wire::openflow::PortNumber;

use super::port_binding::PortBinding;
use crate::kernel_engine::{Handed, Hung, KernelEngine, Left, Origin};
use crate::offloads::Cutter;
use crate::port::Port;

/// How often it is asked whether old walks are over before the processor is given
/// to others: a walk takes a microsecond or two.
const ASKED_AT_ONCE: u32 = 10_000;

/// The kernel's part of a station.
#[derive(Debug)]
pub(super) struct KernelPart {
    engine: KernelEngine,
    /// The numbers of the ports, in the order in which the switch has them.
    numbers: Vec<PortNumber>,
    /// The interfaces from which the program takes frames.
    known: Vec<u32>,
    /// A piece that its sender has left to a card to cut.
    cutter: Cutter,
    /// Where it came, and when.
    piece: (PortNumber, Instant),
    /// Whether frames are to be seen where they leave.
    watches_hops: bool,
    /// How often the quickest session sends for which the kernel is to speak.
    quickest: Option<Duration>,
}

impl KernelPart {
    pub(super) fn new(engine: KernelEngine, bindings: &[PortBinding]) -> Self {
        let mut numbers: Vec<_> = bindings.iter().map(|binding| binding.number).collect();
        numbers.sort_unstable();
        Self {
            engine,
            known: Vec::with_capacity(numbers.len()),
            numbers,
            cutter: Cutter::default(),
            piece: (PortNumber::ANY, Instant::ZERO),
            watches_hops: false,
            quickest: None,
        }
    }

    /// Makes a switch and has the program forward for it: with the tables of a process
    /// that has ended, if there was one, else with empty ones.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        config: &Config,
        bindings: &mut [PortBinding],
    ) -> Switch {
        if let Some(left) = self.engine.take_left() {
            match self.resume(now, config, bindings, &left) {
                Ok(switch) => return switch,
                Err(reason) => {
                    let mut config = config.clone();
                    config.hardware.push_str("; began anew: ");
                    config.hardware.push_str(&reason);
                    return self.begin_anew(now, &config, bindings);
                }
            }
        }
        self.begin_anew(now, config, bindings)
    }

    fn begin_anew(
        &mut self,
        now: Instant,
        config: &Config,
        bindings: &mut [PortBinding],
    ) -> Switch {
        self.end();
        let mut switch = Switch::new(now, config.clone());
        let hook = self.engine.hook();
        let memory = self.engine.tables().empty(hook.hops());
        switch.compile_into(memory, self.engine.overflow());
        if let Some((log, identity)) = self.engine.log() {
            switch.retain(log, &identity);
        }
        for binding in &*bindings {
            self.carry(&mut switch, binding);
        }
        // What a process left of which nothing can be used forwards until here.
        let _ = self.take_places(bindings);
        self.engine.hook().drop_left();
        self.engine.forget_left();
        switch
    }

    /// Goes on where another process has ended. Until its programs are replaced, nothing
    /// of it is touched.
    fn resume(
        &mut self,
        now: Instant,
        config: &Config,
        bindings: &mut [PortBinding],
        left: &Left,
    ) -> Result<Switch, String> {
        let is_left = |binding: &PortBinding| {
            hung(&binding.port).is_some_and(|hung| hung.origin() == Origin::Left)
        };
        let hook = self.engine.hook();
        if hook.has_left() || !bindings.iter().all(is_left) {
            return Err("it had other interfaces".to_owned());
        }
        let memory = self.engine.tables().seen_by(hook.hops());
        let log = self.engine.log();
        let (log, _) = log.ok_or("there is no room to write down what it has")?;
        let to = (memory, self.engine.overflow());
        let resumed = Switch::resume(now, config.clone(), to, log, &left.state);
        let (mut switch, resumption) = resumed.map_err(|error| error.to_string())?;
        let before = left.tables.provide();
        self.begin_down(now, &mut switch, bindings, &before);
        for binding in &*bindings {
            self.carry(&mut switch, binding);
        }
        switch.fill_meters(&resumption, &before);
        self.take_places(bindings)
            .map_err(|error| error.to_string())?;
        left.tables.await_walks();
        switch.count_on(&resumption, &before);
        publish(&mut switch);
        left.tables.put_out_of_force();
        self.engine.forget_left();
        Ok(switch)
    }

    /// Takes ports that were down for down until their carriers are looked at: groups are
    /// to take others in the meantime.
    fn begin_down(
        &self,
        now: Instant,
        switch: &mut Switch,
        bindings: &mut [PortBinding],
        before: &Memory,
    ) {
        for binding in bindings {
            let Ok(place) = self.numbers.binary_search(&binding.number) else {
                continue;
            };
            let word = before.record(Region::Ports, place).get(port::INTERFACE);
            if word >> 32 & u64::from(port::IS_UP) == 0 {
                binding.link = Link::Down;
                let (port, link) = (binding.number, Link::Down);
                switch.handle(now, Input::Port { port, link });
            }
        }
    }

    /// Puts our program into the place of those that a process has left.
    fn take_places(&self, bindings: &mut [PortBinding]) -> io::Result<()> {
        let hook = self.engine.hook();
        for binding in bindings {
            if let Port::Kernel(port) = &mut binding.port
                && let Some(hung) = port.hung_mut()
                && hung.origin() == Origin::Left
            {
                hung.take_place(hook.program())?;
            }
        }
        Ok(())
    }

    /// Has frames seen where they leave as long as the switch wants to know, and sessions
    /// spoken for as long as it has some.
    #[inline]
    pub(super) fn heed_wishes(&mut self, switch: &mut Switch) {
        self.stand_in(switch.quickest_session());
        let is_wanted = switch.watches_hops();
        if is_wanted != self.watches_hops {
            let departures = self.change_hops(is_wanted);
            switch.see_departures(departures);
        }
    }

    fn stand_in(&mut self, quickest: Option<Duration>) {
        if quickest != self.quickest {
            self.quickest = quickest;
            self.engine.stand_in(quickest);
        }
    }

    /// Returns who sees frames leave then.
    fn change_hops(&mut self, is_wanted: bool) -> Departures {
        self.watches_hops = is_wanted;
        // It could be done when the engine was opened, and may be forbidden since.
        match self.engine.hook().hops().map(|hops| hops.want(is_wanted)) {
            Some(Ok(())) => Departures::Seen,
            Some(Err(_)) | None => Departures::Unseen,
        }
    }

    /// Has the program drop all that comes.
    pub(super) fn end(&mut self) {
        self.change_hops(false);
        self.stand_in(None);
        for interface in self.known.drain(..) {
            self.engine.hook().drop_all_of(interface);
        }
        while self.engine.frames().receive(|_| ()).is_some() {}
    }

    /// Follows a port to another interface.
    pub(super) fn exchange(&mut self, switch: &mut Switch, former: &Port, binding: &PortBinding) {
        let interface = |port| carried(port).map(|carried| carried.interface);
        let (former, latter) = (interface(former), interface(&binding.port));
        if let Some(former) = former.filter(|_| former != latter) {
            self.known.retain(|known| *known != former);
            self.engine.hook().forget(former);
        }
        self.carry(switch, binding);
    }

    /// Hands the core the next frame that the program gave up, and returns whether
    /// there was one.
    pub(super) fn hand(
        &mut self,
        now: Instant,
        bindings: &mut [PortBinding],
        mut switch: Option<&mut Switch>,
    ) -> bool {
        if self.hand_cut(now, bindings, switch.as_deref_mut()) {
            return true;
        }
        let (numbers, cutter, piece) = (&self.numbers, &mut self.cutter, &mut self.piece);
        let handed = self.engine.frames().receive(|handed| {
            let frame = match handed {
                Handed::Frame(frame) => frame,
                Handed::Bell | Handed::Noticed(_) => {
                    return heed(now, handed, numbers, switch.as_deref_mut());
                }
            };
            let Some(&port) = numbers.get(frame.port) else {
                return;
            };
            let at = frame.arrived.min(now);
            if frame.left.is_nothing() {
                let frame = (frame.bytes, frame.verdicts);
                give(now, (port, at), frame, bindings, switch.as_deref_mut());
            } else if cutter.take(frame.bytes, frame.left).is_ok() {
                *piece = (port, at);
            } else if let Some(switch) = &mut switch {
                let frames = Unreceived {
                    oversized: frame.left.frames(frame.bytes.len()),
                    overrun: 0,
                };
                switch.handle(now, Input::Unreceived { port, frames });
            }
        });
        self.hand_cut(now, bindings, switch);
        handed.is_some()
    }

    /// Tells whether a piece is being cut.
    pub(super) fn has_piece(&self) -> bool {
        self.cutter.is_ready()
    }

    /// Hands the core the next frame of a piece, if one is being cut.
    fn hand_cut(
        &mut self,
        now: Instant,
        bindings: &mut [PortBinding],
        switch: Option<&mut Switch>,
    ) -> bool {
        let Some(bytes) = self.cutter.next_frame() else {
            return false;
        };
        give(now, self.piece, (bytes, &[]), bindings, switch);
        true
    }

    /// Makes a port known to the switch, and its interface to the program.
    fn carry(&mut self, switch: &mut Switch, binding: &PortBinding) {
        let Some(carried) = carried(&binding.port) else {
            return;
        };
        switch.carry_port(binding.number, carried);
        publish(switch);
        let place = self.numbers.binary_search(&binding.number);
        let place = place.ok().and_then(|place| u32::try_from(place).ok());
        let known = place.map(|place| self.engine.hook().know(carried.interface, place));
        let is_new = !self.known.contains(&carried.interface);
        if let (Some(Ok(())), true) = (known, is_new) {
            self.known.push(carried.interface);
        }
    }
}

/// Gives the core a frame, with what meters have decided about it, that came to a port
/// at some time.
fn give(
    now: Instant,
    (port, arrived): (PortNumber, Instant),
    (bytes, verdicts): (&[u8], &[u8]),
    bindings: &mut [PortBinding],
    switch: Option<&mut Switch>,
) {
    if let Some(binding) = bindings.iter_mut().find(|binding| binding.number == port) {
        binding.counters.received += 1;
    }
    if let Some(switch) = switch {
        let frame = Input::Handed {
            port,
            bytes,
            arrived,
            verdicts,
        };
        switch.handle(now, frame);
        publish(switch);
    }
}

/// Has the switch take note of what the program did without a frame for it.
fn heed(now: Instant, handed: Handed<'_>, numbers: &[PortNumber], switch: Option<&mut Switch>) {
    let Some(switch) = switch else { return };
    let input = match handed {
        Handed::Frame(_) | Handed::Bell => Input::Bell,
        Handed::Noticed(seen) => {
            let Some(&port) = numbers.get(seen.port) else {
                return;
            };
            Input::Violation(Violation {
                port,
                at: seen.at.min(now),
                monitor: seen.monitor,
                demand: seen.demand,
            })
        }
    };
    switch.handle(now, input);
    publish(switch);
}

/// Is readable while frames for the core wait.
impl AsFd for KernelPart {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.engine.as_fd()
    }
}

/// Shows the program the tables as they are, if they have changed.
#[inline]
pub(super) fn publish(switch: &mut Switch) {
    if !switch.is_published() {
        publish_changes(switch);
    }
}

fn publish_changes(switch: &mut Switch) {
    let mut asked = 0;
    while !switch.settle() {
        asked += 1;
        match asked % ASKED_AT_ONCE {
            0 => std::thread::yield_now(),
            _ => std::hint::spin_loop(),
        }
    }
    switch.publish();
}

fn carried(port: &Port) -> Option<Carried> {
    hung(port).map(Hung::carried)
}

fn hung(port: &Port) -> Option<&Hung> {
    match port {
        Port::Kernel(port) => port.hung(),
        Port::Packet(_) | Port::Xdp(_) => None,
    }
}
