//! What becomes of recorded traffic: the frames of a sensor or of a network, sent again
//! at their intended times (S0-5).
//!
//! Traffic that comes at equal intervals meets a device in one state only; a recording
//! has the bursts and the pauses of what the device is bought for. What is sent is what
//! the tester was given ([`Tester::recording`]): frames
//! of the recorded sizes between two stations, each with a number. None is left out, so
//! that a frame which leaves late is sent late; by how much stands beside the latency,
//! which counts from the sending and says nothing of it (coordinated omission).

use units::{Duration, Instant};

use super::{
    FROM, Findings, Keep, Method, MethodError, Passing, Path, Progress, Settings, TO, at_each,
    choice, doubt, jitter, loss, need_two_ports, trial_of,
};
use crate::statistics::Distribution;
use crate::traffic::trace::{Trace, TraceConfig};
use crate::traffic::{Replay, Source};
use crate::trial::{LONGEST_TRIAL, Sourced, Stream, Tester};

/// `taktos measure replay`.
pub const METHOD: Method = Method {
    name: "replay",
    finds: "what becomes of recorded traffic, with --traffic (S0-5)",
    options: &[],
    run,
};

/// With less effort, so much of the recording is sent.
const QUICK: Duration = Duration::from_secs(2);
/// How long the last frames have.
const DRAIN: Duration = Duration::from_ms(200);
/// The last frame is due before the end of the trial.
const MARGIN: Duration = Duration::from_ms(1);

fn run(
    tester: &mut dyn Tester,
    settings: &Settings,
    progress: &mut dyn Progress,
) -> Result<Findings, MethodError> {
    need_two_ports(tester.setup(), METHOD.name)?;
    let Some(trace) = tester.recording().cloned() else {
        return Err(MethodError::Unsuitable(
            "there is no recording to send: name one, as in `--traffic trace:sensor.csv`"
                .to_owned(),
        ));
    };
    let whole = trace.length() + MARGIN;
    let length = settings.length(whole, QUICK).min(whole).min(LONGEST_TRIAL);
    let frames = trace.frames().iter().filter(|it| it.after < length).count() as u64;
    let setting = vec![choice("frames", frames), choice("length", length)];
    let mut findings = at_each(&[(setting, ())], progress, |setting, (), found| {
        let (passing, lateness) = send(tester, &trace, frames, length)?;
        let otherwise = "no frame was seen to leave";
        let name = ("lateness of the tester", "S0-5, coordinated omission");
        found.add_times(name, setting, lateness, otherwise);
        if tester.setup().one_clock {
            let bias = tester.setup().bias.unwrap_or_default();
            let mut latency = Distribution::fine();
            for (_, time) in passing.times().0 {
                latency.record(time.saturating_sub(bias));
            }
            let name = ("latency", "RFC 7679 section 3.4");
            found.add_times(name, setting, latency, "no frame arrived");
        }
        jitter::describe(&passing.times_by_own_clocks().0, setting, found);
        loss::describe(&passing.passage(), setting, found);
        Ok(())
    })?;
    doubt(&mut findings, tester.setup());
    if length < whole {
        findings.remark(format!(
            "The recording lasts {}, and the first {length} of it were sent: {frames} frames.",
            trace.length()
        ));
    }
    Ok(findings)
}

fn send(
    tester: &mut dyn Tester,
    trace: &Trace,
    frames: u64,
    length: Duration,
) -> Result<(Passing, Distribution), MethodError> {
    let path = Path::between(FROM, TO);
    let source = Replay::new(&TraceConfig {
        addresses: path.addresses,
        trace: trace.clone(),
        contract: None,
        start: Instant::ZERO,
        until: Some(Instant::ZERO + length),
        again: None,
    });
    let trial = trial_of(
        vec![Stream::new(path.from, Sourced(Source::Trace(source)))],
        length,
        DRAIN,
    );
    let mut passing = Passing::new(path, frames, Keep::Stamps);
    let conduct = tester.run(trial, &mut passing)?;
    Ok((passing, conduct.lateness))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::background_traffic::BackgroundTraffic;
    use crate::method::tests::known_device::{KnownDevice, Lane, number, settings, times};
    use crate::method::{Effort, Silent};
    use crate::traffic::trace::Recorded;

    #[test]
    fn a_recording_crosses_a_known_device_at_its_times() {
        let mut lane = Lane::of(Duration::from_us(50));
        lane.lose_every = Some(10);
        let mut device = KnownDevice::new(lane, Lane::of(Duration::ZERO));
        device.late = Duration::from_us(3);
        let mut given =
            BackgroundTraffic::of(&mut device).sending(trace(1_000, Duration::from_us(700)));
        let settings = Settings {
            effort: Effort::Full,
            ..settings(&[])
        };

        let found = run(&mut given, &settings, &mut Silent).unwrap();

        assert_eq!(number(&found, "sent", ""), 1_000);
        assert_eq!(number(&found, "lost", ""), 100);
        let [least, _, most] = times(&found, "latency", "");
        assert_eq!(
            (least, most),
            (Duration::from_us(50), Duration::from_us(50))
        );
        for lateness in times(&found, "lateness of the tester", "") {
            let gap = lateness.as_ns().abs_diff(device.late.as_ns());
            assert!(gap * 50 <= device.late.as_ns(), "{lateness}");
        }
        assert_eq!(found.remarks, [""; 0]);
    }

    #[test]
    fn with_less_effort_its_beginning_is_sent_and_that_is_said() {
        let lane = || Lane::of(Duration::ZERO);
        let mut device = KnownDevice::new(lane(), lane());
        let mut given =
            BackgroundTraffic::of(&mut device).sending(trace(100, Duration::from_ms(100)));

        let found = run(&mut given, &settings(&[]), &mut Silent).unwrap();

        assert_eq!(number(&found, "sent", ""), 20);
        assert!(
            found.remarks[0].contains("first 2 s"),
            "{:?}",
            found.remarks
        );
    }

    #[test]
    fn without_a_recording_it_says_what_to_do() {
        let lane = || Lane::of(Duration::ZERO);
        let mut device = KnownDevice::new(lane(), lane());

        let refused = run(&mut device, &settings(&[]), &mut Silent).unwrap_err();

        assert!(
            refused.to_string().contains("--traffic trace:"),
            "{refused}"
        );
    }

    fn trace(frames: u64, gap: Duration) -> Trace {
        let frames = (0..frames).map(|number| Recorded {
            after: gap * number,
            length: 100,
        });
        Trace::of(frames.collect()).unwrap()
    }
}
