//! Several instances, a store and a network: carries what they say to each other, later or
//! never, and watches at every step who acts as the master of each switch.

use std::collections::BTreeMap;

use controller::cluster::{Input as ToInstance, LEASE, Output as OfInstance};
use controller::northbound::{Asker, Event};
use controller::store::Key;
use controller::{ConnectionId, Controller, Input, Output, Reply, Request, RequestId};
use sim::World;
use sim::faulty_store::FaultyStore;
use sim::parts::{Fault, FaultAt, Parts};
use sim::servers::random::Random;
use sim::world::{Line, LineEvent};
use units::{Duration, Instant};
use wire::openflow::multipart::RequestBody;
use wire::openflow::taktos::Question;
use wire::openflow::{Framer, Message, Role};

use super::staff::{Kept, Staff, Work};

/// How long a switch waits before it dials again.
const REDIAL: Duration = Duration::from_ms(10);
const SHORTEST: Duration = Duration::from_us(50);
const LONGEST_TO_STORE: Duration = Duration::from_ms(3);
const LONGEST: Duration = Duration::from_ms(1);
/// How often leases are looked at.
const LEASES: Duration = Duration::from_ms(100);

/// Something that arrives.
enum Delivery {
    ToSwitch(Line, Vec<u8>),
    ToController(usize, u64, ConnectionId, Vec<u8>),
    HungUp(usize, u64, ConnectionId),
    Datagram(usize, Vec<u8>),
    Refused(usize, u64, std::net::SocketAddr),
    AtStore(usize, u64),
    FromStore(usize, u64, Vec<Kept>),
    Dial(usize, usize, u64),
    Leases,
}

/// What a switch has said of the role of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Equal,
    Slave,
    Master,
}

pub struct Stage {
    pub world: World,
    pub store: FaultyStore,
    pub staff: Vec<Option<Staff>>,
    /// How often each place was taken.
    lives: Vec<u64>,
    config: controller::Config,
    pub switches: usize,
    pub random: Random,
    deliveries: BTreeMap<(Instant, u64), Delivery>,
    sequence: u64,
    /// When the last of each stream arrives: streams keep their order.
    last: BTreeMap<(Line, bool), Instant>,
    /// Until when two instances do not hear each other, the lower one first.
    pub deaf: BTreeMap<(usize, usize), Instant>,
    /// Until when nothing comes through between an instance and a switch.
    pub apart: BTreeMap<(usize, usize), Instant>,
    owners: BTreeMap<Line, (usize, u64, ConnectionId)>,
    standing: BTreeMap<Line, Standing>,
    framers: BTreeMap<Line, Framer>,
    pub replies: BTreeMap<RequestId, Reply>,
    asked: u64,
    pub events: Vec<(usize, Event)>,
    /// How often an instance began to lead, and how many changes a switch has refused.
    pub changes_of_office: usize,
    pub refused: usize,
    pub writes_of_masters: usize,
    pub flow_mods: usize,
    /// How often switches were asked what their entries add up to, and for the entries.
    pub asked_for_sums: usize,
    pub asked_for_entries: usize,
}

impl Stage {
    pub fn new(parts: Parts, instances: usize, seed: u64) -> Self {
        let config = parts.controller.clone().unwrap();
        let switches = parts.switches.len();
        let mut world = World::new(Parts {
            controller: None,
            ..parts
        });
        // Nobody is at the connection that every world has.
        for switch in 0..switches {
            let fault = Fault::Isolate { switch };
            let at = Instant::ZERO;
            world.plan(&[FaultAt { at, fault }]);
        }
        world.run_until(Instant::ZERO);
        let mut stage = Self {
            world,
            store: FaultyStore::default(),
            staff: (0..instances).map(|_| None).collect(),
            lives: vec![0; instances],
            config,
            switches,
            random: Random::new(seed),
            deliveries: BTreeMap::new(),
            sequence: 0,
            last: BTreeMap::new(),
            deaf: BTreeMap::new(),
            apart: BTreeMap::new(),
            owners: BTreeMap::new(),
            standing: BTreeMap::new(),
            framers: BTreeMap::new(),
            replies: BTreeMap::new(),
            asked: 0,
            events: Vec::new(),
            changes_of_office: 0,
            refused: 0,
            writes_of_masters: 0,
            flow_mods: 0,
            asked_for_sums: 0,
            asked_for_entries: 0,
        };
        for place in 0..instances {
            stage.start(place);
        }
        stage.deliver_at(Instant::ZERO + LEASES, Delivery::Leases);
        stage
    }

    pub fn now(&self) -> Instant {
        self.world.now()
    }

    /// Starts an instance at a place where none runs.
    pub fn start(&mut self, place: usize) {
        self.lives[place] += 1;
        let random = self.random.below(u64::MAX);
        let store = self.store.another_way();
        let staff = Staff::start(self.now(), place, random, self.config.clone(), store);
        self.staff[place] = Some(staff);
        for switch in 0..self.switches {
            self.dial(place, switch);
        }
        self.look_after(place);
    }

    /// Ends an instance as SIGKILL does. What it had asked of the store may still be done.
    pub fn crash(&mut self, place: usize) {
        if let Some(staff) = self.staff[place].take() {
            for line in staff.lines.into_values() {
                self.lose(line);
            }
        }
    }

    pub fn restart_switch(&mut self, switch: usize) {
        for fault in [Fault::Crash { switch }, Fault::Restart { switch }] {
            let at = self.now();
            self.world.plan(&[FaultAt { at, fault }]);
            self.world.run_until(at);
        }
        // The connection that every world has comes back with it.
        let fault = Fault::Isolate { switch };
        self.fault(fault);
    }

    pub fn fault(&mut self, fault: Fault) {
        let at = self.now();
        self.world.plan(&[FaultAt { at, fault }]);
        self.world.run_until(at);
    }

    /// Returns who believes that it leads, of those that run.
    pub fn leaders(&self) -> Vec<usize> {
        let leads = |place: &usize| {
            self.staff[*place]
                .as_ref()
                .is_some_and(|it| it.leads.is_some())
        };
        (0..self.staff.len()).filter(leads).collect()
    }

    /// Asks the instance at a place, whatever it believes.
    pub fn ask(&mut self, place: usize, request: Request) -> RequestId {
        let id = RequestId(self.asked);
        self.asked += 1;
        let now = self.now();
        if let Some(staff) = &mut self.staff[place]
            && !staff.is_stopped(now)
        {
            let by = Asker::Operator;
            staff
                .controller
                .handle(now, Input::Request { id, by, request });
            self.look_after(place);
        }
        id
    }

    pub fn run_for(&mut self, time: Duration) {
        let end = self.now() + time;
        loop {
            let next = self.next().min(end);
            let events = self.world.run_until_line(next);
            let is_idle = events.is_empty();
            events.into_iter().for_each(|event| self.at_line(event));
            if !is_idle {
                continue;
            }
            self.deliver_due();
            self.wake_due();
            if self.now() >= end && self.next() > end {
                return;
            }
        }
    }

    fn next(&self) -> Instant {
        let delivery = self.deliveries.first_key_value().map(|((at, _), _)| *at);
        let staff = self.staff.iter().flatten();
        let deadlines = staff.map(|it| {
            let deadline = it.controller.deadline().min(it.instance.deadline());
            deadline.max(it.paused_until)
        });
        let first = deadlines.chain(delivery).min();
        first.map_or(self.now(), |at| at.max(self.now()))
    }

    fn deliver_at(&mut self, at: Instant, delivery: Delivery) {
        self.sequence += 1;
        self.deliveries.insert((at, self.sequence), delivery);
    }

    fn delay(&mut self, longest: Duration) -> Duration {
        SHORTEST + self.random.time_below(longest)
    }

    /// Sends something over a stream, behind what was sent before.
    fn stream(&mut self, line: Line, to_switch: bool, delivery: Delivery) {
        let delay = self.delay(LONGEST);
        let at = self.now() + delay;
        let last = self.last.entry((line, to_switch)).or_insert(at);
        *last = at.max(*last);
        let at = *last;
        self.deliver_at(at, delivery);
    }

    fn deliver_due(&mut self) {
        let now = self.now();
        while let Some(first) = self.deliveries.first_entry() {
            let (at, sequence) = *first.key();
            if at > now {
                return;
            }
            let delivery = first.remove();
            if let Some(later) = self.held_up(&delivery) {
                self.deliveries.insert((later, sequence), delivery);
            } else {
                self.deliver(delivery);
            }
        }
    }

    /// Returns when something arrives that cannot now.
    fn held_up(&self, delivery: &Delivery) -> Option<Instant> {
        let now = self.now();
        let apart = |place: usize, switch: usize| {
            let until = self.apart.get(&(place, switch)).copied();
            until.filter(|until| now < *until)
        };
        match delivery {
            Delivery::ToSwitch(line, _) => {
                let (place, ..) = self.owners.get(line)?;
                apart(*place, line.switch)
            }
            Delivery::ToController(place, _, connection, _)
            | Delivery::HungUp(place, _, connection) => {
                let staff = self.staff[*place].as_ref()?;
                if staff.is_stopped(now) {
                    return Some(staff.paused_until);
                }
                let line = staff.lines.get(connection)?;
                apart(*place, line.switch)
            }
            Delivery::Datagram(place, _)
            | Delivery::Refused(place, ..)
            | Delivery::FromStore(place, ..)
            | Delivery::Dial(place, ..) => {
                let staff = self.staff[*place].as_ref()?;
                staff.is_stopped(now).then_some(staff.paused_until)
            }
            Delivery::AtStore(..) | Delivery::Leases => None,
        }
    }

    fn is_life(&self, place: usize, life: u64) -> bool {
        self.lives[place] == life && self.staff[place].is_some()
    }

    fn deliver(&mut self, delivery: Delivery) {
        let now = self.now();
        match delivery {
            Delivery::ToSwitch(line, bytes) => {
                self.watch_what_reaches(line, &bytes);
                self.world.speak(line, &bytes);
            }
            Delivery::ToController(place, life, connection, bytes) if self.is_life(place, life) => {
                let bytes = &bytes[..];
                self.tell_controller(place, Input::Received { connection, bytes });
            }
            Delivery::HungUp(place, life, connection) if self.is_life(place, life) => {
                let staff = self.staff[place].as_mut().unwrap();
                if let Some(line) = staff.lines.remove(&connection) {
                    self.tell_controller(place, Input::Disconnected(connection));
                    self.dial(place, line.switch);
                }
            }
            Delivery::Datagram(place, bytes) => {
                if let Some(staff) = &mut self.staff[place] {
                    staff.tell(now, ToInstance::Received(&bytes));
                    self.look_after(place);
                }
            }
            Delivery::Refused(place, life, address) if self.is_life(place, life) => {
                let staff = self.staff[place].as_mut().unwrap();
                staff.tell(now, ToInstance::Refused(address));
                self.look_after(place);
            }
            Delivery::AtStore(place, life) if self.is_life(place, life) => {
                let delay = self.delay(LONGEST_TO_STORE);
                let staff = self.staff[place].as_mut().unwrap();
                staff.store.cut(now < staff.cut_until);
                let back = staff.work(now);
                self.deliver_at(now + delay, Delivery::FromStore(place, life, back));
            }
            Delivery::FromStore(place, life, back) if self.is_life(place, life) => {
                self.staff[place].as_mut().unwrap().is_at_store = false;
                back.into_iter().for_each(|kept| self.kept(place, kept));
                self.look_after(place);
            }
            Delivery::Dial(place, switch, life) if self.is_life(place, life) => {
                self.connect(place, switch);
            }
            Delivery::Leases => {
                self.end_leases();
                self.deliver_at(now + LEASES, Delivery::Leases);
            }
            _ => {}
        }
    }

    fn end_leases(&mut self) {
        let now = self.now();
        for record in self.store.truth().records {
            if let Key::Instance(number) = record.key {
                let mut staff = self.staff.iter().flatten();
                let owner = staff.find(|it| it.id.number() == number);
                // One that nobody renews any more ends at once here, and may.
                if owner.is_none_or(|it| now >= it.renewed_at + LEASE) {
                    self.store.expire(record.key);
                }
            }
        }
    }

    fn wake_due(&mut self) {
        let now = self.now();
        for place in 0..self.staff.len() {
            let Some(staff) = &mut self.staff[place] else {
                continue;
            };
            if staff.is_stopped(now) {
                continue;
            }
            if staff.instance.deadline() <= now {
                staff.tell(now, ToInstance::Timeout);
            }
            if staff.controller.deadline() <= now {
                staff.controller.handle(now, Input::Timeout);
            }
            self.look_after(place);
        }
    }

    fn tell_controller(&mut self, place: usize, input: Input<'_>) {
        let now = self.now();
        if let Some(staff) = &mut self.staff[place] {
            staff.controller.handle(now, input);
        }
        self.look_after(place);
    }

    fn kept(&mut self, place: usize, kept: Kept) {
        let now = self.now();
        let staff = self.staff[place].as_mut().unwrap();
        match kept {
            Kept::Event(event) if staff.leads.is_some() => {
                staff.controller.handle(now, Input::Stored(event));
            }
            Kept::Event(_) => {}
            Kept::Done(done) => staff.tell(now, ToInstance::Done(done)),
            Kept::Replaced(by) => staff.tell(now, ToInstance::Replaced(by)),
            Kept::Leads(epoch, is_new) => {
                if is_new {
                    assert_eq!(staff.leads, None, "it stood down before it claimed");
                    self.changes_of_office += 1;
                } else if staff.leads.is_none() {
                    return;
                }
                staff.leads = Some(epoch);
                staff.controller.handle(now, Input::Lead(epoch));
            }
        }
        self.look_after(place);
    }

    /// Does what the cores of an instance ask for.
    fn look_after(&mut self, place: usize) {
        let now = self.now();
        let life = self.lives[place];
        let Some(staff) = &mut self.staff[place] else {
            return;
        };
        if staff.later != staff.controller.later_term() {
            staff.later = staff.controller.later_term();
            staff.later.into_iter().for_each(|term| {
                staff.instance.handle(now, ToInstance::Later(term));
            });
        }
        let (mut said, mut datagrams, mut closed) = (Vec::new(), Vec::new(), Vec::new());
        let mut stands_down = false;
        while let Some(output) = staff.instance.poll() {
            match output {
                OfInstance::Send { to, bytes } => datagrams.push((to, bytes)),
                OfInstance::Task(task) => staff.work.push_back(Work::Task(task)),
                OfInstance::StandDown(epoch) => {
                    let leads = staff.leads.is_some_and(|it| it.holder == epoch.holder);
                    stands_down |= leads;
                }
            }
        }
        if stands_down {
            staff.leads = None;
            staff.later = None;
            staff.controller = Controller::stand_by(now, staff.config.clone());
            closed.extend(std::mem::take(&mut staff.lines).into_values());
        }
        while let Some(output) = staff.controller.poll() {
            match output {
                Output::Send { connection, bytes } => said.push((connection, bytes.to_vec())),
                Output::Close { connection, .. } => closed.extend(staff.lines.remove(&connection)),
                Output::Store(write) => staff.work.push_back(Work::Write(write)),
                Output::Notify(event) => self.events.push((place, event)),
                Output::Reply { id, reply } => {
                    self.replies.insert(id, reply);
                }
            }
        }
        let is_to_begin = !staff.is_at_store && !staff.work.is_empty();
        staff.is_at_store |= is_to_begin;
        let lines = staff.lines.clone();
        if is_to_begin {
            let delay = self.delay(LONGEST_TO_STORE);
            self.deliver_at(now + delay, Delivery::AtStore(place, life));
        }
        for (connection, bytes) in said {
            if let Some(line) = lines.get(&connection) {
                self.stream(*line, true, Delivery::ToSwitch(*line, bytes));
            }
        }
        for line in closed {
            self.lose(line);
            self.dial(place, line.switch);
        }
        self.send_datagrams(place, datagrams);
    }

    fn send_datagrams(&mut self, place: usize, datagrams: Vec<(std::net::SocketAddr, Vec<u8>)>) {
        let now = self.now();
        for (to, bytes) in datagrams {
            let delay = self.delay(LONGEST);
            let other = usize::from(to.port());
            let deaf_until = self.deaf.get(&(place.min(other), place.max(other)));
            if deaf_until.is_some_and(|until| now < *until) {
                continue;
            }
            let life = self.lives[place];
            let delivery = match self.staff[other] {
                Some(_) => Delivery::Datagram(other, bytes),
                None => Delivery::Refused(place, life, to),
            };
            self.deliver_at(now + delay, delivery);
        }
    }

    fn dial(&mut self, place: usize, switch: usize) {
        let (at, life) = (self.now() + REDIAL, self.lives[place]);
        self.deliver_at(at, Delivery::Dial(place, switch, life));
    }

    fn connect(&mut self, place: usize, switch: usize) {
        let life = self.lives[place];
        let until = self.apart.get(&(place, switch));
        let is_apart = until.is_some_and(|until| self.now() < *until);
        let line = match is_apart {
            true => None,
            false => self.world.open_line(switch),
        };
        let Some(line) = line else {
            return self.dial(place, switch);
        };
        let staff = self.staff[place].as_mut().unwrap();
        staff.next_connection += 1;
        let connection = ConnectionId(staff.next_connection);
        staff.lines.insert(connection, line);
        self.owners.insert(line, (place, life, connection));
        self.standing.insert(line, Standing::Equal);
        self.tell_controller(place, Input::Connected(connection));
    }

    /// Ends a connection at the end of the instance.
    fn lose(&mut self, line: Line) {
        self.world.hang_up(line);
        self.forget(line);
    }

    fn forget(&mut self, line: Line) {
        self.owners.remove(&line);
        self.standing.remove(&line);
        self.framers.remove(&line);
    }

    fn at_line(&mut self, event: LineEvent) {
        match event {
            LineEvent::Said(line, bytes) => {
                self.watch_what_is_said(line, &bytes);
                if let Some((place, life, connection)) = self.owners.get(&line).copied() {
                    let delivery = Delivery::ToController(place, life, connection, bytes);
                    self.stream(line, false, delivery);
                }
            }
            LineEvent::Closed(line) => {
                if let Some((place, life, connection)) = self.owners.get(&line).copied() {
                    self.forget(line);
                    self.stream(line, false, Delivery::HungUp(place, life, connection));
                }
            }
        }
    }

    /// Takes down which roles a switch gives.
    fn watch_what_is_said(&mut self, line: Line, bytes: &[u8]) {
        let mut rest = bytes;
        while let Ok((header, message)) = Message::parse(rest) {
            if let Message::RoleReply(said) = message {
                self.take_role(line, said.role);
            }
            if let Message::Error(error) = message {
                let is_slave = wire::openflow::BadRequest::IsSlave;
                let refused = wire::openflow::ErrorKind::BadRequest(is_slave);
                self.refused += usize::from(error.kind == refused);
            }
            rest = &rest[usize::from(header.length).min(rest.len())..];
        }
    }

    fn take_role(&mut self, line: Line, role: Role) {
        let standing = match role {
            Role::Master => Standing::Master,
            Role::Slave => Standing::Slave,
            Role::Equal | Role::NoChange => Standing::Equal,
        };
        if standing == Standing::Master {
            for (other, known) in &mut self.standing {
                if other.switch == line.switch && *known == Standing::Master {
                    *known = Standing::Slave;
                }
            }
        }
        self.standing.insert(line, standing);
    }

    /// Sees that nobody changes anything at a switch that has not made him its master, or
    /// another one after him.
    fn watch_what_reaches(&mut self, line: Line, bytes: &[u8]) {
        let framer = self.framers.entry(line).or_default();
        framer.push(bytes);
        let mut changes = 0;
        while let Ok(Some(message)) = framer.next_message() {
            let Ok((_, message)) = Message::parse(message) else {
                continue;
            };
            if let Message::MultipartRequest(request) = &message {
                match &request.body {
                    RequestBody::Experimenter(asked)
                        if Question::of(asked) == Some(Question::Digests) =>
                    {
                        self.asked_for_sums += 1;
                    }
                    RequestBody::Flow(_) => self.asked_for_entries += 1,
                    _ => {}
                }
            }
            self.flow_mods += usize::from(matches!(message, Message::FlowMod(_)));
            let is_change = matches!(
                message,
                Message::FlowMod(_)
                    | Message::GroupMod(_)
                    | Message::MeterMod(_)
                    | Message::PortMod(_)
                    | Message::TableMod(_)
                    | Message::PacketOut(_)
            );
            changes += usize::from(is_change);
        }
        if changes > 0
            && let Some(standing) = self.standing.get(&line)
        {
            assert_ne!(
                *standing,
                Standing::Equal,
                "{line:?} acts and was made no master"
            );
            let is_master = *standing == Standing::Master;
            self.writes_of_masters += if is_master { changes } else { 0 };
        }
    }
}
