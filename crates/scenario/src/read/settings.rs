//! Reads how a scenario is admitted, controlled and measured.

use units::{Delay, Duration};

use crate::format::{CAPTURE_ALL, HOSTS_FROM_SCENARIO, POLICING_OFF, WATCHING_OFF};
use crate::mistake::Mistake;
use crate::plan::PlannedNetwork;
use crate::problem::Problems;
use crate::record::LayeredTable;
use crate::{Admission, Capture, Control, HostDiscovery, Measurement};

const DEFAULT_CHANNEL_DELAY: Delay = Delay::from_us(100);
const DEFAULT_PROBE_INTERVAL: Duration = Duration::from_secs(1);
const DEFAULT_DRAIN: Duration = Duration::from_ms(200);
const DEFAULT_STALL_THRESHOLD: Duration = Duration::from_us(50);

pub(super) fn admission(record: &LayeredTable<'_>) -> Admission {
    Admission {
        processing_budget: record.delay("processing_budget"),
    }
}

pub(super) fn control(record: &LayeredTable<'_>) -> Control {
    let interval = record.time("probe_interval");
    Control {
        channel_delay: record
            .delay("channel_delay")
            .unwrap_or(DEFAULT_CHANNEL_DELAY),
        probe_interval: interval.unwrap_or(DEFAULT_PROBE_INTERVAL),
        hosts: match record.choice("hosts") {
            Some(HOSTS_FROM_SCENARIO) => HostDiscovery::Scenario,
            Some(_) | None => HostDiscovery::FirstFrame,
        },
        is_policed: record.choice("policing") != Some(POLICING_OFF),
        policing_tolerance: record.time("policing_tolerance"),
        watches_hops: record.choice("watch_hops") != Some(WATCHING_OFF),
    }
}

pub(super) fn measurement(
    record: &LayeredTable<'_>,
    network: &PlannedNetwork,
    duration: Duration,
    problems: &mut Problems,
) -> Measurement {
    let warm_up = record.time("warm_up").unwrap_or_default();
    if warm_up >= duration {
        let (what, at, end) = ("the end of the warm-up", warm_up, duration);
        let mistake = Mistake::AfterTheEnd { what, at, end };
        problems.report(record.place_of("warm_up"), mistake);
    }
    let threshold = record.time("stall_threshold");
    Measurement {
        warm_up,
        drain: record.time("drain").unwrap_or(DEFAULT_DRAIN),
        stall_threshold: threshold.unwrap_or(DEFAULT_STALL_THRESHOLD),
        capture: capture(record, network, problems),
    }
}

fn capture(
    record: &LayeredTable<'_>,
    network: &PlannedNetwork,
    problems: &mut Problems,
) -> Capture {
    match record.choice("capture") {
        Some(CAPTURE_ALL) => return Capture::Everything,
        Some(_) => return Capture::Nothing,
        None => {}
    }
    let is_list = record
        .item("capture")
        .is_some_and(|item| item.get_ref().is_array());
    if !is_list {
        return Capture::Nothing;
    }
    let names = record.texts("capture").into_iter();
    let links = names.filter_map(|(name, place)| network.link_names.find(name, place, problems));
    Capture::Links(links.collect())
}
