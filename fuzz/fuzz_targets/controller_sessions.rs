//! What happens to a controller: several switches, requests, time. Its writes
//! come back as from a store.

#![no_main]

mod script;

use std::collections::BTreeSet;

use controller::northbound::{ApplicationKind, Asker};
use controller::{Config, ConnectionId, Controller, Input, Output, Request, RequestId, StoreEvent};
use libfuzzer_sys::fuzz_target;
use script::{Script, hello};
use units::{Duration, Instant};
use wire::openflow::multipart::{MultipartReply, ReplyBody};
use wire::openflow::{
    Capabilities, DatapathId, FeaturesReply, PortDescription, PortName, PortNumber, Sequence,
    TransactionId,
};

fuzz_target!(|data: &[u8]| {
    let Some((&first, script)) = data.split_first() else {
        return;
    };
    let application = match first % 2 {
        0 => ApplicationKind::Deterministic,
        _ => ApplicationKind::ReactiveForwarding,
    };
    let mut world = World::new(application);
    let mut script = Script(script);
    while world.step(&mut script).is_some() {}
});

struct World {
    controller: Controller,
    now: Instant,
    /// The connections that stand.
    open: BTreeSet<ConnectionId>,
    opened: u64,
    asked: u64,
}

impl World {
    fn new(application: ApplicationKind) -> Self {
        Self {
            controller: Controller::new(Instant::ZERO, Config::without_promises(application)),
            now: Instant::ZERO,
            open: BTreeSet::new(),
            opened: 0,
            asked: 0,
        }
    }

    /// Lets happen what the script says next; `None` at its end.
    fn step(&mut self, script: &mut Script<'_>) -> Option<()> {
        let what = script.byte()?;
        let connection = self.open.iter().nth(usize::from(what >> 6)).copied();
        match (what % 8, connection) {
            (0, _) => {
                let connection = self.connect();
                self.receive(connection, &hello());
            }
            (1, Some(connection)) => {
                self.open.remove(&connection);
                self.handle(Input::Disconnected(connection));
            }
            (2, Some(connection)) => self.receive(connection, script.bytes()?),
            (3, Some(connection)) => self.receive(connection, &script.message()?),
            (4, _) => {
                self.now += Duration::from_us(1 << (script.byte()? % 24));
                self.handle(Input::Timeout);
            }
            (5, _) => {
                self.asked += 1;
                let request = match script.byte()? % 3 {
                    0 => Request::Flows,
                    1 => Request::Withdraw("none".to_owned()),
                    _ => Request::Topology,
                };
                let id = RequestId(self.asked);
                self.handle(Input::Request { id, by: Asker::Operator, request });
            }
            _ => {
                let connection = self.connect();
                let datapath = DatapathId(u64::from(script.byte()? % 4));
                self.receive(connection, &greeting_of(datapath));
            }
        }
        Some(())
    }

    fn connect(&mut self) -> ConnectionId {
        self.opened += 1;
        let connection = ConnectionId(self.opened);
        self.open.insert(connection);
        self.handle(Input::Connected(connection));
        connection
    }

    /// Hands on bytes of a connection, unless it was closed meanwhile.
    fn receive(&mut self, connection: ConnectionId, bytes: &[u8]) {
        if self.open.contains(&connection) {
            self.handle(Input::Received { connection, bytes });
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        self.controller.handle(self.now, input);
        let mut written = self.drain();
        while !written.is_empty() {
            for event in written {
                self.controller.handle(self.now, Input::Stored(event));
            }
            written = self.drain();
        }
    }

    fn drain(&mut self) -> Vec<StoreEvent> {
        let mut written = Vec::new();
        while let Some(output) = self.controller.poll() {
            match output {
                Output::Send { connection, bytes } => {
                    assert!(self.open.contains(&connection) && !bytes.is_empty());
                }
                Output::Close { connection, .. } => assert!(self.open.remove(&connection)),
                Output::Store(write) => written.push(StoreEvent::Written(write)),
                Output::Notify(_) => {}
                Output::Reply { id, .. } => assert!(id.0 <= self.asked),
            }
        }
        written
    }
}

/// Returns what a switch says until it is known, with three ports.
fn greeting_of(datapath: DatapathId) -> Vec<u8> {
    let mut bytes = hello();
    let features = FeaturesReply {
        datapath,
        buffers: 0,
        tables: 1,
        auxiliary: 0,
        capabilities: Capabilities::NONE,
    };
    features.emit(TransactionId(0), &mut bytes);
    let ports = [1, 2, 3].map(|number| {
        let mac = wire::ethernet::MacAddress([2, 0, 0, 0, 0, 1]);
        PortDescription::new(PortNumber(number), mac, PortName::new("p"))
    });
    let body = ReplyBody::PortDescription(Sequence::of(&ports));
    MultipartReply::new(body).emit(TransactionId(0), &mut bytes);
    bytes
}
