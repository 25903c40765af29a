//! What a switch wrote down before it died, read by the process that is to go on: as it is,
//! and under a digest that is right.

#![no_main]

use libfuzzer_sys::fuzz_target;
use switch::compiled::layout::{Region, VERSION, settings};
use switch::compiled::{Memory, Overflow, Sizes};
use switch::{Config, Pacing, PortConfig, RetainedState, StateLog, Switch};
use units::Instant;
use wire::ethernet::MacAddress;
use wire::openflow::{DatapathId, PortNumber};
use wire::siphash::siphash_2_4;

const SEED: u64 = 0x1234_5678_9abc_def0;

#[derive(Debug)]
struct Nowhere;

impl StateLog for Nowhere {
    fn append(&mut self, _: &[u8]) -> bool {
        true
    }

    fn replace(&mut self, _: &[u8]) -> bool {
        true
    }
}

fuzz_target!(|data: &[u8]| {
    let port = |number| PortConfig {
        number: PortNumber(number),
        name: format!("port{number}"),
        mac: MacAddress([2, 0, 0, 0, 0, 1]),
        rate: None,
        pacing: Pacing::Core,
    };
    let config = Config::new(DatapathId(1), vec![port(1), port(2)]);
    let sizes = Sizes::new(&config, 64, 1);
    let walked = Memory::private(sizes.clone());
    let key = u128::from(SEED) << 64;
    let digest = siphash_2_4(key.to_be_bytes(), data).max(1);
    let words = walked.record(Region::Settings, 0);
    words.set(settings::VERSION, VERSION);
    words.set(settings::SEED, SEED);
    words.set(settings::STATE, digest);
    let _ = RetainedState::read(data, &walked);
    let length = u32::try_from(data.len()).expect("it is short");
    let batch = [&length.to_be_bytes()[..], &digest.to_be_bytes(), data].concat();
    let Ok(state) = RetainedState::read(&batch, &walked) else {
        return;
    };
    let to = (Memory::private(sizes), Overflow::ToCore);
    let resumed = Switch::resume(Instant::ZERO, config, to, Box::new(Nowhere), &state);
    if let Ok((mut switch, resumption)) = resumed {
        switch.publish();
        switch.fill_meters(&resumption, &walked);
        switch.count_on(&resumption, &walked);
    }
});
