use super::*;

/// The papers' devices, and the software switch as measured on a machine, whose frames
/// wait for slow ones ahead of them where they come every 125 us.
#[test]
fn every_profile_is_emulated_to_within_five_in_a_hundred_at_its_median() {
    for name in Profile::built_in_names() {
        let profile = Profile::built_in(name).unwrap();

        let found = of_profile(&profile, Effort::Quick, 1).unwrap();

        for likeness in &found {
            let error = likeness.error();
            let is_middle = likeness.what.ends_with("p50")
                || likeness.what.starts_with("throughput")
                || likeness.what == "loss";
            // The extremes of a short run are not those of a long one.
            let is_near = error.is_some_and(|it| it.abs() <= 0.05 || !is_middle);
            assert!(is_near, "{name}: {likeness:?}");
        }
        let has_emulation = profile.emulation.is_some();
        assert_eq!(!found.is_empty(), has_emulation, "{name}");
    }
}

#[test]
fn a_zodiac_fx_has_its_rate_latency_and_buffer_within_two_in_a_hundred() {
    let found = of_zodiac_fx(Effort::Quick, 1).unwrap();

    assert_eq!(found.len(), 3);
    for likeness in found {
        let error = likeness.error();
        assert!(error.is_some_and(|it| it.abs() <= 0.02), "{likeness:?}");
    }
}

#[test]
fn an_error_is_a_share_of_what_is_stated() {
    let likeness = |stated: u64, emulated: u64| Fidelity {
        what: String::new(),
        stated: Value::Time(Duration::from_ns(stated)),
        emulated: Value::Time(Duration::from_ns(emulated)),
    };

    assert_eq!(likeness(200, 150).error(), Some(-0.25));
    assert_eq!(likeness(0, 0).error(), Some(0.0));
    assert_eq!(likeness(0, 1).error(), None);
}
