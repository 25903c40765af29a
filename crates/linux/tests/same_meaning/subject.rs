//! A switch to which a case happens, and what comes of it.

use switch::{
    Config, ConnectionId, Input, Link, Output, Pacing, Peer, PortConfig, Switch, SwitchCounters,
};
use units::{Duration, Instant};
use wire::openflow::{DatapathId, PortNumber};

use crate::case::{Setup, Step};
use crate::changes::address;

/// Cases begin here: at zero, walks of the tables would go by the clock.
pub const BEGINNING: Instant = Instant::from_ns(1_000_000_000);
/// More of a frame than this is not compared: captures cut it off.
const BYTES_COMPARED: usize = 1900;

/// What came of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// What left, by port, in the order of its leaving there.
    pub sent: Vec<Leaving>,
    /// What controllers were told, by connection.
    pub told: Vec<(u32, Vec<u8>)>,
    /// All that was counted since the beginning.
    pub counters: SwitchCounters,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaving {
    pub port: u32,
    pub length: usize,
    pub bytes: Vec<u8>,
}

impl Leaving {
    /// Tells whether it says which mode the switch is in.
    fn is_signal(&self) -> bool {
        self.bytes.starts_with(&[3, 0x74, 0x6b, 0, 0, 1])
    }

    pub fn new(port: u32, length: usize, bytes: &[u8]) -> Self {
        let bytes = &bytes[..bytes.len().min(BYTES_COMPARED)];
        Self {
            port,
            length,
            bytes: bytes.to_vec(),
        }
    }
}

/// Who carries a switch's frames.
pub trait Engine {
    /// Has a switch made ready.
    fn begin(&mut self, switch: &mut Switch, setup: &Setup);

    /// Hands a frame over at the port of this number, and returns what left
    /// without going through the core.
    fn receive(
        &mut self,
        switch: &mut Switch,
        now: Instant,
        port: u8,
        frame: &[u8],
    ) -> Vec<Leaving>;

    /// Lets what changed take effect.
    fn heed(&mut self, switch: &mut Switch);
}

/// The switch alone, as engines in user space run it.
#[derive(Debug)]
pub struct CoreAlone;

impl Engine for CoreAlone {
    fn begin(&mut self, _: &mut Switch, _: &Setup) {}

    fn receive(
        &mut self,
        switch: &mut Switch,
        now: Instant,
        port: u8,
        frame: &[u8],
    ) -> Vec<Leaving> {
        let (port, arrived) = (PortNumber(port.into()), now);
        switch.handle(
            now,
            Input::Frame {
                port,
                bytes: frame,
                arrived,
            },
        );
        Vec::new()
    }

    fn heed(&mut self, _: &mut Switch) {}
}

/// A switch with its engine.
pub struct Subject<'a, E: Engine + ?Sized> {
    pub switch: Switch,
    engine: &'a mut E,
    now: Instant,
}

impl<'a, E: Engine + ?Sized> Subject<'a, E> {
    pub fn new(setup: &Setup, engine: &'a mut E) -> Self {
        let mut switch = Switch::new(BEGINNING, config(setup));
        engine.begin(&mut switch, setup);
        Self {
            switch,
            engine,
            now: BEGINNING,
        }
    }

    pub fn engine(&mut self) -> &mut E {
        self.engine
    }

    /// Lets one thing happen, and returns what comes of it.
    pub fn take(&mut self, step: &Step) -> Happened {
        let mut happened = Happened::default();
        match step {
            Step::Connect(id) => {
                let connection = ConnectionId(*id);
                let peer = Peer::Controller;
                self.handle(Input::Connected { connection, peer }, &mut happened);
            }
            Step::Disconnect(id) => {
                self.handle(Input::Disconnected(ConnectionId(*id)), &mut happened);
            }
            Step::Message(id, bytes) => {
                let connection = ConnectionId(*id);
                self.handle(Input::Received { connection, bytes }, &mut happened);
            }
            Step::Frame(port, frame) => {
                let (switch, now) = (&mut self.switch, self.now);
                happened.sent = self.engine.receive(switch, now, *port, frame);
                self.drain(&mut happened);
            }
            Step::Link(port, up) => {
                let link = if *up == 1 { Link::Up } else { Link::Down };
                let port = PortNumber((*port).into());
                self.handle(Input::Port { port, link }, &mut happened);
            }
            Step::Wait(ns) => {
                let end = self.now + Duration::from_ns(*ns);
                self.run_until(end, &mut happened);
                self.now = end;
            }
        }
        self.run_until(self.now, &mut happened);
        // Signals go before everything that waits, whoever came first.
        let order = |leaving: &Leaving| (leaving.port, !leaving.is_signal());
        happened.sent.sort_by_key(order);
        happened.counters = self.switch.counters();
        happened
    }

    fn handle(&mut self, input: Input<'_>, happened: &mut Happened) {
        self.switch.handle(self.now, input);
        self.engine.heed(&mut self.switch);
        self.drain(happened);
    }

    fn run_until(&mut self, end: Instant, happened: &mut Happened) {
        while let Some(deadline) = self.switch.deadline()
            && deadline <= end
        {
            self.now = self.now.max(deadline);
            self.handle(Input::Timeout, happened);
        }
    }

    fn drain(&mut self, happened: &mut Happened) {
        while let Some(output) = self.switch.poll() {
            match output {
                Output::Transmit { port, bytes, .. } => {
                    happened.sent.push(Leaving::new(port.0, bytes.len(), bytes));
                }
                Output::Send { connection, bytes } => {
                    happened.told.push((connection.0, bytes.to_vec()));
                }
                Output::Close { connection, .. } => {
                    happened.told.push((connection.0, b"closed".to_vec()));
                }
                Output::Count => {}
            }
        }
    }
}

/// Returns how the switch of a case is made.
pub fn config(setup: &Setup) -> Config {
    // What queues of the world carried is for the world to tell: nothing, here.
    let pacing = match setup.seed % 8 {
        0 => Pacing::World,
        _ => Pacing::Core,
    };
    let ports = (1..=setup.ports).map(|number| PortConfig {
        number: PortNumber(number.into()),
        name: format!("port{number}"),
        mac: address(number),
        rate: None,
        pacing,
    });
    let fail_mode = match setup.standalone {
        0 => switch::FailMode::Secure,
        _ => switch::FailMode::Standalone,
    };
    let mut config = Config {
        tables: setup.tables,
        table_capacity: 200,
        mask_capacity: setup.masks,
        groups: 16,
        meters: 16,
        keep_alive: None,
        fail_mode,
        seed: setup.seed,
        ..Config::new(DatapathId(1), ports.collect())
    };
    config.buffers = config.buffers_that_suffice();
    config
}
