//! A Sampled Values frame and its samples.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::sampled_values::{PhaseMeasurement, SampledValues, emit};

/// More samples than a publisher puts into a frame.
const SAMPLES_MAX: usize = 100;

fuzz_target!(|data: &[u8]| {
    let Ok((header, values)) = SampledValues::parse(data) else {
        return;
    };
    let samples: Result<Vec<_>, _> = values.asdus.collect();
    if let Ok(samples) = samples
        && samples.len() < SAMPLES_MAX
    {
        for sample in &samples {
            let _ = PhaseMeasurement::parse(sample.sample);
        }
        let mut out = Vec::new();
        emit(header, &samples, &mut out);
        let (again, values) = SampledValues::parse(&out).expect("what we write can be read");
        assert_eq!(again, header);
        assert_eq!(values.asdus.collect::<Result<Vec<_>, _>>(), Ok(samples));
    }
});
