use proptest::prelude::*;
use units::{BitRate, DataSize};

use super::*;
use crate::SampledValues;

fn read_table(text: &str) -> FlowSet {
    read("streams.csv", text, &Options::default()).unwrap()
}

fn mistakes(text: &str, options: &Options) -> Vec<String> {
    let error = read("streams.csv", text, options).unwrap_err();
    let problems = error.problems().iter();
    problems
        .map(|problem| format!("{problem} ({})", problem.mistake.help().unwrap_or_default()))
        .collect()
}

#[test]
fn a_virtual_link_is_a_bucket_of_one_frame_every_gap() {
    let set = read_table(
        "vl,src,dsts,bag_ms,smax_bytes,deadline_us\n\
         VL258,E1,E2+E3,32,104,20000\n",
    );

    let flow = &set.flows[0];
    assert_eq!(flow.receivers, ["E2", "E3"]);
    assert_eq!(flow.matching.destination, Some([3, 0, 0, 0, 1, 2]));
    assert_eq!(flow.deadline, Some(Duration::from_ms(20)));
    let contract = flow.contract().unwrap();
    // 100 B without the check sequence, 124 B on the wire.
    assert_eq!(contract.largest_frame, DataSize::from_bytes(124));
    assert_eq!(contract.rate, BitRate::from_bps(31_000));
    // One frame, and what 0.5 ms of jitter let catch up.
    assert_eq!(contract.burst, DataSize::from_bits(124 * 8 + 16));
    assert!(set.left_out.is_empty() && set.assumed.is_empty());
}

#[test]
fn columns_may_stand_in_any_order_with_any_separator_and_line_ending() {
    let comma = read_table("name,from,to,period,frame,deadline\na,x,y,250 us,126 B,3 ms\n");
    let others = [
        "\u{feff}DEADLINE [ms];Frame (bytes);Period_us;to;from;Name\r\n3;126;250;y;x;a\r\n",
        "# ours\n\n\"name\"\t\"to\"\tfrom\tperiod_ms\tframe_size_bytes\tmax_latency_us\n\
         a\ty\tx\t0.25\t126\t3000",
        "name,from,\"to\",period_ns,frame_bits,deadline_s\n \"a\" , x ,\"y\",250000,1008,0.003\n",
    ];

    for other in others {
        let mut set = read_table(other);
        set.flows[0].line = comma.flows[0].line;

        assert_eq!(set.flows, comma.flows, "{other}");
    }
}

#[test]
fn quoted_fields_may_hold_separators_quotes_and_line_breaks() {
    let set = read_table(
        "name,from,to,period_us,frame_bytes,deadline_us,note\n\
         a,x,\"y,z\",250,126,3000,\"says \"\"hi\"\"\nand goes on\"\n\
         b,x,y,250,126,3000,\n",
    );

    assert_eq!(set.flows[0].receivers, ["y", "z"]);
    assert_eq!((set.flows[0].line, set.flows[1].line), (2, 4));
}

#[test]
fn a_wrong_row_is_left_out_with_its_line_and_the_others_are_kept() {
    let set = read_table(
        "flow,kind,src,dst,pcp,frame_bytes,period_us,deadline_us\n\
         good,SV,mu,relay,4,126,250,3000\n\
         few,SV,mu\n\
         self,SV,mu,mu,4,126,250,3000\n\
         kind,TDM,mu,relay,4,126,250,3000\n\
         zero,SV,mu,relay,4,126,0,3000\n\
         word,SV,mu,relay,4,126,often,3000\n\
         huge,UDP,mu,relay,4,9000,250,3000\n\
         late,UDP,mu,relay,4,126,250,\n\
         good,UDP,mu,relay,4,126,250,3000\n\
         rest,UDP,mu,relay,0,126,250,\n",
    );

    let names: Vec<_> = set.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["good", "rest"]);
    let left_out: Vec<_> = set.left_out.iter().map(ToString::to_string).collect();
    for (remark, beginning) in left_out.iter().zip([
        "line 3: `few`: the row has 3 fields",
        "line 4: `self`: `mu` would send to itself",
        "line 5: `kind`: unknown kind `TDM`",
        "line 6: `zero`: `0` in column `period_us` is less than a nanosecond",
        "line 7: `word`: `often` in column `period_us` is wrong",
        "line 8: `huge`: a frame of 9000 B is larger",
        "line 9: `late`: it has no deadline",
        "line 10: `good`: line 2 has a flow of this name",
    ]) {
        assert!(remark.starts_with(beginning), "{remark}");
    }
    assert_eq!(left_out.len(), 8);
    assert_eq!(set.flows[1].contract(), None);
}

#[test]
fn rows_of_one_flow_to_several_receivers_are_one_flow() {
    let set = read_table(
        "vl,src,dst,bag_ms,smax_bytes,deadline_us\n\
         VL1,E1,E2,32,104,20000\n\
         VL2,E1,E2,32,104,20000\n\
         VL1,E1,E3,32,104,20000\n",
    );

    assert_eq!(set.flows.len(), 2);
    assert_eq!(set.flows[0].receivers, ["E2", "E3"]);
}

#[test]
fn missing_columns_are_all_named_with_what_would_be_right() {
    let found = mistakes(
        "flow,message_bytes,period_lo_ms,deadlin_us\n",
        &Options::default(),
    );

    for (mistake, parts) in found.iter().zip([
        ["no column says who sends", "`src`"],
        ["no column says who receives", "`dst`"],
        [
            "no column says how often",
            "`period_lo_ms` looks like it, for the mode `lo`",
        ],
        ["no column says how late", "`deadlin_us` resembles it"],
    ]) {
        assert!(parts.iter().all(|part| mistake.contains(part)), "{mistake}");
    }
    assert_eq!(found.len(), 4);
}

/// What is given beside a file has one name in a scenario and another at a command.
#[test]
fn options_are_named_as_they_are_written_where_they_are_missing() {
    let table = "flow,message_bytes,period_lo_ms\n";
    let named = |said| {
        let options = Options {
            said,
            ..Options::default()
        };
        mistakes(table, &options).join("\n")
    };
    let (scenario, command) = (named(Said::InScenario), named(Said::OnCommandLine));

    for (key, option) in [
        ("as `from`", "as `--source`"),
        ("as `to`", "as `--destination`"),
        ("with `mode`", "with `--mode`"),
        ("as `deadline`", "as `--deadline`"),
    ] {
        assert!(
            scenario.contains(key) && !scenario.contains(option),
            "{scenario}"
        );
        assert!(
            command.contains(option) && !command.contains(key),
            "{command}"
        );
    }
}

#[test]
fn columns_of_a_mode_are_read_in_that_mode() {
    let table = "flow,src,dst,period_lo_ms,period_hi_ms,priority_lo,priority_hi,message_bytes\n\
                 STREAM,s2,d2,40,40,mid,drop,432000\n\
                 CAM,s1,d1,200,22,low,low,154000\n";
    let options = |mode: &str| Options {
        mode: Some(mode.to_owned()),
        deadline: Some(Duration::from_ms(20)),
        ..Options::default()
    };

    let low = read("t.csv", table, &options("lo")).unwrap();
    let high = read("t.csv", table, &options("hi")).unwrap();

    assert_eq!((low.flows.len(), high.flows.len()), (2, 1));
    assert_eq!((low.flows[0].queue, low.flows[1].queue), (5, 3));
    assert_eq!(high.left_out[0].reason, "it is dropped in this mode");
    let Traffic::Message(message) = &high.flows[0].traffic else {
        panic!("{:?}", high.flows[0].traffic);
    };
    assert_eq!(message.period, Duration::from_ms(22));
}

#[test]
fn a_period_between_nanoseconds_is_rounded_down() {
    let set = read_table(
        "flow,kind,src,dst,frame_bytes,period_us,deadline_us\n\
         sv,SV,mu,relay,126,208.33333333333333,3000\n",
    );

    let Traffic::SampledValues(SampledValues { period, .. }) = set.flows[0].traffic else {
        panic!("{:?}", set.flows[0].traffic);
    };
    assert_eq!(period, Duration::from_ns(208_333));
}

#[test]
fn a_quote_without_end_is_pointed_at() {
    let found = mistakes("flow,src\n\"a,b\n", &Options::default());

    assert!(
        found.iter().any(|mistake| mistake.contains("no column")),
        "{found:?}"
    );
    let header = "flow,src,dst,frame_bytes,period_us,deadline_us\n";
    let found = mistakes(&format!("{header}a,\"b\n"), &Options::default());
    assert_eq!(found, ["a quote begins here and does not end ()"]);
}

/// Writes flows as a table that has every column.
fn write(flows: &[(String, u32, u32)]) -> String {
    let mut table = "flow,src,dst,frame_bytes,period_ns,deadline_ns\n".to_owned();
    for (name, frame, period) in flows {
        let name = name.replace('"', "\"\"");
        table += &format!("\"{name}\",a,b,{frame},{period},{period}\n");
    }
    table
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,400}") {
        let _ = read("any.csv", &text, &Options::default());
    }

    #[test]
    fn no_row_makes_the_reader_panic(
        rows in proptest::collection::vec("[-+.0-9a-z\" ,;|éµ]{0,60}", 0..6),
    ) {
        let header = "flow,kind,src,dst,frame_bytes,rate,burst_bytes,period_us,jitter_us,\
                      deadline_us,vlan,mac,port,ip,ethertype,min_time_ms\n";

        let _ = read("any.csv", &format!("{header}{}", rows.join("\n")), &Options::default());
    }

    #[test]
    fn what_was_written_is_read(
        flows in proptest::collection::vec(
            ("[a-z][a-z0-9]{1,12}", 60u32..1500, 1_000u32..1_000_000_000),
            1..20,
        ),
    ) {
        let mut flows = flows;
        flows.sort();
        flows.dedup_by(|one, other| one.0 == other.0);

        let set = read_table(&write(&flows));

        prop_assert!(set.left_out.is_empty(), "{:?}", set.left_out);
        for (flow, (name, frame, period)) in set.flows.iter().zip(&flows) {
            prop_assert_eq!(&flow.name, name);
            prop_assert_eq!(flow.deadline, Some(Duration::from_ns(u64::from(*period))));
            let frame = DataSize::from_bytes(u64::from(*frame));
            prop_assert_eq!(flow.contract().unwrap().largest_frame, crate::wire_size(frame));
        }
        prop_assert_eq!(set.flows.len(), flows.len());
    }
}
