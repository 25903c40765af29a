use proptest::prelude::*;
use units::DataSize;
use wire::ethernet::{Header, MacAddress};
use wire::{ipv4, udp};

use super::super::frame::datagram;
use super::*;

#[test]
fn a_changed_address_leaves_both_checksums_right() {
    let to = Ipv4Addr::new(192, 0, 2, 77);
    for action in [
        Action::SetNwSrc(to),
        Action::SetNwDst(to),
        Action::SetTpSrc(7),
        Action::SetTpDst(7),
    ] {
        let frame = changed(action, &plain());

        let (_, packet) = Header::parse(&frame).unwrap();
        let (ip, payload) = ipv4::Header::parse(packet).unwrap();
        assert_eq!(udp::verify(&ip, payload), Ok(()), "{action:?}");
        assert_ne!(frame, plain());
    }
}

#[test]
fn a_tag_comes_changes_and_goes() {
    let tagged = changed(Action::SetVlanVid(7), &plain());
    let with_priority = changed(Action::SetVlanPcp(5), &tagged);

    let (header, _) = Header::parse(&with_priority).unwrap();
    let tag = header.vlan.unwrap();
    assert_eq!((tag.id, tag.priority), (7, 5));
    assert_eq!(changed(Action::StripVlan, &with_priority), plain());
}

#[test]
fn what_follows_an_output_does_not_change_it() {
    let frame: Arc<[u8]> = plain().into();
    let actions = [
        Action::output(PortNumber(1)),
        Action::SetDlDst(MacAddress([9; 6])),
        Action::output(PortNumber(2)),
    ];

    let Done { leaving, .. } = carry_out(&actions, &frame);

    assert_eq!(leaving[0], (PortNumber(1), Arc::clone(&frame)));
    assert_ne!(leaving[1].1, frame);
}

proptest! {
    /// No bytes make an action panic.
    #[test]
    fn any_bytes_can_be_changed(bytes in prop::collection::vec(any::<u8>(), 0..80), ip: bool) {
        let mut bytes = bytes;
        if ip && bytes.len() >= 14 {
            bytes[12..14].copy_from_slice(&[8, 0]);
        }
        for action in [
            Action::SetVlanVid(1),
            Action::SetVlanPcp(1),
            Action::StripVlan,
            Action::SetDlSrc(MacAddress([1; 6])),
            Action::SetNwSrc(Ipv4Addr::LOCALHOST),
            Action::SetNwTos(4),
            Action::SetTpSrc(1),
            Action::SetTpDst(1),
        ] {
            let _ = changed(action, &bytes);
        }
    }
}

fn plain() -> Vec<u8> {
    datagram(
        ([10, 0, 0, 1].into(), 1_000),
        ([10, 0, 0, 2].into(), 2_000),
        DataSize::from_bytes(306),
    )
    .to_vec()
}
