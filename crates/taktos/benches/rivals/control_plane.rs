//! Is a barrier exact, and how long does a flow-mod take?
//!
//! All entries mark a frame with the number of the latest change. A frame says
//! which change its sender knew to be confirmed by a barrier reply when it was
//! sent. A frame that bears an older mark than that was treated by the old rules
//! after the barrier.
//!
//! A change is in effect between two frames, by the kernel's stamps: the last one
//! that arrives with an older mark, and the first one after it.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;

use linux::clock::{self, WallClock};
use linux::port::PacketPort;
use linux::tap::{Captured, Tap};
use measure::statistics::Distribution;
use units::{Duration, Instant};
use wire::ethernet::{EtherType, MacAddress};
use wire::openflow::oxm::Masked;
use wire::openflow::{FlowModCommand, MatchField, PortNumber};

use crate::controller::{Controller, Treatment};
use crate::traffic;
use lab::stage::{LEFT, RIGHT, Testbed};

/// Holds 8192 frames.
const TAP_BYTES: usize = 16 << 20;
const SENDER_BYTES: usize = 1 << 16;
/// How many of the entries frames are sent to; spread over all of them.
const PROBED: u32 = 64;
/// How far apart frames are.
pub const SPACING: Duration = Duration::from_us(10);
const SETTLING: Duration = Duration::from_ms(5);
const PRIORITY: u16 = 200;
/// How long a subject may take to answer a barrier.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the stream goes on after a barrier reply while old rules treat it.
const LONGEST_STALE: Duration = Duration::from_ms(50);

/// Whether frames flow while rules change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Only after the barrier reply.
    Idle,
    Stream,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "frames after the reply",
            Self::Stream => "frames all the time",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    /// One flow-mod for all of them.
    FlowMod,
    /// A flow-mod for each of them, all in one bundle.
    Bundle,
}

impl fmt::Display for Means {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FlowMod => "one flow-mod",
            Self::Bundle => "a bundle",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Condition {
    pub entries: u32,
    pub means: Means,
    pub load: Load,
}

/// What was found under one condition.
#[derive(Clone, Debug)]
pub struct Finding {
    pub condition: Condition,
    /// How often rules were changed.
    pub changes: u32,
    /// After how many of the changes a frame was treated by old rules.
    pub inexact: u32,
    /// How many frames arrived that were sent after a barrier reply.
    pub frames: u64,
    /// How many of them were treated by old rules.
    pub stale: u64,
    /// How many of all frames did not arrive.
    pub lost: u64,
    /// From the first byte to the barrier reply.
    pub reply: Distribution,
    /// From the first byte to the last frame by old rules.
    pub last_old: Distribution,
    /// From the first byte to the first frame after it.
    pub first_new: Distribution,
}

/// Changes entries so many times.
pub fn measure(
    stage: &Testbed,
    controller: &mut Controller,
    condition: Condition,
    changes: u32,
) -> io::Result<Finding> {
    install(controller, condition.entries)?;
    let mut bench = Bench::open(stage, condition.entries)?;
    let mut finding = Finding {
        condition,
        changes,
        inexact: 0,
        frames: 0,
        stale: 0,
        lost: 0,
        reply: Distribution::default(),
        last_old: Distribution::default(),
        first_new: Distribution::default(),
    };
    bench.probe_all(0);
    wait(SETTLING);
    bench.drain();
    for change in 1..=changes {
        bench.change(controller, change, &mut finding)?;
    }
    wait(SETTLING);
    bench.drain();
    finding.lost = bench.sent.saturating_sub(bench.arrived);
    (finding.frames, finding.stale) = (bench.confirmed, bench.stale);
    Ok(finding)
}

fn address(entry: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a40_0000 + entry)
}

fn mark(change: u32) -> Treatment {
    let [a, b, c, d] = change.to_be_bytes();
    let source = MacAddress([0x02, 0x77, a, b, c, d]);
    Treatment {
        mark: Some(MatchField::EthSrc(Masked::exact(source))),
        queue: None,
        output: PortNumber(2),
    }
}

fn mark_of(frame: &[u8]) -> Option<u32> {
    let source: [u8; 6] = frame.get(6..12)?.try_into().ok()?;
    let [0x02, 0x77, a, b, c, d] = source else {
        return None;
    };
    Some(u32::from_be_bytes([a, b, c, d]))
}

fn asked(entry: u32) -> [MatchField; 2] {
    [
        MatchField::EthType(EtherType::IPV4),
        MatchField::Ipv4Dst(Masked::exact(address(entry))),
    ]
}

/// Says what changes all entries.
fn say(controller: &mut Controller, condition: Condition, change: u32) {
    match condition.means {
        Means::FlowMod => {
            let everything = [MatchField::EthType(EtherType::IPV4)];
            controller.change(FlowModCommand::Modify, PRIORITY, &everything, &mark(change));
        }
        Means::Bundle => {
            controller.open_bundle();
            for entry in 0..condition.entries {
                let command = FlowModCommand::ModifyStrict;
                controller.change(command, PRIORITY, &asked(entry), &mark(change));
            }
            controller.commit_bundle();
        }
    }
}

fn install(controller: &mut Controller, entries: u32) -> io::Result<()> {
    const PIECE: u32 = 500;
    controller.replace_entries(&[])?;
    for entry in 0..entries {
        controller.change(FlowModCommand::Add, PRIORITY, &asked(entry), &mark(0));
        if entry % PIECE == PIECE - 1 {
            controller.finish()?;
        }
    }
    controller.finish()
}

struct Bench {
    sender: PacketPort,
    tap: Tap,
    wall: WallClock,
    frames: Vec<Vec<u8>>,
    next: usize,
    due: Instant,
    sent: u64,
    arrived: u64,
    /// Frames that were sent after a barrier reply.
    confirmed: u64,
    /// Those of them that older rules treated.
    stale: u64,
    change: u32,
    /// When the last frame that an older change treated arrived.
    last_old: Instant,
    /// When the first frame after it arrived.
    first_new: Option<Instant>,
}

impl Bench {
    fn open(stage: &Testbed, entries: u32) -> io::Result<Self> {
        let [left, right] = [LEFT, RIGHT].map(|side| stage.interface(side));
        let probed = PROBED.min(entries);
        let entry = |n: u32| n * (entries - 1) / (probed - 1).max(1);
        Ok(Self {
            sender: stage.hosts[LEFT].run(|| PacketPort::open(left, SENDER_BYTES))?,
            tap: stage.hosts[RIGHT].run(|| Tap::open(right, TAP_BYTES))?,
            wall: WallClock::sample(),
            frames: (0..probed)
                .map(|n| traffic::frame_to(address(entry(n))))
                .collect(),
            next: 0,
            due: clock::now(),
            sent: 0,
            arrived: 0,
            confirmed: 0,
            stale: 0,
            change: 0,
            last_old: Instant::ZERO,
            first_new: None,
        })
    }

    /// Changes all entries once, and sends frames to each of those that are probed
    /// after the reply.
    fn change(
        &mut self,
        controller: &mut Controller,
        change: u32,
        finding: &mut Finding,
    ) -> io::Result<()> {
        let condition = finding.condition;
        self.change = change;
        self.first_new = None;
        self.wall.follow();
        let stale_before = self.stale;
        say(controller, condition, change);
        let barrier = controller.barrier();
        let asked = clock::now();
        while !controller.has_answered(barrier)? {
            controller.flush_step()?;
            if condition.load == Load::Stream {
                self.probe_if_due(change - 1);
            }
            if clock::now() - asked > PATIENCE {
                return Err(io::Error::other("no answer to a barrier"));
            }
        }
        let replied = clock::now();
        finding.reply.record(replied - asked);
        self.probe_all(change);
        if condition.load == Load::Stream {
            while clock::now() - self.last_old < SPACING * PROBED
                && clock::now() - replied < LONGEST_STALE
            {
                self.probe_if_due(change);
            }
            let since = |moment: Instant| moment.saturating_since(asked);
            finding.last_old.record(since(self.last_old));
            if let Some(first_new) = self.first_new {
                finding.first_new.record(since(first_new));
            }
        }
        finding.inexact += u32::from(self.stale > stale_before);
        Ok(())
    }

    /// Sends one frame to each of the probed entries, and at least [`PROBED`].
    fn probe_all(&mut self, confirmed: u32) {
        for _ in 0..PROBED {
            while !self.probe_if_due(confirmed) {}
        }
    }

    fn probe_if_due(&mut self, confirmed: u32) -> bool {
        let now = clock::now();
        if now < self.due {
            self.drain();
            return false;
        }
        self.due = (self.due + SPACING).max(now);
        let frame = &mut self.frames[self.next];
        traffic::sign(frame, 0, confirmed);
        self.sender.send(frame);
        self.sent += 1;
        self.next = (self.next + 1) % self.frames.len();
        true
    }

    fn drain(&mut self) {
        let (change, wall) = (self.change, &self.wall);
        let (arrived, after, stale) = (&mut self.arrived, &mut self.confirmed, &mut self.stale);
        let (last_old, first_new) = (&mut self.last_old, &mut self.first_new);
        let mut note = |seen: Captured<'_>| {
            let Some((mark, confirmed)) = mark_of(seen.bytes).zip(traffic::confirmed(seen.bytes))
            else {
                return;
            };
            *arrived += 1;
            *after += u64::from(confirmed > 0);
            *stale += u64::from(mark < confirmed);
            let moment = wall.to_monotonic(seen.stamp);
            if mark < change {
                (*last_old, *first_new) = (moment, None);
            } else {
                first_new.get_or_insert(moment);
            }
        };
        while self.tap.take(&mut note).is_some() {}
    }
}

fn wait(time: Duration) {
    clock::sleep_until(clock::now() + time);
}
