//! `internet2`: a network as large as the one of the demonstration is discovered
//! and shown, ONOS section 3.2 and Fig. 6.

use controller::Reply;
use controller::northbound::{Request, Saying};
use controller::view::View;
use measure::document::picture::NetworkMap;
use measure::reproduction::{Picture, Row};
use sim::parts::{End, LinkPart, Node, Parts, Processing, SwitchPart};
use units::{Delay, Duration, Instant};

use super::super::amounts::real;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress};
use super::emulation::{city_at, config, port_to, switch_config};
use super::wide_area::WideArea;

const SWITCHES: usize = 205;
const LINKS: usize = 414;
/// How long is waited for what is not found.
const PATIENCE: Duration = Duration::from_secs(10);
const STEP: Duration = Duration::from_ms(10);
/// How far the controller is away.
const CONTROL_DELAY: Duration = Duration::from_ms(20);
/// A bit travels 5 us a kilometre; the square has a side of 3,000 km.
const ACROSS: f64 = 15_000.0;

/// Discovers the network in virtual time.
pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let map = WideArea::draw(settings.seed, SWITCHES, LINKS);
    let mut world = sim::World::new(parts(&map, settings.seed));
    let (mut found, mut at) = (0, Instant::ZERO);
    while found < LINKS && world.now() < Instant::ZERO + PATIENCE {
        world.run_until(world.now() + STEP);
        let view = view(&mut world);
        found = links_of(&view).len();
        at = world.now();
        progress(real_of(found), real_of(LINKS));
    }
    let view = view(&mut world);
    let links = links_of(&view);
    let wrong = links
        .iter()
        .filter(|link| !map.links.contains(link))
        .count();
    let rows = vec![
        Row::new("switches discovered", "")
            .printed("205")
            .ours(real(real_of(view.switches().len()))),
        Row::new("links discovered", "")
            .printed("414")
            .ours(real(real_of(links.len()))),
        Row::new("links discovered that are not there", "").ours(real(real_of(wrong))),
        Row::new("time until all were discovered", "ms")
            .ours(at.saturating_since(Instant::ZERO).as_secs_f64() * 1e3)
            .note(
                "virtual time from the first connection on; the controller is 20 ms away from all",
            ),
    ];
    let mut outcome = ExperimentOutcome {
        rows,
        ..ExperimentOutcome::default()
    };
    if wrong > 0 || links.len() < LINKS {
        outcome.broken.push(format!(
            "{} of {LINKS} links, {wrong} of them wrong",
            links.len()
        ));
    }
    outcome.pictures.push(Picture::Network(NetworkMap {
        name: "internet2".to_owned(),
        title: format!(
            "What was discovered: {} switches, {} links",
            view.switches().len(),
            links.len()
        ),
        places: map.places.clone(),
        links,
    }));
    outcome.remarks.push(
        "The network is drawn from the seed; the paper shows its own as a picture only. Switches \
         stand where they were drawn, links are those of the controller's view."
            .to_owned(),
    );
    outcome
}

fn real_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn view(world: &mut sim::World) -> View {
    let request = world.request(Request::View);
    let said = world.said().into_iter();
    let mut replies = said.filter_map(|said| match said.what {
        Saying::Reply(id, Reply::View(view)) if id == request => Some(*view),
        Saying::Reply(..) | Saying::Notice(_) => None,
    });
    replies.next_back().unwrap_or_default()
}

/// Returns the links that are up, as pairs of cities.
fn links_of(view: &View) -> Vec<[usize; 2]> {
    let up = view.links().iter().filter(|link| view.is_up(link.ends));
    let pairs = up.map(|link| {
        let mut cities = link.ends.both().map(|end| city_at(end.datapath));
        cities.sort_unstable();
        cities
    });
    pairs.collect()
}

fn parts(map: &WideArea, seed: u64) -> Parts {
    let switches = (0..map.places.len()).map(|city| SwitchPart {
        config: switch_config(map, city),
        processing: Processing {
            latency: Delay::from_us(10),
            per_frame: Delay::from_us(1),
            capacity: 1_024,
        },
        emulation: None,
    });
    let links = map.links.iter().map(|[one, other]| {
        let end = |at: usize, to: usize| End {
            node: Node::Switch(at),
            port: port_to(to),
        };
        LinkPart {
            ends: [end(*one, *other), end(*other, *one)],
            propagation: Delay::from_us(travel_us(map.places[*one], map.places[*other])),
        }
    });
    Parts {
        seed,
        switches: switches.collect(),
        hosts: Vec::new(),
        links: links.collect(),
        controller: Some(config(map)),
        control_delay: CONTROL_DELAY,
        carrier_detection: Duration::from_ms(1),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a distance within a square is small and not negative"
)]
fn travel_us(one: [f64; 2], other: [f64; 2]) -> u64 {
    let [x, y] = [one[0] - other[0], one[1] - other[1]];
    (x.hypot(y) * ACROSS).ceil() as u64
}
