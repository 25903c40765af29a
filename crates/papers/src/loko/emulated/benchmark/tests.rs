use calculus::loko::SwitchModel;
use calculus::loko::processing_time::{Action, MatchFields, Priorities, UsedEntry};
use wire::openflow::{Echo, FlowModCommand};
use wire::openflow10::{FlowMod, Match};

use super::*;

const FX: Profile = Profile::ZODIAC_FX;

/// The measurement gives what was put in, to the nanosecond, in every dimension
/// of LOKO Table 1.
#[test]
fn processing_times_are_recovered() {
    for setting in some_of_table_1() {
        let measured = Bench::with_table(FX, &setting).processing_time(setting.frame);

        let put_in = setting.processing_time().round_up();
        assert_eq!(measured, Some(put_in), "{setting:?}");
    }
}

/// LOKO section 3.5.
#[test]
fn buffers_are_recovered() {
    for (bytes, printed) in [(1_516, 3), (306, 9), (64, 25)] {
        let setting = Setting::worst_five_tuple(128, DataSize::from_bytes(bytes));

        let measured = buffer_frames(FX, &setting);

        assert_eq!(measured, Some(printed), "{bytes} bytes");
    }
}

/// LOKO section 3.5, with the floor.
#[test]
fn buffers_of_all_sizes_are_those_of_the_model() {
    for bytes in Setting::FRAME_BYTES {
        let setting = Setting::worst_five_tuple(128, DataSize::from_bytes(bytes));
        let model = SwitchModel::zodiac_fx(setting.frame, setting.processing_time());

        let measured = buffer_frames(FX, &setting);

        assert_eq!(measured, Some(model.buffer_frames), "{bytes} bytes");
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
            ..Setting::worst_five_tuple(entries, DataSize::from_bytes(bytes))
        };
        let precision = BitRate::from_bps(50_000);
        let computed = SwitchModel::zodiac_fx(setting.frame, setting.processing_time());
        let computed = computed.service.rate.as_bps();

        let searched = throughput(FX, &setting, precision).unwrap().as_bps();

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
        let most = throughput(FX, &setting, BitRate::from_bps(50_000)).unwrap();

        let outputs = [2, 3, 4, 5, 6, 7, 8].map(|twice| {
            let input = BitRate::from_bps(most.as_bps() * twice / 2);
            Bench::with_table(FX, &setting).output_rate(setting.frame, input)
        });

        assert!(outputs.is_sorted_by(|one, next| one > next), "{outputs:?}");
    }
}

/// LOKO section 3.2.3: "around 92 us".
#[test]
fn a_barrier_takes_92_us() {
    let measured = Bench::new(FX).reply_time(Message::BarrierRequest);

    assert_eq!(measured, Some(Duration::from_us(92)));
}

#[test]
fn an_echo_takes_what_its_fit_says() {
    let measured = Bench::new(FX).reply_time(Message::EchoRequest(Echo { data: &[] }));

    assert_eq!(measured, Some(Duration::from_us(107)));
}

/// LOKO Fig. 7b: linear, "up to 2.3 ms".
#[test]
fn deletion_is_linear_in_the_entries() {
    let times = [32, 64, 96, 128].map(|entries| {
        let setting = Setting::worst_five_tuple(entries, DataSize::from_bytes(306));
        deletion_time(&setting).as_ns()
    });

    let steps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(steps.iter().all(|step| *step == steps[0]), "{times:?}");
    assert!(times[3].abs_diff(2_300_000) < 5_000, "{times:?}");
}

/// LOKO Fig. 7a.
#[test]
fn adding_depends_on_the_actions_and_not_on_the_entries() {
    let time = |entries, actions: &[wire::openflow10::Action]| {
        let setting = Setting::worst_five_tuple(entries, DataSize::from_bytes(306));
        let add = FlowMod {
            actions: wire::openflow10::Actions::of(actions),
            ..FlowMod::ADD
        };
        Bench::with_table(FX, &setting).order_time(Message::FlowMod(add))
    };
    let four = [wire::openflow10::Action::StripVlan; 4];

    assert_eq!(time(1, &[]), time(100, &[]));
    assert!(time(1, &[]) < time(1, &four));
}

/// LOKO Fig. 6a: the checks that the paper turns off.
#[test]
fn port_checks_delay_a_message_every_1500_ms() {
    let profile = Profile {
        port_checks: Some(Duration::from_ms(1)),
        ..FX
    };
    let mut bench = Bench::new(profile);
    bench.pass(Duration::from_us(1_500_200));

    let during = bench.reply_time(Message::BarrierRequest).unwrap();
    let after = bench.reply_time(Message::BarrierRequest).unwrap();

    assert_eq!(after, Duration::from_us(92));
    assert!(during > after + Duration::from_us(700), "{during}");
}

fn deletion_time(setting: &Setting) -> Duration {
    let delete = FlowMod {
        command: FlowModCommand::Delete,
        matching: Match::ANY,
        ..FlowMod::ADD
    };
    let mut bench = Bench::with_table(FX, setting);
    bench.order_time(Message::FlowMod(delete)).unwrap()
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
    let actions = Action::OF_TABLE_1;
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
