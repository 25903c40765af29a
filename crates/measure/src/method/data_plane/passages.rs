//! Frames of several sizes that cross a device by one flow table, and how long the
//! device works on each (LOKO section 3.3.2).
//!
//! All sizes share one trial: the table is filled once, the sizes take turns, and no
//! frame comes before the one ahead of it has left. The time is LOKO Eq. (4),
//!
//! ```text
//! p = M - t(l) - t(8)
//! ```

use std::collections::BTreeMap;

use units::{BitRate, Duration, Instant};
use wire::ethernet::wire_size;

use crate::Contract;
use crate::identity::{FlowKey, identify};
use crate::method::control_plane::exchange::Replies;
use crate::method::known_times::KnownTimes;
use crate::method::orders::{self, Version};
use crate::method::table_setting::{FROM, TO, TableSetting, addresses};
use crate::stalls::Shadows;
use crate::statistics::Distribution;
use crate::traffic::Source;
use crate::traffic::udp::{DatagramConfig, Pattern, Udp};
use crate::trial::{Order, Sighting, Sourced, Stream, Tester, Trial, TrialError, Watcher, Way};

const CHECK_SEQUENCE: u16 = 4;
/// How much longer a frame may leave than it came: a tag.
const TAG: usize = 4;
/// The number of the barrier behind the entries.
const FILLED: u32 = 1;
/// How many times longer than adding an entry deleting all of them may take.
const SLOW_START: u64 = 20;
/// The longest that a device may take to fill its table.
const LONGEST_FILL: Duration = Duration::from_secs(10);
/// The most bytes of entries that are handed over as one piece.
const PIECE_BYTES: usize = 32_768;
/// Faster than any spacing asks for.
const UNLIMITED: BitRate = BitRate::from_mbps(1_000_000);

/// How frames follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The time between two frames: longer than the device works on one.
    pub spacing: Duration,
    /// How many frames of each size.
    pub frames: u16,
    /// How long the agent has to fill the table.
    pub fill: Duration,
    /// How long the last frame has.
    pub drain: Duration,
}

impl Pace {
    /// Returns a pace that suits a device: between namespaces short, over a cable of
    /// known rate long enough for a device of the slowest kind.
    #[must_use]
    pub fn of(tester: &dyn Tester, frames: u16) -> Self {
        let is_slow = tester.setup().rate.is_some();
        let link = tester.control_link();
        Self {
            spacing: match is_slow {
                true => Duration::from_ms(5),
                false => Duration::from_us(500),
            },
            frames,
            fill: Duration::from_ms(20) + link.apart * 100u64,
            drain: Duration::from_ms(20),
        }
    }
}

/// What was seen of the frames of one size.
#[derive(Clone, Debug, Default)]
pub struct Passed {
    /// How long the device worked on each.
    pub times: Distribution,
    pub sent: u64,
    /// Frames that did not come out.
    pub lost: u64,
    /// Frames that came out, but crossed while the machine stood still or made up for
    /// it: their times are left out.
    pub disturbed: u64,
}

/// What was seen of all frames that crossed by one table.
#[derive(Clone, Debug, Default)]
pub struct Passages {
    /// By the size of the frames, check sequence included, in bytes.
    pub by_size: BTreeMap<u16, Passed>,
    /// The type and code of the error by which the device refused an entry.
    pub refused: Option<(u16, u16)>,
}

/// Fills the table, lets frames cross, and says what was seen. Lengthens the time
/// that the agent has to fill the table where it was too short.
///
/// # Errors
///
/// If a trial cannot be made, or the device does not fill its table within ten
/// seconds.
pub fn measure(
    tester: &mut dyn Tester,
    table: &TableSetting,
    sizes: &[u16],
    pace: &mut Pace,
) -> Result<Passages, TrialError> {
    let messages = messages_of(tester, table);
    measure_by(tester, messages, sizes, pace)
}

/// Does the same with a table that these messages fill.
///
/// # Errors
///
/// As of [`measure`].
pub fn measure_by(
    tester: &mut dyn Tester,
    messages: Vec<Vec<u8>>,
    sizes: &[u16],
    pace: &mut Pace,
) -> Result<Passages, TrialError> {
    loop {
        let trial = trial_of(tester, &messages, sizes, *pace);
        let mut watch = PassageWatch::new(sizes);
        let shadows = tester.run(trial, &mut watch)?.stalls.shadows();
        let first = watch.first_sent();
        let filled = watch.replies.heard.get(&FILLED).map(|it| it.at);
        if filled.is_some_and(|filled| filled <= first) {
            let known = KnownTimes::of_frames(tester.setup());
            return Ok(watch.passages(known, &shadows));
        }
        if pace.fill >= LONGEST_FILL {
            return Err(TrialError::Unable {
                device: tester.setup().device.clone(),
                reason: format!(
                    "its agent did not confirm {} messages within {LONGEST_FILL}: try fewer entries",
                    messages.len()
                ),
            });
        }
        pace.fill = pace.fill * 2u64;
    }
}

fn trial_of(tester: &dyn Tester, messages: &[Vec<u8>], sizes: &[u16], pace: Pace) -> Trial {
    let (orders, said) = filling(tester, messages);
    let begin = said + pace.fill;
    let turns = pace.spacing * sizes.len() as u64;
    let length = turns * u64::from(pace.frames);
    let streams = (0u64..).zip(sizes).map(|(place, size)| {
        let start = begin + pace.spacing * place;
        stream(*size, turns, start, length)
    });
    Trial {
        streams: streams.collect(),
        orders,
        length: begin + length,
        drain: pace.drain,
        ..Trial::default()
    }
}

/// Returns the messages that fill a table from whatever it was.
pub fn messages_of(tester: &dyn Tester, table: &TableSetting) -> Vec<Vec<u8>> {
    let version = Version::of(tester.control_link().version).unwrap_or(Version::V13);
    let adds = table.entries().map(|entry| version.addition(&entry));
    std::iter::once(version.delete_all()).chain(adds).collect()
}

/// Returns the orders that hand over messages and a barrier behind them, and when the
/// last of them is said.
pub fn filling(tester: &dyn Tester, messages: &[Vec<u8>]) -> (Vec<Order>, Duration) {
    let link = tester.control_link();
    let version = Version::of(link.version).unwrap_or(Version::V13);
    let mut barrier = version.barrier();
    orders::number(&mut barrier, FILLED);
    let messages = messages.iter().cloned().chain([barrier]);
    let mut due = Duration::ZERO;
    let mut orders = Vec::new();
    if link.apart > Duration::ZERO {
        for (place, bytes) in messages.enumerate() {
            orders.push(Order { due, bytes });
            due += link.apart * if place == 0 { SLOW_START } else { 1 };
        }
        return (orders, due);
    }
    let mut bytes = Vec::new();
    for message in messages {
        bytes.extend(message);
        if bytes.len() >= PIECE_BYTES {
            let bytes = std::mem::take(&mut bytes);
            orders.push(Order { due, bytes });
        }
    }
    orders.push(Order { due, bytes });
    (orders, due)
}

/// Returns a stream of frames of one size, check sequence included.
pub fn stream(size: u16, period: Duration, start: Duration, length: Duration) -> Stream {
    let frame_length = usize::from(size.saturating_sub(CHECK_SEQUENCE));
    let start = Instant::ZERO + start;
    let source = Udp::new(&DatagramConfig {
        addresses: addresses(),
        frame_length: frame_length.clamp(shortest(), addresses().longest_frame()),
        contract: Contract {
            rate: UNLIMITED,
            burst: wire_size(addresses().longest_frame()),
        },
        pattern: Pattern::Bursts { period, frames: 1 },
        start,
        until: Some(start + length),
    });
    Stream::new(FROM, Sourced(Source::Udp(source)))
}

fn shortest() -> usize {
    addresses()
        .shortest_frame()
        .max(wire::ethernet::SHORTEST_FRAME)
}

/// The times of one frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct FrameTimes {
    pub sent: Option<Instant>,
    pub came: Option<Instant>,
}

/// When frames were sent and came out, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct Crossings(pub Vec<FrameTimes>);

impl Watcher for Crossings {
    fn see(&mut self, sighting: &Sighting<'_>) {
        let Some(number) = number_of(sighting.bytes) else {
            return;
        };
        if self.0.len() <= number {
            self.0.resize(number + 1, FrameTimes::default());
        }
        match (sighting.port, sighting.way) {
            (FROM, Way::Sent) => self.0[number].sent = Some(sighting.at),
            (TO, Way::Received) => self.0[number].came = Some(sighting.at),
            (_, Way::Sent | Way::Received) => {}
        }
    }
}

/// Pairs frames by size and number.
struct PassageWatch {
    sizes: Vec<u16>,
    frames: BTreeMap<u16, Crossings>,
    replies: Replies,
}

impl PassageWatch {
    fn new(sizes: &[u16]) -> Self {
        Self {
            sizes: sizes.to_vec(),
            frames: BTreeMap::new(),
            replies: Replies::default(),
        }
    }

    fn first_sent(&self) -> Instant {
        let all = self.frames.values().flat_map(|frames| &frames.0);
        all.filter_map(|it| it.sent)
            .min()
            .unwrap_or(Instant::FAR_FUTURE)
    }

    /// Returns the size with which a frame was sent: it may have gained a tag.
    fn size_of(&self, length: usize) -> Option<u16> {
        let mut sizes = self.sizes.iter().copied();
        sizes.find(|size| {
            let sent = usize::from(size.saturating_sub(CHECK_SEQUENCE)).max(shortest());
            (sent..=sent + TAG).contains(&length)
        })
    }

    fn passages(&self, known: KnownTimes, shadows: &Shadows) -> Passages {
        let mut passages = Passages {
            refused: self.replies.refused.values().next().copied(),
            ..Passages::default()
        };
        for size in &self.sizes {
            let mut passed = Passed::default();
            let frames = self.frames.get(size).into_iter();
            for times in frames.flat_map(|frames| &frames.0) {
                let Some(sent) = times.sent else { continue };
                passed.sent += 1;
                let Some(came) = times.came else {
                    passed.lost += 1;
                    continue;
                };
                if shadows.touch(sent, came) {
                    passed.disturbed += 1;
                    continue;
                }
                let measured = came.saturating_since(sent);
                let time = measured.saturating_sub(known.of_frame(u64::from(*size)));
                passed.times.record(time);
            }
            passages.by_size.insert(*size, passed);
        }
        passages
    }
}

impl Watcher for PassageWatch {
    fn see(&mut self, sighting: &Sighting<'_>) {
        if let Some(size) = self.size_of(sighting.length) {
            self.frames.entry(size).or_default().see(sighting);
        }
    }

    fn hear(&mut self, at: Instant, bytes: &[u8]) {
        self.replies.hear(at, bytes);
    }

    fn ordered(&mut self, order: usize, at: Instant) {
        self.replies.ordered(order, at);
    }
}

/// Returns the number of a frame of ours, whatever an entry has rewritten.
pub fn number_of(frame: &[u8]) -> Option<usize> {
    let identity = identify(frame)?;
    let ours = addresses();
    let is_ours = match identity.key {
        FlowKey::Datagram {
            destination, port, ..
        } => destination == ours.destination && port == ours.destination_port,
        FlowKey::SampledValues { .. } | FlowKey::Goose { .. } | FlowKey::Mms { .. } => false,
    };
    let number = usize::try_from(identity.number).ok()?;
    (is_ours && number < MOST_FRAMES).then_some(number)
}

/// No trial here has more frames of one size.
const MOST_FRAMES: usize = 1 << 24;
