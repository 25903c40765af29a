//! A network of servers, as a person or another program may have written it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::MOST_PROBLEMS;
use scenario::servers::ServerNetwork;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    match ServerNetwork::parse("fuzz.json", text) {
        Ok(network) => {
            let again = ServerNetwork::parse("again.json", &network.to_json());
            assert_eq!(again.expect("what is written is read back"), network);
        }
        Err(error) => assert!(!error.problems().is_empty() && error.problems().len() <= MOST_PROBLEMS),
    }
});
