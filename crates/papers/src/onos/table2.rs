//! `table2`: a link breaks, and a thousand flows take another way, ONOS Table 2.

use controller::northbound::Decision;
use controller::store::{MemoryStore, Store};
use controller::{Input, Reply, Request};
use measure::reproduction::Row;
use switch::Link;
use units::{Duration, Seeded};

use super::super::amounts::real;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};
use super::emulation::{ControllerReply, Emulation};
use super::members::{COUNTS, Members};
use super::paths::{Break, PathTerms, requirement};
use super::stopwatch::{Stillness, Times};
use super::wide_area::WideArea;

/// The network of sections 3.1.2 and 3.1.3.
pub const SWITCHES: usize = 206;
pub const LINKS: usize = 416;
/// How many links a path has before.
pub const HOPS: u32 = 6;

struct Amounts {
    flows: usize,
    rerouted: usize,
    repetitions: u64,
}

impl Amounts {
    fn of(effort: Thoroughness) -> Self {
        match effort {
            Thoroughness::Full => Self {
                flows: 16_000,
                rerouted: 1_000,
                repetitions: 60,
            },
            Thoroughness::Quick => Self {
                flows: 800,
                rerouted: 100,
                repetitions: 3,
            },
        }
    }
}

/// Breaks the link again and again.
pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let amounts = Amounts::of(settings.effort);
    let map = WideArea::draw(settings.seed, SWITCHES, LINKS);
    let broken = Break::find(&map, HOPS);
    let mut outcome = ExperimentOutcome {
        world: World::Process,
        ..ExperimentOutcome::default()
    };
    let counts = match settings.effort {
        Thoroughness::Full => &COUNTS[..],
        Thoroughness::Quick => &COUNTS[..1],
    };
    let trials = 2 + u64::try_from(counts.len()).unwrap_or(u64::MAX);
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress(done, trials * amounts.repetitions);
    };
    for terms in [PathTerms::Protected, PathTerms::BestEffort] {
        let terms = (terms, MemoryStore::default(), "");
        let trial = BrokenLinkTrial::prepare(&map, &broken, settings.seed, &amounts, terms);
        trial.measure(amounts.repetitions, &mut step, &mut outcome);
    }
    for count in counts {
        let kept = format!(", kept by etcd of {count}");
        match Members::start(*count).and_then(|mut it| Ok((it.store()?, it))) {
            Ok((store, _members)) => {
                let terms = (PathTerms::Protected, store, &*kept);
                let trial = BrokenLinkTrial::prepare(&map, &broken, settings.seed, &amounts, terms);
                trial.measure(amounts.repetitions, &mut step, &mut outcome);
            }
            Err(sentence) => outcome.remarks.push(sentence),
        }
    }
    outcome.remarks.push(format!(
        "{} switches and {} links, drawn from the seed; the cable between switches {} and {} is \
         pulled. {} of {} flows cross it, all of {HOPS} links before and one more afterwards. One \
         instance decides, in one thread; records are kept in memory, or by so many members of \
         etcd on this machine, from which as many instances could go on; the switches are real switch cores in the same process. From the \
         PortStatus handed to the controller to the FlowMod handed to the connection, without \
         sockets, as the paper has it without propagation and data planes.",
        map.places.len(),
        map.links.len(),
        broken.link[0] + 1,
        broken.link[1] + 1,
        amounts.rerouted,
        amounts.flows,
    ));
    outcome
}

/// A network in which a link breaks again and again.
struct BrokenLinkTrial<'m, S> {
    map: &'m WideArea,
    broken: &'m Break,
    terms: PathTerms,
    /// Where records are kept, for people.
    kept: &'m str,
    rerouted: usize,
    emulation: Emulation<S>,
    first: Times,
    all: Times,
    processor: Times,
    flow_mods: u64,
    unsent: u64,
    stillness: Stillness,
}

impl<'m, S: Store> BrokenLinkTrial<'m, S> {
    fn prepare(
        map: &'m WideArea,
        broken: &'m Break,
        seed: u64,
        amounts: &Amounts,
        (terms, store, kept): (PathTerms, S, &'m str),
    ) -> Self {
        let mut emulation = Emulation::new(map, store);
        emulation.connect_all();
        let mut random = Seeded::new(seed);
        let concerned = broken.pairs.iter().cycle().take(amounts.rerouted).copied();
        let others = broken.unconcerned(map, &mut random, amounts.flows - amounts.rerouted);
        let pairs: Vec<_> = concerned.chain(others).collect();
        let requirements = pairs.iter().enumerate();
        let requirements = requirements.map(|(number, pair)| requirement(number, *pair, terms));
        admit(&mut emulation, requirements.collect());
        Self {
            map,
            broken,
            terms,
            kept,
            rerouted: amounts.rerouted,
            emulation,
            first: Times::default(),
            all: Times::default(),
            processor: Times::default(),
            flow_mods: 0,
            unsent: 0,
            stillness: Stillness::default(),
        }
    }

    /// Breaks the link so many times.
    fn measure(
        mut self,
        repetitions: u64,
        step: &mut impl FnMut(),
        outcome: &mut ExperimentOutcome,
    ) {
        for _ in 0..repetitions {
            self.repeat();
            step();
        }
        self.report(outcome);
    }

    /// Breaks the link, times what follows, and lets everything return.
    fn repeat(&mut self) {
        self.emulation.set_link(self.broken.link, Link::Down);
        let mut sent: Option<ControllerReply> = None;
        while let Some((connection, bytes)) = self.emulation.next_for_controller() {
            let bytes = &bytes[..];
            let one = self
                .emulation
                .timed_to_the_end(Input::Received { connection, bytes });
            sent = sent.or(Some(one).filter(|one| one.flow_mods > 0));
        }
        self.stillness.look();
        match sent.and_then(|sent| Some((sent, sent.first?, sent.last?))) {
            Some((sent, first, last)) => {
                self.first.note(first);
                self.all.note(last);
                self.processor.note(sent.last_processor);
                self.flow_mods = sent.flow_mods;
            }
            None => self.unsent += 1,
        }
        self.emulation.settle();
        self.emulation.pass(Duration::from_ms(100));
        self.emulation.set_link(self.broken.link, Link::Up);
        // Probes find the link, flows wait for a while, and return.
        self.emulation.find_links();
        self.emulation.pass(Duration::from_secs(3));
        self.emulation.events.clear();
    }

    fn report(&self, outcome: &mut ExperimentOutcome) {
        let (what, note) = match self.terms {
            PathTerms::Protected => (
                "promised flows",
                "the ways without the link were found, reserved and written down when the flows \
                 were admitted, so that nothing is left but to send them",
            ),
            PathTerms::BestEffort | PathTerms::Promised => (
                "best-effort flows",
                "the ways without the link were found and written down when the flows were \
                 accepted",
            ),
        };
        let what = format!("{what}{}", self.kept);
        let (first, all) = ([Some("45.2"), Some("75.8")], [Some("71.2"), Some("116")]);
        let first = self.first.rows(&format!("{what}: first FlowMod"), first);
        let all = self.all.rows(&format!("{what}: all FlowMods"), all);
        let timed = first.into_iter().chain(all).map(|row| row.note(note));
        outcome.rows.extend(timed);
        let processor = format!("{what}: all FlowMods, processor time");
        outcome
            .rows
            .extend(self.processor.rows(&processor, [None; 2]));
        let pairs = self.broken.pairs.iter().take(self.rerouted);
        let longest = pairs
            .filter_map(|pair| self.broken.detour(self.map, *pair))
            .max();
        outcome.rows.extend([
            Row::new(format!("{what}: links of a path before"), "")
                .printed("6")
                .ours(real(u64::from(HOPS))),
            Row::new(format!("{what}: links of a path afterwards"), "")
                .printed("7")
                .ours(real(u64::from(longest.unwrap_or(0)))),
            Row::new(format!("{what}: FlowMods for {} flows", self.rerouted), "")
                .ours(real(self.flow_mods)),
        ]);
        outcome.rows.extend(self.stillness.rows());
        if self.unsent > 0 {
            let times = self.unsent;
            outcome
                .broken
                .push(format!("{what}: {times} times no FlowMod followed"));
        }
    }
}

/// Admits flows.
///
/// # Panics
///
/// If one is refused.
pub fn admit<S: Store>(emulation: &mut Emulation<S>, requirements: Vec<controller::Requirement>) {
    let asked = requirements.len();
    emulation.request(Request::Admit(requirements));
    emulation.settle();
    let mut accepted = 0;
    for (_, reply) in std::mem::take(&mut emulation.replies) {
        let Reply::Decisions(decisions) = reply else {
            panic!("asked to admit flows, it answers {reply:?}");
        };
        for decision in decisions {
            match decision {
                Decision::Accepted(_) => accepted += 1,
                Decision::Refused { name, reason } => panic!("flow {name} is refused: {reason}"),
            }
        }
    }
    assert_eq!(accepted, asked, "all flows are decided about");
}
