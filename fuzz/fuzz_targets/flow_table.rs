//! A flow set of somebody else: a table, or a substation description.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::MOST_PROBLEMS;
use scenario::export::substation::{FlowSettings, write};
use scenario::flow_table::{MOST_REMARKS, Options, read};

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    for file in ["fuzz.csv", "fuzz.scd"] {
        match read(file, text, &Options::default()) {
            Ok(set) => {
                assert!(set.left_out.len() <= MOST_REMARKS && set.assumed.len() <= MOST_REMARKS);
                for flow in &set.flows {
                    assert!(!flow.receivers.is_empty() && !flow.receivers.contains(&flow.source));
                    let _ = flow.contract();
                }
                if file.ends_with(".scd") {
                    let settings = set.flows.iter();
                    let settings = settings.map(|it| (it.name.clone(), FlowSettings::default()));
                    let written = write(file, text, &Options::default(), &settings.collect());
                    let written = written.expect("what was read is written");
                    let again = read(file, &written.text, &Options::default());
                    assert_eq!(again.map(|it| it.flows.len()).ok(), Some(set.flows.len()));
                }
            }
            Err(error) => {
                assert!(!error.problems().is_empty() && error.problems().len() <= MOST_PROBLEMS);
            }
        }
    }
});
