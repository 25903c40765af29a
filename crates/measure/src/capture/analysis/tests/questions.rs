//! What captures answer in place of each method, on worlds whose answer is known, and
//! what bad captures do to it.

use units::BitRate;

use super::*;

const PERIOD: u64 = MS;

#[test]
fn the_first_exchange_of_a_flow_is_told_from_the_later_ones() {
    let mut world = World {
        question: Question::FlowSetup,
        offset: 77 * SECOND.cast_signed(),
        ..World::default()
    };
    world.ping(0, 0, (280 * MS, 50 * US, 400 * US));
    for number in 1..20 {
        let at = SECOND + u64::from(number) * 10 * MS;
        world.ping(number, at, (100 * US, 50 * US, 300 * US));
    }

    let both = world.analyse(Assumptions::default(), false);
    let single = world.analyse_one(true);

    assert_eq!(
        times(&both, "flow set-up, both directions").1,
        280 * MS - 100 * US + 100 * US
    );
    for findings in [both, single] {
        assert_eq!(times(&findings, "flow set-up by ping alone").1, 280 * MS);
        assert_eq!(count(&findings, "flows", "ping"), 1);
    }
}

#[test]
fn jitter_is_that_of_the_path_whatever_the_clocks_did() {
    let mut world = World {
        question: Question::Jitter,
        ..World::default()
    };
    for number in 0..2_000 {
        if number == 1_000 {
            world.offset = -5 * SECOND.cast_signed();
        }
        let latency = if number % 2 == 0 { 100 * US } else { 116 * US };
        world.datagram(number, u64::from(number) * PERIOD, latency);
        let back = datagram(number, (B, A), 64);
        let at = u64::from(number) * PERIOD;
        world.second(at, &back, (number, 2));
        world.first(at + 100 * US, &back, (number, 3));
        if number % 100 == 0 {
            // Pings tell who is at which side.
            world.ping(number, at + 300 * US, (100 * US, 5 * US, 100 * US));
        }
    }

    let findings = world.analyse(Assumptions::default(), false);

    let Value::Time(jitter) = figure(&findings, "jitter", "10.0.0.1").value else {
        panic!("{findings:?}")
    };
    assert!(
        (15 * US..=16 * US).contains(&jitter.as_ns()),
        "{jitter}: every difference is 16 us"
    );
    let variation = times(&findings, "one-way latency above its least");
    assert_eq!((variation.1, variation.2), (16 * US, 2_020));
    assert_remark(&findings, "a clock was set");
}

#[test]
fn losses_are_counted_with_their_longest_run() {
    let mut world = stream(Question::Loss, 1_000);
    world
        .second
        .retain(|it| !(300..305).contains(&it.event.0) && it.event.0 % 100 != 50);

    let findings = world.analyse(Assumptions::default(), false);

    assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 5 + 10);
    assert_eq!(count(&findings, "longest run of losses", "10.0.0.1"), 5);
    let Value::Share(share) = figure(&findings, "share lost", "").value else {
        panic!("{findings:?}")
    };
    assert!((share - 0.015).abs() < 1e-9, "{share}");
}

#[test]
fn a_packet_that_came_twice_is_no_loss_and_no_gap_of_a_capture() {
    let mut world = stream(Question::Loss, 200);
    let twin = |it: &Stamped, later: u64| Stamped {
        at: it.at + later,
        ..it.clone()
    };
    // The network doubles three packets and loses one; the sender's capture has two of
    // its own twice.
    let doubled: Vec<_> = world.second[10..13]
        .iter()
        .map(|it| twin(it, 300 * US))
        .collect();
    let recorded: Vec<_> = world.first[50..52].iter().map(|it| twin(it, 5)).collect();
    world.second.remove(100);
    world.second.extend(doubled);
    world.first.extend(recorded);

    let findings = world.analyse(Assumptions::default(), false);

    let counted = |what: &str| count(&findings, what, "10.0.0.1");
    assert_eq!(counted("packets that arrived twice"), 3);
    assert_eq!(counted("packets lost"), 1);
    assert_remark(&findings, "first has 2 packets of its own side twice");
    let doubts = |it: &String| it.contains("itself incomplete");
    assert!(!findings.remarks.iter().any(doubts));
}

#[test]
fn rates_are_those_of_each_end() {
    let mut world = stream(Question::Throughput, 1_001);
    world.second.retain(|it| it.event.0 % 2 == 0);

    let findings = world.analyse(Assumptions::default(), false);
    let single = world.analyse_one(true);

    // 54 bytes and what stands around them, every millisecond.
    let sent = BitRate::from_bps((54 + 24) * 8 * 1_000);
    let rate = |findings: &Findings, quantity: &str| match figure(findings, quantity, "").value {
        Value::Rate(rate) => rate,
        ref other => panic!("{other:?}"),
    };
    assert_eq!(rate(&findings, "rate sent"), sent);
    assert_eq!(
        rate(&findings, "rate received"),
        BitRate::from_bps(sent.as_bps() / 2)
    );
    assert_eq!(rate(&findings, "highest rate sent"), sent);
    assert_eq!(rate(&single, "rate, as seen here"), sent);
}

#[test]
fn an_interruption_is_the_gap_less_a_period_and_a_clock_that_was_set_is_none() {
    let mut world = World {
        question: Question::Failover,
        ..World::default()
    };
    for number in 0..3_000 {
        if number == 2_000 {
            world.offset = 9 * SECOND.cast_signed();
        }
        let at = u64::from(number) * PERIOD;
        world.datagram(number, at, 100 * US);
        let back = datagram(number, (B, A), 64);
        world.second(at, &back, (number, 2));
        world.first(at + 100 * US, &back, (number, 3));
    }
    // Eight frames are lost on the way there: nine periods without an arrival.
    world
        .second
        .retain(|it| !(it.event.1 == 1 && (700..708).contains(&it.event.0)));

    let findings = world.analyse(Assumptions::default(), false);

    let of = |quantity| count(&findings, quantity, "10.0.0.1");
    assert_eq!((of("interruptions"), of("lost in the longest")), (1, 8));
    let interruption = times(&findings, "interruption of reception");
    assert_eq!(interruption.1, 8 * PERIOD);
    assert_eq!(count(&findings, "interruptions", "10.0.0.2"), 0);
    assert_remark(&findings, "stamps of the second capture are 9 s later");
    assert_remark(
        &findings,
        "interruption of what came from 10.0.0.1 began at 1700000000.7",
    );
}

#[test]
fn a_gap_in_one_capture_is_told_with_its_doubt() {
    let mut world = stream(Question::Failover, 100);
    world.first.retain(|it| !(40..60).contains(&it.event.0));

    let findings = world.analyse_one(true);

    let Value::Time(gap) = figure(&findings, "longest gap less the median one", "").value else {
        panic!("{findings:?}")
    };
    // The median is that of a histogram.
    assert!((20 * PERIOD).abs_diff(gap.as_ns()) < PERIOD / 100, "{gap}");
    assert_remark(&findings, "from a pause of the sender");
}

#[test]
fn numbers_of_packets_and_of_bytes_may_wrap() {
    let mut world = World {
        question: Question::Loss,
        ..World::default()
    };
    // Packets that only their 16-bit number tells apart.
    for number in 0..70_000_u32 {
        let short = u16::try_from(number % 65_536).unwrap();
        let frame = ipv4(99, short, (A, B), &[1, 2, 3, 4]);
        let at = u64::from(number) * 100 * US;
        world.first(at, &frame, (short, 0));
        if number % 700 != 5 {
            world.second(at + 30 * US, &frame, (short, 1));
        }
    }
    // Bytes of a connection whose number begins again.
    for number in 0..100_u16 {
        let sequence = u32::MAX
            .wrapping_sub(50_000)
            .wrapping_add(u32::from(number) * 1_000);
        let frame = segment(false, (sequence, 1), 1_000);
        let at = u64::from(number) * 100 * US + 7_000 * MS;
        world.second(at, &frame, (number, 2));
        world.first(at + 30 * US, &frame, (number, 3));
    }

    let findings = world.analyse(Assumptions::default(), false);

    assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 100);
    assert_eq!(count(&findings, "longest run of losses", "10.0.0.1"), 1);
    let bytes = "packets found in both captures";
    assert_eq!(count(&findings, bytes, "10.0.0.2"), 100);
    assert_eq!(count(&findings, "packets lost", "10.0.0.2"), 0);
}

#[test]
fn segments_that_cards_cut_are_no_losses() {
    let mut world = World {
        question: Question::Loss,
        ..World::default()
    };
    for number in 0..40_u32 {
        let at = u64::from(number) * MS;
        let begin = number * 14_480;
        world.first(at, &segment(true, (begin, 1), 14_480), (0, 0));
        for piece in 0..10 {
            let frame = segment(true, (begin + piece * 1_448, 1), 1_448);
            world.second(at + 50 * US + u64::from(piece), &frame, (0, 1));
        }
    }

    let findings = world.analyse(Assumptions::default(), false);

    assert_eq!(count(&findings, "packets lost", "10.0.0.1"), 0);
    assert_eq!(count(&findings, "longest run of losses", "10.0.0.1"), 0);
    assert_remark(&findings, "TSO");
}

/// A datagram every [`PERIOD`], which arrives.
fn stream(question: Question, datagrams: u16) -> World {
    let mut world = World {
        question,
        offset: 3 * SECOND.cast_signed(),
        ..World::default()
    };
    for number in 0..datagrams {
        world.datagram(number, u64::from(number) * PERIOD, 100 * US);
    }
    world
}
