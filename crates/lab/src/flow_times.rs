//! What it costs to hold flows to their contracts and to watch their hops where there are
//! many of them: how many frames a second cross a switch and how long one takes, by the
//! kernel engine without and with both, and by Open vSwitch without either.
//!
//! Frames go to one flow after the other, each known by its own address. All ways take
//! turns; of several rounds the best counts, since others disturb the rest.
//!
//! - *throughput*: frames that arrive of a flood. The kernel engine forwards each within the
//!   call that sends it, so what counts is the processor time of who sends, host and switch.
//!   Open vSwitch has a processor of its own and loses what it cannot take: there it is the
//!   time that passes.
//! - *latency*: from where the driver of one host takes a frame to where that of the other
//!   hands it up, of frames that come one by one: the median.

use std::fs;
use std::io;
use std::os::unix::net::UnixStream;

use linux::clock;
use linux::namespace::Namespace;
use linux::openflow_client::Client;
use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::oxm::Masked;
use wire::openflow::{Action, MatchField, PortNumber};

use crate::bench_switch::{self, BenchError, BenchSwitch, Ends, Watching};
use crate::device_under_test::{DeviceUnderTest, Running};
use crate::stage::{LEFT, RIGHT, Testbed};
use crate::switches::Carried;

/// Entries for which the kernel engine has memory.
const ENTRIES: usize = 16_384;
/// Frames of one flood.
const FLOOD: usize = 100_000;
/// Frames whose latency is taken together, and the time between two.
const SINGLE: usize = 2_000;
const SPACING: Duration = Duration::from_us(250);
/// How long the last frames of a flood may be under way.
const PATIENCE: Duration = Duration::from_ms(200);
const PRIORITY: u16 = 10;

/// Who carries the frames, and what it does besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The kernel engine of a Taktos switch.
    Kernel(Watching),
    /// Open vSwitch's datapath in user space, over packet sockets.
    OpenVswitch,
}

/// The best of all rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WayTimes {
    /// Frames a second.
    pub throughput: f64,
    pub latency: Duration,
}

/// Returns the address of frames of a flow.
#[must_use]
pub fn address(flow: usize) -> MacAddress {
    let [.., b, c, d] = flow.to_be_bytes();
    MacAddress([2, 1, 0, b, c, d])
}

/// Builds what the ways need, and measures each with so many flows and frames of so many
/// bytes, in so many rounds.
///
/// # Errors
///
/// Without the privilege, if the kernel does not forward here, or Open vSwitch is not
/// installed.
pub fn measure(
    ways: &[Way],
    flows: usize,
    length: usize,
    rounds: usize,
) -> Result<Vec<WayTimes>, BenchError> {
    let frames: Vec<_> = (0..flows).map(|flow| frame(flow, length)).collect();
    let mut kernel = BenchSwitch::with_room_for(ENTRIES)?;
    kernel.tap()?;
    let mut rival = match ways.contains(&Way::OpenVswitch) {
        true => Some(Rival::start(flows)?),
        false => None,
    };
    let mut best = vec![WayTimes::default(); ways.len()];
    for _ in 0..rounds {
        for (way, best) in ways.iter().zip(&mut best) {
            let found = match (way, &mut rival) {
                (Way::Kernel(watching), _) => {
                    kernel.join_flows(flows, *watching)?;
                    times(kernel.ends(), &frames, clock::spent)?
                }
                (Way::OpenVswitch, Some(rival)) => times(&mut rival.ends, &frames, passed)?,
                (Way::OpenVswitch, None) => continue,
            };
            best.throughput = best.throughput.max(found.throughput);
            let is_first = best.latency == Duration::ZERO;
            if is_first || found.latency < best.latency {
                best.latency = found.latency;
            }
        }
    }
    Ok(best)
}

fn frame(flow: usize, length: usize) -> Vec<u8> {
    let mut frame = bench_switch::frame(length);
    frame[..6].copy_from_slice(&address(flow).0);
    frame
}

/// Returns the time that has passed since some moment.
fn passed() -> Duration {
    clock::now().saturating_since(Instant::ZERO)
}

fn times(ends: &mut Ends, frames: &[Vec<u8>], time: fn() -> Duration) -> io::Result<WayTimes> {
    // Records and caches are there from the second time on.
    for frame in frames {
        ends.flood(frame);
    }
    settled(ends)?;
    Ok(WayTimes {
        throughput: throughput(ends, frames, time)?,
        latency: latency(ends, frames)?,
    })
}

fn throughput(ends: &mut Ends, frames: &[Vec<u8>], time: fn() -> Duration) -> io::Result<f64> {
    let (before, began) = (settled(ends)?, time());
    for frame in frames.iter().cycle().take(FLOOD) {
        ends.flood(frame);
    }
    let took = time().saturating_sub(began);
    let arrived = settled(ends)?.saturating_sub(before);
    Ok(arrived as f64 / took.as_secs_f64())
}

/// Waits until no more frames arrive, and returns how many have.
fn settled(ends: &Ends) -> io::Result<u64> {
    let end = clock::now() + PATIENCE;
    let mut arrived = ends.arrived()?;
    loop {
        clock::sleep_until(clock::now() + Duration::from_ms(20));
        let now = ends.arrived()?;
        if now == arrived || clock::now() > end {
            return Ok(now);
        }
        arrived = now;
    }
}

fn latency(ends: &mut Ends, frames: &[Vec<u8>]) -> io::Result<Duration> {
    ends.forget_the_past();
    let mut taken = Vec::with_capacity(SINGLE);
    let mut due = clock::now() + SPACING;
    for frame in frames.iter().cycle().take(SINGLE) {
        clock::sleep_until(due);
        due = (due + SPACING).max(clock::now());
        taken.extend(ends.stamps().map(time_of));
        ends.send(frame)?;
    }
    clock::sleep_until(due);
    taken.extend(ends.stamps().map(time_of));
    let middle = taken.len() / 2;
    if taken.len() * 2 < SINGLE {
        return Err(io::Error::other("most single frames were lost"));
    }
    let (_, median, _) = taken.select_nth_unstable(middle);
    Ok(*median)
}

fn time_of((left, arrived): (Instant, Instant)) -> Duration {
    arrived.saturating_since(left)
}

/// An Open vSwitch between two hosts of its own.
#[derive(Debug)]
struct Rival {
    ends: Ends,
    _running: Running,
    _stage: Testbed,
}

impl Rival {
    fn start(flows: usize) -> Result<Self, BenchError> {
        let stage = Testbed::build(2)?;
        let subject = DeviceUnderTest::OpenVswitch(Carried::Packet);
        let running = Running::start(&subject, &stage).map_err(io::Error::other)?;
        let none = || io::Error::from(io::ErrorKind::NotFound);
        let socket = running.control().ok_or_else(none)?;
        let mut agent: Client<UnixStream> = Client::connect(socket).map_err(io::Error::other)?;
        for flow in 0..flows {
            let to = MatchField::EthDst(Masked::exact(address(flow)));
            agent.add(PRIORITY, &[to], &[Action::output(PortNumber(2))])?;
        }
        agent.await_all().map_err(io::Error::from)?;
        let side = |side: usize| (&stage.hosts[side], stage.interface(side));
        Ok(Self {
            ends: Ends::open(side(LEFT), side(RIGHT), true)?,
            _running: running,
            _stage: stage,
        })
    }
}

/// Returns how many frames a namespace has received over all its links.
///
/// # Errors
///
/// If the kernel does not count.
pub(crate) fn received(namespace: &Namespace) -> io::Result<u64> {
    let table = namespace.run(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
    let lines = table.lines().filter_map(|line| line.split_once(':'));
    let links = lines.filter(|(name, _)| name.trim() != "lo");
    let counts = links.filter_map(|(_, counters)| counters.split_whitespace().nth(1));
    let counts = counts.map(|count| count.parse::<u64>().map_err(io::Error::other));
    counts.sum()
}
