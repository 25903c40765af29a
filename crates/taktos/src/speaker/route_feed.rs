//! Decides what the controller is told of routes, and when: changes as the speaker tells of
//! them, and between them snapshots of all that it has.
//!
//! What the speaker tells of changes may miss some (GoBGP's issue 2902 and those that it
//! names), so that a list of everything replaces what is known, again and again. Changes go
//! on meanwhile. A list may be older than a change that was told while it came: what was told
//! since the list was asked for goes before what stands in it.
//!
//! Nothing is dropped. The controller has at most [`MOST_UNANSWERED`] requests to answer;
//! until it does, changes wait here, of each prefix the newest, and beyond
//! [`MOST_WAITING`] they wait at the speaker. A request that was not carried out may have
//! held anything: then only another list says what is so.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use api::{IpPrefix, MAX_ROUTE_CHANGES, RouteChange, RoutePart};

/// The most requests that the controller has not answered.
pub const MOST_UNANSWERED: usize = 2;
/// The most prefixes of which something waits to be told.
const MOST_WAITING: usize = 1 << 16;
/// The most listed prefixes that wait to be told.
const MOST_LISTED: usize = 2 * MAX_ROUTE_CHANGES;

/// Something to be told to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    pub changes: Vec<RouteChange>,
    pub part: RoutePart,
}

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    CarriedOut,
    /// It was not, or perhaps.
    Unknown,
}

/// Puts together what the controller is told.
#[derive(Clone, Debug, Default)]
pub struct RouteFeed {
    /// What was told of each prefix last and waits.
    waiting: BTreeMap<IpPrefix, Option<IpAddr>>,
    snapshot: Option<Snapshot>,
    unanswered: usize,
    /// Only a snapshot says what is so.
    is_out_of_step: bool,
    /// Whose turn it is where both have something to say.
    is_turn_of_snapshot: bool,
}

/// A list that is being told.
#[derive(Clone, Debug)]
struct Snapshot {
    /// What was listed and waits.
    listed: VecDeque<RouteChange>,
    /// What was told since the list was asked for.
    newer: BTreeMap<IpPrefix, Option<IpAddr>>,
    is_begun: bool,
    /// Whether the list has ended.
    is_listed: bool,
}

impl RouteFeed {
    /// Returns whether there is room for another change.
    #[must_use]
    pub fn takes_changes(&self) -> bool {
        let newer = self.snapshot.as_ref().map_or(0, |it| it.newer.len());
        self.waiting.len().max(newer) < MOST_WAITING
    }

    /// Takes a change.
    pub fn change(&mut self, change: RouteChange) {
        let RouteChange { prefix, next_hop } = change;
        self.waiting.insert(prefix, next_hop);
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.newer.insert(prefix, next_hop);
        }
    }

    /// Begins a snapshot, in the place of one that may be under way. To be called before the
    /// list is asked for.
    pub fn begin_snapshot(&mut self) {
        self.is_out_of_step = false;
        self.snapshot = Some(Snapshot {
            listed: VecDeque::new(),
            newer: self.waiting.clone(),
            is_begun: false,
            is_listed: false,
        });
    }

    /// Returns whether there is room for another part of the list.
    #[must_use]
    pub fn takes_listed(&self) -> bool {
        let listed = self.snapshot.as_ref().map(|it| it.listed.len());
        listed.is_some_and(|listed| listed < MOST_LISTED)
    }

    /// Takes a part of the list.
    pub fn listed(&mut self, change: RouteChange) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.listed.push_back(change);
        }
    }

    /// The list has ended.
    pub fn end_of_list(&mut self) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.is_listed = true;
        }
    }

    /// Returns whether a snapshot is under way.
    #[must_use]
    pub const fn is_listing(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Returns whether nothing but a snapshot says what is so.
    #[must_use]
    pub const fn is_out_of_step(&self) -> bool {
        self.is_out_of_step
    }

    /// Returns what the controller is to be told next, if it may be told anything now.
    pub fn next_request(&mut self) -> Option<RouteRequest> {
        if self.unanswered >= MOST_UNANSWERED {
            return None;
        }
        let request = match self.is_turn_of_snapshot {
            true => self.snapshot_request().or_else(|| self.increment()),
            false => self.increment().or_else(|| self.snapshot_request()),
        }?;
        self.is_turn_of_snapshot = request.part == RoutePart::Increment;
        self.unanswered += 1;
        Some(request)
    }

    /// Takes note of what came of the oldest request without an answer.
    pub fn answered(&mut self, outcome: Outcome) {
        self.unanswered = self.unanswered.saturating_sub(1);
        match outcome {
            Outcome::CarriedOut => {}
            Outcome::Unknown => {
                self.snapshot = None;
                self.waiting.clear();
                self.is_out_of_step = true;
            }
        }
    }

    fn increment(&mut self) -> Option<RouteRequest> {
        let changes = take(&mut self.waiting, |_| true);
        (!changes.is_empty()).then_some(RouteRequest {
            changes,
            part: RoutePart::Increment,
        })
    }

    fn snapshot_request(&mut self) -> Option<RouteRequest> {
        let snapshot = self.snapshot.as_mut()?;
        if snapshot.listed.len() < MAX_ROUTE_CHANGES && !snapshot.is_listed {
            return None;
        }
        let mut changes = Vec::new();
        while changes.len() < MAX_ROUTE_CHANGES
            && let Some(change) = snapshot.listed.pop_front()
        {
            if !snapshot.newer.contains_key(&change.prefix) {
                changes.push(change);
            }
        }
        if changes.is_empty() && snapshot.listed.is_empty() && snapshot.is_listed {
            // What was told meanwhile is named as well.
            changes = take(&mut snapshot.newer, |next_hop| next_hop.is_some());
        }
        let is_last = snapshot.is_listed && snapshot.listed.is_empty() && snapshot.newer.is_empty();
        let is_first = !snapshot.is_begun;
        snapshot.is_begun = true;
        if is_last {
            self.snapshot = None;
        }
        let part = RoutePart::Snapshot { is_first, is_last };
        Some(RouteRequest { changes, part })
    }
}

/// Takes as many changes as a request holds, and leaves out what is not wanted.
fn take(
    changes: &mut BTreeMap<IpPrefix, Option<IpAddr>>,
    is_wanted: fn(&Option<IpAddr>) -> bool,
) -> Vec<RouteChange> {
    let mut taken = Vec::new();
    while taken.len() < MAX_ROUTE_CHANGES
        && let Some((prefix, next_hop)) = changes.pop_first()
    {
        if is_wanted(&next_hop) {
            taken.push(RouteChange { prefix, next_hop });
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn prefix(number: u8) -> IpPrefix {
        format!("10.{number}.0.0/16").parse().unwrap()
    }

    fn change(number: u8, next_hop: Option<u8>) -> RouteChange {
        RouteChange {
            prefix: prefix(number),
            next_hop: next_hop.map(|it| IpAddr::from([192, 0, 2, it])),
        }
    }

    /// What a controller knows that is told requests.
    #[derive(Default)]
    struct Known {
        routes: BTreeMap<IpPrefix, IpAddr>,
        named: Vec<IpPrefix>,
    }

    impl Known {
        fn told(&mut self, request: &RouteRequest) {
            assert!(request.changes.len() <= MAX_ROUTE_CHANGES);
            if let RoutePart::Snapshot { is_first: true, .. } = request.part {
                self.named.clear();
            }
            for RouteChange { prefix, next_hop } in &request.changes {
                match next_hop {
                    Some(next_hop) => drop(self.routes.insert(*prefix, *next_hop)),
                    None => drop(self.routes.remove(prefix)),
                }
                self.named.push(*prefix);
            }
            if let RoutePart::Snapshot { is_last: true, .. } = request.part {
                let named = std::mem::take(&mut self.named);
                self.routes.retain(|prefix, _| named.contains(prefix));
            }
        }
    }

    #[test]
    fn the_controller_never_owes_more_than_two_answers_and_the_newest_change_counts() {
        let mut feed = RouteFeed::default();
        feed.change(change(1, Some(1)));
        assert!(feed.next_request().is_some());
        feed.change(change(2, Some(1)));
        assert!(feed.next_request().is_some());
        feed.change(change(3, Some(1)));
        feed.change(change(3, None));
        feed.change(change(3, Some(2)));
        assert_eq!(feed.next_request(), None);

        feed.answered(Outcome::CarriedOut);

        let changes = feed.next_request().unwrap().changes;
        assert_eq!(changes, [change(3, Some(2))]);
        assert_eq!(feed.next_request(), None);
    }

    #[test]
    fn an_empty_list_is_told_as_well() {
        let mut feed = RouteFeed::default();
        feed.begin_snapshot();
        assert_eq!(feed.next_request(), None);
        feed.end_of_list();

        let request = feed.next_request().unwrap();

        let (is_first, is_last) = (true, true);
        assert_eq!(request.part, RoutePart::Snapshot { is_first, is_last });
        assert!(request.changes.is_empty() && !feed.is_listing());
    }

    #[test]
    fn who_is_not_answered_well_asks_for_a_list_and_keeps_nothing() {
        let mut feed = RouteFeed::default();
        feed.change(change(1, Some(1)));
        feed.next_request().unwrap();
        feed.change(change(2, Some(1)));

        feed.answered(Outcome::Unknown);

        assert!(feed.is_out_of_step());
        assert_eq!(feed.next_request(), None);
        feed.begin_snapshot();
        assert!(!feed.is_out_of_step());
    }

    #[test]
    fn beyond_its_room_changes_wait_elsewhere() {
        let mut feed = RouteFeed::default();
        for number in 0..u32::try_from(MOST_WAITING).unwrap() {
            assert!(feed.takes_changes());
            let prefix = IpPrefix::new(IpAddr::from((number << 8).to_be_bytes()), 24).unwrap();
            let next_hop = None;
            feed.change(RouteChange { prefix, next_hop });
        }
        assert!(!feed.takes_changes());

        feed.next_request().unwrap();

        assert!(feed.takes_changes());
    }

    /// What happens next.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// The speaker's table changes, and it will tell.
        Change(u8, Option<u8>),
        /// The same, and it forgets to tell.
        Missed(u8, Option<u8>),
        /// A change that was told arrives.
        Hear,
        /// A list is asked for; the speaker copies its table at once.
        List,
        /// Part of the list arrives, or its end.
        Listed,
        Ask,
        Answer(bool),
    }

    fn step() -> impl Strategy<Value = Step> {
        let hop = || proptest::option::of(0..3u8);
        prop_oneof![
            4 => (0..6u8, hop()).prop_map(|(number, hop)| Step::Change(number, hop)),
            1 => (0..6u8, hop()).prop_map(|(number, hop)| Step::Missed(number, hop)),
            4 => Just(Step::Hear),
            1 => Just(Step::List),
            4 => Just(Step::Listed),
            4 => Just(Step::Ask),
            4 => prop::bool::weighted(0.9).prop_map(Step::Answer),
        ]
    }

    /// A speaker, a feed and a controller, with what is on its way between them.
    #[derive(Default)]
    struct Run {
        table: BTreeMap<IpPrefix, IpAddr>,
        events: VecDeque<RouteChange>,
        list: Option<VecDeque<RouteChange>>,
        feed: RouteFeed,
        asked: VecDeque<RouteRequest>,
        known: Known,
    }

    impl Run {
        fn change(&mut self, change: RouteChange) {
            match change.next_hop {
                Some(next_hop) => drop(self.table.insert(change.prefix, next_hop)),
                None => drop(self.table.remove(&change.prefix)),
            }
        }

        fn list(&mut self) {
            self.feed.begin_snapshot();
            let routes = self.table.iter();
            let routes = routes.map(|(&prefix, &next_hop)| RouteChange {
                prefix,
                next_hop: Some(next_hop),
            });
            self.list = Some(routes.collect());
        }

        fn step(&mut self, step: Step) {
            match step {
                Step::Change(number, hop) => {
                    self.change(change(number, hop));
                    self.events.push_back(change(number, hop));
                }
                Step::Missed(number, hop) => self.change(change(number, hop)),
                Step::Hear => {
                    let event = self.events.pop_front();
                    event.into_iter().for_each(|event| self.feed.change(event));
                }
                Step::List => self.list(),
                Step::Listed => match self.list.as_mut().map(VecDeque::pop_front) {
                    Some(Some(change)) => self.feed.listed(change),
                    Some(None) => {
                        self.feed.end_of_list();
                        self.list = None;
                    }
                    None => {}
                },
                Step::Ask => self.asked.extend(self.feed.next_request()),
                Step::Answer(is_carried_out) => {
                    if let Some(request) = self.asked.pop_front() {
                        if is_carried_out {
                            self.known.told(&request);
                        }
                        self.feed.answered(match is_carried_out {
                            true => Outcome::CarriedOut,
                            false => Outcome::Unknown,
                        });
                    }
                }
            }
            assert!(self.asked.len() <= MOST_UNANSWERED);
        }

        /// Lets everything that is on its way arrive.
        fn settle(&mut self) {
            for _ in 0..40 {
                for step in [Step::Hear, Step::Listed, Step::Ask, Step::Answer(true)] {
                    self.step(step);
                }
            }
        }
    }

    proptest! {
        /// Whatever order things arrive in, and whatever was not told or not carried out: a
        /// list that comes when all is quiet leaves the controller with what the speaker has.
        #[test]
        fn a_list_mends_whatever_was_missed(steps in vec(step(), 0..200)) {
            let mut run = Run::default();
            for step in steps {
                run.step(step);
            }
            run.settle();

            run.list();
            run.settle();

            prop_assert_eq!(&run.known.routes, &run.table);
            prop_assert!(!run.feed.is_out_of_step() && run.feed.waiting.is_empty());
        }

        /// Where nothing is missed, a list that comes amid changes breaks nothing: nothing
        /// older goes before what was told.
        #[test]
        fn a_list_amid_changes_undoes_none(steps in vec(step(), 0..200)) {
            let mut run = Run::default();
            for step in steps {
                match step {
                    Step::Missed(..) | Step::Answer(false) => {}
                    step => run.step(step),
                }
            }
            run.settle();

            prop_assert_eq!(&run.known.routes, &run.table);
        }
    }
}
