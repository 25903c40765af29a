//! Two controllers on one network: one decides, and the other one says that it does not.

use controller::mastery::Claim;
use controller::northbound::{Asker, Cause, Event, FlowSummary, PromiseState};
use controller::{Controller, Input, Output, Reply, Request, RequestId, StoreEvent};
use switch::Switch;
use units::{Duration, Instant};
use wire::openflow::{Framer, Message};

use crate::blueprint::Blueprint;

const FIRST: usize = 0;
const SECOND: usize = 1;

#[test]
fn the_second_of_two_controllers_writes_nothing_and_says_why() {
    let mut table = Table::of(claims(false));
    table.connect(FIRST);
    table.admit();
    let installed = table.flow_mods[FIRST];

    table.connect(SECOND);
    table.pass(Duration::from_secs(60));

    assert!(installed > 3, "services and a flow");
    assert_eq!(table.flow_mods, [installed, 0]);
    assert_eq!(table.lost_to_others(), [0, 1]);
    assert_eq!(table.flow(FIRST).promise.state, PromiseState::Holds);
}

#[test]
fn who_is_told_to_takes_over_once_and_the_other_one_gives_way() {
    let mut table = Table::of(claims(true));
    table.connect(FIRST);
    table.admit();
    table.connect(SECOND);
    table.pass(Duration::from_secs(10));
    let [first, second] = table.flow_mods;

    // It comes back again and again, and asks for nothing that it lost.
    for _ in 0..10 {
        table.connect(FIRST);
        table.pass(Duration::from_secs(10));
    }

    assert_eq!(table.lost_to_others(), [1, 0]);
    assert!(second > 0);
    assert_eq!(table.flow_mods, [first, second], "nobody fights");
    let promise = table.flow(FIRST).promise;
    assert_eq!(promise.state, PromiseState::Unknown);
    assert!(matches!(promise.cause, Some(Cause::OtherMaster { .. })));
}

#[test]
fn a_controller_that_is_restarted_gets_back_in() {
    let mut table = Table::of(claims(false));
    table.connect(FIRST);
    table.pass(Duration::from_secs(1));

    table.restart(FIRST, claims(false)[FIRST]);
    table.connect(FIRST);
    table.pass(Duration::from_secs(1));

    assert_eq!(table.lost_to_others(), [0, 0]);
    let connected = |event: &&Event| matches!(event, Event::SwitchConnected { .. });
    assert_eq!(table.events[FIRST].iter().filter(connected).count(), 2);
}

fn claims(second_takes_over: bool) -> [Claim; 2] {
    [(7, false), (9, second_takes_over)].map(|(instance, take_over)| Claim {
        instance,
        take_over,
        has_lost: false,
    })
}

/// A switch and two controllers that speak with it, without delay.
struct Table {
    now: Instant,
    blueprint: Blueprint,
    switch: Switch,
    controllers: [Controller; 2],
    /// By which connection each speaks with the switch.
    connections: [Option<u32>; 2],
    next_connection: u32,
    events: [Vec<Event>; 2],
    replies: [Vec<Reply>; 2],
    /// How many FlowMods each has sent.
    flow_mods: [usize; 2],
    framers: [Framer; 2],
}

impl Table {
    fn of(claims: [Claim; 2]) -> Self {
        let blueprint = Blueprint::one_switch();
        let part = blueprint.parts().switches.remove(0);
        let controllers = claims.map(|claim| start(&blueprint, Instant::ZERO, claim));
        let mut table = Self {
            now: Instant::ZERO,
            switch: Switch::new(Instant::ZERO, part.config),
            blueprint,
            controllers,
            connections: [None; 2],
            next_connection: 0,
            events: [const { Vec::new() }; 2],
            replies: [const { Vec::new() }; 2],
            flow_mods: [0; 2],
            framers: [Framer::new(), Framer::new()],
        };
        table.settle();
        table
    }

    fn restart(&mut self, which: usize, claim: Claim) {
        self.hang_up(which);
        self.controllers[which] = start(&self.blueprint, self.now, claim);
        self.settle();
    }

    fn connect(&mut self, which: usize) {
        self.hang_up(which);
        self.next_connection += 1;
        let connection = self.next_connection;
        self.connections[which] = Some(connection);
        self.framers[which] = Framer::new();
        self.switch.handle(
            self.now,
            switch::Input::Connected {
                connection: switch::ConnectionId(connection),
                peer: switch::Peer::Controller,
            },
        );
        let connected = Input::Connected(controller::ConnectionId(u64::from(connection)));
        self.controllers[which].handle(self.now, connected);
        self.settle();
    }

    fn hang_up(&mut self, which: usize) {
        let Some(connection) = self.connections[which].take() else {
            return;
        };
        let gone = switch::Input::Disconnected(switch::ConnectionId(connection));
        self.switch.handle(self.now, gone);
        let gone = Input::Disconnected(controller::ConnectionId(u64::from(connection)));
        self.controllers[which].handle(self.now, gone);
        self.settle();
    }

    fn admit(&mut self) {
        let requirement = self.blueprint.requirement(0);
        self.ask(FIRST, Request::Admit(vec![requirement]));
        self.pass(Duration::from_secs(1));
        assert_eq!(self.flow(FIRST).promise.state, PromiseState::Holds);
    }

    fn flow(&mut self, of: usize) -> FlowSummary {
        match self.ask(of, Request::Flows) {
            Reply::Flows(mut flows) => flows.remove(0),
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, which: usize, request: Request) -> Reply {
        let (id, by) = (RequestId(1), Asker::Operator);
        self.controllers[which].handle(self.now, Input::Request { id, by, request });
        self.settle();
        self.replies[which].pop().unwrap()
    }

    /// Returns how often each was told that another one is master.
    fn lost_to_others(&self) -> [usize; 2] {
        let lost = |event: &&Event| matches!(event, Event::OtherMaster { .. });
        [FIRST, SECOND].map(|which| self.events[which].iter().filter(lost).count())
    }

    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        loop {
            let controllers = self.controllers.iter().map(Controller::deadline);
            let next = controllers.chain(self.switch.deadline()).min();
            let Some(next) = next.filter(|next| *next <= end) else {
                break;
            };
            self.now = self.now.max(next);
            self.switch.handle(self.now, switch::Input::Timeout);
            for controller in &mut self.controllers {
                if controller.deadline() <= self.now {
                    controller.handle(self.now, Input::Timeout);
                }
            }
            self.settle();
        }
        self.now = end;
    }

    /// Carries what is said until nobody says anything.
    fn settle(&mut self) {
        while self.carry_from_switch() | self.carry_to_switch(FIRST) | self.carry_to_switch(SECOND)
        {
        }
    }

    fn carry_from_switch(&mut self) -> bool {
        let mut sent = Vec::new();
        let mut any = false;
        while let Some(output) = self.switch.poll() {
            any = true;
            match output {
                switch::Output::Transmit { departs, stay, .. } => self.switch.left(stay, departs),
                switch::Output::Send { connection, bytes } => {
                    sent.push((connection.0, bytes.to_vec()));
                }
                switch::Output::Close { connection, reason } => panic!("{connection:?} {reason:?}"),
                switch::Output::Count => {}
            }
        }
        for (connection, bytes) in sent {
            let mut known = self.connections.iter();
            let which = known.position(|it| *it == Some(connection)).unwrap();
            let connection = controller::ConnectionId(u64::from(connection));
            let received = Input::Received {
                connection,
                bytes: &bytes,
            };
            self.controllers[which].handle(self.now, received);
        }
        any
    }

    fn carry_to_switch(&mut self, which: usize) -> bool {
        let (mut sent, mut writes, mut any) = (Vec::new(), Vec::new(), false);
        while let Some(output) = self.controllers[which].poll() {
            any = true;
            match output {
                Output::Send { bytes, .. } => sent.push(bytes.to_vec()),
                Output::Store(write) => writes.push(write),
                Output::Notify(event) => self.events[which].push(event),
                Output::Reply { reply, .. } => self.replies[which].push(reply),
                Output::Close { reason, .. } => panic!("{reason:?}"),
            }
        }
        for write in writes {
            let kept = Input::Stored(StoreEvent::Written(write));
            self.controllers[which].handle(self.now, kept);
        }
        for bytes in sent {
            self.framers[which].push(&bytes);
            while let Some(message) = self.framers[which].next_message().unwrap() {
                let is_it = matches!(Message::parse(message).unwrap().1, Message::FlowMod(_));
                self.flow_mods[which] += usize::from(is_it);
            }
            let Some(connection) = self.connections[which] else {
                continue;
            };
            let received = switch::Input::Received {
                connection: switch::ConnectionId(connection),
                bytes: &bytes,
            };
            self.switch.handle(self.now, received);
        }
        any
    }
}

fn start(blueprint: &Blueprint, now: Instant, claim: Claim) -> Controller {
    let config = controller::Config {
        claim,
        ..blueprint.parts().controller.unwrap()
    };
    let mut controller = Controller::new(now, config);
    controller.handle(now, Input::Stored(StoreEvent::Replayed));
    controller
}
