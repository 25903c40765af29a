//! What happened at a controller, in words.

use std::net::IpAddr;

use units::Duration;

use super::flows::state;
use super::sheet::count;
use crate::web::document::flow::TravelsDocument;
use crate::web::document::{EventKind, PlaceDocument};

/// What a happening is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    Switches,
    /// Links, and so the ways of everything.
    Links,
    /// Hosts, and so the ways of what goes to them.
    Hosts,
    Flows,
    Rules,
    /// Anything: something was missed, or is not known to us.
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub about: About,
    pub words: String,
}

pub fn told(event: &EventKind) -> Told {
    let (about, words) = match event {
        EventKind::SwitchConnected { .. }
        | EventKind::SwitchLost { .. }
        | EventKind::SwitchGone { .. }
        | EventKind::OtherMaster { .. }
        | EventKind::SwitchUnreadable { .. }
        | EventKind::DuplicateSwitch { .. }
        | EventKind::ConnectionClosed { .. } => (About::Switches, of_switch(event)),
        EventKind::LinkFound { .. }
        | EventKind::LinkLost { .. }
        | EventKind::LinkFlaps { .. }
        | EventKind::LinkDoubted { .. }
        | EventKind::RestorationStarted { .. }
        | EventKind::RestorationSent { .. }
        | EventKind::Restored { .. }
        | EventKind::Returned { .. }
        | EventKind::PromisesSuspended { .. }
        | EventKind::PromisesResumed => (About::Links, of_link(event)),
        EventKind::ApplicationLoaded { name } => {
            (About::Unknown, format!("application {name} loaded"))
        }
        EventKind::ApplicationUnloaded { name } => {
            (About::Unknown, format!("application {name} unloaded"))
        }
        EventKind::HostFound { .. }
        | EventKind::HostMoved { .. }
        | EventKind::HostAddressed { .. }
        | EventKind::HostRemoved { .. }
        | EventKind::HostUnusable { .. }
        | EventKind::HostDoubted { .. }
        | EventKind::StationsCrowded { .. }
        | EventKind::AddressDisputed { .. } => (About::Hosts, of_host(event)),
        EventKind::Admitted { .. }
        | EventKind::Withdrawn { .. }
        | EventKind::Installed { .. }
        | EventKind::PromiseChanged { .. }
        | EventKind::GuaranteesMoved { .. }
        | EventKind::Readmitted { .. }
        | EventKind::RecordUnreadable { .. } => (About::Flows, of_flow(event)),
        EventKind::EntryRefused { .. }
        | EventKind::Synchronised { .. }
        | EventKind::Mended { .. }
        | EventKind::Consistent { .. }
        | EventKind::NotMended { .. }
        | EventKind::Dialect { .. }
        | EventKind::GivenUp { .. }
        | EventKind::RulesSettled { .. }
        | EventKind::IntentChanged { .. }
        | EventKind::IntentUnreadable { .. } => (About::Rules, of_rules(event)),
        EventKind::Ready => (About::Unknown, "ready to decide on flows".to_owned()),
        EventKind::SettingsUnreadable => (
            About::Unknown,
            "what is stored of settings cannot be read: left alone".to_owned(),
        ),
        EventKind::ModeEntered { .. }
        | EventKind::ModeViolation { .. }
        | EventKind::ModeSignalsRefused { .. }
        | EventKind::ModeIncomplete { .. }
        | EventKind::ModeComplete { .. }
        | EventKind::ModeRefused { .. }
        | EventKind::ModeRewritten { .. } => (About::Unknown, of_mode(event)),
        EventKind::StoreFailed { reason } => {
            (About::Unknown, format!("the store failed: {reason}"))
        }
        EventKind::StoreRecovered => (About::Unknown, "the store works again".to_owned()),
        EventKind::Gap { missed } => (About::Unknown, gap(*missed)),
    };
    Told { about, words }
}

fn of_mode(event: &EventKind) -> String {
    match event {
        EventKind::ModeEntered {
            switch,
            level,
            era,
            served,
            ..
        } => format!("switch {switch} entered level {level} (era {era}), serves {served}"),
        EventKind::ModeViolation {
            switch,
            flow,
            level,
            beyond,
            times,
        } => {
            let beyond = match beyond {
                true => ", and keeps no contract",
                false => "",
            };
            format!("flow {flow} asks switch {switch} for level {level}, {times} times{beyond}")
        }
        EventKind::ModeSignalsRefused { at, reason, times } => format!(
            "{times} signals at port {} of switch {} did not count: {reason}",
            at.port, at.switch
        ),
        EventKind::ModeIncomplete {
            switch,
            level,
            served,
        } => format!("switch {switch} lacks entries of level {level}: it serves {served}"),
        EventKind::ModeComplete { switch } => {
            format!("switch {switch} has the entries of all levels")
        }
        EventKind::ModeRefused { switch, reason } => {
            format!("switch {switch} refuses something about modes: {reason}")
        }
        EventKind::ModeRewritten { level } => format!("entries of level {level} are written"),
        other => unreachable!("{other:?} is not about modes"),
    }
}

fn of_switch(event: &EventKind) -> String {
    match event {
        EventKind::SwitchConnected { name, ports, .. } => {
            format!("switch {name} connected, {}", count(*ports, "port"))
        }
        EventKind::SwitchLost { name, .. } => format!("switch {name} lost"),
        EventKind::OtherMaster { name, .. } => format!(
            "another controller is master of switch {name}: nothing is written there (`taktos \
             controller --take-over` would)"
        ),
        EventKind::SwitchGone { name, .. } => {
            format!("switch {name} is gone: it answers nobody, and no echo comes back from it")
        }
        EventKind::SwitchUnreadable { datapath } => {
            format!("what is stored of switch {datapath} cannot be read: left alone")
        }
        EventKind::DuplicateSwitch { name, .. } => {
            format!("a second connection claimed to be switch {name}: closed")
        }
        EventKind::ConnectionClosed { peer, reason } => {
            format!("connection from {peer} closed: {reason}")
        }
        other => unspoken(other),
    }
}

fn of_link(event: &EventKind) -> String {
    match event {
        EventKind::LinkFound { link } => format!("link {link} found"),
        EventKind::LinkLost { link, detection } => format!("link {link} lost ({detection})"),
        EventKind::LinkFlaps { link, .. } => {
            format!("link {link} is lost again and again, and taken to be down for a while")
        }
        EventKind::LinkDoubted { link } => {
            format!("link {link} is not believed: hosts are there, and nothing was plugged")
        }
        EventKind::RestorationStarted { link } => {
            format!("moving flows away from link {link}")
        }
        EventKind::RestorationSent { link, flows, .. } => {
            format!("{} told to leave link {link}", count(*flows, "flow"))
        }
        EventKind::Restored {
            link,
            took_ns,
            flows,
            switches,
            ..
        } => format!(
            "{} moved away from link {link} in {}, {} confirmed it",
            count(*flows, "flow"),
            Duration::from_ns(*took_ns),
            count(*switches, "switch")
        ),
        EventKind::Returned { flows } => {
            format!("{} back on the usual way", count(*flows, "flow"))
        }
        EventKind::PromisesSuspended { broken } => {
            format!(
                "promises suspended: {} broken at once",
                count(*broken, "link")
            )
        }
        EventKind::PromisesResumed => "promises in force again".to_owned(),
        other => unspoken(other),
    }
}

fn of_host(event: &EventKind) -> String {
    match event {
        EventKind::HostFound { name, at } => format!("host {name} is at {}", place(at)),
        EventKind::HostMoved { name, from, to } => {
            format!("host {name} moved from {} to {}", place(from), place(to))
        }
        EventKind::HostAddressed { name, addresses } => {
            format!("host {name} has {}", list(addresses))
        }
        EventKind::HostRemoved { name } => format!("host {name} removed"),
        EventKind::HostUnusable { mac } => {
            format!("what is stored of host {mac} cannot be used: left alone")
        }
        EventKind::HostDoubted { name, at, stays } => format!(
            "host {name} was seen at {} and is taken to be at {}: a loop, or a forged address",
            place(at),
            place(stays)
        ),
        EventKind::StationsCrowded { at } => format!(
            "more stations appear at {} than there is room for: many hosts, or made-up addresses",
            place(at)
        ),
        EventKind::AddressDisputed {
            address,
            holder,
            claimant,
        } => format!("host {claimant} claims {address}, which host {holder} has"),
        other => unspoken(other),
    }
}

/// Returns addresses on one line.
pub fn list(addresses: &[IpAddr]) -> String {
    let addresses = addresses.iter().map(IpAddr::to_string);
    addresses.collect::<Vec<_>>().join(" ")
}

fn of_flow(event: &EventKind) -> String {
    match event {
        EventKind::Admitted { flow, name } => format!("flow {name} admitted, number {flow}"),
        EventKind::Withdrawn { flow, name } => format!("flow {name} withdrawn, number {flow}"),
        EventKind::Installed { flow, name } => {
            format!("{} installed", flow_of(*flow, name.as_deref()))
        }
        EventKind::PromiseChanged {
            flow,
            name,
            promise,
            travels,
        } => {
            let way = match travels {
                TravelsDocument::Nowhere => "; it waits for a link".to_owned(),
                TravelsDocument::Base => String::new(),
                TravelsDocument::Alternative { .. } | TravelsDocument::Detour => {
                    format!("; it takes {}", way(travels))
                }
            };
            let cause = promise.promise_cause.iter();
            let cause: String = cause.map(|cause| format!(" ({cause})")).collect();
            let state = state(promise.promise);
            let flow = flow_of(*flow, name.as_deref());
            format!("the promise of {flow}: {state}{cause}{way}")
        }
        EventKind::GuaranteesMoved {
            flows,
            slowdown_thousandths,
        } => format!(
            "budgets chosen anew: {flows} flows have another guarantee, and switches may take \
             {}.{} times as long as stated",
            slowdown_thousandths / 1_000,
            slowdown_thousandths / 100 % 10
        ),
        EventKind::Readmitted { flow, name } => {
            let flow = flow_of(*flow, name.as_deref());
            format!("{flow} decided upon anew: a host of it moved")
        }
        EventKind::RecordUnreadable { flow } => {
            format!("what is stored of flow {flow} cannot be read: left alone")
        }
        other => unspoken(other),
    }
}

/// Calls a flow by its name, or by its number where the name is not known.
fn flow_of(number: u32, name: Option<&str>) -> String {
    match name {
        Some(name) => format!("flow {name}"),
        None => format!("flow {number}"),
    }
}

fn of_rules(event: &EventKind) -> String {
    match event {
        EventKind::EntryRefused {
            datapath,
            flow,
            name,
            error,
        } => match flow {
            Some(flow) => {
                let flow = flow_of(*flow, name.as_deref());
                format!("switch {datapath} refused an entry of {flow}: {error}")
            }
            None => format!("switch {datapath} refused an entry: {error}"),
        },
        EventKind::Synchronised {
            datapath,
            added,
            removed,
        } => format!(
            "switch {datapath} has its rules: {} added, {removed} removed",
            count(*added, "rule")
        ),
        EventKind::Mended {
            datapath,
            added,
            changed,
            removed,
        } => format!(
            "switch {datapath} is mended: {} added, {changed} changed, {removed} removed",
            count(*added, "rule")
        ),
        EventKind::Consistent { datapath } => {
            format!("switch {datapath} has the rules that it should have")
        }
        EventKind::NotMended {
            datapath,
            lacking,
            different,
            excess,
        } => format!(
            "switch {datapath} cannot be mended: {} lacking, {different} different, {excess} in excess",
            count(*lacking, "rule")
        ),
        EventKind::Dialect { datapath, entries } => format!(
            "switch {datapath} says {} in words of its own",
            count(*entries, "rule")
        ),
        EventKind::GivenUp {
            datapath,
            subject,
            error,
        } => format!("switch {datapath} refuses an entry of {subject} for good: {error}"),
        EventKind::RulesSettled { subject, outcome } => {
            format!("rules of {subject}: {outcome}")
        }
        EventKind::IntentChanged {
            name,
            state,
            reason,
            ..
        } => match reason {
            Some(reason) => format!("intent {name} {state}: {reason}"),
            None => format!("intent {name} {state}"),
        },
        EventKind::IntentUnreadable { intent } => {
            format!("what is stored of intent {intent} cannot be read: left alone")
        }
        other => unspoken(other),
    }
}

fn gap(missed: Option<u64>) -> String {
    match missed {
        Some(missed) => format!("up to {missed} events are missing here"),
        None => "events are missing here".to_owned(),
    }
}

/// Returns which way a flow takes.
pub fn way(travels: &TravelsDocument) -> String {
    match travels {
        TravelsDocument::Base => "the usual way".to_owned(),
        TravelsDocument::Alternative { without } => format!("the way around {without}"),
        TravelsDocument::Detour => "a detour".to_owned(),
        TravelsDocument::Nowhere => "nowhere".to_owned(),
    }
}

/// Returns a port, by the name of its switch if that is known.
pub fn place(place: &PlaceDocument) -> String {
    match place.switch.as_str() {
        "" => format!("{}:{}", place.datapath, place.port),
        switch => format!("{switch}:{}", place.port),
    }
}

fn unspoken(event: &EventKind) -> String {
    event.name().replace('-', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_is_told_in_words() {
        let lost = EventKind::LinkLost {
            link: "1:2-2:1".to_owned(),
            detection: "silence".to_owned(),
        };
        let restored = EventKind::Restored {
            link: "1:2-2:1".to_owned(),
            took_ns: 1_250_000,
            flows: 1,
            flow_mods: 4,
            switches: 2,
        };

        assert_eq!(told(&lost).words, "link 1:2-2:1 lost (silence)");
        assert_eq!(
            told(&restored).words,
            "1 flow moved away from link 1:2-2:1 in 1.25 ms, 2 switches confirmed it"
        );
        assert_eq!(told(&restored).about, About::Links);
    }
}
