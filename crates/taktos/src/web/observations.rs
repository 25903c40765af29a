//! What switches have seen of promised flows: the latest for whoever watches, and a day
//! of it to look back on.
//!
//! Switches keep the longest stay of each flow at each hop since its entries are there, so
//! what is kept here rises until those are written anew; nothing that happens between two
//! looks is lost. Everything is bounded: a day is cut into as many intervals as
//! [`INTERVALS`], and of [`MOST_FLOWS`] flows at most.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::num::NonZeroU32;

use api::{FlowHops, FlowId};
use units::{Duration, Instant};
use wire::openflow::{DatapathId, PortNumber};

use super::document::page::{
    FlowMoment, HistoryDocument, MomentDocument, ObservedDocument, SeenFlow, SeenPort,
};

/// How long an interval of the history is.
pub const INTERVAL: Duration = Duration::from_secs(300);
/// How many intervals are kept: those of a day.
pub const INTERVALS: usize = 288;
/// The most flows whose history is kept.
pub const MOST_FLOWS: usize = 4_096;

/// What is known of all promised flows.
#[derive(Debug, Default)]
pub struct Observations {
    flows: BTreeMap<FlowId, SeenFlow>,
    ports: BTreeMap<(DatapathId, PortNumber), SeenPort>,
    at: Instant,
    tracks: BTreeMap<FlowId, Track>,
    /// The last interval that was noted.
    noted: Option<u32>,
}

/// The history of one flow.
#[derive(Debug)]
struct Track {
    name: String,
    cells: VecDeque<Cell>,
}

/// How a flow was in one interval: small, as there are many. Nanoseconds, none where there is
/// nothing; what is longer than 4.29 s is that long here.
#[derive(Clone, Copy, Debug)]
struct Cell {
    interval: u32,
    observed_ns: Option<NonZeroU32>,
    guarantee_ns: Option<NonZeroU32>,
}

impl Observations {
    /// Takes what switches say at `now`, by the clock that begins with 1970, and returns
    /// what is other than before, if anything is.
    pub fn take(&mut self, now: Instant, said: Vec<FlowHops>) -> Option<ObservedDocument> {
        self.at = now;
        self.note(now, &said);
        let mut flows = Vec::new();
        let mut ports: BTreeMap<_, SeenPort> = BTreeMap::new();
        let known: BTreeSet<FlowId> = said.iter().map(|flow| flow.id).collect();
        for flow in &said {
            for hop in &flow.hops {
                let Some(seen) = hop.seen else { continue };
                let Some(budget) = seen.budget else { continue };
                let port = SeenPort(hop.at.datapath, hop.at.port, seen.longest, budget);
                let fullest = ports.entry((hop.at.datapath, hop.at.port)).or_insert(port);
                if port.share() > fullest.share() {
                    *fullest = port;
                }
            }
            let seen = SeenFlow::of(flow);
            if self.flows.insert(flow.id, seen) != Some(seen) {
                flows.push(seen);
            }
        }
        self.flows.retain(|id, _| known.contains(id));
        let changed = ports
            .iter()
            .filter(|(at, port)| self.ports.get(at) != Some(port));
        let changed: Vec<_> = changed.map(|(_, port)| *port).collect();
        self.ports = ports;
        let is_news = !flows.is_empty() || !changed.is_empty();
        is_news.then_some(ObservedDocument {
            at: now,
            flows,
            ports: changed,
        })
    }

    /// Tells whether the history has nothing yet of the interval in which `now` is.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.noted.is_none_or(|noted| noted < interval(now))
    }

    /// Returns all that was said last.
    #[must_use]
    pub fn latest(&self) -> ObservedDocument {
        ObservedDocument {
            at: self.at,
            flows: self.flows.values().copied().collect(),
            ports: self.ports.values().copied().collect(),
        }
    }

    /// Returns the history of the flow with this name, if there is one.
    #[must_use]
    pub fn history(&self, name: &str) -> Option<HistoryDocument> {
        let mut tracks = self.tracks.iter().rev();
        let (id, track) = tracks.find(|(_, track)| track.name == name)?;
        let moments = track.cells.iter().map(|cell| cell.moment(*id, None));
        Some(HistoryDocument {
            name: name.to_owned(),
            interval: INTERVAL,
            moments: moments.collect(),
        })
    }

    /// Returns how all flows were in the interval of a moment.
    #[must_use]
    pub fn moment(&self, at: Instant) -> MomentDocument {
        let wanted = interval(at);
        let flows = self.tracks.iter().filter_map(|(id, track)| {
            let cell = track.cells.iter().find(|cell| cell.interval == wanted)?;
            Some(cell.moment(*id, Some(track.name.clone())))
        });
        MomentDocument {
            at: begin_of(wanted),
            flows: flows.collect(),
        }
    }

    fn note(&mut self, now: Instant, said: &[FlowHops]) {
        let interval = interval(now);
        self.noted = Some(interval);
        let kept = u32::try_from(INTERVALS).unwrap_or(u32::MAX);
        let oldest = interval.saturating_sub(kept - 1);
        self.tracks.retain(|_, track| {
            while track
                .cells
                .front()
                .is_some_and(|cell| cell.interval < oldest)
            {
                track.cells.pop_front();
            }
            !track.cells.is_empty()
        });
        for flow in said {
            let is_kept = self.tracks.contains_key(&flow.id);
            if !is_kept && self.tracks.len() >= MOST_FLOWS {
                continue;
            }
            let track = self.tracks.entry(flow.id).or_insert_with(|| Track {
                name: flow.name.clone(),
                cells: VecDeque::with_capacity(INTERVALS),
            });
            let cell = Cell {
                interval,
                observed_ns: flow.observed.and_then(short),
                guarantee_ns: flow.guarantee.and_then(|it| short(it.round_up())),
            };
            match track.cells.back_mut() {
                Some(last) if last.interval == interval => last.widen(cell),
                Some(_) | None => track.cells.push_back(cell),
            }
        }
    }
}

impl Cell {
    /// Takes in what was seen later in the same interval.
    fn widen(&mut self, later: Self) {
        self.observed_ns = self.observed_ns.max(later.observed_ns);
        self.guarantee_ns = later.guarantee_ns;
    }

    fn moment(self, id: FlowId, name: Option<String>) -> FlowMoment {
        FlowMoment {
            id,
            name,
            at: begin_of(self.interval),
            observed: self.observed_ns.map(long),
            guarantee: self.guarantee_ns.map(long),
        }
    }
}

fn short(duration: Duration) -> Option<NonZeroU32> {
    NonZeroU32::new(u32::try_from(duration.as_ns()).unwrap_or(u32::MAX))
}

fn long(ns: NonZeroU32) -> Duration {
    Duration::from_ns(ns.get().into())
}

fn interval(at: Instant) -> u32 {
    u32::try_from(at.as_ns() / INTERVAL.as_ns()).unwrap_or(u32::MAX)
}

fn begin_of(interval: u32) -> Instant {
    Instant::from_ns(u64::from(interval) * INTERVAL.as_ns())
}

#[cfg(test)]
mod tests {
    use api::{HopCount, HopSeen, Place};
    use units::Delay;

    use super::*;

    fn said(id: u32, longest_ns: u64, frames: u64) -> FlowHops {
        let seen = HopCount {
            frames,
            longest: Duration::from_ns(longest_ns),
            budget: Some(Duration::from_ns(1_000)),
            ..HopCount::default()
        };
        FlowHops {
            id: FlowId(id),
            name: format!("f{id}"),
            guarantee: Some(Delay::from(Duration::from_ns(2_000))),
            observed: Some(Duration::from_ns(longest_ns)),
            hops: vec![HopSeen {
                at: Place {
                    datapath: DatapathId(1),
                    switch: "s1".to_owned(),
                    port: PortNumber(2),
                },
                queue: 6,
                seen: Some(seen),
            }],
        }
    }

    /// 14 MB, whatever happens.
    const _: () = assert!(size_of::<Cell>() * INTERVALS * MOST_FLOWS < 15_000_000);

    fn at(intervals: u32) -> Instant {
        begin_of(1_000 + intervals)
    }

    #[test]
    fn only_what_has_changed_is_told() {
        let mut all = Observations::default();
        let both = |second| vec![said(1, 10, 5), said(2, 20, second)];

        let first = all.take(at(0), both(7)).unwrap();
        let again = all.take(at(0), both(7));
        let later = all.take(at(0), both(8)).unwrap();

        assert_eq!((first.flows.len(), first.ports.len()), (2, 1));
        assert_eq!(again, None);
        assert_eq!((later.flows.len(), later.ports.len()), (1, 0));
        assert_eq!(all.latest().flows.len(), 2);
    }

    #[test]
    fn a_port_shows_the_flow_that_uses_most_of_its_budget() {
        let mut all = Observations::default();

        let seen = all
            .take(at(0), vec![said(1, 900, 1), said(2, 20, 1)])
            .unwrap();

        assert_eq!(seen.ports[0].2, Duration::from_ns(900));
    }

    #[test]
    fn a_day_is_kept_of_each_flow_and_no_more() {
        let mut all = Observations::default();
        let intervals = u32::try_from(INTERVALS).unwrap() + 7;
        for step in 0..intervals {
            assert!(all.is_due(at(step)));
            all.take(at(step), vec![said(1, u64::from(step) + 1, 1)]);
            assert!(!all.is_due(at(step)));
        }

        let history = all.history("f1").unwrap();

        assert_eq!(history.moments.len(), INTERVALS);
        assert_eq!(history.moments[0].at, at(7));
        let moment = all.moment(at(intervals - 1));
        assert_eq!(
            moment.flows[0].observed,
            Some(Duration::from_ns(u64::from(intervals)))
        );
        assert!(all.moment(at(6)).flows.is_empty());
        assert_eq!(all.history("f2"), None);
    }

    #[test]
    fn a_flow_that_is_gone_is_forgotten_after_a_day_and_makes_room() {
        let mut all = Observations::default();
        let many = |first: u32| {
            (first..)
                .take(MOST_FLOWS)
                .map(|id| said(id, 1, 1))
                .collect()
        };
        all.take(at(0), many(1));
        all.take(at(1), vec![said(9_999, 1, 1)]);
        assert_eq!(all.history("f9999"), None);
        let intervals = u32::try_from(INTERVALS).unwrap();

        all.take(at(intervals), vec![said(9_999, 1, 1)]);

        assert!(all.history("f9999").is_some());
        assert_eq!(all.history("f1"), None);
    }
}
