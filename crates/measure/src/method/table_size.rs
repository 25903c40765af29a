//! How many entries the forwarding table takes before the device refuses (S0-7, SDN4CI
//! Table I), each of them looked up.
//!
//! Entries that match one source address each are added, four times as many as before
//! in each round, until one is refused; what is refused says itself which it was, so
//! that the number of those taken is exact. A device may take an entry and forget it or
//! another one: so frames follow, one for each entry that was taken or for so many of
//! them spread evenly, and an entry that does not forward its frame is counted.
//!
//! # Left out
//!
//! Entries of other kinds: a table in hardware may hold fewer with masks.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::ops::Range;

use units::Duration;
use wire::ethernet::{EtherType, SHORTEST_FRAME};
use wire::openflow10::{AddressPrefix, Match10};

use super::control_plane::exchange::Replies;
use super::control_plane::version_of;
use super::data_plane::passages::Crossings;
use super::orders::{self, FlowEntry, Version};
use super::table_setting::{FROM, addresses, output};
use super::{Findings, Method, MethodError, Progress, Settings, choice, need_two_ports};
use crate::measurement::Value;
use crate::traffic::datagram::Datagram;
use crate::trial::{Order, Outgoing, Sender, Stream, Tester, Trial, TrialError};

/// `taktos measure table-size`.
pub const METHOD: Method = Method {
    name: "table-size",
    finds: "how many entries the flow table takes, each looked up (S0-7, SDN4CI Table I)",
    options: &[("most", "entries that are tried [131072, quick 16384]")],
    run,
};

const MOST: u32 = 131_072;
const QUICK_MOST: u32 = 16_384;
/// More than this are never tried.
const LIMIT: u32 = 1 << 20;
/// The first round, and how much larger each is than the one before.
const FIRST: u32 = 64;
const GROWTH: u32 = 4;
/// The most entries that are looked up.
const MOST_LOOKUPS: usize = 4_096;
/// The number of the barrier, and that of the first entry.
const BARRIER: u32 = 1;
const FIRST_TRANSACTION: u32 = 2;
/// The most bytes of entries that are handed over as one piece.
const PIECE_BYTES: usize = 32_768;
const PRIORITY: u16 = 0x8000;
/// How long is listened at once, and at most, until a round is done.
const PATIENCE: Duration = Duration::from_ms(100);
const ROUNDS_OF_PATIENCE: u32 = 600;
/// Between two frames: where a cable has a rate, longer than a slow device works on one.
const SPACING: Duration = Duration::from_us(200);
const SLOW_SPACING: Duration = Duration::from_ms(5);
const DRAIN: Duration = Duration::from_ms(200);
const SOURCE: &str = "S0-7, SDN4CI Table I";

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let version = version_of(tester)?;
    need_two_ports(tester.setup(), METHOD.name)?;
    let most = settings.within("most", settings.usual(MOST, QUICK_MOST), 1..=LIMIT)?;
    let mut tried = 0;
    let mut refused = BTreeMap::new();
    while tried < most && refused.is_empty() {
        progress.step(u64::from(tried), u64::from(most), "adding entries");
        let until = (tried * GROWTH).clamp(FIRST, most.max(FIRST)).min(most);
        refused = add(tester, version, tried..until)?;
        tried = until;
    }
    let taken: Vec<u32> = (0..tried).filter(|it| !refused.contains_key(it)).collect();
    let asked = spread(&taken);
    let lost = look_up(tester, &asked)?;
    progress.step(u64::from(most), u64::from(most), "done");
    Ok(found(tried, taken.len(), (asked.len(), lost), &refused))
}

fn found(
    tried: u32,
    taken: usize,
    (asked, lost): (usize, usize),
    refused: &BTreeMap<u32, (u16, u16)>,
) -> Findings {
    let mut findings = Findings::default();
    let setting = vec![choice("match", "source address")];
    let entries = match refused.is_empty() {
        true => Value::CountAtLeast(taken as u64),
        false => Value::Count(taken as u64),
    };
    findings.add(("entries taken", SOURCE), &setting, entries);
    for (quantity, count) in [
        ("frames that looked them up", asked),
        ("lost for want of their entry", lost),
    ] {
        findings.add((quantity, SOURCE), &setting, Value::Count(count as u64));
    }
    findings.remark(match refused.values().next() {
        Some((kind, code)) => format!(
            "The first entry was refused after {taken}, with error type {kind}, code {code}."
        ),
        None => format!(
            "None was refused: the table takes {tried} at least, which is as many as were tried."
        ),
    });
    findings
}

/// Adds entries, and returns those that were refused, with the error's type and code.
fn add(
    tester: &mut dyn Tester,
    version: Version,
    places: Range<u32>,
) -> Result<BTreeMap<u32, (u16, u16)>, TrialError> {
    let (orders, said) = orders_of(tester, version, places);
    let mut replies = Replies::default();
    let mut trial = Trial {
        orders,
        length: said + PATIENCE,
        ..Trial::default()
    };
    for _ in 0..ROUNDS_OF_PATIENCE {
        tester.run(trial, &mut replies)?;
        if replies.heard.contains_key(&BARRIER) {
            let refused = replies.refused.into_iter();
            let places =
                refused.filter_map(|(it, why)| Some((it.checked_sub(FIRST_TRANSACTION)?, why)));
            return Ok(places.collect());
        }
        trial = Trial {
            length: PATIENCE,
            ..Trial::default()
        };
    }
    Err(TrialError::Unable {
        device: tester.setup().device.clone(),
        reason: format!(
            "its agent did not confirm its entries within {}: try fewer (--set most=…)",
            PATIENCE * ROUNDS_OF_PATIENCE
        ),
    })
}

/// Returns the orders that add entries, the first of them behind one that empties the
/// table, and when the last is said.
fn orders_of(tester: &dyn Tester, version: Version, places: Range<u32>) -> (Vec<Order>, Duration) {
    let apart = tester.control_link().apart;
    let mut messages = Vec::new();
    if places.start == 0 {
        messages.push(version.delete_all());
    }
    for place in places {
        let mut message = version.addition(&entry(place));
        orders::number(&mut message, FIRST_TRANSACTION + place);
        messages.push(message);
    }
    let mut barrier = version.barrier();
    orders::number(&mut barrier, BARRIER);
    messages.push(barrier);
    let (mut orders, mut due, mut piece) = (Vec::new(), Duration::ZERO, Vec::new());
    for bytes in messages {
        piece.extend(bytes);
        if apart > Duration::ZERO || piece.len() >= PIECE_BYTES {
            let bytes = std::mem::take(&mut piece);
            orders.push(Order { due, bytes });
            due += apart;
        }
    }
    if !piece.is_empty() {
        orders.push(Order { due, bytes: piece });
    }
    (orders, due)
}

/// Returns the entry with this number: it takes what comes from an address of its own.
fn entry(place: u32) -> FlowEntry {
    FlowEntry {
        matching: Match10 {
            dl_type: Some(EtherType::IPV4),
            nw_src: AddressPrefix::host(source(place)),
            ..Match10::ANY
        },
        priority: PRIORITY,
        actions: vec![output()],
    }
}

/// Private addresses (RFC 1918), of which there are more than [`LIMIT`].
fn source(place: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + place)
}

/// Returns all of them, or as many as are looked up, from the first to the last.
fn spread(taken: &[u32]) -> Vec<u32> {
    let count = taken.len().min(MOST_LOOKUPS);
    let last = taken.len().saturating_sub(1);
    let steps = count.saturating_sub(1).max(1);
    (0..count).map(|it| taken[it * last / steps]).collect()
}

/// Has a frame meet each of these entries, and returns how many did not come out.
fn look_up(tester: &mut dyn Tester, entries: &[u32]) -> Result<usize, TrialError> {
    let spacing = match tester.setup().rate {
        Some(_) => SLOW_SPACING,
        None => SPACING,
    };
    let mut seen = Crossings::default();
    let trial = Trial {
        streams: vec![Stream::new(
            FROM,
            Lookups {
                entries: entries.to_vec(),
                next: 0,
                spacing,
            },
        )],
        length: spacing * entries.len() as u64,
        drain: DRAIN,
        ..Trial::default()
    };
    tester.run(trial, &mut seen)?;
    let arrived = |place: &&u32| {
        let times = usize::try_from(**place).ok().and_then(|it| seen.0.get(it));
        times.is_some_and(|times| times.came.is_some())
    };
    Ok(entries.len() - entries.iter().filter(arrived).count())
}

/// Sends one frame for each entry.
#[derive(Debug)]
struct Lookups {
    entries: Vec<u32>,
    next: usize,
    spacing: Duration,
}

impl Sender for Lookups {
    fn next_due(&self) -> Option<Duration> {
        let more = self.next < self.entries.len();
        more.then(|| self.spacing * self.next as u64)
    }

    fn emit(&mut self, after: Duration, frame: &mut Vec<u8>) -> Option<Outgoing> {
        let due = self.next_due().filter(|due| *due <= after)?;
        let place = self.entries[self.next];
        self.next += 1;
        let addresses = crate::traffic::Addresses {
            source: source(place),
            ..addresses()
        };
        let length = SHORTEST_FRAME.max(addresses.shortest_frame());
        let datagram = Datagram::new(&addresses, length);
        datagram.fill(datagram.message_of_one(place), frame);
        Some(Outgoing { due })
    }

    fn listens(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::data_plane::passages::number_of;

    #[test]
    fn what_is_looked_up_is_spread_from_the_first_to_the_last() {
        let few: Vec<u32> = (0..5).collect();
        let many: Vec<u32> = (0..100_000).collect();

        let some = spread(&many);

        assert_eq!(spread(&few), few);
        assert_eq!(spread(&[]), [0u32; 0]);
        assert_eq!(some.len(), MOST_LOOKUPS);
        assert_eq!((some.first(), some.last()), (Some(&0), Some(&99_999)));
        assert!(some.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn each_entry_has_a_frame_that_names_it() {
        let mut sender = Lookups {
            entries: vec![7, 70_000],
            next: 0,
            spacing: SPACING,
        };
        let mut frame = Vec::new();

        assert_eq!(
            sender.emit(Duration::ZERO, &mut frame).map(|it| it.due),
            Some(Duration::ZERO)
        );
        assert_eq!(number_of(&frame), Some(7));
        assert_eq!(sender.emit(Duration::ZERO, &mut frame), None, "not yet due");
        assert!(sender.emit(SPACING, &mut frame).is_some());
        assert_eq!(number_of(&frame), Some(70_000));
        assert_eq!(sender.next_due(), None);
    }
}
