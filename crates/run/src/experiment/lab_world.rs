//! A scenario in Linux namespaces, with real packets.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::mpsc::Receiver;

use controller::northbound::{Request, RequestId, Said};
use controller::{Config, Store};
use lab::cable::Changed;
use lab::network::{CablePlan, HostPlan, Place, Plan};
use lab::switches::Forwarding;
use lab::timeline::Change as LabChange;
use lab::veth::Power;
use lab::world::Watcher;
use lab::{Lab, Parts};
use linux::clock;
use linux::controller_loop::{Desk, Told};
use linux::frame_watch::{Cause, LEAST, Watched};
use linux::scheduling::Urgency;
use linux::usage::Spent;
use measure::culprit::{Deviation, Suspect};
use measure::load::Load;
use measure::stalls::Stalls;
use measure::unseen::{Gap, Unseen};
use scenario::{Change, End, FlowIndex, HostIndex, LinkIndex, Node, Scenario, SwitchIndex};
use sim::parts::Fault;
use units::{DataSize, Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::PortNumber;

use super::plan::{compiled_entries, port_address, switch_config};
use super::world::{Happening, Observed, World};
use super::{ExperimentError, capture, errors};

/// What one packet of a message carries.
const PACKET_BYTES: u64 = 1_460;

#[derive(Debug)]
pub struct LabWorld {
    lab: Lab,
    building: Duration,
    begun: Instant,
    /// What happens to the network: of these, those of the scenario.
    changes: Vec<Option<Change>>,
    /// What becomes of switches and links that are not what the scenario says.
    planted: Vec<(Instant, LabChange)>,
    /// How long each switch works on a frame by its profile.
    processing: Vec<Duration>,
    /// The cables that wait for hosts which move, by where they lead.
    spare: BTreeMap<End, usize>,
    /// The cable of each host.
    cables: Vec<usize>,
    /// Where the ends of each link are.
    places: Vec<[Node; 2]>,
}

impl LabWorld {
    /// Builds the network of the scenario and starts everything in it; the
    /// controller keeps its decisions in `store`.
    ///
    /// # Errors
    ///
    /// If the machine lacks something.
    pub fn new<S>(
        scenario: &Scenario,
        controller: Config,
        store: S,
        forwarding: Forwarding,
    ) -> Result<Self, ExperimentError>
    where
        S: Store + Send + 'static,
        S::Error: Display,
    {
        let before = clock::now();
        let (network, spare) = plan(scenario);
        let processing: Vec<_> = (0..scenario.switches.len())
            .map(|number| processing(scenario, SwitchIndex(number)))
            .collect();
        let switches = (0..scenario.switches.len()).map(SwitchIndex);
        let stall_threshold = scenario.measurement.stall_threshold;
        let lab = Lab::build(Parts {
            network,
            switches: switches
                .map(|index| switch_config(scenario, index))
                .collect(),
            controller,
            store,
            stall_threshold,
            forwarding,
            processing: processing.iter().map(|it| longest_usual(*it)).collect(),
            entries: compiled_entries(scenario),
        })?;
        let begun = lab.now();
        Ok(Self {
            lab,
            building: begun - before,
            begun,
            changes: Vec::new(),
            planted: Vec::new(),
            processing,
            spare,
            cables: scenario.hosts.iter().map(|host| host.link.0).collect(),
            places: scenario
                .links
                .iter()
                .map(|link| link.ends.map(|end| end.node))
                .collect(),
        })
    }

    fn lab_change(&self, change: Change) -> LabChange {
        match change {
            Change::Cut(link) => LabChange::Cut { cable: link.0 },
            Change::Heal(link) => LabChange::Heal { cable: link.0 },
            Change::SwitchCrash(switch) => LabChange::Crash { switch: switch.0 },
            Change::SwitchKill(switch) => LabChange::Kill { switch: switch.0 },
            Change::SwitchRestart(switch) => LabChange::Restart { switch: switch.0 },
            Change::Impair {
                link,
                direction,
                impairment,
                one_in,
            } => LabChange::Impair {
                cable: link.0,
                direction,
                impairment,
                one_in,
            },
            Change::Isolate(switch) => LabChange::Isolate { switch: switch.0 },
            Change::Rejoin(switch) => LabChange::Rejoin { switch: switch.0 },
            Change::HostMoves { host, to } => LabChange::HostMoves {
                host: host.0,
                to: self.spare[&to],
            },
        }
    }
}

impl World for LabWorld {
    fn building(&self) -> Option<Duration> {
        Some(self.building)
    }

    fn now(&self) -> Instant {
        self.lab.now()
    }

    fn unix_origin_ns(&self) -> u64 {
        self.lab.unix_origin_ns()
    }

    fn is_undisturbed(&self) -> bool {
        false
    }

    fn request(&mut self, request: Request) -> RequestId {
        self.lab.request(request)
    }

    fn lend_controller(&mut self) -> Option<(Desk, Receiver<Told>)> {
        Some(self.lab.lend_controller())
    }

    fn listen(&mut self, until: Instant) -> Result<Vec<Said>, ExperimentError> {
        Ok(self.lab.listen(until)?)
    }

    fn announce(&mut self, host: usize, frame: &[u8]) {
        self.lab.announce(host, frame);
    }

    fn plant(&mut self, scenario: &Scenario, start: Instant) {
        let faults = errors::faults(scenario, start).into_iter();
        let planted = faults.filter_map(|it| match it.fault {
            Fault::Slow { switch, extra } => Some((it.at, LabChange::SlowSwitch { switch, extra })),
            Fault::SlowLink {
                link,
                by_thousandths,
            } => {
                let (cable, by_thousandths) = (link, by_thousandths);
                let slow = LabChange::SlowCable {
                    cable,
                    by_thousandths,
                };
                Some((it.at, slow))
            }
            _ => None,
        });
        self.planted = planted.collect();
    }

    fn begin(
        &mut self,
        mut load: Load,
        changes: &[(Instant, Change)],
    ) -> Result<(), ExperimentError> {
        for (_, change) in changes {
            if let Change::HostMoves { host, to } = change {
                // The link moves with its host.
                load.captures.join(self.spare[to], self.cables[host.0]);
            }
        }
        let own = changes.iter();
        let own = own.map(|(at, change)| (*at, self.lab_change(*change), Some(*change)));
        let planted = self.planted.iter().map(|(at, change)| (*at, *change, None));
        let mut all: Vec<_> = own.chain(planted).collect();
        all.sort_by_key(|(at, ..)| *at);
        self.changes = all.iter().map(|(.., of)| *of).collect();
        let changes = all.into_iter().map(|(at, change, _)| (at, change));
        self.begun = self.lab.now();
        Ok(self.lab.begin(load, changes.collect())?)
    }

    fn change(&mut self, change: Change) {
        self.lab.change(self.lab_change(change));
    }

    fn finish(self: Box<Self>) -> Result<Observed, ExperimentError> {
        let observed = self.lab.finish()?;
        let stalls = stalls(&observed, self.begun);
        let interruptions = observed.interruptions.clone();
        let happenings = happenings(&self.changes, &observed);
        let unseen = unseen(&observed, self.begun);
        let busy = busy(&observed);
        let called_late = observed
            .traffic
            .as_ref()
            .map_or(Duration::ZERO, |it| it.latest);
        let overflowed = observed.traffic.as_ref().map_or(0, |it| it.overflowed);
        let mut notes = notes(&observed);
        notes.extend(cost_notes(&observed));
        let mut deviations = slow_ones(&self.places, &self.processing, &observed.paces);
        let watches_paces = observed.paces.is_ok();
        deviations.extend(observed.traffic.iter().flat_map(|it| &it.foreign));
        Ok(Observed {
            records: observed
                .traffic
                .map(|traffic| traffic.flows)
                .unwrap_or_default(),
            happenings,
            stamps: "kernel software stamps (AF_PACKET), behind the sender's queueing discipline \
                     and at the receiver's driver"
                .to_owned(),
            stalls: Some(stalls),
            interruptions,
            called_late,
            overflowed,
            hops: None,
            deviations,
            watches_paces,
            fault_losses: observed.impaired.losses,
            unseen,
            busy,
            notes,
            machine: Some(machine()),
        })
    }
}

/// Returns what was done to the network, in order of time: what was planned, and cables that
/// were cut and healed besides.
fn happenings(planned: &[Option<Change>], observed: &lab::world::Observed) -> Vec<Happening> {
    let planned = std::iter::zip(planned, &observed.changes);
    let planned = planned.filter_map(|(change, made)| Some(((*change)?, *made, false)));
    let unplanned = observed.unplanned.iter();
    let unplanned = unplanned.filter_map(|(change, made)| match change {
        LabChange::Cut { cable } => Some((Change::Cut(LinkIndex(*cable)), *made, true)),
        LabChange::Heal { cable } => Some((Change::Heal(LinkIndex(*cable)), *made, true)),
        _ => None,
    });
    let happenings = planned.chain(unplanned);
    let mut happenings: Vec<_> = happenings
        .map(|(change, made, is_by_hand)| Happening {
            at: begins_at(change, made),
            change,
            is_by_hand,
        })
        .collect();
    happenings.sort_by_key(|it| it.at);
    happenings
}

/// Returns from when on a change had its effect, at the earliest for what it breaks
/// and at the latest for what it repairs: the kernel takes its time, and does not
/// say when exactly.
fn begins_at(change: Change, made: Changed) -> Instant {
    match change {
        Change::Cut(_)
        | Change::SwitchCrash(_)
        | Change::SwitchKill(_)
        | Change::Impair {
            one_in: Some(_), ..
        }
        | Change::Isolate(_)
        | Change::HostMoves { .. } => made.asked,
        Change::Heal(_)
        | Change::SwitchRestart(_)
        | Change::Impair { one_in: None, .. }
        | Change::Rejoin(_) => made.done,
    }
}

/// Returns for how long a switch works on a frame at most by its profile, if nothing waits.
fn processing(scenario: &Scenario, index: SwitchIndex) -> Duration {
    let profile = scenario.profile_of(index);
    (profile.longest_latency() + profile.longest_per_frame()).round_up()
}

/// Returns within which time a switch of a lab is done with a frame that nobody holds up: a
/// processor is now and then slower than when it was measured.
fn longest_usual(processing: Duration) -> Duration {
    processing + Duration::from_ns(processing.as_ns() / 4) + Duration::from_us(5)
}

/// Returns the switches and links that were slower than is said of them.
fn slow_ones(
    places: &[[Node; 2]],
    processing: &[Duration],
    paces: &lab::world::Paces,
) -> Vec<Deviation> {
    let mut slow: BTreeMap<Suspect, Deviation> = BTreeMap::new();
    for (link, (ends, seen)) in places.iter().zip(paces.iter().flatten()).enumerate() {
        for (place, seen) in ends.iter().zip(seen) {
            let switch = match place {
                Node::Switch(switch) => seen.processor.map(|seen| {
                    let taken = seen.taken.as_ns() / seen.frames.max(1);
                    let by = Duration::from_ns(taken).saturating_sub(processing[switch.0]);
                    (Suspect::Switch(switch.0), seen, by)
                }),
                Node::Host(_) => None,
            };
            let link = seen
                .link
                .map(|seen| (Suspect::Link(link), seen, seen.excess()));
            for (who, seen, by) in switch.into_iter().chain(link) {
                let shown = Deviation {
                    who,
                    since: seen.since,
                    last: seen.last,
                    by,
                    frames: seen.frames,
                };
                let known = slow.entry(who).or_insert(Deviation { frames: 0, ..shown });
                known.since = known.since.min(shown.since);
                known.last = known.last.max(shown.last);
                known.by = known.by.max(shown.by);
                known.frames += shown.frames;
            }
        }
    }
    // Who is slow takes time from all who share its processor, and so from every link.
    let is_switch = |it: &&Deviation| matches!(it.who, Suspect::Switch(_));
    let switches: Vec<_> = slow.values().filter(is_switch).copied().collect();
    let beside = |link: &Deviation| {
        let mut switches = switches.iter();
        switches.any(|it| it.since <= link.last && link.since <= it.last)
    };
    slow.retain(|who, it| matches!(who, Suspect::Switch(_)) || !beside(it));
    slow.into_values().collect()
}

/// Returns for how long a processor was in use for frames: by the thread of the hosts, and
/// by soft interrupts, which count twice where that thread was host to them.
fn busy(observed: &lab::world::Observed) -> Option<Duration> {
    let spent = observed.spent.as_ref()?;
    Some(spent.by("traffic") + spent.soft_interrupts)
}

/// Returns what the taps of each host missed, and what processors dropped between two
/// interfaces: of that it is not known whose it was, nor when.
fn unseen(observed: &lab::world::Observed, begun: Instant) -> Vec<Unseen> {
    let mut unseen = match &observed.traffic {
        Some(traffic) => traffic.unseen.clone(),
        None => return Vec::new(),
    };
    let spent = observed.spent.as_ref();
    let dropped = Gap {
        from: begun,
        to: Instant::FAR_FUTURE,
        frames: spent.map_or(0, |spent| spent.dropped),
    };
    unseen.iter_mut().for_each(|of_host| of_host.add(dropped));
    unseen
}

/// Returns the stalls since traffic began.
fn stalls(observed: &lab::world::Observed, begun: Instant) -> Stalls {
    let mut stalls = Stalls::new(observed.stall_threshold);
    for (watcher, watched) in &observed.stalls {
        let thread = match watcher {
            Watcher::Loop => "packets",
            Watcher::Traffic => "traffic",
            Watcher::Sentry { .. } => "sentry",
        };
        lab::stalls::enter(watched, thread, begun, &mut stalls);
    }
    stalls
}

/// Tells how the stalls were noticed, and what everything cost.
fn cost_notes(observed: &lab::world::Observed) -> Vec<String> {
    let mut notes = Vec::new();
    let shared = observed.stalls.iter().any(|(watcher, _)| match watcher {
        Watcher::Sentry { urgency, .. } => *urgency == Urgency::Shared,
        Watcher::Loop | Watcher::Traffic => false,
    });
    if shared {
        notes.push(
            "The sentries that watch the processors were denied their urgency: their looks are \
             late for the work of others."
                .to_owned(),
        );
    }
    match &observed.halts {
        Ok(watched) => notes.extend(watched.iter().map(halts)),
        Err(reason) => notes.push(format!(
            "Nobody saw when processors stood still amid frames, so that no frame is excused by \
             that: {reason}"
        )),
    }
    if let Err(reason) = &observed.paces {
        notes.push(format!(
            "Nobody saw whether switches and links were as fast as the scenario says: {reason}."
        ));
    }
    if let Some(spent) = &observed.spent {
        notes.push(processor_time(spent));
    }
    notes
}

/// Says when a processor did not get on with frames, and what it was at.
fn halts(watched: &Watched) -> String {
    let parts = [
        (Cause::Forwarding, "amid a frame"),
        (Cause::HardInterrupt, "in hard interrupts"),
        (Cause::OtherSoftInterrupt, "in other soft interrupts"),
    ];
    let parts = parts.map(|(cause, name)| {
        let lengths = watched.halts.iter().filter(|halt| halt.cause == cause);
        let lengths = lengths.map(|halt| halt.to.saturating_since(halt.from));
        let count = lengths.clone().count();
        let longest = lengths.clone().max().unwrap_or_default();
        format!(
            "{count} times {name} ({} in all, {longest} at most)",
            lengths.sum::<Duration>()
        )
    });
    let unkept = match watched.unkept {
        0 => String::new(),
        more => format!("; {more} more were not kept, and excuse nothing"),
    };
    format!(
        "Processor {}, which forwards, did not get on for {LEAST} or longer {}{unkept}.",
        watched.processor,
        parts.join(", ")
    )
}

/// Says what each part used, in percent of one processor.
fn processor_time(spent: &Spent) -> String {
    let share = |used: Duration| 100.0 * used.as_secs_f64() / spent.elapsed.as_secs_f64();
    let parts = [
        ("switches", spent.by("packets") + spent.by("carriers")),
        ("soft interrupts of the machine", spent.soft_interrupts),
        ("traffic of the hosts", spent.by("traffic")),
        ("controller", spent.by("controller") + spent.by("store")),
        ("watch for stalls", spent.by("sentry")),
    ];
    let parts = parts.map(|(name, used)| format!("{name} {:.1} %", share(used)));
    format!(
        "Processor time while traffic ran, of one processor: {}; stolen from the machine: {:.1} %.",
        parts.join(", "),
        share(spent.stolen)
    )
}

fn notes(observed: &lab::world::Observed) -> Vec<String> {
    let switches = &observed.switches;
    let mut notes = vec![format!(
        "All switches ran on one thread, {:?}, nice {}, {:?}; {} turns.",
        switches.waiting, switches.granted.nice, switches.granted.placement, switches.record.turns
    )];
    let impaired = &observed.impaired;
    if impaired.lost + impaired.corrupted > 0 {
        notes.push(format!(
            "Impaired cables lost {} frames and corrupted {}; of {} of them it is not known whose \
             they were.",
            impaired.lost, impaired.corrupted, impaired.untold
        ));
    }
    if let Some(traffic) = &observed.traffic {
        notes.push(format!(
            "A source was called {} late at most; {} frames found their host's queue full.",
            traffic.latest, traffic.overflowed
        ));
        if traffic.uncaptured > 0 {
            notes.push(format!(
                "{} frames went by the taps uncaptured: as many losses at the hosts concerned are \
                 not judged.",
                traffic.uncaptured
            ));
        }
        let spent = observed.spent.as_ref();
        if let Some(dropped @ 1..) = spent.map(|spent| spent.dropped) {
            notes.push(format!(
                "{dropped} frames found no room before a processor of this machine \
                 (net.core.netdev_max_backlog): as many losses are not judged."
            ));
        }
        notes.extend(capture::notes(&traffic.captures));
        for step in &traffic.steps {
            notes.push(format!("The wall clock was set by {} ns.", step.by_ns));
        }
    }
    notes
}

fn machine() -> BTreeMap<String, String> {
    let read = |path: &str| {
        std::fs::read_to_string(path)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    BTreeMap::from([
        ("kernel".to_owned(), read("/proc/sys/kernel/osrelease")),
        (
            "processors".to_owned(),
            read("/sys/devices/system/cpu/online"),
        ),
        ("load".to_owned(), read("/proc/loadavg")),
    ])
}

/// Returns what is to be built, and the cables that wait for hosts which move.
fn plan(scenario: &Scenario) -> (Plan, BTreeMap<End, usize>) {
    let cables = scenario.links.iter().map(|link| CablePlan {
        ends: link.ends.map(|end| place(scenario, end)),
        rate: link.rate,
        power: Power::On,
    });
    let mut cables: Vec<_> = cables.collect();
    let mut spare = BTreeMap::new();
    for event in &scenario.events {
        let Change::HostMoves { host, to } = event.change else {
            continue;
        };
        spare.entry(to).or_insert_with(|| {
            cables.push(CablePlan {
                ends: [Place::Host(host.0), place(scenario, to)],
                rate: scenario.links[scenario.hosts[host.0].link.0].rate,
                power: Power::Off,
            });
            cables.len() - 1
        });
    }
    let hosts = scenario.hosts.iter();
    let hosts = hosts.zip(0..).map(|(host, number)| HostPlan {
        name: host.name.clone(),
        mac: MacAddress(host.mac),
        queue_frames: queue_frames(scenario, HostIndex(number)),
    });
    let plan = Plan {
        switches: scenario
            .switches
            .iter()
            .map(|switch| switch.name.clone())
            .collect(),
        hosts: hosts.collect(),
        cables,
    };
    (plan, spare)
}

/// Returns how many frames a queue of a host has to hold so that it loses none itself: a
/// message is handed over at once, all of its flows may have one at the same time, and a
/// message of the one before may be left.
pub fn queue_frames(scenario: &Scenario, host: HostIndex) -> u32 {
    let flows = scenario.flows.iter().zip(0..);
    let own = flows.filter(|(flow, _)| flow.source == host);
    let largest = own.map(|(_, number)| {
        let phases = scenario.phases_of(FlowIndex(number)).into_iter();
        phases
            .map(|phase| packets(phase.message.size))
            .max()
            .unwrap_or(0)
    });
    let frames = largest.fold(0_u64, u64::saturating_add);
    u32::try_from(frames.saturating_mul(2)).unwrap_or(u32::MAX)
}

/// Returns how many packets a message has.
pub fn packets(size: DataSize) -> u64 {
    size.bytes_up().div_ceil(PACKET_BYTES)
}

fn place(scenario: &Scenario, end: End) -> Place {
    match end.node {
        Node::Host(host) => Place::Host(host.0),
        Node::Switch(switch) => Place::Switch {
            switch: switch.0,
            port: PortNumber(end.port),
            mac: port_address(scenario.switches[switch.0].datapath_id, end.port),
        },
    }
}
