use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::*;

const NEIGHBOURS: Neighbours = Neighbours {
    local: Ipv4Addr::new(10, 0, 0, 1),
    remote: Ipv4Addr::new(10, 0, 0, 2),
};

fn packet() -> ControlPacket {
    ControlPacket {
        diagnostic: Diagnostic::NEIGHBOUR_DOWN,
        state: State::Up,
        flags: Flags::POLL,
        detect_multiplier: 3,
        my_discriminator: 0x0102_0304,
        your_discriminator: 0x0506_0708,
        desired_min_tx_us: 1_000,
        required_min_rx_us: 2_000,
        required_min_echo_rx_us: 0,
    }
}

fn emitted(packet: &ControlPacket, proof: Option<(&Authentication, SequenceNumber)>) -> Vec<u8> {
    let mut out = Vec::new();
    packet.emit(proof, &mut out);
    out
}

fn authentication(kind: AuthenticationKind, secret: &[u8]) -> Authentication {
    Authentication {
        kind,
        key: 7,
        secret: Secret::new(kind, secret).unwrap(),
    }
}

/// RFC 5880 section 4.1.
#[test]
fn a_packet_stands_in_twenty_four_bytes() {
    let mut expected = vec![0x23, 0xe0, 3, 24, 1, 2, 3, 4, 5, 6, 7, 8];
    expected.extend([0, 0, 3, 0xe8, 0, 0, 7, 0xd0, 0, 0, 0, 0]);

    assert_eq!(emitted(&packet(), None), expected);
}

/// RFC 5880 section 6.8.6.
#[test]
fn what_the_form_forbids_is_refused() {
    let damaged = |at: usize, byte: u8| {
        let mut bytes = emitted(&packet(), None);
        bytes[at] = byte;
        ControlPacket::parse(&bytes).unwrap_err()
    };

    assert_eq!(damaged(0, 0x40), Error::Version { version: 2 });
    assert_eq!(damaged(1, 0xc1), Error::Multipoint);
    assert_eq!(damaged(2, 0), Error::Multiplier);
    assert_eq!(damaged(3, 23), Error::Length { length: 23 });
    assert_eq!(damaged(3, 25), Error::Length { length: 25 });
    let mut nobody = packet();
    nobody.my_discriminator = 0;
    let early = ControlPacket {
        your_discriminator: 0,
        ..packet()
    };
    for bad in [nobody, early] {
        let bytes = emitted(&bad, None);
        assert_eq!(ControlPacket::parse(&bytes), Err(Error::Discriminator));
    }
    let down = ControlPacket {
        state: State::Down,
        ..early
    };
    assert!(ControlPacket::parse(&emitted(&down, None)).is_ok());
}

#[test]
fn a_secret_is_neither_empty_nor_longer_than_its_kind_allows() {
    for (kind, most) in [
        (AuthenticationKind::SimplePassword, 16),
        (AuthenticationKind::KeyedSha1, 20),
        (AuthenticationKind::MeticulousKeyedSha1, 20),
    ] {
        assert_eq!(Secret::new(kind, b""), None);
        assert!(Secret::new(kind, &vec![7; most]).is_some());
        assert_eq!(Secret::new(kind, &vec![7; most + 1]), None);
    }
}

#[test]
fn authentication_of_another_form_is_refused() {
    let sha = authentication(AuthenticationKind::KeyedSha1, b"key");
    let good = emitted(&packet(), Some((&sha, SequenceNumber(9))));
    for (at, byte) in [(24, 2), (24, 9), (25, 27), (3, 51)] {
        let mut bytes = good.clone();
        bytes[at] = byte;

        assert!(ControlPacket::parse(&bytes).is_err(), "{at}");
    }
}

#[test]
fn a_datagram_from_farther_away_does_not_count() {
    let reversed = Neighbours {
        local: NEIGHBOURS.remote,
        remote: NEIGHBOURS.local,
    };
    let mut bytes = Vec::new();
    reversed.emit(&emitted(&packet(), None), &mut bytes);

    let said = NEIGHBOURS.payload(&bytes).unwrap().unwrap();
    assert_eq!(ControlPacket::parse(said), Ok((packet(), None)));
    assert_eq!(reversed.payload(&bytes), None, "for somebody else");

    let mut hopped = bytes.clone();
    hopped[8] = 254;
    // The sum of the header is one word greater, RFC 1141.
    let sum = u16::from_be_bytes([hopped[10], hopped[11]]) + 0x0100;
    hopped[10..12].copy_from_slice(&sum.to_be_bytes());
    let refused = BadDatagram::TimeToLive { time_to_live: 254 };
    assert_eq!(NEIGHBOURS.payload(&hopped), Some(Err(refused)));

    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let damaged = Some(Err(BadDatagram::Damaged));
    assert_eq!(NEIGHBOURS.payload(&bytes), damaged);
}

prop_compose! {
    fn any_packet()(
        diagnostic in 0u8..32, state: u8, flags: u8, detect_multiplier in 1u8..,
        my_discriminator in 1u32.., your_discriminator in 1u32..,
        times: [u32; 3],
    ) -> ControlPacket {
        let [desired_min_tx_us, required_min_rx_us, required_min_echo_rx_us] = times;
        ControlPacket {
            diagnostic: Diagnostic(diagnostic),
            state: State::of_number(state),
            flags: Flags(flags & Flags::ALL),
            detect_multiplier,
            my_discriminator,
            your_discriminator,
            desired_min_tx_us,
            required_min_rx_us,
            required_min_echo_rx_us,
        }
    }
}

fn any_authentication() -> impl Strategy<Value = Authentication> {
    let kind = prop::sample::select(vec![
        AuthenticationKind::SimplePassword,
        AuthenticationKind::KeyedSha1,
        AuthenticationKind::MeticulousKeyedSha1,
    ]);
    let secret = prop::collection::vec(any::<u8>(), 1..=16);
    (kind, any::<u8>(), secret).prop_map(|(kind, key, secret)| Authentication {
        kind,
        key,
        secret: Secret::new(kind, &secret).unwrap(),
    })
}

#[test]
fn a_stand_in_has_one_form_and_what_differs_anywhere_is_a_malformed_packet() {
    let turn_at = STAND_IN_TURN_AT - UNTAGGED_HEADER_LENGTH;
    let mut sent = [0; STAND_IN_BYTES - UNTAGGED_HEADER_LENGTH];
    for turn in 0..=u8::MAX {
        sent[turn_at] = turn;
        assert!(is_stand_in(&sent));
    }
    for length in 0..sent.len() {
        assert!(!is_stand_in(&sent[..length]), "{length}");
    }
    for place in (0..sent.len()).filter(|place| *place != turn_at) {
        let mut forged = sent;
        forged[place] ^= 1;
        assert!(!is_stand_in(&forged), "{place}");
        assert!(
            place == 0 || ControlPacket::parse(&forged).is_err(),
            "{place}"
        );
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = ControlPacket::parse(&bytes);
        let _ = NEIGHBOURS.payload(&bytes);
    }

    #[test]
    fn what_is_written_is_read(packet in any_packet()) {
        let mut bytes = emitted(&packet, None);
        prop_assert_eq!(ControlPacket::parse(&bytes), Ok((packet, None)));

        bytes.extend([0; 22]);
        prop_assert_eq!(ControlPacket::parse(&bytes), Ok((packet, None)), "padded");
    }

    #[test]
    fn only_who_knows_the_secret_can_prove_it(
        packet in any_packet(), ours in any_authentication(), sequence: u32,
        (place, bit) in (0usize.., 0u8..8),
    ) {
        let mut bytes = emitted(&packet, Some((&ours, SequenceNumber(sequence))));
        let (read, proof) = ControlPacket::parse(&bytes).unwrap();

        prop_assert_eq!(read, packet);
        let proof = proof.unwrap();
        prop_assert!(proof.is_of(&ours));
        let hashed = ours.kind != AuthenticationKind::SimplePassword;
        prop_assert_eq!(proof.sequence.0, if hashed { sequence } else { 0 });
        let other = Secret::new(ours.kind, b"\x01\x02 quite another").unwrap();
        let others = [
            Authentication { secret: other, ..ours },
            Authentication { key: ours.key ^ 1, ..ours },
        ];
        prop_assert!(!others.iter().any(|other| proof.is_of(other)));

        if hashed {
            let place = place % bytes.len();
            bytes[place] ^= 1 << bit;
            if let Ok((_, Some(proof))) = ControlPacket::parse(&bytes) {
                prop_assert!(!proof.is_of(&ours), "bit {bit} of byte {place}");
            }
        }
    }

    #[test]
    fn a_packet_cut_anywhere_is_none(
        packet in any_packet(), ours in any_authentication(), cut in 0usize..52,
    ) {
        let bytes = emitted(&packet, Some((&ours, SequenceNumber(1))));
        if cut < bytes.len() {
            prop_assert!(ControlPacket::parse(&bytes[..cut]).is_err());
        }
    }
}
