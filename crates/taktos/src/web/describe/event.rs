//! Events, written down.

use controller::desired::{Outcome, Subject};
use controller::northbound::{Detection, Event, FlowId, IntentId, IntentState, ModeNotice};
use controller::place::{LinkEnds, PortId};
use controller::session::CloseReason;
use units::{Duration, Instant};
use wire::openflow::taktos::SignalFault;
use wire::openflow::{DatapathId, ErrorKind};

use super::{Names, link};
use crate::web::document::EventKind;

impl Names {
    /// Writes down something that happened.
    #[must_use]
    pub fn event(&self, event: &Event) -> EventKind {
        match event {
            Event::Ready => EventKind::Ready,
            Event::Mode(notice) => self.about_mode(notice),
            Event::SwitchUnreadable { datapath } => EventKind::SwitchUnreadable {
                datapath: datapath.to_string(),
            },
            Event::SwitchConnected { datapath, ports } => self.connected(*datapath, *ports),
            Event::SwitchLost { datapath } => self.lost(*datapath),
            Event::SwitchGone { datapath } => self.gone(*datapath),
            Event::OtherMaster { datapath } => self.mastered(*datapath),
            Event::DuplicateSwitch { datapath } => self.duplicate(*datapath),
            Event::LinkFound { link: ends } => EventKind::LinkFound { link: link(*ends) },
            Event::LinkLost { link, detection } => link_lost(*link, *detection),
            Event::LinkFlaps { link: ends, wait } => EventKind::LinkFlaps {
                link: link(*ends),
                wait_ns: wait.as_ns(),
            },
            Event::LinkDoubted { link: ends } => EventKind::LinkDoubted { link: link(*ends) },
            Event::ApplicationLoaded { name, .. } => loaded(name),
            Event::ApplicationUnloaded { name, .. } => unloaded(name),
            Event::HostFound { .. }
            | Event::HostMoved { .. }
            | Event::HostAddressed { .. }
            | Event::HostRemoved { .. }
            | Event::HostUnusable { .. }
            | Event::HostDoubted { .. }
            | Event::StationsCrowded { .. }
            | Event::AddressDisputed { .. } => self.about_host(event),
            Event::Admitted { .. }
            | Event::Withdrawn { .. }
            | Event::Installed { .. }
            | Event::PromiseChanged { .. }
            | Event::EntryRefused { .. }
            | Event::GuaranteesMoved { .. }
            | Event::Readmitted { .. } => about_flow(event),
            Event::RestorationStarted { link: ends, .. } => {
                EventKind::RestorationStarted { link: link(*ends) }
            }
            Event::RestorationSent { .. } | Event::Restored { .. } => restoration(event),
            Event::Returned { flows } => EventKind::Returned { flows: *flows },
            Event::PromisesSuspended { broken } => EventKind::PromisesSuspended { broken: *broken },
            Event::PromisesResumed => EventKind::PromisesResumed,
            Event::Synchronised {
                datapath,
                added,
                removed,
            } => synchronised(*datapath, *added, *removed),
            Event::Mended { .. }
            | Event::Consistent { .. }
            | Event::NotMended { .. }
            | Event::Dialect { .. } => about_rules(event),
            Event::GivenUp {
                datapath,
                subject,
                error,
            } => given_up(*datapath, *subject, *error),
            Event::RulesSettled { subject, outcome } => self.settled(*subject, *outcome),
            Event::RecordUnreadable { flow } => EventKind::RecordUnreadable { flow: flow.0 },
            Event::SettingsUnreadable => EventKind::SettingsUnreadable,
            Event::IntentChanged {
                intent,
                name,
                state,
            } => intent_changed(*intent, name, state),
            Event::IntentUnreadable { intent } => EventKind::IntentUnreadable { intent: intent.0 },
        }
    }

    fn about_mode(&self, notice: &ModeNotice) -> EventKind {
        match notice {
            ModeNotice::Entered {
                datapath,
                mode,
                level,
                served,
                origin,
                detected,
                changed,
            } => EventKind::ModeEntered {
                switch: self.switch(*datapath),
                level: level.clone(),
                era: mode.era,
                served: served.clone(),
                origin: self.switch(*origin),
                change_ns: changed.saturating_since(*detected).as_ns(),
            },
            ModeNotice::Violation {
                datapath,
                flow,
                level,
                is_beyond,
                count,
                detected: _,
            } => EventKind::ModeViolation {
                switch: self.switch(*datapath),
                flow: flow.clone(),
                level: level.clone(),
                beyond: *is_beyond,
                times: *count,
            },
            ModeNotice::SignalsRefused {
                datapath,
                port,
                fault,
                count,
            } => EventKind::ModeSignalsRefused {
                at: self.place(PortId::new(*datapath, *port)),
                reason: fault_name(*fault).to_owned(),
                times: *count,
            },
            ModeNotice::Incomplete {
                datapath,
                level,
                served,
            } => EventKind::ModeIncomplete {
                switch: self.switch(*datapath),
                level: level.clone(),
                served: served.clone(),
            },
            ModeNotice::Complete { datapath } => EventKind::ModeComplete {
                switch: self.switch(*datapath),
            },
            ModeNotice::Refused { datapath, failed } => EventKind::ModeRefused {
                switch: self.switch(*datapath),
                reason: format!("{failed:?}"),
            },
            ModeNotice::Rewritten { level, begun: _ } => EventKind::ModeRewritten {
                level: level.clone(),
            },
        }
    }

    fn about_host(&self, event: &Event) -> EventKind {
        match event {
            Event::HostFound { name, port } => EventKind::HostFound {
                name: name.clone(),
                at: self.place(*port),
            },
            Event::HostMoved { name, from, to } => EventKind::HostMoved {
                name: name.clone(),
                from: self.place(*from),
                to: self.place(*to),
            },
            Event::HostAddressed { name, addresses } => EventKind::HostAddressed {
                name: name.clone(),
                addresses: addresses.clone(),
            },
            Event::HostRemoved { name } => EventKind::HostRemoved { name: name.clone() },
            Event::HostUnusable { mac } => EventKind::HostUnusable {
                mac: mac.to_string(),
            },
            Event::HostDoubted { name, at, stays } => EventKind::HostDoubted {
                name: name.clone(),
                at: self.place(*at),
                stays: self.place(*stays),
            },
            Event::StationsCrowded { port } => EventKind::StationsCrowded {
                at: self.place(*port),
            },
            Event::AddressDisputed {
                address,
                holder,
                claimant,
            } => EventKind::AddressDisputed {
                address: *address,
                holder: holder.clone(),
                claimant: claimant.clone(),
            },
            other => unreachable!("{other:?} is not about a host"),
        }
    }

    fn connected(&self, datapath: DatapathId, ports: usize) -> EventKind {
        EventKind::SwitchConnected {
            datapath: datapath.to_string(),
            name: self.switch(datapath),
            ports,
        }
    }

    fn lost(&self, datapath: DatapathId) -> EventKind {
        EventKind::SwitchLost {
            datapath: datapath.to_string(),
            name: self.switch(datapath),
        }
    }

    fn gone(&self, datapath: DatapathId) -> EventKind {
        EventKind::SwitchGone {
            datapath: datapath.to_string(),
            name: self.switch(datapath),
        }
    }

    fn mastered(&self, datapath: DatapathId) -> EventKind {
        EventKind::OtherMaster {
            datapath: datapath.to_string(),
            name: self.switch(datapath),
        }
    }

    fn duplicate(&self, datapath: DatapathId) -> EventKind {
        EventKind::DuplicateSwitch {
            datapath: datapath.to_string(),
            name: self.switch(datapath),
        }
    }

    fn settled(&self, subject: Subject, outcome: Outcome) -> EventKind {
        EventKind::RulesSettled {
            subject: name_of_subject(subject),
            outcome: match outcome {
                Outcome::Confirmed => "confirmed".to_owned(),
                Outcome::Refused { datapath, error } => {
                    format!("switch {} refused: {error:?}", self.switch(datapath))
                }
                Outcome::Away { datapath } => {
                    format!("switch {} is not connected", self.switch(datapath))
                }
                Outcome::Contested { datapath, with } => {
                    let (switch, owner) = (self.switch(datapath), name_of_subject(with));
                    format!("{owner} has rules for the same frames at switch {switch}")
                }
                Outcome::TooMany => "there would be too many rules".to_owned(),
            },
        }
    }
}

fn link_lost(ends: LinkEnds, detection: Detection) -> EventKind {
    let detection = match detection {
        Detection::PortStatus => "port-status",
        Detection::Silence => "silence",
        Detection::Recabled => "recabled",
    };
    EventKind::LinkLost {
        link: link(ends),
        detection: detection.to_owned(),
    }
}

fn entry_refused(datapath: DatapathId, flow: Option<FlowId>, error: ErrorKind) -> EventKind {
    EventKind::EntryRefused {
        datapath: datapath.to_string(),
        flow: flow.map(|flow| flow.0),
        name: None,
        error: format!("{error:?}"),
    }
}

fn given_up(datapath: DatapathId, subject: Subject, error: ErrorKind) -> EventKind {
    EventKind::GivenUp {
        datapath: datapath.to_string(),
        subject: name_of_subject(subject),
        error: format!("{error:?}"),
    }
}

/// Writes down how far a restoration is.
fn restoration(event: &Event) -> EventKind {
    match event {
        Event::RestorationSent {
            link: ends,
            flows,
            flow_mods,
            ..
        } => EventKind::RestorationSent {
            link: link(*ends),
            flows: *flows,
            flow_mods: *flow_mods,
        },
        Event::Restored {
            link: ends,
            detected_at,
            confirmed_at,
            flows,
            flow_mods,
            switches,
        } => EventKind::Restored {
            link: link(*ends),
            took_ns: took(*detected_at, *confirmed_at).as_ns(),
            flows: *flows,
            flow_mods: *flow_mods,
            switches: *switches,
        },
        other => unreachable!("{other:?} is no step of a restoration"),
    }
}

fn loaded(name: &str) -> EventKind {
    let name = name.to_owned();
    EventKind::ApplicationLoaded { name }
}

fn unloaded(name: &str) -> EventKind {
    let name = name.to_owned();
    EventKind::ApplicationUnloaded { name }
}

fn about_flow(event: &Event) -> EventKind {
    match event {
        Event::Admitted { flow, name } => EventKind::Admitted {
            flow: flow.0,
            name: name.clone(),
        },
        Event::Withdrawn { flow, name } => EventKind::Withdrawn {
            flow: flow.0,
            name: name.clone(),
        },
        Event::Installed { flow } => EventKind::Installed {
            flow: flow.0,
            name: None,
        },
        Event::PromiseChanged {
            flow,
            promise,
            travels,
        } => EventKind::PromiseChanged {
            flow: flow.0,
            name: None,
            promise: promise.into(),
            travels: (*travels).into(),
        },
        Event::EntryRefused {
            datapath,
            flow,
            error,
        } => entry_refused(*datapath, *flow, *error),
        Event::GuaranteesMoved {
            flows,
            slowdown_thousandths,
        } => EventKind::GuaranteesMoved {
            flows: *flows,
            slowdown_thousandths: *slowdown_thousandths,
        },
        Event::Readmitted { flow } => EventKind::Readmitted {
            flow: flow.0,
            name: None,
        },
        other => unreachable!("{other:?} is not about a flow"),
    }
}

fn took(from: Instant, to: Instant) -> Duration {
    to.saturating_since(from)
}

fn synchronised(datapath: DatapathId, added: usize, removed: usize) -> EventKind {
    EventKind::Synchronised {
        datapath: datapath.to_string(),
        added,
        removed,
    }
}

fn intent_changed(intent: IntentId, name: &str, state: &IntentState) -> EventKind {
    let (state, reason) = match state {
        IntentState::Installed => ("installed", None),
        IntentState::Installing => ("installing", None),
        IntentState::Waiting { reason } => ("waiting", Some(reason.clone())),
        IntentState::Failed { reason } => ("failed", Some(reason.clone())),
    };
    EventKind::IntentChanged {
        intent: intent.0,
        name: name.to_owned(),
        state: state.to_owned(),
        reason,
    }
}

fn about_rules(event: &Event) -> EventKind {
    match event {
        Event::Mended {
            datapath,
            added,
            changed,
            removed,
        } => EventKind::Mended {
            datapath: datapath.to_string(),
            added: *added,
            changed: *changed,
            removed: *removed,
        },
        Event::Consistent { datapath } => EventKind::Consistent {
            datapath: datapath.to_string(),
        },
        Event::NotMended {
            datapath,
            lacking,
            different,
            excess,
        } => EventKind::NotMended {
            datapath: datapath.to_string(),
            lacking: *lacking,
            different: *different,
            excess: *excess,
        },
        Event::Dialect { datapath, entries } => EventKind::Dialect {
            datapath: datapath.to_string(),
            entries: *entries,
        },
        other => unreachable!("{other:?} is not about rules"),
    }
}

fn fault_name(fault: SignalFault) -> &'static str {
    match fault {
        SignalFault::Forged => "forged",
        SignalFault::Misplaced => "misplaced",
        SignalFault::Replayed => "replayed",
        SignalFault::Malformed => "malformed",
    }
}

fn name_of_subject(subject: Subject) -> String {
    match subject {
        Subject::Service => "the controller".to_owned(),
        Subject::KnownHost(mac) => format!("host {mac}"),
        Subject::Flow(flow) => format!("flow {}", flow.0),
        Subject::Modes => "the modes".to_owned(),
        Subject::Levels(flow) => format!("flow {} at its levels", flow.0),
        Subject::Guard(flow) => format!("the guard of flow {}", flow.0),
        Subject::Intent(intent) => format!("intent {}", intent.0),
        Subject::Application(application) => format!("application {}", application.0),
        Subject::Gathering(mac) => format!("what host {mac} sends to all"),
        Subject::Route(Some(mac)) => format!("the route to host {mac}"),
        Subject::Route(None) => "what goes to all".to_owned(),
    }
}

/// Says why a connection was closed.
#[must_use]
pub const fn why_closed(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::TooMany => "there are too many connections",
        CloseReason::Garbage => "it sent what is no OpenFlow",
        CloseReason::Version => "it does not speak OpenFlow 1.3",
        CloseReason::Handshake => "it has not said in time which switch it is",
        CloseReason::Silence => "it has been silent for too long",
        CloseReason::Duplicate => "the switch is connected by another connection",
        CloseReason::TooLarge => "it has too many ports, or is a switch too many",
        CloseReason::Unread => "it does not read what it is sent",
    }
}
