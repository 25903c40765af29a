//! Builds a network from a blueprint, lets its flows be admitted, and runs it.

use controller::northbound::{
    Accepted, Decision, Event, FlowId, FlowSummary, Intent, IntentDecision, IntentState, Reply,
    Request, Requirement, Route, Said, Saying, TopologyCount,
};
use measure::capture::Captures;
use measure::identity::{Catalogue, FlowKey, Numbering};
use measure::load::{HostLoad, Load, QueuedSource};
use measure::recorder::{FlowRecord, Settings};
use measure::traffic::{Addresses, Goose, SampledValues, Source, Udp, goose, sampled_values, udp};
use measure::{Contract, FlowPlan, Promise, ReceiverIndex, Recorder};
use sim::parts::{Fault, FaultAt};
use sim::world::Counts;
use sim::{Engine, World};
use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;
use wire::openflow::taktos::NodeReport;

use crate::blueprint::{
    BEST_EFFORT, Blueprint, Claimed, INTERRUPTION, Kind, Wish, group, host_ip, host_mac, udp_port,
};

/// How long anything may take that is no part of a test's claim.
const PATIENCE: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_ms(5);
/// How long the last frames may travel.
const DRAIN: Duration = Duration::from_ms(50);

/// What a run has shown.
pub struct Outcome {
    pub start: Instant,
    /// The flows that were admitted.
    pub flows: Vec<Flow>,
    /// What became of what intruders sent.
    pub intruders: Vec<FlowRecord>,
    /// What the controller said since traffic began.
    pub notices: Vec<(Instant, Event)>,
    /// What it answered to what it was asked meanwhile.
    pub answers: Vec<(Instant, Reply)>,
    /// The list of flows at the end.
    pub summaries: Vec<FlowSummary>,
    pub counts: Counts,
    /// The stations that each switch heard of at the end, by PRP.
    pub nodes: Vec<Vec<NodeReport>>,
}

pub struct Flow {
    pub wish: Wish,
    pub accepted: Accepted,
    pub record: FlowRecord,
}

impl Outcome {
    /// Returns whether the controller said something of this kind.
    pub fn heard(&self, is_it: impl Fn(&Event) -> bool) -> bool {
        self.notices.iter().any(|(_, event)| is_it(event))
    }
}

/// Runs the network for `duration`, with faults at times after traffic begins.
pub fn run(blueprint: &Blueprint, faults: &[(Duration, Fault)], duration: Duration) -> Outcome {
    run_by(Engine::Tables, blueprint, faults, duration)
}

/// Does the same with frames that are looked up by an engine.
pub fn run_by(
    engine: Engine,
    blueprint: &Blueprint,
    faults: &[(Duration, Fault)],
    duration: Duration,
) -> Outcome {
    let mut world = World::with_engine(blueprint.parts(), engine);
    discover(blueprint, &mut world);
    let admitted = admit(blueprint, &mut world);
    observe(blueprint, world, admitted, (faults, &[]), duration)
}

/// Does the same while things are asked for at times after traffic begins.
pub fn run_asking(
    blueprint: &Blueprint,
    faults: &[(Duration, Fault)],
    asked: &[(Duration, Request)],
    duration: Duration,
) -> Outcome {
    let mut world = World::new(blueprint.parts());
    discover(blueprint, &mut world);
    let admitted = admit(blueprint, &mut world);
    observe(blueprint, world, admitted, (faults, asked), duration)
}

/// Does the same with intents in place of flows: nothing is promised to the traffic
/// that is wished for, and only what intents connect arrives.
pub fn run_intents(
    blueprint: &Blueprint,
    intents: Vec<Intent>,
    faults: &[(Duration, Fault)],
    duration: Duration,
) -> Outcome {
    let mut world = World::new(blueprint.parts());
    discover(blueprint, &mut world);
    program(intents, &mut world);
    let wishes = 0..blueprint.wishes.len();
    let unpromised = wishes.map(|flow| (flow, without_promise(flow)));
    let faults = (faults, &[][..]);
    observe(blueprint, world, unpromised.collect(), faults, duration)
}

/// What goes wrong and what is asked for, at times after traffic begins.
type Happenings<'a> = (&'a [(Duration, Fault)], &'a [(Duration, Request)]);

/// Sends the traffic and lets things happen.
fn observe(
    blueprint: &Blueprint,
    mut world: World,
    admitted: Vec<(usize, Accepted)>,
    (faults, asked): Happenings<'_>,
    duration: Duration,
) -> Outcome {
    let start = world.now() + Duration::from_ms(10);
    world.said();
    world.begin(load(blueprint, &admitted, start, start + duration));
    let faults: Vec<_> = faults
        .iter()
        .map(|&(after, fault)| FaultAt {
            at: start + after,
            fault,
        })
        .collect();
    world.plan(&faults);
    for (after, request) in asked {
        world.run_until(start + *after);
        world.request(request.clone());
    }
    world.run_until(start + duration + DRAIN);
    let (mut notices, mut answers) = (Vec::new(), Vec::new());
    for Said { at, what } in world.said() {
        match what {
            Saying::Notice(event) => notices.push((at, event)),
            Saying::Reply(_, reply) => answers.push((at, reply)),
        }
    }
    let Reply::Flows(summaries) = ask(&mut world, Request::Flows) else {
        panic!("a list of flows was asked for");
    };
    let counts = world.counts();
    let switches = 0..blueprint.parts().switches.len();
    let nodes = switches.map(|switch| world.nodes(switch)).collect();
    let mut records = world.finish().flows;
    let intruders = records.split_off(admitted.len());
    let flows = admitted.into_iter().zip(records);
    Outcome {
        start,
        intruders,
        flows: flows
            .map(|((flow, accepted), record)| Flow {
                wish: blueprint.wishes[flow].clone(),
                accepted,
                record,
            })
            .collect(),
        notices,
        answers,
        summaries,
        counts,
        nodes,
    }
}

pub fn discover(blueprint: &Blueprint, world: &mut World) {
    let expected = TopologyCount {
        switches: blueprint.parts().switches.len(),
        links: blueprint.links.len(),
        hosts: blueprint.hosts.len(),
        flows: 0,
    };
    let end = world.now() + PATIENCE;
    while ask(world, Request::Topology) != Reply::Topology(expected) {
        assert!(world.now() < end, "the network was not discovered");
        world.run_until(world.now() + STEP);
    }
}

/// Returns the flows that were admitted and are installed.
pub fn admit(blueprint: &Blueprint, world: &mut World) -> Vec<(usize, Accepted)> {
    let wishes = 0..blueprint.wishes.len();
    admit_all(
        wishes.map(|flow| blueprint.requirement(flow)).collect(),
        world,
    )
}

/// Returns which of these were admitted; they are installed.
pub fn admit_all(requirements: Vec<Requirement>, world: &mut World) -> Vec<(usize, Accepted)> {
    let Reply::Decisions(decisions) = ask(world, Request::Admit(requirements)) else {
        panic!("decisions were asked for");
    };
    let admitted = decisions.into_iter().enumerate();
    let admitted: Vec<_> = admitted
        .filter_map(|(flow, decision)| match decision {
            Decision::Accepted(accepted) => Some((flow, accepted)),
            Decision::Refused { .. } => None,
        })
        .collect();
    let end = world.now() + PATIENCE;
    loop {
        let Reply::Flows(flows) = ask(world, Request::Flows) else {
            panic!("a list of flows was asked for");
        };
        if flows.iter().all(|flow| flow.installed) {
            return admitted;
        }
        assert!(world.now() < end, "the flows were not installed");
        world.run_until(world.now() + STEP);
    }
}

/// Adds intents and waits until they are installed.
fn program(intents: Vec<Intent>, world: &mut World) {
    let Reply::IntentDecisions(decisions) = ask(world, Request::AddIntents(intents)) else {
        panic!("decisions were asked for");
    };
    let is_accepted =
        |decision: &IntentDecision| matches!(decision, IntentDecision::Accepted { .. });
    assert!(decisions.iter().all(is_accepted), "{decisions:?}");
    let end = world.now() + PATIENCE;
    loop {
        let Reply::Intents(intents) = ask(world, Request::Intents) else {
            panic!("a list of intents was asked for");
        };
        if intents
            .iter()
            .all(|intent| intent.state == IntentState::Installed)
        {
            return;
        }
        assert!(
            world.now() < end,
            "the intents were not installed: {intents:?}"
        );
        world.run_until(world.now() + STEP);
    }
}

fn without_promise(flow: usize) -> Accepted {
    Accepted {
        id: FlowId(u32::try_from(flow).unwrap()),
        name: format!("flow-{flow}"),
        guarantee: None,
        route: Route::default().into(),
        alternatives: Vec::new().into(),
        cover: None,
        enforced: false,
    }
}

pub fn ask(world: &mut World, request: Request) -> Reply {
    let asked = world.request(request);
    let end = world.now() + PATIENCE;
    while world.now() < end {
        for said in world.run_until_said(end) {
            if let Saying::Reply(id, reply) = said.what
                && id == asked
            {
                return reply;
            }
        }
    }
    panic!("the controller did not answer");
}

pub fn load(
    blueprint: &Blueprint,
    admitted: &[(usize, Accepted)],
    start: Instant,
    until: Instant,
) -> Load {
    let mut load = Load {
        hosts: blueprint
            .hosts
            .iter()
            .map(|_| HostLoad::default())
            .collect(),
        recorder: Recorder::new(start, Settings::default()),
        catalogue: Catalogue::default(),
        captures: Captures::default(),
    };
    for (flow, accepted) in admitted {
        let wish = &blueprint.wishes[*flow];
        let begins = start + wish.phase;
        let index = load.recorder.add(plan(blueprint, *flow, accepted));
        let (key, numbering) = identity(*flow, wish, begins);
        load.catalogue.add(key, index, numbering);
        load.hosts[wish.source].sources.push(QueuedSource {
            source: source(*flow, wish, begins, until),
            flow: index,
            queue: wish.class,
        });
        for (receiver, host) in (0..).map(ReceiverIndex).zip(&wish.receivers) {
            load.hosts[*host].receives.insert(index, receiver);
        }
    }
    let is_admitted = |flow| admitted.iter().any(|(admitted, _)| *admitted == flow);
    let intruders = blueprint.intruders.iter().enumerate();
    for (number, intruder) in intruders.filter(|(_, it)| is_admitted(it.flow)) {
        let flow = load.recorder.add(FlowPlan {
            receivers: 1,
            promise: None,
            contract: None,
            period: None,
        });
        let (source, key) = forged(blueprint, number, (start + intruder.phase, until));
        load.catalogue.add(key, flow, Numbering::Unbounded);
        load.hosts[intruder.at].sources.push(QueuedSource {
            source,
            flow,
            queue: BEST_EFFORT,
        });
        for host in &mut load.hosts {
            host.receives.insert(flow, ReceiverIndex(0));
        }
    }
    load
}

/// Returns what an intruder sends, and by what it is told from the flow that it imitates:
/// what no entry looks at. These are frames as its source would send them, or answers of
/// its receiver.
fn forged(
    blueprint: &Blueprint,
    number: usize,
    (start, until): (Instant, Instant),
) -> (Source, FlowKey) {
    let intruder = &blueprint.intruders[number];
    let (flow, wish) = (intruder.flow, &blueprint.wishes[intruder.flow]);
    let contract = Contract {
        rate: BitRate::from_bps(100_000),
        burst: wire_size(160) * 2,
    };
    let until = Some(until);
    let own = u16::try_from(number).unwrap();
    match (intruder.claims, wish.kind) {
        (Claimed::Source, Kind::Goose) => {
            let (destination, application) = (group(flow), 0x3000 + own);
            let config = goose::GooseConfig {
                source: host_mac(wish.source),
                destination,
                vlan: intruder.vlan,
                application,
                control_block: format!("flow-{flow}"),
                min_time: Duration::from_ms(10),
                max_time: Duration::from_ms(20),
                changes: Vec::new(),
                contract: Some(contract),
                start,
                until,
                unix_origin_ns: 0,
            };
            let key = FlowKey::Goose {
                destination,
                application,
            };
            (Source::Goose(Goose::sized(&config, 160).unwrap()), key)
        }
        (claims, _) => {
            let addresses = match claims {
                Claimed::Source => addresses(flow, wish),
                Claimed::Receiver => addresses(flow, wish).reversed(),
            };
            let [high, low] = own.to_be_bytes();
            let addresses = Addresses {
                vlan: intruder.vlan,
                source: [10, 9, high, low].into(),
                ..addresses
            };
            let key = FlowKey::Datagram {
                source: addresses.source,
                destination: addresses.destination,
                port: addresses.destination_port,
            };
            let source = Udp::new(&udp::DatagramConfig {
                addresses,
                frame_length: 160,
                contract,
                pattern: udp::Pattern::Greedy,
                start,
                until,
            });
            (Source::Udp(source), key)
        }
    }
}

fn plan(blueprint: &Blueprint, flow: usize, accepted: &Accepted) -> FlowPlan {
    let requirement = blueprint.requirement(flow);
    let wish = &blueprint.wishes[flow];
    let promise = accepted.guarantee.zip(requirement.deadline);
    FlowPlan {
        receivers: wish.receivers.len(),
        promise: promise.map(|(guarantee, deadline)| Promise {
            guarantee: guarantee.round_up(),
            deadline: deadline.round_up(),
            interruption: Some(INTERRUPTION),
        }),
        contract: (wish.class != BEST_EFFORT).then_some(Contract {
            rate: requirement.traffic.rate,
            burst: requirement.traffic.burst,
        }),
        period: None,
    }
}

fn identity(flow: usize, wish: &Wish, begins: Instant) -> (FlowKey, Numbering) {
    let (destination, application) = (group(flow), application(flow, wish));
    match wish.kind {
        Kind::Greedy => {
            let key = FlowKey::Datagram {
                source: host_ip(wish.source),
                destination: host_ip(wish.receivers[0]),
                port: udp_port(flow),
            };
            (key, Numbering::Unbounded)
        }
        Kind::SampledValues => {
            let key = FlowKey::SampledValues {
                destination,
                application,
            };
            let numbering = Numbering::EverySecond {
                rate: 4_000,
                start: begins,
                haste: None,
            };
            (key, numbering)
        }
        Kind::Goose => {
            let key = FlowKey::Goose {
                destination,
                application,
            };
            (key, Numbering::Unbounded)
        }
    }
}

fn source(flow: usize, wish: &Wish, start: Instant, until: Instant) -> Source {
    let contract = Contract {
        rate: wish.rate,
        burst: wire_size(wish.frame) * wish.burst,
    };
    let until = Some(until);
    let (source, destination) = (host_mac(wish.source), group(flow));
    let application = application(flow, wish);
    match wish.kind {
        Kind::Greedy => Source::Udp(Udp::new(&udp::DatagramConfig {
            addresses: addresses(flow, wish),
            frame_length: wish.frame,
            contract,
            pattern: udp::Pattern::Greedy,
            start,
            until,
        })),
        Kind::SampledValues => {
            let config = sampled_values::SampledValuesConfig {
                source,
                destination,
                vlan: None,
                application,
                sv_id: format!("flow-{flow}"),
                rate: 4_000,
                contract: Some(contract),
                start,
                until,
            };
            Source::SampledValues(SampledValues::sized(&config, wish.frame).unwrap())
        }
        Kind::Goose => {
            let changes = (1u64..).map(|change| start + Duration::from_ms(17) * change);
            let config = goose::GooseConfig {
                source,
                destination,
                vlan: None,
                application,
                control_block: format!("flow-{flow}"),
                min_time: Duration::from_ms(2),
                max_time: Duration::from_ms(8),
                changes: changes.take_while(|at| Some(*at) < until).collect(),
                contract: Some(contract),
                start,
                until,
                unix_origin_ns: 0,
            };
            Source::Goose(Goose::sized(&config, wish.frame).unwrap())
        }
    }
}

fn addresses(flow: usize, wish: &Wish) -> Addresses {
    let receiver = wish.receivers[0];
    Addresses {
        source_mac: host_mac(wish.source),
        destination_mac: host_mac(receiver),
        vlan: None,
        source: host_ip(wish.source),
        destination: host_ip(receiver),
        source_port: 49_152,
        destination_port: udp_port(flow),
        dscp: 0,
    }
}

fn application(flow: usize, wish: &Wish) -> u16 {
    let base = match wish.kind {
        Kind::SampledValues => 0x4000,
        Kind::Greedy | Kind::Goose => 0,
    };
    base + u16::try_from(flow).unwrap()
}
