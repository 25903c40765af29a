//! All that a device profile needs, in one go: how long the device works on a frame
//! and on a message, how fast it is, and how much it holds (S4-1 to S4-5).
//!
//! | value | how |
//! |---|---|
//! | latency | the processing time of frames through a table, LOKO Eq. (4) |
//! | time a frame | the highest rate without loss, by halving |
//! | time a mask, an action | latency with many of them, less that with one |
//! | pool | what is in the device when a burst at the rate of the cable first loses |
//! | messages | LOKO Eqs. (1) and (2); frames to and from the controller directly |
//!
//! By exact stamps a value is the longest that was seen; by those of a machine that
//! does other things as well it is the 99th percentile, frames in a stall of the
//! machine left out, and the greatest stands beside it.
//!
//! # Left out
//!
//! A cable without a rate fills no queue, so that what the device holds is taken as
//! it is stated.

mod punts;
mod text;

use units::{BitRate, Duration};
use wire::ethernet::EtherType;
use wire::openflow10::{Action, AddressPrefix, Match10};

use super::control_plane::{barrier_time, exchange, messages, version_of};
use super::data_plane::capacity;
use super::data_plane::passages::{self, Pace, Passed};
use super::orders::Version;
use super::table_setting::{MOST_ENTRIES, MatchType, TableSetting};
use super::{Effort, Findings, Method, MethodError, Progress, Settings};
use crate::measurement::Value;
use crate::statistics::Distribution;
use crate::trial::{Stamps, Tester};

pub use text::to_toml;

/// What the method is called.
pub const METHOD_NAME: &str = "profile";

/// `taktos measure profile`.
pub const METHOD: Method = Method {
    name: METHOD_NAME,
    finds: "all that a profile of the device needs (S4-1 to S4-5)",
    options: &[
        ("entries", "entries of the table that frames cross [17]"),
        ("match", "the fields on which they match [five-tuple]"),
        (
            "size",
            "bytes of frames with their check sequence [64,1516]",
        ),
        ("packets", "frames of each size [2000, quick 200]"),
        ("samples", "samples of each message [100, quick 20]"),
        (
            "table",
            "entries of the table whose deletion is measured [128]",
        ),
        (
            "pool-frames",
            "what the device holds, where no cable's rate can fill it [4096]",
        ),
        ("queue-frames", "what a queue of it holds, likewise [512]"),
    ],
    run,
};

const FRAMES: u16 = 2_000;
const QUICK_FRAMES: u16 = 200;
const SAMPLES: u16 = 100;
const QUICK_SAMPLES: u16 = 20;
const TABLE: u16 = 128;
/// Frames of one trial of a rate.
const RATE_FRAMES: u64 = 4_000;
/// The most frames a second that are tried where the cable has no rate.
const MOST_FRAMES_A_SECOND: u64 = 1_000_000;
/// The precision of the search, as a part of the highest rate.
const PRECISION_PARTS: u64 = 2_000;
/// How often a rate is tried before it counts as one with losses: while the machine did
/// not stand still, and in all.
const TRIES: usize = 2;
const MOST_TRIES: usize = 6;
/// The masks and actions of which the cost of one is taken.
const MASKS: u8 = 24;
const ACTIONS: u8 = 9;
const STEPS: u64 = 6;

struct ProfileOptions {
    table: TableSetting,
    sizes: Vec<u16>,
    frames: u16,
    samples: u16,
    deleted: u16,
    pool: u64,
    queue: u64,
}

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let version = version_of(tester)?;
    if tester.setup().ports.len() < 2 || !tester.setup().one_clock {
        return Err(MethodError::Unsuitable(
            "a profile needs two ports whose stamps come from one clock".to_owned(),
        ));
    }
    let choice = ProfileOptions::of(settings)?;
    let exact = matches!(tester.setup().stamps, Stamps::Virtual | Stamps::Hardware);
    let mut found = ProfileMeasurement {
        exact,
        change: Duration::ZERO,
        findings: Findings::default(),
    };
    let mut pace = Pace::of(tester, choice.frames);
    progress.step(0, STEPS, "latency");
    found.latency(tester, &choice, &mut pace)?;
    progress.step(1, STEPS, "time a frame");
    found.per_frame(tester, &choice)?;
    if tester.setup().rate.is_none() {
        progress.step(2, STEPS, "masks and actions");
        found.lookup(tester, version, &choice)?;
    }
    progress.step(3, STEPS, "buffers");
    found.buffers(tester, &choice)?;
    progress.step(4, STEPS, "messages");
    found.messages(tester, version, &choice)?;
    progress.step(5, STEPS, "frames of the controller");
    found.punts(tester, &choice)?;
    progress.step(STEPS, STEPS, "done");
    Ok(found.findings)
}

impl ProfileOptions {
    fn of(settings: &Settings) -> Result<Self, MethodError> {
        let (frames, samples) = match settings.effort {
            Effort::Full => (FRAMES, SAMPLES),
            Effort::Quick => (QUICK_FRAMES, QUICK_SAMPLES),
        };
        let choice = Self {
            table: TableSetting {
                fields: settings.option("match", MatchType::FiveTuple)?,
                ..TableSetting::five_tuples(settings.within("entries", 17, 1..=MOST_ENTRIES)?)
            },
            sizes: settings.list_within("size", vec![64, 1_516], 64..=1_518)?,
            frames: settings.option("packets", frames)?,
            samples: settings.option("samples", samples)?,
            deleted: settings.within("table", TABLE, 1..=MOST_ENTRIES)?,
            pool: settings.option("pool-frames", 4_096)?,
            queue: settings.option("queue-frames", 512)?,
        };
        if choice.sizes.is_empty() || choice.frames == 0 || choice.samples == 0 {
            return Err(MethodError::refusing("size, packets or samples", "nothing"));
        }
        Ok(choice)
    }
}

struct ProfileMeasurement {
    exact: bool,
    /// How long changing an entry takes.
    change: Duration,
    findings: Findings,
}

impl ProfileMeasurement {
    fn latency(
        &mut self,
        tester: &mut dyn Tester,
        choice: &ProfileOptions,
        pace: &mut Pace,
    ) -> Result<(), MethodError> {
        let passages = passages::measure(tester, &choice.table, &choice.sizes, pace)?;
        let mut all = Passed::default();
        for (size, passed) in passages.by_size {
            self.beside("processing time", "size", size, &passed.times);
            all.times.merge(&passed.times);
            all.lost += passed.lost;
            all.disturbed += passed.disturbed;
        }
        if all.lost + all.disturbed > 0 {
            self.findings.remarks.push(format!(
                "Of the frames whose latency was measured {} were lost, and {} were left out since \
                 the machine stood still while they crossed.",
                all.lost, all.disturbed
            ));
        }
        if all.times.count() == 0 && all.disturbed > 0 {
            return Err(MethodError::Unsuitable(format!(
                "the machine stood still while each of {} frames crossed: measure again when it has \
                 less to do (`taktos measure stall` shows whether it has)",
                all.disturbed
            )));
        }
        let how = format!(
            "LOKO Eq. (4), {} B through {} entries of {}",
            list(&choice.sizes),
            choice.table.count,
            choice.table.fields.name()
        );
        self.time(tester, "processing.latency", &how, &all.times)
    }

    fn per_frame(
        &mut self,
        tester: &mut dyn Tester,
        choice: &ProfileOptions,
    ) -> Result<(), MethodError> {
        capacity::fill(tester, &choice.table)?;
        let mut longest = Duration::ZERO;
        for size in &choice.sizes {
            let Some(rate) = highest_rate(tester, *size)? else {
                return Err(MethodError::Unsuitable(format!(
                    "{} loses frames of {size} bytes at every rate",
                    tester.setup().device
                )));
            };
            let bits = units::DataSize::from_bytes(u64::from(*size));
            longest = longest.max(rate.time_to_send(bits).round_up());
            let name = ("throughput, searched", "S4-3, RFC 2544 section 26.1");
            let setting = vec![super::choice("size", size)];
            self.findings.add(name, &setting, Value::Rate(rate));
        }
        let how = format!(
            "the highest rate without loss, by halving, {RATE_FRAMES} frames a trial, {} B; what the \
             tester needs for a frame is in it where the cable has no rate",
            list(&choice.sizes)
        );
        self.state(
            "processing.per_frame",
            "measured",
            how,
            Value::Time(longest),
        );
        Ok(())
    }

    fn lookup(
        &mut self,
        tester: &mut dyn Tester,
        version: Version,
        choice: &ProfileOptions,
    ) -> Result<(), MethodError> {
        let mut median = |masks, actions| -> Result<Duration, MethodError> {
            let times = crossing(tester, version, (masks, actions), choice.frames)?;
            Ok(times.quantile(500).unwrap_or_default())
        };
        let alone = median(0, 0)?;
        let masks = median(MASKS, 0)?;
        let actions = median(0, ACTIONS)?;
        let each = |with: Duration, count: u8| {
            let more = with.saturating_sub(alone).as_ns();
            Duration::from_ns(more.div_ceil(u64::from(count)))
        };
        let how = |what: &str, count: u8| {
            format!(
                "median with {count} more {what} less that with none, {} frames each",
                choice.frames
            )
        };
        let stated = "measured";
        let mask = Value::Time(each(masks, MASKS));
        self.state("lookup.per_mask", stated, how("masks", MASKS), mask);
        let most =
            "as in the profile that is shipped: the entries of the controller's flows have up to 6";
        self.state("lookup.masks", "stated", most.to_owned(), Value::Count(8));
        let action = Value::Time(each(actions, ACTIONS));
        self.state("lookup.per_action", stated, how("actions", ACTIONS), action);
        let most = "as in the profile that is shipped: a queue, and one output or a few";
        self.state("lookup.actions", "stated", most.to_owned(), Value::Count(4));
        Ok(())
    }

    fn buffers(
        &mut self,
        tester: &mut dyn Tester,
        choice: &ProfileOptions,
    ) -> Result<(), MethodError> {
        let mut least: Option<u64> = None;
        if let Some(cable) = tester.setup().rate {
            for size in &choice.sizes {
                let held = capacity::held_at_first_loss(tester, *size, cable)?;
                least = held.map(|held| least.unwrap_or(held).min(held)).or(least);
            }
        }
        let (pool, queue, origin, how) = match least {
            Some(held) => {
                let how =
                    "S4-4: in the device when a burst at the rate of the cable first lost a frame";
                (held, held, "measured", how)
            }
            None => {
                let how = "no burst lost a frame, or the cable has no rate that could fill a queue";
                (choice.pool, choice.queue, "stated", how)
            }
        };
        self.state(
            "buffers.pool_frames",
            origin,
            how.to_owned(),
            Value::Count(pool),
        );
        self.state(
            "buffers.queue_frames",
            origin,
            how.to_owned(),
            Value::Count(queue),
        );
        Ok(())
    }

    fn messages(
        &mut self,
        tester: &mut dyn Tester,
        version: Version,
        choice: &ProfileOptions,
    ) -> Result<(), MethodError> {
        let barrier = barrier_time(tester, choice.samples)?;
        let mut changes = Distribution::default();
        let table = messages::with_table(version, choice.deleted, 1);
        let changing = table.iter().filter(|it| it.name.starts_with("FlowMod"));
        for point in changing {
            let times = exchange::measure(tester, &point.exchange, choice.samples, barrier)?;
            changes.merge(&times.times);
        }
        let how = format!(
            "LOKO Eq. (2), changes of a table of {} entries",
            choice.deleted
        );
        self.time(tester, "control.flow_mod", &how, &changes)?;
        self.change = changes.quantile(990).unwrap_or_default();
        for (key, name) in [("barrier", "BarrierRequest"), ("echo", "EchoRequest")] {
            let all = messages::simple(version);
            let Some(point) = all.iter().find(|point| point.name == name) else {
                continue;
            };
            let times = exchange::measure(tester, &point.exchange, choice.samples, barrier)?;
            self.time(
                tester,
                &format!("control.{key}"),
                "LOKO Eq. (1)",
                &times.times,
            )?;
        }
        Ok(())
    }

    fn punts(
        &mut self,
        tester: &mut dyn Tester,
        choice: &ProfileOptions,
    ) -> Result<(), MethodError> {
        let punts = punts::measure(tester, choice.samples)?;
        let up = "from the frame to its message, 64 B";
        let out = "from the message to its frame, 64 B";
        for (name, how, times) in [
            ("control.packet_in", up, &punts.packet_in),
            ("control.packet_out", out, &punts.packet_out),
        ] {
            if times.count() > 0 {
                self.time(tester, name, how, times)?;
                continue;
            }
            let how =
                "nothing came while it was measured: taken to be as long as changing an entry";
            let value = Value::Time(self.change);
            self.state(name, "stated", how.to_owned(), value);
        }
        Ok(())
    }

    /// States one value: the greatest, or what 99 % do not exceed.
    fn time(
        &mut self,
        tester: &dyn Tester,
        name: &str,
        how: &str,
        times: &Distribution,
    ) -> Result<(), MethodError> {
        let Some(summary) = times.summary() else {
            return Err(MethodError::Unsuitable(format!(
                "nothing could be measured for {name} of {}: measure by `control-plane` and \
                 `data-plane` what it answers",
                tester.setup().device
            )));
        };
        let value = match self.exact {
            true => summary.max,
            false => summary.p99,
        };
        let which = match self.exact {
            true => "the longest",
            false => "what 99 % do not exceed",
        };
        let how = format!(
            "{how}: {which}, n {}, median {}, p99 {}, highest {}",
            summary.count, summary.p50, summary.p99, summary.max
        );
        self.state(name, "measured", how, Value::Time(value));
        Ok(())
    }

    fn state(&mut self, name: &str, origin: &str, how: String, value: Value) {
        let quantity = format!("{}{name}", text::PREFIX);
        let setting = vec![super::choice("origin", origin)];
        self.findings.add((&quantity, &how), &setting, value);
    }

    fn beside(&mut self, quantity: &str, name: &str, value: u16, times: &Distribution) {
        let setting = vec![super::choice(name, value)];
        let times = Value::Times(times.clone());
        self.findings
            .add((quantity, "S4-2, LOKO Eq. (4)"), &setting, times);
    }
}

/// Returns the highest rate of frames of a size at which none is lost.
fn highest_rate(tester: &mut dyn Tester, size: u16) -> Result<Option<BitRate>, MethodError> {
    let highest = match tester.setup().rate {
        Some(cable) => capacity::line_rate(size, cable),
        None => BitRate::from_bps(u64::from(size) * 8 * MOST_FRAMES_A_SECOND),
    };
    let mut lossless = 0;
    let mut fails = highest.as_bps();
    if keeps_up(tester, size, fails)? {
        return Ok(Some(highest));
    }
    while fails - lossless > highest.as_bps() / PRECISION_PARTS {
        let middle = u64::midpoint(lossless, fails);
        match keeps_up(tester, size, middle)? {
            true => lossless = middle,
            false => fails = middle,
        }
    }
    Ok(BitRate::new(lossless))
}

/// Tells whether no frame is lost at a rate that the tester holds.
fn keeps_up(tester: &mut dyn Tester, size: u16, bps: u64) -> Result<bool, MethodError> {
    let Some(rate) = BitRate::new(bps) else {
        return Ok(true);
    };
    let mut calm = 0;
    for _ in 0..MOST_TRIES {
        let carried = capacity::carry(tester, size, rate, RATE_FRAMES)?;
        let input = carried.input(size).map_or(0, BitRate::as_bps);
        let held = u128::from(input) * 100 >= u128::from(bps) * 95;
        if held && carried.sent > 0 && carried.came == carried.sent {
            return Ok(true);
        }
        calm += usize::from(!carried.disturbed);
        if calm == TRIES {
            break;
        }
    }
    Ok(false)
}

/// Returns the times of frames behind entries of so many masks that match none of
/// them, by an entry of so many more actions.
fn crossing(
    tester: &mut dyn Tester,
    version: Version,
    (masks, actions): (u8, u8),
    frames: u16,
) -> Result<Distribution, MethodError> {
    let mut pace = Pace::of(tester, frames);
    let before = (1..=masks).map(|prefix| super::orders::FlowEntry {
        matching: Match10 {
            dl_type: Some(EtherType::IPV4),
            nw_dst: AddressPrefix::new(std::net::Ipv4Addr::new(10, 85, 85, 85), prefix),
            ..Match10::ANY
        },
        priority: 0x9000 + u16::from(prefix),
        actions: Vec::new(),
    });
    let rewrite = Action::SetDlSrc(wire::ethernet::MacAddress([2, 0, 0, 0, 0, 9]));
    let mut last: Vec<_> = TableSetting::five_tuples(1).entries().collect();
    for entry in &mut last {
        let rewrites = std::iter::repeat_n(rewrite, usize::from(actions));
        entry.actions.splice(0..0, rewrites);
    }
    let entries = before.chain(last).map(|entry| version.addition(&entry));
    let messages = std::iter::once(version.delete_all())
        .chain(entries)
        .collect();
    let passages = passages::measure_by(tester, messages, &[64], &mut pace)?;
    let passed = passages.by_size.into_values().next();
    Ok(passed.unwrap_or_default().times)
}

fn list(sizes: &[u16]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u16::to_string).collect();
    sizes.join(" and ")
}
