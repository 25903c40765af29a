//! What is kept comes back; what cannot be is not believed.

use std::fs;

use proptest::prelude::*;

use super::*;

fn here() -> Circumstances {
    Circumstances {
        kernel: "6.18.0".to_owned(),
        processor: "Some CPU".to_owned(),
        processors: 2,
        version: "0.1.0".to_owned(),
        engine: "kernel".to_owned(),
        method: METHOD,
    }
}

fn measured() -> OwnProfile {
    OwnProfile {
        circumstances: here(),
        measured_unix_ns: 1_795_000_000_000_000_000,
        took_ns: 8_000_000_000,
        load_hundredths: 40,
        frames: 16_000,
        lost: 0,
        disturbed: 20,
        calmest_median_ns: 2_500,
        median_ns: 2_700,
        p99_ns: 7_000,
        highest_ns: 90_000,
        per_frame_ns: 1_480,
        per_frame_most_ns: 1_900,
        per_mask_ns: 18,
        per_action_ns: 40,
        stalls: 12,
        longest_stall_ns: 3_000_000,
        asked: load(100),
        load: load(120),
        busy_per_mille: Some(400),
        due: 1_000,
        missing: 7,
        one_switch_ns: vec![(2_000, 900), (9_000, 99), (200_000, 1)],
        switches: 4,
        all_switches_ns: vec![(8_000, 990), (150_000, 10)],
        interruptions: 3,
        interrupted_ns: 900_000,
        longest_interruption_ns: 500_000,
        latency_ns: 7_500,
        covers: vec![COVER],
    }
}

const COVER: Cover = Cover {
    one_in: 100_000,
    ns: 192_500,
    fitted: true,
};

fn load(frames: u64) -> RunDemand {
    RunDemand {
        frames,
        hops: 3 * frames,
        deliveries: 2 * frames,
        longest_way: 4,
    }
}

#[test]
fn a_profile_has_what_was_measured_and_of_the_rest_what_is_shipped() {
    let shipped = Profile::built_in(SHIPPED).unwrap();

    let profile = measured().profile(Some(COVER));

    assert_eq!(profile.latency.value, Delay::from_ns(7_500));
    assert_eq!(
        profile.per_frame.value,
        Delay::from_ns(1_900),
        "of the runs the greatest"
    );
    let machine = profile.machine.as_ref().unwrap();
    assert_eq!(
        (machine.cover, machine.one_in),
        (Delay::from_ns(192_500), 100_000)
    );
    assert_eq!(measured().profile(None).machine, None);
    let lookup = profile.lookup.clone().unwrap();
    assert_eq!(lookup.longest(), Delay::from_ns(8 * 18 + 4 * 40));
    assert_eq!(profile.control, shipped.control);
    assert_eq!(profile.queue_frames, shipped.queue_frames);
    assert!(profile.about.contains("6.18.0"), "{}", profile.about);
}

/// Of 1,000 frames through a switch ten took longer than 9 us; the seldom ones are covered
/// once, by what was seen at least.
#[test]
fn what_is_seldom_is_covered_once_and_nothing_is_left_out() {
    let mut near = Distribution::default();
    near.record_many(Duration::from_us(2), 290_000);
    near.record_many(Duration::from_us(9), 9_940);
    near.record_many(Duration::from_us(200), 60);
    let mut far = Distribution::default();
    far.record_many(Duration::from_us(10), 299_999);
    far.record_many(Duration::from_us(700), 1);
    let load = UnderLoad {
        demand: load(100),
        near,
        far,
        switches: 4,
        due: 600_000,
        missing: 0,
        busy_per_mille: Some(400),
        interruptions: measure::interruptions::Interruptions::default(),
    };

    let latency = load.near.tolerance_of(ONE_IN_OF_SWITCH).unwrap();
    let covers = covers(&load, latency);

    assert!(latency >= Duration::from_us(9) && latency < Duration::from_us(10));
    let of = |one_in| covers.iter().find(|it| it.one_in == one_in).unwrap();
    // The four switches have their latency besides.
    let longest = of(100_000).ns + 4 * latency.as_ns();
    assert!(!of(100_000).fitted && longest >= 700_000, "{covers:?}");
    assert!((190_000..195_000).contains(&of(10_000).ns), "{covers:?}");
    assert_eq!(of(1_000).ns, 0);
    assert!(covers.is_sorted_by(|longer, shorter| longer.ns >= shorter.ns));
}

/// What fits between two quantiles is covered, and called by the one that it keeps.
#[test]
fn as_much_is_covered_as_there_is_room_for() {
    let cover = |one_in, ns| Cover {
        one_in,
        ns,
        fitted: false,
    };
    let profile = OwnProfile {
        covers: vec![cover(100_000, 500), cover(10_000, 200), cover(1_000, 20)],
        ..measured()
    };
    let within = |ns| profile.cover_within(Duration::from_ns(ns));

    assert_eq!(within(9_999), Some(cover(100_000, 500)));
    assert_eq!(within(500), Some(cover(100_000, 500)));
    assert_eq!(within(499), Some(cover(10_000, 499)));
    assert_eq!(within(20), Some(cover(1_000, 20)));
    assert_eq!(within(19), None);
}

#[test]
fn what_was_measured_under_more_load_holds_under_less_and_not_the_other_way() {
    let profile = measured();

    assert!(profile.is_for(&load(110)));
    assert!(!profile.is_for(&load(121)));
    let longer = RunDemand {
        longest_way: 5,
        ..load(10)
    };
    assert!(!profile.is_for(&longer));
    assert_eq!(profile.carries(), Some(720 * 2), "at 80 % what took 40 %");
}

#[test]
fn what_is_kept_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::within(folder.path());
    assert_eq!(kept.find(&here()), Found::Nothing);

    kept.keep(&measured()).unwrap();

    assert_eq!(kept.find(&here()), Found::Profile(Box::new(measured())));
    let files = fs::read_dir(kept.file().parent().unwrap()).unwrap();
    assert_eq!(files.count(), 1, "nothing else is left there");
}

#[test]
fn another_kernel_processor_or_program_has_no_use_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::within(folder.path());
    kept.keep(&measured()).unwrap();
    let changes: [fn(&mut Circumstances); 6] = [
        |it| it.kernel = "6.19.0".to_owned(),
        |it| it.processor = "Another CPU".to_owned(),
        |it| it.processors = 4,
        |it| it.version = "0.2.0".to_owned(),
        |it| it.engine = "packet".to_owned(),
        |it| it.method += 1,
    ];

    for change in changes {
        let mut now = here();
        change(&mut now);
        let found = kept.find(&now);
        assert!(matches!(found, Found::Other(_)), "{found:?}");
    }
}

#[test]
fn a_file_of_a_later_version_is_another_and_not_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::within(folder.path());
    let mut value = serde_json::to_value(measured()).unwrap();
    value["circumstances"]["version"] = "9.0.0".into();
    value["what_else_it_keeps"] = 1.into();
    fs::create_dir_all(kept.file().parent().unwrap()).unwrap();
    fs::write(kept.file(), value.to_string()).unwrap();

    let found = kept.find(&here());

    assert_eq!(
        found,
        Found::Other("Taktos 0.1.0, no longer 9.0.0".to_owned())
    );
}

#[test]
fn what_is_damaged_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let kept = Kept::within(folder.path());
    kept.keep(&measured()).unwrap();
    let whole = fs::read_to_string(kept.file()).unwrap();
    let absurd = whole.replace("\"per_frame_most_ns\": 1900", "\"per_frame_most_ns\": 1");
    assert_ne!(absurd, whole);
    let long = whole.clone() + &" ".repeat(1 << 20);
    let binary = "\u{0}".to_owned();

    for text in [
        String::new(),
        whole[..whole.len() / 2].to_owned(),
        absurd,
        long,
        binary,
    ] {
        fs::write(kept.file(), &text).unwrap();
        let found = kept.find(&here());
        assert!(
            matches!(found, Found::Damaged(_)),
            "{found:?} of {text:.40}"
        );
    }
    fs::remove_file(kept.file()).unwrap();
    fs::create_dir(kept.file()).unwrap();
    assert!(matches!(kept.find(&here()), Found::Damaged(_)), "a folder");
}

#[test]
fn where_nothing_can_be_kept_what_was_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    // A file where the folder should be: nobody, not even root, can write there.
    fs::write(folder.path().join("taktos"), "occupied").unwrap();
    let kept = Kept::within(folder.path());

    let error = kept.keep(&measured()).unwrap_err();

    assert!(error.to_string().contains("profile-kernel.json"), "{error}");
    assert!(matches!(
        kept.find(&here()),
        Found::Damaged(_) | Found::Nothing
    ));
    let there = fs::read_to_string(folder.path().join("taktos")).unwrap();
    assert_eq!(there, "occupied");
}

#[test]
fn stalls_that_exceed_the_effect_are_no_measurement() {
    let disturbed = OwnProfile {
        disturbed: 8_001,
        ..measured()
    };
    let lost = OwnProfile {
        lost: 161,
        ..measured()
    };
    let slow = OwnProfile {
        latency_ns: 150_000,
        ..measured()
    };
    let impossible = OwnProfile {
        per_frame_most_ns: 0,
        ..measured()
    };
    let not_carried = OwnProfile {
        missing: 101,
        ..measured()
    };

    assert_eq!(measured().believe(), Ok(()));
    assert!(matches!(disturbed.believe(), Err(Doubt::Disturbed { .. })));
    assert!(matches!(lost.believe(), Err(Doubt::Lost { .. })));
    assert!(matches!(
        not_carried.believe(),
        Err(Doubt::NotCarried { .. })
    ));
    for unlikely in [slow, impossible] {
        let doubt = unlikely.believe().unwrap_err();
        assert!(matches!(doubt, Doubt::Unlikely { .. }), "{doubt}");
    }
}

proptest! {
    /// Whatever stands in the file, nothing panics, and what comes back is believed.
    #[test]
    fn any_file_is_a_profile_or_none(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0usize..900) {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::within(folder.path());
        kept.keep(&measured()).unwrap();
        let mut text = fs::read(kept.file()).unwrap();
        text.truncate(cut);
        text.extend(bytes);
        fs::write(kept.file(), text).unwrap();

        if let Found::Profile(profile) = kept.find(&here()) {
            prop_assert_eq!(profile.believe(), Ok(()));
        }
    }
}
