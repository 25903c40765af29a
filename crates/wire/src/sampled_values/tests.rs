use proptest::prelude::*;

use super::*;
use crate::ethernet::{self, EtherType, VlanTag};
use crate::vectors::frames;

const CAPTURED: &str = include_str!("../../tests/vectors/sampled_values.hex");

const HEADER: ApplicationHeader = ApplicationHeader {
    app_id: 0x4000,
    simulated: false,
};

fn asdu<'a>(sample: &'a [u8]) -> Asdu<'a> {
    Asdu {
        sv_id: "MU01",
        dat_set: None,
        smp_cnt: 0,
        conf_rev: 1,
        refr_tm: None,
        smp_synch: 0,
        smp_rate: None,
        sample,
        smp_mod: None,
    }
}

#[test]
fn a_frame_of_another_publisher_is_understood() {
    let frame = &frames(CAPTURED)[2];
    let (ethernet, payload) = ethernet::Header::parse(frame).unwrap();

    let (header, mut values) = SampledValues::parse(payload).unwrap();

    let tag = VlanTag {
        priority: 4,
        drop_eligible: false,
        id: 7,
    };
    assert_eq!(ethernet.ether_type, EtherType::SAMPLED_VALUES);
    assert_eq!(ethernet.vlan, Some(tag));
    assert_eq!(header, HEADER);
    assert_eq!(values.no_asdu, 1);
    let sample = values.asdus.next().unwrap().unwrap();
    assert_eq!(sample.sv_id, "MU01");
    assert_eq!(sample.smp_cnt, 799);
    assert_eq!(sample.conf_rev, 1);
    assert!(PhaseMeasurement::parse(sample.sample).is_some());
    assert_eq!(values.asdus.next(), None);
}

/// S0-5, 9-2LE clause 7.
#[test]
fn what_we_publish_equals_another_publishers_frames_byte_for_byte() {
    let frames = frames(CAPTURED);
    let (ethernet, _) = ethernet::Header::parse(&frames[0]).unwrap();
    let mut template = Template::new(&ethernet, HEADER, &[asdu(&[0; PHASE_MEASUREMENT_LENGTH])]);

    for frame in frames {
        let (_, payload) = ethernet::Header::parse(&frame).unwrap();
        let (_, mut values) = SampledValues::parse(payload).unwrap();
        let sample = values.asdus.next().unwrap().unwrap();

        template.set_smp_cnt(0, sample.smp_cnt);
        template.sample_mut(0).copy_from_slice(sample.sample);

        assert_eq!(template.frame(), frame);
    }
}

#[test]
fn a_frame_of_two_samples_is_patched_in_its_places() {
    let ethernet = ethernet::Header {
        destination: "01:0c:cd:04:00:01".parse().unwrap(),
        source: "02:00:00:00:00:01".parse().unwrap(),
        vlan: None,
        ether_type: EtherType::SAMPLED_VALUES,
    };
    let sample = [1; PHASE_MEASUREMENT_LENGTH];
    let mut template = Template::new(&ethernet, HEADER, &[asdu(&[0; 64]), asdu(&[0; 64])]);

    template.set_smp_cnt(1, 4799);
    template.sample_mut(1).copy_from_slice(&sample);

    let (_, payload) = ethernet::Header::parse(template.frame()).unwrap();
    let (_, values) = SampledValues::parse(payload).unwrap();
    let second = Asdu {
        smp_cnt: 4799,
        ..asdu(&sample)
    };
    assert_eq!(values.no_asdu, 2);
    let read: Vec<_> = values.asdus.map(Result::unwrap).collect();
    assert_eq!(read, [asdu(&[0; 64]), second]);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        if let Ok((_, values)) = SampledValues::parse(&bytes) {
            let _ = values.asdus.count();
        }
        let _ = Asdus::from_bytes(&bytes).count();
    }

    #[test]
    fn no_damage_to_a_good_frame_makes_it_panic(
        damage in prop::collection::vec((0usize..102, any::<u8>()), 1..6),
        length in 0usize..=102,
    ) {
        let mut payload = frames(CAPTURED)[1][18..].to_vec();
        for (at, byte) in damage {
            payload[at] = byte;
        }

        if let Ok((_, values)) = SampledValues::parse(&payload[..length]) {
            let _ = values.asdus.count();
        }
    }

    #[test]
    fn samples_are_read_as_they_were_written(
        count in 0usize..9,
        texts in ("[!-~]{0,40}", prop::option::of("[!-~]{0,140}")),
        smp_cnt: u16,
        conf_rev: u32,
        refr_tm: Option<[u8; 8]>,
        smp_synch: u8,
        rates: (Option<u16>, Option<u16>),
        sample in prop::collection::vec(any::<u8>(), 0..150),
    ) {
        let asdu = Asdu {
            sv_id: &texts.0,
            dat_set: texts.1.as_deref(),
            smp_cnt,
            conf_rev,
            refr_tm: refr_tm.map(UtcTime::from_bytes),
            smp_synch,
            smp_rate: rates.0,
            sample: &sample,
            smp_mod: rates.1,
        };
        let asdus = vec![asdu; count];
        let mut out = Vec::new();

        emit(HEADER, &asdus, &mut out);

        let (header, values) = SampledValues::parse(&out).unwrap();
        prop_assert_eq!(header, HEADER);
        prop_assert_eq!(usize::try_from(values.no_asdu), Ok(count));
        let read: Result<Vec<_>, _> = values.asdus.collect();
        prop_assert_eq!(read, Ok(asdus));
    }
}
