//! A switch that is slower than its profile is said to be, what it says falsely is not
//! believed, and a profile that explains what was seen is offered, adopted and kept.
#![expect(clippy::unwrap_used, reason = "only tests use this")]

use controller::northbound::{
    FlowSummary, HopDoubt, ProfileOffer, ProfileRefusal, ProfileStanding, ProfileWish,
    PromiseState, Raised, SwitchProfile,
};
use controller::{Event, Reply, Request};
use proptest::prelude::*;
use units::{Delay, Duration, Instant};
use wire::openflow::taktos::{HopEvent, HopMessage};
use wire::openflow::{Cookie, DatapathId, Message, TableId, TransactionId};

use crate::DIAMOND;
use crate::budgets::{flows, following, wanted};
use crate::fake::{Network, group, requirement};
use crate::hops::entry;

const LINE: [(u64, u64); 2] = [(1, 2), (2, 3)];
const SOON: Duration = Duration::from_ms(1_200);

#[test]
fn a_switch_that_is_slower_than_its_profile_is_said_to_be_and_no_promise_over_it_to_hold() {
    let mut network = with_flows(&LINE, &[20_000]);
    assert_eq!(state(&mut network, "flow1"), PromiseState::Holds);

    let budget = exceed(&mut network, 2, 300);
    network.pass(SOON);

    assert_eq!(contradicted(&network), [("s2".to_owned(), true)]);
    let flow = flow(&mut network, "flow1");
    assert_eq!(flow.promise.state, PromiseState::Unknown);
    let cause = flow.promise.cause.unwrap().to_string();
    assert_eq!(cause, "switch s2 is slower than its profile says");
    let profile = profile(&mut network, 2);
    assert_eq!(profile.standing, ProfileStanding::Contradicted);
    let [evidence] = &profile.evidence[..] else {
        panic!("{profile:?}")
    };
    assert_eq!(evidence.longest, budget + Duration::from_us(300));
    assert_eq!(evidence.explained, budget);
    let view = network.controller.view();
    let at = view.switch(DatapathId(2)).unwrap();
    assert_eq!(
        view.switches()[at.index()].profile,
        ProfileStanding::Contradicted
    );
}

/// What comes late comes in larger bursts: the second switch is not to blame for that.
#[test]
fn a_stay_behind_a_slow_switch_is_said_not_to_be_explained() {
    let mut network = with_flows(&LINE, &[20_000; 30]);

    exceed(&mut network, 1, 50_000);
    exceed(&mut network, 2, 2);
    network.pass(SOON);

    assert_eq!(
        profile(&mut network, 1).standing,
        ProfileStanding::Contradicted
    );
    assert_eq!(profile(&mut network, 2).standing, ProfileStanding::Unclear);
    assert_eq!(state(&mut network, "flow1"), PromiseState::Unknown);
}

/// A switch before it does not watch, and a source is not held to its contract.
#[test]
fn where_it_is_not_known_what_came_nobody_is_blamed() {
    let mut network = started(&LINE, &[1]);
    network.admit(wanted("flow1", 1, 20_000)).unwrap();
    say_hops(&mut network);

    exceed(&mut network, 2, 300);
    network.pass(SOON);

    assert_eq!(profile(&mut network, 2).standing, ProfileStanding::Unclear);
    assert_eq!(
        profile(&mut network, 1).standing,
        ProfileStanding::Unwatched
    );
    let promise = flow(&mut network, "flow1").promise;
    assert_eq!(promise.state, PromiseState::Unknown);
    assert!(
        promise
            .cause
            .unwrap()
            .to_string()
            .contains("longer than its profile")
    );
}

#[test]
fn what_cannot_be_is_said_and_moves_no_promise() {
    let mut network = with_flows(&LINE, &[20_000]);
    let watched = network.switches[&2].watched[0];
    let (cookie, budget) = (entry(&network, 2).0, watched.budget.unwrap());
    let long = budget + Duration::from_us(300);
    let lies = [
        (cookie, budget, budget, 3, HopDoubt::Contradiction),
        (cookie, budget, long, 0, HopDoubt::Contradiction),
        (
            cookie,
            budget,
            Duration::from_ns(u64::MAX),
            1,
            HopDoubt::Contradiction,
        ),
        (cookie, Duration::from_us(1), long, 1, HopDoubt::OtherBudget),
        (
            Cookie(cookie.0 ^ 1),
            budget,
            long,
            1,
            HopDoubt::UnknownEntry,
        ),
    ];
    for (cookie, budget, longest, frames, doubt) in lies {
        let before = doubts(&mut network, 2, doubt);
        say(&mut network, 2, (cookie, budget, longest, frames));
        assert_eq!(doubts(&mut network, 2, doubt), before + 1, "{doubt:?}");
    }

    let doubted = network.events.iter().filter_map(|event| match event {
        Event::SwitchDoubted { name, doubt, .. } => Some((name.as_str(), *doubt)),
        _ => None,
    });
    assert_eq!(
        doubted.collect::<Vec<_>>(),
        [("s2", HopDoubt::Contradiction)]
    );
    assert_eq!(contradicted(&network), []);
    assert_eq!(state(&mut network, "flow1"), PromiseState::Holds);
}

/// Counters that say that frames took no time, that go back, and that begin anew.
#[test]
fn counters_that_cannot_be_are_not_believed() {
    let mut network = with_flows(&LINE, &[20_000]);
    ask(&mut network);
    let (cookie, port) = entry(&network, 2);
    let say = |network: &mut Network, longest_us, frames| {
        let fake = network.switches.get_mut(&2).unwrap();
        fake.hops = vec![(cookie, port, Duration::from_us(longest_us))];
        fake.hop_frames = Some(frames);
        ask(network);
    };

    say(&mut network, 0, 9);
    say(&mut network, 20, 10);
    say(&mut network, 20, u64::MAX);
    say(&mut network, 20, 12);
    // It is taken for a beginning, and what follows counts.
    let before = profile(&mut network, 2).frames;
    say(&mut network, 21, 15);

    let told = profile(&mut network, 2);
    let kinds: Vec<_> = told.doubts.iter().map(|it| it.what).collect();
    assert_eq!(kinds, [HopDoubt::WentBack, HopDoubt::TooMany]);
    assert_eq!(told.frames, before + 3);
    assert_eq!(told.standing, ProfileStanding::Explained);
    assert_eq!(state(&mut network, "flow1"), PromiseState::Holds);
}

#[test]
fn a_question_changes_nothing_and_says_who_would_be_late() {
    let mut network = with_flows(&LINE, &[20_000, 1_500]);
    exceed(&mut network, 2, 4_000);
    network.pass(SOON);
    let (before, writes) = (flows(&mut network), network.writes);

    let offer = correct(&mut network, 2, ProfileWish::default(), true).unwrap();

    assert!(!offer.adopted && offer.after.latency > offer.before.latency);
    assert_eq!(offer.after.per_frame, offer.before.per_frame);
    let late: Vec<_> = offer.late.iter().map(|it| it.name.as_str()).collect();
    assert_eq!((late, offer.in_time), (vec!["flow2"], 1));
    let by = offer.late[0].late_by.unwrap();
    assert_eq!(offer.late[0].after, offer.late[0].deadline + by);
    assert_eq!((flows(&mut network), network.writes), (before, writes));
}

#[test]
fn what_is_adopted_explains_what_was_seen_and_outlives_the_controller() {
    let mut network = with_flows(&LINE, &[20_000, 1_500, 18_000]);
    exceed(&mut network, 2, 4_000);
    network.pass(SOON);

    let offer = correct(&mut network, 2, ProfileWish::default(), false).unwrap();
    network.pass(SOON);

    assert!(offer.adopted);
    let states = ["flow1", "flow2", "flow3"].map(|name| state(&mut network, name));
    let expected = [
        PromiseState::Holds,
        PromiseState::Broken,
        PromiseState::Holds,
    ];
    assert_eq!(states, expected);
    let late = flow(&mut network, "flow2")
        .promise
        .cause
        .unwrap()
        .to_string();
    assert!(late.contains("later than its deadline"), "{late}");
    let adopted = profile(&mut network, 2);
    assert!(adopted.standing <= ProfileStanding::Explained);
    assert_eq!(adopted.evidence, []);
    assert_eq!(
        (adopted.adopted, adopted.processor),
        (true, Some(offer.after))
    );
    let before = flows(&mut network);

    network.restart_controller_as(following(3, &LINE));
    network.pass(SOON);

    let after = flows(&mut network);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.accepted.guarantee, after.accepted.guarantee);
        assert_eq!(before.promise.state, after.promise.state, "{after:?}");
    }
    assert_eq!(profile(&mut network, 2).processor, Some(offer.after));

    // When another is gone, who was late may be in time.
    network.request(Request::Withdraw("flow1".to_owned()));
    network.pass(Duration::from_secs(5));
    let late = flow(&mut network, "flow2");
    let deadline = late.requirement.deadline.unwrap();
    let is_late = late.accepted.guarantee.unwrap() > deadline;
    assert_eq!(late.promise.state == PromiseState::Broken, is_late);
}

/// Frames reach the destination at every step, on the old way or the new one.
#[test]
fn who_is_late_goes_another_way_if_there_is_one_and_no_frame_gets_lost() {
    let mut network = started(&DIAMOND, &[]);
    let mut asked = requirement("trip", 1, &[4], group(1));
    asked.deadline = Some(Delay::from_us(2_500));
    asked.protection = controller::northbound::Protection::None;
    let accepted = network.admit(asked).unwrap();
    assert_eq!(accepted.route.switches, ["s1", "s2", "s4"]);
    say_hops(&mut network);
    exceed(&mut network, 2, 4_000);
    network.pass(SOON);

    network.delivery_works = false;
    let request = Request::CorrectProfile {
        datapath: DatapathId(2),
        wish: ProfileWish::default(),
        is_dry: false,
    };
    network.request(request);
    let reaches_once = |network: &mut Network| {
        let (reached, _) = network.trace(1, group(1));
        assert_eq!(reached.get(&4), Some(&1), "{reached:?}");
    };
    reaches_once(&mut network);
    while network.deliver(0) {
        reaches_once(&mut network);
    }
    network.delivery_works = true;
    network.pass(Duration::from_secs(2));

    let moved = flow(&mut network, "trip");
    assert_eq!(moved.accepted.route.switches, ["s1", "s3", "s4"]);
    assert_eq!(
        moved.promise.state,
        PromiseState::Holds,
        "{:?}",
        moved.promise
    );
    assert!(moved.accepted.guarantee <= moved.requirement.deadline);
    reaches_once(&mut network);
}

#[test]
fn what_cannot_be_corrected_is_refused_with_the_reason() {
    let mut network = with_flows(&LINE, &[20_000]);
    let wish = ProfileWish::default();

    let nothing = correct(&mut network, 2, wish, false);
    assert_eq!(nothing, Err(ProfileRefusal::NothingToExplain));

    exceed(&mut network, 2, 59_000_000);
    let longer = ProfileWish {
        raise: Raised::PerFrame,
        ..wish
    };
    let too_slow = correct(&mut network, 2, longer, false).unwrap_err();
    assert!(
        matches!(
            too_slow,
            ProfileRefusal::Overload { .. } | ProfileRefusal::Unexplained
        ),
        "{too_slow:?}"
    );
    assert!(!profile(&mut network, 2).adopted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever stays were seen and deadlines there are: what is adopted explains the stays
    /// with their margin, who is said to be in time is promised its deadline, and the others
    /// are told.
    #[test]
    fn after_any_correction_every_promise_is_kept_or_said_to_be_broken(
        deadlines_us in prop::collection::vec(1_000u64..20_000, 1..8),
        longer_us in 1u64..8_000,
        margin_percent in 0u32..200,
        is_per_frame: bool,
        slow in 1u64..4,
    ) {
        let mut network = with_flows(&LINE, &deadlines_us);
        prop_assume!(!flows(&mut network).is_empty());
        let longest = exceed(&mut network, slow, longer_us) + Duration::from_us(longer_us);
        network.pass(SOON);
        let raise = if is_per_frame { Raised::PerFrame } else { Raised::Latency };
        let wish = ProfileWish { margin_percent, raise };

        let offer = match correct(&mut network, slow, wish, false) {
            Ok(offer) => offer,
            Err(refusal) => {
                prop_assert!(is_per_frame, "{refusal:?}");
                return Ok(());
            }
        };
        network.pass(SOON);

        let wanted = longest.as_ns() * u64::from(100 + margin_percent) / 100;
        let watched = network.switches[&slow].watched.iter();
        let budgets = watched.filter_map(|it| it.budget);
        prop_assert!(budgets.max().unwrap().as_ns() >= wanted);
        let after = flows(&mut network);
        prop_assert_eq!(offer.in_time + offer.late.len(), after.len());
        for flow in after {
            let is_late = flow.accepted.guarantee > flow.requirement.deadline;
            let name = &flow.accepted.name;
            let is_told = offer.late.iter().any(|it| it.name == *name);
            prop_assert_eq!(is_late, is_told, "{}", name);
            let expected = match is_late {
                true => PromiseState::Broken,
                false => PromiseState::Holds,
            };
            prop_assert_eq!(flow.promise.state, expected);
        }
    }
}

/// Returns switches that watch and police, but those of `others`.
fn started(links: &[(u64, u64)], others: &[u64]) -> Network {
    let switches = links.iter().flat_map(|(one, other)| [*one, *other]);
    let switches = switches.max().unwrap();
    let mut network = Network::with(switches, links, |known| {
        *known = following(switches, links);
    });
    for (number, fake) in &mut network.switches {
        fake.habits.polices = !others.contains(number);
    }
    network.connect_all();
    network.pass(Duration::from_secs(3));
    network
}

/// Returns a line with as many of these flows as fit, of which every switch has seen frames.
fn with_flows(links: &[(u64, u64)], deadlines_us: &[u64]) -> Network {
    let mut network = started(links, &[]);
    for (number, deadline_us) in (1..).zip(deadlines_us) {
        let _ = network.admit(wanted(&format!("flow{number}"), number, *deadline_us));
    }
    network.pass(Duration::from_ms(100));
    if !flows(&mut network).is_empty() {
        say_hops(&mut network);
    }
    network
}

/// Has each switch that watches have seen frames of its entries.
fn say_hops(network: &mut Network) {
    for fake in network.switches.values_mut() {
        let of_flows = fake.entries.iter().filter(|it| it.queue.is_some());
        let seen = of_flows.map(|it| (it.cookie, it.outputs[0], Duration::from_us(20)));
        fake.hops = seen.collect();
    }
}

/// Has a switch say that frames stayed by so much longer than the budget of their queue,
/// and returns the budget.
fn exceed(network: &mut Network, switch: u64, longer_us: u64) -> Duration {
    let (cookie, port) = entry(network, switch);
    let watched = network.switches[&switch].watched.iter();
    let mut budgets = watched.filter(|it| it.port.0 == port);
    let budget = budgets.next().unwrap().budget.unwrap();
    let longest = budget + Duration::from_us(longer_us);
    say(network, switch, (cookie, budget, longest, 3));
    budget
}

fn say(
    network: &mut Network,
    switch: u64,
    (cookie, budget, longest, frames): (Cookie, Duration, Duration, u64),
) {
    let watched = network.switches[&switch].watched.iter();
    let port = entry(network, switch).1;
    let queue = watched
        .filter(|it| it.port.0 == port)
        .map(|it| it.queue)
        .next();
    let event = HopEvent {
        table: TableId(0),
        priority: 1,
        unsaid: 0,
        cookie,
        port: wire::openflow::PortNumber(port),
        queue: queue.unwrap(),
        budget,
        longest,
        frames,
        at: Instant::ZERO,
    };
    let mut bytes = Vec::new();
    Message::Hop(HopMessage::Event(event)).emit(TransactionId(0), &mut bytes);
    let connection = network.switches[&switch].connection.unwrap();
    network.receive(connection, &bytes);
    network.settle();
}

/// Has switches be asked what they have seen.
fn ask(network: &mut Network) {
    network.pass(SOON);
    profiles(network);
    network.pass(SOON);
}

fn correct(
    network: &mut Network,
    switch: u64,
    wish: ProfileWish,
    is_dry: bool,
) -> Result<ProfileOffer, ProfileRefusal> {
    let request = Request::CorrectProfile {
        datapath: DatapathId(switch),
        wish,
        is_dry,
    };
    match network.request(request).into_iter().next().unwrap() {
        Reply::ProfileOffered(offer) => Ok(*offer),
        Reply::ProfileRefused(refusal) => Err(refusal),
        other => panic!("{other:?}"),
    }
}

fn profiles(network: &mut Network) -> Vec<SwitchProfile> {
    match network
        .request(Request::Profiles)
        .into_iter()
        .next()
        .unwrap()
    {
        Reply::Profiles(profiles) => profiles,
        other => panic!("{other:?}"),
    }
}

fn profile(network: &mut Network, switch: u64) -> SwitchProfile {
    let mut profiles = profiles(network).into_iter();
    profiles
        .find(|it| it.datapath == DatapathId(switch))
        .unwrap()
}

fn doubts(network: &mut Network, switch: u64, what: HopDoubt) -> u64 {
    let doubts = profile(network, switch).doubts;
    doubts
        .iter()
        .find(|it| it.what == what)
        .map_or(0, |it| it.times)
}

fn contradicted(network: &Network) -> Vec<(String, bool)> {
    let said = network.events.iter().filter_map(|event| match event {
        Event::ProfileContradicted { at, certain, .. } => Some((at.switch.clone(), *certain)),
        _ => None,
    });
    let mut said: Vec<_> = said.collect();
    said.retain(|(_, certain)| *certain);
    said
}

fn flow(network: &mut Network, name: &str) -> FlowSummary {
    let mut flows = flows(network).into_iter();
    flows.find(|it| it.accepted.name == name).unwrap()
}

fn state(network: &mut Network, name: &str) -> PromiseState {
    flow(network, name).promise.state
}
