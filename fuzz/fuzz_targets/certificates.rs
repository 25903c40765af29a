//! A certificate, as anybody may have written it: read as it is, and checked as if its
//! digest were right.

#![no_main]

use certificate::{Certificate, assumptions, check};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    if let Ok(certificate) = Certificate::read(text) {
        let again = Certificate::read(&certificate.write());
        assert_eq!(again.expect("what is written is read back"), certificate);
    }
    let Ok(certificate) = serde_json::from_str::<Certificate>(text) else {
        return;
    };
    let certificate = certificate.seal();
    match check(&certificate) {
        Ok(proven) => assert!(proven.promises.len() >= certificate.flows.len()),
        Err(objections) => assert!(!objections.is_empty()),
    }
    assert!(!assumptions(&certificate).is_empty());
});
