//! What happens to a switch: frames, several controllers of both versions, links,
//! time. Its tables are small, so that they are full soon and a run is short.

#![no_main]

mod bundles;
mod changes;
mod modes;
mod requests;
mod script;

use libfuzzer_sys::fuzz_target;
use script::{Script, hello};
use switch::{
    Config, ConnectionId, FailMode, Input, Link, MacTableConfig, Output, Pacing,
    PacketBuffersConfig, Peer, PortConfig, QUEUES, QueueTally, Switch,
};
use units::{BitRate, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};

const PORTS: u8 = 3;
/// The greeting of a controller of version 1.0.
const OLD_HELLO: [u8; 8] = [1, 0, 0, 8, 0, 0, 0, 1];
/// How often a switch may be called before everything that was asked of it at
/// once is done.
const CALLS_MAX: usize = 100_000;

fuzz_target!(|data: &[u8]| {
    let mut world = World::new();
    let mut script = Script(data);
    while world.step(&mut script).is_some() {}
    world.end();
});

/// A connection that stands.
#[derive(Clone, Copy)]
struct Line {
    id: ConnectionId,
    version: u8,
}

struct World {
    switch: Switch,
    now: Instant,
    open: Vec<Line>,
    opened: u32,
    free_buffers: usize,
}

impl World {
    fn new() -> Self {
        let ports = (1..=PORTS).map(|number| PortConfig {
            number: match number {
                PORTS => PortNumber::LOCAL,
                number => PortNumber(u32::from(number)),
            },
            name: format!("port{number}"),
            mac: MacAddress([2, 0, 0, 0, 1, number]),
            rate: (number == 2).then(|| BitRate::from_mbps(100)),
            pacing: match number {
                1 => Pacing::World,
                _ => Pacing::Core,
            },
        });
        let hold = Duration::from_ms(1);
        let mut config = Config::new(DatapathId(1), ports.collect());
        config.fail_mode = FailMode::Standalone;
        config.tables = 2;
        config.table_capacity = 32;
        config.mask_capacity = 8;
        config.buffers = 12;
        config.queue_capacity = 4;
        config.groups = 8;
        config.meters = 4;
        config.meter_bands = 2;
        config.packet_buffers = PacketBuffersConfig { frames: 3, hold };
        config.mac_table = MacTableConfig {
            capacity: 8,
            age_max: Duration::from_secs(2),
        };
        let switch = Switch::new(Instant::ZERO, config);
        Self {
            free_buffers: switch.free_buffers(),
            switch,
            now: Instant::ZERO,
            open: Vec::new(),
            opened: 0,
        }
    }

    /// Lets happen what the script says next; `None` at its end.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let what = script.byte()?;
        let line = self.open.get(usize::from(what >> 6)).copied();
        let port = match (what >> 6) % PORTS {
            2 => PortNumber::LOCAL,
            n => PortNumber(u32::from(n) + 1),
        };
        match (what % 16, line) {
            (0, _) => self.connect(what >> 4),
            (1, Some(line)) => {
                self.open.retain(|open| open.id != line.id);
                self.handle(Input::Disconnected(line.id));
            }
            (2, Some(line)) => self.receive(line.id, script.bytes()?),
            (3, Some(line)) => {
                let mut message = script.message()?;
                message[0] = line.version;
                self.receive(line.id, &message);
            }
            (4, Some(line)) => self.handle(Input::Congested(line.id)),
            (5, Some(line)) => self.handle(Input::Relieved(line.id)),
            (6 | 7, Some(line)) => {
                let change = changes::change(script)?;
                self.receive(line.id, &change);
            }
            (8..11, Some(line)) => {
                let request = requests::request(script)?;
                self.receive(line.id, &request);
            }
            (11, Some(line)) => {
                let message = bundles::message(script)?;
                self.receive(line.id, &message);
            }
            (12, _) => {
                let told = script.byte()?;
                let link = if told % 2 == 0 { Link::Up } else { Link::Down };
                self.handle(Input::Port { port, link });
                let tally = QueueTally {
                    sent_frames: u64::from(told),
                    sent_bytes: u64::from(told) * 60,
                    dropped_frames: u64::from(told / 2),
                };
                let tallies = &[tally; QUEUES];
                self.handle(Input::Queues { port, tallies });
            }
            (13, _) => {
                self.now += Duration::from_us(1 << (script.byte()? % 24));
                self.work();
            }
            (14, Some(line)) => {
                let message = modes::message(script)?;
                self.receive(line.id, &message);
            }
            (14, None) => self.frame(port, &modes::signal(script)?),
            _ => self.frame(port, script.bytes()?),
        }
        Some(())
    }

    fn frame(&mut self, port: PortNumber, bytes: &[u8]) {
        let arrived = self.now;
        self.handle(Input::Frame {
            port,
            bytes,
            arrived,
        });
    }

    fn connect(&mut self, how: u8) {
        self.opened += 1;
        let connection = ConnectionId(self.opened);
        let (peer, version) = match how {
            0 | 1 => (Peer::Management, 4),
            2..6 => (Peer::Controller, 1),
            _ => (Peer::Controller, 4),
        };
        self.open.push(Line {
            id: connection,
            version,
        });
        self.handle(Input::Connected { connection, peer });
        match version {
            4 => self.receive(connection, &hello()),
            _ => self.receive(connection, &OLD_HELLO),
        }
    }

    /// Does everything that is due.
    fn work(&mut self) {
        for _ in 0..CALLS_MAX {
            if self.switch.deadline().is_none_or(|due| due > self.now) {
                return;
            }
            self.handle(Input::Timeout);
        }
        panic!("the switch is never done");
    }

    /// Parts with everybody, and sees that every buffer comes back.
    fn end(&mut self) {
        for line in std::mem::take(&mut self.open) {
            self.handle(Input::Disconnected(line.id));
        }
        while self.switch.waiting() > 0 {
            let due = self.switch.deadline();
            self.now = self.now.max(due.expect("what waits begins some time"));
            self.handle(Input::Timeout);
        }
        assert_eq!(self.switch.free_buffers(), self.free_buffers);
    }

    /// Hands on bytes of a connection, unless it was closed meanwhile.
    fn receive(&mut self, connection: ConnectionId, bytes: &[u8]) {
        if self.open.iter().any(|line| line.id == connection) {
            self.handle(Input::Received { connection, bytes });
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.switch.handle(self.now, input);
        while let Some(output) = self.switch.poll() {
            match output {
                Output::Transmit { port, .. } => {
                    assert!(port == PortNumber::LOCAL || (1..u32::from(PORTS)).contains(&port.0));
                }
                Output::Send { connection, bytes } => {
                    assert!(self.open.iter().any(|line| line.id == connection));
                    assert!(!bytes.is_empty());
                }
                Output::Close { connection, .. } => {
                    assert!(self.open.iter().any(|line| line.id == connection));
                    self.open.retain(|line| line.id != connection);
                }
                Output::Count => {}
            }
        }
    }
}
