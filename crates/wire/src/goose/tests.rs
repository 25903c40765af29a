use proptest::prelude::*;

use super::*;
use crate::ethernet::{self, EtherType, MacAddress, VlanTag};
use crate::vectors::frames;

const CAPTURED: &str = include_str!("../../tests/vectors/goose.hex");

const HEADER: ApplicationHeader = ApplicationHeader {
    app_id: 1,
    simulated: false,
};

fn captured(index: usize) -> (ethernet::Header, Vec<u8>) {
    let frame = &frames(CAPTURED)[index];
    let (header, payload) = ethernet::Header::parse(frame).unwrap();
    (header, payload.to_vec())
}

fn emitted(goose: &Goose<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    goose.emit(HEADER, &mut out);
    out
}

fn goose<'a>(all_data: &'a [u8]) -> Goose<'a> {
    Goose {
        gocb_ref: "BAY3LD0/LLN0$GO$trip",
        time_allowed_to_live_ms: 12,
        dat_set: "BAY3LD0/LLN0$trip",
        go_id: None,
        t: UtcTime::from_unix_ns(1_700_000_000_500_000_000, TimeQuality::default()),
        st_num: 1,
        sq_num: 0,
        simulation: false,
        conf_rev: 1,
        nds_com: false,
        num_dat_set_entries: 1,
        all_data: DataList::from_bytes(all_data),
    }
}

#[test]
fn a_frame_of_another_publisher_is_understood() {
    let (ethernet, payload) = captured(0);

    let (header, goose) = Goose::parse(&payload).unwrap();

    assert_eq!(ethernet.ether_type, EtherType::GOOSE);
    assert_eq!(header, HEADER);
    assert_eq!(goose.gocb_ref, "IED1LD0/LLN0$GO$gcb1");
    assert_eq!(goose.time_allowed_to_live_ms, 12);
    assert_eq!(goose.dat_set, "IED1LD0/LLN0$ds1");
    assert_eq!(goose.go_id, None);
    assert_eq!((goose.st_num, goose.sq_num), (1, 0));
    assert_eq!((goose.conf_rev, goose.num_dat_set_entries), (1, 1));
    let data: Vec<_> = goose.all_data.iter().map(Result::unwrap).collect();
    assert_eq!(data, [Data::Boolean(false)]);
}

#[test]
fn repetitions_and_changes_of_another_publisher_are_told_apart() {
    let numbers = [0, 1, 2].map(|index| {
        let (_, payload) = captured(index);
        let (_, goose) = Goose::parse(&payload).unwrap();
        (goose.st_num, goose.sq_num, goose.time_allowed_to_live_ms)
    });

    assert_eq!(numbers, [(1, 0, 12), (1, 8, 3000), (2, 3, 96)]);
}

#[test]
fn what_we_publish_says_the_same_as_another_publishers_frame() {
    let (_, payload) = captured(2);
    let (_, theirs) = Goose::parse(&payload).unwrap();

    let bytes = emitted(&theirs);

    assert_eq!(Goose::parse(&bytes), Ok((HEADER, theirs)));
}

#[test]
fn a_patched_template_equals_a_frame_built_anew() {
    let ethernet = ethernet::Header {
        destination: MacAddress([0x01, 0x0c, 0xcd, 0x01, 0, 3]),
        source: MacAddress([2, 0, 0, 0, 0, 3]),
        vlan: Some(VlanTag {
            priority: 4,
            drop_eligible: false,
            id: 0,
        }),
        ether_type: EtherType::GOOSE,
    };
    let later = UtcTime::from_unix_ns(1_800_000_000_000_000_000, TimeQuality::default());
    let mut template = Template::new(&ethernet, HEADER, &goose(&[0x83, 1, 0]));

    template.set_state(later, 7);
    template.set_repetition(u32::MAX, 3000);
    template.data_mut()[2] = 1;

    let changed = Goose {
        t: later,
        st_num: 7,
        sq_num: u32::MAX,
        time_allowed_to_live_ms: 3000,
        ..goose(&[0x83, 1, 1])
    };
    let anew = Template::new(&ethernet, HEADER, &changed);
    assert_eq!(template.frame(), anew.frame());
}

#[test]
fn padding_of_the_frame_is_not_read() {
    let mut bytes = emitted(&goose(&[]));
    bytes.resize(400, 0xff);

    assert_eq!(Goose::parse(&bytes), Ok((HEADER, goose(&[]))));
}

#[test]
fn a_part_out_of_order_is_refused() {
    let mut bytes = emitted(&goose(&[]));
    bytes[10] = 0x82;

    let error = Goose::parse(&bytes).unwrap_err();

    let expected = Error::Tag {
        found: 0x82,
        expected: 0x80,
    };
    assert_eq!(error, expected);
}

fn any_data() -> impl Strategy<Value = (u8, i64, Vec<u8>, String)> {
    let bytes = prop::collection::vec(any::<u8>(), 0..20);
    (0u8..9, any::<i64>(), bytes, "[a-z]{0,140}")
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = Goose::parse(&bytes);
        let _ = DataList::from_bytes(&bytes).iter().count();
    }

    #[test]
    fn no_damage_to_a_good_frame_makes_it_panic(
        damage in prop::collection::vec((0usize..100, any::<u8>()), 1..6),
        length in 0usize..100,
    ) {
        let (_, mut bytes) = captured(1);
        for (at, byte) in damage {
            let place = at % bytes.len();
            bytes[place] = byte;
        }

        if let Ok((_, goose)) = Goose::parse(&bytes[..length.min(bytes.len())]) {
            let _ = goose.all_data.iter().count();
        }
    }

    #[test]
    fn a_state_is_read_as_it_was_written(
        texts in ("[!-~]{0,140}", "[!-~]{0,140}", prop::option::of("[!-~]{0,20}")),
        numbers: [u32; 5],
        flags: [bool; 3],
        t: [u8; 8],
        content in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let (gocb_ref, dat_set, go_id) = &texts;
        let state = Goose {
            gocb_ref,
            time_allowed_to_live_ms: numbers[0],
            dat_set,
            go_id: go_id.as_deref(),
            t: UtcTime::from_bytes(t),
            st_num: numbers[1],
            sq_num: numbers[2],
            simulation: flags[0],
            conf_rev: numbers[3],
            nds_com: flags[1],
            num_dat_set_entries: numbers[4],
            all_data: DataList::from_bytes(&content),
        };
        let header = ApplicationHeader { app_id: 0x3fff, simulated: flags[2] };
        let mut out = Vec::new();

        state.emit(header, &mut out);

        prop_assert_eq!(Goose::parse(&out), Ok((header, state)));
    }

    #[test]
    fn data_are_read_as_they_were_written(
        (kind, number, bytes, text) in any_data(),
        float in prop::num::f32::NORMAL,
    ) {
        let list = DataList::from_bytes(&[0x83, 1, 1]);
        let data = match kind {
            0 => Data::Array(list),
            1 => Data::Structure(list),
            2 => Data::Boolean(number < 0),
            3 => Data::BitString { unused: 3, bits: &bytes },
            4 => Data::Integer(number),
            5 => Data::Unsigned(number.cast_unsigned()),
            6 => Data::Float(float),
            7 => Data::OctetString(&bytes),
            _ => Data::VisibleString(&text),
        };
        let mut out = Vec::new();

        data.emit(&mut out);

        let read: Vec<_> = DataList::from_bytes(&out).iter().collect();
        prop_assert_eq!(read, [Ok(data)]);
    }
}
