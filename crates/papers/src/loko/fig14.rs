//! `fig14`: delay, burst and rate of a switch over entries and frame sizes, for
//! both allocations, LOKO Fig. 14.

use calculus::loko::processing_time::Setting;
use calculus::loko::{Allocation, Fraction, SwitchModel};
use measure::document::picture::{Axis, HeatMap, Picture, Scale, for_plot};
use measure::reproduction::Row;
use units::DataSize;

use super::super::amounts::{bytes, kb_of_1024, mbps, ms, real};
use super::super::{ExperimentOutcome, ExperimentSettings, Progress, Thoroughness};

const ENTRIES: u64 = 128;
/// The smallest and the largest frame, LOKO Table 1.
const BYTES: std::ops::RangeInclusive<usize> = 64..=1_516;

const ALLOCATIONS: [(&str, Fraction); 2] = [
    ("full-rate", Fraction::FULL_RATE),
    ("fifth-rate", Fraction::FIFTH_RATE),
];

/// One of the three maps of an allocation.
struct Quantity {
    name: &'static str,
    unit: &'static str,
    scale: Scale,
    of: fn(&Allocation) -> f64,
}

const QUANTITIES: [Quantity; 3] = [
    Quantity {
        name: "delay",
        unit: "ms",
        scale: Scale::Logarithmic,
        of: |allocation| ms(allocation.delay),
    },
    Quantity {
        name: "burst",
        unit: "kB",
        scale: Scale::Linear,
        of: |allocation| kb_of_1024(allocation.burst),
    },
    Quantity {
        name: "rate",
        unit: "Mbit/s",
        scale: Scale::Logarithmic,
        of: |allocation| mbps(allocation.rate),
    },
];

pub fn run(settings: ExperimentSettings, progress: &mut Progress) -> ExperimentOutcome {
    let step = match settings.effort {
        Thoroughness::Full => 11,
        Thoroughness::Quick => 44,
    };
    let sizes: Vec<DataSize> = BYTES.step_by(step).map(size).collect();
    let mut outcome = ExperimentOutcome {
        remarks: vec![
            "Processing times between the few that the paper prints follow a model of the firmware: a fixed part, \
             a part for each byte and a part for each entry (five-tuples, increasing priorities, the last one \
             used). White places of the paper are hatched here: no burst of one frame fits the buffer. The paper \
             prints the number of buffers rounded up, we round down, so fewer places are feasible from 513 bytes on \
             than it may show."
                .to_owned(),
        ],
        ..ExperimentOutcome::default()
    };
    for (number, (name, fraction)) in (1..).zip(ALLOCATIONS) {
        let plane: Vec<Vec<Option<Allocation>>> = sizes
            .iter()
            .map(|frame| {
                (1..=ENTRIES)
                    .map(|entries| allocate(entries, *frame, fraction))
                    .collect()
            })
            .collect();
        outcome.rows.extend(rows(name, fraction, &plane));
        let maps = QUANTITIES
            .iter()
            .map(|quantity| map(name, quantity, &sizes, &plane));
        outcome.pictures.extend(maps.map(Picture::HeatMap));
        progress(number, 2);
    }
    outcome
}

fn size(bytes: usize) -> DataSize {
    DataSize::from_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

fn allocate(entries: u64, frame: DataSize, fraction: Fraction) -> Option<Allocation> {
    let processing_time = Setting::worst_five_tuple(entries, frame).processing_time();
    SwitchModel::zodiac_fx(frame, processing_time).allocate(fraction)
}

fn map(
    allocation: &str,
    quantity: &Quantity,
    sizes: &[DataSize],
    plane: &[Vec<Option<Allocation>>],
) -> HeatMap {
    let row = |row: &Vec<Option<Allocation>>| {
        let cells = row
            .iter()
            .map(|cell| cell.as_ref().map(|cell| for_plot((quantity.of)(cell))));
        cells.collect()
    };
    HeatMap {
        name: format!("fig14-{allocation}-{}", quantity.name),
        title: format!("{allocation}: {}", quantity.name),
        unit: quantity.unit.to_owned(),
        scale: quantity.scale,
        x: Axis {
            label: "entries".to_owned(),
            values: (1..=ENTRIES).map(real).collect(),
        },
        y: Axis {
            label: "frame, B".to_owned(),
            values: sizes.iter().map(|frame| bytes(*frame)).collect(),
        },
        values: plane.iter().map(row).collect(),
    }
}

/// Returns what the maps say in numbers. The paper prints those of one place of
/// them, in Table 2.
fn rows(name: &str, fraction: Fraction, plane: &[Vec<Option<Allocation>>]) -> Vec<Row> {
    let printed = match name {
        "full-rate" => ["1.86", "2.02", "11.8"],
        _ => ["2.07", "2.32", "2.37"],
    };
    let there = allocate(17, DataSize::from_bytes(306), fraction);
    let mut rows = Vec::new();
    for (quantity, printed) in QUANTITIES.iter().zip(printed) {
        let named =
            |what: &str| Row::new(format!("{name} {}: {what}", quantity.name), quantity.unit);
        let row = named("17 entries, 306 B").printed(printed);
        rows.push(match &there {
            Some(there) => row.ours((quantity.of)(there)),
            None => row.note("infeasible"),
        });
        let feasible = plane.iter().flatten().flatten().map(quantity.of);
        rows.push(named("lowest").ours(feasible.clone().fold(f64::MAX, f64::min)));
        rows.push(named("highest").ours(feasible.fold(f64::MIN, f64::max)));
    }
    let places = plane.iter().flatten();
    let infeasible = places.clone().filter(|cell| cell.is_none()).count();
    let share = percent(infeasible, places.count());
    rows.push(Row::new(format!("{name}: infeasible places"), "%").ours(share));
    rows
}

#[expect(clippy::cast_precision_loss, reason = "for tables and plots")]
fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}
