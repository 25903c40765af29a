//! Sound: no flood takes longer. Tight: some flood takes as long.

use proptest::prelude::*;

use super::*;

const RATE: BitRate = BitRate::from_mbps(100);
const LARGEST: DataSize = DataSize::from_bytes(1_538);

#[test]
fn the_links_of_the_papers_topologies_are_as_printed() {
    let grid = |at: usize| {
        let right = (at % 3 < 2).then_some((at, at + 1));
        right.into_iter().chain((at < 6).then_some((at, at + 3)))
    };
    let star = Trunks::new(1, []);

    assert_eq!(star.links(0), 0);
    assert_eq!(of_links(9, (0..9).flat_map(grid)).links(0), 4);
    assert_eq!(of_links(9, (0..8).map(|at| (at, at + 1))).links(0), 8);
}

#[test]
fn a_ring_that_loses_a_link_is_a_line() {
    let ring = of_links(6, (0..6).map(|at| (at, (at + 1) % 6)));

    assert_eq!([ring.links(0), ring.links(1)], [3, 5]);
    // Two lost links split it; the longest part is as long as without one switch.
    assert_eq!(ring.links(2), 5);
}

#[test]
fn beyond_the_most_searches_the_bound_is_that_of_the_longest_way() {
    let complete = (0..40).flat_map(|one| (one + 1..40).map(move |other| (one, other)));

    let lost_links = of_links(40, complete).links(3);

    assert_eq!(lost_links, 39);
}

/// At 100 Mbit/s: 1538 B take 123.04 us, 17 signals 114.24 us.
#[test]
fn a_hop_waits_for_a_frame_and_for_signals_ahead() {
    let hop = SignalHop {
        rate: RATE,
        propagation: Delay::from_ns(530),
        blocking: LARGEST,
        equal: DataSize::ZERO,
        signals_ahead: SIGNALS_AHEAD,
        processing: Delay::from_us(10),
    };

    assert_eq!(hop.bound(), Some(Delay::from_ns(247_810)));
}

#[test]
fn where_the_level_falls_three_waves_may_cross_the_network() {
    let change = ModeChange {
        detection: Delay::from_us(1),
        spread: Delay::from_us(10),
        local: Delay::ZERO,
        drain: Delay::from_us(100),
    };

    assert_eq!(change.total(), Delay::from_us(111));
    assert_eq!(change.total_where_it_falls(), Delay::from_us(231));
}

#[test]
fn what_is_ahead_depends_on_what_becomes_of_it() {
    let blocking = LARGEST;
    let frames = FrameCount(1_000);
    let each = Delay::from_ns(1_060);
    let backlog = LARGEST * 1_000;
    let given_up = Ahead::GivenUp {
        blocking,
        frames,
        each,
    };

    let waits = [
        Ahead::Reserved { blocking },
        given_up,
        Ahead::Sent { backlog },
    ];

    let waits = waits.map(|ahead| ahead.bound(RATE).unwrap());
    let expected = [123_040, 1_183_040, 123_040_000];
    assert_eq!(waits, expected.map(Delay::from_ns));
}

#[test]
fn a_change_by_a_word_does_not_grow() {
    let one_word = LocalChange {
        fixed: Delay::from_us(1),
        ..LocalChange::default()
    };
    let copying = LocalChange {
        per_rule: Delay::from_ns(3_950),
        per_frame: Delay::from_ns(1_060),
        ..one_word
    };

    let many = |change: LocalChange| change.bound(Rules(10_000), FrameCount(1_000));

    assert_eq!(many(one_word), Delay::from_us(1));
    assert_eq!(many(copying), Delay::from_us(1 + 39_500 + 1_060));
}

proptest! {
    /// Sound and tight: the same as trying every combination of lost links.
    #[test]
    fn a_spread_is_the_worst_of_all_combinations(
        (switches, links) in network(),
        lost in 0usize..3,
    ) {
        let trunks = weighted(switches, &links, &[]);

        let combinations = subsets(links.len(), lost).into_iter();
        let worst = combinations.map(|without| flooded(switches, &links, &without)).max();

        prop_assert_eq!(Some(trunks.spread(lost)), worst);
    }

    /// No bound is finer when more may fail, and none exceeds the coarse one.
    #[test]
    fn a_spread_grows_with_what_may_fail((switches, links) in network()) {
        let trunks = weighted(switches, &links, &[]);

        let spreads = [0, 1, 2].map(|lost| trunks.spread(lost));

        prop_assert!(spreads.is_sorted());
        prop_assert!(spreads[2] <= trunks.coarse());
    }

    /// A hop that has more ahead of it takes no less.
    #[test]
    fn a_hop_grows_with_what_is_ahead(
        blocking in 0u64..100_000,
        equal in 0u64..100_000,
        signals_ahead in 0u64..100,
    ) {
        let of = |blocking, equal, signals_ahead| SignalHop {
            rate: RATE,
            propagation: Delay::ZERO,
            blocking: DataSize::from_bytes(blocking),
            equal: DataSize::from_bytes(equal),
            signals_ahead,
            processing: Delay::ZERO,
        };

        let bound = of(blocking, equal, signals_ahead).bound().unwrap();

        let bytes = blocking + equal + 84 * (signals_ahead + 1);
        prop_assert_eq!(bound, Delay::from_ns(bytes * 80));
    }
}

type Link = (usize, usize, u64);

/// Up to six switches and nine links, each with a delay of its own.
fn network() -> impl Strategy<Value = (usize, Vec<Link>)> {
    (2usize..7).prop_flat_map(|switches| {
        let link = (0..switches, 0..switches, 1u64..100);
        (Just(switches), prop::collection::vec(link, 1..9))
    })
}

fn of_links(switches: usize, links: impl IntoIterator<Item = (usize, usize)>) -> Trunks {
    let links: Vec<Link> = links.into_iter().map(|(a, b)| (a, b, 1)).collect();
    weighted(switches, &links, &[])
}

fn weighted(switches: usize, links: &[Link], without: &[usize]) -> Trunks {
    let left = links.iter().enumerate();
    let left = left.filter(|(link, _)| !without.contains(link));
    let hops = left.flat_map(|(link, &(a, b, ps))| {
        let delay = Delay::from_ps(ps);
        [(a, b), (b, a)].map(|(from, to)| Hop {
            from,
            to,
            link,
            delay,
        })
    });
    Trunks::new(switches, hops)
}

/// Returns when the last switch that is reached hears of what begins anywhere: passed
/// on until nothing changes.
fn flooded(switches: usize, links: &[Link], without: &[usize]) -> Delay {
    let starts = 0..switches;
    let latest = starts.map(|start| {
        let mut heard = vec![None; switches];
        heard[start] = Some(0);
        for _ in 0..switches {
            for (link, &(a, b, ps)) in links.iter().enumerate() {
                if without.contains(&link) {
                    continue;
                }
                for (from, to) in [(a, b), (b, a)] {
                    let arrival: Option<u64> = heard[from].map(|at: u64| at + ps);
                    heard[to] = heard[to].into_iter().chain(arrival).min();
                }
            }
        }
        heard.into_iter().flatten().max().unwrap_or(0)
    });
    Delay::from_ps(latest.max().unwrap_or(0))
}

fn subsets(of: usize, most: usize) -> Vec<Vec<usize>> {
    let masks = 0u32..1 << of;
    let few = masks.filter(|mask| usize::try_from(mask.count_ones()).unwrap() <= most);
    let members = |mask: u32| (0..of).filter(|at| mask >> at & 1 == 1).collect();
    few.map(members).collect()
}
