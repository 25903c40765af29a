use super::*;

const FRAME: DataSize = DataSize::from_bytes(306);
/// LOKO appendix A: 9 frames in a switch of three ports.
const BUFFER: DataSize = DataSize::from_bytes(3 * 306);

/// The ports of LOKO Fig. 3: from one switch to the other, and to a host each.
const TRUNK: usize = 0;
const TO_FIRST_HOST: usize = 1;
const TO_SECOND_HOST: usize = 2;

#[test]
fn queue_capacities_of_loko_appendix_a() {
    for (source, mbps, hops, printed_us) in [
        ("LOKO Eq. (13), Zodiac FX", 100, 1u64, "73.4"),
        ("LOKO Eq. (14), Zodiac FX", 100, 2, "146.9"),
        ("LOKO Eq. (17), Banana Pi R1", 1_000, 1, "7.34"),
        ("LOKO Eq. (18), Banana Pi R1", 1_000, 2, "14.7"),
    ] {
        let ours = port(mbps).queue_capacity() * hops;

        assert_as_printed(ours, printed_us, source);
    }
}

#[test]
fn queue_bounds_of_loko_appendix_a() {
    for (source, link_mbps, flow_mbps, port, printed_us) in [
        ("LOKO Eq. (15), between switches", 100, 45, TRUNK, "49.0"),
        (
            "LOKO Eq. (16), towards hosts",
            100,
            45,
            TO_FIRST_HOST,
            "57.5",
        ),
        ("LOKO Eq. (19), between switches", 1_000, 450, TRUNK, "4.90"),
        // The paper prints 45 Mbit/s here; its text and its result need 450.
        (
            "LOKO Eq. (20), towards hosts",
            1_000,
            450,
            TO_SECOND_HOST,
            "5.75",
        ),
    ] {
        let (silo, promised) = two_flows(link_mbps, flow_mbps);

        assert_as_printed(silo.queue_bound(port).unwrap(), printed_us, source);
        let capacity = self::port(link_mbps).queue_capacity();
        assert_eq!(promised, [capacity * 2u64; 2], "{source}");
    }
}

#[test]
fn the_rate_that_eq_20_prints_gives_another_bound() {
    let (silo, _) = two_flows(1_000, 45);

    // Half a digit off 5.75 would be 5.745.
    assert!(silo.queue_bound(TO_FIRST_HOST).unwrap() < Delay::from_ns(2_800));
}

#[test]
fn a_port_that_is_full_refuses_and_nothing_is_kept_of_the_flow() {
    let mut silo = Silo::new(vec![port(100); 3]);
    let flow = TokenBucket::new(BitRate::from_mbps(10), FRAME);
    for _ in 0..3 {
        silo.admit(flow, &[TRUNK]).unwrap();
    }
    let before = silo.clone();

    let refusal = silo.admit(flow, &[TO_FIRST_HOST, TRUNK]).unwrap_err();

    // Three bursts, and one that has grown by 10 Mbit/s for 73.44 us.
    let needed_bits = 4 * 306 * 8 + 735;
    let needed_bps = 40_000_000;
    let port = TRUNK;
    assert_eq!(
        refusal,
        SiloRefusal::Port {
            port,
            needed_bits,
            needed_bps
        }
    );
    assert_eq!(silo, before);
}

#[test]
fn a_rate_above_the_link_has_no_bound() {
    let mut silo = Silo::new(vec![port(100); 3]);
    let flow = TokenBucket::new(BitRate::from_mbps(101), FRAME);

    assert_eq!(port(100).queue_bound(flow), None);
    assert!(silo.admit(flow, &[TRUNK]).is_err());
    assert_eq!(
        silo.admit(flow, &[7]),
        Err(SiloRefusal::UnknownPort { port: 7 })
    );
}

fn port(mbps: u64) -> OutputPort {
    OutputPort {
        rate: BitRate::from_mbps(mbps),
        buffer: BUFFER,
    }
}

/// Admits the two flows that cross from one switch to the other.
fn two_flows(link_mbps: u64, flow_mbps: u64) -> (Silo, [Delay; 2]) {
    let mut silo = Silo::new(vec![port(link_mbps); 3]);
    let flow = TokenBucket::new(BitRate::from_mbps(flow_mbps), FRAME);
    let promised =
        [TO_FIRST_HOST, TO_SECOND_HOST].map(|host| silo.admit(flow, &[TRUNK, host]).unwrap());
    (silo, promised)
}

/// Asserts agreement to half of the last digit that the paper prints.
#[track_caller]
fn assert_as_printed(ours: Delay, printed_us: &str, source: &str) {
    let (_, decimals) = printed_us.split_once('.').unwrap();
    let last_digit_ps = 1_000_000 / 10u64.pow(decimals.len().try_into().unwrap());
    let printed_ps = printed_us.replace('.', "").parse::<u64>().unwrap() * last_digit_ps;

    let gap_ps = ours.as_ps().abs_diff(printed_ps);
    assert!(
        gap_ps <= last_digit_ps / 2,
        "{source} prints {printed_us} us, we get {ours}"
    );
}
