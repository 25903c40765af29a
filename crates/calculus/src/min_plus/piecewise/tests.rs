//! Each operator from both sides, against the definition evaluated at points.
//!
//! Curves are evaluated exactly, in [`FS_PER_SECOND`]ths of a millionth of a bit.
//! An optimum lies where two pieces meet, so these instants are the points at
//! which the definition has to be reached; the other side is tried anywhere.

use proptest::prelude::*;

use super::*;

/// A millionth of a bit.
const UBIT: i128 = 1_000_000_000_000_000;

#[test]
fn pieces_that_never_count_are_dropped() {
    let curve = Concave::minimum_of([bucket(10, 0), bucket(9, 50), bucket(5, 50), bucket(7, 30)]);
    let service = Convex::maximum_of([server(10, 8), server(9, 8), server(2, 8), server(1, 1)]);

    assert_eq!(curve.unwrap().pieces(), [bucket(10, 0), bucket(5, 50)]);
    assert_eq!(service.pieces(), [server(1, 1), server(10, 8)]);
}

#[test]
fn what_arrives_faster_than_it_is_served_has_no_bound() {
    let (arrivals, service) = (Concave::from(bucket(11, 1)), Convex::from(server(10, 1)));

    assert_eq!(delay(&arrivals, &service), None);
    assert_eq!(busy_period(&arrivals, &service), None);
    assert_eq!(backlog(&arrivals, &service), None);
    assert_eq!(output(&arrivals, &service), None);
    assert_eq!(left_over(&service, &arrivals), Convex::default());
}

#[test]
fn as_fast_as_it_is_served_has_a_delay_but_a_server_that_is_never_idle() {
    let (arrivals, service) = (Concave::from(bucket(10, 1)), Convex::from(server(10, 1)));

    assert!(delay(&arrivals, &service).is_some());
    assert_eq!(busy_period(&arrivals, &service), None);
}

/// NC section 1.4.
#[test]
fn one_bucket_at_one_server_has_the_closed_forms() {
    let arrivals = Concave::from(TokenBucket {
        rate: Rate::from_ubps(4_000_000_000_000),
        burst: Data::from_ubits(8_000_000_000),
    });
    let service = Convex::from(RateLatency {
        rate: Rate::from_ubps(100_000_000_000_000),
        latency: Time::from_fs(10_000_000_000),
    });

    let delay = delay(&arrivals, &service).unwrap();
    let output = output(&arrivals, &service).unwrap();

    assert_eq!(delay, Time::from_fs(90_000_000_000));
    assert_eq!(backlog(&arrivals, &service), Some(output.burst()));
    assert_eq!(output.burst(), Data::from_ubits(8_040_000_000));
}

proptest! {
    #[test]
    fn the_minimum_of_buckets_is_the_least_of_them(buckets in buckets(), time in time()) {
        let curve = Concave::minimum_of(buckets.clone()).unwrap();

        prop_assert_eq!(allowed(curve.pieces(), time), allowed(&buckets, time));
    }

    #[test]
    fn the_maximum_of_services_is_the_most_of_them(servers in servers(), time in time()) {
        let curve = Convex::maximum_of(servers.clone());

        let gap = served(&servers, time) - served(curve.pieces(), time);
        prop_assert!((0..=UBIT).contains(&gap));
    }

    #[test]
    fn two_flows_together_are_their_sum((ours, theirs) in (buckets(), buckets()), time in time()) {
        let [one, two] = [&ours, &theirs].map(|of| Concave::minimum_of(of.clone()).unwrap());

        let both = one.checked_add(&two).unwrap();

        let sum = allowed(&ours, time) + allowed(&theirs, time);
        prop_assert_eq!(allowed(both.pieces(), time), sum);
        prop_assert_eq!(allowed(one.minimum(&two).pieces(), time), allowed(&ours, time).min(allowed(&theirs, time)));
    }

    #[test]
    fn many_flows_together_are_their_sum(flows in prop::collection::vec(buckets(), 1..6), rate in 0..60u64, time in time()) {
        let mut sum = CurveSum::default();
        for flow in &flows {
            sum.add(&Concave::minimum_of(flow.clone()).unwrap()).unwrap();
        }

        let curve = sum.curve().unwrap();

        let each = flows.iter().map(|flow| allowed(flow, time));
        prop_assert_eq!(allowed(curve.pieces(), time), each.sum::<i128>());
        let rate = Rate::from_ubps(rate);
        prop_assert_eq!(sum.excess_over(rate), curve.excess_over(rate));
    }

    #[test]
    fn a_flow_that_was_delayed_comes_as_if_it_had_had_that_time((arrivals, spread) in (concave(), time()), time in time()) {
        let behind = arrivals.spread_by(Time::from_fs(spread)).unwrap();

        let loose = allowed(behind.pieces(), time) - allowed(arrivals.pieces(), time + spread);
        prop_assert!((0..=UBIT).contains(&loose), "{loose}");
    }

    #[test]
    fn two_servers_side_by_side_do_their_sum((first, second) in (convex(), convex()), time in time()) {
        let both = first.sum(&second);

        let sum = served(first.pieces(), time) + served(second.pieces(), time);
        let lost = sum - served(both.pieces(), time);
        prop_assert!((0..=12 * UBIT).contains(&lost), "{lost}");
    }

    /// Sound: no split of the time delivers less.
    #[test]
    fn a_server_behind_another_promises_no_more_than_any_split(
        (first, second) in (convex(), convex()), (early, late) in (time(), time()),
    ) {
        let promised = served(first.then(&second).pieces(), early + late);

        prop_assert!(promised <= served(first.pieces(), early) + served(second.pieces(), late));
    }

    /// Tight: some split delivers no more.
    #[test]
    fn a_server_behind_another_promises_what_the_worst_split_delivers((first, second) in (convex(), convex()), time in time()) {
        let promised = served(first.then(&second).pieces(), time);

        let splits = meetings(&[], first.pieces()).into_iter().chain(
            meetings(&[], second.pieces()).into_iter().filter_map(|late| time.checked_sub(late)),
        );
        let worst = splits.chain([0, time]).filter(|early| *early <= time)
            .map(|early| served(first.pieces(), early) + served(second.pieces(), time - early))
            .min().unwrap();
        prop_assert!(worst <= promised + 8 * UBIT, "{worst} {promised}");
    }

    #[test]
    fn all_that_arrives_is_served_within_the_delay((arrivals, service) in pair(), time in time()) {
        let delay = delay(&arrivals, &service).unwrap().as_fs();

        prop_assert!(served(service.pieces(), time + delay) >= allowed(arrivals.pieces(), time));
    }

    #[test]
    fn the_delay_is_not_needlessly_long((arrivals, service) in pair()) {
        let delay = delay(&arrivals, &service).unwrap().as_fs();

        let shorter = delay.saturating_sub(20_000);
        let arrival = |end| first_with(&arrivals, served(service.pieces(), end));
        let arrivals_at = instants(&arrivals, &service).into_iter()
            .flat_map(|time| [time, arrival(time)]);
        let late = delay == shorter || arrivals_at.into_iter().any(|time| {
            served(service.pieces(), time + shorter) < allowed(arrivals.pieces(), time)
        });
        prop_assert!(late, "{delay}");
    }

    /// Sound and tight: a busy period ends in the first femtosecond in which it
    /// can.
    #[test]
    fn a_busy_period_ends_when_all_is_served((arrivals, service) in pair()) {
        let Some(end) = busy_period(&arrivals, &service) else {
            prop_assert_eq!(arrivals.rate(), service.rate());
            return Ok(());
        };
        let end = end.as_fs();

        let left = |time| allowed(arrivals.pieces(), time) - served(service.pieces(), time);
        prop_assert!(left(end) <= 0);
        prop_assert!(end == 0 || left(end - 1) > 0);
    }

    #[test]
    fn no_more_than_the_backlog_is_ever_inside((arrivals, service) in pair(), time in time()) {
        let backlog = UBIT * i128::from(backlog(&arrivals, &service).unwrap().as_ubits());

        prop_assert!(allowed(arrivals.pieces(), time) - served(service.pieces(), time) <= backlog);
    }

    #[test]
    fn the_backlog_is_reached((arrivals, service) in pair()) {
        let backlog = UBIT * i128::from(backlog(&arrivals, &service).unwrap().as_ubits());

        let most = instants(&arrivals, &service).into_iter()
            .map(|time| allowed(arrivals.pieces(), time) - served(service.pieces(), time))
            .max().unwrap();
        prop_assert!(backlog <= most + 8 * UBIT, "{backlog} {most}");
    }

    #[test]
    fn no_interval_behind_a_server_holds_more_than_the_output((arrivals, service) in pair(), (begin, length) in (time(), time())) {
        let output = output(&arrivals, &service).unwrap();

        let left = allowed(arrivals.pieces(), begin + length) - served(service.pieces(), begin);
        prop_assert!(left <= allowed(output.pieces(), length));
    }

    #[test]
    fn the_output_is_reached((arrivals, service) in pair(), length in time()) {
        let output = output(&arrivals, &service).unwrap();

        let begins = instants(&arrivals, &service).into_iter()
            .flat_map(|time| [Some(time), time.checked_sub(length)]).flatten();
        let most = begins
            .map(|begin| allowed(arrivals.pieces(), begin + length) - served(service.pieces(), begin))
            .max().unwrap();
        prop_assert!(allowed(output.pieces(), length) <= most + 10 * UBIT);
    }

    #[test]
    fn an_excess_is_never_exceeded_and_reached((arrivals, service) in pair(), time in time()) {
        let rate = service.rate();
        let excess = UBIT * i128::from(arrivals.excess_over(rate).unwrap().as_ubits());

        let over = |time| allowed(arrivals.pieces(), time) - i128::from(rate.as_ubps()) * i128::from(time);
        prop_assert!(over(time) <= excess);
        let most = instants(&arrivals, &service).into_iter().map(over).max().unwrap();
        prop_assert!(excess <= most + 4 * UBIT);
    }

    #[test]
    fn others_leave_what_they_do_not_take((others, service) in pair(), time in time()) {
        let left = served(left_over(&service, &others).pieces(), time);

        let exact = (served(service.pieces(), time) - allowed(others.pieces(), time)).max(0);
        prop_assert!((0..=4 * UBIT).contains(&(exact - left)), "{left} {exact}");
    }

    #[test]
    fn in_order_of_arrival_others_leave_no_less_than_promised((others, service) in pair(), (theta, time) in (time(), time())) {
        let left = fifo_left_over(&service, &others, Time::from_fs(theta));

        prop_assert!(opened(&left, time) <= left_in_order(&service, &others, theta, time));
    }

    #[test]
    fn in_order_of_arrival_slower_others_leave_no_more((mut others, service) in (buckets(), convex()), (theta, time) in (time(), time())) {
        for other in &mut others {
            other.rate = other.rate.min(service.pieces()[0].rate);
        }
        let others = Concave::minimum_of(others).unwrap();

        let left = fifo_left_over(&service, &others, Time::from_fs(theta));

        let exact = left_in_order(&service, &others, theta, time);
        prop_assert!(exact - opened(&left, time) <= 8 * UBIT);
    }

    #[test]
    fn whole_packets_cost_one_packet((arrivals, service) in pair(), bits in 0u64..100_000, time in time()) {
        let packet = Data::of_bits(bits).unwrap();

        let come = allowed(arrivals.by_whole_packets(packet).unwrap().pieces(), time);
        let gone = served(service.by_whole_packets(packet).pieces(), time);

        let packet = UBIT * i128::from(packet.as_ubits());
        prop_assert_eq!(come, allowed(arrivals.pieces(), time) + packet);
        let lost = (served(service.pieces(), time) - packet).max(0) - gone;
        prop_assert!((0..=4 * UBIT).contains(&lost), "{lost}");
    }
}

/// What a minimum of buckets allows, exactly.
fn allowed(buckets: &[TokenBucket], fs: u64) -> i128 {
    let each = buckets.iter().map(|bucket| {
        let rate = i128::from(bucket.rate.as_ubps()) * i128::from(fs);
        i128::from(bucket.burst.as_ubits()) * UBIT + rate
    });
    each.min().unwrap()
}

/// What a maximum of services does, exactly.
fn served(servers: &[RateLatency], fs: u64) -> i128 {
    let each = servers.iter().map(|server| {
        let time = fs.saturating_sub(server.latency.as_fs());
        i128::from(server.rate.as_ubps()) * i128::from(time)
    });
    each.max().unwrap_or(0)
}

fn opened(left: &Gated, fs: u64) -> i128 {
    UBIT * i128::from(left.least_in(Time::from_fs(fs)).as_ubits())
}

fn left_in_order(service: &Convex, others: &Concave, theta: u64, fs: u64) -> i128 {
    let Some(since @ 1..) = fs.checked_sub(theta) else {
        return 0;
    };
    (served(service.pieces(), fs) - allowed(others.pieces(), since)).max(0)
}

/// The first instant by which more than `amount` may have come.
fn first_with(arrivals: &Concave, amount: i128) -> u64 {
    let (mut early, mut late) = (0u64, 1u64 << 45);
    while early < late {
        let middle = early.midpoint(late);
        match allowed(arrivals.pieces(), middle) > amount {
            true => late = middle,
            false => early = middle + 1,
        }
    }
    early
}

fn instants(arrivals: &Concave, service: &Convex) -> Vec<u64> {
    meetings(arrivals.pieces(), service.pieces())
}

/// The instants around which one piece of a curve takes over from another.
fn meetings(buckets: &[TokenBucket], servers: &[RateLatency]) -> Vec<u64> {
    let mut instants = vec![0, 1];
    let mut around = |exact: i128| {
        instants.extend((exact - 1..=exact + 1).filter_map(|fs| u64::try_from(fs).ok()));
    };
    for pair in buckets.windows(2) {
        let [rise, fall] = [
            pair[1].burst.as_ubits() - pair[0].burst.as_ubits(),
            pair[0].rate.as_ubps() - pair[1].rate.as_ubps(),
        ];
        around(i128::from(rise) * UBIT / i128::from(fall));
    }
    for server in servers {
        around(i128::from(server.latency.as_fs()));
    }
    for pair in servers.windows(2) {
        let debt = |of: RateLatency| i128::from(of.rate.as_ubps()) * i128::from(of.latency.as_fs());
        let run = pair[1].rate.as_ubps() - pair[0].rate.as_ubps();
        around((debt(pair[1]) - debt(pair[0])) / i128::from(run));
    }
    instants
}

/// Up to 9 ms.
fn time() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..1 << 43, 0u64..1 << 38]
}

/// Arrivals that a service keeps up with.
fn pair() -> impl Strategy<Value = (Concave, Convex)> {
    (buckets(), convex()).prop_map(|(mut buckets, service)| {
        let slow = &mut buckets[0];
        slow.rate = slow.rate.min(service.rate());
        (Concave::minimum_of(buckets).unwrap(), service)
    })
}

fn concave() -> impl Strategy<Value = Concave> {
    buckets().prop_map(|buckets| Concave::minimum_of(buckets).unwrap())
}

fn convex() -> impl Strategy<Value = Convex> {
    servers().prop_map(Convex::maximum_of)
}

fn buckets() -> impl Strategy<Value = Vec<TokenBucket>> {
    let bucket = (0u64..1 << 50, 0u64..1 << 35).prop_map(|(rate, burst)| bucket(rate, burst));
    proptest::collection::vec(bucket, 1..6)
}

/// From 1 Mbit/s up, so that a millionth of a bit takes no more than 1 ps.
fn servers() -> impl Strategy<Value = Vec<RateLatency>> {
    let server = (1u64 << 40..1 << 51, 0u64..1 << 38).prop_map(|(rate, fs)| server(rate, fs));
    proptest::collection::vec(server, 1..5)
}

fn bucket(ubps: u64, ubits: u64) -> TokenBucket {
    TokenBucket {
        rate: Rate::from_ubps(ubps),
        burst: Data::from_ubits(ubits),
    }
}

fn server(ubps: u64, fs: u64) -> RateLatency {
    RateLatency {
        rate: Rate::from_ubps(ubps),
        latency: Time::from_fs(fs),
    }
}
