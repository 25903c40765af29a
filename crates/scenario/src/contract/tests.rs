use proptest::prelude::*;

use super::*;
use crate::{BestEffort, StateChanges};

const NS_PER_SECOND: u128 = 1_000_000_000;

/// What leaves a host: when, and how much of the wire it takes.
type Sent = Vec<(u64, DataSize)>;

proptest! {
    /// Sound: whatever each sample's delay within the jitter.
    #[test]
    fn late_samples_conform(
        period_ns in 1_000u64..1_000_000,
        late in prop::collection::vec(0u64..=1_000, 1..60),
        jitter_permille in 0u64..4_000,
        frame in 60u64..1519,
    ) {
        let jitter_ns = period_ns * jitter_permille / 1_000;
        let traffic = SampledValues {
            frame: DataSize::from_bytes(frame),
            period: Duration::from_ns(period_ns),
            jitter: Duration::from_ns(jitter_ns),
        };
        let due = (0u64..).map(|n| n * period_ns);

        let sent = delay(due, &late, jitter_ns, wire_size(traffic.frame));

        assert_conforms(&sent, &sampled_values(&traffic));
    }

    /// Sound: whatever the state changes and the delays of the repetitions.
    #[test]
    fn late_state_changes_and_repetitions_conform(
        min_ns in 1_000u64..10_000_000,
        max_factor in 1u64..100,
        spacing_factor in 1u64..10,
        gaps in prop::collection::vec(0u64..=3_000, 1..10),
        late in prop::collection::vec(0u64..=1_000, 60),
        jitter_permille in 0u64..3_000,
    ) {
        let (spacing_ns, jitter_ns) = (min_ns * spacing_factor, min_ns * jitter_permille / 1_000);
        let traffic = Goose {
            frame: DataSize::from_bytes(160),
            min_time: Duration::from_ns(min_ns),
            max_time: Duration::from_ns(min_ns * max_factor),
            min_spacing: Duration::from_ns(spacing_ns),
            changes: StateChanges::At(Vec::new()),
            jitter: Duration::from_ns(jitter_ns),
        };
        let mut changes = vec![0];
        for gap in gaps {
            changes.push(changes[changes.len() - 1] + spacing_ns + spacing_ns * gap / 1_000);
        }
        let due = publish(&changes, min_ns, min_ns * max_factor);

        let sent = delay(due.into_iter(), &late, jitter_ns, wire_size(traffic.frame));

        assert_conforms(&sent, &goose(&traffic));
    }

    /// Sound: the frames of late messages leave at once.
    #[test]
    fn late_messages_conform(
        size in 1u64..100_000,
        period_ns in 1_000_000u64..1_000_000_000,
        late in prop::collection::vec(0u64..=1_000, 1..20),
        jitter_ns in 0u64..1_000_000_000,
    ) {
        let traffic = Message {
            size: DataSize::from_bytes(size),
            period: Duration::from_ns(period_ns),
            jitter: Duration::from_ns(jitter_ns),
        };
        let (whole, last) = traffic.frames();
        let full = wire_size(LARGEST_UNTAGGED_FRAME);
        let due = (0u64..).map(|n| n * period_ns);

        let sent = delay(due, &late, jitter_ns, full * whole + wire_size(last));

        assert_conforms(&sent, &Traffic::Message(traffic).contract().unwrap());
    }

    /// Every byte of a message travels, and no frame is empty or too long.
    #[test]
    fn a_message_fits_into_its_frames(size in 1u64..1_000_000) {
        let size = DataSize::from_bytes(size);
        let (period, jitter) = (Duration::from_ms(1), Duration::ZERO);

        let (whole, last) = Message { size, period, jitter }.frames();

        let full = LARGEST_UNTAGGED_FRAME - MESSAGE_HEADERS;
        prop_assert_eq!(full * whole + (last - MESSAGE_HEADERS), size);
        prop_assert!(last > MESSAGE_HEADERS && last <= LARGEST_UNTAGGED_FRAME);
    }
}

/// Tight: a sample late by the jitter meets those that are on time.
#[test]
fn samples_that_meet_need_the_whole_burst() {
    for periods_late in 0..4u64 {
        let traffic = SampledValues {
            frame: DataSize::from_bytes(122),
            period: Duration::from_us(250),
            jitter: Duration::from_us(250 * periods_late),
        };

        let contract = sampled_values(&traffic);

        assert_eq!(
            contract.burst,
            DataSize::from_bytes(146) * (1 + periods_late)
        );
        assert_eq!(contract.rate, BitRate::from_bps(4_672_000));
    }
}

/// Tight: a repetition and the next state change fall together.
#[test]
fn a_repetition_and_a_state_change_need_the_whole_burst() {
    let traffic = Goose {
        frame: DataSize::from_bytes(160),
        min_time: Duration::from_ms(4),
        max_time: Duration::from_secs(1),
        min_spacing: Duration::from_ms(4),
        changes: StateChanges::At(Vec::new()),
        jitter: Duration::ZERO,
    };

    let contract = goose(&traffic);

    let due = publish(&[0, 4_000_000], 4_000_000, 1_000_000_000);
    assert_eq!(due[1..3], [4_000_000; 2]);
    assert_eq!(contract.burst, DataSize::from_bytes(184) * 2);
    assert_eq!(contract.rate, BitRate::from_bps(2 * 184 * 8 * 250));
}

#[test]
fn best_effort_promises_nothing() {
    let frame = DataSize::from_bytes(1514);

    let contract = Traffic::BestEffort(BestEffort { frame, rate: None }).contract();

    assert_eq!(contract, None);
}

#[test]
fn a_frame_is_padded_and_surrounded_on_the_wire() {
    assert_eq!(
        wire_size(DataSize::from_bytes(122)),
        DataSize::from_bytes(146)
    );
    assert_eq!(
        wire_size(DataSize::from_bytes(14)),
        DataSize::from_bytes(84)
    );
}

/// Returns when a publisher sends: each state when it changes, and again at
/// doubling gaps until the next one, at the same moment included.
fn publish(changes: &[u64], min_ns: u64, max_ns: u64) -> Vec<u64> {
    let mut due = Vec::new();
    for (index, change) in changes.iter().enumerate() {
        let end = changes
            .get(index + 1)
            .copied()
            .unwrap_or(change + 10 * max_ns);
        due.push(*change);
        let (mut gap, mut time) = (min_ns, change + min_ns);
        while time <= end && due.len() < 60 {
            due.push(time);
            gap = (gap * 2).min(max_ns);
            time += gap;
        }
    }
    due
}

/// Returns the frames as they leave, each late by its share of the jitter.
fn delay(due: impl Iterator<Item = u64>, late: &[u64], jitter_ns: u64, size: DataSize) -> Sent {
    let late = late.iter().map(|permille| jitter_ns * permille / 1_000);
    let mut sent: Sent = due
        .zip(late)
        .map(|(due, late)| (due + late, size))
        .collect();
    sent.sort();
    sent
}

/// Asserts that no window of any length brings more than the contract allows.
#[track_caller]
fn assert_conforms(sent: &Sent, contract: &Contract) {
    for (index, (begin, _)) in sent.iter().enumerate() {
        let mut total = DataSize::ZERO;
        for (end, size) in &sent[index..] {
            total += *size;
            let bits_ns = u128::from(total.as_bits()) * NS_PER_SECOND;
            let refilled = u128::from(contract.rate.as_bps()) * u128::from(end - begin);
            let allowed = u128::from(contract.burst.as_bits()) * NS_PER_SECOND + refilled;
            assert!(
                bits_ns <= allowed,
                "{total} from {begin} to {end} ns: {contract:?}"
            );
        }
    }
}
