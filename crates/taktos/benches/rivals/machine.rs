//! The machine that figures were taken on: without it they say nothing.

use std::fs;
use std::process::Command;
use std::thread;

/// Says in one sentence what the machine is.
pub fn describe() -> String {
    let processors = thread::available_parallelism().map_or(0, usize::from);
    let system = rustix::system::uname();
    let kernel = system.release().to_string_lossy().into_owned();
    let mut text = format!(
        "{processors} processors ({}), {} {kernel}",
        processor_name().unwrap_or_else(|| "unknown".to_owned()),
        system.sysname().to_string_lossy(),
    );
    if let Some(version) = version_of_open_vswitch() {
        text += &format!(", Open vSwitch {version}");
    }
    text + "."
}

fn processor_name() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Its last word of the first line is the version.
fn version_of_open_vswitch() -> Option<String> {
    let said = Command::new("ovs-vswitchd")
        .arg("--version")
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    Some(text.lines().next()?.split_whitespace().last()?.to_owned())
}
