//! Where switches and hosts stand on the map: the same places for the same network, so
//! that who comes back finds everything where it was.
//!
//! Switches are placed so that the distance of two on the map is as far as it can be the
//! number of links between them (Zheng, Pawar, Goodman, "Graph Drawing by Stochastic
//! Gradient Descent", 2018, section 2): pairs are taken in an order that a seed gives, and
//! each is moved together or apart by steps that grow smaller. Hosts stand around their
//! switch, on the side where it has no neighbours. Where a topology file says of every switch
//! where it stands, it stands there.

use std::collections::{BTreeMap, VecDeque};
use std::f64::consts::TAU;

use api::topology::Topology;
use wire::openflow::DatapathId;

/// The length of a link, in units of the map.
pub const LINK_LENGTH: i32 = 1_000;
/// The most switches of which every pair is looked at; of more, every switch and
/// [`PIVOTS`] others.
const ALL_PAIRS_UP_TO: usize = 512;
const PIVOTS: usize = 128;
/// How often every pair is moved.
const ROUNDS: i32 = 40;
/// How small the last step is, in relation to what would do.
const LAST_STEP: f64 = 0.02;
/// How far from its switch the first circle of hosts is, in lengths of a link.
const HOST_DISTANCE: f64 = 0.42;
/// How many hosts stand on one circle.
const HOSTS_ON_A_CIRCLE: usize = 10;

/// How near two switches may be that a topology file puts at the same place, in lengths of
/// a link.
const CLOSEST: f64 = 0.6;

/// A place on the map: from the left, from the top.
pub type Spot = [i32; 2];

/// Where everything stands, in the order of the topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub switches: Vec<Spot>,
    pub hosts: Vec<Spot>,
}

/// Who is joined to whom: all that places depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    pub switches: usize,
    /// The switches at both ends of each link, by their places in the list.
    pub links: Vec<[usize; 2]>,
    /// The switch of each host, if it is known.
    pub hosts: Vec<Option<usize>>,
    /// Where each switch stands by a topology file, in millionths of a degree, if it says so
    /// of all of them.
    pub given: Option<Vec<Spot>>,
}

impl Shape {
    #[must_use]
    pub fn of(topology: &Topology, given: &BTreeMap<DatapathId, Spot>) -> Self {
        let switches = topology.switches.iter().enumerate();
        let numbers: BTreeMap<DatapathId, usize> =
            switches.map(|(at, switch)| (switch.datapath, at)).collect();
        let links = topology.links.iter().filter_map(|link| {
            let [one, other] = link.ends.each_ref().map(|end| numbers.get(&end.datapath));
            Some([*one?, *other?])
        });
        let hosts = topology.hosts.iter().map(|host| {
            let at = host.attachment.as_ref()?;
            numbers.get(&at.datapath).copied()
        });
        Self {
            switches: topology.switches.len(),
            links: links.collect(),
            hosts: hosts.collect(),
            given: (topology.switches.iter())
                .map(|switch| given.get(&switch.datapath).copied())
                .collect(),
        }
    }

    /// Returns where everything stands.
    #[must_use]
    pub fn layout(&self) -> Layout {
        let neighbours = self.neighbours();
        let switches = match &self.given {
            Some(given) => to_scale(given, &self.links),
            None => {
                let mut switches = scattered(self.switches);
                relax(&mut switches, pairs(&neighbours));
                lay_flat(&mut switches);
                switches
            }
        };
        let hosts = self.around(&switches, &neighbours);
        let all = || switches.iter().chain(&hosts);
        let least = |axis: usize| all().map(|it| it[axis]).fold(f64::INFINITY, f64::min);
        let corner = [least(0), least(1)];
        let spot = |it: &[f64; 2]| [0, 1].map(|axis| in_units(it[axis] - corner[axis]));
        Layout {
            switches: switches.iter().map(spot).collect(),
            hosts: hosts.iter().map(spot).collect(),
        }
    }

    fn neighbours(&self) -> Vec<Vec<usize>> {
        let mut neighbours = vec![Vec::new(); self.switches];
        for [one, other] in &self.links {
            neighbours[*one].push(*other);
            neighbours[*other].push(*one);
        }
        neighbours
    }

    /// Places hosts around their switches, and those whose switch is not known in a corner.
    fn around(&self, switches: &[[f64; 2]], neighbours: &[Vec<usize>]) -> Vec<[f64; 2]> {
        let mut guests = vec![0_usize; self.switches];
        for at in self.hosts.iter().flatten() {
            guests[*at] += 1;
        }
        let mut placed = vec![0_usize; self.switches];
        let place = |at: &Option<usize>| {
            let Some(at) = *at else {
                return [0.0, 0.0];
            };
            let number = placed[at];
            placed[at] += 1;
            let circle = number / HOSTS_ON_A_CIRCLE;
            let rest = guests[at] - circle * HOSTS_ON_A_CIRCLE;
            let together = rest.min(HOSTS_ON_A_CIRCLE);
            let step = TAU / f64::max(8.0, as_f64(together) + 2.0);
            let first =
                away_from(switches, at, &neighbours[at]) - step * (as_f64(together) - 1.0) / 2.0;
            let angle = first + step * as_f64(number % HOSTS_ON_A_CIRCLE);
            let distance = HOST_DISTANCE * (1.0 + 0.5 * as_f64(circle));
            let (sine, cosine) = angle.sin_cos();
            [
                switches[at][0] + distance * cosine,
                switches[at][1] + distance * sine,
            ]
        };
        self.hosts.iter().map(place).collect()
    }
}

fn as_f64(number: usize) -> f64 {
    u32::try_from(number).map_or(f64::INFINITY, f64::from)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "a map is not that large, and `as` saturates"
)]
fn in_units(lengths: f64) -> i32 {
    (lengths * f64::from(LINK_LENGTH)).round() as i32
}

/// Returns the direction in which a switch has no neighbours.
fn away_from(switches: &[[f64; 2]], at: usize, neighbours: &[usize]) -> f64 {
    let own = switches[at];
    let mut sum = [0.0, 0.0];
    for other in neighbours {
        let towards = [0, 1].map(|axis| switches[*other][axis] - own[axis]);
        let length = f64::max(towards[0].hypot(towards[1]), 1e-9);
        sum = [0, 1].map(|axis| sum[axis] + towards[axis] / length);
    }
    match sum[0].hypot(sum[1]) < 1e-6 {
        true => TAU / 4.0,
        false => f64::atan2(-sum[1], -sum[0]),
    }
}

/// Returns given places so far apart that a usual link has the length of one. Who would
/// stand on another one steps aside.
fn to_scale(given: &[Spot], links: &[[usize; 2]]) -> Vec<[f64; 2]> {
    let count = f64::max(as_f64(given.len()), 1.0);
    let latitude = given.iter().map(|it| f64::from(it[1])).sum::<f64>() / count / 1e6;
    let narrow = latitude.to_radians().cos().abs();
    let place = |it: &Spot| [f64::from(it[0]) * narrow, f64::from(it[1])];
    let mut places: Vec<_> = given.iter().map(place).collect();
    let lengths = links.iter().map(|[one, other]| {
        let [one, other] = [places[*one], places[*other]];
        f64::hypot(one[0] - other[0], one[1] - other[1])
    });
    let mut lengths: Vec<_> = lengths.filter(|length| *length > 0.0).collect();
    lengths.sort_by(f64::total_cmp);
    let usual = lengths.get(lengths.len() / 2).copied().unwrap_or(1e6);
    for place in &mut places {
        *place = place.map(|length| length / usual);
    }
    for _ in 0..ROUNDS {
        step_aside(&mut places);
    }
    places
}

/// Moves those apart who are too near to each other.
fn step_aside(places: &mut [[f64; 2]]) {
    for one in 1..places.len() {
        for other in 0..one {
            let between = [0, 1].map(|axis| places[one][axis] - places[other][axis]);
            let length = between[0].hypot(between[1]);
            if length >= CLOSEST {
                continue;
            }
            let (sine, cosine) = match length < 1e-6 {
                // All directions are as good, and these differ for any two.
                true => as_f64(one).sin_cos(),
                false => (between[1] / length, between[0] / length),
            };
            let step = (CLOSEST - length) / 2.0;
            for (axis, towards) in [cosine, sine].into_iter().enumerate() {
                places[one][axis] += step * towards;
                places[other][axis] -= step * towards;
            }
        }
    }
}

/// Returns places to begin with: anywhere, but always the same.
fn scattered(count: usize) -> Vec<[f64; 2]> {
    let mut dice = Dice(0x7a6b_746f_735f_6d61);
    let side = as_f64(count).sqrt();
    let mut draw = || f64::from(dice.draw(1 << 20)) / f64::from(1 << 20) * side;
    (0..count).map(|_| [draw(), draw()]).collect()
}

/// Two switches and how many links are between them.
#[derive(Clone, Copy, Debug)]
struct Pair {
    one: usize,
    other: usize,
    distance: f64,
}

/// Returns the pairs whose distance is minded. Where no way leads, the distance is one more
/// than the longest way.
fn pairs(neighbours: &[Vec<usize>]) -> Vec<Pair> {
    let count = neighbours.len();
    let step = match count > ALL_PAIRS_UP_TO {
        true => count / PIVOTS,
        false => 1,
    };
    let mut pairs = Vec::new();
    let mut apart = Vec::new();
    let mut longest = 1.0;
    for one in (0..count).step_by(step) {
        let distances = distances(neighbours, one);
        for (other, distance) in distances.iter().enumerate() {
            // Where every switch is a pivot, each pair would come twice.
            if other == one || (step == 1 && other < one) {
                continue;
            }
            match distance {
                Some(distance) => {
                    let distance = as_f64(*distance);
                    longest = f64::max(longest, distance);
                    pairs.push(Pair {
                        one,
                        other,
                        distance,
                    });
                }
                None => apart.push([one, other]),
            }
        }
    }
    let distance = longest + 1.0;
    pairs.extend(apart.into_iter().map(|[one, other]| Pair {
        one,
        other,
        distance,
    }));
    if step > 1 {
        for (one, joined) in neighbours.iter().enumerate() {
            let joined = joined.iter().filter(|other| **other > one);
            pairs.extend(joined.map(|other| Pair {
                one,
                other: *other,
                distance: 1.0,
            }));
        }
    }
    pairs
}

/// Returns how many links lead from one switch to each other one.
fn distances(neighbours: &[Vec<usize>], from: usize) -> Vec<Option<usize>> {
    let mut distances = vec![None; neighbours.len()];
    distances[from] = Some(0);
    let mut queue = VecDeque::from([(from, 0)]);
    while let Some((at, distance)) = queue.pop_front() {
        for next in &neighbours[at] {
            if distances[*next].is_none() {
                distances[*next] = Some(distance + 1);
                queue.push_back((*next, distance + 1));
            }
        }
    }
    distances
}

fn relax(places: &mut [[f64; 2]], mut pairs: Vec<Pair>) {
    let furthest = pairs.iter().map(|it| it.distance).fold(1.0, f64::max);
    let (first, last) = (furthest * furthest, LAST_STEP);
    let mut dice = Dice(0x6c61_796f_7574_2031);
    for round in 0..ROUNDS {
        let progress = f64::from(round) / f64::from(ROUNDS - 1);
        let pace = first * (last / first).powf(progress);
        dice.shuffle(&mut pairs);
        for pair in &pairs {
            let step = f64::min(1.0, pace / (pair.distance * pair.distance));
            let [one, other] = [places[pair.one], places[pair.other]];
            let between = [one[0] - other[0], one[1] - other[1]];
            let length = f64::max(between[0].hypot(between[1]), 1e-9);
            let share = step * (length - pair.distance) / 2.0 / length;
            for axis in [0, 1] {
                places[pair.one][axis] -= share * between[axis];
                places[pair.other][axis] += share * between[axis];
            }
        }
    }
}

/// Turns the map so that it is wider than it is high: screens are.
fn lay_flat(places: &mut [[f64; 2]]) {
    let count = f64::max(as_f64(places.len()), 1.0);
    let mean = [0, 1].map(|axis| places.iter().map(|it| it[axis]).sum::<f64>() / count);
    let (mut across, mut mixed, mut down) = (0.0, 0.0, 0.0);
    for place in places.iter_mut() {
        *place = [place[0] - mean[0], place[1] - mean[1]];
        across += place[0] * place[0];
        mixed += place[0] * place[1];
        down += place[1] * place[1];
    }
    let (sine, cosine) = (f64::atan2(2.0 * mixed, across - down) / 2.0).sin_cos();
    for place in places {
        *place = [
            place[0] * cosine + place[1] * sine,
            place[1] * cosine - place[0] * sine,
        ];
    }
}

/// Numbers that look random and are always the same (splitmix64, Steele and others 2014).
struct Dice(u64);

impl Dice {
    fn draw(&mut self, below: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let high = (mixed ^ (mixed >> 31)) >> 32;
        u32::try_from((high * u64::from(below)) >> 32).expect("less than what it is below")
    }

    fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let count = u32::try_from(last + 1).expect("fewer pairs than that");
            let other = usize::try_from(self.draw(count)).expect("a place in a list");
            things.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(side: usize) -> Shape {
        let right = (0..side * side)
            .filter(|at| at % side + 1 < side)
            .map(|at| [at, at + 1]);
        let down = (0..side * (side - 1)).map(|at| [at, at + side]);
        Shape {
            switches: side * side,
            links: right.chain(down).collect(),
            hosts: (0..side * side).map(Some).collect(),
            given: None,
        }
    }

    fn distance([one, other]: [Spot; 2]) -> f64 {
        f64::hypot(f64::from(one[0] - other[0]), f64::from(one[1] - other[1]))
    }

    #[test]
    fn the_same_network_looks_the_same_and_links_are_about_as_long_as_each_other() {
        let shape = grid(14);

        let layout = shape.layout();

        assert_eq!(layout, shape.layout());
        for [one, other] in &shape.links {
            let length = distance([layout.switches[*one], layout.switches[*other]]);
            assert!(
                (500.0..1_600.0).contains(&length),
                "{one}-{other}: {length}"
            );
        }
    }

    #[test]
    fn no_two_things_stand_on_each_other() {
        for side in [1, 2, 5, 14] {
            let layout = grid(side).layout();
            let all: Vec<_> = layout.switches.iter().chain(&layout.hosts).collect();

            for (at, one) in all.iter().enumerate() {
                for other in &all[..at] {
                    assert!(
                        distance([**one, **other]) > 60.0,
                        "{side}: {one:?} {other:?}"
                    );
                }
            }
        }
    }

    /// Oslo, Bergen, Trondheim, and another switch in Oslo.
    #[test]
    fn switches_stand_where_a_file_says_and_never_on_each_other() {
        let given = [
            [10_750_000, -59_910_000],
            [5_320_000, -60_390_000],
            [10_400_000, -63_430_000],
            [10_750_000, -59_910_000],
        ];
        let shape = Shape {
            switches: 4,
            links: vec![[0, 1], [0, 2], [0, 3]],
            hosts: vec![Some(0)],
            given: Some(given.to_vec()),
        };

        let [oslo, bergen, trondheim, other] = shape.layout().switches[..] else {
            panic!("there are four")
        };

        assert!(bergen[0] + 800 < oslo[0] && bergen[1].abs_diff(oslo[1]) < 700);
        assert!(trondheim[1] + 700 < oslo[1] && trondheim[0].abs_diff(oslo[0]) < 500);
        assert!((550.0..700.0).contains(&distance([oslo, other])));
    }

    #[test]
    fn networks_that_are_large_fall_apart_or_are_empty_are_laid_out_as_well() {
        let empty = Shape::default().layout();
        let parts = Shape {
            switches: 4,
            links: vec![[0, 1], [2, 3]],
            hosts: vec![None],
            given: None,
        }
        .layout();
        let large = grid(30).layout();

        assert_eq!(empty, Layout::default());
        assert!(
            distance([parts.switches[0], parts.switches[2]]) > 500.0,
            "{parts:?}"
        );
        assert_eq!(large.switches.len(), 900);
    }
}
