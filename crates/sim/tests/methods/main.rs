//! Methods of measurement against emulated devices: what was put in has to come out
//! (S4-10).

mod control_plane;
mod data_plane;
mod emulated;
mod profile;

use sim::tester::{SmallSwitch, VirtualTester};

const VERSION_10: u8 = wire::openflow10::VERSION;
const VERSION_13: u8 = wire::openflow::VERSION;

fn zodiac_fx(version: u8) -> VirtualTester {
    VirtualTester::new(SmallSwitch::zodiac_fx(), version)
}
