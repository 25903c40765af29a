//! Whatever comes to an instance of a cluster, with a true tag or without, leaves it standing,
//! and whatever stands in the store as a member is one that comes back, or none.
#![no_main]

use controller::cluster::{Input, Instance, KEEPALIVE_LENGTH, Keepalive, Member, MemberId, Terms};
use libfuzzer_sys::fuzz_target;
use units::{Duration, Instant};
use wire::siphash::siphash_2_4;

const KEY: [u8; 16] = *b"what members say";

fuzz_target!(|bytes: &[u8]| {
    if let Some(member) = Member::from_bytes(bytes) {
        assert_eq!(Member::from_bytes(&member.to_bytes()), Some(member));
    }
    let member = Member {
        name: "a".to_owned(),
        address: ([127, 0, 0, 1], 1).into(),
        url: String::new(),
    };
    let id = MemberId::new(1 << 20);
    let terms = Terms { id, member, key: KEY };
    let mut now = Instant::ZERO;
    let mut instance = Instance::new(now, terms);
    for said in bytes.chunks(KEEPALIVE_LENGTH - 8) {
        let mut datagram = said.to_vec();
        instance.handle(now, Input::Received(&datagram));
        datagram.extend(siphash_2_4(KEY, said).to_be_bytes());
        if let Some(read) = Keepalive::from_bytes(KEY, &datagram) {
            assert_eq!(read.to_bytes(KEY), datagram);
        }
        instance.handle(now, Input::Received(&datagram));
        while instance.poll().is_some() {}
        now += Duration::from_ms(u64::from(said[0]));
    }
});
