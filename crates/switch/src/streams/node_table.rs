//! The stations that said to be there, by PRP (IEC 62439-3 clause 4.2.7).
//!
//! Frames that say so are taken in as they come, and looked at behind the walk. Both have a
//! limit, and so has the number of nodes: who floods a switch with them is counted.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, Instant};
use wire::ethernet::MacAddress;
use wire::openflow::taktos::{LanSight, NodeCounters, NodeReport};
use wire::prp::{Lan, Supervision};

use crate::port::PortIndex;

/// After how long without a word a station is forgotten: `NodeForgetTime`.
pub(super) const FORGET: Duration = Duration::from_secs(60);
/// After how long a station may count anew, as one that has started again does: three times of
/// `LifeCheckInterval`.
const COUNTS_ANEW: Duration = Duration::from_secs(6);
/// How many nodes are known at most.
pub(crate) const NODES_MAX: usize = 256;
/// How many frames are looked at in a second at most: each node's over both LANs, twice as
/// often as they are sent.
const LOOKS_A_SECOND: u32 = 512;
/// How many frames wait to be looked at.
const WAITING_MAX: usize = 16;
/// The longest frame that says that a station is there, with a tag, some bytes to spare.
const FRAME_MAX: usize = 128;

/// A frame that waits to be looked at, and where it came in.
#[derive(Clone, Copy, Debug)]
pub(super) struct TakenIn {
    pub(super) port: Option<PortIndex>,
    bytes: [u8; FRAME_MAX],
    length: usize,
}

impl TakenIn {
    pub(super) fn frame(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// What is known of a station.
#[derive(Clone, Copy, Debug)]
struct Node {
    said: Supervision,
    lans: [Option<Heard>; 2],
}

/// What was heard over a LAN.
#[derive(Clone, Copy, Debug)]
struct Heard {
    sequence: u16,
    at: Instant,
    frames: u64,
}

/// All that is known of stations.
#[derive(Debug)]
pub(crate) struct NodeTable {
    pub(crate) counters: NodeCounters,
    waiting: VecDeque<TakenIn>,
    nodes: BTreeMap<MacAddress, Node>,
    /// When it is counted anew how many frames are looked at, and how many more may be.
    budget: (Instant, u32),
    /// What the switch counts its own by.
    pub(super) sequence: u16,
    /// How much streams of sources have numbered, and since when it is that much.
    pub(super) active: BTreeMap<u32, (u64, Instant)>,
}

impl NodeTable {
    pub(crate) fn new() -> Self {
        Self {
            counters: NodeCounters::default(),
            waiting: VecDeque::with_capacity(WAITING_MAX),
            nodes: BTreeMap::new(),
            budget: (Instant::ZERO, 0),
            sequence: 0,
            active: BTreeMap::new(),
        }
    }

    /// Takes in a frame that says that a station is there.
    pub(crate) fn take_in(&mut self, port: Option<PortIndex>, frame: &[u8]) {
        if self.waiting.len() == WAITING_MAX {
            self.counters.excess += 1;
            return;
        }
        let mut bytes = [0; FRAME_MAX];
        match bytes.get_mut(..frame.len()) {
            Some(room) => room.copy_from_slice(frame),
            None => {
                self.counters.malformed += 1;
                return;
            }
        }
        self.waiting.push_back(TakenIn {
            port,
            bytes,
            length: frame.len(),
        });
    }

    /// Returns whether frames wait to be looked at.
    pub(crate) fn has_news(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Returns the next frame that is to be looked at.
    pub(super) fn next(&mut self, now: Instant) -> Option<TakenIn> {
        loop {
            let frame = self.waiting.pop_front()?;
            let (until, left) = &mut self.budget;
            if now >= *until {
                (*until, *left) = (now + Duration::from_secs(1), LOOKS_A_SECOND);
            }
            if let Some(fewer) = left.checked_sub(1) {
                *left = fewer;
                return Some(frame);
            }
            self.counters.excess += 1;
        }
    }

    /// Returns whether a frame says something new: its number is beyond the last one of its
    /// LAN, or that one is old.
    pub(super) fn is_news(&self, now: Instant, said: &Supervision, lan: Lan) -> bool {
        let node = self.nodes.get(&said.station);
        let heard = node.and_then(|node| node.lans[place_of(lan)]);
        heard.is_none_or(|heard| {
            let step = said.sequence.wrapping_sub(heard.sequence).cast_signed();
            step > 0 || now.saturating_since(heard.at) >= COUNTS_ANEW
        })
    }

    /// Notes what a station said. Returns whether there was room.
    pub(super) fn note(&mut self, now: Instant, said: Supervision, lan: Lan) -> bool {
        if self.nodes.len() >= NODES_MAX && !self.nodes.contains_key(&said.station) {
            self.nodes.retain(|_, node| node.is_known(now));
            if self.nodes.len() >= NODES_MAX {
                self.counters.excess += 1;
                return false;
            }
        }
        let new = Node {
            said,
            lans: [None; 2],
        };
        let node = self.nodes.entry(said.station).or_insert(new);
        node.said = said;
        let heard = &mut node.lans[place_of(lan)];
        let frames = heard.map_or(0, |heard| heard.frames) + 1;
        *heard = Some(Heard {
            sequence: said.sequence,
            at: now,
            frames,
        });
        self.counters.heard += 1;
        true
    }

    /// Returns what is known of each station.
    pub(crate) fn reports(&self, now: Instant) -> impl Iterator<Item = NodeReport> {
        let known = self.nodes.values().filter(move |node| node.is_known(now));
        known.map(move |node| NodeReport {
            station: node.said.station,
            kind: node.said.kind,
            redbox: node.said.redbox,
            lans: node.lans.map(|heard| match heard {
                Some(heard) => LanSight {
                    frames: heard.frames,
                    ago: Some(now.saturating_since(heard.at)),
                },
                None => LanSight::default(),
            }),
        })
    }
}

impl Node {
    fn is_known(&self, now: Instant) -> bool {
        let mut heard = self.lans.iter().flatten();
        heard.any(|heard| now.saturating_since(heard.at) < FORGET)
    }
}

const fn place_of(lan: Lan) -> usize {
    match lan {
        Lan::A => 0,
        Lan::B => 1,
    }
}
