use proptest::prelude::*;
use units::BitRate;

use super::*;

#[test]
fn a_flow_faster_than_its_server_has_no_bound() {
    let flow = bucket(11, 100);
    let service = server(10, 5);

    assert_eq!(delay_bound(flow, service), None);
    assert_eq!(backlog_bound(flow, service), None);
    assert_eq!(output(flow, service), None);
}

/// NC section 1.4.
#[test]
fn a_burst_waits_for_the_latency_and_for_itself() {
    let flow = TokenBucket::new(BitRate::from_mbps(4), DataSize::from_bytes(1_000));
    let service = RateLatency {
        rate: BitRate::from_mbps(100),
        latency: Delay::from_us(10),
    };

    assert_eq!(delay_bound(flow, service), Some(Delay::from_us(90)));
    assert_eq!(
        backlog_bound(flow, service),
        Some(DataSize::from_bits(8_040))
    );
    assert_eq!(
        output(flow, service).unwrap().burst(),
        DataSize::from_bits(8_040)
    );
}

proptest! {
    /// Sound: all that arrived by any time is served one delay bound later.
    #[test]
    fn what_arrives_is_served_within_the_delay_bound(
        (flow, service) in flow_and_server(),
        after_ps in 0u64..1 << 36,
    ) {
        let bound = delay_bound(flow, service).unwrap();
        let after = Delay::from_ps(after_ps);

        // Arrivals are rounded up and service down: a bit each.
        let served = service.served_by(after + bound) + DataSize::from_bits(2);
        prop_assert!(flow.most_in(after) <= served);
    }

    /// Tight: a picosecond earlier the burst has not been served.
    #[test]
    fn the_delay_bound_is_not_needlessly_long((flow, service) in flow_and_server()) {
        let bound = delay_bound(flow, service).unwrap();

        let earlier = service.served_by(bound - Delay::from_ps(1));
        prop_assert!(earlier < flow.burst());
    }

    /// Sound: at no time is more in the server than the backlog bound.
    #[test]
    fn the_backlog_bound_is_never_exceeded(
        (flow, service) in flow_and_server(),
        after_ps in 0u64..1 << 36,
    ) {
        let bound = backlog_bound(flow, service).unwrap();
        let after = Delay::from_ps(after_ps);

        let inside = flow.most_in(after).saturating_sub(service.served_by(after));
        prop_assert!(inside <= bound + DataSize::from_bits(2));
    }

    /// Tight: when the latency ends, the backlog bound is reached.
    #[test]
    fn the_backlog_bound_is_reached((flow, service) in flow_and_server()) {
        let bound = backlog_bound(flow, service).unwrap();

        let inside = flow.most_in(service.latency) - service.served_by(service.latency);
        prop_assert_eq!(inside, bound);
    }

    /// Sound: no interval behind the server holds more than the output bound,
    /// as the most that leaves in one is what had arrived by its end, less what
    /// had to be served before it began.
    #[test]
    fn the_output_bound_is_never_exceeded(
        (flow, service) in flow_and_server(),
        (begin_ps, length_ps) in (0u64..1 << 36, 0u64..1 << 36),
    ) {
        let (begin, length) = (Delay::from_ps(begin_ps), Delay::from_ps(length_ps));
        let bound = output(flow, service).unwrap();

        let left = flow.most_in(begin + length).saturating_sub(service.served_by(begin));
        prop_assert!(left <= bound.most_in(length) + DataSize::from_bits(2));
    }

    /// Tight: an interval that begins when the latency ends may hold all of it.
    #[test]
    fn the_output_bound_is_reached((flow, service) in flow_and_server(), length_ps in 0u64..1 << 36) {
        let length = Delay::from_ps(length_ps);
        let bound = output(flow, service).unwrap();

        let left = flow.most_in(service.latency + length) - service.served_by(service.latency);
        prop_assert!(bound.most_in(length) <= left + DataSize::from_bits(1));
    }

    /// Sound: two servers in a row promise no more than any split of the time
    /// between them can deliver.
    #[test]
    fn concatenation_promises_no_more_than_any_split(
        (first, second) in (any_server(), any_server()),
        (early_ps, late_ps) in (0u64..1 << 36, 0u64..1 << 36),
    ) {
        let (early, late) = (Delay::from_ps(early_ps), Delay::from_ps(late_ps));

        let promised = concatenate(first, second).served_by(early + late);

        let delivered = first.served_by(early) + second.served_by(late);
        prop_assert!(promised <= delivered + DataSize::from_bits(2));
    }

    /// Tight: some split of the time delivers what is promised and no more.
    #[test]
    fn concatenation_promises_what_the_worst_split_delivers(
        (first, second) in (any_server(), any_server()),
        time_ps in 0u64..1 << 37,
    ) {
        let time = Delay::from_ps(time_ps);

        let promised = concatenate(first, second).served_by(time);

        let all_but = |latency: Delay| time.saturating_sub(latency);
        let slow_second = first.served_by(time - all_but(first.latency)) + second.served_by(all_but(first.latency));
        let slow_first = first.served_by(all_but(second.latency)) + second.served_by(time - all_but(second.latency));
        prop_assert_eq!(promised, slow_first.min(slow_second));
    }

    /// Tight: a path seen as one server never has a worse bound than its hops
    /// added up ("pay bursts only once").
    #[test]
    fn whole_path_is_never_worse_than_its_hops(
        (flow, first) in flow_and_server(),
        latency_ps in 0u64..1 << 34,
    ) {
        let second = RateLatency { latency: Delay::from_ps(latency_ps), ..first };

        let whole = delay_bound(flow, concatenate(first, second)).unwrap();

        let hop_1 = delay_bound(flow, first).unwrap();
        let hop_2 = delay_bound(output(flow, first).unwrap(), second).unwrap();
        prop_assert!(whole <= hop_1 + hop_2, "{whole} > {hop_1} + {hop_2}");
    }

    /// Sound: frames counted as a whole are served no later than promised, as
    /// less than one frame of what was served is still incomplete.
    #[test]
    fn whole_frames_get_no_more_than_the_bits(
        service in any_server(),
        frame_bits in 512u64..12_304,
        time_ps in 0u64..1 << 37,
    ) {
        let (frame, time) = (DataSize::from_bits(frame_bits), Delay::from_ps(time_ps));

        let whole = service.by_whole_frames(frame).served_by(time);

        prop_assert!(whole <= service.served_by(time).saturating_sub(frame));
    }
}

fn flow_and_server() -> impl Strategy<Value = (TokenBucket, RateLatency)> {
    (1u64..=1_000_000_000, 1u64..1 << 24, any_server()).prop_map(|(rate, burst, service)| {
        let rate = rate.min(service.rate.as_bps());
        (bucket(rate, burst), service)
    })
}

fn any_server() -> impl Strategy<Value = RateLatency> {
    (1_000u64..=1_000_000_000, 0u64..1 << 34).prop_map(|(rate, ps)| RateLatency {
        rate: BitRate::from_bps(rate),
        latency: Delay::from_ps(ps),
    })
}

fn bucket(rate_bps: u64, burst_bits: u64) -> TokenBucket {
    TokenBucket::new(BitRate::from_bps(rate_bps), DataSize::from_bits(burst_bits))
}

fn server(rate_bps: u64, latency_us: u64) -> RateLatency {
    RateLatency {
        rate: BitRate::from_bps(rate_bps),
        latency: Delay::from_us(latency_us),
    }
}
