use super::*;

/// LOKO Table 2, full-rate, in round numbers.
const ALLOCATION: Allocation = Allocation {
    rate: BitRate::from_bps(11_800_000),
    burst: DataSize::from_bytes(2_067),
    delay: Delay::from_us(1_861),
};
const FRAME: DataSize = DataSize::from_bytes(306);

#[test]
fn a_burst_grows_by_rate_times_delay_at_each_switch() {
    let mut network = LokoAdmission::new(vec![ALLOCATION; 3]);
    let flow = TokenBucket::new(BitRate::from_bps(800_000), FRAME);

    let guarantee = network.admit(flow, &[2, 0, 1]);

    assert_eq!(guarantee, Ok(Delay::from_us(3 * 1_861)));
    // 800 kbit/s for 1.861 ms are 1488.8 bits, rounded up at each switch.
    let bursts = [2, 0, 1].map(|switch: usize| network.loads()[switch].burst().as_bits());
    assert_eq!(bursts, [2_448, 2_448 + 1_489, 2_448 + 2 * 1_489]);
}

#[test]
fn the_last_burst_that_fits_is_admitted_and_the_next_is_refused() {
    let mut network = LokoAdmission::new(vec![ALLOCATION]);
    let flow = TokenBucket::new(BitRate::from_bps(1_000), FRAME);
    for _ in 0..6 {
        network.admit(flow, &[0]).unwrap();
    }
    let before = network.clone();

    let refusal = network.admit(flow, &[0]);

    let (needed, allowed) = (DataSize::from_bytes(7 * 306), ALLOCATION.burst);
    let switch = 0;
    assert_eq!(
        refusal,
        Err(LokoRefusal::Burst {
            switch,
            needed,
            allowed
        })
    );
    assert_eq!(network.loads(), before.loads());
}

#[test]
fn a_rate_beyond_what_is_set_aside_is_refused_wherever_on_the_path() {
    let mut network = LokoAdmission::new(vec![ALLOCATION; 2]);
    let half = TokenBucket::new(BitRate::from_bps(5_900_000), DataSize::from_bytes(64));
    network.admit(half, &[1]).unwrap();
    network.admit(half, &[1]).unwrap();

    let refusal = network.admit(half, &[0, 1]).unwrap_err();

    assert!(
        matches!(
            refusal,
            LokoRefusal::Rate {
                switch: 1,
                needed_bps: 17_700_000,
                ..
            }
        ),
        "{refusal}"
    );
    assert_eq!(network.loads()[0], TokenBucket::NOTHING);
    assert_eq!(
        network.admit(half, &[5]),
        Err(LokoRefusal::UnknownSwitch { switch: 5 })
    );
}
