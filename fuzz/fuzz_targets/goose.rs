//! A GOOSE frame and its data.

#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::goose::{DataList, Goose};

fuzz_target!(|data: &[u8]| {
    read(DataList::from_bytes(data));
    if let Ok((header, goose)) = Goose::parse(data) {
        read(goose.all_data);
        let mut out = Vec::new();
        goose.emit(header, &mut out);
        assert_eq!(Goose::parse(&out), Ok((header, goose)));
    }
});

fn read(list: DataList<'_>) {
    for data in list.iter().flatten() {
        let mut out = Vec::new();
        data.emit(&mut out);
        let again = DataList::from_bytes(&out);
        assert_eq!(again.iter().filter(Result::is_ok).count(), 1);
    }
}
