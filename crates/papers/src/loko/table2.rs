//! `table2`: what of a switch is set aside, LOKO Table 2, and how the flows of the
//! experiment share it, LOKO Eq. (8).

use calculus::loko::{Allocation, Fraction, SymmetricFlows};
use calculus::min_plus::TokenBucket;
use measure::reproduction::Row;

use super::super::amounts::{bytes, kb_of_1024, mbps, ms, real};
use super::super::{ExperimentOutcome, ExperimentSettings, Progress};
use super::{FRAME, zodiac_fx};

/// An allocation with what the paper prints for it.
struct PrintedAllocation {
    name: &'static str,
    fraction: Fraction,
    rate: &'static str,
    burst: &'static str,
    delay: &'static str,
    two_switches: &'static str,
    /// The ratios between the flows of the two hosts, `N`.
    ratios: &'static [u64],
}

const ALLOCATIONS: [PrintedAllocation; 2] = [
    PrintedAllocation {
        name: "full-rate",
        fraction: Fraction::FULL_RATE,
        rate: "11.8",
        burst: "2.02",
        delay: "1.86",
        two_switches: "3.72",
        ratios: &[0, 1, 2],
    },
    PrintedAllocation {
        name: "fifth-rate",
        fraction: Fraction::FIFTH_RATE,
        rate: "2.37",
        burst: "2.32",
        delay: "2.07",
        two_switches: "4.13",
        ratios: &[2],
    },
];

pub fn run(_: ExperimentSettings, _: &mut Progress) -> ExperimentOutcome {
    let service = zodiac_fx().service;
    let mut rows = vec![
        Row::new("service curve R", "Mbit/s")
            .printed("11.8")
            .ours(mbps(service.rate)),
        Row::new("service curve T", "ms")
            .printed("0.46")
            .ours(ms(service.latency)),
    ];
    rows.extend(ALLOCATIONS.iter().flat_map(allocation));
    ExperimentOutcome {
        rows,
        remarks: vec![
            "kB is 1024 bytes, as in the paper. The rule behind the burst, B = n l - l - r p / 8, and the delay, \
             D = T + 8 B / R, is not printed: it alone gives every row."
                .to_owned(),
        ],
        ..ExperimentOutcome::default()
    }
}

fn allocation(printed: &PrintedAllocation) -> Vec<Row> {
    let name = printed.name;
    let Some(ours) = zodiac_fx().allocate(printed.fraction) else {
        return vec![Row::new(name, "").note("infeasible")];
    };
    let mut rows = vec![
        Row::new(format!("{name} max rate"), "Mbit/s")
            .printed(printed.rate)
            .ours(mbps(ours.rate)),
        Row::new(format!("{name} max burst"), "kB")
            .printed(printed.burst)
            .ours(kb_of_1024(ours.burst)),
        Row::new(format!("{name} max delay"), "ms")
            .printed(printed.delay)
            .ours(ms(ours.delay)),
        Row::new(format!("{name} guarantee over two switches"), "ms")
            .printed(printed.two_switches)
            .ours(ms(ours.end_to_end(2))),
    ];
    let flows = printed.ratios.iter();
    rows.extend(flows.flat_map(|ratio| share(name, &ours, *ratio)));
    rows
}

/// Returns what a second host may send, for which the paper prints LOKO Eq. (8)
/// and no figure.
fn share(name: &str, allocation: &Allocation, ratio: u64) -> [Row; 2] {
    let flows = SymmetricFlows::share(allocation, ratio, TokenBucket::NOTHING);
    let feasible = flows.is_some_and(|flows| flows.have_room_for(FRAME));
    let note = match feasible {
        true => "Eq. (8), for which no figure is printed; admission rounds down to whole bits",
        false => "Eq. (8): infeasible, the burst has no room for a frame of 306 B",
    };
    let shares = real(2 * ratio + 2);
    let rate = real(allocation.rate.as_bps()) / shares;
    let arriving_late = rate / 8.0 * allocation.delay.as_secs_f64() * real(ratio + 1);
    let burst = (bytes(allocation.burst) - arriving_late) / shares;
    let row = |what, unit| Row::new(format!("{name} N = {ratio}: {what}"), unit).note(note);
    [
        row("r2", "kbit/s").ours(rate / 1e3),
        row("b2", "B").ours(burst),
    ]
}
