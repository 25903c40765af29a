//! Networks such as those of wide areas: cities in a plane, joined to their
//! neighbours, as many links as asked for. The same for the same seed.
//!
//! The paper says how many switches and links there are and that the topology is
//! typical of a wide area, no more. Cities are drawn evenly from a square; a tour of
//! all joins them, so that they stay joined without any one link, and then the
//! shortest links that are left follow, but no city gets more than [`MOST_LINKS`].

use std::collections::{BTreeSet, VecDeque};

use units::Seeded;

/// The side of the square.
const SIDE: u64 = 1_000_000;
/// The most links of a city.
const MOST_LINKS: usize = 8;

#[derive(Clone, Debug)]
pub struct WideArea {
    /// Where each city is, from 0 to 1 in both directions.
    pub places: Vec<[f64; 2]>,
    /// The links, the lower city first.
    pub links: Vec<[usize; 2]>,
    /// The neighbours of each city, with the number of the link.
    neighbours: Vec<Vec<(usize, usize)>>,
}

impl WideArea {
    /// Draws a network of `cities` with `links`.
    ///
    /// # Panics
    ///
    /// If there are fewer links than join all cities, or more than find room.
    #[must_use]
    pub fn draw(seed: u64, cities: usize, links: usize) -> Self {
        let mut random = Seeded::new(seed);
        let mut draw = || (random.up_to(SIDE), random.up_to(SIDE));
        let positions: Vec<(u64, u64)> = (0..cities).map(|_| draw()).collect();
        let mut chosen = tour(&positions);
        assert!(chosen.len() <= links, "every city is joined");
        let mut degree = vec![0; cities];
        for [one, other] in &chosen {
            degree[*one] += 1;
            degree[*other] += 1;
        }
        for (_, link) in by_length(&positions) {
            let has_room = link.iter().all(|city| degree[*city] < MOST_LINKS);
            if chosen.len() < links && has_room && chosen.insert(link) {
                link.iter().for_each(|city| degree[*city] += 1);
            }
        }
        assert_eq!(chosen.len(), links, "there is room for all links");
        Self::new(&positions, chosen.into_iter().collect())
    }

    fn new(positions: &[(u64, u64)], links: Vec<[usize; 2]>) -> Self {
        let mut neighbours = vec![Vec::new(); positions.len()];
        for (number, [one, other]) in links.iter().enumerate() {
            neighbours[*one].push((*other, number));
            neighbours[*other].push((*one, number));
        }
        #[expect(clippy::cast_precision_loss, reason = "for drawings")]
        let share = |coordinate: u64| coordinate as f64 / SIDE as f64;
        let places = positions.iter().map(|(x, y)| [share(*x), share(*y)]);
        Self {
            places: places.collect(),
            links,
            neighbours,
        }
    }

    /// Returns the neighbours of a city, each with the number of the link.
    #[must_use]
    pub fn neighbours(&self, city: usize) -> &[(usize, usize)] {
        &self.neighbours[city]
    }

    /// Returns how many links away every city is, if one link is not there;
    /// nothing for those out of reach.
    #[must_use]
    pub fn distances(&self, from: usize, without: Option<usize>) -> Vec<Option<u32>> {
        let mut distances = vec![None; self.places.len()];
        distances[from] = Some(0);
        let mut found = VecDeque::from([from]);
        while let Some(city) = found.pop_front() {
            let further = distances[city].map(|links: u32| links + 1);
            for (next, link) in &self.neighbours[city] {
                if distances[*next].is_none() && Some(*link) != without {
                    distances[*next] = further;
                    found.push_back(*next);
                }
            }
        }
        distances
    }
}

fn squared_length(positions: &[(u64, u64)], [one, other]: [usize; 2]) -> u64 {
    let (a, b) = (positions[one], positions[other]);
    let (x, y) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
    x * x + y * y
}

/// Returns all pairs of cities, the shortest first.
fn by_length(positions: &[(u64, u64)]) -> Vec<(u64, [usize; 2])> {
    let pairs = (0..positions.len()).flat_map(|one| (0..one).map(move |other| [other, one]));
    let mut pairs: Vec<_> = pairs
        .map(|pair| (squared_length(positions, pair), pair))
        .collect();
    pairs.sort_unstable();
    pairs
}

/// Returns the links of a closed tour of all cities: up one strip of the square,
/// down the next.
fn tour(positions: &[(u64, u64)]) -> BTreeSet<[usize; 2]> {
    let cities = u64::try_from(positions.len()).unwrap_or(u64::MAX);
    // As many strips as make the steps along a strip as long as those across; even,
    // so that the tour ends where it began.
    let strips = ((cities / 2).isqrt().max(1) / 2 * 2).max(2);
    let place = |city: &usize| {
        let (x, y) = positions[*city];
        let strip = x * strips / (SIDE + 1);
        let along = if strip.is_multiple_of(2) { y } else { SIDE - y };
        (strip, along, *city)
    };
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by_key(place);
    let next = order.iter().cycle().skip(1);
    let steps = order.iter().zip(next);
    steps
        .map(|(one, other)| [*one.min(other), *one.max(other)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_single_link_parts_the_cities_and_the_counts_are_those_asked_for() {
        for (seed, cities, links) in [(1, 81, 162), (7, 206, 416), (3, 205, 414)] {
            let network = WideArea::draw(seed, cities, links);

            assert_eq!((network.places.len(), network.links.len()), (cities, links));
            for link in 0..links {
                assert!(network.distances(0, Some(link)).iter().all(Option::is_some));
            }
            let most = (0..cities).map(|city| network.neighbours(city).len()).max();
            assert!(most <= Some(MOST_LINKS));
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_network() {
        let draw = |seed| WideArea::draw(seed, 50, 100).links;

        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn without_a_link_ways_are_longer() {
        let network = WideArea::draw(1, 50, 100);
        let [one, other] = network.links[0];

        assert_eq!(network.distances(one, None)[other], Some(1));
        assert!(network.distances(one, Some(0))[other] > Some(1));
    }
}
