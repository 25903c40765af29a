use calculus::loko::SwitchModel;
use calculus::loko::processing_time::{
    LokoAction, MatchFields, Priorities as Put, Setting, UsedEntry,
};
use measure::method::data_plane::capacity::{
    carry, computed_behind_link, fill, held_at_first_loss, line_rate, search,
};
use measure::method::data_plane::passages::{Pace, measure};
use measure::method::table_setting::{MatchType, Priorities, Rewrite, SIZES, TableSetting, Used};
use units::{BitRate, DataSize};

use crate::{VERSION_10, VERSION_13, zodiac_fx};

const CABLE: BitRate = BitRate::from_mbps(100);
const FRAMES: u64 = 4_000;

/// LOKO Eq. (4), to the nanosecond, in every dimension of LOKO Table 1 and in every
/// size.
#[test]
fn processing_times_are_recovered() {
    let mut tester = zodiac_fx(VERSION_10);
    let mut pace = Pace::of(&tester, 1);
    for table in some_tables() {
        let passages = measure(&mut tester, &table, &SIZES, &mut pace).unwrap();

        for (size, passed) in passages.by_size {
            let put_in = put_in(&table, size).processing_time().round_up();
            let found = passed.times.summary().unwrap();
            assert_eq!((passed.sent, passed.lost), (1, 0), "{table:?}, {size}");
            assert_eq!(found.max, put_in, "{table:?}, {size}");
        }
    }
}

/// The firmware keeps entries of either version alike.
#[test]
fn times_are_the_same_in_version_13() {
    let mut tester = zodiac_fx(VERSION_13);
    let mut pace = Pace::of(&tester, 2);
    let table = TableSetting::five_tuples(17);

    let passages = measure(&mut tester, &table, &[306], &mut pace).unwrap();

    let found = passages.by_size[&306].times.summary().unwrap();
    let put_in = put_in(&table, 306).processing_time().round_up();
    assert_eq!((found.min, found.max), (put_in, put_in));
}

/// LOKO section 3.4.2: searched and computed throughput differ by less than 6 %.
#[test]
fn throughput_is_within_six_in_a_hundred_of_the_formula() {
    for (table, size) in [
        (of_ports(1), 64),
        (TableSetting::five_tuples(17), 306),
        (first_decreasing(33), 64),
        (of_ports(49), 1_516),
        (TableSetting::five_tuples(128), 1_516),
    ] {
        let mut tester = zodiac_fx(VERSION_10);
        let mut pace = Pace::of(&tester, 1);
        let passages = measure(&mut tester, &table, &[size], &mut pace).unwrap();
        let time = passages.by_size[&size].longest().unwrap();
        let computed = computed_behind_link(u64::from(size), time, CABLE).unwrap();
        let precision = BitRate::from_bps(50_000);

        let highest = line_rate(size, CABLE);
        let searched = search(&mut tester, size, highest, precision, FRAMES);

        let searched = searched.unwrap().unwrap().as_bps();
        let gap = computed.as_bps().abs_diff(searched);
        assert!(
            gap * 100 < computed.as_bps() * 6,
            "{table:?}, {size}: {searched} for {computed}"
        );
    }
}

/// LOKO Fig. 12a.
#[test]
fn the_output_falls_when_the_input_exceeds_the_throughput() {
    let mut tester = zodiac_fx(VERSION_10);
    fill(&mut tester, &first_decreasing(33)).unwrap();
    let precision = BitRate::from_bps(50_000);
    let most = search(&mut tester, 64, line_rate(64, CABLE), precision, FRAMES);
    let most = most.unwrap().unwrap().as_bps();

    let outputs = [2, 3, 4, 6, 8].map(|twice| {
        let input = BitRate::from_bps(most * twice / 2);
        let carried = carry(&mut tester, 64, input, FRAMES).unwrap();
        carried.output(64).unwrap()
    });

    assert!(
        outputs.is_sorted_by(|one, next| one.as_bps() > next.as_bps()),
        "{outputs:?}"
    );
}

/// LOKO section 3.5, and the model with the floor for all sizes.
#[test]
fn buffers_are_recovered() {
    let table = TableSetting::five_tuples(128);
    for size in SIZES {
        let mut tester = zodiac_fx(VERSION_10);
        fill(&mut tester, &table).unwrap();

        let held = held_at_first_loss(&mut tester, size, CABLE).unwrap();

        let put_in = put_in(&table, size);
        let model = SwitchModel::zodiac_fx(put_in.frame, put_in.processing_time());
        assert_eq!(held, Some(model.buffer_frames), "{size} bytes");
    }
}

fn of_ports(count: u16) -> TableSetting {
    TableSetting {
        fields: MatchType::Port,
        used: Used::First,
        priorities: Priorities::Decreasing,
        ..TableSetting::five_tuples(count)
    }
}

fn first_decreasing(count: u16) -> TableSetting {
    TableSetting {
        fields: MatchType::FiveTuple,
        ..of_ports(count)
    }
}

fn some_tables() -> Vec<TableSetting> {
    let mut tables: Vec<_> = [1, 33, 128].map(TableSetting::five_tuples).into();
    tables.extend([of_ports(17), first_decreasing(17)]);
    tables.extend(MatchType::ALL.iter().map(|fields| TableSetting {
        fields: *fields,
        ..TableSetting::five_tuples(33)
    }));
    tables.extend(Rewrite::ALL.iter().map(|rewrite| TableSetting {
        rewrite: *rewrite,
        ..TableSetting::five_tuples(1)
    }));
    tables.push(TableSetting {
        used: Used::First,
        ..TableSetting::five_tuples(17)
    });
    tables
}

/// Returns the same setting in the words of the model.
fn put_in(table: &TableSetting, size: u16) -> Setting {
    let fields = MatchFields::OF_TABLE_1.iter();
    let fields = fields
        .clone()
        .find(|(name, _)| *name == table.fields.name());
    let actions = LokoAction::OF_TABLE_1.iter();
    let action = actions
        .clone()
        .find(|(name, _)| *name == table.rewrite.name());
    Setting {
        fields: fields.expect("a match of LOKO Table 1").1,
        action: action.expect("an action of LOKO Table 1").1,
        used: match table.used {
            Used::First => UsedEntry::First,
            Used::Last => UsedEntry::Last,
        },
        priorities: match table.priorities {
            Priorities::Increasing => Put::Increasing,
            Priorities::Decreasing => Put::Decreasing,
        },
        ..Setting::worst_five_tuple(
            u64::from(table.count),
            DataSize::from_bytes(u64::from(size)),
        )
    }
}
