//! The figures of LOKO section 6.2 beside ours.

use measure::reproduction::Row;

use super::super::super::amounts::{mbps, ms, real};
use super::super::zodiac_fx;
use super::Tried;
use super::ring::LENGTHS;
use super::traffic::ObservedPromise;
use super::variant::{self, LOKO, OURS, TENFOLD, TENFOLD_DELAY_KEPT};

/// The share that the paper's rule accepts at path lengths 0 to 5: S4-9. The paper
/// shows a plot of it.
const EXPECTED: [f64; 6] = [0.980, 0.585, 0.307, 0.181, 0.111, 0.079];
/// The length of paths that the paper calls typical, in links.
const TYPICAL: usize = 5;

pub fn rows(tried: &[Tried]) -> Vec<Row> {
    let mut rows = as_the_paper_has_it(&tried[LOKO]);
    rows.extend(tenfold(&tried[TENFOLD_DELAY_KEPT], &tried[TENFOLD]));
    rows.extend(tried.iter().flat_map(acceptance));
    rows.extend(gains(tried));
    rows.extend(tried.iter().map(before_refusal));
    rows.extend(tried.iter().flat_map(kept));
    rows
}

fn as_the_paper_has_it(loko: &Tried) -> Vec<Row> {
    let whole = mbps(zodiac_fx().service.rate);
    let delay = variant::allocation().delay;
    let hops = real(u64::try_from(*LENGTHS.end()).unwrap_or(0)) + 1.0;
    let for_rate: u64 = loko.lengths.iter().map(|one| one.refused_for_rate).sum();
    vec![
        Row::new("Loko: highest use of a switch", "Mbit/s")
            .printed("6")
            .ours(highest(loko)),
        Row::new("Loko: highest use of a switch", "%")
            .printed("49")
            .ours(100.0 * highest(loko) / whole),
        Row::new("Loko: requests refused for their rate", "requests")
            .printed("0")
            .ours(real(for_rate)),
        Row::new("Loko: delay of a switch", "ms")
            .printed("1.86")
            .ours(ms(delay)),
        Row::new("Loko: guarantee at path length 30", "ms")
            .printed("56")
            .ours(ms(delay) * hops)
            .note("the paper counts 30 switches; by its own D (l + 1) there are 31"),
    ]
}

fn tenfold(kept: &Tried, sound: &Tried) -> Vec<Row> {
    let follows = variant::tenfold().delay;
    vec![
        Row::new(
            "ten times the buffer, delay kept (unsound): highest use",
            "Mbit/s",
        )
        .printed("11.8")
        .ours(highest(kept))
        .note("promises 1.86 ms a switch for bursts that take 18.6 ms: a reproduction, no promise"),
        Row::new("ten times the buffer: delay of a switch that follows", "ms").ours(ms(follows)),
        Row::new("ten times the buffer, sound: highest use", "Mbit/s").ours(highest(sound)),
        nearly_full(kept).note("unsound, as above"),
        nearly_full(sound),
    ]
}

/// Returns the longest paths at which a switch is used to 95 % of its rate.
fn nearly_full(tried: &Tried) -> Row {
    let nearly = 0.95 * mbps(zodiac_fx().service.rate);
    let lengths = LENGTHS.zip(&tried.lengths);
    let full = lengths.filter(|(_, one)| one.highest_rate() >= nearly);
    let longest = full.map(|(length, _)| length).max();
    let row = Row::new(
        format!(
            "{}: longest paths that fill a switch to 95 %",
            tried.variant.label
        ),
        "links",
    );
    match longest {
        Some(longest) => row.ours(real(u64::try_from(longest).unwrap_or(u64::MAX))),
        None => row.note("none"),
    }
}

fn highest(tried: &Tried) -> f64 {
    tried
        .lengths
        .iter()
        .map(|one| one.highest_rate())
        .fold(0.0, f64::max)
}

/// Returns the share of the requests that a variant accepts at short paths.
fn acceptance(tried: &Tried) -> Vec<Row> {
    let lengths = tried.lengths.iter().zip(EXPECTED).enumerate();
    let row = |(length, (experience, expected)): (usize, (&super::Experience, f64))| {
        let name = format!("{}: accepted at path length {length}", tried.variant.label);
        let row = Row::new(name, "").ours(experience.mean_accepted());
        match tried.variant == &variant::ALL[LOKO] {
            true => row.note(format!("a plot in the paper; its rule gives {expected:.3}")),
            false => row,
        }
    };
    lengths.map(row).collect()
}

/// Returns how many times as many flows each variant of ours accepts at paths of
/// five links, which the paper calls typical.
fn gains(tried: &[Tried]) -> Vec<Row> {
    let loko = tried[LOKO].lengths[TYPICAL].mean_accepted();
    let ours = tried.iter().skip(OURS);
    let row = |tried: &Tried| {
        let times = tried.lengths[TYPICAL].mean_accepted() / loko;
        let name = format!("{}: accepted at path length {TYPICAL}", tried.variant.label);
        Row::new(name, "times Loko's").ours(times)
    };
    ours.map(row).collect()
}

/// Returns how much of the busiest switch is in use when a variant first refuses a flow.
fn before_refusal(tried: &Tried) -> Row {
    let used = tried.lengths[TYPICAL].mean_before_refusal();
    let label = tried.variant.label;
    let name = format!("{label}: busiest switch at the first refusal, path length {TYPICAL}");
    Row::new(name, "%").ours(100.0 * used)
}

/// Returns the worst that was seen of a variant's promises.
fn kept(tried: &Tried) -> [Row; 2] {
    let seen = worst(tried);
    let row = |what: &str, unit| Row::new(format!("{}: {what}", tried.variant.label), unit);
    [
        row("highest delay that was simulated", "of the guarantee")
            .ours(seen.highest)
            .note(match seen.highest > 1.0 {
                true => "the promise breaks",
                false => "",
            }),
        row("most frames in a switch", "frames")
            .ours(real(seen.most_held))
            .note(format!("of {} that fit", tried.variant.buffer_frames())),
    ]
}

fn worst(tried: &Tried) -> ObservedPromise {
    let seen = tried.lengths.iter().map(|one| one.seen);
    seen.fold(ObservedPromise::default(), ObservedPromise::or_worse)
}

/// Says which promises of ours did not hold when frames were sent.
pub fn broken(tried: &[Tried]) -> Vec<String> {
    let ours = tried.iter().skip(OURS);
    let broken = ours.filter(|tried| {
        let seen = worst(tried);
        seen.highest > 1.0 || seen.most_held > tried.variant.buffer_frames()
    });
    let say = |tried: &Tried| format!("{}: {:?}", tried.variant.label, worst(tried));
    broken.map(say).collect()
}

/// Returns what is to be known.
pub fn remarks(runs: u64) -> Vec<String> {
    vec![
        format!("{runs} runs a path length (the paper: 1000), 100 requests each, the same for every variant; a \
             fifth of the runs where budgets follow the flows."),
        "Taktos decides for the same switch, the same 9 frames of buffer and the same deadlines, D (l + 1). \
         What it gains has two sources. Budgets for the deadlines: chosen for flows of this kind and another \
         draw of them than the runs that are counted. Spacing: one processor hands on frames no closer together \
         than it takes for each, so what comes from one neighbour cannot arrive at once, and a frame is late by \
         no more than the budget less the least time that it takes. This rests on a least time for each frame, \
         which the paper does not need: here the largest and the least are taken as equal, as it measures \
         deviations too small to show. A switch that may be faster has to be taken with its own least time, down \
         to the line with spacing unknown. As in the paper, the time on the links is left out."
            .to_owned(),
    ]
}
