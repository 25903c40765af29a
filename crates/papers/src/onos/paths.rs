//! The flows of the experiments: which pairs of cities they join.

use controller::northbound::{
    Cover, ExceedAction, FlowMatch, Protection, Requirement, Traffic, Transport, TransportProtocol,
};
use units::{BitRate, DataSize, Delay, Duration, Seeded};

use super::emulation::{PROMISED, host_address, host_name};
use super::wide_area::WideArea;

/// What is asked for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathTerms {
    /// A path without a promise; a way around each of its links is written down
    /// beforehand.
    BestEffort,
    /// A path with a deadline, promised while nothing is broken.
    Promised,
    /// A path with a deadline, also when a link breaks: a way around each of its
    /// links is found, reserved and written down beforehand.
    Protected,
}

/// A link that is to break, and the pairs of cities that it concerns.
#[derive(Clone, Debug)]
pub struct Break {
    pub link: [usize; 2],
    number: usize,
    /// Pairs whose every shortest path crosses the link.
    pub pairs: Vec<[usize; 2]>,
}

impl Break {
    /// Returns the link that lies on all shortest paths of most pairs that are
    /// `hops` links apart, and one more without it.
    ///
    /// # Panics
    ///
    /// If no link does.
    #[must_use]
    pub fn find(map: &WideArea, hops: u32) -> Self {
        let cities = 0..map.places.len();
        let with: Vec<_> = cities
            .clone()
            .map(|city| map.distances(city, None))
            .collect();
        let of_link = |number: usize| {
            let without = cities.clone().map(|city| map.distances(city, Some(number)));
            let pairs = without.enumerate().flat_map(|(from, without)| {
                let with = &with[from];
                let far =
                    move |to: &usize| with[*to] == Some(hops) && without[*to] == Some(hops + 1);
                cities
                    .clone()
                    .filter(far)
                    .map(move |to| [from, to])
                    .collect::<Vec<_>>()
            });
            Self {
                link: map.links[number],
                number,
                pairs: pairs.collect(),
            }
        };
        let breaks = (0..map.links.len()).map(of_link);
        let best = breaks.max_by_key(|one| one.pairs.len());
        best.filter(|best| !best.pairs.is_empty())
            .expect("a link that many paths cross")
    }

    /// Draws pairs that no shortest path leads over the link.
    #[must_use]
    pub fn unconcerned(
        &self,
        map: &WideArea,
        random: &mut Seeded,
        count: usize,
    ) -> Vec<[usize; 2]> {
        let cities: Vec<usize> = (0..map.places.len()).collect();
        let with: Vec<_> = cities
            .iter()
            .map(|city| map.distances(*city, None))
            .collect();
        let [one, other] = self.link;
        let crosses = |from: usize, to: usize| {
            let by = |near: usize, far: usize| {
                let (here, there) = (with[from][near], with[far][to]);
                here.zip(there).map(|(here, there)| here + 1 + there) == with[from][to]
            };
            by(one, other) || by(other, one)
        };
        let mut pairs = Vec::with_capacity(count);
        while pairs.len() < count {
            let ends = [random.choose(&cities), random.choose(&cities)];
            if let [Some(from), Some(to)] = ends.map(Option::<&usize>::copied)
                && from != to
                && !crosses(from, to)
            {
                pairs.push([from, to]);
            }
        }
        pairs
    }

    /// Returns how far the cities of a pair are from each other without the link.
    #[must_use]
    pub fn detour(&self, map: &WideArea, [from, to]: [usize; 2]) -> Option<u32> {
        map.distances(from, Some(self.number))[to]
    }
}

/// Returns all pairs of cities that are so many links apart.
#[must_use]
pub fn pairs_apart(map: &WideArea, hops: u32) -> Vec<[usize; 2]> {
    let cities = 0..map.places.len();
    cities
        .flat_map(|from| {
            let distances = map.distances(from, None).into_iter().enumerate();
            let far = distances.filter(|(_, distance)| *distance == Some(hops));
            far.map(|(to, _)| [from, to]).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the requirement of the flow with this number from one city to another.
#[must_use]
pub fn requirement(number: usize, [from, to]: [usize; 2], terms: PathTerms) -> Requirement {
    let frame = DataSize::from_bytes(108);
    let port = u16::try_from(number % 60_000).unwrap_or_default() + 1;
    let promised = match terms {
        PathTerms::BestEffort => None,
        PathTerms::Promised | PathTerms::Protected => Some(Delay::from_us(100_000)),
    };
    Requirement {
        name: format!("f{number}"),
        source: host_name(from),
        destinations: vec![host_name(to)],
        matching: FlowMatch {
            destination: Some(host_address(to)),
            transport: Some(Transport {
                protocol: TransportProtocol::Udp,
                source: None,
                destination: Some(port),
            }),
            ..FlowMatch::default()
        },
        class: promised.map_or(0, |_| PROMISED),
        is_class_free: false,
        must_be_enforced: false,
        excess: ExceedAction::Drop,
        traffic: Traffic {
            rate: BitRate::from_bps(10_000),
            burst: frame,
            largest_frame: frame,
            smallest_frame: frame,
            frames: None,
        },
        deadline: promised,
        protection: match terms {
            PathTerms::BestEffort | PathTerms::Promised => Protection::None,
            PathTerms::Protected => Protection::Restore {
                interruption: Duration::from_ms(50),
                covers: Cover::CarrierLoss,
            },
        },
        modes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_of_a_break_are_one_link_further_apart_without_it() {
        let map = WideArea::draw(1, 60, 120);

        let found = Break::find(&map, 5);

        for [from, to] in &found.pairs {
            assert_eq!(map.distances(*from, None)[*to], Some(5));
            assert_eq!(found.detour(&map, [*from, *to]), Some(6));
        }
        for [from, to] in found.unconcerned(&map, &mut Seeded::new(1), 100) {
            assert_eq!(
                map.distances(from, None)[to],
                found.detour(&map, [from, to])
            );
        }
    }
}
