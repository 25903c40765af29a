//! The errors that a scenario plants: what hosts send then, and what becomes of switches
//! and links.

use lab::switches::{Carried, Forwarding};
use linux::slowdown;
use measure::traffic::foreign::{Addressed, ForeignConfig};
use measure::traffic::{Foreign, Haste, Source};
use scenario::{
    Change, Destination, ErrorKind, Excess, FlowIndex, ForeignFrames, HostIndex, PlantedError,
    Scenario,
};
use sim::parts::{Fault, FaultAt};
use units::{DataSize, Duration, Instant};
use wire::ethernet::{EtherType, Header, MacAddress, VlanTag, wire_size};
use wire::{ipv4, udp};

use super::ExperimentError;
use super::load::{PROCESS_BUS_TAG, SOURCE_PORT, headers};
use super::traffic::describe as describe_change;

/// How many thousandths of its usual pace a source has that sends a burst.
const BURST_PACE: u32 = 1_000_000;
/// Less than any header of ours: nobody takes the frame for one of a flow.
const NO_MESSAGE: [u8; 4] = [0; 4];
const HOPS: u8 = 64;
/// The queue of a host for what has no priority.
const BEST_EFFORT: u8 = 0;

/// Returns when the clock of a flow's source runs fast, if an error says so.
pub(super) fn haste(scenario: &Scenario, flow: usize, start: Instant) -> Option<Haste> {
    scenario.errors.iter().find_map(|error| {
        let ErrorKind::Exceed { flow: of, excess } = error.kind else {
            return None;
        };
        let from = start + error.from;
        let (until, thousandths) = match excess {
            Excess::Factor { thousandths } => (end(error, start), thousandths),
            Excess::Burst(size) => {
                let rate = scenario.flows[flow].contract()?.rate;
                let usual = rate.time_to_send(size).round_up().as_ns();
                let pace = u64::from(BURST_PACE / 1_000);
                (from + Duration::from_ns(usual.div_ceil(pace)), BURST_PACE)
            }
        };
        (of == FlowIndex(flow)).then_some(Haste {
            from,
            until,
            thousandths,
        })
    })
}

/// Returns what hosts send that belongs to no flow, and through which of their queues,
/// from `start` on for `duration`.
pub(super) fn foreign(
    scenario: &Scenario,
    start: Instant,
    duration: Duration,
) -> impl Iterator<Item = (HostIndex, (Source, u8))> + '_ {
    scenario.errors.iter().filter_map(move |error| {
        let ErrorKind::Foreign {
            host,
            frames,
            rate,
            size,
        } = error.kind
        else {
            return None;
        };
        let frame = frame(scenario, host, frames, size);
        let config = ForeignConfig {
            every: rate.time_to_send(wire_size(frame.len())).round_up(),
            frame,
            addressed: match frames {
                ForeignFrames::FloodRandom => Addressed::Nobody,
                ForeignFrames::Like(_)
                | ForeignFrames::Tagged { .. }
                | ForeignFrames::FloodBroadcast => Addressed::AsWritten,
            },
            start: start + error.from,
            until: end(error, start).min(start + duration),
        };
        let queue = match frames {
            ForeignFrames::Like(flow) => scenario.class_of(&scenario.flows[flow.0]).queue,
            ForeignFrames::Tagged { priority } => priority,
            ForeignFrames::FloodRandom | ForeignFrames::FloodBroadcast => BEST_EFFORT,
        };
        Some((host, (Source::Foreign(Foreign::new(config)), queue)))
    })
}

/// Returns what becomes of simulated switches and links.
pub(super) fn faults(scenario: &Scenario, start: Instant) -> Vec<FaultAt> {
    let faults = scenario.errors.iter().flat_map(|error| {
        let [begins, ends] = match error.kind {
            ErrorKind::SlowSwitch { switch, extra } => {
                [extra, Duration::ZERO].map(|extra| Fault::Slow {
                    switch: switch.0,
                    extra,
                })
            }
            ErrorKind::SlowLink {
                link,
                by_thousandths,
            } => [by_thousandths, 0].map(|by_thousandths| Fault::SlowLink {
                link: link.0,
                by_thousandths,
            }),
            // The hosts see to it.
            ErrorKind::Exceed { .. } | ErrorKind::Foreign { .. } => return Vec::new(),
        };
        let begins = Some((error.from, begins));
        let ends = error.until.map(|until| (until, ends));
        let both = begins.into_iter().chain(ends);
        both.map(|(at, fault)| FaultAt {
            at: start + at,
            fault,
        })
        .collect()
    });
    faults.collect()
}

/// Makes sure that a lab can do what the scenario plants.
///
/// # Errors
///
/// If it cannot: only the kernel's forwarding can be made slower, and not by any time.
pub(super) fn in_the_lab(
    scenario: &Scenario,
    forwarding: Forwarding,
) -> Result<(), ExperimentError> {
    let is_kernel = forwarding == Forwarding::Kernel;
    let mut errors = scenario.errors.iter().filter_map(|error| {
        let why = match error.kind {
            ErrorKind::Exceed { .. } | ErrorKind::Foreign { .. } => return None,
            ErrorKind::SlowSwitch { .. } | ErrorKind::SlowLink { .. } if !is_kernel => {
                "the kernel has to forward for that (`--engine kernel`)".to_owned()
            }
            ErrorKind::SlowSwitch { extra, .. } if extra > slowdown::LONGEST => {
                format!("it keeps a processor for {} at most", slowdown::LONGEST)
            }
            ErrorKind::SlowSwitch { .. } | ErrorKind::SlowLink { .. } => return None,
        };
        Some(ExperimentError::NotInTheLab {
            at: error.from,
            what: describe(scenario, error.kind),
            why,
        })
    });
    if let Some(error) = errors.next() {
        return Err(error);
    }
    let takes_frames = |change| matches!(change, Change::Impair { .. });
    let mut events = scenario.events.iter();
    match (forwarding, events.find(|event| takes_frames(event.change))) {
        (Forwarding::Loop(Carried::Xdp), Some(event)) => {
            Err(ExperimentError::FaultTakesThePlaceOfXdp {
                at: event.at,
                what: describe_change(scenario, event.change),
            })
        }
        (Forwarding::Kernel | Forwarding::Loop(_), _) => Ok(()),
    }
}

/// Returns what an error is, for people.
pub(super) fn describe(scenario: &Scenario, error: ErrorKind) -> String {
    match error {
        ErrorKind::SlowSwitch { switch, extra } => {
            let name = &scenario.switches[switch.0].name;
            format!("switch {name} takes {extra} more for each frame")
        }
        ErrorKind::SlowLink {
            link,
            by_thousandths,
        } => format!(
            "link {} is slower by {}.{} %",
            scenario.links[link.0].name,
            by_thousandths / 10,
            by_thousandths % 10
        ),
        ErrorKind::Exceed { flow, .. } => {
            let name = &scenario.flows[flow.0].name;
            format!("flow {name} sends more than its contract")
        }
        ErrorKind::Foreign { host, rate, .. } => {
            let name = &scenario.hosts[host.0].name;
            format!("host {name} sends {rate} of no flow")
        }
    }
}

fn end(error: &PlantedError, start: Instant) -> Instant {
    error
        .until
        .map_or(Instant::FAR_FUTURE, |until| start + until)
}

/// Returns a frame of no flow. Behind its headers nothing is what a receiver looks for.
fn frame(scenario: &Scenario, host: HostIndex, frames: ForeignFrames, size: DataSize) -> Vec<u8> {
    let source = MacAddress(scenario.hosts[host.0].mac);
    let header = |destination, ether_type, vlan| Header {
        destination,
        source,
        vlan,
        ether_type,
    };
    let experimental = EtherType::LOCAL_EXPERIMENTAL_1;
    let mut frame = Vec::new();
    match frames {
        ForeignFrames::Like(flow) => like(scenario, flow, source, &mut frame),
        ForeignFrames::Tagged { priority } => {
            let neighbour = &scenario.hosts[(host.0 + 1) % scenario.hosts.len()];
            let tag = VlanTag {
                priority,
                drop_eligible: false,
                id: 0,
            };
            header(MacAddress(neighbour.mac), experimental, Some(tag)).emit(&mut frame);
        }
        ForeignFrames::FloodRandom | ForeignFrames::FloodBroadcast => {
            header(MacAddress::BROADCAST, experimental, None).emit(&mut frame);
        }
    }
    let length = usize::try_from(size.bytes_up()).expect("the size of a frame has a limit");
    frame.resize(length.max(frame.len()), 0);
    frame
}

/// Appends the headers of a flow, but for the station that the frame is from.
fn like(scenario: &Scenario, flow: FlowIndex, source: MacAddress, frame: &mut Vec<u8>) {
    let flow = &scenario.flows[flow.0];
    let (destination, ether_type, _) = headers(scenario, flow);
    let vlan = match flow.destination {
        Destination::Ethernet { .. } => Some(PROCESS_BUS_TAG),
        Destination::Udp { .. } | Destination::Tcp { .. } => None,
    };
    let header = Header {
        destination,
        source,
        vlan,
        ether_type,
    };
    header.emit(frame);
    match flow.destination {
        Destination::Ethernet { application, .. } => frame.extend(application.to_be_bytes()),
        Destination::Udp { ip, port, .. } | Destination::Tcp { ip, port, .. } => {
            let ip = ipv4::Header {
                source: scenario.hosts[flow.source.0].ip,
                destination: ip,
                protocol: ipv4::PROTOCOL_UDP,
                traffic_class: 0,
                time_to_live: HOPS,
            };
            let udp = udp::Header {
                source_port: SOURCE_PORT,
                destination_port: port,
            };
            udp.emit_packet(&ip, &NO_MESSAGE, frame);
        }
    }
}
