use proptest::prelude::*;

use super::*;

const PERIOD: Duration = Duration::from_ms(10);
const SIZE: u32 = 3_000;
const PACKET: u32 = 1_000;
const JITTER: Duration = Duration::from_ms(1);

fn contracts() -> Contracts {
    let low = Contract {
        period: PERIOD,
        size_bytes: SIZE,
    };
    let high = Contract {
        period: Duration::from_ms(5),
        size_bytes: 2 * SIZE,
    };
    Contracts::new(&[low, high], JITTER).unwrap()
}

fn monitor() -> FlowMonitor {
    FlowMonitor::new(contracts())
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_us(us)
}

fn packet(message: u32, sequence: u32) -> Packet {
    sized(message, sequence, SIZE)
}

fn sized(message: u32, sequence: u32, size_bytes: u32) -> Packet {
    Packet {
        shim: MessageShim {
            message,
            size_bytes,
            sequence,
        },
        carried_bytes: PACKET,
    }
}

const LOW: Demand = Demand::Level(Level::LOWEST);

fn high() -> Demand {
    Demand::Level(Level::new(1).unwrap())
}

#[test]
fn messages_in_their_period_demand_nothing() {
    let mut monitor = monitor();

    let demands = (0..9).map(|number| {
        let now = at(20_000 + u64::from(number / 3) * 10_000 + u64::from(number % 3) * 100);
        monitor.observe(now, &packet(number / 3, number))
    });

    assert!(
        demands
            .collect::<Vec<_>>()
            .iter()
            .all(|demand| *demand == LOW)
    );
    assert_eq!(monitor.counters().messages, 3);
    assert_eq!(monitor.counters().violations, 0);
}

/// By the formula: G(1) = E(0) - J + T = 20 - 1 + 10 = 29 ms.
#[test]
fn a_message_is_early_before_its_guide_time_and_not_at_it() {
    let second_at = |us: u64| {
        let mut monitor = monitor();
        monitor.observe(at(20_000), &packet(0, 0));
        monitor.observe(at(us), &packet(1, 1))
    };

    assert_eq!(second_at(29_000), LOW);
    assert_eq!(second_at(28_999), high());
    assert_eq!(second_at(24_000), high());
    assert_eq!(second_at(23_999), Demand::Beyond(Level::new(1).unwrap()));
}

/// The guide time goes on from itself: who is early by the jitter each time is
/// noticed.
#[test]
fn being_early_adds_up() {
    let mut monitor = monitor();

    let demands: Vec<Demand> = (0..3)
        .map(|number| {
            monitor.observe(
                at(20_000 + u64::from(number) * 9_400),
                &packet(number, number),
            )
        })
        .collect();

    assert_eq!(demands, [LOW, LOW, high()]);
}

#[test]
fn a_message_that_says_to_be_larger_is_noticed_at_its_first_packet() {
    let mut monitor = monitor();

    assert_eq!(monitor.observe(at(20_000), &sized(0, 0, SIZE + 1)), high());
    assert_eq!(monitor.counters().violations, 1);
    assert_eq!(monitor.counters().beyond, 0);
}

#[test]
fn a_message_that_turns_out_larger_than_it_says_is_noticed() {
    let mut monitor = monitor();

    let demands: Vec<Demand> = (0..7)
        .map(|number| monitor.observe(at(20_000), &packet(0, number)))
        .collect();

    let beyond = Demand::Beyond(Level::new(1).unwrap());
    assert_eq!(demands, [LOW, LOW, LOW, high(), high(), high(), beyond]);
    assert_eq!(monitor.counters().violations, 1);
    assert_eq!(monitor.counters().beyond, 1);
}

#[test]
fn stragglers_of_the_message_before_begin_none() {
    let mut monitor = monitor();
    monitor.observe(at(20_000), &packet(0, 0));
    monitor.observe(at(30_000), &packet(1, 3));

    let straggler = monitor.observe(at(30_001), &packet(0, 2));
    let next = monitor.observe(at(40_000), &packet(2, 6));

    assert_eq!((straggler, next), (LOW, LOW));
    assert_eq!(monitor.counters().messages, 3);
    assert_eq!(monitor.counters().reordered, 1);
}

/// Old numbers are no place to hide.
#[test]
fn messages_that_count_backward_are_messages() {
    let mut monitor = monitor();

    let demands: Vec<Demand> = (0..4)
        .map(|number| monitor.observe(at(20_000), &packet(100 - 2 * number, number)))
        .collect();

    assert_eq!(demands[0], LOW);
    assert!(demands[1..].iter().all(|demand| *demand != LOW));
}

#[test]
fn a_sender_that_begins_anew_is_not_early() {
    let mut monitor = monitor();
    monitor.observe(at(10_000), &packet(499, 1_497));
    monitor.observe(at(20_000), &packet(500, 1_500));

    assert_eq!(monitor.observe(at(30_000), &packet(0, 0)), LOW);
    assert_eq!(monitor.observe(at(40_000), &packet(1, 3)), LOW);
}

#[test]
fn contracts_have_to_grow() {
    let [low, high] = [contracts().levels[0], contracts().levels[1]];

    assert_eq!(
        Contracts::new(&[high, low], JITTER),
        Err(ContractsError::Shrinks { level: 1 })
    );
    assert_eq!(
        Contracts::new(&[], JITTER),
        Err(ContractsError::Count { count: 0 })
    );
}

#[test]
fn a_period_as_long_as_can_be_ends_nothing() {
    let endless = Contract {
        period: Duration::from_ns(u64::MAX),
        size_bytes: SIZE,
    };
    let contracts = Contracts::new(&[endless], JITTER).unwrap();
    let mut monitor = FlowMonitor::new(contracts);

    assert_eq!(monitor.observe(at(10_000), &packet(0, 0)), LOW);
    let again = monitor.observe(at(20_000), &packet(1, 3));

    assert_eq!(again, Demand::Beyond(Level::LOWEST));
}

/// What a network does to the packets of a message.
#[derive(Clone, Copy, Debug)]
struct Treatment {
    lost: [bool; 3],
    twice: [bool; 3],
    swapped: bool,
    released_us: u64,
}

prop_compose! {
    fn treatment()(
        lost: [bool; 3], twice: [bool; 3], swapped: bool, released_us in 0u64..=1_000,
    ) -> Treatment {
        Treatment { lost, twice, swapped, released_us }
    }
}

proptest! {
    /// Sound: a flow that keeps its contract, released up to J late, is never accused, whatever is lost,
    /// repeated or overtaken.
    #[test]
    fn the_network_never_makes_a_flow_look_worse(
        treatments in prop::collection::vec(treatment(), 1..40),
    ) {
        let mut monitor = monitor();
        for (message, treatment) in treatments.iter().enumerate() {
            let number = u32::try_from(message).unwrap();
            let due = 20_000 + u64::from(number) * 10_000 + treatment.released_us;
            let mut order = [0u32, 1, 2];
            if treatment.swapped {
                order.swap(1, 2);
            }
            for (place, part) in order.into_iter().enumerate() {
                let copies = match (treatment.lost[part as usize], treatment.twice[part as usize]) {
                    (true, _) => 0,
                    (false, false) => 1,
                    (false, true) => 2,
                };
                for _ in 0..copies {
                    let now = at(due + place as u64 * 100);
                    let demand = monitor.observe(now, &packet(number, 3 * number + part));
                    prop_assert_eq!(demand, LOW);
                }
            }
        }
    }

    /// Tight: without losses, exactly the messages that the formula names.
    #[test]
    fn without_losses_it_says_what_the_formula_says(
        gaps_us in prop::collection::vec(0u64..20_000, 1..60),
    ) {
        let mut monitor = monitor();
        let mut now_us = 20_000;
        let mut guide_us: Option<u64> = None;
        for (number, gap) in gaps_us.into_iter().enumerate() {
            now_us += gap;
            let number = u32::try_from(number).unwrap();

            let demand = monitor.observe(at(now_us), &packet(number, number));

            prop_assert_eq!(demand == LOW, guide_us.is_none_or(|guide| now_us >= guide));
            let released = now_us - 1_000;
            guide_us = Some(guide_us.map_or(released, |guide| guide.max(released)) + 10_000);
        }
    }

    #[test]
    fn any_packets_are_borne(
        packets in prop::collection::vec((0u64..1 << 40, any::<[u32; 4]>()), 0..100),
    ) {
        let mut monitor = monitor();
        let mut now = Instant::ZERO;
        for (pause, [message, size_bytes, sequence, carried_bytes]) in packets {
            now += Duration::from_ns(pause);
            let shim = MessageShim { message, size_bytes, sequence };
            monitor.observe(now, &Packet { shim, carried_bytes });
        }
        prop_assert!(monitor.counters().beyond <= monitor.counters().violations);
        prop_assert!(monitor.counters().violations <= monitor.counters().messages);
    }
}
