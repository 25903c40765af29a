use proptest::prelude::*;

use super::*;
use sim::zodiac_fx::table::frame_of;

const LINK: BitRate = BitRate::from_mbps(100);
const LENGTH: Duration = Duration::from_secs(20);

proptest! {
    /// Sound: whatever the application does, no frame leaves without tokens, and
    /// none before the cable is free.
    #[test]
    fn frames_leave_within_the_contract(seed: u64, kbps in 200u64..90_000, frames in 1u64..9, load in loads()) {
        let contract = contract(kbps, frames);
        let mut bucket = PacingBucket::new(contract);
        let mut free = Instant::ZERO;

        for sending in sendings(seed, contract, load).into_iter().take(2_000) {
            prop_assert!(sending.begins >= free);
            prop_assert_eq!(bucket.take(sending.begins, frame().size()), Conformance::Within);
            free = sending.ends + LINK.time_to_send(GAP).round_up();
        }
    }
}

/// Tight: as much leaves as the application brings.
#[test]
fn a_host_sends_the_part_of_its_contract_that_its_load_says() {
    let contract = contract(5_000, 1);
    let whole = contract
        .rate
        .least_in(units::Delay::from_ns(LENGTH.as_ns()));
    let frames = whole.as_bits() / frame().size().as_bits();

    let busy = sendings(1, contract, OfferedLoad::BUSY).len() as u64;
    let always = sendings(1, contract, OfferedLoad::ALL_THE_TIME).len() as u64;

    let expected = frames * OfferedLoad::BUSY.percent / 100;
    assert!(
        busy.abs_diff(expected) * 10 < expected,
        "{busy} of {expected}"
    );
    assert!(
        always.abs_diff(frames) * 100 < frames,
        "{always} of {frames}"
    );
}

#[test]
fn a_burst_leaves_at_the_rate_of_the_cable() {
    let sendings = sendings(1, contract(1_000, 4), OfferedLoad::ALL_THE_TIME);

    let gap = LINK.time_to_send(GAP).round_up();
    let together = sendings
        .windows(2)
        .take_while(|pair| pair[1].begins == pair[0].ends + gap);
    assert_eq!(together.count(), 3);
}

#[test]
fn a_burst_smaller_than_a_frame_sends_nothing() {
    assert_eq!(sendings(1, contract(1_000, 0), OfferedLoad::BUSY), []);
}

fn sendings(seed: u64, contract: Contract, load: OfferedLoad) -> Vec<Sending> {
    let begin = Instant::ZERO;
    let during = (begin, begin + LENGTH);
    let mut host = ShapedHost::new(&frame(), contract, load, LINK, during, seed);
    std::iter::from_fn(|| {
        let sending = host.next()?;
        host.take(0);
        Some(sending)
    })
    .collect()
}

fn contract(kbps: u64, frames: u64) -> Contract {
    Contract {
        rate: BitRate::from_bps(kbps * 1_000),
        burst: frame().size() * frames,
    }
}

fn loads() -> impl Strategy<Value = OfferedLoad> {
    (1u64..100, 1u64..200).prop_map(|(burst, percent)| OfferedLoad { burst, percent })
}

fn frame() -> Frame {
    frame_of(DataSize::from_bytes(306))
}
