//! A scenario, as a person may have written it. What it imports is not there.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::{MOST_PROBLEMS, Scenario};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let mut nothing = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    match Scenario::parse("fuzz.toml", text, &mut nothing) {
        Ok(scenario) => {
            for flow in &scenario.flows {
                assert!(flow.source.0 < scenario.hosts.len());
                let _ = (flow.contract(), scenario.class_of(flow));
            }
        }
        Err(error) => assert!(!error.problems().is_empty() && error.problems().len() <= MOST_PROBLEMS),
    }
});
