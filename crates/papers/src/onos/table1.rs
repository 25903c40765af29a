//! `table1`: how long a switch and a link take to get into the view, ONOS Table 1.

use std::time::Duration;

use controller::store::MemoryStore;
use controller::store::Store;
use controller::{Event, Input};
use measure::reproduction::Row;

use super::super::amounts::real;
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness, World};
use super::emulation::Emulation;
use super::members::{COUNTS, Folder, Members};
use super::stopwatch::{Stillness, Times};
use super::wide_area::WideArea;
use store::EmbeddedStore;

const SWITCHES: usize = 81;
/// Four active ports a switch.
const LINKS: usize = 162;

/// Builds the network again and again.
pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let (in_memory, durable, counts) = match settings.effort {
        Thoroughness::Full => (20, 3, &COUNTS[..]),
        Thoroughness::Quick => (2, 1, &COUNTS[..1]),
    };
    let shared = durable * u64::try_from(counts.len()).unwrap_or(u64::MAX);
    let whole = in_memory + durable + shared;
    let map = WideArea::draw(settings.seed, SWITCHES, LINKS);
    let mut outcome = ExperimentOutcome {
        world: World::Process,
        ..ExperimentOutcome::default()
    };
    let mut times = Additions::default();
    for round in 1..=in_memory {
        times.measure(&map, MemoryStore::default());
        progress(round, whole);
    }
    times.report("in process", [Some("0.099"), Some("0.075")], &mut outcome);
    let folder = Folder::new("table1");
    let mut times = Additions::default();
    for round in 1..=durable {
        let opened = EmbeddedStore::open(&folder.0.join(format!("{round}.store")));
        match opened {
            Ok(store) => times.measure(&map, store),
            Err(error) => outcome.broken.push(error.to_string()),
        }
        progress(in_memory + round, whole);
    }
    times.report("durable", [Some("1.19"), Some("0.150")], &mut outcome);
    for (place, count) in (0_u64..).zip(counts) {
        let mut times = Additions::default();
        let measured = Members::start(*count).and_then(|mut members| {
            for round in 1..=durable {
                times.measure(&map, members.store()?);
                progress(in_memory + durable * (place + 1) + round, whole);
            }
            Ok(())
        });
        match measured {
            Ok(()) => {
                let how = format!("etcd of {count}");
                times.report(&how, [Some("0.244"), Some("0.150")], &mut outcome);
            }
            Err(sentence) => outcome.remarks.push(sentence),
        }
    }
    outcome.remarks.push(format!(
        "{SWITCHES} switches and {LINKS} links, drawn from the seed; one instance decides. A switch: all \
         that the controller does from the connection to the event that the switch is there. A \
         link: the probe that completes it, until the event. Durable: after that each change is \
         kept in a file, which is synchronised before the event counts. Etcd of so many: it is kept \
         by that many members on this machine instead, on whose answer the event waits, and from \
         which as many instances could go on; beside it stands the paper with three instances. \
         Together: all switches of \
         the network in one transaction, as when they connect at once. Beside in process stands \
         the paper's best (Infiniband, kernel bypass), beside durable its new data model for a \
         switch and the same with Protocol Buffers for a link."
    ));
    outcome
}

/// How long additions to the view took.
#[derive(Default)]
struct Additions {
    switch: Times,
    link: Times,
    together: Times,
    stillness: Stillness,
}

impl Additions {
    fn measure<S: Store>(&mut self, map: &WideArea, store: S) {
        let mut emulation = Emulation::new(map, store);
        let cities = map.places.len();
        // The last quarter connects at once.
        let alone = cities - cities / 4;
        for city in 0..alone {
            let time = self.add(&mut emulation, city);
            self.switch.note(time);
            self.stillness.look();
        }
        emulation.hold();
        for city in alone..cities {
            self.add(&mut emulation, city);
        }
        let each = u32::try_from(cities - alone).unwrap_or(1);
        self.together.note(emulation.keep_held() / each);
        emulation.find_links();
        self.stillness.look();
    }

    /// Connects a switch, notes how long each link took that is found then, and
    /// returns the time that the controller took for the switch.
    fn add<S: Store>(&mut self, emulation: &mut Emulation<S>, city: usize) -> Duration {
        emulation.events.clear();
        let mut time = emulation.connect(city);
        let mut is_there = false;
        loop {
            emulation.deliver_to_switches();
            let Some((connection, bytes)) = emulation.next_for_controller() else {
                return time;
            };
            let told = emulation.events.len();
            let bytes = &bytes[..];
            let sent = emulation.timed(Input::Received { connection, bytes });
            if !is_there {
                time += sent.done;
            }
            for event in &emulation.events[told..] {
                is_there |= matches!(event, Event::SwitchConnected { .. });
                if matches!(event, Event::LinkFound { .. }) && !emulation.holds() {
                    self.link.note(sent.done);
                }
            }
        }
    }

    fn report(
        &self,
        how: &str,
        printed: [Option<&'static str>; 2],
        outcome: &mut ExperimentOutcome,
    ) {
        let switch = self
            .switch
            .rows(&format!("{how}: add a switch"), [printed[0], None]);
        let link = self
            .link
            .rows(&format!("{how}: add a link"), [printed[1], None]);
        outcome.rows.extend(switch.into_iter().chain(link));
        let together = self.together.quantile(500).as_secs_f64() * 1e3;
        outcome.rows.extend([
            Row::new(
                format!("{how}: keep a switch, {} at once", SWITCHES / 4),
                "ms",
            )
            .ours(together),
            Row::new(format!("{how}: additions measured"), "")
                .ours(real(self.switch.count() + self.link.count())),
        ]);
        outcome.rows.extend(self.stillness.rows());
    }
}
