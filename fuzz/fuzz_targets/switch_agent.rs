//! What happens to a switch: frames, several controllers, links, time.

#![no_main]

mod bundles;
mod changes;
mod script;

use libfuzzer_sys::fuzz_target;
use script::{Script, hello};
use switch::{Config, ConnectionId, Input, Link, Output, Peer, PortConfig, Switch};
use units::{BitRate, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

const PORTS: u8 = 3;

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    let mut script = Script(data);
    while world.step(&mut script).is_some() {}
    for connection in std::mem::take(&mut world.open) {
        world.handle(Input::Disconnected(connection));
    }
    assert!(world.open.is_empty());
});

struct World {
    switch: Switch,
    now: Instant,
    /// The connections that stand.
    open: Vec<ConnectionId>,
    opened: u32,
}

impl World {
    fn new() -> Self {
        let ports = (1..=PORTS).map(|number| PortConfig {
            number: PortNumber(u32::from(number)),
            name: format!("port{number}"),
            mac: MacAddress([2, 0, 0, 0, 1, number]),
            rate: (number > 1).then(|| BitRate::from_mbps(100)),
        });
        let mut config = Config::new(DatapathId(1), ports.collect());
        config.tables = 3;
        config.table_capacity = 64;
        config.buffers = 64;
        config.queue_capacity = 16;
        config.groups = 8;
        config.meters = 4;
        config.meter_bands = 2;
        Self {
            switch: Switch::new(Instant::ZERO, config),
            now: Instant::ZERO,
            open: Vec::new(),
            opened: 0,
        }
    }

    /// Lets happen what the script says next; `None` at its end.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let what = script.byte()?;
        let connection = self.open.get(usize::from(what >> 6)).copied();
        let port = PortNumber(u32::from((what >> 6) % PORTS) + 1);
        match (what % 8, connection) {
            (0, _) => {
                self.opened += 1;
                let connection = ConnectionId(self.opened);
                self.open.push(connection);
                let peer = match what >> 6 {
                    0 => Peer::Management,
                    _ => Peer::Controller,
                };
                self.handle(Input::Connected { connection, peer });
                self.receive(connection, &hello());
            }
            (1, Some(connection)) => {
                self.open.retain(|open| *open != connection);
                self.handle(Input::Disconnected(connection));
            }
            (2, Some(connection)) => self.receive(connection, script.bytes()?),
            (3, Some(connection)) => self.receive(connection, &script.message()?),
            (6, Some(connection)) => {
                let change = changes::change(script)?;
                self.receive(connection, &change);
            }
            (7, Some(connection)) => {
                let message = bundles::message(script)?;
                self.receive(connection, &message);
            }
            (4, _) => {
                let up = script.byte()? % 2 == 0;
                let link = if up { Link::Up } else { Link::Down };
                self.handle(Input::Port { port, link });
            }
            (5, _) => {
                self.now += Duration::from_us(1 << (script.byte()? % 24));
                self.handle(Input::Timeout);
            }
            _ => {
                let bytes = script.bytes()?;
                let arrived = self.now;
                self.handle(Input::Frame {
                    port,
                    bytes,
                    arrived,
                });
            }
        }
        Some(())
    }

    /// Hands on bytes of a connection, unless it was closed meanwhile.
    fn receive(&mut self, connection: ConnectionId, bytes: &[u8]) {
        if self.open.contains(&connection) {
            self.handle(Input::Received { connection, bytes });
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.switch.handle(self.now, input);
        while let Some(output) = self.switch.poll() {
            match output {
                Output::Transmit { port, .. } => {
                    assert!((1..=u32::from(PORTS)).contains(&port.0));
                }
                Output::Send { connection, bytes } => {
                    assert!(self.open.contains(&connection) && !bytes.is_empty());
                }
                Output::Close { connection, .. } => {
                    assert!(self.open.contains(&connection));
                    self.open.retain(|open| *open != connection);
                }
            }
        }
    }
}
