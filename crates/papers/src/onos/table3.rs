//! `table3`: a thousand paths more, ONOS Table 3, and how many a second.

use std::time::Duration;

use controller::store::{MemoryStore, Store};
use controller::{Event, Request};
use measure::reproduction::Row;
use units::Seeded;

use super::super::amounts::real;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};
use super::emulation::Emulation;
use super::members::{COUNTS, Members};
use super::paths::{PathTerms, pairs_apart, requirement};
use super::stopwatch::{Start, Stillness, Times};
use super::table2::{HOPS, LINKS, SWITCHES, admit};
use super::wide_area::WideArea;

const SUSTAINED: &str = "all that the controller does, from the request to the last answer to a barrier, keeping \
     records included";

#[derive(Clone, Copy)]
struct Amounts {
    before: usize,
    more: usize,
    repetitions: u64,
    /// How many times `more` in a row are installed for the sustained rate.
    in_a_row: usize,
}

impl Amounts {
    fn of(effort: Thoroughness) -> Self {
        match effort {
            Thoroughness::Full => Self {
                before: 15_000,
                more: 1_000,
                repetitions: 30,
                in_a_row: 20,
            },
            Thoroughness::Quick => Self {
                before: 500,
                more: 100,
                repetitions: 3,
                in_a_row: 3,
            },
        }
    }
}

/// Installs paths and takes them away again.
pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let amounts = Amounts::of(settings.effort);
    let map = WideArea::draw(settings.seed, SWITCHES, LINKS);
    let mut outcome = ExperimentOutcome {
        world: World::Process,
        ..ExperimentOutcome::default()
    };
    let kinds = [
        PathTerms::Promised,
        PathTerms::Protected,
        PathTerms::BestEffort,
    ];
    let counts = match settings.effort {
        Thoroughness::Full => &COUNTS[..],
        Thoroughness::Quick => &COUNTS[..1],
    };
    let trials = u64::try_from(kinds.len() + counts.len()).unwrap_or(u64::MAX);
    let mut done = 0;
    let mut step = || {
        done += 1;
        progress(done, trials * amounts.repetitions);
    };
    for terms in kinds {
        let terms = (terms, MemoryStore::default(), "");
        let trial = PathInstallTrial::prepare(&map, settings.seed, amounts, terms);
        trial.measure(&mut step, &mut outcome);
    }
    for count in counts {
        let kept = format!(", kept by etcd of {count}");
        let store = Members::start(*count).and_then(|mut it| Ok((it.store()?, it)));
        match store {
            Ok((store, _members)) => {
                let terms = (PathTerms::Promised, store, &*kept);
                let trial = PathInstallTrial::prepare(&map, settings.seed, amounts, terms);
                trial.measure(&mut step, &mut outcome);
            }
            Err(sentence) => outcome.remarks.push(sentence),
        }
    }
    outcome.remarks.push(format!(
        "{SWITCHES} switches and {LINKS} links, drawn from the seed; {} flows are installed before, \
         {} others of {HOPS} links (seven switches) each are asked for in one request. One instance \
         decides, in one thread; records are kept in memory, or by so many members of etcd on this \
         machine, from which as many instances could go on: nothing is sent before they have \
         answered. To the first and the last FlowMod: from the request \
         handed to the controller to the FlowMod handed to the connection, without sockets, as the \
         paper has it. Confirmed: until real switch cores, in the same thread and so in the same \
         time, have entered everything and answered the barriers.",
        amounts.before, amounts.more,
    ));
    outcome
}

fn usize_of(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// The times of requests, one after the other.
#[derive(Clone, Default)]
struct RequestTimes {
    first: Times,
    all: Times,
    processor: Times,
    confirmed: Times,
}

/// A network into which paths are installed again and again.
struct PathInstallTrial<S> {
    what: String,
    terms: PathTerms,
    amounts: Amounts,
    pairs: Vec<[usize; 2]>,
    emulation: Emulation<S>,
    times: RequestTimes,
    /// What the controller took for requests in a row, on the wall and on the
    /// processor.
    in_a_row: [Duration; 2],
    flow_mods: u64,
    unconfirmed: usize,
    stillness: Stillness,
}

impl<S: Store> PathInstallTrial<S> {
    /// Prepares the network; `kept` says for people where records are kept.
    fn prepare(
        map: &WideArea,
        seed: u64,
        amounts: Amounts,
        (terms, store, kept): (PathTerms, S, &str),
    ) -> Self {
        let mut emulation = Emulation::new(map, store);
        emulation.connect_all();
        let pairs = pairs_apart(map, HOPS);
        let mut random = Seeded::new(seed);
        let mut draw = || {
            random
                .choose(&pairs)
                .copied()
                .expect("some cities are so far apart")
        };
        let before = (0..amounts.before).map(|number| requirement(number, draw(), terms));
        admit(&mut emulation, before.collect());
        let more = amounts.more * amounts.in_a_row;
        let drawn = (0..more).map(|_| draw()).collect();
        let what = match terms {
            PathTerms::Promised => "promised paths",
            PathTerms::Protected => "promised paths with ways around breaks",
            PathTerms::BestEffort => "best-effort paths with ways around breaks",
        };
        Self {
            what: format!("{what}{kept}"),
            terms,
            amounts,
            pairs: drawn,
            emulation,
            times: RequestTimes::default(),
            in_a_row: [Duration::ZERO; 2],
            flow_mods: 0,
            unconfirmed: 0,
            stillness: Stillness::default(),
        }
    }

    /// Installs paths again and again, and then many in a row.
    fn measure(mut self, step: &mut impl FnMut(), outcome: &mut ExperimentOutcome) {
        for repetition in 1..=self.amounts.repetitions {
            self.repeat(usize_of(repetition) % self.amounts.in_a_row);
            step();
        }
        self.install_in_a_row();
        self.report(outcome);
    }

    /// Asks for the n-th thousand.
    fn install(&mut self, thousand: usize) {
        let Amounts { before, more, .. } = self.amounts;
        let numbers = thousand * more..(thousand + 1) * more;
        let requirements =
            numbers.map(|number| requirement(before + number, self.pairs[number], self.terms));
        let requirements = requirements.collect();
        self.emulation.events.clear();
        let start = Start::now();
        let sent = self.emulation.request(Request::Admit(requirements));
        self.emulation.settle();
        let confirmed = start.elapsed();
        let installed = |event: &&Event| matches!(event, Event::Installed { .. });
        let installed = self.emulation.events.iter().filter(installed).count();
        self.unconfirmed += more - installed.min(more);
        if let Some((first, last)) = sent.first.zip(sent.last) {
            self.times.first.note(first);
            self.times.all.note(last);
            self.times.processor.note(sent.last_processor);
            self.times.confirmed.note(confirmed);
        }
        self.flow_mods = sent.flow_mods;
        self.stillness.look();
    }

    fn repeat(&mut self, thousand: usize) {
        self.install(thousand);
        let more = self.amounts.more;
        for number in thousand * more..(thousand + 1) * more {
            let name = format!("f{}", self.amounts.before + number);
            self.emulation.request(Request::Withdraw(name));
        }
        self.emulation.pass(units::Duration::from_ms(10));
        self.emulation.replies.clear();
    }

    /// Installs many thousands without taking any away; their times do not count
    /// among those of single ones.
    fn install_in_a_row(&mut self) {
        let before = self.times.clone();
        let start = self.emulation.spent;
        for thousand in 0..self.amounts.in_a_row {
            self.install(thousand);
        }
        let spent = self.emulation.spent;
        self.in_a_row = [0, 1].map(|clock| spent[clock] - start[clock]);
        self.times = before;
    }

    fn report(&self, outcome: &mut ExperimentOutcome) {
        let what = &self.what;
        let (first, all) = ([Some("34.1"), Some("68.2")], [Some("53.1"), Some("97.9")]);
        for (times, kind, printed) in [
            (&self.times.first, "first FlowMod", first),
            (&self.times.all, "all FlowMods", all),
            (
                &self.times.processor,
                "all FlowMods, processor time",
                [None; 2],
            ),
        ] {
            outcome
                .rows
                .extend(times.rows(&format!("{what}: {kind}"), printed));
        }
        outcome.rows.extend(self.rates(what));
        outcome.rows.extend(self.stillness.rows());
        if self.unconfirmed > 0 {
            let count = self.unconfirmed;
            outcome
                .broken
                .push(format!("{what}: {count} were not confirmed"));
        }
    }

    fn rates(&self, what: &str) -> [Row; 5] {
        let Amounts { more, in_a_row, .. } = self.amounts;
        let count = |count: usize| real(u64::try_from(count).unwrap_or(u64::MAX));
        let rate = |paths: f64, time: Duration| paths / time.as_secs_f64().max(1e-9);
        let [wall, processor] = self.in_a_row.map(|time| rate(count(more * in_a_row), time));
        let row = |kind: &str, ours: f64| Row::new(format!("{what}: {kind}"), "paths/s").ours(ours);
        let confirmed = rate(count(more), self.times.confirmed.quantile(500));
        [
            row(
                "rate by the median",
                rate(count(more), self.times.all.quantile(500)),
            )
            .printed("18832"),
            row(&format!("sustained, {in_a_row} requests in a row"), wall).note(SUSTAINED),
            row("sustained, by processor time", processor).note(SUSTAINED),
            row("confirmed by barriers", confirmed).note("real switch cores in the same thread"),
            Row::new(format!("{what}: FlowMods for {more} paths"), "").ours(real(self.flow_mods)),
        ]
    }
}
