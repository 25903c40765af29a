//! The machine that figures were taken on: without it they say nothing.

use std::fs;

/// Says in one sentence what the machine is.
pub fn describe() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processors = values(&facts, "processor").count();
    let name = values(&facts, "model name").next().unwrap_or("unknown");
    let system = rustix::system::uname();
    let kernel = system.release().to_string_lossy().into_owned();
    let mut text = format!(
        "{processors} processors ({name}), {} {kernel}",
        system.sysname().to_string_lossy(),
    );
    if let Some(version) = lab::open_vswitch::version() {
        text += &format!(", Open vSwitch {version}");
    }
    text + "."
}

/// Returns what stands behind a name in lines such as `processor : 0`.
fn values<'a>(facts: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let pairs = facts.lines().filter_map(|line| line.split_once(':'));
    let wanted = pairs.filter(move |(key, _)| key.trim() == name);
    wanted.map(|(_, value)| value.trim())
}
