//! Reads flow sets: many flows whose ends and sizes are drawn at random, the
//! same for every run.

use toml::de::DeValue;
use units::{DataSize, Duration, Seeded};

use crate::HostIndex;
use crate::format::FLOW_SET;
use crate::limits::MOST_FLOWS;
use crate::mistake::{Mistake, quote};
use crate::problem::{Problems, TextSpan};
use crate::read::flows::{FlowReader, Terms};
use crate::read::traffic::{TrafficKind, Values};
use crate::record::{LayeredTable, records};
use crate::shape::{ValueShape, Zero, is_name};

const DEFAULT_SEED: u64 = 1;
/// How often a set draws again when a draw has no path or repeats a host.
const DRAWS_PER_RECEIVER: u32 = 1_000;

impl FlowReader<'_> {
    /// Reads `[[flow_sets]]`.
    pub(super) fn read_sets(&mut self, file: &LayeredTable<'_>, problems: &mut Problems) {
        let sets = file
            .item("flow_sets")
            .and_then(|sets| sets.get_ref().as_array());
        for record in sets.into_iter().flat_map(|sets| records(sets, &FLOW_SET)) {
            self.read_set(&record, problems);
        }
    }

    fn read_set(&mut self, record: &LayeredTable<'_>, problems: &mut Problems) {
        let set = Set::read(self, record, problems);
        let Some(set) = set.filter(|_| problems.is_empty()) else {
            return;
        };
        let limit = usize::try_from(MOST_FLOWS).expect("a usize has 32 bits at least");
        let count = self.count() + set.count;
        if count > limit {
            let what = "flows";
            let mistake = Mistake::TooMany { what, count, limit };
            problems.report(record.place_of("count"), mistake);
            return;
        }
        let mut random = Seeded::new(record.number("seed").unwrap_or(DEFAULT_SEED));
        for n in 1..=set.count {
            if !self.draw(&set, n, record, &mut random, problems) {
                return;
            }
        }
    }

    /// Draws one flow; returns whether that was possible, and reports if not.
    fn draw(
        &mut self,
        set: &Set<'_>,
        n: usize,
        record: &LayeredTable<'_>,
        random: &mut Seeded,
        problems: &mut Problems,
    ) -> bool {
        let Some((source, receivers)) = self.draw_ends(set, random) else {
            let mistake = Mistake::Contradiction {
                sentence: format!(
                    "found no {} receivers with a path from the same sender",
                    set.receivers
                ),
                help: "give `from` and `to` more hosts, or ask for fewer `receivers`".to_owned(),
            };
            problems.report(record.place.clone(), mistake);
            return false;
        };
        let mut values = set.values.clone();
        values.frame = random.choose(&set.frames).copied();
        values.size = random.choose(&set.sizes).copied();
        values.period = random.choose(&set.periods).copied();
        let terms = Terms {
            deadline: random.choose(&set.deadlines).copied(),
            ..set.terms
        };
        let Some(traffic) = values.traffic(set.kind) else {
            return false;
        };
        let place = record.place_of("period");
        let fits = self.check_rate(&traffic, source, &receivers, &place, problems);
        if fits {
            let (name, place) = (format!("{}{n}", set.prefix), record.place_of("prefix"));
            self.add(&name, place, (source, receivers), traffic, terms, problems);
        }
        fits
    }

    fn draw_ends(&self, set: &Set<'_>, random: &mut Seeded) -> Option<(HostIndex, Vec<HostIndex>)> {
        for _ in 0..DRAWS_PER_RECEIVER {
            let source = *random.choose(&set.from)?;
            let mut receivers = Vec::with_capacity(set.receivers);
            for _ in 0..DRAWS_PER_RECEIVER {
                let host = *random.choose(&set.to)?;
                let fits = host != source && !receivers.contains(&host);
                if fits && self.connects(source, host) {
                    receivers.push(host);
                }
                if receivers.len() == set.receivers {
                    return Some((source, receivers));
                }
            }
        }
        None
    }
}

/// What is the same for all flows of a set, and what is drawn for each.
struct Set<'a> {
    prefix: &'a str,
    count: usize,
    kind: TrafficKind,
    from: Vec<HostIndex>,
    to: Vec<HostIndex>,
    receivers: usize,
    frames: Vec<DataSize>,
    sizes: Vec<DataSize>,
    periods: Vec<Duration>,
    deadlines: Vec<Duration>,
    values: Values,
    terms: Terms,
}

impl<'a> Set<'a> {
    fn read(
        flows: &FlowReader<'_>,
        record: &LayeredTable<'a>,
        problems: &mut Problems,
    ) -> Option<Self> {
        let prefix = record.text("prefix");
        // Room for the number of the last flow.
        if let Some(bad) = prefix.filter(|prefix| !is_name(&format!("{prefix}1000000"))) {
            let text = quote(bad);
            problems.report(record.place_of("prefix"), Mistake::NotAName { text });
        }
        if !record.has("kind") {
            problems.report(record.place.clone(), record.missing("kind"));
        }
        let from = hosts(flows, "from", record, problems);
        let to = hosts(flows, "to", record, problems);
        let kind = TrafficKind::of(record)?;
        if kind == TrafficKind::Trace {
            let mistake = Mistake::Contradiction {
                sentence: "a flow set draws its traffic, and a trace has nothing to draw"
                    .to_owned(),
                help: "write such flows under [flows]; a template saves words".to_owned(),
            };
            problems.report(record.place_of("kind"), mistake);
            return None;
        }
        kind.check_keys(record, problems);
        let receivers = record.integer("receivers").unwrap_or(1);
        if receivers > 1 && !kind.has_groups() {
            let (what, count) = ("receivers of one flow of this kind", receivers);
            let count = usize::try_from(count).expect("the shape ends at 64");
            let mistake = Mistake::TooMany {
                what,
                count,
                limit: 1,
            };
            problems.report(record.place_of("receivers"), mistake);
        }
        let times = |key| drawn(record, key, |shape, value| shape.time(value).ok());
        let sizes = |key| drawn(record, key, |shape, value| shape.size(value).ok());
        for (frame, place) in sizes("frame") {
            kind.check_frame(frame, place, problems);
        }
        for (period, place) in times("period") {
            kind.check_period(period, place, problems);
        }
        Some(Self {
            prefix: prefix?,
            count: usize::try_from(record.integer("count")?).expect("the shape ends at 10^6"),
            kind,
            from,
            to,
            receivers: usize::try_from(receivers).expect("the shape ends at 64"),
            frames: without_places(sizes("frame")),
            sizes: without_places(sizes("size")),
            periods: without_places(times("period")),
            deadlines: without_places(times("deadline")),
            values: Values::shared(kind, record, problems),
            terms: flows.terms(kind, record, problems)?,
        })
    }
}

/// Returns the hosts that a key names; all if it is not there.
fn hosts(
    flows: &FlowReader<'_>,
    key: &str,
    record: &LayeredTable<'_>,
    problems: &mut Problems,
) -> Vec<HostIndex> {
    if !record.has(key) {
        return (0..flows.network.hosts.len()).map(HostIndex).collect();
    }
    let names = record.texts(key).into_iter();
    names
        .filter_map(|(name, place)| flows.host(name, place, problems))
        .collect()
}

fn drawn<T>(
    record: &LayeredTable<'_>,
    key: &str,
    read: fn(&ValueShape, &DeValue<'_>) -> Option<T>,
) -> Vec<(T, TextSpan)> {
    let shape = match key {
        "frame" | "size" => ValueShape::Size,
        _ => ValueShape::Time(Zero::Refused),
    };
    let items = record.items(key).into_iter();
    items
        .filter_map(|item| Some((read(&shape, item.get_ref())?, item.span())))
        .collect()
}

fn without_places<T>(drawn: Vec<(T, TextSpan)>) -> Vec<T> {
    drawn.into_iter().map(|(value, _)| value).collect()
}
