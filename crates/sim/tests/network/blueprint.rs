//! Networks and flows drawn from a seed.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use calculus::admission::Spare;
use controller::config::{
    BestEffortTraffic, Config, HostParameters, Metric, PortParameters, ProcessingParameters,
    SwitchParameters, Timers,
};
use controller::northbound::{
    ApplicationKind, Cover, ExceedAction, FlowMatch, FrameOrder, Manifest, Protection, Requirement,
    Traffic, Transport, TransportProtocol,
};
use controller::place::{LinkEnds, PortId};
use sim::Parts;
use sim::parts::{End, LinkPart, Node, Processing, SwitchPart};
use sim::servers::random::Random;
use units::{BitRate, DataSize, Delay, Duration};
use wire::ethernet::{EtherType, MacAddress, VlanTag, wire_size};
use wire::openflow::taktos::SequenceEncoding;
use wire::openflow::{DatapathId, PortNumber};

/// How long a flow may be interrupted.
pub const INTERRUPTION: Duration = Duration::from_ms(10);
/// A period of Sampled Values and some jitter.
pub const HEART_BEAT: Duration = Duration::from_us(300);
/// The class without a promise.
pub const BEST_EFFORT: u8 = 0;

const LINK_RATE: BitRate = BitRate::from_mbps(1_000);
const HOST_RATE: BitRate = BitRate::from_mbps(200);
const PROPAGATION: Delay = Delay::from_ns(50);
const LARGEST_FRAME: DataSize = DataSize::from_bytes(1542);
pub const CARRIER_DETECTION: Duration = Duration::from_ms(1);
const CONTROL_DELAY: Duration = Duration::from_us(100);
/// How many imitate a flow at the port of a host, and what they send together, at most.
const INTRUDERS_AT_PORT: usize = 4;
const INTRUDERS_RATE: BitRate = BitRate::from_mbps(1);
/// A port of each switch into which nothing is plugged.
const SPARE_PORT: u32 = 99;

/// A network that can be built, and what is asked of it.
pub struct Blueprint {
    pub seed: u64,
    /// Between which switches there are links.
    pub links: Vec<[usize; 2]>,
    /// At which switch each host is.
    pub hosts: Vec<usize>,
    pub wishes: Vec<Wish>,
    pub intruders: Vec<Intruder>,
    /// What is done with frames that no flow claims.
    pub applications: Vec<ApplicationKind>,
    /// How budgets are fitted to the flows; nothing if they are fixed.
    pub fit: Option<Spare>,
    /// Whether a machine holds single frames up.
    pub interrupted: bool,
    budgets: Budgets,
    switches: usize,
}

/// What each hop may add. Guarantees are sums of these: small ones refuse more
/// flows and leave less room between what is promised and what happens.
#[derive(Clone, Copy)]
struct Budgets {
    processing: Delay,
    /// At a port of [`LINK_RATE`]; others have as much more as they are slower.
    port: Delay,
}

const AMPLE: Budgets = Budgets {
    processing: Delay::from_us(500),
    port: Delay::from_us(500),
};

/// Who sends what looks like frames of a flow, at the port of a host that has nothing to
/// do with it.
#[derive(Clone, Copy, Debug)]
pub struct Intruder {
    /// The host at whose port it is.
    pub at: usize,
    /// Which flow it imitates, if that is admitted.
    pub flow: usize,
    pub claims: Claimed,
    pub vlan: Option<VlanTag>,
    pub phase: Duration,
}

/// An end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claimed {
    Source,
    Receiver,
}

/// A flow that is asked for.
#[derive(Clone, Debug)]
pub struct Wish {
    pub source: usize,
    pub receivers: Vec<usize>,
    pub kind: Kind,
    /// Without the check sequence, in bytes.
    pub frame: usize,
    pub rate: BitRate,
    /// Frames that the source sends at once if it can.
    pub burst: u64,
    pub class: u8,
    /// When it begins to send, after the others.
    pub phase: Duration,
    pub healed_by: HealedBy,
}

/// Who makes up for a broken link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealedBy {
    Controller,
    Switches,
    /// Nobody has to: two ways carry the flow at the same time.
    Copies,
    /// Switches, faults that nobody reports included.
    SwitchesWhateverFails,
    /// The same, who miss the flow's own frames.
    HeartBeats,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Datagrams, as many as the contract allows.
    Greedy,
    /// Sampled Values, 4000 a second, to a group.
    SampledValues,
    /// State changes, to a group.
    Goose,
}

impl Blueprint {
    /// Draws a ring, a grid or a diamond with flows between its hosts.
    pub fn draw(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let size = 3 + random.index(3);
        let (switches, links) = match random.index(3) {
            0 => ring(size),
            1 => grid(2, size),
            _ => diamond(size - 1),
        };
        let hosts = (0..switches)
            .chain((0..2).map(|_| random.index(switches)))
            .collect();
        let mut blueprint = Self {
            seed,
            links,
            hosts,
            wishes: Vec::new(),
            intruders: Vec::new(),
            applications: vec![ApplicationKind::Deterministic],
            fit: None,
            interrupted: false,
            budgets: Budgets {
                processing: random.pick(&[60, 120, 400].map(Delay::from_us)),
                port: random.pick(&[25, 60, 200].map(Delay::from_us)),
            },
            switches,
        };
        let phases = Phases::draw(&mut random);
        for _ in 0..6 + random.index(14) {
            let wish = blueprint.wish(&mut random, phases);
            blueprint.wishes.push(wish);
        }
        blueprint
    }

    /// Returns a ring of four switches with a host each and one datagram flow
    /// from the first to the third.
    pub fn one_flow() -> Self {
        let (switches, links) = ring(4);
        Self {
            seed: 1,
            links,
            hosts: (0..switches).collect(),
            wishes: vec![Wish {
                source: 0,
                receivers: vec![2],
                kind: Kind::Greedy,
                frame: 200,
                rate: BitRate::from_mbps(2),
                burst: 2,
                class: 5,
                phase: Duration::ZERO,
                healed_by: HealedBy::Controller,
            }],
            intruders: Vec::new(),
            applications: vec![ApplicationKind::Deterministic],
            fit: None,
            interrupted: false,
            budgets: AMPLE,
            switches,
        }
    }

    /// Returns the same ring, whose switches make up for a broken link by themselves.
    pub fn one_flow_healed_by_switches() -> Self {
        let mut one = Self::one_flow();
        one.wishes[0].healed_by = HealedBy::Switches;
        one
    }

    /// Returns the same ring, whose switches notice themselves that a link carries nothing.
    pub fn one_flow_healed_whatever_fails() -> Self {
        let mut one = Self::one_flow();
        one.wishes[0].rate = BitRate::from_bps(500_000);
        one.wishes[0].healed_by = HealedBy::SwitchesWhateverFails;
        one
    }

    /// Returns the same ring with Sampled Values whose switches miss them.
    pub fn one_flow_with_heart_beats() -> Self {
        let mut one = Self::one_flow();
        one.wishes[0].kind = Kind::SampledValues;
        one.wishes[0].rate = BitRate::from_mbps(8);
        one.wishes[0].healed_by = HealedBy::HeartBeats;
        one
    }

    /// Returns one switch with two hosts and a datagram flow from one to the other.
    pub fn one_switch() -> Self {
        let two = Self::two_ways();
        Self {
            links: Vec::new(),
            hosts: vec![0, 0],
            switches: 1,
            ..two
        }
    }

    /// Returns two parallel ways between two switches, each over another one, and one
    /// datagram flow from one side to the other.
    pub fn two_ways() -> Self {
        let (switches, links) = diamond(2);
        let one = Self::one_flow();
        let wishes = one.wishes.into_iter().map(|wish| Wish {
            source: 0,
            receivers: vec![1],
            ..wish
        });
        Self {
            links,
            hosts: vec![0, 1],
            wishes: wishes.collect(),
            switches,
            ..one
        }
    }

    /// Returns three parallel ways between two switches with many hosts each, and
    /// hundreds of datagram flows from one side to the other. All take the way
    /// over the first link.
    pub fn crowd() -> Self {
        let (switches, links) = diamond(3);
        let wish = |flow: usize| Wish {
            source: flow % 8,
            receivers: vec![8 + flow / 8 % 8],
            kind: Kind::Greedy,
            frame: 80,
            rate: BitRate::from_bps(300_000),
            burst: 1,
            class: 5,
            phase: Duration::from_us(7) * flow as u64,
            healed_by: HealedBy::Controller,
        };
        Self {
            seed: 1,
            links,
            hosts: (0..16).map(|host| host / 8).collect(),
            wishes: (0..240).map(wish).collect(),
            intruders: Vec::new(),
            applications: vec![ApplicationKind::Deterministic],
            fit: None,
            interrupted: false,
            budgets: Budgets {
                processing: Delay::from_us(2_500),
                port: Delay::from_us(1_300),
            },
            switches,
        }
    }

    /// Returns the same with so few flows that a run is short.
    pub fn few() -> Self {
        let mut few = Self::crowd();
        few.wishes.truncate(24);
        few
    }

    /// Returns the same ring with Sampled Values and GOOSE from the first host to all
    /// others.
    pub fn measurements() -> Self {
        let mut blueprint = Self::one_flow();
        let publish = |kind, frame, rate| Wish {
            source: 0,
            receivers: vec![1, 2, 3],
            kind,
            frame,
            rate,
            burst: 2,
            class: BEST_EFFORT,
            phase: Duration::ZERO,
            healed_by: HealedBy::Controller,
        };
        let samples = BitRate::from_bps(4_000 * wire_size(160).as_bits());
        blueprint.wishes = vec![
            publish(Kind::SampledValues, 160, samples),
            publish(Kind::Goose, 200, BitRate::from_mbps(2)),
        ];
        blueprint
    }

    /// Has somebody imitate the flows at the ports of all hosts that are no ends of them.
    pub fn intrude(&mut self, random: &mut Random) {
        for at in 0..self.hosts.len() {
            for _ in 0..INTRUDERS_AT_PORT {
                let flow = random.index(self.wishes.len());
                let wish = &self.wishes[flow];
                if wish.source == at || wish.receivers.contains(&at) {
                    continue;
                }
                let tag = VlanTag {
                    priority: 7,
                    drop_eligible: false,
                    id: u16::try_from(random.index(3)).unwrap(),
                };
                self.intruders.push(Intruder {
                    at,
                    flow,
                    claims: random.pick(&[Claimed::Source, Claimed::Receiver]),
                    vlan: random.pick(&[None, None, Some(tag)]),
                    phase: random.time_below(Duration::from_ms(60)),
                });
            }
        }
    }

    fn wish(&self, random: &mut Random, phases: Phases) -> Wish {
        let source = random.index(self.hosts.len());
        let receivers: Vec<_> = (1..self.hosts.len())
            .map(|step| (source + step) % self.hosts.len())
            .collect();
        let first = random.index(receivers.len());
        let kind = random.pick(&[Kind::Greedy, Kind::Greedy, Kind::SampledValues, Kind::Goose]);
        let more = match kind {
            Kind::Greedy => 0,
            Kind::SampledValues | Kind::Goose => random.index(2),
        };
        let class = random.pick(&[BEST_EFFORT, 3, 5, 6]);
        let class = if kind == Kind::Greedy { class } else { 6 };
        let rate = match (kind, class) {
            (Kind::SampledValues, _) => BitRate::from_bps(4_000 * wire_size(160).as_bits()),
            (Kind::Greedy, BEST_EFFORT) => BitRate::from_mbps(40),
            (Kind::Greedy | Kind::Goose, _) => BitRate::from_mbps(2),
        };
        Wish {
            source,
            receivers: receivers
                .into_iter()
                .cycle()
                .skip(first)
                .take(1 + more)
                .collect(),
            kind,
            frame: match (kind, class) {
                (Kind::Greedy, BEST_EFFORT) => 1514,
                (Kind::Greedy, _) => random.pick(&[80, 200, 600]),
                (Kind::SampledValues | Kind::Goose, _) => 160,
            },
            rate,
            burst: 1 + random.index(5) as u64,
            class,
            phase: phases.draw_one(random),
            healed_by: match (class, more) {
                (BEST_EFFORT, _) | (_, 1..) => HealedBy::Controller,
                _ => random.pick(&[HealedBy::Controller, HealedBy::Switches]),
            },
        }
    }

    /// Returns the network as the simulation wants it.
    pub fn parts(&self) -> Parts {
        let links = self.links.iter().enumerate().map(|(index, ends)| LinkPart {
            ends: ends.map(|switch| self.end(switch, self.port(switch, index))),
            propagation: PROPAGATION,
        });
        let cables = self
            .hosts
            .iter()
            .enumerate()
            .map(|(host, &switch)| LinkPart {
                ends: [
                    End {
                        node: Node::Host(host),
                        port: PortNumber(1),
                    },
                    self.end(switch, self.port(switch, self.links.len() + host)),
                ],
                propagation: PROPAGATION,
            });
        Parts {
            seed: self.seed,
            switches: (0..self.switches)
                .map(|switch| self.switch(switch))
                .collect(),
            hosts: vec![HOST_RATE; self.hosts.len()],
            links: links.chain(cables).collect(),
            controller: Some(self.controller()),
            control_delay: CONTROL_DELAY,
            carrier_detection: CARRIER_DETECTION,
        }
    }

    /// Returns how the controller names a link.
    pub fn link_ends(&self, link: usize) -> LinkEnds {
        let [one, other] = self.links[link];
        let port = |switch| PortId::new(datapath(switch), self.port(switch, link));
        LinkEnds::new(port(one), port(other))
    }

    /// Returns the port of a switch into which nothing is plugged.
    pub fn spare(&self, switch: usize) -> End {
        self.end(switch, PortNumber(SPARE_PORT))
    }

    /// Returns what a wish asks of the controller. The frames of one host leave
    /// one after the other, so that each flow may be a frame more bursty than its
    /// source.
    pub fn requirement(&self, flow: usize) -> Requirement {
        let wish = &self.wishes[flow];
        let size = wire_size(wish.frame);
        Requirement {
            name: format!("flow-{flow}"),
            source: host_name(wish.source),
            destinations: wish.receivers.iter().map(|host| host_name(*host)).collect(),
            matching: matching(flow, wish),
            class: wish.class,
            is_class_free: false,
            must_be_enforced: false,
            excess: ExceedAction::Drop,
            traffic: Traffic {
                rate: wish.rate,
                burst: size * (wish.burst + 1),
                largest_frame: size,
                smallest_frame: size,
                frames: None,
            },
            deadline: (wish.class != BEST_EFFORT).then(|| Delay::from_us(20_000)),
            protection: match wish.healed_by {
                HealedBy::Controller => Protection::Restore {
                    interruption: INTERRUPTION,
                    covers: Cover::CarrierLoss,
                },
                HealedBy::Switches => Protection::FastFailover {
                    interruption: INTERRUPTION,
                    covers: Cover::CarrierLoss,
                    heart_beat: None,
                },
                HealedBy::Copies => Protection::Seamless {
                    encoding: match self.links.len() % 2 {
                        0 => SequenceEncoding::Prp,
                        _ => SequenceEncoding::RTag,
                    },
                    order: FrameOrder::Any,
                },
                HealedBy::SwitchesWhateverFails => Protection::FastFailover {
                    interruption: INTERRUPTION,
                    covers: Cover::Any,
                    heart_beat: None,
                },
                HealedBy::HeartBeats => Protection::FastFailover {
                    interruption: HEART_BEAT * 5u64,
                    covers: Cover::OneWay,
                    heart_beat: Some(HEART_BEAT),
                },
            },
            modes: None,
        }
    }

    fn end(&self, switch: usize, port: PortNumber) -> End {
        assert!(switch < self.switches);
        End {
            node: Node::Switch(switch),
            port,
        }
    }

    /// Ports are numbered in the order of the cables.
    fn port(&self, switch: usize, cable: usize) -> PortNumber {
        let cables = self.links.iter().map(|ends| ends.contains(&switch));
        let cables = cables.chain(self.hosts.iter().map(|at| *at == switch));
        let number = 1 + cables.take(cable).filter(|is_mine| *is_mine).count();
        PortNumber(u32::try_from(number).unwrap())
    }

    fn port_rates(&self, switch: usize) -> impl Iterator<Item = (PortNumber, BitRate)> {
        let links = self.links.iter().filter(move |ends| ends.contains(&switch));
        let hosts = self.hosts.iter().filter(move |at| **at == switch);
        let rates = links.map(|_| LINK_RATE).chain(hosts.map(|_| HOST_RATE));
        let numbered = (1..).map(PortNumber).zip(rates);
        numbered.chain([(PortNumber(SPARE_PORT), HOST_RATE)])
    }

    fn switch(&self, switch: usize) -> SwitchPart {
        let ports = self
            .port_rates(switch)
            .map(|(number, rate)| switch::PortConfig {
                number,
                name: format!("s{switch}-{}", number.0),
                mac: MacAddress([2, 1, 0, low_byte(switch), 0, 1]),
                rate: Some(rate),
                pacing: switch::Pacing::Core,
            });
        SwitchPart {
            config: switch::Config::new(datapath(switch), ports.collect()),
            processing: Processing {
                latency: Delay::from_us(10),
                per_frame: Delay::from_us(2),
                capacity: 4096,
            },
            emulation: None,
        }
    }

    fn controller(&self) -> Config {
        let switches = (0..self.switches).map(|switch| {
            let ports = self
                .port_rates(switch)
                .map(|(port, rate)| (port, self.port_parameters(rate)));
            let parameters = SwitchParameters {
                name: format!("s{switch}"),
                processing: Some(ProcessingParameters {
                    latency: Delay::from_us(10),
                    per_frame: Delay::from_us(2),
                    budget: self.budgets.processing,
                    buffer_frames: Some(4096),
                }),
                ports: ports.collect(),
                other_ports: self.port_parameters(HOST_RATE),
            };
            (datapath(switch), parameters)
        });
        Config {
            switches: switches.collect(),
            unknown_switch: SwitchParameters {
                name: String::new(),
                processing: None,
                ports: BTreeMap::new(),
                other_ports: self.port_parameters(HOST_RATE),
            },
            hosts: (0..self.hosts.len()).map(|host| self.host(host)).collect(),
            applications: self
                .applications
                .iter()
                .copied()
                .map(Manifest::built_in)
                .collect(),
            metric: Metric::Links,
            timers: Timers::default(),
            probe_key: None,
            claim: controller::mastery::Claim::default(),
            foreign_rules: controller::northbound::ForeignRules::Keep,
            fit: self.fit,
            modes: None,
            watch_hops: true,
            interrupted: self.interrupted,
            policing: Some(units::Duration::ZERO),
            seed: self.seed,
        }
    }

    fn port_parameters(&self, rate: BitRate) -> PortParameters {
        let slower = LINK_RATE.as_bps() / rate.as_bps();
        let mut budgets = [None; 8];
        for class in [3, 5, 6] {
            budgets[class] = Some(self.budgets.port * slower);
        }
        PortParameters {
            rate,
            propagation: PROPAGATION,
            budgets,
            buffers: [None; 8],
            largest_frame: LARGEST_FRAME,
        }
    }

    fn host(&self, host: usize) -> HostParameters {
        let switch = self.hosts[host];
        let floods = self.wishes.iter().filter(|wish| wish.class == BEST_EFFORT);
        let own = floods.filter(|wish| wish.source == host);
        HostParameters {
            name: host_name(host),
            mac: host_mac(host),
            ipv4: Some(host_ip(host)),
            is_fixed: false,
            attachment: Some(PortId::new(
                datapath(switch),
                self.port(switch, self.links.len() + host),
            )),
            unpromised: own
                .map(|wish| wish.rate)
                .chain((!self.intruders.is_empty()).then_some(INTRUDERS_RATE))
                .reduce(|one, other| one + other)
                .map(|rate| BestEffortTraffic {
                    rate,
                    largest_frame: LARGEST_FRAME,
                    smallest_frame: LARGEST_FRAME,
                }),
        }
    }
}

/// When flows begin, so that their bursts meet: all at once, on a grid of the
/// time that a hop takes, so that some meet further on, or at random.
#[derive(Clone, Copy)]
enum Phases {
    Together,
    HopsApart,
    Random,
}

impl Phases {
    fn draw(random: &mut Random) -> Self {
        random.pick(&[Self::Together, Self::HopsApart, Self::Random])
    }

    fn draw_one(self, random: &mut Random) -> Duration {
        match self {
            Self::Together => Duration::ZERO,
            Self::HopsApart => Duration::from_us(14) * random.index(5) as u64,
            Self::Random => random.time_below(Duration::from_ms(1)),
        }
    }
}

pub fn host_mac(host: usize) -> MacAddress {
    MacAddress([2, 0, 0, 0, 0, low_byte(host + 1)])
}

pub fn host_ip(host: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, low_byte(host + 1))
}

pub fn group(flow: usize) -> MacAddress {
    MacAddress([0x01, 0x0c, 0xcd, 4, 0, low_byte(flow)])
}

/// The UDP port that a flow goes to.
pub fn udp_port(flow: usize) -> u16 {
    5000 + u16::try_from(flow).unwrap()
}

pub fn datapath(switch: usize) -> DatapathId {
    DatapathId(switch as u64 + 1)
}

pub fn host_name(host: usize) -> String {
    format!("h{host}")
}

fn low_byte(number: usize) -> u8 {
    u8::try_from(number).unwrap()
}

fn matching(flow: usize, wish: &Wish) -> FlowMatch {
    let to_group = |ether_type| FlowMatch {
        ether_type: Some(ether_type),
        destination: Some(group(flow)),
        ..FlowMatch::default()
    };
    match wish.kind {
        Kind::Greedy => FlowMatch {
            ipv4_destination: Some(host_ip(wish.receivers[0])),
            transport: Some(Transport {
                protocol: TransportProtocol::Udp,
                source: None,
                destination: Some(udp_port(flow)),
            }),
            ..FlowMatch::default()
        },
        Kind::SampledValues => to_group(EtherType::SAMPLED_VALUES),
        Kind::Goose => to_group(EtherType::GOOSE),
    }
}

fn ring(size: usize) -> (usize, Vec<[usize; 2]>) {
    (size, (0..size).map(|at| [at, (at + 1) % size]).collect())
}

fn grid(rows: usize, columns: usize) -> (usize, Vec<[usize; 2]>) {
    let place = |row, column| row * columns + column;
    let across = (0..rows).flat_map(|row| {
        (1..columns).map(move |column| [place(row, column - 1), place(row, column)])
    });
    let down = (1..rows).flat_map(|row| {
        (0..columns).map(move |column| [place(row - 1, column), place(row, column)])
    });
    (rows * columns, across.chain(down).collect())
}

/// Two switches and `paths` parallel ways between them.
fn diamond(paths: usize) -> (usize, Vec<[usize; 2]>) {
    let between = (0..paths).flat_map(|path| [[0, path + 2], [path + 2, 1]]);
    (paths + 2, between.collect())
}
