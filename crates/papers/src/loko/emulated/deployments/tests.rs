use super::*;

const SHORT: Repetitions = Repetitions {
    runs: 2,
    length: Duration::from_secs(2),
};

/// LOKO Fig. 15: only Loko keeps its promise.
#[test]
fn only_loko_keeps_its_promise() {
    for deployed in fig15(SHORT, 1, &mut |_, _| {}) {
        let is_loko = deployed.name.starts_with("Loko");

        let observation = deployed.observation;
        assert_eq!(observation.is_clean(), is_loko, "{deployed:?}");
    }
}

/// LOKO section 2.3: of what Silo lets through, nothing arrives in time.
#[test]
fn silo_loses_nine_in_ten_and_the_rest_is_late() {
    let deployed = fig15(SHORT, 1, &mut |_, _| {});

    let silo = deployed.iter().filter(|it| it.name.starts_with("Silo"));
    for it in silo {
        let Observation {
            sent, lost, late, ..
        } = it.observation;
        assert!(it.observation.lost_percent() > 85.0, "{it:?}");
        assert_eq!(lost + late, sent, "{it:?}");
    }
}

/// LOKO Fig. 3a prints 92.4, which the table of its section 6 cannot give: the
/// processors could carry 6.6 frames in a hundred if they dropped none in vain.
#[test]
fn silo_loses_what_the_paper_prints_with_used_entries_in_front() {
    let deployed = fig15(SHORT, 1, &mut |_, _| {});

    let lost = |name: &str| {
        let found = deployed.iter().find(|it| it.name == name).unwrap();
        found.observation.lost_percent()
    };
    assert!((lost("Silo, Zodiac FX, used entries first") - 92.4).abs() < 2.0);
    assert!(lost("Silo, Zodiac FX, used entries last") > 97.0);
}

/// The promises of LOKO section 2.3 and its appendix A.
#[test]
fn promises_are_those_of_the_paper() {
    for (approach, link, printed_ns) in [
        (SILO_FX, 100, 146_880),
        (Approach::Silo(BitRate::from_mbps(450)), 1_000, 14_688),
        (QJUMP_FX, 100, 452_840),
        (Approach::QJump(Delay::from_us(4)), 1_000, 23_584),
    ] {
        let promise = approach.promise(BitRate::from_mbps(link)).unwrap();

        assert_eq!(promise.guarantee, Delay::from_ns(printed_ns));
    }
}
