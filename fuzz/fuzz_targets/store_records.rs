//! Whatever stands under a name of ours in a store that others can write into is a
//! key that comes back from its bytes, or none of ours.
#![no_main]

use controller::store::{Epoch, Key};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(key) = Key::from_bytes(bytes) {
        assert_eq!(Key::from_bytes(&key.to_bytes()), Some(key));
    }
    if let Some(epoch) = Epoch::from_bytes(bytes) {
        assert_eq!(epoch.to_bytes(), bytes);
    }
});
