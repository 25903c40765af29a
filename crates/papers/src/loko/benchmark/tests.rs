use calculus::loko::processing_time::Priorities;
use measure::method::data_plane::capacity::carry;

use super::*;

/// The measurement gives what was put in, to the nanosecond, in every dimension
/// of LOKO Table 1.
#[test]
fn processing_times_are_recovered() {
    for setting in some_of_table_1() {
        let bytes = u16::try_from(setting.frame.bytes_up()).unwrap();
        let measured = times_of(&table_of(&setting), &[bytes]);

        let put_in = setting.processing_time().round_up();
        assert_eq!(measured, [(bytes, put_in)], "{setting:?}");
    }
}

/// LOKO section 3.5.
#[test]
fn buffers_are_recovered() {
    for (bytes, printed) in [(1_516, 3), (306, 9), (64, 25)] {
        assert_eq!(held(bytes), Some(printed), "{bytes} bytes");
    }
}

/// LOKO section 3.5, with the floor.
#[test]
fn buffers_of_all_sizes_are_those_of_the_model() {
    for bytes in SIZES {
        let setting = Setting::worst_five_tuple(128, DataSize::from_bytes(bytes.into()));
        let model = SwitchModel::zodiac_fx(setting.frame, setting.processing_time());

        assert_eq!(held(bytes), Some(model.buffer_frames), "{bytes} bytes");
    }
}

/// LOKO section 3.4.2: searched and computed throughput differ by less than 6 %.
#[test]
fn throughput_is_within_six_in_a_hundred_of_the_formula() {
    for (entries, bytes, fields, used, priorities) in [
        (
            1,
            64,
            MatchFields::PORT,
            UsedEntry::First,
            Priorities::Decreasing,
        ),
        (
            17,
            306,
            MatchFields::FIVE_TUPLE,
            UsedEntry::Last,
            Priorities::Increasing,
        ),
        (
            33,
            64,
            MatchFields::FIVE_TUPLE,
            UsedEntry::First,
            Priorities::Decreasing,
        ),
        (
            49,
            1_516,
            MatchFields::PORT,
            UsedEntry::First,
            Priorities::Decreasing,
        ),
        (
            128,
            1_516,
            MatchFields::FIVE_TUPLE,
            UsedEntry::Last,
            Priorities::Increasing,
        ),
    ] {
        let setting = Setting {
            fields,
            used,
            priorities,
            ..Setting::worst_five_tuple(entries, DataSize::from_bytes(bytes.into()))
        };
        let computed = SwitchModel::zodiac_fx(setting.frame, setting.processing_time());
        let computed = computed.service.rate.as_bps();

        let (searched, _) = throughputs(&table_of(&setting), bytes).unwrap();
        let searched = searched.as_bps();

        let gap = computed.abs_diff(searched);
        assert!(
            gap * 100 < computed * 6,
            "{setting:?}: {searched} for {computed}"
        );
    }
}

/// LOKO Fig. 12a.
#[test]
fn the_output_falls_when_the_input_exceeds_the_throughput() {
    for entries in [17, 33] {
        let setting = Setting {
            used: UsedEntry::First,
            priorities: Priorities::Decreasing,
            ..Setting::worst_five_tuple(entries, DataSize::from_bytes(64))
        };
        let table = table_of(&setting);
        let (most, _) = throughputs(&table, 64).unwrap();

        let outputs = [2, 3, 4, 5, 6, 7, 8].map(|twice| {
            let input = BitRate::from_bps(most.as_bps() * twice / 2);
            let mut tester = zodiac_fx();
            fill(&mut tester, &table).unwrap();
            let carried = carry(&mut tester, 64, input, RATE_FRAMES).unwrap();
            carried.output(64).unwrap()
        });

        assert!(outputs.is_sorted_by(|one, next| one > next), "{outputs:?}");
    }
}

#[test]
fn an_echo_takes_what_its_fit_says() {
    let points = simple(Version::V10);
    let echo = points.iter().find(|point| point.name == "EchoRequest");

    assert_eq!(message_time(echo.unwrap()), Some(Duration::from_us(107)));
}

fn some_of_table_1() -> Vec<Setting> {
    let worst = |entries| Setting::worst_five_tuple(entries, DataSize::from_bytes(306));
    let mut settings: Vec<_> = Setting::ENTRIES.map(worst).into();
    let sizes = Setting::FRAME_BYTES.map(DataSize::from_bytes);
    settings.extend(sizes.map(|frame| Setting { frame, ..worst(17) }));
    let fields = MatchFields::OF_TABLE_1;
    settings.extend(fields.map(|(_, fields)| Setting {
        fields,
        ..worst(33)
    }));
    let actions = LokoAction::OF_TABLE_1;
    settings.extend(actions.map(|(_, action)| Setting { action, ..worst(1) }));
    settings.push(Setting {
        used: UsedEntry::First,
        ..worst(17)
    });
    settings.push(Setting {
        used: UsedEntry::First,
        priorities: Priorities::Decreasing,
        ..worst(17)
    });
    settings
}
