use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::*;

const FRAME: DataSize = DataSize::from_bytes(306);
/// Five-tuple match, output, 17 entries: "257 us" in LOKO section 6. The digit
/// that the paper does not print follows from its other figures.
const PROCESSING_TIME: Delay = Delay::from_ns(257_200);

const NO_CONTROL: TokenBucket = TokenBucket::NOTHING;

/// LOKO Eq. (6) and LOKO Eq. (7), LOKO section 4.
#[test]
fn service_curves_of_loko_sections_4_and_6() {
    for (entries, processing_time, printed_mbps, printed_ms) in [
        (128, Delay::from_us(1_350), "1.88", "2.65"),
        (17, PROCESSING_TIME, "11.8", "0.464"),
    ] {
        let service = SwitchModel::zodiac_fx(FRAME, processing_time).service;

        let source = format!("LOKO, {entries} entries");
        assert_as_printed(mbps(service.rate), printed_mbps, &source);
        assert_as_printed(ms(service.latency), printed_ms, &source);
    }
}

#[test]
fn allocations_of_loko_table_2() {
    let switch = SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME);
    for (source, fraction, printed_mbps, printed_kb, printed_ms, printed_two_ms) in [
        (
            "LOKO Table 2, full-rate",
            Fraction::FULL_RATE,
            "11.8",
            "2.02",
            "1.86",
            "3.72",
        ),
        (
            "LOKO Table 2, fifth-rate",
            Fraction::FIFTH_RATE,
            "2.37",
            "2.32",
            "2.07",
            "4.13",
        ),
    ] {
        let ours = switch.allocate(fraction).unwrap();

        assert_as_printed(mbps(ours.rate), printed_mbps, source);
        assert_as_printed(kb_of_1024(ours.burst), printed_kb, source);
        assert_as_printed(ms(ours.delay), printed_ms, source);
        assert_as_printed(ms(ours.end_to_end(2)), printed_two_ms, source);
    }
}

/// LOKO section 3.5.
#[test]
fn buffers_of_loko_section_3_5() {
    for (bytes, printed) in [(1_516, 3), (306, 9), (64, 25)] {
        assert_eq!(
            buffer_frames(DataSize::from_bytes(bytes)),
            printed,
            "{bytes} bytes"
        );
    }
}

#[test]
fn floor_and_ceiling_of_the_buffers_differ_where_the_text_says() {
    let sizes = [64, 306, 548, 790, 1_032, 1_274, 1_516];

    let differ = sizes.into_iter().filter(|bytes: &u64| {
        let each = bytes.div_ceil(128);
        1 + BUFFERS.div_ceil(each) != buffer_frames(DataSize::from_bytes(*bytes))
    });

    assert_eq!(differ.collect::<Vec<_>>(), [548, 790, 1_032, 1_274]);
}

/// The figures are those of `S4-6`, computed from LOKO Eq. (8) by hand.
#[test]
fn flows_of_loko_eq_8() {
    let switch = SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME);
    for (source, fraction, ratio, rate_kbps, burst_bytes, feasible) in [
        (
            "fifth-rate, N = 2",
            Fraction::FIFTH_RATE,
            2,
            "394.6",
            "344.3",
            true,
        ),
        (
            "full-rate, N = 0",
            Fraction::FULL_RATE,
            0,
            "5918.8",
            "345.2",
            true,
        ),
        (
            "full-rate, N = 1",
            Fraction::FULL_RATE,
            1,
            "",
            "172.6",
            false,
        ),
        (
            "full-rate, N = 2",
            Fraction::FULL_RATE,
            2,
            "",
            "115.1",
            false,
        ),
    ] {
        let allocation = switch.allocate(fraction).unwrap();

        let flows = SymmetricFlows::share(&allocation, ratio, NO_CONTROL).unwrap();

        if !rate_kbps.is_empty() {
            assert_as_printed(mbps(flows.second.rate().unwrap()) * 1e3, rate_kbps, source);
        }
        // The share of a flow is rounded down to a whole bit.
        let burst = flows.second.burst();
        let exact = bytes(burst)..=bytes(burst + DataSize::from_bits(1));
        assert_within_as_printed(exact, burst_bytes, source);
        assert_eq!(flows.have_room_for(FRAME), feasible, "{source}");
    }
}

#[test]
fn control_traffic_takes_its_part_of_the_allocation() {
    let switch = SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME);
    let allocation = switch.allocate(Fraction::FULL_RATE).unwrap();
    // 750 EchoRequests of 66 bytes a second, LOKO section 6.1.4.
    let control = TokenBucket::new(BitRate::from_bps(396_000), DataSize::from_bytes(66));

    let without = SymmetricFlows::share(&allocation, 0, NO_CONTROL)
        .unwrap()
        .second;
    let with = SymmetricFlows::share(&allocation, 0, control)
        .unwrap()
        .second;

    assert_eq!(without.rate_bps() - with.rate_bps(), 198_000);
    assert!(with.burst() < without.burst() + DataSize::from_bytes(66));
}

#[test]
fn an_allocation_with_no_room_for_a_frame_is_infeasible() {
    let switch = SwitchModel::zodiac_fx(DataSize::from_bytes(1_516), Delay::from_us(1_350));

    assert_eq!(switch.allocate(Fraction::FULL_RATE), None);
}

#[test]
fn more_than_the_whole_switch_is_no_allocation() {
    let switch = SwitchModel::zodiac_fx(FRAME, PROCESSING_TIME);
    let parts = |numerator, denominator| Fraction {
        numerator,
        denominator,
    };

    assert_eq!(switch.allocate(parts(6, 5)), None);
    assert_eq!(switch.allocate(parts(1, 0)), None);
    assert_eq!(switch.allocate(parts(0, 1)), None);
}

proptest! {
    /// Sound: what may be promised together never overflows the buffer, the frame
    /// in hand included.
    #[test]
    fn allocations_fit_the_buffer((switch, fraction) in switch_and_fraction()) {
        let Some(ours) = switch.allocate(fraction) else { return Ok(()) };

        let flows = TokenBucket::new(ours.rate, ours.burst);
        let held = flows.most_in(switch.processing_time) + switch.frame;
        prop_assert!(held <= switch.frame * switch.buffer_frames);
    }

    /// Tight: one bit more would overflow it.
    #[test]
    fn allocations_use_the_whole_buffer((switch, fraction) in switch_and_fraction()) {
        let Some(ours) = switch.allocate(fraction) else { return Ok(()) };

        let flows = TokenBucket::new(ours.rate, ours.burst + DataSize::from_bits(1));
        let held = flows.most_in(switch.processing_time) + switch.frame;
        prop_assert!(held > switch.frame * switch.buffer_frames);
    }

    /// Sound and tight: both switches together carry no more than was set aside,
    /// and what division leaves over is less than a bit a flow.
    #[test]
    fn shared_flows_use_the_allocation_up((switch, fraction) in switch_and_fraction(), ratio in 0u64..5) {
        let Some(allocation) = switch.allocate(fraction) else { return Ok(()) };
        let Some(flows) = SymmetricFlows::share(&allocation, ratio, NO_CONTROL) else { return Ok(()) };

        let near = flows.first + flows.second;
        let far = flows.first.spread_by(allocation.delay) + flows.second.spread_by(allocation.delay);
        let used = near + far;
        let rounding = 2 * (ratio + 1) + 2;
        prop_assert!(used.rate_bps() <= allocation.rate.as_bps());
        prop_assert!(used.rate_bps() + rounding > allocation.rate.as_bps());
        prop_assert!(used.burst() <= allocation.burst);
        prop_assert!(used.burst() + DataSize::from_bits(2 * rounding) > allocation.burst);
    }
}

fn switch_and_fraction() -> impl Strategy<Value = (SwitchModel, Fraction)> {
    (64u64..=1_516, 10_000u64..2_500_000, 1u64..=10, 1u64..=10).prop_map(|(bytes, ns, a, b)| {
        let switch = SwitchModel::zodiac_fx(DataSize::from_bytes(bytes), Delay::from_ns(ns));
        let (numerator, denominator) = (a.min(b), a.max(b));
        (
            switch,
            Fraction {
                numerator,
                denominator,
            },
        )
    })
}

/// Asserts agreement to half of the last digit that is printed.
#[track_caller]
fn assert_as_printed(ours: f64, printed: &str, source: &str) {
    assert_within_as_printed(ours..=ours, printed, source);
}

/// Asserts the same of a figure that is known to lie within a range.
#[track_caller]
fn assert_within_as_printed(ours: RangeInclusive<f64>, printed: &str, source: &str) {
    let decimals = printed
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let half_digit = 0.5 * 10f64.powi(-i32::try_from(decimals).unwrap());
    let figure = printed.parse::<f64>().unwrap();
    let agree = *ours.start() <= figure + half_digit && figure - half_digit <= *ours.end();
    assert!(agree, "{source} prints {printed}, we get {ours:?}");
}

#[expect(clippy::cast_precision_loss, reason = "compared to a few digits")]
fn mbps(rate: BitRate) -> f64 {
    rate.as_bps() as f64 / 1e6
}

fn ms(delay: Delay) -> f64 {
    delay.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "compared to a few digits")]
fn bytes(data: DataSize) -> f64 {
    data.as_bits() as f64 / 8.0
}

fn kb_of_1024(data: DataSize) -> f64 {
    bytes(data) / 1024.0
}
