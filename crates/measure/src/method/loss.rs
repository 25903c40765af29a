//! What is lost, doubled or overtaken on the way.
//!
//! Frames are numbered. Lost is what left and did not arrive until the trial was over
//! (RFC 7680 section 2), doubled what arrived again (RFC 5560), overtaken what
//! arrived after a frame with a greater number (RFC 4737 section 3.3), and its extent
//! the numbers between (RFC 4737 section 4.2, here counted in numbers given and not in
//! frames received). For a relay that fills gaps, the longest run of losses counts more
//! than their share.

use units::Duration;

use super::offer::Offer;
use super::{Findings, Method, MethodError, Passage, Progress, Setting, Settings, at_each};
use crate::measurement::Value;
use crate::trial::Tester;

/// `taktos measure loss`.
pub const METHOD: Method = Method {
    name: "loss",
    finds: "what is lost, doubled or overtaken (RFC 7680, RFC 4737, S3-5)",
    options: &[
        ("interval", "the time between two messages [1ms]"),
        (
            "window",
            "bytes of a message, as in 1500,65000,150000 [1400]",
        ),
        (
            "load",
            "what others send to the receiver, as in none,500Mbit/s,75% [none]",
        ),
    ],
    run,
};

const INTERVAL: Duration = Duration::from_ms(1);

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    let offer = Offer::choose(tester.setup(), settings, (METHOD.name, INTERVAL))?;
    let mut findings = at_each(&offer.points, progress, |setting, message, found| {
        let passing = offer.send(tester, *message)?;
        describe(&passing.passage(), setting, found);
        Ok(())
    })?;
    offer.remark(settings, &mut findings);
    Ok(findings)
}

/// Adds what became of the frames of a trial.
pub(super) fn describe(passage: &Passage, setting: &Setting, found: &mut Findings) {
    let source = "RFC 7680 section 2";
    for (quantity, source, count) in [
        ("sent", source, passage.sent),
        ("lost", source, passage.lost),
        ("longest run of losses", source, passage.longest_run),
        ("duplicates", "RFC 5560 section 2", passage.duplicates),
        ("reordered", "RFC 4737 section 3.3", passage.reordered),
        (
            "greatest reordering extent",
            "RFC 4737 section 4.2",
            passage.greatest_extent,
        ),
    ] {
        found.add((quantity, source), setting, Value::Count(count));
    }
    let ratio = match passage.sent {
        0 => Value::Unknown("no frame was seen to leave".to_owned()),
        sent => Value::Share(crate::statistics::ratio(passage.lost, sent)),
    };
    found.add(("loss ratio", "RFC 7680 section 4.1"), setting, ratio);
    if passage.strange > 0 {
        found.remark(format!(
            "{} frames had numbers that were never given: the device changes payloads, or \
             somebody else sends.",
            passage.strange
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Silent;
    use crate::method::tests::known_device::{KnownDevice, Lane, figure, number, settings};

    #[test]
    fn what_a_device_does_to_every_nth_frame_is_counted() {
        let mut lane = Lane::of(Duration::from_us(50));
        lane.lose_every = Some(100);
        lane.double_every = Some(250);
        lane.hold_every = Some((400, Duration::from_us(3_500)));
        let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));

        let found = run(&mut device, &settings(&[]), &mut Silent).unwrap();

        assert_eq!(number(&found, "sent", ""), 2_000);
        assert_eq!(number(&found, "lost", ""), 20);
        assert_eq!(number(&found, "longest run of losses", ""), 1);
        // Of the 8 doubled frames, those that are lost as well are not there: 500, 1000,
        // 1500 and 2000.
        assert_eq!(number(&found, "duplicates", ""), 4);
        assert_eq!(
            number(&found, "reordered", ""),
            0,
            "every 400th is lost too"
        );
        let Value::Share(ratio) = figure(&found, "loss ratio", "") else {
            panic!("{found:?}");
        };
        assert!((ratio - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_frame_held_back_is_overtaken_by_those_after_it() {
        let mut lane = Lane::of(Duration::from_us(50));
        lane.hold_every = Some((300, Duration::from_us(3_500)));
        let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));

        let found = run(&mut device, &settings(&[]), &mut Silent).unwrap();

        assert_eq!(number(&found, "reordered", ""), 6);
        assert_eq!(number(&found, "greatest reordering extent", ""), 3);
        assert_eq!(number(&found, "lost", ""), 0);
    }

    #[test]
    fn a_full_buffer_loses_many_frames_in_a_row() {
        let mut lane = Lane::of(Duration::ZERO);
        lane.server = Some((units::BitRate::from_mbps(100), 20));
        let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));

        let options = [("window", "150000"), ("interval", "20ms")];
        let found = run(&mut device, &settings(&options), &mut Silent).unwrap();

        // Each message has 103 frames and leaves at once; 20 find room.
        assert_eq!(number(&found, "longest run of losses", ""), 83);
        assert_eq!(number(&found, "lost", ""), 83 * 100);
    }
}
