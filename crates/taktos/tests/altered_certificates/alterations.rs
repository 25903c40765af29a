//! Alterations by hand: each is refused, and for the reason that is expected.

use certificate::document::{Alternative, End, Figures, Flow, Frames, Level, Protection, Service};
use certificate::{Certificate, check};
use serde_json::{Value, json};

use super::real::Real;

#[derive(Clone, Copy, Debug)]
enum By {
    /// The proof, with an objection that holds this.
    Proof(&'static str),
    /// The comparison with the scenario, with a difference that holds this.
    Comparison(&'static str),
}
use By::{Comparison, Proof};

type Change = fn(&mut Certificate);

/// What is done to a certificate, and by what it is refused.
type Alterations = &'static [(&'static str, Change, By)];

/// S4-11: of a substation, in which groups and flows that move cross a ring.
const OF_THE_SUBSTATION: Alterations = &[
    (
        "no flow at all",
        |it| it.flows.clear(),
        Proof("promises nothing"),
    ),
    (
        "a flow less",
        |it| drop(it.flows.pop()),
        Comparison("flow `"),
    ),
    (
        "a flow more",
        |it| {
            let mut more = it.flows[0].clone();
            more.demand.name = "more".to_owned();
            it.flows.push(more);
        },
        Comparison("flow `more`"),
    ),
    (
        "a flow twice",
        |it| it.flows.push(it.flows[0].clone()),
        Proof("name is there twice"),
    ),
    (
        "a flow of another name",
        |it| {
            it.flows[0].demand.name = "another".to_owned();
        },
        Comparison("flow `another`"),
    ),
    (
        "a promise beyond its deadline",
        |it| {
            let service = service(it);
            service.deadline_ps = 100_000_000;
        },
        Proof("for a deadline of 100 us"),
    ),
    (
        "a deadline as late as the promise",
        |it| {
            let promised = it.flows[0].guarantees_ps[0].unwrap();
            service(it).deadline_ps = promised;
        },
        Comparison("deadline_ps"),
    ),
    (
        "a promise a picosecond too short",
        |it| {
            *it.flows[0].guarantees_ps[0].as_mut().unwrap() -= 1;
        },
        Proof("its budgets add up to"),
    ),
    (
        "a promise of nothing",
        |it| it.flows[0].guarantees_ps[0] = Some(0),
        Proof("promises 0"),
    ),
    (
        "no promise",
        |it| it.flows[0].guarantees_ps[0] = None,
        Proof("each of the 1 levels"),
    ),
    (
        "promises for more levels than there are",
        |it| {
            it.flows[0].guarantees_ps.push(Some(1));
        },
        Proof("each of the 1 levels"),
    ),
    ("no level", |it| it.levels.clear(), Proof("it has no level")),
    (
        "a path cut after two stages",
        |it| it.flows[0].path.truncate(2),
        Proof("is no way"),
    ),
    (
        "a path without its first link",
        |it| {
            it.flows[0].path.remove(0);
        },
        Proof("does not begin with the link of the source"),
    ),
    (
        "a path without a link in the middle",
        |it| {
            let flow = far(it);
            flow.path.remove(2);
        },
        Proof("is no way"),
    ),
    (
        "a path without its last link",
        |it| far(it).path.truncate(2),
        Proof("is no way"),
    ),
    (
        "a path that crosses a link twice",
        |it| {
            let flow = far(it);
            flow.path.push(flow.path[1]);
        },
        Proof("crosses a link twice"),
    ),
    (
        "a path around the whole ring",
        |it| far(it).path = vec![0, 1, 2, 3],
        Proof("is no way"),
    ),
    (
        "a path over a link that there is not",
        |it| {
            it.flows[0].path.push(9_999);
        },
        Proof("a link that there is not"),
    ),
    (
        "a path with a branch to somebody else",
        |it| {
            let laptop = it
                .network
                .links
                .iter()
                .position(|link| link.name.contains("laptop"));
            it.flows[0].path.push(laptop.unwrap());
        },
        Proof("a host that does not receive"),
    ),
    (
        "an empty path",
        |it| it.flows[0].path.clear(),
        Proof("does not begin"),
    ),
    (
        "a receiver less, and its link",
        |it| {
            let flow = &mut it.flows[0];
            flow.demand.receivers.pop();
        },
        Proof("does not receive"),
    ),
    (
        "a group of one",
        |it| {
            // The whole way of the other receiver left out.
            let receivers = it.flows[0].demand.receivers.clone();
            it.flows[0].demand.receivers = receivers[..1].to_vec();
            it.flows[0].demand.protection = Protection::None;
            it.flows[0].alternatives.clear();
            let link = |name: &str, links: &[certificate::document::Link]| {
                links
                    .iter()
                    .position(|link| link.ends.iter().any(|end| end.node == name))
                    .unwrap()
            };
            let ends = [
                link(&it.flows[0].demand.source, &it.network.links),
                link(&receivers[0], &it.network.links),
            ];
            it.flows[0].path = ends.to_vec();
        },
        Comparison("receivers"),
    ),
    (
        "a receiver twice",
        |it| {
            let receiver = it.flows[0].demand.receivers[0].clone();
            it.flows[0].demand.receivers.push(receiver);
        },
        Proof("its receiver is there twice"),
    ),
    (
        "another source",
        |it| {
            it.flows[0].demand.source = "laptop".to_owned();
        },
        Proof("does not begin"),
    ),
    (
        "a source that there is not",
        |it| {
            it.flows[0].demand.source = "nobody".to_owned();
        },
        Proof("no host `nobody`"),
    ),
    (
        "an alternative over what is broken",
        |it| {
            let flow = far(it);
            flow.alternatives[0].path = flow.path.clone();
        },
        Proof("which is broken then"),
    ),
    (
        "an alternative less",
        |it| drop(far(it).alternatives.pop()),
        Proof("no alternative without"),
    ),
    (
        "no alternative at all",
        |it| far(it).alternatives.clear(),
        Proof("no alternative without"),
    ),
    (
        "protection that nobody asked for",
        |it| {
            let flow = far(it);
            flow.demand.protection = Protection::None;
            flow.alternatives.clear();
        },
        Comparison("protection"),
    ),
    (
        "an alternative twice",
        |it| {
            let flow = far(it);
            let first = flow.alternatives[0].clone();
            flow.alternatives.push(first);
        },
        Proof("not protected against"),
    ),
    (
        "an alternative for the first link",
        |it| {
            let flow = far(it);
            let (without, path) = (flow.path[0], flow.alternatives[0].path.clone());
            flow.alternatives.push(Alternative { without, path });
        },
        Proof("not protected against"),
    ),
    (
        "an alternative that is cut",
        |it| {
            far(it).alternatives[0].path.pop();
        },
        Proof("is no way"),
    ),
    (
        "fewer frames than bits",
        |it| {
            for flow in &mut it.flows {
                for service in flow.demand.levels.iter_mut().flatten() {
                    service.frames = Some(Frames {
                        millionths_per_second: 0,
                        burst_millionths: 0,
                    });
                }
            }
        },
        Proof("fewer frames than its bits"),
    ),
    (
        "a rate of nothing",
        |it| service(it).rate_bps = 0,
        Proof("rate is nothing"),
    ),
    (
        "a lower rate",
        |it| service(it).rate_bps -= 1,
        Comparison("rate_bps"),
    ),
    (
        "a smaller burst",
        |it| service(it).burst_bit -= 1,
        Comparison("burst_bit"),
    ),
    (
        "a burst of less than a frame",
        |it| service(it).burst_bit = 512,
        Proof("no room for its largest"),
    ),
    (
        "a smaller largest frame",
        |it| {
            let service = service(it);
            service.largest_frame_bit -= 8;
            service.smallest_frame_bit -= 8;
        },
        Comparison("largest_frame_bit"),
    ),
    (
        "a larger smallest frame",
        |it| {
            let service = service(it);
            service.smallest_frame_bit = service.largest_frame_bit + 1;
        },
        Proof("larger than its largest"),
    ),
    (
        "a more urgent class",
        |it| service(it).class = 6,
        Proof("no promise rests"),
    ),
    (
        "a class that has no promises",
        |it| service(it).class = 7,
        Proof("none that has promises"),
    ),
    (
        "a processor that takes no time, beside its digest",
        |it| {
            it.network.profiles[0].figures.latency_ps = 0;
        },
        Proof("digest is not that of its figures"),
    ),
    (
        "a processor that takes no time",
        |it| figures(it, |it| it.latency_ps = 0),
        Comparison("figures"),
    ),
    (
        "a processor that works faster",
        |it| figures(it, |it| it.per_frame_ps /= 2),
        Comparison("figures"),
    ),
    (
        "longer queues",
        |it| figures(it, |it| it.queue_frames += 1),
        Comparison("figures"),
    ),
    (
        "a larger pool",
        |it| figures(it, |it| it.pool_frames += 1),
        Comparison("figures"),
    ),
    (
        "a digest of zeros",
        |it| it.network.profiles[0].sha256 = "0".repeat(64),
        Proof("digest is not"),
    ),
    (
        "an empty digest",
        |it| it.network.profiles[0].sha256.clear(),
        Proof("digest is not"),
    ),
    (
        "no profiles",
        |it| it.network.profiles.clear(),
        Proof("no profile"),
    ),
    (
        "another profile of a switch",
        |it| {
            let fast = Figures {
                latency_ps: 0,
                per_frame_ps: 0,
                pool_frames: 99_999,
                queue_frames: 99_999,
            };
            let mut profile = it.network.profiles[0].clone();
            (profile.name, profile.figures, profile.sha256) =
                ("fast".to_owned(), fast, fast.digest());
            it.network.profiles.push(profile);
            it.network.switches[0].profile = "fast".to_owned();
        },
        Comparison("profile"),
    ),
    (
        "a profile twice",
        |it| {
            let profile = it.network.profiles[0].clone();
            it.network.profiles.push(profile);
        },
        Proof("name is there twice"),
    ),
    (
        "a switch less",
        |it| drop(it.network.switches.pop()),
        Proof("there is no node"),
    ),
    (
        "another datapath id",
        |it| it.network.switches[0].datapath = 99,
        Comparison("datapath"),
    ),
    (
        "a datapath id twice",
        |it| {
            it.network.switches[0].datapath = it.network.switches[1].datapath;
        },
        Proof("datapath id is there twice"),
    ),
    (
        "faster links",
        |it| {
            for link in &mut it.network.links {
                link.rate_bps *= 10;
            }
        },
        Comparison("rate_bps"),
    ),
    (
        "a link of no rate",
        |it| it.network.links[0].rate_bps = 0,
        Proof("rate is nothing"),
    ),
    (
        "shorter links",
        |it| {
            it.network.links[0].propagation_ps =
                it.network.links[0].propagation_ps.saturating_sub(1);
            it.network.links[1].name = "renamed".to_owned();
        },
        Comparison("link `renamed`"),
    ),
    (
        "a host at another switch",
        |it| {
            let end = |end: &&mut End| end.node == "s1";
            let link = it
                .network
                .links
                .iter_mut()
                .find(|link| link.name.contains("laptop"))
                .unwrap();
            let end = link.ends.iter_mut().find(end).unwrap();
            (end.node, end.port) = ("s3".to_owned(), 77);
        },
        Comparison("laptop"),
    ),
    (
        "a port twice",
        |it| {
            it.network.links[1].ends[0] = it.network.links[0].ends[0].clone();
        },
        Proof("port is there twice"),
    ),
    (
        "a host with two links",
        |it| {
            let mut link = it.network.links[0].clone();
            link.name = "second".to_owned();
            for end in &mut link.ends {
                end.port += 50;
            }
            it.network.links.push(link);
        },
        Proof("link of a host is there twice"),
    ),
    (
        "a host without a link",
        |it| {
            let loose = certificate::document::Host {
                name: "loose".to_owned(),
                unpromised: None,
            };
            it.network.hosts.push(loose);
        },
        Proof("has no link"),
    ),
    (
        "nobody who floods",
        |it| {
            for host in &mut it.network.hosts {
                host.unpromised = None;
            }
        },
        Comparison("without a promise"),
    ),
    (
        "larger frames of who floods",
        |it| {
            let sends = it
                .network
                .hosts
                .iter_mut()
                .find_map(|host| host.unpromised.as_mut());
            sends.unwrap().smallest_frame_bit += 800;
        },
        Comparison("without a promise"),
    ),
    (
        "no probes",
        |it| it.network.probe_interval_ps = 0,
        Proof("no such interval"),
    ),
    (
        "seldom probes",
        |it| it.network.probe_interval_ps *= 10,
        Comparison("probe_interval_ps"),
    ),
    (
        "classes that probes stay out of",
        |it| {
            it.network.classes = vec![6, 5, 3, 1];
        },
        Comparison("classes"),
    ),
    (
        "classes out of order",
        |it| it.network.classes.reverse(),
        Proof("most urgent first"),
    ),
    (
        "another network's name",
        |it| it.network.name = "other".to_owned(),
        Comparison("network"),
    ),
    (
        "budgets of nothing",
        |it| {
            for port in &mut it.levels[0].ports {
                port.budget_ps = 0;
            }
            for processor in &mut it.levels[0].processors {
                processor.budget_ps = 0;
            }
        },
        Proof("beyond the budget of 0"),
    ),
    (
        "a processor without a budget",
        |it| {
            it.levels[0].processors.remove(0);
        },
        Proof("which has no budget"),
    ),
    (
        "a port without a budget",
        |it| drop(it.levels[0].ports.remove(0)),
        Proof("which has no budget"),
    ),
    (
        "a budget twice",
        |it| {
            let port = it.levels[0].ports[0].clone();
            it.levels[0].ports.push(port);
        },
        Proof("budget is there twice"),
    ),
    (
        "a budget of a port that there is not",
        |it| {
            it.levels[0].ports[0].port = 99;
        },
        Proof("no port `99`"),
    ),
    (
        "a budget on which nothing rests",
        |it| {
            let mut port = it.levels[0].ports[0].clone();
            port.class = 1;
            it.levels[0].ports.push(port);
        },
        Proof("no promise rests"),
    ),
    (
        "larger budgets beside the same promises",
        |it| {
            for processor in &mut it.levels[0].processors {
                processor.budget_ps *= 2;
            }
        },
        Proof("its budgets add up to"),
    ),
    (
        "levels that nobody changes",
        |it| {
            let level = it.levels[0].clone();
            it.levels.push(level);
            for flow in &mut it.flows {
                flow.guarantees_ps.push(flow.guarantees_ps[0]);
                flow.demand.levels.push(flow.demand.levels[0]);
            }
        },
        Proof("exactly where there are several"),
    ),
];

/// Of a car, whose film is given up when its camera looks more often.
const OF_LEVELS: Alterations = &[
    (
        "a level less",
        |it| {
            it.levels.truncate(1);
            it.network.changes = certificate::document::Changes::Nobody;
            for flow in &mut it.flows {
                flow.guarantees_ps.truncate(1);
                flow.demand.levels.truncate(1);
            }
        },
        Comparison("who changes the level"),
    ),
    (
        "levels that the controller changes",
        |it| {
            it.network.changes = certificate::document::Changes::Controller;
        },
        Comparison("who changes the level"),
    ),
    (
        "a promise without what a change takes",
        |it| {
            let promised = named(it, "stream").guarantees_ps[0];
            named(it, "cam").guarantees_ps[1] = promised.map(|it| it / 2);
        },
        Proof("at level `hi`"),
    ),
    (
        "a promise beyond the deadline of a level",
        |it| {
            named(it, "cam").guarantees_ps[1] = Some(22_000_000_001);
        },
        Proof("at level `hi` for a deadline"),
    ),
    (
        "a film that is served above",
        |it| {
            let film = named(it, "stream");
            film.demand.levels[1] = film.demand.levels[0];
            film.guarantees_ps[1] = film.guarantees_ps[0];
        },
        Proof("has no budget of class"),
    ),
    (
        "a camera that is given up",
        |it| {
            let camera = named(it, "cam");
            camera.demand.levels[1] = None;
            camera.guarantees_ps[1] = None;
        },
        Proof("no promise rests"),
    ),
    (
        "a film in the queue of the camera",
        |it| {
            let class = at_level(named(it, "cam"), 0).class;
            at_level(named(it, "stream"), 0).class = class;
        },
        Proof("may stand before"),
    ),
    (
        "a camera that comes to a more urgent queue",
        |it| {
            at_level(named(it, "cam"), 1).class = 6;
        },
        Proof("overtake"),
    ),
    (
        "a camera that sends less above",
        |it| {
            at_level(named(it, "cam"), 1).rate_bps /= 20;
        },
        Proof("brings less"),
    ),
    (
        "fewer frames of a message",
        |it| {
            let frames = at_level(named(it, "cam"), 1).frames.as_mut().unwrap();
            frames.burst_millionths /= 2;
        },
        Proof("fewer frames than its bits"),
    ),
    (
        "messages that are counted by their smallest frames",
        |it| {
            at_level(named(it, "cam"), 1).frames = None;
        },
        Comparison("frames"),
    ),
    (
        "another name of a level, and its budgets",
        |it| {
            let lowest: Level = it.levels[0].clone();
            it.levels[1].processors = lowest.processors;
            it.levels[1].processors.clear();
        },
        Proof("which has no budget"),
    ),
    (
        "a processor that signals pass without a budget",
        |it| {
            it.levels[0].processors.remove(1);
        },
        Proof("which has no budget"),
    ),
    (
        "a flow that is served above alone",
        |it| {
            let camera = named(it, "cam");
            camera.demand.levels[0] = None;
            camera.guarantees_ps[0] = None;
        },
        Proof("not served at the lowest level"),
    ),
];

/// Of messages with a peak, on a torus.
const OF_MESSAGES: Alterations = &[
    (
        "a host with a slower link, which makes a lower peak",
        |it| {
            let link = it
                .network
                .links
                .iter_mut()
                .find(|link| link.name.contains("h1-") || link.name.contains("-h1"));
            link.unwrap().rate_bps /= 10;
        },
        Proof("its budgets add up to"),
    ),
    (
        "a host with a faster link",
        |it| {
            for link in &mut it.network.links {
                if link
                    .ends
                    .iter()
                    .any(|end| end.node == "h1" || end.node == "h9")
                {
                    link.rate_bps *= 100;
                }
            }
        },
        Comparison("rate_bps"),
    ),
    (
        "messages of fewer frames",
        |it| {
            for flow in &mut it.flows {
                if let Some(frames) = flow.demand.levels[0].as_mut().unwrap().frames.as_mut() {
                    frames.burst_millionths = 1_000_000;
                }
            }
        },
        Proof("fewer frames than its bits"),
    ),
    (
        "a group that reaches nobody else",
        |it| {
            named(it, "group").demand.receivers.remove(0);
        },
        Proof("does not receive"),
    ),
    (
        "answers of the flood dropped",
        |it| {
            it.flows
                .retain(|flow| !flow.demand.name.contains("answers"));
        },
        Proof("no promise rests"),
    ),
    (
        "a burst as large as a frame",
        |it| {
            let service = at_level(named(it, "points"), 0);
            (service.burst_bit, service.frames) = (service.largest_frame_bit, None);
        },
        Comparison("burst_bit"),
    ),
];

/// Of second copies on two ways.
const OF_COPIES: Alterations = &[
    (
        "both copies on one way",
        |it| {
            let path = it.flows[0].path.clone();
            it.flows[0].copies.as_mut().unwrap().path = path;
        },
        Proof("both copies cross"),
    ),
    (
        "no second copies",
        |it| it.flows[0].copies = None,
        Proof("what protects by copies"),
    ),
    (
        "an eliminator on one way",
        |it| {
            it.flows[0].copies.as_mut().unwrap().eliminator = Some("s3".to_owned());
        },
        Proof("meet at the eliminator"),
    ),
    (
        "an eliminator that is none",
        |it| {
            it.flows[0].copies.as_mut().unwrap().eliminator = Some("mu".to_owned());
        },
        Proof("meet at the eliminator"),
    ),
    (
        "second copies that end on their way",
        |it| {
            it.flows[0].copies.as_mut().unwrap().path.pop();
        },
        Proof("is no way"),
    ),
    (
        "second copies that nobody asked for",
        |it| {
            it.flows[0].demand.protection = Protection::None;
            it.flows[0].demand.tag_bit = 0;
        },
        Proof("what protects by copies"),
    ),
    (
        "alternatives beside copies",
        |it| {
            let path = it.flows[0].copies.as_ref().unwrap().path.clone();
            it.flows[0].alternatives = vec![Alternative { without: 0, path }];
        },
        Proof("not protected against"),
    ),
    (
        "a shorter promise than the slower copy takes",
        |it| {
            *it.flows[0].guarantees_ps[0].as_mut().unwrap() -= 1;
        },
        Proof("its budgets add up to"),
    ),
    (
        "frames that get no tag",
        |it| it.flows[0].demand.tag_bit = 0,
        Comparison("tag_bit"),
    ),
    (
        "frames that get a tag of their own",
        |it| it.flows[0].demand.tag_bit = 32,
        Proof("a tag of 6 bytes"),
    ),
    (
        "frames without room for a tag",
        |it| {
            let service = it.flows[0].demand.levels[0].as_mut().unwrap();
            service.largest_frame_bit = 1_537 * 8;
            service.burst_bit = 1_537 * 8;
        },
        Proof("no room for a tag"),
    ),
];

/// Alterations of frames that stay in order.
const IN_ORDER: Alterations = &[
    (
        "frames that are held for less than the ways differ",
        |it| it.flows[0].demand.hold_ps = 1_000,
        Proof("its copies may come"),
    ),
    (
        "frames that are held for longer than is promised",
        |it| it.flows[0].demand.hold_ps += 1,
        Proof("its budgets add up to"),
    ),
    (
        "frames that are not held",
        |it| it.flows[0].demand.hold_ps = 0,
        Comparison("hold_ps"),
    ),
    (
        "frames that nobody holds",
        |it| it.flows[0].copies.as_mut().unwrap().eliminator = None,
        Proof("meet at the eliminator"),
    ),
    (
        "frames that are held by no number",
        |it| it.flows[0].demand.tag_bit = 0,
        Proof("by the number in their tag"),
    ),
];

/// Alterations of frames that are turned back.
const OF_TURNED: Alterations = &[
    (
        "frames that are not turned back but were",
        |it| {
            let path = it.flows[0].alternatives[0].path.clone();
            it.flows[0].alternatives[1].path = path;
        },
        Proof("leave the path before"),
    ),
    (
        "an order in which nobody goes",
        |it| it.flows[0].alternatives[1].path.swap(2, 3),
        Proof("is no way"),
    ),
    (
        "a way that ends where it turns",
        |it| it.flows[0].alternatives[1].path.truncate(3),
        Proof("does not end at the receiver"),
    ),
    (
        "a way over what is broken",
        |it| it.flows[0].alternatives[1].path = it.flows[0].path.clone(),
        Proof("which is broken then"),
    ),
    (
        "no way without one link",
        |it| drop(it.flows[0].alternatives.pop()),
        Proof("no alternative without"),
    ),
    (
        "two receivers",
        |it| it.flows[0].demand.receivers.push("mu2".to_owned()),
        Proof("`mu2`"),
    ),
    (
        "a controller that moves it",
        |it| {
            it.flows[0].demand.protection = Protection::Restore;
            it.flows[0].demand.bfd_interval_ps = None;
        },
        Proof("is no way"),
    ),
    (
        "links that nobody watches",
        |it| it.flows[0].demand.bfd_interval_ps = None,
        Proof("on which no promise rests"),
    ),
    (
        "links that are watched seldom",
        |it| it.flows[0].demand.bfd_interval_ps = Some(1_000_000_000_000),
        Comparison("bfd_interval_ps"),
    ),
    (
        "links that are watched without a break",
        |it| it.flows[0].demand.bfd_interval_ps = Some(1),
        Proof("no such interval"),
    ),
    (
        "a budget that no packet keeps",
        |it| {
            let ports = it.levels[0].ports.iter_mut();
            ports
                .filter(|it| it.class == 7)
                .for_each(|it| it.budget_ps -= 1);
        },
        Proof("beyond the budget"),
    ),
];

#[test]
fn each_of_a_hundred_consistent_alterations_is_refused_for_its_reason() {
    let (mut tried, mut escaped) = (0, Vec::new());
    let tables: [(Real, Alterations); 6] = [
        (Real::substation(), OF_THE_SUBSTATION),
        (Real::levels(), OF_LEVELS),
        (Real::messages(), OF_MESSAGES),
        (Real::copies(), OF_COPIES),
        (Real::in_order(), IN_ORDER),
        (Real::turned(), OF_TURNED),
    ];
    for (real, alterations) in tables {
        assert!(check(&real.certificate).is_ok(), "{}", real.name);
        for (what, change, by) in alterations {
            let mut altered = real.certificate.clone();
            change(&mut altered);
            let altered = altered.seal();
            let text = altered.write();
            let altered = Certificate::read(&text).unwrap();
            assert_ne!(altered, real.certificate, "{what} changes nothing");

            let said: Vec<String> = match by {
                Proof(_) => {
                    let objections = check(&altered).err().unwrap_or_default();
                    objections.iter().map(ToString::to_string).collect()
                }
                Comparison(_) => {
                    let differences = real.differences(&altered);
                    differences.iter().map(ToString::to_string).collect()
                }
            };

            let (Proof(expected) | Comparison(expected)) = by;
            if !said.iter().any(|said| said.contains(expected)) {
                let name = real.name;
                escaped.push(format!("{name} with {what}, `{expected}`: {said:#?}"));
            }
            tried += 1;
        }
    }
    assert!(escaped.is_empty(), "{escaped:#?}");
    assert!(tried > 100, "{tried}");
}

/// Returns the least budget of a port with which a certificate is proven.
fn least_budget(mut certificate: Certificate, at: usize) -> u64 {
    let (mut low, mut high) = (0, certificate.levels[0].ports[at].budget_ps);
    while high - low > 1 {
        let budget = low.midpoint(high);
        certificate.levels[0].ports[at].budget_ps = budget;
        match check(&certificate) {
            Ok(_) => high = budget,
            Err(_) => low = budget,
        }
    }
    high
}

#[test]
fn tags_and_packets_between_neighbours_take_their_time_of_ports() {
    let numbered = Real::copies().certificate;
    let mut plain = numbered.clone();
    plain.flows[0].demand.tag_bit = 0;
    // A port of 1 Gbit/s between switches: two samples of 48 bits more each, and what may
    // have come closer together before it.
    let more = least_budget(numbered, 0) - least_budget(plain, 0);
    assert!((96_000..300_000).contains(&more), "{more}");

    let watched = Real::turned().certificate;
    let mut alone = watched.clone();
    alone.flows[0].demand.bfd_interval_ps = None;
    alone.levels[0].ports.retain(|port| port.class != 7);
    // Three packets of 720 bits, and those that come meanwhile.
    let more = least_budget(watched, 0) - least_budget(alone, 0);
    assert!((2_160_000..2_600_000).contains(&more), "{more}");
}

/// What follows is not stated, so nobody can state it otherwise: the order of hops, what
/// the first link takes, peaks, bursts, bounds and stages.
#[test]
fn what_follows_from_the_rest_cannot_be_written_down() {
    let real = Real::substation();
    for (place, key, value) in [
        ("/flows/0", "initial_ps", json!(0)),
        ("/flows/0", "peak", json!({"rate_bps": 0, "burst_bit": 0})),
        (
            "/flows/0",
            "hops",
            json!([{"stage": 0, "after": null, "burst": 0}]),
        ),
        ("/levels/0/processors/0", "latency_ps", json!(0)),
        (
            "/levels/0/processors/0",
            "fastest_per_frame_ps",
            json!(9_999_999),
        ),
        ("/levels/0/processors/0", "bound_ps", json!(0)),
        ("/levels/0/ports/0", "buffer_frames", json!(null)),
        (
            "/network/profiles/0/figures",
            "fastest_per_frame_ps",
            json!(9_999_999),
        ),
        ("", "stages", json!([])),
        ("", "failures", json!([])),
    ] {
        let mut document: Value = serde_json::to_value(&real.certificate).unwrap();
        let place = document.pointer_mut(place).unwrap();
        place[key] = value;

        let refused = Certificate::read(&document.to_string())
            .unwrap_err()
            .to_string();

        assert!(
            refused.contains(&format!("unknown field `{key}`")),
            "{refused}"
        );
    }
}

/// Returns the first flow's service at the lowest level.
fn service(certificate: &mut Certificate) -> &mut Service {
    at_level(&mut certificate.flows[0], 0)
}

fn at_level(flow: &mut certificate::document::Flow, level: usize) -> &mut Service {
    flow.demand.levels[level].as_mut().unwrap()
}

/// Returns a flow to one receiver that crosses a link between switches, and is not turned
/// back.
fn far(certificate: &mut Certificate) -> &mut Flow {
    let mut flows = certificate.flows.iter_mut();
    let is_far = |flow: &Flow| flow.demand.receivers.len() == 1 && flow.path.len() > 2;
    let far = flows.find(|it| is_far(it) && it.demand.protection != Protection::FastFailover);
    far.unwrap()
}

fn named<'a>(certificate: &'a mut Certificate, name: &str) -> &'a mut Flow {
    let mut flows = certificate.flows.iter_mut();
    flows.find(|flow| flow.demand.name == name).unwrap()
}

/// Changes the figures of the first profile, and its digest with them.
fn figures(certificate: &mut Certificate, change: impl FnOnce(&mut Figures)) {
    let profile = &mut certificate.network.profiles[0];
    change(&mut profile.figures);
    profile.sha256 = profile.figures.digest();
}
